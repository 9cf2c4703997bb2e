"""Real blocks executed again, transaction by transaction, and held against what the chain recorded."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from feemodel.call import Call
from feemodel.errors import ExecutionFailed, InvalidInput
from feemodel.execution.engines import Engine, engine_named
from feemodel.execution.estimate import RollupEstimate, rollup_estimate
from feemodel.execution.forks import fork_named
from feemodel.execution.message import Message
from feemodel.execution.outcome import Outcome
from feemodel.execution.search import TOLERANCE
from feemodel.execution.world import EMPTY, Account, Block, World
from feemodel.fees.forms import CostPerByte
from feemodel.fees.presets import LineaPreset, linea_preset
from feemodel.fees.record import PricingRecord
from feemodel.fees.stages import Verdict, offered_price, stages, verdicts
from feemodel.fees.wallets import WALLETS, wallet_fees
from feemodel.io.replay import Replay, ReplayBlock, ReplayState, ReplayTransaction
from feemodel.sizes.codecs import Codec, compressed_size
from feemodel.sizes.lzss import packed_size
from feemodel.transaction import DYNAMIC_FEE, LEGACY, Signature, Transaction, created_address, measured_form


@dataclass(frozen=True, slots=True)
class Step:
    """One transaction, where it stands, and the state just before it."""

    block: ReplayBlock
    index: int
    transaction: ReplayTransaction
    world: World


@dataclass(frozen=True, slots=True)
class Comparison:
    """One transaction executed again and estimated on the state just before it."""

    step: Step
    outcome: Outcome
    engine: str
    estimate: RollupEstimate | None  #: `None` where it failed
    failure: str | None  #: why it did
    wallet: str | None  #: whose habits make the fees on the chain of the estimated ones
    stages: tuple[Verdict, ...]  #: whether the pool and the selection would have taken it

    @property
    def same_outcome(self) -> bool:
        """Whether it came to the recorded end: success or not, and what it returned."""
        recorded = self.step.transaction
        return (self.outcome.succeeded, self.outcome.output) == (recorded.succeeded, recorded.output)

    @property
    def reproduced(self) -> bool:
        """Whether it also took the recorded gas, before refunds and without the calldata floor."""
        return self.same_outcome and self.outcome.gas_used == self.step.transaction.gas_used


def steps(replay: Replay) -> Iterator[Step]:
    """Every transaction of the blocks in its order, each with the state just before it."""
    accounts = _after({}, replay.state)
    for block in replay.blocks:
        for index, transaction in enumerate(block.transactions):
            yield Step(block, index, transaction, _world(replay, block, accounts))
            accounts = _after(_with_created(accounts, transaction), transaction.state)


def final_world(replay: Replay) -> World:
    """The state after the last transaction, in the last block."""
    accounts = _after({}, replay.state)
    for block in replay.blocks:
        for transaction in block.transactions:
            accounts = _after(_with_created(accounts, transaction), transaction.state)
    return _world(replay, replay.blocks[-1], accounts)


def world_before(replay: Replay, before: tuple[int, int]) -> World:
    """The state just before a transaction, given by block number and index."""
    for step in steps(replay):
        if (step.block.number, step.index) == tuple(before):
            return step.world
    raise InvalidInput("before", "expected the number of a captured block and an index in it", before)


def execute_again(step: Step, engine: Engine) -> tuple[Outcome, str]:
    """What a transaction comes to when it is executed again, and the engine that executed it."""
    message, gas_limit = _message(step), step.transaction.gas_limit
    return engine.run(step.world, lambda execute: (execute(message, gas_limit), execute.engine))


def compare_transactions(
    replay: Replay,
    *,
    codec: str | Codec,
    measured: str = "signed",
    packed: bool = True,
    engine: str | Engine = "auto",
    search: str = "besu",
    tolerance: float = TOLERANCE,
    preset: LineaPreset | None = None,
) -> Iterator[Comparison]:
    """Every transaction of the blocks executed again and estimated, held against what the chain recorded.

    Parameters
    ----------
    replay : see `feemodel.io.read_replay`.
    codec, measured, packed : how the node of that time measured; the costs are those of each block's pricing record.
    engine, search, tolerance : see `feemodel.execution.estimate_gas`.
    preset : its margins; without one the default preset's.

    Raises
    ------
    InvalidInput : a block without a pricing record.
    """
    runner = engine_named(engine) if isinstance(engine, str) else engine
    margins = preset or linea_preset()
    options: dict[str, Any] = {"codec": codec, "measured": measured, "packed": packed}
    options |= {"engine": runner, "search": search, "tolerance": tolerance}
    for step in steps(replay):
        form = _form(step.block)
        outcome, name = execute_again(step, runner)
        estimate, failure = _estimate(step, form=form, margin=margins.estimate_margin, **options)
        size = compressed_size(measured_form(_signed(replay, step.transaction), measured), codec)
        gas = {"limit": step.transaction.gas_limit, "used": outcome.charged}
        yield Comparison(
            step=step,
            outcome=outcome,
            engine=name,
            estimate=estimate,
            failure=failure,
            wallet=None if estimate is None else _wallet(step.transaction, estimate),
            stages=verdicts(
                offered(step), packed_size(size) if packed else size, gas, form=form, checks=stages(margins)
            ),
        )


def offered(step: Step) -> int:
    """The price that a transaction offered in its block [wei / gas]."""
    transaction = step.transaction
    return int(
        offered_price(
            gas_price=transaction.gas_price,
            max_fee=transaction.max_fee,
            max_priority_fee=transaction.max_priority_fee,
            base_fee=step.block.base_fee,
        )
    )


def _estimate(step: Step, **options: Any) -> tuple[RollupEstimate | None, str | None]:
    """What the node would have answered to the wallet, or why it would have refused."""
    transaction = step.transaction
    call = Call(
        sender=transaction.sender,
        to=transaction.to,
        value=transaction.value,
        data=transaction.data,
        nonce=transaction.nonce,
    )
    try:
        return rollup_estimate(call, step.world, **options), None
    except ExecutionFailed as error:
        return None, str(error)


def _after(accounts: dict[bytes, Account], state: ReplayState) -> dict[bytes, Account]:
    """The accounts with what a state says of some of them; those of before stay as they are."""
    slots: dict[bytes, dict[int, int]] = {}
    for address, slot, value in state.slots:
        slots.setdefault(address, {})[slot] = value
    after = dict(accounts)
    for address, balance, nonce, code in state.accounts:
        after[address] = Account(balance, nonce, code, accounts.get(address, EMPTY).storage)
    for address, written in slots.items():
        account = after.get(address, EMPTY)
        after[address] = Account(account.balance, account.nonce, account.code, {**account.storage, **written})
    return after


def _with_created(accounts: dict[bytes, Account], transaction: ReplayTransaction) -> dict[bytes, Account]:
    """The accounts with the contract that a transaction created, of which a capture has the code as its output only."""
    if transaction.to is not None or not transaction.succeeded:
        return accounts
    address = created_address(transaction.sender, transaction.nonce)
    return {**accounts, address: Account(balance=transaction.value, nonce=1, code=transaction.output)}


def _world(replay: Replay, block: ReplayBlock, accounts: dict[bytes, Account]) -> World:
    return World(
        accounts=accounts,
        block=Block(
            number=block.number,
            timestamp=block.timestamp,
            gas_limit=block.gas_limit,
            base_fee=block.base_fee,
            coinbase=block.coinbase,
            prev_randao=block.prev_randao,
            difficulty=block.difficulty,
            hashes=replay.block_hashes,
        ),
        chain_id=replay.chain_id,
        fork=fork_named(replay.fork),
    )


def _message(step: Step) -> Message:
    transaction = step.transaction
    return Message(
        sender=transaction.sender,
        to=transaction.to,
        value=transaction.value,
        data=transaction.data,
        gas_price=offered(step),
        base_fee=step.block.base_fee,
    )


def _form(block: ReplayBlock) -> CostPerByte:
    record = PricingRecord.from_bytes(block.extra_data)
    return CostPerByte(int(record.variable_cost), int(record.fixed_cost), block.base_fee)


def _signed(replay: Replay, transaction: ReplayTransaction) -> Transaction:
    v = transaction.signature[0]
    legacy = transaction.gas_price is not None
    return Transaction(
        type=LEGACY if legacy else DYNAMIC_FEE,
        chain_id=None if legacy and v < 35 else replay.chain_id,
        nonce=transaction.nonce,
        gas_price=transaction.gas_price or 0,
        max_fee=transaction.max_fee or 0,
        max_priority_fee=transaction.max_priority_fee or 0,
        gas_limit=transaction.gas_limit,
        to=transaction.to,
        value=transaction.value,
        data=transaction.data,
        signature=Signature(*transaction.signature),
    )


def _wallet(transaction: ReplayTransaction, estimate: RollupEstimate) -> str | None:
    paid = (transaction.max_priority_fee, transaction.max_fee)
    for wallet in WALLETS:
        fees = wallet_fees(int(estimate.fee.total), base_fee=estimate.base_fee, wallet=wallet)
        if (fees.max_priority_fee, fees.max_fee) == paid:
            return wallet.name
    return None
