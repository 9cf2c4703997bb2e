"""Statistics over dimensions of a sweep, in memory that does not grow with the number of evaluations.

Workers reduce each piece of a sweep to sums and counts, which are merged in the order of the pieces. So the number of
workers does not change any bit of the result. For quantiles, the evaluations are counted in bins: a bin holds the
doubles that are equal when they are rounded to ten bits of the fraction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from feemodel._compiled import cached_njit
from feemodel.checks import check_limit, sequence
from feemodel.errors import InvalidInput
from feemodel.quantities import ANY_REAL

RUN = 4_096  # number of elements summed at a time, which fit into the processor's L1 cache
LARGEST_TABLE = 1 << 27  # maximum number of sums and counts of a result (1 GiB)
BIN_BITS = 42  # bits of a double below the first ten of its fraction
HALF_BIN, LARGEST_INT64 = 1 << (BIN_BITS - 1), 2**63 - 1
ADVICE = ": reduce over more dimensions, or keep all evaluations and use xarray's statistics"


class Sums(NamedTuple):
    """Sums and counts over evaluations; each array has one element, or one row, for each cell of the result."""

    evaluations: NDArray[np.int64]
    total: NDArray[np.float64]
    squares: NDArray[np.float64]  #: Σ (x − mean)²
    minima: NDArray[np.float64]
    maxima: NDArray[np.float64]
    above: NDArray[np.int64]  #: (cell, threshold): number of evaluations above the threshold
    counts: NDArray[np.int64]  #: (cell, bin): number of evaluations in the bin
    bins: NDArray[np.int64]  #: indices of the bins in which a cell has an evaluation, ascending


@dataclass(frozen=True)
class Over:
    """Statistics over some dimensions, as returned by `over`."""

    dims: tuple[str, ...]
    quantile: tuple[float, ...] = ()
    above: tuple[float, ...] = ()

    def sums(self, values: NDArray[Any], axes: tuple[int, ...]) -> Sums:
        """Reduce a piece of a sweep over the given axes; the cells are in C order of the other axes."""
        kept = [axis for axis in range(values.ndim) if axis not in axes]
        count = prod(values.shape[axis] for axis in axes)
        table = np.ascontiguousarray(values.transpose(*kept, *axes)).reshape(-1, count)
        if table.dtype == bool:
            table = table.view(np.uint8)
        above = np.empty((len(table), len(self.above)), dtype=np.int64)
        if (self.above or self.quantile) and table.dtype.kind == "f" and np.isnan(table).any():
            raise InvalidInput("function", "expected numbers other than NaN, because they are counted", float("nan"))
        for index, threshold in enumerate(self.above):
            above[:, index] = np.count_nonzero(table > threshold, axis=1)
        total, squares, minima, maxima = _moments(table)
        counts, bins = np.empty((len(table), 0), dtype=np.int64), np.empty(0, dtype=np.int64)
        if self.quantile:
            counts, bins = _counted(table, minima, maxima)
        return Sums(np.full(len(table), count), total, squares, minima, maxima, above, counts, bins)


def over(*dims: str, quantile: Sequence[float] = (), above: Sequence[float] = ()) -> Over:
    """Choose the statistics that a sweep keeps in place of all evaluations.

    A sweep keeps the mean, the standard deviation (of the population), the minimum and the maximum over the dimensions.
    For other statistics, keep all evaluations and use xarray's, such as `fees.priority_fee.median("sample")`.

    Parameters
    ----------
    dims : names of the dimensions, such as "sample" or "transaction".
    quantile : levels of quantiles, from 0 to 1 [1]. A quantile differs from the exact, linearly interpolated one by at
        most 0.05 %, except below 2.2e-308. For integers up to 2,048, it is exact.
    above : thresholds [unit of the result]; for each threshold y, the statistic is the share of evaluations x > y [1].

    Returns
    -------
    Reduction for `sweep`.

    Raises
    ------
    InvalidInput : no dimension, a name or a level twice, or a level out of range.

    >>> over("transaction", quantile=[0.05, 0.95])
    Over(dims=('transaction',), quantile=(0.05, 0.95), above=())
    """
    if not dims:
        raise InvalidInput("over", "expected at least one dimension, such as sample", dims)
    for index, dim in enumerate(dims):
        if not isinstance(dim, str):
            raise InvalidInput("over", "expected the name of a dimension", dim, (index,))
    levels = _numbers("quantile", quantile)
    for index, level in enumerate(levels):
        if not 0.0 <= level <= 1.0:
            raise InvalidInput("quantile", "expected levels from 0 to 1", level, (index,))
    _check_distinct("over", dims)
    return Over(dims, levels, _numbers("above", above))


def _numbers(name: str, given: Any) -> tuple[float, ...]:
    numbers = sequence(name, given.tolist() if isinstance(given, np.ndarray) else given)
    found = tuple(ANY_REAL.check_one(name, number) for number in numbers)
    _check_distinct(name, found)
    return found


def _check_distinct(name: str, given: tuple[Any, ...]) -> None:
    for index, one in enumerate(given):
        if one in given[:index]:
            raise InvalidInput(name, "expected each only once", one, (index,))


class Table:
    """Sums of all cells of a result, merged from the sums of the pieces."""

    def __init__(self, shape: tuple[int, ...], wanted: Over) -> None:
        check_limit(prod(shape) * (5 + len(wanted.above)), "sums of a result", LARGEST_TABLE, ADVICE)
        self._wanted, self._shape = wanted, shape
        self._evaluations, self._total, self._squares = np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape)
        self._minima, self._maxima = np.full(shape, np.inf), np.full(shape, -np.inf)
        self._above = np.zeros((*shape, len(wanted.above)), dtype=np.int64)
        self._counts, self._bins = np.zeros((*shape, 0), dtype=np.int64), np.empty(0, dtype=np.int64)

    def merge(self, cells: tuple[slice, ...], sums: Sums) -> None:
        """Add the sums of a piece to the given cells (Chan, Golub, LeVeque: Updating formulae, 1979)."""
        here = self._evaluations[cells]
        count, total = sums.evaluations.reshape(here.shape), sums.total.reshape(here.shape)
        squares, minima = sums.squares.reshape(here.shape), sums.minima.reshape(here.shape)
        maxima = sums.maxima.reshape(here.shape)
        difference = np.where(here > 0, total / count - self._total[cells] / np.maximum(here, 1), 0.0)
        self._squares[cells] += squares + difference**2 * (here * count / (here + count))
        self._evaluations[cells] += count
        self._total[cells] += total
        self._minima[cells] = np.minimum(self._minima[cells], minima)
        self._maxima[cells] = np.maximum(self._maxima[cells], maxima)
        self._above[cells] += sums.above.reshape(*here.shape, -1)
        if self._wanted.quantile:
            self._add_counts(cells, sums.counts.reshape(*here.shape, -1), sums.bins)

    def _add_counts(self, cells: tuple[slice, ...], counts: NDArray[np.int64], bins: NDArray[np.int64]) -> None:
        together = np.union1d(self._bins, bins)
        if together.size > self._bins.size:
            check_limit(prod(self._shape) * together.size, "counts for quantiles", LARGEST_TABLE, ADVICE)
            wider = np.zeros((*self._shape, together.size), dtype=np.int64)
            wider[..., np.searchsorted(together, self._bins)] = self._counts
            self._counts, self._bins = wider, together
        self._counts[cells][..., np.searchsorted(together, bins)] += counts

    def variables(self, name: str, dims: tuple[str, ...], attributes: dict[str, Any]) -> dict[str, Any]:
        """Return the variables of a result: dimensions, values and attributes by name."""
        found: dict[str, Any] = {
            f"{name}_mean": (dims, self._total / self._evaluations, attributes),
            f"{name}_std": (dims, np.sqrt(self._squares / self._evaluations), attributes),
            f"{name}_min": (dims, self._minima, attributes),
            f"{name}_max": (dims, self._maxima, attributes),
        }
        if self._wanted.above:
            share = self._above / self._evaluations[..., None]
            found[f"{name}_above"] = ((*dims, "above"), share, {"units": "1"})
        if self._wanted.quantile:
            found[f"{name}_quantile"] = ((*dims, "quantile"), self._quantiles(), attributes)
        return found

    def _quantiles(self) -> NDArray[np.float64]:
        found = np.empty((*self._shape, len(self._wanted.quantile)))
        for cell in np.ndindex(self._shape):
            ranks = np.cumsum(self._counts[cell])
            for index, level in enumerate(self._wanted.quantile):
                rank = level * (int(ranks[-1]) - 1)
                below, beyond = _value_of_bin(self._bins[np.searchsorted(ranks, [rank // 1, -(-rank // 1)], "right")])
                found[(*cell, index)] = below + (beyond - below) * (rank % 1)
        return np.clip(found, self._minima[..., None], self._maxima[..., None])


@cached_njit(inline="always")
def _bin_of(bits):  # type: ignore[no-untyped-def]
    """Return the index of the bin of a double, given its bits; the indices have the order of the doubles."""
    # The bits of negative doubles have the opposite order.
    return ((bits ^ ((bits >> 63) & LARGEST_INT64)) + HALF_BIN) >> BIN_BITS


def _value_of_bin(bins: NDArray[np.int64]) -> NDArray[np.float64]:
    bits = np.asarray(bins, dtype=np.int64) << BIN_BITS
    return (bits ^ ((bits >> 63) & LARGEST_INT64)).view(np.float64)


def _counted(
    table: NDArray[Any], minima: NDArray[np.float64], maxima: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the count of evaluations in each bin, of shape (cell, bin), and the bins' indices."""
    first, last = (int(_bin_of(np.array(end).view(np.int64))) for end in (minima.min(), maxima.max()))
    bits = table.astype(np.float64).view(np.int64)
    place = np.zeros(last - first + 1, dtype=np.int64)  # by bin between the extremes; most bins are empty
    _mark(bits, first, place)
    bins = np.flatnonzero(place)
    check_limit(len(table) * bins.size, "counts for quantiles", LARGEST_TABLE, ADVICE)
    place[bins] = np.arange(bins.size)
    counts = np.zeros((len(table), bins.size), dtype=np.int64)
    _count(bits, first, place, counts)
    return counts, bins + first


@cached_njit(nogil=True)
def _mark(bits, first, place):  # type: ignore[no-untyped-def]
    for r in range(bits.shape[0]):
        for i in range(bits.shape[1]):
            place[_bin_of(bits[r, i]) - first] = 1


@cached_njit(nogil=True)
def _count(bits, first, place, counts):  # type: ignore[no-untyped-def]
    for r in range(bits.shape[0]):
        for i in range(bits.shape[1]):
            counts[r, place[_bin_of(bits[r, i]) - first]] += 1


# This function is written so that the compiler vectorizes its loops. "reassoc" allows the compiler to vectorize sums of
# doubles. Minimum and maximum are computed without conversion to doubles, because the compiler vectorizes the loops for
# integers too. Each sum has a loop of its own with an index from 0, because the compiler does not vectorize a loop with
# several sums or with an index that could be negative.
@cached_njit(nogil=True, fastmath={"reassoc", "contract"})
def _moments(table):  # type: ignore[no-untyped-def]
    rows, columns = table.shape
    total, squares, minima, maxima = np.empty(rows), np.empty(rows), np.empty(rows), np.empty(rows)
    for r in range(rows):
        row_total, row_squares, row_min, row_max = 0.0, 0.0, table[r, 0], table[r, 0]
        for start in range(0, columns, RUN):
            run = table[r, start : start + RUN]
            run_total, run_squares = 0.0, 0.0
            for i in range(run.size):
                run_total += np.float64(run[i])
            for i in range(run.size):
                row_min = min(row_min, run[i])
            for i in range(run.size):
                row_max = max(row_max, run[i])
            mean = run_total / run.size
            for i in range(run.size):
                difference = np.float64(run[i]) - mean
                run_squares += difference * difference
            if start:
                difference = mean - row_total / start
                run_squares += difference * difference * (start * run.size / (start + run.size))
            row_squares += run_squares
            row_total += run_total
        total[r], squares[r], minima[r], maxima[r] = row_total, row_squares, row_min, row_max
        if np.isnan(row_total):  # `min` and `max` ignore NaN
            minima[r] = maxima[r] = np.nan
    return total, squares, minima, maxima
