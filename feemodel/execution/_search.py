"""Search for the gas limit of a message: types for query and result, and a plain bisection.

The native engine searches as geth or Besu do in `eth_estimateGas`, see `native/src/gas_search.rs`: one execution proves
the outcome of other gas limits. The reference engine bisects, and executes every gas limit that it tries.
"""

from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

from feemodel.errors import FeeModelError, InvalidInput
from feemodel.ethereum.fee_market import TRANSACTION_GAS
from feemodel.execution._limits import Limits, too_much_gas, too_much_time
from feemodel.execution._message import Message
from feemodel.execution._outcome import Outcome, Status

TOLERANCE = 0.015  # default of both nodes


class Search(NamedTuple):
    """Bounds and limits of a search for the gas limit of a message."""

    rules: str  #: "geth", "besu" or "intact"
    upper: int  #: upper bound of the search [gas]
    max_gas: float  #: largest gas limit that the node would execute, at least `upper` [gas]
    tolerance: float  #: maximum of (result − smallest sufficient gas limit) / result, see `estimate_gas` [1]
    transfer: bool  #: whether the message may be a plain transfer
    limits: Limits  #: limits on the search; only `total_gas` and `seconds` are used


class Frame(NamedTuple):
    """How a frame (call or contract creation) of an execution ended."""

    depth: int  #: number of enclosing frames
    address: bytes  #: account whose code ran, or that was created; zero if a creation did not start
    status: Status  #: success, revert (also if a call did not start), or halt (if exceptional)
    output_hash: bytes  #: Keccak-256 of the returned data
    opcode: str = ""  #: first opcode that reads the gas left or the balance that pays for gas; empty if none


class Place(NamedTuple):
    """The frame, and the opcode in it, that prevent a proof that every frame ends as with the upper bound."""

    frame: int  #: position of the frame, in the order in which frames begin; the outermost is 0
    address: bytes  #: account whose code runs in the frame
    opcode: str  #: the opcode that reads the gas left, or a balance that the gas limit reduces


class GasEstimate(NamedTuple):
    """Result of a search for a gas limit: the limit and statistics of the search."""

    gas_limit: int
    gas_used: int  #: gas used at the upper bound, as in a receipt: after refunds, at least the calldata floor [gas]
    executions: int  #: number of gas limits with which the call was executed
    engine: str
    proven: int = 0  #: number of gas limits that were not tried, because an earlier execution proved their outcome
    intact: str | None = None  #: "proven", "searched" or "not possible" for `search="intact"`, see `estimate_gas`
    prevented_by: Place | None = None  #: what prevents a proof; `None` if proven


class Unproven(FeeModelError):
    """Raised if an execution with only `inline_gas` cannot prove the outcome with the full gas limit."""


def bisected(execute: Callable[[Message, int], Outcome], message: Message, search: Search) -> GasEstimate | Outcome:
    """Return the gas limit that a message needs, within the tolerance, after executing every limit that is tried.

    If the message fails with the upper bound, returns the outcome of this execution.

    Raises `LimitExceeded` if the executions together take more gas or time than the search's limits allow, and
    `InvalidInput` for "intact": only the native engine records frames.

    >>> search = Search("besu", upper=100_000, max_gas=100_000, tolerance=0, transfer=True, limits=Limits())
    >>> bisected(lambda *_: Outcome(Status.SUCCESS, 21_000), Message(to=bytes(20)), search).gas_used
    21000
    """
    limits, began, executed, spent = search.limits, monotonic(), 0, 0
    if search.rules == "intact":
        raise InvalidInput("search", "intact needs the native engine, see docs/install.md", search.rules)

    def outcome_at(gas_limit: int) -> Outcome:
        nonlocal executed, spent
        if spent > limits.total_gas:
            raise too_much_gas(limits.total_gas)
        if monotonic() - began > limits.seconds:
            raise too_much_time(limits.seconds)
        outcome = execute(message, gas_limit)
        executed, spent = executed + 1, spent + outcome.gas_used
        return outcome

    if search.transfer and search.max_gas >= TRANSACTION_GAS and (outcome := outcome_at(TRANSACTION_GAS)).succeeded:
        return GasEstimate(TRANSACTION_GAS, outcome.charged, executed, "reference")
    outcome = outcome_at(search.upper)
    if not outcome.succeeded:
        return outcome
    low, high = outcome.charged - 1, search.upper
    while low + 1 < high and not (high - low) / high < search.tolerance:
        middle = min((low + high) // 2, 2 * low)
        if outcome_at(middle).succeeded:
            high = middle
        else:
            low = middle
    return GasEstimate(high, outcome.charged, executed, "reference")
