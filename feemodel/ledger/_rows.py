"""Rows of trees in SQLite. Each row has a number, is written once, and never changes.

A new version of a tree shares all unchanged rows with the previous version, so every version stays readable. The rows
of each table are numbered from 1; number 0 means an empty subtree. All trees share the first rows: the two leaves of an
empty tree, and the node above these leaves.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from feemodel.errors import InvalidInput, LedgerDamaged
from feemodel.ledger._database import Database
from feemodel.ledger._scheme import (
    ACCOUNT_SIZE,
    DEPTH,
    FIRST_FREE,
    HASH_SIZE,
    HEAD,
    NOTHING,
    TAIL,
    Scheme,
    StoredPath,
    path_links,
    plain_suffix,
)

EMPTY = 0
HEAD_KEY, TAIL_KEY = 1, 2
FIRST_NODE = 1


class TreeNode(NamedTuple):
    """Inner node: row numbers and hashes of the two children. The children of a node at height 1 are leaves."""

    left: int
    right: int
    children: bytes


class Leaf(NamedTuple):
    """Leaf: row number of the key, leaf indices of the two neighbouring leaves, hash of the value, and value."""

    key: int
    previous: int
    following: int
    hval: bytes
    value: bytes


class Key(NamedTuple):
    """Key of a tree: leaf index, hashed key, and the address or slot that was hashed."""

    leaf: int
    hkey: bytes
    name: bytes


Branch: TypeAlias = tuple[int, ...]  # 16 entries: n for row n of the branches, −n for row n of the keys, 0 for empty


class MerklePath(NamedTuple):
    """Merkle path of a leaf, from the highest stored node down.

    Parameters
    ----------
    siblings : hashes of the two children of each sibling, from the top down to height 1; `None` for an empty sibling.
    leaf : the leaf.
    hkey : hash of the leaf's key.
    encoded : bytes of the leaf that are hashed.
    sibling_leaf : bytes of the sibling leaf; 32 zero bytes for an empty sibling leaf.
    unchecked : parts of the path that have not been checked against the root yet; empty after the check.
    """

    siblings: Sequence[bytes | None]
    leaf: Leaf
    hkey: bytes
    encoded: bytes
    sibling_leaf: bytes
    unchecked: list[StoredPath]


class Version(NamedTuple):
    """Version of a tree: its root, the values from which the root is computed, and the numbers of its top rows."""

    root: bytes
    next_free: int
    sub_root: bytes
    node: int
    branch: int


def digit_at(hkey: bytes, depth: int) -> int:
    """Return the hexadecimal digit of a hashed key that selects an entry of the sorted index at the given depth.

    Raises `LedgerDamaged` if the key has no digit for this depth, because only a corrupt index is so deep.
    """
    try:
        byte = hkey[depth >> 1]
    except IndexError:
        raise LedgerDamaged("the sorted index of a tree has more levels than its keys have digits") from None
    return byte & 15 if depth & 1 else byte >> 4


def stored_height(next_free: int) -> int:
    """Return the height of the highest stored node of a tree, computed from the next free leaf index of the tree.

    >>> stored_height(2), stored_height(4), stored_height(5)
    (1, 2, 3)
    """
    return (next_free - 1).bit_length()


def empty_version(scheme: Scheme) -> Version:
    """Return the version of an empty tree."""
    return Version(scheme.empty_root, FIRST_FREE, scheme.empty_sub_root, FIRST_NODE, EMPTY)


Row = TypeVar("Row", bound=tuple[Any, ...])

DIGIT_COLUMNS = [f"digit_{digit:x}" for digit in range(16)]
SCHEMA = f"""
CREATE TABLE node (id INTEGER PRIMARY KEY, left INTEGER, right INTEGER, children BLOB) STRICT;
CREATE TABLE leaf (
    id INTEGER PRIMARY KEY, key INTEGER, previous INTEGER, following INTEGER, hval BLOB, value BLOB
) STRICT;
CREATE TABLE key (id INTEGER PRIMARY KEY, leaf INTEGER, hkey BLOB, name BLOB) STRICT;
CREATE TABLE branch (id INTEGER PRIMARY KEY, {", ".join(f"{column} INTEGER" for column in DIGIT_COLUMNS)}) STRICT;
"""
KEYED_LEAF = len(Leaf._fields) + 1  # number of columns of a leaf, including the hashed key
PART = 10  # number of levels that one SQL statement reads; `LOWEST_PART` for the lowest levels
LOWEST_PART = 5  # number of lowest levels, which are not cached: each proof reads them from the file
UPPER_PARTS = 32_768  # maximum number of upper parts of paths that are cached, enough for a million leaves (30 MiB)
RECENT = 1_024  # number of cached whole paths (2 MiB); the cache halves the time to prove an account again
VERSIONS = 4_096  # number of trees whose checked top hash is cached; a check takes 40 µs
STEPS = 3  # number of index depths read by one SQL statement, which is faster than a statement per depth
KEPT_DEPTHS = 3  # number of index depths whose branches are cached, at most 273 branches for a tree
QUERY_SIZE = 500  # maximum number of rows in one SELECT
CACHED_ROWS = 30_000  # maximum number of cached rows per table; more rows would slow down the garbage collector


class _SqlTable(Generic[Row]):
    """Table of rows in SQLite, with a cache. Cached rows stay valid, because rows never change.

    Parameters
    ----------
    database : SQLite database that contains the table.
    name : name of the table.
    columns : names of the columns after the first column, `id`.
    is_sound : function that returns whether the values of a row have valid types and lengths.
    unpack : function that converts the column values to a row.
    pack : function that converts a row to the column values; `None` if a row is a tuple of these values.

    Raises `LedgerDamaged` for a row that is missing or malformed.
    """

    def __init__(
        self,
        database: Database,
        name: str,
        columns: Sequence[str],
        is_sound: Callable[[Sequence[Any]], bool],
        unpack: Callable[[Sequence[Any]], Row],
        pack: Callable[[Row], Sequence[Any]] | None = None,
    ) -> None:
        self._database, self._name = database, name
        self._is_sound, self._unpack, self._pack = is_sound, unpack, pack
        listed = ", ".join(columns)
        self._one = f"SELECT {listed} FROM {name} WHERE id = ?"
        self._some = f"SELECT id, {listed} FROM {name} WHERE id IN "
        self._last = f"SELECT coalesce(max(id), 0) FROM {name}"
        marks = ", ".join("?" * len(columns))
        self._insert = f"INSERT INTO {name} ({listed}) VALUES ({marks})"  # SQLite numbers the new rows consecutively
        self._cache: dict[int, Row] = {}
        self._next = 1

    def __getitem__(self, number: int) -> Row:
        row = self._cache.get(number)
        if row is None:
            row = self._keep(number, self._database.one(self._one, (number,)))
        return row

    def known(self, number: int) -> Row | None:
        """Return the row with this number if it is cached, else `None`."""
        return self._cache.get(number)

    def many(self, numbers: Sequence[int]) -> list[Row]:
        """Return the rows with these numbers, in the order of the numbers."""
        found = {number: self._cache[number] for number in numbers if number in self._cache}
        missing = iter(dict.fromkeys(number for number in numbers if number not in found))
        while part := list(islice(missing, QUERY_SIZE)):
            marks = f"({', '.join('?' * len(part))})"
            for number, *values in self._database.all(self._some + marks, part):
                found[number] = self._keep(number, values)
            for number in part:
                if number not in found:
                    self._keep(number, None)  # raises an error, because the row is missing
        return [found[number] for number in numbers]

    def extend(self, rows: Iterable[Row]) -> int:
        """Add rows; return the number of the first new row."""
        first = self._next
        packed = map(self._pack, rows) if self._pack else rows
        self._next += self._database.run_many(self._insert, packed)
        return first

    def resume(self) -> None:
        """Continue numbering after the last stored row."""
        self._next = self._database.one(self._last)[0] + 1

    def forget(self) -> None:
        """Drop the cached rows."""
        self._cache.clear()

    def _keep(self, number: int, values: Sequence[Any] | None) -> Row:
        if values is None or not self._is_sound(values):
            self._database.damaged(f"{self._name} {number} is {'missing' if values is None else 'malformed'}")
        if len(self._cache) >= CACHED_ROWS:
            self._cache.clear()
        row = self._cache[number] = self._unpack(values)
        return row


class SqlRows:
    """The four tables of rows in SQLite.

    The value of an account without code and storage is stored without its last four words, which are always the same.

    The upper parts of Merkle paths and of the index are cached; one SQL statement reads the remaining part. Cached
    parts of a path have already been checked against the root.
    """

    def __init__(self, database: Database, scheme: Scheme) -> None:
        self._database, self._scheme = database, scheme
        plain = plain_suffix(scheme)

        def unpacked(values: Sequence[Any]) -> Leaf:
            *links, value = values
            return Leaf._make((*links, value + plain if len(value) == ACCOUNT_SIZE - len(plain) else value))

        def packed(leaf: Leaf) -> Sequence[Any]:
            return (*leaf[:-1], leaf.value.removesuffix(plain))

        self.nodes = _SqlTable(database, "node", TreeNode._fields, is_node, TreeNode._make)
        self._unpacked = unpacked
        self.leaves = _SqlTable(database, "leaf", Leaf._fields, is_leaf, unpacked, packed)
        self.keys = _SqlTable(database, "key", Key._fields, is_key, Key._make)
        self.branches = _SqlTable[Branch](database, "branch", DIGIT_COLUMNS, is_branch, tuple)
        self._tables = (self.nodes, self.leaves, self.keys, self.branches)
        self._recent_path = lru_cache(RECENT)(self._read_path)
        self._upper_part = lru_cache(UPPER_PARTS)(self._read_upper_part)
        self._top_hash = lru_cache(VERSIONS)(self.checked_top_hash)

    def resume(self) -> None:
        """Continue numbering after the last stored rows, at the start of a transaction."""
        for table in self._tables:
            table.resume()

    def forget(self) -> None:
        """Drop cached rows after an SQL transaction was rolled back, because new rows will get the same row numbers."""
        self._recent_path.cache_clear()
        self._upper_part.cache_clear()
        self._top_hash.cache_clear()
        for table in self._tables:
            table.forget()

    def path(self, version: Version, index: int) -> MerklePath:
        """Return the Merkle path of the leaf with this index, which must be in use."""
        return self._recent_path(version, index)

    def _read_path(self, version: Version, index: int) -> MerklePath:
        height, number, digest = stored_height(version.next_free), version.node, self._top_hash(version)
        above: tuple[bytes, ...] = ()
        while height > LOWEST_PART:
            bottom = (height - 1) // PART * PART or LOWEST_PART
            part, number, digest = self._upper_part(number, height, bottom, index >> bottom, digest)
            above, height = (*above, *part), bottom
        found = self._database.one(_lowest_part(height), (number, index))
        if found is None:
            self._database.damaged(f"node {number} does not lead to leaf {index}")
        siblings = self._filled(found[: height - 1], height)
        leaf, hkey, message = self._leaf(found[2 * height - 1 : -KEYED_LEAF])
        sibling = b"" if found[-1] is None else self._leaf(found[-KEYED_LEAF:])[2]
        nodes = found[height - 1 : 2 * height - 1]
        stored = StoredPath(digest, index, nodes, siblings, message, sibling, leaf.hval)
        return MerklePath((*above, *siblings), leaf, hkey, message, sibling or NOTHING, [stored])

    def _read_upper_part(
        self, top: int, height: int, bottom: int, index: int, digest: bytes
    ) -> tuple[Sequence[bytes], int, bytes]:
        """Return a Merkle path between two heights: siblings, and the row number and hash of the lowest node."""
        found = self._database.one(_upper_part(height, bottom), (top, index))
        levels = height - bottom
        if found is None or type(found[-1]) is not int:
            self._database.damaged(f"node {top} does not lead to node {index} of height {bottom}")
        siblings, nodes = self._filled(found[:levels], height), found[levels:-1]
        if not all(isinstance(node, bytes) for node in (*nodes, *siblings)):
            self._database.damaged(f"a node below node {top} is missing or malformed")
        links, digest, _ = path_links(digest, height, index << bottom, nodes, siblings)
        messages, hashes = zip(*links, strict=True)
        if self._scheme.first_wrong(messages, hashes) is not None:
            self._database.damaged(f"a node below node {top} does not match the hash in its parent")
        return tuple(siblings), found[-1], digest

    def _filled(self, siblings: Sequence[Any], height: int) -> Sequence[Any]:
        """Return the siblings below a height; an empty sibling is replaced by the hashes of its children."""
        empty = self._scheme.empty_siblings[DEPTH - height :]
        return [sibling or empty[index] for index, sibling in enumerate(siblings)]

    def checked_top_hash(self, version: Version) -> bytes:
        """Return the hash of a tree's highest stored node; raises `LedgerDamaged` unless the hash leads to the root."""
        scheme, height = self._scheme, stored_height(version.next_free)
        if not 0 < height <= DEPTH or len(version.sub_root) != HASH_SIZE:
            self._database.damaged(f"the tree {version.root.hex()} has the next free leaf {version.next_free}")
        top = self.nodes[version.node].children
        try:
            digest = scheme.digest(top)
            (sub_root,) = scheme.path_roots([digest], [scheme.zeros[height:DEPTH]], [HEAD])
            root = scheme.digest(scheme.top(version.next_free, sub_root))
        except InvalidInput:  # a stored hash has elements outside the field
            root = sub_root = NOTHING
        if (sub_root, root) != (version.sub_root, version.root):
            self._database.damaged(f"the tree {version.root.hex()} has another root")
        return digest

    def last_key(self, index: int, depth: int, hkey: bytes) -> Key | None:
        """Follow the digits of a hashed key from an entry of the index to a key.

        Return the key that the digits lead to, or `None` if the digits lead to an empty entry of the index.
        """
        while index > EMPTY:
            kept = self.branches[index] if depth < KEPT_DEPTHS else self.branches.known(index)
            if kept:  # below KEPT_DEPTHS, a branch is cached only if an import has read the branch
                index = kept[digit_at(hkey, depth)]
                depth += 1
                continue
            if depth >= 2 * HASH_SIZE:
                self._database.damaged("the sorted index has more levels than its keys have digits")
            digits = int.from_bytes(hkey) << 4 * STEPS >> 4 * (2 * HASH_SIZE - depth) & 16**STEPS - 1
            found = self._database.one(LAST_KEY, (index, digits))
            if found is None or type(found[-1]) is not int:
                self._database.damaged(f"branch {index} is missing or malformed")
            *key, index = found
            if index < EMPTY:
                if not is_key(key):
                    self._database.damaged(f"key {-index} is missing or malformed")
                return Key._make(key)
            depth += STEPS
        return self.keys[-index] if index else None

    def _leaf(self, values: Sequence[Any]) -> tuple[Leaf, bytes, bytes]:
        *fields, hkey = values
        if not is_leaf(fields) or not isinstance(hkey, bytes):
            self._database.damaged("a leaf is malformed")
        leaf = self._unpacked(fields)
        return leaf, hkey, self._scheme.leaf(leaf.previous, leaf.following, hkey, leaf.hval)


def memory_rows(scheme: Scheme) -> SqlRows:
    """Return the tables of rows in a new in-memory database."""
    database = Database(Path("memory"), "memory")
    for statement in SCHEMA.split(";"):
        database.run(statement)
    rows = SqlRows(database, scheme)
    add_first_rows(rows, scheme)
    return rows


def add_first_rows(rows: SqlRows, scheme: Scheme) -> None:
    """Add the rows that all trees share: the first leaf, the last leaf, and the node above these leaves."""
    keys = [Key(HEAD, NOTHING, b""), Key(TAIL, scheme.tail_key, b"")]
    leaves = [Leaf(number, HEAD, TAIL, NOTHING, bytes(32)) for number in (HEAD_KEY, TAIL_KEY)]
    rows.keys.extend(keys)
    rows.leaves.extend(leaves)
    hashes = [scheme.digest(scheme.leaf(HEAD, TAIL, key.hkey, NOTHING)) for key in keys]
    rows.nodes.extend([TreeNode(1, 2, b"".join(hashes))])


def is_node(values: Sequence[Any]) -> bool:
    """Return whether `values` are valid columns of a node."""
    left, right, children = values
    return _are_links(left, right) and type(children) is bytes and len(children) == 2 * HASH_SIZE


def is_leaf(values: Sequence[Any]) -> bool:
    """Return whether `values` are valid columns of a leaf."""
    key, previous, following, hval, value = values
    return _are_links(key, previous, following) and type(hval) is type(value) is bytes and len(hval) == HASH_SIZE


def is_key(values: Sequence[Any]) -> bool:
    """Return whether `values` are valid columns of a key: its leaf index, its hash, and the data that was hashed."""
    leaf, hkey, name = values
    return _are_links(leaf) and type(hkey) is type(name) is bytes and len(hkey) == HASH_SIZE


def is_branch(values: Sequence[Any]) -> bool:
    """Return whether `values` are valid columns of a branch of the sorted index."""
    return all(type(index) is int for index in values)


def _are_links(*numbers: Any) -> bool:
    return all(type(number) is int and number >= 0 for number in numbers)


def _digit(branch: str, bits: int) -> str:
    """Return SQL that selects an entry of a branch by one digit.

    The digit consists of four bits of the SQL parameter ?2: the bits with the numbers `bits` to `bits + 3`.
    """
    indices = [f"{branch}.{column}" for column in DIGIT_COLUMNS]
    for bit in range(bits, bits + 4):
        indices = [
            f"iif(?2 >> {bit} & 1, {one}, {zero})" for zero, one in zip(indices[::2], indices[1::2], strict=True)
        ]
    return indices[0]


def _last_key() -> str:
    """Return SQL that follows the digits in ?2 from branch ?1.

    The SQL selects the last entry that the digits lead to, and the key of the entry; ?1 and ?2 are parameters of the
    SQL statement.
    """
    indices = [_digit(f"branch_{step}", 4 * (STEPS - 1 - step)) for step in range(STEPS)]
    joins = [f"LEFT JOIN branch AS branch_{step} ON branch_{step}.id = {indices[step - 1]}" for step in range(1, STEPS)]
    last = f"coalesce({', '.join(reversed(indices))})"
    return f"""
    SELECT {", ".join(f"key.{field}" for field in Key._fields)}, {last}
    FROM branch AS branch_0 {" ".join(joins)} LEFT JOIN key ON key.id = -{last}
    WHERE branch_0.id = ?1"""


LAST_KEY = _last_key()


class _Walk(NamedTuple):
    """SQL of a walk down a tree: columns, joins, and the row numbers of the last row and of the last row's sibling."""

    siblings: list[str]
    path: list[str]
    nodes: str
    child: str
    sibling: str


def _walk(height: int, bottom: int) -> _Walk:
    """Return the SQL that walks from node ?1 at height `height` to the row with index ?2 at height `bottom`.

    ?1 and ?2 are parameters of the SQL statement. The SQL is a chain of joins, which is faster than a recursive
    statement.
    """
    siblings, nodes, child, sibling = [], [f"node AS node_{height}"], "", ""
    path = [f"node_{level}.children" for level in range(height, bottom, -1)]
    for level in range(height - 1, bottom - 1, -1):
        left, right = f"node_{level + 1}.left", f"node_{level + 1}.right"
        child, sibling = (f"iif(?2 >> {level - bottom} & 1, {a}, {b})" for a, b in ((right, left), (left, right)))
        if level:
            siblings.append(f"(SELECT children FROM node WHERE id = {sibling})")
        if level > bottom:
            nodes.append(f"node AS node_{level} ON node_{level}.id = {child}")
    return _Walk(siblings, path, " CROSS JOIN ".join(nodes), child, sibling)


@cache
def _upper_part(height: int, bottom: int) -> str:
    """Return SQL that selects a part of a Merkle path.

    The columns are the hashes of siblings and nodes, and the row number of the next node.
    """
    walk = _walk(height, bottom)
    return f"SELECT {', '.join([*walk.siblings, *walk.path, walk.child])} FROM {walk.nodes} WHERE node_{height}.id = ?1"


@cache
def _lowest_part(height: int) -> str:
    """Return SQL that selects the lowest part of a Merkle path.

    The columns are the hashes of siblings and nodes, the leaf, and the sibling leaf.
    """
    walk = _walk(height, 0)
    columns = [
        column
        for leaf in ("leaf", "sibling")
        for column in (*(f"{leaf}.{field}" for field in Leaf._fields), f"{leaf}_key.hkey")
    ]
    return f"""
    SELECT {", ".join([*walk.siblings, *walk.path, *columns])} FROM {walk.nodes}
    CROSS JOIN leaf ON leaf.id = {walk.child} CROSS JOIN key AS leaf_key ON leaf_key.id = leaf.key
    LEFT JOIN leaf AS sibling ON sibling.id = {walk.sibling}
    LEFT JOIN key AS sibling_key ON sibling_key.id = sibling.key
    WHERE node_{height}.id = ?1"""
