//! Instructions that add to the state: what they add is counted, before it takes more memory than an execution may.

use revm::bytecode::opcode;
use revm::interpreter::instructions::{contract, host};
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::{Instruction, InstructionContext, InstructionExecResult, InstructionResult, InstructionTable};

use crate::machine::{self, Ctx, Failure, Opcode};

/// Execute an instruction, and count the entries of the journal and the bytes of logs that it adds.
fn metered(context: Opcode<'_>, instruction: impl Fn(Opcode<'_>) -> InstructionExecResult) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let (entries, logs) = (host.journaled_state.journal.len(), host.journaled_state.logs.len());
    let end = instruction(InstructionContext { interpreter, host: &mut *host });
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

/// Put these instructions in the place of revm's.
pub fn install(table: &mut InstructionTable<EthInterpreter, Ctx>) {
    macro_rules! install {
        ($($name:ident => $instruction:expr,)*) => {
            $(table[opcode::$name as usize] = Instruction::new(|context| metered(context, $instruction));)*
        };
    }
    install!(
        EXTCODECOPY => host::extcodecopy,
        EXTCODESIZE => host::extcodesize,
        EXTCODEHASH => machine::extcodehash,
        BALANCE => machine::balance,
        SLOAD => host::sload,
        SSTORE => machine::sstore,
        TSTORE => host::tstore,
        LOG0 => host::log::<0, _>,
        LOG1 => host::log::<1, _>,
        LOG2 => host::log::<2, _>,
        LOG3 => host::log::<3, _>,
        LOG4 => host::log::<4, _>,
        CREATE => contract::create::<false, _, _>,
        CREATE2 => contract::create::<true, _, _>,
        CALL => contract::call::<{ opcode::CALL }, _, _>,
        CALLCODE => contract::call::<{ opcode::CALLCODE }, _, _>,
        DELEGATECALL => contract::call::<{ opcode::DELEGATECALL }, _, _>,
        STATICCALL => contract::call::<{ opcode::STATICCALL }, _, _>,
        SELFDESTRUCT => machine::selfdestruct,
    );
}
