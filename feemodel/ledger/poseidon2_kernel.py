"""Poseidon2 over KoalaBear in lanes: many messages of equal length absorbed side by side, compiled.

The state of a group of messages lies in one flat scratch array: row `i` holds element `i` of every lane. Each step of
a round is one loop over the lanes with a straight-line body, which the compiler turns into vector instructions.

Elements are signed and in Montgomery form with R = 2**32: a product needs no conditional subtraction as long as both
factors lie in [-2**31, 2**31). Linear layers add without reducing; `_reduce` brings a sum back before it is cubed.
The equality test follows the worst case through every round with interval arithmetic.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
from numba.core.codegen import get_host_cpu_features
from numpy.typing import NDArray

from feemodel.compiled import kept
from feemodel.ledger.poseidon2 import FULL_ROUNDS, PARTIAL_ROUNDS, WIDTH, P, round_keys

WIDE, NARROW = 64, 16  # lanes: of a group in bulk, and of the rest, where a call may hold one message
FEW = 4  # lanes: of a few messages, and of those of different lengths
PARALLEL = 4_096  # messages from which on threads are worth their start
INVERSE_OF_P = pow(P, -1, 2**32) - 2**32  # signed, so that it is a factor of a 32-bit product; 1 modulo 2**24
# A product by the inverse of which only 32 bits matter: compilers see that, and where AVX-512 offers a whole product of
# 64 bits they take it, in three steps. Written so that only the lowest byte is multiplied, it is one step with its sum.
FUSED_PRODUCT = "+avx512ifma" in get_host_cpu_features()  # type: ignore[no-untyped-call]
TO_MONTGOMERY = 2**64 % P
GROWING = (2, 4, 5, 7, 8)  # elements that a partial round multiplies by 2 to 4
ROUNDS_BETWEEN_REDUCTIONS = 3  # of these

_FIRST_PARTIAL = FULL_ROUNDS // 2
_LAST_PARTIAL = _FIRST_PARTIAL + PARTIAL_ROUNDS - 1
_ROUNDS = FULL_ROUNDS + PARTIAL_ROUNDS
_KEYS = np.array([[key * 2**32 % P for key in (*row, *[0] * WIDTH)[:WIDTH]] for row in round_keys()], dtype=np.int64)


def absorb(messages: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], int]:
    """Digests [n, 8] of messages [n, 8·blocks], and their largest element; large batches on all cores.

    The digests mean nothing unless the largest element is below P.
    """
    result = np.empty((len(messages), 8), dtype=np.uint32)
    if len(messages) <= FEW:
        return result, _absorb_few(messages, result)
    whole = len(messages) - len(messages) % WIDE
    if whole >= PARALLEL:
        part = -(-whole // (os.cpu_count() or 1) // WIDE) * WIDE
        parts = [slice(start, min(start + part, whole)) for start in range(0, whole, part)]
        with ThreadPoolExecutor() as pool:
            largest = max(pool.map(lambda rows: _absorb_wide(messages[rows], result[rows]), parts))
    else:
        largest = _absorb_wide(messages[:whole], result[:whole]) if whole else 0
    if whole < len(messages):
        largest = max(largest, _absorb_narrow(messages[whole:], result[whole:]))
    return result, largest


def climb(feet: NDArray[np.uint32], siblings: NDArray[np.uint32], indices: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Digests [n, 8] at the tops of paths from feet [n, 8] past siblings [n, height, 8]; all elements below P."""
    result = feet.copy()
    _climb(result, siblings, indices)
    return result


def first_wrong(data: NDArray[np.uint8], sizes: NDArray[np.int64]) -> int:
    """The first message that has not the hash given for it, or how many there are.

    Parameters
    ----------
    data : the messages, each of at least one whole block, then as many hashes.
    sizes : of the messages.
    """
    starts = np.cumsum(sizes) - sizes
    return int(_first_wrong(data, starts, sizes, sizes.sum() + 32 * np.arange(len(sizes))))


def path_holds(data: NDArray[np.uint8], height: int, index: int, *sizes: int) -> bool:
    """Whether a path leads to a hash.

    Parameters
    ----------
    data : the hash; from that height down to 1 the two hashes below each node, then those below each sibling, which
        are one fewer; the leaf, the leaf beside it, the hash of the value, the value as it is hashed.
    sizes : of the leaf, of the leaf beside it, of the value: whole blocks, 0 where there is none.
    """
    return bool(_path_holds(data, height, index, *sizes))


@kept()
def _multiply(a: Any, b: Any) -> Any:
    """a·b/2**32 modulo P, in (-2**31, 2**31)."""
    product = np.int64(np.int32(a)) * np.int64(np.int32(b))
    if FUSED_PRODUCT:
        quotient = np.int64(np.int32(product + (product & 255) * (INVERSE_OF_P - 1)))
    else:
        quotient = np.int64(np.int32(np.int64(np.int32(product)) * INVERSE_OF_P))
    return (product - quotient * P) >> 32


@kept()
def _reduce(x: Any) -> Any:
    """x modulo P, nearer to zero: |x| <= 2**36 gives less than 2**31."""
    quotient = np.int64(np.int32((x + (1 << 30)) >> 31))  # told that it is short, the compiler takes a short product
    return x - quotient * P


@kept()
def _cube(x: Any) -> Any:
    return _multiply(_multiply(x, x), x)


@kept()
def _halve(x: Any, times: int) -> Any:
    """x/2**times modulo P, times <= 24: P is 1 modulo 2**24, so that x - (x mod 2**times)·P divides."""
    return (x >> times) - (x & ((1 << times) - 1)) * ((P - 1) >> times)


# The functions from here on are inlined where the number of lanes is a constant of the compiled code.


@numba.njit(inline="always")
def _external_layer(s: Any, lanes: int) -> None:
    """circ(2·M4, M4, M4, M4) with M4 = (2 3 1 1), (1 2 3 1), (1 1 2 3), (3 1 1 2)."""
    for group in range(0, 16 * lanes, 4 * lanes):
        for j in range(group, group + lanes):
            a, b, c, d = s[j], s[j + lanes], s[j + 2 * lanes], s[j + 3 * lanes]
            low, high = a + b, c + d
            with_b, with_d = low + high + b, low + high + d
            s[j], s[j + lanes], s[j + 2 * lanes], s[j + 3 * lanes] = (
                with_b + low,
                with_b + 2 * c,
                with_d + high,
                with_d + 2 * a,
            )
    for j in range(4 * lanes):
        total = s[j] + s[j + 4 * lanes] + s[j + 8 * lanes] + s[j + 12 * lanes]
        s[j] += total
        s[j + 4 * lanes] += total
        s[j + 8 * lanes] += total
        s[j + 12 * lanes] += total


@numba.njit(inline="always")
def _partial_round(s: Any, key: Any, lanes: int) -> None:
    """Cube element 0, then new[i] = sum + d[i]·old[i]."""
    for j in range(lanes):
        first = _cube(_reduce(s[j] + key))
        others = np.int64(0)
        for i in range(1, 16):
            others += s[i * lanes + j]
        others = _reduce(others)  # without element 0: nothing here waits for the cube
        total = others + first
        s[j] = others - first
        s[1 * lanes + j] = total + s[1 * lanes + j]
        s[2 * lanes + j] = total + 2 * s[2 * lanes + j]
        s[3 * lanes + j] = total + _halve(s[3 * lanes + j], 1)
        s[4 * lanes + j] = total + 3 * s[4 * lanes + j]
        s[5 * lanes + j] = total + 4 * s[5 * lanes + j]
        s[6 * lanes + j] = total - _halve(s[6 * lanes + j], 1)
        s[7 * lanes + j] = total - 3 * s[7 * lanes + j]
        s[8 * lanes + j] = total - 4 * s[8 * lanes + j]
        s[9 * lanes + j] = total + _halve(s[9 * lanes + j], 8)
        s[10 * lanes + j] = total + _halve(s[10 * lanes + j], 3)
        s[11 * lanes + j] = total + _halve(s[11 * lanes + j], 24)
        s[12 * lanes + j] = total - _halve(s[12 * lanes + j], 8)
        s[13 * lanes + j] = total - _halve(s[13 * lanes + j], 3)
        s[14 * lanes + j] = total - _halve(s[14 * lanes + j], 4)
        s[15 * lanes + j] = total - _halve(s[15 * lanes + j], 24)


@numba.njit(inline="always")
def _permute(s: Any, lanes: int) -> None:
    _external_layer(s, lanes)
    for number in range(_ROUNDS):
        if _FIRST_PARTIAL <= number <= _LAST_PARTIAL:
            if (number - _FIRST_PARTIAL) % ROUNDS_BETWEEN_REDUCTIONS == 0:
                for i in GROWING:
                    for j in range(i * lanes, (i + 1) * lanes):
                        s[j] = _reduce(s[j])
            _partial_round(s, _KEYS[number, 0], lanes)
            if number == _LAST_PARTIAL:
                for j in range(16 * lanes):
                    s[j] = _reduce(s[j])
        else:
            for i in range(16):
                key = _KEYS[number, i]
                for j in range(i * lanes, (i + 1) * lanes):
                    s[j] = _cube(_reduce(s[j] + key))
            _external_layer(s, lanes)


@numba.njit(inline="always")
def _absorb_groups(messages: Any, result: Any, lanes: int) -> Any:
    count, size = messages.shape
    s = np.empty(16 * lanes, dtype=np.int64)
    block = np.zeros(8 * lanes, dtype=np.int64)
    largest = np.int64(0)
    for first in range(0, count, lanes):
        used = min(lanes, count - first)
        s[:] = 0
        for start in range(0, size, 8):
            for j in range(used):
                for i in range(8):
                    element = np.int64(messages[first + j, start + i])
                    largest = max(largest, element)
                    block[i * lanes + j] = _multiply(element, TO_MONTGOMERY)
            s[8 * lanes :] = block
            _permute(s, lanes)
            for j in range(8 * lanes):
                s[j] = _reduce(s[j + 8 * lanes] + block[j])
        for j in range(used):
            for i in range(8):
                element = _multiply(s[i * lanes + j], 1)
                result[first + j, i] = element + P if element < 0 else element
    return largest


@kept(nogil=True)
def _absorb_wide(messages: Any, result: Any) -> Any:
    return _absorb_groups(messages, result, WIDE)


@kept(nogil=True)
def _absorb_narrow(messages: Any, result: Any) -> Any:
    return _absorb_groups(messages, result, NARROW)


@kept(nogil=True)
def _absorb_few(messages: Any, result: Any) -> Any:
    return _absorb_groups(messages, result, FEW)


@kept(nogil=True)
def _first_wrong(data: Any, starts: Any, sizes: Any, expected: Any) -> Any:
    """A lane that is done with its message takes the next one, so that long and short ones share the rounds."""
    s = np.zeros(16 * FEW, dtype=np.int64)
    block = np.zeros(8 * FEW, dtype=np.int64)
    message = np.full(FEW, -1, dtype=np.int64)
    place = np.zeros(FEW, dtype=np.int64)
    following, wrong = 0, len(sizes)
    while True:
        busy = False
        for j in range(FEW):
            if message[j] < 0 and following < len(sizes):
                message[j], place[j] = following, starts[following]
                following += 1
                for i in range(16):
                    s[i * FEW + j] = 0
            if message[j] >= 0:
                busy = True
                for i in range(8):
                    element = _element(data, place[j] + 4 * i)
                    if element >= P:
                        wrong = min(wrong, message[j])
                    block[i * FEW + j] = _multiply(element, TO_MONTGOMERY)
        if not busy:
            return wrong
        s[8 * FEW :] = block
        _permute(s, FEW)
        for j in range(8 * FEW):
            s[j] = _reduce(s[j + 8 * FEW] + block[j])
        for j in range(FEW):
            place[j] += 32
            if message[j] >= 0 and place[j] == starts[message[j]] + sizes[message[j]]:
                for i in range(8):
                    element = _multiply(s[i * FEW + j], 1)
                    if (element + P if element < 0 else element) != _element(data, expected[message[j]] + 4 * i):
                        wrong = min(wrong, message[j])
                message[j] = -1


@kept(nogil=True)
def _path_holds(data: Any, height: int, index: int, leaf_size: int, beside_size: int, value_size: int) -> Any:
    """The messages of a path as `_first_wrong` takes them, the longest first."""
    count = 2 * height + (beside_size > 0) + (value_size > 0)
    starts, sizes = np.empty(count, dtype=np.int64), np.full(count, 64, dtype=np.int64)
    expected = np.empty(count, dtype=np.int64)
    siblings = 32 + 64 * height
    leaf = siblings + 64 * (height - 1)
    beside, hval = leaf + leaf_size, leaf + leaf_size + beside_size
    lowest = siblings - 64
    n = 0
    if value_size:
        starts[n], sizes[n], expected[n] = hval + 32, value_size, hval
        n += 1
    starts[n], sizes[n], expected[n] = leaf, leaf_size, lowest + 32 * (index & 1)
    n += 1
    if beside_size:
        starts[n], sizes[n], expected[n] = beside, beside_size, lowest + 32 - 32 * (index & 1)
        n += 1
    else:
        for i in range(32):
            if data[lowest + 32 - 32 * (index & 1) + i]:
                return False
    for level in range(height):
        starts[n] = 32 + 64 * level
        expected[n] = 64 * level - 32 + 32 * (index >> height - level & 1) if level else 0
        n += 1
        if level < height - 1:
            starts[n] = siblings + 64 * level
            expected[n] = 32 + 64 * level + 32 - 32 * (index >> height - 1 - level & 1)
            n += 1
    return _first_wrong(data, starts, sizes, expected) == count


@numba.njit(inline="always")
def _element(data: Any, place: int) -> Any:
    """Four bytes, the highest first."""
    high = np.int64(data[place]) << 24 | np.int64(data[place + 1]) << 16
    return high | np.int64(data[place + 2]) << 8 | np.int64(data[place + 3])


@kept(nogil=True)
def _climb(hashes: Any, siblings: Any, indices: Any) -> None:
    pairs = np.empty((len(hashes), 16), dtype=np.uint32)
    for height in range(siblings.shape[1]):
        for path in range(len(hashes)):
            right = indices[path] >> height & 1
            pairs[path, 8 * right : 8 * right + 8] = hashes[path]
            pairs[path, 8 - 8 * right : 16 - 8 * right] = siblings[path, height]
        _absorb_narrow(pairs, hashes)
