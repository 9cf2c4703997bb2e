//! Fields as Python hands them over: forks by name, and numbers and bytes within their bounds.

use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use revm::primitives::Bytes;
use revm::primitives::hardfork::SpecId;

/// Largest gas limit of an execution, which bounds its memory: an entry of the state takes some 200 bytes for 100 gas.
pub const MAX_GAS: u64 = (1 << 29) - 1;
/// Largest size of calldata and of code.
pub const MAX_BYTES: usize = 64 << 20;
/// Longest time of an execution, in seconds.
const MAX_SECONDS: f64 = 1e9;

/// Every fork that is executed, from London on, by its name in the executable specification.
pub const FORKS: [(&str, SpecId); 10] = [
    ("london", SpecId::LONDON),
    ("arrow_glacier", SpecId::LONDON),
    ("gray_glacier", SpecId::LONDON),
    ("paris", SpecId::MERGE),
    ("shanghai", SpecId::SHANGHAI),
    ("cancun", SpecId::CANCUN),
    ("prague", SpecId::PRAGUE),
    ("osaka", SpecId::OSAKA),
    // Other numbers of blobs; their price is given with the block.
    ("bpo1", SpecId::OSAKA),
    ("bpo2", SpecId::OSAKA),
];

/// The rules of a fork; `ValueError` for a fork that is not supported.
pub fn spec_named(name: &str) -> PyResult<SpecId> {
    let found = FORKS.iter().find(|(known, _)| *known == name);
    found.map(|(_, spec)| *spec).ok_or_else(|| PyValueError::new_err(format!("fork: {name} is not known")))
}

/// A gas limit that can be executed; `ValueError` for a larger one.
pub fn gas_limit(gas: u64) -> PyResult<u64> {
    if gas <= MAX_GAS {
        Ok(gas)
    } else {
        Err(PyValueError::new_err(format!("gas_limit: at most {MAX_GAS}, got {gas}")))
    }
}

/// A copy of calldata or code; `ValueError` for one that is too long.
pub fn copied(name: &str, bytes: &[u8]) -> PyResult<Bytes> {
    if bytes.len() > MAX_BYTES {
        return Err(PyValueError::new_err(format!("{name}: at most {MAX_BYTES} bytes, counted {}", bytes.len())));
    }
    Ok(Bytes::copy_from_slice(bytes))
}

/// The deadline of an execution that may take this many seconds; `ValueError` for an invalid number.
pub fn deadline(seconds: Option<f64>) -> PyResult<Option<Instant>> {
    let Some(seconds) = seconds else { return Ok(None) };
    let wrong = || PyValueError::new_err(format!("seconds: expected a number from 0 to {MAX_SECONDS}, got {seconds}"));
    let left = Duration::try_from_secs_f64(seconds).ok().filter(|_| seconds <= MAX_SECONDS).ok_or_else(wrong)?;
    Instant::now().checked_add(left).ok_or_else(wrong).map(Some)
}
