//! What an execution that stays changed, account by account.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use revm::bytecode::Bytecode;
use revm::primitives::{Address, KECCAK_EMPTY, U256};
use revm::state::{Account, AccountInfo};

/// An account after an execution that changed it.
#[pyclass(frozen, module = "feemodel_native")]
pub struct Change {
    address: Address,
    /// `None` where there is no account any more.
    pub(crate) info: Option<AccountInfo>,
    /// The code, where it is not what it was.
    code: Option<Bytecode>,
    /// Whether slots that are not named hold zero, whatever they held.
    pub(crate) cleared: bool,
    /// Slots that changed, with what they hold.
    pub(crate) slots: Vec<(U256, U256)>,
}

impl Change {
    /// What is different of an account; `None` where nothing is. EIP-161: an empty account is none.
    pub(crate) fn of(address: &Address, account: &Account, before: Option<&AccountInfo>) -> Option<Self> {
        // The hash of an account whose storage forbids a creation is zero, see `state`: it is no empty account.
        let keeps_storage = account.info.code_hash.is_zero();
        if account.is_selfdestructed() || (account.info.is_empty() && !keeps_storage) {
            before?;
            return Some(Self { address: *address, info: None, code: None, cleared: true, slots: Vec::new() });
        }
        let slots =
            account.changed_storage_slots().map(|(slot, value)| (*slot, value.present_value)).collect::<Vec<_>>();
        let mut info = account.info.clone();
        let had = before.map(|before| before.code_hash);
        let has_new_code = info.code_hash != had.unwrap_or(KECCAK_EMPTY);
        if info.code_hash.is_zero() && info.nonce > 0 {
            info.code_hash = KECCAK_EMPTY; // its nonce forbids a creation now
        }
        let is_as_before = before.is_some_and(|before| (before.balance, before.nonce) == (info.balance, info.nonce));
        if is_as_before && !has_new_code && slots.is_empty() && !account.is_created() {
            return None;
        }
        let code = if has_new_code { info.code.clone() } else { None };
        Some(Self { address: *address, info: Some(info), code, cleared: account.is_created(), slots })
    }
}

#[pymethods]
impl Change {
    #[getter]
    fn address<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.address.as_slice())
    }

    /// 32 bytes.
    #[getter]
    fn balance<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let balance = self.info.as_ref().map_or(U256::ZERO, |info| info.balance);
        PyBytes::new(py, &balance.to_be_bytes::<32>())
    }

    #[getter]
    fn nonce(&self) -> u64 {
        self.info.as_ref().map_or(0, |info| info.nonce)
    }

    /// The new code; `None` where it is what it was. An account that is gone has none.
    #[getter]
    fn code<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        if self.info.is_none() {
            return Some(PyBytes::new(py, &[]));
        }
        self.code.as_ref().map(|code| PyBytes::new(py, code.original_byte_slice()))
    }

    /// Whether slots that are not named hold zero, whatever they held.
    #[getter]
    fn cleared(&self) -> bool {
        self.cleared
    }

    /// Slots that changed, with what they hold, 32 bytes each.
    #[getter]
    fn slots<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let bytes = |number: &U256| PyBytes::new(py, &number.to_be_bytes::<32>());
        self.slots.iter().map(|(slot, value)| (bytes(slot), bytes(value))).collect()
    }
}
