"""The native engine: revm in this process, with the rules of every fork. Requires the package `feemodel-native`.

The engine releases the global interpreter lock while it executes, so calls in several threads run in parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from feemodel._extras import has_native, install_command
from feemodel.checks import UINT64_MAX, UINT256_MAX
from feemodel.errors import EngineFailed, ExecutionFailed, FeeModelError, InvalidInput, LimitExceeded
from feemodel.ethereum._hashes import Authorization
from feemodel.execution._engines import blob_cost, check_fork, check_inputs
from feemodel.execution._fields import MAX_GAS
from feemodel.execution._limits import Limits, too_much_gas, too_much_time
from feemodel.execution._message import Message
from feemodel.execution._outcome import Outcome, Status
from feemodel.execution._search import REFUSED, Frame, GasEstimate, Place, Search, Unproven
from feemodel.execution._state import Account, CallState, blob_base_fee

if TYPE_CHECKING or has_native():  # see `feemodel.execution.engine_named`
    import feemodel_native as native

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
_Answer = tuple[int, int, int, int, bytes, int, str]  # ending, gas used, refund, floor, output, detail, fault


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
    seconds : time limit for an execution or a search, checked at every call and creation [s].

    Raises `InvalidInput` if the installed `feemodel-native` does not have the required version.

    >>> from feemodel.execution._state import CallState
    >>> Native().execute(CallState(accounts={}), Message(to=bytes(20)), 21_000).gas_used
    21000
    """

    name, limits = "native", Limits()

    def __init__(self, seconds: float | None = None) -> None:
        installed = native.version()[0]
        if installed != VERSION:
            reason = f"expected feemodel-native {VERSION}: {install_command('feemodel_native')}"
            raise InvalidInput("engine", reason, f"feemodel-native {installed}")
        self._seconds = seconds
        self._base: tuple[CallState, native.State, native.Block] | None = None

    def execute(
        self,
        call_state: CallState,
        message: Message,
        gas_limit: int,
        *,
        inline_gas: int | None = None,
        stop: native.Stop | None = None,
    ) -> Outcome:
        """Return the outcome of a message, see `trace`."""
        return self.trace(call_state, message, gas_limit, inline_gas=inline_gas, stop=stop).outcome

    def trace(
        self,
        call_state: CallState,
        message: Message,
        gas_limit: int,
        *,
        frames: bool = False,
        inline_gas: int | None = None,
        stop: native.Stop | None = None,
    ) -> Traced:
        """Return the outcome of a message, the range of gas limits for which it is proven, and on request the frames.

        Parameters
        ----------
        call_state, message, gas_limit : the state, the message that is executed on it, and its gas limit [gas].
        frames : whether to record how each frame ends.
        inline_gas : gas for an execution, and for all executions of a search together; `None` for no limit [gas]. If
            a gas limit exceeds it, the execution runs with `inline_gas`, and its trace must prove that the full limit
            gives the same outcome.
        stop : a `feemodel_native.Stop`; after another thread calls its method `set`, the execution ends.

        Raises `LimitExceeded` if the execution takes longer than the engine's time limit or is stopped, and `Unproven`
        if `inline_gas` is not enough to prove the outcome.
        """
        given, is_whole = gas_limit, inline_gas is None or gas_limit <= inline_gas
        if not is_whole:
            given = inline_gas or 0
            if message.pays and message.gas_price and call_state.account(message.sender).code:
                raise Unproven("the sender's code may spend the rest of the sender's balance")
        asked = {"gas_limit": given, "seconds": self._seconds, "frames": frames, "stop": stop}
        answer, *proven, ends = self._ask(native.trace, call_state, message, given, asked)
        traced = Traced(_outcome(answer), frames=tuple(_frame(*end) for end in ends))
        # With less gas the sender prepays less: nothing is proven if its balance could then overflow.
        if call_state.account(message.sender).balance <= UINT256_MAX // 2:
            traced = traced._replace(minimum=proven[0], maximum=proven[1], single_frame=proven[2])
        if not is_whole and not (traced.oblivious and traced.outcome.status in (Status.SUCCESS, Status.REVERT)):
            raise Unproven(f"an execution with {given:,} gas does not prove the outcome with {gas_limit:,} gas")
        return traced

    def search(
        self,
        call_state: CallState,
        message: Message,
        search: Search,
        *,
        inline_gas: int | None = None,
        stop: native.Stop | None = None,
    ) -> GasEstimate | Outcome:
        """Return the gas limit that a message needs, see `feemodel.execution._search.search_message` and `trace`."""
        limits = search.limits
        asked = {
            "rules": search.rules.name, "upper": search.upper, "most": int(min(search.max_gas, MAX_GAS)),
            "tolerance": search.tolerance, "transfer": search.transfer, "total_gas": limits.total_gas,
            "seconds": limits.seconds, "left": self._seconds, "inline_gas": inline_gas, "stop": stop,
            "proves": call_state.account(message.sender).balance <= UINT256_MAX // 2,
            "sender_acts": search.sender_has_code and bool(message.gas_price),
        }  # fmt: skip
        gas_limit, answer, executed, proven, _, intact = self._ask(native.search, call_state, message, 0, asked, limits)
        if gas_limit is None or answer is None:
            return REFUSED if answer is None else _outcome(answer)
        used, refund, floor = answer[1:4]
        found = GasEstimate(gas_limit, max(used - refund, floor), executed, self.name, proven)
        return found if intact is None else found._replace(**_intact(*intact))

    def _ask(
        self, function: Callable[..., Any], call_state: CallState, message: Message, gas_limit: int,
        asked: dict[str, Any], limits: Limits = limits,
    ) -> Any:  # fmt: skip
        """Return the answer of a function of `feemodel_native`, or raise its error."""
        try:
            return function(*self._converted(call_state, message), **asked)
        except native.MissingHash as error:
            reason = "expected the hash of this block, which BLOCKHASH requests"
            raise InvalidInput("block.hashes", reason, error.args[0]) from None
        except native.TooLarge:
            raise LimitExceeded(f"the execution needs more than {MAX_MEMORY // 2**20:,} MiB of memory") from None
        except native.BalanceOverflow as error:  # a balance overflows only after a state override
            raise ExecutionFailed(str(error)) from None
        except native.Unproven as error:
            raise Unproven(str(error)) from None
        except native.SpentGas:
            raise too_much_gas(limits.total_gas) from None
        except (native.Exceeded, native.SpentTime) as error:
            seconds = self._seconds if isinstance(error, native.Exceeded) else limits.seconds
            raise too_much_time(seconds or 0.0) from None
        except native.NativeError as error:
            raise EngineFailed(f"the native engine failed: {error}") from None
        except FeeModelError:
            raise
        except (AttributeError, TypeError, ValueError, OverflowError) as error:
            check_inputs(call_state, message, gas_limit)
            raise InvalidInput("message", str(error), message) from None

    def _converted(
        self, call_state: CallState, message: Message
    ) -> tuple[native.State, native.Block, native.Message]:  # fmt: skip
        """Return state, block and message as objects of the package."""
        base = self._base
        if base is None or (call_state is not base[0] and not call_state.same_base(base[0])):
            base = self._base = call_state, _state(call_state), _block(call_state)
        state = _overridden(base[1], call_state) if call_state.overrides else base[1]
        block = base[2] if call_state.block is base[0].block else _block(call_state)
        if message.authorizations or message.access_list:
            check_fork(call_state, message)
        given = native.Message(
            sender=message.sender, to=message.to, value=message.value.to_bytes(32), data=message.data,
            gas_price=message.gas_price.to_bytes(32), base_fee=message.base_fee.to_bytes(32),
            access_list=message.access_list, blob_hashes=message.blob_hashes, pays=message.pays,
            authorizations=_authorizations(message.authorizations) if message.authorizations else [],
            blob_cost=(blob_cost(call_state, message) if message.blob_hashes else 0).to_bytes(32),
        )  # fmt: skip
        return state, block, given


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
    """Return the state with an override applied; only the given slots are copied to the native package."""
    overrides = call_state.overrides
    accounts = {address: call_state.account(address) for address in overrides}
    slots = [override.slots for override in overrides.values()]
    return state.overridden(*_packed(accounts, slots), [one.state is not None for one in overrides.values()])


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
