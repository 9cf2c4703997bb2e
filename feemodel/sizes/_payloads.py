"""Checks that payloads are bytes."""

from collections.abc import Iterable
from contextlib import suppress
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
    reason = "expected bytes"
    if isinstance(data, str):
        reason += " (feemodel.ethereum.from_hex reads hexadecimal text)"
    elif isinstance(data, np.bytes_):
        reason += ", not numpy.bytes_, which drops trailing zeros"
    else:
        with suppress(TypeError):
            view = memoryview(data)
            if view.ndim and view.itemsize == 1:
                return view.tobytes()
            reason += f", not items of {view.itemsize} bytes" if view.ndim else ", not a single number"
    raise InvalidInput("data" if index is None else "payloads", reason, data, None if index is None else (index,))


def payload_list(payloads: Iterable[Any], first: int = 0) -> list[Payload]:
    """Return payloads as a list of bytes. In error messages, the first payload has the index `first`."""
    chunk = list(payloads)
    if set(map(type, chunk)) <= {bytes}:  # the most frequent case
        return chunk
    return [payload_bytes(data, index) for index, data in enumerate(chunk, first)]


def lengths_of(items: Any) -> Sizes:
    """Return the lengths of the items of a collection as an int64 array."""
    return np.fromiter(map(len, items), dtype=np.int64, count=len(items))
