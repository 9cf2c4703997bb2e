"""Equality of values that hold arrays, for which Python's own compares fields and gets an array for an answer."""

import hashlib
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

Value = TypeVar("Value")

SHOWN = 8  # numbers that a summary writes out


def compared_by_value(cls: type[Value]) -> type[Value]:
    """A dataclass or named tuple whose arrays are compared as a whole: by type, shape and elements.

    A named tuple equals a plain tuple of equal elements, as tuples do. The hash is left to the class: whoever holds
    arrays that others can change has none.

    >>> from typing import NamedTuple
    >>> @compared_by_value
    ... class Sizes(NamedTuple):
    ...     sizes: np.ndarray
    >>> Sizes(np.array([1, 2])) == Sizes(np.array([1, 2])), Sizes(np.array([1, 2])) == Sizes(np.array([1, 3]))
    (True, False)
    """
    comparable = tuple if issubclass(cls, tuple) else cls

    def equal(self: Value, other: object) -> bool:
        if not isinstance(other, comparable):
            return NotImplemented  # type: ignore[no-any-return]
        mine, others = _values(self), _values(other)
        return len(mine) == len(others) and all(map(_equal, mine, others))

    def unequal(self: Value, other: object) -> bool:
        if not isinstance(other, comparable):
            return NotImplemented  # type: ignore[no-any-return]
        return not equal(self, other)

    cls.__eq__ = equal  # type: ignore[assignment,method-assign]
    cls.__ne__ = unequal  # type: ignore[assignment,method-assign]
    return cls


def summary(numbers: Sequence[Any]) -> str:
    """A short text of a list of numbers, different for different lists: a long one by its ends and a digest.

    >>> summary([1.0, 2.0]), summary(range(100))
    ('[1.0, 2.0]', '<100 from 0 to 99, 51f2696d>')
    """
    if len(numbers) <= SHOWN:
        return repr(list(numbers))
    digest = hashlib.sha256(repr(list(numbers)).encode()).hexdigest()[:SHOWN]
    return f"<{len(numbers):,} from {numbers[0]!r} to {numbers[-1]!r}, {digest}>"


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
