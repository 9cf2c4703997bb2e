"""Gas estimates: the message that a node makes of a call, an engine, a search."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from feemodel.checks import real_scalar
from feemodel.errors import ExecutionFailed, InvalidInput
from feemodel.ethereum.call import Call
from feemodel.execution.clients import Geth, Prepared, check_chain, node_named
from feemodel.execution.engines import Engine, Execute, engine_of
from feemodel.execution.failures import failure, not_executed
from feemodel.execution.forks import Fork
from feemodel.execution.gas_parts import too_little_gas
from feemodel.execution.limits import DEFAULT_LIMITS, Limits
from feemodel.execution.message import Message, Request, parse_request
from feemodel.execution.outcome import Outcome, Status
from feemodel.execution.search import TOLERANCE, Searched
from feemodel.execution.state import CallState
from feemodel.records import printed_as_table


@printed_as_table
class GasEstimate(NamedTuple):
    """A gas limit, and what finding it took."""

    gas_limit: int
    gas_used: int  #: at the upper bound, as a receipt reports it: after refunds, at least the calldata floor [gas]
    executions: int  #: of the limits that were tried
    engine: str
    proven: int = 0  #: limits that were not executed: the first execution proves how they end


def estimate_gas(
    call: Request | Call | Mapping[str, Any],
    call_state: CallState,
    *,
    overrides: Mapping[Any, Any] | None = None,
    search: str = "besu",
    tolerance: float = TOLERANCE,
    engine: str | Engine = "auto",
    limits: Limits = DEFAULT_LIMITS,
) -> GasEstimate:
    """The gas limit that a call needs on a state, as a node would estimate it.

    Parameters
    ----------
    call : a call object, or one already parsed.
    call_state : the accounts and the block that it runs on; unchanged afterwards.
    overrides : a state override for this call, see `feemodel.execution.state.parse_overrides`.
    search : whose search, "besu" or "geth", and with it that node's price, upper bound and words.
    tolerance : how far above the smallest limit the answer may lie, as a part of it; 0 is exact [1].
    engine : "auto", "native", "reference", or an object such as `EnginePool(...)`.
    limits : what the estimate may cost.

    Raises
    ------
    ExecutionFailed : the call reverts, halts, needs more gas than allowed, or cannot be paid for; with the code, the
        words and the data of a JSON-RPC error.
    LimitExceeded : the executions together took more gas or time than `limits` allows.
    InvalidInput : a call, override or option that cannot be read.

    >>> sender = "0x" + "11" * 20
    >>> fund = {sender: {"balance": 10**18}}
    >>> estimate_gas({"from": sender, "to": sender}, CallState(accounts={}), overrides=fund, engine="reference")
    GasEstimate(gas_limit=21000, gas_used=21000, executions=1, engine='reference', proven=0)
    """
    changed, checked = call_state.overridden(overrides), check_tolerance(tolerance)
    prepared = node_named(search).prepare(parse_request(call), changed, tolerance=checked, limits=limits)
    return gas_estimate(prepared, engine_of(engine))


def gas_estimate(prepared: Prepared, engine: Engine) -> GasEstimate:
    """Return the gas limit that a prepared call needs; raises as `estimate_gas`.

    >>> from feemodel.execution.engines import engine_named
    >>> request, state = parse_request({"to": "0x" + "22" * 20}), CallState(accounts={})
    >>> prepared = node_named("besu").prepare(request, state, tolerance=0, limits=DEFAULT_LIMITS)
    >>> gas_estimate(prepared, engine_named("auto")).gas_limit
    21000
    """

    def task(execute: Execute) -> tuple[Searched, str]:
        return execute.search(prepared.message, prepared.search), execute.engine

    found, name = engine.run(prepared.call_state, task)
    if found.gas_limit is None:
        raise prepared.failure(found.outcome)
    return GasEstimate(found.gas_limit, found.outcome.charged, found.executed, name, found.proven)


def execute_call(
    call: Request | Call | Mapping[str, Any],
    call_state: CallState,
    *,
    overrides: Mapping[Any, Any] | None = None,
    engine: str | Engine = "auto",
    limits: Limits = DEFAULT_LIMITS,
) -> bytes:
    """Return the data that a call returns, as geth's `eth_call` does; parameters and errors as in `estimate_gas`.

    >>> echo = {"0x" + "22" * 20: {"code": "0x5f355f5260205ff3"}}
    >>> execute_call({"to": "0x" + "22" * 20, "data": "0x" + "07" * 32}, CallState(accounts={}), overrides=echo)[:2]
    b'\\x07\\x07'
    """
    request, changed = parse_request(call), call_state.overridden(overrides)
    message, gas = prepare_call(request, changed, limits)
    return returned(message, engine_of(engine).run(changed, lambda execute: execute(message, gas)), gas, changed.fork)


def prepare_call(request: Request, call_state: CallState, limits: Limits) -> tuple[Message, int]:
    """Return the message of an `eth_call` and its gas limit [gas]; raises `ExecutionFailed` as geth refuses it."""
    node = Geth()
    check_chain(node, request.call, call_state)
    gas = limits.gas_cap if request.call.gas is None else min(request.call.gas, limits.gas_cap)
    try:
        return node.admitted(request, call_state, gas), gas
    except ExecutionFailed as error:
        raise not_executed(error, gas) from None


def returned(message: Message, outcome: Outcome, gas: int, fork: Fork) -> bytes:
    """Return the bytes that an execution returned; raises `ExecutionFailed` where it did not succeed.

    Parameters
    ----------
    message, outcome, gas, fork : the execution with this gas limit, by the rules of a fork.
    """
    if outcome.status is Status.INTRINSIC:
        raise not_executed(too_little_gas(message, outcome, gas, fork), gas)
    if not outcome.succeeded:
        raise failure(outcome, gas, estimating=False)
    return outcome.output


def check_tolerance(tolerance: float) -> float:
    """The tolerance of a search, from 0 to below 1; raises `InvalidInput`."""
    is_fine = isinstance(tolerance, float) and 0 <= tolerance < 1
    if not is_fine and not 0 <= real_scalar("tolerance", tolerance) < 1:
        raise InvalidInput("tolerance", "expected a number from 0 to below 1", tolerance)
    return tolerance
