"""Gas estimates: prepare a call as a node does, and search for its gas limit with an engine."""

from collections.abc import Mapping
from typing import Any

from feemodel.errors import InvalidInput
from feemodel.ethereum._call import parse_call
from feemodel.ethereum._transaction import Transaction
from feemodel.execution._clients import GETH_NODE, node_named
from feemodel.execution._engines import Engine, engine_of
from feemodel.execution._failures import failure, not_executed, too_little_gas
from feemodel.execution._forks import Fork
from feemodel.execution._limits import Limits
from feemodel.execution._message import Message
from feemodel.execution._outcome import Outcome, Status
from feemodel.execution._search import TOLERANCE, GasEstimate
from feemodel.execution._state import CallState
from feemodel.quantities import Quantity


def estimate_gas(
    call: Transaction | Mapping[str, Any],
    call_state: CallState,
    *,
    overrides: Mapping[Any, Any] | None = None,
    search: str = "besu",
    tolerance: float = TOLERANCE,
    engine: str | Engine = "auto",
    limits: Limits | None = None,
) -> GasEstimate:
    """Return the gas limit that a call needs on a state, as a node would estimate it.

    Parameters
    ----------
    call : a JSON-RPC call object, or a parsed call.
    call_state : the accounts and the block on which the call is executed; not modified.
    overrides : state override for this call, see `feemodel.execution.parse_overrides`.
    search : the node whose search, gas price, upper bound and error messages are used, "besu" or "geth"; or "intact"
        for the smallest gas limit with which every call and creation ends as with the upper bound: success, revert or
        halt, with the same output. A node's limit only makes the outermost call succeed. "intact" uses Besu's gas
        price, and needs the native engine.
    tolerance : maximum of (estimate − limit) / estimate, where `limit` is the smallest sufficient gas limit of at least
        the gas used with the upper bound. Like a node, the search assumes that less gas than that fails, so even with 0
        the estimate can exceed the smallest sufficient limit. For "intact", only a limit that is not proven has a
        tolerance [1].
    engine : "auto", "native", "reference", or an engine object.
    limits : limits on gas and time of all executions together; `None` for the engine's: 50,000,000 gas for an
        execution on the native engine, 1,000,000 on the reference engine.

    Returns
    -------
    GasEstimate : the gas limit [gas], the gas used, and the number of executions. For "intact", its `intact` says:

        * "proven": no frame changes from this limit to the upper bound, and one gas less changes a frame
        * "searched": no frame changes at this limit; smaller limits may exist, because the code reads gas
        * "not possible": one gas less than the upper bound already changes an output; with this limit, every frame has
          the same status

    Raises
    ------
    ExecutionFailed : the call reverts, halts, or needs more gas than allowed, or the sender cannot pay for the call.
        The error has the code, message and data of a JSON-RPC error.
    LimitExceeded : the executions together took more gas or time than `limits` allows.
    InvalidInput : the call, an override or an option is not valid.

    >>> sender = "0x" + "11" * 20
    >>> fund = {sender: {"balance": 10**18}}
    >>> estimate_gas({"from": sender, "to": sender}, CallState(accounts={}), overrides=fund).gas_limit
    21000
    """
    changed, checked, runner = call_state.overridden(overrides), check_tolerance(tolerance), engine_of(engine)
    parsed, most = call if isinstance(call, Transaction) else parse_call(call), limits or runner.limits
    message, asked = node_named(search).prepare(parsed, changed, tolerance=checked, limits=most)
    found = runner.search(changed, message, asked)
    if isinstance(found, Outcome):
        raise failure(found, asked.upper, estimating=True)
    return found


def execute_call(
    call: Transaction | Mapping[str, Any],
    call_state: CallState,
    *,
    overrides: Mapping[Any, Any] | None = None,
    engine: str | Engine = "auto",
    limits: Limits | None = None,
) -> bytes:
    """Return the data that a call returns, as geth's `eth_call` does.

    Parameters
    ----------
    call : a JSON-RPC call object, or a parsed call.
    call_state : the accounts and the block on which the call is executed; not modified.
    overrides : state override for this call, see `feemodel.execution.parse_overrides`.
    engine : "auto", "native", "reference", or an engine object.
    limits : `limits.gas_cap` is the maximum gas limit, and the gas limit of a call without `gas` [gas]; `None` for the
        engine's limits, as in `estimate_gas`.

    Returns
    -------
    bytes : the returned data; for a contract creation, the code of the contract.

    Raises
    ------
    ExecutionFailed : the call reverts, halts, or geth would refuse it. The error has the code, message and data of a
        JSON-RPC error.
    LimitExceeded : the execution took more time than the engine allows.
    InvalidInput : the call, an override or an option is not valid.

    >>> echo = {"0x" + "22" * 20: {"code": "0x5f355f5260205ff3"}}
    >>> execute_call({"to": "0x" + "22" * 20, "data": "0x" + "07" * 32}, CallState(accounts={}), overrides=echo)[:2]
    b'\\x07\\x07'
    """
    parsed = call if isinstance(call, Transaction) else parse_call(call)
    changed, runner = call_state.overridden(overrides), engine_of(engine)
    message, gas = GETH_NODE.call(parsed, changed, limits or runner.limits)
    return returned(message, runner.execute(changed, message, gas), gas, changed.fork)


def returned(message: Message, outcome: Outcome, gas: int, fork: Fork) -> bytes:
    """Return the bytes that an execution returned; raises `ExecutionFailed` if it did not succeed.

    Parameters
    ----------
    message, outcome : the executed message and its outcome.
    gas : the gas limit of the execution [gas].
    fork : the rules of the execution.
    """
    if outcome.status is Status.INTRINSIC:
        raise not_executed(too_little_gas(message, outcome, gas, fork), gas)
    if not outcome.succeeded:
        raise failure(outcome, gas, estimating=False)
    return outcome.output


def check_tolerance(tolerance: float) -> float:
    """Return the tolerance of a search; raises `InvalidInput` outside of 0 ≤ tolerance < 1."""
    is_fine = isinstance(tolerance, float) and 0 <= tolerance < 1
    if not is_fine and not 0 <= Quantity("1", double=True).check_one("tolerance", tolerance) < 1:
        raise InvalidInput("tolerance", "expected a number of at least 0 and below 1", tolerance)
    return tolerance
