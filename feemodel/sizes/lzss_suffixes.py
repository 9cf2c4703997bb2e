"""Suffixes in order: of a dictionary, to search it; of a payload, to find all its matches whatever its bytes are.

Suffixes that share their first bytes stand together in the order, so of any set of suffixes, one of the two that stand
next to a given one shares most with it: the longest match of a place is with a neighbour among the places before it,
and the longest in the window with a neighbour among those of the window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from feemodel.compiled import kept
from feemodel.sizes.lzss_format import LONGEST, WINDOW
from feemodel.sizes.lzss_primitives import (
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
    from feemodel.sizes.lzss_dictionary import DictionaryIndex

# A set of numbers below 64**3, as bits: one for each number, one for each word of those that is not zero, and one for
# each word of these. `LONGEST_INPUT` is 64**3.
_LEVELS = (0, 64**2, 64**2 + 64)  # the first word of each
_SET_WORDS = 64**2 + 64 + 1
_ONE = np.uint64(1)


@kept(nogil=True)
def suffix_order(data: Data) -> Positions:
    """Starts of all suffixes in the order of their first `LONGEST` bytes; one that ends before comes first.

    Prefix doubling (Manber and Myers, 1993): in order by some bytes, suffixes are put in order by twice as many, as
    the order of what follows the first half is known. The rank of a suffix is the first place of those that equal it
    so far, plus one; zeros follow the end.
    """
    length = len(data)
    order = np.empty(length, dtype=np.int32)
    by_second_half = np.empty(length, dtype=np.int32)
    spare = np.empty(length, dtype=np.int32)
    rank = np.zeros(length + LONGEST, dtype=np.int32)
    smaller = np.zeros(257, dtype=np.int32)  # bytes of the data that are less than each
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


@kept(nogil=True)
def _shift(order: Positions, width: int, by_second_half: Positions) -> None:
    """Suffixes in the order of what follows their first `width` bytes; those that have nothing more come first."""
    filled = 0
    for i in range(max(0, len(order) - width), len(order)):
        by_second_half[filled] = i
        filled += 1
    for i in order:
        if i >= width:
            by_second_half[filled] = i - width
            filled += 1


@kept(nogil=True)
def _sort_by_rank(suffixes: Positions, rank: Positions, free: Positions, order: Positions) -> None:
    """Suffixes in the order of their ranks; those of one rank as they come."""
    for index in range(len(order)):
        free[index] = index
    for i in suffixes:
        group = rank[i] - 1
        order[free[group]] = i
        free[group] += 1


@kept(nogil=True)
def _refine(order: Positions, width: int, rank: Positions, refined: Positions) -> int:
    """Ranks by `2 * width` bytes in place of those by `width`; returns how many there are."""
    different, latest, first, second = 0, 0, -1, -1
    for index, i in enumerate(order):
        if rank[i] != first or rank[i + width] != second:
            different += 1
            latest, first, second = index + 1, rank[i], rank[i + width]
        refined[index] = latest
    for index, i in enumerate(order):
        rank[i] = refined[index]
    return different


@kept(nogil=True)
def tabulate_savings(data: Data, dictionary: DictionaryIndex, savings: Positions) -> None:
    """Into `savings[i]` the bits that the best reference at each place saves, in O(n log n).

    `PADDING` zeros follow the data.
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


@kept(nogil=True)
def _match_dictionary(order: Positions, data: Data, dictionary: DictionaryIndex, longest: Positions) -> None:
    """Into `longest[i]` the length of the longest match in the dictionary.

    It is with one of the two suffixes of the dictionary between which the payload's would be: both orders are
    walked through once, side by side.
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
    """Length of the longest match of the suffix at one place of the order with those at the places in a set."""
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
    """The greatest member less than a number; -1 if there is none."""
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
    """The least member greater than a number; -1 if there is none."""
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
