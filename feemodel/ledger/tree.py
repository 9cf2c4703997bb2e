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
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, islice
from typing import NamedTuple, TypeAlias

from feemodel.errors import InvalidInput
from feemodel.ledger.rows import GROUP, LEVELS, NUMBER_SIZE, Leaf, Rows, Version, changed_nodes, child_row, height_of
from feemodel.ledger.scheme import DEPTH, FIRST_FREE, HASH_SIZE, HEAD, NOTHING

PAGE_ENTRIES = 32  # maximum number of entries in a page
NO_ENTRY = NOTHING + bytes(NUMBER_SIZE)  # of an empty leaf
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
        self.version = version or Version(self.scheme.empty_root, FIRST_FREE, self.scheme.empty_sub_root, GROUP, 1)
        self.nodes: defaultdict[int, dict[int, bytes]] = defaultdict(dict)  # nodes read, by height and position

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
        [indices] = _indices([(self, hkeys)])
        proven = self._proven({*indices})
        floors = [(hkey, proven[index]) for hkey, index in zip(hkeys, indices, strict=True)]
        proven |= self._proven({floor.leaf.following for hkey, floor in floors if floor.leaf.hkey != hkey})
        return [[floor] if floor.leaf.hkey == hkey else [floor, proven[floor.leaf.following]] for hkey, floor in floors]

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
            digit = (index >> LEVELS * (height - 1)) % (1 << LEVELS)
            entries.append(node.pairs[0][digit >> 1 ^ 1])  # the two hashes below a sibling within the node
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
    places = _indices(lookups)
    leaves = _leaves([(tree, {*each}) for (tree, _), each in zip(lookups, places, strict=True)])
    return [
        {hkey: (index, found[index]) for hkey, index in zip(hkeys, each, strict=True)}
        for (_, hkeys), each, found in zip(lookups, places, leaves, strict=True)
    ]


def _indices(lookups: Sequence[tuple[Tree, Sequence[bytes]]]) -> list[list[int]]:
    """Return, for each key of each tree, the index of the leaf with the largest key up to this key."""
    keys = [hkey + BEHIND for _, hkeys in lookups for hkey in hkeys]
    numbers = [tree.version.page for tree, hkeys in lookups for _ in hkeys]
    heights, rest = [DEPTH] * len(keys), [*range(len(keys))]
    while rest:
        pages = lookups[0][0].rows.pages({numbers[place] for place in rest})
        for place in rest:
            height, entries = pages[numbers[place]]
            if height >= heights[place]:
                lookups[0][0].rows.database.damaged(f"page {numbers[place]} is not below its page")
            heights[place] = height
            numbers[place] = int.from_bytes(entries[bisect_right(entries, keys[place]) - 1][HASH_SIZE:])
        rest = [place for place in rest if heights[place]]
    indices = iter(numbers)
    return [[*islice(indices, len(hkeys))] for _, hkeys in lookups]


def _leaves(lookups: Sequence[tuple[Tree, set[int]]]) -> list[dict[int, Leaf]]:
    """Return the leaves of each tree with these indices, none of which is empty."""
    _read_nodes(lookups)
    numbers = [child_row(tree.nodes[1][index >> LEVELS], index) for tree, indices in lookups for index in indices]
    leaves = iter(lookups[0][0].rows.leaves(numbers) if numbers else ())
    return [dict(zip(indices, leaves, strict=False)) for _, indices in lookups]


def _read_nodes(lookups: Sequence[tuple[Tree, set[int]]]) -> None:
    """Read the nodes above leaves; each level of all trees is read in one batch."""
    missing: defaultdict[int, list[tuple[Tree, set[int]]]] = defaultdict(list)  # positions by height
    for tree, positions in lookups:
        for height in range(1, height_of(tree.next_free) + 1):
            positions = {position >> LEVELS for position in positions}
            missing[height].append((tree, positions - tree.nodes[height].keys()))
    for height in sorted(missing, reverse=True):
        numbers = list[int]()
        for tree, positions in missing[height]:
            if above := tree.nodes[height + 1]:
                numbers += [child_row(above[position >> LEVELS], position) for position in positions]
            else:
                numbers += [tree.version.node for _ in positions]
        nodes = iter(lookups[0][0].rows.nodes(numbers, height))
        for tree, positions in missing[height]:
            tree.nodes[height].update(zip(positions, nodes, strict=False))


class Change(NamedTuple):
    """Edits of a tree, sorted by key, and the floors of their keys, if already computed by `floors`.

    The removal of an absent key has no effect. A key may be removed and then inserted again.
    """

    tree: Tree
    edits: Sequence[Edit]
    floors: Mapping[bytes, tuple[int, Leaf]] | None = None


#: Tree, its next version as far as known, and its changed leaves by index: `None` for a leaf that becomes empty.
_Update: TypeAlias = tuple[Tree, Version, Mapping[int, Leaf | None]]


def update_trees(changes: Sequence[Change]) -> None:
    """Apply edits to trees in one file, and store the new versions."""
    if not changes:
        return
    pages, updates = _Pages(changes[0].tree.rows), list[_Update]()
    read = iter(floors([(tree, [edit.hkey for edit in edits]) for tree, edits, known in changes if known is None]))
    known = [next(read) if change.floors is None else change.floors for change in changes]
    beside = [(change.tree, _neighbours(change.edits, each)) for change, each in zip(changes, known, strict=True)]
    for change, each, leaves in zip(changes, known, _leaves(beside), strict=True):
        next_free, entries, changed = _linked(change, each, leaves | dict(each.values()))
        page = pages.updated(change.tree.version.page, entries) if entries else change.tree.version.page
        if changed:
            updates.append((change.tree, change.tree.version._replace(next_free=next_free, page=page), changed))
    pages.rows.add("page", pages.added)
    if updates:
        _store(updates)


def _neighbours(edits: Sequence[Edit], floors: Mapping[bytes, tuple[int, Leaf]]) -> set[int]:
    """Return the indices of the leaves whose links change, beside the leaves of the keys and their floors."""
    found: set[int] = set()
    for hkey, hval, _ in edits:
        leaf = floors[hkey][1]
        if leaf.hkey == hkey:
            if hval is None:
                found |= {leaf.previous, leaf.following}
        elif hval is not None:
            found.add(leaf.following)
    return found


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
    return next_free, entries, {index: None if index in removed else leaves[index] for index in sorted(changed)}


def _store(updates: Sequence[_Update]) -> None:
    """Store the changed leaves and the nodes above them; set the versions of the trees."""
    rows, scheme = updates[0][0].rows, updates[0][0].scheme
    _read_nodes([(tree, {tree.next_free - 1}) for tree, *_ in updates])  # new leaves come after this leaf
    entries = iter(rows.add_leaves([leaf for *_, leaves in updates for leaf in leaves.values() if leaf]))
    below = [{index: next(entries) if leaf else NO_ENTRY for index, leaf in leaves.items()} for *_, leaves in updates]
    tops = [height_of(version.next_free) for _, version, _ in updates]
    for height in range(1, max(tops) + 1):
        empty = rows.empty_node(height)
        changed = [
            changed_nodes(tree.nodes[height], each, empty) if height <= top else {}
            for (tree, *_), each, top in zip(updates, below, tops, strict=True)
        ]
        entries = iter(rows.add_nodes(height, [node for nodes in changed for node in nodes.values()]))
        below = [dict(zip(nodes, entries, strict=False)) for nodes in changed]
        done = [(update, each[0]) for update, each, top in zip(updates, below, tops, strict=True) if top == height]
        sub_roots = scheme.sub_roots(b"".join([entry[:HASH_SIZE] for _, entry in done]), LEVELS * height)
        for ((tree, version, _), entry), sub_root in zip(done, sub_roots, strict=True):
            root, number = scheme.digest(scheme.top(version.next_free, sub_root)), int.from_bytes(entry[HASH_SIZE:])
            tree.version = version._replace(root=root, sub_root=sub_root, node=number)
            tree.nodes.clear()


class _Pages:
    """New pages of the sorted indices of a block's trees, which get the next row numbers in the order of `added`."""

    def __init__(self, rows: Rows) -> None:
        self.rows, self._first, self.added = rows, rows.next_number("page"), list[tuple[int, bytes]]()

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
        height, entries = self.rows.pages([number])[number]
        if height:
            groups = [(place, [*group]) for place, group in groupby(edits, lambda edit: _floor(entries, edit[0]))]
            for place, group in reversed(groups):
                entries[place : place + 1] = self._replaced(int.from_bytes(entries[place][HASH_SIZE:]), group)[1]
        else:
            for hkey, index in edits:
                place = _floor(entries, hkey)
                present = place >= 0 and entries[place].startswith(hkey)
                entry = [] if index is None else [hkey + index.to_bytes(NUMBER_SIZE)]
                entries[place + (not present) : place + 1] = entry
        return height, self._cut(height, entries)


def _floor(entries: Sequence[bytes], hkey: bytes) -> int:
    """Return the place of the entry of a page with the largest key up to this key."""
    return bisect_right(entries, hkey + BEHIND) - 1
