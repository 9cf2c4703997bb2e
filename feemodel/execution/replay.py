"""Real blocks executed again, transaction by transaction, and compared with what was recorded of them.

A capture records the accounts and slots that a transaction touched, before accounts that destroyed themselves are
removed. It does not record the code that a creation left, nor delegations. What the coinbase is paid is recorded only
where the transaction touched it. What a block writes into system contracts before its first transaction (EIP-4788,
EIP-2935) is left out: the recorded outcomes are those of an execution without it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from feemodel.checks import UINT64_MAX
from feemodel.errors import FeeModelError, InvalidInput
from feemodel.ethereum.call import BLOB, SET_CODE, Call
from feemodel.ethereum.transaction import DYNAMIC_FEE, Transaction, created_address, fill, measured_form
from feemodel.execution.clients import node_named
from feemodel.execution.engines import Engine, engine_of
from feemodel.execution.estimate import GasEstimate, RollupEstimate, check_tolerance, estimate_gas, priced
from feemodel.execution.forks import Fork, fork_named
from feemodel.execution.message import Message, Request, parse_message
from feemodel.execution.outcome import Outcome
from feemodel.execution.search import TOLERANCE
from feemodel.execution.state import EMPTY, Account, Block, CallState
from feemodel.io.replay import Replay, ReplayBlock, ReplayState, ReplayTransaction
from feemodel.linea.extra_data import PricingRecord
from feemodel.linea.node import Verdict, node_checks, offered_price, verdicts
from feemodel.linea.parameters import LineaPreset, linea_preset
from feemodel.linea.pricing_forms import CostPerByte
from feemodel.linea.wallets import WALLETS, wallet_fees
from feemodel.sizes.codecs import Codec, compressed_size
from feemodel.sizes.lzss import packed_size

Found = TypeVar("Found")
Accounts = Mapping[bytes, Account]

_DELEGATION = bytes.fromhex("ef0100")  # before the address, EIP-7702

#: The rules that a capture is tried under which does not say its own: those that Linea's chains have had.
CANDIDATE_FORKS = ("london", "paris", "shanghai", "cancun", "prague", "osaka")


@dataclass(frozen=True, slots=True)
class Step:
    """One transaction, its place in its block, and the state just before it."""

    block: ReplayBlock
    index: int
    transaction: ReplayTransaction
    call_state: CallState


@dataclass(frozen=True, slots=True)
class Comparison:
    """One transaction executed again and estimated on the state just before it; what failed is `None`, and says why."""

    step: Step
    outcome: Outcome | None  #: of its execution
    engine: str | None  #: that executed it
    refusal: str | None  #: why it could not be executed
    gas: GasEstimate | None
    failure: str | None  #: why there is no estimate
    estimate: RollupEstimate | None  #: with the fee; `None` also where the block has no pricing record
    size: int | None  #: of the signed transaction, compressed; `None` for types that no fee is published for [byte]
    wallet: str | None  #: whose habits make the fees on the chain of the estimated ones
    stages: tuple[Verdict, ...]  #: whether the pool and the selection would have taken it

    @property
    def same_outcome(self) -> bool:
        """Whether it came to the recorded end: success or not, and what it returned."""
        return self.outcome is not None and _same_outcome(self.step, self.outcome)

    @property
    def reproduced(self) -> bool:
        """Whether it also took the recorded gas, see `is_reproduced`."""
        return self.outcome is not None and is_reproduced(self.step, self.outcome)


def steps(replay: Replay, *, fork: str | None = None) -> Iterator[Step]:
    """Every transaction of the blocks in its order, each with the state just before it.

    Parameters
    ----------
    fork : the rules, if not those of the capture.
    """
    for block, index, call_state in _call_states(replay, fork):
        if index < len(block.transactions):
            yield Step(block, index, block.transactions[index], call_state)


def final_state(replay: Replay, *, fork: str | None = None) -> CallState:
    """The state after the last transaction, in the last block; parameters as in `steps`."""
    *_, (_, _, call_state) = _call_states(replay, fork)
    return call_state


def state_before(replay: Replay, before: tuple[int, int], *, fork: str | None = None) -> CallState:
    """The state just before a transaction, given by block number and index; other parameters as in `steps`."""
    for step in steps(replay, fork=fork):
        if (step.block.number, step.index) == tuple(before):
            return step.call_state
    raise InvalidInput("before", "expected the number of a captured block and an index in it", before)


def execute_again(step: Step, engine: Engine) -> tuple[Outcome, str]:
    """What a transaction comes to when it is executed again, and the engine that executed it."""
    message, gas_limit = _message(step), step.transaction.gas_limit
    return engine.run(step.call_state, lambda execute: (execute(message, gas_limit), execute.engine))


def is_reproduced(step: Step, outcome: Outcome) -> bool:
    """Whether an execution came to the recorded end, and took the recorded gas.

    That is before refunds; some recorders also count the calldata floor, others do not.
    """
    return _same_outcome(step, outcome) and step.transaction.gas_used in (outcome.gas_used, outcome.peak)


def reproducing_forks(
    replay: Replay, found: Sequence[Comparison], *, fork: str, engine: str | Engine = "auto"
) -> tuple[str, ...]:
    """The rules, among `CANDIDATE_FORKS`, by which every transaction of a capture is reproduced.

    Parameters
    ----------
    found : the comparisons under `fork`; what they did not reproduce is tried first under the other rules.
    engine : see `feemodel.execution.estimate_gas`.
    """
    runner = engine_of(engine)
    first = [place for place, row in enumerate(found) if not row.reproduced]
    order = first + [place for place, row in enumerate(found) if row.reproduced]

    def reproduces(name: str) -> bool:
        if name == fork:
            return not first
        candidates = list(steps(replay, fork=name))
        again = ((candidates[place], _tried(partial(execute_again, candidates[place], runner))[0]) for place in order)
        return all(found is not None and is_reproduced(step, found[0]) for step, found in again)

    return tuple(name for name in CANDIDATE_FORKS if reproduces(name))


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
    fork: str | None = None,
) -> Iterator[Comparison]:
    """Every transaction of the blocks executed again and estimated, compared with what was recorded.

    Whatever happens to one of them, there is a comparison for each: `Comparison` says what failed and why.

    Parameters
    ----------
    replay : see `feemodel.io.read_replay`.
    codec, measured, packed : how the node of that time measured; the costs are those of each block's pricing record.
        Without a record there is no fee.
    engine, search, tolerance : see `feemodel.execution.estimate_gas`.
    preset : its margins; without one the default preset's.
    fork : the rules, for example "london"; without it those that the capture names, or Osaka's.

    Raises
    ------
    InvalidInput : rules, an engine, a search or a tolerance that are none.
    """
    runner = engine_of(engine)
    margins, node = preset or linea_preset(), node_named(search).rules.name
    check_tolerance(tolerance)
    for step in steps(replay, fork=fork):
        transaction, form = step.transaction, pricing_form(step.block)
        executed, refusal = _tried(partial(execute_again, step, runner))
        outcome, name = executed or (None, None)
        gas, failure = _tried(partial(_estimated, step, engine=runner, search=node, tolerance=tolerance))
        size = None
        if transaction.type <= DYNAMIC_FEE:
            signed = measured_form(_signed(replay, transaction), measured, sender=transaction.sender)
            size = compressed_size(signed, codec)
            size = packed_size(size) if packed else size
        estimate = None
        if gas is not None and form is not None and size is not None:
            estimate = priced(
                gas, _call(transaction), form=form, margin=margins.estimate_margin, nonce=transaction.nonce,
                chain_id=replay.chain_id, codec=codec, measured=measured, packed=packed,
            )  # fmt: skip
        stages: tuple[Verdict, ...] = ()
        if outcome is not None and form is not None and size is not None:
            used = {"limit": transaction.gas_limit, "used": outcome.charged}
            stages = verdicts(offered(step), size, used, form=form, checks=node_checks(margins))
        wallet = None if estimate is None else _wallet(transaction, estimate)
        yield Comparison(step, outcome, name, refusal, gas, failure, estimate, size, wallet, stages)


def _estimated(step: Step, **searching: Any) -> GasEstimate:
    """The gas limit that a node would have answered to the wallet."""
    return estimate_gas(estimate_request(step.transaction), step.call_state, **searching)


def _tried(task: Callable[[], Found]) -> tuple[Found | None, str | None]:
    """What a task gives, or why it gives nothing."""
    try:
        return task(), None
    except FeeModelError as error:
        return None, str(error)


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


def pricing_form(block: ReplayBlock) -> CostPerByte | None:
    """The costs in a block's pricing record; headers before 2024 have none."""
    try:
        record = PricingRecord.from_bytes(block.extra_data)
    except InvalidInput:
        return None
    return CostPerByte(int(record.variable_cost), int(record.fixed_cost), block.base_fee)


def _same_outcome(step: Step, outcome: Outcome) -> bool:
    recorded = step.transaction
    return (outcome.succeeded, outcome.output) == (recorded.succeeded, recorded.output)


def _call_states(replay: Replay, fork: str | None) -> Iterator[tuple[ReplayBlock, int, CallState]]:
    """The state before each transaction and after the last one of each block."""
    rules = fork_named(replay.fork if fork is None else fork)
    accounts = with_recorded({}, replay.state)
    for block in replay.blocks:
        surroundings = _block(replay, block, rules)
        for index, transaction in enumerate((*block.transactions, None)):
            yield block, index, CallState(accounts=accounts, block=surroundings, chain_id=replay.chain_id, fork=rules)
            if transaction is not None:
                accounts = after_transaction(accounts, transaction, chain_id=replay.chain_id, fork=rules)


def with_recorded(accounts: Accounts, state: ReplayState) -> Accounts:
    """The accounts with what a capture says of some of them; those given stay as they are."""
    slots: dict[bytes, dict[int, int]] = {}
    for address, slot, value in state.slots:
        slots.setdefault(address, {})[slot] = value
    after = dict(accounts)
    for address, balance, nonce, code in state.accounts:
        after[address] = Account(balance, nonce, code, accounts.get(address, EMPTY).storage)
    for address, written in slots.items():
        account = after.get(address, EMPTY)
        after[address] = replace(account, storage={**account.storage, **written})
    return after


def after_transaction(accounts: Accounts, transaction: ReplayTransaction, *, chain_id: int, fork: Fork) -> Accounts:
    """The accounts after a transaction that did what is recorded of it."""
    after = _with_delegations(accounts, transaction, chain_id)
    if transaction.to is None and transaction.succeeded:
        created = created_address(transaction.sender, transaction.nonce)
        balance = after.get(created, EMPTY).balance + transaction.value
        after = {**after, created: Account(balance=balance, nonce=1, code=transaction.output)}
    after = dict(with_recorded(after, transaction.state))
    for address in transaction.self_destructs:
        before = accounts.get(address, EMPTY)
        if fork.keeps_self_destructed and (before.nonce or before.code):
            continue  # EIP-6780: only what the same transaction created is removed
        after.pop(address, None)
    return after


def _with_delegations(accounts: Accounts, transaction: ReplayTransaction, chain_id: int) -> Accounts:
    """The accounts with the delegations of a transaction, which stay also where it reverts."""
    if not transaction.authorizations:
        return accounts
    after = {
        **accounts,
        transaction.sender: replace(accounts.get(transaction.sender, EMPTY), nonce=transaction.nonce + 1),
    }
    for authorization in transaction.authorizations:
        authority, nonce, address = authorization.authority(), authorization.nonce, authorization.address
        if authority is None or authorization.chain_id not in (0, chain_id):
            continue
        account = after.get(authority, EMPTY)
        if account.nonce != nonce or nonce >= UINT64_MAX or (account.code and not account.code.startswith(_DELEGATION)):
            continue
        code = _DELEGATION + address if any(address) else b""
        after[authority] = replace(account, nonce=nonce + 1, code=code)
    return after


def _block(replay: Replay, block: ReplayBlock, fork: Fork) -> Block:
    return Block(
        number=block.number,
        timestamp=block.timestamp,
        gas_limit=block.gas_limit,
        base_fee=block.base_fee,
        coinbase=block.coinbase,
        prev_randao=block.prev_randao,
        difficulty=block.difficulty,
        blob_base_fee=None if fork.blob_update_fraction is None else block.blob_base_fee,
        hashes=replay.block_hashes,
    )


def estimate_request(transaction: ReplayTransaction) -> Request:
    """What a wallet asked an estimate for: no gas, no price.

    Raises `InvalidInput` for a type whose list the capture does not have.
    """
    if transaction.type == BLOB and not transaction.blob_hashes:
        raise InvalidInput("blobVersionedHashes", "expected at least one in a transaction of type BLOB", [])
    if transaction.type == SET_CODE and not transaction.authorizations:
        raise InvalidInput("authorizationList", "expected at least one in a transaction of type DELEGATE_CODE", [])
    return Request(_call(transaction), transaction.authorizations, transaction.blob_hashes)


def _call(transaction: ReplayTransaction) -> Call:
    return Call(
        sender=transaction.sender,
        to=transaction.to,
        value=transaction.value,
        data=transaction.data,
        nonce=transaction.nonce,
        access_list=transaction.access_list or None,
    )


def _message(step: Step) -> Message:
    request = estimate_request(step.transaction)
    message = parse_message(request, gas_price=offered(step), base_fee=step.block.base_fee, pays=True)
    return message._replace(pays_for_blobs=bool(request.blob_hashes))


def _signed(replay: Replay, transaction: ReplayTransaction) -> Transaction:
    call = _call(transaction)._replace(
        sent=True, type=transaction.type, signature=transaction.signature, gas_price=transaction.gas_price,
        max_fee=transaction.max_fee, max_priority_fee=transaction.max_priority_fee,
    )  # fmt: skip
    return fill(call, gas=transaction.gas_limit, chain_id=replay.chain_id)


def _wallet(transaction: ReplayTransaction, estimate: RollupEstimate) -> str | None:
    paid = (transaction.max_priority_fee, transaction.max_fee)
    for wallet in WALLETS:
        fees = wallet_fees(int(estimate.fee.total), base_fee=estimate.base_fee, wallet=wallet)
        if (fees.max_priority_fee, fees.max_fee) == paid:
            return wallet.name
    return None
