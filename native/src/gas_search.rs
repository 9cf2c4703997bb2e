//! The search for the gas limit of a message, as geth and Besu do it, or so that every frame ends as with ample gas.
//!
//! The same steps as in `feemodel/execution/_search.py`, which names their sources: a transfer at 21,000, the upper
//! bound, a first guess, then bisection. A limit is executed only if no earlier execution proves how it ends.
//!
//! For intact frames, the least limit of the path is the answer if nothing on the path reads gas: with one gas less,
//! some frame runs out. Otherwise, it is the first guess.

use std::time::Instant;

use revm::primitives::Address;

use crate::frames::difference;
use crate::machine::{self, Ending, Executed, Failure, Task};
use crate::message::Execution;

const TRANSACTION_GAS: u64 = 21_000;
const CALL_STIPEND: u64 = 2_300;

/// Rules of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// go-ethereum.
    Geth,
    /// Hyperledger Besu.
    Besu,
    /// The least limit on which every frame ends as at the upper bound.
    Intact,
}

impl Rules {
    /// The rules of a node by its name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "geth" => Some(Self::Geth),
            "besu" => Some(Self::Besu),
            "intact" => Some(Self::Intact),
            _ => None,
        }
    }

    /// Gas used; no smaller limit is searched.
    fn used(self, outcome: &Executed) -> u64 {
        match self {
            Self::Geth => (outcome.gas_used - outcome.refund).max(outcome.floor),
            Self::Besu | Self::Intact => outcome.gas_used,
        }
    }

    /// The first guess.
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)]
    fn optimistic(self, outcome: &Executed) -> u64 {
        match self {
            Self::Geth => (outcome.gas_used.max(outcome.floor) + CALL_STIPEND) * 64 / 63,
            // In doubles, the ratio first.
            Self::Besu | Self::Intact => ((outcome.gas_used + CALL_STIPEND) as f64 * (64.0 / 63.0)) as u64,
        }
    }
}

/// A search, and its limits.
#[derive(Clone, Debug)]
pub struct Search {
    /// Rules of the search.
    pub rules: Rules,
    /// The upper bound.
    pub upper: u64,
    /// The largest limit that the node would execute; below 0 it would execute none.
    pub most: i64,
    /// Largest relative error of the answer.
    pub tolerance: f64,
    /// Whether the message may be a plain transfer.
    pub transfer: bool,
    /// Gas after which no execution begins.
    pub total_gas: u64,
    /// Time after which no execution begins.
    pub begins_until: Option<Instant>,
    /// Options of each execution.
    pub task: Task,
    /// Gas of all executions together, in place of larger limits whose outcome it proves.
    pub inline_gas: Option<u64>,
}

/// What a search found.
#[derive(Debug, Default)]
pub struct Found {
    /// `None` if the message fails at the upper bound.
    pub gas_limit: Option<u64>,
    /// Of the execution at the upper bound, or of the transfer; `None` if the node would not execute it.
    pub outcome: Option<Executed>,
    /// Limits that were executed.
    pub executed: u64,
    /// Limits whose outcome an execution at another limit proved.
    pub proven: u64,
    /// What is known of the frames, in a search for intact frames.
    pub intact: Option<Intact>,
}

/// How it is known that every frame ends as at the upper bound.
#[derive(Debug)]
pub struct Intact {
    /// "proven" for this limit and every larger one, and for none below it; "searched"; or "not possible" if one gas
    /// less than the upper bound changes an output, so only statuses were kept.
    pub status: &'static str,
    /// What prevents a proof, or changes the output.
    pub place: Option<Place>,
}

/// A frame, and the opcode in it that reads gas.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Frames are numbered in the order of their starts.
    pub index: usize,
    /// The account whose code it runs.
    pub address: Address,
    /// Empty if none reads gas.
    pub opcode: &'static str,
}

/// Why a search ended without an answer.
#[derive(Debug)]
pub enum Unfound {
    /// An execution has no outcome.
    Failed(Failure),
    /// The executions took more gas than they may.
    Gas,
    /// They took more time.
    Time,
    /// An execution with `inline_gas` does not prove the outcome.
    Unproven,
}

/// Execute a message with a gas limit, or with `inline_gas` if that is less and proves the outcome.
pub fn execute(
    execution: Execution<'_>,
    gas_limit: u64,
    inline_gas: Option<u64>,
    task: &Task,
) -> Result<Executed, Unfound> {
    let Execution { state, message, .. } = execution;
    let given = inline_gas.map_or(gas_limit, |left| left.min(gas_limit));
    // Code of the sender may spend a balance that a larger limit reduces.
    let may_spend = message.pays && message.transaction.gas_price > 0 && state.0.has_code(&message.transaction.caller);
    if given < gas_limit && may_spend {
        return Err(Unfound::Unproven);
    }
    let outcome = machine::execute(execution, given, task).map_err(Unfound::Failed)?;
    let is_told = outcome.least <= outcome.most && outcome.most == u64::MAX;
    if given < gas_limit && !(is_told && matches!(outcome.ending, Ending::Success | Ending::Revert)) {
        return Err(Unfound::Unproven);
    }
    Ok(outcome)
}

/// Search the gas limit of a message.
#[allow(clippy::cast_precision_loss)]
pub fn search(execution: Execution<'_>, search: &Search) -> Result<Found, Unfound> {
    let (inline, found) = (search.inline_gas, Found::default());
    let mut probes =
        Probes { execution, search, least: 1, most: 0, fails_from: u64::MAX, inline, spent: 0, traced: 0, found };
    let rules = search.rules;
    if search.transfer
        && rules != Rules::Intact
        && let Some(outcome) = probes.execute(TRANSACTION_GAS)?
        && outcome.ending == Ending::Success
    {
        return Ok(probes.found(Some(TRANSACTION_GAS), Some(outcome)));
    }
    let outcome = match probes.trace(search.upper)? {
        Some(outcome) if outcome.ending == Ending::Success => outcome,
        outcome => return Ok(probes.found(None, outcome)),
    };
    if rules == Rules::Intact {
        return probes.intact(outcome);
    }
    let (mut low, mut high) = (rules.used(&outcome).saturating_sub(1), search.upper);
    let optimistic = rules.optimistic(&outcome);
    if rules == Rules::Besu || optimistic < high {
        *(if probes.succeeds(optimistic)? { &mut high } else { &mut low }) = optimistic;
    }
    while low + 1 < high && ((high - low) as f64 / high as f64 >= search.tolerance) {
        let mut middle = u64::midpoint(low, high);
        if rules == Rules::Geth {
            middle = middle.min(2 * low);
        }
        *(if probes.succeeds(middle)? { &mut high } else { &mut low }) = middle;
    }
    Ok(probes.found(Some(high), Some(outcome)))
}

/// Gas limits tried: executed, or proven by other executions.
struct Probes<'a> {
    execution: Execution<'a>,
    search: &'a Search,
    /// Limits from here on succeed, up to `most`.
    least: u64,
    most: u64,
    /// Limits from here on fail, up to the least that succeeds.
    fails_from: u64,
    inline: Option<u64>,
    /// Gas of all executions.
    spent: u64,
    traced: u64,
    found: Found,
}

impl Probes<'_> {
    /// The outcome with a limit; `None` if the node would not execute it.
    fn execute(&mut self, gas_limit: u64) -> Result<Option<Executed>, Unfound> {
        let search = self.search;
        if i64::try_from(gas_limit).map_or(true, |limit| limit > search.most) {
            return Ok(None);
        }
        if self.spent > search.total_gas {
            return Err(Unfound::Gas);
        }
        if search.begins_until.is_some_and(|until| Instant::now() > until) || search.task.is_late() {
            return Err(Unfound::Time);
        }
        let outcome = execute(self.execution, gas_limit, self.inline, &search.task)?;
        self.inline = self.inline.map(|left| left.saturating_sub(outcome.gas_used));
        self.spent += outcome.gas_used;
        self.found.executed += 1;
        Ok(Some(outcome))
    }

    /// Execute with a limit, and keep what it proves about other limits.
    fn trace(&mut self, gas_limit: u64) -> Result<Option<Executed>, Unfound> {
        let outcome = self.execute(gas_limit)?;
        self.traced += 1;
        if let Some(traced) = &outcome
            && traced.least <= traced.most
        {
            let succeeded = traced.ending == Ending::Success;
            if succeeded {
                let limit = u64::try_from(self.search.most).unwrap_or(0);
                (self.least, self.most) = (traced.least, self.most.max(traced.most.min(limit)));
            }
            self.fails_from = match (traced.single_frame, succeeded) {
                (true, _) => 0,
                (false, true) => u64::MAX,
                (false, false) => traced.least,
            };
        }
        Ok(outcome)
    }

    /// Whether the message succeeds with a limit.
    fn succeeds(&mut self, gas_limit: u64) -> Result<bool, Unfound> {
        loop {
            let succeeds = self.least <= gas_limit && gas_limit <= self.most;
            if succeeds || (self.fails_from <= gas_limit && gas_limit < self.least) {
                self.found.proven += 1;
                return Ok(succeeds);
            }
            if self.traced == 1 && gas_limit + 1 < self.least {
                self.trace(self.least - 1)?;
                continue;
            }
            return Ok(self.execute(gas_limit)?.is_some_and(|outcome| outcome.ending == Ending::Success));
        }
    }

    fn found(self, gas_limit: Option<u64>, outcome: Option<Executed>) -> Found {
        Found { gas_limit, outcome, ..self.found }
    }

    /// The least limit on which every frame ends as in `whole`, the execution with the upper bound.
    #[allow(clippy::cast_precision_loss)]
    fn intact(mut self, whole: Executed) -> Result<Found, Unfound> {
        let is_proven = whole.least <= whole.most;
        let first = whole.frames.iter().enumerate().find(|(_, frame)| !frame.reads.is_empty());
        let mut place = first.map(|(index, frame)| Place { index, address: frame.address, opcode: frame.reads });
        let (mut low, mut high) = (whole.floor.max(TRANSACTION_GAS) - 1, self.search.upper);
        let mut loses_output = false;
        if is_proven {
            (high, place) = (whole.least, None);
        } else if low + 1 < high {
            let guess = whole.least.clamp(low + 1, high - 1);
            let differs = |frames: &[_], by_output| difference(&whole.frames, frames, by_output);
            let frames = self.execute(guess)?.map_or_else(Vec::new, |outcome| outcome.frames);
            let mut is_same = differs(&frames, true).is_none();
            if !is_same {
                let near = self.execute(high - 1)?.map_or_else(Vec::new, |outcome| outcome.frames);
                if let Some(index) = differs(&near, true) {
                    let frame = whole.frames.get(index).or_else(|| near.get(index));
                    let opcode = frame.map_or("", |frame| frame.reads);
                    loses_output = true;
                    place = frame.map(|frame| Place {
                        index,
                        address: frame.address,
                        opcode: if opcode.is_empty() { place.map_or("", |place| place.opcode) } else { opcode },
                    });
                    is_same = differs(&frames, false).is_none();
                } else {
                    high -= 1;
                }
            }
            *(if is_same { &mut high } else { &mut low }) = guess;
            let mut next = if is_same { guess - 1 } else { (guess + CALL_STIPEND) * 64 / 63 };
            while low + 1 < high && ((high - low) as f64 / high as f64 >= self.search.tolerance) {
                let limit = next.clamp(low + 1, high - 1);
                let frames = self.execute(limit)?.map_or_else(Vec::new, |outcome| outcome.frames);
                *(if differs(&frames, !loses_output).is_none() { &mut high } else { &mut low }) = limit;
                next = u64::midpoint(low, high).min(2 * low);
            }
        }
        let status = match (is_proven, loses_output) {
            (true, _) => "proven",
            (false, true) => "not possible",
            (false, false) => "searched",
        };
        let intact = Intact { status, place };
        Ok(Found { intact: Some(intact), ..self.found(Some(high), Some(whole)) })
    }
}
