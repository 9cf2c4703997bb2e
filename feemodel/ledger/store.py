"""The ledger on disk: every block's state, readable and provable, in one SQLite file.

A block is one transaction: it adds the rows that changed and its root, or nothing. Rows are shared between blocks and
never change, so readers in other processes are not disturbed by the one writer. A tree is found by its root, the
account tree by the root of its block and a storage tree by the storage root in the account.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from feemodel.errors import InvalidInput, NotFinalized, UnreadableFile
from feemodel.ledger import sql_rows
from feemodel.ledger.account import Account
from feemodel.ledger.rows import Version, add_first_rows
from feemodel.ledger.scheme import Scheme, scheme_of
from feemodel.ledger.tree import Tree, save_all

APPLICATION_ID = 0x6665656D  # "feem", in the header of the file
FORMAT = 1
SCHEMA = f"""{sql_rows.SCHEMA}
CREATE TABLE tree (
    root BLOB PRIMARY KEY, next_free INTEGER, sub_root BLOB, node INTEGER, branch INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE code (keccak BLOB PRIMARY KEY, code BLOB) STRICT;
CREATE TABLE block (number INTEGER PRIMARY KEY, hash BLOB, root BLOB) STRICT;
CREATE TABLE chain (hashing TEXT, finalized INTEGER) STRICT;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT};
"""
BUSY_SECONDS = 30.0  # a second writer waits so long for the first
MAPPED_BYTES = 1 << 40  # of a file that is read through memory; SQLite takes what it was built for, mostly 2 GiB


class Block(NamedTuple):
    """A block of the store: its number, its hash where the source told it, its state root."""

    number: int
    hash: bytes | None
    root: bytes


class Store:
    """A ledger file, opened for reading, or for importing blocks.

    Parameters
    ----------
    path : the file; created when it is missing and not opened `read_only`.
    hashing : "poseidon2" or "mimc"; an existing file must have been created with it, `None` takes what it has.
    read_only : for readers beside the process that imports. The file is mapped into memory, so that a disk that fails
        to give a page ends the process; a file that is cut short is an error as elsewhere.

    Raises `UnreadableFile` for a file that is missing or not a ledger, `InvalidInput` for another `hashing`.

    A store belongs to the thread that opened it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/ledger.db") as store:
    ...     print(store.scheme.name, store.head, store.finalized)
    poseidon2 None None
    """

    def __init__(self, path: str | Path, *, hashing: str | None = None, read_only: bool = False) -> None:
        self.path = Path(path)
        if hashing is not None:
            scheme_of(hashing)  # refused before a file is made
        self._connection = _connected(self.path, read_only)
        try:
            self.scheme = _prepared(self._connection, self.path, hashing or "poseidon2", read_only)
            if hashing not in (None, self.scheme.name):
                raise InvalidInput("hashing", f"expected {self.scheme.name}, as {self.path} has it", hashing)
        except BaseException:
            self._connection.close()
            raise
        self.rows = sql_rows.SqlRows(self._connection, self.scheme)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def head(self) -> Block | None:
        """The newest block, `None` before the genesis."""
        row = self._one("SELECT number, hash, root FROM block ORDER BY number DESC LIMIT 1")
        return Block(*row) if row else None

    @property
    def finalized(self) -> int | None:
        """The newest final block's number, `None` while there is none."""
        row = self._one("SELECT finalized FROM chain")
        return row[0] if row else None

    def block(self, number: int) -> Block:
        """The block of that number.

        Raises `NotFinalized` for a block that the store does not hold.
        """
        row = self._one("SELECT number, hash, root FROM block WHERE number = ?", number) if number < 1 << 63 else None
        if row is None:
            head = self.head
            held = f"0 to {head.number}" if head else "none"
            raise NotFinalized(f"block {number} is not in the store, which holds {held}")
        return Block(*row)

    def accounts(self, number: int) -> Tree:
        """The account tree of a block."""
        return self.tree(self.block(number).root)

    def tree(self, root: bytes) -> Tree:
        """The tree with that root: of a block's accounts or of an account's storage.

        Raises `InvalidInput` for a root that no stored tree has.
        """
        if root == self.scheme.empty_root:
            return Tree(self.scheme.name, rows=self.rows)
        row = self._one("SELECT root, next_free, sub_root, node, branch FROM tree WHERE root = ?", root)
        if row is None:
            raise InvalidInput("root", "expected the root of a stored tree", root.hex())
        return Tree(self.scheme.name, rows=self.rows, version=Version(*row))

    def account(self, number: int, address: bytes) -> Account | None:
        """An account as a block left it, `None` when it does not exist."""
        leaf = self.accounts(number).get(self.scheme.account_key(address))
        return Account.from_bytes(leaf.value) if leaf else None

    def slot(self, number: int, address: bytes, slot: bytes) -> int:
        """The value of a storage slot as a block left it, 0 when it or its account does not exist."""
        account = self.account(number, address)
        leaf = self.tree(account.storage_root).get(self.scheme.word_hash(slot)) if account else None
        return int.from_bytes(leaf.value) if leaf else 0

    def code(self, keccak_code_hash: bytes) -> bytes | None:
        """The code of that Keccak-256 hash, `None` when the store never saw it."""
        row = self._one("SELECT code FROM code WHERE keccak = ?", keccak_code_hash)
        return row[0] if row else None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside becomes durable together, or not at all.

        Raises `UnreadableFile` with SQLite's reason where it cannot: no room, a disk that fails, another writer.
        """
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self.rows.resume()
            yield
            self._connection.execute("COMMIT")
        except BaseException as error:
            if self._connection.in_transaction:  # SQLite has undone it already where the disk was full
                self._connection.execute("ROLLBACK")
            self.rows.forget()
            if isinstance(error, sqlite3.DatabaseError):
                raise UnreadableFile(f"{self.path}: {error}") from None
            raise

    def save_trees(self, trees: list[Tree]) -> None:
        """Store changed trees, hashed together; inside a transaction."""
        save_all(trees)
        rows = [tree.version for tree in trees]
        self._connection.executemany("INSERT OR IGNORE INTO tree VALUES (?, ?, ?, ?, ?)", rows)

    def save_code(self, keccak_code_hash: bytes, code: bytes) -> None:
        """Store a contract's code; inside a transaction."""
        self._connection.execute("INSERT OR IGNORE INTO code VALUES (?, ?)", (keccak_code_hash, code))

    def save_block(self, block: Block) -> None:
        """Make a block the head; inside a transaction, after its trees."""
        self._connection.execute("INSERT INTO block VALUES (?, ?, ?)", block)

    def finalize(self, number: int) -> None:
        """Mark a block and all before it final.

        Raises `NotFinalized` for a block that the store does not hold, `InvalidInput` for one below the newest final
        one: finality is not taken back.
        """
        self.block(number)
        finalized = self.finalized
        if finalized is not None and number < finalized:
            raise InvalidInput("block", f"expected at least {finalized}, which is final already", number)
        self._connection.execute("UPDATE chain SET finalized = ?", (number,))

    def checkpoint(self) -> None:
        """Move the write-ahead log into the file and empty it; worthwhile after a large block."""
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _one(self, query: str, *values: Any) -> Any:
        return self._connection.execute(query, values).fetchone()


def _connected(path: Path, read_only: bool) -> sqlite3.Connection:
    if read_only and not path.is_file():
        raise UnreadableFile(f"{path}: no such ledger")
    address = f"{path.resolve().as_uri()}?mode={'ro' if read_only else 'rwc'}"
    try:
        return sqlite3.connect(address, uri=True, isolation_level=None, timeout=BUSY_SECONDS)
    except sqlite3.OperationalError as error:
        raise UnreadableFile(f"{path}: {error}") from None


def _prepared(connection: sqlite3.Connection, path: Path, hashing: str, read_only: bool) -> Scheme:
    """The generation of the ledger, whose tables are laid out first where the file is new."""
    try:
        if not read_only:
            _lay_out(connection, scheme_of(hashing))
        header = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
        if header != [APPLICATION_ID, FORMAT]:
            raise UnreadableFile(f"{path}: not a ledger of format {FORMAT}")
        if read_only:
            connection.execute(f"PRAGMA mmap_size = {MAPPED_BYTES}")
        else:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
        return scheme_of(connection.execute("SELECT hashing FROM chain").fetchone()[0])
    except sqlite3.DatabaseError as error:
        raise UnreadableFile(f"{path}: {error}") from None


def _lay_out(connection: sqlite3.Connection, scheme: Scheme) -> None:
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        for statement in SCHEMA.split(";"):
            connection.execute(statement)
        connection.execute("INSERT INTO chain VALUES (?, NULL)", (scheme.name,))
        add_first_rows(sql_rows.SqlRows(connection, scheme), scheme)
    connection.execute("COMMIT")
