"""The native engine: revm in this process, with the rules of every fork. Requires the package `feemodel-native`.

The engine releases the global interpreter lock while it executes, so calls in several threads run in parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from feemodel._extras import has_native, install_command
from feemodel.checks import UINT64_MAX
from feemodel.errors import EngineFailed, ExecutionFailed, FeeModelError, InvalidInput
from feemodel.ethereum._hashes import Authorization
from feemodel.execution._engines import check_inputs
from feemodel.execution._fields import MAX_GAS
from feemodel.execution._limits import Limits, too_much_gas, too_much_time
from feemodel.execution._message import Message
from feemodel.execution._outcome import Outcome, Status
from feemodel.execution._search import Frame, GasEstimate, Place, Search, Unproven
from feemodel.execution._state import Account, CallState, blob_base_fee

if TYPE_CHECKING or has_native():  # see `feemodel.execution.engine_named`
    import feemodel_native as native

VERSION = "0.7.0"  # required version of the native package
KEPT_CODE = 24_576  # largest code that is cached [byte]: the maximum of deployed code, EIP-170

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

    def execute(self, call_state: CallState, message: Message, gas_limit: int, **options: Any) -> Outcome:
        """Return the outcome of a message; for the options see `trace`."""
        return self.trace(call_state, message, gas_limit, **options).outcome

    def trace(
        self,
        call_state: CallState,
        message: Message,
        gas_limit: int,
        *,
        frames: bool = False,
        inline_gas: int | None = None,
        seconds: float | None = None,
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
        seconds : time limit in place of the engine's [s].
        stop : a `feemodel_native.Stop`; after another thread calls its method `set`, the execution ends.

        Raises `LimitExceeded` if the execution takes longer than the engine's time limit or is stopped, and `Unproven`
        if `inline_gas` is not enough to prove the outcome.
        """
        asked = {"gas_limit": gas_limit, "seconds": seconds or self._seconds, "inline_gas": inline_gas, "stop": stop}
        answer, minimum, maximum, single_frame, ends = self._ask(
            native.trace, call_state, message, asked | {"frames": frames}
        )
        found = (Frame(depth, address, Status(status), *rest) for depth, address, status, *rest in ends)
        return Traced(_outcome(answer), minimum, maximum, single_frame, tuple(found))

    def search(
        self,
        call_state: CallState,
        message: Message,
        search: Search,
        *,
        inline_gas: int | None = None,
        seconds: float | None = None,
        stop: native.Stop | None = None,
    ) -> GasEstimate | Outcome:
        """Return the gas limit that a message needs by `search.rules`; for the options see `trace`."""
        limits = search.limits
        asked = {
            "rules": search.rules, "upper": search.upper, "most": int(min(search.max_gas, MAX_GAS)),
            "tolerance": search.tolerance, "transfer": search.transfer, "total_gas": limits.total_gas,
            "seconds": limits.seconds, "left": seconds or self._seconds, "inline_gas": inline_gas, "stop": stop,
        }  # fmt: skip
        gas_limit, answer, executed, proven, intact = self._ask(native.search, call_state, message, asked)
        if gas_limit is None:
            return _outcome(answer)
        used, refund, floor = answer[1:4]
        status, place = (None, None) if intact is None else intact
        return GasEstimate(
            gas_limit, max(used - refund, floor), executed, self.name, proven, status, place and Place(*place)
        )

    def _ask(self, function: Callable[..., Any], call_state: CallState, message: Message, asked: dict[str, Any]) -> Any:
        """Return the answer of a function of `feemodel_native`, or raise its error."""
        try:
            return function(*self._ready(call_state, message), **asked)
        except native.MissingHash as error:
            reason = "expected the hash of this block, which BLOCKHASH requests"
            raise InvalidInput("block.hashes", reason, error.args[0]) from None
        except native.BalanceOverflow as error:  # a balance overflows only after a state override
            raise ExecutionFailed(str(error)) from None
        except native.Unproven as error:
            raise Unproven(str(error)) from None
        except native.SpentGas:
            raise too_much_gas(asked["total_gas"]) from None
        except (native.Exceeded, native.SpentTime) as error:
            left = asked.get("left", asked["seconds"]) if isinstance(error, native.Exceeded) else asked["seconds"]
            raise too_much_time(left or 0.0) from None
        except native.NativeError as error:
            raise EngineFailed(f"the native engine failed: {error}") from None
        except FeeModelError:
            raise
        except (AttributeError, TypeError, ValueError, OverflowError) as error:
            check_inputs(call_state, message, asked.get("gas_limit", 0))
            raise InvalidInput("message", str(error), message) from None

    def _ready(self, call_state: CallState, message: Message) -> tuple[native.State, native.Block, native.Message]:
        """Return state, block and message as objects of the package."""
        base = self._base
        if base is None or (call_state is not base[0] and not call_state.same_base(base[0])):
            base = self._base = call_state, _state(call_state), _block(call_state)
        state = _overridden(base[1], call_state) if call_state.overrides else base[1]
        block = base[2] if call_state.block is base[0].block else _block(call_state)
        if message.authorizations and not call_state.fork.authorizations:
            check_inputs(call_state, message, 0)
        given = native.Message(
            sender=message.sender, to=message.to, value=message.value.to_bytes(32), data=message.data,
            gas_price=message.gas_price, base_fee=message.base_fee,
            access_list=message.access_list, blob_hashes=message.blob_hashes, pays=message.pays,
            authorizations=_authorizations(message.authorizations) if message.authorizations else [],
        )  # fmt: skip
        return state, block, given


def _outcome(answer: tuple[str, int, int, int, bytes, str]) -> Outcome:
    return Outcome(Status(answer[0]), *answer[1:])


def _state(call_state: CallState) -> native.State:
    accounts = [
        _converted(address, account, account.storage, replaced=True)
        for address, account in (call_state.accounts if call_state.base is None else call_state.base).items()
        if account.balance or account.nonce or account.code or account.storage  # EIP-161 removed empty accounts
    ]
    return native.State(call_state.fork.name, accounts, list(call_state.block.hashes.items()))


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
        blob_price=price,
    )


def _overridden(state: native.State, call_state: CallState) -> native.State:
    """Return the state with an override applied; only the given slots are copied to the native package."""
    return state.overridden(
        [
            _converted(address, call_state.account(address), override.slots, replaced=override.state is not None)
            for address, override in call_state.overrides.items()
        ]
    )


def _converted(address: bytes, account: Account, slots: Mapping[int, int], *, replaced: bool) -> tuple[Any, ...]:
    """Return an account in the package's form; `slots` are its whole storage if `replaced`, else single changes."""
    code = _kept_code(account.code) if len(account.code) <= KEPT_CODE else native.Code(account.code)
    words = [(slot.to_bytes(32), value.to_bytes(32)) for slot, value in slots.items()]
    return address, account.balance.to_bytes(32), account.nonce, code, words, replaced


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
