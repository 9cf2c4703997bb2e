"""The index of a dictionary: built once, searched at every place of every payload."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from feemodel.compiled import kept
from feemodel.sizes.lzss_payload import Workspace
from feemodel.sizes.lzss_primitives import (
    Data,
    Places,
    Words,
    common_prefix,
    hashed,
    is_reserved,
    look_ahead,
    prefix_key,
)
from feemodel.sizes.lzss_suffixes import suffix_order

KEY_WIDTH = 5  # bytes: a shorter match in the dictionary is of no use, except at a reserved byte
FILTER_BITS_PER_SLOT = 4  # one in eight set at most; 64 KiB for the published dictionaries, which stay in the cache


class DictionaryIndex(NamedTuple):
    """A dictionary's suffixes in order, and where in that order each prefix begins and ends."""

    words: Words  # the eight bytes from each place on
    order: Places  # starts of the suffixes in their order
    byte_bounds: NDArray[np.int64]  # [257]: where in the order the suffixes begin that start with each byte
    longest_run: Places  # [256]: of each byte
    keys: Words  # open-addressed table of prefix keys ...
    key_bounds: Places  # [slots, 2]: ... and where in the order their suffixes begin and end; 0, 0: empty
    key_filter: Words  # a bit for every hashed key: most searches end here


def index_dictionary(dictionary: bytes) -> DictionaryIndex:
    """The index of a dictionary, which must hold both reserved bytes."""
    data = np.frombuffer(dictionary, dtype=np.uint8)
    words = np.empty(len(data), dtype=np.uint64)
    runs = np.empty(len(data), dtype=np.int32)
    look_ahead(data, len(data), words, runs)
    order = suffix_order(data)
    longest_run = np.zeros(256, dtype=np.int32)
    np.maximum.at(longest_run, data, runs)
    byte_bounds = np.searchsorted(data[order], np.arange(257))
    return DictionaryIndex(words, order, byte_bounds, longest_run, *_key_table(data, words, runs, order))


@kept(nogil=True)
def _key_table(data: Data, words: Words, runs: Places, order: Places) -> tuple[Words, Places, Words]:
    """The table of prefix keys and the filter before it: suffixes of one key are next to each other in the order."""
    slots = 64
    while slots < 2 * len(data):
        slots *= 2
    keys = np.zeros(slots, dtype=np.uint64)
    bounds = np.zeros((slots, 2), dtype=np.int32)
    key_filter = np.zeros(slots * FILTER_BITS_PER_SLOT // 64, dtype=np.uint64)
    for place, i in enumerate(order):
        following = i + runs[i]
        if following == len(data) or i + KEY_WIDTH > len(data):
            continue  # too short for a key
        key = prefix_key(words[i], runs[i], data[following], KEY_WIDTH)
        mixed = hashed(key)
        slot = mixed & (slots - 1)
        while bounds[slot, 1] != 0 and keys[slot] != key:
            slot = (slot + 1) & (slots - 1)
        if bounds[slot, 1] == 0:
            keys[slot] = key
            bounds[slot, 0] = place
            bit = mixed & (64 * len(key_filter) - 1)
            key_filter[bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)
        bounds[slot, 1] = place + 1
    return keys, bounds, key_filter


@njit(inline="always")
def longest_in_dictionary(dictionary: DictionaryIndex, payload: Workspace, i: int, limit: int, known: int) -> int:
    """Length of the longest match at `i` in the dictionary, or `known` if it has nothing longer [bytes].

    Lengths are right from `KEY_WIDTH` on, at a reserved byte from 1 on; none is more than `limit`.
    """
    byte, run, word = payload.data[i], payload.runs[i], payload.words[i]
    if run < KEY_WIDTH and is_reserved(byte):
        low, high = dictionary.byte_bounds[byte], dictionary.byte_bounds[byte + 1]
    else:
        if run >= KEY_WIDTH:
            known = max(known, min(run, limit, dictionary.longest_run[byte]))
        low, high = _places_of_key(dictionary, prefix_key(word, run, payload.data[i + run], KEY_WIDTH))
    while low < high:
        middle = (low + high) >> 1
        start = dictionary.order[middle]
        rest = len(dictionary.order) - start
        length = common_prefix(dictionary.words, start, payload.words, i, min(limit, rest))
        known = max(known, length)
        if length == limit:
            break
        if length == rest or dictionary.words[start + length] < payload.words[i + length]:
            low = middle + 1
        else:
            high = middle
    return known


@njit(inline="always")
def _places_of_key(dictionary: DictionaryIndex, key: np.uint64) -> tuple[int, int]:
    """Where in the order the suffixes of a key begin and end."""
    mixed = hashed(key)
    bit = mixed & (64 * len(dictionary.key_filter) - 1)
    if (dictionary.key_filter[bit >> 6] >> np.uint64(bit & 63)) & np.uint64(1) == 0:
        return 0, 0
    slot = mixed & (len(dictionary.keys) - 1)
    while dictionary.key_bounds[slot, 1] != 0 and dictionary.keys[slot] != key:
        slot = (slot + 1) & (len(dictionary.keys) - 1)
    return dictionary.key_bounds[slot, 0], dictionary.key_bounds[slot, 1]
