"""Deletion of the state of old blocks, and of rows that a rollback left behind.

The newest blocks keep their state. Every row that their trees reach stays, with its number; all others are deleted in
one transaction. Hashes and roots of all blocks stay, and so does all code, which a later block may bring back.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feemodel.errors import InvalidInput
from feemodel.ethereum.quantities import WORD_SIZE
from feemodel.ledger.account import ACCOUNT_SIZE
from feemodel.ledger.database import Database
from feemodel.ledger.rows import EMPTY, FIRST_NODE, HEAD_KEY, TAIL_KEY, Version, stored_height
from feemodel.ledger.scheme import DEPTH
from feemodel.ledger.sql_rows import DIGIT_COLUMNS
from feemodel.ledger.store import Store

CHUNK = 50_000  # rows that are read together
STORAGE_ROOT = 2 * WORD_SIZE  # where it begins in the value of an account

Numbers = NDArray[np.int64]


class Pruned(NamedTuple):
    """The oldest block whose state is left, and how many rows of trees were deleted."""

    oldest: int
    rows: int


class Numbering:
    """The places of a table's rows in the order of their numbers; 0 stands for no row.

    Numbers have gaps where a ledger was pruned.
    """

    def __init__(self, database: Database, table: str) -> None:
        parts = [np.zeros(1, dtype=np.int64)]
        for rows in database.each(f"SELECT id FROM {table} ORDER BY id", CHUNK):
            parts.append(np.array([number for (number,) in rows], dtype=np.int64))
        self._database, self._table = database, table
        self.numbers = np.concatenate(parts)

    def places(self, numbers: Numbers) -> Numbers:
        """The places of rows. Raises `LedgerDamaged` for a number that no row has."""
        places = np.minimum(np.searchsorted(self.numbers, numbers), len(self.numbers) - 1)
        missing = self.numbers[places] != numbers
        if missing.any():
            self._database.damaged(f"{self._table} {numbers[missing].flat[0]} is missing")
        return places


def prune(store: Store, keep: int) -> Pruned:
    """Delete the state of all blocks but the newest ones.

    Parameters
    ----------
    store : the ledger, opened to be written. Other processes may read it; one that imports waits.
    keep : [blocks] that keep their state. The newest final block and all after it keep theirs in any case.

    Raises `InvalidInput` for a `keep` below 1 or a ledger without blocks, `LedgerDamaged` where a row that is kept
    leads to one that is missing.

    >>> import tempfile
    >>> from feemodel.ledger.blocks import BlockChanges, import_block
    >>> from feemodel.ledger.genesis import import_genesis
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/ledger.db") as store:
    ...     block = import_genesis(store, [])
    ...     block = import_block(store, BlockChanges(1, ()))
    ...     store.finalize(1)
    ...     prune(store, keep=1).oldest
    1
    """
    if keep < 1:
        raise InvalidInput("keep", "expected at least 1 block", keep)
    with store.transaction():
        head = store.head
        if head is None:
            raise InvalidInput("store", "expected one that holds its genesis", str(store.path))
        newest_final = store.finalized if store.finalized is not None else 0
        oldest = max(store.oldest, min(head.number - keep + 1, newest_final))
        live = _Live(store, oldest)
        deleted = live.delete_others()
        if deleted or oldest > store.oldest:
            store.mark_pruned(oldest)
    store.database.run("VACUUM")
    store.checkpoint()
    return Pruned(oldest, deleted)


class _Live:
    """The rows that the trees of the kept blocks reach."""

    def __init__(self, store: Store, oldest: int) -> None:
        self._database, self._store = store.database, store
        self._numbering = {table: Numbering(store.database, table) for table in ("node", "leaf", "key", "branch")}
        self._live = {
            table: np.zeros(len(numbering.numbers), dtype=bool) for table, numbering in self._numbering.items()
        }
        self._nodes = self._columns("SELECT left, right FROM node ORDER BY id", 2)
        self._branches = self._columns(f"SELECT {', '.join(DIGIT_COLUMNS)} FROM branch ORDER BY id", len(DIGIT_COLUMNS))
        self._leaf_keys = self._columns("SELECT key FROM leaf ORDER BY id", 1)
        self._roots: set[bytes] = set()
        self._mark("key", np.array([HEAD_KEY, TAIL_KEY]))
        self._mark("leaf", np.array([HEAD_KEY, TAIL_KEY]))
        self._mark("node", np.array([FIRST_NODE]))
        query = "SELECT DISTINCT root FROM block WHERE number >= ?"
        self._add_trees(root for (root,) in self._database.all(query, (oldest,)))
        self._add_trees(self._storage_roots())

    def delete_others(self) -> int:
        """Delete all other rows of the four tables, and all other trees; how many."""
        deleted = 0
        for table, live in self._live.items():
            dead = self._numbering[table].numbers[~live][1:]  # without the 0 in front
            deleted += self._delete(table, "id", "id IN", [(int(number),) for number in dead])
        return deleted + self._delete("tree", "root", "root NOT IN", [(root,) for root in self._roots])

    def _delete(self, table: str, column: str, condition: str, values: Sequence[tuple[int | bytes]]) -> int:
        count = f"SELECT count(*) FROM {table}"
        before = self._database.one(count)[0]
        self._database.run("CREATE TEMP TABLE chosen (value PRIMARY KEY) WITHOUT ROWID")
        self._database.run_many("INSERT INTO chosen VALUES (?)", values)
        self._database.run(f"DELETE FROM {table} WHERE {condition} (SELECT value FROM chosen)")
        self._database.run("DROP TABLE chosen")
        return int(before - self._database.one(count)[0])

    def _columns(self, query: str, count: int) -> Numbers:
        """All rows of a table, after one of zeros."""
        parts = [np.zeros((1, count), dtype=np.int64)]
        parts += [np.array(rows, dtype=np.int64) for rows in self._database.each(query, CHUNK)]
        return np.concatenate(parts)

    def _mark(self, table: str, numbers: Numbers) -> Numbers:
        """Keep rows; their places."""
        places = self._numbering[table].places(numbers)
        self._live[table][places] = True
        return places

    def _add_trees(self, roots: Iterable[bytes]) -> None:
        """Keep the trees with those roots, and all that they reach."""
        added = set(roots) - self._roots - {self._store.scheme.empty_root}
        self._roots |= added
        versions = [self._store.tree(root).version for root in sorted(added)]
        self._add_nodes(versions)
        self._add_branches(np.array([version.branch for version in versions if version.branch], dtype=np.int64))

    def _add_nodes(self, versions: Sequence[Version]) -> None:
        tops: dict[int, list[int]] = {}
        for version in versions:
            tops.setdefault(stored_height(version.next_free), []).append(version.node)
        level = np.zeros(0, dtype=np.int64)
        for height in range(DEPTH, 0, -1):
            level = np.union1d(level, np.array(tops.get(height, []), dtype=np.int64))
            children = self._nodes[self._mark("node", level)]
            level = np.unique(children[children != EMPTY])
        self._mark("key", self._leaf_keys[self._mark("leaf", level)].ravel())

    def _add_branches(self, level: Numbers) -> None:
        while len(level):
            places = self._numbering["branch"].places(np.unique(level))
            places = places[~self._live["branch"][places]]
            self._live["branch"][places] = True
            children = self._branches[places]
            self._mark("key", -children[children < 0])
            level = children[children > 0]

    def _storage_roots(self) -> set[bytes]:
        """The storage roots of the accounts that are kept."""
        query = f"""SELECT id, substr(value, {STORAGE_ROOT + 1}, {WORD_SIZE}) FROM leaf
            WHERE length(value) = {ACCOUNT_SIZE} ORDER BY id"""
        roots: set[bytes] = set()
        for rows in self._database.each(query, CHUNK):
            places = self._numbering["leaf"].places(np.array([number for number, _ in rows], dtype=np.int64))
            roots.update(root for (_, root), live in zip(rows, self._live["leaf"][places], strict=True) if live)
        return roots
