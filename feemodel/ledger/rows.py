"""Rows of the trees in SQLite. Each row has a number, is written once, and never changes.

A new version of a tree shares all unchanged rows with the version before, so every version stays readable. The rows of
each table are numbered from 1; number 0 means an empty subtree. Three kinds of rows make a tree:

- A node covers four levels of the binary Merkle tree: it has the hashes and the row numbers of its sixteen children.
  The children of a node of height 1 are leaves.
- A leaf has its hashed key, the leaf indices of its neighbours by key, the hash of its value, and the value.
- A page belongs to the sorted index, a B+ tree: entries of a hashed key and a number, in ascending order. The number is
  a leaf index in a page of height 0, and otherwise the row number of the page below that starts with this key.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from feemodel.ledger.database import Database
from feemodel.ledger.hashing import pieces
from feemodel.ledger.scheme import HASH_SIZE, HEAD, NOTHING, TAIL, Scheme

LEVELS = 4  # levels of the binary tree in a node
CHILDREN = 1 << LEVELS
NODE = np.dtype([("hash", np.uint8, (CHILDREN, HASH_SIZE)), ("row", "<u4", CHILDREN)])
NUMBER_SIZE = 8  # size of the number in each page entry [byte]
ENTRY = np.dtype([("hkey", f"V{HASH_SIZE}"), ("number", f">u{NUMBER_SIZE}")])

KEPT = 12_000  # number of rows that are cached, up to 4 kB each; a proof is otherwise three times slower
COLUMNS = {
    "node": "height, children",
    "leaf": "hkey, previous, following, hval, value",
    "page": "height, entries",
}

SCHEMA = """
CREATE TABLE node (id INTEGER PRIMARY KEY, height INTEGER, children BLOB) STRICT;
CREATE TABLE leaf (
    id INTEGER PRIMARY KEY, hkey BLOB, previous INTEGER, following INTEGER, hval BLOB, value BLOB
) STRICT;
CREATE TABLE page (id INTEGER PRIMARY KEY, height INTEGER, entries BLOB) STRICT;
"""

Numbers = NDArray[np.int64]


@dataclass(slots=True)
class Leaf:
    """Leaf: hashed key, leaf indices of the two neighbouring leaves, hash of the value, and value."""

    hkey: bytes
    previous: int
    following: int
    hval: bytes
    value: bytes


class Node(NamedTuple):
    """Node: for each level, from the lowest, pairs of hashes; the row numbers of the children; the node's hash."""

    pairs: list[list[bytes]]
    rows: list[int]
    digest: bytes


class Version(NamedTuple):
    """Version of a tree: its root, the values from which the root is computed, and the numbers of its top rows."""

    root: bytes
    next_free: int
    sub_root: bytes
    node: int
    page: int


def height_of(next_free: int) -> int:
    """Return the height of the top node of a tree, computed from the next free leaf index of the tree.

    >>> height_of(2), height_of(16), height_of(17)
    (1, 1, 2)
    """
    return -(-(next_free - 1).bit_length() // LEVELS)


class Rows:
    """The three tables of rows.

    The cache has the newest rows of each table by number, nodes with their inner hashes by height and number, checked
    roots, and checked leaves of proofs by root and index.
    """

    def __init__(self, database: Database, scheme: Scheme) -> None:
        self.database, self.scheme = database, scheme
        self.cache: defaultdict[str, dict[Any, Any]] = defaultdict(dict)

    def nodes(self, numbers: Sequence[int], height: int) -> NDArray[Any]:
        """Return the nodes with these row numbers as a new array; number 0 gives an empty node."""
        rows = self._many("node", numbers)
        empty = CHILDREN * self.scheme.zeros[(height - 1) * LEVELS] + bytes(NODE["row"].itemsize)
        data = bytearray().join([rows[number][1] if number else empty for number in numbers])
        if len(data) != NODE.itemsize * len(numbers):
            self.database.damaged("a node is malformed")
        return np.frombuffer(data, NODE)

    def node(self, number: int, height: int) -> Node:
        """Return a node with the hashes within it; see `nodes`."""
        node: Node | None = self.cache["inner"].get((height, number))
        if node is None:
            [row] = self.nodes([number], height)
            levels = inner_levels(self.scheme, row["hash"].tobytes())
            pairs = [pieces(level, 2 * HASH_SIZE) for level in levels]
            node = Node(pairs, row["row"].tolist(), self.scheme.digest(levels[-1]))
            self.keep("inner", {(height, number): node})
        return node

    def leaves(self, numbers: Sequence[int]) -> list[Leaf]:
        """Return the leaves with these row numbers, none of which is 0."""
        rows = self._many("leaf", numbers)
        return [Leaf(*rows[number]) for number in numbers]

    def pages(self, numbers: Sequence[int]) -> list[tuple[int, bytes]]:
        """Return the height and the entries of each page."""
        rows = self._many("page", numbers)
        return [rows[number] for number in numbers]

    def keep(self, kind: str, rows: Mapping[Any, Any]) -> None:
        """Add rows to the cache, which drops the older rows of a kind when there are too many."""
        cache = self.cache[kind]
        if len(cache) + len(rows) > KEPT:
            cache.clear()
        if len(rows) <= KEPT:
            cache.update(rows)

    def add_nodes(self, height: int, nodes: NDArray[Any]) -> Numbers:
        """Add nodes; return their row numbers."""
        return self.add("node", [(height, blob) for blob in pieces(nodes.tobytes(), NODE.itemsize)])

    def add_leaves(self, leaves: Iterable[Leaf]) -> Numbers:
        """Add leaves; return their row numbers."""
        rows = [(leaf.hkey, leaf.previous, leaf.following, leaf.hval, leaf.value) for leaf in leaves]
        return self.add("leaf", rows)

    def add(self, table: str, rows: Sequence[tuple[Any, ...]]) -> Numbers:
        """Add rows to a table; return their row numbers."""
        first, columns = self.next_number(table), COLUMNS[table]
        marks = ", ".join("?" * len(columns.split(", ")))  # SQLite numbers the new rows consecutively
        self.database.run_many(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)
        numbers = range(first, first + len(rows))
        self.keep(table, dict(zip(numbers, rows, strict=True)))
        return np.array(numbers, np.int64)

    def next_number(self, table: str) -> int:
        """Return the number of the next row of a table."""
        return int(self.database.one(f"SELECT coalesce(max(id), 0) + 1 FROM {table}")[0])

    def _many(self, table: str, numbers: Iterable[int]) -> Mapping[int, Any]:
        """Return the cached rows by number, including the rows with these numbers."""
        cache, wanted = self.cache[table], {*numbers} - {0}
        if missing := wanted.difference(cache):
            if len(cache) + len(missing) > KEPT:
                cache.clear()
                missing = wanted
            query = f"SELECT id, {COLUMNS[table]} FROM {table} WHERE id IN (SELECT value FROM json_each(?))"
            cache.update({row[0]: row[1:] for row in self.database.each(query, (json.dumps([*missing]),))})
            if absent := missing.difference(cache):
                self.database.damaged(f"{table} {min(absent)} is missing")
        return cache


def inner_levels(scheme: Scheme, hashes: bytes) -> list[bytes]:
    """Return the concatenated hashes within nodes: sixteen hashes of each node, then eight, four and two."""
    levels = [hashes]
    for _ in range(LEVELS - 1):
        levels.append(scheme.digests(levels[-1], 2 * HASH_SIZE))
    return levels


def node_hashes(scheme: Scheme, hashes: bytes) -> NDArray[np.uint8]:
    """Return the hashes of nodes, of shape (n, 32), from the concatenated hashes of their children."""
    digests = scheme.digests(inner_levels(scheme, hashes)[-1], 2 * HASH_SIZE)
    return np.frombuffer(digests, np.uint8).reshape(-1, HASH_SIZE)


def add_first_rows(rows: Rows) -> None:
    """Store the rows of the empty tree: two leaves, the node above these leaves, and an index of the first leaf."""
    scheme = rows.scheme
    ends = [Leaf(NOTHING, HEAD, TAIL, NOTHING, NOTHING), Leaf(scheme.tail_key, HEAD, TAIL, NOTHING, NOTHING)]
    node = rows.nodes([0], 1)
    node["row"][0, :2] = rows.add_leaves(ends)
    node["hash"][0, :2] = np.frombuffer(scheme.leaf_hashes(ends), np.uint8).reshape(2, HASH_SIZE)
    rows.add_nodes(1, node)
    rows.add("page", [(0, NOTHING + bytes(NUMBER_SIZE))])
