"""Sensitivity of a result to its inputs: Sobol indices with bootstrap intervals."""

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray
from numpy.typing import NDArray

from feemodel.checks import check_limit, require, share, whole_scalar
from feemodel.errors import InvalidInput
from feemodel.simulation._metadata import described_dataset
from feemodel.simulation.draws import Rng, columns_at, described, seed_sequence, sobol_points, split_ranges, stream_of
from feemodel.simulation.run import Where
from feemodel.simulation.samples import SAMPLE
from feemodel.simulation.sweep import sweep

LARGEST_DESIGN = 1 << 26  # maximum number of input values in memory, which take 0.5 GiB
RESAMPLED_AT_ONCE = 1 << 18  # maximum number of resampled values in memory (2 MiB)


def sobol_indices(
    function: Callable[..., Any],
    count: int,
    /,
    *,
    rng: Rng = None,
    confidence: float = 0.95,
    resamples: int = 1_000,
    executor: Where = None,
    workers: int | None = None,
    **ranges: Any,
) -> xarray.Dataset:
    """Compute the first-order and total Sobol index of each input: the share of the variance that the input explains.

    The function is evaluated on the rows of two random matrices A and B. For each input, it is also evaluated on the
    rows of AB, a copy of A in which the column of this input is from B: `count · (inputs + 2)` evaluations in total.
    The formulas are those of Saltelli et al. 2010 (doi:10.1016/j.cpc.2009.09.018):

        first = E[f_B · (f_AB − f_A)] / Var[f];   total = E[(f_A − f_AB)²] / (2 · Var[f])

    The ends of the confidence intervals are percentiles of a bootstrap that resamples the rows; their widths are
    proportional to 1 / sqrt(count).

    Parameters
    ----------
    function : function as for `feemodel.sweep`.
    count : number of rows of each of the sample matrices A and B, a power of two.
    rng : seed, `SeedSequence` or `Generator` of the design and of the bootstrap.
    confidence : confidence level of the intervals [1].
    resamples : number of resamples of the bootstrap, at most 100,000.
    executor, workers : as for `feemodel.sweep`.
    ranges : range of each input, as a keyword argument with the name of the input. A range is one of the following: a
        pair (low, high); a frozen `scipy.stats` distribution; the result of `rows`, which counts as one input; or a
        number, which stays constant (see `feemodel.sobol`).

    Returns
    -------
    Dataset over "input", and over "result" if the function returns several results: `first_order` and `total_order`,
    and the ends of their intervals, such as `first_order_low` and `first_order_high` [1]. Because of rounding and
    random sampling, an index can be slightly below 0 or above 1.

    Raises
    ------
    InvalidInput : an argument of `feemodel.sobol` or `feemodel.sweep` is not valid, a result is not finite, or all
        results are equal.
    LimitExceeded : a design of more than 67,108,864 numbers.

    If y = 2·x + z, and x and z are uniform on [0, 1], x explains 4/5 of the variance, and z explains 1/5:

    >>> indices = sobol_indices(lambda x, z: 2.0 * x + z, 4_096, rng=1, x=(0.0, 1.0), z=(0.0, 1.0))
    >>> indices.first_order.round(2).values.tolist()
    [0.8, 0.2]
    """
    level, draws = share("confidence", confidence), whole_scalar("resamples", resamples, minimum=2, maximum=100_000)
    rows = whole_scalar("count", count, minimum=2)
    varied, constants = split_ranges(ranges, tuple)
    if not varied:
        raise InvalidInput("ranges", "expected at least one range, such as margin=(1.0, 2.0)", ranges)
    check_limit(rows * (len(varied) + 2) * len(varied), "numbers of a design", LARGEST_DESIGN, ": take fewer rows")
    seed = seed_sequence(rng)
    unit = sobol_points(rows, 2 * len(varied), stream_of(seed, 0))
    columns: dict[str, Any] = {}
    for index, (name, within) in enumerate(varied.items()):
        of_a, of_b = (columns_at(name, within, unit[:, column]) for column in (index, len(varied) + index))
        for key, a in of_a.items():
            copies = [a, of_b[key], *(of_b[key] if other == index else a for other in range(len(varied)))]
            columns[key] = xarray.DataArray(np.concatenate(copies), dims=SAMPLE, attrs={"range": described(within)})
    evaluated = sweep(function, columns | constants, executor=executor, workers=workers)
    names = [str(name) for name in evaluated.data_vars]
    found = np.array(
        [_estimates(name, evaluated[name].to_numpy(), rows, draws, level, stream_of(seed, 1)) for name in names]
    )
    made = described_dataset(
        {
            f"{order}_order{end}": (("result", "input"), values, "1")
            for index, end in enumerate(("", "_low", "_high"))
            for order, values in zip(("first", "total"), np.split(found[:, index], 2, axis=-1), strict=True)
        },
        {"result": names, "input": [*varied]},
    )
    attributes = evaluated.attrs | {"seed": str(seed.entropy), "confidence": level, "resamples": draws}
    return (made if len(names) > 1 else made.squeeze("result")).assign_attrs(attributes)


def _estimates(
    name: str, values: NDArray[Any], rows: int, draws: int, level: float, stream: np.random.Generator
) -> NDArray[np.float64]:
    """Return the first-order and total indices, and the ends of their intervals, of shape (3, 2 · inputs).

    Every index is a ratio of means over rows, and `scipy.stats.bootstrap` resamples the rows in batches. SALib needs
    several arrays of rows × resamples; the bootstrap of SciPy's `sobol_indices` takes no seed.
    """
    from scipy.stats import bootstrap

    results = values.astype(np.float64)
    require(name, "expected finite results everywhere", results, np.isfinite(results))
    if results[: 2 * rows].min() == results[: 2 * rows].max():
        raise InvalidInput(name, "expected a result that varies with the inputs", float(results[0]))
    results -= results[: 2 * rows].mean()  # makes the estimates more accurate
    a, b, *mixed = results.reshape(-1, rows)
    ab = np.array(mixed)
    first, total = b * (ab - a), (a - ab) ** 2 / 2
    terms = np.asfortranarray(np.vstack([(a + b) / 2, (a**2 + b**2) / 2, first, total]))
    interval = bootstrap(
        (terms,),
        _indices,
        axis=-1,
        vectorized=True,
        n_resamples=draws,
        confidence_level=level,
        batch=max(1, RESAMPLED_AT_ONCE // terms.size),
        method="percentile",
        rng=stream,
    ).confidence_interval
    return np.vstack([_indices(terms), *interval])


def _indices(terms: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
    """Return the indices of terms of shape (term, row): the mean, the mean square, and the indices' numerators."""
    means = terms.mean(axis=axis)
    indices: NDArray[np.float64] = means[2:] / (means[1] - means[0] ** 2)
    return indices
