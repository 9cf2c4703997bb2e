"""The definition of the production LZSS in plain Python, for tests of the functions that compute sizes.

Source of the rules: Consensys/compress v0.2.5, lzss.
"""

from bisect import bisect_left
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from feemodel.sizes._lzss_format import (
    FAR_BITS,
    HEADER_BYTES,
    LITERAL_BITS,
    LONG_RUN,
    LONGEST,
    NEAR_BITS,
    RESERVED,
    SHORTEST_FAR,
    SHORTEST_NEAR,
    WINDOW,
)


class Symbols(NamedTuple):
    """One or more symbols of the compressed payload."""

    bits: int  #: length of the symbols in the compressed payload
    length: int  #: number of bytes of the payload that the symbols replace

    @property
    def savings(self) -> float:
        """Number of bits saved compared with literals; minus infinity if no byte is replaced."""
        return 8 * self.length - self.bits if self.length else float("-inf")


NONE = Symbols(0, 0)


def lzss_size(data: bytes, dictionary: bytes) -> int:
    """Compressed size of one payload.

    Parameters
    ----------
    data : the payload, at most 256 KiB.
    dictionary : dictionary that contains both reserved bytes.

    Returns
    -------
    int [byte].

    >>> lzss_size(bytes(100), bytes([0xFE, 0xFF]))
    8
    """

    @cache
    def reference(i: int) -> Symbols:
        return _best_reference(data, dictionary, i)

    bits = i = 0
    while i < len(data):
        symbols = _symbols_at(data, i, reference)
        bits += symbols.bits
        i += symbols.length
    return HEADER_BYTES + (bits + 7) // 8


def _symbols_at(data: bytes, i: int, reference: Callable[[int], Symbols]) -> Symbols:
    run = 1
    while run < LONGEST and data[i + run : i + run + 1] == data[i : i + 1]:
        run += 1
    if run >= LONG_RUN:
        if i > 0 and data[i - 1] == data[i]:
            return Symbols(NEAR_BITS, run)
        first = FAR_BITS if data[i] in RESERVED else LITERAL_BITS
        return Symbols(first + NEAR_BITS, run)

    best = reference(i)
    if data[i] in RESERVED:
        return best
    if not best.length:
        return Symbols(LITERAL_BITS, 1)
    if reference(i + 1).savings > best.savings + 1:
        return Symbols(LITERAL_BITS, 1)
    if reference(i + 2).savings > best.savings + 2 and data[i + 1] not in RESERVED:
        return Symbols(2 * LITERAL_BITS, 2)
    return best


def _best_reference(data: bytes, dictionary: bytes, i: int) -> Symbols:
    """Return the reference at `i` that saves the most bits, or `NONE` if there is no reference."""
    if i >= len(data):
        return NONE
    longest = min(LONGEST, len(data) - i)

    def before(first: int) -> int:
        """Return the length of the longest match that starts in [first, i); the match may extend beyond `i`."""
        return bisect_left(range(1, longest + 1), True, key=lambda n: data.find(data[i : i + n], first, i + n - 1) < 0)

    near = before(max(0, i - WINDOW))
    in_dictionary = bisect_left(range(1, longest + 1), True, key=lambda n: data[i : i + n] not in dictionary)
    far = max(before(0) if i > WINDOW else near, in_dictionary)
    shortest_near, shortest_far = (1, 1) if data[i] in RESERVED else (SHORTEST_NEAR, SHORTEST_FAR)
    near_symbols = Symbols(NEAR_BITS, near) if near >= shortest_near else NONE
    far_symbols = Symbols(FAR_BITS, far) if far >= shortest_far else NONE
    return near_symbols if near_symbols.savings > far_symbols.savings else far_symbols
