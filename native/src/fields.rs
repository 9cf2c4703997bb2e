//! Fields as Python hands them over: bytes of a fixed size, and forks by name.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use revm::primitives::U256;
use revm::primitives::hardfork::SpecId;

/// Every fork that is executed, by its name in the executable specification.
pub const FORKS: [(&str, SpecId); 20] = [
    ("frontier", SpecId::FRONTIER),
    ("homestead", SpecId::HOMESTEAD),
    ("dao_fork", SpecId::HOMESTEAD),
    ("tangerine_whistle", SpecId::TANGERINE),
    ("spurious_dragon", SpecId::SPURIOUS_DRAGON),
    ("byzantium", SpecId::BYZANTIUM),
    ("constantinople", SpecId::PETERSBURG),
    ("istanbul", SpecId::ISTANBUL),
    ("muir_glacier", SpecId::ISTANBUL),
    ("berlin", SpecId::BERLIN),
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

/// The rules of a fork; `ValueError` for one that is not executed.
pub fn spec_named(name: &str) -> PyResult<SpecId> {
    let found = FORKS.iter().find(|(known, _)| *known == name);
    found.map(|(_, spec)| *spec).ok_or_else(|| PyValueError::new_err(format!("fork: {name} is not known")))
}

/// Bytes of just this size; `ValueError` that names the field for others.
pub fn sized<const SIZE: usize>(name: &str, bytes: &[u8]) -> PyResult<[u8; SIZE]> {
    let wrong = || PyValueError::new_err(format!("{name}: expected {SIZE} bytes, counted {}", bytes.len()));
    bytes.try_into().map_err(|_| wrong())
}

/// A number of 32 bytes.
pub fn number(name: &str, bytes: &[u8]) -> PyResult<U256> {
    Ok(U256::from_be_bytes(sized::<32>(name, bytes)?))
}
