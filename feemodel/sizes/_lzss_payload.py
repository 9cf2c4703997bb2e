"""Workspace of the LZSS kernel: for each index of a payload, the earlier indices with the same key."""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from feemodel.sizes._lzss_format import LONGEST, SHORTEST_NEAR
from feemodel.sizes._lzss_primitives import (
    PADDING,
    Data,
    Positions,
    all_equal,
    hashed,
    is_reserved,
    load_word,
    run_key,
    signed,
    trailing_zeros,
    unsigned,
)

# The table of latest positions has two slots for each byte of a payload, but at least 2**10 and at most 2**18 slots.
FEWEST_HEADS, MAX_HEADS = 10, 18  # base-2 logarithms of the minimum and maximum number of slots
_RANK_BITS = 32  # number of low bits of an element of `heads` that contain the rank; the high bits contain the position
_RANK_MASK = (1 << _RANK_BITS) - 1
_EVERY_BYTE = np.uint64(0x0101010101010101)
_KEY_MASK = np.uint64((1 << 8 * SHORTEST_NEAR) - 1)


class Workspace(NamedTuple):
    """Arrays that are reused for each payload.

    In the last four arrays, positions are counted over all payloads, from 1.
    """

    data: Data  # the payload, followed by zeros
    runs: Positions  # length of the run of equal bytes that starts at each index, if at least `SHORTEST_NEAR`
    previous: Positions  # latest earlier index with the same hashed key; negative if none
    rank: Positions  # number of earlier indices with the same hashed key
    previous_run: Positions  # for the first index of a run, start of the byte's previous run; negative if none
    previous_pair: Positions  # for a reserved byte, latest earlier index of the same two bytes; negative if none
    previous_byte: Positions  # for a reserved byte, latest earlier index of the same byte; negative if none
    savings: Positions  # bits that the best reference at each index saves; filled only after many comparisons
    heads: NDArray[np.int64]  # for each hashed key: latest position, and `rank` at this position
    last_runs: Positions  # [256]: start of the latest run of each byte
    last_pairs: Positions  # [2 · 256]: latest position of each pair of a reserved byte and the next byte
    last_bytes: Positions  # [2]: latest position of each reserved byte


def new_workspace(longest: int) -> Workspace:
    """Return a workspace for payloads of up to `longest` bytes."""
    room = longest + PADDING
    previous, rank, runs, previous_run, previous_pair, previous_byte, savings = np.empty((7, room), dtype=np.int32)
    return Workspace(
        np.empty(room, dtype=np.uint8), runs, previous, rank, previous_run, previous_pair, previous_byte, savings,
        np.zeros((1 << _head_bits(longest)) + LONGEST, dtype=np.int64),
        *(np.zeros(size, dtype=np.int32) for size in (256, 512, 2)),
    )  # fmt: skip


@njit(nogil=True)
def _head_bits(length: int) -> int:
    bits = FEWEST_HEADS
    while bits < MAX_HEADS and 1 << bits < 2 * length:
        bits += 1
    return bits


@njit(inline="always")
def load(buffer: Data, start: int, length: int, payload: Workspace) -> None:
    """Copy `buffer[start:start + length]` to the workspace; successive payloads must be adjacent in the buffer.

    The tables of latest positions are not reset between payloads. A position in an earlier payload is a negative index.
    """
    for i in range(length):
        payload.data[unsigned(i)] = buffer[unsigned(start + i)]
    for i in range(length, length + PADDING):
        payload.data[unsigned(i)] = 0
    origin = start + 1  # add 1, so that position 0 is before the first payload
    shift = np.uint64(64 - _head_bits(length))
    i = 0
    while i + SHORTEST_NEAR <= length:
        word, byte = load_word(payload.data, i), payload.data[unsigned(i)]
        if all_equal(word, SHORTEST_NEAR):
            end = _end_of_run(payload.data, i, length)
            _enter_run(payload, i, end, origin, shift)
            if is_reserved(byte):
                for index in range(i, end + 1 - SHORTEST_NEAR):
                    _enter_reserved(payload, index, origin)
            i = end + 1 - SHORTEST_NEAR
            continue
        _enter(payload, i, origin, signed(hashed(word & _KEY_MASK) >> shift))
        if is_reserved(byte):
            _enter_reserved(payload, i, origin)
        i += 1
    while i < length:
        if is_reserved(payload.data[unsigned(i)]):
            _enter_reserved(payload, i, origin)
        i += 1


@njit(inline="always")
def _end_of_run(data: Data, i: int, length: int) -> int:
    """Return the first index after `i` at which the byte differs from the byte at `i`, or `length`."""
    repeated = np.uint64(data[unsigned(i)]) * _EVERY_BYTE
    while i < length:
        difference = load_word(data, i) ^ repeated
        if difference != 0:
            return int(min(i + (trailing_zeros(difference) >> 3), length))
        i += 8
    return length


@njit(inline="always")
def _enter(payload: Workspace, i: int, origin: int, slot: int) -> None:
    head = payload.heads[unsigned(slot)]
    previous = (head >> _RANK_BITS) - origin
    rank = (head & _RANK_MASK) + 1 if previous >= 0 else 0
    payload.previous[unsigned(i)] = previous
    payload.rank[unsigned(i)] = rank
    payload.heads[unsigned(slot)] = (origin + i) << _RANK_BITS | rank


@njit(inline="always")
def _enter_run(payload: Workspace, i: int, end: int, origin: int, shift: np.uint64) -> None:
    """Enter the indices of a run into the tables, except the last `SHORTEST_NEAR - 1` indices.

    Let n be the number of bytes from an index to the end of the run. A match of this index with an earlier position can
    extend beyond the end of the run only if an earlier run of the same byte ends n bytes after the position. Therefore,
    the key of the index consists of the repeated byte, the byte after the run, and n. If n is at least `LONGEST`, no
    match extends beyond the run, and the index gets no key.
    """
    byte = payload.data[unsigned(i)]
    payload.previous_run[unsigned(i)] = payload.last_runs[unsigned(byte)] - origin
    payload.last_runs[unsigned(byte)] = origin + i
    first = signed(hashed(run_key(0, byte, payload.data[unsigned(end)])) >> shift)
    for run in range(LONGEST, end - i + 1):
        payload.runs[unsigned(end - run)] = run
        payload.previous[unsigned(end - run)] = -1
        payload.rank[unsigned(end - run)] = 0
    for run in range(SHORTEST_NEAR, min(end - i + 1, LONGEST)):
        payload.runs[unsigned(end - run)] = run
        _enter(payload, end - run, origin, first + run)


@njit(inline="always")
def _enter_reserved(payload: Workspace, i: int, origin: int) -> None:
    byte = payload.data[unsigned(i)] & 1
    pair = 256 * byte + payload.data[unsigned(i + 1)]
    payload.previous_pair[unsigned(i)] = payload.last_pairs[unsigned(pair)] - origin
    payload.last_pairs[unsigned(pair)] = origin + i
    payload.previous_byte[unsigned(i)] = payload.last_bytes[unsigned(byte)] - origin
    payload.last_bytes[unsigned(byte)] = origin + i
