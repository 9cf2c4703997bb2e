"""Index of an LZSS dictionary, to find the longest match at each index of a payload.

The key at an index is the `KEY_WIDTH` bytes that start at the index or, if these bytes are all equal, the result of
`run_key`.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from feemodel._compiled import cached_njit
from feemodel.sizes._lzss_format import LONGEST
from feemodel.sizes._lzss_payload import Workspace
from feemodel.sizes._lzss_primitives import (
    PADDING,
    Data,
    Positions,
    Words,
    all_equal,
    common_prefix,
    hashed,
    is_reserved,
    load_word,
    run_key,
    signed,
    unsigned,
)
from feemodel.sizes._lzss_suffixes import suffix_order

KEY_WIDTH = 5  # minimum length of a useful match in the dictionary, except at a reserved byte [byte]
FILTER_BITS_PER_SLOT = 4  # bits of the Bloom filter for each slot of the hash table

# An entry of the hash table of keys has 32 bits. The highest bit of an entry is 1 if several suffixes have the key. The
# next `_TAG_BITS` bits of an entry are part of the hash of the key. The low `_POSITION_BITS` bits are 1 + the start of
# the suffix or, if several suffixes have the key, 1 + the index of the group of suffixes.
_POSITION_BITS, _TAG_BITS = 21, 10
_POSITION_MASK = (1 << _POSITION_BITS) - 1
_GROUP = 1 << (_POSITION_BITS + _TAG_BITS)
_KEY_MASK = np.uint64((1 << 8 * KEY_WIDTH) - 1)
_ONE = np.uint64(1)


class DictionaryIndex(NamedTuple):
    """Sorted suffixes of a dictionary and, for each key, the range of suffixes with this key."""

    data: Data  # followed by zeros
    order: Positions  # starts of the suffixes, sorted
    byte_bounds: NDArray[np.int64]  # [257]: index in `order` of the first suffix that starts with each byte
    longest_run: Positions  # [256]: length of the longest run of each byte
    table: NDArray[np.uint32]  # open-addressed hash table: suffix or group of suffixes of each key; 0: empty
    groups: Positions  # [2 · groups]: start and end in `order` of the suffixes of a key
    key_filter: Words  # Bloom filter of the keys: two bits in one word for each key


def index_dictionary(dictionary: bytes) -> DictionaryIndex:
    """Build the index of a dictionary, which must contain both reserved bytes."""
    data = np.frombuffer(dictionary, dtype=np.uint8)
    padded = np.concatenate([data, np.zeros(LONGEST + PADDING, dtype=np.uint8)])
    runs = _runs(data)
    order = suffix_order(data)
    longest_run = np.zeros(256, dtype=np.int32)
    np.maximum.at(longest_run, data, runs)
    byte_bounds = np.searchsorted(data[order], np.arange(257))
    return DictionaryIndex(padded, order, byte_bounds, longest_run, *_key_table(padded, runs, order))


@cached_njit(nogil=True)
def _runs(data: Data) -> Positions:
    """Return, for each index, the length of the run of equal bytes that starts at the index."""
    runs = np.empty(len(data), dtype=np.int32)
    for i in range(len(data) - 1, -1, -1):
        runs[i] = runs[i + 1] + 1 if i + 1 < len(data) and data[i] == data[i + 1] else 1
    return runs


@njit(inline="always")
def _key_at(data: Data, runs: Positions, i: int) -> np.uint64:
    """Return the key at an index of the dictionary, or 0 if too few bytes follow."""
    if i + max(runs[i] + 1, KEY_WIDTH) > len(runs):
        return np.uint64(0)
    if runs[i] >= KEY_WIDTH:
        return run_key(runs[i], data[i], data[i + runs[i]])
    return np.uint64(load_word(data, i) & _KEY_MASK)


@cached_njit(nogil=True)
def _key_table(data: Data, runs: Positions, order: Positions) -> tuple[NDArray[np.uint32], Positions, Words]:
    """Return the table of keys, the groups of suffixes with the same key, and the filter of keys.

    Suffixes with the same key are adjacent in `order`, except suffixes that start with a run longer than `LONGEST`
    bytes: suffixes are sorted by only their first `LONGEST` bytes. The order of suffixes with equal first `LONGEST`
    bytes does not change compressed sizes, because no match is longer than `LONGEST` bytes.
    """
    slots = 64
    while slots < 2 * len(order):
        slots *= 2
    table = np.zeros(slots, dtype=np.uint32)
    groups = np.zeros(len(order), dtype=np.int32)
    key_filter = np.zeros(slots * FILTER_BITS_PER_SLOT // 64, dtype=np.uint64)
    first, grouped = 0, 0
    while first < len(order):
        key, end = _key_at(data, runs, order[first]), first + 1
        while end < len(order) and _key_at(data, runs, order[end]) == key:
            end += 1
        if key != 0:
            mixed = hashed(key)
            slot = _slot(table, mixed)
            while table[slot] != 0:
                slot = (slot + 1) & (slots - 1)
            entry = order[first] + 1
            if end > first + 1:
                groups[2 * grouped], groups[2 * grouped + 1] = first, end
                grouped += 1
                entry = grouped | _GROUP
            table[slot] = entry | _tag(mixed)
            key_filter[_filter_word(key_filter, mixed)] |= _filter_bits(mixed)
        first = end
    return table, groups[: 2 * grouped], key_filter


@njit(inline="always")
def _slot(table: NDArray[np.uint32], mixed: np.uint64) -> int:
    return signed(mixed >> np.uint64(32)) & (len(table) - 1)


@njit(inline="always")
def _tag(mixed: np.uint64) -> int:
    return (signed(mixed >> np.uint64(8)) & ((1 << _TAG_BITS) - 1)) << _POSITION_BITS


@njit(inline="always")
def _filter_word(key_filter: Words, mixed: np.uint64) -> int:
    return signed(mixed >> np.uint64(38)) & (len(key_filter) - 1)


@njit(inline="always")
def _filter_bits(mixed: np.uint64) -> np.uint64:
    return (_ONE << ((mixed >> np.uint64(32)) & np.uint64(63))) | (_ONE << (mixed >> np.uint64(58)))


@njit(inline="always")
def may_hold(dictionary: DictionaryIndex, key: np.uint64) -> bool:
    """Return whether a key may be in the dictionary; if `False`, the key is not in the dictionary."""
    mixed = hashed(key)
    bits = _filter_bits(mixed)
    return bool(dictionary.key_filter[unsigned(_filter_word(dictionary.key_filter, mixed))] & bits == bits)


@njit(inline="always")
def may_match(dictionary: DictionaryIndex, payload: Workspace, i: int) -> bool:
    """Return whether the dictionary may contain the `KEY_WIDTH` payload bytes at `i`, which must not be all equal."""
    return may_hold(dictionary, load_word(payload.data, i) & _KEY_MASK)


@njit(inline="always")
def longest_in_dictionary(dictionary: DictionaryIndex, payload: Workspace, i: int, limit: int, known: int) -> int:
    """Return the length of the longest match at `i` in the dictionary, or `known` if no match is longer [byte].

    The length is at most `limit`. A returned length of at least `KEY_WIDTH` is exact. A shorter length is exact only if
    the byte at `i` is reserved and `known` is less than `KEY_WIDTH - 1`.
    """
    byte, word = payload.data[unsigned(i)], load_word(payload.data, i)
    long_run = limit >= KEY_WIDTH and all_equal(word, KEY_WIDTH)
    low, high = 0, 0
    if is_reserved(byte) and known < KEY_WIDTH - 1 and not long_run:
        low, high = dictionary.byte_bounds[unsigned(byte)], dictionary.byte_bounds[unsigned(byte + 1)]
    elif limit < KEY_WIDTH:
        return known
    elif known >= KEY_WIDTH:  # a longer match includes the byte after the known match
        last = i + known + 1 - KEY_WIDTH
        if not all_equal(load_word(payload.data, last), KEY_WIDTH) and not may_match(dictionary, payload, last):
            return known
    if long_run:
        run = payload.runs[unsigned(i)]
        known = max(known, min(run, limit, dictionary.longest_run[unsigned(byte)]))
        if run < limit:
            key = run_key(run, byte, payload.data[unsigned(i + run)])
            low, high, known = _suffixes_of_key(dictionary, key, payload, i, run + 1, limit, known)
    elif high == 0:
        low, high, known = _suffixes_of_key(dictionary, word & _KEY_MASK, payload, i, KEY_WIDTH, limit, known)
    while low < high:
        middle = (low + high) >> 1
        start = dictionary.order[unsigned(middle)]
        rest = len(dictionary.order) - start
        length = common_prefix(dictionary.data, start, payload.data, i, min(limit, rest))
        known = max(known, length)
        if length == limit:
            break
        if length == rest or dictionary.data[unsigned(start + length)] < payload.data[unsigned(i + length)]:
            low = middle + 1
        else:
            high = middle
    return known


@njit(inline="always")
def _suffixes_of_key(
    dictionary: DictionaryIndex, key: np.uint64, payload: Workspace, i: int, shared: int, limit: int, known: int
) -> tuple[int, int, int]:
    """Return the range (start and end) of the sorted suffixes with a given key, and the length of a known match.

    If exactly one suffix has the key, the range is empty, and the returned length is the maximum of `known` and the
    length of the match with this suffix. If no suffix or several suffixes have the key, the returned length is `known`.
    """
    if not may_hold(dictionary, key):
        return 0, 0, known
    mixed = hashed(key)
    slot, tag = _slot(dictionary.table, mixed), _tag(mixed)
    while dictionary.table[unsigned(slot)] != 0:
        entry = signed(dictionary.table[unsigned(slot)])
        if entry & (((1 << _TAG_BITS) - 1) << _POSITION_BITS) == tag:
            index = (entry & _POSITION_MASK) - 1
            if entry < _GROUP:
                length = _length_of_match(dictionary, index, payload, i, limit)
                if length >= shared:
                    return 0, 0, max(known, length)
            else:
                low = dictionary.groups[unsigned(2 * index)]
                if _length_of_match(dictionary, dictionary.order[unsigned(low)], payload, i, shared) == shared:
                    return low, dictionary.groups[unsigned(2 * index + 1)], known
        slot = (slot + 1) & (len(dictionary.table) - 1)
    return 0, 0, known


@njit(inline="always")
def _length_of_match(dictionary: DictionaryIndex, start: int, payload: Workspace, i: int, limit: int) -> int:
    return common_prefix(dictionary.data, start, payload.data, i, min(limit, len(dictionary.order) - start))
