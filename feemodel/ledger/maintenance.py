"""Copy and verify a ledger.

Verification hashes every row again and compares it with the row above, up to the roots of all blocks. Rows refer only
to rows that were written before, so each table is read once, in the order of its row numbers. A checksum over the keys
and indices below each row shows whether the sorted index of every version has the keys of its leaves.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from feemodel.errors import InvalidInput, LedgerDamaged, UnreadableFile
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._quantities import WORD_SIZE
from feemodel.ledger.hashing import pieces
from feemodel.ledger.rows import CHILDREN, ENTRY, LEAF_COLUMNS, LEVELS, NODE, Leaf, Version, height_of, node_hashes
from feemodel.ledger.scheme import ACCOUNT_SIZE, DEPTH, EMPTY_KECCAK, HASH_SIZE, TAIL, AccountLeaf, account_hashes
from feemodel.ledger.store import Store, StoredBlock

CHUNK = 20_000  # number of rows that are hashed at a time
SQLITE_FINDINGS = 20

T = TypeVar("T")
Hashes = NDArray[np.uint8]
Words = NDArray[np.uint64]


def back_up(store: Store, path: str | Path) -> StoredBlock | None:
    """Copy the current state of a ledger to a new file; return the head of the copy.

    Another process may import blocks while the copy is made. The new file appears only when the copy is complete and on
    disk, and has no separate write-ahead log.

    Raises `InvalidInput` if the file exists or its folder is not writable, and `UnreadableFile` if the disk fails.

    >>> import tempfile
    >>> from feemodel.ledger import import_genesis
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/ledger.db") as store:
    ...     block = import_genesis(store, [])
    ...     back_up(store, f"{folder}/copy.db") == block
    True
    """
    target = Path(path)
    try:
        folder = tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise InvalidInput("out", f"cannot be written ({error.strerror})", str(target)) from None
    with folder:
        part = Path(folder.name) / target.name
        store.database.one("VACUUM INTO ?", (str(part),))  # the copy includes everything committed so far
        with Store(part, read_only=True) as copy:
            head = copy.head
        with part.open("rb") as file:
            os.fsync(file.fileno())
        try:
            os.link(part, target)  # unlike a rename, raises an error if `target` exists
        except FileExistsError:
            raise InvalidInput("out", "the file exists", str(target)) from None
        except OSError as error:
            raise UnreadableFile(f"{target}: {error.strerror}") from None
    return head


class Verified(NamedTuple):
    """Result of verification: the number of checked rows, and a line for each fault."""

    rows: int
    findings: list[str]


class _Table(NamedTuple):
    """What is known of the rows of a table, by row number; number 0 is empty.

    `keys` is the sum of the keys below a row, as 64-bit words, and `places` the sum of each key times its leaf index.
    """

    digest: Hashes
    height: NDArray[np.int64]
    keys: Words
    places: Words


def verify(store: Store, progress: Callable[[str, int], object] = lambda table, rows: None) -> Verified:
    """Check all rows of a ledger.

    Damage is reported, not raised; the tables after a table that cannot be read are not checked.

    Parameters
    ----------
    store : ledger, which is not changed.
    progress : called repeatedly with the name of a table and the number of rows of the table checked so far.

    >>> import tempfile
    >>> from feemodel.ledger import import_genesis
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/ledger.db") as store:
    ...     block = import_genesis(store, [])
    ...     verify(store).findings
    []
    """
    verification = _Verification(store, progress)
    try:
        verification.run()
    except LedgerDamaged as error:
        verification.findings.append(str(error))
    except (InvalidInput, LookupError, TypeError, ValueError, OverflowError) as error:
        verification.findings.append(f"{store.path}: a row is malformed ({error})")
    return Verified(verification.rows, verification.findings)


class _Verification:
    def __init__(self, store: Store, progress: Callable[[str, int], object]) -> None:
        self._store, self._scheme, self._progress = store, store.scheme, progress
        self.findings: list[str] = []
        self.rows = 0

    def run(self) -> None:
        for (line,) in self._store.database.all(f"PRAGMA integrity_check({SQLITE_FINDINGS})"):
            if line != "ok":
                self._found(f"SQLite: {line}")
        roots, codes = {self._scheme.empty_root}, {EMPTY_KECCAK}
        for count, (keccak, code) in self._each("code", "keccak, code", order="keccak"):
            codes.add(keccak)
            if keccak256(code) != keccak:
                self._found(f"code {count} has another Keccak-256 hash")
        leaves, used_roots, used_codes = self._leaves()
        nodes, pages = self._nodes(leaves), self._pages()
        for count, row in self._each("tree", "root, next_free, sub_root, node, page", order="root"):
            roots.add(row[0])
            self._tree(count, Version(*row), nodes, pages)
        finalized, number = self._store.finalized, -1
        for number, (stored, root) in self._each("block", "number, root", order="number", first=0):
            used_roots.add(root)
            if stored != number:
                self._found(f"block {number} is missing")
        if finalized is not None and finalized > number:
            self._found(f"block {finalized} is final, and the head is {number if number >= 0 else 'missing'}")
        for missing in used_roots - roots:
            self._found(f"the tree {missing.hex()} is missing")
        for missing in used_codes - codes:
            self._found(f"code {missing.hex()} of an account is missing")

    def _found(self, what: str) -> None:
        self.findings.append(f"{self._store.path}: {what}")

    def _each(self, table: str, columns: str, *, order: str, first: int = 1) -> Iterator[tuple[int, Any]]:
        """Yield each row of a table with its place."""
        for place, rows in self._batches(table, columns, order, first):
            yield from enumerate(rows, place)

    def _chunks(self, table: str, columns: str) -> Iterator[tuple[int, list[Any]]]:
        """Yield rows that are numbered 1, 2, 3, …, in batches, each with the number of its first row."""
        for first, rows in self._batches(table, f"{columns}, id", "id", 1):
            for number, row in enumerate(rows, first):
                if row[-1] != number:
                    raise LedgerDamaged(f"{self._store.path}: {table} {number} is missing")
            yield first, rows

    def _batches(self, table: str, columns: str, order: str, first: int) -> Iterator[tuple[int, list[Any]]]:
        place = first
        for rows in self._store.database.each(f"SELECT {columns} FROM {table} ORDER BY {order}", size=CHUNK):
            yield place, rows
            place += len(rows)
            self.rows += len(rows)
            self._progress(table, place - first)

    def _empty(self, table: str) -> _Table:
        count = self._store.rows.next_number(table)
        words = np.zeros((2, count), np.uint64)
        return _Table(np.zeros((count, HASH_SIZE), np.uint8), np.zeros(count, np.int64), *words)

    def _leaves(self) -> tuple[_Table, set[bytes], set[bytes]]:
        """Check the hash of each value; return the leaves, and the storage roots and codes of accounts."""
        table, roots, codes = self._empty("leaf"), set[bytes](), set[bytes]()
        for first, rows in self._chunks("leaf", LEAF_COLUMNS):
            leaves = [self._store.rows.leaf(*row[:-1]) for row in rows]
            at = slice(first, first + len(leaves))
            table.digest[at] = _as_hashes(
                _hashes(lambda some: pieces(self._scheme.leaf_hashes(some), HASH_SIZE), leaves)
            )
            table.keys[at] = [int.from_bytes(leaf.hkey[:8]) for leaf in leaves]
            for leaf in leaves:
                if len(leaf.value) == ACCOUNT_SIZE:
                    account = AccountLeaf.from_bytes(leaf.value)
                    roots.add(account.storage_root)
                    codes.add(account.keccak_code_hash)
            self._values(first, leaves)
        return table, roots, codes

    def _values(self, first: int, leaves: list[Leaf]) -> None:
        kinds: tuple[tuple[int, Callable[[list[bytes]], list[bytes]]], ...] = (
            (ACCOUNT_SIZE, lambda values: account_hashes(self._scheme, values)),
            (WORD_SIZE, self._scheme.word_hashes),
        )
        ends = (bytes(HASH_SIZE), self._scheme.tail_key)
        held = [(number, leaf) for number, leaf in enumerate(leaves, first) if leaf.hkey not in ends]
        for size, hashed in kinds:
            chosen = [(number, leaf) for number, leaf in held if len(leaf.value) == size]
            for (number, leaf), digest in zip(chosen, _hashes(hashed, [leaf.value for _, leaf in chosen]), strict=True):
                if leaf.hval != digest:
                    self._found(f"the value of leaf {number} has another hash")
        for number, leaf in held:
            if len(leaf.value) not in (ACCOUNT_SIZE, WORD_SIZE):
                self._found(f"the value of leaf {number} has {len(leaf.value)} bytes")

    def _nodes(self, leaves: _Table) -> _Table:
        """Check each node against the hashes and heights of the rows below it."""
        table = self._empty("node")
        zeros = _as_hashes(self._scheme.zeros[::LEVELS])
        for first, rows in self._chunks("node", "height, children"):
            height, nodes = np.array([row[0] for row in rows]), np.frombuffer(b"".join(row[1] for row in rows), NODE)
            at, children = slice(first, first + len(rows)), nodes["row"].astype(np.int64)
            for place in np.flatnonzero((height < 1) | (height > DEPTH // LEVELS)):
                self._found(f"node {first + place} has another height")
            table.height[at] = height = height.clip(1, DEPTH // LEVELS)
            hashes = nodes["hash"]
            try:
                table.digest[at] = node_hashes(self._scheme, hashes.tobytes())
            except InvalidInput:
                self._found(f"a node after {first - 1} is out of the hash's field")
            for below, chosen in ((leaves, height == 1), (table, height > 1)):
                rows_below = children[chosen]
                inside = np.where(rows_below < len(below.digest), rows_below, 0)
                expected = np.where(inside[..., None] > 0, below.digest[inside], zeros[height[chosen] - 1][:, None, :])
                wrong = (expected != hashes[chosen]).any(axis=(1, 2)) | (inside != rows_below).any(axis=1)
                wrong |= ((below.height[inside] != height[chosen][:, None] - 1) & (inside > 0)).any(axis=1)
                numbers = np.flatnonzero(chosen) + first
                for number in numbers[wrong]:
                    self._found(f"node {number} has another hash than a row below it")
                offset = (
                    np.arange(CHILDREN, dtype=np.uint64) << (LEVELS * (height[chosen] - 1)).astype(np.uint64)[:, None]
                )
                keys = below.keys[inside]
                table.keys[numbers] = keys.sum(axis=1)
                table.places[numbers] = (below.places[inside] + keys * offset).sum(axis=1)
        return table

    def _pages(self) -> _Table:
        """Check the order of the keys in each page of the sorted index, and the first key of each page below it."""
        table = self._empty("page")
        for first, rows in self._chunks("page", "height, entries"):
            for number, (height, data, _) in enumerate(rows, first):
                entries = np.frombuffer(data, ENTRY)
                keys, below = entries["hkey"].tolist(), entries["number"].tolist()
                table.digest[number] = np.frombuffer(keys[0], np.uint8)
                table.height[number] = height
                inside = not height or max(below) < number
                if keys != sorted({*keys}) or not inside:
                    self._found(f"page {number} is not in order")
                elif height:
                    table.keys[number], table.places[number] = table.keys[below].sum(), table.places[below].sum()
                    if (table.height[below] != height - 1).any() or table.digest[below].tobytes() != b"".join(keys):
                        self._found(f"page {number} has another key than a page below it")
                else:
                    words = np.array([int.from_bytes(key[:8]) for key in keys], dtype=np.uint64)
                    table.keys[number] = words.sum()
                    table.places[number] = (words * np.array(below, dtype=np.uint64)).sum()
        return table

    def _tree(self, count: int, version: Version, nodes: _Table, pages: _Table) -> None:
        """Check a version against its top rows."""
        root, next_free, sub_root, node, page = version
        height, scheme = height_of(next_free), self._scheme
        if not 0 < node < len(nodes.digest) or not 0 < page < len(pages.digest) or nodes.height[node] != height:
            self._found(f"tree {count} has another top row")
            return
        found = scheme.sub_roots(nodes.digest[node].tobytes(), LEVELS * height)[0]
        if found != sub_root or scheme.digest(scheme.top(next_free, found)) != root:
            self._found(f"the tree {root.hex()} has another root")
        tail = int.from_bytes(scheme.tail_key[:8])  # the sorted index does not have the last leaf
        listed = [
            (int(words[page]) + tail * factor) % 2**64 for words, factor in ((pages.keys, 1), (pages.places, TAIL))
        ]
        if [int(nodes.keys[node]), int(nodes.places[node])] != listed:
            self._found(f"the sorted index of the tree {root.hex()} does not have the keys of its leaves")


def _as_hashes(hashes: Any) -> Hashes:
    return np.frombuffer(b"".join(hashes), np.uint8).reshape(-1, HASH_SIZE)


def _hashes(hashed: Callable[[list[T]], list[bytes]], values: list[T]) -> list[bytes]:
    """Return the hashes of values; 32 zero bytes for a value that is not in the field of the hash function."""
    try:
        return hashed(values)
    except InvalidInput:
        return [_hashes(hashed, [value])[0] for value in values] if len(values) > 1 else [bytes(HASH_SIZE)]
