"""The production LZSS, sizes only: what is written at each place, and the search for matches that real data ask for."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from feemodel.compiled import kept
from feemodel.sizes.lzss_dictionary import DictionaryIndex, longest_in_dictionary
from feemodel.sizes.lzss_format import (
    FAR_BITS,
    HEADER_BYTES,
    LITERAL_BITS,
    LONG_RUN,
    LONGEST,
    NEAR_BITS,
    SHORTEST_NEAR,
    WINDOW,
)
from feemodel.sizes.lzss_payload import Workspace, load, new_workspace
from feemodel.sizes.lzss_primitives import (
    Data,
    borrowed,
    common_prefix,
    is_reserved,
    reference_length,
    reference_savings,
)
from feemodel.sizes.lzss_suffixes import tabulate_savings

# Comparisons for each byte of a payload, after which all its matches are tabulated: dearer on real transactions, never
# slow on any. Those of Linea take 0.5 on average, and the worst of 2,282 took 3.5.
PATIENCE = 8


def lzss_sizes(
    buffer: Data, bounds: NDArray[np.int64], dictionary: DictionaryIndex, patience: int = PATIENCE
) -> NDArray[np.int64]:
    """Sizes [bytes] of the compressed forms of `buffer[bounds[k]:bounds[k + 1]]`, one for each k.

    May be called from several threads at once.

    Parameters
    ----------
    buffer : payloads behind each other, together less than 2**31 bytes, each at most `LONGEST_INPUT`.
    bounds : where they begin and end, one more than there are payloads.
    dictionary : its index.
    patience : comparisons for each byte of a payload; it changes the time that is taken, never a size.
    """
    sizes = np.zeros(len(bounds) - 1, dtype=np.int64)
    workspace = new_workspace(int(np.diff(bounds).max(initial=0)))
    _measure(buffer, bounds, dictionary, workspace, patience, sizes)
    return sizes


@kept(nogil=True)
def _measure(
    buffer: Data,
    bounds: NDArray[np.int64],
    dictionary: DictionaryIndex,
    workspace: Workspace,
    patience: int,
    sizes: NDArray[np.int64],
) -> None:
    dictionary = borrowed(dictionary)
    workspace = borrowed(workspace)
    for k in range(len(sizes)):
        length = bounds[k + 1] - bounds[k]
        load(buffer, bounds[k], length, workspace)
        sizes[k] = HEADER_BYTES + (_count_bits(workspace, length, dictionary, patience) + 7) // 8


@njit(inline="always")
def _count_bits(payload: Workspace, length: int, dictionary: DictionaryIndex, patience: int) -> int:
    """Bits of all symbols of a payload."""
    bits, i, known, comparisons = 0, 0, 0, 0  # known: the savings at all places before it are
    while i < length:
        if payload.runs[i] >= LONG_RUN:
            if i == 0 or payload.data[i - 1] != payload.data[i]:
                bits += FAR_BITS if is_reserved(payload.data[i]) else LITERAL_BITS
            bits += NEAR_BITS
            i += min(payload.runs[i], LONGEST)
            continue
        if known < length and comparisons > patience * length:
            tabulate_savings(payload.data[:length], payload.words, dictionary, payload.savings)
            known = length
        for place in range(max(known, i), min(i + 3, length)):
            comparisons += _look_up(payload, place, length, dictionary)
        known = max(known, i + 3)
        here, next_one, after_next = payload.savings[i], payload.savings[i + 1], payload.savings[i + 2]
        literals = _literals_before(payload.data[i], payload.data[i + 1], here, next_one, after_next)
        if literals > 0:
            bits += LITERAL_BITS * literals
            i += literals
        else:
            matched = reference_length(here)
            bits += 8 * matched - here
            i += matched
    return bits


@njit(nogil=True)
def _literals_before(byte: int, next_byte: int, here: int, next_one: int, after_next: int) -> int:
    """How many bytes are written as they are: no reference begins at the first, or a later one saves more.

    Parameters
    ----------
    byte, next_byte : at the place, and behind it.
    here, next_one, after_next : savings at the place, and at the two behind it [bits].
    """
    if is_reserved(byte):
        return 0
    if here < 0 or next_one > here + 1:
        return 1
    if after_next > here + 2 and not is_reserved(next_byte):
        return 2
    return 0


@njit(inline="always")
def _look_up(payload: Workspace, i: int, length: int, dictionary: DictionaryIndex) -> int:
    """Into `payload.savings[i]` what the best reference saves; returns the comparisons that it took to find it."""
    limit = min(LONGEST, length - i)
    before, start, comparisons = _longest_before(payload, i, limit)
    near = before if i - start <= WINDOW else 0
    longest = before if before == limit else longest_in_dictionary(dictionary, payload, i, limit, before)
    payload.savings[i] = reference_savings(near, longest, is_reserved(payload.data[i]))
    return comparisons


@njit(inline="always")
def _longest_before(payload: Workspace, i: int, limit: int) -> tuple[int, int, int]:
    """The longest match at `i` in the data before: its length, its latest place, and the comparisons that it took.

    Lengths are right from `SHORTEST_NEAR` on, at a reserved byte from 1 on. Candidates come latest first, so the first
    of each length is the latest.
    """
    run = payload.runs[i]
    whole_run = min(run, limit)
    length, start, comparisons = 0, -1, 0
    if i > 0 and payload.data[i - 1] == payload.data[i]:
        length, start = whole_run, i - 1
    elif run >= SHORTEST_NEAR:
        length = whole_run  # what has the same key goes beyond it
    candidate = payload.previous[i]
    while candidate >= 0 and length < limit:
        comparisons += 1
        if payload.data[candidate + length] == payload.data[i + length]:
            shared = common_prefix(payload.words, candidate, payload.words, i, limit)
            comparisons += shared >> 3
            if shared > length:
                length, start = shared, candidate
        candidate = payload.previous[candidate]
    if start < 0 and run >= SHORTEST_NEAR:  # nothing goes beyond the run, but other runs may match it or a part of it
        length = 0
        candidate = payload.previous_run[i]
        while candidate >= 0 and length < whole_run:
            comparisons += 1
            shared = min(payload.runs[candidate], whole_run)
            if shared > length:
                length, start = shared, candidate + payload.runs[candidate] - shared
            candidate = payload.previous_run[candidate]
    return length, start, comparisons
