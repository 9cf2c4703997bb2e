//! The two hashes of the state tree for Python, of batches of messages.

use std::thread;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::{mimc, poseidon2};

/// Bytes of a block of a message, and of a digest.
pub const BLOCK: usize = 32;

/// The hash of a message.
pub type Digest = [u8; BLOCK];

/// Number of messages from which threads are faster.
const PARALLEL: usize = 4_096;

/// A hash of the state tree, by its name: "poseidon2" or "mimc".
#[pyclass(frozen, module = "feemodel_native")]
pub struct Hash {
    digests: fn(&[&[u8]]) -> Option<Vec<Digest>>,
}

#[pymethods]
impl Hash {
    #[new]
    fn new(name: &str) -> PyResult<Self> {
        match name {
            "poseidon2" => Ok(Self { digests: poseidon2::digests }),
            "mimc" => Ok(Self { digests: mimc::digests }),
            _ => Err(PyValueError::new_err(format!("expected poseidon2 or mimc, got {name:?}"))),
        }
    }

    /// The digests of messages of `size` bytes, one after the other; `None` if a message is invalid.
    fn digests<'py>(&self, py: Python<'py>, data: &[u8], size: usize) -> PyResult<Option<Bound<'py, PyBytes>>> {
        if size == 0 || !data.len().is_multiple_of(size) {
            return Err(PyValueError::new_err(format!("expected whole messages of {size} bytes, got {}", data.len())));
        }
        if data.len() == size {
            return Ok((self.digests)(&[data]).map(|found| PyBytes::new(py, &found[0])));
        }
        let found = py.detach(|| self.on_all_cores(&data.chunks_exact(size).collect::<Vec<_>>()));
        Ok(found.map(|found| PyBytes::new(py, found.as_flattened())))
    }
}

impl Hash {
    fn on_all_cores(&self, messages: &[&[u8]]) -> Option<Vec<Digest>> {
        if messages.len() < PARALLEL {
            return (self.digests)(messages);
        }
        let cores = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            let parts = messages.chunks(messages.len().div_ceil(cores));
            let started: Vec<_> = parts.map(|part| scope.spawn(|| (self.digests)(part))).collect();
            let found = started.into_iter().map(|part| part.join().ok().flatten());
            found.collect::<Option<Vec<_>>>().map(|parts| parts.concat())
        })
    }
}
