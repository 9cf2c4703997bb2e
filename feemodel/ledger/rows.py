"""The rows that trees are made of: written once, found by number, never changed.

A changed tree shares with the one before every row that did not change, so that every version stays readable. Number 0
is an empty subtree. All trees share the first rows: the two leaves of an empty tree, and the node above them.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from feemodel.errors import LedgerDamaged
from feemodel.ledger.scheme import FIRST_FREE, Scheme, StoredPath

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


def digit_at(hkey: bytes, depth: int) -> int:
    """The hexadecimal digit of an hkey that the sorted index goes by at a depth.

    Raises `LedgerDamaged` for a depth beyond the last digit, where only a damaged index leads.
    """
    try:
        byte = hkey[depth >> 1]
    except IndexError:
        raise LedgerDamaged("the sorted index of a tree leads deeper than its keys have digits") from None
    return byte & 15 if depth & 1 else byte >> 4


def stored_height(next_free: int) -> int:
    """The height of the highest stored node.

    >>> stored_height(2), stored_height(4), stored_height(5)
    (1, 2, 3)
    """
    return (next_free - 1).bit_length()


def empty_version(scheme: Scheme) -> Version:
    """The tree in which nothing was ever stored."""
    return Version(scheme.empty_root, FIRST_FREE, scheme.empty_sub_root, FIRST_NODE, EMPTY)
