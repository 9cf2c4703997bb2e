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
    height_of,
    node_hashes,
)
from feemodel.ledger.scheme import DEPTH, FIRST_FREE, HASH_SIZE, HEAD, NOTHING

PLACE = np.dtype([("page", f">u{NUMBER_SIZE}"), ("hkey", ENTRY["hkey"])])  # key in a page, for the search of many keys
ORDERED = f"S{PLACE.itemsize}"  # a place as bytes, which NumPy can compare
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
    """State tree, either the account tree or the storage tree of an account: a version in `rows`, or an empty tree."""

    def __init__(self, rows: Rows, version: Version | None = None) -> None:
        self.scheme, self.rows = rows.scheme, rows
        self.version = version or Version(self.scheme.empty_root, FIRST_FREE, self.scheme.empty_sub_root, 1, 1)

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
        [leaves] = floors([(self, [*hkeys])])
        return {hkey: leaf for hkey, (_, leaf) in leaves.items() if leaf.hkey == hkey}

    def prove(self, hkeys: Sequence[bytes]) -> list[list[ProvenLeaf]]:
        """Return the leaf of each key or, for an absent key, the two neighbouring leaves, with their paths.

        Raises `LedgerDamaged` if the stored rows do not lead to the root. The values and keys are not checked.
        """
        self._check_top()
        indices = [self._index(hkey) for hkey in hkeys]
        proven = self._proven({*indices})
        floors = [(hkey, proven[index]) for hkey, index in zip(hkeys, indices, strict=True)]
        proven |= self._proven({floor.leaf.following for hkey, floor in floors if floor.leaf.hkey != hkey})
        return [[floor] if floor.leaf.hkey == hkey else [floor, proven[floor.leaf.following]] for hkey, floor in floors]

    def _index(self, hkey: bytes) -> int:
        """Return what `_indices` returns, faster for few keys."""
        number, height = self.version.page, DEPTH
        while height:
            below, [(height, data)] = height, self.rows.pages([number])
            if height >= below:
                self.rows.database.damaged(f"page {number} is not below its page")
            number = int.from_bytes(_entry(pieces(data, ENTRY.itemsize), hkey)[HASH_SIZE:])
        return number

    def _proven(self, indices: Iterable[int]) -> dict[int, ProvenLeaf]:
        scheme, rows, root, kept = self.scheme, self.rows, self.root, self.rows.cache["proven"]
        proven = {index: kept[root, index] for index in indices if (root, index) in kept}
        paths = [(index, *self._path(index)) for index in indices if index not in proven]
        if not paths:
            return proven
        top = [scheme.top(self.next_free, self.version.sub_root)]
        top += [2 * zero for zero in scheme.zeros[DEPTH - 2 : LEVELS * height_of(self.next_free) - 2 : -1]]
        numbers = [*{number for *_, numbers, _ in paths for number in numbers if number}]
        leaves = dict(zip(numbers, rows.leaves(numbers), strict=True))
        encoded = {number: scheme.leaf(leaf) for number, leaf in leaves.items()} | {0: NOTHING}
        digests = scheme.hashes(b"".join(map(encoded.__getitem__, numbers)), len(numbers))
        hashes = dict(zip(numbers, digests, strict=True)) | {0: NOTHING}
        for index, entries, (left, right), pair in paths:
            if hashes[left] + hashes[right] != pair or index >= self.next_free:
                rows.database.damaged(f"leaf {index} does not match the hash in its parent")
            beside, own = (left, right) if index & 1 else (right, left)
            proven[index] = ProvenLeaf(index, leaves[own], [*top, *entries, encoded[beside], encoded[own]])
        rows.keep("proven", {(root, index): leaf for index, leaf in proven.items()})
        return proven

    def _check_top(self) -> None:
        root, next_free, sub_root, number, _ = self.version
        if root not in self.rows.cache["root"]:
            height, scheme = height_of(next_free), self.scheme
            found = scheme.sub_roots(self.rows.node(number, height).digest, LEVELS * height)
            if (found, scheme.digest(scheme.top(next_free, sub_root))) != ([sub_root], root):
                self.rows.database.damaged(f"the tree {root.hex()} has another root")
            self.rows.keep("root", {root: True})

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


def floors(lookups: Sequence[tuple[Tree, Sequence[bytes]]]) -> list[dict[bytes, tuple[int, Leaf]]]:
    """Return, for each key of each tree, the leaf with the largest key up to this key, and the leaf's index.

    The trees are in one file; each level of all trees is read in one batch.
    """
    keys = [hkey for _, hkeys in lookups for hkey in hkeys]
    if not keys:
        return [{} for _ in lookups]
    rows, versions = lookups[0][0].rows, [tree.version for tree, _ in lookups]
    owners = np.repeat(np.arange(len(lookups)), [len(hkeys) for _, hkeys in lookups])
    indices = _indices(rows, versions, owners, keys)
    positions = (owners << DEPTH | indices).tolist()
    leaves = _leaves(rows, versions, positions)
    places = zip(indices.tolist(), [leaves[position] for position in positions], strict=True)
    return [dict(zip(hkeys, places, strict=False)) for _, hkeys in lookups]


def _indices(rows: Rows, versions: Sequence[Version], owners: Numbers, hkeys: Sequence[bytes]) -> Numbers:
    """Return, for each key, the index of the leaf with the largest key up to this key.

    `owners` has the number of the tree of each key.
    """
    wanted = np.empty(len(hkeys), PLACE)
    wanted["page"] = np.array([version.page for version in versions])[owners]
    wanted["hkey"] = np.frombuffer(b"".join(hkeys), PLACE["hkey"])
    indices, rest, below = np.empty(len(hkeys), np.int64), np.arange(len(hkeys)), np.full(len(hkeys), DEPTH)
    while len(rest):
        numbers, inverse = np.unique(wanted["page"], return_inverse=True)
        pages = rows.pages(numbers.tolist())
        heights = np.array([height for height, _ in pages])[inverse]
        if (wrong := heights >= below).any():
            rows.database.damaged(f"page {wanted['page'][wrong][0]} is not below its page")
        entries = np.frombuffer(b"".join([data for _, data in pages]), ENTRY)
        firsts = np.empty(len(entries), PLACE)
        firsts["page"] = np.repeat(numbers, [len(data) // ENTRY.itemsize for _, data in pages])
        firsts["hkey"] = entries["hkey"]
        places = np.searchsorted(firsts.view(ORDERED), wanted.view(ORDERED), side="right") - 1
        indices[rest] = wanted["page"] = entries["number"][places]
        inner = heights > 0
        rest, below, wanted = rest[inner], heights[inner], wanted[inner]
    return indices


def _leaves(rows: Rows, versions: Sequence[Version], positions: Iterable[int]) -> dict[int, Leaf]:
    """Return the leaves at these positions, none of which is empty; see `_nodes`."""
    ordered = sorted({*positions})
    if not ordered:
        return {}
    levels, nodes = _nodes(rows, versions, [version.next_free for version in versions], np.array(ordered))
    numbers = nodes[1]["row"][np.searchsorted(levels[1], levels[0] >> LEVELS), levels[0] & CHILDREN - 1]
    return dict(zip(ordered, rows.leaves(numbers.tolist()), strict=True))


def _nodes(
    rows: Rows, versions: Sequence[Version], next_free: Sequence[int], positions: Numbers
) -> tuple[list[Numbers], dict[int, NDArray[Any]]]:
    """Return the positions of leaves and of the nodes above them, level by level, and the nodes by height.

    A position is the number of a tree and, in the lowest bits, the position in the level of the tree. Nodes that
    the versions lack are empty; the highest level is the one that `next_free` needs.
    """
    tops = np.array([height_of(index) for index in next_free])
    heights = np.array([height_of(version.next_free) for version in versions])
    roots = np.array([version.node for version in versions])
    levels = [positions]
    for height in range(1, int(tops.max()) + 1):
        above = np.unique(levels[-1] >> LEVELS)
        levels.append(above[tops[above >> DEPTH - LEVELS * height] >= height])
    nodes: dict[int, NDArray[Any]] = {}
    for height in range(len(levels) - 1, 0, -1):
        at, owners = levels[height], levels[height] >> DEPTH - LEVELS * height
        numbers = np.zeros(len(at), np.int64)
        inner = heights[owners] > height
        if inner.any():
            above = np.searchsorted(levels[height + 1], at[inner] >> LEVELS)
            numbers[inner] = nodes[height + 1]["row"][above, at[inner] & CHILDREN - 1]
        # A tree that grows by levels keeps its old top node at the left edge.
        old_tops = (heights[owners] == height) & (at == owners << DEPTH - LEVELS * height)
        numbers[old_tops] = roots[owners[old_tops]]
        nodes[height] = rows.nodes(numbers.tolist(), height)
    return levels, nodes


class Change(NamedTuple):
    """Edits of a tree, sorted by key, and the floors of their keys, if already computed by `floors`.

    The removal of an absent key has no effect. A key may be removed and then inserted again.
    """

    tree: Tree
    edits: Sequence[Edit]
    floors: Mapping[bytes, tuple[int, Leaf]] | None = None


def update_trees(changes: Sequence[Change]) -> None:
    """Apply edits to trees in one file, and store the new versions."""
    if not changes:
        return
    rows, versions = changes[0].tree.rows, [change.tree.version for change in changes]
    read = iter(floors([(tree, [edit.hkey for edit in edits]) for tree, edits, known in changes if known is None]))
    known = [next(read) if change.floors is None else change.floors for change in changes]
    beside = [_neighbours(change.edits, each) for change, each in zip(changes, known, strict=True)]
    leaves = _leaves(rows, versions, [number << DEPTH | index for number, each in enumerate(beside) for index in each])
    pages, changed = _Pages(rows), dict[int, Leaf | None]()
    next_free, tops = [tree.next_free for tree, *_ in changes], [version.page for version in versions]
    for number, (change, each, indices) in enumerate(zip(changes, known, beside, strict=True)):
        near = {index: leaves[number << DEPTH | index] for index in indices} | dict(each.values())
        next_free[number], entries, linked = _linked(change, each, near)
        changed |= {number << DEPTH | index: leaf for index, leaf in linked.items()}
        if entries:
            tops[number] = pages.updated(tops[number], entries)
    rows.add("page", pages.added)
    _store([change.tree for change in changes], next_free, tops, changed)


def _neighbours(edits: Sequence[Edit], floors: Mapping[bytes, tuple[int, Leaf]]) -> set[int]:
    """Return the indices of the leaves on both sides of each key that is inserted or removed."""
    found = ((floors[hkey][1], hkey, hval) for hkey, hval, _ in edits)
    changed = [leaf for leaf, hkey, hval in found if hval is None or leaf.hkey != hkey]
    return {index for leaf in changed for index in (leaf.previous, leaf.following)}


def _linked(
    change: Change, floors: Mapping[bytes, tuple[int, Leaf]], leaves: dict[int, Leaf]
) -> tuple[int, list[tuple[bytes, int | None]], dict[int, Leaf | None]]:
    """Link the leaves of a tree; return its next free index, the edits of its sorted index, and the changed leaves.

    `leaves` has the floors of the keys and their neighbours. A leaf that becomes empty is `None`.
    """
    tree, edits, _ = change
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
    return next_free, entries, {index: None if index in removed else leaves[index] for index in changed}


def _store(
    trees: Sequence[Tree], next_free: Sequence[int], pages: Sequence[int], changed: Mapping[int, Leaf | None]
) -> None:
    """Store the changed leaves, by position, and the nodes above them; set the versions of the trees."""
    rows, scheme, positions = trees[0].rows, trees[0].scheme, sorted(changed)
    levels, nodes = _nodes(rows, [tree.version for tree in trees], next_free, np.array(positions, np.int64))
    tops = np.array([height_of(index) for index in next_free])
    leaves = [changed[position] for position in positions]
    there = np.array([leaf is not None for leaf in leaves])
    numbers, digests = np.zeros(len(leaves), np.int64), np.zeros((len(leaves), HASH_SIZE), np.uint8)
    kept = [leaf for leaf in leaves if leaf is not None]
    if kept:
        numbers[there] = rows.add_leaves(kept)
        digests[there] = np.frombuffer(scheme.leaf_hashes(kept), np.uint8).reshape(-1, HASH_SIZE)
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
            root = scheme.digest(scheme.top(next_free[number], sub_root))
            trees[number].version = Version(root, next_free[number], sub_root, int(numbers[place]), pages[number])


class _Pages:
    """New pages of the sorted indices of a block's trees, which get the next row numbers in the order of `added`."""

    def __init__(self, rows: Rows) -> None:
        self._rows, self._first, self.added = rows, rows.next_number("page"), list[tuple[int, bytes]]()

    def updated(self, top: int, edits: Sequence[tuple[bytes, int | None]]) -> int:
        """Apply sorted edits of keys to the index with this top page; return the new top page. `None` removes a key."""
        height, entries = self._replaced(top, edits)
        while len(entries) > 1:
            height += 1
            entries = self._cut(height, entries)
        return int.from_bytes(entries[0][HASH_SIZE:])

    def _cut(self, height: int, entries: list[bytes]) -> list[bytes]:
        """Make pages of equal size; return each page's entry."""
        count, new = -(-len(entries) // PAGE_ENTRIES), []
        for place in range(count):
            page = entries[place * len(entries) // count : (place + 1) * len(entries) // count]
            new.append(page[0][:HASH_SIZE] + (self._first + len(self.added)).to_bytes(NUMBER_SIZE))
            self.added.append((height, b"".join(page)))
        return new

    def _replaced(self, number: int, edits: Sequence[tuple[bytes, int | None]]) -> tuple[int, list[bytes]]:
        """Return the height of a page, and the entries of the pages that replace it."""
        [(height, data)] = self._rows.pages([number])
        entries = pieces(data, ENTRY.itemsize)
        kept = {entry[:HASH_SIZE]: entry for entry in entries}
        if height:
            for entry, group in groupby(edits, lambda edit: _entry(entries, edit[0])):
                del kept[entry[:HASH_SIZE]]
                kept |= {new[:HASH_SIZE]: new for new in self._replaced(int.from_bytes(entry[HASH_SIZE:]), [*group])[1]}
        else:
            for hkey, index in edits:
                kept.pop(hkey, None)
                if index is not None:
                    kept[hkey] = hkey + index.to_bytes(NUMBER_SIZE)
        return height, self._cut(height, sorted(kept.values()))


def _entry(entries: Sequence[bytes], hkey: bytes) -> bytes:
    """Return the entry of a page with the largest key up to this key."""
    return entries[bisect_right(entries, hkey + BEHIND) - 1]
