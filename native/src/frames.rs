//! How every call and creation of an execution ends, in the order in which they begin.

use revm::bytecode::opcode::OpCode;
use revm::handler::FrameResult;
use revm::primitives::{Address, B256, keccak256};

use crate::machine::Ending;

/// One call or creation; the outermost is the first.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// Number of frames around it.
    pub depth: u32,
    /// The account whose code it runs, or that it creates; zero if a creation does not begin.
    pub address: Address,
    /// A frame that did not begin counts as reverted.
    pub status: Ending,
    /// Keccak-256 of what it returned.
    pub output: B256,
    /// The first opcode that reads the gas left, or a balance that pays for gas; empty if there is none.
    pub reads: &'static str,
}

impl Frame {
    fn ends_as(&self, other: &Self, by_output: bool) -> bool {
        let same = (self.depth, self.address, self.status) == (other.depth, other.address, other.status);
        same && (!by_output || self.output == other.output)
    }
}

/// The frames of one execution.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    all: Vec<Frame>,
    running: Vec<usize>,
}

impl Frames {
    /// A frame begins.
    pub fn begins(&mut self, address: Address) {
        let depth = u32::try_from(self.running.len()).unwrap_or(u32::MAX);
        self.running.push(self.all.len());
        self.all.push(Frame { depth, address, ..Frame::default() });
    }

    /// An opcode of the current frame reads gas.
    pub fn reads(&mut self, opcode: u8) {
        if let Some(frame) = self.running.last().and_then(|index| self.all.get_mut(*index))
            && frame.reads.is_empty()
        {
            frame.reads = OpCode::name_by_op(opcode);
        }
    }

    /// The current frame ends.
    pub fn ends(&mut self, result: &FrameResult) {
        let end = result.instruction_result();
        if let Some(frame) = self.running.pop().and_then(|index| self.all.get_mut(index)) {
            frame.status = match end {
                end if end.is_ok() => Ending::Success,
                end if end.is_revert() => Ending::Revert,
                _ => Ending::Halt,
            };
            frame.output = keccak256(&result.interpreter_result().output);
        }
    }

    /// All frames.
    pub fn all(self) -> Vec<Frame> {
        self.all
    }
}

/// Index of the first frame that ends differently in the two executions.
pub fn difference(one: &[Frame], other: &[Frame], by_output: bool) -> Option<usize> {
    let differs = one.iter().zip(other).position(|(frame, other)| !frame.ends_as(other, by_output));
    differs.or_else(|| (one.len() != other.len()).then(|| one.len().min(other.len())))
}
