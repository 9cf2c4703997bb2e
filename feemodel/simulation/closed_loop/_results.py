"""Compute the statistics of each simulated path, and collect the results of all paths in a Dataset."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from feemodel.checks import RealArray
from feemodel.simulation._metadata import described_dataset
from feemodel.simulation.closed_loop._accounts import DATA_LINES, DAY, LINES

HOUR = 3_600.0  # seconds
DELAYS = (0.5, 0.95, 0.99)
SERIES = {  # name → unit
    "price": "wei / byte",
    "balance": "wei",
    "backlog": "byte",
    "transactions_in_step": "1",
    "data_fees_in_step": "wei",
    "data_cost_of_step": "wei",
}

#: Result variables over path and day: name → unit and long name.
DAILY = {
    "data_fees": ("wei", "fees that users paid for data"),
    "execution_fees": ("wei", "fees that users paid for L2 execution"),
    "operator_fees": ("wei", "operator fees that users paid"),
    **{line: ("wei", f"cash cost: {line.replace('_', ' ')}") for line in LINES},
    "accrued_data_cost": ("wei", "cost of posting the bytes that arrived on the day"),
    "accrued_finalization_cost": ("wei", "cost of finalizing the bytes that arrived on the day"),
    "transactions": ("1", "transactions"),
    "bytes": ("byte", "compressed bytes that arrived"),
    "submissions": ("1", "submissions"),
    "blobs": ("1", "blobs posted"),
    "finalizations": ("1", "finalizations"),
    "last_price": ("wei / byte", "data price in the last step"),
    "min_balance": ("wei", "minimum balance of the operator at the end of a step"),
    "lost_transactions": ("1", "demand at the reference fee minus demand, added up over steps where it is positive"),
}

#: Result variables over path: name → unit and long name.
PATH_VARIABLES = {
    "recovery": ("1", "data fees divided by the cost of posting"),
    "total_recovery": ("1", "all fees divided by all costs"),
    "under_recovery_days": ("1", "complete days with data fees below the accrued cost of their bytes"),
    "under_recovery_probability": ("1", "under_recovery_days divided by whole_days"),
    "whole_days": ("1", "complete days of the path"),
    "volatility": ("1", "standard deviation of the changes in the logarithm of the hourly mean data price"),
    "p99_over_median": ("1", "99th percentile of the data price divided by its median"),
    "overcharge": ("1", "total data fees in excess of the cost of their bytes, divided by the cost of posting"),
    "undercharge": ("1", "total cost of bytes in excess of their data fees, divided by the cost of posting"),
    "bytes_below_cost": ("1", "share of bytes whose data fee was below their cost"),
    "max_drawdown": ("wei", "maximum drawdown of the operator's balance"),
    "drawdown_days": ("d", "max_drawdown divided by the mean cost of a day"),
    "mean_price": ("wei / byte", "mean data price of a step"),
    "peak_price": ("wei / byte", "maximum data price of a step"),
    "data_cost": ("wei", "cost of posting data"),
    "total_cost": ("wei", "all costs"),
    "total_fees": ("wei", "all fees"),
    "break_even_level": ("1", "factor on data prices with which data fees cover posting, if demand does not change"),
    "lost_demand": ("1", "lost transactions divided by demand at the reference fee"),
    "lost_fees": ("wei", "lost transactions times the reference fee"),
    "mean_wait": ("s", "mean time from the arrival of a byte to its submission"),
    "deadline_share": ("1", "share of bytes posted because of the deadline"),
    **{f"wait_p{100 * level:g}": ("s", f"{level:.0%} quantile of the waiting time of bytes") for level in DELAYS},
}


def summarized(
    days: NDArray[Any], prices: RealArray, waits: RealArray, accounts: Any, *, step: float, day_steps: int
) -> dict[str, float]:
    """Compute the statistics of a path from the arrays in which the loop stored its results.

    >>> from feemodel.simulation.closed_loop._accounts import ACCOUNTS
    >>> from feemodel.simulation.closed_loop.observations import empty_record, records
    >>> days = records(1, DAY)
    >>> days["data_fees"], days["data_blob_fee"], days["steps"] = 6.0, 4.0, 2.0
    >>> summarized(days, np.ones(2), np.zeros(1), empty_record(ACCOUNTS), step=12.0, day_steps=7_200)["recovery"]
    1.5
    """
    # Sum all fields at once, over one contiguous table. If each field were summed on its own, the sums would
    # be rounded differently, because NumPy does not add strided values in the same order as contiguous values.
    total = days.view(np.float64).reshape(len(days), -1).sum(axis=0).view(DAY)[0]
    data_fees = total["data_fees"]
    data_cost = np.array([total[line] for line in DATA_LINES]).sum()
    fees = data_fees + total["execution_fees"] + total["operator_fees"]
    cost = np.array([total[line] for line in LINES]).sum()
    whole = days[days["steps"] == day_steps]
    below = whole["data_fees"] < whole["accrued_data_cost"]
    length = len(prices) / day_steps
    drawdown = accounts["drawdown"]
    median, p99 = np.quantile(prices, (0.5, 0.99))
    found = {
        "recovery": _ratio(data_fees, data_cost),
        "total_recovery": _ratio(fees, cost),
        "under_recovery_days": float(below.sum()),
        "under_recovery_probability": _ratio(below.sum(), len(whole)),
        "whole_days": float(len(whole)),
        "volatility": volatility(prices, step),
        "p99_over_median": _ratio(p99, median),
        "overcharge": _ratio(total["overcharge"], data_cost),
        "undercharge": _ratio(total["undercharge"], data_cost),
        "bytes_below_cost": _ratio(total["bytes_below_cost"], total["bytes"]),
        "max_drawdown": float(drawdown),
        "drawdown_days": _ratio(drawdown, cost / length),
        "mean_price": float(prices.mean()),
        "peak_price": float(prices.max()),
        "data_cost": float(data_cost),
        "total_cost": float(cost),
        "total_fees": float(fees),
        "break_even_level": _ratio(data_cost, data_fees),
        "lost_demand": _ratio(total["lost_transactions"], total["transactions"] + total["lost_transactions"]),
        "lost_fees": float(total["lost_fees"]),
        "mean_wait": _ratio(accounts["waited"], waits.sum()),
        "deadline_share": _ratio(accounts["at_deadline"], total["bytes"]),
    }
    reached = np.cumsum(waits) / waits.sum() if waits.any() else np.full(len(waits), np.nan)
    for level in DELAYS:
        wait = float(np.searchsorted(reached, level - 1e-12)) * step if waits.any() else np.nan
        found[f"wait_p{100 * level:g}"] = wait
    return found


def volatility(prices: RealArray, step: float) -> float:
    """Return the standard deviation of log(mean price of an hour / mean price of the previous hour).

    The standard deviation is NaN if the mean price of an hour is 0, or if there are fewer than two hours.

    If the prices of three hours are 1, e and 1 wei, the logarithm of the price changes by 1 and −1:

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


def dataset(results: list[Mapping[str, NDArray[Any]]], *, day_steps: int, step: float) -> xr.Dataset:
    """Return a Dataset with the results of all paths, and with the series of recorded paths.

    The results have the dimensions `path` and `day`, and the series have the dimensions `recorded_path` and `step`.

    >>> one = {"days": np.ones(2, DAY), "summary": np.ones(len(PATH_VARIABLES))}
    >>> dict(dataset([one], day_steps=7_200, step=12.0).sizes)
    {'path': 1, 'day': 2}
    """
    days, summary = (np.stack([one[name] for one in results]) for name in ("days", "summary"))
    variables: dict[str, Any] = {
        name: (("path", "day"), days[name].copy(), units, text) for name, (units, text) in DAILY.items()
    }
    with np.errstate(invalid="ignore"):
        mean = days["price_sum"] / days["steps"]
    variables["mean_price_of_day"] = (("path", "day"), mean, "wei / byte", "mean data price")
    for index, (name, (units, text)) in enumerate(PATH_VARIABLES.items()):
        variables[name] = ("path", summary[:, index].copy(), units, text)
    coordinates: dict[str, Any] = {
        "path": np.arange(len(results)),
        "day": ("day", np.arange(days.shape[1]), "d", "day of the path"),
        "covered": ("day", days["steps"][0] / day_steps, "1", "covered part of the day"),
    }
    if recorded := [one["series"] for one in results if "series" in one]:
        series = np.stack(recorded)
        for name, units in SERIES.items():
            variables[name] = (("recorded_path", "step"), series[name].copy(), units)
        coordinates["recorded_path"] = np.arange(len(series))
        coordinates["elapsed"] = ("step", step * np.arange(series.shape[1]), "s")
    return described_dataset(variables, coordinates)


def _ratio(amount: Any, whole: Any) -> float:
    return float(amount / whole) if whole else float("nan")
