"""Short texts of arrays and lists of numbers."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

SHOWN = 8  # maximum number of elements that a summary shows


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
