"""Search for the gas limit of a message, as geth and Besu do in `eth_estimateGas`.

The native engine implements the search of this module in Rust. Engines that execute in Python use this module.

    1. Execute a plain transfer with 21,000 gas. If the transfer succeeds, return 21,000.
    2. Execute the message with the upper bound as gas limit. If the execution with the upper bound fails, return
       `None`.
    3. Set low = used − 1 and high = upper bound. Execute the message with the gas limit (used + 2,300) · 64 / 63. If
       the execution succeeds, set high to the executed limit; otherwise set low to the executed limit. The 2,300 gas
       are the stipend of a call, and the factor 64 / 63 covers the 1/64 of the gas that a caller keeps during a call.
    4. Bisect the range from low to high until low and high are adjacent, or (high − low) / high is below the tolerance.
       Return high.

geth and Besu differ in the definition of `used` and in three details, see the constants `GETH` and `BESU`.

The search traces the execution with the upper bound. With a gas limit other than the upper bound, the search executes
the message only if no earlier trace proves the outcome (see `feemodel.execution._outcome.Traced`). Because each outcome
is executed or proven, the search returns the same gas limit as the node. The first trace proves the outcome for a range
of gas limits. If the search needs a gas limit below the proven range, a second execution is traced, with the largest
gas limit below the proven range. The second trace often proves the outcome for all gas limits below the proven range.
For 768 mainnet calls with tolerance 0, the traces reduce the mean number of executions per call from 4.5 to 2.6.

Source: ethereum/go-ethereum at v1.17.10, eth/gasestimator; hyperledger/besu at 3fd224e (2026-03-29),
AbstractEstimateGas and EthEstimateGas.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from feemodel.errors import FeeModelError
from feemodel.ethereum.fee_market import TRANSACTION_GAS
from feemodel.execution._limits import Budget, Limits
from feemodel.execution._message import Message
from feemodel.execution._outcome import Outcome, Status, Traced

if TYPE_CHECKING:
    from feemodel.execution._engines import Execute

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
SEARCHES = {rules.name: rules for rules in (GETH, BESU)}


class Search(NamedTuple):
    """Bounds and limits of a search for the gas limit of a message."""

    rules: SearchRules
    upper: int  #: upper bound of the search [gas]
    max_gas: float  #: largest gas limit that the node would execute; negative if it would execute no call [gas]
    tolerance: float  #: see `search_gas` [1]
    transfer: bool  #: whether the message may be a plain transfer
    limits: Limits  #: limits on the search; only `total_gas` and `seconds` are used
    inline_gas: int | None = None  #: gas for all executions together, see `Unproven` [gas]
    sender_has_code: bool = False  #: whether the sender has code, which may spend the balance that pays for gas


class Searched(NamedTuple):
    """Result of a search: a gas limit, or `None` if the call fails at the upper bound."""

    gas_limit: int | None
    outcome: Outcome  #: outcome of the execution with the largest gas limit of the search, or of the plain transfer
    executed: int  #: number of gas limits with which the message was executed
    proven: int  #: number of gas limits whose outcome was proven by a trace
    spent: int = 0  #: gas used by all executions [gas]


class Unproven(FeeModelError):
    """Raised if an execution with only `inline_gas` cannot prove the outcome with the full gas limit."""


def search_message(execute: "Execute", message: Message, search: Search) -> Searched:
    """Return the gas limit that a message needs.

    Raises `LimitExceeded` if the executions together take more gas or time than the search's limits allow.
    """
    budget = Budget(search.limits)

    def executed(gas_limit: int) -> Outcome:
        if gas_limit > search.max_gas:
            return REFUSED
        budget.check()
        outcome = execute(message, gas_limit)
        budget.spent += outcome.gas_used
        return outcome

    def traced(gas_limit: int) -> Traced:
        if gas_limit > search.max_gas:
            return Traced(REFUSED)
        budget.check()
        found = execute.trace(message, gas_limit)
        budget.spent += found.outcome.gas_used
        return found

    found = search_gas(
        executed, upper=search.upper, rules=search.rules, tolerance=search.tolerance, transfer=search.transfer,
        trace=traced, max_gas=search.max_gas,
    )  # fmt: skip
    return found._replace(spent=budget.spent)


def search_gas(
    execute: Callable[[int], Outcome],
    *,
    upper: int,
    rules: SearchRules = BESU,
    tolerance: float = TOLERANCE,
    transfer: bool = False,
    trace: Callable[[int], Traced] | None = None,
    max_gas: float = inf,
) -> Searched:
    """Return the gas limit that a call needs.

    Parameters
    ----------
    execute : function that executes the call with a gas limit, discards the state changes and returns the outcome.
    upper : upper bound of the search [gas].
    rules : rules by which the node searches for the gas limit.
    tolerance : maximum of (result − smallest sufficient gas limit) / result [1]. With a tolerance of 0, the result is
        the smallest sufficient gas limit.
    transfer : whether the call may be a plain transfer.
    trace : function that executes the call with a gas limit and returns a `Traced` outcome; if `None`, no execution is
        traced.
    max_gas : largest gas limit that the node would execute, given the node's caps and the sender's balance [gas].
        Traces prove nothing about gas limits above `max_gas`.

    Returns
    -------
    Searched : the gas limit [gas] (`None` if the call fails at the upper bound), and the number of executions.

    >>> from feemodel.execution._outcome import UNBOUNDED, Status
    >>> def needs_50_962(limit):
    ...     return Outcome(Status.SUCCESS if limit >= 50_962 else Status.OUT_OF_GAS, min(limit, 50_962))
    >>> [search_gas(needs_50_962, upper=16_777_216, tolerance=tolerance).gas_limit for tolerance in (0.015, 0)]
    [51354, 50962]
    >>> traced = Traced(needs_50_962(16_777_216), minimum=50_962, maximum=UNBOUNDED, single_frame=True)
    >>> found = search_gas(needs_50_962, upper=16_777_216, trace=lambda limit: traced)
    >>> found.gas_limit, found.executed, found.proven
    (51354, 1, 4)
    """
    probes = _Probes(execute, trace, max_gas)
    if transfer:
        outcome = probes.execute(TRANSACTION_GAS)
        if outcome.succeeded:
            return probes.found(TRANSACTION_GAS, outcome)
    outcome = probes.trace(upper)
    if not outcome.succeeded:
        return probes.found(None, outcome)
    low, high = rules.used(outcome) - 1, upper
    optimistic = rules.optimistic(outcome)
    if rules.always_optimistic or optimistic < high:
        if probes.succeed(optimistic):
            high = optimistic
        else:
            low = optimistic
    skewed, succeed = rules.skewed, probes.succeed
    while low + 1 < high and not (high - low) / high < tolerance:
        middle = (low + high) // 2
        if skewed and middle > 2 * low:
            middle = 2 * low
        if succeed(middle):
            high = middle
        else:
            low = middle
    return probes.found(high, outcome)


class _Probes:
    """Outcomes by gas limit, each proven by an earlier trace or found by executing the call."""

    def __init__(
        self, execute: Callable[[int], Outcome], trace: Callable[[int], Traced] | None, max_gas: float
    ) -> None:
        self._execute, self._trace, self._max_gas = execute, trace, max_gas
        self._minimum, self._maximum = 1, 0.0  # every gas limit from `_minimum` to `_maximum` is proven to succeed
        self._fails_from = inf  # all gas limits from `_fails_from` up to `_minimum` are proven to fail
        self._executed = self._traced = self._proven = 0

    def execute(self, gas_limit: int) -> Outcome:
        outcome = self._execute(gas_limit)
        if outcome.status is not Status.REFUSED:
            self._executed += 1
        return outcome

    def trace(self, gas_limit: int) -> Outcome:
        """Execute with a gas limit, and record the range of gas limits whose outcome the trace proves."""
        if self._trace is None:
            return self.execute(gas_limit)
        traced = self._trace(gas_limit)
        self._traced += 1
        outcome, minimum, maximum, single_frame = traced
        self._executed += outcome.status is not Status.REFUSED
        if minimum <= maximum:
            if outcome.succeeded:
                self._minimum, self._maximum = minimum, max(self._maximum, min(maximum, self._max_gas))
            self._fails_from = 0 if single_frame else inf if outcome.succeeded else minimum
        return outcome

    def succeed(self, gas_limit: int) -> bool:
        """Return whether the call succeeds with a gas limit."""
        if self._minimum <= gas_limit <= self._maximum:
            self._proven += 1
            return True
        if self._fails_from <= gas_limit < self._minimum:
            self._proven += 1
            return False
        if self._traced == 1 and gas_limit < self._minimum - 1:
            self.trace(self._minimum - 1)
            return self.succeed(gas_limit)
        return self.execute(gas_limit).succeeded

    def found(self, gas_limit: int | None, outcome: Outcome) -> Searched:
        return Searched(gas_limit, outcome, self._executed, self._proven)
