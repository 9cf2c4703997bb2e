"""The sparse Merkle tree of depth 40 whose leaves form a linked list sorted by key.

A new key gets the next leaf index, which is never used again; its neighbours' links change with it. So the root
depends on the order of the insertions, and absence is shown by two leaves that are neighbours.

`put` and `remove` only note what changes; the hashes are brought up to date when the tree is saved, which reading its
root or a proof does by itself.

Source: `ZKTrie` of Consensys/shomei at 3f47bed.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from feemodel.errors import InvalidInput, LedgerDamaged
from feemodel.ledger.index import KeyIndex, Neighbours
from feemodel.ledger.rehash import Change, Edit, rehash
from feemodel.ledger.rows import HEAD_KEY, TAIL_KEY, Key, Leaf, MerklePath, Version, empty_version, stored_height
from feemodel.ledger.scheme import DEPTH, HASH_SIZE, HEAD, NOTHING, TAIL, scheme_of
from feemodel.ledger.sql_rows import SqlRows, memory_rows


class ProvenLeaf(NamedTuple):
    """A leaf and the 42 entries that prove it.

    The top node; on each level from 39 to 1 the two hashes below the sibling; the sibling leaf, 32 zero bytes when it
    is empty; the leaf itself.
    """

    leaf_index: int
    leaf: Leaf
    related_nodes: list[bytes]
    hkey: bytes


class Tree:
    """One state tree: the account tree, or the storage tree of an account.

    Parameters
    ----------
    hashing : "poseidon2" or "mimc".
    rows : where its rows are stored; in memory unless given.
    version : where it starts from, a version stored in `rows`; empty unless given.
    value_message : value of a leaf → the bytes that its hval is the hash of; unless given, values are not checked.

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
        self._keys = KeyIndex(self.rows, self._version.branch)
        self._next_free = self._version.next_free
        self._edits: dict[int, Edit] = {}

    @property
    def version(self) -> Version:
        """Save the tree; its stored version."""
        if self._edits:
            save_all([self])
        return self._version

    @property
    def root(self) -> bytes:
        """The hash of the top node: of `next_free` and `sub_root`."""
        return self.version.root

    @property
    def next_free(self) -> int:
        """The leaf index of the next new key."""
        return self._next_free

    def put(self, hkey: bytes, hval: bytes, value: bytes = b"", name: bytes = b"") -> None:
        """Set a key: update its leaf, or insert one.

        Parameters
        ----------
        hkey, hval : [32 bytes] hashes of the key and of the value.
        value : the value itself, for proofs.
        name : what the key is the hash of, kept when the key is inserted.

        Raises `InvalidInput` for a hash of another length, or an hkey that belongs to the head or the tail.
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
        """Take a key out: its leaf becomes empty, its index is not used again.

        Raises `InvalidInput` for a key that is not in the tree.
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
        """The leaf of a key, `None` when it is absent.

        Raises `LedgerDamaged` where the stored path of the leaf does not lead to the root.
        """
        index = self._keys.find(hkey)
        return None if index is None else self._paths([index])[0].leaf

    def get_many(self, hkeys: Iterable[bytes]) -> dict[bytes, Leaf]:
        """The leaves of those keys that are present, by hkey; each level is read in one batch.

        Raises `LedgerDamaged` for a leaf of another key, or a value that has not its hash. The paths are not checked:
        an import does so for the leaves that it changes.
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
            raise LedgerDamaged("a key leads to the leaf of another one")
        if self._value_message is not None:
            messages = [self._value_message(leaf.value) for leaf in leaves.values()]
            if self.scheme.first_wrong(messages, [leaf.hval for leaf in leaves.values()]) is not None:
                raise LedgerDamaged("a value has not the hash that its leaf holds")
        return leaves

    def locate(self, hkey: bytes) -> tuple[int] | tuple[int, int]:
        """The leaf index of a key, or where it is absent those of its two neighbours."""
        _check_hash("hkey", hkey)
        if (present := self._keys.find(hkey)) is not None:
            return (present,)
        left, _, right = self._neighbours(hkey)
        return self._index(left or HEAD_KEY), self._index(right or TAIL_KEY)

    def proven_leaves(self, indices: Sequence[int]) -> list[ProvenLeaf]:
        """The leaves of indices that are in use, and what proves them.

        Raises `LedgerDamaged` where the stored path of a leaf does not lead to the root.
        """
        return [self._proven(index, path) for index, path in zip(indices, self._paths(indices), strict=True)]

    def _check(self, indices: Sequence[int], paths: Sequence[MerklePath]) -> None:
        """Raise `LedgerDamaged` unless each value has its hash and the hashes lead to the root.

        What is kept in memory is hashed once.
        """
        message_of = self._value_message
        parts, values = [], []
        for index, path in zip(indices, paths, strict=True):
            for part in path.unchecked:
                has_value = index not in (HEAD, TAIL) or path.leaf.value != NOTHING
                parts.append(part)
                values.append(message_of(path.leaf.value) if message_of is not None and has_value else b"")
        if parts and not self.scheme.paths_hold(parts, values):
            raise LedgerDamaged("a leaf or a node has not the hash that its parent holds")
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
                raise LedgerDamaged(f"a key has leaf {index}, and the next free one is {version.next_free}")
        paths = [self.rows.path(version, index) for index in indices]
        self._check(indices, paths)
        return paths

    def _neighbours(self, hkey: bytes) -> Neighbours:
        _check_hash("hkey", hkey)
        if not NOTHING < hkey < self.scheme.tail_key:
            raise InvalidInput("hkey", "expected a hash between those of head and tail", hkey.hex())
        return self._keys.neighbours(hkey)

    def _index(self, key: int) -> int:
        return self.rows.keys[key].leaf

    def _edit(self, index: int, **fields: int | bytes) -> None:
        self._edits[index] = (self._edits.get(index) or {}) | fields


def proven(tree: Tree, hkeys: Sequence[bytes]) -> list[list[ProvenLeaf]]:
    """The leaf of each key, or the two leaves between which it is missing; all paths are checked in one call.

    Raises `LedgerDamaged` where the stored rows prove neither.
    """
    located = [tree.locate(hkey) for hkey in hkeys]
    leaves = iter(tree.proven_leaves([index for indices in located for index in indices]))
    found = [[next(leaves) for _ in indices] for indices in located]
    if not all(map(_is_proof, hkeys, found)):
        raise LedgerDamaged("the sorted index of a tree contradicts its leaves")
    return found


def _is_proof(hkey: bytes, entry: list[ProvenLeaf]) -> bool:
    """Whether the one leaf has the key, or the two are neighbours around it."""
    left, right = entry[0], entry[-1]
    if left is right:
        return left.hkey == hkey
    linked = left.leaf.following == right.leaf_index and right.leaf.previous == left.leaf_index
    return linked and left.hkey < hkey < right.hkey


def save_all(trees: Sequence[Tree]) -> None:
    """Bring trees of the same rows up to date together, each level hashed in one batch."""
    changed = [tree for tree in trees if tree._edits]
    if not changed:
        return
    changes = [Change(tree._version, tree._next_free, tree._keys.save(), tree._edits) for tree in changed]
    versions = rehash(changed[0].rows, changed[0].scheme, changes)
    for tree, version in zip(changed, versions, strict=True):
        tree._version, tree._edits = version, {}


def _check_hash(name: str, value: bytes) -> None:
    if not isinstance(value, bytes) or len(value) != HASH_SIZE:
        raise InvalidInput(name, f"expected {HASH_SIZE} bytes", value)
