"""Decorators that compare records by value, including arrays, and print records as tables.

Python's `==` compares fields one by one, which fails for fields that are arrays. `print` shows a small table with one
line for each field; `repr` is unchanged.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Record = TypeVar("Record", bound=type)

SHOWN = 8  # maximum number of elements that a summary shows
LISTED = 6  # maximum number of elements that a table shows one by one
SHOWN_BYTES = 16


def compared_by_value(cls: Record) -> Record:
    """Decorate a dataclass or named tuple so that arrays are compared by type, shape and elements.

    A named tuple equals a plain tuple of equal elements. The decorator does not change `__hash__`. Instances
    with mutable arrays should not be hashable.

    >>> from typing import NamedTuple
    >>> @compared_by_value
    ... class Sizes(NamedTuple):
    ...     sizes: np.ndarray
    >>> Sizes(np.array([1, 2])) == Sizes(np.array([1, 2])), Sizes(np.array([1, 2])) == Sizes(np.array([1, 3]))
    (True, False)
    """
    comparable = tuple if issubclass(cls, tuple) else cls

    def equal(self: Any, other: object) -> bool:
        if not isinstance(other, comparable):
            return NotImplemented  # type: ignore[no-any-return]
        mine, others = _values(self), _values(other)
        return len(mine) == len(others) and all(map(_equal, mine, others))

    cls.__eq__ = equal  # type: ignore[assignment,method-assign]
    cls.__ne__ = object.__ne__  # type: ignore[assignment]  # negates `__eq__`; tuples have another `__ne__`
    return cls


def array_digest(array: NDArray[Any]) -> str:
    """Return a text with an array's type, its shape, and the SHA-256 of its elements.

    >>> array_digest(np.array([7, 8], dtype=np.int64))[:25]
    '<i8 (2,) 1f281a4e0796fb60'
    """
    kind = array.dtype.descr if array.dtype.names else array.dtype.str
    return f"{kind} {array.shape} {hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()}"


def summary(numbers: Sequence[Any]) -> str:
    """Return a list of numbers as short text: all numbers, or for a long list the first, the last and a digest.

    >>> summary([1.0, 2.0]), summary(range(100))
    ('[1.0, 2.0]', '<100 from 0 to 99, 51f2696d>')
    """
    if len(numbers) <= SHOWN:
        return repr(list(numbers))
    digest = hashlib.sha256(repr(list(numbers)).encode()).hexdigest()[:SHOWN]
    return f"<{len(numbers):,} from {numbers[0]!r} to {numbers[-1]!r}, {digest}>"


def printed_as_table(record: Record) -> Record:
    """Decorate a named tuple or dataclass so that `print` shows its fields as a table.

    >>> from feemodel import breakdown
    >>> print(breakdown(128, 21_000, variable_cost=1_000_000_000, fixed_cost=30_000_000, margin=1.2))
    Breakdown
      fixed  30,000,000
      size    6,095,238
      margin  7,219,047
      floor           0
    """
    record.__str__ = _table  # type: ignore[assignment]
    return record


def _values(value: Any) -> tuple[Any, ...]:
    if isinstance(value, tuple):
        return value
    return tuple(getattr(value, field.name) for field in fields(value) if field.compare)


def _equal(mine: Any, other: Any) -> bool:
    if type(mine) is type(other) and hasattr(mine, "equals"):  # a Series or a DataArray
        return bool(mine.equals(other))
    if isinstance(mine, np.ndarray) or isinstance(other, np.ndarray):
        return type(mine) is type(other) and mine.dtype == other.dtype and np.array_equal(mine, other)
    labelled = hasattr(mine, "equals") or hasattr(other, "equals")
    return not labelled and bool(mine == other)


def _table(record: Any) -> str:
    return "\n".join([type(record).__name__, *_lines(record, "  ")])


def _lines(record: Any, indent: str) -> list[str]:
    names = _fields(record)
    values = {name: getattr(record, name) for name in names}
    shown = {name: _shown(value) for name, value in values.items() if not _fields(value)}
    numbers = [text for name, text in shown.items() if isinstance(values[name], int | float)]
    left, right = max(map(len, names), default=0), max(map(len, numbers), default=0)
    lines = []
    for name, value in values.items():
        if name not in shown:
            lines += [f"{indent}{name}", *_lines(value, indent + "  ")]
        else:
            text = shown[name].rjust(right) if isinstance(value, int | float) else shown[name]
            lines.append(f"{indent}{name:{left}} {text}".rstrip())
    return lines


def _fields(value: Any) -> tuple[str, ...]:
    """Return the names of a record's fields, or an empty tuple for a value that is not a record."""
    if isinstance(value, type):
        return ()
    fields: Iterable[str] = getattr(value, "_fields", ()) or getattr(value, "__dataclass_fields__", ())
    return tuple(fields)


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.6g}"
    if isinstance(value, bytes):
        return f"0x{value[:SHOWN_BYTES].hex()}" + (f"… ({len(value):,} bytes)" if len(value) > SHOWN_BYTES else "")
    if hasattr(value, "shape") and value.size > LISTED:
        return f"{value.min():,} to {value.max():,}, {' × '.join(map(str, value.shape))} values"
    if isinstance(value, tuple | list | frozenset | set) and len(value) > LISTED:
        return f"{len(value):,} values"
    return str(value)
