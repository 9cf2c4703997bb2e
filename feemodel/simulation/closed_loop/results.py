"""Statistics of one simulated path, and the Dataset that holds all of them."""

from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from feemodel.checks import RealArray
from feemodel.simulation.closed_loop import loop
from feemodel.simulation.closed_loop.costs import LINES
from feemodel.simulation.metadata import described_dataset

HOUR = 3_600.0  # seconds
DELAYS = (0.5, 0.95, 0.99)
SERIES = {"price": "wei / byte", "balance": "wei", "backlog": "byte", "transactions_in_step": "1"}

#: Variables over path and day: column of the loop, units, long name.
DAILY = {
    "data_fees": (loop.DATA_FEES, "wei", "fees that users paid for data"),
    "execution_fees": (loop.EXECUTION_FEES, "wei", "fees that users paid for L2 execution"),
    "operator_fees": (loop.OPERATOR_FEES, "wei", "fees that users paid by the transaction"),
    **{line: (loop.FIRST_LINE + place, "wei", f"cost, cash: {line.replace('_', ' ')}")
       for place, line in enumerate(LINES)},
    "accrued_data_cost": (loop.ACCRUED_DATA, "wei", "cost of posting the bytes that came on the day"),
    "accrued_finalization_cost": (loop.ACCRUED_FINALIZATION, "wei", "cost of finalizing the bytes of the day"),
    "transactions": (loop.TRANSACTIONS, "1", "transactions"),
    "bytes": (loop.BYTES, "byte", "compressed bytes that came"),
    "submissions": (loop.SUBMISSIONS, "1", "submissions"),
    "blobs": (loop.BLOBS, "1", "blobs posted"),
    "finalizations": (loop.FINALIZATIONS, "1", "finalizations"),
    "last_price": (loop.LAST_PRICE, "wei / byte", "data price in the last step"),
    "least_balance": (loop.LEAST_BALANCE, "wei", "least balance of the operator at the end of a step"),
    "lost_transactions": (loop.LOST_TRANSACTIONS, "1", "demand at the reference fee minus demand, where positive"),
}  # fmt: skip

#: Variables over path: units, long name.
OF_PATH = {
    "recovery": ("1", "data fees over the cost of posting"),
    "total_recovery": ("1", "all fees over all costs"),
    "under_recovery_days": ("1", "whole days whose data fees are below the accrued cost of their bytes"),
    "under_recovery_probability": ("1", "under_recovery_days over whole days"),
    "whole_days": ("1", "days that the path covers wholly"),
    "volatility": ("1", "standard deviation of the changes of the log of hourly mean data prices"),
    "p99_over_median": ("1", "99th percentile of the data price over its median"),
    "overcharge": ("1", "sum of bytes times price above their own cost, over the cost of posting"),
    "undercharge": ("1", "sum of bytes times price below their own cost, over the cost of posting"),
    "bytes_below_cost": ("1", "share of bytes that paid less than their own cost"),
    "worst_drawdown": ("wei", "deepest fall of the operator's balance below an earlier height"),
    "drawdown_days": ("d", "worst_drawdown in days of the path's mean cost"),
    "mean_price": ("wei / byte", "mean data price over steps"),
    "peak_price": ("wei / byte", "greatest data price of a step"),
    "data_cost": ("wei", "cost of posting data"),
    "total_cost": ("wei", "all costs"),
    "total_fees": ("wei", "all fees"),
    "break_even_level": ("1", "factor on the data price at which data fees would cover posting, demand unchanged"),
    "lost_demand": ("1", "lost transactions over demand at the reference fee"),
    "lost_fees": ("wei", "lost transactions at the reference fee"),
    "mean_wait": ("s", "mean wait of a byte until its submission"),
    "deadline_share": ("1", "share of bytes that left at the deadline"),
    **{f"wait_p{100 * level:g}": ("s", f"{level:.0%} of bytes wait at most so long") for level in DELAYS},
}


class PathResult(NamedTuple):
    """The results of one path."""

    days: RealArray  #: day × column of the loop
    summary: dict[str, float]
    series: RealArray | None  #: series × step, of a recorded path


def summarized(days: RealArray, prices: RealArray, waits: RealArray, accounts: RealArray, *, step: float,
               day_steps: int) -> dict[str, float]:  # fmt: skip
    """The statistics of a path from what the loop filled.

    >>> days = np.zeros((1, loop.COLUMNS))
    >>> days[0, [loop.DATA_FEES, loop.DATA_BLOB_FEE, loop.STEPS]] = 6.0, 4.0, 2.0
    >>> nothing = np.zeros(1), np.zeros(loop.ACCOUNTS)
    >>> summarized(days, np.ones(2), *nothing, step=12.0, day_steps=7_200)["recovery"]
    1.5
    """
    total = days.sum(axis=0)
    data_fees = total[loop.DATA_FEES]
    data_cost = total[loop.DATA_BASE_FEE : loop.DATA_LAYER + 1].sum()
    fees = data_fees + total[loop.EXECUTION_FEES] + total[loop.OPERATOR_FEES]
    cost = total[loop.FIRST_LINE : loop.FIRST_LINE + len(LINES)].sum()
    whole = days[:, loop.STEPS] == day_steps
    below = days[whole, loop.DATA_FEES] < days[whole, loop.ACCRUED_DATA]
    length = len(prices) / day_steps
    drawdown = accounts[loop.DRAWDOWN]
    median, p99 = np.quantile(prices, (0.5, 0.99))
    wanted = total[loop.TRANSACTIONS] + total[loop.LOST_TRANSACTIONS]
    found = {
        "recovery": _over(data_fees, data_cost),
        "total_recovery": _over(fees, cost),
        "under_recovery_days": float(below.sum()),
        "under_recovery_probability": _over(below.sum(), whole.sum()),
        "whole_days": float(whole.sum()),
        "volatility": volatility(prices, step),
        "p99_over_median": _over(p99, median),
        "overcharge": _over(total[loop.OVERCHARGE], data_cost),
        "undercharge": _over(total[loop.UNDERCHARGE], data_cost),
        "bytes_below_cost": _over(total[loop.BYTES_BELOW_COST], total[loop.BYTES]),
        "worst_drawdown": float(drawdown),
        "drawdown_days": _over(drawdown, cost / length),
        "mean_price": float(prices.mean()),
        "peak_price": float(prices.max()),
        "data_cost": float(data_cost),
        "total_cost": float(cost),
        "total_fees": float(fees),
        "break_even_level": _over(data_cost, data_fees),
        "lost_demand": _over(total[loop.LOST_TRANSACTIONS], wanted),
        "lost_fees": float(total[loop.LOST_FEES]),
        "mean_wait": _over(accounts[loop.WAITED], waits.sum()),
        "deadline_share": _over(accounts[loop.AT_DEADLINE], total[loop.BYTES]),
    }
    reached = np.cumsum(waits) / waits.sum() if waits.any() else np.full(len(waits), np.nan)
    for level in DELAYS:
        place = float(np.searchsorted(reached, level - 1e-12)) * step if waits.any() else np.nan
        found[f"wait_p{100 * level:g}"] = place
    return found


def volatility(prices: RealArray, step: float) -> float:
    """Standard deviation of the changes of the log of hourly means; NaN where a mean is 0 or there is one hour.

    Prices of 1, e and 1 wei in three hours change by 1 and −1:

    >>> volatility(np.repeat([1.0, np.e, 1.0], 300), 12.0)
    1.0
    """
    steps = max(1, round(HOUR / step))
    hours = len(prices) // steps
    if hours < 2:
        return float("nan")
    means = prices[: hours * steps].reshape(hours, steps).mean(axis=1)
    if not (means > 0.0).all():
        return float("nan")
    return float(np.diff(np.log(means)).std())


def dataset(results: list[PathResult], *, day_steps: int, step: float, recorded: int) -> xr.Dataset:
    """The results of all paths over `path` and `day`, and `step` for recorded paths.

    >>> one = PathResult(np.ones((2, loop.COLUMNS)), dict.fromkeys(OF_PATH, 1.0), None)
    >>> dict(dataset([one], day_steps=7_200, step=12.0, recorded=0).sizes)
    {'path': 1, 'day': 2}
    """
    days = np.stack([one.days for one in results])
    variables: dict[str, Any] = {
        name: (("path", "day"), days[:, :, column], units, text) for name, (column, units, text) in DAILY.items()
    }
    with np.errstate(invalid="ignore"):
        mean = days[:, :, loop.PRICE_SUM] / days[:, :, loop.STEPS]
    variables["mean_price_of_day"] = (("path", "day"), mean, "wei / byte", "mean data price")
    for name, (units, text) in OF_PATH.items():
        variables[name] = ("path", np.array([one.summary[name] for one in results]), units, text)
    coordinates: dict[str, Any] = {
        "path": np.arange(len(results)),
        "day": ("day", np.arange(days.shape[1]), "d", "day of the path"),
        "covered": ("day", days[0, :, loop.STEPS] / day_steps, "1", "covered part of the day"),
    }
    if recorded:
        series = np.stack([one.series for one in results[:recorded] if one.series is not None])
        for place, (name, units) in enumerate(SERIES.items()):
            variables[name] = (("recorded_path", "step"), series[:, place], units)
        coordinates["recorded_path"] = np.arange(len(series))
        coordinates["elapsed"] = ("step", step * np.arange(series.shape[2]), "s")
    return described_dataset(variables, coordinates)


def _over(amount: Any, whole: Any) -> float:
    return float(amount / whole) if whole else float("nan")
