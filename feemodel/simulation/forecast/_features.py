"""Regressors of the quantile regression, computed only from fees up to the origin of a forecast."""

import numpy as np

from feemodel.checks import RealArray
from feemodel.simulation.forecast._series import DAY, WEEK, FeeSeries, days_before

HOUR, SIX_HOURS, THREE_DAYS = 6, 36, 3 * DAY  # [bins]
HARMONICS = 2


def trailing_mean(values: RealArray, length: int) -> RealArray:
    """Return, for each index, the mean of the `length` values that end at the index.

    For the first indices, which have fewer than `length` values, return the mean of all values up to the index.

    >>> trailing_mean(np.array([1.0, 3.0, 5.0]), 2)
    array([1., 2., 4.])
    """
    sums, indices = np.concatenate(([0.0], np.cumsum(values))), np.arange(len(values))
    first = np.maximum(indices - length + 1, 0)
    return np.asarray((sums[indices + 1] - sums[first]) / (indices + 1 - first))


def before_target(values: RealArray, horizon: int, lag: int) -> RealArray:
    """Return, for each origin, the value `lag` bins before the target, or NaN if the series starts after that bin.

    >>> before_target(np.array([1.0, 3.0, 5.0]), 1, 2)
    array([nan,  1.,  3.])
    """
    indices = np.arange(len(values)) + horizon - lag
    return np.where(indices < 0, np.nan, values[np.maximum(indices, 0)])


def anchors(series: FeeSeries, horizon: int) -> dict[str, RealArray]:
    """Return three simple estimates of a future fee at each origin: arrays of shape (bins,) by name.

    `newest` is the newest fee at the origin. `seasonal` is the fee at the target's time of day on the newest complete
    day. `level` is the average of `seasonal` and the mean fee over the last three days.

    >>> from feemodel.simulation.forecast._series import binned
    >>> series = binned(600.0 * np.arange(145), np.exp(np.arange(145.0)))
    >>> {name: float(values[-1]) for name, values in anchors(series, 1).items()}
    {'newest': 144.0, 'seasonal': 1.0, 'level': 36.5}
    """
    seasonal = before_target(series.means, horizon, days_before(horizon))
    return {
        "newest": series.newest,
        "seasonal": seasonal,
        "level": (seasonal + trailing_mean(series.means, THREE_DAYS)) / 2,
    }


def features(series: FeeSeries, horizon: int) -> RealArray:
    """Return the regressors of each origin, of shape (bins, 14). Some regressors of the first day are NaN.

    - the newest fee
    - the mean fees over the last ten minutes, hour, six hours and day
    - the fees one day and seven days before the target
    - the change over the last hour, and the standard deviation over the last six hours
    - two harmonics of the target's time of day, and whether the target is on a weekend

    If the fee seven days before the target is not known, the fee one day before the target is used instead.

    >>> from feemodel.simulation.forecast._series import binned
    >>> features(binned(600.0 * np.arange(300), np.exp(np.arange(300.0))), 1).shape
    (300, 14)
    """
    means = series.means - series.means[0]  # subtracting the first value keeps rounding errors of sums small
    a_day, a_week = (before_target(means, horizon, lag) for lag in (days_before(horizon), max(WEEK, horizon)))
    square = trailing_mean(means**2, SIX_HOURS) - trailing_mean(means, SIX_HOURS) ** 2
    target = series.first_bin + np.arange(len(series)) + horizon
    columns = [
        series.newest - series.means[0],
        means,
        *(trailing_mean(means, length) for length in (HOUR, SIX_HOURS, DAY)),
        a_day,
        np.where(np.isnan(a_week), a_day, a_week),
        means - before_target(means, 0, HOUR),
        np.sqrt(np.maximum(square, 0.0)),
    ]
    for harmonic in range(1, HARMONICS + 1):
        angle = 2 * np.pi * harmonic * (target % DAY) / DAY
        columns += [np.cos(angle), np.sin(angle)]
    columns.append(((target // DAY + 3) % 7 >= 5).astype(np.float64))  # 1 on weekends; 1970-01-01 was a Thursday
    return np.stack(columns, axis=1)
