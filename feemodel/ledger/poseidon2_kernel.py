"""Poseidon2 over KoalaBear for machines without the compiled package: each step of its definition modulo the order."""

from typing import Any

import numpy as np

from feemodel.compiled import kept
from feemodel.ledger.hashing import poseidon2, seeded_elements

WIDTH = 16
FULL_ROUNDS = 6
PARTIAL_ROUNDS = 21
SEED = b"Poseidon2-koalabear[t=16,rF=6,rP=21,d=3]"
P = np.uint64(poseidon2.order)
#: The internal matrix is 1 everywhere, and this on top on its diagonal.
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
    """Return the keys of the 27 rounds: sixteen in a full round, one in a partial round.

    >>> keys = round_keys()
    >>> len(keys), keys[3], keys[23]
    (27, [271263440], [1053550888])
    """
    half = FULL_ROUNDS // 2
    sizes = [*[WIDTH] * half, *[1] * PARTIAL_ROUNDS, *[WIDTH] * half]
    keys = iter(seeded_elements(SEED, poseidon2.order, sum(sizes)))
    return [[next(keys) for _ in range(size)] for size in sizes]


def digests(data: bytes, size: int) -> bytes | None:
    """Return the hashes of messages of one size; `None` where an element is not below the order."""
    result = np.empty((len(data) // size, 8), dtype=np.uint32)
    sound = _hash(np.frombuffer(data, dtype=np.uint8).reshape(-1, size), KEYS, DIAGONAL, result)
    return result.astype(">u4").tobytes() if sound else None


KEYS = np.array([(row + [0] * WIDTH)[:WIDTH] for row in round_keys()], dtype=np.uint64)


@kept(nogil=True)
def _hash(messages: Any, keys: Any, diagonal: Any, result: Any) -> Any:
    state, mixed = np.empty(WIDTH, dtype=np.uint64), np.empty(WIDTH, dtype=np.uint64)
    block = np.empty(8, dtype=np.uint64)
    for number in range(len(messages)):
        message = messages[number]
        state[:] = 0
        for start in range(0, len(message), 32):
            block[:] = 0
            padding = max(start + 32 - len(message), 0)  # of zeros before a short last block
            for place in range(padding, 32):
                byte = np.uint64(message[start + place - padding])
                block[place // 4] |= byte << np.uint64(24 - 8 * (place % 4))
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


@kept(nogil=True)
def _permute(s: Any, mixed: Any, keys: Any, diagonal: Any) -> None:
    for number in range(-1, len(keys)):
        full = number < 3 or number > 23
        if number >= 0:
            for i in range(WIDTH if full else 1):
                x = (s[i] + keys[number, i]) % P
                s[i] = x * x % P * x % P
        if full:  # circ(2·M4, M4, M4, M4) with M4 = (2 3 1 1), (1 2 3 1), (1 1 2 3), (3 1 1 2)
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
