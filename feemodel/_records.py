"""Comparison of records by value, including arrays, and short texts of arrays.

Python's `==` compares fields one by one, which fails for fields that are arrays.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Record = TypeVar("Record", bound=type)

SHOWN = 8  # maximum number of elements that a summary shows


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
