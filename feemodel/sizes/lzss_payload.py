"""A payload made ready: for each of its places what follows, and the latest place before that may match."""

from typing import NamedTuple

import numpy as np
from numba import njit

from feemodel.sizes.lzss_format import SHORTEST_NEAR
from feemodel.sizes.lzss_primitives import (
    NO_MATCH,
    Data,
    Places,
    Words,
    hashed,
    is_reserved,
    look_ahead,
    prefix_key,
)

HEADS = 2**15  # slots of the table of latest places


class Workspace(NamedTuple):
    """The arrays that hold one payload after the other; a place is an index into the payload."""

    data: Data  # with two zeros behind the payload
    words: Words  # the eight bytes from each place on
    runs: Places  # number of equal bytes from each place on
    previous: Places  # the latest place before with the same hashed key; negative: none
    previous_run: Places  # for the first place of a run, that of the one before of its byte; negative: none
    savings: Places  # bits that the best reference saves
    heads: Places  # the latest place of each hashed key, counted from the first payload's start
    last_runs: Places  # [256]: the latest run of each byte, counted likewise


def new_workspace(longest: int) -> Workspace:
    """A workspace for payloads of up to `longest` bytes."""
    room = longest + 2
    return Workspace(
        data=np.empty(room, dtype=np.uint8),
        words=np.empty(room, dtype=np.uint64),
        runs=np.empty(room, dtype=np.int32),
        previous=np.empty(room, dtype=np.int32),
        previous_run=np.empty(room, dtype=np.int32),
        savings=np.empty(room, dtype=np.int32),
        heads=np.full(HEADS, -1, dtype=np.int32),
        last_runs=np.full(256, -1, dtype=np.int32),
    )


@njit(inline="always")
def load(buffer: Data, start: int, length: int, payload: Workspace) -> None:
    """Take `buffer[start:start + length]` into the workspace; successive payloads must follow each other.

    The tables of latest places are never reset: what they hold from before `start` becomes negative.
    """
    for i in range(length):
        payload.data[i] = buffer[start + i]
    for i in range(length, length + 2):
        payload.data[i] = 0
        payload.savings[i] = NO_MATCH
    look_ahead(payload.data, length, payload.words, payload.runs)
    for i in range(length):
        byte, run = payload.data[i], payload.runs[i]
        if run < SHORTEST_NEAR and is_reserved(byte):
            key = np.uint64(byte)  # any match counts
        else:
            key = prefix_key(payload.words[i], run, payload.data[i + run], SHORTEST_NEAR)
        slot = hashed(key) & (HEADS - 1)
        payload.previous[i] = payload.heads[slot] - start
        payload.heads[slot] = start + i
        if (run >= SHORTEST_NEAR or is_reserved(byte)) and (i == 0 or payload.data[i - 1] != byte):
            payload.previous_run[i] = payload.last_runs[byte] - start
            payload.last_runs[byte] = start + i
