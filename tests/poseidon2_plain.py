"""Poseidon2 over KoalaBear written down from its definition, in whole numbers: what the compiled hashes must equal."""

from feemodel.ledger._hash_kernels import FULL_ROUNDS, PARTIAL_ROUNDS, round_keys
from feemodel.ledger.hashing import poseidon2

M4 = ((2, 3, 1, 1), (1, 2, 3, 1), (1, 1, 2, 3), (3, 1, 1, 2))
ROUND_KEYS = round_keys()
P = poseidon2.order


def _fraction(numerator, power_of_two):
    return numerator * pow(2**power_of_two, -1, P) % P


DIAGONAL = (
    -2, 1, 2, _fraction(1, 1), 3, 4, _fraction(-1, 1), -3, -4, _fraction(1, 8), _fraction(1, 3), _fraction(1, 24),
    _fraction(-1, 8), _fraction(-1, 3), _fraction(-1, 4), _fraction(-1, 24),
)  # fmt: skip


def external(state):
    mixed = []
    for group in range(0, 16, 4):
        mixed += [sum(factor * state[group + i] for i, factor in enumerate(row)) for row in M4]
    return [(mixed[i] + sum(mixed[i % 4 :: 4])) % P for i in range(16)]


def internal(state):
    total = sum(state)
    return [(total + factor * x) % P for factor, x in zip(DIAGONAL, state, strict=True)]


def permutation(state):
    state = external(state)
    for number, keys in enumerate(ROUND_KEYS):
        if FULL_ROUNDS // 2 <= number < FULL_ROUNDS // 2 + PARTIAL_ROUNDS:
            state = internal([pow(state[0] + keys[0], 3, P), *state[1:]])
        else:
            state = external([pow(x + key, 3, P) for x, key in zip(state, keys, strict=True)])
    return state


def digest(data):
    state = [0] * 8
    for start in range(0, len(data), 32):
        block = data[start : start + 32].rjust(32, b"\0")
        elements = [int.from_bytes(block[i : i + 4]) for i in range(0, 32, 4)]
        state = [(x + y) % P for x, y in zip(permutation(state + elements)[8:], elements, strict=True)]
    return b"".join(x.to_bytes(4) for x in state)
