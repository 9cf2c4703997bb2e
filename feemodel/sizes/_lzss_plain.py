"""Compressed sizes of the production LZSS for use without the native package: compiled by numba, or in plain Python.

A compressed payload is a header of three bytes, followed by symbols. A symbol is a literal byte or a reference to equal
bytes. A near reference points to one of the last 2**14 bytes of the data; a far reference can point to any earlier byte
of the data and of the dictionary. Two byte values are reserved: they mark references and cannot be literals. A reserved
byte in the data is always encoded by a reference, even if the reference replaces only this byte.

Source: Consensys/compress v0.2.5 (2024), lzss; v0.2.4 and v0.3.0 give the same sizes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from feemodel._compiled import cached_njit
from feemodel._extras import has_numba
from feemodel.sizes._lzss import HEADER_BYTES

LITERAL_BITS = 8
NEAR_BITS = 8 + 8 + 14  # mark, length, distance
FAR_BITS = 8 + 8 + 21
FIRST_RESERVED = 0xFE  # 0xFE marks a near reference, and 0xFF marks a far reference
WINDOW = 2**14  # maximum distance of a near reference [byte]
LONGEST = 256  # maximum length of a reference [byte]
LONG_RUN = 160  # runs of at least this length are encoded by a reference to the previous byte [byte]
SHORTEST_NEAR, SHORTEST_FAR = 4, 5  # minimum length of a reference [byte]; 1 if the data is a reserved byte
HASH_BITS = 16
NO_MATCH = -8 * LONGEST  # savings if there is no reference: less than the savings of any reference
_UNKNOWN = NO_MATCH - 1  # value that marks savings as not computed yet


class PlainLzss:
    """The compressor with a dictionary, which must contain both reserved bytes.

    >>> PlainLzss(bytes([0xFE, 0xFF])).sizes([bytes(100), b""])
    [8, 3]
    """

    def __init__(self, dictionary: bytes) -> None:
        self._dictionary = dictionary
        self._latest = _items(np.full((1 << HASH_BITS) + 2, -1))
        self._previous = _items(np.empty(len(dictionary), dtype=np.int64))
        _enter(_items(np.frombuffer(dictionary, dtype=np.uint8)), 0, self._latest, self._previous)

    def sizes(self, payloads: Sequence[bytes]) -> list[int]:
        """Return the compressed size of each payload [byte]."""
        start, longest = len(self._dictionary), max(map(len, payloads), default=0)
        previous = _items(np.concatenate([self._previous, np.empty(longest, dtype=np.int64)]))
        sizes = []
        for payload in payloads:
            data = _items(np.frombuffer(self._dictionary + payload, dtype=np.uint8))
            _enter(data, start, self._latest.copy(), previous)
            sizes.append(int(_size(data, start, previous)))
        return sizes


def _items(array: Any) -> Any:
    """Return the array itself if numba compiles the functions; otherwise a list, which is faster in plain Python."""
    return array if has_numba() else array.tolist()


@cached_njit(nogil=True)
def _enter(data: Any, start: int, latest: Any, previous: Any) -> None:
    """Enter the positions of `data` from `start` on into two tables, where -1 means no position.

    `latest` has the last position of each key, `previous` the one before each position. The key of a position is a hash
    of the four bytes that start there, or stands for a reserved byte.
    """
    for i in range(start, len(data)):
        if data[i] >= FIRST_RESERVED:
            slot = (1 << HASH_BITS) + (data[i] & 1)
        elif i + SHORTEST_NEAR <= len(data):
            word = data[i] | data[i + 1] << 8 | data[i + 2] << 16 | data[i + 3] << 24
            slot = (word * 2654435769 & 0xFFFFFFFF) >> (32 - HASH_BITS)
        else:
            previous[i] = -1
            continue
        previous[i] = latest[slot]
        latest[slot] = i


@cached_njit(nogil=True)
def _size(data: Any, start: int, previous: Any) -> Any:
    """Return the compressed size of the payload, which starts at `start` in `data`."""
    end = len(data)
    savings = [_UNKNOWN] * (end - start)  # number of bits that the best reference at each position saves
    bits, i = 0, start
    while i < end:
        run = _common_prefix(data, i, i + 1, min(LONGEST, end - i) - 1) + 1
        reserved = data[i] >= FIRST_RESERVED
        if run >= LONG_RUN:
            if i == start or data[i - 1] != data[i]:
                bits += FAR_BITS if reserved else LITERAL_BITS
            bits += NEAR_BITS
            i += run
            continue
        saved, ahead = NO_MATCH, 0
        for index in range(i, min(i + 3, end)):
            if savings[index - start] == _UNKNOWN:
                savings[index - start] = _savings_at(index, start, data, previous)
            if index == i:
                saved = savings[i - start]
            elif savings[index - start] > saved + index - i:
                ahead = index - i
            if ahead > 0 or data[index] >= FIRST_RESERVED or saved < 0:
                break
        if ahead > 0 or (saved < 0 and not reserved):
            bits += LITERAL_BITS * max(ahead, 1)
            i += max(ahead, 1)
        else:
            length = (saved + FAR_BITS) >> 3
            bits += 8 * length - saved
            i += length
    return HEADER_BYTES + (bits + 7) // 8


@cached_njit(nogil=True)
def _savings_at(i: int, start: int, data: Any, previous: Any) -> Any:
    """Return the number of bits that the best reference at `i` saves compared with literals, or `NO_MATCH`."""
    limit, reserved = min(LONGEST, len(data) - i), data[i] >= FIRST_RESERVED
    length, match, shift = 0, -1, 0
    candidate = previous[i]
    while candidate >= 0 and length < limit:
        if data[candidate + length] == data[i + length]:
            # A reference into the dictionary stops at the end of the dictionary.
            shared = _common_prefix(data, candidate, i, limit if candidate >= start else min(limit, start - candidate))
            if shared > length:
                length, match = shared, candidate
                # The key of an index is the four bytes that start there, or one reserved byte. A longer match also
                # contains the key of i + shift. This key usually has fewer earlier positions than the key of i. The
                # inner loop avoids keys inside a run of equal bytes.
                shift = max(0, length + 1 - SHORTEST_NEAR) if length < limit else 0
                while shift > 0 and _common_prefix(data, i + shift, i + shift + 1, SHORTEST_NEAR - 1) > 2:
                    shift -= 1
                candidate = i
        candidate = previous[candidate + shift] - shift
    if match >= start and i - match <= WINDOW and (length >= SHORTEST_NEAR or reserved):
        return 8 * length - NEAR_BITS
    return 8 * length - FAR_BITS if length >= SHORTEST_FAR or reserved else NO_MATCH


@cached_njit(nogil=True)
def _common_prefix(data: Any, i: int, j: int, limit: int) -> Any:
    """Return the length of the common prefix of `data[i:]` and `data[j:]`, at most `limit`."""
    length = 0
    while length < limit and data[i + length] == data[j + length]:
        length += 1
    return length
