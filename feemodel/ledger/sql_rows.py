"""The rows of the trees in SQLite: each table numbered from 1, appended to and read, never updated."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import Any, Generic

from feemodel.ledger.account import ACCOUNT_SIZE, plain_suffix
from feemodel.ledger.rows import EMPTY, Branch, Key, Leaf, Node, Row, Way, digit_at
from feemodel.ledger.scheme import Scheme

DIGIT_COLUMNS = [f"digit_{digit:x}" for digit in range(16)]
SCHEMA = f"""
CREATE TABLE node (id INTEGER PRIMARY KEY, left INTEGER, right INTEGER, children BLOB) STRICT;
CREATE TABLE leaf (
    id INTEGER PRIMARY KEY, key INTEGER, previous INTEGER, following INTEGER, hval BLOB, value BLOB
) STRICT;
CREATE TABLE key (id INTEGER PRIMARY KEY, leaf INTEGER, hkey BLOB, name BLOB) STRICT;
CREATE TABLE branch (id INTEGER PRIMARY KEY, {", ".join(f"{column} INTEGER" for column in DIGIT_COLUMNS)}) STRICT;
"""
DIGIT = (
    "CASE substr(?3, depth + 1, 1)"
    + "".join(f" WHEN '{column[-1]}' THEN {column}" for column in DIGIT_COLUMNS)
    + " END"
)
LAST_KEY = f"""
WITH RECURSIVE way (place, depth) AS (
    SELECT ?1, ?2 UNION ALL SELECT {DIGIT}, depth + 1 FROM way CROSS JOIN branch ON branch.id = place WHERE place > 0
)
SELECT {", ".join(Key._fields)} FROM way CROSS JOIN key ON key.id = -place WHERE place < 0"""
KEYED_LEAF = len(Leaf._fields) + 1  # columns of a leaf and its hkey
RECENT = 256  # ways that are kept: whose slots are asked for is asked for again and again
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

    A walk is one statement, whatever its length, and reads the file's pages only: so it costs nearly the same in a
    small tree and in a large one, where most rows would not be among those in memory.
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

    def resume(self) -> None:
        """Count on from the last stored rows: what a transaction begins with."""
        for table in self._tables:
            table.resume()

    def forget(self) -> None:
        """Drop what is kept in memory: after a transaction that was undone, whose numbers will be given again."""
        self._recent_way.cache_clear()
        for table in self._tables:
            table.forget()

    def way(self, top: int, height: int, index: int) -> Way:
        """The way from a node of some height to the leaf of that index below it, which is not empty."""
        return self._recent_way(top, height, index)

    def _read_way(self, top: int, height: int, index: int) -> Way:
        found = self._connection.execute(_way(height), (top, index)).fetchone()
        siblings, leaf, beside = found[: height - 1], found[height - 1 : -KEYED_LEAF], found[-KEYED_LEAF:]
        return Way(siblings, self._leaf(leaf), None if beside[0] is None else self._leaf(beside))

    def last_key(self, place: int, depth: int, hkey: bytes) -> Key | None:
        """The key to which a place of the index leads by the digits of an hkey, `None` where it leads nowhere."""
        while place > EMPTY and (known := self.branches.known(place)):  # an import has read its keys' branches before
            place = known[digit_at(hkey, depth)]
            depth += 1
        if place <= EMPTY:
            return self.keys[-place] if place else None
        row = self._connection.execute(LAST_KEY, (place, depth, hkey.hex())).fetchone()
        return Key._make(row) if row else None

    def _leaf(self, values: Sequence[Any]) -> tuple[Leaf, bytes]:
        *leaf, hkey = values
        return self._unpacked(leaf), hkey


@cache
def _way(height: int) -> str:
    """From a node ?1 of that height to the leaf of an index ?2: the siblings' hashes, the leaf, the one beside it.

    A chain of joins, whose level costs less than half of one of a recursive statement; 44 tables at the most, of the
    64 that SQLite joins.
    """
    siblings, nodes, child, beside = [], [f"node AS node_{height}"], "", ""
    for level in range(height - 1, -1, -1):
        left, right = f"node_{level + 1}.left", f"node_{level + 1}.right"
        child, beside = (f"iif(?2 >> {level} & 1, {a}, {b})" for a, b in ((right, left), (left, right)))
        if level:
            siblings.append(f"(SELECT children FROM node WHERE id = {beside})")
            nodes.append(f"node AS node_{level} ON node_{level}.id = {child}")
    columns = [
        column
        for leaf in ("leaf", "beside")
        for column in (*(f"{leaf}.{field}" for field in Leaf._fields), f"{leaf}_key.hkey")
    ]
    return f"""
    SELECT {", ".join([*siblings, *columns])}
    FROM {" CROSS JOIN ".join(nodes)}
    CROSS JOIN leaf ON leaf.id = {child} CROSS JOIN key AS leaf_key ON leaf_key.id = leaf.key
    LEFT JOIN leaf AS beside ON beside.id = {beside} LEFT JOIN key AS beside_key ON beside_key.id = beside.key
    WHERE node_{height}.id = ?1"""
