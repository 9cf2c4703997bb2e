"""Create the samples of a sweep from listed values, Sobol points, Monte Carlo draws and transactions."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feemodel.checks import check_indexes, mapping, real, real_scalar, sequence, text, whole, whole_scalar
from feemodel.errors import InvalidInput
from feemodel.simulation._axes import (
    Axis,
    Constant,
    Draws,
    Listed,
    Rng,
    Rows,
    SobolPoints,
    WholeNumbers,
    is_frozen,
    seed_sequence,
)
from feemodel.simulation.surfaces import Workload

TRANSACTION = "transaction"  # name of the dimension of a workload
SOBOL_LIMIT = 1 << 30  # maximum number of points of SciPy's 30-bit Sobol sequence


@dataclass(frozen=True, eq=False)
class Samples:
    """All combinations of the values of several axes, together with constant inputs.

    The dimensions are in this order: points or draws, listed axes in the given order, transactions. The inputs that are
    most expensive to compute come first and vary slowest.
    """

    axes: tuple[Axis, ...]
    constants: Mapping[str, Constant] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for axis in sequence("axes", self.axes):
            if not isinstance(axis, Axis):
                raise InvalidInput("axes", "expected axes of grid, sobol or monte_carlo", axis)
        for name, value in mapping("constants", self.constants).items():
            if not isinstance(value, str):
                real_scalar(text("constants", name), value, minimum=None)
        ordered = sorted(self.axes, key=lambda axis: (axis.dim == TRANSACTION) - axis.generated)
        object.__setattr__(self, "axes", tuple(ordered))
        for names, kind in ((self.dims, "dimension"), (self.names, "input")):
            if twice := {name for name in names if names.count(name) > 1}:
                raise InvalidInput("samples", f"expected each {kind} only once", sorted(twice))
        for axis in self.axes:
            if axis.dim in self.names and axis.dim not in axis.names:
                raise InvalidInput("samples", "expected a name that differs from all dimensions", axis.dim)

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the dimensions."""
        return tuple(axis.dim for axis in self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each dimension."""
        return tuple(len(axis) for axis in self.axes)

    @property
    def size(self) -> int:
        """Number of evaluations."""
        return prod(self.shape)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all inputs, constants last."""
        return (*(name for axis in self.axes for name in axis.names), *self.constants)

    def __mul__(self, other: "Samples") -> "Samples":
        """Return all combinations of two samples, for example the same draws at each point of a grid.

        >>> (grid(margin=[1.0, 1.2]) * sobol(4, gas=(21_000, 90_000))).shape
        (4, 2)
        """
        if not isinstance(other, Samples):
            return NotImplemented
        if twice := set(self.constants) & set(other.names) | set(self.names) & set(other.constants):
            raise InvalidInput("samples", "expected each input only once", sorted(twice))
        return Samples((*self.axes, *other.axes), {**self.constants, **other.constants})


def rows(**columns: Any) -> Rows:
    """Group inputs whose values belong together, such as the base fee and the blob base fee of one block.

    In a `grid`, the rows are one dimension. `monte_carlo` draws whole rows with equal probability. In
    `sobol`, one coordinate of each point selects a row: a larger coordinate never selects an earlier row.

    Parameters
    ----------
    columns : values of each input, of shape (n,), as a keyword argument with the name of the input. The length n must
        be the same for all inputs.

    Returns
    -------
    Rows that can be an argument of `grid`, `monte_carlo` or `sobol`.

    Raises
    ------
    InvalidInput : a call without columns, columns of different lengths, or values that are not finite numbers.

    >>> l1 = rows(base_fee=[70.0, 80.0, 90.0], blob_base_fee=[1.0, 2.0, 3.0])
    >>> drawn = monte_carlo(1_000, rng=1, l1=l1).axes[0].values(0, 1_000)
    >>> bool((drawn["base_fee"] == 60 + 10 * drawn["blob_base_fee"]).all())
    True
    """
    if not columns:
        raise InvalidInput("rows", "expected at least one column, such as base_fee=[7e7, 8e7]", columns)
    check_indexes(columns)
    checked = {name: _axis_values(name, values) for name, values in columns.items()}
    lengths = {name: column.size for name, column in checked.items()}
    if len(set(lengths.values())) > 1:
        raise InvalidInput("rows", "expected columns of equal length", lengths)
    return Rows(checked)


def whole_numbers(distribution: Any) -> WholeNumbers:
    """Round the values of a continuous distribution to int64. Compiled formulas require int64 for sizes and gas.

    Discrete distributions, such as `scipy.stats.poisson`, need no rounding.

    Parameters
    ----------
    distribution : frozen `scipy.stats` distribution.

    Returns
    -------
    Distribution for `monte_carlo` or `sobol`.

    Raises
    ------
    InvalidInput : an argument that is not a frozen `scipy.stats` distribution.

    >>> from scipy import stats
    >>> sizes = monte_carlo(3, rng=1, compressed_size=whole_numbers(stats.lognorm(s=0.5, scale=120)))
    >>> sizes.axes[0].values(0, 3)["compressed_size"].dtype
    dtype('int64')
    """
    if not is_frozen(distribution):
        raise InvalidInput("distribution", "expected a frozen scipy.stats distribution", distribution)
    return WholeNumbers(distribution)


def grid(**axes: Any) -> Samples:
    """Return all combinations of the values of all axes.

    Parameters
    ----------
    axes : keyword arguments `input=values`. The values of an axis are an array of shape (n,). A number or a text is a
        constant. For a result of `rows` or a `Workload`, the keyword can be any name. The sizes and gas of a `Workload`
        vary together along the dimension "transaction".

    Returns
    -------
    Samples with one dimension per axis.

    Raises
    ------
    InvalidInput : a call without axes, an axis without values or with duplicates, or values that are not finite
        numbers.

    >>> samples = grid(margin=[1.0, 1.1, 1.2], variable_cost=[10**9, 2 * 10**9], gas=21_000)
    >>> samples.dims, samples.size, samples.constants
    (('margin', 'variable_cost'), 6, {'gas': 21000})
    """
    if not axes:
        raise InvalidInput("grid", "expected at least one axis, such as margin=[1.0, 1.2]", axes)
    listed, constants = _listed_and_constants(axes)
    return Samples(listed, constants)


def sobol(count: int, /, *, rng: Rng = None, **ranges: Any) -> Samples:
    """Return points of a scrambled Sobol sequence, which cover ranges evenly.

    Parameters
    ----------
    count : number of points, a power of two, because other numbers of points do not cover ranges evenly.
    rng : seed, `SeedSequence` or `Generator` of the scrambling; an int gives the same points every time.
    ranges : keyword arguments `input=range`. A pair `(low, high)` of integers means all integers from low to high,
        including both. If a number of the pair is not an integer, the pair means all doubles in [low, high). A frozen
        `scipy.stats` distribution is evaluated at quantiles. A number stays constant. For a result of `rows` or a
        `Workload`, the keyword can be any name. A `Workload` adds an axis of transactions.

    Returns
    -------
    Samples along the dimension "sample".

    Raises
    ------
    InvalidInput : a count that is not a power of two, a call without ranges, or a range that is empty or not finite.

    >>> sobol(8, rng=1, gas=(21_000, 21_003)).axes[0].values(0, 4)["gas"].tolist()
    [21001, 21003, 21002, 21000]
    """
    number = whole_scalar("count", count, minimum=1)
    if number & (number - 1) or number > SOBOL_LIMIT:
        nearest = SOBOL_LIMIT if number > SOBOL_LIMIT else 1 << round(math.log2(number))
        raise InvalidInput("count", f"expected a power of two up to 2**30, such as {nearest:,}", number)
    varied, rest = _split(ranges, lambda value: isinstance(value, (tuple, Rows)) or is_frozen(value))
    if not varied:
        raise InvalidInput("sobol", "expected at least one range, such as margin=(1.0, 2.0)", ranges)
    return _with_listed(SobolPoints(number, _checked(varied, _checked_range), seed_sequence(rng)), rest)


def monte_carlo(count: int, /, *, rng: Rng = None, **distributions: Any) -> Samples:
    """Draw all inputs independently at random.

    Parameters
    ----------
    count : number of draws.
    rng : seed, `SeedSequence` or `Generator`; an int gives the same draws every time.
    distributions : keyword arguments `input=distribution`. Values are drawn from a frozen `scipy.stats` distribution,
        or with equal probability from a list of numbers. A number stays constant. For a result of `rows` or a
        `Workload`, the keyword can be any name. From a result of `rows`, each draw takes a whole row. A `Workload` adds
        an axis of transactions: every draw is combined with every transaction.

    Returns
    -------
    Samples along the dimension "sample".

    Raises
    ------
    InvalidInput : a count below 1, a call without distributions, or a distribution whose draws are not finite numbers.

    >>> monte_carlo(1_000, rng=7, gas=[21_000, 46_000]).axes[0].values(0, 5)["gas"].tolist()
    [21000, 46000, 21000, 21000, 46000]
    """
    number = whole_scalar("count", count, minimum=1)
    varied, rest = _split(distributions, lambda value: is_frozen(value) or isinstance(value, (list, np.ndarray, Rows)))
    if not varied:
        raise InvalidInput("monte_carlo", "expected at least one distribution or list of choices", distributions)
    return _with_listed(Draws(number, _checked(varied, _axis_values), seed_sequence(rng)), rest)


def _checked(varied: Mapping[str, Any], check: Callable[[str, Any], Any]) -> dict[str, Any]:
    """Return the inputs to draw, after checking the inputs that are neither distributions nor rows."""
    return {
        name: value if is_frozen(value) or isinstance(value, Rows) else check(name, value)
        for name, value in varied.items()
    }


def _with_listed(generated: Axis, rest: Mapping[str, Any]) -> Samples:
    listed, constants = _listed_and_constants(rest)
    generated.example()  # raises an error if a distribution is invalid
    return Samples((generated, *listed), constants)


def _split(values: Mapping[str, Any], varied: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    chosen = {name: value for name, value in values.items() if varied(value)}
    return chosen, {name: value for name, value in values.items() if name not in chosen}


def _listed_and_constants(values: Mapping[str, Any]) -> tuple[tuple[Axis, ...], dict[str, Constant]]:
    listed: list[Axis] = []
    constants: dict[str, Constant] = {}
    for name, value in values.items():
        if getattr(value, "shape", None) == () and not isinstance(value, np.ma.MaskedArray):
            value = np.asarray(value)[()]  # convert an array without dimensions to a number
        if isinstance(value, Workload):
            columns = {"compressed_size": value.compressed_size, "gas": value.gas}
            listed.append(Listed(TRANSACTION, columns, f"{len(value):,} {value.name}"))
        elif isinstance(value, Rows):
            listed.append(Listed(name, value.columns, f"{len(value):,} rows of {', '.join(value.columns)}"))
        elif isinstance(value, str):
            constants[name] = value
        elif isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_)):
            constants[name] = int(value)
        elif isinstance(value, (float, np.floating)):
            constants[name] = real_scalar(name, value, minimum=None)
        else:
            column = _axis_values(name, value)
            _check_distinct(name, column)
            listed.append(Listed(name, {name: column}, f"{column.size:,} from {column.min()} to {column.max()}"))
    return tuple(listed), constants


def _check_distinct(name: str, values: NDArray[Any]) -> None:
    """Raise `InvalidInput` for a duplicate value of an axis."""
    _, first, counts = np.unique(values, return_index=True, return_counts=True)
    if (counts > 1).any():
        value = values[first[counts > 1].min()]
        index = (int(np.flatnonzero(values == value)[1]),)
        reason = "expected unique values on an axis (rows(…) accepts duplicates)"
        raise InvalidInput(name, reason, value.item(), index)


def _axis_values(name: str, values: Any) -> NDArray[Any]:
    if is_frozen(values) or isinstance(values, (tuple, str, dict)) or values is None or callable(values):
        raise InvalidInput(name, "expected numbers in a list or an array, or one number", values)
    if isinstance(values, np.ma.MaskedArray):
        raise InvalidInput(name, "expected numbers without a mask, because the mask would be lost", values)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InvalidInput(name, f"expected numbers in one dimension ({error})", values) from None
    except TypeError:
        raise InvalidInput(name, "expected numbers in a list or an array, or one number", values) from None
    if array.ndim != 1 or array.size == 0:
        described = "no values" if array.size == 0 else f"an array of shape {array.shape}"
        raise InvalidInput(name, "expected at least one value, in one dimension", described)
    # NumPy converts Python ints of more than 63 bits to doubles or objects; `whole` raises an error for ints of this
    # size.
    ints = isinstance(values, list) and all(isinstance(value, int) for value in values)
    checked = (real if array.dtype.kind == "f" and not ints else whole)(name, values, minimum=None)
    return np.asarray(checked)


def _checked_range(name: str, within: tuple[Any, ...]) -> tuple[Any, Any]:
    if len(within) != 2:
        raise InvalidInput(name, "expected a range (low, high)", within)
    both_whole = all(isinstance(end, (int, np.integer)) and not isinstance(end, bool) for end in within)
    check: Any = whole if both_whole else real_scalar
    low, high = (check(name, end, minimum=None) for end in within)
    if not (low <= high if both_whole else low < high):
        raise InvalidInput(name, "expected a range (low, high) with low below high", within)
    if both_whole and not (low >= -(2**63) and high < 2**63 and high - low < 2**63):
        raise InvalidInput(name, "expected a range of 64-bit integers, less than 2**63 wide", within)
    if not math.isfinite(high - low):
        raise InvalidInput(name, "expected a range whose width is finite", within)
    return low, high
