"""Roots of tries and bloom filters of logs, as the executable specification computes them."""

import random

import pytest
from ethereum.forks.osaka.blocks import Log
from ethereum.forks.osaka.bloom import logs_bloom as specified_bloom
from ethereum.forks.osaka.trie import Trie, root, trie_set
from ethereum_rlp import rlp
from ethereum_types.bytes import Bytes, Bytes20, Bytes32
from ethereum_types.numeric import Uint

from feemodel.ethereum._trie import logs_bloom, ordered_trie_root, trie_root


def specified(values):
    trie = Trie(secured=False, default=None)
    for key, value in values.items():
        trie_set(trie, Bytes(key), Bytes(value))
    return bytes(root(trie))


@pytest.mark.parametrize("size", [1, 2, 17, 300])
def test_roots_are_those_of_the_specification(size):
    """Short values stand in their parents, long ones are hashed; few different bytes make long common paths."""
    rng = random.Random(size)
    for length in (1, 40):
        values = {
            bytes(rng.choice(b"\0\x10\xff") for _ in range(6)): rng.randbytes(rng.randrange(1, 1 + length))
            for _ in range(size)
        }
        assert trie_root(values) == specified(values)


@pytest.mark.parametrize("count", [0, 1, 2, 127, 129, 300])
def test_places_are_keys_in_rlp(count):
    values = [place.to_bytes(2) * 20 for place in range(count)]
    keyed = {rlp.encode(Uint(place)): value for place, value in enumerate(values)}
    assert ordered_trie_root(values) == specified(keyed)


def test_blooms_are_those_of_the_specification():
    rng = random.Random(3)
    logs = [(rng.randbytes(20), [rng.randbytes(32) for _ in range(rng.randrange(5))]) for _ in range(9)]
    given = tuple(Log(Bytes20(address), tuple(map(Bytes32, topics)), Bytes(b"")) for address, topics in logs)

    assert logs_bloom(logs) == bytes(specified_bloom(given))
