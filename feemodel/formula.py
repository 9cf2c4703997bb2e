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
import itertools
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import wraps
from types import NoneType
from typing import Any, ParamSpec, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from feemodel._extras import has_numba
from feemodel.checks import INT64_MAX, check_indexes
from feemodel.errors import Int64Overflow, InvalidInput
from feemodel.exact import NO_ROOM, Beyond, Exact
from feemodel.quantities import Quantity, quantity_of

P = ParamSpec("P")
R = TypeVar("R")
Kernel = Callable[[Mapping[str, Any], NDArray[np.int64]], bool]
Wrap = Callable[[Any], Any]
Locate = Callable[[tuple[int, ...]], str]
Tile = tuple[slice, ...]

NAMED = 1 << 22  # number of elements up to which an error is that of the formula's first step that fails
PIECE = 1 << 14  # number of elements that are computed at a time, so that all intermediate arrays fit the cache
#: Minimum number of elements for which a compiled form is faster, once numba is loaded and before it is.
KERNEL_SIZE, KERNEL_SIZE_UNLOADED = 1 << 14, 1_000_000
PLAIN = (np.ndarray, np.memmap)
UNLABELLED = frozenset({int, float, np.int64, np.float64, str, bool, NoneType, np.ndarray, list, tuple})
ARRAYS = (np.ndarray, list, tuple)


class Formula(Protocol[P]):
    """A public formula."""

    __name__: str
    core: Callable[..., Any]  #: the function itself, for arguments that are already checked
    quantities: Mapping[str, Quantity]  #: by parameter

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Compute the formula."""

    def __get__(self, instance: Any, owner: Any = None) -> Callable[..., Any]: ...


def formula(function: Callable[P, object]) -> Formula[P]:
    """Make a public formula of a function whose parameters are annotated with quantities.

    Arguments are checked by their quantities and broadcast against each other. Python numbers give Python numbers.
    Arrays give int64, float64 or bool arrays with the same values. Series must have equal indexes, DataArrays equal
    coordinates along shared dimensions; a result of the same shape has the type and the labels of these arguments.

    In the function, an integer is a Python int or an `Exact` array, for which operators and the functions of
    `feemodel.exact` are the same; a double is a float or a float64 array. The public formula has two attributes:
    `core`, the function itself, for arguments that are already checked; and `quantities`, by parameter.

    Raises
    ------
    InvalidInput : an argument that is not a number of its quantity, or shapes or labels that do not fit each other. The
        error has the name of the argument, the value that is not valid, and its index in an array.
    Int64Overflow : a result that does not fit an int64 array, or a number that would wrap in a node.
    """
    quantities = _quantities(function)
    parameters = inspect.signature(function).parameters
    defaults = {name: one.default for name, one in parameters.items() if one.default is not one.empty}

    def in_general(given: dict[str, Any]) -> Any:
        given = {name: value for name, value in given.items() if name not in defaults or value is not defaults[name]}
        optional = {name for name in defaults if defaults[name] is None and name not in given}
        checked = {name: quantity for name, quantity in quantities.items() if name not in optional}
        return computed(function, checked, given)

    # Python numbers within their bounds, which are most calls, cost no more than comparisons with constants.
    scope = {f"default_{name}": value for name, value in defaults.items()}
    scope |= {"function": function, "in_general": in_general, "overflow": _overflow, "inf": math.inf}
    exec(_source(parameters, quantities), scope)
    made = cast("Formula[P]", wraps(function)(scope["public"]))
    made.core, made.quantities = function, quantities
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


def _quantities(function: Callable[..., Any]) -> dict[str, Quantity]:
    scope = getattr(function, "__globals__", {})
    found = {}
    for name, annotation in function.__annotations__.items():
        quantity = quantity_of(eval(annotation, scope) if isinstance(annotation, str) else annotation)
        if quantity is not None and name != "return":
            found[name] = quantity
    return found


def _source(parameters: Mapping[str, inspect.Parameter], quantities: Mapping[str, Quantity]) -> str:
    """Return the code of a function that calls `function` if all numbers are in their bounds, else `in_general`."""
    tests, declared = [], []
    for name, one in parameters.items():
        has_default = one.default is not one.empty
        if one.kind is one.KEYWORD_ONLY and "*" not in declared:
            declared.append("*")
        declared.append(f"{name}=default_{name}" if has_default else name)
        same = f"{name} is default_{name} or " if has_default else ""
        if name in quantities:
            quantity = quantities[name]
            kind, highest = ("float", sys.float_info.max) if quantity.double else ("int", math.inf)
            lowest = -highest if quantity.minimum is None else 5e-324 if quantity.above_zero else quantity.minimum
            highest = highest if quantity.maximum is None else quantity.maximum
            below = "" if highest == math.inf else f" <= {highest!r}"
            tests.append(f"({same}type({name}) is {kind} and {lowest!r} <= {name}{below})")
        elif name == "out":
            tests.append("out is None")
    passed = ", ".join(f"{name}={name}" if one.kind is one.KEYWORD_ONLY else name for name, one in parameters.items())
    given = f"dict({', '.join(f'{name}={name}' for name in parameters)})"
    return f"""def public({", ".join(declared)}):
    if not ({" and ".join(tests)}):
        return in_general({given})
    try:
        return function({passed})
    except OverflowError as error:
        raise overflow(error, function, {given}) from None
"""


def computed(function: Callable[..., Any], quantities: Mapping[str, Quantity], given: dict[str, Any]) -> Any:
    """Check the arguments of a function that is written as a formula, and compute it, as `formula` says."""
    out = given.pop("out", None)
    wrap: Wrap | None = None
    locate: Locate | None = None
    if not UNLABELLED.issuperset(map(type, given.values())):
        given, wrap, locate = _without_labels(given)
    _check_shapes(given)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            kernel = getattr(function, "kernel", None)
            result = None if kernel is None else _compiled(kernel, quantities, given, out)
            if result is None:
                checked = {
                    name: quantities[name].check(name, value) if name in quantities else value
                    for name, value in given.items()
                }
                result = _computed(function, quantities, checked, out)
    except InvalidInput as error:
        where = locate(error.index or ()) if locate is not None else ""
        if not where:
            raise
        raise type(error)(error.name, f"{error.reason} {where}", error.value, error.index) from None
    except OverflowError as error:
        raise _overflow(error, function, given) from None
    if out is not None:
        if result is not out:
            out[...] = result
        return out
    return result if wrap is None else _like(result, map(wrap, _leaves(result)))


def _compiled(
    kernel: Callable[[], Kernel], quantities: Mapping[str, Quantity], given: Mapping[str, Any], out: Any
) -> Any:
    """Return the result of the compiled form, or `None` if arrays are small, or it proves nothing."""
    numbers = [value for name, value in given.items() if name in quantities]
    arrays = [value for value in numbers if type(value) in PLAIN]
    if not all(type(value) in PLAIN or np.isscalar(value) for value in numbers):
        return None  # the checks convert lists, masked arrays and other subclasses
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    if math.prod(shape) < (KERNEL_SIZE if "numba" in sys.modules else KERNEL_SIZE_UNLOADED) or not has_numba():
        return None
    if out is not None:
        _check_out(out, shape)
    inputs = {
        name: quantities[name].check(name, value) if name in quantities and type(value) not in PLAIN else value
        for name, value in given.items()
    }
    # The compiled form must not overwrite its inputs, because the formula reads them again if it proves nothing.
    direct = out is not None and out.flags.c_contiguous and not any(np.may_share_memory(out, a) for a in arrays)
    result = out if direct else np.empty(shape, dtype=np.int64)
    return result if kernel()(inputs, result) else None


def _check_out(out: Any, shape: tuple[int, ...]) -> None:
    if not isinstance(out, np.ndarray) or out.dtype != np.int64 or out.shape != shape:
        described = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise InvalidInput("out", f"expected an int64 array of shape {shape}", described)
    if not out.flags.writeable:
        raise InvalidInput("out", "expected a writable array", "a read-only array")


def _computed(
    function: Callable[..., Any], quantities: Mapping[str, Quantity], arguments: Mapping[str, Any], out: Any
) -> Any:
    """Compute a formula of checked arguments, a piece of the arrays at a time."""
    arrays = {name: value for name, value in arguments.items() if name in quantities and isinstance(value, np.ndarray)}
    shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
    if out is not None:
        _check_out(out, shape)
    if not arrays:
        return function(**arguments)
    bounds = {
        name: (int(array.min()), int(array.max())) if array.size else (0, 0)
        for name, array in arrays.items()
        if not quantities[name].double
    }
    whole: list[Any] | None = None
    like = None
    for tile in _tiles(shape):
        parts = {name: _part(array, tile) for name, array in arrays.items()}
        exacts = {name: Exact(part, *bounds[name]) if name in bounds else part for name, part in parts.items()}
        try:
            try:
                like = function(**{**arguments, **exacts})
                leaves = [_plain(leaf) for leaf in _leaves(like)]
            except Beyond:
                like, leaves = _by_elements(function, arguments, parts, quantities)
        except InvalidInput as error:
            if error.index is None:
                raise
            if math.prod(shape) <= NAMED:  # the whole arrays, because a later element may fail at an earlier step
                with suppress(Beyond):
                    all_exacts = {name: Exact(a, *bounds[name]) if name in bounds else a for name, a in arrays.items()}
                    function(**{**arguments, **all_exacts})
            starts = [part.start for part in tile[len(shape) - len(error.index) :]]
            index = tuple(start + i for start, i in zip(starts, error.index, strict=True))
            raise type(error)(error.name, error.reason, error.value, (0,) * (len(shape) - len(index)) + index) from None
        if whole is None:
            whole = [np.empty(shape, np.asarray(leaf).dtype) for leaf in leaves]
        for result, leaf in zip(whole, leaves, strict=True):
            result[tile] = leaf
    return _like(like, iter(whole or ()))


def _tiles(shape: tuple[int, ...]) -> Iterator[Tile]:
    """Yield the parts of an array, of at most `PIECE` elements each, in order."""
    steps, room = [], PIECE
    for length in reversed(shape):
        steps.append(max(1, min(length, room)))
        room = room // steps[-1] if steps[-1] == length else 1
    starts = [range(0, max(length, 1), step) for length, step in zip(shape, reversed(steps), strict=True)]
    for corner in itertools.product(*starts):
        yield tuple(
            slice(start, min(start + step, length))
            for start, step, length in zip(corner, reversed(steps), shape, strict=True)
        )


def _part(array: NDArray[Any], tile: Tile) -> NDArray[Any]:
    own = tile[len(tile) - array.ndim :]
    return array[tuple(slice(None) if length == 1 else part for length, part in zip(array.shape, own, strict=True))]


def _by_elements(
    function: Callable[..., Any],
    arguments: Mapping[str, Any],
    parts: Mapping[str, NDArray[Any]],
    quantities: Mapping[str, Quantity],
) -> tuple[Any, list[Any]]:
    """Compute a formula on Python numbers, one element at a time."""
    arrays = dict(zip(parts, np.broadcast_arrays(*parts.values()), strict=True))
    shape = next(iter(arrays.values())).shape
    rows: list[list[Any]] = []
    like: Any = None
    if 0 in shape:  # nothing to compute: a call with ones shows the form of the result
        like = function(**{**arguments, **dict.fromkeys(arrays, 1)})
        return like, [np.empty(shape, type(leaf)) for leaf in _leaves(like)]
    for index in np.ndindex(shape):
        numbers = {name: array[index].item() for name, array in arrays.items()}
        try:
            like = function(**{**arguments, **numbers})
        except InvalidInput as error:
            raise type(error)(error.name, error.reason, error.value, index) from None
        except OverflowError as error:
            large = _overflow(error, function, numbers)
            raise Int64Overflow(large.name, large.reason, large.value, index) from None
        rows.append(_leaves(like))
        for leaf in rows[-1]:
            if type(leaf) is int and not -(2**63) <= leaf <= INT64_MAX:
                known = {name: value for name, value in {**arguments, **numbers}.items() if name in quantities}
                largest = max((name for name in known if known[name] is not None), key=known.__getitem__)
                raise Int64Overflow(largest, NO_ROOM, known[largest], index)
    return like, [np.array(column).reshape(shape) for column in zip(*rows, strict=True)]


def _leaves(result: Any) -> list[Any]:
    """Return the numbers or arrays of a result, which may be a named tuple of them."""
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
        if leaf.narrow:
            return leaf.word
        upper, word = leaf.words()
        values = word.view(np.int64)
        if (upper != values >> 63).any():
            raise Beyond
        return values
    if type(leaf) is int and not -(2**63) <= leaf <= INT64_MAX:
        raise Beyond
    return leaf


def _check_shapes(arguments: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` for arrays that do not broadcast against each other."""
    shapes = _shapes(arguments)
    if len(set(shapes.values())) > 1:
        try:
            np.broadcast_shapes(*shapes.values())
        except ValueError:
            names = ", ".join(shapes)
            raise InvalidInput(
                names, "expected shapes that can be broadcast together", tuple(shapes.values())
            ) from None


def _shapes(arguments: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of array arguments, except ragged lists, for which the formula itself raises an error."""
    shapes = {}
    for name, value in arguments.items():
        if name != "out" and isinstance(value, ARRAYS):
            with suppress(ValueError):
                shapes[name] = np.shape(value)
    return shapes


def _overflow(error: OverflowError, function: Callable[..., Any], arguments: Mapping[str, Any]) -> InvalidInput:
    """Return the error for an integer that is too large, with the name of the argument."""
    if isinstance(error, InvalidInput):
        return error
    large = {key: value for key, value in arguments.items() if isinstance(value, int) and value > INT64_MAX}
    if not large:
        return Int64Overflow(function.__name__, "expected a result that fits a double", dict(arguments))
    largest = max(large, key=large.__getitem__)
    kind = "an integer that fits 64 bits together with arrays" if _shapes(arguments) else "a number that fits a double"
    return Int64Overflow(largest, f"expected {kind}", large[largest])


def _without_labels(arguments: dict[str, Any]) -> tuple[dict[str, Any], Wrap, Locate]:
    """Return the arguments as plain arrays, and two functions: one labels a result, the other describes an index."""
    # While another thread is importing pandas or xarray, a class may still be undefined; no argument can then be an
    # instance of this class.
    pandas, xarray = sys.modules.get("pandas"), sys.modules.get("xarray")
    series = _of_type(arguments, getattr(pandas, "Series", None))
    labelled = _of_type(arguments, getattr(xarray, "DataArray", None))
    if series and labelled:
        raise InvalidInput(", ".join((*series, *labelled)), "expected Series or DataArrays, not both", "both")
    if series and (
        frames := _of_type(arguments, getattr(pandas, "DataFrame", None))
    ):  # NumPy would match the rows of a Series with the columns of a DataFrame
        raise InvalidInput(", ".join((*series, *frames)), "expected Series or DataFrames, not both", "both")
    if series:
        return _from_series(pandas, series, arguments)
    if labelled:
        return _from_data_arrays(xarray, labelled, arguments)
    return arguments, lambda result: result, lambda index: ""


def _of_type(arguments: Mapping[str, Any], kind: Any) -> dict[str, Any]:
    return {} if kind is None else {name: value for name, value in arguments.items() if isinstance(value, kind)}


def _from_series(pandas: Any, series: dict[str, Any], arguments: dict[str, Any]) -> tuple[dict[str, Any], Wrap, Locate]:
    index = next(iter(series.values())).index
    unnumbered = not (isinstance(index, pandas.RangeIndex) and index.start == 0 and index.step == 1)

    def locate(where: tuple[int, ...]) -> str:
        return f"in row {index[where[0]]}" if unnumbered and len(where) == 1 and where[0] < len(index) else ""

    check_indexes(series)
    for name, values in series.items():
        missing = values.isna().to_numpy()
        if missing.any():
            first = int(np.argmax(missing))
            reason = f"expected a number {locate((first,))}".rstrip()
            raise InvalidInput(name, reason, values.iloc[first], (first,))

    def wrap(result: Any) -> Any:
        return pandas.Series(result, index=index) if np.shape(result) == (len(index),) else result

    return arguments | {name: values.to_numpy() for name, values in series.items()}, wrap, locate


def _from_data_arrays(
    xarray: Any, labelled: dict[str, Any], arguments: dict[str, Any]
) -> tuple[dict[str, Any], Wrap, Locate]:
    aligned: list[Any] = []

    def align(*arrays: Any) -> Any:
        aligned.extend(map(np.asarray, arrays))
        return np.broadcast_to(np.False_, np.broadcast_shapes(*map(np.shape, arrays)))

    try:
        template = xarray.apply_ufunc(align, *labelled.values(), join="exact", dask="allowed")
    except ValueError as error:
        reason = "expected equal coordinates along the dimensions that are shared"
        raise InvalidInput(", ".join(labelled), reason, str(error).splitlines()[0]) from None
    for name, shape in _shapes(arguments).items():
        pairs = zip(reversed(shape), reversed(template.shape), strict=False)
        if len(shape) > template.ndim or any(length not in (1, whole) for length, whole in pairs):
            reason = f"expected a shape that broadcasts to {template.shape} of {template.dims}"
            raise InvalidInput(name, reason, shape)

    def locate(where: tuple[int, ...]) -> str:
        if len(where) != template.ndim:
            return ""
        at = {dim: index for dim, index in zip(template.dims, where, strict=True) if dim in template.coords}
        return "at " + ", ".join(f"{dim}={template[dim].values[i]}" for dim, i in at.items()) if at else ""

    def wrap(result: Any) -> Any:
        shape = np.shape(result)
        if not shape and template.ndim:
            return result  # a scalar
        lengths = zip(template.dims, template.shape, (1,) * (template.ndim - len(shape)) + shape, strict=True)
        single = {dim: 0 for dim, length, here in lengths if here == 1 != length}
        one = template.isel(single, drop=True) if single else template
        values = np.asarray(result)
        if values.dtype == object or values.dtype == np.uint64:
            raise Int64Overflow("result", "expected at most 2**63 - 1 in a DataArray", result)
        return one.copy(data=values.reshape(one.shape))

    return arguments | dict(zip(labelled, aligned, strict=True)), wrap, locate
