"""Sensitivity of a result to its inputs: Sobol indices with bootstrap intervals."""

import warnings
from collections.abc import Callable, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from feemodel._records import compared_by_value
from feemodel.checks import (
    EMPTY,
    check_limit,
    flag,
    mapping,
    raise_first,
    real_scalar,
    share,
    text,
    whole_scalar,
)
from feemodel.errors import InvalidInput, LimitExceeded
from feemodel.simulation._axes import SAMPLE, Listed, Rng, SobolPoints, columns_at, stream_of
from feemodel.simulation._executors import Where
from feemodel.simulation._metadata import described_dataset
from feemodel.simulation._sweep import sweep
from feemodel.simulation.samples import Samples, sobol

if TYPE_CHECKING:
    import xarray


LARGEST_DESIGN = 1 << 26  # maximum number of input values in memory, which take 0.5 GiB
MAX_RESAMPLES = 1_000_000  # maximum number of resamples of a bootstrap
LARGEST_BOOTSTRAP = 1 << 34  # maximum of (resamples · rows); at the maximum, the bootstrap takes some minutes
RESAMPLED_AT_ONCE = 1 << 18  # maximum number of resampled values in memory (2 MiB)


class NotConverged(UserWarning):
    """Warning that the sample is too small, because the confidence intervals of some indices are wide."""


def sobol_indices(
    function: Callable[..., Any],
    count: int | None = None,
    /,
    *,
    rng: Rng = None,
    confidence: float = 0.95,
    resamples: int = 1_000,
    tolerance: float = 0.1,
    second_order: bool = False,
    executor: "Where" = None,
    workers: int | None = None,
    inputs: Mapping[str, Any] = EMPTY,
    **ranges: Any,
) -> "xarray.Dataset":
    """Compute the first-order and total Sobol index of each input: the share of the variance that the input explains.

    The function is evaluated on the rows of two random matrices A and B. For each input, the function is also evaluated
    on the rows of AB, a copy of A in which the column of this input is from B. In total, there are `count · (inputs +
    2)` evaluations of the function. The indices are computed by these formulas (Saltelli et al. 2010,
    doi:10.1016/j.cpc.2009.09.018):

        first = E[f_B · (f_AB − f_A)] / Var[f];   total = E[(f_A − f_AB)²] / (2 · Var[f])

    A second-order index is the share of the variance that is due to the interaction of two inputs (Saltelli 2002,
    doi:10.1016/S0010-4655(02)00280-1). With second-order indices, there are `count · (2 · inputs + 2)` evaluations,
    because the function is also evaluated on copies of B with one column from A. The ends of the confidence intervals
    are percentiles of a bootstrap that resamples the rows.

    Parameters
    ----------
    function : function that takes the inputs by name, as arrays, and returns an array or a mapping from names to
        arrays.
    count : number of rows of each of the sample matrices A and B, a power of two.
    rng : seed, `SeedSequence` or `Generator` of the design and of the bootstrap.
    confidence : confidence level of the intervals [1].
    resamples : number of resamples of the bootstrap, from 2 to 1,000,000.
    tolerance : maximum width of a confidence interval; a wider interval causes the warning `NotConverged` [1].
    second_order : whether to compute second-order indices too.
    executor, workers : executor of the evaluations, and its number of workers, see `feemodel.sweep`.
    inputs : ranges of inputs by name, as a mapping. Use `inputs` for an input that has the same name as a parameter of
        `sobol_indices`, for example `inputs={"workers": (1, 8)}`.
    ranges : range of each input, as a keyword argument with the name of the input. A range is one of the following: a
        pair (low, high); a frozen `scipy.stats` distribution; the result of `rows`, which counts as one input; or a
        number, which stays constant (see `feemodel.sobol`).

    Returns
    -------
    Dataset over "input", and over "result" if the function returns several results: `first_order` and `total_order`,
    and the ends of their intervals, `first_order_low`, `first_order_high`, `total_order_low` and `total_order_high`
    [1]. With second-order indices, the Dataset also has `second_order` over "input" and "other_input", and the ends of
    the confidence interval. `second_order` is NaN where both inputs are the same. Because of rounding and random
    sampling, a sensitivity index can be slightly below 0 or above 1.

    Raises
    ------
    InvalidInput : `feemodel.sobol` or `feemodel.sweep` rejects an argument, a result of the function is not finite, or
        all results are equal.
    LimitExceeded : a design of more than 67,108,864 numbers, more than 1,000,000 resamples, or more than 2**34 rows in
        all resamples.

    If y = 2·x + z, and x and z are uniform on [0, 1], x explains 4/5 of the variance, and z explains 1/5:

    >>> indices = sobol_indices(lambda x, z: 2.0 * x + z, 4_096, rng=1, x=(0.0, 1.0), z=(0.0, 1.0))
    >>> indices.first_order.round(2).values.tolist()
    [0.8, 0.2]
    """
    if count is None:
        reason = "expected the number of rows as the second positional argument, such as 1_024"
        raise InvalidInput("count", reason, ranges.get("count"))
    level = share("confidence", confidence)
    draws, widest_accepted = whole_scalar("resamples", resamples, minimum=2), real_scalar("tolerance", tolerance)
    samples, points = _points(count, rng, _all_ranges(inputs, ranges))
    if len(points) < 2:
        raise InvalidInput("count", "expected at least 2 rows", count)
    if draws > MAX_RESAMPLES or draws * len(points) > LARGEST_BOOTSTRAP:
        limits = f"{MAX_RESAMPLES:,} resamples, or {LARGEST_BOOTSTRAP:,} rows drawn"
        raise LimitExceeded(f"{draws:,} resamples of {len(points):,} rows are more than {limits}: take fewer")
    design = _design(points, second_order=flag("second_order", second_order))
    evaluated = sweep(function, Samples((design,), samples.constants), executor=executor, workers=workers)
    names, names_of_inputs = [str(name) for name in evaluated.data_vars], [*points.ranges]
    found = []
    for name in names:
        matrices = _matrices(name, evaluated[name].to_numpy(), len(points), len(names_of_inputs))
        found.append(_estimates(matrices, draws, level, stream_of(points.seed, 1)))
    made = _dataset(np.array(found), names, names_of_inputs)
    widths = [made[f"{order}_high"] - made[f"{order}_low"] for order in ("first_order", "total_order")]
    widest = max(float(width.max()) for width in widths)
    if widest > widest_accepted:
        reason = f"the widest of the {level:.0%} intervals is {widest:.2f} at {len(points):,} rows"
        warnings.warn(f"{reason}; widths are proportional to 1 / sqrt(rows)", NotConverged, stacklevel=2)
    attributes = {"evaluations": evaluated.sizes[SAMPLE], "confidence": level, "resamples": draws}
    attributes |= {"widest_interval": widest, "converged": int(widest <= widest_accepted)}
    return made.assign_attrs({**evaluated.attrs, **points.attributes(), **attributes})


def _all_ranges(inputs: Mapping[str, Any], ranges: Mapping[str, Any]) -> dict[str, Any]:
    """Merge `inputs` and `ranges`; raises `InvalidInput` for a name that is in both, and for an input named `rng`."""
    given = mapping("inputs", inputs)
    for name in given:
        if text("inputs", name) in ranges or name == "rng":
            raise InvalidInput("inputs", "expected a name that is not a range or a parameter of this function", name)
    return {**given, **ranges}


def _points(count: int, rng: Rng, ranges: Mapping[str, Any]) -> tuple[Samples, SobolPoints]:
    samples = sobol(count, rng=rng, **ranges)
    points = samples.axes[0]
    if not isinstance(points, SobolPoints) or len(samples.axes) > 1:
        raise InvalidInput("ranges", "expected only ranges and numbers", [*ranges])
    return samples, points


def _finite(name: str, values: NDArray[Any]) -> NDArray[np.float64]:
    """Copy the results of a design to an array of doubles; raises `InvalidInput` if a result is not finite."""
    results = values.astype(np.float64)
    if not (finite := np.isfinite(results)).all():
        raise_first(name, "expected finite results everywhere", results, ~finite)
    return results


@compared_by_value
class _Matrices(NamedTuple):
    """Results of the function on the matrices of the design, minus the mean of all results on A and B."""

    a: NDArray[np.float64]  #: result for each row of the matrix A
    b: NDArray[np.float64]  #: result for each row of the matrix B
    ab: NDArray[np.float64]  #: (input, row): results for A with the column of the input from B
    ba: NDArray[np.float64]  #: (input, row): results for B with the column of the input from A; or empty


def _design(points: SobolPoints, *, second_order: bool) -> Listed:
    """Return the rows of A, of B, of all matrices AB and, for second-order indices, of all matrices BA, in this order.

    AB is a copy of A with one column from B, and BA is a copy of B with one column from A.
    """
    from scipy.stats import qmc

    inputs, count = len(points.ranges), len(points)
    size = len(points.names) * count * (inputs * (1 + second_order) + 2)
    check_limit(size, "numbers of a design", LARGEST_DESIGN, ": take fewer rows")
    unit = qmc.Sobol(2 * inputs, scramble=True, rng=stream_of(points.seed, 0)).random_base2(count.bit_length() - 1)
    columns = {}
    for index, (name, within) in enumerate(points.ranges.items()):
        of_a, of_b = (columns_at(name, within, unit[:, column]) for column in (index, inputs + index))
        for key in of_a:
            a, b = of_a[key], of_b[key]
            parts = [a, b, *(b if other == index else a for other in range(inputs))]
            if second_order:
                parts += [a if other == index else b for other in range(inputs)]
            columns[key] = np.concatenate(parts)
    return Listed(SAMPLE, columns, f"a Saltelli design of {count:,} rows")


def _matrices(name: str, values: NDArray[Any], count: int, inputs: int) -> _Matrices:
    results = _finite(name, values)
    independent = results[: 2 * count]
    if independent.min() == independent.max():
        raise InvalidInput(name, "expected a result that varies with the inputs", float(independent[0]))
    results -= independent.mean()  # subtracting the mean makes the estimates more accurate
    mixed = results[2 * count :].reshape(-1, count)
    return _Matrices(results[:count], results[count : 2 * count], mixed[:inputs], mixed[inputs:])


def _estimates(
    matrices: _Matrices, resamples: int, confidence: float, stream: np.random.Generator
) -> NDArray[np.float64]:
    """Return the Sobol indices, and the low and high ends of their confidence intervals, of shape (3, index).

    The last axis has the first-order, total and second-order indices, in this order. Every sensitivity index is a ratio
    of means over rows, and `scipy.stats.bootstrap` resamples the rows in batches. SALib's `analyze` is not used,
    because it needs several arrays of rows × resamples in memory and returns 0 if the variance is below 2.2e-16.
    SciPy's `sobol_indices` is not used, because it has no second-order indices and its bootstrap does not accept a
    seed.
    """
    from scipy.stats import bootstrap

    terms = _terms(matrices)
    found = bootstrap(
        (terms,), _indices, axis=-1, vectorized=True, n_resamples=resamples, confidence_level=confidence,
        batch=max(1, RESAMPLED_AT_ONCE // terms.size), method="percentile", rng=stream,
    )  # fmt: skip
    return np.vstack([_indices(terms), *found.confidence_interval])


def _terms(matrices: _Matrices) -> NDArray[np.float64]:
    """Return terms, of shape (term, row); `_indices` computes the Sobol indices from the means of the terms over rows.

    The terms are the results, the squared results, and the numerators of the indices.
    """
    a, b, ab, ba = matrices
    first, total = b * (ab - a), (a - ab) ** 2 / 2
    second = [ba[j] * ab[k] - a * b - first[j] - first[k] for j, k in combinations(range(len(ba)), 2)]
    return np.asfortranarray(np.vstack([(a + b) / 2, (a**2 + b**2) / 2, first, total, *second]))


def _indices(terms: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
    """Compute the sensitivity indices from the result of `_terms`; `axis` is the axis of the rows."""
    means = terms.mean(axis=axis)
    indices: NDArray[np.float64] = means[2:] / (means[1] - means[0] ** 2)
    return indices


def _dataset(found: NDArray[np.float64], names: list[str], inputs: list[str]) -> "xarray.Dataset":
    """Return Sobol indices as a Dataset over the inputs.

    `found` has the shape (result, 3, Sobol index). The second axis has the estimate and the two ends of its confidence
    interval.
    """
    count = len(inputs)
    orders = {"first_order": found[..., :count], "total_order": found[..., count : 2 * count]}
    coordinates = {"result": names, "input": inputs}
    if found.shape[-1] > 2 * count:
        rows, columns = np.triu_indices(count, 1)
        pairs = np.full((*found.shape[:2], count, count), np.nan)
        pairs[..., rows, columns] = pairs[..., columns, rows] = found[..., 2 * count :]
        orders["second_order"], coordinates["other_input"] = pairs, inputs
    variables = {
        f"{order}{end}": (("result", "input", "other_input")[: values.ndim - 1], values[:, index], "1")
        for order, values in orders.items()
        for index, end in enumerate(("", "_low", "_high"))
    }
    made = described_dataset(variables, coordinates)
    return made if len(names) > 1 else made.squeeze("result")
