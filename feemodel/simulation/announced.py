"""Variable cost that a rollup announces: the cost at averaged L1 fees, limited to bounds and truncated."""

from copy import copy
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import xarray as xr

from feemodel._compiled import cached_njit
from feemodel.checks import (
    ArrayLike,
    RealArray,
    WholeArray,
    check_fields,
    check_limit,
    check_plausible,
    choice,
    instance,
    whole,
    whole_scalar,
)
from feemodel.errors import InvalidInput
from feemodel.ethereum._fee_units import IN_WEI, MIN_PRICE
from feemodel.linea.coordinator import calldata_pressure, variable_cost
from feemodel.linea.extra_data import recorded_cost
from feemodel.linea.kernels import recorded
from feemodel.linea.parameters import ASSUMED_L1_TIP, COORDINATOR, NODE
from feemodel.simulation.scenarios import check_scenario, duration, step_starts

LARGEST_TICKS = 1 << 28  # maximum number of ticks of a path; a column of this length takes 2 GiB
YEAR = 31_557_600.0  # seconds
MAX_USAGE_EXPONENT = 10.0  # maximum exponent; above 10, fee**exponent could exceed the range of a double
MAX_MARGIN = 50.0  # maximum margin; a larger number is probably a percentage, not a factor
LONGEST_TICK = 60.0  # maximum length of a tick, the interval in which transactions are counted [s]


@dataclass(frozen=True, slots=True)
class CalldataPressure:
    """Rule that raises the variable cost after blocks with much calldata, and lowers it after blocks with little."""

    max_block_calldata: int = COORDINATOR.max_block_calldata  #: maximum calldata of a block [byte]
    block_count: int = COORDINATOR.calldata_blocks  #: number of recent blocks whose calldata is summed
    denominator: int = COORDINATOR.calldata_fee_denominator  #: d in the growth factor 1 + pressure / d [1]

    def __post_init__(self) -> None:
        check_fields(self, above_zero=("max_block_calldata", "denominator"))

    def growth(self, calldata: RealArray | WholeArray) -> RealArray:
        """Return the factor by which an update multiplies the variable cost [1].

        `calldata` is the total calldata of the recent blocks [byte].

        >>> CalldataPressure().growth(np.array([0, 272_500, 545_000]))
        array([0.96875, 1.     , 1.03125])
        """
        moved = calldata_pressure(calldata, max_block_calldata=self.max_block_calldata, block_count=self.block_count)
        return np.asarray(1.0 + moved / self.denominator)


@dataclass(frozen=True, slots=True, kw_only=True)
class PricingRule:
    """Parameters of the announced costs, which are computed from L1 fees, and of the fees that users pay.

    The defaults are those of `feemodel.linea.parameters`. The bounds that Linea uses in production are not published.

    A tick lasts at most 60 s, so an update interval of 150 s is divided into three ticks of 50 s:

    >>> PricingRule(update_interval=150.0).ticks_per_update, PricingRule(update_interval=150.0).tick
    (3, 50.0)
    """

    margin: float = COORDINATOR.margin  #: factor by which L1 costs are multiplied in the variable cost [1]
    estimate_margin: float = NODE.estimate_margin  #: fee that users pay / required fee [1]
    fixed_cost: int = NODE.fixed_cost  #: announced fixed cost [wei / gas]
    base_fee: int = NODE.base_fee  #: base fee of the rollup [wei / gas]
    lower_bound: float | None = COORDINATOR.lower_bound  #: minimum of the variable cost [wei / byte]
    upper_bound: float | None = COORDINATOR.upper_bound  #: maximum of the variable cost [wei / byte]
    update_interval: float = COORDINATOR.update_interval  #: time between two updates of the announced costs [s]
    window: float = COORDINATOR.window  #: averaging window of L1 fees [s]
    execution_gas: int = COORDINATOR.execution_gas  #: assumed execution gas of a submission [gas]
    blob_gas: int = COORDINATOR.blob_gas  #: assumed blob gas of a submission [gas]
    bytes_per_submission: int = COORDINATOR.bytes_per_submission  #: bytes that share the cost of a submission [byte]
    tip: float = ASSUMED_L1_TIP  #: assumed L1 priority fee, if the scenario has no tips [wei / gas]
    usage_exponent: float = 0.0  #: without usage ratios, a block's weight is fee**usage_exponent [1]
    pressure: CalldataPressure | None = None  #: calldata pressure at every update; `None` means no calldata pressure

    def __post_init__(self) -> None:
        positive = ("update_interval", "window", "bytes_per_submission")
        minimum = {"usage_exponent": -MAX_USAGE_EXPONENT}
        maximum = {"update_interval": YEAR, "window": YEAR, "usage_exponent": MAX_USAGE_EXPONENT}
        check_fields(self, above_zero=positive, minimum=minimum, maximum=maximum)
        for name in ("margin", "estimate_margin"):
            check_plausible(name, getattr(self, name), "a factor; 20 % more = 1.2", highest=MAX_MARGIN)
        check_plausible("window", self.window, "in seconds; 1 h = 3,600", lowest=12.0)
        check_plausible("fixed_cost", self.fixed_cost, IN_WEI, lowest=MIN_PRICE)
        for name in ("tip", "lower_bound", "upper_bound"):
            check_plausible(name, getattr(self, name), IN_WEI, lowest=MIN_PRICE)
        if self.lower_bound is not None and self.upper_bound is not None and self.lower_bound > self.upper_bound:
            reason = f"expected at least the lower bound, {self.lower_bound:,}"
            raise InvalidInput("upper_bound", reason, self.upper_bound)
        if self.pressure is not None and not isinstance(self.pressure, CalldataPressure):
            raise InvalidInput("pressure", "expected a CalldataPressure or None", self.pressure)

    def at_margin(self, name: str, margin: float) -> "PricingRule":
        """Return a copy of the rule with another `margin` or `estimate_margin`, which may exceed `MAX_MARGIN`.

        >>> PricingRule().at_margin("estimate_margin", 90.0).estimate_margin
        90.0
        """
        changed = copy(self)
        object.__setattr__(changed, choice("name", name, ("margin", "estimate_margin")), margin)
        return changed

    @property
    def ticks_per_update(self) -> int:
        """Number of ticks between two updates of the announced costs; a tick lasts at most one minute."""
        return max(1, int(np.ceil(self.update_interval / LONGEST_TICK)))

    @property
    def tick(self) -> float:
        """Length of a tick [s]."""
        return self.update_interval / self.ticks_per_update

    def variable_cost(self, base_fee: "ArrayLike", priority_fee: "ArrayLike", blob_base_fee: "ArrayLike") -> Any:
        """Return the variable cost at averages of L1 fees, limited to the rule's bounds but not truncated [wei / byte].

        Parameters
        ----------
        base_fee, priority_fee, blob_base_fee : averages of L1 fees [wei / gas].

        Raises `InvalidInput` for fees that `feemodel.variable_cost` rejects.

        The cost is ((7e7 + 1e8) · 65,250 + 4e6 · 131,072) / 131,072 = 88,629,058.8 wei per byte:

        >>> round(PricingRule(lower_bound=None).variable_cost(7e7, 1e8, 4e6))
        88629059
        """
        return variable_cost(
            base_fee,
            priority_fee,
            blob_base_fee,
            execution_gas=self.execution_gas,
            blob_gas=self.blob_gas,
            bytes_per_submission=self.bytes_per_submission,
            margin=self.margin,
            lower_bound=self.lower_bound,
            upper_bound=self.upper_bound,
        )


def announced_variable_cost(
    l1_fees: xr.Dataset, rule: PricingRule, *, ticks: int, calldata: WholeArray | None = None
) -> WholeArray:
    """Return the announced variable cost at each tick, truncated to a multiple of 1,000 wei [wei / byte].

    L1 fees are averaged over the window before an update, or over the time since the start of the scenario if this time
    is shorter. At the start of the scenario, the average is the first fee.

    Parameters
    ----------
    l1_fees : scenario of one path. L1 fees are constant within a step.
    rule : pricing rule.
    ticks : number of ticks of length `rule.tick`, from the start of the scenario.
    calldata : calldata in each tick, of shape (ticks,); required if the rule has calldata pressure [byte]. The pressure
        at an update depends on the calldata since the previous update.

    Raises
    ------
    InvalidInput : the rule has calldata pressure but `calldata` is `None`, or `feemodel.variable_cost` rejects the
        fees.

    The cost is ((7e7 + 1e8) · 65,250 + 4e6 · 131,072) / 131,072 = 88,629,059 wei per byte, which is below the lower
    bound of 90,000,000:

    >>> from feemodel.simulation.scenarios import replay
    >>> steady = replay({"timestamp": [0, 12], "base_fee": [7e7, 7e7], "blob_base_fee": [4e6, 4e6]}, source="by hand")
    >>> announced_variable_cost(steady, PricingRule(), ticks=2).tolist()
    [90000000, 90000000]
    >>> announced_variable_cost(steady, PricingRule(lower_bound=None), ticks=1).tolist()
    [88629000]
    """
    check_scenario("l1_fees", l1_fees)
    instance("rule", rule, PricingRule)
    check_limit(whole_scalar("ticks", ticks, minimum=1), "ticks", LARGEST_TICKS)
    if calldata is not None and np.shape(calldata := np.asarray(whole("calldata", calldata, unit="bytes"))) != (ticks,):
        raise InvalidInput("calldata", f"expected one number for each of {ticks:,} ticks", calldata.shape)
    updates = np.asarray(rule.tick * np.arange(0.0, ticks, rule.ticks_per_update))
    cost = rule.variable_cost(
        _window_average(l1_fees, "base_fee", "gas_used_ratio", updates, rule),
        _window_average(l1_fees, "tip", "gas_used_ratio", updates, rule) if "tip" in l1_fees else rule.tip,
        _window_average(l1_fees, "blob_base_fee", "blob_gas_used_ratio", updates, rule),
    )
    if rule.pressure is None:
        recorded = recorded_cost(cost)
    else:
        if calldata is None:
            raise InvalidInput(
                "calldata", "expected the calldata of each tick, because the rule has calldata pressure", calldata
            )
        recorded = under_pressure(cost, _growth(rule, rule.pressure, calldata, len(updates)))
    return np.asarray(np.repeat(recorded, rule.ticks_per_update)[:ticks])


def _growth(rule: PricingRule, pressure: CalldataPressure, calldata: WholeArray, updates: int) -> RealArray:
    # Scale the calldata since the previous update from the update interval to the duration of `pressure.block_count`
    # blocks.
    starts = np.arange(updates) * rule.ticks_per_update
    since_last = np.concatenate([[0], np.add.reduceat(calldata, starts)[:-1]])
    seen = since_last * (pressure.block_count * NODE.block_time / rule.update_interval)
    return pressure.growth(seen)


def _window_average(
    l1_fees: xr.Dataset,
    fee: Literal["base_fee", "blob_base_fee", "tip"],
    ratio: str,
    times: RealArray,
    rule: PricingRule,
) -> RealArray:
    fees = l1_fees[fee].to_numpy()[0]
    weighting_fees = l1_fees["base_fee"].to_numpy()[0] if fee == "tip" else fees
    weights = l1_fees[ratio].to_numpy()[0] if ratio in l1_fees else weighting_fees**rule.usage_exponent
    edges = np.append(step_starts(l1_fees), duration(l1_fees))
    lengths = np.diff(edges)

    def between(values: RealArray) -> RealArray:
        sums = np.append(0.0, np.cumsum(values * lengths))
        first, last = (np.interp(at, edges, sums) for at in (np.maximum(ends - rule.window, 0.0), ends))
        return np.asarray(last - first)

    ends = np.maximum(times, min(rule.tick, float(lengths[0])))
    weight = between(weights)
    plain = between(fees) / between(np.ones_like(fees))  # average without weights, used where all weights are 0
    return np.asarray(np.where(weight > 0.0, between(fees * weights) / np.where(weight > 0.0, weight, 1.0), plain))


@cached_njit(nogil=True)
def under_pressure(cost, growth, latest=0.0):  # type: ignore[no-untyped-def]
    """Return the announced cost at each update: max(cost from L1 fees, growth · previously announced cost).

    Parameters
    ----------
    cost : cost from L1 fees at each update, already limited to the bounds of the pricing rule [wei / byte].
    growth : factor `1 + pressure / denominator` at each update, by which calldata pressure multiplies the previously
        announced cost [1].
    latest : announced cost before the first update [wei / byte].

    Returns
    -------
    Announced cost at each update [wei / byte].
    """
    announced = np.empty(cost.size, dtype=np.int64)
    for i in range(cost.size):
        latest = recorded(max(cost[i], latest * growth[i]))
        announced[i] = latest
    return announced
