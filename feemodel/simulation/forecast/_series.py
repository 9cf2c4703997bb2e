"""Convert L1 fees to a time series of means over ten minutes, the input of all forecasting methods."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from feemodel.checks import RealArray
from feemodel.errors import InvalidInput

BIN = 600  # length of a bin [s]
DAY = 144  # [bins]
WEEK = 7 * DAY  # [bins]
LONGEST = 10 * 366 * DAY  # maximum length of a series [bins]


@dataclass(frozen=True, slots=True, eq=False)
class FeeSeries:
    """Time series of the logarithm of a fee, in bins of ten minutes."""

    first_bin: int  #: number of bins from 1970 to the start of the series
    means: RealArray  #: (bins,): mean logarithm; a bin without rows has the mean of the bin before [log(wei / gas)]
    newest: RealArray  #: (bins,): logarithm of the last fee before the end of each bin [log(wei / gas)]
    interpolated: RealArray  #: (bins,): `means`, but linearly interpolated in bins without rows [log(wei / gas)]
    empty: NDArray[np.bool_]  #: (bins,): whether a bin has no rows

    def __len__(self) -> int:
        return len(self.means)

    def times(self) -> NDArray[np.datetime64]:
        """Return the start of each bin, of shape (bins,), in UTC."""
        return ((self.first_bin + np.arange(len(self))) * BIN).astype("datetime64[s]")


def binned(seconds: RealArray, fees: RealArray) -> FeeSeries:
    """Compute means of the logarithm of a fee over bins of ten minutes.

    In bins without rows, `means` and `newest` depend only on earlier rows, so forecasts may use `means` and `newest` up
    to their origin. Scores compare forecasts with `interpolated`, which also depends on later rows.

    Parameters
    ----------
    seconds : time of each row, (rows,), increasing [s since 1970].
    fees : fee of each row, (rows,), above 0 [wei / gas].

    Returns
    -------
    Series from the bin of the first row to the bin of the last row.

    Raises
    ------
    InvalidInput : the rows span more than ten years.

    >>> found = binned(np.array([0.0, 300.0, 1_800.0]), np.exp([1.0, 3.0, 5.0]))
    >>> found.means, found.newest, found.interpolated.round(6)
    (array([2., 2., 2., 5.]), array([3., 3., 3., 5.]), array([2., 3., 4., 5.]))
    """
    bins = (seconds // BIN).astype(np.int64)
    count = int(bins[-1] - bins[0]) + 1
    if count > LONGEST:
        raise InvalidInput("l1", f"expected at most ten years, {LONGEST:,} bins of {BIN} s", count)
    logs, index = np.log(fees), bins - bins[0]
    rows = np.bincount(index, minlength=count)
    empty = rows == 0
    means = np.bincount(index, logs, minlength=count) / np.maximum(rows, 1)
    known, every = np.flatnonzero(~empty), np.arange(count)
    # For each bin, the index of the last bin with rows, up to and including the bin itself.
    last_known = np.maximum.accumulate(np.where(empty, 0, every))
    last_row = np.searchsorted(index, every, side="right") - 1
    interpolated = np.interp(every, known, means[known])
    return FeeSeries(int(bins[0]), means[last_known], logs[last_row], interpolated, empty)


def days_before(horizon: int) -> int:
    """Round a horizon up to a whole number of days [bins].

    The value that precedes the target by the returned number of bins has the same time of day as the target, and is not
    later than the origin of the forecast.

    >>> days_before(1), days_before(144), days_before(145)
    (144, 144, 288)
    """
    return -(-horizon // DAY) * DAY
