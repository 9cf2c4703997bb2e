"""Quantile forecasts of a series from rolling origins: the named baselines and `auto`.

Every method is refitted once a day, on targets that lie before the day's first origin, and reads nothing after an
origin. The definitions of the baselines are those of the table on the page "Forecasts of L1 fees".
"""

import math
from typing import Literal, TypeAlias, get_args

import numpy as np

from feemodel.checks import RealArray
from feemodel.errors import InvalidInput
from feemodel.ethereum._fee_units import MAXIMUM
from feemodel.simulation.forecast._combination import combined
from feemodel.simulation.forecast._conformal import calibrated
from feemodel.simulation.forecast._features import SIX_HOURS, anchors, features
from feemodel.simulation.forecast._quantile_regression import RIDGE, fit_quantiles
from feemodel.simulation.forecast._series import DAY, WEEK, FeeSeries

Method: TypeAlias = Literal["climatology", "persistence", "seasonal", "blend", "auto"]
METHODS: tuple[str, ...] = get_args(Method)
BASELINES = METHODS[:-1]

SKIPPED = 2 * DAY  # origins at the beginning of a series that no method is fitted on [bins]
RECENT = 3 * DAY  # newest errors of the persistence that `auto` reads besides that of the whole past [bins]
LONGEST_FIT = 45 * DAY  # newest targets that the regressions are fitted on [bins]
WARM_UP = WEEK  # origins before the first one, which `auto` learns its weights and widths from [bins]
LARGEST_STRIDE = 6  # bins between fitted targets from six hours ahead on, where neighbours tell much the same; else 2
LARGEST_FEE = MAXIMUM  # of a forecast and of a history: what is beyond it is no fee of L1 [wei / gas]
MIN_ROWS = DAY  # targets that a method is fitted on [bins]


def min_bins(horizon: int, *, method: str = "auto") -> int:
    """The shortest series that a method forecasts at a horizon [bins].

    >>> min_bins(144) / 144, min_bins(144, method="seasonal") / 144
    (6.0, 4.0)
    """
    return SKIPPED + horizon + MIN_ROWS + (2 * DAY if method == "auto" else 0)


def fees_of(logarithms: RealArray) -> RealArray:
    """Fees of forecast logarithms, none above `LARGEST_FEE` by rounding [wei / gas].

    >>> fees_of(np.array([0.0, math.log(LARGEST_FEE)])).tolist()
    [1.0, 1e+16]
    """
    return np.asarray(np.minimum(np.exp(logarithms), LARGEST_FEE))


def check_length(bins: int, horizon: int, *, method: str) -> None:
    """Raise `InvalidInput` unless a method forecasts at a horizon [bins] from so many bins.

    >>> check_length(864, 144, method="auto")
    """
    minimum = min_bins(horizon, method=method)
    if bins < minimum:
        reason = f"expected at least {minimum / 6:,.1f} h up to the first origin, at a horizon of {horizon / 6:,.1f} h"
        raise InvalidInput("l1", reason, f"{bins / 6:,.1f} h")


def rolling_quantiles(
    series: FeeSeries, horizon: int, *, method: str, quantiles: RealArray, first: int | None = None
) -> RealArray:
    """Quantiles of the mean logarithm of a fee, `horizon` bins after each origin.

    Parameters
    ----------
    series : the fee.
    horizon : at least 1 [bins].
    method : one of `METHODS`.
    quantiles : (q), rising, above 0 and below 1.
    first : place of the first origin; the newest bin, which is the only origin then, unless given.

    Returns
    -------
    Array (origins, q), for every origin from the first to the newest bin of the series, from 1 wei, the least of both
    fees by the protocol, to `LARGEST_FEE` [log(wei / gas)].

    Raises
    ------
    InvalidInput : a series that is too short for an origin so early.

    >>> from feemodel.simulation.forecast._series import binned
    >>> series = binned(600.0 * np.arange(1_000), np.full(1_000, 1e9))
    >>> rolling_quantiles(series, 6, method="persistence", quantiles=np.array([0.1, 0.9])).round(6)
    array([[20.723266, 20.723266]])
    """
    begin = len(series) - 1 if first is None else first
    check_length(begin + 1, horizon, method=method)
    if method == "auto":
        found = _auto(series, horizon, quantiles, begin)
    else:
        found = _baseline(series, horizon, method, quantiles, begin)
    return _bounded(found)


def _bounded(logarithms: RealArray) -> RealArray:
    return np.clip(logarithms, 0.0, math.log(LARGEST_FEE))


def _auto(series: FeeSeries, horizon: int, quantiles: RealArray, begin: int) -> RealArray:
    """Quantile regressions on three anchors and the baselines, weighted by recent losses, and calibrated."""
    warm = max(begin - WARM_UP, min_bins(horizon, method="seasonal"))
    warm = begin - (begin - warm) // DAY * DAY  # so that refits fall on the same times of day
    levels = np.unique(np.append(quantiles, 0.5))
    experts = [_baseline(series, horizon, name, levels, warm) for name in BASELINES]
    experts += _regressions(series, horizon, levels, warm)
    experts.append(_recent_persistence(series, horizon, levels, warm))
    targets = series.means[warm + horizon :]
    mixed = combined(np.stack(experts), targets, series.means[warm:], levels, horizon)
    found = calibrated(mixed, targets, levels, horizon)
    return found[begin - warm :, np.isin(levels, quantiles)]


def _days(begin: int, end: int) -> list[slice]:
    """The origins from `begin` on, one slice a day."""
    return [slice(day, min(day + DAY, end)) for day in range(begin, end, DAY)]


def _baseline(series: FeeSeries, horizon: int, method: str, quantiles: RealArray, begin: int) -> RealArray:
    values, found = series.means, np.empty((len(series) - begin, len(quantiles)))
    seasonal = anchors(series, horizon)["seasonal"]
    for day in _days(begin, len(series)):
        origins = slice(day.start - begin, day.stop - begin)
        if method == "climatology":
            found[origins] = np.quantile(values[: day.start], quantiles)
            continue
        fitted = np.arange(SKIPPED, day.start - horizon)
        fitted = fitted[~np.isnan(seasonal[fitted])]
        if method == "blend":
            design = np.column_stack((values, seasonal, np.ones_like(values)))
            middle = design @ np.linalg.lstsq(design[fitted], values[fitted + horizon], rcond=None)[0]
        else:
            middle = values if method == "persistence" else seasonal
        errors = np.quantile(values[fitted + horizon] - middle[fitted], quantiles)
        found[origins] = middle[day][:, None] + errors
    return found


def _recent_persistence(series: FeeSeries, horizon: int, quantiles: RealArray, begin: int) -> RealArray:
    """The newest value and quantiles of the changes of three days, which follow a change of the fee's spread."""
    values, found = series.means, np.empty((len(series) - begin, len(quantiles)))
    for day in _days(begin, len(series)):
        fitted = np.arange(max(SKIPPED, day.start - horizon - RECENT), day.start - horizon)
        changes = np.quantile(values[fitted + horizon] - values[fitted], quantiles)
        found[day.start - begin : day.stop - begin] = values[day][:, None] + changes
    return found


def _regressions(series: FeeSeries, horizon: int, quantiles: RealArray, begin: int) -> list[RealArray]:
    """Quantile regressions of the distance from each anchor; a ridge penalty draws them towards it."""
    table, values = features(series, horizon), series.means
    complete = np.isfinite(table.sum(axis=1))
    stride = 2 if horizon < SIX_HOURS else LARGEST_STRIDE
    results = []
    for anchor in anchors(series, horizon).values():
        found, start = np.empty((len(series) - begin, len(quantiles))), None
        for day in _days(begin, len(series)):
            newest = day.start - horizon
            fitted = np.arange(newest - 1, max(SKIPPED, newest - LONGEST_FIT) - 1, -stride)[::-1]
            fitted = fitted[complete[fitted] & ~np.isnan(anchor[fitted])]
            mean, deviation = table[fitted].mean(axis=0), table[fitted].std(axis=0)
            deviation = np.where(deviation > 0.0, deviation, 1.0)
            regressors = (table[fitted] - mean) / deviation
            distance = values[fitted + horizon] - anchor[fitted]
            start = fit_quantiles(regressors, distance, quantiles, start=start, ridge=RIDGE / stride)
            # A line that fits a range says nothing of what is beyond it.
            standard = np.clip((table[day] - mean) / deviation, regressors.min(axis=0), regressors.max(axis=0))
            predicted = anchor[day][:, None] + standard @ start[:, :-1].T + start[:, -1]
            found[day.start - begin : day.stop - begin] = np.sort(predicted, axis=1)
        results.append(found)
    return results
