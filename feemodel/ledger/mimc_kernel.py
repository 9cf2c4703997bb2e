"""MiMC over BLS12-377 for machines without the compiled package: Montgomery products of eight 32-bit limbs.

No product is reduced below the order r, which is 0.073·2**256: sums below 13·r fit the limbs, and the product of
factors below a·r and b·r is below (0.073·a·b + 1)·r. The largest factor here is below 4·r, the largest sum below 6·r.
"""

from typing import Any

import numpy as np

from feemodel.compiled import kept
from feemodel.ledger.hashing import BLOCK_SIZE, mimc, pieces, seeded_elements

LIMBS = 8  # of 32 bits, the lowest first
ROUNDS = 62
SEED = b"seed"
MASK, SHIFT = np.uint64(2**32 - 1), np.uint64(32)
INVERSE = np.uint64(pow(-mimc.order, -1, 2**32))


def round_constants() -> list[int]:
    """Return the 62 constants.

    >>> constants = round_constants()
    >>> len(constants), constants[61] % 10**9
    (62, 705585674)
    """
    return seeded_elements(SEED, mimc.order, ROUNDS)


def limbs(numbers: list[int]) -> Any:
    """Return integers below 2**256 as rows of limbs."""
    data = b"".join(number.to_bytes(BLOCK_SIZE, "little") for number in numbers)
    return np.frombuffer(data, dtype="<u4").reshape(-1, LIMBS).astype(np.uint64)


def digests(data: bytes, size: int) -> bytes | None:
    """Return the hashes of messages of one size; `None` where a block is not below the order or not whole."""
    elements = [int.from_bytes(block) for block in pieces(data, BLOCK_SIZE)]
    if size % BLOCK_SIZE or any(element >= mimc.order for element in elements):
        return None
    result = _hash(limbs(elements), size // BLOCK_SIZE, CONSTANTS, ORDER, SQUARE)
    hashes = [int.from_bytes(row.astype("<u4").tobytes(), "little") % mimc.order for row in result]
    return b"".join(digest.to_bytes(BLOCK_SIZE) for digest in hashes)


ORDER = limbs([mimc.order])[0]
SQUARE = limbs([2**512 % mimc.order])[0]  # brings a factor into Montgomery form
CONSTANTS = limbs([constant * 2**256 % mimc.order for constant in round_constants()])


@kept(nogil=True)
def _hash(elements: Any, blocks: Any, constants: Any, order: Any, square: Any) -> Any:
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


@kept(nogil=True)
def _sum(a: Any, b: Any) -> Any:
    result, carry = np.empty(LIMBS, dtype=np.uint64), np.uint64(0)
    for i in range(LIMBS):
        carry += a[i] + b[i]
        result[i] = carry & MASK
        carry >>= SHIFT
    return result


@kept(nogil=True)
def _product(a: Any, b: Any, order: Any) -> Any:
    """a·b/2**256 modulo the order."""
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
