"""Changed leaves in, the changed trees stored: from the leaves up each changed node is hashed once, a level at a time.

Any number of trees is done together, so that the storage trees of a block share their batches. A position is the
tree's place in the call above the index in its level; a parent's position is half that of its children.

Nodes are stored up to the lowest height that covers every leaf given out so far (`stored_height`). Above it the path
runs along the left edge and every sibling is empty.

The stored rows that a new root is made from are checked against the old root first, so that damage to the file cannot
give a wrong root.
"""

from collections.abc import Collection, Sequence
from itertools import count
from typing import Any, NamedTuple, TypeAlias

from feemodel.errors import InvalidInput, LedgerDamaged
from feemodel.ledger.rows import EMPTY, Leaf, Node, Version, stored_height
from feemodel.ledger.scheme import DEPTH, HASH_SIZE, HEAD, NOTHING, Scheme
from feemodel.ledger.sql_rows import SqlRows

Edit: TypeAlias = dict[str, Any] | None  # the fields of a leaf that change; None: the leaf becomes empty
_Level: TypeAlias = dict[int, tuple[int, bytes]]  # position → number of the row, hash


class Change(NamedTuple):
    """A tree to update: its version before, its new counter and sorted keys, the edits of its leaves by index."""

    version: Version
    next_free: int
    branch: int
    edits: dict[int, Edit]


def rehash(rows: SqlRows, scheme: Scheme, changes: Sequence[Change]) -> list[Version]:
    """Store what changed; the new version of each tree, in order.

    Raises `LedgerDamaged` where the stored rows contradict the old roots, or the edits the linked list of the leaves.
    """
    edits = {
        place << DEPTH | index: edit for place, change in enumerate(changes) for index, edit in change.edits.items()
    }
    positions = _ancestors(sorted(edits))
    nodes, leaves = _stored(rows, changes, positions)
    _check_stored(rows, scheme, changes, nodes, leaves)
    _check_links(edits, leaves)
    level = _changed_leaves(rows, scheme, {position: edits[position] for position in positions[0]}, leaves)
    for height in range(1, DEPTH + 1):
        zero = EMPTY, scheme.zeros[height - 1]
        parents = [_parent(position, level, nodes[height].get(position), zero) for position in positions[height]]
        hashes = scheme.hashes(b"".join(node.children for node in parents), len(parents))
        kept = [
            stored_height(changes[position >> DEPTH - height].next_free) >= height for position in positions[height]
        ]
        numbers = count(rows.nodes.extend([node for node, stored in zip(parents, kept, strict=True) if stored]))
        level = {
            position: (next(numbers) if stored else node.left, digest)  # above that height: the number of its node
            for position, node, digest, stored in zip(positions[height], parents, hashes, kept, strict=True)
        }
    return _versions(scheme, changes, level)


def _ancestors(leaves: list[int]) -> list[list[int]]:
    """The positions of the leaves and of the nodes above them, by height."""
    levels = [leaves]
    for _ in range(DEPTH):
        levels.append(list(dict.fromkeys(position >> 1 for position in levels[-1])))
    return levels


def _stored(
    rows: SqlRows, changes: Sequence[Change], positions: list[list[int]]
) -> tuple[list[dict[int, Node]], dict[int, Leaf]]:
    """The rows at these positions before the change: nodes by height, then leaves."""
    nodes: list[dict[int, Node]] = [{} for _ in range(DEPTH + 1)]
    tops: list[dict[int, int]] = [{} for _ in range(DEPTH + 1)]
    for place, change in enumerate(changes):
        height = stored_height(change.version.next_free)
        tops[height][place << DEPTH - height] = change.version.node
    numbers: dict[int, int] = {}
    for height in range(DEPTH, 0, -1):
        numbers |= tops[height]
        nodes[height] = dict(zip(numbers, rows.nodes.many(list(numbers.values())), strict=True))
        wanted = set(positions[height - 1])
        numbers = {
            child: number
            for position, node in nodes[height].items()
            for child, number in ((2 * position, node.left), (2 * position + 1, node.right))
            if number and child in wanted
        }
    leaves = dict(zip(numbers, rows.leaves.many(list(numbers.values())), strict=True))
    return nodes, leaves


def _check_stored(
    rows: SqlRows, scheme: Scheme, changes: Sequence[Change], nodes: list[dict[int, Node]], leaves: dict[int, Leaf]
) -> None:
    """Raise `LedgerDamaged` unless the stored rows above and at the changed leaves lead to the old roots."""
    expected: dict[int, bytes] = {}
    for height in range(DEPTH, 0, -1):
        found = dict(zip(nodes[height], _hashes(scheme, nodes[height].values()), strict=True))
        tops = [
            (place << DEPTH - height, change.version)
            for place, change in enumerate(changes)
            if stored_height(change.version.next_free) == height
        ]
        _check_tops(scheme, height, [(found[position], version) for position, version in tops])
        expected |= {position: found[position] for position, _ in tops}
        if any(digest != expected[position] for position, digest in found.items()):
            raise LedgerDamaged("a node has not the hash that its parent holds")
        expected = {}
        for position, node in nodes[height].items():
            halves = node.children[:HASH_SIZE], node.children[HASH_SIZE:]
            for side, (number, digest) in enumerate(zip((node.left, node.right), halves, strict=True)):
                if not number and digest != scheme.zeros[height - 1]:
                    raise LedgerDamaged("a node has no child although its hash has one")
                expected[2 * position + side] = digest
    _, digests = _leaf_hashes(rows, scheme, leaves.values())
    if digests != [expected[position] for position in leaves]:
        raise LedgerDamaged("a leaf has not the hash that its parent holds")


def _hashes(scheme: Scheme, nodes: Collection[Node]) -> list[bytes]:
    try:
        return scheme.hashes(b"".join(node.children for node in nodes), len(nodes))
    except InvalidInput:  # no elements of the hash's field
        raise LedgerDamaged("a node holds what is no hash") from None


def _check_tops(scheme: Scheme, height: int, tops: Sequence[tuple[bytes, Version]]) -> None:
    """Raise `LedgerDamaged` unless the highest stored nodes of trees, all of one height, lead to their roots."""
    if not tops:
        return
    digests, versions = zip(*tops, strict=True)
    zeros = scheme.zeros[height:DEPTH]
    sub_roots = scheme.path_roots(digests, [zeros] * len(tops), [HEAD] * len(tops))
    messages = [scheme.top(version.next_free, digest) for version, digest in zip(versions, sub_roots, strict=True)]
    if scheme.hashes(b"".join(messages), len(messages)) != [version.root for version in versions]:
        raise LedgerDamaged("a tree has another root than its nodes")


def _check_links(edits: dict[int, Edit], leaves: dict[int, Leaf]) -> None:
    """Raise `LedgerDamaged` where a leaf leaves its neighbour, and the neighbour keeps it.

    A damaged index of the keys leads to such edits.
    """
    for position, leaf in leaves.items():
        edit, first = edits[position], position >> DEPTH << DEPTH
        for name, index in (("previous", leaf.previous), ("following", leaf.following)):
            changes = edit is None or edit.get(name, index) != index
            if changes and first | index not in edits:
                raise LedgerDamaged("the sorted index of a tree contradicts its leaves")


def _check_order(leaves: dict[int, Leaf], hkeys: Sequence[bytes]) -> None:
    """Raise `LedgerDamaged` where changed leaves that are neighbours now are not in the order of their keys."""
    found = dict(zip(leaves, hkeys, strict=True))
    for position, leaf in leaves.items():
        following = (position >> DEPTH << DEPTH) | leaf.following
        if following == position or following not in leaves:
            continue
        if leaves[following].previous != position & (1 << DEPTH) - 1 or found[position] >= found[following]:
            raise LedgerDamaged("the sorted index of a tree contradicts its leaves")


def _changed_leaves(rows: SqlRows, scheme: Scheme, edits: dict[int, Edit], leaves: dict[int, Leaf]) -> _Level:
    changed = {
        position: leaves[position]._replace(**edit) if position in leaves else Leaf(**edit)
        for position, edit in edits.items()
        if edit is not None
    }
    hkeys, digests = _leaf_hashes(rows, scheme, changed.values())
    _check_order(changed, hkeys)
    first = rows.leaves.extend(changed.values())
    level: _Level = dict.fromkeys(edits, (EMPTY, NOTHING))
    level |= zip(changed, enumerate(digests, first), strict=True)
    return level


def _leaf_hashes(rows: SqlRows, scheme: Scheme, leaves: Collection[Leaf]) -> tuple[list[bytes], list[bytes]]:
    """The hashes of the leaves' keys, and of the leaves."""
    hkeys = [key.hkey for key in rows.keys.many([leaf.key for leaf in leaves])]
    shown = [(leaf.previous, leaf.following, hkey, leaf.hval) for leaf, hkey in zip(leaves, hkeys, strict=True)]
    return hkeys, scheme.hashes(scheme.leaves(shown), len(shown)) if shown else []


def _parent(position: int, level: _Level, stored: Node | None, zero: tuple[int, bytes]) -> Node:
    """A node over its children as they are now: changed, or as stored before, or empty."""
    left = level.get(2 * position)
    right = level.get(2 * position + 1)
    if left is None:
        left = (stored.left, stored.children[:HASH_SIZE]) if stored else zero
    if right is None:
        right = (stored.right, stored.children[HASH_SIZE:]) if stored else zero
    return Node(left[0], right[0], left[1] + right[1])


def _versions(scheme: Scheme, changes: Sequence[Change], sub_roots: _Level) -> list[Version]:
    tops = [scheme.top(change.next_free, sub_roots[place][1]) for place, change in enumerate(changes)]
    return [
        Version(root, change.next_free, sub_roots[place][1], sub_roots[place][0], change.branch)
        for place, (change, root) in enumerate(zip(changes, scheme.hashes(b"".join(tops), len(tops)), strict=True))
    ]
