"""Sparse Merkle tree of depth 40, whose leaves form a linked list sorted by key.

A new key gets the next free leaf index, and the links of the two neighbouring leaves are updated. Leaf indices are
never reused, so the root depends on the order of insertions. Two leaves that are linked as neighbours prove that the
tree has no key between their keys.

An update takes sorted edits. It finds the leaves of the keys in the sorted index, links the new leaves, and hashes each
changed node once, level by level, in one batch for all trees of a block. A genesis is such an update of empty trees.

Only the nodes that cover a used leaf are stored: above the top node, each path follows the left edge of the tree, and
each sibling is empty.

Source: `ZKTrie` of Consensys/shomei at 3f47bed.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from feemodel.errors import InvalidInput
from feemodel.ledger.hashing import pieces
from feemodel.ledger.rows import (
    CHILDREN,
    ENTRY,
    LEVELS,
    NUMBER_SIZE,
    Leaf,
    Numbers,
    Rows,
    Version,
    empty_version,
    height_of,
    node_hashes,
)
from feemodel.ledger.scheme import DEPTH, HASH_SIZE, HEAD, NOTHING

PAGE_ENTRIES = 16  # maximum number of entries in a page
BEHIND = b"\xff" * NUMBER_SIZE  # after a key: sorts behind every entry of the key


class Edit(NamedTuple):
    """Change of a tree: hashed key, hash of the new value or `None` to remove the key, and new value."""

    hkey: bytes
    hval: bytes | None
    value: bytes = b""


class ProvenLeaf(NamedTuple):
    """Leaf of a proof: its index, the leaf, and the 42 entries of its path.

    The entries are, in this order: the top node; the hashes of the two children of the sibling, for each level from 39
    to 1; the sibling leaf, or 32 zero bytes if the sibling leaf is empty; and the leaf itself.
    """

    leaf_index: int
    leaf: Leaf
    entries: list[bytes]


class Tree:
    """State tree: the account tree, or the storage tree of an account.

    Parameters
    ----------
    rows : tables that store the rows of the tree.
    version : stored version in `rows` to start from; `None` means an empty tree.
    """

    def __init__(self, rows: Rows, version: Version | None = None) -> None:
        self.scheme, self.rows = rows.scheme, rows
        self.version = version or empty_version(self.scheme)

    @property
    def root(self) -> bytes:
        """Hash of the top node, which contains `next_free` and the sub root."""
        return self.version.root

    @property
    def next_free(self) -> int:
        """Leaf index of the next new key."""
        return self.version.next_free

    def get(self, hkeys: Iterable[bytes]) -> dict[bytes, Leaf]:
        """Return the leaves of the given keys that are in the tree, by hashed key."""
        return {hkey: leaf for hkey, (_, leaf) in self.floors(hkeys).items() if leaf.hkey == hkey}

    def floors(self, hkeys: Iterable[bytes]) -> dict[bytes, tuple[int, Leaf]]:
        """Return, for each key, the leaf with this key or the largest key before it, with the leaf's index."""
        indices = self._indices(sorted({*hkeys}))
        found = {index: (index, leaf) for index, leaf in self.leaves(indices.values()).items()}
        return {hkey: found[index] for hkey, index in indices.items()}

    def leaves(self, indices: Iterable[int]) -> dict[int, Leaf]:
        """Return the leaves with these indices, none of which is empty; each level is read in one batch."""
        ordered = sorted({*indices})
        positions, numbers = np.array(ordered, dtype=np.int64), np.full(len(ordered), self.version.node)
        for height in range(height_of(self.next_free), 0, -1) if ordered else ():
            nodes = self.rows.nodes(numbers, height)
            digits = positions >> LEVELS * (height - 1) & CHILDREN - 1
            numbers = nodes["row"][np.arange(len(ordered)), digits].astype(np.int64)
        return dict(zip(ordered, self.rows.leaves(numbers.tolist()), strict=True))

    def prove(self, hkeys: Sequence[bytes]) -> list[list[ProvenLeaf]]:
        """Return the leaf of each key or, for an absent key, the two neighbouring leaves, with their paths.

        Raises `LedgerDamaged` if the stored rows do not lead to the root. The values and keys are not checked.
        """
        self._check_top()
        indices = self._indices(sorted({*hkeys}))
        proven = self._proven({*indices.values()})
        following = {
            hkey: proven[index].leaf.following for hkey, index in indices.items() if proven[index].leaf.hkey != hkey
        }
        proven |= self._proven({*following.values()} - proven.keys())
        return [[proven[indices[hkey]], *([proven[following[hkey]]] if hkey in following else [])] for hkey in hkeys]

    def _proven(self, indices: Iterable[int]) -> dict[int, ProvenLeaf]:
        scheme, rows = self.scheme, self.rows
        top = [scheme.top(self.next_free, self.version.sub_root)]
        top += scheme.empty_siblings[: DEPTH - LEVELS * height_of(self.next_free)]
        paths = [(index, *self._path(index)) for index in indices]
        numbers = [*{number for *_, numbers, _ in paths for number in numbers if number}]
        leaves = dict(zip(numbers, rows.leaves(numbers), strict=True))
        encoded = {number: scheme.leaf(leaf) for number, leaf in leaves.items()} | {0: NOTHING}
        digests = scheme.hashes(b"".join(map(encoded.__getitem__, numbers)), len(numbers))
        hashes = dict(zip(numbers, digests, strict=True)) | {0: NOTHING}
        proven = {}
        for index, entries, (left, right), pair in paths:
            if hashes[left] + hashes[right] != pair:
                rows.database.damaged(f"leaf {index} does not match the hash in its parent")
            beside, own = (left, right) if index & 1 else (right, left)
            proven[index] = ProvenLeaf(index, leaves[own], [*top, *entries, encoded[beside], encoded[own]])
        return proven

    def _indices(self, hkeys: Sequence[bytes]) -> dict[bytes, int]:
        """Return, for each key in ascending order, the index of the leaf with this or the largest key before it."""
        numbers, height = [self.version.page] * len(hkeys), DEPTH
        while height and hkeys:
            pages = self.rows.pages(numbers)
            below, height = height, pages[numbers[0]][0]
            if height >= below:
                self.rows.database.damaged(f"page {numbers[0]} is not below its page")
            entries = np.frombuffer(b"".join([pages[number][1] for number in dict.fromkeys(numbers)]), ENTRY)
            firsts = entries["hkey"].tolist()
            numbers = entries["number"][[bisect_right(firsts, hkey) - 1 for hkey in hkeys]].tolist()
        return dict(zip(hkeys, numbers, strict=True))

    def _check_top(self) -> None:
        root, next_free, sub_root, number, _ = self.version
        if (root, 0) not in self.rows.cache:
            height, scheme = height_of(next_free), self.scheme
            found = scheme.sub_roots(self.rows.node(number, height).digest, LEVELS * height)
            if (found, scheme.digest(scheme.top(next_free, sub_root))) != ([sub_root], root):
                self.rows.database.damaged(f"the tree {root.hex()} has another root")
            self.rows.keep({(root, 0): True})

    def _path(self, index: int) -> tuple[list[bytes], list[int], bytes]:
        """Return the entries of a proof within the nodes, and the row numbers and hashes of the two lowest leaves."""
        top, entries = height_of(self.next_free), list[bytes]()
        node, numbers, pair = self.rows.node(self.version.node, top), [0, 0], b""
        for height in range(top, 0, -1):
            digit = index >> LEVELS * (height - 1) & CHILDREN - 1
            for level in range(LEVELS - 1, 0, -1):  # show the two hashes below a sibling within the node
                entries.append(node.pairs[level - 1][digit >> level ^ 1])
            numbers, pair = node.rows[digit & -2 : (digit | 1) + 1], node.pairs[0][digit >> 1]
            if height > 1:
                both = [self.rows.node(number, height - 1) for number in numbers]
                if both[0].digest + both[1].digest != pair:
                    self.rows.database.damaged("a node does not match the hash in its parent")
                node = both[digit & 1]
                entries += both[~digit & 1].pairs[-1]
        return entries, numbers, pair


class Change(NamedTuple):
    """Edits of a tree, sorted by key, and the floors of their keys where `Tree.floors` has returned them before.

    The removal of an absent key has no effect. A key may be removed and then inserted again.
    """

    tree: Tree
    edits: Sequence[Edit]
    floors: Mapping[bytes, tuple[int, Leaf]] | None = None


def update_trees(changes: Sequence[Change]) -> None:
    """Apply edits to trees of the same rows, and store the new versions."""
    linked = {change.tree: leaves for change in changes if (leaves := _linked(change)).leaves}
    for tree, version in zip(linked, _stored(linked) if linked else (), strict=True):
        tree.version = version


class _Linked(NamedTuple):
    """Changes of one tree: next free index, changed leaves by index (`None` for an empty leaf), and new top page."""

    next_free: int
    leaves: dict[int, Leaf | None]
    page: int


def _linked(change: Change) -> _Linked:
    """Link the leaves of a tree after edits, and store the changed pages of the sorted index."""
    tree, edits, floors = change
    if floors is None:
        floors = tree.floors(edit.hkey for edit in edits)
    leaves = dict(floors.values())
    neighbours: set[int] = set()
    for hkey, hval, _ in edits:
        leaf = floors[hkey][1]
        if hval is None or leaf.hkey != hkey:
            neighbours |= {leaf.previous, leaf.following}
    leaves |= tree.leaves(neighbours - leaves.keys())
    changed: set[int] = set()
    entries: list[tuple[bytes, int | None]] = []
    removed: dict[int, int] = {}  # index of a removed leaf → index of the leaf before it
    next_free, newest = tree.next_free, HEAD
    for hkey, hval, value in edits:
        index = floors[hkey][0]
        leaf = leaves[index]
        present = leaf.hkey == hkey and index not in removed
        if present and hval is not None:
            leaf.hval, leaf.value = hval, value
            changed.add(index)
        elif present:
            leaves[leaf.previous].following, leaves[leaf.following].previous = leaf.following, leaf.previous
            changed |= {leaf.previous, leaf.following, index}
            removed[index] = leaf.previous
            entries.append((hkey, None))
        elif hval is not None:
            if next_free >> DEPTH:
                raise InvalidInput("next_free", f"expected a leaf index below 2**{DEPTH}: the tree is full", next_free)
            left = removed.get(index, index)
            if newest and leaves[newest].hkey > leaves[left].hkey:
                left = newest
            right = leaves[left].following
            leaves[next_free] = Leaf(hkey, left, right, hval, value)
            leaves[left].following = leaves[right].previous = next_free
            changed.update((left, right, next_free))
            entries.append((hkey, next_free))
            newest, next_free = next_free, next_free + 1
    page = _updated_index(tree.rows, tree.version.page, entries) if entries else tree.version.page
    return _Linked(next_free, {index: None if index in removed else leaves[index] for index in changed}, page)


def _stored(linked: Mapping[Tree, _Linked]) -> list[Version]:
    """Store the changed leaves and nodes of trees; return the new versions.

    A position is the number of a tree and, in the lowest bits, the position in the level of the tree.
    """
    trees, changes = [*linked], [*linked.values()]
    rows, scheme = trees[0].rows, trees[0].scheme
    tops = np.array([height_of(change.next_free) for change in changes])
    indices = [sorted(change.leaves) for change in changes]
    levels = [np.concatenate([number << DEPTH | np.array(at, dtype=np.int64) for number, at in enumerate(indices)])]
    for height in range(1, int(tops.max()) + 1):
        above = np.unique(levels[-1] >> LEVELS)
        levels.append(above[tops[above >> DEPTH - LEVELS * height] >= height])
    nodes = _old_nodes(rows, [tree.version for tree in trees], levels)

    leaves = [change.leaves[index] for change, at in zip(changes, indices, strict=True) for index in at]
    there = np.array([leaf is not None for leaf in leaves])
    numbers, digests = np.zeros(len(leaves), np.int64), np.zeros((len(leaves), HASH_SIZE), np.uint8)
    kept = [leaf for leaf in leaves if leaf is not None]
    if kept:
        numbers[there] = rows.add_leaves(kept)
        digests[there] = np.frombuffer(scheme.leaf_hashes(kept), np.uint8).reshape(-1, HASH_SIZE)
    versions: dict[int, Version] = {}
    for height in range(1, len(levels)):
        below = levels[height - 1]
        rising = tops[below >> DEPTH - LEVELS * (height - 1)] >= height
        at = np.searchsorted(levels[height], below[rising] >> LEVELS), below[rising] & CHILDREN - 1
        nodes[height]["hash"][at], nodes[height]["row"][at] = digests[rising], numbers[rising]
        numbers, digests = rows.add_nodes(height, nodes[height]), node_hashes(scheme, nodes[height]["hash"].tobytes())
        places = np.flatnonzero(tops[levels[height] >> DEPTH - LEVELS * height] == height)
        sub_roots = scheme.sub_roots(digests[places].tobytes(), LEVELS * height)
        for place, sub_root in zip(places.tolist(), sub_roots, strict=True):
            number = int(levels[height][place]) >> DEPTH - LEVELS * height
            next_free, _, page = changes[number]
            root = scheme.digest(scheme.top(next_free, sub_root))
            versions[number] = Version(root, next_free, sub_root, int(numbers[place]), page)
    return [versions[number] for number in range(len(changes))]


def _old_nodes(rows: Rows, versions: Sequence[Version], levels: Sequence[Numbers]) -> dict[int, NDArray[Any]]:
    """Return the nodes at the positions of each level before the changes, by height; an empty node for a new one."""
    heights = np.array([height_of(version.next_free) for version in versions])
    nodes: dict[int, NDArray[Any]] = {}
    for height in range(len(levels) - 1, 0, -1):
        at, shift = levels[height], DEPTH - LEVELS * height
        numbers = np.zeros(len(at), np.int64)
        inner = heights[at >> shift] > height
        if inner.any():
            above = np.searchsorted(levels[height + 1], at[inner] >> LEVELS)
            numbers[inner] = nodes[height + 1]["row"][above, at[inner] & CHILDREN - 1]
        # A tree that grows by levels keeps its old top node at the left edge; the leftmost leaf of an edit is old.
        for number in np.flatnonzero(heights == height).tolist():
            numbers[np.searchsorted(at, number << shift)] = versions[number].node
        nodes[height] = rows.nodes(numbers, height)
    return nodes


def _updated_index(rows: Rows, top: int, edits: Sequence[tuple[bytes, int | None]]) -> int:
    """Apply sorted edits of keys; store the changed pages and return the top page. `None` removes a key."""
    first, added = rows.next_number("page"), list[tuple[int, bytes]]()

    def cut(height: int, entries: list[bytes]) -> list[bytes]:
        """Make pages of equal size; return the entry of each."""
        count, new = -(-len(entries) // PAGE_ENTRIES), []
        for place in range(count):
            page = entries[place * len(entries) // count : (place + 1) * len(entries) // count]
            new.append(page[0][:HASH_SIZE] + (first + len(added)).to_bytes(NUMBER_SIZE))
            added.append((height, b"".join(page)))
        return new

    def updated(number: int, edits: Sequence[tuple[bytes, int | None]]) -> tuple[int, list[bytes]]:
        """Return the height of a page, and the entries of the pages that replace it."""
        height, data = rows.pages([number])[number]
        entries = pieces(data, ENTRY.itemsize)
        kept = {entry[:HASH_SIZE]: entry for entry in entries}
        if height:
            for entry, group in groupby(edits, lambda edit: entries[bisect_right(entries, edit[0] + BEHIND) - 1]):
                del kept[entry[:HASH_SIZE]]
                kept |= {new[:HASH_SIZE]: new for new in updated(int.from_bytes(entry[HASH_SIZE:]), [*group])[1]}
        else:
            for hkey, index in edits:
                kept.pop(hkey, None)
                if index is not None:
                    kept[hkey] = hkey + index.to_bytes(NUMBER_SIZE)
        return height, cut(height, sorted(kept.values()))

    height, entries = updated(top, edits)
    while len(entries) > 1:
        height += 1
        entries = cut(height, entries)
    rows.add_pages(added)
    return int.from_bytes(entries[0][HASH_SIZE:])
