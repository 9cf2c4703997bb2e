"""Gas estimates: the message that a node makes of a call, an engine, a search."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from feemodel.checks import real_scalar
from feemodel.errors import ExecutionFailed, InvalidInput
from feemodel.ethereum.call import Call
from feemodel.ethereum.transaction import ZERO_ADDRESS
from feemodel.execution.clients import Geth, Node, check_rules, node_named, payable_gas
from feemodel.execution.engines import Engine, Execute, engine_of
from feemodel.execution.failures import failure, not_executed
from feemodel.execution.gas_parts import FLOOR_WORDS, too_little_gas
from feemodel.execution.limits import DEFAULT_LIMITS, Limits
from feemodel.execution.message import Request, parse_request
from feemodel.execution.outcome import Outcome, Status
from feemodel.execution.search import TOLERANCE, Search
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
    node, request, changed = node_named(search), parse_request(call), call_state.overridden(overrides)
    return estimated(node, request, changed, engine_of(engine), tolerance=check_tolerance(tolerance), limits=limits)


def estimated(
    node: Node, request: Request, call_state: CallState, engine: Engine, *, tolerance: float, limits: Limits
) -> GasEstimate:
    """The gas limit that a request needs, as `estimate_gas` finds it; the parameters are not checked.

    >>> from feemodel.execution.engines import engine_named
    >>> besu, request = node_named("besu"), parse_request({"to": "0x" + "22" * 20})
    >>> state = CallState(accounts={})
    >>> estimated(besu, request, state, engine_named("auto"), tolerance=0, limits=DEFAULT_LIMITS).gas_limit
    21000
    """
    estimate = _Estimate(node, request, call_state, tolerance, limits)
    return engine.run(call_state, estimate.found)


def execute_call(
    call: Request | Call | Mapping[str, Any],
    call_state: CallState,
    *,
    overrides: Mapping[Any, Any] | None = None,
    engine: str | Engine = "auto",
    limits: Limits = DEFAULT_LIMITS,
) -> bytes:
    """What a call returns, as geth's `eth_call` answers; parameters and errors as in `estimate_gas`.

    >>> echo = {"0x" + "22" * 20: {"code": "0x5f355f5260205ff3"}}
    >>> execute_call({"to": "0x" + "22" * 20, "data": "0x" + "07" * 32}, CallState(accounts={}), overrides=echo)[:2]
    b'\\x07\\x07'
    """
    node, request, changed = Geth(), parse_request(call), call_state.overridden(overrides)
    node.check_chain(request, changed)
    gas = limits.gas_cap if request.call.gas is None else min(request.call.gas, limits.gas_cap)
    try:
        message = node.admitted(request, changed, gas)
    except ExecutionFailed as error:
        raise not_executed(error, gas) from None
    outcome = engine_of(engine).run(changed, lambda execute: execute(message, gas))
    if outcome.status is Status.INTRINSIC:
        raise not_executed(too_little_gas(message, outcome, gas, changed.fork), gas)
    if not outcome.succeeded:
        raise failure(outcome, gas, estimating=False)
    return outcome.output


def check_tolerance(tolerance: float) -> float:
    """The tolerance of a search, from 0 to below 1; raises `InvalidInput`."""
    is_fine = isinstance(tolerance, float) and 0 <= tolerance < 1
    if not is_fine and not 0 <= real_scalar("tolerance", tolerance) < 1:
        raise InvalidInput("tolerance", "expected a number from 0 to below 1", tolerance)
    return tolerance


class _Estimate:
    """A call as a node makes it a message, executed with the limits that the node would execute it with.

    What takes too much is ended.
    """

    def __init__(self, node: Node, request: Request, call_state: CallState, tolerance: float, limits: Limits) -> None:
        self._node, self._request, self._call_state = node, request, call_state
        node.check_chain(request, call_state)
        self._upper = node.upper_bound(request, call_state, limits.gas_cap)
        try:
            self._message = message = node.message(request, call_state)
            check_rules(message, call_state)
        except ExecutionFailed as error:
            raise ExecutionFailed(node.refused(error.message, self._upper)) from None
        self._payable, cap = payable_gas(node, request, call_state), call_state.fork.max_transaction_gas
        most = self._payable if cap is None else min(cap, self._payable)  # of all limits [gas]
        is_transfer = message.to is not None and not message.data
        if is_transfer and not node.rules.transfer_to_code:
            is_transfer = not call_state.account(message.to or ZERO_ADDRESS).code
        self._search = Search(node.rules, self._upper, most, tolerance, is_transfer, limits)

    def found(self, execute: Execute) -> GasEstimate:
        """What the node's search finds with these executions; raises where the call fails at the upper bound."""
        found = execute.search(self._message, self._search)
        if found.gas_limit is None:
            raise self._failure(found.outcome)
        return GasEstimate(found.gas_limit, found.outcome.charged, found.executed, execute.engine, found.proven)

    def _failure(self, outcome: Outcome) -> ExecutionFailed:
        """The error for a call that fails at the upper bound."""
        if outcome.status is Status.REFUSED:
            return ExecutionFailed(self._refusal(self._upper))
        if outcome.status is Status.INTRINSIC and self._node.names_floor:
            error = too_little_gas(self._message, outcome, self._upper, self._call_state.fork)
            if error.message.startswith(FLOOR_WORDS):
                return ExecutionFailed(self._node.refused(error.message, self._upper))
        return failure(outcome, self._upper, estimating=True)

    def _refusal(self, gas_limit: int) -> str:
        """What a node says to a limit that is too large."""
        if gas_limit > self._payable:
            return self._node.refused(self._node.unpayable(self._request, self._call_state, gas_limit), gas_limit)
        return f"transaction gas limit too high (cap: {self._call_state.fork.max_transaction_gas}, tx: {gas_limit})"
