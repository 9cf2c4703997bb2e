"""Rows of the trees in SQLite. Each row has a number, is written once, and never changes.

A new version of a tree shares all unchanged rows with the version before, so every version stays readable. The rows of
each table are numbered from 1; number 0 means an empty subtree. Three kinds of rows make a tree:

- A node covers two levels of the binary Merkle tree: it has the hashes and the row numbers of its four children. The
  children of a node of height 1 are leaves. New nodes of one height are stored in groups: a row has up to 25 nodes, and
  the number of a node is 25 times the number of the row plus the node's place in the row.
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
from feemodel.ledger.scheme import EMPTY_KECCAK, HASH_SIZE, HEAD, NOTHING, TAIL, AccountLeaf, Scheme

LEVELS = 2  # levels of the binary tree in a node
CHILDREN = 1 << LEVELS
NUMBER_SIZE = 8  # size of the number in each entry [byte]
ENTRY = np.dtype([("hash", f"V{HASH_SIZE}"), ("number", f">i{NUMBER_SIZE}")])  # in nodes and pages
GROUP = 25  # maximum number of nodes in a group, which then fits into a page of the file
ENTRY_SIZE, NODE_SIZE = ENTRY.itemsize, CHILDREN * ENTRY.itemsize
PLAIN_SIZE = 64  # size of the stored value of an account without code and storage: nonce and balance [byte]

KEPT = 12_000  # number of rows that are cached, up to 4 kB each; a proof is otherwise three times slower
COLUMNS = {
    "node": "height, nodes",
    "leaf": "hkey, previous, following, hval, value",
    "page": "height, entries",
}

SCHEMA = """
CREATE TABLE node (id INTEGER PRIMARY KEY, height INTEGER, nodes BLOB) STRICT;
CREATE TABLE leaf (
    id INTEGER PRIMARY KEY, hkey BLOB, previous INTEGER, following INTEGER, hval BLOB, value BLOB
) STRICT;
CREATE TABLE page (id INTEGER PRIMARY KEY, height INTEGER, entries BLOB) STRICT;
"""


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

    >>> height_of(2), height_of(4), height_of(5)
    (1, 1, 2)
    """
    return -(-(next_free - 1).bit_length() // LEVELS)


class Rows:
    """The three tables of rows.

    The value of an account without code and storage is stored without its last four words, which are always the same.

    The cache has the newest rows of each table by number, nodes with their inner hashes by height and number, checked
    roots, and checked leaves of proofs by root and index.
    """

    def __init__(self, database: Database, scheme: Scheme) -> None:
        self.database, self.scheme = database, scheme
        plain = AccountLeaf(0, 0, scheme.empty_root, scheme.empty_code_hash, EMPTY_KECCAK, 0)
        self._plain = plain.to_bytes()[PLAIN_SIZE:]
        self.cache: defaultdict[str, dict[Any, Any]] = defaultdict(dict)

    def nodes(self, numbers: Sequence[int], height: int) -> list[bytes]:
        """Return the nodes with these row numbers; number 0 gives an empty node."""
        groups, empty = self._many("node", {number // GROUP for number in numbers}), self.empty_node(height)
        places = [(number // GROUP, number % GROUP * NODE_SIZE) for number in numbers]
        nodes = [groups[group][1][start : start + NODE_SIZE] if group else empty for group, start in places]
        if min(map(len, nodes), default=NODE_SIZE) < NODE_SIZE:
            self.database.damaged("a node is malformed")
        return nodes

    def empty_node(self, height: int) -> bytes:
        """Return a node without leaves."""
        return CHILDREN * (self.scheme.zeros[(height - 1) * LEVELS] + bytes(NUMBER_SIZE))

    def node(self, number: int, height: int) -> Node:
        """Return a node with the hashes within it; see `nodes`."""
        node: Node | None = self.cache["inner"].get((height, number))
        if node is None:
            entries = pieces(self.nodes([number], height)[0], ENTRY_SIZE)
            hashes = b"".join([entry[:HASH_SIZE] for entry in entries])
            top = self.scheme.digests(hashes, 2 * HASH_SIZE)
            rows = [int.from_bytes(entry[HASH_SIZE:]) for entry in entries]
            node = Node([pieces(hashes, 2 * HASH_SIZE), [top]], rows, self.scheme.digest(top))
            self.keep("inner", {(height, number): node})
        return node

    def leaves(self, numbers: Sequence[int]) -> list[Leaf]:
        """Return the leaves with these row numbers, none of which is 0."""
        rows = self._many("leaf", numbers)
        return [self.leaf(*rows[number]) for number in numbers]

    def leaf(self, hkey: bytes, previous: int, following: int, hval: bytes, value: bytes) -> Leaf:
        """Return the leaf of a row."""
        return Leaf(hkey, previous, following, hval, value + self._plain if len(value) == PLAIN_SIZE else value)

    def pages(self, numbers: Iterable[int]) -> dict[int, tuple[int, list[bytes]]]:
        """Return the height and the entries of each page, by row number."""
        rows = self._many("page", numbers)
        return {number: (rows[number][0], pieces(rows[number][1], ENTRY_SIZE)) for number in numbers}

    def keep(self, kind: str, rows: Mapping[Any, Any]) -> None:
        """Add rows to the cache, which drops the older rows of a kind when there are too many."""
        cache = self.cache[kind]
        if len(cache) + len(rows) > KEPT:
            cache.clear()
        if len(rows) <= KEPT:
            cache.update(rows)

    def add_nodes(self, height: int, nodes: Sequence[bytes]) -> list[bytes]:
        """Add nodes; return their entries for the nodes above, with their hashes and row numbers."""
        groups = [b"".join(nodes[start : start + GROUP]) for start in range(0, len(nodes), GROUP)]
        first = GROUP * self.add("node", [(height, group) for group in groups])
        hashes = np.frombuffer(b"".join(groups), ENTRY)["hash"].tobytes()
        return entries_of(node_hashes(self.scheme, hashes), first + np.arange(len(nodes)))

    def add_leaves(self, leaves: Sequence[Leaf]) -> list[bytes]:
        """Add leaves; return their entries for the nodes above, with their hashes and row numbers."""
        plain = self._plain
        rows = [(one.hkey, one.previous, one.following, one.hval, one.value.removesuffix(plain)) for one in leaves]
        first = self.add("leaf", rows)
        return entries_of(self.scheme.leaf_hashes(leaves), first + np.arange(len(leaves))) if leaves else []

    def add(self, table: str, rows: Sequence[tuple[Any, ...]]) -> int:
        """Add rows to a table; return the number of the first row."""
        first, columns = self.next_number(table), COLUMNS[table]
        marks = ", ".join("?" * len(columns.split(", ")))  # SQLite numbers the new rows consecutively
        self.database.run_many(f"INSERT INTO {table} ({columns}) VALUES ({marks})", rows)
        self.keep(table, dict(zip(range(first, first + len(rows)), rows, strict=True)))
        return first

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


def child_row(node: bytes, position: int) -> int:
    """Return the row number of the child of a node at a position of the level below."""
    start = position % CHILDREN * ENTRY_SIZE + HASH_SIZE
    return int.from_bytes(node[start : start + NUMBER_SIZE])


def changed_nodes(nodes: Mapping[int, bytes], entries: Mapping[int, bytes], empty: bytes) -> dict[int, bytes]:
    """Return the nodes of a level after a change of the entries at these positions of the level below."""
    changed: dict[int, bytes] = {}
    for position, entry in entries.items():
        above, start = position >> LEVELS, position % CHILDREN * ENTRY_SIZE
        node = changed.get(above) or nodes.get(above, empty)
        changed[above] = node[:start] + entry + node[start + ENTRY_SIZE :]
    return changed


def entries_of(hashes: bytes, numbers: NDArray[np.int64]) -> list[bytes]:
    """Return entries with these hashes and numbers."""
    entries = np.empty(len(numbers), ENTRY)
    entries["hash"], entries["number"] = np.frombuffer(hashes, ENTRY["hash"]), numbers
    return pieces(entries.tobytes(), ENTRY_SIZE)


def node_hashes(scheme: Scheme, hashes: bytes) -> bytes:
    """Return the concatenated hashes of nodes, from the concatenated hashes of their children."""
    return scheme.digests(scheme.digests(hashes, 2 * HASH_SIZE), 2 * HASH_SIZE)


def add_first_rows(rows: Rows) -> None:
    """Store the rows of the empty tree: two leaves, the node above these leaves, and an index of the first leaf."""
    scheme = rows.scheme
    ends = [Leaf(NOTHING, HEAD, TAIL, NOTHING, NOTHING), Leaf(scheme.tail_key, HEAD, TAIL, NOTHING, NOTHING)]
    leaves = b"".join(rows.add_leaves(ends))
    rows.add_nodes(1, [leaves + rows.empty_node(1)[len(leaves) :]])
    rows.add("page", [(0, NOTHING + bytes(NUMBER_SIZE))])
