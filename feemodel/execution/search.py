"""The gas-limit search: execution and an upper bound in, a gas limit out.

The native engine has the same search in Rust; this one serves engines that execute in Python.

    1. a plain transfer is executed at 21,000; if that succeeds, it is the answer
    2. executed at the upper bound, which must succeed
    3. low = used − 1; executed at (used + 2,300) · 64 / 63, which leaves a call its stipend and every frame its 1/64
    4. halved, until low and high are next to each other or closer than the tolerance; high is the answer

geth and Besu differ in what they take as used and in three details; each is a row.

The execution at the upper bound is traced. Later limits are executed only where a trace does not prove how they end,
see `feemodel.execution.outcome.Traced`; so the answer is the node's, whatever the code does. When first a limit is
asked for that is too small for the traced path, the largest such limit is executed and traced: as that ends, mostly all
end that follow. Of 768 mainnet calls, searched to the last gas, this takes the executions from 4.5 to 2.6 each.

Source: ethereum/go-ethereum at v1.17.10, eth/gasestimator; hyperledger/besu at 3fd224e (2026-03-29),
AbstractEstimateGas and EthEstimateGas.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from feemodel.errors import FeeModelError
from feemodel.ethereum.fee_market import TRANSACTION_GAS
from feemodel.execution.limits import Budget, Limits
from feemodel.execution.message import Message
from feemodel.execution.outcome import Outcome, Status, Traced

if TYPE_CHECKING:
    from feemodel.execution.engines import Execute

TOLERANCE = 0.015  # of both nodes
CALL_STIPEND = 2_300
REFUSED = Outcome(Status.REFUSED, gas_used=0)  # with a limit that the node would not execute


@dataclass(frozen=True, slots=True)
class SearchRules:
    """Rules of a node's search."""

    name: str
    used: Callable[[Outcome], int]  #: what the lower end starts from [gas]
    optimistic: Callable[[Outcome], int]  #: the first guess [gas]
    always_optimistic: bool  #: also where the guess is not below the upper bound
    skewed: bool  #: the middle is at most twice the lower end: most calls need little more than they use
    transfer_to_code: bool  #: any call without data is tried at 21,000, not only one to an account without code


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
    # In doubles, the ratio first.
    optimistic=lambda outcome: int((outcome.gas_used + CALL_STIPEND) * (64.0 / 63.0)),
    always_optimistic=True,
    skewed=False,
    transfer_to_code=True,
)
SEARCHES = {rules.name: rules for rules in (GETH, BESU)}


class Search(NamedTuple):
    """Bounds and limits of a search for the gas limit of a message."""

    rules: SearchRules
    upper: int  #: the upper bound [gas]
    max_gas: float  #: the largest limit that the node would execute; below 0 it would execute none [gas]
    tolerance: float  #: see `search_gas` [1]
    transfer: bool  #: whether the message may be a plain transfer
    limits: Limits  #: of which `total_gas` and `seconds` count
    inline_gas: int | None = None  #: see `Unproven` [gas]
    sender_has_code: bool = False  #: which may spend what a larger limit would leave it less of


class Searched(NamedTuple):
    """Result of a search: a gas limit, or none if the call fails at the upper bound."""

    gas_limit: int | None
    outcome: Outcome  #: of the execution at the upper bound, or of the transfer
    executed: int  #: limits that were executed
    proven: int  #: limits of which the trace proved how they end
    spent: int = 0  #: by those that were executed [gas]


class Unproven(FeeModelError):
    """A search that executes with `inline_gas` in place of more, where that does not tell how more ends."""


def search_message(execute: "Execute", message: Message, search: Search) -> Searched:
    """The gas limit that a message needs, found by one execution after the other.

    Raises `LimitExceeded` where the executions together take more than they may.
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
    """The gas limit that a call needs.

    Parameters
    ----------
    execute : gas limit → outcome; called with different limits, nothing of it stays.
    upper : the upper bound [gas].
    rules : a node's.
    tolerance : how far the answer may lie above the smallest limit, as a part of it; 0 searches to the last gas [1].
    transfer : whether the call may be a plain transfer.
    trace : gas limit → outcome and what it proves; without it every limit is executed.
    max_gas : the largest limit that the node would execute, as its caps and the sender's balance have it; of a larger
        one nothing is proven [gas].

    >>> from feemodel.execution.outcome import UNBOUNDED, Status
    >>> def needs_50_962(limit):
    ...     return Outcome(Status.SUCCESS if limit >= 50_962 else Status.OUT_OF_GAS, min(limit, 50_962))
    >>> [search_gas(needs_50_962, upper=16_777_216, tolerance=tolerance).gas_limit for tolerance in (0.015, 0)]
    [51354, 50962]
    >>> traced = Traced(needs_50_962(16_777_216), least=50_962, most=UNBOUNDED, single_frame=True)
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
    """Gas limits tried: proven by what other limits showed, or executed."""

    def __init__(
        self, execute: Callable[[int], Outcome], trace: Callable[[int], Traced] | None, max_gas: float
    ) -> None:
        self._execute, self._trace, self._max_gas = execute, trace, max_gas
        self._minimum, self._maximum = 1, 0.0  # of the limits that are proven to succeed
        self._fails_from = inf  # up to the least that succeeds, all are proven to fail
        self._executed = self._traced = self._proven = 0

    def execute(self, gas_limit: int) -> Outcome:
        outcome = self._execute(gas_limit)
        if outcome.status is not Status.REFUSED:
            self._executed += 1
        return outcome

    def trace(self, gas_limit: int) -> Outcome:
        """Execute with a limit, and keep what that proves about others."""
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
        """Whether the call succeeds with a limit."""
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
