"""Calls of blocks that are not there, each on the state that the last one left, as geth's `eth_simulateV1` has them.

The first block follows the chain's newest one, each other the one before: 12 seconds later, at a base fee of 0 unless
the rules of a block are to hold, with the parent's beneficiary and gas limit, and a mix hash of zeros; an override
replaces any of these. A number beyond the next one puts empty blocks in between. A call without `gas` may use what is
left of its block and of the request. A sender may be a contract, as in geth.

Source: ethereum/go-ethereum, internal/ethapi/simulate.go, errors.go, core/state_transition.go (2026);
ethereum/execution-apis, src/eth/execute.yaml and docs/ethsimulatev1-notes.md; EIP-2935, EIP-4788.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from feemodel.checks import MAPPINGS, known_fields, sequence
from feemodel.errors import ExecutionFailed, InvalidInput
from feemodel.ethereum.call import BLOB
from feemodel.ethereum.fee_market import ELASTICITY, GAS_PER_BLOB, MAINNET, Schedule, next_excess_blob_gas
from feemodel.ethereum.fee_market import next_base_fee as next_base_fee_after
from feemodel.ethereum.transaction import ZERO_ADDRESS
from feemodel.execution.clients import Geth, named
from feemodel.execution.engines import Engine, Execute, engine_of
from feemodel.execution.failures import not_executed
from feemodel.execution.forks import since
from feemodel.execution.gas_parts import too_little_gas
from feemodel.execution.limits import DEFAULT_LIMITS, Budget, Limits
from feemodel.execution.message import Message, Request, parse_request, transaction_type
from feemodel.execution.outcome import Log, Outcome, Status
from feemodel.execution.state import CallState, Change, parse_block_overrides

MAX_CALLS = 1_000  # of all blocks together
MAX_BLOCKS = 256  # as in geth, with those in between
BLOCK_SECONDS = 12  # between blocks, as geth has it

# Error codes of `eth_simulateV1`, and those of calls by the words with which their errors begin.
BLOCK_GAS, BLOCK_NUMBER, BLOCK_TIME, CLIENT_LIMIT = -38_015, -38_020, -38_021, -38_026
_CODES = {
    "nonce too low": -38_010, "nonce too high": -38_011, "max fee per gas less": -38_012,
    "max priority fee per gas higher": -32_602, "intrinsic gas too low": -38_013,
    "insufficient funds for gas": -38_014, "max initcode size": -38_025,
}  # fmt: skip

_FIELDS = ("blockStateCalls", "traceTransfers", "validation", "returnFullTransactions")
_BLOCK_FIELDS = ("blockOverrides", "stateOverrides", "calls")
_HISTORY = bytes.fromhex("0000f90827f1c53a10cb7a02335b175320002935")  # EIP-2935
_BEACON_ROOTS = bytes.fromhex("000f3df6d732807ef1319fb7b8bb8522d0beac02")  # EIP-4788
_RING = 8_191  # slots of either
_CLIENT = Geth()


class BlockCalls(NamedTuple):
    """The calls of one block, and what it overrides before them."""

    calls: tuple[Request, ...] = ()
    block_overrides: Mapping[str, Any] | None = None
    state_overrides: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """What `eth_simulateV1` is asked for, read."""

    blocks: tuple[BlockCalls, ...]
    transfers: bool = False  #: whether payments of wei are among the logs
    validation: bool = False  #: whether nonces and fees must be those of a block
    full_transactions: bool = False  #: whether blocks have their transactions, not only the hashes


class Executed(NamedTuple):
    """One call of the block."""

    request: Request  #: with the nonce and the gas that it was executed with
    message: Message
    outcome: Outcome
    logs: tuple[Log, ...]
    is_capped: bool  #: whether it asked for more gas than was left for the calls of one request


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """A block that is not there, and its calls."""

    call_state: CallState  #: after it, with the block's own fields
    parent_hash: bytes | None  #: `None` where it is not known
    calls: tuple[Executed, ...]
    full_transactions: bool

    @property
    def gas_used(self) -> int:
        """By all calls [gas]."""
        return sum(call.outcome.charged for call in self.calls)

    @property
    def blob_gas_used(self) -> int:
        """By the blobs of all calls [gas]."""
        carrying = (call.request for call in self.calls if transaction_type(call.request) == BLOB)
        return GAS_PER_BLOB * sum(len(request.blob_hashes) for request in carrying)


def parse_simulation(payload: Any) -> Simulation:
    """The first parameter of `eth_simulateV1`, checked; what it overrides is read when it is applied.

    Raises
    ------
    ExecutionFailed : more blocks than `MAX_BLOCKS`, or more calls than `MAX_CALLS`, with the code of a client's limit.
    InvalidInput : a field that cannot be read or is not known, named by its place.

    >>> parse_simulation({"blockStateCalls": [{"calls": [{"to": "0x" + "11" * 20}]}]}).blocks[0].calls[0].call.to[0]
    17
    """
    fields = known_fields("simulation", payload, _FIELDS)
    blocks = fields.get("blockStateCalls")
    if not isinstance(blocks, (list, tuple)) or not blocks:
        raise InvalidInput("blockStateCalls", "expected a list of at least one block", blocks)
    if len(blocks) > MAX_BLOCKS:
        raise ExecutionFailed(f"blockStateCalls: expected at most {MAX_BLOCKS}, got {len(blocks):,}", CLIENT_LIMIT)
    named = [(f"blockStateCalls[{place}]", block) for place, block in enumerate(blocks)]
    read = [(name, known_fields(name, block, _BLOCK_FIELDS)) for name, block in named]
    count = sum(len(_listed(name, block)) for name, block in read)
    if count > MAX_CALLS:
        raise ExecutionFailed(f"blockStateCalls: expected at most {MAX_CALLS:,} calls, got {count:,}", CLIENT_LIMIT)
    return Simulation(
        blocks=tuple(
            BlockCalls(
                tuple(_request(f"{name}.calls[{place}]", call) for place, call in enumerate(_listed(name, block))),
                block.get("blockOverrides"), block.get("stateOverrides"),
            )
            for name, block in read
        ),
        transfers=_flag(fields, "traceTransfers"),
        validation=_flag(fields, "validation"),
        full_transactions=_flag(fields, "returnFullTransactions"),
    )  # fmt: skip


def simulate(
    simulation: Simulation | Mapping[str, Any],
    call_state: CallState,
    *,
    parent_hash: bytes | None = None,
    next_base_fee: int = 0,
    engine: str | Engine = "auto",
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[Simulated, ...]:
    """The calls of blocks, executed one after the other.

    Parameters
    ----------
    simulation : the parameter of `eth_simulateV1`, or one already parsed.
    call_state : the newest block and the state after it; unchanged afterwards.
    parent_hash : of the newest block; without one, EIP-2935's contract does not store it.
    next_base_fee : of a first block that is validated and names none [wei / gas].
    engine : as in `feemodel.execution.estimate_gas`.
    limits : `gas_cap` is what all calls may use together, as in geth; `total_gas` and `seconds` hold too.

    Raises
    ------
    ExecutionFailed : a call that no block could have, or a block that cannot follow, with geth's code and words. A call
        that reverts or halts is part of the answer.
    LimitExceeded : the calls together took more time than `limits` allows.
    InvalidInput : what cannot be read; rules before London; a call whose code asks for the hash of a simulated block,
        which is not known.

    >>> pays = {"from": "0x" + "11" * 20, "to": "0x" + "22" * 20, "value": "0x5"}
    >>> block = {"stateOverrides": {pays["from"]: {"balance": "0x9"}}, "calls": [pays]}
    >>> simulate({"blockStateCalls": [block]}, CallState(accounts={}))[0].call_state.account(bytes([0x22] * 20)).balance
    5
    """
    asked = simulation if isinstance(simulation, Simulation) else parse_simulation(simulation)
    if not since("london", call_state.fork):
        raise InvalidInput("fork", "expected London or later for a simulated block", call_state.fork.name)
    budget, used, blobs = Budget(limits), 0, 0
    found: list[Simulated] = []
    for calls, changed in in_order(asked.blocks, call_state):
        defaults = {
            "base_fee": next_base_fee if asked.validation else 0, "prev_randao": bytes(32), "blob_base_fee": None,
            "excess_blob_gas": _next_excess(call_state, blobs),
        }  # fmt: skip
        block = replace(call_state.block, **{**defaults, **changed})
        begun = replace(call_state.overridden(calls.state_overrides), block=block)
        begun = begun.after(_system_changes(begun, parent_hash))
        task = partial(_executed, asked, begun, calls.calls, limits.gas_cap - used, budget)
        executed, after = engine_of(engine).run(begun, task) if calls.calls else ((), begun)
        simulated = Simulated(
            calls=executed, call_state=after, parent_hash=parent_hash, full_transactions=asked.full_transactions
        )
        found.append(simulated)
        used += simulated.gas_used
        call_state, parent_hash, blobs = after, None, simulated.blob_gas_used
        next_base_fee = _base_fee_after(simulated)
    return tuple(found)


def _executed(
    asked: Simulation, begun: CallState, calls: tuple[Request, ...], gas_cap: int, budget: Budget, execute: Execute
) -> tuple[tuple[Executed, ...], CallState]:
    """The calls of a block, of which `begun` is what they find, and what they leave."""
    block = _BlockRun(asked, begun, gas_cap, budget)
    return tuple([block.call(execute, request) for request in calls]), block.call_state


class _BlockRun:
    """The calls of one block, while they are executed."""

    def __init__(self, asked: Simulation, begun: CallState, gas_cap: int, budget: Budget) -> None:
        self._asked, self.call_state, self._gas_cap, self._budget = asked, begun, gas_cap, budget
        self._used = 0  # of the block [gas]

    def call(self, execute: Execute, request: Request) -> Executed:
        """A call on the state that the last one left."""
        self._budget.check()
        request, is_capped = self._filled(request)
        gas_limit = request.call.gas or 0
        try:
            message = self._message(request, gas_limit)
            committed = execute.commit(message, gas_limit, transfers=self._asked.transfers)
            if committed.outcome.status is Status.INTRINSIC:
                raise too_little_gas(message, committed.outcome, gas_limit, self.call_state.fork)
        except ExecutionFailed as error:
            code = next((code for words, code in _CODES.items() if error.message.startswith(words)), error.code)
            raise not_executed(error, gas_limit, code) from None
        self._used += committed.outcome.charged
        self._budget.spent += committed.outcome.gas_used
        self.call_state = self.call_state.after(committed.changes)
        return Executed(request, message, committed.outcome, committed.logs, is_capped)

    def _filled(self, request: Request) -> tuple[Request, bool]:
        """The call with the nonce, the gas and the chain id that it does not name, and whether it has less gas."""
        call, block = request.call, self.call_state.block
        gas = block.gas_limit - self._used if call.gas is None else call.gas
        if self._used + gas > block.gas_limit:
            words = f"block gas limit reached: remaining: {block.gas_limit - self._used}, required: {gas}"
            raise ExecutionFailed(words, BLOCK_GAS)
        _CLIENT.check_chain(request, self.call_state)
        nonce = self.call_state.account(call.sender or ZERO_ADDRESS).nonce if call.nonce is None else call.nonce
        left = self._gas_cap - self._used
        filled = call._replace(gas=min(gas, left), nonce=nonce, chain_id=self.call_state.chain_id)
        return request._replace(call=filled), gas > left

    def _message(self, request: Request, gas_limit: int) -> Message:
        """The message with its price, as geth lets it into a block; raises `ExecutionFailed`."""
        call, call_state, validation = request.call, self.call_state, self._asked.validation
        sender = call.sender or ZERO_ADDRESS
        nonce = call_state.account(sender).nonce
        if validation and call.nonce is not None and call.nonce != nonce:
            order = "low" if call.nonce < nonce else "high"
            raise ExecutionFailed(f"nonce too {order}: {named(call)}, tx: {call.nonce} state: {nonce}")
        message = _CLIENT.admitted(request, call_state, gas_limit, validation=validation)
        return message._replace(base_fee=call_state.block.base_fee)


def in_order(blocks: tuple[BlockCalls, ...], call_state: CallState) -> list[tuple[BlockCalls, dict[str, Any]]]:
    """Every block with its number, its time and what else is overridden; raises `ExecutionFailed` out of order."""
    first, number, timestamp = call_state.block.number, call_state.block.number, call_state.block.timestamp
    found: list[tuple[BlockCalls, dict[str, Any]]] = []
    for block in blocks:
        changed = parse_block_overrides(block.block_overrides, call_state.fork)
        wanted = changed.get("number", number + 1)
        if wanted <= number:
            raise ExecutionFailed(f"block numbers must be in order: {wanted} <= {number}", BLOCK_NUMBER)
        if wanted - first > MAX_BLOCKS:
            words = f"too many blocks: at most {MAX_BLOCKS} behind block {first}, got {wanted}"
            raise ExecutionFailed(words, CLIENT_LIMIT)
        for between in range(number + 1, wanted):
            timestamp += BLOCK_SECONDS
            found.append((BlockCalls(), {"number": between, "timestamp": timestamp}))
        time = changed.get("timestamp", timestamp + BLOCK_SECONDS)
        if time <= timestamp:
            raise ExecutionFailed(f"block timestamps must be in order: {time} <= {timestamp}", BLOCK_TIME)
        number, timestamp = wanted, time
        found.append((block, {**changed, "number": number, "timestamp": timestamp}))
    return found


def _next_excess(call_state: CallState, used: int) -> int:
    """The excess blob gas of the next block from the last one and what its blobs used [gas]."""
    row = next((row for row in MAINNET.rows if row.name.lower() == call_state.fork.name), None)
    if row is None:
        return 0
    rules = Schedule((replace(row, timestamp=0),))
    return next_excess_blob_gas(call_state.block.excess_blob_gas, used, call_state.block.base_fee, 0, rules)


def _base_fee_after(simulated: Simulated) -> int:
    """Of the next block, by EIP-1559 [wei / gas]."""
    block = simulated.call_state.block
    if block.gas_limit < ELASTICITY:  # which has no gas target
        return block.base_fee
    return next_base_fee_after(block.base_fee, simulated.gas_used, block.gas_limit)


def _system_changes(call_state: CallState, parent_hash: bytes | None) -> list[Change]:
    """What a block stores before its first transaction, where the chain has the contracts that store it."""
    block, found = call_state.block, []
    if parent_hash is not None and since("prague", call_state.fork) and call_state.account(_HISTORY).code:
        found.append(_stored(call_state, _HISTORY, {(block.number - 1) % _RING: int.from_bytes(parent_hash)}))
    if since("cancun", call_state.fork) and call_state.account(_BEACON_ROOTS).code:  # of a beacon root of zeros
        place = block.timestamp % _RING
        found.append(_stored(call_state, _BEACON_ROOTS, {place: block.timestamp, place + _RING: 0}))
    return found


def _stored(call_state: CallState, address: bytes, slots: Mapping[int, int]) -> Change:
    account = call_state.account(address)
    return Change(address, account.balance, account.nonce, None, False, slots)


def _listed(name: str, block: Mapping[str, Any]) -> tuple[Any, ...]:
    return sequence(f"{name}.calls", [] if block.get("calls") is None else block["calls"], "calls")


def _request(name: str, call: Any) -> Request:
    if not isinstance(call, MAPPINGS):
        raise InvalidInput(name, "expected an object with the fields of a call", call)
    try:
        return parse_request(call)
    except InvalidInput as error:
        named = name + error.name.removeprefix("call")
        raise InvalidInput(named, error.reason, error.value, error.index) from None


def _flag(fields: Mapping[str, Any], name: str) -> bool:
    value = fields.get(name)
    if value is not None and not isinstance(value, bool):
        raise InvalidInput(name, "expected true or false", value)
    return bool(value)
