"""Decorator for public formulas that adds support for labelled arrays and names the wrong argument in errors.

A formula takes numbers and arrays. A formula with `@formula` also takes pandas Series and xarray DataArrays, aligned by
their labels, and returns an object of the same type. This module does not import pandas and xarray, because a caller
who passes such an object has already imported the library.

A formula checks its arguments and then calls its unchecked core: a function with the same name and a leading
underscore, such as `_scaled_size` for `scaled_size`. Other modules of the package call the unchecked
core, because they have already checked their values. A formula that no other module calls needs no unchecked core.

Type checkers see a formula as two overloads, `int` to `int` and
`Numbers[Wholes]` to `Wholes`: see `feemodel.checks`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import wraps
from types import NoneType
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from feemodel.checks import INT64_MAX, check_indexes
from feemodel.errors import FeeModelError, Int64Overflow, InvalidInput

P = ParamSpec("P")
R = TypeVar("R")
Wrap = Callable[[Any], Any]
Locate = Callable[[tuple[int, ...]], str]

NUMBERS = frozenset({int, float, np.int64, np.float64, str, bool, NoneType})
UNLABELLED = NUMBERS | {np.ndarray, list, tuple}
ARRAYS = (np.ndarray, list, tuple)
WRITTEN: dict[Any, str] = {ArrayLike: "ArrayLike", ArrayLike | None: "ArrayLike | None"}


def formula(function: Callable[P, object]) -> Callable[P, Any]:
    """Make a function accept Series and DataArrays, and convert its overflow errors to `Int64Overflow`.

    Series must have equal indexes. DataArrays must have equal coordinates along shared dimensions. Plain arrays
    broadcast against Series and DataArrays. If arguments are Series, a result of their shape is a Series with the
    same index, and any other result is a plain array. If arguments are DataArrays, every array in the result is a
    DataArray with the dimensions along which its values vary.

    >>> import pandas
    >>> @formula
    ... def doubled(gas):
    ...     return 2 * np.asarray(gas)
    >>> doubled(pandas.Series([1, 2], index=["a", "b"])).to_dict()
    {'a': 2, 'b': 4}
    >>> @formula
    ... def in_all(gas, size):
    ...     return np.add(gas, size)
    >>> in_all([1, 2], [1, 2, 3])
    Traceback (most recent call last):
    feemodel.errors.InvalidInput: gas, size: expected shapes that can be broadcast together, got ((2,), (3,))
    """
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    for name, annotation in function.__annotations__.items():
        if annotation in WRITTEN:  # `help` shows the short name, not the whole union type
            function.__annotations__[name] = WRITTEN[annotation]

    @wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> Any:
        try:
            if NUMBERS.issuperset(map(type, args)) and NUMBERS.issuperset(map(type, kwargs.values())):
                return function(*args, **kwargs)
            with np.errstate(over="ignore", invalid="ignore"):  # formulas check their results, so NumPy need not warn
                if len(args) > len(names):
                    return function(*args, **kwargs)  # raises TypeError for arguments that do not fit the signature
                arguments = dict(zip(names, args, strict=False)) | kwargs
                if UNLABELLED.issuperset(map(type, arguments.values())):
                    _check_shapes(arguments)
                    return function(*args, **kwargs)
                unlabelled, wrap, locate = _without_labels(arguments)
                _check_shapes(unlabelled)
                positional = (unlabelled[name] for name in names[: len(args)])
                result = _with_index(locate, function, *positional, **{name: unlabelled[name] for name in kwargs})
                return result if unlabelled.get("out") is not None else _each(wrap, result)
        except OverflowError as error:
            if isinstance(error, FeeModelError):
                raise
            raise _overflow(function.__name__, dict(zip(names, args, strict=False)) | kwargs) from None

    return checked


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


def _overflow(name: str, arguments: Mapping[str, Any]) -> InvalidInput:
    """Return the error for an integer that is too large, with the name of the argument."""
    arrays = _shapes(arguments)
    reason = (
        "expected an integer that fits 64 bits together with arrays"
        if arrays
        else "expected a number that fits a double"
    )
    large = {key: value for key, value in arguments.items() if isinstance(value, int) and value > INT64_MAX}
    for key in sorted(large, key=large.__getitem__, reverse=True):
        return Int64Overflow(key, reason, large[key])
    return Int64Overflow(name, "expected a result that fits a double", dict(arguments))


def _with_index(locate: Locate, function: Callable[..., R], *args: Any, **kwargs: Any) -> R:
    """Call a formula.

    If the formula raises an error with the index of an element, add the labels of this element to the message.
    """
    try:
        return function(*args, **kwargs)
    except InvalidInput as error:
        where = locate(error.index or ())
        if not where:
            raise
        raise type(error)(error.name, f"{error.reason} {where}", error.value, error.index) from None


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


def _each(wrap: Wrap, result: Any) -> Any:
    """Label every array of a result, which may be a tuple of arrays."""
    if isinstance(result, tuple):
        fields = [_each(wrap, field) for field in result]
        return type(result)(*fields) if hasattr(result, "_fields") else tuple(fields)
    return wrap(result)


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
        if shape and not _extends_to(shape, template.shape):
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


def _extends_to(shape: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, whole) == whole
    except ValueError:
        return False
