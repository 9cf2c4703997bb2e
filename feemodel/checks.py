"""Checks of values. Each raises `InvalidInput` with the name of the argument and the first value that is not valid.

No check rounds or clamps a value. `feemodel.arguments` checks arguments by their annotations.
"""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from feemodel.errors import Int64Overflow, InvalidInput, LimitExceeded

INT64_MAX, UINT64_MAX, UINT256_MAX = 2**63 - 1, 2**64 - 1, 2**256 - 1
EMPTY: Mapping[str, Any] = MappingProxyType({})
NO_NUMBERS = (bool, np.bool_, np.timedelta64)  # types that Python or NumPy treat as integers
ONE_INTEGER = (int, np.integer)
ONE_NUMBER = (int, float, np.integer, np.floating)
MAPPINGS = (dict, Mapping)  # `isinstance` is faster for a dict if `dict` is listed before `Mapping`

WholeArray: TypeAlias = NDArray[np.int64]
RealArray: TypeAlias = NDArray[np.float64]
EXPECTED = {str: "text", bool: "true or false", bytes: "bytes", Mapping: "a mapping"}


def numbers(name: str, value: Any, expected: str, kind: type[Any]) -> Any:
    """Return integers (`kind` is `np.int64`) or doubles: a Python number for a scalar, else an array.

    >>> numbers("gas", 2**70, "expected an integer", np.int64), numbers("margin", [1, 2], "a number", np.float64)
    (1180591620717411303424, array([1., 2.]))
    """
    integers = kind is np.int64
    if isinstance(value, ONE_INTEGER if integers else ONE_NUMBER) and not isinstance(value, NO_NUMBERS):
        try:
            return int(value) if integers else float(value)
        except OverflowError:
            raise InvalidInput(name, expected, value) from None
    array = as_array(name, value, expected)
    if array.dtype == object or isinstance(value, (list, tuple)):
        array = _from_objects(name, value, expected, kind)
    elif array.dtype.kind not in ("iu" if integers else "iuf"):
        _raise_dtype(name, expected, array)
    elif array.dtype == np.uint64 and integers:
        require(name, f"{expected} of at most 2**63 - 1", array, array <= INT64_MAX, Int64Overflow)
    return array.astype(kind, copy=False) if array.ndim else kind(array).item()


def instance(name: str, value: Any, kind: Any) -> Any:
    """Check and return a value that must be an instance of `kind`."""
    if not isinstance(value, (bool, np.bool_) if kind is bool else kind):
        article = "an" if kind.__name__[0] in "AEIO" else "a"
        raise InvalidInput(name, f"expected {EXPECTED.get(kind, f'{article} {kind.__name__}')}", value)
    return value


def choice(name: str, value: Any, choices: Collection[str]) -> str:
    """Check and return a name that must be one of the choices.

    >>> choice("codec", "zstd", ("zstd", "brotli"))
    'zstd'
    """
    if not isinstance(value, str) or value not in choices:
        raise InvalidInput(name, f"expected one of {', '.join(choices)}", value)
    return value


def sequence(name: str, value: Any) -> tuple[Any, ...]:
    """Check and return the items of a list or tuple."""
    if not isinstance(value, (list, tuple)):
        raise InvalidInput(name, "expected a list", value)
    return tuple(value)


def check_limit(number: float, what: str, highest: int, advice: str = "") -> None:
    """Raise `LimitExceeded` for a number above its limit.

    >>> check_limit(5, "points", 3)
    Traceback (most recent call last):
    feemodel.errors.LimitExceeded: 5 points are more than 3
    """
    if number > highest:
        shown = f"{number:,}" if isinstance(number, int) else f"{number:,.0f}" if number < 1e15 else f"{number:.3g}"
        raise LimitExceeded(f"{shown} {what} are more than {highest:,}{advice}")


def check_indexes(values: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` for Series and DataFrames with different indexes, because rows are matched by position."""
    indexes = {name: one.index for name, one in values.items() if hasattr(getattr(one, "index", None), "equals")}
    for name, index in indexes.items():
        if not index.equals(next(iter(indexes.values()))):
            raise InvalidInput(", ".join(map(str, indexes)), "expected Series with equal indexes", name)


def require(name: str, reason: str, value: Any, holds: Any, error: type[InvalidInput] = InvalidInput) -> None:
    """Raise `error` for the first element of `value` at which a condition is false.

    >>> require("gas_used", "expected at most the gas limit", 5, 5 <= 7)
    """
    if holds is True:
        return
    if holds is False:
        raise error(name, reason, value)
    if not holds.all():
        _raise_first(name, reason, value, ~holds, error)


def _raise_first(name: str, reason: str, value: Any, bad: NDArray[np.bool_], error: type[InvalidInput]) -> NoReturn:
    first = int(np.argmax(bad))
    index = tuple(int(i) for i in np.unravel_index(first, bad.shape))
    element = np.broadcast_to(value, bad.shape).flat[first : first + 1].tolist()[0]
    raise error(name, reason, element, index or None)


def as_array(name: str, value: Any, expected: str) -> NDArray[Any]:
    """Return a value as a rectangular array without masked values, or raise `InvalidInput`."""
    if isinstance(value, (str, bytes, bytearray, dict, complex, *NO_NUMBERS)) or value is None:
        raise InvalidInput(name, expected, value)
    try:
        array = np.asarray(value)
    except ValueError:  # a ragged list
        raise InvalidInput(name, f"{expected}, or a rectangular array of them", value) from None
    except (TypeError, OverflowError, RuntimeError):  # the value is not array-like, or an integer is too large
        raise InvalidInput(name, expected, value) from None
    if isinstance(value, np.ma.MaskedArray):
        require(name, f"{expected} that is not masked", array, ~np.ma.getmaskarray(value))
    return array


def _from_objects(name: str, value: Any, expected: str, kind: type[Any]) -> NDArray[Any]:
    """Convert a list of numbers to int64 or float64; NumPy would take `True` as 1, and truncate doubles."""
    array = np.asarray(value, dtype=object)
    for index, item in np.ndenumerate(array):
        if isinstance(item, NO_NUMBERS) or not isinstance(item, ONE_INTEGER if kind is np.int64 else ONE_NUMBER):
            raise InvalidInput(name, expected, item, index or None)
        try:
            kind(item.item() if isinstance(item, np.generic) else item)
        except OverflowError:
            raise Int64Overflow(name, f"{expected} that fits 64 bits in an array", item, index or None) from None
    return array.astype(kind)


def _raise_dtype(name: str, expected: str, array: NDArray[Any]) -> NoReturn:
    reason = f"{expected}, not {array.dtype}"
    if not array.size:
        raise InvalidInput(name, reason, str(array.dtype))
    # pandas stores integers as doubles if a value is missing, so the error shows the first element that is not whole.
    real = array if array.dtype.kind == "f" else np.zeros(array.shape)
    _raise_first(name, reason, array, ~np.isfinite(real) | (real != np.rint(real)), InvalidInput)
