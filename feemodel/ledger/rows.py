"""The rows that trees are made of: written once, found by number, never changed.

A changed tree shares with the one before every row that did not change, so that every version stays readable. Number 0
is an empty subtree. All trees share the first rows: the two leaves of an empty tree, and the node above them.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from feemodel.errors import LedgerDamaged
from feemodel.ledger.scheme import FIRST_FREE, HEAD, NOTHING, TAIL, Scheme, StoredPath

Row = TypeVar("Row", bound=tuple[Any, ...])

EMPTY = 0
HEAD_KEY, TAIL_KEY = 1, 2
FIRST_NODE = 1


class Node(NamedTuple):
    """An inner node: its children's numbers (leaves below height 1, nodes above) and their two hashes."""

    left: int
    right: int
    children: bytes


class Leaf(NamedTuple):
    """A leaf: the number of its key, the leaf indices of its neighbours, the hash of its value, the value."""

    key: int
    previous: int
    following: int
    hval: bytes
    value: bytes


class Key(NamedTuple):
    """A key in its tree: the leaf index that it was given, its hash, and the address or slot that was hashed."""

    leaf: int
    hkey: bytes
    name: bytes


Branch: TypeAlias = tuple[int, ...]  # of the sorted index: for each digit a branch, minus a key, or nothing


class MerklePath(NamedTuple):
    """The Merkle path of a leaf, from the highest stored node down.

    Parameters
    ----------
    siblings : of each sibling from the top to height 1 its two hashes, `None` where it is empty.
    leaf, hkey, encoded : the leaf, the hash of its key, and the bytes of it that are hashed.
    sibling_leaf : the bytes of the sibling leaf, 32 zero bytes where it is empty.
    unchecked : the part of the path that was not checked against the root; emptied by the check.
    """

    siblings: Sequence[bytes | None]
    leaf: Leaf
    hkey: bytes
    encoded: bytes
    sibling_leaf: bytes
    unchecked: list[StoredPath]


class Version(NamedTuple):
    """A tree at one time: its root and what the root commits to; the numbers of its top rows."""

    root: bytes
    next_free: int
    sub_root: bytes
    node: int
    branch: int


class Table(Protocol[Row]):
    """Rows of one kind, numbered from 1."""

    def __getitem__(self, number: int) -> Row:
        """The row of that number."""

    def many(self, numbers: Sequence[int]) -> list[Row]:
        """The rows of those numbers, in their order."""

    def extend(self, rows: Iterable[Row]) -> int:
        """Add rows; the number of the first."""


class Rows(Protocol):
    """The four kinds of rows."""

    @property
    def nodes(self) -> Table[Node]:
        """Inner nodes."""

    @property
    def leaves(self) -> Table[Leaf]:
        """Leaves."""

    @property
    def keys(self) -> Table[Key]:
        """Keys."""

    @property
    def branches(self) -> Table[Branch]:
        """Branches of the sorted index."""

    def path(self, version: Version, index: int) -> MerklePath:
        """The path of a leaf that is in use."""

    def last_key(self, place: int, depth: int, hkey: bytes) -> Key | None:
        """The key to which a place of the index leads by the digits of an hkey, `None` where it leads nowhere."""


class MemoryTable(Generic[Row]):
    """A table in memory."""

    def __init__(self) -> None:
        self._rows: list[Row] = []

    def __getitem__(self, number: int) -> Row:
        return self._rows[number - 1]

    def many(self, numbers: Sequence[int]) -> list[Row]:
        """The rows of those numbers, in their order."""
        return [self._rows[number - 1] for number in numbers]

    def extend(self, rows: Iterable[Row]) -> int:
        """Add rows; the number of the first."""
        first = len(self._rows) + 1
        self._rows.extend(rows)
        return first


class MemoryRows:
    """The four tables in memory, with their first rows."""

    def __init__(self, scheme: Scheme) -> None:
        self._scheme = scheme
        self.nodes = MemoryTable[Node]()
        self.leaves = MemoryTable[Leaf]()
        self.keys = MemoryTable[Key]()
        self.branches = MemoryTable[Branch]()
        add_first_rows(self, scheme)

    def path(self, version: Version, index: int) -> MerklePath:
        """The path of a leaf that is in use; nothing in memory is left to be checked."""
        siblings, number, sibling = [], version.node, EMPTY
        for level in range(stored_height(version.next_free) - 1, -1, -1):
            left, right, _ = self.nodes[number]
            number, sibling = (right, left) if index >> level & 1 else (left, right)
            siblings.append(self.nodes[sibling].children if sibling and level else None)
        leaf, hkey, message = self._leaf(number)
        return MerklePath(siblings[:-1], leaf, hkey, message, self._leaf(sibling)[2] if sibling else NOTHING, [])

    def last_key(self, place: int, depth: int, hkey: bytes) -> Key | None:
        """The key to which a place of the index leads by the digits of an hkey, `None` where it leads nowhere."""
        while place > EMPTY:
            place = self.branches[place][digit_at(hkey, depth)]
            depth += 1
        return self.keys[-place] if place else None

    def _leaf(self, number: int) -> tuple[Leaf, bytes, bytes]:
        leaf = self.leaves[number]
        hkey = self.keys[leaf.key].hkey
        return leaf, hkey, encoded(self._scheme, leaf, hkey)


def digit_at(hkey: bytes, depth: int) -> int:
    """The hexadecimal digit of an hkey that the sorted index goes by at a depth.

    Raises `LedgerDamaged` for a depth beyond the last digit, where only a damaged index leads.
    """
    try:
        byte = hkey[depth >> 1]
    except IndexError:
        raise LedgerDamaged("the sorted index of a tree leads deeper than its keys have digits") from None
    return byte & 15 if depth & 1 else byte >> 4


def add_first_rows(rows: Rows, scheme: Scheme) -> None:
    """What every empty tree shares: head, tail and the node above them."""
    keys = [Key(HEAD, NOTHING, b""), Key(TAIL, scheme.tail_key, b"")]
    leaves = [Leaf(number, HEAD, TAIL, NOTHING, bytes(32)) for number in (HEAD_KEY, TAIL_KEY)]
    rows.keys.extend(keys)
    rows.leaves.extend(leaves)
    hashes = [scheme.digest(scheme.leaf(HEAD, TAIL, key.hkey, NOTHING)) for key in keys]
    rows.nodes.extend([Node(1, 2, b"".join(hashes))])


def encoded(scheme: Scheme, leaf: Leaf, hkey: bytes) -> bytes:
    """The bytes of a leaf that its parent holds the hash of."""
    return scheme.leaf(leaf.previous, leaf.following, hkey, leaf.hval)


def stored_height(next_free: int) -> int:
    """The height of the highest stored node.

    >>> stored_height(2), stored_height(4), stored_height(5)
    (1, 2, 3)
    """
    return (next_free - 1).bit_length()


def empty_version(scheme: Scheme) -> Version:
    """The tree in which nothing was ever stored."""
    return Version(scheme.empty_root, FIRST_FREE, scheme.empty_sub_root, FIRST_NODE, EMPTY)
