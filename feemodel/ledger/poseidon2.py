"""Poseidon2 over the KoalaBear field: the hash of the rollup's state tree.

A message is cut into blocks of 32 bytes, eight big-endian elements each; a short last block is padded with zeros on
the left. Each block is compressed into the state of eight elements: `state = permutation(state ‖ block)[8:] + block`.

Source: `Poseidon2.sol` of Consensys/linea-monorepo at cb180134 (2026-06), `field/koalabear/poseidon2` of
Consensys/gnark-crypto at e07d4d57; "Poseidon2: A Faster Version of the Poseidon Hash Function" (eprint 2023/323).
"""

from collections.abc import Iterator
from itertools import chain, islice

import numpy as np
from Crypto.Hash import keccak
from numpy.typing import NDArray

from feemodel.checks import raise_first
from feemodel.errors import InvalidInput

P = 2**31 - 2**24 + 1
WIDTH = 16
FULL_ROUNDS = 6
PARTIAL_ROUNDS = 21
SEED = b"Poseidon2-koalabear[t=16,rF=6,rP=21,d=3]"
BLOCK_SIZE = 32  # bytes


def digest(data: bytes) -> bytes:
    """The hash of a message.

    Parameters
    ----------
    data : [bytes] of any length; each four bytes from the end are an element and must be below P.

    Raises `InvalidInput` for an element that is not below P.

    >>> digest(bytes(32)).hex()
    '0656ab853b3f52840362a8177e217b630c3f876b11e848365145aa24220647fc'
    """
    return digests(data, len(data)) if data else bytes(BLOCK_SIZE)


def digests(data: bytes, size: int) -> bytes:
    """The hashes of many messages of one size.

    Parameters
    ----------
    data : [bytes] the messages, one after the other.
    size : [bytes] of one message, at least 1.

    Returns the 32-byte hashes, one after the other.

    >>> digests(bytes(64), 32) == 2 * digest(bytes(32))
    True
    """
    if size < 1 or len(data) % size:
        raise InvalidInput("data", f"expected whole messages of {size:,} bytes", len(data))
    padding = -size % BLOCK_SIZE
    if padding:
        data = _padded_last_blocks(data, size, padding)
    messages = np.frombuffer(data, dtype=">u4").astype(np.uint32).reshape(-1, (size + padding) // 4)
    result, largest = _absorbed(messages)
    if largest >= P:
        raise_first("data", f"expected elements below {P:,}", messages, messages >= P)
    return result.astype(">u4").tobytes()


def round_keys() -> list[list[int]]:
    """The keys of the 27 rounds: sixteen in a full round, one in a partial round; each Keccak-256 of the one before.

    >>> keys = round_keys()
    >>> len(keys), keys[3], keys[23]
    (27, [271263440], [1053550888])
    """
    half = FULL_ROUNDS // 2
    keys = _keys()
    sizes = chain([WIDTH] * half, [1] * PARTIAL_ROUNDS, [WIDTH] * half)
    return [list(islice(keys, size)) for size in sizes]


def _keys() -> Iterator[int]:
    state = keccak.new(digest_bits=256, data=SEED).digest()
    while True:
        state = keccak.new(digest_bits=256, data=state).digest()
        yield int.from_bytes(state) % P


def _padded_last_blocks(data: bytes, size: int, padding: int) -> bytes:
    messages = np.frombuffer(data, dtype=np.uint8).reshape(-1, size)
    whole = size - size % BLOCK_SIZE
    zeros = np.zeros((len(messages), padding), dtype=np.uint8)
    return np.concatenate([messages[:, :whole], zeros, messages[:, whole:]], axis=1).tobytes()


def _absorbed(messages: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], int]:
    from feemodel.ledger.poseidon2_kernel import absorb  # compiled when the first hash is asked for

    return absorb(messages)
