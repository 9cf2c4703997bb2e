"""Evaluate a function on samples in parallel, and return a Dataset with the inputs as coordinates.

A sweep needs memory for the result, and for a few blocks of at most 1,048,576 evaluations per worker.
"""

import inspect
import json
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from feemodel.checks import check_limit, mapping, text, whole_scalar
from feemodel.checks import function as checked_function
from feemodel.errors import InvalidInput, LimitExceeded
from feemodel.progress import Progress, reporting
from feemodel.simulation._axes import DRAW_BLOCK, Axis, Constant, Inputs
from feemodel.simulation._blocks import Blocks, blocks_of, inputs_of, part_of, shape_of
from feemodel.simulation._executors import THREADS, Where
from feemodel.simulation._fingerprint import description, package_source
from feemodel.simulation._metadata import versions, with_metadata
from feemodel.simulation._reduce import LEVELS, Moments, Over, Table, level_coordinates
from feemodel.simulation._resume import Finished, Layout, parts
from feemodel.simulation.samples import Samples

if TYPE_CHECKING:
    import xarray

Kernel = Callable[[Mapping[str, Any], NDArray[np.int64]], bool]

LARGEST_RESULT = 1 << 30  # maximum number of values of a result (8 GiB)
UNITS = {
    **dict.fromkeys(("gas", "execution_gas", "blob_gas", "verification_gas_cost"), "gas"),
    **dict.fromkeys(("compressed_size", "bytes_per_submission", "verification_capacity"), "byte"),
    **dict.fromkeys(("margin", "cost_margin", "gas_price_ratio"), "1"),
    **dict.fromkeys(("base_fee", "blob_base_fee", "tip", "fixed_cost", "min_gas_price", "adjustment"), "wei / gas"),
    **dict.fromkeys(("priority_fee", "verification_priority_fee", "priority_fee_from_l1"), "wei / gas"),
    "variable_cost": "wei / byte",
}


def sweep(
    function: Callable[..., Any],
    samples: Samples,
    *,
    reduce: Over | None = None,
    executor: "Where" = None,
    workers: int | None = None,
    chunk: int | None = None,
    units: Mapping[str, str] | None = None,
    finished: "Finished | None" = None,
    progress: Progress = None,
) -> "xarray.Dataset":
    """Evaluate a function on samples.

    Parameters
    ----------
    function : function whose parameters are the inputs of the samples. The function is called with read-only arrays
        that broadcast, and must return an array of the broadcast shape, or a mapping from names to such arrays. In
        place of some fee formulas of this package, compiled kernels with the same results are called.
    samples : result of `grid`, `sobol` or `monte_carlo`, or a product of such results.
    reduce : result of `over`, the statistics to return in place of all evaluations.
    executor : "threads" (the default), "processes", a `dask.distributed.Client`, the address of a Dask scheduler, or
        any `concurrent.futures.Executor`. The result does not depend on the executor. A script that uses processes
        needs `if __name__ == "__main__":`.
    workers : number of threads or processes; `None` means the number of processors.
    chunk : number of evaluations in a block; `None` means between 65,536 and 1,048,576.
    units : units by name, for results and inputs whose unit the package does not know.
    finished : store for finished blocks, such as a `feemodel.io.FinishedFolder`. With a store, a call with the same
        arguments resumes an interrupted sweep. The call raises an error if the code of the function, or an object that
        the code names, has changed since a block was stored. A change of a file that the function reads is not
        detected.
    progress : `True` for a progress bar, or a function that is called with the number of evaluations finished since the
        previous call.

    Returns
    -------
    Dataset with the results, over the dimensions of the samples without the reduced dimensions. Inputs that vary along
    dimensions of the result are coordinates with units. Inputs that are not coordinates are described in the
    attributes, with the seed and the software versions.

    Raises
    ------
    InvalidInput : an input of the function is unknown or missing, a result is not valid, or `finished` has blocks of
        another sweep.
    LimitExceeded : more than 2**30 evaluations that are not reduced.
    UpstreamError : the cluster cannot be reached, or workers die repeatedly.

    >>> import feemodel
    >>> from feemodel.simulation.samples import grid
    >>> samples = grid(margin=[1.0, 1.2], compressed_size=128, gas=21_000, variable_cost=10**9, fixed_cost=30_000_000)
    >>> fees = sweep(feemodel.priority_fee, samples)
    >>> fees.priority_fee.values.tolist(), fees.priority_fee.units
    ([36095238, 43314285], 'wei / gas')
    """
    job = _checked_job(function, samples, reduce, chunk)
    given = {} if units is None else mapping("units", units)
    named_units = {text("units", name): text(f"units[{name}]", unit) for name, unit in given.items()}
    types = job.types()
    try:
        result = _Result(job, *types)
    except MemoryError as error:
        raise LimitExceeded(f"not enough memory for the result: {error}") from None
    # Threads write directly to the arrays of the result. With any other executor, such as processes, the results of
    # blocks are sent to the caller and then copied.
    in_place = finished is None and (executor is None or (isinstance(executor, str) and executor == THREADS))
    work = replace(job, types_of_results=types[0], shared=(result.results, result.inputs) if in_place else None)
    with (
        reporting(progress, samples.size, "evaluations") as report,
        closing(parts(work, job.blocks.count, finished, executor=executor, workers=workers)) as found,
    ):
        for number, piece in enumerate(found):
            block = job.blocks.block(number)
            result.put(block, piece)
            report(int(np.prod(shape_of(block))))
    return result.dataset(UNITS | named_units)


class Plan(NamedTuple):
    """Number of evaluations, dimensions and memory of a sweep."""

    function: str  #: name of the function
    evaluations: int  #: number of evaluations
    dimensions: tuple[tuple[str, int], ...]  #: dimensions of the result, with their sizes
    result_bytes: int  #: size of the result in memory [byte]
    levels: bool  #: whether statistics add dimensions: bins, quantiles, thresholds or shares

    def __str__(self) -> str:
        dims = " × ".join(f"{size:,} {name}" for name, size in self.dimensions) or "one value"
        held = f"{self.result_bytes / 1e6:,.1f} MB" if self.result_bytes >= 50_000 else f"{self.result_bytes:,} bytes"
        return f"{self.evaluations:,} evaluations of {self.function} into {dims}, {held} in memory"


def planned(function: Callable[..., Any], samples: Samples, reduce: Over | None = None) -> Plan:
    """Check the arguments of a sweep with a test evaluation, and return the plan.

    Raises the same errors as `sweep`.

    >>> import feemodel
    >>> from feemodel.simulation.samples import grid
    >>> str(planned(lambda gas: gas * 2, grid(gas=range(1_000))))
    '1,000 evaluations of result into 1,000 gas, 8,000 bytes in memory'
    """
    job = _checked_job(function, samples, reduce, chunk=None)
    results, inputs = job.types()
    axes = [samples.axes[index] for index in job.result_axes]
    cells = prod(len(axis) for axis in axes)
    sizes = [np.dtype(dtype).itemsize for dtype in results.values()]
    # For each cell of each result, a reduction stores sums, a count for each bin, and a count for each threshold.
    held = cells * (sum(sizes) if reduce is None else 8 * _sums(reduce) * len(results))
    if reduce is not None and reduce.holds_values:
        held += samples.size * sum(sizes)
    held += sum(np.dtype(inputs[name]).itemsize * len(axis) for axis in axes for name in axis.names if name in inputs)
    dimensions = tuple((axis.dim, len(axis)) for axis in axes)
    return Plan(_result_name(function), samples.size, dimensions, held, reduce is not None and bool(reduce.coordinates))


class _Piece(NamedTuple):
    """Result of a block of evaluations, sent to the caller by a worker that shares no memory with the caller."""

    results: Mapping[str, NDArray[Any]]
    moments: Mapping[str, Moments]  #: moments of the results; empty without a reduction
    inputs: Inputs  #: generated inputs of this block of evaluations


@dataclass(frozen=True, eq=False)
class _Job:
    """Function that evaluates the block of inputs with a given number; each worker receives a copy of the function."""

    function: Callable[..., Any]
    samples: Samples
    blocks: Blocks
    reduce: Over | None
    types_of_results: Mapping[str, np.dtype[Any]] = field(default_factory=dict)  #: type of each result, if known
    shared: tuple[Inputs, Inputs] | None = None  #: arrays for results and for generated inputs, if memory is shared

    @property
    def result_axes(self) -> list[int]:
        """Return the indices of the axes that are not reduced."""
        reduced = () if self.reduce is None else self.reduce.dims
        return [index for index, dim in enumerate(self.samples.dims) if dim not in reduced]

    def __call__(self, number: int) -> _Piece:
        block = self.blocks.block(number)
        inputs, generated = inputs_of(self.samples, block, {} if self.shared is None else self.shared[1])
        if self.shared is not None:
            generated = {}  # the generated inputs are already in shared memory
        names = {name for index in self.result_axes for name in self.samples.axes[index].names}
        generated = {name: column for name, column in generated.items() if name in names}
        into = None if self.shared is None else {name: part_of(whole, block) for name, whole in self.shared[0].items()}
        found = self._evaluated(inputs, shape_of(block), into or None)
        if self.reduce is None:
            return _Piece({} if into else found, {}, generated)
        axes = tuple(self.samples.dims.index(dim) for dim in self.reduce.dims)
        moments = {name: self.reduce.moments(values, axes) for name, values in found.items()}
        return _Piece(found if self.reduce.holds_values and not into else {}, moments, generated)

    @property
    def description(self) -> str:
        """Return everything that determines the result, as JSON.

        Raises `InvalidInput` for a function or a distribution that cannot be described.
        """
        blocks, axes = self.blocks, self.samples.axes
        told = description(
            function=self.function,
            inputs={axis.dim: axis for axis in axes},
            drawn={axis.dim: _ends(axis) for axis in axes if axis.generated},
            constants=dict(self.samples.constants),
            chunk=[blocks.shape, blocks.split, blocks.step],
            reduce=self.reduce,
            versions=versions(),
            package=package_source(__name__),
        )
        return json.dumps(told)

    def layout(self, number: int) -> Layout:
        """Return the types and shapes of the stored arrays of a block."""
        shape = shape_of(self.blocks.block(number))
        reduce, results = self.reduce, self.types_of_results
        found: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {}
        if reduce is None or reduce.holds_values:
            found |= {f"results/{name}": (dtype, shape) for name, dtype in results.items()}
        for index in self.result_axes:
            axis, count = self.samples.axes[index], shape[index]
            if axis.generated:
                found |= {f"inputs/{name}": (one.dtype, (count,)) for name, one in axis.example().items()}
        if reduce is not None:
            axes = tuple(self.samples.dims.index(dim) for dim in reduce.dims)
            sums = reduce.moments(np.zeros(shape), axes)._asdict().items()
            found |= {f"{term}/{name}": (one.dtype, one.shape) for name in results for term, one in sums}
        return found

    def to_arrays(self, part: _Piece) -> dict[str, NDArray[Any]]:
        """Return the results, generated inputs and moments of a block of evaluations as arrays by name."""
        found = {f"results/{name}": values for name, values in part.results.items()}
        found |= {f"inputs/{name}": values for name, values in part.inputs.items()}
        for name, moments in part.moments.items():
            found |= {f"{term}/{name}": values for term, values in moments._asdict().items()}
        return found

    def from_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> _Piece:
        """Return the result of a block of evaluations from its stored arrays."""
        kinds: dict[str, Inputs] = {kind: {} for kind in ("results", "inputs", *Moments._fields)}
        for key, values in arrays.items():
            kind, _, name = key.partition("/")
            kinds[kind][name] = values
        moments = {name: Moments(*(kinds[term][name] for term in Moments._fields)) for name in kinds["evaluations"]}
        return _Piece(kinds["results"], moments, kinds["inputs"])

    def types(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Evaluate the function once, and return the types of the results and of the generated inputs."""
        examples = {name: column for axis in self.samples.axes for name, column in axis.example().items()}
        shape = (1,) * len(self.samples.axes)
        inputs = {name: column.reshape(shape) for name, column in examples.items()} | dict(self.samples.constants)
        found = self._by_kernel(inputs, shape) or self._by_function(inputs)
        results = {name: np.asarray(value).dtype for name, value in found.items()}
        for name, dtype in results.items():
            if dtype.kind not in "iufb":
                raise InvalidInput("function", f"expected numbers in the result {name}", str(dtype))
            variables = [name] if self.reduce is None else [f"{name}_{one}" for one in self.reduce.variables]
            for variable in variables:
                if variable in self.samples.names or variable in self.samples.dims:
                    reason = "expected a name that differs from all inputs and dimensions"
                    raise InvalidInput("function", reason, variable)
        generated = [
            axis for index, axis in enumerate(self.samples.axes) if axis.generated and index in self.result_axes
        ]
        return results, {name: examples[name].dtype for axis in generated for name in axis.names}

    def _by_kernel(self, inputs: dict[str, Any], shape: tuple[int, ...], into: Inputs | None = None) -> Inputs | None:
        """Return the result of the compiled kernel, or `None` if no kernel supports the function and the inputs."""
        of_linea = getattr(self.function, "__module__", "").startswith("feemodel.linea.")
        kernel = compiled_kernels().get(self.function) if of_linea else None
        if kernel is None or not shape:
            return None
        name = _result_name(self.function)
        out = np.empty(shape, dtype=np.int64) if into is None else into[name]
        return {name: out} if kernel(inputs, out) else None

    def _by_function(self, inputs: dict[str, Any]) -> Mapping[str, Any]:
        """Call the function with read-only inputs, because later calls use the same arrays, and return the results."""
        given = {name: value.view() if isinstance(value, np.ndarray) else value for name, value in inputs.items()}
        for value in given.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        bound = inspect.signature(self.function).bind(**given)  # `numba.vectorize` functions accept no keywords
        return _named(self.function, self.function(*bound.args, **bound.kwargs))

    def _evaluated(self, inputs: dict[str, Any], shape: tuple[int, ...], into: Inputs | None = None) -> Inputs:
        by_kernel = self._by_kernel(inputs, shape, into)
        if by_kernel is not None:
            return by_kernel
        values = self._by_function(inputs)
        if set(values) != set(self.types_of_results):
            raise InvalidInput(
                "function", f"expected the results {', '.join(self.types_of_results)} in every call", [*values]
            )
        found = {name: _of_shape(name, value, shape) for name, value in values.items()}
        if into is not None:
            for name, value in found.items():
                _put(name, into[name], value)
        return found


class _Result:
    """Arrays of the whole sweep: results or tables of moments, and the generated inputs, which become coordinates."""

    def __init__(self, job: _Job, result_types: Mapping[str, Any], input_types: Mapping[str, Any]) -> None:
        self._job = job
        self._axes = [job.samples.axes[index] for index in job.result_axes]
        shape = tuple(len(axis) for axis in self._axes)
        self.results: Inputs = {}
        self._tables: dict[str, Table] = {}
        if job.reduce is None:
            self.results = {name: np.empty(shape, dtype=dtype) for name, dtype in result_types.items()}
        else:
            self._tables = {name: Table(shape, job.reduce) for name in result_types}
            if job.reduce.holds_values:
                self.results = {name: np.empty(job.samples.shape, dtype) for name, dtype in result_types.items()}
        lengths = {name: len(axis) for axis in self._axes for name in axis.names}
        self.inputs: Inputs = {name: np.empty(lengths[name], dtype=dtype) for name, dtype in input_types.items()}

    def put(self, block: tuple[slice, ...], piece: _Piece) -> None:
        """Store the result of a block of evaluations."""
        cells = tuple(block[index] for index in self._job.result_axes)
        for name, found in piece.results.items():  # no results unless all evaluations must be stored
            _put(name, part_of(self.results[name], block), found)
        for name, moments in piece.moments.items():
            self._tables[name].merge(cells, moments)
        for axis, part in zip(self._axes, cells, strict=True):
            for name in set(axis.names) & set(piece.inputs):
                self.inputs[name][part] = piece.inputs[name]

    def dataset(self, units: Mapping[str, str]) -> "xarray.Dataset":
        """Return the whole result as a Dataset."""
        import xarray

        def described(name: str) -> dict[str, str]:
            return {"units": units[name]} if name in units else {}

        dims = tuple(axis.dim for axis in self._axes)
        coordinates: dict[str, Any] = {}
        for axis in self._axes:
            columns = self.inputs if axis.generated else axis.values(0, len(axis))
            coordinates |= {name: (axis.dim, columns[name], described(name)) for name in axis.names}
        for name, constant in self._job.samples.constants.items():
            coordinates[name] = ((), constant, described(name))
        variables: dict[str, Any] = {}
        reduce = self._job.reduce
        if reduce is None:
            variables = {name: (dims, values, described(name)) for name, values in self.results.items()}
        else:
            for name, table in self._tables.items():
                variables |= table.variables(name, dims, self._of_values(name, reduce), described(name))
                coordinates |= level_coordinates(reduce, described(name))
        return with_metadata(xarray.Dataset(variables, coordinates, self._attributes()))

    def _of_values(self, name: str, reduce: Over) -> dict[str, NDArray[np.float64]]:
        """Compute quantiles, tail means and drawdowns, which need all evaluations."""
        if not reduce.holds_values:
            return {}
        reduced = [index for index in range(len(self._job.samples.axes)) if index not in self._job.result_axes]
        ordered = self.results[name].transpose(*self._job.result_axes, *reduced)
        cells = prod(len(axis) for axis in self._axes)
        return reduce.of_values(ordered.reshape(cells, -1))

    def _attributes(self) -> dict[str, Constant]:
        job = self._job
        attributes: dict[str, Constant] = {"function": _result_name(job.function), "evaluations": job.samples.size}
        for axis in job.samples.axes:
            if axis.generated or axis not in self._axes:
                attributes |= axis.attributes()
        if job.reduce is not None:
            attributes["reduced_over"] = ", ".join(job.reduce.dims)
        return attributes | versions()


def _checked_job(function: Callable[..., Any], samples: Samples, reduce: Over | None, chunk: int | None) -> _Job:
    if not isinstance(samples, Samples):
        raise InvalidInput("samples", "expected a result of grid, sobol or monte_carlo, or a product of these", samples)
    if reduce is not None and not isinstance(reduce, Over):
        raise InvalidInput("reduce", 'expected a result of over, such as over("sample")', reduce)
    _check_inputs(function, samples)
    _check_dims(samples, reduce)
    for name in () if reduce is None else reduce.coordinates:
        if name in samples.names or name in samples.dims:
            raise InvalidInput(
                "samples", "expected another name, because the statistics have a coordinate of this name", name
            )
    if reduce is None or reduce.holds_values:
        held = "pass reduce=over(…)" if reduce is None else "quantiles, tail means and drawdowns store all evaluations"
        check_limit(samples.size, "evaluations", LARGEST_RESULT, f": {held}")
    if reduce is not None:
        cells = prod(len(axis) for axis in samples.axes if axis.dim not in reduce.dims)
        advice = ": reduce over more dimensions, or take fewer edges"
        check_limit(cells * _sums(reduce), "numbers of a reduction", LARGEST_RESULT, advice)
    blocks = blocks_of(samples, None if chunk is None else whole_scalar("chunk", chunk, minimum=1))
    return _Job(function, samples, blocks, reduce)


def _sums(reduce: Over) -> int:
    """Return the number of values that a reduction stores for each cell of the result."""
    return 6 + reduce.bins + len(reduce.below) + sum(len(getattr(reduce, name)) for name in LEVELS)


def _check_inputs(function: Callable[..., Any], samples: Samples) -> None:
    checked_function("function", function)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        reason = "expected a function that names its parameters, such as a lambda"
        raise InvalidInput("function", reason, function) from None
    accepted = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    if not any(p.kind is p.VAR_KEYWORD for p in parameters):
        for name in samples.names:
            if name not in accepted:
                close = get_close_matches(name, [free for free in accepted if free not in samples.names], 1, 0.5)
                hint = f"did you mean {close[0]}?" if close else f"it takes {', '.join(accepted)}"
                raise InvalidInput("samples", f"expected inputs of {_result_name(function)}: {hint}", name)
    needed = [p.name for p in parameters if p.name in accepted and p.default is p.empty]
    if missing := [name for name in needed if name not in samples.names]:
        raise InvalidInput("samples", f"missing {', '.join(missing)}", list(samples.names))


def _ends(axis: Axis) -> list[Inputs]:
    """Return the first and the last values of a generated axis, to detect a changed seed or distribution."""
    count = len(axis)
    return [axis.values(0, min(count, DRAW_BLOCK)), axis.values(max(count - 1_024, 0), count)]


def _check_dims(samples: Samples, reduce: Over | None) -> None:
    for dim in () if reduce is None else reduce.dims:
        if dim not in samples.dims:
            close = get_close_matches(dim, samples.dims, 1, 0.5) or [", ".join(samples.dims)]
            raise InvalidInput("reduce", f"expected dimensions of the samples, such as {close[0]}", dim)


def compiled_kernels() -> Mapping[Callable[..., Any], Kernel]:
    """Return a mapping from fee formulas to their compiled kernels.

    >>> from feemodel.linea.priority import priority_fee
    >>> compiled_kernels()[priority_fee].__name__
    'sweep_priority_fee'
    """
    from feemodel.linea import from_l1, kernels, priority  # imports numba, which most sweeps do not need

    return {
        priority.priority_fee: kernels.sweep_priority_fee,
        priority.verification_priority_fee: kernels.sweep_verification_priority_fee,
        from_l1.priority_fee_from_l1: kernels.sweep_priority_fee_from_l1,
    }


def _result_name(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", "result")
    return name if name.isidentifier() else "result"


def _named(function: Callable[..., Any], value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        return {_result_name(function): value}
    return {text("function", name): result for name, result in value.items()}


def _of_shape(name: str, value: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    if np.ma.is_masked(value):
        raise InvalidInput(
            "function", f"expected a result {name} without a mask, because the mask would be lost", value
        )
    array = np.asarray(value)
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise InvalidInput(
            "function", f"expected a result {name} that can be broadcast to the shape {shape}", array.shape
        ) from None


def _put(name: str, target: NDArray[Any], values: NDArray[Any]) -> None:
    if not np.can_cast(values.dtype, target.dtype):
        raise InvalidInput(
            "function", f"expected the type {target.dtype} of the first result {name}", str(values.dtype)
        )
    target[...] = values
