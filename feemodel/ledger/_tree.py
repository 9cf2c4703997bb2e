"""Sparse Merkle tree of depth 40, whose leaves form a linked list sorted by key.

A new key gets the next free leaf index, and the links of the two neighbouring leaves are updated. Leaf indices are
never reused, so the root depends on the order of insertions. Two leaves that are linked as neighbours prove that the
tree has no key between their keys.

`put` and `remove` only record changes. The hashes are computed when the tree is saved, or when the root or a proof is
read. Each changed node is hashed once, level by level, in batches for all trees of a block. Stored rows that are used
for a new root are first checked against the old root, so that a corrupt file cannot lead to a wrong root.

`stored_height` is the height of the lowest node that covers all used leaves. Nodes above `stored_height` are not
stored: above `stored_height`, each path follows the left edge of the tree, and each sibling is empty.

Leaf indices follow the order of insertion, but insertions, deletions and proofs of absence need the neighbours of a key
in sorted order. The neighbours of a key are found in the sorted index, which is a trie over the hexadecimal digits of
the hashed keys. A branch has sixteen entries. An entry is empty, or the number of another branch, or the negative
number of a key if no other key has the same prefix. Branches never change: an update copies the branches on the path to
the changed key, and shares all other branches.

Source: `ZKTrie` of Consensys/shomei at 3f47bed.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import count
from typing import Any, NamedTuple, TypeAlias, Union

from feemodel.errors import InvalidInput, LedgerDamaged
from feemodel.ledger._rows import (
    EMPTY,
    HEAD_KEY,
    TAIL_KEY,
    Branch,
    Key,
    Leaf,
    MerklePath,
    SqlRows,
    TreeNode,
    Version,
    digit_at,
    empty_version,
    memory_rows,
    stored_height,
)
from feemodel.ledger._scheme import DEPTH, HASH_SIZE, HEAD, NOTHING, TAIL, Scheme, scheme_of

DIGITS = 16

# n for row n of the branches, −n for row n of the keys, 0 for empty; or a list: a changed branch, not stored yet
_Node: TypeAlias = Union[int, "_Changed"]
_Changed: TypeAlias = list[_Node]


class _Neighbours(NamedTuple):
    """Row numbers of the key with a given hash, and of the keys before and after it; 0 if there is no such key."""

    left: int
    exact: int
    right: int


class _KeyIndex:
    """Sorted index of one tree, starting from a stored top branch; `save` stores the changes."""

    def __init__(self, rows: SqlRows, branch: int) -> None:
        self._rows = rows
        self._root: _Node = branch

    def find(self, hkey: bytes) -> int | None:
        """Return the leaf index of the key with this hash, or `None` if the key is absent."""
        node, depth = self._root, 0
        while not isinstance(node, int):
            node = node[digit_at(hkey, depth)]
            depth += 1
        key = self._rows.last_key(node, depth, hkey)
        return key.leaf if key and key.hkey == hkey else None

    def find_many(self, hkeys: Iterable[bytes]) -> dict[bytes, int]:
        """Return a mapping from hash to row number, for those of the given keys that are in the index.

        Each depth of the index is read in one batch.
        """
        nodes, depth = dict.fromkeys(hkeys, self._root), 0
        ends: dict[bytes, int] = {}
        while nodes:
            ends |= {hkey: _key(node) for hkey, node in nodes.items() if _is_key(node)}
            stored = [node for node in nodes.values() if isinstance(node, int) and node > EMPTY]
            branches = dict(zip(stored, self._rows.branches.many(stored), strict=True))
            nodes = {
                hkey: (branches[node] if isinstance(node, int) else node)[digit_at(hkey, depth)]
                for hkey, node in nodes.items()
                if hkey not in ends
            }
            depth += 1
        keys = {hkey: key for hkey, key in ends.items() if key}
        rows = self._rows.keys.many(list(keys.values()))
        return {hkey: key for (hkey, key), row in zip(keys.items(), rows, strict=True) if row.hkey == hkey}

    def neighbours(self, hkey: bytes) -> _Neighbours:
        """Return the row numbers of the key with this hash, and of the nearest keys before and after it."""
        path = []
        node, depth = self._root, 0
        while not _is_key(node):
            branch, digit = self._branch(node), digit_at(hkey, depth)
            path.append((branch, digit))
            node = branch[digit]
            depth += 1
        left = exact = right = EMPTY
        if key := _key(node):
            found = self._rows.keys[key].hkey
            left, exact, right = (key if found < hkey else 0, key if found == hkey else 0, key if found > hkey else 0)
        return _Neighbours(left or self._nearest(path, -1), exact, right or self._nearest(path, 1))

    def insert(self, hkey: bytes, key: int) -> None:
        """Insert a key that is not in the index."""
        self._root = self._inserted(self._root, hkey, key, 0)

    def remove(self, hkey: bytes) -> None:
        """Remove a key that is in the index."""
        self._root = self._removed(self._root, hkey, 0)

    def save(self) -> int:
        """Store the changed branches; return the row number of the top branch."""
        self._root = self._saved(self._root)
        return self._root

    def _branch(self, node: _Node) -> Branch | _Changed:
        return self._rows.branches[node] if isinstance(node, int) else node

    def _nearest(self, path: list[tuple[Branch | _Changed, int]], step: int) -> int:
        """Return the row number of the last key before a path (step -1) or of the first key after the path (step 1)."""
        for branch, digit in reversed(path):
            for index in range(digit + step, -1 if step < 0 else DIGITS, step):
                if branch[index] != EMPTY:
                    return self._outermost(branch[index], step)
        return EMPTY

    def _outermost(self, node: _Node, step: int) -> int:
        """Return the first key (step 1) or the last key (step -1) of a subtree."""
        for _ in range(2 * HASH_SIZE):
            if _is_key(node):
                return _key(node)
            node = next((child for child in self._branch(node)[::step] if child != EMPTY), EMPTY)
        raise LedgerDamaged("the sorted index of a tree leads to no key")

    def _inserted(self, node: _Node, hkey: bytes, key: int, depth: int) -> _Node:
        if node == EMPTY and depth:
            return -key
        if _is_key(node):
            branch: _Changed = [EMPTY] * DIGITS
            if other := _key(node):
                branch[digit_at(self._rows.keys[other].hkey, depth)] = node
        else:
            branch = self._changeable(node)
        digit = digit_at(hkey, depth)
        branch[digit] = self._inserted(branch[digit], hkey, key, depth + 1)
        return branch

    def _removed(self, node: _Node, hkey: bytes, depth: int) -> _Node:
        if _is_key(node):
            return EMPTY
        branch, digit = self._changeable(node), digit_at(hkey, depth)
        branch[digit] = self._removed(branch[digit], hkey, depth + 1)
        left = [child for child in branch if child != EMPTY]
        if not left:
            return EMPTY
        return left[0] if depth and len(left) == 1 and _is_key(left[0]) else branch

    def _changeable(self, node: _Node) -> _Changed:
        return list(self._rows.branches[node]) if isinstance(node, int) else node

    def _saved(self, node: _Node) -> int:
        if isinstance(node, int):
            return node
        return self._rows.branches.extend([tuple(self._saved(child) for child in node)])


def _is_key(node: _Node) -> bool:
    """Return whether a node is a key or empty; every other node is a branch."""
    return isinstance(node, int) and node <= EMPTY


def _key(node: _Node) -> int:
    return -node if isinstance(node, int) else EMPTY


Edit: TypeAlias = dict[str, Any] | None  # changed fields of a leaf; None if the leaf becomes empty
_Level: TypeAlias = dict[int, tuple[int, bytes]]  # position of a node in its level → row number and hash of the node


class _Change(NamedTuple):
    """Changes to a tree: old version, new value of `next_free`, new top branch, and edits of leaves by leaf index."""

    version: Version
    next_free: int
    branch: int
    edits: dict[int, Edit]


def _rehash(rows: SqlRows, scheme: Scheme, changes: Sequence[_Change]) -> list[Version]:
    """Store the changes of several trees; return the new version of each tree, in the order of `changes`.

    Raises `LedgerDamaged` if the stored rows contradict the old roots, or if the edits contradict the linked list.
    """
    edits = {
        number << DEPTH | index: edit for number, change in enumerate(changes) for index, edit in change.edits.items()
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
            # a node that is not stored is represented by the row number of its left child
            position: (next(numbers) if stored else node.left, digest)
            for position, node, digest, stored in zip(positions[height], parents, hashes, kept, strict=True)
        }
    return _versions(scheme, changes, level)


def _ancestors(leaves: list[int]) -> list[list[int]]:
    """Return, for each height, the positions of the nodes above the given leaves; height 0 has the leaves."""
    levels = [leaves]
    for _ in range(DEPTH):
        levels.append(list(dict.fromkeys(position >> 1 for position in levels[-1])))
    return levels


def _stored(
    rows: SqlRows, changes: Sequence[_Change], positions: list[list[int]]
) -> tuple[list[dict[int, TreeNode]], dict[int, Leaf]]:
    """Return the rows that were stored at the positions before the changes: the nodes by height, and the leaves."""
    nodes: list[dict[int, TreeNode]] = [{} for _ in range(DEPTH + 1)]
    tops: list[dict[int, int]] = [{} for _ in range(DEPTH + 1)]
    for index, change in enumerate(changes):
        height = stored_height(change.version.next_free)
        tops[height][index << DEPTH - height] = change.version.node
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
    rows: SqlRows, scheme: Scheme, changes: Sequence[_Change], nodes: list[dict[int, TreeNode]], leaves: dict[int, Leaf]
) -> None:
    """Raise `LedgerDamaged` unless the stored rows of the changed leaves and of their ancestors match the old roots."""
    expected: dict[int, bytes] = {}
    for height in range(DEPTH, 0, -1):
        found = dict(zip(nodes[height], _hashes(scheme, nodes[height].values()), strict=True))
        tops = [
            (index << DEPTH - height, change.version)
            for index, change in enumerate(changes)
            if stored_height(change.version.next_free) == height
        ]
        _check_tops(scheme, height, [(found[position], version) for position, version in tops])
        expected |= {position: found[position] for position, _ in tops}
        if any(digest != expected[position] for position, digest in found.items()):
            raise LedgerDamaged("a node does not match the hash in its parent")
        expected = {}
        for position, node in nodes[height].items():
            halves = node.children[:HASH_SIZE], node.children[HASH_SIZE:]
            for side, (number, digest) in enumerate(zip((node.left, node.right), halves, strict=True)):
                if not number and digest != scheme.zeros[height - 1]:
                    raise LedgerDamaged("a node has the hash of a child that is missing")
                expected[2 * position + side] = digest
    _, digests = _leaf_hashes(rows, scheme, leaves.values())
    if digests != [expected[position] for position in leaves]:
        raise LedgerDamaged("a leaf does not match the hash in its parent")


def _hashes(scheme: Scheme, nodes: Collection[TreeNode]) -> list[bytes]:
    try:
        return scheme.hashes(b"".join(node.children for node in nodes), len(nodes))
    except InvalidInput:  # a stored hash has elements outside the field
        raise LedgerDamaged("a node has an invalid hash") from None


def _check_tops(scheme: Scheme, height: int, tops: Sequence[tuple[bytes, Version]]) -> None:
    """Raise `LedgerDamaged` unless the highest stored nodes, which are at `height`, match the roots of their trees."""
    if not tops:
        return
    digests, versions = zip(*tops, strict=True)
    zeros = scheme.zeros[height:DEPTH]
    sub_roots = scheme.path_roots(digests, [zeros] * len(tops), [HEAD] * len(tops))
    messages = [scheme.top(version.next_free, digest) for version, digest in zip(versions, sub_roots, strict=True)]
    if scheme.hashes(b"".join(messages), len(messages)) != [version.root for version in versions]:
        raise LedgerDamaged("the root of a tree does not match its nodes")


def _check_links(edits: dict[int, Edit], leaves: dict[int, Leaf]) -> None:
    """Raise `LedgerDamaged` if only one side of a link between neighbours was changed.

    If only one of two linked leaves records a change of the link, the sorted index of the tree is corrupt.
    """
    for position, leaf in leaves.items():
        edit, first = edits[position], position >> DEPTH << DEPTH
        for name, index in (("previous", leaf.previous), ("following", leaf.following)):
            changes = edit is None or edit.get(name, index) != index
            if changes and first | index not in edits:
                raise LedgerDamaged("the sorted index of a tree contradicts its leaves")


def _check_order(leaves: dict[int, Leaf], hkeys: Sequence[bytes]) -> None:
    """Raise `LedgerDamaged` if two changed leaves are now neighbours but not in the order of their keys."""
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
    """Return the hashed keys of the leaves, and the hashes of the leaves."""
    hkeys = [key.hkey for key in rows.keys.many([leaf.key for leaf in leaves])]
    shown = [(leaf.previous, leaf.following, hkey, leaf.hval) for leaf, hkey in zip(leaves, hkeys, strict=True)]
    return hkeys, scheme.hashes(scheme.leaves(shown), len(shown)) if shown else []


def _parent(position: int, level: _Level, stored: TreeNode | None, zero: tuple[int, bytes]) -> TreeNode:
    """Return the node above two children, each of which is changed, stored or empty."""
    left = level.get(2 * position)
    right = level.get(2 * position + 1)
    if left is None:
        left = (stored.left, stored.children[:HASH_SIZE]) if stored else zero
    if right is None:
        right = (stored.right, stored.children[HASH_SIZE:]) if stored else zero
    return TreeNode(left[0], right[0], left[1] + right[1])


def _versions(scheme: Scheme, changes: Sequence[_Change], sub_roots: _Level) -> list[Version]:
    tops = [scheme.top(change.next_free, sub_roots[index][1]) for index, change in enumerate(changes)]
    return [
        Version(root, change.next_free, sub_roots[index][1], sub_roots[index][0], change.branch)
        for index, (change, root) in enumerate(zip(changes, scheme.hashes(b"".join(tops), len(tops)), strict=True))
    ]


class ProvenLeaf(NamedTuple):
    """Leaf with the 42 entries of its proof.

    The entries are, in this order: the top node; the hashes of the two children of the sibling, for each level from 39
    to 1; the sibling leaf, or 32 zero bytes if the sibling leaf is empty; and the leaf itself.
    """

    leaf_index: int
    leaf: Leaf
    related_nodes: list[bytes]
    hkey: bytes


class Tree:
    """State tree: the account tree, or the storage tree of an account.

    Parameters
    ----------
    hashing : hash function, "poseidon2" or "mimc".
    rows : tables that store the rows of the tree; `None` means an in-memory database.
    version : stored version in `rows` to start from; `None` means an empty tree.
    value_message : function that returns the bytes to hash for a leaf's value; `None` disables the check of values.

    >>> tree = Tree("poseidon2")
    >>> tree.put(hkey=b"\\x01" * 32, hval=b"\\x02" * 32)
    >>> tree.next_free, tree.root == Tree("poseidon2").root
    (3, False)
    """

    def __init__(
        self,
        hashing: str = "poseidon2",
        *,
        rows: SqlRows | None = None,
        version: Version | None = None,
        value_message: Callable[[bytes], bytes] | None = None,
    ) -> None:
        self.scheme, self._value_message = scheme_of(hashing), value_message
        self.rows = rows if rows is not None else memory_rows(self.scheme)
        self._version = version or empty_version(self.scheme)
        self._keys = _KeyIndex(self.rows, self._version.branch)
        self._next_free = self._version.next_free
        self._edits: dict[int, Edit] = {}

    @property
    def version(self) -> Version:
        """Stored version of the tree; reading this property saves the tree."""
        if self._edits:
            save_all([self])
        return self._version

    @property
    def root(self) -> bytes:
        """Hash of the top node, which contains `next_free` and `sub_root`."""
        return self.version.root

    @property
    def next_free(self) -> int:
        """Leaf index of the next new key."""
        return self._next_free

    def put(self, hkey: bytes, hval: bytes, value: bytes = b"", name: bytes = b"") -> None:
        """Insert a key, or update its value.

        Parameters
        ----------
        hkey : hash of the key [32 bytes].
        hval : hash of the value [32 bytes].
        value : the value itself, not hashed; it is stored because proofs contain it.
        name : data whose hash is the key, stored when the key is inserted.

        Raises `InvalidInput` for a hash that is not 32 bytes long, or if `hkey` is the key of the first or last leaf.
        """
        _check_hash("hkey", hkey)
        _check_hash("hval", hval)
        if (present := self._keys.find(hkey)) is not None:
            self._edit(present, hval=hval, value=value)
            return
        left, _, right = self._neighbours(hkey)
        before, after = self._index(left or HEAD_KEY), self._index(right or TAIL_KEY)
        index = self._next_free
        if index >> DEPTH:
            raise InvalidInput("next_free", f"expected a leaf index below 2**{DEPTH}: the tree is full", index)
        self._next_free += 1
        key = self.rows.keys.extend([Key(index, hkey, name)])
        self._keys.insert(hkey, key)
        self._edit(before, following=index)
        self._edit(index, key=key, previous=before, following=after, hval=hval, value=value)
        self._edit(after, previous=index)

    def remove(self, hkey: bytes) -> None:
        """Remove a key. The key's leaf becomes empty, and the index of this leaf is not reused.

        Raises `InvalidInput` if the key is absent.
        """
        left, exact, right = self._neighbours(hkey)
        if not exact:
            raise InvalidInput("hkey", "expected a key of the tree", hkey.hex())
        before, after = self._index(left or HEAD_KEY), self._index(right or TAIL_KEY)
        self._keys.remove(hkey)
        self._edit(before, following=after)
        self._edits[self._index(exact)] = None
        self._edit(after, previous=before)

    def __contains__(self, hkey: bytes) -> bool:
        return self._keys.find(hkey) is not None

    def get(self, hkey: bytes) -> Leaf | None:
        """Return the leaf of a key, or `None` if the key is absent.

        Raises `LedgerDamaged` if the stored path of the leaf does not lead to the root.
        """
        index = self._keys.find(hkey)
        return None if index is None else self._paths([index])[0].leaf

    def get_many(self, hkeys: Iterable[bytes]) -> dict[bytes, Leaf]:
        """Return the leaves of the given keys that are in the tree, by hash.

        Each level of the tree is read in one batch.

        Raises `LedgerDamaged` if a leaf belongs to another key, or if a value does not match its hash. `get_many` does
        not check Merkle paths, because an import checks the paths of all leaves that change.
        """
        keys = self._keys.find_many(hkeys)
        indices = {hkey: row.leaf for hkey, row in zip(keys, self.rows.keys.many(list(keys.values())), strict=True)}
        numbers = dict.fromkeys(indices, self.version.node)
        for height in range(stored_height(self._next_free), 0, -1):
            nodes = self.rows.nodes.many(list(numbers.values()))
            numbers = {
                hkey: node.right if indices[hkey] >> (height - 1) & 1 else node.left
                for hkey, node in zip(numbers, nodes, strict=True)
            }
        leaves = dict(zip(numbers, self.rows.leaves.many(list(numbers.values())), strict=True))
        if any(leaf.key != keys[hkey] for hkey, leaf in leaves.items()):
            raise LedgerDamaged("a key leads to the leaf of another key")
        if self._value_message is not None:
            messages = [self._value_message(leaf.value) for leaf in leaves.values()]
            if self.scheme.first_wrong(messages, [leaf.hval for leaf in leaves.values()]) is not None:
                raise LedgerDamaged("a value does not match the hash in its leaf")
        return leaves

    def locate(self, hkey: bytes) -> tuple[int] | tuple[int, int]:
        """Return the leaf index of a key or, for an absent key, the indices of the two neighbouring leaves."""
        _check_hash("hkey", hkey)
        if (present := self._keys.find(hkey)) is not None:
            return (present,)
        left, _, right = self._neighbours(hkey)
        return self._index(left or HEAD_KEY), self._index(right or TAIL_KEY)

    def proven_leaves(self, indices: Sequence[int]) -> list[ProvenLeaf]:
        """Return the leaf and its proof for each of these leaf indices, which must be in use.

        Raises `LedgerDamaged` if the stored path of a leaf does not lead to the root.
        """
        return [self._proven(index, path) for index, path in zip(indices, self._paths(indices), strict=True)]

    def _check(self, indices: Sequence[int], paths: Sequence[MerklePath]) -> None:
        """Raise `LedgerDamaged` unless each value matches its hash and the hashes lead to the root.

        Cached rows are not hashed again.
        """
        message_of = self._value_message
        parts, values = [], []
        for index, path in zip(indices, paths, strict=True):
            for part in path.unchecked:
                has_value = index not in (HEAD, TAIL) or path.leaf.value != NOTHING
                parts.append(part)
                values.append(message_of(path.leaf.value) if message_of is not None and has_value else b"")
        if parts and not self.scheme.paths_hold(parts, values):
            raise LedgerDamaged("a leaf or a node does not match the hash in its parent")
        if message_of is not None:
            for path in paths:
                path.unchecked.clear()

    def _proven(self, index: int, path: MerklePath) -> ProvenLeaf:
        scheme, version = self.scheme, self.version
        height = stored_height(version.next_free)
        above, within = scheme.empty_siblings[: DEPTH - height], scheme.empty_siblings[DEPTH - height :]
        entries = [scheme.top(version.next_free, version.sub_root), *above]
        entries += [sibling or empty for sibling, empty in zip(path.siblings, within, strict=True)]
        return ProvenLeaf(index, path.leaf, [*entries, path.sibling_leaf, path.encoded], path.hkey)

    def _paths(self, indices: Sequence[int]) -> list[MerklePath]:
        version = self.version
        for index in indices:
            if not 0 <= index < version.next_free:
                raise LedgerDamaged(f"a key has leaf {index}, but the next free leaf is {version.next_free}")
        paths = [self.rows.path(version, index) for index in indices]
        self._check(indices, paths)
        return paths

    def _neighbours(self, hkey: bytes) -> _Neighbours:
        _check_hash("hkey", hkey)
        if not NOTHING < hkey < self.scheme.tail_key:
            raise InvalidInput("hkey", "expected a hash between the hashes of head and tail", hkey.hex())
        return self._keys.neighbours(hkey)

    def _index(self, key: int) -> int:
        return self.rows.keys[key].leaf

    def _edit(self, index: int, **fields: int | bytes) -> None:
        self._edits[index] = (self._edits.get(index) or {}) | fields


def proven(tree: Tree, hkeys: Sequence[bytes]) -> list[list[ProvenLeaf]]:
    """Return the leaf of each key or, for an absent key, the two neighbouring leaves; check all paths in one batch.

    Raises `LedgerDamaged` if stored rows contradict their hashes.
    """
    located = [tree.locate(hkey) for hkey in hkeys]
    leaves = iter(tree.proven_leaves([index for indices in located for index in indices]))
    found = [[next(leaves) for _ in indices] for indices in located]
    if not all(map(_is_proof, hkeys, found)):
        raise LedgerDamaged("the sorted index of a tree contradicts its leaves")
    return found


def _is_proof(hkey: bytes, entry: list[ProvenLeaf]) -> bool:
    """Return whether `entry` is one leaf with the key, or two neighbouring leaves, one on each side of the key."""
    left, right = entry[0], entry[-1]
    if left is right:
        return left.hkey == hkey
    linked = left.leaf.following == right.leaf_index and right.leaf.previous == left.leaf_index
    return linked and left.hkey < hkey < right.hkey


def save_all(trees: Sequence[Tree]) -> None:
    """Save trees that use the same tables of rows; each level is hashed in one batch for all trees."""
    changed = [tree for tree in trees if tree._edits]
    if not changed:
        return
    changes = [_Change(tree._version, tree._next_free, tree._keys.save(), tree._edits) for tree in changed]
    versions = _rehash(changed[0].rows, changed[0].scheme, changes)
    for tree, version in zip(changed, versions, strict=True):
        tree._version, tree._edits = version, {}


def _check_hash(name: str, value: bytes) -> None:
    if not isinstance(value, bytes) or len(value) != HASH_SIZE:
        raise InvalidInput(name, f"expected {HASH_SIZE} bytes", value)
