"""Create the samples of a sweep: listed values, Sobol points, random draws and transactions, as DataArrays.

Samples are a dictionary from inputs to DataArrays and numbers. `|` joins samples, and `function(**samples)` calls a
formula on all of them. Inputs with a common dimension vary together; other dimensions are combined with each other.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from feemodel.arguments import check_of
from feemodel.checks import check_indexes, check_limit, instance
from feemodel.errors import InvalidInput
from feemodel.progress import cores
from feemodel.quantities import ANY_REAL, ANY_WHOLE
from feemodel.simulation._metadata import seed_text
from feemodel.simulation.draws import (
    LARGEST_SAMPLE,
    ROW,
    Rng,
    check_rows,
    columns_at,
    described,
    drawn_columns,
    is_frozen,
    seed_sequence,
    sobol_points,
    split_ranges,
    stream_of,
)
from feemodel.simulation.quantities import CountAboveZero
from feemodel.simulation.surfaces import Workload

if TYPE_CHECKING:
    import xarray

Samples: TypeAlias = "dict[str, xarray.DataArray | int | float | str]"

DRAW_BLOCK = 1 << 16  # number of draws from one random stream
SAMPLE = "sample"  # name of the dimension of draws and of Sobol points
TRANSACTION = "transaction"  # name of the dimension of a workload


def rows(**columns: Any) -> Samples:
    """Group inputs whose values belong together, such as the base fee and the blob base fee of one block.

    In a `grid`, the rows are one dimension. `monte_carlo` draws whole rows with equal probability. In `sobol`, one
    coordinate of each point selects a row: a larger coordinate never selects an earlier row.

    Parameters
    ----------
    columns : values of each input, of shape (n,), as a keyword argument with the name of the input.

    Returns
    -------
    Samples along the dimension "row". As an argument of `grid`, their dimension has the name of the
    keyword.

    Raises
    ------
    InvalidInput : a call without columns, columns of different lengths, or values that are not finite numbers.

    >>> l1 = rows(base_fee=[70.0, 80.0, 90.0], blob_base_fee=[1.0, 2.0, 3.0])
    >>> drawn = monte_carlo(1_000, rng=1, l1=l1)
    >>> bool((drawn["base_fee"] == 60 + 10 * drawn["blob_base_fee"]).all())
    True
    """
    if not columns:
        raise InvalidInput("rows", "expected at least one column, such as base_fee=[7e7, 8e7]", columns)
    check_indexes(columns)
    checked = {name: _column(name, values) for name, values in columns.items()}
    lengths = {name: column.size for name, column in checked.items()}
    if len(set(lengths.values())) > 1:
        raise InvalidInput("rows", "expected columns of equal length", lengths)
    return _arrays(ROW, checked)


def grid(**axes: Any) -> Samples:
    """Return the values of several inputs, each along a dimension of its own.

    Parameters
    ----------
    axes : keyword arguments `input=values`. The values of an axis are an array of shape (n,). A number or a text is a
        constant. For a result of `rows`, the keyword is the name of the dimension. For a `Workload`, the keyword can be
        any name; its sizes and gas vary together along the dimension "transaction".

    Returns
    -------
    Samples with one dimension per axis.

    Raises
    ------
    InvalidInput : a call without axes, an axis without values or with duplicates, or values that are not finite
        numbers.

    >>> samples = grid(margin=[1.0, 1.1, 1.2], variable_cost=[10**9, 2 * 10**9], gas=21_000)
    >>> samples["margin"].values.tolist(), samples["variable_cost"].dims, samples["gas"]
    ([1.0, 1.1, 1.2], ('variable_cost',), 21000)
    """
    if not axes:
        raise InvalidInput("grid", "expected at least one axis, such as margin=[1.0, 1.2]", axes)
    return joined(*map(_listed, axes, axes.values()))


def sobol(count: int, /, *, rng: Rng = None, **ranges: Any) -> Samples:
    """Return points of a scrambled Sobol sequence, which cover ranges evenly.

    Parameters
    ----------
    count : number of points, a power of two, because other numbers of points do not cover ranges evenly.
    rng : seed, `SeedSequence` or `Generator` of the scrambling; an int gives the same points every time.
    ranges : keyword arguments `input=range`. A pair `(low, high)` of integers means all integers from low to high,
        including both. If a number of the pair is not an integer, the pair means all doubles in [low, high). A frozen
        `scipy.stats` distribution is evaluated at quantiles. With a result of `rows`, a coordinate selects a row. Any
        other value is an argument of `grid`.

    Returns
    -------
    Samples along the dimension "sample".

    Raises
    ------
    InvalidInput : a count that is not a power of two, a call without ranges, or a range that is empty or not finite.

    >>> sobol(8, rng=1, gas=(21_000, 21_003))["gas"].values[:4].tolist()
    [21001, 21003, 21002, 21000]
    """
    varied, constant = split_ranges("sobol", ranges, tuple)
    seed = seed_sequence(rng)
    unit = sobol_points(count, len(varied), stream_of(seed))
    drawn = [
        _arrays(SAMPLE, columns_at(name, within, unit[:, index]), {"range": described(within), "seed": seed_text(seed)})
        for index, (name, within) in enumerate(varied.items())
    ]
    return joined(*drawn, *map(_listed, constant, constant.values()))


def monte_carlo(count: int, /, *, rng: Rng = None, **distributions: Any) -> Samples:
    """Draw all inputs independently at random.

    Parameters
    ----------
    count : number of draws.
    rng : seed, `SeedSequence` or `Generator`; an int gives the same draws every time.
    distributions : keyword arguments `input=distribution`. Values are drawn from a frozen `scipy.stats` distribution,
        or with equal probability from a list of numbers. From a result of `rows`, each draw takes a whole row. Any
        other value is an argument of `grid`: every draw is combined with every transaction of a `Workload`.

    Returns
    -------
    Samples along the dimension "sample".

    Raises
    ------
    InvalidInput : a count below 1, a call without distributions, or a distribution whose draws are not finite numbers.
    LimitExceeded : more than 2**30 draws.

    >>> monte_carlo(1_000, rng=7, gas=[21_000, 46_000])["gas"].values[:5].tolist()
    [21000, 46000, 21000, 21000, 46000]
    """
    count = check_of(CountAboveZero)("count", count)
    check_limit(count, "draws", LARGEST_SAMPLE, ": combine fewer draws with other axes")
    varied, constant = split_ranges("monte_carlo", distributions, (list, np.ndarray), "distribution or list of choices")
    choices = {name: _column(name, of) if isinstance(of, (list, np.ndarray)) else of for name, of in varied.items()}
    seed = seed_sequence(rng)

    def block(start: int) -> list[dict[str, NDArray[Any]]]:
        """Draw the rows of one block; each block has its own random stream, so blocks can be drawn in any order."""
        stream, size = stream_of(seed, start // DRAW_BLOCK), min(DRAW_BLOCK, count - start)
        return [drawn_columns(name, of, stream, size) for name, of in choices.items()]

    with ThreadPoolExecutor(cores()) as pool:
        blocks = list(pool.map(block, range(0, count, DRAW_BLOCK)))
    drawn = [
        _arrays(
            SAMPLE,
            {column: np.concatenate([part[index][column] for part in blocks]) for column in blocks[0][index]},
            {"drawn_from": described(of), "seed": seed_text(seed)},
        )
        for index, of in enumerate(choices.values())
    ]
    return joined(*drawn, *map(_listed, constant, constant.values()))


def _listed(name: str, value: Any) -> Samples:
    import xarray

    check_rows(name, value)
    if (
        isinstance(value, (xarray.DataArray, np.ndarray))
        and value.ndim == 0
        and not isinstance(value, np.ma.MaskedArray)
    ):
        value = value.item()
    if isinstance(value, Workload):
        columns = {"compressed_size": value.compressed_size, "gas": value.gas}
        return _arrays(TRANSACTION, columns, {"from": f"{len(value):,} {value.name}"})
    if isinstance(value, Mapping):
        return {column: array.rename({ROW: name}) for column, array in value.items()}
    if isinstance(value, str):
        return {name: value}
    if isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_)):
        return {name: int(value)}
    if isinstance(value, (float, np.floating)):
        return {name: ANY_REAL.check_one(name, value)}
    column = _column(name, value)
    _check_distinct(name, column)
    return {name: xarray.DataArray(column, dims=name, coords={name: column}, name=name)}


def joined(*parts: Samples) -> Samples:
    """Join samples; unlike `|`, this raises `InvalidInput` for an input that is in two of them.

    >>> joined({"gas": 21_000}, {"margin": 1.2})
    {'gas': 21000, 'margin': 1.2}
    """
    made: Samples = {}
    for part in parts:
        instance("parts", part, Mapping)
        if twice := part.keys() & made.keys():
            raise InvalidInput("samples", "expected each input only once", sorted(twice))
        made |= part
    # The transactions come last: a compiled formula computes terms that vary along other dimensions only once.
    last = {name: array for name, array in made.items() if getattr(array, "dims", ()) == (TRANSACTION,)}
    return {name: made[name] for name in made if name not in last} | last


def _arrays(dim: str, columns: Mapping[str, NDArray[Any]], attributes: Mapping[str, Any] | None = None) -> Samples:
    import xarray

    return {name: xarray.DataArray(values, dims=dim, name=name, attrs=attributes) for name, values in columns.items()}


def _check_distinct(name: str, values: NDArray[Any]) -> None:
    _, first, counts = np.unique(values, return_index=True, return_counts=True)
    if (counts > 1).any():
        value = values[first[counts > 1].min()]
        index = (int(np.flatnonzero(values == value)[1]),)
        raise InvalidInput(name, "expected unique values on an axis (rows(…) accepts duplicates)", value.item(), index)


def _column(name: str, values: Any) -> NDArray[Any]:
    """Return finite numbers in one dimension as an array of int64 or doubles."""
    if is_frozen(values) or isinstance(values, (tuple, str, Mapping)) or values is None or callable(values):
        raise InvalidInput(name, "expected numbers in a list or an array, or one number", values)
    if isinstance(values, np.ma.MaskedArray):
        raise InvalidInput(name, "expected numbers without a mask, because the mask would be lost", values)
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise InvalidInput(name, f"expected numbers in one dimension ({error})", values) from None
    if array.ndim != 1 or array.size == 0:
        shape = "no values" if array.size == 0 else f"an array of shape {array.shape}"
        raise InvalidInput(name, "expected at least one value, in one dimension", shape)
    # NumPy converts Python ints of more than 63 bits to doubles or objects; the check raises an error for these.
    ints = isinstance(values, list) and all(isinstance(value, int) for value in values)
    return np.asarray((ANY_REAL if array.dtype.kind == "f" and not ints else ANY_WHOLE).check(name, values))
