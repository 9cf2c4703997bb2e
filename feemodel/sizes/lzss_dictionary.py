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
    Places,
    Words,
    all_equal,
    common_prefix,
    hashed,
    is_reserved,
    load_word,
    run_key,
    signed,
)
from feemodel.sizes.lzss_suffixes import suffix_order

KEY_WIDTH = 5  # bytes: a shorter match in the dictionary is of no use, except at a reserved byte
FILTER_BITS_PER_SLOT = 4  # two are set for a key; 64 KiB for the published dictionaries, which stay in the cache

# An entry of the table of keys: some bits of the hash, where in the order the suffixes of the key begin, how many.
_PLACE_BITS = 21
_PLACE_MASK = (1 << _PLACE_BITS) - 1
_KEY_MASK = np.uint64((1 << 8 * KEY_WIDTH) - 1)
_ONE = np.uint64(1)


class DictionaryIndex(NamedTuple):
    """A dictionary's suffixes in order, and where in that order each prefix begins and ends."""

    data: Data  # followed by zeros
    order: Places  # starts of the suffixes in their order
    byte_bounds: NDArray[np.int64]  # [257]: where in the order the suffixes begin that start with each byte
    longest_run: Places  # [256]: of each byte
    table: Words  # open-addressed: of each key a part of its hash, where its suffixes begin, how many; 0: empty
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
def _runs(data: Data) -> Places:
    """How many bytes from each place on equal the one there."""
    runs = np.empty(len(data), dtype=np.int32)
    for i in range(len(data) - 1, -1, -1):
        runs[i] = runs[i + 1] + 1 if i + 1 < len(data) and data[i] == data[i + 1] else 1
    return runs


@njit(inline="always")
def _key_at(data: Data, runs: Places, i: int) -> np.uint64:
    """The key of a place of the dictionary; 0 where too little follows for one."""
    if i + max(runs[i] + 1, KEY_WIDTH) > len(runs):
        return np.uint64(0)
    if runs[i] >= KEY_WIDTH:
        return run_key(runs[i], data[i], data[i + runs[i]])
    return np.uint64(load_word(data, i) & _KEY_MASK)


@kept(nogil=True)
def _key_table(data: Data, runs: Places, order: Places) -> tuple[Words, Words]:
    """The table of keys and the filter before it: suffixes of one key are next to each other in the order.

    They are not where a run is longer than the order looks, `LONGEST`: no match goes beyond such a run.
    """
    slots = 64
    while slots < 2 * len(order):
        slots *= 2
    table = np.zeros(slots, dtype=np.uint64)
    key_filter = np.zeros(slots * FILTER_BITS_PER_SLOT // 64, dtype=np.uint64)
    first = 0
    while first < len(order):
        key, end = _key_at(data, runs, order[first]), first + 1
        while end < len(order) and _key_at(data, runs, order[end]) == key:
            end += 1
        if key != 0:
            mixed = hashed(key)
            slot = signed(mixed >> np.uint64(32)) & (slots - 1)
            while table[slot] != 0:
                slot = (slot + 1) & (slots - 1)
            part = (mixed >> np.uint64(_PLACE_BITS)) << np.uint64(2 * _PLACE_BITS)
            table[slot] = part | np.uint64(first << _PLACE_BITS) | np.uint64(end - first)
            key_filter[_filter_word(key_filter, mixed)] |= _filter_bits(mixed)
        first = end
    return table, key_filter


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
    return bool(dictionary.key_filter[_filter_word(dictionary.key_filter, mixed)] & bits == bits)


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
    byte, word = payload.data[i], load_word(payload.data, i)
    long_run = limit >= KEY_WIDTH and all_equal(word, KEY_WIDTH)
    low, high = 0, 0
    if is_reserved(byte) and known < KEY_WIDTH - 1 and not long_run:
        low, high = dictionary.byte_bounds[byte], dictionary.byte_bounds[byte + 1]
    elif limit < KEY_WIDTH:
        return known
    elif known >= KEY_WIDTH:  # what is longer has the key that ends behind what is known
        last = i + known + 1 - KEY_WIDTH
        if not all_equal(load_word(payload.data, last), KEY_WIDTH) and not may_match(dictionary, payload, last):
            return known
    if long_run:
        run = payload.runs[i]
        known = max(known, min(run, limit, dictionary.longest_run[byte]))
        if run < limit:
            key = run_key(run, byte, payload.data[i + run])
            low, high = _places_of_key(dictionary, key, payload, i, run + 1)
    elif high == 0:
        low, high = _places_of_key(dictionary, word & _KEY_MASK, payload, i, KEY_WIDTH)
    while low < high:
        middle = (low + high) >> 1
        start = dictionary.order[middle]
        rest = len(dictionary.order) - start
        length = common_prefix(dictionary.data, start, payload.data, i, min(limit, rest))
        known = max(known, length)
        if length == limit:
            break
        if length == rest or dictionary.data[start + length] < payload.data[i + length]:
            low = middle + 1
        else:
            high = middle
    return known


@njit(inline="always")
def _places_of_key(
    dictionary: DictionaryIndex, key: np.uint64, payload: Workspace, i: int, shared: int
) -> tuple[int, int]:
    """Where in the order the suffixes of a key begin and end: those that share so many bytes with the payload's."""
    if not may_hold(dictionary, key):
        return 0, 0
    mixed = hashed(key)
    slot = signed(mixed >> np.uint64(32)) & (len(dictionary.table) - 1)
    part = (mixed >> np.uint64(_PLACE_BITS)) & np.uint64((1 << 22) - 1)
    while dictionary.table[slot] != 0:
        entry = dictionary.table[slot]
        if entry >> np.uint64(2 * _PLACE_BITS) == part:
            first = signed(entry >> np.uint64(_PLACE_BITS)) & _PLACE_MASK
            if common_prefix(dictionary.data, dictionary.order[first], payload.data, i, shared) == shared:
                return first, first + signed(entry & np.uint64(_PLACE_MASK))
        slot = (slot + 1) & (len(dictionary.table) - 1)
    return 0, 0
