"""Statistics over dimensions of a sweep or another result: moments, shares, quantiles, tail means and drawdowns.

Workers reduce each block of evaluations to sums. The sums are merged in the order of the blocks, so the result does not
depend on the number of workers. The sums are enough for moments, shares and histograms. Quantiles, tail means and
drawdowns are exact, and need all evaluations in memory. xarray's reductions would need all evaluations in memory for
every statistic.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from feemodel._compiled import cached_njit
from feemodel._records import compared_by_value, summary
from feemodel.checks import instance, real, real_scalar, sequence
from feemodel.errors import InvalidInput
from feemodel.simulation._blocks import part_of

MOMENTS = ("mean", "std", "min", "max", "sum")
STATISTICS = (*MOMENTS, "drawdown")
DEFAULT_STATISTICS = STATISTICS[:4]
LEVELS = ("quantile", "cvar_lower", "cvar_upper")  # statistics that have one value for each level
SORTED_AT_ONCE = 1 << 20  # maximum number of values sorted at a time
RUN = 4_096  # number of elements summed at a time, which fit into the processor's L1 cache


@compared_by_value
class Moments(NamedTuple):
    """Sums over evaluations; each array has one element, or one row, for each cell of the result."""

    evaluations: NDArray[np.int64]
    total: NDArray[np.float64]
    squares: NDArray[np.float64]  #: Σ (x − mean)²
    minima: NDArray[np.float64]
    maxima: NDArray[np.float64]
    histogram: NDArray[np.int64]  #: (cell, bin): number of evaluations in the bin; without `edges`, there are no bins
    below: NDArray[np.int64]  #: (cell, threshold): number of evaluations below the threshold


@compared_by_value
@dataclass(frozen=True, eq=False)
class Over:
    """Statistics over some dimensions, as returned by `over`.

    >>> over("sample", edges=[1.0, 2.0]) == over("sample", edges=[1.0, 2.0])
    True
    """

    dims: tuple[str, ...]
    statistics: tuple[str, ...] = DEFAULT_STATISTICS
    edges: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))  #: a read-only copy
    quantile: tuple[float, ...] = ()
    below: tuple[float, ...] = ()
    cvar_lower: tuple[float, ...] = ()
    cvar_upper: tuple[float, ...] = ()

    def __repr__(self) -> str:  # the `repr` of a dataclass, but with a short text for a long list of edges
        edges = f", edges={summary(self.edges.tolist())}" if self.bins else ""
        levels = "".join(f", {name}={given!r}" for name, given in self.levels.items() if given)
        return f"Over({self.dims!r}, {self.statistics!r}{edges}{levels})"

    def __hash__(self) -> int:
        return hash((self.dims, self.statistics, tuple(self.edges.tolist()), *self.levels.values()))

    def __post_init__(self) -> None:
        for name, given, known in (("over", self.dims, None), ("statistics", self.statistics, STATISTICS)):
            object.__setattr__(self, "dims" if known is None else name, _names(name, given, known))
        object.__setattr__(self, "edges", _rising(self.edges))
        for name in LEVELS:
            object.__setattr__(self, name, _shares(name, getattr(self, name)))
        object.__setattr__(self, "below", _thresholds(self.below))
        if "drawdown" in self.statistics and len(self.dims) != 1:
            reason = "expected one dimension, because a drawdown depends on the order along it"
            raise InvalidInput("over", reason, list(self.dims))

    @property
    def levels(self) -> dict[str, tuple[float, ...]]:
        """Statistic → levels or thresholds, the values of a coordinate of the result with the statistic's name."""
        return {name: getattr(self, name) for name in (*LEVELS, "below")}

    @property
    def holds_values(self) -> bool:
        """Whether all evaluations must be kept in memory."""
        return "drawdown" in self.statistics or any(getattr(self, name) for name in LEVELS)

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the statistics; the names of the variables in the result end with these names."""
        levels = [name for name, given in self.levels.items() if given]
        return (*self.statistics, *(["histogram"] if self.bins else []), *levels)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the dimensions and coordinates that the statistics add."""
        levels = [name for name, given in self.levels.items() if given]
        return (*(["bin", "bin_from"] if self.bins else []), *levels)

    @property
    def bins(self) -> int:
        """Number of bins of the histogram; 0 if there is no histogram."""
        return self.edges.size + 1 if self.edges.size else 0

    def moments(self, values: NDArray[Any], axes: tuple[int, ...]) -> Moments:
        """Compute the moments of a block of evaluations over the given axes; cells are in C order of the other axes."""
        kept = [axis for axis in range(values.ndim) if axis not in axes]
        count = prod(values.shape[axis] for axis in axes)
        ordered = np.ascontiguousarray(values.transpose(*kept, *axes))
        table = (ordered.view(np.uint8) if ordered.dtype == bool else ordered).reshape(-1, count)
        total, squares, minima, maxima = _moments(table)
        counts = np.full(len(table), count)
        return Moments(counts, total, squares, minima, maxima, self._histogram(table), self._below(table))

    def of_values(self, table: NDArray[Any]) -> dict[str, NDArray[np.float64]]:
        """Compute quantiles, tail means and drawdowns.

        The table has the shape (cells, evaluations), and each result has the shape (cells, levels).
        """
        found: dict[str, list[NDArray[np.float64]]] = {name: [] for name in LEVELS if getattr(self, name)}
        if "drawdown" in self.statistics:
            found["drawdown"] = []
        for part in _parts(table):
            if "drawdown" in found:
                found["drawdown"].append(_drawdown(part))
            part.sort(axis=1)
            if self.quantile:
                found["quantile"].append(np.quantile(part, self.quantile, axis=1).T)
            if self.cvar_lower:
                found["cvar_lower"].append(_tail_means(part, self.cvar_lower))
            if self.cvar_upper:
                found["cvar_upper"].append(-_tail_means(-part[:, ::-1], self.cvar_upper))
        return {name: np.concatenate(parts) for name, parts in found.items()}

    def _below(self, table: NDArray[Any]) -> NDArray[np.int64]:
        if not self.below:
            return np.empty((len(table), 0), dtype=np.int64)
        _check_numbers(table)
        return np.stack([np.count_nonzero(table < threshold, axis=1) for threshold in self.below], axis=1)

    def _histogram(self, table: NDArray[Any]) -> NDArray[np.int64]:
        bins = self.bins
        if not bins:
            return np.empty((len(table), 0), dtype=np.int64)
        _check_numbers(table)
        bins_of = np.searchsorted(self.edges, table, side="right") + np.arange(len(table))[:, None] * bins
        return np.bincount(bins_of.reshape(-1), minlength=len(table) * bins).reshape(-1, bins).astype(np.int64)


def over(
    *dims: str,
    statistics: Sequence[str] = DEFAULT_STATISTICS,
    edges: "ArrayLike | None" = None,
    quantile: Sequence[float] = (),
    below: Sequence[float] = (),
    cvar_lower: Sequence[float] = (),
    cvar_upper: Sequence[float] = (),
) -> Over:
    """Choose statistics over some dimensions of a sweep or of another result.

    Quantiles, tail means and drawdowns are exact; they need all evaluations in memory.

    Parameters
    ----------
    dims : names of the dimensions, such as "sample", "transaction" or "path".
    statistics : any of "mean", "std" (population standard deviation), "min", "max", "sum" and "drawdown". The drawdown
        is the largest decrease of the cumulative sum from any earlier value; the cumulative sum starts at 0. With
        "drawdown", `dims` must be a single dimension.
    edges : ascending edges of a histogram [unit of the result]. The histogram has an additional first bin for values
        below the first edge, and an additional last bin for values at or above the last edge.
    quantile : levels from 0 to 1 [1]; quantiles are interpolated linearly.
    below : thresholds [unit of the result]; for each threshold y, the statistic is P(x < y), the share of evaluations
        below y [1].
    cvar_lower, cvar_upper : shares of the evaluations, above 0 and up to 1 [1]. For a share of 0.05, `cvar_lower` is
        the mean of the lowest 5 % of the evaluations, and `cvar_upper` is the mean of the highest 5 % (conditional
        value at risk). If share · number of evaluations is not an integer, the evaluation at the boundary has a weight
        below 1.

    Returns
    -------
    Reduction for `sweep` or `summarize`.

    Raises
    ------
    InvalidInput : no dimension, an unknown statistic, a duplicate name, edges that are not ascending, a level out of
        range, or a drawdown over several dimensions.

    >>> over("transaction", statistics=["mean"], quantile=[0.05, 0.95]).variables
    ('mean', 'quantile')
    """
    given: dict[str, Any] = {"quantile": quantile, "below": below, "cvar_lower": cvar_lower, "cvar_upper": cvar_upper}
    if edges is not None:
        given["edges"] = np.atleast_1d(np.asarray(real("edges", edges, minimum=None)))
        if not given["edges"].size:
            raise InvalidInput("edges", "expected at least one edge", edges)
    return Over(dims, statistics, **given)  # type: ignore[arg-type]  # `Over` converts lists to tuples


def level_coordinates(wanted: Over, units: "dict[str, str] | None" = None) -> dict[str, Any]:
    """Return the coordinates that a reduction adds; `units` has the attributes that state the unit of the result.

    >>> level_coordinates(over("path", quantile=[0.5]))
    {'quantile': ('quantile', [0.5], {'units': '1'})}
    """
    instance("wanted", wanted, Over)
    found: dict[str, Any] = {
        name: (name, list(given), (units or {}) if name == "below" else {"units": "1"})
        for name, given in wanted.levels.items()
        if given
    }
    if wanted.bins:
        found["bin_from"] = ("bin", np.append(-np.inf, wanted.edges), units or {})
    return found


def _names(name: str, given: Any, known: Sequence[str] | None) -> tuple[str, ...]:
    """Return names as a tuple, after checking that all names are known and distinct."""
    names = sequence(name, given, "names")
    if not names:
        example = "dimension, such as sample" if known is None else f"name, such as {known[0]}"
        raise InvalidInput(name, f"expected at least one {example}", given)
    for index, one in enumerate(names):
        if not isinstance(one, str) or (known is not None and one not in known):
            expected = "the name of a dimension" if known is None else f"one of {', '.join(known)}"
            raise InvalidInput(name, f"expected {expected}", one, (index,))
        if one in names[:index]:
            raise InvalidInput(name, "expected each name only once", one, (index,))
    return names


def _numbers(name: str, given: Any) -> list[float]:
    """Convert levels, given as a list or as a one-dimensional array, to a list."""
    return [*sequence(name, given.tolist() if isinstance(given, np.ndarray) else given, "numbers")]


def _shares(name: str, levels: Any) -> tuple[float, ...]:
    found = tuple(real_scalar(name, level) for level in _numbers(name, levels))
    for index, share in enumerate(found):
        if not (0.0 if name == "quantile" else np.nextafter(0.0, 1.0)) <= share <= 1.0:
            lowest = "0" if name == "quantile" else "above 0"
            raise InvalidInput(name, f"expected shares from {lowest} to 1", share, (index,))
        if share in found[:index]:
            raise InvalidInput(name, "expected each level only once", share, (index,))
    return found


def _thresholds(given: Any) -> tuple[float, ...]:
    found = tuple(real_scalar("below", threshold, minimum=None) for threshold in _numbers("below", given))
    if len(set(found)) != len(found):
        raise InvalidInput("below", "expected each threshold only once", found)
    return found


def _check_numbers(table: NDArray[Any]) -> None:
    if table.dtype.kind == "f" and (missing := np.isnan(table)).any():
        raise InvalidInput(
            "function",
            "expected numbers other than NaN, because the statistics count or sort them",
            float(table[missing][0]),
        )


def _parts(table: NDArray[Any]) -> Iterator[NDArray[np.float64]]:
    """Convert a table to doubles, and yield the rows in parts of limited size."""
    rows = max(1, SORTED_AT_ONCE // max(table.shape[1], 1))
    for start in range(0, len(table), rows):
        part = np.array(table[start : start + rows], dtype=np.float64)
        _check_numbers(part)
        yield part


def _tail_means(ordered: NDArray[np.float64], shares: Sequence[float]) -> NDArray[np.float64]:
    """Return the mean of the first `share * row length` elements of each row, for each share."""
    count = ordered.shape[1]
    columns = []
    for share in shares:
        whole = min(int(share * count), count - 1)
        part = share * count - whole  # weight of the last evaluation, of which only a part belongs to the share
        columns.append((ordered[:, :whole].sum(axis=1) + part * ordered[:, whole]) / (share * count))
    return np.stack(columns, axis=1)


def _drawdown(flows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest decrease of each row's cumulative sum from any earlier value; each sum starts at 0."""
    height = np.cumsum(flows, axis=1)
    return np.asarray((np.maximum(np.maximum.accumulate(height, axis=1), 0.0) - height).max(axis=1).clip(0.0))


def _rising(edges: Any) -> NDArray[np.float64]:
    rising = np.array(real("edges", edges, minimum=None), dtype=np.float64)
    if rising.ndim != 1 or not (np.diff(rising) > 0).all():
        raise InvalidInput("edges", "expected increasing numbers", edges)
    rising.flags.writeable = False
    return rising


class Table:
    """Moments of all cells of a result, merged from the moments of the blocks of evaluations."""

    def __init__(self, shape: tuple[int, ...], wanted: Over) -> None:
        self._wanted, self._shape = wanted, shape
        self._sums = Moments(
            np.zeros(shape, dtype=np.int64),
            np.zeros(shape),
            np.zeros(shape),
            np.full(shape, np.inf),
            np.full(shape, -np.inf),
            np.zeros((*shape, wanted.bins), dtype=np.int64),
            np.zeros((*shape, len(wanted.below)), dtype=np.int64),
        )

    def merge(self, cells: tuple[slice, ...], block: Moments) -> None:
        """Merge the moments of evaluations into the given cells (Chan, Golub, LeVeque: Updating formulae, 1979)."""
        mine = Moments._make(part_of(sums, cells) for sums in self._sums)
        new = Moments._make(np.reshape(sums, np.shape(here)) for sums, here in zip(block, mine, strict=True))
        difference = np.where(
            mine.evaluations > 0, new.total / new.evaluations - mine.total / np.maximum(mine.evaluations, 1), 0.0
        )
        mine.squares[...] += new.squares + difference**2 * (
            mine.evaluations * new.evaluations / (mine.evaluations + new.evaluations)
        )
        mine.evaluations[...] += new.evaluations
        mine.total[...] += new.total
        np.minimum(mine.minima, new.minima, out=mine.minima)
        np.maximum(mine.maxima, new.maxima, out=mine.maxima)
        mine.histogram[...] += new.histogram
        mine.below[...] += new.below

    def variables(
        self, name: str, dims: tuple[str, ...], held: dict[str, NDArray[np.float64]], units: dict[str, str]
    ) -> dict[str, Any]:
        """Return the variables of the resulting Dataset.

        Parameters
        ----------
        name : name of the result.
        dims : remaining dimensions.
        held : statistics returned by `Over.of_values`, with cells in C order.
        units : attributes of the result that describe its unit.
        """
        sums, wanted = self._sums, self._wanted
        moments = {
            "mean": sums.total / sums.evaluations,
            "std": np.sqrt(sums.squares / sums.evaluations),
            "min": sums.minima,
            "max": sums.maxima,
            "sum": sums.total,
        }
        found: dict[str, Any] = {}
        for statistic in wanted.statistics:
            values = moments[statistic] if statistic in moments else held[statistic].reshape(self._shape)
            found[f"{name}_{statistic}"] = (dims, values, units)
        if wanted.bins:
            found[f"{name}_histogram"] = ((*dims, "bin"), sums.histogram, {"units": "1"})
        if wanted.below:
            share = sums.below / sums.evaluations[..., None]
            found[f"{name}_below"] = ((*dims, "below"), share, {"units": "1"})
        for level in LEVELS:
            if level in held:
                found[f"{name}_{level}"] = ((*dims, level), held[level].reshape(*self._shape, -1), units)
        return found


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
