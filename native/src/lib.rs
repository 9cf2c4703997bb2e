//! The compiled engine of feemodel: revm, called from Python.
//!
//! - `state`: the accounts that calls run on, and overrides over them
//! - `message`: what is executed, and in which block
//! - `machine`: revm, in which a few opcodes and every frame report gas
//! - `frames`: how every call and creation ended
//! - `gas_search`: the search for a gas limit, in one call
//! - `least_gas`: the least gas limit on which an execution takes the same path
//! - `hashing`: the hashes of the ledger's state tree, `poseidon2` and `mimc`
//! - `lzss`: compressed sizes of the compressor of Linea's blobs
//! - `fields`: names and numbers as Python hands them over
//!
//! A failed execution raises no exception: its result says how it ended.

mod fields;
mod frames;
mod gas_search;
mod hashing;
mod least_gas;
mod lzss;
mod machine;
mod message;
mod mimc;
mod poseidon2;
mod state;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use gas_search::{Search, Unfound};
use hashing::Hash;
use lzss::Lzss;
use machine::{Executed, Failure, Task};
use message::{Block, Execution, Message};
use state::{Code, State};

create_exception!(
    feemodel_native,
    MissingHash,
    PyException,
    "BLOCKHASH asked for a hash that was not given: its number."
);
create_exception!(feemodel_native, Exceeded, PyException, "The execution took more time than it had.");
create_exception!(feemodel_native, SpentGas, PyException, "The executions of a search took more gas than they had.");
create_exception!(feemodel_native, SpentTime, PyException, "The executions of a search took more time than they had.");
create_exception!(feemodel_native, Unproven, PyException, "Less gas does not tell how an execution with more ends.");
create_exception!(feemodel_native, BalanceOverflow, PyException, "An account would hold more than 2**256 - 1 wei.");
create_exception!(feemodel_native, NativeError, PyException, "A fault of the engine.");

/// Ending, gas used, refund, floor, output, and why it did not succeed.
type Outcome<'py> = (&'static str, u64, u64, u64, Bound<'py, PyBytes>, String);

/// Execute a message with a gas limit. Also return the least and the largest gas limit with the same end, if known,
/// whether there was no call and no creation, and each frame. For `inline_gas`, see `execute`.
#[pyfunction]
#[pyo3(signature = (state, block, message, gas_limit, *, seconds=None, frames=false, inline_gas=None, stop=None))]
#[allow(clippy::too_many_arguments)]
fn trace<'py>(
    py: Python<'py>,
    state: &State,
    block: &Block,
    message: &Message,
    gas_limit: u64,
    seconds: Option<f64>,
    frames: bool,
    inline_gas: Option<u64>,
    stop: Option<&Stop>,
) -> PyResult<(Outcome<'py>, u64, u64, bool, Vec<GivenFrame>)> {
    let gas_limit = fields::gas_limit(gas_limit)?;
    let (until, stop) = (fields::deadline(seconds)?, stop.map(|stop| stop.0.clone()));
    let (execution, task) = (Execution { state, block, message }, Task { until, stop, frames, ..Task::default() });
    let executed = caught(py, || gas_search::execute(execution, gas_limit, inline_gas, &task))?;
    let executed = executed.map_err(error)?;
    let ends = executed.frames.iter();
    let ends = ends.map(|end| (end.depth, end.address.0.0, end.status.name(), end.output.0, end.reads)).collect();
    Ok((outcome(py, &executed), executed.least, executed.most, executed.single_frame, ends))
}

/// Depth, address, ending, hash of the output, opcode that reads gas (see `frames::Frame`).
type GivenFrame = (u32, [u8; 20], &'static str, [u8; 32], &'static str);

/// Stops executions of other threads, at their next call or creation.
#[pyclass(frozen, module = "feemodel_native")]
struct Stop(Arc<AtomicBool>);

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Self(Arc::default())
    }

    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// How the limit is known to keep every frame, and the frame that prevents a proof: index, address, opcode.
type GivenIntact = (&'static str, Option<(usize, [u8; 20], &'static str)>);

/// Gas limit, outcome at the upper bound or of the transfer, numbers of limits executed and proven, `GivenIntact`.
type Searched<'py> = (Option<u64>, Option<Outcome<'py>>, u64, u64, Option<GivenIntact>);

/// The gas limit that a message needs, see `gas_search`. No execution begins after `total_gas` or `seconds`, and all
/// must end within `left` seconds; `most` is the largest limit that the node would execute.
#[pyfunction]
#[pyo3(signature = (state, block, message, *, rules, upper, most, tolerance, transfer, total_gas, seconds=None, left=None, inline_gas=None, stop=None))]
#[allow(clippy::too_many_arguments, clippy::fn_params_excessive_bools)]
fn search<'py>(
    py: Python<'py>,
    state: &State,
    block: &Block,
    message: &Message,
    rules: &str,
    upper: u64,
    most: i64,
    tolerance: f64,
    transfer: bool,
    total_gas: u64,
    seconds: Option<f64>,
    left: Option<f64>,
    inline_gas: Option<u64>,
    stop: Option<&Stop>,
) -> PyResult<Searched<'py>> {
    let Some(rules) = gas_search::Rules::named(rules) else {
        return Err(PyValueError::new_err(format!("rules: expected geth, besu or intact, got {rules}")));
    };
    let (until, stop) = (fields::deadline(left)?, stop.map(|stop| stop.0.clone()));
    let asked = Search {
        rules,
        upper: fields::gas_limit(upper)?,
        most,
        tolerance,
        transfer,
        total_gas,
        begins_until: fields::deadline(seconds)?,
        task: Task { until, stop, frames: rules == gas_search::Rules::Intact, ..Task::default() },
        inline_gas,
    };
    let found = caught(py, || gas_search::search(Execution { state, block, message }, &asked))?;
    let found = found.map_err(error)?;
    let outcome = found.outcome.as_ref().map(|executed| outcome(py, executed));
    let intact = found
        .intact
        .map(|intact| (intact.status, intact.place.map(|place| (place.index, place.address.0.0, place.opcode))));
    Ok((found.gas_limit, outcome, found.executed, found.proven, intact))
}

/// The version of this package, and the forks that it executes.
#[pyfunction]
fn version() -> (&'static str, Vec<&'static str>) {
    (env!("CARGO_PKG_VERSION"), fields::FORKS.iter().map(|(name, _)| *name).collect())
}

/// Run a function without Python's lock. A panic becomes a `NativeError`.
fn caught<Found: Send>(py: Python<'_>, function: impl FnOnce() -> Found + Send) -> PyResult<Found> {
    // What a panic leaves behind is not used again: the machine of the thread is put back only without a panic.
    let found = py.detach(|| catch_unwind(AssertUnwindSafe(function)));
    found.map_err(|panic| NativeError::new_err(words(panic.as_ref())))
}

fn error(unfound: Unfound) -> PyErr {
    match unfound {
        Unfound::Gas => SpentGas::new_err("the executions took more gas than they had"),
        Unfound::Time => SpentTime::new_err("the executions took more time than they had"),
        Unfound::Unproven => Unproven::new_err("less gas does not tell how more ends"),
        Unfound::Failed(Failure::MissingHash(number)) => MissingHash::new_err(number),
        Unfound::Failed(Failure::Late) => Exceeded::new_err("the execution took more time than it had"),
        Unfound::Failed(Failure::Sender) => PyValueError::new_err("sender: it cannot pay, or its nonce is 2**64 - 1"),
        Unfound::Failed(Failure::Overflow) => {
            BalanceOverflow::new_err("an account would hold more than 2**256 - 1 wei")
        }
        Unfound::Failed(Failure::Other(words)) => NativeError::new_err(words),
    }
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without words".into())
}

fn outcome<'py>(py: Python<'py>, executed: &Executed) -> Outcome<'py> {
    let Executed { ending, gas_used, refund, floor, output, words, .. } = executed;
    (ending.name(), *gas_used, *refund, *floor, PyBytes::new(py, output), words.clone())
}

/// The module, as Python imports it.
#[pymodule]
mod feemodel_native {
    #[pymodule_export]
    use super::{
        BalanceOverflow, Block, Code, Exceeded, Hash, Lzss, Message, MissingHash, NativeError, SpentGas, SpentTime,
        State, Stop, Unproven, search, trace, version,
    };
}
