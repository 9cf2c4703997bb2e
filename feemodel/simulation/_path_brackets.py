"""Bounds of a path's break-even margin, computed from sums and not from the fee of each transaction.

A transaction pays trunc(e · (F + A · size // gas)) per gas. Here e is the margin of the fee estimate, F the fixed cost,
and A the announced cost in the transaction's tick. The quotient A · size // gas and the price are both rounded down.
Without rounding, the revenue of a path would be R = e · (Σ A · size + F · Σ gas). The roundings lower the revenue by at
most (e + 1) · Σ gas, so the revenue is between R − (e + 1) · Σ gas and R. The two bounds give the break-even margin
with a relative error of about 5e-5. An error of 5e-5 is usually small enough, so that the fees of single transactions
need not be computed.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import xarray as xr

from feemodel.checks import RealArray, WholeArray
from feemodel.simulation._backtest import draw_traffic, path_ticks, posted_bytes, sums_by_tick
from feemodel.simulation.announced import PricingRule, announced_variable_cost
from feemodel.simulation.posting import Posting, post
from feemodel.simulation.scenarios import generator_of
from feemodel.simulation.surfaces import Workload

ROUNDING = 1e-9  # relative error of sums of doubles
FINEST = 1e-5  # relative width of a bracket at which the bisection stops


class Bracket(NamedTuple):
    """Bounds of a path's break-even margin: the path has a loss at the margin `loses`, but not at `pays` [1]."""

    loses: float
    pays: float  #: infinite if the path has a loss at every margin that was tried


@dataclass(frozen=True, eq=False)
class PathBrackets:
    """Function that takes the number of a path and returns the bracket of the path; workers call it."""

    workload: Workload
    l1_fees: xr.Dataset
    rule: PricingRule
    posting: Posting
    arrival_rate: float
    calldata: WholeArray | None
    seeds: tuple[int, ...]
    vary: Literal["estimate_margin", "margin"]
    counted: Literal["revenue", "size_revenue"]
    highest: float

    def __call__(self, path: int) -> Bracket:
        """Return the bounds of the break-even margin of one path."""
        one = self.l1_fees.isel(path=[path])
        ticks = path_ticks(one, self.rule, self.arrival_rate)
        stream = generator_of(self.seeds[path]).spawn(1)[0]
        traffic = draw_traffic(len(self.workload), self.arrival_rate * self.rule.tick, ticks, stream)
        ends = posted_bytes(self.workload, traffic, self.posting)
        cost = float(post(ends[traffic.ends], self.rule.tick, self.posting, one).cost.sum())
        sizes = self.workload.compressed_size[traffic.kind]
        size_by_tick = np.asarray(sums_by_tick(sizes, traffic), np.float64)
        gas = float(self.workload.gas[traffic.kind].sum(dtype=np.float64))
        calldata = None if self.calldata is None else sums_by_tick(self.calldata[traffic.kind], traffic)

        def announced(rule: PricingRule) -> RealArray:
            return np.asarray(announced_variable_cost(one, rule, ticks=ticks, calldata=calldata), np.float64)

        if self.vary == "estimate_margin":
            return self._of_estimate_margin(float(announced(self.rule) @ size_by_tick), gas, cost)

        def size_part(margin: float) -> float:
            return float(announced(self.rule.at_margin("margin", margin)) @ size_by_tick)

        return self._of_cost_margin(size_part, gas, cost)

    def _bounds(self, size_part: float, gas: float, estimate_margin: float) -> tuple[float, float]:
        """Return a lower and an upper bound of the revenue, or of the size revenue, depending on `counted` [wei]."""
        scaled = estimate_margin * size_part
        if self.counted == "revenue":
            scaled += (self.rule.base_fee + estimate_margin * self.rule.fixed_cost) * gas
            upper = scaled
        else:
            upper = scaled + gas  # the subtracted fixed part is rounded down, by less than 1 wei per gas
        lower = scaled - (estimate_margin + 1.0) * gas
        return lower - ROUNDING * scaled, upper + ROUNDING * scaled

    def _of_estimate_margin(self, size_part: float, gas: float, cost: float) -> Bracket:
        def root(bound: int) -> float:
            # Each bound of the fees is linear in the margin. The margin at which a bound equals the cost
            # follows from the values of the bound at two margins.
            first, second = (self._bounds(size_part, gas, at)[bound] for at in (0.0, 1.0))
            slope = second - first
            return max(0.0, (cost - first) / slope) if slope > 0.0 else (0.0 if first >= cost else math.inf)

        return Bracket(root(1), root(0))

    def _of_cost_margin(self, size_part: Callable[[float], float], gas: float, cost: float) -> Bracket:
        def sides(margin: float) -> tuple[bool, bool]:
            """Return whether the path certainly has a loss, and whether it certainly has no loss."""
            lower, upper = self._bounds(size_part(margin), gas, self.rule.estimate_margin)
            return upper < cost, lower >= cost

        low, high = 0.0, min(1.0, self.highest)
        if not sides(low)[0]:
            return Bracket(-math.inf, high if sides(high)[1] else math.inf)
        while sides(high)[0]:
            if high == self.highest:
                return Bracket(high, math.inf)
            low, high = high, min(2.0 * high, self.highest)
        pays = high if sides(high)[1] else math.inf
        while high - low > FINEST * high:
            middle = (low + high) / 2.0
            loses, covers = sides(middle)
            if loses:
                low = middle
            else:
                high = middle
                pays = middle if covers else pays
        return Bracket(low, self._first_paying(sides, high, pays))

    def _first_paying(self, sides: Callable[[float], tuple[bool, bool]], high: float, pays: float) -> float:
        """Return a margin at which the path certainly has no loss, slightly above `high` if possible."""
        step = 2.0 * FINEST
        while (margin := high * (1.0 + step)) < min(pays, self.highest):
            if sides(margin)[1]:
                return margin
            step *= 4.0
        return pays
