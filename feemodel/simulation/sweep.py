"""Evaluate a function on samples in pieces, and return a Dataset with the inputs as coordinates.

A sweep is a broadcast of DataArrays that is cut into pieces. It needs memory for its result, and for a few pieces of at
most 1,048,576 evaluations for each worker.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from difflib import get_close_matches
from functools import cache, partial
from itertools import product
from math import prod
from typing import Any, get_type_hints

import numpy as np
import xarray
from numpy.typing import NDArray

from feemodel.arguments import check_of
from feemodel.checks import instance
from feemodel.errors import InvalidInput, LimitExceeded
from feemodel.progress import Progress, reporting
from feemodel.quantities import quantity_of
from feemodel.simulation._metadata import VERSIONS, with_metadata
from feemodel.simulation.quantities import CountAboveZero
from feemodel.simulation.run import Finished, Where, in_order, parts
from feemodel.simulation.statistics import Over, Sums, Table

LARGEST_PIECE = 1 << 20  # maximum number of evaluations in a piece, which takes at most 8 MiB for each result
SMALLEST_PIECE = 1 << 16
PIECES = 64  # preferred number of pieces; the limits on the size of a piece take precedence
LARGEST_RESULT = 1 << 30  # maximum number of values of a result (8 GiB)
NOT_LISTED = ("units", "long_name", "seed")  # attributes of an input that do not describe its values

Cut = tuple[slice, ...]  # the part of a result that a piece computes
Arrays = dict[str, NDArray[Any]]


def sweep(
    function: Callable[..., Any],
    samples: Mapping[str, Any],
    *,
    reduce: Over | None = None,
    executor: Where = None,
    workers: int | None = None,
    chunk: int | None = None,
    units: Mapping[str, str] | None = None,
    finished: Finished | None = None,
    progress: Progress = None,
) -> xarray.Dataset:
    """Evaluate a function on samples.

    Parameters
    ----------
    function : function whose parameters are the inputs. It is called with arrays that broadcast, and returns an array
        of their shape, or a mapping from names to such arrays. A formula with a compiled form writes to the result.
    samples : DataArrays and constants by input, such as results of `grid`, `sobol` and `monte_carlo`, joined by `|`.
        DataArrays broadcast by the names of their dimensions.
    reduce : result of `over`, the statistics to return in place of all evaluations.
    executor : any `concurrent.futures.Executor`, or a `dask.distributed.Client`; `None` means threads. The result does
        not depend on the executor, to the last bit. An executor is not closed; its errors are not changed.
    workers : number of threads, or of pieces that an executor computes at a time; `None` means the number of
        processors.
    chunk : maximum number of evaluations in a piece; `None` means 16 of an `Experiment`, else at least 65,536.
    units : units by name, for results and inputs of a function that is no formula of the package.
    finished : store for finished pieces, a `feemodel.io.FinishedFolder`. With a store, a call with the same arguments
        resumes an interrupted sweep. A store is refused if the inputs, the source of `function` or the versions
        differ. A change of a global or of a helper that `function` uses is not noticed.
    progress : `True` for a progress bar, or a function that is called with the number of evaluations finished since the
        previous call.

    Returns
    -------
    Dataset with the results, over the dimensions of the samples without the reduced dimensions. Inputs that vary along
    dimensions of the result are coordinates with units. The attributes describe the other inputs, the seed and the
    software versions, and include `function.attributes`, if there is such a mapping.

    Raises
    ------
    InvalidInput : an input of the function is unknown or missing, a result is not valid, or `finished` has pieces of
        another sweep.
    LimitExceeded : more than 2**30 evaluations that are not reduced.

    >>> import feemodel
    >>> from feemodel.simulation.samples import grid
    >>> samples = grid(margin=[1.0, 1.2], compressed_size=128, gas=21_000, variable_cost=10**9, fixed_cost=30_000_000)
    >>> fees = sweep(feemodel.priority_fee, samples)
    >>> fees.priority_fee.values.tolist(), fees.priority_fee.units
    ([36095238, 43314285], 'wei / gas')
    """
    sizes = _checked(function, samples, reduce)
    dims, shape = tuple(sizes), tuple(sizes.values())
    cuts = _cuts(shape, getattr(function, "chunk", None) if chunk is None else chunk)
    into = getattr(function, "into", None)  # only of formulas, which change no input
    arrays = {
        name: _aligned(value, sizes, into is not None)
        for name, value in samples.items()
        if isinstance(value, xarray.DataArray)
    }
    constants = {name: value for name, value in samples.items() if name not in arrays}
    axes = () if reduce is None else tuple(map(dims.index, reduce.dims))
    name = getattr(function, "__name__", "result")
    name = name if name.isidentifier() else "result"
    evaluate = partial(_evaluate, function, name, reduce, axes)
    result: dict[str, Any] = {}
    add = partial(_add, result, reduce, shape, [axis for axis in range(len(shape)) if axis not in axes])

    def task(number: int) -> tuple[dict[str, Any], tuple[int, ...]]:
        """Return the inputs and the shape of a piece."""
        inputs = dict(constants)
        for name, array in arrays.items():
            cut = [part if size > 1 else slice(0, 1) for part, size in zip(cuts[number], array.shape, strict=True)]
            inputs[name] = array[tuple(cut)]
        return inputs, tuple([part.stop - part.start for part in cuts[number]])

    def write(number: int) -> Arrays:
        """Compute a piece in a thread; write it to the result or, if reduced, return the sums."""
        piece = task(number)
        if reduce is not None:
            return evaluate(piece)
        if into is None or into(piece[0], result[name][cuts[number]]) is None:
            add(cuts[number], evaluate(piece))
        return {}

    def described() -> dict[str, Any]:
        return {
            "function": function,
            "samples": dict(samples),
            "chunk": [part.stop for part in cuts[0]],
            "reduce": reduce,
            "versions": VERSIONS,
        }

    parted: Any
    if in_threads := finished is None and executor is None:
        add(cuts[0], evaluate(task(0)))  # the first piece determines the types of the arrays
        rest = range(1, len(cuts))
        parted = closing(in_order(write, rest, executor=None, workers=workers)) if rest else nullcontext(())
    else:
        parted = closing(parts(evaluate, task, len(cuts), finished, described, executor=executor, workers=workers))
    shown = nullcontext(int) if progress is None else reporting(progress, prod(shape), "evaluations")
    with shown as report, parted as found:
        if in_threads:
            report(prod(piece.stop - piece.start for piece in cuts[0]))
        for cut, part in zip(cuts[in_threads:], found, strict=True):
            add(cut, part)
            report(prod(piece.stop - piece.start for piece in cut))
    about = {"function": name} | getattr(function, "attributes", {})
    known = _units(function) if hasattr(function, "quantities") else getattr(function, "units", {})
    return _dataset(
        about, samples, sizes, result, reduce, {**known, **({} if units is None else instance("units", units, Mapping))}
    )


@cache
def _units(formula: Any) -> dict[str, str]:
    """Return the units of the parameters and of the result of a formula, by name."""
    returned = quantity_of(get_type_hints(formula, include_extras=True)["return"])
    quantities = {**formula.quantities, formula.__name__: returned}
    return {name: quantity.unit for name, quantity in quantities.items() if quantity is not None}


def _evaluate(
    function: Callable[..., Any],
    name: str,
    reduce: Over | None,
    axes: tuple[int, ...],
    task: tuple[dict[str, Any], tuple[int, ...]],
) -> Arrays:
    """Return the results of a piece, or their sums over the axes.

    `task` has the inputs and the shape of the piece. A function that returns no mapping has one result, `name`.
    """
    inputs, shape = task
    bound = inspect.signature(function).bind(**inputs)  # `numba.vectorize` functions accept no keywords
    value = function(*bound.args, **bound.kwargs)
    named = value if isinstance(value, Mapping) else {name: value}
    results = {str(key): _of_shape(key, result, shape) for key, result in named.items()}
    if reduce is None:
        return results
    return {
        f"{key}/{term}": array
        for key, values in results.items()
        for term, array in reduce.sums(values, axes)._asdict().items()
    }


def _add(
    result: dict[str, Any],
    reduce: Over | None,
    shape: tuple[int, ...],
    kept: Sequence[int],
    cut: Cut,
    part: Mapping[str, NDArray[Any]],
) -> None:
    """Store the results or sums of a piece in arrays or tables; the first piece decides names and types.

    A part without results was already written to the arrays. `kept` are the axes that are not reduced.
    """
    names = [*dict.fromkeys([key.rpartition("/")[0] or key for key in part])]
    if names and not result:
        size = tuple([shape[axis] for axis in kept])
        try:
            result |= {
                name: np.empty(size, part[name].dtype) if reduce is None else Table(size, reduce) for name in names
            }
        except MemoryError as error:
            raise LimitExceeded(f"not enough memory for the result: {error}") from None
    if names and names != [*result]:
        raise InvalidInput("function", f"expected the results {', '.join(result)} in every call", names)
    for name in names:
        if reduce is not None:
            sums = Sums(*(part[f"{name}/{term}"] for term in Sums._fields))
            result[name].merge(tuple(cut[axis] for axis in kept), sums)
        elif not np.can_cast(part[name].dtype, result[name].dtype):
            reason = f"expected the type {result[name].dtype} of the first result {name}"
            raise InvalidInput("function", reason, str(part[name].dtype))
        else:
            result[name][cut] = part[name]


def _checked(function: Callable[..., Any], samples: Mapping[str, Any], reduce: Over | None) -> dict[str, int]:
    """Check the arguments; return the sizes of the dimensions."""
    if not callable(function):
        raise InvalidInput("function", "expected a function", function)
    if not isinstance(samples, Mapping):
        raise InvalidInput("samples", "expected a mapping, such as a result of grid, sobol or monte_carlo", samples)
    if reduce is not None and not isinstance(reduce, Over):
        raise InvalidInput("reduce", 'expected a result of over, such as over("sample")', reduce)
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        raise InvalidInput(
            "function", "expected a function that names its parameters, such as a lambda", function
        ) from None
    accepted = [name for name, p in parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    if inspect.Parameter.VAR_KEYWORD not in {p.kind for p in parameters.values()}:
        for name in samples:
            if name not in accepted:
                close = get_close_matches(name, [free for free in accepted if free not in samples], 1, 0.5)
                hint = f"did you mean {close[0]}?" if close else f"it takes {', '.join(accepted)}"
                raise InvalidInput(
                    "samples", f"expected inputs of {getattr(function, '__name__', 'the function')}: {hint}", name
                )
    if missing := [n for n in accepted if parameters[n].default is inspect.Parameter.empty and n not in samples]:
        raise InvalidInput("samples", f"missing {', '.join(missing)}", [*samples])
    arrays: dict[str, xarray.DataArray] = {}
    for name, value in samples.items():
        if isinstance(value, xarray.DataArray):
            arrays[name] = value
        elif not isinstance(value, (int, float, str, np.integer, np.floating)):
            raise InvalidInput("samples", f"expected a DataArray or a number for {name}; grid(…) makes one", value)
    try:
        xarray.align(*arrays.values(), join="exact", copy=False)
    except ValueError as error:
        raise InvalidInput("samples", "expected equal coordinates along a shared dimension", str(error)) from None
    sizes = {str(dim): size for array in arrays.values() for dim, size in array.sizes.items()}
    for dim in () if reduce is None else reduce.dims:
        if dim not in sizes:
            close = get_close_matches(dim, sizes, 1, 0.5) or [", ".join(sizes)]
            raise InvalidInput("reduce", f"expected dimensions of the samples, such as {close[0]}", dim)
    if reduce is None and (size := prod(sizes.values())) > LARGEST_RESULT:
        raise LimitExceeded(f"{size:,} evaluations are more than {LARGEST_RESULT:,}: pass reduce=over(…)")
    return sizes


def _aligned(array: xarray.DataArray, sizes: Mapping[str, int], writes: bool) -> NDArray[Any]:
    """Return the values of a DataArray, with an axis of length 1 for each dimension that it does not have."""
    ordered = array.transpose(*[dim for dim in sizes if dim in array.dims]).to_numpy()
    view = ordered.reshape([size if dim in array.dims else 1 for dim, size in sizes.items()]).view()
    view.flags.writeable = writes  # pieces share inputs; numba would compile a formula again for read-only inputs
    return view


def _cuts(shape: tuple[int, ...], chunk: int | None) -> list[Cut]:
    """Cut a result into pieces of at most `chunk` evaluations; each piece is contiguous, in C order.

    >>> _cuts((3, 10), 20)
    [(slice(0, 2, None), slice(0, 10, None)), (slice(2, 3, None), slice(0, 10, None))]
    """
    limit = min(max(prod(shape) // PIECES, SMALLEST_PIECE), LARGEST_PIECE)
    if chunk is not None:
        limit = check_of(CountAboveZero)("chunk", chunk)
    ranges: list[list[slice]] = []
    for size in reversed(shape):
        step = min(size, max(1, limit))
        ranges.append([slice(start, min(start + step, size)) for start in range(0, size, step)])
        limit //= size
    return list(product(*reversed(ranges)))


def _of_shape(name: object, value: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    if np.ma.is_masked(value):
        raise InvalidInput("function", f"expected a result {name} without a mask, because it would be lost", value)
    array = np.asarray(value)
    if array.dtype.kind not in "iufb":
        raise InvalidInput("function", f"expected numbers in the result {name}", str(array.dtype))
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        reason = f"expected a result {name} that can be broadcast to the shape {shape}"
        raise InvalidInput("function", reason, array.shape) from None


def _dataset(
    function: Mapping[str, Any],
    samples: Mapping[str, Any],
    sizes: Mapping[str, int],
    result: Mapping[str, Any],
    reduce: Over | None,
    units: Mapping[str, str],
) -> xarray.Dataset:
    """Return the result with its coordinates, and with attributes that describe the samples and the function."""
    kept = [dim for dim in sizes if reduce is None or dim not in reduce.dims]
    variables: dict[str, Any] = {}
    coordinates: dict[str, Any] = {}
    attributes: dict[str, Any] = {"evaluations": prod(sizes.values())}
    seeds: list[str] = []
    for name, value in samples.items():
        unit = {"units": units[name]} if name in units else {}
        if not isinstance(value, xarray.DataArray):
            coordinates[name] = ((), value, unit)
            continue
        described = {f"{name}_{key}": text for key, text in value.attrs.items() if key not in NOT_LISTED}
        seeds += [value.attrs["seed"]] if "seed" in value.attrs else []
        if set(value.dims) <= set(kept):
            coordinates |= {str(key): held.variable for key, held in value.coords.items() if key != name}
            coordinates[name] = (value.dims, value.to_numpy(), unit)
        elif not described:
            described = {f"{name}_values": f"{value.size:,} from {value.min().item()} to {value.max().item()}"}
        attributes |= described
    for name, found in result.items():
        unit = {"units": units[name]} if name in units else {}
        if reduce is None:
            variables[name] = (tuple(sizes), found, unit)
        else:
            variables |= found.variables(name, tuple(kept), unit)
            levels = {"above": (reduce.above, unit), "quantile": (reduce.quantile, {"units": "1"})}
            coordinates |= {level: (level, list(given), about) for level, (given, about) in levels.items() if given}
            attributes["reduced_over"] = ", ".join(reduce.dims)
    if twice := [name for name in variables if name in samples or name in sizes]:
        raise InvalidInput("function", "expected a name that differs from all inputs and dimensions", twice[0])
    if seeds:
        attributes["seed"] = "; ".join(dict.fromkeys(seeds))
    for key, text in function.items():
        attributes[f"function_{key}" if key in attributes else key] = text
    return with_metadata(xarray.Dataset(variables, coordinates, attributes))
