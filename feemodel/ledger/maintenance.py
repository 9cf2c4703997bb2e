"""Copy and verify a ledger.

Verification hashes every row again and compares it with the row above, up to the roots of all blocks. Rows refer only
to rows that were written before, so each table is read once, in the order of its row numbers. A checksum over the keys
and indices below each row shows whether the sorted index of every version has the keys of its leaves.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from feemodel.errors import InvalidInput
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._quantities import WORD_SIZE
from feemodel.io.files import written_whole
from feemodel.ledger.rows import CHILDREN, COLUMNS, ENTRY, GROUP, LEVELS, Version, height_of, node_hashes
from feemodel.ledger.scheme import ACCOUNT_SIZE, DEPTH, EMPTY_KECCAK, HASH_SIZE, TAIL, AccountLeaf, account_hashes
from feemodel.ledger.store import Store, StoredBlock

CHUNK = 20_000  # number of rows that are hashed at a time
PRIME = 2**64 - 59  # keys modulo this number are summed

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
    with written_whole(path) as file:
        store.database.one("VACUUM INTO ?", (file.name,))  # the copy includes everything committed so far
    with Store(path, read_only=True) as copy:
        return copy.head


class _Table(NamedTuple):
    """What is known of the rows of a table, by row number; number 0 is empty.

    `keys` is the sum of the keys below a row, modulo `PRIME`, and `places` the sum of each key times its leaf index.
    """

    digest: NDArray[np.uint8]
    height: NDArray[np.int64]
    keys: Words
    places: Words


def verify(store: Store, progress: Callable[[str, int], object] = lambda table, rows: None) -> int:
    """Check all rows of a ledger; return their number. Raises `LedgerDamaged` for the first damaged row.

    `progress` is called repeatedly with the name of a table and the number of rows of the table checked so far.

    >>> import tempfile
    >>> from feemodel.ledger import import_genesis
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/ledger.db") as store:
    ...     block = import_genesis(store, [])
    ...     verify(store)
    5
    """
    try:
        return _Verification(store, progress).run()
    except (InvalidInput, LookupError, TypeError, ValueError, OverflowError) as error:
        store.database.damaged(f"a row is malformed ({error})")


class _Verification:
    def __init__(self, store: Store, progress: Callable[[str, int], object]) -> None:
        self._store, self._scheme, self._progress = store, store.scheme, progress
        self._damaged, self._rows = store.database.damaged, 0

    def run(self) -> int:
        for (line,) in self._store.database.each("PRAGMA integrity_check(1)"):
            if line != "ok":
                self._damaged(f"SQLite: {line}")
        codes, roots = {EMPTY_KECCAK}, {self._scheme.empty_root}
        for keccak, code in self._each("code", "keccak, code", "keccak"):
            codes.add(keccak)
            if keccak256(code) != keccak:
                self._damaged(f"code {keccak.hex()} has another Keccak-256 hash")
        leaves, used_roots, used_codes = self._leaves()
        nodes, pages = self._nodes(leaves), self._pages()
        for row in self._each("tree", "root, next_free, sub_root, node, page", "root"):
            roots.add(row[0])
            self._tree(Version(*row), nodes, pages)
        finalized, count = self._store.finalized, 0
        for number, root in self._each("block", "number, root", "number"):
            used_roots.add(root)
            if number != count:
                self._damaged(f"block {count} is missing")
            count += 1
        if finalized is not None and finalized >= count:
            self._damaged(f"block {finalized} is final, but missing")
        for missing in used_roots - roots:
            self._damaged(f"the tree {missing.hex()} is missing")
        for missing in used_codes - codes:
            self._damaged(f"code {missing.hex()} of an account is missing")
        return self._rows

    def _each(self, table: str, columns: str, order: str) -> Iterator[Any]:
        """Yield each row of a table."""
        count = 0
        for count, row in enumerate(self._store.database.each(f"SELECT {columns} FROM {table} ORDER BY {order}"), 1):
            yield row
            if count % CHUNK == 0:
                self._progress(table, count)
        self._rows += count

    def _chunks(self, table: str, size: int = CHUNK) -> Iterator[tuple[int, list[Any]]]:
        """Yield rows that are numbered 1, 2, 3, …, in batches, each with the number of its first row."""
        rows, first = self._each(table, f"{COLUMNS[table]}, id", "id"), 1
        while chunk := list(islice(rows, size)):
            for number, row in enumerate(chunk, first):
                if row[-1] != number:
                    self._damaged(f"{table} {number} is missing")
            yield first, chunk
            first += len(chunk)

    def _empty(self, table: str, group: int = 1) -> _Table:
        count = self._store.rows.next_number(table) * group
        words = np.zeros((2, count), np.uint64)
        return _Table(np.zeros((count, HASH_SIZE), np.uint8), np.zeros(count, np.int64), *words)

    def _leaves(self) -> tuple[_Table, set[bytes], set[bytes]]:
        """Check the hash of each value; return the leaves, and the storage roots and codes of accounts."""
        table, roots, codes = self._empty("leaf"), set[bytes](), set[bytes]()
        ends = bytes(HASH_SIZE), self._scheme.tail_key
        for first, rows in self._chunks("leaf"):
            leaves = [self._store.rows.leaf(*row[:-1]) for row in rows]
            at = slice(first, first + len(leaves))
            table.digest[at] = np.frombuffer(self._scheme.leaf_hashes(leaves), np.uint8).reshape(-1, HASH_SIZE)
            table.keys[at] = [int.from_bytes(leaf.hkey) % PRIME for leaf in leaves]
            held = [leaf for leaf in leaves if leaf.hkey not in ends]
            accounts = [leaf for leaf in held if len(leaf.value) == ACCOUNT_SIZE]
            words = [leaf for leaf in held if len(leaf.value) == WORD_SIZE]
            found = account_hashes(self._scheme, [leaf.value for leaf in accounts])
            found += self._scheme.word_hashes([leaf.value for leaf in words])
            if len(found) < len(held) or found != [leaf.hval for leaf in (*accounts, *words)]:
                self._damaged(f"a value of the leaves {first} to {first + len(leaves) - 1} has another hash")
            for leaf in accounts:
                account = AccountLeaf.from_bytes(leaf.value)
                roots.add(account.storage_root)
                codes.add(account.keccak_code_hash)
        return table, roots, codes

    def _nodes(self, leaves: _Table) -> _Table:
        """Check each node against the hashes and heights of the rows below it."""
        table = self._empty("node", GROUP)
        zeros = np.frombuffer(b"".join(self._scheme.zeros[::LEVELS]), np.uint8).reshape(-1, HASH_SIZE)
        for first, rows in self._chunks("node", CHUNK // GROUP):
            sizes = [len(row[1]) // (CHILDREN * ENTRY.itemsize) for row in rows]
            at = np.concatenate([np.arange(size) + GROUP * number for number, size in enumerate(sizes, first)])
            entries = np.frombuffer(b"".join([row[1] for row in rows]), ENTRY).reshape(-1, CHILDREN)
            children, height = entries["number"].astype(np.int64), np.repeat([row[0] for row in rows], sizes)
            if max(sizes) > GROUP or (height < 1).any() or (height > DEPTH // LEVELS).any() or (children < 0).any():
                self._damaged(f"a node after {at[0] - 1} is malformed")
            digests = node_hashes(self._scheme, entries["hash"].tobytes())
            hashes = np.frombuffer(entries["hash"].tobytes(), np.uint8).reshape(-1, CHILDREN, HASH_SIZE)
            table.height[at], table.digest[at] = height, np.frombuffer(digests, np.uint8).reshape(-1, HASH_SIZE)
            for one in np.unique(height).tolist():  # the sums of a node need the sums below the node
                below, chosen, level = leaves if one == 1 else table, height == one, one - 1
                rows_below = children[chosen]
                expected = np.where(rows_below[..., None] > 0, below.digest[rows_below], zeros[level])
                wrong = (expected != hashes[chosen]).any(axis=(1, 2))
                wrong |= ((below.height[rows_below] != level) & (rows_below > 0)).any(axis=1)
                numbers = at[chosen]
                if wrong.any():
                    self._damaged(f"node {numbers[wrong][0]} has another hash than a row below it")
                offset = np.arange(CHILDREN, dtype=np.uint64) << np.uint64(LEVELS * level)
                keys = below.keys[rows_below]
                table.keys[numbers] = keys.sum(axis=1)
                table.places[numbers] = (below.places[rows_below] + keys * offset).sum(axis=1)
        return table

    def _pages(self) -> _Table:
        """Check each page of the sorted index: the order of its keys, and the first keys of its child pages."""
        table = self._empty("page")
        for first, rows in self._chunks("page"):
            for number, (height, data, _) in enumerate(rows, first):
                entries = np.frombuffer(data, ENTRY)
                keys, below = entries["hash"].tolist(), entries["number"].tolist()
                table.digest[number], table.height[number] = np.frombuffer(keys[0], np.uint8), height
                if keys != sorted({*keys}) or (height and max(below) >= number):
                    self._damaged(f"page {number} is not in order")
                if height:
                    table.keys[number], table.places[number] = table.keys[below].sum(), table.places[below].sum()
                    if (table.height[below] != height - 1).any() or table.digest[below].tobytes() != b"".join(keys):
                        self._damaged(f"page {number} has another key than a page below it")
                else:
                    words = np.array([int.from_bytes(key) % PRIME for key in keys], dtype=np.uint64)
                    table.keys[number] = words.sum()
                    table.places[number] = (words * np.array(below, dtype=np.uint64)).sum()
        return table

    def _tree(self, version: Version, nodes: _Table, pages: _Table) -> None:
        """Check a version against its top rows."""
        root, next_free, sub_root, node, page = version
        height, scheme = height_of(next_free), self._scheme
        [found] = scheme.sub_roots(nodes.digest[node].tobytes(), LEVELS * height)
        if nodes.height[node] != height or (found, scheme.digest(scheme.top(next_free, found))) != (sub_root, root):
            self._damaged(f"the tree {root.hex()} has another root")
        tail = int.from_bytes(scheme.tail_key) % PRIME  # the sorted index does not have the last leaf
        listed = [
            (int(words[page]) + tail * factor) % 2**64 for words, factor in ((pages.keys, 1), (pages.places, TAIL))
        ]
        if [int(nodes.keys[node]), int(nodes.places[node])] != listed:
            self._damaged(f"the sorted index of the tree {root.hex()} does not have the keys of its leaves")
