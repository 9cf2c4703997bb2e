"""Sensitivity of a result to its inputs: Sobol indices with bootstrap intervals."""

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import xarray
from numpy.typing import NDArray
from scipy import stats

from feemodel.arguments import checked
from feemodel.checks import check_limit, require
from feemodel.errors import InvalidInput
from feemodel.quantities import Probability, Quantity
from feemodel.simulation._metadata import described_dataset
from feemodel.simulation.draws import Rng, columns_at, described, seed_sequence, sobol_points, split_ranges, stream_of
from feemodel.simulation.run import Where
from feemodel.simulation.samples import SAMPLE
from feemodel.simulation.sweep import sweep

RESAMPLED_AT_ONCE = 1 << 18  # maximum number of resampled values in memory (2 MiB)
LARGEST_DESIGN = 1 << 26  # maximum number of input values in memory, which take 0.5 GiB


@checked
def sobol_indices(
    function: Callable[..., Any],
    count: Annotated[int, Quantity("1", minimum=2)],
    /,
    *,
    rng: Rng = None,
    confidence: Probability = 0.95,
    resamples: Annotated[int, Quantity("1", minimum=2, maximum=100_000)] = 1_000,
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
    varied, constants = split_ranges("ranges", ranges, tuple)
    check_limit(count * (len(varied) + 2) * len(varied), "numbers of a design", LARGEST_DESIGN, ": take fewer rows")
    seed = seed_sequence(rng)
    unit = sobol_points(count, 2 * len(varied), stream_of(seed, 0))
    columns: dict[str, Any] = {}
    for index, (name, within) in enumerate(varied.items()):
        of_a, of_b = (columns_at(name, within, unit[:, column]) for column in (index, len(varied) + index))
        for key, a in of_a.items():
            copies = [of_b[key] if copy in (1, 2 + index) else a for copy in range(2 + len(varied))]
            columns[key] = xarray.DataArray(np.concatenate(copies), dims=SAMPLE, attrs={"range": described(within)})
    evaluated = sweep(function, columns | constants, executor=executor, workers=workers).astype(np.float64)
    values = np.array([_centred(str(name), result.to_numpy(), count) for name, result in evaluated.items()])
    a, b, *mixed = values.reshape(len(values), -1, count).transpose(1, 2, 0)
    first, total = [b * (ab - a) for ab in mixed], [(a - ab) ** 2 / 2 for ab in mixed]
    terms = np.stack([(a + b) / 2, (a**2 + b**2) / 2, *first, *total], axis=1)

    def indices(terms: NDArray[np.float64], axis: int) -> Any:
        """Return first-order and total indices as ratios of means over rows; the shape is (2 · inputs, results)."""
        mean, square, *numerators = terms.mean(axis=axis)
        return np.array(numerators) / (square - mean**2)

    batch, stream = max(1, RESAMPLED_AT_ONCE // terms.size), stream_of(seed, 1)
    options: Any = {"n_resamples": resamples, "confidence_level": confidence, "method": "percentile"}
    drawn: Any = stats.bootstrap((terms,), indices, batch=batch, rng=stream, **options)
    made = described_dataset(
        {
            f"{order}_order{end}": (("result", "input"), found.T, "1")
            for end, both in zip(("", "_low", "_high"), (indices(terms, 0), *drawn.confidence_interval), strict=True)
            for order, found in zip(("first", "total"), np.split(both, 2), strict=True)
        },
        {"result": [*evaluated], "input": [*varied]},
        evaluated.attrs | {"seed": str(seed.entropy), "confidence": confidence, "resamples": resamples},
    )
    return made if len(values) > 1 else made.squeeze("result")


def _centred(name: str, results: NDArray[np.float64], rows: int) -> NDArray[np.float64]:
    require(name, "expected finite results everywhere", results, np.isfinite(results))
    if results[: 2 * rows].min() == results[: 2 * rows].max():
        raise InvalidInput(name, "expected a result that varies with the inputs", float(results[0]))
    return np.asarray(results - results[: 2 * rows].mean())  # makes the estimates more accurate
