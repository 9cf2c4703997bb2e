"""A payload made ready: for each of its places the latest place before that may match, and how many there are."""

from typing import NamedTuple

import numpy as np
from numba import njit

from feemodel.sizes.lzss_format import SHORTEST_NEAR
from feemodel.sizes.lzss_primitives import (
    PADDING,
    Data,
    Places,
    all_equal,
    hashed,
    is_reserved,
    load_word,
    run_key,
    signed,
)

# Slots of the table of latest places: two for each byte of a payload, within these bounds.
FEWEST_HEADS, MOST_HEADS = 10, 18  # as powers of two
_KEY_MASK = np.uint64((1 << 8 * SHORTEST_NEAR) - 1)


class Workspace(NamedTuple):
    """The arrays that hold one payload after the other; a place is an index into the payload."""

    data: Data  # with zeros behind the payload
    runs: Places  # number of equal bytes from each place on, where it is `SHORTEST_NEAR` or more
    previous: Places  # the latest place before with the same hashed key; negative: none
    rank: Places  # how many places before have the same hashed key
    previous_run: Places  # for the first place of such a run, that of the one before of its byte; negative: none
    previous_pair: Places  # for a reserved byte, the latest place before with it and the next one; negative: none
    previous_byte: Places  # for a reserved byte, the latest place before with it; negative: none
    savings: Places  # bits that the best reference saves, where they are tabulated
    heads: Places  # the latest place of each hashed key, counted from the first payload's start
    head_ranks: Places  # the rank of that place
    last_runs: Places  # [256]: the latest run of each byte, counted likewise
    last_pairs: Places  # [2 · 256]: the latest place of each reserved byte with each next one
    last_bytes: Places  # [2]: the latest place of each reserved byte


def new_workspace(longest: int) -> Workspace:
    """A workspace for payloads of up to `longest` bytes."""
    room = longest + PADDING
    heads = 1 << _head_bits(longest, MOST_HEADS)
    previous, rank, runs, previous_run, previous_pair, previous_byte, savings = np.empty((7, room), dtype=np.int32)
    return Workspace(
        np.empty(room, dtype=np.uint8), runs, previous, rank, previous_run, previous_pair, previous_byte, savings,
        *(np.full(size, -1, dtype=np.int32) for size in (heads, heads, 256, 512, 2)),
    )  # fmt: skip


@njit(nogil=True)
def _head_bits(length: int, most: int) -> int:
    bits = FEWEST_HEADS
    while bits < most and 1 << bits < 2 * length:
        bits += 1
    return bits


@njit(inline="always")
def load(buffer: Data, start: int, length: int, payload: Workspace) -> None:
    """Take `buffer[start:start + length]` into the workspace; successive payloads must follow each other.

    The tables of latest places are never reset: what they hold from before `start` becomes negative. A short payload
    uses few of the slots, so that they stay in the nearest cache.
    """
    for i in range(length):
        payload.data[i] = buffer[start + i]
    for i in range(length, length + PADDING):
        payload.data[i] = 0
    shift = np.uint64(64 - _head_bits(length, MOST_HEADS))
    i = 0
    while i + SHORTEST_NEAR <= length:
        word, byte = load_word(payload.data, i), payload.data[i]
        if not all_equal(word, SHORTEST_NEAR):
            _enter(payload, i, start, word & _KEY_MASK, shift)
            if is_reserved(byte):
                _enter_reserved(payload, i, start)
            i += 1
            continue
        end = i + SHORTEST_NEAR
        while end < length and payload.data[end] == byte:
            end += 1
        payload.previous_run[i] = payload.last_runs[byte] - start
        payload.last_runs[byte] = start + i
        while i + SHORTEST_NEAR <= end:
            payload.runs[i] = end - i
            _enter(payload, i, start, run_key(end - i, byte, payload.data[end]), shift)
            if is_reserved(byte):
                _enter_reserved(payload, i, start)
            i += 1
    while i < length:
        if is_reserved(payload.data[i]):
            _enter_reserved(payload, i, start)
        i += 1


@njit(inline="always")
def _enter(payload: Workspace, i: int, start: int, key: np.uint64, shift: np.uint64) -> None:
    slot = signed(hashed(key) >> shift)
    previous = payload.heads[slot] - start
    rank = payload.head_ranks[slot] + 1 if previous >= 0 else 0
    payload.previous[i] = previous
    payload.rank[i] = rank
    payload.heads[slot] = start + i
    payload.head_ranks[slot] = rank


@njit(inline="always")
def _enter_reserved(payload: Workspace, i: int, start: int) -> None:
    byte = payload.data[i] & 1
    pair = 256 * byte + payload.data[i + 1]
    payload.previous_pair[i] = payload.last_pairs[pair] - start
    payload.last_pairs[pair] = start + i
    payload.previous_byte[i] = payload.last_bytes[byte] - start
    payload.last_bytes[byte] = start + i
