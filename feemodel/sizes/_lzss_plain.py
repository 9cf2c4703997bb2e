"""Compressed sizes of the production LZSS for use without the native package: compiled by numba, or in plain Python."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feemodel._compiled import cached_njit
from feemodel._extras import has_numba
from feemodel.sizes._lzss_format import (
    FAR_BITS,
    FIRST_RESERVED,
    HEADER_BYTES,
    LITERAL_BITS,
    LONG_RUN,
    LONGEST,
    NEAR_BITS,
    SHORTEST_FAR,
    SHORTEST_NEAR,
    WINDOW,
)

HASH_BITS = 16
NO_MATCH = -8 * LONGEST  # savings if there is no reference: less than the savings of any reference
_UNKNOWN = NO_MATCH - 1  # value that marks savings as not computed yet


class PlainLzss:
    """The compressor with a dictionary, which must contain both reserved bytes.

    >>> PlainLzss(bytes([0xFE, 0xFF])).sizes([bytes(100), b""])
    [8, 3]
    """

    def __init__(self, dictionary: bytes) -> None:
        data = np.frombuffer(dictionary, dtype=np.uint8)
        order = suffix_order(data)
        bounds = np.searchsorted(data[order], np.arange(257))
        self._dictionary = (_items(data), _items(order), _items(bounds))

    def sizes(self, payloads: Sequence[bytes]) -> list[int]:
        """Return the compressed size of each payload [byte]."""
        data = np.frombuffer(b"".join(payloads), dtype=np.uint8)
        bounds = np.cumsum([0, *map(len, payloads)])
        latest, previous = np.full((1 << HASH_BITS) + 2, -1), np.empty(len(data), dtype=np.int64)
        savings = np.full(len(data), _UNKNOWN)
        arrays = (_items(array) for array in (data, latest, previous, savings))
        sizes = _sizes(_items(bounds), *self._dictionary, *arrays)
        return [int(size) for size in sizes]


def _items(array: NDArray[Any]) -> Any:
    """Return the array itself if numba compiles the functions; otherwise a list, which is faster in plain Python."""
    return array if has_numba() else array.tolist()


def suffix_order(data: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the index at which each suffix starts, sorted by the first `LONGEST` bytes of the suffix.

    The algorithm is prefix doubling (Manber and Myers, 1993): the next n bytes of a suffix are the first n bytes of a
    later suffix. After sorting by the first n bytes, the ranks of the suffixes are enough to sort by 2n bytes.
    """
    rank, width = data.astype(np.int64) + 1, 1
    while width < LONGEST:
        following = np.concatenate([rank[width:], np.zeros(min(width, len(rank)), dtype=np.int64)])
        rank = np.unique(rank * (rank.max() + 1) + following, return_inverse=True)[1].reshape(-1) + 1
        width *= 2
    return np.argsort(rank, kind="stable")


@cached_njit(nogil=True)
def _sizes(
    bounds: Any, dictionary: Any, order: Any, by_byte: Any, data: Any, latest: Any, previous: Any, savings: Any
) -> Any:
    """Return the compressed size of each payload.

    Parameters
    ----------
    bounds : start of each payload in `data`, then the end of the last payload.
    dictionary, order : the bytes of the dictionary; the starts of its suffixes, sorted.
    by_byte : for each byte, the index in `order` of the first suffix that starts with the byte.
    data : concatenated payloads.
    latest : for each key, the latest position with this key, initially -1. The key of a position is a hash of the four
        bytes that start there, or stands for a reserved byte.
    previous : space for the latest earlier position with the same key as each position.
    savings : space for the bits that the best reference at each position saves, initially `_UNKNOWN`.
    """
    sizes = []
    for k in range(len(bounds) - 1):
        start, end = bounds[k], bounds[k + 1]
        for i in range(start, end):
            slot = -1
            if data[i] >= FIRST_RESERVED:
                slot = (1 << HASH_BITS) + (data[i] & 1)
            elif i + SHORTEST_NEAR <= end:
                word = data[i] | data[i + 1] << 8 | data[i + 2] << 16 | data[i + 3] << 24
                slot = (word * 2654435769 & 0xFFFFFFFF) >> (32 - HASH_BITS)
            previous[i] = latest[slot] if slot >= 0 else -1
            if slot >= 0:
                latest[slot] = i
        bits, i = 0, start
        while i < end:
            run = _common_prefix(data, i, data, i + 1, min(LONGEST, end - i) - 1) + 1
            reserved = data[i] >= FIRST_RESERVED
            if run >= LONG_RUN:
                if i == start or data[i - 1] != data[i]:
                    bits += FAR_BITS if reserved else LITERAL_BITS
                bits += NEAR_BITS
                i += run
                continue
            saved, ahead = NO_MATCH, 0
            for index in range(i, min(i + 3, end)):
                if savings[index] == _UNKNOWN:
                    savings[index] = _savings_at(index, start, end, dictionary, order, by_byte, data, previous)
                if index == i:
                    saved = savings[i]
                elif savings[index] > saved + index - i:
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
        sizes.append(HEADER_BYTES + (bits + 7) // 8)
    return sizes


@cached_njit(nogil=True)
def _savings_at(
    i: int, start: int, end: int, dictionary: Any, order: Any, by_byte: Any, data: Any, previous: Any
) -> Any:
    """Return the number of bits that the best reference at `i` saves compared with literals, or `NO_MATCH`."""
    limit, reserved = min(LONGEST, end - i), data[i] >= FIRST_RESERVED
    length, match, shift = 0, -1, 0
    candidate = previous[i]
    while candidate >= start and length < limit:
        if data[candidate + length] == data[i + length]:
            shared = _common_prefix(data, candidate, data, i, limit)
            if shared > length:
                length, match = shared, candidate
                # The key of an index is the four bytes that start there, or one reserved byte. A longer match also
                # contains the key of i + shift. This key usually has fewer earlier positions than the key of i. The
                # inner loop avoids keys inside a run of equal bytes.
                shift = max(0, length + 1 - SHORTEST_NEAR) if length < limit else 0
                while shift > 0 and _common_prefix(data, i + shift, data, i + shift + 1, SHORTEST_NEAR - 1) > 2:
                    shift -= 1
                candidate = i
        candidate = previous[candidate + shift] - shift
    near = length if match >= 0 and i - match <= WINDOW else 0
    low, high = by_byte[data[i]], by_byte[data[i] + 1]
    while low < high and length < limit:
        middle = (low + high) >> 1
        first = order[middle]
        rest = len(dictionary) - first
        shared = _common_prefix(dictionary, first, data, i, min(limit, rest))
        length = max(length, shared)
        if shared == rest or (shared < limit and dictionary[first + shared] < data[i + shared]):
            low = middle + 1
        else:
            high = middle
    if near == length and (near >= SHORTEST_NEAR or reserved):
        return 8 * near - NEAR_BITS
    if length >= SHORTEST_FAR or reserved:
        return 8 * length - FAR_BITS
    return NO_MATCH


@cached_njit(nogil=True)
def _common_prefix(a: Any, i: int, b: Any, j: int, limit: int) -> Any:
    """Return the length of the common prefix of `a[i:]` and `b[j:]`, at most `limit`."""
    length = 0
    while length < limit and a[i + length] == b[j + length]:
        length += 1
    return length
