"""The rows of trees in lists: a second implementation, with which the one in SQLite is compared."""

from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

from feemodel.ledger._rows import (
    EMPTY,
    Branch,
    Key,
    Leaf,
    MerklePath,
    TreeNode,
    Version,
    add_first_rows,
    digit_at,
    stored_height,
)
from feemodel.ledger._scheme import NOTHING, Scheme

Row = TypeVar("Row", bound=tuple[Any, ...])


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
        self.nodes = MemoryTable[TreeNode]()
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
        return leaf, hkey, self._scheme.leaf(leaf.previous, leaf.following, hkey, leaf.hval)
