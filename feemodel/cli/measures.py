"""Measures of simulated paths, as `backtest` and `simulate` print them: in a table, and as keys of JSON."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from feemodel.cli.output import camel
from feemodel.cli.parameters import HOUR
from feemodel.ethereum._quantities import WEI_PER_ETH, WEI_PER_GWEI

if TYPE_CHECKING:
    import xarray


class Measure(NamedTuple):
    """Name of a measure in a table, its unit there, and the end of its key in JSON."""

    name: str
    unit: str = ""
    suffix: str = ""

    @property
    def label(self) -> str:
        """The name with the unit."""
        return f"{self.name} [{self.unit}]" if self.unit not in ("", "%") else self.name


MEASURES = {
    "recovery": Measure("data fees / posting cost"),
    "total_recovery": Measure("all fees / all costs"),
    "under_recovery_days": Measure("days with data fees below accrued cost"),
    "under_recovery_probability": Measure("the same / whole days"),
    "bytes_below_cost": Measure("share of bytes below their cost", "%"),
    "volatility": Measure("volatility of hourly mean prices"),
    "p99_over_median": Measure("99th percentile / median of the price"),
    "overcharge": Measure("overcharge / posting cost"),
    "undercharge": Measure("undercharge / posting cost"),
    "drawdown_days": Measure("maximum drawdown / mean cost of a day"),
    "lost_demand": Measure("lost demand"),
    "break_even_level": Measure("break-even level"),
    "mean_wait": Measure("mean waiting time of a byte", "h", "Hours"),
    "mean_price": Measure("mean data price", "gwei / byte", "Wei"),
    "total_fees": Measure("all fees", "ETH", "Wei"),
    "data_cost": Measure("posting cost", "ETH", "Wei"),
    "total_cost": Measure("all costs", "ETH", "Wei"),
    "max_drawdown": Measure("maximum drawdown", "ETH", "Wei"),
}
LEVELS = {"p5": 0.05, "median": 0.5, "p95": 0.95}  # quantiles over paths


def key(name: str) -> str:
    """Return the key of a measure in JSON.

    >>> key("mean_wait")
    'meanWaitHours'
    """
    return camel(name) + MEASURES[name].suffix


def cell(name: str, value: float | None) -> str:
    """Return the value of a measure for a table.

    >>> cell("data_cost", 1.5e18), cell("recovery", 1.23456)
    ('1.5000', '1.235')
    """
    if value is None:
        return ""
    match MEASURES[name].unit:
        case "%":
            return f"{value:.2%}"
        case "ETH":
            return f"{value / WEI_PER_ETH:,.4f}"
        case "gwei / byte":
            value /= WEI_PER_GWEI
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:.4e}"


def rows_of(values: Mapping[str, Mapping[str, float | None]]) -> list[tuple[str, ...]]:
    """Return the rows of a table of measures: the label, and the cell of each value."""
    return [(MEASURES[name].label, *(cell(name, one) for one in each.values())) for name, each in values.items()]


def over_paths(found: "xarray.Dataset", levels: Mapping[str, float] | None = None) -> dict[str, dict[str, Any]]:
    """Return each measure of a result: its mean and quantiles over the paths, or the value of the only path.

    Given `levels`, return only these quantiles. Paths without a finite value are left out; without any value, the
    answer is `None`. Waits are in hours.
    """
    import numpy as np

    several = found.sizes["path"] > 1
    wanted: dict[str, float | None] = {"mean" if several else "value": None, **(LEVELS if several else {})}
    answer = {}
    for name in (name for name in MEASURES if name in found):
        values = found[name].to_numpy() / (HOUR if MEASURES[name].unit == "h" else 1)
        values = values[np.isfinite(values)]
        answer[name] = {
            head: None if not values.size else float(values.mean() if level is None else np.quantile(values, level))
            for head, level in (wanted if levels is None else levels).items()
        }
    return answer
