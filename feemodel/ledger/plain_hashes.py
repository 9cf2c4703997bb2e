"""The hash functions of the state tree for machines without the native package: NumPy and integers of Python."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from feemodel.ethereum._hashes import keccak256
from feemodel.ledger.hashing import BLOCK_SIZE, MIMC_ORDER, POSEIDON2_ORDER, pieces

WIDTH = 16
FULL_ROUNDS = 6
PARTIAL_ROUNDS = 21
POSEIDON2_SEED = b"Poseidon2-koalabear[t=16,rF=6,rP=21,d=3]"
MIMC_ROUNDS = 62
MIMC_SEED = b"seed"
P = np.uint64(POSEIDON2_ORDER)
M4 = np.array([(2, 3, 1, 1), (1, 2, 3, 1), (1, 1, 2, 3), (3, 1, 1, 2)], dtype=np.uint64)
#: The external matrix of Poseidon2 has M4 in each block, twice on the diagonal.
EXTERNAL = np.kron(np.eye(WIDTH // 4, dtype=np.uint64) + np.uint64(1), M4)
#: The internal matrix of Poseidon2 is the sum of a matrix of ones and the diagonal matrix with these entries.
DIAGONAL = np.array(
    [
        number * pow(2, -halvings, POSEIDON2_ORDER) % POSEIDON2_ORDER
        for number, halvings in (
            (-2, 0), (1, 0), (2, 0), (1, 1), (3, 0), (4, 0), (-1, 1), (-3, 0), (-4, 0), (1, 8), (1, 3), (1, 24),
            (-1, 8), (-1, 3), (-1, 4), (-1, 24),
        )
    ],
    dtype=np.uint64,
)  # fmt: skip

Elements = NDArray[np.uint64]


def seeded_elements(seed: bytes, order: int, count: int) -> list[int]:
    """Return constants of a hash function, made by hashing a seed repeatedly with Keccak-256.

    The first constant is keccak256(keccak256(seed)) modulo the order; each further constant needs one more Keccak-256
    hash.
    """
    state, elements = keccak256(seed), []
    for _ in range(count):
        state = keccak256(state)
        elements.append(int.from_bytes(state) % order)
    return elements


@cache
def round_keys() -> list[list[int]]:
    """Return the round keys of the 27 rounds of Poseidon2: sixteen keys for a full round, one for a partial round.

    >>> keys = round_keys()
    >>> len(keys), keys[3], keys[23]
    (27, [271263440], [1053550888])
    """
    half = FULL_ROUNDS // 2
    sizes = [*[WIDTH] * half, *[1] * PARTIAL_ROUNDS, *[WIDTH] * half]
    keys = iter(seeded_elements(POSEIDON2_SEED, POSEIDON2_ORDER, sum(sizes)))
    return [[next(keys) for _ in range(size)] for size in sizes]


@cache
def round_constants() -> list[int]:
    """Return the 62 round constants of MiMC.

    >>> constants = round_constants()
    >>> len(constants), constants[61] % 10**9
    (62, 705585674)
    """
    return seeded_elements(MIMC_SEED, MIMC_ORDER, MIMC_ROUNDS)


def poseidon2_digests(data: bytes, size: int) -> bytes | None:
    """Return the hashes of messages of equal size, or `None` if an element is not below the field's order."""
    messages = np.frombuffer(data, dtype=np.uint8).reshape(-1, size)
    padding = np.zeros((len(messages), -size % BLOCK_SIZE), dtype=np.uint8)
    whole = size - size % BLOCK_SIZE
    padded = np.concatenate([messages[:, :whole], padding, messages[:, whole:]], axis=1)
    elements = padded.view(">u4").astype(np.uint64)
    if (elements >= P).any():
        return None
    state = np.zeros((WIDTH // 2, len(messages)), dtype=np.uint64)
    for block in np.split(elements.T, elements.shape[1] // len(state)):
        state = (_permutation(np.concatenate([state, block]))[WIDTH // 2 :] + block) % P
    return state.T.astype(">u4").tobytes()


def mimc_digests(data: bytes, size: int) -> bytes | None:
    """Return the hashes of messages of equal size.

    Return `None` if a block of a message is incomplete, or if its value is not below the field's order.
    """
    if size % BLOCK_SIZE:
        return None
    hashes = []
    for message in pieces(data, size):
        state = 0
        for block in pieces(message, BLOCK_SIZE):
            element = int.from_bytes(block)
            if element >= MIMC_ORDER:
                return None
            x = element
            for constant in round_constants():
                x = pow(x + state + constant, 17, MIMC_ORDER)
            state = (x + 2 * state + element) % MIMC_ORDER
        hashes.append(state.to_bytes(BLOCK_SIZE))
    return b"".join(hashes)


DIGESTS = {"poseidon2": poseidon2_digests, "mimc": mimc_digests}


def _permutation(states: Elements) -> Elements:
    """Return the permuted states, one in each column."""
    states = EXTERNAL @ states % P
    for keys in round_keys():
        cubes = (states[: len(keys)] + np.array(keys, dtype=np.uint64)[:, None]) % P
        cubes = cubes * cubes % P * cubes % P
        if len(keys) == WIDTH:
            states = EXTERNAL @ cubes % P
        else:
            states[:1] = cubes
            states = (np.add.reduce(states) + DIAGONAL[:, None] * states) % P
    return states
