"""Series of ten-minute means of the logarithm of a fee, which all methods forecast."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from feemodel.checks import RealArray
from feemodel.errors import InvalidInput

BIN = 600  # [s]
DAY = 144  # [bins]
WEEK = 7 * DAY  # [bins]
LONGEST = 10 * 366 * DAY  # [bins]


@dataclass(frozen=True, slots=True, eq=False)
class FeeSeries:
    """Logarithm of a fee in bins of ten minutes."""

    first_bin: int  #: number of the first bin since 1970 [10 min]
    means: RealArray  #: (bins,): mean logarithm; a bin without rows repeats the previous bin [log(wei / gas)]
    newest: RealArray  #: (bins,): logarithm of the newest fee at the end of each bin [log(wei / gas)]
    interpolated: RealArray  #: (bins,): like `means`, but with linear interpolation in bins without rows
    empty: NDArray[np.bool_]  #: (bins,): whether a bin has no rows

    def __len__(self) -> int:
        return len(self.means)

    def times(self) -> NDArray[np.datetime64]:
        """Return the start of each bin, of shape (bins,), in UTC."""
        return ((self.first_bin + np.arange(len(self))) * BIN).astype("datetime64[s]")


def binned(seconds: RealArray, fees: RealArray) -> FeeSeries:
    """Return the means of the logarithm of fees over bins of ten minutes.

    A method may read `means` and `newest` up to its origin, because a bin without rows depends only on earlier rows.
    Scores compare forecasts with `interpolated`.

    Parameters
    ----------
    seconds : time of each row, (rows,), increasing [s since 1970].
    fees : fee of each row, (rows,), above 0 [wei / gas].

    Returns
    -------
    Series from the bin of the first row to that of the last row.

    Raises
    ------
    InvalidInput : rows over more than ten years.

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
    last_known = np.maximum.accumulate(np.where(empty, 0, every))  # the newest bin with rows
    last_row = np.searchsorted(index, every, side="right") - 1
    interpolated = np.interp(every, known, means[known])
    return FeeSeries(int(bins[0]), means[last_known], logs[last_row], interpolated, empty)


def days_before(horizon: int) -> int:
    """Return the smallest whole number of days that is at least a horizon [bins].

    The value that lies this number of bins before a target is known at the origin and has the same time of day.

    >>> days_before(1), days_before(144), days_before(145)
    (144, 144, 288)
    """
    return -(-horizon // DAY) * DAY
