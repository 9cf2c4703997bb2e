"""Which of many inputs matter at all: Morris's elementary effects, at a few evaluations an input."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from feemodel.checks import RealArray, raise_first, real_scalar, whole_scalar
from feemodel.errors import InvalidInput, LimitExceeded
from feemodel.extras import install_command
from feemodel.simulation.axes import SAMPLE, Listed, Rng, Rows, SobolPoints, columns_at, is_frozen, stream_of
from feemodel.simulation.executors import Where
from feemodel.simulation.metadata import with_metadata
from feemodel.simulation.samples import Samples, sobol
from feemodel.simulation.sensitivity import LARGEST_DESIGN, MOST_RESAMPLES
from feemodel.simulation.sweep import sweep

if TYPE_CHECKING:
    import xarray

MOST_LEVELS = 1_000_000  # of an input's grid


def morris_screening(
    function: Callable[..., Any],
    trajectories: int,
    /,
    *,
    rng: Rng = None,
    levels: int = 4,
    confidence: float = 0.95,
    resamples: int = 1_000,
    executor: "Where" = None,
    workers: int | None = None,
    **ranges: Any,
) -> "xarray.Dataset":
    """Elementary effects of each input: how much a result moves when one input moves across its range, and how evenly.

    Each trajectory moves one input after the other by half its range and more; the function is evaluated
    `trajectories · (inputs + 1)` times. Trajectories and estimators are SALib's (Morris 1991,
    doi:10.1080/00401706.1991.10484804; Campolongo et al. 2007, doi:10.1016/j.envsoft.2006.10.004).

    Parameters
    ----------
    function : takes the inputs by name, as arrays, and returns an array or a mapping from names to arrays.
    trajectories : at least 2.
    rng : of the trajectories and of the bootstrap.
    levels : of each input's grid, even. A range is met from end to end, a distribution in the middles of so many equal
        shares, `rows` in as many places.
    confidence : of the interval of `mu_star` [1].
    resamples : of the bootstrap.
    executor, workers : as in `feemodel.sweep`.
    ranges : as in `feemodel.sobol_indices`.

    Returns
    -------
    Dataset over "input" (and "result", where the function has several): `mu_star`, the mean size of an input's effects
    across its whole range, with `mu_star_low` and `mu_star_high`; `mu`, their mean with its sign; `sigma`, their
    standard deviation: 0 where the input acts alone and in a straight line [the result's unit].

    Raises
    ------
    InvalidInput : as `feemodel.sobol` and `feemodel.sweep`; an odd number of levels; a result that is not finite; SALib
        that is not installed.
    LimitExceeded : a design of more than 67,108,864 numbers; more than 1,000,000 resamples.

    y = 2·x + z on unit ranges:

    >>> found = morris_screening(lambda x, z: 2.0 * x + z, 10, rng=1, x=(0.0, 1.0), z=(0.0, 1.0))
    >>> found.mu_star.round(6).values.tolist(), found.sigma.round(6).values.tolist()
    ([2.0, 1.0], [0.0, 0.0])
    """
    import xarray

    count, grid_levels = (
        whole_scalar("trajectories", trajectories, minimum=2),
        whole_scalar("levels", levels, minimum=2, maximum=MOST_LEVELS),
    )
    if grid_levels % 2:
        raise InvalidInput("levels", "expected an even number", levels)
    share, draws = real_scalar("confidence", confidence), whole_scalar("resamples", resamples, minimum=2)
    if not 0.0 < share < 1.0:
        raise InvalidInput("confidence", "expected a number between 0 and 1", confidence)
    if draws > MOST_RESAMPLES:
        raise LimitExceeded(f"{draws:,} resamples are more than {MOST_RESAMPLES:,}")
    samples = sobol(1, rng=rng, **ranges)
    points = samples.axes[0]
    if not isinstance(points, SobolPoints) or len(samples.axes) > 1:
        raise InvalidInput("ranges", "expected ranges and numbers, not transactions", [*ranges])
    sample, analyze = _salib()
    inputs = list(points.ranges)
    if (size := count * (len(inputs) + 1) * len(points.names)) > LARGEST_DESIGN:
        raise LimitExceeded(f"a design of {size:,} numbers is more than {LARGEST_DESIGN:,}: take fewer trajectories")
    problem = {"num_vars": len(inputs), "names": inputs, "bounds": [[0.0, 1.0]] * len(inputs)}
    design = sample(problem, count, num_levels=grid_levels, seed=stream_of(points.seed, 0))
    columns: dict[str, Any] = {}
    for place, (name, within) in enumerate(points.ranges.items()):
        columns |= columns_at(name, within, _units(design[:, place], within, grid_levels))
    described = f"{count:,} Morris trajectories of {grid_levels} levels"
    evaluated = sweep(
        function, Samples((Listed(SAMPLE, columns, described),), samples.constants), executor=executor, workers=workers
    )
    found: dict[str, list[Any]] = {name: [] for name in ("mu_star", "mu_star_low", "mu_star_high", "mu", "sigma")}
    names = [str(name) for name in evaluated.data_vars]
    for name in names:
        values = evaluated[name].to_numpy().astype(np.float64)
        if not (finite := np.isfinite(values)).all():
            raise_first(name, "expected finite results everywhere", values, ~finite)
        indices = analyze(
            problem, design, values, num_resamples=draws, conf_level=share, num_levels=grid_levels,
            seed=stream_of(points.seed, 1),
        )  # fmt: skip
        width = np.asarray(indices["mu_star_conf"], np.float64)
        effects = {key: np.asarray(indices[key], np.float64) for key in ("mu_star", "mu", "sigma")}
        effects |= {"mu_star_low": effects["mu_star"] - width, "mu_star_high": effects["mu_star"] + width}
        for key, column in effects.items():
            found[key].append(column)
    units = {
        key: {"units": evaluated[names[0]].attrs["units"]} for key in found if "units" in evaluated[names[0]].attrs
    }
    dataset = xarray.Dataset(
        {key: (("result", "input"), np.array(values), units.get(key, {})) for key, values in found.items()},
        {"result": names, "input": inputs},
        {**evaluated.attrs, **points.attributes(), "sampling": described, "confidence": share, "resamples": draws},
    )
    dataset = with_metadata(dataset)
    return dataset if len(names) > 1 else dataset.squeeze("result")


def _units(levels: RealArray, within: Any, count: int) -> RealArray:
    """Levels 0 to 1 as shares for `columns_at`: middles of equal shares where the ends are infinite or rows."""
    if isinstance(within, Rows) or is_frozen(within):
        return (levels * (count - 1) + 0.5) / count
    if isinstance(within[0], int) and isinstance(within[1], int):
        return levels * (1.0 - 0.5**52)  # whole numbers up to the last one
    return levels


def _salib() -> tuple[Callable[..., Any], Callable[..., Any]]:
    try:
        from SALib.analyze.morris import analyze
        from SALib.sample.morris import sample
    except ImportError:
        reason = f"expected SALib to be installed: {install_command('SALib')}"
        raise InvalidInput("morris_screening", reason, "no module SALib") from None
    return sample, analyze
