"""The decorator of formulas: it checks arguments, and computes numbers, arrays and labelled arrays by one function.

A formula is written once, in plain operators on Python numbers, and its parameters are annotated with quantities:

>>> from feemodel.quantities import Byte, Gas
>>> @formula
... def calldata_gas(zero_bytes: Byte, nonzero_bytes: Byte, *, gas_per_token: Gas = 4) -> Gas:
...     return gas_per_token * (zero_bytes + 4 * nonzero_bytes)
>>> calldata_gas(10, 20), calldata_gas([10, 11], 20)
(360, array([360, 364]))
>>> calldata_gas(10, 2.5)
Traceback (most recent call last):
feemodel.errors.InvalidInput: nonzero_bytes: expected whole bytes, not float64, got 2.5

This module does not import pandas and xarray, because a caller who passes a Series or a DataArray has imported them.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial, wraps
from typing import Any, ParamSpec, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from feemodel._extras import has_numba
from feemodel.arguments import check_of
from feemodel.checks import INT64_MAX, check_indexes
from feemodel.errors import Int64Overflow, InvalidInput
from feemodel.exact import INT64_MIN, NO_ROOM, Beyond, Exact, exact
from feemodel.quantities import Quantity, quantity_of

P = ParamSpec("P")
R = TypeVar("R")
Kernel = Callable[[Mapping[str, Any], NDArray[np.int64]], bool]
Wrap = Callable[[Any], Any]
Locate = Callable[[tuple[int, ...]], str]

PIECE = 5 << 12  # elements that are computed at a time, so that all intermediate arrays fit a cache of 1 MiB
#: Minimum number of elements for which a compiled form is faster: with numba loaded, and with numba to load.
KERNEL_SIZE, KERNEL_SIZE_UNLOADED = 1 << 14, 1_000_000
PLAIN = (np.ndarray, np.memmap)
LABELLED = (("pandas", "Series"), ("xarray", "DataArray"), ("pandas", "DataFrame"))


class Formula(Protocol[P]):
    """A public formula."""

    __name__: str
    core: Callable[..., Any]  #: the function itself, for arguments that are already checked
    quantities: Mapping[str, Quantity]  #: by parameter
    into: Callable[[Mapping[str, Any], NDArray[np.int64]], Any]  #: writes the result to an array, or returns `None`

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Compute the formula."""


def formula(function: Callable[P, object]) -> Formula[P]:
    """Make a public formula of a function whose parameters are annotated with quantities.

    Arguments are checked by their annotations, see `feemodel.arguments`; those with a quantity may be arrays, which are
    broadcast against each other. Python numbers give Python numbers.
    Arrays give int64, float64 or bool arrays with the same values. Series must have equal indexes, DataArrays equal
    coordinates along shared dimensions; a result of the same shape has the type and the labels of these arguments.

    In the function, an integer is a Python int or an `Exact` array, for which operators and the functions of
    `feemodel.exact` are the same; a double is a float or a float64 array. The public formula has two attributes:
    `core`, the function itself, for arguments that are already checked; and `quantities`, by parameter.

    Raises
    ------
    InvalidInput : an argument that is not a number of its quantity, or shapes or labels that do not fit each other. The
        error has the name of the argument, the value that is not valid, and its index in an array.
    Int64Overflow : a result that does not fit an int64 array, or a number that overflows in a node.
    """
    parameters = inspect.signature(function, eval_str=True).parameters
    quantities = {name: found for name, one in parameters.items() if (found := quantity_of(one.annotation))}
    kinds = {name: one.annotation for name, one in parameters.items() if one.annotation is not one.empty}
    checks = {name: check_of(kind) for name, kind in kinds.items() if name not in quantities}
    defaults = {name: one.default for name, one in parameters.items() if one.default is not one.empty}

    def in_general(given: dict[str, Any]) -> Any:
        given = {name: value for name, value in given.items() if name not in defaults or value is not defaults[name]}
        return computed(function, quantities, given | {n: checks[n](n, given[n]) for n in checks if n in given})

    # Most calls have Python numbers within their bounds, which need only comparisons and conversions.
    scope = {f"default_{name}": value for name, value in defaults.items()}
    scope |= {f"check_{name}": check for name, check in checks.items()}
    scope |= {"function": function, "in_general": in_general, "overflow": _overflow, "inf": math.inf}
    exec(_source(parameters, quantities), scope)
    made = cast("Formula[P]", wraps(function)(scope["public"]))
    made.core, made.quantities, made.into = function, quantities, partial(_compiled, function, quantities)
    return made


def compiled(kernel: Callable[[], Kernel]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Give a formula a compiled form for large arrays, which `kernel` imports and returns.

    The compiled form takes the arguments by name, not checked, and an int64 array for the result. It returns whether
    the result is proven to be the formula's; if not, the formula is computed without it.
    """

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        function.kernel = kernel  # type: ignore[attr-defined]
        return function

    return mark


def _source(parameters: Mapping[str, inspect.Parameter], quantities: Mapping[str, Quantity]) -> str:
    """Return the code of a function that calls `function` if all numbers are in their bounds, else `in_general`."""
    tests, declared, values = [], [], {name: name for name in parameters}
    for name, one in parameters.items():
        has_default = one.default is not one.empty
        if one.kind is one.KEYWORD_ONLY and "*" not in declared:
            declared.append("*")
        declared.append(f"{name}=default_{name}" if has_default else name)
        same = f"{name} is default_{name} or " if has_default else ""
        if name in quantities:
            quantity, is_int = quantities[name], f"type({name}) is int"
            kind, highest = f"({is_int})", math.inf
            if quantity.double:
                kind, highest = f"(type({name}) is float or {is_int})", sys.float_info.max
                values[name] = f"float({name}) if {is_int} else {name}"
            lowest = -highest if quantity.minimum is None else 5e-324 if quantity.above_zero else quantity.minimum
            highest = highest if quantity.maximum is None else quantity.maximum
            below = "" if highest == math.inf else f" <= {highest!r}"
            tests.append(f"({same}{kind} and {lowest!r} <= {name}{below})")
        elif one.annotation is not one.empty:
            passed_on = f"{name} if {name} is default_{name} else " if has_default else ""
            values[name] = f"{passed_on}check_{name}({name!r}, {name})"
    passed = ", ".join(
        f"{n}={values[n]}" if one.kind is one.KEYWORD_ONLY else values[n] for n, one in parameters.items()
    )
    given = f"dict({', '.join(f'{name}={name}' for name in parameters)})"
    return f"""def public({", ".join(declared)}):
    if not ({" and ".join(tests)}):
        return in_general({given})
    try:
        return function({passed})
    except OverflowError as error:
        raise overflow(error, {given}) from None
"""


def computed(function: Callable[..., Any], quantities: Mapping[str, Quantity], given: dict[str, Any]) -> Any:
    """Check the arguments of a function that is written as a formula, and compute it, as `formula` says."""
    given, wrap, locate = _without_labels(given)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            result = _compiled(function, quantities, given)
            if result is None:
                checked = {n: quantities[n].check(n, v) if n in quantities else v for n, v in given.items()}
                result = _computed(function, quantities, checked)
    except InvalidInput as error:
        where = locate(error.index) if error.index else ""
        if not where:
            raise
        raise _placed(error, error.index or (), where) from None
    except OverflowError as error:
        raise _overflow(error, given) from None
    return result if wrap is None else _like(result, map(wrap, _leaves(result)))


def _compiled(function: Any, quantities: Mapping[str, Quantity], given: Mapping[str, Any], out: Any = None) -> Any:
    """Return the result of the compiled form, or `None` without a form, for small arrays, and for unproven results."""
    numbers = {name: value for name, value in given.items() if name in quantities}
    if not hasattr(function, "kernel") or not all(type(v) in PLAIN or np.isscalar(v) for v in numbers.values()):
        return None  # the checks convert lists, masked arrays and other subclasses
    shape = _shape(numbers)
    if math.prod(shape) < (KERNEL_SIZE if "numba" in sys.modules else KERNEL_SIZE_UNLOADED) or not has_numba():
        return None
    inputs = {n: v if type(v) in PLAIN else quantities[n].check(n, v) for n, v in numbers.items()}
    result = np.empty(shape, dtype=np.int64) if out is None else out
    return result if function.kernel()({**given, **inputs}, result) else None


def _shape(numbers: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the shape of all arrays together; raise `InvalidInput` for arrays that do not broadcast."""
    shapes = {name: number.shape for name, number in numbers.items() if isinstance(number, np.ndarray)}
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        reason = "expected shapes that can be broadcast together"
        raise InvalidInput(", ".join(shapes), reason, tuple(shapes.values())) from None


def _computed(function: Callable[..., Any], quantities: Mapping[str, Quantity], arguments: Mapping[str, Any]) -> Any:
    """Compute a formula of checked arguments, a piece of the arrays at a time."""
    arrays = {name: value for name, value in arguments.items() if name in quantities and isinstance(value, np.ndarray)}
    if not arrays:
        return function(**arguments)
    shape = _shape(arrays)
    arrays = {name: array.reshape((1,) * (len(shape) - array.ndim) + array.shape) for name, array in arrays.items()}
    axis, whole, like = shape.index(max(shape)), [], None
    step = max(1, PIECE * shape[axis] // max(1, math.prod(shape)))
    for start in range(0, max(1, shape[axis]), step):
        piece = (slice(None),) * axis + (slice(start, start + step),)
        parts = {name: array if array.shape[axis] == 1 else array[piece] for name, array in arrays.items()}
        try:
            try:
                like = function(**{**arguments, **_exacts(parts)})
                leaves = [_plain(leaf) for leaf in _leaves(like)]
            except Beyond:
                like, leaves = _by_elements(function, arguments, parts)
        except InvalidInput as error:
            if error.index is None:
                raise
            raise _placed(error, tuple(i + start * (n == axis) for n, i in enumerate(error.index))) from None
        if start == 0:
            whole = [np.empty(shape, np.asarray(leaf).dtype) for leaf in leaves]
        for result, leaf in zip(whole, leaves, strict=True):
            result[piece] = leaf
    return _like(like, iter(whole))


def _exacts(parts: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    return {name: exact(part) if part.dtype == np.int64 else part for name, part in parts.items()}


def _by_elements(
    function: Callable[..., Any], arguments: Mapping[str, Any], parts: Mapping[str, NDArray[Any]]
) -> tuple[Any, list[Any]]:
    """Compute a formula on Python numbers, one element at a time."""
    elements = np.broadcast(*parts.values())
    if not elements.size:  # nothing to compute: a call with ones shows the form of the result
        like = function(**{**arguments, **dict.fromkeys(parts, 1)})
        return like, [np.empty(elements.shape, type(leaf)) for leaf in _leaves(like)]
    rows: list[list[Any]] = []
    for index, element in zip(np.ndindex(elements.shape), elements, strict=True):
        numbers = {**arguments, **{name: number.item() for name, number in zip(parts, element, strict=True)}}
        try:
            try:
                like = function(**numbers)
                rows.append(_leaves(like))
                if any(type(leaf) is int and not INT64_MIN <= leaf <= INT64_MAX for leaf in rows[-1]):
                    raise OverflowError(NO_ROOM)
            except (InvalidInput, OverflowError):
                with suppress(Beyond):  # the functions of `feemodel.exact` name what they refuse in arrays
                    function(**{**arguments, **_exacts({name: np.array([numbers[name]]) for name in parts})})
                raise
        except (InvalidInput, OverflowError) as error:
            raise _placed(_overflow(error, numbers), index) from None
    return like, [np.array(column).reshape(elements.shape) for column in zip(*rows, strict=True)]


def _placed(error: InvalidInput, index: tuple[int, ...], where: str = "") -> InvalidInput:
    """Return an error with its element's index, and the labels if any."""
    return type(error)(error.name, f"{error.reason} {where}".rstrip(), error.value, index)


def _leaves(result: Any) -> list[Any]:
    """Return the numbers or arrays of a result, which may be a named tuple."""
    return [leaf for part in result for leaf in _leaves(part)] if isinstance(result, tuple) else [result]


def _like(result: Any, leaves: Iterator[Any]) -> Any:
    """Return a result of the same form with other numbers or arrays."""
    if not isinstance(result, tuple):
        return next(leaves)
    fields = [_like(part, leaves) for part in result]
    return type(result)(*fields) if hasattr(result, "_fields") else tuple(fields)


def _plain(leaf: Any) -> Any:
    """Return a number or array of NumPy; raise `Beyond` if an element does not fit int64."""
    if isinstance(leaf, Exact):
        if not (leaf.narrow or (abs(leaf.double) < 2.0**63 - leaf.error).all()):  # a double may be NaN
            raise Beyond
        return leaf.word
    if type(leaf) is int and not INT64_MIN <= leaf <= INT64_MAX:
        raise Beyond
    return leaf


def _overflow(error: Exception, arguments: Mapping[str, Any]) -> InvalidInput:
    """Return the error for a number that is too large, with the name of the largest argument."""
    if isinstance(error, InvalidInput):
        return error
    known = {name: number for name, number in arguments.items() if isinstance(number, (int, float))}
    largest = max(known, key=known.__getitem__)
    reason = NO_ROOM if NO_ROOM in error.args else "expected numbers whose result fits a double"
    return Int64Overflow(largest, reason, known[largest])


def _without_labels(arguments: dict[str, Any]) -> tuple[dict[str, Any], Wrap | None, Locate]:
    """Return the arguments as plain arrays, and two functions: one labels a result, the other describes an index."""
    # No argument can be an instance of a class that is not imported, or not completely.
    kinds: list[Any] = [getattr(sys.modules.get(package), name, ()) for package, name in LABELLED]
    series, labelled, frames = [{n: v for n, v in arguments.items() if isinstance(v, kind)} for kind in kinds]
    if series and (others := labelled or frames):  # NumPy would match rows of a Series with columns of a DataFrame
        reason = f"expected Series or {'DataArrays' if labelled else 'DataFrames'}, not both"
        raise InvalidInput(", ".join((*series, *others)), reason, "both")
    if series:
        return _from_series(series, arguments)
    if labelled:
        return _from_data_arrays(labelled, arguments)
    return arguments, None, lambda index: ""


def _from_series(series: dict[str, Any], arguments: dict[str, Any]) -> tuple[dict[str, Any], Wrap, Locate]:
    check_indexes(series)
    first = next(iter(series.values()))

    def locate(where: tuple[int, ...]) -> str:
        row = first.index[where[0]] if len(where) == 1 and where[0] < len(first) else where[0]
        return f"in row {row}" if row != where[0] else ""

    def wrap(result: Any) -> Any:
        return type(first)(result, index=first.index) if np.shape(result) == first.shape else result

    return arguments | {name: values.to_numpy() for name, values in series.items()}, wrap, locate


def _from_data_arrays(labelled: dict[str, Any], arguments: dict[str, Any]) -> tuple[dict[str, Any], Wrap, Locate]:
    aligned: list[Any] = []

    def align(*arrays: Any) -> Any:
        aligned.extend(map(np.asarray, arrays))
        return np.broadcast_to(np.False_, np.broadcast_shapes(*map(np.shape, arrays)))

    try:
        template = sys.modules["xarray"].apply_ufunc(align, *labelled.values(), join="exact", dask="allowed")
    except ValueError as error:
        reason = "expected equal coordinates along the dimensions that are shared"
        raise InvalidInput(", ".join(labelled), reason, str(error).splitlines()[0]) from None

    def locate(where: tuple[int, ...]) -> str:
        at = {dim: index for dim, index in zip(template.dims, where, strict=False) if dim in template.coords}
        return "at " + ", ".join(f"{dim}={template[dim].values[i]}" for dim, i in at.items()) if at else ""

    def wrap(result: Any) -> Any:
        if np.shape(result) != template.shape:
            reason = f"expected arrays that broadcast to {template.shape} of {template.dims}"
            raise InvalidInput(", ".join(labelled), reason, np.shape(result))
        return template.copy(data=np.asarray(result))

    return arguments | dict(zip(labelled, aligned, strict=True)), wrap, locate
