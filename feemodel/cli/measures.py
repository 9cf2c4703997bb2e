"""Measures of simulated paths, as `backtest` and `simulate` print them: in a table, and as keys of JSON."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from feemodel.cli.output import camel
from feemodel.cli.parameters import HOUR
from feemodel.ethereum._quantities import WEI_PER_ETH, WEI_PER_GWEI

if TYPE_CHECKING:
    import xarray

MEASURES = {
    "recovery": "data fees / posting cost",
    "total_recovery": "all fees / all costs",
    "under_recovery_days": "days with data fees below accrued cost",
    "under_recovery_probability": "the same / whole days",
    "bytes_below_cost": "share of bytes below their cost",
    "volatility": "volatility of hourly mean prices",
    "p99_over_median": "99th percentile / median of the price",
    "overcharge": "overcharge / posting cost",
    "undercharge": "undercharge / posting cost",
    "drawdown_days": "maximum drawdown / mean cost of a day",
    "lost_demand": "lost demand",
    "break_even_level": "break-even level",
    "mean_wait": "mean waiting time of a byte",
    "mean_price": "mean data price",
    "total_fees": "all fees",
    "data_cost": "posting cost",
    "total_cost": "all costs",
    "max_drawdown": "maximum drawdown",
}
#: Unit of a result → unit in a table, its size there, and the end of the key in JSON.
UNITS = {"wei": ("ETH", WEI_PER_ETH, "Wei"), "wei / byte": ("gwei / byte", WEI_PER_GWEI, "Wei"), "s": ("h", 1, "Hours")}
LEVELS = {"p5": 0.05, "median": 0.5, "p95": 0.95}  # quantiles over paths


def key(found: "xarray.Dataset", name: str) -> str:
    """Return the key of a measure in JSON, such as `meanWaitHours`."""
    return camel(name) + UNITS.get(found[name].attrs["units"], ("", 1, ""))[2]


def rows_of(found: "xarray.Dataset", values: Mapping[str, Mapping[str, float | None]]) -> list[tuple[str, ...]]:
    """Return the rows of a table of measures: the label with the unit, and the cell of each value."""
    rows = []
    for name, each in values.items():
        unit, size, _ = UNITS.get(found[name].attrs["units"], ("", 1, ""))
        label = f"{MEASURES[name]} [{unit}]" if unit else MEASURES[name]
        shown = "%" if name == "bytes_below_cost" else unit
        rows.append((label, *("" if value is None else cell(value / size, shown) for value in each.values())))
    return rows


def cell(value: float, unit: str) -> str:
    """Return a number for a table.

    >>> cell(1.5, "ETH"), cell(1.23456, ""), cell(0.5, "%")
    ('1.5000', '1.235', '50.00%')
    """
    if unit == "%":
        return f"{value:.2%}"
    if unit == "ETH":
        return f"{value:,.4f}"
    return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:.4e}"


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
        values = found[name].to_numpy() / (HOUR if found[name].attrs["units"] == "s" else 1)
        values = values[np.isfinite(values)]
        answer[name] = {
            head: None if not values.size else float(values.mean() if level is None else np.quantile(values, level))
            for head, level in (wanted if levels is None else levels).items()
        }
    return answer
