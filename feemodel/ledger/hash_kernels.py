"""The hash functions of the state tree, compiled by numba, for machines without the native package.

MiMC uses Montgomery multiplication with eight 32-bit limbs. Products are not fully reduced, so they can exceed the
order r = 0.073·2**256 of the field. Products need no full reduction: numbers below 13·r fit into the limbs, and if x <
a·r and y < b·r, the product of x and y is below (0.073·a·b + 1)·r. In this module, where r is the order of the field,
factors are below 4·r, and sums are below 6·r.
"""

from typing import Any

import numpy as np

from feemodel._compiled import cached_njit
from feemodel.ledger.hashing import BLOCK_SIZE, mimc, pieces, poseidon2, seeded_elements

WIDTH = 16
FULL_ROUNDS = 6
PARTIAL_ROUNDS = 21
POSEIDON2_SEED = b"Poseidon2-koalabear[t=16,rF=6,rP=21,d=3]"
P = np.uint64(poseidon2.order)
#: The internal matrix of Poseidon2 is the sum of a matrix of ones and the diagonal matrix with these entries.
DIAGONAL = np.array(
    [
        number * pow(2, -halvings, poseidon2.order) % poseidon2.order
        for number, halvings in (
            (-2, 0), (1, 0), (2, 0), (1, 1), (3, 0), (4, 0), (-1, 1), (-3, 0), (-4, 0), (1, 8), (1, 3), (1, 24),
            (-1, 8), (-1, 3), (-1, 4), (-1, 24),
        )
    ],
    dtype=np.uint64,
)  # fmt: skip


def round_keys() -> list[list[int]]:
    """Return the round keys of the 27 rounds: sixteen keys for a full round, one for a partial round.

    >>> keys = round_keys()
    >>> len(keys), keys[3], keys[23]
    (27, [271263440], [1053550888])
    """
    half = FULL_ROUNDS // 2
    sizes = [*[WIDTH] * half, *[1] * PARTIAL_ROUNDS, *[WIDTH] * half]
    keys = iter(seeded_elements(POSEIDON2_SEED, poseidon2.order, sum(sizes)))
    return [[next(keys) for _ in range(size)] for size in sizes]


def poseidon2_digests(data: bytes, size: int) -> bytes | None:
    """Return the hashes of messages of equal size, or `None` if an element is not below the field's order."""
    result = np.empty((len(data) // size, 8), dtype=np.uint32)
    sound = _poseidon2(np.frombuffer(data, dtype=np.uint8).reshape(-1, size), KEYS, DIAGONAL, result)
    return result.astype(">u4").tobytes() if sound else None


KEYS = np.array([(row + [0] * WIDTH)[:WIDTH] for row in round_keys()], dtype=np.uint64)


@cached_njit(nogil=True)
def _poseidon2(messages: Any, keys: Any, diagonal: Any, result: Any) -> Any:
    state, mixed = np.empty(WIDTH, dtype=np.uint64), np.empty(WIDTH, dtype=np.uint64)
    block = np.empty(8, dtype=np.uint64)
    for number in range(len(messages)):
        message = messages[number]
        state[:] = 0
        for start in range(0, len(message), 32):
            block[:] = 0
            padding = max(start + 32 - len(message), 0)  # number of zero bytes in front of a short last block
            for index in range(padding, 32):
                byte = np.uint64(message[start + index - padding])
                block[index // 4] |= byte << np.uint64(24 - 8 * (index % 4))
            for i in range(8):
                if block[i] >= P:
                    return False
                state[8 + i] = block[i]
            _permute(state, mixed, keys, diagonal)
            for i in range(8):
                state[i] = (state[8 + i] + block[i]) % P
        for i in range(8):
            result[number, i] = state[i]
    return True


@cached_njit(nogil=True)
def _permute(s: Any, mixed: Any, keys: Any, diagonal: Any) -> None:
    for number in range(-1, len(keys)):
        full = number < 3 or number > 23
        if number >= 0:
            for i in range(WIDTH if full else 1):
                x = (s[i] + keys[number, i]) % P
                s[i] = x * x % P * x % P
        if full:  # matrix circ(2·M4, M4, M4, M4) with M4 = (2 3 1 1), (1 2 3 1), (1 1 2 3), (3 1 1 2)
            for group in range(0, WIDTH, 4):
                a, b, c, d = s[group], s[group + 1], s[group + 2], s[group + 3]
                total = a + b + c + d
                mixed[group], mixed[group + 1] = total + a + b + b, total + b + c + c
                mixed[group + 2], mixed[group + 3] = total + c + d + d, total + d + a + a
            for i in range(WIDTH):
                j = i % 4
                s[i] = (mixed[i] + mixed[j] + mixed[4 + j] + mixed[8 + j] + mixed[12 + j]) % P
        else:
            total = s.sum()
            for i in range(WIDTH):
                s[i] = (total + diagonal[i] * s[i]) % P


LIMBS = 8  # number of 32-bit limbs of an element; the lowest limb is the first
MIMC_ROUNDS = 62
MIMC_SEED = b"seed"
MASK, SHIFT = np.uint64(2**32 - 1), np.uint64(32)
INVERSE = np.uint64(pow(-mimc.order, -1, 2**32))


def round_constants() -> list[int]:
    """Return the 62 round constants of MiMC.

    >>> constants = round_constants()
    >>> len(constants), constants[61] % 10**9
    (62, 705585674)
    """
    return seeded_elements(MIMC_SEED, mimc.order, MIMC_ROUNDS)


def _limbs(numbers: list[int]) -> Any:
    """Return integers below 2**256 as rows of limbs."""
    data = b"".join(number.to_bytes(BLOCK_SIZE, "little") for number in numbers)
    return np.frombuffer(data, dtype="<u4").reshape(-1, LIMBS).astype(np.uint64)


def mimc_digests(data: bytes, size: int) -> bytes | None:
    """Return the hashes of messages of equal size.

    Return `None` if a block of a message is incomplete, or is an integer that is not below the field's order.
    """
    elements = [int.from_bytes(block) for block in pieces(data, BLOCK_SIZE)]
    if size % BLOCK_SIZE or any(element >= mimc.order for element in elements):
        return None
    result = _mimc(_limbs(elements), size // BLOCK_SIZE, CONSTANTS, ORDER, SQUARE)
    hashes = [int.from_bytes(row.astype("<u4").tobytes(), "little") % mimc.order for row in result]
    return b"".join(digest.to_bytes(BLOCK_SIZE) for digest in hashes)


ORDER = _limbs([mimc.order])[0]
SQUARE = _limbs([2**512 % mimc.order])[0]  # multiplication by this number converts a factor to Montgomery form
CONSTANTS = _limbs([constant * 2**256 % mimc.order for constant in round_constants()])


@cached_njit(nogil=True)
def _mimc(elements: Any, blocks: Any, constants: Any, order: Any, square: Any) -> Any:
    result = np.empty((len(elements) // blocks, LIMBS), dtype=np.uint64)
    one = np.zeros(LIMBS, dtype=np.uint64)
    one[0] = 1
    identity = _product(square, one, order)
    for number in range(len(result)):
        state = np.zeros(LIMBS, dtype=np.uint64)
        for element in elements[number * blocks : (number + 1) * blocks]:
            message = _product(element, square, order)
            x = message
            for constant in constants:
                base = _sum(_sum(x, state), constant)
                x = base
                for _ in range(4):
                    x = _product(x, x, order)
                x = _product(x, base, order)
            state = _product(_sum(_sum(x, message), _sum(state, state)), identity, order)
        result[number] = _product(state, one, order)
    return result


@cached_njit(nogil=True)
def _sum(a: Any, b: Any) -> Any:
    result, carry = np.empty(LIMBS, dtype=np.uint64), np.uint64(0)
    for i in range(LIMBS):
        carry += a[i] + b[i]
        result[i] = carry & MASK
        carry >>= SHIFT
    return result


@cached_njit(nogil=True)
def _product(a: Any, b: Any, order: Any) -> Any:
    """Return a·b/2**256 modulo the order of the field."""
    total = np.zeros(LIMBS + 1, dtype=np.uint64)
    for i in range(LIMBS):
        carry = np.uint64(0)
        for j in range(LIMBS):
            carry += total[j] + a[j] * b[i]
            total[j] = carry & MASK
            carry >>= SHIFT
        high = total[LIMBS] + carry
        quotient = total[0] * INVERSE & MASK
        carry = (total[0] + quotient * order[0]) >> SHIFT
        for j in range(1, LIMBS):
            carry += total[j] + quotient * order[j]
            total[j - 1] = carry & MASK
            carry >>= SHIFT
        high += carry
        total[LIMBS - 1], total[LIMBS] = high & MASK, high >> SHIFT
    return total[:LIMBS]
