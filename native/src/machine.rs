//! revm, set up to execute one message after another.
//!
//! The caller has checked what a node checks before it executes (price, balance, nonce, block). Frames and a few
//! opcodes are reported to the recorder.

use std::cell::Cell;
use std::cmp::max;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use revm::bytecode::opcode::{self, OpCode};
use revm::context::result::{EVMError, ExecutionResult, HaltReason};
use revm::context::{
    BlockEnv, Cfg, CfgEnv, Context, ContextError, ContextTr, Evm, FrameStack, Journal, JournalTr, Transaction, TxEnv,
};
use revm::context_interface::journaled_state::account::JournaledAccountTr;
use revm::handler::evm::{ContextDbError, FrameInitResult};
use revm::handler::instructions::EthInstructions;
use revm::handler::{
    EthFrame, EthPrecompiles, EvmTr, FrameInitOrResult, FrameResult, Handler, ItemOrResult, PrecompileProvider,
    pre_execution, precompile_output_to_interpreter_result,
};
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_action::FrameInit;
use revm::interpreter::interpreter_types::{InputsTr, Jumps, LegacyBytecode};
use revm::interpreter::{
    CallInputs, FrameInput, GasTracker, InitialAndFloorGas, Instruction, InstructionContext, InstructionExecResult,
    InstructionResult, InterpreterResult, instructions,
};
use revm::precompile::PrecompileOutput;
use revm::primitives::hardfork::SpecId;
use revm::primitives::{Address, AddressSet, Bytes, HashMap, KECCAK_EMPTY, U256};

use crate::frames::{self, Frames};
use crate::least_gas::{End, Recorder};
use crate::message::Execution;
use crate::state::{Missing, Reader};

type Ctx = Context<BlockEnv, TxEnv, CfgEnv, Reader, Journal<Reader>, Run>;
type Frame = EthFrame<EthInterpreter>;
type Opcode<'a> = InstructionContext<'a, Ctx, EthInterpreter>;
type Error = EVMError<Missing>;

/// How an execution ended, by the name that Python has for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Ending {
    Success,
    Revert,
    OutOfGas,
    #[default]
    Intrinsic,
    Halt,
}

impl Ending {
    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Revert => "revert",
            Self::OutOfGas => "out of gas",
            Self::Intrinsic => "intrinsic gas too low",
            Self::Halt => "halt",
        }
    }
}

/// An execution, and what it proves about other gas limits.
#[derive(Debug, Default)]
pub struct Executed {
    /// How it ended.
    pub ending: Ending,
    /// Before refunds, without the calldata floor.
    pub gas_used: u64,
    /// Refund of gas.
    pub refund: u64,
    /// Minimum gas charged.
    pub floor: u64,
    /// Data of the return or revert, or the code of a creation.
    pub output: Bytes,
    /// Why it did not succeed, in geth's words.
    pub words: String,
    /// The least gas limit on which it takes the same path, if gas is not read.
    pub least: u64,
    /// The largest limit on which it ends the same way, from `least` on; 0 if unknown.
    pub most: u64,
    /// Whether there was no call and no creation.
    pub single_frame: bool,
    /// How each frame ended, if requested.
    pub frames: Vec<frames::Frame>,
}

/// Options of an execution, and when it is stopped.
#[derive(Clone, Debug, Default)]
pub struct Task {
    /// When it must end.
    pub until: Option<Instant>,
    /// Set by another thread that does not wait for it any longer.
    pub stop: Option<Arc<AtomicBool>>,
    /// Whether to record how each frame ends.
    pub frames: bool,
    /// What precompiles took and returned, by address and input.
    pub known: Arc<Mutex<HashMap<(Address, Bytes), PrecompileOutput>>>,
}

impl Task {
    /// Whether to stop.
    pub fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
            || self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// Why there is no outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// BLOCKHASH asked for a hash that was not given.
    MissingHash(u64),
    /// The time was up.
    Late,
    /// An account would hold more than 2**256 - 1 wei.
    Overflow,
    /// The sender's nonce cannot rise, or it has less than what is paid in advance.
    Sender,
    /// Something that should not happen, in revm's words.
    Other(String),
}

/// State of an execution in addition to revm's.
#[derive(Clone, Debug, Default)]
pub struct Run {
    initial: InitialAndFloorGas,
    /// What the sender pays in advance.
    due: U256,
    /// The sender, if its balance depends on the gas limit.
    payer: Option<Address>,
    task: Task,
    recorder: Recorder,
    frames: Frames,
    /// How the outermost frame halted, if revm's reason lacks it.
    note: Option<String>,
    failure: Option<Failure>,
}

/// The memory that a thread keeps for its next execution, in bytes.
const KEPT_MEMORY: usize = 16 << 20;

impl Run {
    /// The current opcode reads the gas left, or a balance that pays for gas.
    fn reads(&mut self, opcode: u8) {
        self.recorder.reads = true;
        self.frames.reads(opcode);
    }

    fn begins(&mut self, address: Address) {
        if self.task.frames {
            self.frames.begins(address);
        }
    }

    /// Record a failure, and return the error that ends the execution.
    fn give_up(&mut self, failure: Failure) -> ContextError<Missing> {
        self.failure = Some(failure);
        ContextError::Custom(String::new())
    }
}

thread_local! {
    /// The machine of this thread, ready for the next execution; while it executes, or after a panic, there is none.
    static MACHINE: Cell<Option<Box<Machine>>> = const { Cell::new(None) };
}

/// Execute a message with a gas limit, on this thread.
pub fn execute(execution: Execution<'_>, gas_limit: u64, task: &Task) -> Result<Executed, Failure> {
    let spec = execution.block.spec;
    let kept = MACHINE.take().filter(|machine| machine.0.ctx.cfg.spec == spec);
    let mut machine = kept.unwrap_or_else(|| Box::new(Machine::new(spec)));
    let executed = machine.execute(execution, gas_limit, task);
    if machine.0.ctx.local.shared_memory_buffer.borrow().capacity() <= KEPT_MEMORY {
        MACHINE.set(Some(machine));
    }
    executed
}

type Table = EthInstructions<EthInterpreter, Ctx>;

/// revm with the hooks of the recorder.
struct Machine(Evm<Ctx, (), Table, Precompiles, Frame>);

impl Machine {
    fn new(spec: SpecId) -> Self {
        let mut context = Ctx::new(Reader::default(), spec);
        context.cfg.tx_gas_limit_cap = Some(u64::MAX); // the caller checks EIP-7825
        let mut instructions = Table::new_mainnet_with_spec(spec);
        let table = instructions.instruction_table_mut();
        table[opcode::SSTORE as usize] = Instruction::new(sstore);
        table[opcode::BALANCE as usize] = Instruction::new(balance);
        table[opcode::EXTCODEHASH as usize] = Instruction::new(extcodehash);
        table[opcode::SELFDESTRUCT as usize] = Instruction::new(selfdestruct);
        table[opcode::GAS as usize] = Instruction::new(gas);
        table[opcode::SELFBALANCE as usize] = Instruction::new(selfbalance);
        Self(Evm {
            ctx: context,
            inspector: (),
            instruction: instructions,
            precompiles: Precompiles(EthPrecompiles::new(spec)),
            frame_stack: FrameStack::new_prealloc(8),
        })
    }

    fn execute(&mut self, execution: Execution<'_>, gas_limit: u64, task: &Task) -> Result<Executed, Failure> {
        let Execution { state, block, message } = execution;
        let context = &mut self.0.ctx;
        let mut initial = message.initial_gas(&context.cfg.gas_params);
        if !block.spec.is_enabled_in(SpecId::PRAGUE) {
            initial.set_floor_gas(0);
        }
        let (intrinsic, floor) = (initial.initial_total_gas(), initial.floor_gas());
        if gas_limit < intrinsic.max(floor) {
            return Ok(Executed { floor, least: 1, ..Executed::default() });
        }
        let price = if message.pays { message.transaction.gas_price } else { 0 };
        let due = U256::from(gas_limit) * U256::from(price); // of 30 and 128 bits
        let payer = (!due.is_zero()).then_some(message.transaction.caller);
        let mut recorder = Recorder::default();
        // With less gas the sender prepays less: nothing is proven if its balance could then overflow.
        recorder.reads = payer.is_some_and(|payer| state.0.balance(&payer) > U256::MAX >> 1);
        context.tx = TxEnv { gas_limit, ..message.transaction.clone() };
        context.tx.authorization_list = message.authorizations().to_vec();
        context.cfg.chain_id = block.chain_id;
        context.block = BlockEnv { basefee: message.base_fee, ..block.block.clone() };
        context.journaled_state.database = Reader(state.0.clone());
        context.chain = Run { initial, due, payer, task: task.clone(), recorder, ..Run::default() };
        let result = Rules.run(self);
        let context = &mut self.0.ctx;
        context.journaled_state.finalize();
        context.journaled_state.database = Reader::default();
        let run = std::mem::take(&mut context.chain);
        match (result, run.failure) {
            (Err(_), Some(failure)) => Err(failure),
            (Err(EVMError::Database(Missing(number))), None) => Err(Failure::MissingHash(number)),
            (Err(error), None) => Err(Failure::Other(error.to_string())),
            (Ok(result), _) => {
                let mut executed = Executed::new(result, floor, run.note);
                executed.least = intrinsic.saturating_add(run.recorder.least).max(floor);
                executed.frames = run.frames.all();
                if !run.recorder.reads {
                    executed.most = if run.recorder.halted { gas_limit } else { u64::MAX };
                    executed.single_frame = !run.recorder.nests;
                }
                Ok(executed)
            }
        }
    }
}

impl Executed {
    fn new(result: ExecutionResult, floor: u64, note: Option<String>) -> Self {
        let gas = *result.gas();
        let (ending, words) = match &result {
            ExecutionResult::Success { .. } => (Ending::Success, String::new()),
            ExecutionResult::Revert { .. } => (Ending::Revert, "execution reverted".into()),
            ExecutionResult::Halt { reason: HaltReason::OutOfGas(_) | HaltReason::CreateInitCodeSizeLimit, .. } => {
                (Ending::OutOfGas, "out of gas".into())
            }
            ExecutionResult::Halt { reason, .. } => (Ending::Halt, note.unwrap_or_else(|| halt(reason))),
        };
        Self {
            ending,
            gas_used: gas.total_gas_spent(),
            refund: gas.inner_refunded(),
            output: result.into_output().unwrap_or_default(),
            words,
            floor,
            ..Self::default()
        }
    }
}

/// The words of geth's `core/vm/errors.go` for a halt.
fn halt(reason: &HaltReason) -> String {
    let words = match reason {
        HaltReason::InvalidJump => "invalid jump destination",
        HaltReason::StackUnderflow => "stack underflow",
        HaltReason::StackOverflow => "stack limit reached 1024",
        HaltReason::StateChangeDuringStaticCall | HaltReason::CallNotAllowedInsideStatic => "write protection",
        HaltReason::OutOfOffset => "return data out of bounds",
        HaltReason::CreateContractStartingWithEF => "invalid code: must not begin with 0xef",
        HaltReason::CreateCollision => "contract address collision",
        HaltReason::PrecompileError => "precompiled contract failed",
        HaltReason::PrecompileErrorWithContext(words) => return format!("precompiled contract failed: {words}"),
        _ => "halted",
    };
    words.into()
}

/// revm's precompiles; a search keeps the outputs of slow ones.
struct Precompiles(EthPrecompiles);

/// Minimum gas of an output that is kept: that of ECRECOVER, and per byte of the input, which bounds the memory.
const KEPT_GAS: (u64, u64) = (3_000, 16);

impl PrecompileProvider<Ctx> for Precompiles {
    type Output = InterpreterResult;

    fn set_spec(&mut self, spec: SpecId) -> bool {
        PrecompileProvider::<Ctx>::set_spec(&mut self.0, spec)
    }

    fn run(&mut self, context: &mut Ctx, inputs: &CallInputs) -> Result<Option<InterpreterResult>, String> {
        if !self.0.contains(&inputs.bytecode_address) {
            return Ok(None);
        }
        let (key, known) = ((inputs.bytecode_address, inputs.input.bytes(context)), context.chain.task.known.clone());
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(output) = known.get(&key) {
            let output = PrecompileOutput { reservoir: inputs.reservoir, ..output.clone() };
            return Ok(Some(precompile_output_to_interpreter_result(output, inputs.gas_limit)));
        }
        let found = self.0.run(context, inputs)?;
        if let Some(result) = found.as_ref().filter(|result| result.is_ok()) {
            let gas = result.gas.total_gas_spent();
            if gas >= max(KEPT_GAS.0, KEPT_GAS.1 * key.1.len() as u64) {
                known.insert(key, PrecompileOutput::new(gas, result.output.clone(), inputs.reservoir));
            }
        }
        Ok(found)
    }

    fn warm_addresses(&self) -> &AddressSet {
        self.0.warm_addresses()
    }
}

/// The rules of a transaction without the caller's checks, and without the steps after the execution.
struct Rules;

impl Handler for Rules {
    type Evm = Machine;
    type Error = Error;
    type HaltReason = HaltReason;

    fn validate_env(&self, _: &mut Machine) -> Result<(), Error> {
        Ok(())
    }

    fn validate_initial_tx_gas(&self, machine: &mut Machine) -> Result<InitialAndFloorGas, Error> {
        Ok(machine.0.ctx.chain.initial)
    }

    fn validate_against_state_and_deduct_caller(
        &self,
        machine: &mut Machine,
        _: &mut InitialAndFloorGas,
    ) -> Result<(), Error> {
        let (_, transaction, _, journal, run, _) = machine.0.ctx.all_mut();
        let mut caller = journal.load_account_with_code_mut(transaction.caller())?.data;
        let Some(balance) = caller.balance().checked_sub(run.due).filter(|_| caller.nonce() < u64::MAX) else {
            run.failure = Some(Failure::Sender);
            return Err(EVMError::Custom(String::new()));
        };
        caller.set_balance(balance);
        if transaction.kind().is_call() {
            caller.bump_nonce(); // a creation does so itself
        }
        Ok(())
    }

    fn apply_eip7702_auth_list(&self, machine: &mut Machine, _: &mut GasTracker) -> Result<Option<u64>, Error> {
        let context = &mut machine.0.ctx;
        let (chain_id, each) = (context.cfg.chain_id(), context.cfg.gas_params().tx_eip7702_auth_refund_regular());
        let (transaction, journal) = context.tx_journal_mut();
        if transaction.authorization_list_len() == 0 {
            return Ok(Some(0));
        }
        let known = pre_execution::apply_auth_list::<_, Error>(chain_id, transaction.authorization_list(), journal)?;
        Ok(Some(each * known))
    }

    fn reimburse_caller(&self, _: &mut Machine, _: &mut FrameResult) -> Result<(), Error> {
        Ok(())
    }

    fn reward_beneficiary(&self, _: &mut Machine, _: &mut FrameResult) -> Result<(), Error> {
        Ok(())
    }
}

impl EvmTr for Machine {
    type Context = Ctx;
    type Instructions = Table;
    type Precompiles = Precompiles;
    type Frame = Frame;

    fn all(&self) -> (&Ctx, &Self::Instructions, &Precompiles, &FrameStack<Frame>) {
        self.0.all()
    }

    fn all_mut(&mut self) -> (&mut Ctx, &mut Self::Instructions, &mut Precompiles, &mut FrameStack<Frame>) {
        self.0.all_mut()
    }

    /// Begin a call or creation, or end it at once: a precompile, no code, no funds, too deep, a collision.
    fn frame_init(&mut self, init: FrameInit) -> Result<FrameInitResult<'_, Frame>, ContextDbError<Ctx>> {
        let Evm { ctx, frame_stack, .. } = &mut self.0;
        let run = &mut ctx.chain;
        if run.task.is_late() {
            return Err(run.give_up(Failure::Late));
        }
        let (given, sender, called, stipend) = match &init.frame_input {
            FrameInput::Call(call) => {
                let has_value = call.transfer_value().is_some_and(|value| !value.is_zero());
                let stipend = if has_value { ctx.cfg.gas_params.call_stipend() } else { 0 };
                (call.gas_limit, call.caller, call.bytecode_address, stipend)
            }
            FrameInput::Create(create) => (create.gas_limit(), create.caller(), Address::ZERO, 0),
            FrameInput::Empty => (0, Address::ZERO, Address::ZERO, 0),
        };
        let is_creation = matches!(init.frame_input, FrameInput::Create(_));
        if frame_stack.index().is_some() {
            let left = frame_stack.get().interpreter.gas.remaining();
            run.recorder.calls(left, given, stipend);
        }
        let result = match self.0.frame_init(init)? {
            ItemOrResult::Item(_) => None,
            ItemOrResult::Result(result) => Some(result),
        };
        let Some(result) = result else {
            let Evm { ctx, frame_stack, .. } = &mut self.0;
            let address = frame_stack.get().interpreter.input.target_address();
            ctx.chain.recorder.begins(given);
            ctx.chain.begins(if is_creation { address } else { called });
            return Ok(ItemOrResult::Item(self.0.frame_stack.get()));
        };
        let run = &mut self.0.ctx.chain;
        let end = match result.instruction_result() {
            InstructionResult::OverflowPayment => return Err(run.give_up(Failure::Overflow)),
            InstructionResult::OutOfFunds | InstructionResult::CallTooDeep => {
                if run.payer == Some(sender) {
                    run.reads(if is_creation { opcode::CREATE } else { opcode::CALL }); // its balance may be too low
                }
                End::Refused
            }
            end if end.is_ok_or_revert() => End::Needed(given - result.gas().remaining()),
            _ => End::halted(),
        };
        run.recorder.returns(end);
        run.begins(called);
        run.frames.ends(&result);
        Ok(ItemOrResult::Result(result))
    }

    fn frame_run(&mut self) -> Result<FrameInitOrResult<Frame>, ContextDbError<Ctx>> {
        self.0.frame_run()
    }

    /// A call or creation has ended; what it returned goes to its caller.
    fn frame_return_result(&mut self, result: FrameResult) -> Result<Option<FrameResult>, ContextDbError<Ctx>> {
        let Evm { ctx, frame_stack, .. } = &mut self.0;
        let frame = frame_stack.get();
        if frame.is_finished() {
            let (run, end) = (&mut ctx.chain, result.instruction_result());
            if run.recorder.depth() == 1 && end.is_halt() {
                run.note = noted(frame, &result);
            }
            let end = run.recorder.ends(end.is_ok_or_revert().then(|| result.gas().remaining()));
            run.recorder.returns(end);
            run.frames.ends(&result);
        }
        self.0.frame_return_result(result)
    }
}

/// Why the outermost frame halted, if revm's reason lacks it.
fn noted(frame: &Frame, result: &FrameResult) -> Option<String> {
    let Frame { interpreter, .. } = frame;
    let code = &interpreter.bytecode;
    let opcode = code.bytecode_slice().get(code.pc().wrapping_sub(1)).copied().unwrap_or_default();
    let inputs = OpCode::new(opcode).map_or(0, |known| known.inputs());
    match result.instruction_result() {
        InstructionResult::InvalidFEOpcode => Some("invalid opcode: INVALID".into()),
        InstructionResult::OpcodeNotFound | InstructionResult::NotActivated => {
            Some(format!("invalid opcode: opcode {opcode:#x} not defined"))
        }
        InstructionResult::CreateContractSizeLimit => {
            let size = result.interpreter_result().output.len();
            Some(format!("max code size exceeded: code size {size} limit 24576"))
        }
        InstructionResult::StackOverflow if interpreter.stack.len() < usize::from(inputs) => {
            Some("stack underflow".into()) // DUP and SWAP
        }
        _ => None,
    }
}

fn sstore(context: Opcode<'_>) -> InstructionExecResult {
    context.host.chain.recorder.stores(context.interpreter.gas.remaining());
    instructions::host::sstore(context)
}

/// GAS directly before a call does not count: the call is given less, "all but a 64th".
fn gas(context: Opcode<'_>) -> InstructionExecResult {
    let next = context.interpreter.bytecode.opcode();
    if !matches!(next, opcode::CALL | opcode::CALLCODE | opcode::DELEGATECALL | opcode::STATICCALL) {
        context.host.chain.reads(opcode::GAS);
    }
    instructions::system::gas(context)
}

fn balance(context: Opcode<'_>) -> InstructionExecResult {
    let asked = context.interpreter.stack.data().last().map(address);
    let run = &mut context.host.chain;
    if asked.is_some() && asked == run.payer {
        run.reads(opcode::BALANCE);
    }
    instructions::host::balance(context)
}

fn selfbalance(context: Opcode<'_>) -> InstructionExecResult {
    let run = &mut context.host.chain;
    if run.payer == Some(context.interpreter.input.target_address()) {
        run.reads(opcode::SELFBALANCE);
    }
    instructions::host::selfbalance(context)
}

/// SELFDESTRUCT moves a balance, which could overflow in revm.
fn selfdestruct(context: Opcode<'_>) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let own = interpreter.input.target_address();
    let heir = interpreter.stack.data().last().map_or(own, address);
    let balance = held(host, &own);
    let overflows = heir != own && balance.checked_add(held(host, &heir)).is_none();
    let end = instructions::host::selfdestruct(InstructionContext { interpreter: &mut *interpreter, host: &mut *host });
    if end != Err(InstructionResult::SelfDestruct) {
        return end; // it fails with less gas too: the payer's balance is then larger, and the cost is no lower
    }
    if host.chain.payer == Some(own) {
        host.chain.reads(opcode::SELFDESTRUCT);
    }
    if overflows {
        host.error = Err(host.chain.give_up(Failure::Overflow));
        return Err(InstructionResult::FatalExternalError);
    }
    end
}

/// The current balance of an account, which does not become warm.
fn held(context: &Ctx, address: &Address) -> U256 {
    let loaded = context.journaled_state.state.get(address);
    loaded.map_or_else(|| context.journaled_state.database.0.balance(address), |account| account.info.balance)
}

/// EXTCODEHASH returns the hash of no code for an account without code that has a zero hash in `state` (EIP-7610).
fn extcodehash(context: Opcode<'_>) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let asked = interpreter.stack.data().last().map(address);
    instructions::host::extcodehash(InstructionContext { interpreter: &mut *interpreter, host: &mut *host })?;
    let account = asked.and_then(|asked| host.journaled_state.state.get(&asked));
    if account.is_some_and(|account| account.info.code_hash.is_zero() && !account.info.is_empty())
        && let Some(top) = interpreter.stack.data_mut().last_mut()
    {
        *top = KECCAK_EMPTY.into();
    }
    Ok(())
}

/// The address in a word of the stack.
fn address(word: &U256) -> Address {
    Address::from_word((*word).into())
}
