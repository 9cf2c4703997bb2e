"""Length of the FastLZ level 1 stream of a payload, from which the OP Stack has estimated sizes since Fjord.

A FastLZ stream consists of literal runs and matches. A literal run is a control byte followed by 1 to 32 bytes of data.
A match of up to 8 bytes of data takes 2 bytes, and a match of 9 to 264 bytes of data takes 3 bytes.

The length is computed as by `FlzCompressLen` in op-geth, which moves to the next index before testing for the end of
the input. Therefore, op-geth never uses a match that begins 14 bytes before the end of the input, although the FastLZ
format allows such a match.

Source: ariya/FastLZ (format); ethereum-optimism/op-geth v1.101702.3, core/types/rollup_cost.go (length).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from feemodel._compiled import cached_njit

# entries of the hash table; the entry of a hash is the latest position of three bytes with this hash
TABLE_SIZE = 8192
HASH_FACTOR, HASH_SHIFT = 2654435769, 19  # Fibonacci hashing of 32 bits into 13 bits
WINDOW = 8191  # maximum distance of a match
TAIL = 14  # no match starts in the last 14 bytes
MATCH_TAIL = 4  # no match extends into the last 4 bytes
LITERAL_RUN = 32
SHORT_MATCH, LONGEST_MATCH = 6, 262  # values of (match length − 3) from which a match takes 3 bytes, or is split in two


@cached_njit(nogil=True)
def fastlz_lengths(data: Any, bounds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the length of the FastLZ stream of each payload `data[bounds[k]:bounds[k + 1]]` [byte].

    The data are a uint8 array for the compiled function, `bytes` without numba. The hash table is not reset between
    payloads. A table entry from an earlier payload counts as empty; in FastLZ, an empty table entry stands for the
    index of the first byte of the payload.
    """
    lengths = np.empty(len(bounds) - 1, dtype=np.int64)
    table = np.zeros(TABLE_SIZE, dtype=np.int64)
    for k in range(len(lengths)):
        start, end = bounds[k], bounds[k + 1]
        length, literals = 0, start
        here = start + 2  # the first two bytes are always literals
        while here < end - TAIL:
            slot = _slot(data[here], data[here + 1], data[here + 2])
            there = max(table[slot], start)
            table[slot] = here
            if (
                here - there > WINDOW
                or data[there] != data[here]
                or data[there + 1] != data[here + 1]
                or data[there + 2] != data[here + 2]
            ):
                here += 1
                continue
            compared = 0  # number of bytes compared after three equal bytes, including a byte that differs
            while here + 3 + compared < end - MATCH_TAIL:
                compared += 1
                if data[there + 2 + compared] != data[here + 2 + compared]:
                    break
            whole, rest = divmod(compared - 1, LONGEST_MATCH)
            length += _literal_bytes(here - literals) + 3 * whole + (3 if rest >= SHORT_MATCH else 2)
            here += compared
            for _ in range(2):  # enter the last two indices of the match into the table
                table[_slot(data[here], data[here + 1], data[here + 2])] = here
                here += 1
            literals = here
        lengths[k] = length + _literal_bytes(end - literals)
    return lengths


@cached_njit(nogil=True)
def _slot(first: int, second: int, third: int) -> int:
    return ((first | second << 8 | third << 16) * HASH_FACTOR >> HASH_SHIFT) & (TABLE_SIZE - 1)


@cached_njit(nogil=True)
def _literal_bytes(run: int) -> int:
    return run + (run + LITERAL_RUN - 1) // LITERAL_RUN
