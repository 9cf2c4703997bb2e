"""Paths of an experiment: L1 fees from a history, and the measures that `backtest` and `simulate` print."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from feemodel.cli.output import Answer, Table, camel
from feemodel.cli.parameters import HOUR, History, real, whole
from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import WEI_PER_ETH, WEI_PER_GWEI

if TYPE_CHECKING:
    import xarray

BLOCK_HOURS = 24.0  # length of the blocks of the bootstrap; blocks of one day preserve most of the daily cycle
MEASURES = (
    "recovery", "total_recovery", "under_recovery_days", "under_recovery_probability", "bytes_below_cost",
    "volatility", "p99_over_median", "overcharge", "undercharge", "drawdown_days", "lost_demand", "break_even_level",
    "mean_wait", "mean_price", "total_fees", "data_cost", "total_cost", "max_drawdown",
)  # fmt: skip
#: Unit of a result → unit in a table, its size there, and the end of the key in JSON.
UNITS = {
    "wei": (" [ETH]", WEI_PER_ETH, "Wei"),
    "wei / byte": (" [gwei / byte]", WEI_PER_GWEI, "Wei"),
    "s": (" [h]", HOUR, "Seconds"),
}
LEVELS = {"p5": 0.05, "median": 0.5, "p95": 0.95}  # quantiles over paths
NOTED = ("workload", "l1_fees", "l1_fees_assumed", "resampling", "tips", "usage_ratios", "not_counted", "price")


@dataclass(frozen=True)
class Scenario(History):
    """L1 fees of an experiment: the history, or paths of a block bootstrap, by default of the history's length."""

    paths: Annotated[int | None, whole("number of sample paths (default: 1)", minimum=1)] = None
    hours: Annotated[float | None, real("length of a path (default: of the history)", "h", above=0)] = None
    block_hours: Annotated[
        float | None, real(f"mean length of the blocks of the bootstrap (default: {BLOCK_HOURS:g})", "h", above=0)
    ] = None

    def l1_fees(self, history: "xarray.Dataset", seed: int) -> "xarray.Dataset":
        """Return the history, or the paths that are drawn from it."""
        from feemodel.simulation import scenarios

        horizon = None if self.hours is None else self.hours * HOUR
        if self.paths is not None and self.paths > 1:
            block = (self.block_hours or BLOCK_HOURS) * HOUR
            return scenarios.bootstrap(history, paths=self.paths, block_seconds=block, horizon=horizon, rng=seed)
        if self.block_hours is not None:
            raise InvalidInput("block_hours", "expected only with --paths above 1", self.block_hours)
        rows, length = history["elapsed"].to_numpy() < (horizon or float("inf")), scenarios.duration(history)
        if rows.sum() < 2 or (horizon or 0.0) > length:
            raise InvalidInput("hours", f"expected two rows or more, at most {length / HOUR:g} h", self.hours)
        return history.isel(step=rows)


def result(found: "xarray.Dataset", title: str, data: dict[str, Any], **more: Any) -> Answer:
    """Return the measures of a result: each value, or the mean and quantiles over paths with a finite value."""
    heads = ["mean", *LEVELS] if found.sizes["path"] > 1 else ["value"]
    values, rows = {}, []
    for name in (name for name in MEASURES if name in found):
        finite = found[name].to_series().loc[lambda all: all.abs() < math.inf]
        numbers = [finite.mean(), *finite.quantile([*LEVELS.values()])]
        each = {head: float(number) if len(finite) else None for head, number in zip(heads, numbers, strict=False)}
        unit, size, end = UNITS.get(found[name].attrs["units"], ("", 1, ""))
        values[camel(name) + end] = each
        label = name.replace("_", " ") + unit
        rows.append({"measure": label} | {head: value and value / size for head, value in each.items()})
    notes = [f"{name.replace('_', ' ')}: {found.attrs[name]}" for name in NOTED if name in found.attrs]
    return Answer(data | values | {"assumed": found.attrs}, [Table(title, rows)], notes, **more)
