"""Compiled kernel that computes the compressed sizes of the production LZSS, without creating compressed bytes."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from feemodel._compiled import cached_njit
from feemodel.sizes._lzss_dictionary import KEY_WIDTH, DictionaryIndex, longest_in_dictionary, may_match
from feemodel.sizes._lzss_format import (
    FAR_BITS,
    HEADER_BYTES,
    LITERAL_BITS,
    LONG_RUN,
    LONGEST,
    NEAR_BITS,
    SHORTEST_NEAR,
    WINDOW,
)
from feemodel.sizes._lzss_payload import Workspace, load, new_workspace
from feemodel.sizes._lzss_primitives import (
    NO_MATCH,
    Data,
    all_equal,
    borrowed,
    common_prefix,
    is_reserved,
    load_word,
    reference_length,
    reference_savings,
    unsigned,
)
from feemodel.sizes._lzss_suffixes import tabulate_savings

# Maximum average number of comparisons per byte of a payload in the search for matches. If the search exceeds
# `PATIENCE`, the matches at all indices are tabulated in O(n log n) time. For real transactions, the search is faster
# than the table. For adversarial payloads, the search alone would take quadratic time.
PATIENCE = 8
FEW = 4  # if a key has at most four earlier positions, do not look for a rarer key
_UNKNOWN = NO_MATCH - 1  # value that marks savings as not computed yet


def lzss_sizes(
    buffer: Data, bounds: NDArray[np.int64], dictionary: DictionaryIndex, patience: int = PATIENCE
) -> NDArray[np.int64]:
    """Return the compressed size of each payload `buffer[bounds[k]:bounds[k + 1]]`.

    The function is thread-safe, because each call creates its own workspace.

    Parameters
    ----------
    buffer : concatenated payloads, together less than 2**31 bytes, each at most `LONGEST_INPUT`.
    bounds : start index of each payload, then the end index of the last payload.
    dictionary : search index of the dictionary.
    patience : maximum number of comparisons per byte, after which matches are tabulated; does not change the sizes.

    Returns
    -------
    int64 array, one size for each payload [byte].
    """
    sizes = np.zeros(len(bounds) - 1, dtype=np.int64)
    workspace = new_workspace(int(np.diff(bounds).max(initial=0)))
    _measure(buffer, bounds, dictionary, workspace, patience, sizes)
    return sizes


@cached_njit(nogil=True)
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
    """Return the number of bits of all symbols of a payload.

    If a reference at an index saves bits, the references at the next two indices are also tried, and a reference that
    saves more bits is used instead. `here` is the number of bits saved at the index. At the next two indices, the
    number of saved bits is exact only if it is above `here + ahead`, because only such a reference is used.
    """
    bits, i, ahead, here, comparisons, tabulated = 0, 0, 0, 0, 0, False
    while i < length:
        if ahead == 0:
            run = _run_at(payload, i, length)
            if run >= LONG_RUN:
                if i == 0 or payload.data[unsigned(i - 1)] != payload.data[unsigned(i)]:
                    bits += FAR_BITS if is_reserved(payload.data[unsigned(i)]) else LITERAL_BITS
                bits += NEAR_BITS
                i += min(run, LONGEST)
                continue
            if not tabulated and comparisons > patience * length:
                tabulate_savings(payload.data[:length], dictionary, payload.savings)
                tabulated = True
        floor = here + ahead if ahead > 0 else _UNKNOWN
        found, steps = _savings_at(payload, i + ahead, length, dictionary, tabulated, floor)
        comparisons += steps
        if ahead == 0 or found > floor:
            bits += LITERAL_BITS * ahead
            i += ahead
            here = found
            if ahead > 0 and _run_at(payload, i, length) >= LONG_RUN:
                ahead = 0
                continue
            if here >= 0 and not is_reserved(payload.data[unsigned(i)]):
                ahead = 1
                continue
            if not is_reserved(payload.data[unsigned(i)]):
                bits += LITERAL_BITS
                i += 1
                ahead = 0
                continue
        elif ahead == 1 and not is_reserved(payload.data[unsigned(i + 1)]):
            ahead = 2
            continue
        matched = reference_length(here)
        bits += 8 * matched - here
        i += matched
        ahead = 0
    return bits


@njit(inline="always")
def _run_at(payload: Workspace, i: int, length: int) -> int:
    """Return the length of the run of equal bytes at an index, or 0 if the run is shorter than `SHORTEST_NEAR`."""
    if i + SHORTEST_NEAR <= length and all_equal(load_word(payload.data, i), SHORTEST_NEAR):
        return int(payload.runs[unsigned(i)])
    return 0


@njit(inline="always")
def _savings_at(
    payload: Workspace, i: int, length: int, dictionary: DictionaryIndex, tabulated: bool, floor: int
) -> tuple[int, int]:
    """Return the number of bits that the best reference saves at an index, and the number of comparisons.

    The number of bits is exact if it is above `floor`.
    """
    if i >= length:
        return NO_MATCH, 0
    if tabulated:
        return payload.savings[unsigned(i)], 0
    limit = min(LONGEST, length - i)
    reserved = is_reserved(payload.data[unsigned(i)])
    known = (
        SHORTEST_NEAR - 1 if floor == _UNKNOWN else (floor + NEAR_BITS) >> 3
    )  # only a match of more than `known` bytes can save more bits than `floor`
    short = reserved and floor == _UNKNOWN  # even a match of one byte is useful, as reserved bytes cannot be literals
    if limit <= known and not short:
        return NO_MATCH, 0
    before, start, comparisons = known, -1, 0
    if limit > known:
        if floor == _UNKNOWN and not reserved and payload.previous[unsigned(i)] < 0:  # the most frequent case
            word = load_word(payload.data, i)
            if not all_equal(word, SHORTEST_NEAR) and (limit < KEY_WIDTH or not may_match(dictionary, payload, i)):
                return NO_MATCH, 0
        before, start, comparisons = _longest_before(payload, i, limit, known)
    if start < 0:
        before = known
        if short:
            before, start, steps = _short_before(payload, i, limit)
            comparisons += steps
    near = before if start >= 0 and i - start <= WINDOW else 0
    longest = before if before == limit else longest_in_dictionary(dictionary, payload, i, limit, before)
    if start < 0 and longest == before and not short:
        return NO_MATCH, comparisons
    return reference_savings(near, longest, reserved), comparisons


@njit(inline="always")
def _longest_before(payload: Workspace, i: int, limit: int, known: int) -> tuple[int, int, int]:
    """Return the longest match at `i` in earlier data (length and latest start), and the number of comparisons.

    Only matches longer than `known` are searched for; `known` is at least `SHORTEST_NEAR - 1`. If no match is longer
    than `known`, the start is negative. A match that is longer than the best match so far contains the keys of `i` and
    of several later indices. The search chooses the rarest of the keys, and visits the earlier positions of this key
    from the latest to the earliest. In this order, the first match that is found for a length is also the latest match
    of this length.
    """
    run = _run_at(payload, i, i + limit)
    whole_run = min(run, limit)
    length, start, comparisons = known, -1, 0
    if whole_run > known:
        length = whole_run  # a longer match must start at an index with the same key
        if i > 0 and payload.data[unsigned(i - 1)] == payload.data[unsigned(i)]:
            start = i - 1
    shift = 0 if length < SHORTEST_NEAR or length == whole_run else _rarest_key(payload, i, length)
    candidate = payload.previous[unsigned(i + shift)] - shift if length < limit else -1
    while candidate >= 0:
        comparisons += 1
        following = payload.previous[unsigned(candidate + shift)] - shift
        if payload.data[unsigned(candidate + length)] == payload.data[unsigned(i + length)]:
            shared = common_prefix(payload.data, candidate, payload.data, i, limit)
            comparisons += shared >> 3
            if shared > length:
                length, start = shared, candidate
                if length >= limit:
                    break
                shift = _rarest_key(payload, i, length)
                comparisons += length >> 4
                # `_rarest_key` may have chosen another key. If the match contains the chosen key, the key also occurs
                # in the candidate, so continue with the previous occurrence. Otherwise, go back from `i` to the last
                # occurrence before the candidate.
                index = candidate if shift + SHORTEST_NEAR <= length else i
                following = payload.previous[unsigned(index + shift)] - shift
                while following >= candidate:
                    comparisons += 1
                    following = payload.previous[unsigned(following + shift)] - shift
        candidate = following
    if start < 0 and whole_run > known:  # no match extends beyond the run, so search the other runs
        length = known
        candidate = payload.previous_run[unsigned(i)]
        while candidate >= 0 and length < whole_run:
            comparisons += 1
            shared = min(payload.runs[unsigned(candidate)], whole_run)
            if shared > length:
                length, start = shared, candidate + payload.runs[unsigned(candidate)] - shared
            candidate = payload.previous_run[unsigned(candidate)]
    return length, start, comparisons


@njit(inline="always")
def _rarest_key(payload: Workspace, i: int, length: int) -> int:
    """Return the offset from `i` of the rarest key in the next `length + 1` bytes.

    The rarest key has the fewest earlier indices. Keys of runs are skipped, except the key at `i`, because the key of a
    run depends on the end of the run, which may lie beyond the next `length + 1` bytes.
    """
    shift, fewest = 0, payload.rank[unsigned(i)]
    further = length + 1 - SHORTEST_NEAR
    while fewest > FEW and further > 0:
        rank = payload.rank[unsigned(i + further)]
        if rank < fewest and not all_equal(load_word(payload.data, i + further), SHORTEST_NEAR):
            shift, fewest = further, rank
        further -= 1
    return shift


@njit(inline="always")
def _short_before(payload: Workspace, i: int, limit: int) -> tuple[int, int, int]:
    """Return the longest earlier match at a reserved byte, if all matches are shorter than `SHORTEST_NEAR`."""
    latest, comparisons = payload.previous_pair[unsigned(i)] if limit >= 2 else -1, 0
    candidate = latest if limit >= 3 else -1
    while candidate >= 0:
        comparisons += 1
        if payload.data[unsigned(candidate + 2)] == payload.data[unsigned(i + 2)]:
            return 3, candidate, comparisons
        candidate = payload.previous_pair[unsigned(candidate)]
    if latest >= 0:
        return 2, latest, comparisons
    latest = payload.previous_byte[unsigned(i)]
    return (1 if latest >= 0 else 0), latest, comparisons
