"""Store of the state after every block, in one SQLite file. Proofs are created from the stored state.

Each block is written in one SQLite transaction, which adds the changed rows and the state root. Rows are shared between
blocks and never change, so that other processes can read while one process writes. Trees are looked up by their roots:
an account tree by the state root of the block, and a storage tree by the storage root of the account.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from feemodel.errors import InvalidInput, NotFinalized, UnreadableFile
from feemodel.ledger.database import Database, Mode
from feemodel.ledger.rows import SCHEMA as ROWS_SCHEMA
from feemodel.ledger.rows import Leaf, Rows, Version, add_first_rows
from feemodel.ledger.scheme import SCHEMES, AccountLeaf, scheme_of
from feemodel.ledger.tree import Change, Tree, update_trees

APPLICATION_ID = 0x6665656D  # the text "feem", in the header of the file
FORMAT = 8
SCHEMA = f"""{ROWS_SCHEMA}
CREATE TABLE tree (root BLOB PRIMARY KEY, next_free INTEGER, sub_root BLOB, node INTEGER, page INTEGER)
    STRICT, WITHOUT ROWID;
CREATE TABLE code (keccak BLOB PRIMARY KEY, code BLOB) STRICT;
CREATE TABLE block (number INTEGER PRIMARY KEY, hash BLOB, root BLOB) STRICT;
CREATE TABLE chain (hashing TEXT, chain_id INTEGER, finalized INTEGER) STRICT;
CREATE INDEX block_hash ON block (hash);
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT};
"""
MAX_CHAIN_ID = 2**63 - 1


class StoredBlock(NamedTuple):
    """Block of the store: number, hash if known, and state root."""

    number: int
    hash: bytes | None
    root: bytes


class Store:
    """Ledger file, open for reading or for importing blocks. Only the thread that opened the file may use it.

    Parameters
    ----------
    path : the file.
    hashing : "poseidon2" or "mimc", which must match an existing file; `None` means "poseidon2" for a new file.
    read_only : whether to open the file only for reading; another process may then import blocks.
    create : whether to create a missing file; ignored if `read_only` is true.

    Raises
    ------
    UnreadableFile : the file is missing or is not a ledger. Methods raise `UnreadableFile` if the disk fails, or if
        another process writes for too long.
    InvalidInput : `hashing` is not the hash function of the file.
    LedgerDamaged : raised by methods if rows are missing or SQLite cannot read them.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/ledger.db") as store:
    ...     print(store.scheme.name, store.head, store.finalized)
    poseidon2 None None
    """

    def __init__(
        self, path: str | Path, *, hashing: str | None = None, read_only: bool = False, create: bool = True
    ) -> None:
        self.path = Path(path)
        if hashing is not None:
            scheme_of(hashing)  # check the name before a file is created
        mode: Mode = "ro" if read_only else "rwc" if create else "rw"
        self.database = Database(self.path, mode)
        try:
            if mode == "rwc":
                _lay_out(self.database, hashing or "poseidon2")
            _check_format(self.database)
            if mode != "ro":
                self.database.one("PRAGMA journal_mode = WAL")
                self.database.one("PRAGMA synchronous = FULL")
                self.database.one("PRAGMA cache_size = -65536")  # 64 MiB; an import reads rows all over the file
                self.database.one(f"PRAGMA mmap_size = {2**36}")  # or SQLite's limit; reads then need no system calls
                self.database.one("PRAGMA wal_autocheckpoint = 8192")  # 32 MiB; each checkpoint waits for the disk
            stored = self._chain("hashing")
            if stored not in SCHEMES:
                self.database.damaged(f"its hash function is {stored!r}")
            self.scheme = scheme_of(stored)
            if hashing not in (None, stored):
                raise InvalidInput("hashing", f"expected {stored}, the hash function of {self.path}", hashing)
        except BaseException:
            self.database.close()
            raise
        self.rows = Rows(self.database, self.scheme)

    def close(self) -> None:
        """Close the file."""
        self.database.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def head(self) -> StoredBlock | None:
        """Newest block, or `None` in an empty store."""
        row = self.database.one("SELECT number, hash, root FROM block ORDER BY number DESC LIMIT 1")
        return StoredBlock(*row) if row else None

    @property
    def finalized(self) -> int | None:
        """Number of the newest final block, or `None` if no block is final."""
        finalized: int | None = self._chain("finalized")
        return finalized

    @property
    def chain_id(self) -> int | None:
        """Chain id of the blocks, or `None` if unknown."""
        chain_id: int | None = self._chain("chain_id")
        return chain_id

    def block(self, number: int) -> StoredBlock:
        """Return the block with this number. Raises `NotFinalized` for a block that is not in the store."""
        query = "SELECT number, hash, root FROM block WHERE number = ?"
        row = self.database.one(query, (number,)) if number <= MAX_CHAIN_ID else None
        if row is None:
            head = self.head
            if head is not None and 0 <= number <= head.number:
                self.database.damaged(f"block {number} is missing")
            raise NotFinalized(
                f"block {number} is not in the store, which has {'none' if head is None else f'0 to {head.number}'}"
            )
        return StoredBlock(*row)

    def number_of(self, block_hash: bytes) -> int | None:
        """Return the number of the block with this hash, or `None` if the store has no such block."""
        row = self.database.one("SELECT number FROM block WHERE hash = ?", (block_hash,))
        return None if row is None else int(row[0])

    def accounts(self, number: int) -> Tree:
        """Return the account tree of a block. Raises `NotFinalized` for a block that is not in the store."""
        return self.tree(self.block(number).root)

    def tree(self, root: bytes) -> Tree:
        """Return the account tree or storage tree with this root; raises `LedgerDamaged` if it is missing."""
        if root == self.scheme.empty_root:
            return Tree(self.rows)
        row = self.database.one("SELECT root, next_free, sub_root, node, page FROM tree WHERE root = ?", (root,))
        if row is None:
            self.database.damaged(f"the tree {root.hex()} is missing")
        return Tree(self.rows, Version(*row))

    def account(self, number: int, address: bytes) -> AccountLeaf | None:
        """Return an account after a block, or `None` if the account does not exist."""
        leaf = _leaf(self.accounts(number), self.scheme.account_key(address))
        return AccountLeaf.from_bytes(leaf.value) if leaf else None

    def slot(self, number: int, address: bytes, slot: bytes) -> int:
        """Return the value of a storage slot after a block, or 0 if the slot or its account does not exist."""
        account = self.account(number, address)
        leaf = _leaf(self.tree(account.storage_root), self.scheme.word_hash(slot)) if account else None
        return int.from_bytes(leaf.value) if leaf else 0

    def code(self, keccak_code_hash: bytes) -> bytes | None:
        """Return the code with this Keccak-256 hash, or `None` if the code is not in the store."""
        row = self.database.one("SELECT code FROM code WHERE keccak = ?", (keccak_code_hash,))
        return row[0] if row else None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the enclosed statements as one transaction: either all of their writes become durable, or none.

        Raises `UnreadableFile` if the database transaction fails, for example because the disk is full or another
        process writes. The error message contains the message of SQLite.
        """
        try:
            with self.database.transaction():
                yield
        except BaseException:
            self.rows.cache.clear()  # new rows will get the numbers of the rows that are rolled back
            raise

    def update_trees(self, changes: Sequence[Change]) -> None:
        """Apply edits to trees, and store the new versions. Call this method within a transaction."""
        update_trees(changes)
        versions = [change.tree.version for change in changes if change.edits]
        self.database.run_many("INSERT OR IGNORE INTO tree VALUES (?, ?, ?, ?, ?)", versions)

    def save_code(self, keccak_code_hash: bytes, code: bytes) -> None:
        """Store a contract's code. Call this method within a transaction."""
        self.database.one("INSERT OR IGNORE INTO code VALUES (?, ?)", (keccak_code_hash, code))

    def save_block(self, block: StoredBlock, *, final: bool = False) -> None:
        """Store a block and make it the head. Call this method within a transaction, after `update_trees`."""
        self.database.one("INSERT INTO block VALUES (?, ?, ?)", block)
        if final:
            self.database.one("UPDATE chain SET finalized = ?", (block.number,))

    def finalize(self, number: int) -> None:
        """Mark a block, and all blocks before it, as final.

        Raises `NotFinalized` for a block that is not in the store, and `InvalidInput` for a block before the newest
        final block, because final blocks stay final.
        """
        with self.transaction():
            self.block(number)
            finalized = self.finalized
            if finalized is not None and number < finalized:
                raise InvalidInput("block", f"expected at least {finalized}, the newest final block", number)
            self.database.one("UPDATE chain SET finalized = ?", (number,))

    def set_chain_id(self, chain_id: int) -> None:
        """Store the chain id of the blocks.

        Raises `InvalidInput` if another chain id is stored.
        """
        if not 0 < chain_id <= MAX_CHAIN_ID:
            raise InvalidInput("chain id", f"expected a number from 1 to {MAX_CHAIN_ID:,}", chain_id)
        with self.transaction():
            stored = self.chain_id
            if stored not in (None, chain_id):
                raise InvalidInput("chain id", f"expected {stored}, the chain of {self.path}", chain_id)
            self.database.one("UPDATE chain SET chain_id = ?", (chain_id,))

    def _chain(self, field: str) -> Any:
        row = self.database.one(f"SELECT {field} FROM chain")
        return row[0] if row else self.database.damaged("the row of its chain is missing")


def _leaf(tree: Tree, hkey: bytes) -> Leaf | None:
    return tree.get([hkey]).get(hkey)


def _check_format(database: Database) -> None:
    """Raise `UnreadableFile` for a file that is not a ledger of this format."""
    application, format = (database.one(f"PRAGMA {name}")[0] for name in ("application_id", "user_version"))
    if (application, format) != (APPLICATION_ID, FORMAT):
        found = f"its format is {format}" if application == APPLICATION_ID else "another program's database"
        raise UnreadableFile(f"{database.path}: not a ledger of format {FORMAT}: {found}")


def _lay_out(database: Database, hashing: str) -> None:
    """Create the tables of a new file."""
    with database.transaction():
        if database.one("SELECT count(*) FROM sqlite_master")[0] == 0:
            for statement in SCHEMA.split(";"):
                database.one(statement)
            database.one("INSERT INTO chain VALUES (?, NULL, NULL)", (hashing,))
            add_first_rows(Rows(database, scheme_of(hashing)))
