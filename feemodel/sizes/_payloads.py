"""Checks that payloads are bytes."""

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from feemodel.errors import InvalidInput

Payload: TypeAlias = bytes | bytearray | memoryview
Sizes: TypeAlias = NDArray[np.int64]


def payload_bytes(data: Any, index: int | None = None) -> bytes:
    """Return a payload as bytes. Raise `InvalidInput` if the payload is not bytes-like.

    The error message contains `index`, if given.
    """
    if type(data) is bytes:
        return data
    name, position = ("data", None) if index is None else ("payloads", (index,))
    if isinstance(data, str):
        raise InvalidInput(
            name, "expected bytes (feemodel.ethereum._quantities.from_hex reads hexadecimal text)", data, position
        )
    if isinstance(data, np.bytes_):
        raise InvalidInput(name, "expected bytes, not numpy.bytes_, which drops trailing zeros", data, position)
    try:
        view = memoryview(data)
    except TypeError:
        raise InvalidInput(name, "expected bytes", data, position) from None
    if view.itemsize != 1:
        raise InvalidInput(name, f"expected bytes, not items of {view.itemsize} bytes", data, position)
    if view.ndim == 0:  # an array without dimensions
        raise InvalidInput(name, "expected bytes, not a single number", data, position)
    return view.tobytes()


def payload_list(payloads: Iterable[Any], first: int = 0) -> list[Payload]:
    """Return payloads as a list of bytes. In error messages, the first payload has the index `first`."""
    chunk = list(payloads)
    if set(map(type, chunk)) <= {bytes}:  # the most frequent case
        return chunk
    return [payload_bytes(data, index) for index, data in enumerate(chunk, first)]


def lengths_of(items: Any) -> Sizes:
    """Return the lengths of the items of a collection as an int64 array."""
    return np.fromiter(map(len, items), dtype=np.int64, count=len(items))
