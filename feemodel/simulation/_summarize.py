"""Compute statistics, such as means and quantiles, over some dimensions of a Dataset."""

from math import prod
from typing import Any

import xarray

from feemodel.checks import instance
from feemodel.errors import InvalidInput
from feemodel.simulation._metadata import with_metadata
from feemodel.simulation._reduce import Over, Table, level_coordinates


def summarize(result: xarray.Dataset, reduction: Over) -> xarray.Dataset:
    """Compute statistics of a result over some of the result's dimensions.

    Parameters
    ----------
    result : result of `sweep`, `backtest` or `simulate`, or any other Dataset.
    reduction : result of `over`: the dimensions and the statistics.

    Returns
    -------
    Dataset with a variable `<variable>_<statistic>` for each statistic and each numeric variable that has all
    dimensions of the reduction. Variables with no dimension of the reduction are kept unchanged. Variables that are
    neither reduced nor kept are dropped, and the attribute `left_out` lists their names.

    Raises
    ------
    InvalidInput : no numeric variable has all dimensions of the reduction, or a variable has NaN values and a
        histogram, quantile, tail mean or drawdown is requested.

    >>> from feemodel.simulation._reduce import over
    >>> recovery = xarray.Dataset({"recovery": ("path", [0.8, 1.0, 1.1, 1.5])})
    >>> found = summarize(recovery, over("path", statistics=["mean"], below=[1.0], cvar_lower=[0.5]))
    >>> found.recovery_mean.item(), found.recovery_below.values.tolist(), found.recovery_cvar_lower.values.tolist()
    (1.1, [0.25], [0.9])
    """
    if not isinstance(result, xarray.Dataset):
        raise InvalidInput("result", "expected a Dataset, such as a result of sweep, backtest or simulate", result)
    wanted = instance("reduction", reduction, Over)
    reduced: list[str] = []
    stays: list[str] = []
    left_out: list[str] = []
    for name, values in result.data_vars.items():
        shared = [dim for dim in wanted.dims if dim in values.dims]
        group = stays if not shared else reduced if len(shared) == len(wanted.dims) else left_out
        (group if not shared or values.dtype.kind in "iufb" else left_out).append(str(name))
    if not reduced:
        raise InvalidInput(
            "reduction",
            f"expected dimensions of at least one numeric variable, from {', '.join(map(str, result.dims))}",
            wanted,
        )
    if empty := [dim for dim in wanted.dims if not result.sizes[dim]]:
        raise InvalidInput("result", f"expected at least one value along {empty[0]}", dict(result.sizes))
    for name in wanted.coordinates:
        if name in result.variables or name in result.dims:
            raise InvalidInput(
                "result", "expected no variable or dimension with the name of a statistic's dimension", name
            )
    variables: dict[str, Any] = {name: result[name].variable for name in stays}
    for name in reduced:
        variables |= _reduced(name, result[name], wanted)
    coordinates = {
        name: values.variable for name, values in result.coords.items() if not set(values.dims) & set(wanted.dims)
    }
    attributes = result.attrs | {"reduced_over": ", ".join(wanted.dims), "left_out": ", ".join(left_out)}
    return with_metadata(xarray.Dataset(variables, coordinates | level_coordinates(wanted), attributes))


def _reduced(name: str, values: xarray.DataArray, wanted: Over) -> dict[str, Any]:
    kept = [dim for dim in values.dims if dim not in wanted.dims]
    ordered = values.transpose(*kept, *wanted.dims)
    shape, units = ordered.shape[: len(kept)], {name: values.attrs[name] for name in ("units",) if name in values.attrs}
    array = ordered.to_numpy()
    table = Table(shape, wanted)
    table.merge((), wanted.moments(array, tuple(range(len(kept), array.ndim))))
    held = wanted.of_values(array.reshape(prod(shape), -1)) if wanted.holds_values else {}
    return table.variables(name, tuple(map(str, kept)), held, units)
