//! revm put together for executing one message after another.
//!
//! What a node checks before it executes (price, balance, nonce, block) its caller has checked: here stand only the
//! rules of the execution itself. Beside revm's own work, frames and a few opcodes are reported to the recorder.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use revm::bytecode::opcode::{self, OpCode};
use revm::context::result::{EVMError, ExecutionResult, HaltReason};
use revm::context::{
    BlockEnv, Cfg, CfgEnv, Context, ContextError, ContextTr, Evm, FrameStack, Journal, JournalTr, Transaction, TxEnv,
};
use revm::context_interface::journaled_state::account::JournaledAccountTr;
use revm::handler::evm::{ContextDbError, FrameInitResult};
use revm::handler::instructions::EthInstructions;
use revm::handler::{EthFrame, EvmTr, FrameInitOrResult, FrameResult, Handler, ItemOrResult, pre_execution};
use revm::interpreter::interpreter::EthInterpreter;
use revm::interpreter::interpreter_action::FrameInit;
use revm::interpreter::interpreter_types::{InputsTr, Jumps, LegacyBytecode, RuntimeFlag};
use revm::interpreter::{
    FrameInput, GasTracker, InitialAndFloorGas, Instruction, InstructionContext, InstructionExecResult,
    InstructionResult, instructions,
};
use revm::primitives::hardfork::SpecId;
use revm::primitives::{Address, Bytes, KECCAK_EMPTY, U256};

use crate::frames::{self, Frames};
use crate::least_gas::{End, Recorder};
use crate::message::{Block, Message};
use crate::metered;
use crate::precompiles::{LONG_EXPONENT, Remembering};
use crate::state::{Missing, Reader, State};

pub type Ctx = Context<BlockEnv, TxEnv, CfgEnv, Reader, Journal<Reader>, Run>;
type Frame = EthFrame<EthInterpreter>;
pub type Opcode<'a> = InstructionContext<'a, Ctx, EthInterpreter>;
type Error = EVMError<Missing>;

/// How an execution ended, as a number for Python.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Ending {
    Success,
    Revert,
    OutOfGas,
    #[default]
    Intrinsic,
    InvalidOpcode,
    InvalidJump,
    StackUnderflow,
    StackOverflow,
    WriteProtection,
    OutOfBounds,
    InvalidPrefix,
    Collision,
    Precompile,
    Other,
    /// The gas does not pay for the code that is created.
    CodeGas,
    /// The code that is created is too long; detail: its size.
    CodeSize,
}

/// An execution, and what it proves about other gas limits.
#[derive(Debug, Default)]
pub struct Executed {
    /// How it ended.
    pub ending: Ending,
    /// Before refunds, without the calldata floor.
    pub gas_used: u64,
    /// Given back of it.
    pub refund: u64,
    /// The least that is charged.
    pub floor: u64,
    /// Returned, reverted with, or the code of a creation.
    pub output: Bytes,
    /// The opcode of an invalid instruction, or the size of code that is too long.
    pub detail: u64,
    /// Why a precompile refused its input, in revm's words.
    pub fault: String,
    /// The least gas limit on which it takes the same path, as long as gas is not read.
    pub least: u64,
    /// The largest limit on which it ends the same way, from `least` on; 0 where nothing is known.
    pub most: u64,
    /// Whether there was no call and no creation.
    pub single_frame: bool,
    /// How each frame ended, where that was asked for.
    pub frames: Vec<frames::Frame>,
}

/// What an execution is asked for beside its outcome, and when it is given up.
#[derive(Clone, Debug, Default)]
pub struct Task {
    /// When it must end.
    pub until: Option<Instant>,
    /// Set by another thread that does not wait for it any longer.
    pub stop: Option<Arc<AtomicBool>>,
    /// Whether to record how each frame ends.
    pub frames: bool,
}

impl Task {
    /// Whether to give it up.
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
    /// The time was over.
    Late,
    /// An account would hold more than 2**256 - 1 wei.
    Overflow,
    /// It needs more memory than it may.
    Large,
    /// The sender's nonce cannot rise.
    Nonce,
    /// The sender has less than what is paid in advance.
    Unpayable,
    /// Something that should not happen, in revm's words.
    Other(String),
}

/// What an execution knows beside what revm does.
#[derive(Clone, Debug, Default)]
pub struct Run {
    initial: InitialAndFloorGas,
    gas_price: U256,
    base_fee: U256,
    blob_price: U256,
    /// What the sender pays in advance.
    due: U256,
    /// The sender, where its balance depends on the gas limit.
    payer: Option<Address>,
    task: Task,
    recorder: Recorder,
    frames: Frames,
    /// How the outermost frame halted, with its detail, where that is more than revm says.
    note: Option<(Ending, u64)>,
    held: Held,
    failure: Option<Failure>,
}

/// An upper bound of the memory that an execution has taken, in bytes.
#[derive(Clone, Debug, Default)]
struct Held {
    /// For accounts, slots and logs; what is reverted counts too.
    state: usize,
    /// For the data that the frames under way were returned.
    returned: Vec<usize>,
    all_returned: usize,
}

/// The most that an execution may take.
const MAX_MEMORY: usize = 1 << 30;
/// An entry of the journal, with the account or slot that it may be of and the room that tables keep free.
const ENTRY_BYTES: usize = 384;
/// A log without its data.
const LOG_BYTES: usize = 256;
/// What a thread keeps for its next execution.
const KEPT_MEMORY: usize = 16 << 20;

impl Held {
    /// The frame that runs was returned these bytes.
    fn returned(&mut self, size: usize) {
        if let Some(last) = self.returned.last_mut() {
            self.all_returned = self.all_returned - *last + size;
            *last = size;
        }
    }

    fn begins(&mut self) {
        self.returned.push(0);
    }

    fn ends(&mut self) {
        self.all_returned -= self.returned.pop().unwrap_or_default();
    }

    fn is_too_much(&self, memory: usize) -> bool {
        self.state + self.all_returned + memory > MAX_MEMORY
    }
}

impl Run {
    /// Count entries of the journal and bytes of logs; whether all is more than there may be.
    pub fn grows(&mut self, entries: usize, logged: Option<usize>) -> bool {
        self.held.state += entries * ENTRY_BYTES + logged.map_or(0, |size| LOG_BYTES + size);
        self.held.is_too_much(0)
    }

    /// The opcode that runs reads the gas left, or a balance that pays for it.
    fn reads(&mut self, opcode: u8) {
        self.recorder.reads = true;
        self.frames.reads(opcode);
    }

    fn begins(&mut self, address: Address) {
        if self.task.frames {
            self.held.state += size_of::<frames::Frame>();
            self.frames.begins(address);
        }
    }

    /// Give the execution up: the error that ends it.
    pub fn give_up(&mut self, failure: Failure) -> ContextError<Missing> {
        self.failure = Some(failure);
        ContextError::Custom(String::new())
    }
}

thread_local! {
    /// The machine of this thread, ready for the next execution; while it executes, or after a panic, there is none.
    static MACHINE: Cell<Option<Box<Machine>>> = const { Cell::new(None) };
}

/// Execute a message with a gas limit, on this thread.
pub fn execute(
    state: &State,
    block: &Block,
    message: &Message,
    gas_limit: u64,
    task: &Task,
) -> Result<Executed, Failure> {
    let kept = MACHINE.take().filter(|machine| machine.0.ctx.cfg.spec == block.spec);
    let mut machine = kept.unwrap_or_else(|| Box::new(Machine::new(block.spec)));
    let executed = machine.execute(state, block, message, gas_limit, task);
    if machine.memory() <= KEPT_MEMORY {
        MACHINE.set(Some(machine));
    }
    executed
}

type Table = EthInstructions<EthInterpreter, Ctx>;

/// revm with the hooks of the recorder.
struct Machine(Evm<Ctx, (), Table, Remembering, Frame>);

impl Machine {
    fn new(spec: SpecId) -> Self {
        let mut context = Ctx::new(Reader::default(), spec);
        context.cfg.tx_gas_limit_cap = Some(u64::MAX); // EIP-7825 is the caller's
        let mut instructions = Table::new_mainnet_with_spec(spec);
        let table = instructions.instruction_table_mut();
        metered::install(table);
        table[opcode::GAS as usize] = Instruction::new(gas);
        table[opcode::SELFBALANCE as usize] = Instruction::new(selfbalance);
        table[opcode::GASPRICE as usize] = Instruction::new(gasprice);
        table[opcode::BASEFEE as usize] = Instruction::new(basefee);
        table[opcode::BLOBBASEFEE as usize] = Instruction::new(blobbasefee);
        Self(Evm {
            ctx: context,
            inspector: (),
            instruction: instructions,
            precompiles: Remembering::new(spec),
            frame_stack: FrameStack::new_prealloc(8),
        })
    }

    fn execute(
        &mut self,
        state: &State,
        block: &Block,
        message: &Message,
        gas_limit: u64,
        task: &Task,
    ) -> Result<Executed, Failure> {
        self.0.precompiles.begin(message);
        let context = &mut self.0.ctx;
        let mut initial = message.initial_gas(&context.cfg.gas_params);
        if !block.spec.is_enabled_in(SpecId::PRAGUE) {
            initial.set_floor_gas(0);
        }
        let (intrinsic, floor) = (initial.initial_total_gas(), initial.floor_gas());
        if gas_limit < intrinsic.max(floor) {
            return Ok(Executed::before_it_began(floor));
        }
        let price = if message.pays { message.gas_price } else { U256::ZERO };
        let paid = U256::from(gas_limit).checked_mul(price).ok_or(Failure::Unpayable)?;
        let due = paid.checked_add(message.blob_cost).ok_or(Failure::Unpayable)?;
        context.tx = TxEnv { gas_limit, ..message.transaction.clone() };
        context.tx.authorization_list = message.authorizations().to_vec();
        context.cfg.chain_id = block.chain_id;
        context.block = block.block.clone();
        context.journaled_state.database = Reader(state.0.clone());
        context.chain = Run {
            initial,
            gas_price: message.gas_price,
            base_fee: message.base_fee,
            blob_price: block.blob_price,
            due,
            payer: (!paid.is_zero()).then_some(message.transaction.caller),
            task: task.clone(),
            recorder: Recorder::new(block.spec.is_enabled_in(SpecId::TANGERINE)),
            frames: Frames::default(),
            note: None,
            held: Held::default(),
            failure: None,
        };
        let result = Rules.run(self);
        let context = &mut self.0.ctx;
        context.journaled_state.finalize();
        context.journaled_state.database = Reader::default();
        let run = std::mem::take(&mut context.chain);
        match (result, run.failure) {
            (Err(_), Some(failure)) => Err(failure),
            (Err(EVMError::Database(Missing(number))), None) => Err(Failure::MissingHash(number)),
            (Err(EVMError::Custom(words)), None) if words == LONG_EXPONENT => Err(Failure::Large),
            (Err(error), None) => Err(Failure::Other(error.to_string())),
            (Ok(result), _) => {
                let mut executed = Executed::new(result, floor, run.note);
                executed.least = intrinsic.saturating_add(run.recorder.least).max(floor);
                executed.frames = run.frames.all();
                if !run.recorder.reads {
                    executed.most = if run.recorder.halted { gas_limit } else { u64::MAX };
                    executed.single_frame = run.recorder.single_frame;
                }
                Ok(executed)
            }
        }
    }
}

impl Machine {
    /// The memory of contracts that it keeps for its next execution.
    fn memory(&self) -> usize {
        self.0.ctx.local.shared_memory_buffer.borrow().capacity()
    }
}

impl Executed {
    fn before_it_began(floor: u64) -> Self {
        Self { floor, least: 1, ..Self::default() }
    }

    fn new(result: ExecutionResult, floor: u64, note: Option<(Ending, u64)>) -> Self {
        let gas = *result.gas();
        let (found, fault) = match &result {
            ExecutionResult::Success { .. } => (Ending::Success, String::new()),
            ExecutionResult::Revert { .. } => (Ending::Revert, String::new()),
            ExecutionResult::Halt { reason: HaltReason::PrecompileErrorWithContext(words), .. } => {
                (Ending::Precompile, words.clone())
            }
            ExecutionResult::Halt { reason, .. } => (ending(reason), String::new()),
        };
        let (ending, detail) = note.unwrap_or((found, 0));
        Self {
            ending,
            gas_used: gas.total_gas_spent(),
            refund: gas.inner_refunded(),
            floor,
            output: result.into_output().unwrap_or_default(),
            detail,
            fault,
            ..Self::before_it_began(floor)
        }
    }
}

fn ending(reason: &HaltReason) -> Ending {
    match reason {
        HaltReason::OutOfGas(_) | HaltReason::CreateInitCodeSizeLimit => Ending::OutOfGas,
        HaltReason::CreateContractSizeLimit => Ending::CodeSize,
        HaltReason::OpcodeNotFound | HaltReason::NotActivated | HaltReason::InvalidFEOpcode => Ending::InvalidOpcode,
        HaltReason::InvalidJump => Ending::InvalidJump,
        HaltReason::StackUnderflow => Ending::StackUnderflow,
        HaltReason::StackOverflow => Ending::StackOverflow,
        HaltReason::StateChangeDuringStaticCall | HaltReason::CallNotAllowedInsideStatic => Ending::WriteProtection,
        HaltReason::OutOfOffset => Ending::OutOfBounds,
        HaltReason::CreateContractStartingWithEF => Ending::InvalidPrefix,
        HaltReason::CreateCollision => Ending::Collision,
        HaltReason::PrecompileError | HaltReason::PrecompileErrorWithContext(_) => Ending::Precompile,
        HaltReason::NonceOverflow | HaltReason::OverflowPayment | HaltReason::OutOfFunds | HaltReason::CallTooDeep => {
            Ending::Other
        }
    }
}

/// The rules of a transaction without those that its caller has checked, and without what follows it.
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
        if caller.nonce() == u64::MAX {
            run.failure = Some(Failure::Nonce);
            return Err(EVMError::Custom(String::new()));
        }
        let Some(balance) = caller.balance().checked_sub(run.due) else {
            run.failure = Some(Failure::Unpayable);
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
    type Precompiles = Remembering;
    type Frame = Frame;

    fn all(&self) -> (&Ctx, &Self::Instructions, &Remembering, &FrameStack<Frame>) {
        self.0.all()
    }

    fn all_mut(&mut self) -> (&mut Ctx, &mut Self::Instructions, &mut Remembering, &mut FrameStack<Frame>) {
        self.0.all_mut()
    }

    /// A call or creation begins, or turns out to be none: a precompile, no code, no funds, too deep, a collision.
    fn frame_init(&mut self, init: FrameInit) -> Result<FrameInitResult<'_, Frame>, ContextDbError<Ctx>> {
        let Evm { ctx, frame_stack, .. } = &mut self.0;
        let run = &mut ctx.chain;
        if run.task.is_late() {
            return Err(run.give_up(Failure::Late));
        }
        if run.held.is_too_much(ctx.local.shared_memory_buffer.borrow().len()) {
            return Err(run.give_up(Failure::Large));
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
            if is_creation {
                run.recorder.creates(left, given);
            } else {
                run.recorder.calls(left, given, stipend);
            }
        } else if is_creation {
            run.recorder.creates(0, 0);
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
            ctx.chain.held.begins();
            return Ok(ItemOrResult::Item(self.0.frame_stack.get()));
        };
        let run = &mut self.0.ctx.chain;
        let end = match result.instruction_result() {
            InstructionResult::OverflowPayment => return Err(run.give_up(Failure::Overflow)),
            InstructionResult::OutOfFunds | InstructionResult::CallTooDeep => {
                if run.payer == Some(sender) {
                    run.reads(if is_creation { opcode::CREATE } else { opcode::CALL }); // it may be too poor for the value
                }
                End::Refused
            }
            end if end.is_ok_or_revert() => End::Needed(given - result.gas().remaining()),
            _ => End::halted(),
        };
        run.recorder.returns(end);
        run.begins(called);
        run.frames.ends(&result);
        run.held.returned(returned(&result).len());
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
            run.held.ends();
            run.held.returned(returned(&result).len());
        }
        self.0.frame_return_result(result)
    }
}

fn returned(result: &FrameResult) -> &Bytes {
    &result.interpreter_result().output
}

/// What revm does not say of how the outermost frame halted.
fn noted(frame: &Frame, result: &FrameResult) -> Option<(Ending, u64)> {
    let Frame { interpreter, .. } = frame;
    let code = &interpreter.bytecode;
    let opcode = code.bytecode_slice().get(code.pc().wrapping_sub(1)).copied().unwrap_or_default();
    let inputs = OpCode::new(opcode).map_or(0, |known| known.inputs());
    let size = returned(result).len();
    match result.instruction_result() {
        InstructionResult::OpcodeNotFound | InstructionResult::NotActivated | InstructionResult::InvalidFEOpcode => {
            Some((Ending::InvalidOpcode, opcode.into()))
        }
        InstructionResult::CreateContractSizeLimit => Some((Ending::CodeSize, size as u64)),
        InstructionResult::OutOfGas if size > 0 => Some((Ending::CodeGas, 0)),
        InstructionResult::StackOverflow if interpreter.stack.len() < usize::from(inputs) => {
            Some((Ending::StackUnderflow, 0)) // DUP and SWAP
        }
        _ => None,
    }
}

pub fn sstore(context: Opcode<'_>) -> InstructionExecResult {
    if context.interpreter.runtime_flag.spec_id().is_enabled_in(SpecId::ISTANBUL) {
        context.host.chain.recorder.stores(context.interpreter.gas.remaining());
    }
    instructions::host::sstore(context)
}

/// Gas that a call takes at once is more than it can be given, whatever it is: "all but a 64th".
fn gas(context: Opcode<'_>) -> InstructionExecResult {
    let next = context.interpreter.bytecode.opcode();
    if !matches!(next, opcode::CALL | opcode::CALLCODE | opcode::DELEGATECALL | opcode::STATICCALL)
        || !context.interpreter.runtime_flag.spec_id().is_enabled_in(SpecId::TANGERINE)
    {
        context.host.chain.reads(opcode::GAS);
    }
    instructions::system::gas(context)
}

pub fn balance(context: Opcode<'_>) -> InstructionExecResult {
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

/// It moves a balance, which revm would let overflow.
pub fn selfdestruct(context: Opcode<'_>) -> InstructionExecResult {
    let InstructionContext { interpreter, host } = context;
    let own = interpreter.input.target_address();
    let heir = interpreter.stack.data().last().map_or(own, address);
    let balance = held(host, &own);
    let overflows = heir != own && balance.checked_add(held(host, &heir)).is_none();
    let end = instructions::host::selfdestruct(InstructionContext { interpreter: &mut *interpreter, host: &mut *host });
    if end != Err(InstructionResult::SelfDestruct) {
        return end; // with less gas it cannot be paid for either: the payer has more then, and it costs no less
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

/// What an account holds now; to look does not make it warm.
fn held(context: &Ctx, address: &Address) -> U256 {
    let loaded = context.journaled_state.state.get(address);
    loaded.map_or_else(|| context.journaled_state.database.0.balance(address), |account| account.info.balance)
}

/// An account without code whose storage forbids a creation has no hash in `state`; to a contract it has that of no code.
pub fn extcodehash(context: Opcode<'_>) -> InstructionExecResult {
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

// revm keeps these three in 64 or 128 bits; and here they are the message's own, whatever the block says.

fn gasprice(context: Opcode<'_>) -> InstructionExecResult {
    push(context.host.chain.gas_price, context)
}

fn basefee(context: Opcode<'_>) -> InstructionExecResult {
    since(SpecId::LONDON, &context)?;
    push(context.host.chain.base_fee, context)
}

fn blobbasefee(context: Opcode<'_>) -> InstructionExecResult {
    since(SpecId::CANCUN, &context)?;
    push(context.host.chain.blob_price, context)
}

fn since(spec: SpecId, context: &Opcode<'_>) -> InstructionExecResult {
    let has = context.interpreter.runtime_flag.spec_id().is_enabled_in(spec);
    if has { Ok(()) } else { Err(InstructionResult::NotActivated) }
}

fn push(word: U256, context: Opcode<'_>) -> InstructionExecResult {
    if context.interpreter.stack.push(word) { Ok(()) } else { Err(InstructionResult::StackOverflow) }
}

/// The address in a word of the stack.
fn address(word: &U256) -> Address {
    Address::from_word((*word).into())
}
