//! Instructions whose price is not fixed: what they add to the state is counted, how they run out of gas is noted.
//!
//! revm ends an instruction whose memory cannot be paid for in one way. geth has three: the end of the memory is no
//! number of 64 bits; its price is none; there is too little gas.

use revm::bytecode::opcode::{self, OpCode};
use revm::interpreter::instructions::{arithmetic, contract, control, host, memory, system};
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_types::RuntimeFlag;
use revm::interpreter::{Instruction, InstructionContext, InstructionExecResult, InstructionResult, InstructionTable};
use revm::primitives::U256;
use revm::primitives::hardfork::SpecId;

use crate::machine::{self, Ctx, Ending, Failure, Opcode};

/// Memory whose price is a number of 64 bits, as geth has it.
const PRICED_MEMORY: u64 = 0x1f_ffff_ffe0;
/// Taken by CREATE before anything else.
const CREATE_GAS: u64 = 32_000;
/// EIP-3860.
const MAX_INIT_CODE: u64 = 49_152;

/// Where the memory of an instruction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    Priced,
    TooLarge,
    Overflow,
}

impl Extent {
    fn of(offset: &U256, size: &U256) -> Self {
        let Ok(size) = u64::try_from(*size) else { return Self::Overflow };
        if size == 0 {
            return Self::Priced;
        }
        match u64::try_from(*offset).ok().and_then(|offset| offset.checked_add(size)) {
            None => Self::Overflow,
            Some(end) if end > u64::MAX - 31 => Self::Overflow, // the last word ends beyond it
            Some(end) if end > PRICED_MEMORY => Self::TooLarge,
            Some(_) => Self::Priced,
        }
    }

    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Overflow, _) | (_, Self::Overflow) => Self::Overflow,
            (Self::TooLarge, _) | (_, Self::TooLarge) => Self::TooLarge,
            _ => Self::Priced,
        }
    }
}

const WORD: U256 = U256::from_limbs([32, 0, 0, 0]);
const BYTE: U256 = U256::from_limbs([1, 0, 0, 0]);

/// Where the memory ends that an instruction names; `stack` holds what it takes, the top last.
fn extent<const OPCODE: u8>(stack: &[U256]) -> Extent {
    let at = |place: usize| &stack[stack.len() - 1 - place];
    match OPCODE {
        opcode::MLOAD | opcode::MSTORE => Extent::of(at(0), &WORD),
        opcode::MSTORE8 => Extent::of(at(0), &BYTE),
        opcode::KECCAK256 | opcode::RETURN | opcode::REVERT | opcode::LOG0..=opcode::LOG4 => Extent::of(at(0), at(1)),
        opcode::CALLDATACOPY | opcode::CODECOPY | opcode::RETURNDATACOPY => Extent::of(at(0), at(2)),
        opcode::MCOPY => Extent::of(at(0).max(at(1)), at(2)),
        opcode::CREATE | opcode::CREATE2 => Extent::of(at(1), at(2)),
        opcode::EXTCODECOPY => Extent::of(at(1), at(3)),
        opcode::CALL | opcode::CALLCODE => Extent::of(at(3), at(4)).and(Extent::of(at(5), at(6))),
        opcode::DELEGATECALL | opcode::STATICCALL => Extent::of(at(2), at(3)).and(Extent::of(at(4), at(5))),
        _ => Extent::Priced,
    }
}

/// How many items an instruction takes from the stack.
const fn inputs(opcode: u8) -> usize {
    match OpCode::new(opcode) {
        Some(known) => known.info().inputs() as usize,
        None => 0,
    }
}

/// Execute an instruction, count what it adds to the state, and note how it runs out of gas.
fn metered<const OPCODE: u8>(context: Opcode<'_>) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let stack = interpreter.stack.data();
    if stack.len() < inputs(OPCODE) {
        return Err(InstructionResult::StackUnderflow);
    }
    let extent = extent::<OPCODE>(stack);
    let creates = matches!(OPCODE, opcode::CREATE | opcode::CREATE2);
    let size = if creates { u64::try_from(stack[stack.len() - 3]).unwrap_or(u64::MAX) } else { 0 };
    let pays = !creates || interpreter.gas.remaining() >= CREATE_GAS;
    let (entries, logs) = (host.journaled_state.journal.len(), host.journaled_state.logs.len());
    let end = ordinary::<OPCODE>(InstructionContext { interpreter: &mut *interpreter, host: &mut *host });
    if end.is_err_and(|end| end.is_halt()) {
        let limits_code = interpreter.runtime_flag.spec_id().is_enabled_in(SpecId::SHANGHAI);
        let ending = match extent {
            _ if !pays || end == Err(InstructionResult::NotActivated) => None,
            Extent::Overflow => Some(Ending::GasOverflow),
            Extent::TooLarge => Some(Ending::MemoryGasOverflow),
            Extent::Priced => (creates && limits_code && size > MAX_INIT_CODE).then_some(Ending::InitCodeSize),
        };
        host.chain.halts(ending, size);
        return end;
    }
    let journal = &host.journaled_state;
    let grown = journal.journal.len().saturating_sub(entries);
    let logged = (journal.logs.len() > logs).then(|| journal.logs.last().map_or(0, |log| log.data.data.len()));
    let too_much = (grown > 0 || logged.is_some()) && host.chain.grows(grown, logged);
    if too_much && end.is_ok() {
        host.error = Err(host.chain.give_up(Failure::Large));
        return Err(InstructionResult::FatalExternalError);
    }
    end // a call or creation is given up where its frame begins
}

fn ordinary<const OPCODE: u8>(context: Opcode<'_>) -> InstructionExecResult {
    match OPCODE {
        opcode::EXP => arithmetic::exp(context),
        opcode::MLOAD => memory::mload(context),
        opcode::MSTORE => memory::mstore(context),
        opcode::MSTORE8 => memory::mstore8(context),
        opcode::MCOPY => memory::mcopy(context),
        opcode::KECCAK256 => system::keccak256(context),
        opcode::CALLDATACOPY => system::calldatacopy(context),
        opcode::CODECOPY => system::codecopy(context),
        opcode::RETURNDATACOPY => system::returndatacopy(context),
        opcode::EXTCODECOPY => host::extcodecopy(context),
        opcode::EXTCODESIZE => host::extcodesize(context),
        opcode::EXTCODEHASH => machine::extcodehash(context),
        opcode::BALANCE => machine::balance(context),
        opcode::SLOAD => host::sload(context),
        opcode::SSTORE => machine::sstore(context),
        opcode::TSTORE => host::tstore(context),
        opcode::LOG0 => host::log::<0, _>(context),
        opcode::LOG1 => host::log::<1, _>(context),
        opcode::LOG2 => host::log::<2, _>(context),
        opcode::LOG3 => host::log::<3, _>(context),
        opcode::LOG4 => host::log::<4, _>(context),
        opcode::CREATE => contract::create::<false, _, _>(context),
        opcode::CREATE2 => contract::create::<true, _, _>(context),
        opcode::CALL => contract::call::<{ opcode::CALL }, _, _>(context),
        opcode::CALLCODE => contract::call::<{ opcode::CALLCODE }, _, _>(context),
        opcode::DELEGATECALL => contract::call::<{ opcode::DELEGATECALL }, _, _>(context),
        opcode::STATICCALL => contract::call::<{ opcode::STATICCALL }, _, _>(context),
        opcode::RETURN => control::ret(context),
        opcode::REVERT => control::revert(context),
        opcode::SELFDESTRUCT => machine::selfdestruct(context),
        _ => Err(InstructionResult::OpcodeNotFound),
    }
}

/// Put these instructions in the place of revm's.
pub fn install(table: &mut InstructionTable<EthInterpreter, Ctx>) {
    macro_rules! install {
        ($($name:ident)*) => { $(table[opcode::$name as usize] = Instruction::new(metered::<{ opcode::$name }>);)* };
    }
    install!(
        EXP MLOAD MSTORE MSTORE8 MCOPY KECCAK256 CALLDATACOPY CODECOPY RETURNDATACOPY EXTCODECOPY EXTCODESIZE EXTCODEHASH
        BALANCE SLOAD SSTORE TSTORE LOG0 LOG1 LOG2 LOG3 LOG4 CREATE CREATE2 CALL CALLCODE DELEGATECALL STATICCALL
        RETURN REVERT SELFDESTRUCT
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_ends_where_geth_says_so() {
        let number = |number: u64| U256::from(number);
        for (offset, size, end) in [
            (U256::MAX, U256::ZERO, Extent::Priced),
            (U256::ZERO, U256::MAX, Extent::Overflow),
            (U256::MAX, U256::ONE, Extent::Overflow),
            (number(u64::MAX), number(32), Extent::Overflow),
            (number(u64::MAX - 32), number(1), Extent::TooLarge), // it ends at 2**64 - 32
            (number(u64::MAX - 31), number(1), Extent::Overflow),
            (number(PRICED_MEMORY - 32), number(32), Extent::Priced),
            (number(PRICED_MEMORY), number(1), Extent::TooLarge),
        ] {
            assert_eq!(end, Extent::of(&offset, &size));
        }
    }
}
