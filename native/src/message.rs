//! What is executed, and in which block: read from Python once, for all executions of a search.

use std::sync::OnceLock;

use pyo3::prelude::*;
use revm::context::transaction::{
    AccessList, AccessListItem, Authorization, RecoveredAuthorization, SignedAuthorization,
};
use revm::context::{BlockEnv, TxEnv};
use revm::context_interface::block::BlobExcessGasAndPrice;
use revm::context_interface::cfg::GasParams;
use revm::context_interface::either::Either;
use revm::context_interface::transaction::TransactionType;
use revm::interpreter::InitialAndFloorGas;
use revm::primitives::hardfork::SpecId;
use revm::primitives::{Address, B256, TxKind, U256};

use crate::fields::{copied, spec_named};
use crate::state::State;

/// A block, and the rules that hold in it.
#[pyclass(frozen, module = "feemodel_native")]
pub struct Block {
    pub(crate) spec: SpecId,
    pub(crate) chain_id: u64,
    pub(crate) block: BlockEnv,
}

#[pymethods]
impl Block {
    /// `prev_randao` and `difficulty` are 32 bytes.
    #[new]
    #[pyo3(signature = (*, fork, chain_id, number, timestamp, gas_limit, coinbase, prev_randao, difficulty, blob_price))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        fork: &str,
        chain_id: u64,
        number: u64,
        timestamp: u64,
        gas_limit: u64,
        coinbase: [u8; 20],
        prev_randao: [u8; 32],
        difficulty: [u8; 32],
        blob_price: u128,
    ) -> PyResult<Self> {
        let block = BlockEnv {
            number: U256::from(number),
            timestamp: U256::from(timestamp),
            gas_limit,
            beneficiary: Address::from(coinbase),
            prevrandao: Some(B256::from(prev_randao)),
            difficulty: U256::from_be_bytes(difficulty),
            blob_excess_gas_and_price: Some(BlobExcessGasAndPrice { excess_blob_gas: 0, blob_gasprice: blob_price }),
            ..BlockEnv::default()
        };
        Ok(Self { spec: spec_named(fork)?, chain_id, block })
    }
}

/// A message, all of a transaction but its gas limit.
#[pyclass(frozen, module = "feemodel_native")]
pub struct Message {
    pub(crate) transaction: TxEnv,
    /// What BASEFEE reads, instead of the block's base fee.
    pub(crate) base_fee: u64,
    /// Whether the sender's balance is reduced by the cost of the gas limit.
    pub(crate) pays: bool,
    authorizations: Vec<SignedAuthorization>,
    recovered: OnceLock<Vec<Either<SignedAuthorization, RecoveredAuthorization>>>,
}

impl Message {
    /// The authorizations with their signers, which are slow to recover: it is done once, and only for a gas limit that
    /// pays for it.
    pub(crate) fn authorizations(&self) -> &[Either<SignedAuthorization, RecoveredAuthorization>] {
        self.recovered.get_or_init(|| {
            self.authorizations.iter().map(|entry| Either::Right(entry.clone().into_recovered())).collect()
        })
    }

    /// The intrinsic gas of the message, and the calldata floor.
    pub(crate) fn initial_gas(&self, prices: &GasParams) -> InitialAndFloorGas {
        let transaction = &self.transaction;
        let keys = transaction.access_list.iter().map(|item| item.storage_keys.len() as u64).sum();
        prices.initial_tx_gas(
            &transaction.data,
            transaction.kind.is_create(),
            transaction.access_list.len() as u64,
            keys,
            self.authorizations.len() as u64,
            None,
        )
    }
}

/// A message, its block, and the state on which it is executed.
#[derive(Clone, Copy)]
pub struct Execution<'a> {
    pub(crate) state: &'a State,
    pub(crate) block: &'a Block,
    pub(crate) message: &'a Message,
}

/// Chain id, address, nonce, parity, r, s.
type GivenAuthorization = ([u8; 32], [u8; 20], u64, u8, [u8; 32], [u8; 32]);

#[pymethods]
impl Message {
    /// The value is 32 bytes; an authorization is chain id (32 bytes), address, nonce, parity, r, s (32 bytes each).
    #[new]
    #[pyo3(signature = (*, sender, to, value, data, gas_price, base_fee, access_list, authorizations, blob_hashes, pays))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        sender: [u8; 20],
        to: Option<[u8; 20]>,
        value: [u8; 32],
        data: &[u8],
        gas_price: u128,
        base_fee: u64,
        access_list: Vec<([u8; 20], Vec<[u8; 32]>)>,
        authorizations: Vec<GivenAuthorization>,
        blob_hashes: Vec<[u8; 32]>,
        pays: bool,
    ) -> PyResult<Self> {
        let items = access_list.into_iter().map(|(address, keys)| AccessListItem {
            address: address.into(),
            storage_keys: keys.into_iter().map(B256::from).collect(),
        });
        let transaction = TxEnv {
            // The type of transaction that may have all of these; nothing else depends on it here.
            tx_type: TransactionType::Eip4844 as u8,
            caller: sender.into(),
            kind: to.map_or(TxKind::Create, |address| TxKind::Call(address.into())),
            value: U256::from_be_bytes(value),
            gas_price,
            data: copied("data", data)?,
            access_list: AccessList(items.collect()),
            blob_hashes: blob_hashes.into_iter().map(B256::from).collect(),
            ..TxEnv::default()
        };
        Ok(Self {
            transaction,
            base_fee,
            pays,
            authorizations: authorizations.into_iter().map(authorization).collect(),
            recovered: OnceLock::new(),
        })
    }
}

fn authorization((chain_id, address, nonce, parity, r, s): GivenAuthorization) -> SignedAuthorization {
    let inner = Authorization { chain_id: U256::from_be_bytes(chain_id), address: address.into(), nonce };
    SignedAuthorization::new_unchecked(inner, parity, U256::from_be_bytes(r), U256::from_be_bytes(s))
}
