"""Checks of arguments. `whole` checks integers and `real` checks doubles, as scalars or arrays.

`whole` and `real` return a Python number for a scalar and a NumPy array for anything array-like. All checks raise
`InvalidInput` with the name of the argument and the first value that is not valid. Checks never round or clamp a value.
"""

import dataclasses
import math
from collections.abc import Collection, Mapping
from types import MappingProxyType, UnionType
from typing import Any, NoReturn, TypeAlias, TypeVar, cast, get_args

import numpy as np
from numpy.typing import NDArray

from feemodel.errors import Int64Overflow, InvalidInput, LimitExceeded

INT64_MAX, UINT64_MAX, UINT256_MAX = 2**63 - 1, 2**64 - 1, 2**256 - 1
EMPTY: Mapping[str, Any] = MappingProxyType({})
NO_NUMBERS = (bool, np.bool_, np.timedelta64)  # types that Python or NumPy treat as integers
MAPPINGS = (dict, Mapping)  # `isinstance` is faster for a dict if `dict` is listed before `Mapping`

WholeArray: TypeAlias = NDArray[np.int64]
RealArray: TypeAlias = NDArray[np.float64]
EXPECTED = {str: "text", bool: "true or false"}
Kind = TypeVar("Kind")


def whole(name: str, value: Any, *, minimum: int | None = 0, unit: str = "") -> int | WholeArray:
    """Check and return an integer, or integers as an int64 array; a float is not valid even if its value is whole.

    >>> whole("gas", 21_000), whole("gas", [1, 2])
    (21000, array([1, 2]))
    """
    expected = f"expected whole {unit}" if unit else "expected an integer"
    if isinstance(value, (int, np.integer)) and not isinstance(value, NO_NUMBERS):
        number = least = int(value)
    else:
        number = _as_numbers(name, value, expected, np.int64)
        least = np.min(number, initial=INT64_MAX)  # faster than comparing all elements
    if minimum is not None and least < minimum:
        require(name, f"{expected} of at least {minimum:,}", number, number >= minimum)
    return number


def real(name: str, value: Any, *, minimum: float | None = 0.0, unit: str = "") -> float | RealArray:
    """Check and return a finite double, or finite doubles as a float64 array.

    >>> real("margin", 1), real("margin", [1, 2])
    (1.0, array([1., 2.]))
    """
    expected = f"expected a finite number{f' of {unit}' if unit else ''}"
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, NO_NUMBERS):
        try:
            number = least = float(value)
        except OverflowError:
            raise InvalidInput(name, expected, value) from None
        require(name, expected, number, math.isfinite(number))
    else:
        number = _as_numbers(name, value, expected, np.float64)
        require(name, expected, number, np.isfinite(number))
        least = np.min(number, initial=math.inf)
    if minimum is not None and least < minimum:
        require(name, f"{expected}, at least {minimum:g}", number, number >= minimum)
    return number


def whole_scalar(name: str, value: Any, *, minimum: int = 0, maximum: int | None = None, unit: str = "") -> int:
    """Check and return one integer in a range; an array is not valid.

    >>> whole_scalar("nonce", 5)
    5
    """
    number = whole(name, value, minimum=minimum, unit=unit)
    if not isinstance(number, int):
        raise InvalidInput(name, "expected one number, not an array", value)
    if maximum is not None and number > maximum:
        raise InvalidInput(name, f"expected at most {maximum:,}", value)
    return number


def real_scalar(name: str, value: Any, *, minimum: float | None = 0.0, unit: str = "") -> float:
    """Check and return one finite double of at least a minimum; an array is not valid.

    >>> real_scalar("margin", 1)
    1.0
    """
    number = real(name, value, minimum=minimum, unit=unit)
    if not isinstance(number, float):
        raise InvalidInput(name, "expected one number, not an array", value)
    return number


def above_zero(name: str, value: Any, *, unit: str = "") -> float:
    """Check and return one finite double above 0."""
    number = real_scalar(name, value, unit=unit)
    require(name, "expected a number above 0", value, number > 0.0)
    return number


def instance(name: str, value: Any, kind: type[Kind]) -> Kind:
    """Check and return a value that must be an instance of `kind`."""
    if not isinstance(value, (bool, np.bool_) if kind is bool else kind):
        article = "an" if kind.__name__[0] in "AEIO" else "a"
        raise InvalidInput(name, f"expected {EXPECTED.get(kind, f'{article} {kind.__name__}')}", value)
    return cast(Kind, value)


def choice(name: str, value: Any, choices: Collection[str]) -> str:
    """Check and return a name that must be one of the choices.

    >>> choice("codec", "zstd", ("zstd", "brotli"))
    'zstd'
    """
    if not isinstance(value, str) or value not in choices:
        raise InvalidInput(name, f"expected one of {', '.join(choices)}", value)
    return value


def sequence(name: str, value: Any, of: str = "") -> tuple[Any, ...]:
    """Check and return the items of a list or tuple; `of` describes valid items in the error."""
    if not isinstance(value, (list, tuple)):
        raise InvalidInput(name, f"expected a list of {of}" if of else "expected a list", value)
    return tuple(value)


def mapping(name: str, value: Any) -> Mapping[Any, Any]:
    """Check and return a mapping, such as a dict.

    >>> mapping("gas", {"limit": 21_000})
    {'limit': 21000}
    """
    if not isinstance(value, MAPPINGS):
        raise InvalidInput(name, "expected a mapping", value)
    return value


def known_fields(name: str, value: Any, known: Collection[str]) -> Mapping[str, Any]:
    """Check and return a JSON object; all fields must have known names."""
    if not isinstance(value, MAPPINGS):
        raise InvalidInput(name, f"expected an object of {', '.join(known)}", value)
    for field in value:
        if field not in known:
            raise InvalidInput(f"{name}.{field}", f"expected one of {', '.join(known)}", value[field])
    return value


def check_limit(number: float, what: str, highest: int, advice: str = "") -> None:
    """Raise `LimitExceeded` for a number above its limit.

    >>> check_limit(5, "points", 3)
    Traceback (most recent call last):
    feemodel.errors.LimitExceeded: 5 points are more than 3
    """
    if number > highest:
        shown = f"{number:,}" if isinstance(number, int) else f"{number:,.0f}" if number < 1e15 else f"{number:.3g}"
        raise LimitExceeded(f"{shown} {what} are more than {highest:,}{advice}")


def share(name: str, value: Any) -> float:
    """Check and return one double between 0 and 1, both excluded."""
    number = real_scalar(name, value)
    require(name, "expected a number between 0 and 1, both excluded", value, 0.0 < number < 1.0)
    return number


def check_table(name: str, value: Any, columns: Collection[str] = ()) -> None:
    """Raise `InvalidInput` for a value that is not a table, or for a table that lacks one of `columns`."""
    if not isinstance(value, MAPPINGS) and not (hasattr(value, "columns") and hasattr(value, "__getitem__")):
        raise InvalidInput(name, "expected a table: a mapping from names to columns, or a DataFrame", value)
    if missing := [column for column in columns if column not in value]:
        raise InvalidInput(name, f"expected the columns {', '.join(missing)}", [*value])
    if isinstance(value, MAPPINGS):
        check_indexes(value)


def check_indexes(values: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` for Series and DataFrames with different indexes, because rows are matched by position."""
    indexes = {name: one.index for name, one in values.items() if hasattr(getattr(one, "index", None), "equals")}
    for name, index in indexes.items():
        if not index.equals(next(iter(indexes.values()))):
            raise InvalidInput(", ".join(map(str, indexes)), "expected Series with equal indexes", name)


def check_plausible(
    name: str, value: float | None, hint: str, *, lowest: float = 0.0, highest: float = math.inf
) -> None:
    """Raise `InvalidInput` for a number that is probably in another unit; 0 and `None` are valid.

    The error contains `hint`, which names the expected unit.

    >>> check_plausible("target_delay", 16.0, "in seconds; 16 h = 57,600", lowest=60.0)
    Traceback (most recent call last):
    feemodel.errors.InvalidInput: target_delay: expected at least 60 (in seconds; 16 h = 57,600), got 16.0
    """
    if value is None:
        return
    number = real_scalar(name, value, minimum=None)
    if number == 0.0 or lowest <= number <= highest:
        return
    expected = f"at least {lowest:,.16g}" if number < lowest else f"at most {highest:,.16g}"
    raise InvalidInput(name, f"expected {expected} ({hint})", value)


def check_fields(
    record: Any,
    *,
    above_zero: Collection[str] = (),
    minimum: Mapping[str, float | None] = EMPTY,
    maximum: Mapping[str, float] = EMPTY,
    unchecked: Collection[str] = (),
) -> None:
    """Check the fields of a dataclass that are numbers, text or bools.

    Numbers must be finite and at least 0. `minimum` maps names of fields to lower limits other than 0; `None` means no
    lower limit. NumPy numbers are replaced with Python numbers. `None` is valid in a field whose type includes `None`.
    """
    for field in dataclasses.fields(record):
        name, value = field.name, getattr(record, field.name)
        kinds = get_args(field.type) if isinstance(field.type, UnionType) else (field.type,)
        if name in unchecked or (value is None and type(None) in kinds):
            continue
        for kind in {bool, str}.intersection(kinds):
            instance(name, value, kind)
        if int not in kinds and float not in kinds:
            continue
        number: Any = whole_scalar if int in kinds else real_scalar
        checked = number(name, value, minimum=minimum.get(name, 0))
        if isinstance(value, np.generic):  # NumPy integers would overflow without an error
            object.__setattr__(record, name, checked)
        require(name, "expected a number above 0", value, name not in above_zero or checked > 0)
        if name in maximum:
            require(name, f"expected at most {maximum[name]:,}", value, checked <= maximum[name])


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


def _as_numbers(name: str, value: Any, expected: str, kind: type[Any]) -> Any:
    """Return what is array-like as an array of int64 or float64, or as a Python number if it has no dimensions."""
    array = as_array(name, value, expected)
    if array.dtype == object or isinstance(value, (list, tuple)):
        array = _from_objects(name, value, expected, kind)
    elif array.dtype.kind not in ("iu" if kind is np.int64 else "iuf"):
        _raise_dtype(name, expected, array)
    elif array.dtype == np.uint64 and kind is np.int64:
        require(name, f"{expected} of at most 2**63 - 1", array, array <= INT64_MAX, Int64Overflow)
    return array.astype(kind, copy=False) if array.ndim else kind(array).item()


def _from_objects(name: str, value: Any, expected: str, kind: type[Any]) -> NDArray[Any]:
    """Convert a list of numbers to int64 or float64; NumPy would take `True` as 1, and truncate doubles."""
    array = np.asarray(value, dtype=object)
    valid = (int, np.integer) if kind is np.int64 else (int, float, np.integer, np.floating)
    for index, item in np.ndenumerate(array):
        if isinstance(item, NO_NUMBERS) or not isinstance(item, valid):
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
