"""The index of a dictionary: built once, searched at every place of every payload."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from feemodel.compiled import kept
from feemodel.sizes.lzss_format import LONGEST
from feemodel.sizes.lzss_payload import Workspace
from feemodel.sizes.lzss_primitives import (
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
from feemodel.sizes.lzss_suffixes import suffix_order

KEY_WIDTH = 5  # bytes: a shorter match in the dictionary is of no use, except at a reserved byte
FILTER_BITS_PER_SLOT = 4  # two are set for a key; 64 KiB for the published dictionaries, which stay in the cache

# An entry of the table of keys: whether one suffix has the key or several, some bits of the hash, and one more than the
# start of the suffix or the number of the group. Four bytes, so that the table of a published dictionary stays in the
# second cache.
_POSITION_BITS, _TAG_BITS = 21, 10
_POSITION_MASK = (1 << _POSITION_BITS) - 1
_GROUP = 1 << (_POSITION_BITS + _TAG_BITS)
_KEY_MASK = np.uint64((1 << 8 * KEY_WIDTH) - 1)
_ONE = np.uint64(1)


class DictionaryIndex(NamedTuple):
    """A dictionary's suffixes in order, and where in that order each prefix begins and ends."""

    data: Data  # followed by zeros
    order: Positions  # starts of the suffixes in their order
    byte_bounds: NDArray[np.int64]  # [257]: where in the order the suffixes begin that start with each byte
    longest_run: Positions  # [256]: of each byte
    table: NDArray[np.uint32]  # open-addressed: of each key its suffix, or its group of them; 0: empty
    groups: Positions  # [2 · groups]: where in the order the suffixes of a key begin and end
    key_filter: Words  # two bits in the word of every hashed key: most searches end here


def index_dictionary(dictionary: bytes) -> DictionaryIndex:
    """The index of a dictionary, which must hold both reserved bytes."""
    data = np.frombuffer(dictionary, dtype=np.uint8)
    padded = np.concatenate([data, np.zeros(LONGEST + PADDING, dtype=np.uint8)])
    runs = _runs(data)
    order = suffix_order(data)
    longest_run = np.zeros(256, dtype=np.int32)
    np.maximum.at(longest_run, data, runs)
    byte_bounds = np.searchsorted(data[order], np.arange(257))
    return DictionaryIndex(padded, order, byte_bounds, longest_run, *_key_table(padded, runs, order))


@kept(nogil=True)
def _runs(data: Data) -> Positions:
    """Return, for each index, the number of bytes from it on that equal the byte there."""
    runs = np.empty(len(data), dtype=np.int32)
    for i in range(len(data) - 1, -1, -1):
        runs[i] = runs[i + 1] + 1 if i + 1 < len(data) and data[i] == data[i + 1] else 1
    return runs


@njit(inline="always")
def _key_at(data: Data, runs: Positions, i: int) -> np.uint64:
    """The key of a place of the dictionary; 0 where too little follows for one."""
    if i + max(runs[i] + 1, KEY_WIDTH) > len(runs):
        return np.uint64(0)
    if runs[i] >= KEY_WIDTH:
        return run_key(runs[i], data[i], data[i + runs[i]])
    return np.uint64(load_word(data, i) & _KEY_MASK)


@kept(nogil=True)
def _key_table(data: Data, runs: Positions, order: Positions) -> tuple[NDArray[np.uint32], Positions, Words]:
    """The table of keys, its groups, and the filter before it: suffixes of one key are next to each other in the order.

    They are not where a run is longer than the order looks, `LONGEST`: no match goes beyond such a run.
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
    """Whether a key may be in the dictionary; where not, it is not."""
    mixed = hashed(key)
    bits = _filter_bits(mixed)
    return bool(dictionary.key_filter[unsigned(_filter_word(dictionary.key_filter, mixed))] & bits == bits)


@njit(inline="always")
def may_match(dictionary: DictionaryIndex, payload: Workspace, i: int) -> bool:
    """Whether the dictionary may have a match of `KEY_WIDTH` bytes with those at `i`, which are not all equal."""
    return may_hold(dictionary, load_word(payload.data, i) & _KEY_MASK)


@njit(inline="always")
def longest_in_dictionary(dictionary: DictionaryIndex, payload: Workspace, i: int, limit: int, known: int) -> int:
    """Length of the longest match at `i` in the dictionary, or `known` if it has nothing longer [bytes].

    Lengths are right from `KEY_WIDTH` on, at a reserved byte from 1 on where `known` is less than `KEY_WIDTH - 1`;
    none is more than `limit`.
    """
    byte, word = payload.data[unsigned(i)], load_word(payload.data, i)
    long_run = limit >= KEY_WIDTH and all_equal(word, KEY_WIDTH)
    low, high = 0, 0
    if is_reserved(byte) and known < KEY_WIDTH - 1 and not long_run:
        low, high = dictionary.byte_bounds[unsigned(byte)], dictionary.byte_bounds[unsigned(byte + 1)]
    elif limit < KEY_WIDTH:
        return known
    elif known >= KEY_WIDTH:  # what is longer has the key that ends behind what is known
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
    """Return the start and end, in sorted order, of the suffixes that share a key with the payload.

    Where that is one, nothing remains to be searched: how long its match is, if more than `known`.
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
