"""The rows of the trees in SQLite: each table numbered from 1, appended to and read, never updated."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import Any, Generic, NamedTuple

from feemodel.ledger.account import ACCOUNT_SIZE, plain_suffix
from feemodel.ledger.rows import EMPTY, Branch, Key, Leaf, Node, Row, Way, digit_at
from feemodel.ledger.scheme import HASH_SIZE, Scheme

DIGIT_COLUMNS = [f"digit_{digit:x}" for digit in range(16)]
SCHEMA = f"""
CREATE TABLE node (id INTEGER PRIMARY KEY, left INTEGER, right INTEGER, children BLOB) STRICT;
CREATE TABLE leaf (
    id INTEGER PRIMARY KEY, key INTEGER, previous INTEGER, following INTEGER, hval BLOB, value BLOB
) STRICT;
CREATE TABLE key (id INTEGER PRIMARY KEY, leaf INTEGER, hkey BLOB, name BLOB) STRICT;
CREATE TABLE branch (id INTEGER PRIMARY KEY, {", ".join(f"{column} INTEGER" for column in DIGIT_COLUMNS)}) STRICT;
"""
KEYED_LEAF = len(Leaf._fields) + 1  # columns of a leaf and its hkey
PART = 10  # levels of a way that one statement goes down; the lowest part is read from the file
UPPER_PARTS = 4_096  # parts above it that are kept, a kilobyte each: those of a tree of four million leaves
RECENT = 256  # ways that are kept: whose slots are asked for is asked for again and again
STEPS = 3  # depths of the index that one statement goes down
KEPT_DEPTHS = 3  # of the index, whose branches are kept: 273 of a tree at most
QUERY_SIZE = 500  # numbers in one SELECT
CACHED_ROWS = 30_000  # of each kind; more would make each run of the garbage collector felt


class SqlTable(Generic[Row]):
    """One kind of rows in SQLite, with the rows that were read kept in memory: they never change.

    Parameters
    ----------
    connection, name, columns : where the rows are; the first column, `id`, is left out.
    unpack, pack : a row from the values of the columns, and back where the row is not these values already.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        name: str,
        columns: Sequence[str],
        unpack: Callable[[Sequence[Any]], Row],
        pack: Callable[[Row], Sequence[Any]] | None = None,
    ) -> None:
        self._connection, self._unpack, self._pack = connection, unpack, pack
        listed = ", ".join(columns)
        self._one = f"SELECT {listed} FROM {name} WHERE id = ?"
        self._some = f"SELECT id, {listed} FROM {name} WHERE id IN "
        self._last = f"SELECT coalesce(max(id), 0) FROM {name}"
        marks = ", ".join("?" * len(columns))
        self._insert = f"INSERT INTO {name} ({listed}) VALUES ({marks})"  # SQLite numbers the rows on from the last
        self._cache: dict[int, Row] = {}
        self._next = 1

    def __getitem__(self, number: int) -> Row:
        row = self._cache.get(number)
        if row is None:
            row = self._keep(number, self._connection.execute(self._one, (number,)).fetchone())
        return row

    def known(self, number: int) -> Row | None:
        """The row of that number where it is kept in memory."""
        return self._cache.get(number)

    def many(self, numbers: Sequence[int]) -> list[Row]:
        """The rows of those numbers, in their order."""
        found = {number: self._cache[number] for number in numbers if number in self._cache}
        missing = iter(dict.fromkeys(number for number in numbers if number not in found))
        while part := list(islice(missing, QUERY_SIZE)):
            marks = f"({', '.join('?' * len(part))})"
            for number, *values in self._connection.execute(self._some + marks, part):
                found[number] = self._keep(number, values)
        return [found[number] for number in numbers]

    def extend(self, rows: Iterable[Row]) -> int:
        """Add rows; the number of the first."""
        first = self._next
        packed = map(self._pack, rows) if self._pack else rows
        self._next += self._connection.executemany(self._insert, packed).rowcount
        return first

    def resume(self) -> None:
        """Count on from the last stored row."""
        self._next = self._connection.execute(self._last).fetchone()[0] + 1

    def forget(self) -> None:
        """Drop the rows in memory."""
        self._cache.clear()

    def _keep(self, number: int, values: Sequence[Any]) -> Row:
        if len(self._cache) >= CACHED_ROWS:
            self._cache.clear()
        row = self._cache[number] = self._unpack(values)
        return row


class SqlRows:
    """The four tables in SQLite.

    The value of an account without code and storage is stored without its last four words, which all of them share.

    A walk begins with what is kept in memory, the upper parts of ways and of the index, which many walks share, and
    ends with one statement: so it reads as much from the file in a small tree as in a large one.
    """

    def __init__(self, connection: sqlite3.Connection, scheme: Scheme) -> None:
        self._connection = connection
        plain = plain_suffix(scheme)

        def unpacked(values: Sequence[Any]) -> Leaf:
            *links, value = values
            return Leaf._make((*links, value + plain if len(value) == ACCOUNT_SIZE - len(plain) else value))

        def packed(leaf: Leaf) -> Sequence[Any]:
            return (*leaf[:-1], leaf.value.removesuffix(plain))

        self.nodes = SqlTable(connection, "node", Node._fields, Node._make)
        self._unpacked = unpacked
        self.leaves = SqlTable(connection, "leaf", Leaf._fields, unpacked, packed)
        self.keys = SqlTable(connection, "key", Key._fields, Key._make)
        self.branches = SqlTable[Branch](connection, "branch", DIGIT_COLUMNS, tuple)
        self._tables = (self.nodes, self.leaves, self.keys, self.branches)
        self._recent_way = lru_cache(RECENT)(self._read_way)
        self._upper_part = lru_cache(UPPER_PARTS)(self._read_upper_part)

    def resume(self) -> None:
        """Count on from the last stored rows: what a transaction begins with."""
        for table in self._tables:
            table.resume()

    def forget(self) -> None:
        """Drop what is kept in memory: after a transaction that was undone, whose numbers will be given again."""
        self._recent_way.cache_clear()
        self._upper_part.cache_clear()
        for table in self._tables:
            table.forget()

    def way(self, top: int, height: int, index: int) -> Way:
        """The way from a node of some height to the leaf of that index below it, which is not empty."""
        return self._recent_way(top, height, index)

    def _read_way(self, top: int, height: int, index: int) -> Way:
        above: tuple[bytes | None, ...] = ()
        while height > PART:
            foot = (height - 1) // PART * PART
            *part, top = self._upper_part(top, height, foot, index >> foot)
            above, height = (*above, *part), foot
        found = self._connection.execute(_lowest_part(height), (top, index)).fetchone()
        siblings, leaf, beside = found[: height - 1], found[height - 1 : -KEYED_LEAF], found[-KEYED_LEAF:]
        return Way((*above, *siblings), self._leaf(leaf), None if beside[0] is None else self._leaf(beside))

    def _read_upper_part(self, top: int, height: int, foot: int, index: int) -> Any:
        return self._connection.execute(_upper_part(height, foot), (top, index)).fetchone()

    def last_key(self, place: int, depth: int, hkey: bytes) -> Key | None:
        """The key to which a place of the index leads by the digits of an hkey, `None` where it leads nowhere."""
        while place > EMPTY:
            kept = self.branches[place] if depth < KEPT_DEPTHS else self.branches.known(place)
            if kept:  # deeper down where an import has read its keys' branches before
                place = kept[digit_at(hkey, depth)]
                depth += 1
                continue
            digits = int.from_bytes(hkey) << 4 * STEPS >> 4 * (2 * HASH_SIZE - depth) & 16**STEPS - 1
            *key, place = self._connection.execute(LAST_KEY, (place, digits)).fetchone()
            if place < EMPTY:
                return Key._make(key)
            depth += STEPS
        return self.keys[-place] if place else None

    def _leaf(self, values: Sequence[Any]) -> tuple[Leaf, bytes]:
        *leaf, hkey = values
        return self._unpacked(leaf), hkey


def _digit(branch: str, bits: int) -> str:
    """Where a branch leads by four bits of ?2, counted from the lowest."""
    ways = [f"{branch}.{column}" for column in DIGIT_COLUMNS]
    for bit in range(bits, bits + 4):
        ways = [f"iif(?2 >> {bit} & 1, {one}, {zero})" for zero, one in zip(ways[::2], ways[1::2], strict=True)]
    return ways[0]


def _last_key() -> str:
    """From a branch ?1 down by the digits ?2: the key, where the way ends at one, and where it leads at last."""
    places = [_digit(f"branch_{step}", 4 * (STEPS - 1 - step)) for step in range(STEPS)]
    joins = [f"LEFT JOIN branch AS branch_{step} ON branch_{step}.id = {places[step - 1]}" for step in range(1, STEPS)]
    last = f"coalesce({', '.join(reversed(places))})"
    return f"""
    SELECT {", ".join(f"key.{field}" for field in Key._fields)}, {last}
    FROM branch AS branch_0 {" ".join(joins)} LEFT JOIN key ON key.id = -{last}
    WHERE branch_0.id = ?1"""


LAST_KEY = _last_key()


class _Walk(NamedTuple):
    """A walk down a tree in SQL: columns, joins, and the numbers to which it leads and beside which it ends."""

    siblings: list[str]
    nodes: str
    child: str
    beside: str


def _walk(height: int, foot: int) -> _Walk:
    """From a node ?1 of one height to the row of an index ?2 at another, which counts the nodes of that height.

    A chain of joins, whose level costs less than half of one of a recursive statement.
    """
    siblings, nodes, child, beside = [], [f"node AS node_{height}"], "", ""
    for level in range(height - 1, foot - 1, -1):
        left, right = f"node_{level + 1}.left", f"node_{level + 1}.right"
        child, beside = (f"iif(?2 >> {level - foot} & 1, {a}, {b})" for a, b in ((right, left), (left, right)))
        if level:
            siblings.append(f"(SELECT children FROM node WHERE id = {beside})")
        if level > foot:
            nodes.append(f"node AS node_{level} ON node_{level}.id = {child}")
    return _Walk(siblings, " CROSS JOIN ".join(nodes), child, beside)


@cache
def _upper_part(height: int, foot: int) -> str:
    """Part of a way above the lowest: the siblings' hashes, the number of the node at its foot."""
    walk = _walk(height, foot)
    return f"SELECT {', '.join([*walk.siblings, walk.child])} FROM {walk.nodes} WHERE node_{height}.id = ?1"


@cache
def _lowest_part(height: int) -> str:
    """Part of a way from that height down: the siblings' hashes, the leaf, the one beside it."""
    walk = _walk(height, 0)
    columns = [
        column
        for leaf in ("leaf", "beside")
        for column in (*(f"{leaf}.{field}" for field in Leaf._fields), f"{leaf}_key.hkey")
    ]
    return f"""
    SELECT {", ".join([*walk.siblings, *columns])} FROM {walk.nodes}
    CROSS JOIN leaf ON leaf.id = {walk.child} CROSS JOIN key AS leaf_key ON leaf_key.id = leaf.key
    LEFT JOIN leaf AS beside ON beside.id = {walk.beside} LEFT JOIN key AS beside_key ON beside_key.id = beside.key
    WHERE node_{height}.id = ?1"""
