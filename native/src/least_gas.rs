//! The gas limits on which an execution ends the same way.
//!
//! As long as the path is the same, the gas left at any point is the limit minus what was spent before. So the least
//! limit of a frame is the maximum, over the points where gas must be there, of *spent before + needed there*. The
//! recorder is told of the three kinds of points: a frame begins or ends, and SSTORE wants to see more than 2,300 left.
//!
//! A child that halts consumes everything it was given, which is a part of what was left: from there on, what is spent
//! depends on the limit. Frames in which that happens are kept as a `Tree` of steps, and the least gas with which all
//! of them can be taken is searched at the end. With less gas, a child that halted halts again, at the same place or
//! before, as long as its own calls end as before. With more gas, it may not halt.
//!
//! So all frames end in the same way from the least limit on (up to the executed one if a frame halted), but not below.

use std::cmp::{max, min};

/// SSTORE fails with this much gas left or less, EIP-2200.
const SSTORE_SENTRY: u64 = 2_300;

/// A call or creation in progress: the gas that its caller had spent, and handed over.
#[derive(Clone, Copy, Debug, Default)]
struct Call {
    /// Spent by the caller before the gas was handed over, this instruction's own cost included.
    spent: u64,
    /// The caller's gas left afterwards.
    left: u64,
    /// Handed over, without the stipend.
    forwarded: u64,
    /// Also given to the child, because value is transferred.
    stipend: u64,
}

/// A part of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// `need` must be there, of which `spent` is spent.
    Spend { need: u64, spent: u64 },
    /// A call or creation in which a frame halts: it is given what it named, or all but a 64th.
    Call { named: u64, stipend: u64, child: Tree },
}

/// A frame that halts, or in which another frame halts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    steps: Vec<Step>,
    halts: bool,
}

impl Tree {
    /// What is left of this much gas; `None` if a frame would end differently.
    fn left(&self, mut gas: u64) -> Option<u64> {
        for step in &self.steps {
            match step {
                Step::Spend { need, spent } => gas = (gas >= *need).then(|| gas - spent)?,
                Step::Call { named, stipend, child } => {
                    let given = min(*named, gas - gas / 64);
                    gas = gas - given + child.left(given + stipend)?;
                }
            }
        }
        Some(if self.halts { 0 } else { gas })
    }

    /// The least gas, up to `most`, for which `left` is not `None`.
    fn need(&self, most: u64) -> u64 {
        let (mut low, mut high) = (0, most);
        while low < high {
            let middle = u64::midpoint(low, high);
            if self.left(middle).is_some() { high = middle } else { low = middle + 1 }
        }
        low
    }
}

/// A frame in progress.
#[derive(Clone, Debug, Default)]
struct Frame {
    limit: u64,
    /// Spent up to the last call in `steps`, included.
    base: u64,
    /// The gas needed since then.
    need: u64,
    /// The part of `need` up to the last call or creation.
    need_of_calls: u64,
    /// Steps up to the last call in which a frame halted.
    steps: Vec<Step>,
    call: Call,
}

impl Frame {
    fn spent(&self, left: u64) -> u64 {
        self.limit - left - self.base
    }

    /// The call must be given at least `need`.
    fn hands_over(&mut self, need: u64) {
        self.need = max(self.need, self.call.spent + before_cap(need));
        self.need_of_calls = self.need;
    }

    /// End with this much gas left; `None` for a halt.
    fn end(mut self, left: Option<u64>) -> End {
        let spent = left.map_or(0, |left| self.spent(left));
        let need = if left.is_some() { max(self.need, spent) } else { self.need_of_calls };
        if left.is_some() && self.steps.is_empty() {
            return End::Needed(need);
        }
        self.steps.push(Step::Spend { need, spent });
        End::Burnt(Tree { steps: self.steps, halts: left.is_none() }, left.unwrap_or(0))
    }
}

/// How a child ended, as its caller sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It succeeded or reverted, and needed this much gas for it.
    Needed(u64),
    /// It never began (no funds, too deep): it needed nothing and gave everything back.
    Refused,
    /// It halted, or a frame in it did: the steps, and the gas left.
    Burnt(Tree, u64),
}

impl End {
    /// It halted at once.
    pub fn halted() -> Self {
        Self::Burnt(Tree { steps: Vec::new(), halts: true }, 0)
    }
}

/// What is recorded of one execution.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    frames: Vec<Frame>,
    /// Gas limit of the frame that ended last.
    limit: u64,
    /// Whether something on the path reads gas, or a balance that pays for it.
    pub reads: bool,
    /// Whether a frame halted; with more gas, it may not halt.
    pub halted: bool,
    /// Whether there was a call or a creation.
    pub nests: bool,
    /// The least gas with which the outermost frame ends the same way, once it has ended.
    pub least: u64,
}

impl Recorder {
    /// Number of frames in progress.
    pub fn depth(&self) -> usize {
        self.frames.len()
    }

    /// The current frame, with `left` gas, calls or creates; the child is given `given`, which includes `stipend`.
    pub fn calls(&mut self, left: u64, given: u64, stipend: u64) {
        let Some(frame) = self.frames.last_mut() else { return };
        self.nests = true;
        let forwarded = given - stipend;
        frame.call = Call { spent: frame.spent(left + forwarded), left, forwarded, stipend };
    }

    /// The child begins to execute code.
    pub fn begins(&mut self, given: u64) {
        self.frames.push(Frame { limit: given, ..Frame::default() });
    }

    /// SSTORE begins with this much gas left.
    pub fn stores(&mut self, left: u64) {
        if let Some(frame) = self.frames.last_mut() {
            frame.need = max(frame.need, frame.spent(left) + SSTORE_SENTRY + 1);
        }
    }

    /// The current frame ends with this much gas left; `None` for a halt.
    pub fn ends(&mut self, left: Option<u64>) -> End {
        let frame = self.frames.pop().unwrap_or_default();
        self.limit = frame.limit;
        frame.end(left)
    }

    /// Tell the caller, now the current frame, how its child ended.
    pub fn returns(&mut self, end: End) {
        let Some(frame) = self.frames.last_mut() else {
            self.least = match end {
                End::Needed(need) => need,
                End::Refused => 0,
                End::Burnt(tree, _) => {
                    self.halted = true;
                    tree.need(self.limit)
                }
            };
            return;
        };
        let call = frame.call;
        match end {
            End::Needed(need) => frame.hands_over(need.saturating_sub(call.stipend)),
            End::Refused => frame.hands_over(0),
            End::Burnt(child, left) => {
                let available = call.left + call.forwarded;
                let is_capped = call.forwarded >= available - available / 64;
                let named = if is_capped { u64::MAX } else { call.forwarded };
                frame.steps.push(Step::Spend { need: max(frame.need, call.spent), spent: call.spent });
                frame.steps.push(Step::Call { named, stipend: call.stipend, child });
                (frame.need, frame.need_of_calls) = (0, 0);
                frame.base = frame.limit - call.left - left;
            }
        }
    }
}

/// The least gas of which all but a 64th is at least `need`, EIP-150.
fn before_cap(need: u64) -> u64 {
    if need == 0 { 0 } else { need + (need - 1) / 63 }
}
