"""The native engine: revm in this process, with the rules of every fork. Requires the package `feemodel-native`.

The engine releases the global interpreter lock while it executes, so calls in several threads run in parallel.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from feemodel._extras import has_native, install_command
from feemodel.checks import UINT64_MAX, UINT256_MAX
from feemodel.errors import EngineFailed, ExecutionFailed, FeeModelError, InvalidInput, LimitExceeded
from feemodel.ethereum._hashes import Authorization
from feemodel.execution._engines import Execute, blob_cost, check_executable
from feemodel.execution._inputs import MAX_GAS, check_message, check_seconds, check_state
from feemodel.execution._limits import Limits, too_much_gas, too_much_time
from feemodel.execution._message import Message
from feemodel.execution._outcome import Outcome, Status
from feemodel.execution._search import REFUSED, Frame, Place, Search, Searched, Unproven
from feemodel.execution._state import EMPTY, Account, CallState, blob_base_fee

if TYPE_CHECKING or has_native():  # see `feemodel.execution.engine_named`
    import feemodel_native as native

Found = TypeVar("Found")

VERSION = "0.6.0"  # required version of the native package
MAX_MEMORY = 2**30  # limit on the memory of an execution [byte], the same as in `native/src/machine.rs`
KEPT_CODE = 24_576  # largest code that is cached [byte]: the maximum of deployed code, EIP-170

#: Status of an execution and geth's error message (`core/vm/errors.go`), indexed by the number that the package
#: returns. `_outcome` adds to the message what the package says of an opcode, of a size, or of a precompile's input.
_ENDINGS = (
    (Status.SUCCESS, ""),
    (Status.REVERT, "execution reverted"),
    (Status.OUT_OF_GAS, "out of gas"),
    (Status.INTRINSIC, Status.INTRINSIC.value),
    (Status.HALT, "invalid opcode"),
    (Status.HALT, "invalid jump destination"),
    (Status.HALT, "stack underflow"),
    (Status.HALT, "stack limit reached 1024"),
    (Status.HALT, "write protection"),
    (Status.HALT, "return data out of bounds"),
    (Status.HALT, "invalid code: must not begin with 0xef"),
    (Status.HALT, "contract address collision"),
    (Status.HALT, "precompiled contract failed"),
    (Status.HALT, "halted"),
    (Status.HALT, "contract creation code storage out of gas"),
    (Status.HALT, "max code size exceeded: code size {detail} limit 24576"),
)
_INVALID_OPCODE = 4
_FRAME_STATUSES = (Status.SUCCESS, Status.REVERT, Status.HALT)
#: Opcodes that read the gas that is left, or a balance that the gas limit reduces.
_READS = {
    0x5A: "GAS", 0x31: "BALANCE", 0x47: "SELFBALANCE", 0xF0: "CREATE", 0xF1: "CALL", 0xFF: "SELFDESTRUCT",
}  # fmt: skip
# Raised for a field whose value has a wrong type or is out of range.
_NO_FIELDS = (AttributeError, TypeError, ValueError, OverflowError)

_Answer = tuple[int, int, int, int, bytes, int, str]  # ending, gas used, refund, floor, output, detail, fault


def _faults() -> tuple[type[Exception], ...]:
    """Return the exceptions of the native package.

    The exceptions are not listed in a constant of this module, because the native package may not be installed.
    """
    return native.MissingHash, native.TooLarge, native.BalanceOverflow, native.Exceeded, native.NativeError


#: Maximum of a range of gas limits that has no upper end; larger than any gas limit.
UNBOUNDED = UINT64_MAX


class Traced(NamedTuple):
    """An outcome, and the range of gas limits for which the outcome is proven.

    With every gas limit from `minimum` to `maximum`, the message succeeds if this execution succeeded, and fails if
    this execution failed. If the code reads its remaining gas, or a balance that depends on the gas limit, nothing is
    proven, and `minimum` is above `maximum`.
    """

    outcome: Outcome
    minimum: int = 1  #: lower end of the range [gas]
    maximum: int = 0  #: upper end of the range [gas]; after a halt, the gas limit of the traced execution
    single_frame: bool = False  #: `True` if code made no call or creation; every limit below `minimum` then fails
    frames: tuple[Frame, ...] = ()  #: how each frame ended, if requested; frame 0 is the outermost

    @property
    def oblivious(self) -> bool:
        """Whether all gas limits of at least `minimum` have exactly the same outcome."""
        return self.maximum == UNBOUNDED


class Native:
    """Engine that executes messages with revm.

    The engine caches the accounts of the state that it used last. Threads may share an engine.

    Parameters
    ----------
    seconds : time limit for all executions of a task together, checked at every call and creation [s].

    Raises `InvalidInput` if the installed `feemodel-native` does not have the required version, or if `seconds` is not
    valid.

    >>> from feemodel.execution._state import CallState
    >>> Native().run(CallState(accounts={}), lambda execute: execute(Message(to=bytes(20)), 21_000)).gas_used
    21000
    """

    limits = Limits()

    def __init__(self, seconds: float | None = None) -> None:
        installed = native.version()[0]
        if installed != VERSION:
            reason = f"expected feemodel-native {VERSION}: {install_command('feemodel_native')}"
            raise InvalidInput("engine", reason, f"feemodel-native {installed}")
        self._seconds = None if seconds is None else check_seconds("seconds", seconds)
        self._base: _Base | None = None

    def run(
        self,
        call_state: CallState,
        task: Callable[[Execute], Found],
        *,
        inline_gas: int | None = None,
        stop: native.Stop | None = None,
    ) -> Found:
        """Return the result of a task that executes messages on a state, see `feemodel.execution._engines.Engine`.

        Parameters
        ----------
        call_state : the state on which messages are executed.
        task : function that takes an executor for the state; `run` returns the function's result.
        inline_gas : gas for each execution, and for all executions of a search together; `None` for no limit [gas]. If
            a gas limit exceeds it, the execution runs with `inline_gas`, and its trace must prove that the full limit
            gives the same outcome.
        stop : a `feemodel_native.Stop`; after another thread calls its method `set`, the executions end.

        Raises `LimitExceeded` if the executions take longer than the engine's time limit or are stopped, and `Unproven`
        if `inline_gas` is not enough to prove an outcome.
        """
        base = self._base
        if base is None or (call_state is not base.call_state and not call_state.same_base(base.call_state)):
            base = self._base = _Base(call_state)
        try:
            state = _overridden(base.state, call_state) if call_state.changes else base.state
            block = base.block if call_state.block is base.call_state.block else _block(call_state)
        except _NO_FIELDS as error:
            raise _wrong_state(call_state, error) from None
        until = None if self._seconds is None else monotonic() + self._seconds
        return task(_NativeMachine(state, block, call_state, self._seconds, until, inline_gas, stop))


class _Base:
    """A state, and the same state as an object of the compiled package."""

    def __init__(self, call_state: CallState) -> None:
        try:
            self.call_state, self.state, self.block = call_state, _state(call_state), _block(call_state)
        except _NO_FIELDS as error:
            raise _wrong_state(call_state, error) from None


class _NativeMachine(NamedTuple):
    """Executes messages on one state."""

    state: native.State
    block: native.Block
    call_state: CallState
    seconds: float | None
    until: float | None
    inline_gas: int | None
    stop: native.Stop | None
    engine: str = "native"

    def __call__(self, message: Message, gas_limit: int) -> Outcome:
        return self.trace(message, gas_limit).outcome

    def trace(self, message: Message, gas_limit: int, *, frames: bool = False) -> Traced:
        """Return the outcome, the range of gas limits for which this outcome is proven, and on request the frames."""
        given = self.inline_gas
        if given is None or gas_limit <= given:
            return self._traced(message, gas_limit, frames=frames)
        if message.pays and message.gas_price and self.call_state.account(message.sender).code:
            raise Unproven("the sender's code may spend the rest of the sender's balance")
        traced = self._traced(message, given, frames=frames)
        if not (traced.oblivious and traced.outcome.status in (Status.SUCCESS, Status.REVERT)):
            raise Unproven(f"an execution with {given:,} gas does not prove the outcome with {gas_limit:,} gas")
        return traced

    def _traced(self, message: Message, gas_limit: int, *, frames: bool) -> Traced:
        given, blobs, proves = self.prepared(message)
        check_executable(self.call_state, message, gas_limit, blobs)
        left = None if self.until is None else max(self.until - monotonic(), 0.0)
        try:
            answer, minimum, maximum, single_frame, ends = native.trace(
                self.state, self.block, given, gas_limit, left, frames=frames, stop=self.stop
            )
        except _faults() as error:
            raise self._failure(error) from None
        traced = Traced(_outcome(answer), frames=tuple(_frame(*end) for end in ends))
        if not proves:
            return traced
        return traced._replace(minimum=minimum, maximum=maximum, single_frame=single_frame)

    def search(self, message: Message, search: Search) -> Searched:
        """Return the gas limit that a message needs, see `feemodel.execution._search.search_message`."""
        (given, _, proves), limits = self.prepared(message), search.limits
        try:
            gas_limit, answer, executed, proven, spent, intact = native.search(
                self.state, self.block, given, rules=search.rules.name, upper=search.upper,
                most=int(min(search.max_gas, MAX_GAS)), tolerance=search.tolerance, transfer=search.transfer,
                proves=proves, total_gas=limits.total_gas, seconds=limits.seconds,
                left=None if self.until is None else max(self.until - monotonic(), 0.0),
                inline_gas=self.inline_gas, stop=self.stop,
                sender_acts=search.sender_has_code and bool(message.gas_price),
            )  # fmt: skip
        except native.SpentGas:
            raise too_much_gas(limits.total_gas) from None
        except native.SpentTime:
            raise too_much_time(limits.seconds) from None
        except native.Unproven as error:
            raise Unproven(str(error)) from None
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInput("search", str(error), search) from None
        except _faults() as error:
            check_executable(self.call_state, message, 0, blob_cost(self.call_state, message))
            raise self._failure(error) from None
        outcome = REFUSED if answer is None else _outcome(answer)
        found = Searched(gas_limit, outcome, executed, proven, spent)
        return found if intact is None else found._replace(**_intact(*intact))

    def prepared(self, message: Message) -> tuple[native.Message, int, bool]:
        """Return a message as an object of the package, the cost of its blobs, and whether executions prove limits."""
        fork = self.call_state.fork
        blobs = blob_cost(self.call_state, message) if message.blob_hashes else 0
        if message.authorizations and not fork.authorizations:
            raise InvalidInput("fork", "expected Prague or later for the type SetCodeTransaction", fork.name)
        if message.access_list and not fork.access_lists:
            raise InvalidInput("fork", "expected Berlin or later for the type AccessListTransaction", fork.name)
        try:
            given = native.Message(
                sender=message.sender, to=message.to, value=message.value.to_bytes(32), data=message.data,
                gas_price=message.gas_price.to_bytes(32), base_fee=message.base_fee.to_bytes(32),
                access_list=message.access_list,
                authorizations=_authorizations(message.authorizations) if message.authorizations else [],
                blob_hashes=message.blob_hashes, pays=message.pays, blob_cost=blobs.to_bytes(32),
            )  # fmt: skip
            # At a smaller gas limit, the payer prepays less. If the payer's balance could overflow 256 bits at a
            # smaller gas limit, an execution proves nothing about smaller gas limits.
            pays = message.pays and message.gas_price
            return given, blobs, not pays or self.call_state.account(message.sender).balance <= UINT256_MAX // 2
        except InvalidInput:
            raise
        except _NO_FIELDS as error:
            check_message(message)
            raise InvalidInput("message", f"expected fields of a transaction: {error}", message) from None

    def _failure(self, error: Exception) -> FeeModelError:
        """Return the error for an execution that ended without an outcome."""
        if isinstance(error, native.MissingHash):
            return InvalidInput(
                "block.hashes", "expected the hash of this block, which BLOCKHASH requests", error.args[0]
            )
        if isinstance(error, native.TooLarge):
            return LimitExceeded(f"the execution needs more than {MAX_MEMORY // 2**20:,} MiB of memory")
        if isinstance(error, native.BalanceOverflow):  # a balance overflows only after a state override
            return ExecutionFailed(str(error))
        if isinstance(error, native.Exceeded):
            return too_much_time(self.seconds or 0.0)
        return EngineFailed(f"the native engine failed: {error}")


def _outcome(answer: _Answer) -> Outcome:
    ending, gas_used, refund, floor, output, detail, fault = answer
    status, words = _ENDINGS[ending]
    if ending == _INVALID_OPCODE:
        words += ": INVALID" if detail == 0xFE else f": opcode {detail:#x} not defined"
    elif detail:
        words = words.format(detail=detail)
    elif fault:
        words += f": {fault}"
    return Outcome(status, gas_used, refund, floor, output, words)


def _frame(depth: int, address: bytes, status: int, output_hash: bytes, opcode: int) -> Frame:
    return Frame(depth, address, _FRAME_STATUSES[status], output_hash, _READS.get(opcode, ""))


def _intact(is_proven: bool, place: tuple[int, bytes, int] | None, loses_output: bool) -> dict[str, Any]:
    status = "proven" if is_proven else "not possible" if loses_output else "searched"
    return {"intact": status, "prevented_by": place and Place(*place[:2], _READS.get(place[2], ""))}


def _wrong_state(call_state: CallState, error: Exception) -> InvalidInput:
    """Return the error for a state that the package rejects.

    Raises `InvalidInput` if `check_state` finds the field that is wrong.
    """
    if isinstance(error, InvalidInput):
        return error
    check_state(call_state)
    return InvalidInput("call_state", f"expected the fields of a state: {error}", type(call_state).__name__)


def _state(call_state: CallState) -> native.State:
    existing = {  # EIP-161 removed empty accounts
        key: account
        for key, account in call_state.accounts.items()
        if account.balance or account.nonce or account.code or account.storage
    }
    accounts, slots, codes = _packed(existing, [account.storage for account in existing.values()])
    hashes = b"".join(number.to_bytes(8) + value for number, value in call_state.block.hashes.items())
    return native.State(call_state.fork.name, accounts, slots, codes, hashes)


def _block(call_state: CallState) -> native.Block:
    block = call_state.block
    price = 0 if call_state.fork.blob_update_fraction is None else blob_base_fee(call_state)
    return native.Block(
        fork=call_state.fork.name,
        chain_id=call_state.chain_id,
        number=block.number,
        timestamp=block.timestamp,
        gas_limit=block.gas_limit,
        coinbase=block.coinbase,
        prev_randao=block.prev_randao,
        difficulty=block.difficulty.to_bytes(32),
        blob_price=price.to_bytes(32),
    )


def _overridden(state: native.State, call_state: CallState) -> native.State:
    """Return the state with an override applied; only the differences are copied to the native package."""
    storages, replaced = [], []
    for address, account in call_state.changes.items():
        slots = _diff(account.storage, call_state.accounts.get(address, EMPTY).storage)
        replaced.append(slots is None)
        storages.append(account.storage if slots is None else slots)
    return state.overridden(*_packed(call_state.changes, storages), replaced)


def _diff(storage: Mapping[int, int], base: Mapping[int, int]) -> Mapping[int, int] | None:
    """Return the slots that an override changes, or `None` if the override replaces the whole storage."""
    if storage is base:
        return {}
    if type(storage) is not ChainMap:
        return None
    above, below = storage.maps
    if below is base:
        return above
    slots = _diff(below, base)
    return None if slots is None else {**slots, **above}


def _packed(
    accounts: Mapping[bytes, Account], storages: Sequence[Mapping[int, int]]
) -> tuple[bytes, bytes, list[native.Code]]:
    """Return accounts and their storage in the package's binary layout, and the codes of the accounts."""
    numbers: dict[bytes, int] = {}
    if any(len(address) != 20 for address in accounts):
        raise ValueError("expected addresses of 20 bytes")
    packed = [
        address
        + account.balance.to_bytes(32)
        + account.nonce.to_bytes(8)
        + numbers.setdefault(account.code, len(numbers)).to_bytes(4)
        for address, account in accounts.items()
    ]
    slots = [
        index.to_bytes(4) + slot.to_bytes(32) + value.to_bytes(32)
        for index, storage in enumerate(storages)
        for slot, value in storage.items()
    ]
    codes = [_kept_code(code) if len(code) <= KEPT_CODE else native.Code(code) for code in numbers]
    return b"".join(packed), b"".join(slots), codes


@lru_cache(maxsize=1024)
def _kept_code(code: bytes) -> native.Code:
    return native.Code(code)


def _authorizations(entries: Sequence[Authorization]) -> list[tuple[bytes, bytes, int, int, bytes, bytes]]:
    return [
        (
            entry.chain_id.to_bytes(32), entry.address, entry.nonce, entry.y_parity, entry.r.to_bytes(32),
            entry.s.to_bytes(32),
        )
        for entry in entries
    ]  # fmt: skip
