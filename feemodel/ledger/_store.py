"""Store of the state after every block, in one SQLite file. Proofs are created from the stored state.

Each block is written in one SQLite transaction, which adds the changed rows and the state root. Rows are shared between
blocks and never change, so that other processes can read while one process writes. Trees are looked up by their roots:
an account tree by the state root of the block, and a storage tree by the storage root of the account.

Values that are not part of a hash tree are stored in rows with a digest, which detects corruption. The values with a
digest are the number and hash of each block, the head, the newest final block, and the finality rule.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from feemodel.errors import InvalidInput, NotFinalized, UnreadableFile
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._quantities import WORD_SIZE
from feemodel.ledger._database import Database, Mode
from feemodel.ledger._rows import SCHEMA as ROWS_SCHEMA
from feemodel.ledger._rows import Leaf, SqlRows, Version, add_first_rows
from feemodel.ledger._scheme import HASH_SIZE, SCHEMES, AccountLeaf, Scheme, account_message, scheme_of
from feemodel.ledger._tree import Tree, proven, save_all

APPLICATION_ID = 0x6665656D  # the text "feem", in the header of the file
FORMAT = 5
SCHEMA = f"""{ROWS_SCHEMA}
CREATE TABLE tree (
    root BLOB PRIMARY KEY, next_free INTEGER, sub_root BLOB, node INTEGER, branch INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE code (keccak BLOB PRIMARY KEY, code BLOB) STRICT;
CREATE TABLE block (number INTEGER PRIMARY KEY, hash BLOB, root BLOB, digest BLOB) STRICT;
CREATE TABLE chain (
    hashing TEXT, finalized INTEGER, head INTEGER, finality TEXT, chain_id INTEGER, digest BLOB
) STRICT;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT};
"""
KEPT = 4_096  # maximum number of cached blocks, and of cached tree versions
SEARCHED_BLOCKS = 8_192  # number of newest final blocks in which a hash is looked up; this takes two milliseconds
MAX_CHAIN_ID = 2**63 - 1


class StoredBlock(NamedTuple):
    """Block of the store: number, hash if known, and state root."""

    number: int
    hash: bytes | None
    root: bytes


class _Chain(NamedTuple):
    """Single row of the table `chain`."""

    hashing: str
    finalized: int | None = None
    head: int | None = None
    finality: str | None = None
    chain_id: int | None = None


class Store:
    """Ledger file, open for reading or for importing blocks. Only the thread that opened the file may use it.

    Parameters
    ----------
    path : the file.
    hashing : "poseidon2" or "mimc", which must match an existing file; `None` means "poseidon2" for a new file.
    read_only : whether to open the file only for reading; another process may then import blocks. A file that is open
        only for reading is mapped into memory, so a disk error ends the process without an exception, but a truncated
        file raises an exception.
    create : whether to create a missing file; ignored if `read_only` is true.

    Raises
    ------
    UnreadableFile : the file is missing or is not a ledger. Methods raise `UnreadableFile` if the disk fails, or if
        another process writes for too long.
    InvalidInput : `hashing` is not the hash function of the file.
    LedgerDamaged : raised by methods if rows contradict their hashes.

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
        self._last_chain: tuple[Any, _Chain] | None = None
        try:
            _prepare(self.database, hashing or "poseidon2", mode)
            self.scheme = scheme_of(self._chain().hashing)
            if hashing not in (None, self.scheme.name):
                raise InvalidInput("hashing", f"expected {self.scheme.name}, the hash function of {self.path}", hashing)
        except BaseException:
            self.database.close()
            raise
        self.rows = SqlRows(self.database, self.scheme)
        self._genesis_root: bytes | None = None
        self._forget()

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
        number = self._chain().head
        return None if number is None else self.block(number)

    @property
    def finalized(self) -> int | None:
        """Number of the newest final block, or `None` if no block is final."""
        return self._chain().finalized

    @property
    def finality(self) -> str | None:
        """Rule by which imported blocks become final, such as "depth 2"; `None` if no rule is set."""
        return self._chain().finality

    @property
    def chain_id(self) -> int | None:
        """Chain id of the blocks, or `None` if unknown."""
        return self._chain().chain_id

    def block(self, number: int) -> StoredBlock:
        """Return the block with this number.

        Raises `NotFinalized` for a block that is not in the store.
        """
        if (known := self._blocks.get(number)) is not None:
            return known
        query = "SELECT number, hash, root, digest FROM block WHERE number = ?"
        row = self.database.one(query, (number,)) if number < 1 << 63 else None
        if row is None:
            head = self._chain().head
            if head is not None and 0 <= number <= head:
                self.database.damaged(f"block {number} is missing")
            held = "none" if head is None else f"0 to {head}"
            raise NotFinalized(f"block {number} is not in the store, which has {held}")
        block = StoredBlock(*row[:3])
        if row[3] != _digest(block):
            self.database.damaged(f"block {number} has changed since it was stored")
        if len(self._blocks) >= KEPT:
            self._blocks.clear()
        self._blocks[number] = block
        return block

    def number_of(self, block_hash: bytes) -> int | None:
        """Return the number of the final block with this hash, or `None` if no such block is found.

        Only the newest 8,192 final blocks are searched, because there is no index of hashes.
        """
        newest = self.finalized
        if newest is None:
            return None
        query = "SELECT number FROM block WHERE number BETWEEN ? AND ? AND hash = ?"
        row = self.database.one(query, (newest - SEARCHED_BLOCKS + 1, newest, block_hash))
        return None if row is None else self.block(row[0]).number

    def accounts(self, number: int) -> Tree:
        """Return the account tree of a block. Raises `NotFinalized` for a block that is not in the store."""
        tree = self._tree(self.block(number).root, partial(account_message, self.scheme))
        return tree or self.database.damaged(f"the tree of block {number} is missing")

    def storage(self, root: bytes) -> Tree:
        """Return the storage tree of an account by its storage root."""
        tree = self._tree(root, self._word_message)
        return tree or self.database.damaged(f"the storage tree {root.hex()} is missing")

    def tree(self, root: bytes) -> Tree:
        """Return the account tree or storage tree whose root is `root`.

        Raises `InvalidInput` if no tree has this root.
        """
        tree = self._tree(root)
        if tree is None:
            raise InvalidInput("root", "expected the root of a stored tree", root.hex())
        return tree

    def _tree(self, root: bytes, value_message: Any = None) -> Tree | None:
        if root == self.scheme.empty_root:
            return Tree(self.scheme.name, rows=self.rows, value_message=value_message)
        version = self._versions.get(root) or self._version(root)
        if version is None:
            return None
        return Tree(self.scheme.name, rows=self.rows, version=version, value_message=value_message)

    def _version(self, root: bytes) -> Version | None:
        row = self.database.one("SELECT root, next_free, sub_root, node, branch FROM tree WHERE root = ?", (root,))
        if row is None:
            return None
        version = Version(*row)
        self._check_types(version)
        if len(self._versions) >= KEPT:
            self._versions.clear()
        self._versions[root] = version
        return version

    def check_version(self, version: Version) -> None:
        """Raise `LedgerDamaged` unless the top rows of a stored tree hash to the root of the tree."""
        self._check_types(version)
        self.rows.checked_top_hash(version)

    def _check_types(self, version: Version) -> None:
        types = [type(value) for value in version] == [bytes, int, bytes, int, int]
        if not types or len(version.sub_root) != HASH_SIZE or min(version.node, version.branch) < 0:
            self.database.damaged(f"the tree {version.root!r} is malformed")

    def _word_message(self, value: bytes) -> bytes:
        return self.scheme.words(value) if len(value) == WORD_SIZE else b""

    def account(self, number: int, address: bytes) -> AccountLeaf | None:
        """Return an account after a block, or `None` if the account does not exist."""
        leaf = _proven_leaf(self.accounts(number), self.scheme.account_key(address))
        return AccountLeaf.from_bytes(leaf.value) if leaf else None

    def slot(self, number: int, address: bytes, slot: bytes) -> int:
        """Return the value of a storage slot after a block, or 0 if the slot or its account does not exist."""
        account = self.account(number, address)
        leaf = _proven_leaf(self.storage(account.storage_root), self.scheme.word_hash(slot)) if account else None
        return int.from_bytes(leaf.value) if leaf else 0

    def code(self, keccak_code_hash: bytes) -> bytes | None:
        """Return the code with this Keccak-256 hash, or `None` if the code is not in the store."""
        row = self.database.one("SELECT code FROM code WHERE keccak = ?", (keccak_code_hash,))
        if row and (not isinstance(row[0], bytes) or keccak256(row[0]) != keccak_code_hash):
            self.database.damaged(f"the code {keccak_code_hash.hex()} has another hash")
        return row[0] if row else None

    def check_file(self) -> None:
        """Check that the path still names the file that was opened, and that this file still contains the same chain.

        Raises `UnreadableFile` if the file was replaced or now contains another chain.
        """
        changed = self.database.check_file()
        if self._genesis_root is None or changed:
            root = self.block(0).root if self._chain().head is not None else None
            if self._genesis_root not in (None, root):
                raise UnreadableFile(f"{self.path}: the file now contains another chain; open the ledger again")
            self._genesis_root = root

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the enclosed statements as one transaction: either all of their writes become durable, or none.

        Raises `UnreadableFile` if the database transaction fails, for example because the disk is full or another
        process writes. The error message contains the message of SQLite.
        """
        try:
            with self.database.transaction():
                self.rows.resume()
                yield
        except BaseException:
            self.rows.forget()
            self._forget()
            raise

    def _forget(self) -> None:
        """Drop the cached blocks and the cached top rows of trees."""
        self._blocks: dict[int, StoredBlock] = {}
        self._versions: dict[bytes, Version] = {}

    def save_trees(self, trees: list[Tree]) -> None:
        """Store changed trees, hashed in one batch. Call this method within a database transaction."""
        save_all(trees)
        rows = [tree.version for tree in trees]
        self.database.run_many("INSERT OR IGNORE INTO tree VALUES (?, ?, ?, ?, ?)", rows)

    def save_code(self, keccak_code_hash: bytes, code: bytes) -> None:
        """Store a contract's code. Call this method within a database transaction."""
        self.database.run("INSERT OR IGNORE INTO code VALUES (?, ?)", (keccak_code_hash, code))

    def save_block(self, block: StoredBlock) -> None:
        """Store a block and make it the head. Call this method within a database transaction, after `save_trees`."""
        self.database.run("INSERT INTO block VALUES (?, ?, ?, ?)", (*block, _digest(block)))
        self._save_chain(head=block[0])

    def finalize(self, number: int) -> None:
        """Mark a block and all earlier blocks as final.

        Raises `NotFinalized` for a block that is not in the store, and `InvalidInput` for a block before the newest
        final block.
        """
        with self.database.transaction():
            self.block(number)
            finalized = self.finalized
            if finalized is not None and number < finalized:
                raise InvalidInput("block", f"expected at least {finalized}, the newest final block", number)
            self._save_chain(finalized=number)

    def set_finality(self, rule: str) -> None:
        """Store the rule by which imported blocks become final."""
        with self.database.transaction():
            self._save_chain(finality=rule)

    def set_chain_id(self, chain_id: int) -> None:
        """Store the chain id of the blocks.

        Raises `InvalidInput` if another chain id is stored.
        """
        if not 0 < chain_id <= MAX_CHAIN_ID:
            raise InvalidInput("chain id", f"expected a number from 1 to {MAX_CHAIN_ID:,}", chain_id)
        with self.database.transaction():
            stored = self.chain_id
            if stored not in (None, chain_id):
                raise InvalidInput("chain id", f"expected {stored}, the chain of {self.path}", chain_id)
            self._save_chain(chain_id=chain_id)

    def checkpoint(self) -> None:
        """Move the write-ahead log into the file and empty the log, for example after a large block."""
        self.database.run("PRAGMA wal_checkpoint(TRUNCATE)")

    def _chain(self) -> _Chain:
        found = self.database.one("SELECT * FROM chain")
        if self._last_chain is not None and found == self._last_chain[0]:
            return self._last_chain[1]
        chain = _Chain(*found[:-1]) if found else None
        if chain is None or found[-1] != _digest(chain) or chain.hashing not in SCHEMES:
            self.database.damaged("the row of its head and its final block has changed since it was stored")
        self._last_chain = found, chain
        return chain

    def _save_chain(self, **changes: Any) -> None:
        chain = self._chain()._replace(**changes)
        marks = ", ".join(f"{name} = ?" for name in (*_Chain._fields, "digest"))
        self.database.run(f"UPDATE chain SET {marks}", (*chain, _digest(chain)))


def _proven_leaf(tree: Tree, hkey: bytes) -> Leaf | None:
    (found,) = proven(tree, [hkey])
    return found[0].leaf if len(found) == 1 else None


def _digest(row: tuple[Any, ...]) -> bytes:
    """Return the digest of a row's `repr`, to detect corruption. No two different rows have the same `repr`."""
    return hashlib.sha256(repr(tuple(row)).encode()).digest()


def _prepare(database: Database, hashing: str, mode: Mode) -> None:
    """Create the tables of a new file; raise `UnreadableFile` for a file that is not a ledger of this format."""
    if mode == "rwc":
        _lay_out(database, scheme_of(hashing))
    application, format = (database.one(f"PRAGMA {name}")[0] for name in ("application_id", "user_version"))
    if (application, format) != (APPLICATION_ID, FORMAT):
        found = f"its format is {format}" if application == APPLICATION_ID else "another program's database"
        raise UnreadableFile(f"{database.path}: not a ledger of format {FORMAT}: {found}")
    if mode != "ro":
        database.run("PRAGMA journal_mode = WAL")
        database.run("PRAGMA synchronous = FULL")


def _lay_out(database: Database, scheme: Scheme) -> None:
    with database.transaction():
        if database.one("SELECT count(*) FROM sqlite_master")[0] == 0:
            for statement in SCHEMA.split(";"):
                database.run(statement)
            chain = _Chain(scheme.name)
            database.run("INSERT INTO chain VALUES (?, ?, ?, ?, ?, ?)", (*chain, _digest(chain)))
            add_first_rows(SqlRows(database, scheme), scheme)
