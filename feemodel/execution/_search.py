"""Search for the gas limit of a message, as geth and Besu do in `eth_estimateGas`.

The native engine implements this search in Rust, where one execution also proves the outcome of other gas limits. The
reference engine uses this module, which executes every gas limit.

    1. Execute a plain transfer with 21,000 gas. If the transfer succeeds, return 21,000.
    2. Execute the message with the upper bound as gas limit. If the execution with the upper bound fails, return
       its outcome.
    3. Set low = used − 1 and high = upper bound. Execute the message with the gas limit (used + 2,300) · 64 / 63. If
       the execution succeeds, set high to the executed limit; otherwise set low to the executed limit. The 2,300 gas
       are the stipend of a call, and the factor 64 / 63 covers the 1/64 of the gas that a caller keeps during a call.
    4. Bisect the range from low to high until low and high are adjacent, or (high − low) / high is below the tolerance.
       Return high.

geth and Besu differ in the definition of `used` and in three details, see the constants `GETH` and `BESU`.

Source: ethereum/go-ethereum at v1.17.10, eth/gasestimator; hyperledger/besu at 3fd224e (2026-03-29),
AbstractEstimateGas and EthEstimateGas.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import monotonic
from typing import NamedTuple

from feemodel.errors import FeeModelError, InvalidInput
from feemodel.ethereum.fee_market import TRANSACTION_GAS
from feemodel.execution._limits import Limits, too_much_gas, too_much_time
from feemodel.execution._message import Message
from feemodel.execution._outcome import Outcome, Status

TOLERANCE = 0.015  # default of both nodes
CALL_STIPEND = 2_300
REFUSED = Outcome(Status.REFUSED, gas_used=0)  # outcome for a gas limit with which the node would not execute the call


@dataclass(frozen=True, slots=True)
class SearchRules:
    """Rules of a node's search for the gas limit."""

    name: str
    used: Callable[[Outcome], int]  #: returns the gas used in an outcome; the search starts with low = gas used − 1
    optimistic: Callable[[Outcome], int]  #: returns the gas limit that is tried first after the upper bound [gas]
    always_optimistic: bool  #: whether the limit `optimistic` is tried even if it is not below the upper bound
    skewed: bool  #: whether bisection never tries a limit above 2 · low
    transfer_to_code: bool  #: whether a call without data to an account with code is also tried with 21,000 gas


GETH = SearchRules(
    name="geth",
    used=lambda outcome: outcome.charged,
    optimistic=lambda outcome: (outcome.peak + CALL_STIPEND) * 64 // 63,
    always_optimistic=False,
    skewed=True,
    transfer_to_code=False,
)
BESU = SearchRules(
    name="besu",
    used=lambda outcome: outcome.gas_used,
    # Besu computes both 64 / 63 and the product of the gas and 64 / 63 as doubles.
    optimistic=lambda outcome: int((outcome.gas_used + CALL_STIPEND) * (64.0 / 63.0)),
    always_optimistic=True,
    skewed=False,
    transfer_to_code=True,
)
#: The smallest gas limit with which every frame ends as with the upper bound; `used` and `optimistic` are not used.
INTACT = replace(BESU, name="intact")


class Search(NamedTuple):
    """Bounds and limits of a search for the gas limit of a message."""

    rules: SearchRules
    upper: int  #: upper bound of the search [gas]
    max_gas: float  #: largest gas limit that the node would execute; negative if it would execute no call [gas]
    tolerance: float  #: maximum of (result − smallest sufficient gas limit) / result, see `estimate_gas` [1]
    transfer: bool  #: whether the message may be a plain transfer
    limits: Limits  #: limits on the search; only `total_gas` and `seconds` are used
    sender_has_code: bool = False  #: whether the sender has code, which may spend the balance that pays for gas


class Frame(NamedTuple):
    """How a frame, a call or contract creation of an execution, ended."""

    depth: int  #: number of frames around it
    address: bytes  #: account whose code ran, or that was created; zero if a creation did not start
    status: Status  #: success, revert (also of a call that did not start), or halt for every exceptional halt
    output_hash: bytes  #: Keccak-256 of the returned data
    opcode: str = ""  #: first opcode in it that reads the gas left or the balance that pays for it; empty for none


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
    prevented_by: Place | None = None  #: the frame, its address and opcode that prevents a proof; `None` if proven


class Unproven(FeeModelError):
    """Raised if an execution with only `inline_gas` cannot prove the outcome with the full gas limit."""


def search_message(
    execute: Callable[[Message, int], Outcome], message: Message, search: Search
) -> GasEstimate | Outcome:
    """Return the gas limit that a message needs.

    If the message fails with the upper bound, returns the outcome of this execution.

    Raises `LimitExceeded` if the executions together take more gas or time than the search's limits allow, and
    `InvalidInput` for the rules `INTACT`: only the native engine records frames.

    >>> search = Search(BESU, upper=100_000, max_gas=100_000, tolerance=0, transfer=True, limits=Limits())
    >>> search_message(lambda *_: Outcome(Status.SUCCESS, 21_000), Message(to=bytes(20)), search).gas_used
    21000
    """
    limits, rules = search.limits, search.rules
    if rules is INTACT:
        raise InvalidInput("search", "expected the engine 'native', which records every frame", rules.name)
    began, executed, spent = monotonic(), 0, 0

    def outcome_at(gas_limit: int) -> Outcome:
        nonlocal executed, spent
        if gas_limit > search.max_gas:
            return REFUSED
        if spent > limits.total_gas:
            raise too_much_gas(limits.total_gas)
        if monotonic() - began > limits.seconds:
            raise too_much_time(limits.seconds)
        outcome = execute(message, gas_limit)
        executed, spent = executed + 1, spent + outcome.gas_used
        return outcome

    if search.transfer and (outcome := outcome_at(TRANSACTION_GAS)).succeeded:
        return GasEstimate(TRANSACTION_GAS, outcome.charged, executed, "reference")
    outcome = outcome_at(search.upper)
    if not outcome.succeeded:
        return outcome
    low, high = rules.used(outcome) - 1, search.upper
    optimistic = rules.optimistic(outcome)
    if rules.always_optimistic or optimistic < high:
        if outcome_at(optimistic).succeeded:
            high = optimistic
        else:
            low = optimistic
    while low + 1 < high and not (high - low) / high < search.tolerance:
        middle = (low + high) // 2
        if rules.skewed:
            middle = min(middle, 2 * low)
        if outcome_at(middle).succeeded:
            high = middle
        else:
            low = middle
    return GasEstimate(high, outcome.charged, executed, "reference")
