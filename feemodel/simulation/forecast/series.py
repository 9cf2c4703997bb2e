"""L1 fees as a time series of means over ten minutes, and the regressors of a forecast."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from feemodel.checks import RealArray, WholeArray
from feemodel.errors import InvalidInput

BIN = 600  # length of a bin [s]
HOUR, SIX_HOURS, DAY = 6, 36, 144  # [bins]
WEEK = 7 * DAY
LONGEST = 10 * 366 * DAY  # maximum length of a series [bins]
TYPICAL_DAYS = 5  # number of days whose median is the typical fee at a time of day, so one spike has no effect
HARMONICS = 2


@dataclass(frozen=True, slots=True, eq=False)
class FeeSeries:
    """Time series of the logarithm of a fee, in bins of ten minutes."""

    first_bin: int  #: number of bins from 1970 to the start of the series
    means: RealArray  #: (bins,): mean logarithm; a bin without rows has the mean of the bin before [log(wei / gas)]
    newest: RealArray  #: (bins,): logarithm of the last fee before the end of each bin [log(wei / gas)]
    interpolated: RealArray  #: (bins,): `means`, but linearly interpolated in bins without rows [log(wei / gas)]
    used: NDArray[np.bool_]  #: (bins,): whether fits and sample paths use what followed the bin

    def __len__(self) -> int:
        return len(self.means)

    def fitted(self, origins: WholeArray) -> WholeArray:
        """Return the origins that are used in fits, or all origins if none is used."""
        kept = origins[self.used[origins]]
        return kept if kept.size else origins


def binned(seconds: RealArray, fees: RealArray) -> FeeSeries:
    """Compute means of the logarithm of a fee over bins of ten minutes, from increasing times [s since 1970].

    `means` and `newest` use only earlier rows, so a forecast may use them up to its origin. Scores compare
    forecasts with `interpolated`, which also depends on later rows.

    >>> found = binned(np.array([0.0, 300.0, 1_800.0]), np.exp([1.0, 3.0, 5.0]))
    >>> found.means, found.newest, found.interpolated.round(6)
    (array([2., 2., 2., 5.]), array([3., 3., 3., 5.]), array([2., 3., 4., 5.]))
    """
    bins = (seconds // BIN).astype(np.int64)
    count = int(bins[-1] - bins[0]) + 1
    if count > LONGEST:
        raise InvalidInput("l1", f"expected at most ten years, {LONGEST:,} bins of {BIN} s", count)
    rows = pd.Series(np.log(fees)).groupby(bins)
    every = range(int(bins[0]), int(bins[-1]) + 1)
    means, newest = rows.mean().reindex(every), rows.last().reindex(every)
    return FeeSeries(
        int(bins[0]),
        means=np.asarray(means.ffill(), np.float64),
        newest=np.asarray(newest.ffill(), np.float64),
        interpolated=np.asarray(means.interpolate(), np.float64),
        used=np.ones(count, bool),
    )


def days_before(horizon: int) -> int:
    """Round a horizon up to a whole number of days [bins].

    >>> days_before(1), days_before(144), days_before(145)
    (144, 144, 288)
    """
    return -(-horizon // DAY) * DAY


def before_target(values: RealArray, horizon: int, lag: int) -> RealArray:
    """Return, for each origin, the value `lag` bins before the target, or NaN if the series starts after that bin.

    >>> before_target(np.array([1.0, 3.0, 5.0]), 1, 2)
    array([nan,  1.,  3.])
    """
    return pd.Series(values).shift(lag - horizon).to_numpy()


def typical(values: RealArray, horizon: int) -> RealArray:
    """Return the median of the newest days at the target's time of day, for each origin; NaN in the first day.

    >>> found = typical(np.repeat([1.0, 9.0, 2.0, 3.0], DAY), DAY)
    >>> found[::DAY]  # the spike of the second day is not the forecast after the third
    array([1. , 5. , 2. , 2.5])
    """
    lags = [days_before(horizon) + day * DAY for day in range(TYPICAL_DAYS)]
    days = np.column_stack([before_target(values, horizon, lag) for lag in lags])
    return pd.DataFrame(days).median(axis=1).to_numpy()


def trailing(values: RealArray, length: int) -> "pd.api.typing.Rolling[pd.Series[float]]":
    """Return the windows of `length` bins that end with each bin."""
    return pd.Series(values).rolling(length, min_periods=1)


def estimate(series: FeeSeries, horizon: int) -> RealArray:
    """Return a simple estimate of a future fee: the newest fee, which returns to the typical fee within hours."""
    newest = np.exp(-horizon / SIX_HOURS)
    return np.asarray(newest * series.newest + (1.0 - newest) * typical(series.means, horizon))


def features(series: FeeSeries, horizon: int) -> RealArray:
    """Return each origin's regressors from fees up to it, of shape (bins, 14). The first rows have some NaN.

    They are the newest fee; the means of ten minutes, an hour, six hours and a day; the typical fee at the target's
    time of day and the fee a week before the target; the change in an hour and the deviation in six; two harmonics of
    the target's time of day; and whether the target is on a weekend.
    """
    means = series.means
    usual, a_week = typical(means, horizon), before_target(means, horizon, max(WEEK, horizon))
    target = series.first_bin + np.arange(len(series)) + horizon
    angles = 2 * np.pi * (target % DAY) / DAY * np.arange(1, HARMONICS + 1)[:, None]
    return np.column_stack(
        (
            series.newest,
            means,
            *(trailing(means, length).mean() for length in (HOUR, SIX_HOURS, DAY)),
            usual,
            np.where(np.isnan(a_week), usual, a_week),
            means - before_target(means, 0, HOUR),
            trailing(means, SIX_HOURS).std(ddof=0),
            *np.cos(angles),
            *np.sin(angles),
            (target // DAY + 3) % 7 >= 5,  # 1970-01-01 was a Thursday
        )
    )
