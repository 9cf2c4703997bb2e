"""Poseidon2 over the KoalaBear field: the hash of the rollup's state tree.

A message is cut into blocks of 32 bytes, eight big-endian elements each; a short last block is padded with zeros on
the left. Each block is compressed into the state of eight elements: `state = permutation(state ‖ block)[8:] + block`.

Source: `Poseidon2.sol` of Consensys/linea-monorepo at cb180134 (2026-06), `field/koalabear/poseidon2` of
Consensys/gnark-crypto at e07d4d57; "Poseidon2: A Faster Version of the Poseidon Hash Function" (eprint 2023/323).
"""

import struct
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, islice
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
from Crypto.Hash import keccak
from numpy.typing import NDArray

from feemodel.checks import raise_first
from feemodel.errors import InvalidInput

if TYPE_CHECKING:
    from feemodel.ledger.scheme import StoredPath

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
        messages = np.frombuffer(data, dtype=np.uint8).reshape(-1, size)
        whole = size - size % BLOCK_SIZE
        zeros = np.zeros((len(messages), padding), dtype=np.uint8)
        data = np.concatenate([messages[:, :whole], zeros, messages[:, whole:]], axis=1).tobytes()
    result: NDArray[np.uint8] | None = _kernel().absorb(np.frombuffer(data, dtype=np.uint8), size + padding)
    if result is None:
        elements = np.frombuffer(data, dtype=">u4").reshape(-1, (size + padding) // 4)
        raise_first("data", f"expected elements below {P:,}", elements, elements >= P)
    return result.tobytes()


def path_roots(nodes: bytes, siblings: bytes, indices: Sequence[int]) -> bytes:
    """The hashes at the tops of paths through a tree, each of them the hash of two below it.

    Parameters
    ----------
    nodes : [bytes] the 32-byte hashes that the paths begin with, one after the other.
    siblings : [bytes] the sibling hashes of each path from its lowest up, one path after the other, all of one length.
    indices : of the nodes, counted along their level; the lowest bit is 1 where the first sibling is on the left.

    Returns the 32-byte hashes, one after the other.

    Raises `InvalidInput` for an element that is not below P, or other than whole hashes for each path.

    >>> path_roots(bytes(32), bytes(64), [2]) == digest(bytes(32) + digest(bytes(64)))
    True
    """
    if not indices or len(nodes) != BLOCK_SIZE * len(indices):
        raise InvalidInput(
            "nodes", f"expected a hash of {BLOCK_SIZE} bytes for each of {len(indices)} paths", len(nodes)
        )
    if len(siblings) % len(nodes):
        raise InvalidInput("siblings", f"expected as many hashes for each of {len(indices)} paths", len(siblings))
    hashes = np.frombuffer(nodes, dtype=">u4").reshape(len(indices), -1)
    sibling_hashes = np.frombuffer(bytearray(siblings), dtype=">u4").reshape(len(indices), -1, BLOCK_SIZE // 4)
    for name, elements in (("nodes", hashes), ("siblings", sibling_hashes)):
        if elements.size and elements.max() >= P:
            raise_first(name, f"expected elements below {P:,}", elements, elements >= P)
    tops: NDArray[np.uint8] = _kernel().path_roots(
        hashes.view(np.uint8).ravel(), sibling_hashes.view(np.uint8).ravel(), np.array(indices, dtype=np.int64)
    )
    return tops.tobytes()


def first_wrong(messages: Sequence[bytes], digests: Sequence[bytes]) -> int | None:
    """The first of many messages, of any lengths, whose hash is not the given one; `None` where all are.

    >>> first_wrong([bytes(32), bytes(64)], [digest(bytes(32)), bytes(32)])
    1
    """
    sizes = [len(message) for message in messages]
    for place, size in enumerate(sizes):
        if size % BLOCK_SIZE or not size or len(digests[place]) != BLOCK_SIZE:
            return place
    data = np.frombuffer(b"".join([*messages, *digests]), dtype=np.uint8)
    first: int = _kernel().first_wrong(data, np.array(sizes, dtype=np.int64))
    return first if first < len(messages) else None


def paths_hold(paths: Sequence["StoredPath"], values: Sequence[bytes]) -> bool:
    """`Scheme.paths_hold` in one compiled call.

    >>> from feemodel.ledger.scheme import StoredPath
    >>> below = digest(bytes(192)) + bytes(32)
    >>> path = StoredPath(digest(below), 0, [below], [], bytes(192), b"", digest(bytes(32)))
    >>> paths_hold([path], [bytes(32)]), paths_hold([path], [bytes(64)])
    (True, False)
    """
    numbers: list[int] = []
    parts: list[bytes] = [b""]
    size = 0
    for (top, index, nodes, siblings, leaf, sibling, hval), value in zip(paths, values, strict=True):
        height, leaf_size, sibling_size, value_size = len(nodes), len(leaf), len(sibling), len(value)
        if len(siblings) != height - 1 or not leaf or (leaf_size | sibling_size | value_size) % BLOCK_SIZE:
            return False
        numbers += (height, index & (1 << height) - 1, leaf_size, sibling_size, value_size)
        parts += (top, *nodes, *siblings, leaf, sibling, hval, value)
        size += 4 * BLOCK_SIZE * height + leaf_size + sibling_size + value_size
    parts[0] = struct.pack(f">{len(numbers)}I", *numbers)
    data = b"".join(parts)
    if len(data) != len(parts[0]) + size:
        return False
    holds: bool = _kernel().paths_hold(np.frombuffer(data, dtype=np.uint8), len(paths))
    return holds


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


@cache
def _kernel() -> ModuleType:
    """Compiled when the first hash is asked for."""
    from feemodel.ledger import poseidon2_kernel

    return poseidon2_kernel
