"""Find the longest matches of a payload by sorting the suffixes of the dictionary and of the payload.

Suffixes with a common prefix are adjacent in sorted order. So the longest match of a suffix is either with the previous
candidate in sorted order, or with the next candidate. The candidates are the suffixes at all earlier indices, or only
the suffixes in the window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from feemodel._compiled import cached_njit
from feemodel.sizes._lzss_format import LONGEST, WINDOW
from feemodel.sizes._lzss_primitives import (
    Data,
    Positions,
    Words,
    common_prefix,
    is_reserved,
    leading_zeros,
    reference_savings,
    trailing_zeros,
)

if TYPE_CHECKING:
    from feemodel.sizes._lzss_dictionary import DictionaryIndex

# A set of numbers below 64**3 (which equals `LONGEST_INPUT`) is stored in three levels of 64-bit words. In the first
# level, bit n is set if n is in the set. In the second and the third level, bit n is set if word n of the level before
# is not zero.
_LEVELS = (0, 64**2, 64**2 + 64)  # index of the first word of each level
_SET_WORDS = 64**2 + 64 + 1
_ONE = np.uint64(1)


@cached_njit(nogil=True)
def suffix_order(data: Data) -> Positions:
    """Return the starts of all suffixes, sorted by their first `LONGEST` bytes.

    A suffix that is a prefix of another suffix comes first. The algorithm is prefix doubling (Manber and Myers, 1993):
    the next n bytes of a suffix are the first n bytes of a later suffix. After sorting by the first n bytes, the ranks
    of the suffixes are therefore enough to sort by 2n bytes. The rank of a suffix is 1 + the index in `order` of the
    first suffix with the same first n bytes. The rank of the empty suffix at the end of the data is 0.
    """
    length = len(data)
    order = np.empty(length, dtype=np.int32)
    by_second_half = np.empty(length, dtype=np.int32)
    spare = np.empty(length, dtype=np.int32)
    rank = np.zeros(length + LONGEST, dtype=np.int32)
    smaller = np.zeros(257, dtype=np.int32)  # element b: number of bytes in the data that are less than b
    for byte in data:
        smaller[byte + 1] += 1
    for byte in range(256):
        smaller[byte + 1] += smaller[byte]
    for i in range(length):
        rank[i] = smaller[data[i]] + 1
        by_second_half[i] = i
    _sort_by_rank(by_second_half, rank, spare, order)
    width = 1
    while width < LONGEST:
        _shift(order, width, by_second_half)
        _sort_by_rank(by_second_half, rank, spare, order)
        if _refine(order, width, rank, spare) == length:
            break
        width *= 2
    return order


@cached_njit(nogil=True)
def _shift(order: Positions, width: int, by_second_half: Positions) -> None:
    """Sort suffixes by the bytes after their first `width` bytes; suffixes of at most `width` bytes come first."""
    filled = 0
    for i in range(max(0, len(order) - width), len(order)):
        by_second_half[filled] = i
        filled += 1
    for i in order:
        if i >= width:
            by_second_half[filled] = i - width
            filled += 1


@cached_njit(nogil=True)
def _sort_by_rank(suffixes: Positions, rank: Positions, free: Positions, order: Positions) -> None:
    """Sort suffixes by rank; suffixes with equal ranks keep their order."""
    for index in range(len(order)):
        free[index] = index
    for i in suffixes:
        group = rank[i] - 1
        order[free[group]] = i
        free[group] += 1


@cached_njit(nogil=True)
def _refine(order: Positions, width: int, rank: Positions, refined: Positions) -> int:
    """Refine ranks by the first `width` bytes to ranks by twice as many bytes; return the number of ranks."""
    different, latest, first, second = 0, 0, -1, -1
    for index, i in enumerate(order):
        if rank[i] != first or rank[i + width] != second:
            different += 1
            latest, first, second = index + 1, rank[i], rank[i + width]
        refined[index] = latest
    for index, i in enumerate(order):
        rank[i] = refined[index]
    return different


@cached_njit(nogil=True)
def tabulate_savings(data: Data, dictionary: DictionaryIndex, savings: Positions) -> None:
    """Fill `savings` with the number of bits that the best reference saves at each index, in O(n log n) time.

    The data must be followed by `PADDING` zeros.
    """
    length = len(data)
    order = suffix_order(data)
    rank = np.empty(length, dtype=np.int32)
    for index, i in enumerate(order):
        rank[i] = index
    longest = np.empty(length, dtype=np.int32)
    _match_dictionary(order, data, dictionary, longest)
    before = np.zeros(_SET_WORDS, dtype=np.uint64)
    in_window = np.zeros(_SET_WORDS, dtype=np.uint64)
    for i in range(length):
        limit = min(LONGEST, length - i)
        near = _longest_among(in_window, rank[i], order, data, limit)
        far = max(near, longest[i])
        if i > WINDOW and far < limit:
            far = max(far, _longest_among(before, rank[i], order, data, limit))
        savings[i] = reference_savings(near, far, is_reserved(data[i]))
        _add(before, rank[i])
        _add(in_window, rank[i])
        if i >= WINDOW:
            _discard(in_window, rank[i - WINDOW])


@cached_njit(nogil=True)
def _match_dictionary(order: Positions, data: Data, dictionary: DictionaryIndex, longest: Positions) -> None:
    """Fill `longest` with the length of the longest match in the dictionary at each index.

    The longest match of a payload suffix is with one of its two neighbours among the sorted dictionary suffixes. One
    pass over both sorted lists finds the neighbours of all payload suffixes.
    """
    size = len(dictionary.order)
    following = 0
    for i in order:
        limit = min(LONGEST, len(order) - i)
        longest[i] = 0
        if following > 0:
            start = dictionary.order[following - 1]
            longest[i] = common_prefix(dictionary.data, start, data, i, min(limit, size - start))
        while following < size:
            start = dictionary.order[following]
            shared = common_prefix(dictionary.data, start, data, i, min(limit, size - start))
            longest[i] = max(longest[i], shared)
            if shared == limit or (start + shared < size and dictionary.data[start + shared] > data[i + shared]):
                break
            following += 1


@njit(inline="always")
def _longest_among(members: Words, index: int, order: Positions, data: Data, limit: int) -> int:
    """Return the length of the longest match of a suffix with the suffixes in a set.

    Suffixes are given as indices of `order`.
    """
    length = 0
    neighbour = _below(members, index)
    if neighbour >= 0:
        length = common_prefix(data, order[neighbour], data, order[index], limit)
    neighbour = _above(members, index)
    if neighbour >= 0:
        length = max(length, common_prefix(data, order[neighbour], data, order[index], limit))
    return length


@njit(inline="always")
def _add(members: Words, number: int) -> None:
    for level in range(3):
        members[_LEVELS[level] + (number >> 6)] |= _ONE << np.uint64(number & 63)
        number >>= 6


@njit(inline="always")
def _discard(members: Words, number: int) -> None:
    for level in range(3):
        word = _LEVELS[level] + (number >> 6)
        members[word] &= ~(_ONE << np.uint64(number & 63))
        if members[word] != 0:
            break
        number >>= 6


@njit(inline="always")
def _below(members: Words, number: int) -> int:
    """Return the greatest member of a set that is less than `number`, or -1 if no member is less."""
    for level in range(3):
        lower_bits = (_ONE << np.uint64(number & 63)) - _ONE
        number >>= 6
        word = members[_LEVELS[level] + number] & lower_bits
        if word != 0:
            number = (number << 6) + 63 - leading_zeros(word)
            for down in range(level - 1, -1, -1):
                number = (number << 6) + 63 - leading_zeros(members[_LEVELS[down] + number])
            return number
    return -1


@njit(inline="always")
def _above(members: Words, number: int) -> int:
    """Return the smallest member of a set that is greater than `number`, or -1 if no member is greater."""
    for level in range(3):
        higher_bits = ~_ONE << np.uint64(number & 63)
        number >>= 6
        word = members[_LEVELS[level] + number] & higher_bits
        if word != 0:
            number = (number << 6) + trailing_zeros(word)
            for down in range(level - 1, -1, -1):
                number = (number << 6) + trailing_zeros(members[_LEVELS[down] + number])
            return number
    return -1
