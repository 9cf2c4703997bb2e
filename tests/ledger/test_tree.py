"""The sparse Merkle tree: published roots, a naive twin, the genesis built at once, and what is refused."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from feemodel.errors import InvalidInput
from feemodel.ledger import Store, Tree
from feemodel.ledger import _genesis as genesis
from feemodel.ledger._genesis import _Chunk, _fill
from feemodel.ledger._scheme import DEPTH, MIMC, NOTHING, POSEIDON2, SCHEMES
from feemodel.ledger._tree import save_all
from tests.helpers.memory_rows import MemoryRows

RAW_58_42 = {  # shomei ZKTrieTest at 3f47bed and 2.3.0: key 58 with value 42, hashed raw
    "poseidon2": (
        "50b4bb9d2b4c917f48ca9465613d7efe092934a95bcdc7a004ef3a6b7900fd5b",
        "7a5cf31710a49b59489deb53505a3d5458625ef01b33914d0d784380464177ad",
    ),
    "mimc": (
        "0882afe875656680dceb7b17fcba7c136cec0c32becbe9039546c79f71c56d36",
        "0cfdc3990045390093be4e1cc9907b220324cccd1c8ea9ede980c7afa898ef8d",
    ),
}
EMPTY_ROOTS = {
    "poseidon2": "2fa0344a2fab2b310d2af3155c330261263f887379aef18b4941e3ea1cc59df7",
    "mimc": "07977874126658098c066972282d4c85f230520af3847e297fe7524f976873e5",
}
ROOTS_AFTER_INSERT_AND_DELETE = {
    "poseidon2": "391010e55fad441a1e3a33b11fb8271f68e86b6c1812ebd402d678d343fded62",
    "mimc": "0bcb88342825fa7a079a5cf5f77d07b1590a140c311a35acd765080eea120329",
}
schemes = pytest.mark.parametrize("hashing", list(SCHEMES))
small_keys = st.integers(1, 40)


def key_of(scheme, number):
    return scheme.digest(number.to_bytes(32))


def chunk_of(items):
    hkeys, hvals, values, names = zip(*items, strict=True)
    joined = (np.frombuffer(b"".join(hashes), dtype=np.uint8).reshape(-1, 32) for hashes in (hkeys, hvals))
    return _Chunk(*joined, values, names)


def naive_root(scheme, slots, next_free):
    """The root from the whole list of leaves: {index: (hkey, hval)} without head and tail."""
    order = [(NOTHING, 0), *sorted((hkey, index) for index, (hkey, _) in slots.items()), (scheme.tail_key, 1)]
    values = {0: NOTHING, 1: NOTHING} | {index: hval for index, (_, hval) in slots.items()}
    level = [NOTHING] * next_free
    for place, (hkey, index) in enumerate(order):
        previous = order[place - 1][1] if place else 0
        following = order[place + 1][1] if place + 1 < len(order) else 1
        level[index] = scheme.digest(scheme.leaf(previous, following, hkey, values[index]))
    for height in range(DEPTH):
        level += [scheme.zeros[height]] * (len(level) % 2)
        level = [scheme.node(level[i], level[i + 1]) for i in range(0, len(level), 2)]
    return scheme.digest(scheme.top(next_free, level[0]))


@schemes
def test_published_roots(hashing):
    tree = Tree(hashing)
    assert tree.root.hex() == EMPTY_ROOTS[hashing]
    hkey = key_of(tree.scheme, 58)
    tree.put(hkey, key_of(tree.scheme, 42))
    assert (tree.version.sub_root.hex(), tree.root.hex()) == RAW_58_42[hashing]
    assert tree.next_free == 3
    tree.remove(hkey)
    assert tree.version.sub_root == tree.scheme.empty_sub_root
    assert tree.root.hex() == ROOTS_AFTER_INSERT_AND_DELETE[hashing]
    assert tree.next_free == 3


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(small_keys, st.integers(0, 3), st.booleans()), max_size=40))
def test_the_root_is_that_of_the_whole_list_of_leaves(operations):
    """Whenever it is read, however many changes lie between: value 0 removes."""
    scheme, tree = POSEIDON2, Tree()
    slots, next_free = {}, 2
    for number, value, read in operations:
        hkey, hval = key_of(scheme, number), key_of(scheme, 1000 + value)
        index = next((index for index, (present, _) in slots.items() if present == hkey), None)
        if value:
            tree.put(hkey, hval)
            if index is None:
                index, next_free = next_free, next_free + 1
            slots[index] = hkey, hval
        elif index is not None:
            tree.remove(hkey)
            del slots[index]
        if read:
            assert tree.root == naive_root(scheme, slots, next_free)
    assert tree.root == naive_root(scheme, slots, next_free)
    assert tree.next_free == next_free


@settings(max_examples=25, deadline=None)
@given(count=st.integers(0, 70), chunk=st.integers(1, 30))
@example(count=1_100, chunk=1_000)  # three levels of subtrees
def test_a_tree_built_at_once_equals_the_one_built_key_by_key(count, chunk):
    scheme = POSEIDON2
    items = sorted((key_of(scheme, n), key_of(scheme, n + 500), bytes(32), n.to_bytes(2)) for n in range(count))
    grown = Tree()
    for item in items:
        grown.put(*item)
    rows = MemoryRows(scheme)
    chunks = [chunk_of(items[i : i + chunk]) for i in range(0, count, chunk)]
    built = Tree(rows=rows, version=_fill(rows, scheme, chunks, count))
    assert built.root == grown.root
    for hkey in [hkey for hkey, *_ in items] + [key_of(scheme, 999)]:
        places = built.locate(hkey)
        assert places == grown.locate(hkey)
        assert built.proven_leaves(places) == grown.proven_leaves(places)
    for tree in (built, grown):  # and both go on alike
        for hkey, *_ in items[::3]:
            tree.remove(hkey)
        tree.put(key_of(scheme, 999), NOTHING)
    assert built.root == grown.root


@pytest.mark.parametrize("together", [1, 3, 65_536])
def test_an_index_built_at_once_is_that_of_keys_put_one_by_one_at_every_depth(monkeypatch, together):
    """Keys that begin alike, read in parts that end within a branch, at its end or never."""
    monkeypatch.setattr(genesis, "KEYS_READ", together)
    first = b"\x11" * 32
    alike = [
        bytes.fromhex(f"{first.hex()[:place]}{digit}{first.hex()[place + 1 :]}")
        for place in range(64)
        for digit in "25"
    ]
    hkeys = sorted([first, *alike, *(key_of(POSEIDON2, number) for number in range(40))])
    grown, rows = Tree(), MemoryRows(POSEIDON2)
    for number, hkey in enumerate(hkeys):
        grown.put(hkey, NOTHING, name=number.to_bytes(2))
    items = [(hkey, NOTHING, b"", number.to_bytes(2)) for number, hkey in enumerate(hkeys)]
    built = Tree(rows=rows, version=_fill(rows, POSEIDON2, [chunk_of(items[:50]), chunk_of(items[50:])], len(items)))

    assert built.root == grown.root
    absent = [bytes.fromhex(hkey.hex()[:-1] + "3") for hkey in hkeys]
    for hkey in [*hkeys, *absent]:
        assert grown.locate(hkey) == built.locate(hkey)


@schemes
@pytest.mark.parametrize("next_free", [2, 2**33, 2**DEPTH - 90])
def test_a_tree_in_a_file_is_walked_as_one_in_memory(hashing, next_free, tmp_path):
    """To every leaf, whatever height the tree has: up to the greatest, whose walk joins the most tables."""
    with Store(tmp_path / "ledger.db", hashing=hashing) as store, store.transaction():
        trees = Tree(hashing, rows=store.rows), Tree(hashing, rows=MemoryRows(store.scheme))
        hkeys = [key_of(store.scheme, number) for number in range(100)]
        for tree in trees:
            tree._next_free = next_free  # as if so many keys had come and gone
            for hkey in hkeys[:90]:
                tree.put(hkey, NOTHING, hkey)
            for hkey in hkeys[:90:3]:
                tree.remove(hkey)
        in_file, in_memory = trees
        for _ in range(2):  # what is not stored yet, then what is
            places = [in_file.locate(hkey) for hkey in hkeys]
            assert places == [in_memory.locate(hkey) for hkey in hkeys]
            for index in {index for pair in places for index in pair}:
                assert in_file.proven_leaves([index]) == in_memory.proven_leaves([index])
        assert [len(pair) for pair in places] == [2, 1, 1] * 30 + [2] * 10


def test_keys_that_begin_alike_are_told_apart_in_a_file_too(tmp_path):
    """However long: each key differs from the first in one digit, so that the index has a branch at every depth."""
    first = b"\x11" * 32
    hkeys = [first, *(bytes.fromhex(f"{first.hex()[:place]}2{first.hex()[place + 1 :]}") for place in range(64))]
    with Store(tmp_path / "ledger.db") as store:
        with store.transaction():
            tree = Tree(rows=store.rows)
            for hkey in hkeys:
                tree.put(hkey, NOTHING)
            store.save_trees([tree])
        assert [tree.locate(hkey) for hkey in hkeys] == [(2 + place,) for place in range(65)]
        with Store(store.path, read_only=True) as reader:  # which has read nothing before
            read = reader.tree(tree.root)
            assert [read.locate(hkey) for hkey in reversed(hkeys)] == [(2 + place,) for place in reversed(range(65))]
            absent = [bytes.fromhex(hkey.hex()[:-1] + "3") for hkey in hkeys]
            assert [read.locate(hkey) for hkey in absent] == [tree.locate(hkey) for hkey in absent]
            assert all(len(read.locate(hkey)) == 2 for hkey in absent)


def test_ways_that_were_undone_are_not_kept(tmp_path):
    """Their rows' numbers are given again, to other rows."""
    hkeys = [key_of(POSEIDON2, number) for number in range(5)]
    with Store(tmp_path / "ledger.db") as store:
        for order in (hkeys, hkeys[::-1]):
            trees = Tree(rows=store.rows), Tree(rows=MemoryRows(POSEIDON2))
            with suppress(ZeroDivisionError), store.transaction():
                for tree in trees:
                    tree._next_free = 2**33
                    for hkey in order:
                        tree.put(hkey, NOTHING)
                in_file, in_memory = (tree.proven_leaves([2**33 + place for place in range(5)]) for tree in trees)
                assert in_file == in_memory
                raise ZeroDivisionError


def test_trees_saved_together_are_as_if_saved_alone():
    rows = MemoryRows(POSEIDON2)
    together = [Tree(rows=rows) for _ in range(5)]
    alone = [Tree() for _ in range(5)]
    for place, trees in enumerate(zip(together, alone, strict=True)):
        for tree in trees:
            for number in range(place * 7):
                tree.put(key_of(POSEIDON2, number), key_of(POSEIDON2, place))
    save_all(together)
    assert [tree.root for tree in together] == [tree.root for tree in alone]


def test_an_old_version_stays_readable_while_the_tree_grows():
    rows = MemoryRows(POSEIDON2)
    tree = Tree(rows=rows)
    tree.put(key_of(POSEIDON2, 1), key_of(POSEIDON2, 10), b"ten")
    old = Tree(rows=rows, version=tree.version)
    for number in range(2, 30):
        tree.put(key_of(POSEIDON2, number), NOTHING)
    tree.remove(key_of(POSEIDON2, 1))
    assert tree.get(key_of(POSEIDON2, 1)) is None
    leaf = old.get(key_of(POSEIDON2, 1))
    assert leaf is not None
    assert leaf.value == b"ten"
    assert old.locate(key_of(POSEIDON2, 5)) in [(0, 2), (2, 1)]


def test_a_key_put_again_gets_a_new_leaf():
    tree, hkey = Tree(), key_of(POSEIDON2, 1)
    tree.put(hkey, NOTHING)
    assert tree.locate(hkey) == (2,)
    tree.remove(hkey)
    tree.put(hkey, NOTHING)
    assert tree.locate(hkey) == (3,)


def test_the_sibling_of_a_deleted_leaf_is_empty_in_a_proof():
    """Production gave a stale leaf there before 2.2.2."""
    tree = Tree()
    for number in (1, 2):
        tree.put(key_of(POSEIDON2, number), NOTHING)
    assert tree.proven_leaves([3])[0].related_nodes[DEPTH] != NOTHING
    tree.remove(key_of(POSEIDON2, 1))
    assert tree.proven_leaves([3])[0].related_nodes[DEPTH] == NOTHING


@pytest.mark.parametrize("hkey", [NOTHING, POSEIDON2.tail_key, b"\xff" * 32])
def test_the_keys_of_head_and_tail_are_not_for_use(hkey):
    with pytest.raises(InvalidInput, match="between the hashes of head and tail"):
        Tree().put(hkey, NOTHING)


@pytest.mark.parametrize("bad", [b"", bytes(31), bytes(33), "0" * 32])
def test_hashes_have_32_bytes(bad):
    with pytest.raises(InvalidInput, match="32 bytes"):
        Tree().put(bad, NOTHING)
    with pytest.raises(InvalidInput, match="32 bytes"):
        Tree().put(key_of(POSEIDON2, 1), bad)


def test_an_absent_key_cannot_be_removed():
    with pytest.raises(InvalidInput, match="a key of the tree"):
        Tree("mimc").remove(key_of(MIMC, 1))


def test_membership():
    tree, hkey = Tree(), key_of(POSEIDON2, 7)
    assert hkey not in tree
    tree.put(hkey, NOTHING)
    assert hkey in tree
