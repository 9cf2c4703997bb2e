"""The hash functions of the state tree in plain Python, for machines with neither the native package nor numba.

The functions follow the definitions directly, with Python integers. Tests compare the compiled functions with the
functions of this module.
"""

from functools import cache

from feemodel.ledger.hash_kernels import DIAGONAL, FULL_ROUNDS, PARTIAL_ROUNDS, WIDTH, round_constants, round_keys
from feemodel.ledger.hashing import BLOCK_SIZE, mimc, pieces, poseidon2

M4 = ((2, 3, 1, 1), (1, 2, 3, 1), (1, 1, 2, 3), (3, 1, 1, 2))
_diagonal = tuple(int(number) for number in DIAGONAL)
_keys = cache(round_keys)
_constants = cache(round_constants)


def poseidon2_digests(data: bytes, size: int) -> bytes | None:
    """Return the hashes of messages of equal size, or `None` if an element is not below the field's order."""
    hashes = []
    for message in pieces(data, size):
        state = [0] * (WIDTH // 2)
        for piece in pieces(message, BLOCK_SIZE):
            block = [int.from_bytes(element) for element in pieces(piece.rjust(BLOCK_SIZE, b"\0"), 4)]
            if max(block) >= poseidon2.order:
                return None
            mixed = _permutation(state + block)[WIDTH // 2 :]
            state = [(x + y) % poseidon2.order for x, y in zip(mixed, block, strict=True)]
        hashes.append(b"".join(element.to_bytes(4) for element in state))
    return b"".join(hashes)


def mimc_digests(data: bytes, size: int) -> bytes | None:
    """Return the hashes of messages of equal size.

    Return `None` if a block of a message is incomplete, or if its value is not below the field's order.
    """
    hashes = []
    for message in pieces(data, size):
        state = 0
        for block in pieces(message, BLOCK_SIZE):
            element = int.from_bytes(block)
            if len(block) < BLOCK_SIZE or element >= mimc.order:
                return None
            x = element
            for constant in _constants():
                x = pow(x + state + constant, 17, mimc.order)
            state = (x + 2 * state + element) % mimc.order
        hashes.append(state.to_bytes(BLOCK_SIZE))
    return b"".join(hashes)


def _permutation(state: list[int]) -> list[int]:
    order = poseidon2.order
    state = _external(state)
    for number, keys in enumerate(_keys()):
        if FULL_ROUNDS // 2 <= number < FULL_ROUNDS // 2 + PARTIAL_ROUNDS:
            state = _internal([pow(state[0] + keys[0], 3, order), *state[1:]])
        else:
            state = _external([pow(x + key, 3, order) for x, key in zip(state, keys, strict=True)])
    return state


def _external(state: list[int]) -> list[int]:
    mixed: list[int] = []
    for group in range(0, WIDTH, 4):
        mixed += [sum(factor * state[group + i] for i, factor in enumerate(row)) for row in M4]
    return [(mixed[i] + sum(mixed[i % 4 :: 4])) % poseidon2.order for i in range(WIDTH)]


def _internal(state: list[int]) -> list[int]:
    total = sum(state)
    return [(total + factor * x) % poseidon2.order for factor, x in zip(_diagonal, state, strict=True)]
