"""The sparse Merkle tree: a naive twin, many changes at once, and what is refused."""

from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from feemodel.ledger import Store
from feemodel.ledger.rows import Leaf, entries_of, height_of
from feemodel.ledger.scheme import DEPTH, NOTHING, POSEIDON2, SCHEMES
from feemodel.ledger.tree import Change, Edit, Tree, update_trees
from tests.helpers.execution_engines import HAS_NATIVE
from tests.helpers.trees import empty_tree, memory_rows, put, remove

schemes = pytest.mark.parametrize("hashing", list(SCHEMES))
small_keys = st.integers(1, 40)
fewer = settings(max_examples=20 if HAS_NATIVE else 4)  # each key that is put or removed hashes forty nodes


def key_of(scheme, number):
    return scheme.digest(number.to_bytes(32))


def naive_root(scheme, slots, next_free):
    """The root from the whole list of leaves: {index: (hkey, hval)} without head and tail."""
    order = [(NOTHING, 0), *sorted((hkey, index) for index, (hkey, _) in slots.items()), (scheme.tail_key, 1)]
    values = {0: NOTHING, 1: NOTHING} | {index: hval for index, (_, hval) in slots.items()}
    level = [NOTHING] * next_free
    for place, (hkey, index) in enumerate(order):
        previous = order[place - 1][1] if place else 0
        following = order[place + 1][1] if place + 1 < len(order) else 1
        level[index] = scheme.digest(scheme.leaf(Leaf(hkey, previous, following, values[index], b"")))
    for height in range(DEPTH):
        level += [scheme.zeros[height]] * (len(level) % 2)
        level = [scheme.digest(level[i] + level[i + 1]) for i in range(0, len(level), 2)]
    return scheme.digest(scheme.top(next_free, level[0]))


@fewer
@given(st.lists(st.tuples(small_keys, st.integers(0, 3), st.booleans()), max_size=40))
def test_the_root_is_that_of_the_whole_list_of_leaves(operations):
    """Whenever it is read, however many changes lie between: value 0 removes."""
    scheme, tree = POSEIDON2, empty_tree()
    slots, next_free = {}, 2
    for number, value, read in operations:
        hkey, hval = key_of(scheme, number), key_of(scheme, 1000 + value)
        index = next((index for index, (present, _) in slots.items() if present == hkey), None)
        if value:
            put(tree, hkey, hval)
            if index is None:
                index, next_free = next_free, next_free + 1
            slots[index] = hkey, hval
        elif index is not None:
            remove(tree, hkey)
            del slots[index]
        if read:
            assert tree.root == naive_root(scheme, slots, next_free)
    assert tree.root == naive_root(scheme, slots, next_free)
    assert tree.next_free == next_free


def indices(tree, hkeys):
    """The indices of the leaves that prove each key."""
    return [tuple(leaf.leaf_index for leaf in found) for found in tree.prove(hkeys)]


@fewer
@given(rounds=st.lists(st.dictionaries(st.integers(0, 60), st.integers(0, 2), max_size=40), max_size=5))
@example(
    rounds=[dict.fromkeys(range(260), 1), dict.fromkeys(range(0, 260, 8), 0)]
)  # three levels of nodes and of pages
def test_edits_at_once_are_as_one_by_one_in_the_order_of_the_keys(rounds):
    """0 removes, 1 puts, 2 removes and puts again, so that the key gets a new leaf."""
    scheme, together, alone = POSEIDON2, empty_tree(), empty_tree()
    for number, changes in enumerate(rounds):
        edits = []
        for hkey, kind in sorted((key_of(scheme, key), kind) for key, kind in changes.items()):
            new, present = Edit(hkey, key_of(scheme, number)), bool(alone.get([hkey]))
            steps = [Edit(hkey, None)] if kind == 0 else [new] if kind == 1 else [Edit(hkey, None), new]
            edits += [edit for edit in steps if present or edit.hval]
        for edit in edits:
            if edit.hval is None:
                remove(alone, edit.hkey)
            else:
                put(alone, *edit)
        update_trees([Change(together, edits)])
        assert together.root == alone.root
        assert together.next_free == alone.next_free
    asked = [key_of(scheme, number) for number in range(261)]
    assert together.prove(asked) == alone.prove(asked)


@schemes
@pytest.mark.parametrize("next_free", [2, 2**33, 2**DEPTH - 30])
def test_proofs_hold_whatever_height_the_tree_has(hashing, next_free, tmp_path):
    with Store(tmp_path / "ledger.db", hashing=hashing) as store, store.transaction():
        tree, scheme = Tree(store.rows), store.scheme
        tree.version = tree.version._replace(next_free=next_free)  # as if so many keys had come and gone
        if next_free > 2:
            lower, digest = tree.version.node, tree.rows.node(tree.version.node, 1).digest
            for height in range(2, height_of(next_free) + 1):  # whose leftmost leaves are the ends
                [entry] = entries_of(digest, [lower])
                [entry] = tree.rows.add_nodes(height, [entry + tree.rows.empty_node(height)[len(entry) :]])
                lower, digest = int.from_bytes(entry[32:]), entry[:32]
            tree.version = tree.version._replace(node=lower)
        hkeys = [key_of(scheme, number) for number in range(40)]
        for hkey in hkeys[:30]:
            put(tree, hkey, scheme.word_hash(hkey), hkey)
        for hkey in hkeys[:30:3]:
            remove(tree, hkey)
        assert [len(pair) for pair in indices(tree, hkeys)] == [2, 1, 1] * 10 + [2] * 10
        for proven in (leaf for found in tree.prove(hkeys) for leaf in found):
            index, digest = proven.leaf_index, scheme.digest(proven.entries[-1])
            for height, sibling in enumerate(reversed(proven.entries[1:-1])):
                beside = NOTHING if height == 0 and sibling == NOTHING else scheme.digest(sibling)
                digest = scheme.digest(beside + digest if index >> height & 1 else digest + beside)
            assert proven.entries[0] == scheme.top(tree.next_free, digest)
        assert scheme.digest(scheme.top(tree.next_free, digest)) == tree.root


def test_keys_that_begin_alike_are_told_apart(tmp_path):
    first = b"\x11" * 32
    hkeys = [first, *(bytes.fromhex(f"{first.hex()[:place]}2{first.hex()[place + 1 :]}") for place in range(64))]
    tree = empty_tree()
    for hkey in hkeys:
        put(tree, hkey, NOTHING)
    assert indices(tree, hkeys) == [(2 + place,) for place in range(65)]
    assert all(len(pair) == 2 for pair in indices(tree, [bytes.fromhex(hkey.hex()[:-1] + "3") for hkey in hkeys]))


def test_rows_that_were_undone_are_not_kept(tmp_path):
    """Their numbers are given again, to other rows."""
    hkeys = [key_of(POSEIDON2, number) for number in range(50)]
    with Store(tmp_path / "ledger.db") as store:
        for order in (hkeys, hkeys[::-1]):
            in_file, alone = Tree(store.rows), empty_tree()
            with suppress(ZeroDivisionError), store.transaction():
                for tree in (in_file, alone):
                    for hkey in order:
                        put(tree, hkey, NOTHING)
                assert in_file.prove(hkeys) == alone.prove(hkeys)
                raise ZeroDivisionError


def test_trees_updated_together_are_as_if_alone():
    rows = memory_rows(POSEIDON2)
    together, alone = [Tree(rows) for _ in range(5)], [empty_tree() for _ in range(5)]
    for sizes in ((0, 1, 20, 300, 2), (5, 40, 21, 0, 17)):
        changes = []
        for place, (one, other) in enumerate(zip(together, alone, strict=True)):
            hkeys = sorted(key_of(POSEIDON2, number) for number in range(sizes[place]))
            edits = [Edit(hkey, key_of(POSEIDON2, place)) for hkey in hkeys]
            changes.append(Change(one, edits))
            for edit in edits:
                put(other, *edit)
        update_trees(changes)
        assert [tree.root for tree in together] == [tree.root for tree in alone]


def test_the_sibling_of_a_deleted_leaf_is_empty_in_a_proof():
    """Production gave a stale leaf there before 2.2.2."""
    tree = empty_tree()
    for number in (1, 2):
        put(tree, key_of(POSEIDON2, number), NOTHING)
    assert tree.prove([key_of(POSEIDON2, 2)])[0][0].entries[DEPTH] != NOTHING
    remove(tree, key_of(POSEIDON2, 1))
    assert tree.prove([key_of(POSEIDON2, 2)])[0][0].entries[DEPTH] == NOTHING
