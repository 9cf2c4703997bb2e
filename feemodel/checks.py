"""Checks of formula arguments, the same for scalars and arrays: `whole` for integers, `real` for doubles.

Each returns a Python number for a scalar and a NumPy array for anything array-like, and raises
`InvalidInput` that names the argument and shows the first offending value. Nothing is rounded or clamped.
"""

import dataclasses
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType, UnionType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias, TypeVar, Union, get_args

import numpy as np
from numpy.typing import NDArray

from feemodel.errors import Int64Overflow, InvalidInput, LimitExceeded

INT64_MAX, UINT64_MAX, UINT256_MAX = 2**63 - 1, 2**64 - 1, 2**256 - 1
EMPTY: Mapping[str, Any] = MappingProxyType({})
MAPPINGS = (dict, Mapping)  # for isinstance, which tells the first by its type alone

WholeArray: TypeAlias = NDArray[np.int64]
RealArray: TypeAlias = NDArray[np.float64]
Kind = TypeVar("Kind")
Function = TypeVar("Function", bound=Callable[..., Any])


class Labelled(Protocol):
    """A pandas Series or an xarray DataArray: what NumPy makes an array of."""

    def __array__(self) -> np.ndarray[Any, Any]: ...


# What type checkers are told of a formula, by two overloads: numbers in, a number out; with a Series or a DataArray
# among the arguments, one of those out; otherwise an array, which is what the variable stands for where none solves it.
if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    ArrayLike: TypeAlias = Any  # of the formula itself, which hands it to `whole` or `real`; callers see the overloads
    Wholes = TypeVarWithDefault("Wholes", bound=Labelled, default=WholeArray)
    Reals = TypeVarWithDefault("Reals", bound=Labelled, default=RealArray)
    Truths = TypeVarWithDefault("Truths", bound=Labelled, default=NDArray[np.bool_])
    Part = TypeVarWithDefault("Part", covariant=True, default=int | WholeArray)
    Numbers: TypeAlias = float | NDArray[Any] | Sequence[Any] | Wholes
else:  # type variables have defaults since Python 3.13
    from numpy.typing import ArrayLike as ArrayLike

    Wholes, Reals, Truths, Part = map(TypeVar, ("Wholes", "Reals", "Truths", "Part"))
    Numbers = Union[int, Wholes]  # noqa: UP007 (it is subscripted)


def whole(name: str, value: Any, *, minimum: int | None = 0, unit: str = "") -> int | WholeArray:
    """An integer, or integers as an int64 array; a float is refused even when its value is whole."""
    expected = f"expected whole {unit}" if unit else "expected an integer"
    if isinstance(value, (bool, np.bool_)):
        raise InvalidInput(name, expected, value)
    if isinstance(value, (int, np.integer)):
        number = int(value)
        if minimum is not None and number < minimum:
            raise InvalidInput(name, f"{expected} of at least {minimum:,}", number)
        return number
    array = _array(name, value, expected)
    if array.dtype == object or (array.dtype.kind == "f" and isinstance(value, (list, tuple))):
        # Of a list NumPy makes doubles where one item is a float, or where the integers fit no common type.
        array = np.asarray(value, dtype=object)
        if array.ndim == 0 and isinstance(array.item(), int):
            return whole(name, array.item(), minimum=minimum, unit=unit)
        array = _from_objects(name, array, expected)
    elif array.dtype.kind not in "iu":
        _raise_dtype(name, expected, array)
    elif array.dtype == np.uint64 and array.size and array.max() > INT64_MAX:
        raise_first(name, f"{expected} of at most 2**63 - 1", array, array > INT64_MAX, Int64Overflow)
    if minimum is not None and array.size and array.min() < minimum:
        raise_first(name, f"{expected} of at least {minimum:,}", array, array < minimum)
    array = array.astype(np.int64, copy=False)
    return int(array) if array.ndim == 0 else array


def real(name: str, value: Any, *, minimum: float | None = 0.0, unit: str = "") -> float | RealArray:
    """A finite double, or finite doubles as a float64 array."""
    expected = f"expected a finite number{f' of {unit}' if unit else ''}"
    if isinstance(value, (bool, np.bool_, complex)):
        raise InvalidInput(name, expected, value)
    if isinstance(value, (int, float, np.integer, np.floating)):
        try:
            number = float(value)
        except OverflowError:
            raise InvalidInput(name, expected, value) from None
        if not math.isfinite(number):
            raise InvalidInput(name, expected, number)
        if minimum is not None and number < minimum:
            raise InvalidInput(name, f"{expected}, at least {minimum:g}", number)
        return number
    array = _array(name, value, expected)
    if array.dtype == object:
        array = _doubles_from_objects(name, array, expected)
    elif array.dtype.kind not in "iuf":
        _raise_dtype(name, expected, array)
    array = array.astype(np.float64, copy=False)
    if array.size:
        if not np.isfinite(array).all():
            raise_first(name, expected, array, ~np.isfinite(array))
        if minimum is not None and array.min() < minimum:
            raise_first(name, f"{expected}, at least {minimum:g}", array, array < minimum)
    return float(array) if array.ndim == 0 else array


def whole_scalar(name: str, value: Any, *, minimum: int = 0, maximum: int | None = None, unit: str = "") -> int:
    """One integer; arrays are refused."""
    number = whole(name, value, minimum=minimum, unit=unit)
    if not isinstance(number, int):
        raise InvalidInput(name, "expected one number, not an array", value)
    if maximum is not None and number > maximum:
        raise InvalidInput(name, f"expected at most {maximum:,}", value)
    return number


def real_scalar(name: str, value: Any, *, minimum: float | None = 0.0, unit: str = "") -> float:
    """One finite double; arrays are refused."""
    number = real(name, value, minimum=minimum, unit=unit)
    if not isinstance(number, float):
        raise InvalidInput(name, "expected one number, not an array", value)
    return number


def above_zero(name: str, value: Any, *, unit: str = "") -> float:
    """One finite double above 0."""
    number = real_scalar(name, value, unit=unit)
    if number == 0.0:
        raise InvalidInput(name, "expected a number above 0", value)
    return number


def instance(name: str, value: Any, kind: type[Kind]) -> Kind:
    """A value of that class."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIO" else "a"
        raise InvalidInput(name, f"expected {article} {kind.__name__}", value)
    return value


def choice(name: str, value: Any, choices: Collection[str]) -> str:
    """One of the names that are known."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidInput(name, f"expected one of {', '.join(choices)}", value)
    return value


def text(name: str, value: Any) -> str:
    """Text."""
    if not isinstance(value, str):
        raise InvalidInput(name, "expected text", value)
    return value


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidInput(name, "expected true or false", value)
    return bool(value)


def sequence(name: str, value: Any, of: str = "") -> tuple[Any, ...]:
    """The items of a list or tuple; `of` says in the error what they should be."""
    if not isinstance(value, (list, tuple)):
        raise InvalidInput(name, f"expected a list of {of}" if of else "expected a list", value)
    return tuple(value)


def mapping(name: str, value: Any) -> Mapping[Any, Any]:
    """A dict or another mapping."""
    if not isinstance(value, MAPPINGS):
        raise InvalidInput(name, "expected a mapping", value)
    return value


def known_fields(name: str, value: Any, known: Collection[str]) -> Mapping[str, Any]:
    """An object of JSON whose fields all have one of these names."""
    if not isinstance(value, MAPPINGS):
        raise InvalidInput(name, f"expected an object of {', '.join(known)}", value)
    for field in value:
        if field not in known:
            raise InvalidInput(f"{name}.{field}", f"expected one of {', '.join(known)}", value[field])
    return value


def check_limit(number: float, what: str, highest: int, advice: str = "") -> None:
    """Raise `LimitExceeded` for more than the most of something that a run can hold."""
    if number > highest:
        shown = f"{number:,}" if isinstance(number, int) else f"{number:,.0f}" if number < 1e15 else f"{number:.3g}"
        raise LimitExceeded(f"{shown} {what} are more than {highest:,}{advice}")


def check_int64(name: str, value: int) -> int:
    """The number; raise `Int64Overflow` for one that a signed 64-bit integer cannot hold."""
    if value > INT64_MAX:
        raise Int64Overflow(name, "expected a number that fits 64 bits", value)
    return value


def share(name: str, value: Any) -> float:
    """One double between 0 and 1, both excluded."""
    if not 0.0 < real_scalar(name, value) < 1.0:
        raise InvalidInput(name, "expected between 0 and 1, both excluded", value)
    return float(value)


def check_table(name: str, value: Any, columns: Collection[str] = ()) -> None:
    """Raise `InvalidInput` for what has no columns by name, or not these."""
    if not isinstance(value, MAPPINGS) and not (hasattr(value, "columns") and hasattr(value, "__getitem__")):
        raise InvalidInput(name, "expected a table: a mapping from names to columns, or a DataFrame", value)
    if missing := [column for column in columns if column not in value]:
        raise InvalidInput(name, f"expected the columns {', '.join(missing)}", [*value])
    if isinstance(value, MAPPINGS):
        check_indexes(value)


def check_indexes(values: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` for pandas Series and DataFrames whose indexes differ: rows are taken by their place."""
    indexes = {name: one.index for name, one in values.items() if hasattr(getattr(one, "index", None), "equals")}
    for name, index in indexes.items():
        if not index.equals(next(iter(indexes.values()))):
            raise InvalidInput(", ".join(map(str, indexes)), "expected Series with equal indexes", name)


def function(name: str, value: Function) -> Function:
    """Something that can be called."""
    if not callable(value):
        raise InvalidInput(name, "expected a function", value)
    return value


def check_plausible(
    name: str, value: float | None, hint: str, *, lowest: float = 0.0, highest: float = math.inf
) -> None:
    """Raise `InvalidInput`, with a hint at the unit, for a number that is probably in another; 0 and `None` pass.

    >>> check_plausible("target_delay", 16.0, "in seconds; 16 h are 57,600", lowest=60.0)
    Traceback (most recent call last):
    feemodel.errors.InvalidInput: target_delay: expected at least 60 (in seconds; 16 h are 57,600), got 16.0
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
    """Check the fields of a dataclass that are numbers, text or flags.

    Numbers are finite and at least 0, or at least their `minimum`, where `None` bounds nothing; NumPy's become
    Python's. A field that may be `None` passes when it is.
    """
    for field in dataclasses.fields(record):
        name, value = field.name, getattr(record, field.name)
        kinds = get_args(field.type) if isinstance(field.type, UnionType) else (field.type,)
        if name in unchecked or (value is None and type(None) in kinds):
            continue
        for kind, check in ((bool, flag), (str, text)):
            if kind in kinds:
                check(name, value)
        if int not in kinds and float not in kinds:
            continue
        number: Any = whole_scalar if int in kinds else real_scalar
        checked = number(name, value, minimum=minimum.get(name, 0))
        if isinstance(value, np.generic):  # whose integers wrap around in arithmetic with Python's
            object.__setattr__(record, name, checked)
        if name in above_zero and not value > 0:
            raise InvalidInput(name, "expected a number above 0", value)
        if name in maximum and value > maximum[name]:
            raise InvalidInput(name, f"expected at most {maximum[name]:,}", value)


def raise_first(
    name: str, reason: str, array: NDArray[Any], bad: NDArray[np.bool_], error: type[InvalidInput] = InvalidInput
) -> NoReturn:
    """Raise `error` for the first element where `bad` holds, with its index."""
    first = int(np.argmax(bad))
    index = tuple(int(i) for i in np.unravel_index(first, bad.shape))
    raise error(name, reason, array.flat[first : first + 1].tolist()[0], index or None)


def _array(name: str, value: Any, expected: str) -> NDArray[Any]:
    if isinstance(value, (str, bytes, dict)) or value is None:
        raise InvalidInput(name, expected, value)
    try:
        array = np.asarray(value)
    except ValueError:  # a ragged list
        raise InvalidInput(name, f"{expected}, or a rectangular array of such", value) from None
    except (TypeError, OverflowError, RuntimeError):  # an object that makes no array; integers that no double holds
        raise InvalidInput(name, expected, value) from None
    if isinstance(value, (list, tuple)) and array.dtype.kind in "iuf" and (found := _first_bool(value)) is not None:
        raise InvalidInput(name, expected, True, found)  # which NumPy would take for 1
    masked = np.ma.getmaskarray(value) if isinstance(value, np.ndarray) and hasattr(value, "mask") else None
    if masked is not None and masked.any():
        raise_first(name, f"{expected}, and none that is masked", array, masked)
    return array


def _first_bool(values: Any) -> tuple[int, ...] | None:
    """Return the index of the first bool in nested lists."""
    for index, value in enumerate(values):
        if isinstance(value, (bool, np.bool_)):
            return (index,)
        inner = _first_bool(value) if isinstance(value, (list, tuple)) else None
        if inner is not None:
            return (index, *inner)
    return None


def _from_objects(name: str, array: NDArray[Any], expected: str) -> WholeArray:
    for index, item in np.ndenumerate(array):
        if isinstance(item, (bool, np.bool_)) or not isinstance(item, (int, np.integer)):
            raise InvalidInput(name, expected, item, index or None)
        if not -(2**63) <= item <= INT64_MAX:
            raise Int64Overflow(name, "expected integers that fit 64 bits in an array", item, index or None)
    return array.astype(np.int64)


def _doubles_from_objects(name: str, array: NDArray[Any], expected: str) -> RealArray:
    for index, item in np.ndenumerate(array):
        try:
            if isinstance(item, (bool, np.bool_)) or not isinstance(item, (int, float, np.integer, np.floating)):
                raise InvalidInput(name, expected, item, index or None)
            float(item)
        except OverflowError:
            raise InvalidInput(name, expected, item, index or None) from None
    return array.astype(np.float64)


def _raise_dtype(name: str, expected: str, array: NDArray[Any]) -> NoReturn:
    reason = f"{expected}, not {array.dtype}"
    if not array.size:
        raise InvalidInput(name, reason, str(array.dtype))
    # Missing values make doubles of whole numbers: the element to show is then the one without a whole value.
    real = array if array.dtype.kind == "f" else np.zeros(array.shape)
    raise_first(name, reason, array, ~np.isfinite(real) | (real != np.rint(real)))
