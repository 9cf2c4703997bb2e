"""What a sweep keeps of its evaluations: moments, extremes and histograms over some of the dimensions.

A worker reduces what it evaluated to sums; the sums of all pieces are merged in the order of the pieces, so that the
result is the same to the bit whoever evaluated them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from feemodel.checks import real
from feemodel.compiled import kept
from feemodel.equality import compared_by_value, summary
from feemodel.errors import InvalidInput
from feemodel.simulation.blocks import part_of

STATISTICS = ("mean", "std", "min", "max", "sum")
DEFAULT_STATISTICS = STATISTICS[:4]
RUN = 4_096  # elements whose squares are summed around their own mean: they stay in the first cache


@compared_by_value
class Moments(NamedTuple):
    """Sums over a number of evaluations, one element a cell of the result."""

    evaluations: NDArray[np.int64]
    total: NDArray[np.float64]
    squares: NDArray[np.float64]  #: Σ (x − mean)²
    least: NDArray[np.float64]
    most: NDArray[np.float64]
    histogram: NDArray[np.int64]  #: cell × bin; no bins where none were asked for


@compared_by_value
@dataclass(frozen=True, eq=False)
class Over:
    """Statistics over some dimensions; see `over`, which makes one and says what is refused.

    >>> over("sample", edges=[1.0, 2.0]) == over("sample", edges=[1.0, 2.0])
    True
    """

    dims: tuple[str, ...]
    statistics: tuple[str, ...] = DEFAULT_STATISTICS
    edges: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))  #: a read-only copy

    def __repr__(self) -> str:  # short, with any number of edges
        edges = f", edges={summary(self.edges.tolist())}" if self.bins else ""
        return f"Over({self.dims!r}, {self.statistics!r}{edges})"

    def __hash__(self) -> int:
        return hash((self.dims, self.statistics, tuple(self.edges.tolist())))

    def __post_init__(self) -> None:
        for name, given, known in (("over", self.dims, None), ("statistics", self.statistics, STATISTICS)):
            object.__setattr__(self, "dims" if known is None else name, _names(name, given, known))
        object.__setattr__(self, "edges", _rising(self.edges))

    @property
    def bins(self) -> int:
        """Of the histogram, 0 without one."""
        return self.edges.size + 1 if self.edges.size else 0

    def moments(self, values: NDArray[Any], axes: tuple[int, ...]) -> Moments:
        """The sums of one block of evaluations over the axes given; cells in C order of the others."""
        kept = [axis for axis in range(values.ndim) if axis not in axes]
        count = prod(values.shape[axis] for axis in axes)
        ordered = np.ascontiguousarray(values.transpose(*kept, *axes))
        table = (ordered.view(np.uint8) if ordered.dtype == bool else ordered).reshape(-1, count)
        total, squares, least, most = _moments(table)
        return Moments(np.full(len(table), count), total, squares, least, most, self._histogram(table))

    def _histogram(self, table: NDArray[Any]) -> NDArray[np.int64]:
        bins = self.bins
        if not bins:
            return np.empty((len(table), 0), dtype=np.int64)
        if table.dtype.kind == "f" and (missing := np.isnan(table)).any():
            raise InvalidInput("function", "expected numbers, to count them in a histogram", float(table[missing][0]))
        places = np.searchsorted(self.edges, table, side="right") + np.arange(len(table))[:, None] * bins
        return np.bincount(places.reshape(-1), minlength=len(table) * bins).reshape(-1, bins).astype(np.int64)


def over(*dims: str, statistics: Sequence[str] = DEFAULT_STATISTICS, edges: "ArrayLike | None" = None) -> Over:
    """A reduction: statistics of the evaluations over some dimensions of a sweep.

    Parameters
    ----------
    dims : such as "sample" or "transaction".
    statistics : of "mean", "std" (of the population), "min", "max", "sum"; doubles.
    edges : of a histogram, rising [the result's unit]; the bins are below the first edge, from each edge to below the
        next, and from the last edge on, so that every evaluation is in one of them.

    Raises
    ------
    InvalidInput : no dimension, an unknown statistic, a name given twice, edges that do not rise.

    >>> over("transaction", statistics=["mean"]).statistics
    ('mean',)
    """
    return Over(dims, tuple(_list("statistics", statistics)), np.empty(0) if edges is None else _some_edges(edges))


def _list(name: str, given: Any) -> Sequence[Any]:
    if not isinstance(given, (list, tuple)):
        raise InvalidInput(name, "expected a list of names", given)
    return given


def _names(name: str, given: Any, known: Sequence[str] | None) -> tuple[str, ...]:
    """Names, each once and each one of those that are known."""
    names = _list(name, given)
    if not names:
        example = "dimension, such as sample" if known is None else f"name, such as {known[0]}"
        raise InvalidInput(name, f"expected at least one {example}", given)
    for place, one in enumerate(names):
        if not isinstance(one, str) or (known is not None and one not in known):
            expected = "the name of a dimension" if known is None else f"one of {', '.join(known)}"
            raise InvalidInput(name, f"expected {expected}", one, (place,))
        if one in names[:place]:
            raise InvalidInput(name, "expected every name once", one, (place,))
    return tuple(names)


def _some_edges(edges: Any) -> NDArray[np.float64]:
    rising = np.atleast_1d(np.asarray(real("edges", edges, minimum=None)))
    if not rising.size:
        raise InvalidInput("edges", "expected at least one", edges)
    return rising


def _rising(edges: Any) -> NDArray[np.float64]:
    rising = np.array(real("edges", edges, minimum=None), dtype=np.float64)
    if rising.ndim != 1 or not (np.diff(rising) > 0).all():
        raise InvalidInput("edges", "expected numbers that rise", edges)
    rising.flags.writeable = False
    return rising


class Table:
    """The cells of a result, into which the moments of block after block are merged."""

    def __init__(self, shape: tuple[int, ...], bins: int) -> None:
        self._sums = Moments(
            np.zeros(shape, dtype=np.int64),
            np.zeros(shape),
            np.zeros(shape),
            np.full(shape, np.inf),
            np.full(shape, -np.inf),
            np.zeros((*shape, bins), dtype=np.int64),
        )

    def merge(self, cells: tuple[slice, ...], block: Moments) -> None:
        """Add a block's moments to its cells (Chan, Golub, LeVeque: Updating formulae, 1979)."""
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
        np.minimum(mine.least, new.least, out=mine.least)
        np.maximum(mine.most, new.most, out=mine.most)
        mine.histogram[...] += new.histogram

    def statistics(self, names: Sequence[str]) -> dict[str, NDArray[np.float64]]:
        """The statistics asked for, of every cell."""
        sums = self._sums
        found = {
            "mean": sums.total / sums.evaluations,
            "std": np.sqrt(sums.squares / sums.evaluations),
            "min": sums.least,
            "max": sums.most,
            "sum": sums.total,
        }
        return {name: found[name] for name in names}

    @property
    def histogram(self) -> NDArray[np.int64]:
        """How many evaluations fell in each bin of each cell."""
        return self._sums.histogram


# Reassociation lets the sums run in lanes. Least and most stay in the table's type: of integers they run in lanes too.
# One loop a sum over one run that starts at 0: a loop of several sums, or one whose index could be negative, does not.
@kept(nogil=True, fastmath={"reassoc", "contract"})
def _moments(table):  # type: ignore[no-untyped-def]
    rows, columns = table.shape
    total, squares, least, most = np.empty(rows), np.empty(rows), np.empty(rows), np.empty(rows)
    for r in range(rows):
        row_total, row_squares, row_least, row_most = 0.0, 0.0, table[r, 0], table[r, 0]
        for start in range(0, columns, RUN):
            run = table[r, start : start + RUN]
            run_total, run_squares = 0.0, 0.0
            for i in range(run.size):
                run_total += np.float64(run[i])
            for i in range(run.size):
                row_least = min(row_least, run[i])
            for i in range(run.size):
                row_most = max(row_most, run[i])
            mean = run_total / run.size
            for i in range(run.size):
                difference = np.float64(run[i]) - mean
                run_squares += difference * difference
            if start:
                difference = mean - row_total / start
                run_squares += difference * difference * (start * run.size / (start + run.size))
            row_squares += run_squares
            row_total += run_total
        total[r], squares[r], least[r], most[r] = row_total, row_squares, row_least, row_most
        if np.isnan(row_total):  # comparisons pass it by
            least[r] = most[r] = np.nan
    return total, squares, least, most
