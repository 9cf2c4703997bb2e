"""MiMC over the scalar field of BLS12-377: the hash of the rollup's state tree until March 2026.

A message is a row of 32-byte big-endian field elements. Each is encrypted under the state and added to it
(Miyaguchi-Preneel): `x = m; for c in constants: x = (x + h + c)**17; h' = x + 2·h + m`.

Source: `Mimc.sol` of Consensys/linea-monorepo and `LibGnark` of hyperledger/besu-native at 8f75d567.
"""

from collections.abc import Sequence
from functools import cache

from Crypto.Hash import keccak

from feemodel.errors import InvalidInput

FIELD = 8444461749428370424248824938781546531375899335154063827935233455917409239041
ROUNDS = 62
EXPONENT = 17
SEED = b"seed"
BLOCK_SIZE = 32  # bytes


def digest(data: bytes) -> bytes:
    """The hash of a message.

    Parameters
    ----------
    data : [bytes] a multiple of 32; each block an element below the field's order.

    Raises `InvalidInput` for another length, or an element that is not below the order.

    >>> digest(bytes(32)).hex()
    '0134373b65f439c874734ff51ea349327c140cde2e47a933146e6f9f2ad8eb17'
    """
    if len(data) % BLOCK_SIZE:
        raise InvalidInput("data", "expected a multiple of 32 bytes", len(data))
    state = 0
    for start in range(0, len(data), BLOCK_SIZE):
        element = int.from_bytes(data[start : start + BLOCK_SIZE])
        if element >= FIELD:
            raise InvalidInput("data", "expected elements below the order of the BLS12-377 scalar field", hex(element))
        encrypted = element
        for constant in round_constants():
            encrypted = pow(encrypted + state + constant, EXPONENT, FIELD)
        state = (encrypted + 2 * state + element) % FIELD
    return state.to_bytes(BLOCK_SIZE)


def digests(data: bytes, size: int) -> bytes:
    """The 32-byte hashes of many messages of `size` bytes each, one after the other.

    >>> digests(bytes(64), 32) == 2 * digest(bytes(32))
    True
    """
    if size < 1 or len(data) % size:
        raise InvalidInput("data", f"expected whole messages of {size:,} bytes", len(data))
    return b"".join(digest(data[start : start + size]) for start in range(0, len(data), size))


def first_wrong(messages: Sequence[bytes], digests: Sequence[bytes]) -> int | None:
    """The first of many messages, of any lengths, whose hash is not the given one; `None` where all are.

    >>> first_wrong([bytes(32), bytes(64)], [digest(bytes(32)), bytes(32)])
    1
    """
    for place, (message, expected) in enumerate(zip(messages, digests, strict=True)):
        try:
            if not message or digest(message) != expected:
                return place
        except InvalidInput:  # no message of the tree
            return place
    return None


@cache
def round_constants() -> tuple[int, ...]:
    """The 62 constants: Keccak-256 of the seed, hashed again and again, modulo the order."""
    constants, state = [], keccak.new(digest_bits=256, data=SEED).digest()
    for _ in range(ROUNDS):
        state = keccak.new(digest_bits=256, data=state).digest()
        constants.append(int.from_bytes(state) % FIELD)
    return tuple(constants)
