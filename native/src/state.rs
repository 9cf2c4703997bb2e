//! The accounts that calls run on: handed over once, never changed, shared by threads.
//!
//! An override is a thin layer over them, made for one call and dropped after it. Because overrides stand in what revm
//! takes for its database, an overridden slot is cold, and its original value is the overridden one, as in a node.

use std::sync::{Arc, LazyLock};

use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use revm::Database;
use revm::bytecode::Bytecode;
use revm::context::DBErrorMarker;
use revm::primitives::{Address, AddressMap, B256, HashMap, U256};
use revm::state::AccountInfo;

use crate::fields::{copied, spec_named};

const ACCOUNT: usize = 20 + 32 + 8 + 4;
const SLOT: usize = 4 + 32 + 32;
const HASH: usize = 8 + 32;
/// Layers of overrides over each other: a slot is looked for in one after the other.
const MAX_LAYERS: usize = 64;

/// Code, read through once for its jump destinations and its hash.
#[pyclass(frozen, module = "feemodel_native")]
pub struct Code {
    ordinary: Bytecode,
    /// The same as a delegation, EIP-7702, where its bytes are one; what that means depends on the fork.
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

/// One account with its slots; what is not there holds zero, or what the layer below says.
#[derive(Clone, Debug, Default)]
struct Record {
    info: Option<AccountInfo>,
    slots: HashMap<U256, U256>,
    /// Whether slots that are not there are zero, whatever stands below.
    replaced: bool,
}

/// Accounts by address, over others.
#[derive(Debug, Default)]
pub struct Accounts {
    records: AddressMap<Record>,
    hashes: HashMap<u64, B256>,
    base: Option<Arc<Accounts>>,
    /// How many layers are below.
    layers: usize,
    delegations: bool,
}

impl Accounts {
    fn filled(mut self, accounts: &[u8], slots: &[u8], codes: &[Py<Code>], replaced: &[bool]) -> PyResult<Self> {
        let (count, mut addresses) = (accounts.len() / ACCOUNT, Vec::new());
        addresses.try_reserve(count).map_err(|error| no_room(&error))?;
        self.records.try_reserve(count).map_err(|error| no_room(&error))?;
        for (place, record) in records::<ACCOUNT>("accounts", accounts)?.enumerate() {
            let address = Address::from_slice(&record[..20]);
            let number = u32::from_be_bytes(part(&record[60..])) as usize;
            let code = codes.get(number).ok_or_else(|| PyValueError::new_err(format!("accounts: no code {number}")))?;
            let code = match &code.get().delegation {
                Some(delegation) if self.delegations => delegation.clone(),
                _ => code.get().ordinary.clone(),
            };
            let info = AccountInfo::new(
                U256::from_be_slice(&record[20..52]),
                u64::from_be_bytes(part(&record[52..60])),
                code.hash_slow(),
                code,
            );
            let replaced = replaced.get(place).copied().unwrap_or(true);
            addresses.push(address);
            self.records.insert(address, Record { info: Some(info), slots: HashMap::default(), replaced });
        }
        for record in records::<SLOT>("slots", slots)? {
            let number = u32::from_be_bytes(part(&record[..4])) as usize;
            let address =
                addresses.get(number).ok_or_else(|| PyValueError::new_err(format!("slots: no account {number}")))?;
            if let Some(account) = self.records.get_mut(address) {
                account.slots.insert(U256::from_be_slice(&record[4..36]), U256::from_be_slice(&record[36..]));
            }
        }
        for address in addresses {
            let has_storage = self.has_storage(&address);
            let named_below = self.base.as_ref().is_some_and(|base| base.names_slots(&address));
            if let Some(Record { info: Some(info), slots, replaced }) = self.records.get_mut(&address)
                && info.is_empty_code_hash()
                && info.nonce == 0
            {
                if has_storage {
                    // A creation at this address must fail, EIP-7610; revm takes the hash of no code for none.
                    info.code_hash = B256::ZERO;
                } else if info.balance.is_zero() && slots.is_empty() && (*replaced || !named_below) {
                    self.records.insert(address, Record { replaced: true, ..Record::default() });
                }
            }
        }
        Ok(self)
    }

    fn has_storage(&self, address: &Address) -> bool {
        let Some(record) = self.records.get(address) else {
            return self.base.as_ref().is_some_and(|base| base.has_storage(address));
        };
        if record.slots.values().any(|value| !value.is_zero()) {
            return true;
        }
        let below = if record.replaced { None } else { self.base.as_ref().and_then(|base| base.records.get(address)) };
        below.is_some_and(|below| {
            below.slots.iter().any(|(slot, value)| !value.is_zero() && !record.slots.contains_key(slot))
        })
    }

    fn names_slots(&self, address: &Address) -> bool {
        self.records.get(address).is_some_and(|record| !record.slots.is_empty())
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

    fn hash(&self, number: u64) -> Option<B256> {
        match &self.base {
            Some(base) => base.hash(number),
            None => self.hashes.get(&number).copied(),
        }
    }
}

/// What revm reads the state through.
#[derive(Clone, Debug)]
pub struct Reader(pub Arc<Accounts>);

static NOTHING: LazyLock<Arc<Accounts>> = LazyLock::new(Arc::default);

impl Default for Reader {
    fn default() -> Self {
        Self(NOTHING.clone())
    }
}

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
        self.0.hash(number).ok_or(Missing(number))
    }
}

/// Accounts, for Python: immutable, so that any number of threads may execute on it.
#[pyclass(frozen, module = "feemodel_native")]
pub struct State(pub Arc<Accounts>);

#[pymethods]
impl State {
    /// `accounts`: address 20, balance 32, nonce 8, number of its code 4; `slots`: number of its account 4, slot 32,
    /// value 32; `hashes`: number of a block 8, hash 32; all big-endian, one after the other.
    #[new]
    fn new(fork: &str, accounts: &[u8], slots: &[u8], codes: Vec<Py<Code>>, hashes: &[u8]) -> PyResult<Self> {
        let delegations = spec_named(fork)?.is_enabled_in(revm::primitives::hardfork::SpecId::PRAGUE);
        let hashes = records::<HASH>("hashes", hashes)?
            .map(|record| (u64::from_be_bytes(part(&record[..8])), B256::from_slice(&record[8..])))
            .collect();
        let empty = Accounts { hashes, delegations, ..Accounts::default() };
        Ok(Self(Arc::new(empty.filled(accounts, slots, &codes, &[])?)))
    }

    /// The same with other accounts in place of some; `replaced` says for each whether its slots replace all it had.
    fn overridden(&self, accounts: &[u8], slots: &[u8], codes: Vec<Py<Code>>, replaced: Vec<bool>) -> PyResult<Self> {
        if replaced.len() * ACCOUNT != accounts.len() {
            return Err(PyValueError::new_err("replaced: one for each account"));
        }
        self.check_layers()?;
        let layer = Accounts {
            base: Some(self.0.clone()),
            layers: self.0.layers + 1,
            delegations: self.0.delegations,
            ..Accounts::default()
        };
        Ok(Self(Arc::new(layer.filled(accounts, slots, &codes, &replaced)?)))
    }
}

impl State {
    /// `ValueError` where there is no room for one more layer.
    fn check_layers(&self) -> PyResult<()> {
        if self.0.layers < MAX_LAYERS {
            return Ok(());
        }
        Err(PyValueError::new_err(format!("state: at most {MAX_LAYERS} layers of overrides over each other")))
    }
}

fn no_room(error: &dyn std::fmt::Display) -> PyErr {
    PyMemoryError::new_err(format!("accounts: {error}"))
}

fn records<'a, const SIZE: usize>(
    name: &str,
    buffer: &'a [u8],
) -> PyResult<impl Iterator<Item = &'a [u8]> + use<'a, SIZE>> {
    if !buffer.len().is_multiple_of(SIZE) {
        return Err(PyValueError::new_err(format!("{name}: expected records of {SIZE} bytes, got {}", buffer.len())));
    }
    Ok(buffer.chunks_exact(SIZE))
}

fn part<const SIZE: usize>(bytes: &[u8]) -> [u8; SIZE] {
    let mut part = [0; SIZE];
    part.copy_from_slice(&bytes[..SIZE]);
    part
}
