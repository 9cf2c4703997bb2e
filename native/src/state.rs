//! The accounts that calls run on: handed over once, never changed, shared by threads.
//!
//! An override is a thin layer over them, made for one call and dropped after it. Because overrides belong to revm's
//! database, an overridden slot is cold, and its original value is the overridden one, as in a node.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use revm::Database;
use revm::bytecode::Bytecode;
use revm::context::DBErrorMarker;
use revm::primitives::{Address, AddressMap, B256, HashMap, U256};
use revm::state::AccountInfo;

use crate::fields::{copied, spec_named};

/// Address, balance, nonce, code, slots with their values, and whether these replace all slots below.
type GivenAccount = ([u8; 20], [u8; 32], u64, Py<Code>, Vec<([u8; 32], [u8; 32])>, bool);

/// Code, read through once for its jump destinations and its hash.
#[pyclass(frozen, module = "feemodel_native")]
pub struct Code {
    ordinary: Bytecode,
    /// The delegation (EIP-7702) that the code may be; its effect depends on the fork.
    delegation: Option<Bytecode>,
}

#[pymethods]
impl Code {
    #[new]
    fn new(py: Python<'_>, code: &[u8]) -> PyResult<Self> {
        let bytes = copied("code", code)?;
        Ok(py.detach(|| {
            let delegation = Bytecode::new_eip7702_raw(bytes.clone()).ok();
            let ordinary = Bytecode::new_legacy(bytes);
            ordinary.hash_slow();
            Self { ordinary, delegation }
        }))
    }
}

/// One account with its slots; a missing slot is zero, or that of the layer below.
#[derive(Clone, Debug, Default)]
struct Record {
    info: Option<AccountInfo>,
    slots: HashMap<U256, U256>,
    /// Whether missing slots are zero, whatever the layer below has.
    replaced: bool,
}

/// Accounts by address, a layer over `base`.
#[derive(Debug, Default)]
pub struct Accounts {
    records: AddressMap<Record>,
    hashes: HashMap<u64, B256>,
    base: Option<Arc<Accounts>>,
    delegations: bool,
}

impl Accounts {
    fn filled(mut self, accounts: Vec<GivenAccount>) -> Self {
        self.records.reserve(accounts.len());
        for (address, balance, nonce, code, slots, mut replaced) in accounts {
            let (address, code) = (Address::from(address), code.get());
            let code = code.delegation.as_ref().filter(|_| self.delegations).unwrap_or(&code.ordinary).clone();
            let slots = slots.into_iter();
            let slots = slots.map(|(slot, value)| (U256::from_be_bytes(slot), U256::from_be_bytes(value)));
            let slots: HashMap<_, _> = slots.collect();
            let below = self.base.as_ref().filter(|_| !replaced).and_then(|base| base.records.get(&address));
            let below = below.map(|below| &below.slots);
            let kept = below.iter().flat_map(|below| below.iter()).filter(|(slot, _)| !slots.contains_key(*slot));
            let has_storage = slots.iter().chain(kept).any(|(_, value)| !value.is_zero());
            let mut info = Some(AccountInfo::new(U256::from_be_bytes(balance), nonce, code.hash_slow(), code));
            if let Some(known) = info.as_mut().filter(|known| known.is_empty_code_hash() && nonce == 0) {
                if has_storage {
                    // A creation at this address must fail, EIP-7610; revm treats the hash of no code as no account.
                    known.code_hash = B256::ZERO;
                } else if known.balance.is_zero() && slots.is_empty() && below.is_none_or(HashMap::is_empty) {
                    (info, replaced) = (None, true);
                }
            }
            self.records.insert(address, Record { info, slots, replaced });
        }
        self
    }

    fn account(&self, address: &Address) -> Option<&AccountInfo> {
        match (self.records.get(address), &self.base) {
            (Some(record), _) => record.info.as_ref(),
            (None, Some(base)) => base.account(address),
            (None, None) => None,
        }
    }

    /// The balance before the execution.
    pub fn balance(&self, address: &Address) -> U256 {
        self.account(address).map_or(U256::ZERO, |info| info.balance)
    }

    fn slot(&self, address: &Address, slot: &U256) -> U256 {
        let record = self.records.get(address);
        match (record.and_then(|record| record.slots.get(slot)), record, &self.base) {
            (Some(value), ..) => *value,
            (None, record, Some(base)) if !record.is_some_and(|record| record.replaced) => base.slot(address, slot),
            _ => U256::ZERO,
        }
    }

    /// Whether an account has code.
    pub fn has_code(&self, address: &Address) -> bool {
        self.account(address).is_some_and(|info| !info.is_empty_code_hash())
    }
}

/// The database that revm reads.
#[derive(Clone, Debug, Default)]
pub struct Reader(pub Arc<Accounts>);

/// BLOCKHASH asked for a block whose hash was not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing(pub u64);

impl std::fmt::Display for Missing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "no hash of block {}", self.0)
    }
}

impl std::error::Error for Missing {}
impl DBErrorMarker for Missing {}

impl Database for Reader {
    type Error = Missing;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, Missing> {
        Ok(self.0.account(&address).cloned())
    }

    fn code_by_hash(&mut self, _: B256) -> Result<Bytecode, Missing> {
        Ok(Bytecode::default()) // every account comes with its code
    }

    fn storage(&mut self, address: Address, slot: U256) -> Result<U256, Missing> {
        Ok(self.0.slot(&address, &slot))
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, Missing> {
        self.0.base.as_ref().unwrap_or(&self.0).hashes.get(&number).copied().ok_or(Missing(number))
    }
}

/// Accounts, for Python: immutable, so that any number of threads may execute on it.
#[pyclass(frozen, module = "feemodel_native")]
pub struct State(pub Arc<Accounts>);

#[pymethods]
impl State {
    /// `hashes` are block hashes by number.
    #[new]
    fn new(fork: &str, accounts: Vec<GivenAccount>, hashes: Vec<(u64, [u8; 32])>) -> PyResult<Self> {
        let delegations = spec_named(fork)?.is_enabled_in(revm::primitives::hardfork::SpecId::PRAGUE);
        let hashes = hashes.into_iter().map(|(number, hash)| (number, hash.into())).collect();
        Ok(Self(Arc::new(Accounts { hashes, delegations, ..Accounts::default() }.filled(accounts))))
    }

    /// Return the state with some accounts replaced.
    fn overridden(&self, accounts: Vec<GivenAccount>) -> PyResult<Self> {
        if self.0.base.is_some() {
            return Err(PyValueError::new_err("state: expected one without overrides"));
        }
        let base = Some(self.0.clone());
        let layer = Accounts { base, delegations: self.0.delegations, ..Accounts::default() };
        Ok(Self(Arc::new(layer.filled(accounts))))
    }
}
