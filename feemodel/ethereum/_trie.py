"""Merkle Patricia trie of block headers, and bloom filter of logs.

Each nibble of a key selects a child of a branch node. A leaf node is [compact path, value], and an extension node is
[compact path, child]; a branch node has 16 children and a value. A child whose RLP is shorter than 32 bytes is embedded
in its parent; any other child is referenced by its hash.

Source: the Yellow Paper, appendices C and D, section 4.3.1.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ethereum_rlp import rlp

from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._quantities import minimal_bytes

EMPTY_TRIE = bytes.fromhex("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421")
EMPTY_UNCLES = bytes.fromhex("1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347")
EMPTY_REQUESTS = bytes.fromhex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")  # SHA-256 of b""
BLOOM_BYTES = 256


def trie_root(values: Mapping[bytes, bytes]) -> bytes:
    """Return the root of a trie, 32 bytes. No key may be a prefix of another, and no value may be empty.

    The root of one entry is the hash of its leaf, [0x20 ‖ key, value]:

    >>> trie_root({}) == EMPTY_TRIE, trie_root({b"k": b"v"}) == keccak256(rlp.encode([b"\\x20k", b"v"]))
    (True, True)
    """
    pairs = sorted((key.hex(), value) for key, value in values.items())
    return keccak256(rlp.encode(_node(pairs, 0)))


def ordered_trie_root(values: Sequence[bytes]) -> bytes:
    """Return the root of a trie whose keys are the indices of its values, as for transactions and receipts.

    >>> ordered_trie_root([]) == EMPTY_TRIE
    True
    """
    return trie_root({rlp.encode(minimal_bytes(index)): value for index, value in enumerate(values)})


def _node(pairs: Sequence[tuple[str, bytes]], depth: int) -> Any:
    """Return the node for (key, value) pairs sorted by key; all keys share their first `depth` hexadecimal digits."""
    if not pairs:
        return b""
    first, last = pairs[0][0], pairs[-1][0]
    if len(pairs) == 1:
        return [_compact(first[depth:], leaf=True), pairs[0][1]]
    shared = depth
    while first[shared] == last[shared]:
        shared += 1
    if shared > depth:
        return [_compact(first[depth:shared], leaf=False), _reference(_node(pairs, shared))]
    below: list[list[tuple[str, bytes]]] = [[] for _ in range(16)]
    for pair in pairs:
        below[int(pair[0][depth], 16)].append(pair)
    return [*(_reference(_node(part, depth + 1)) for part in below), b""]


def _reference(node: Any) -> Any:
    encoded = rlp.encode(node)
    return node if len(encoded) < 32 else keccak256(encoded)


def _compact(digits: str, *, leaf: bool) -> bytes:
    flag = 2 * leaf + len(digits) % 2
    return bytes.fromhex(f"{flag}{digits}" if len(digits) % 2 else f"{flag}0{digits}")


def logs_bloom(logs: Iterable[tuple[bytes, Sequence[bytes]]]) -> bytes:
    """Return the bloom filter of logs, 256 bytes: three bits for each address and for each topic.

    Parameters
    ----------
    logs : address and topics of each log.

    keccak256 of 20 zero bytes begins 5380c7b7ae81: bits 0x380, 0x7b7 and 0x681.

    >>> int.from_bytes(logs_bloom([(bytes(20), [])])) == 1 << 0x380 | 1 << 0x7B7 | 1 << 0x681
    True
    """
    bits = 0
    for address, topics in logs:
        for item in (address, *topics):
            digest = keccak256(item)
            for index in (0, 2, 4):
                bits |= 1 << (int.from_bytes(digest[index : index + 2]) & 0x7FF)
    return bits.to_bytes(BLOOM_BYTES)
