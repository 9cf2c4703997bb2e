"""Copy and verify a ledger.

A copy can be made while another process imports blocks.

Verification checks each row against its hash, and all hashes against the roots of the blocks. Columns are read into
arrays and hashed in batches. Only the first eight bytes of each hash are compared, which is enough to detect accidental
corruption. The verification of a ledger with a million accounts takes about 300 MiB of memory.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from feemodel._records import printed_as_table
from feemodel.errors import InvalidInput, LedgerDamaged, UnreadableFile
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._quantities import ADDRESS_SIZE, WORD_SIZE
from feemodel.ledger._rows import (
    DIGIT_COLUMNS,
    HEAD_KEY,
    TAIL_KEY,
    Version,
    is_branch,
    is_key,
    is_leaf,
    is_node,
    stored_height,
)
from feemodel.ledger._scheme import (
    ACCOUNT_SIZE,
    DEPTH,
    EMPTY_KECCAK,
    HASH_SIZE,
    AccountLeaf,
    Scheme,
    account_hashes,
    plain_suffix,
)
from feemodel.ledger._store import Store, StoredBlock


def back_up(store: Store, path: str | Path) -> StoredBlock | None:
    """Copy the current state of a ledger to a new file; return the head of the copy.

    Another process may import blocks while the copy is made. The new file appears only when the copy is complete and on
    disk, and has no separate write-ahead log.

    Raises `InvalidInput` if the file exists or its folder is not writable, and `UnreadableFile` if the disk fails.

    >>> import tempfile
    >>> from feemodel.ledger._genesis import import_genesis
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
        with store.database.read_whole():
            store.database.run("VACUUM INTO ?", (str(part),))  # the copy includes everything committed so far
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


CHUNK = 50_000  # number of rows that are read at a time

Numbers = NDArray[np.int64]


PREFIX_DIGITS = 16  # number of hexadecimal digits in the first eight bytes of a key
SQLITE_FINDINGS = 20

Words = NDArray[np.uint64]


@printed_as_table
class Verified(NamedTuple):
    """Result of verification: the number of checked rows, and a line for each fault."""

    rows: int
    findings: list[str]


class _Leaves(NamedTuple):
    key: Numbers
    digest: Words


class _Nodes(NamedTuple):
    children: Numbers  # [n, 2]
    hashes: Words  # hashes of the children, of shape [n, 2]
    digest: Words


def verify(store: Store, progress: Callable[[str, int], object] = lambda table, rows: None) -> Verified:
    """Check all rows of a ledger.

    Corruption is reported, not raised. If a table cannot be read, the checks that need this table are skipped.

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
    with store.database.read_whole():
        return _Verification(store, progress).run()


class _Verification:
    def __init__(self, store: Store, progress: Callable[[str, int], object]) -> None:
        self._store, self._progress = store, progress
        self._scheme: Scheme = store.scheme
        self._findings: list[str] = []
        self._rows = 0
        self._roots: set[bytes] = set()  # storage roots of accounts
        self._codes: set[bytes] = set()

    def run(self) -> Verified:
        try:
            self._file()
            self._blocks()
            self._code()
            keys, hkeys = self._keys()
            leaves = self._leaves(hkeys)
            nodes = self._nodes()
            branches = self._branches()
            self._trees(keys, _first_words(hkeys), leaves, nodes, branches)
        except LedgerDamaged as error:
            self._findings.append(str(error))
        return Verified(self._rows, self._findings)

    def _found(self, what: str) -> None:
        self._findings.append(f"{self._store.path}: {what}")

    def _each(self, table: str, columns: Sequence[str]) -> Iterator[tuple[int, list[Any]]]:
        """Yield the rows of a table, numbered 1, 2, 3, …, in batches, each with the number of rows before the batch."""
        before = 0
        query = f"SELECT id, {', '.join(columns)} FROM {table} ORDER BY id"
        for part in self._store.database.each(query, CHUNK):
            numbers = [row[0] for row in part]
            if numbers != list(range(before + 1, before + 1 + len(part))):
                raise LedgerDamaged(f"{self._store.path}: the rows of {table} after {before} are not consecutive")
            yield before, [row[1:] for row in part]
            before += len(part)
            self._count(table, before, len(part))

    def _count(self, table: str, done: int, more: int) -> None:
        self._rows += more
        self._progress(table, done)

    def _sound(self, table: str, before: int, rows: list[Any], is_sound: Callable[[Sequence[Any]], bool]) -> None:
        for index, row in enumerate(rows, before + 1):
            if not is_sound(row):
                raise LedgerDamaged(f"{self._store.path}: {table} {index} is malformed")

    def _file(self) -> None:
        for (line,) in self._store.database.all(f"PRAGMA integrity_check({SQLITE_FINDINGS})"):
            if line != "ok":
                self._found(f"SQLite: {line}")

    def _blocks(self) -> None:
        head, finalized = self._store.head, self._store.finalized
        if finalized is not None and (head is None or finalized > head.number):
            self._found(f"block {finalized} is final, and the head is {head.number if head else 'missing'}")
        for number in range(head.number + 1 if head else 0):
            try:
                self._store.block(number)
                self._store.accounts(number)
            except LedgerDamaged as error:
                self._findings.append(str(error))
            self._count("block", number + 1, 1)
        [(count,)] = self._store.database.all("SELECT count(*) FROM block")
        if count != (head.number + 1 if head else 0):
            self._found(f"{count} blocks are stored, and the head is {head.number if head else 'missing'}")

    def _code(self) -> None:
        for count, (keccak, code) in enumerate(self._store.database.all("SELECT keccak, code FROM code"), 1):
            if not isinstance(code, bytes) or not isinstance(keccak, bytes) or keccak256(code) != keccak:
                self._found(f"code {count} has another Keccak-256 hash")
            else:
                self._codes.add(keccak)
            self._count("code", count, 1)

    def _keys(self) -> tuple[Numbers, bytes]:
        indices: list[int] = []
        hkeys = bytearray()
        for before, rows in self._each("key", ("leaf", "hkey", "name")):
            self._sound("key", before, rows, is_key)
            for size, hashed in ((ADDRESS_SIZE, self._scheme.account_keys), (WORD_SIZE, self._scheme.word_hashes)):
                named = [(index, row) for index, row in enumerate(rows, before + 1) if len(row[2]) == size]
                if named:
                    hkeys_of_names = hashed([row[2] for _, row in named])
                    self._compare("key", [index for index, _ in named], hkeys_of_names, [row[1] for _, row in named])
            indices += [row[0] for row in rows]
            hkeys += b"".join(row[1] for row in rows)
        return np.array([0, *indices]), bytes(HASH_SIZE) + bytes(hkeys)

    def _compare(
        self, table: str, indices: list[int], found: list[bytes], expected: list[bytes], what: str = ""
    ) -> None:
        for index, one, other in zip(indices, found, expected, strict=True):
            if one != other:
                self._found(f"{what}{table} {index} has another hash")

    def _leaves(self, hkeys: bytes) -> _Leaves:
        keys: list[Numbers] = [np.zeros(1, dtype=np.int64)]
        digests: list[Words] = [np.zeros(1, dtype=np.uint64)]
        plain, count = plain_suffix(self._scheme), len(hkeys) // HASH_SIZE
        for before, rows in self._each("leaf", ("key", "previous", "following", "hval", "value")):
            self._sound("leaf", before, rows, is_leaf)
            key_positions = [row[0] for row in rows]
            rows = [(index, *row[1:]) for index, row in zip(key_positions, rows, strict=True)]
            self._sound("leaf", before, rows, lambda row: 0 < row[0] < count)
            shown = [
                (previous, following, hkeys[HASH_SIZE * key : HASH_SIZE * (key + 1)], hval)
                for key, previous, following, hval, _ in rows
            ]
            digests.append(self._digests("leaf", before, self._scheme.leaves(shown), self._scheme.leaf_size))
            keys.append(np.array([row[0] for row in rows]))
            values = [
                (index, row[4] + plain if len(row[4]) == ACCOUNT_SIZE - len(plain) else row[4], row[3])
                for index, row in enumerate(rows, before + 1)
                if row[0] not in (HEAD_KEY, TAIL_KEY)
            ]
            self._values(values)
        return _Leaves(np.concatenate(keys), np.concatenate(digests))

    def _values(self, values: list[tuple[int, bytes, bytes]]) -> None:
        kinds: tuple[tuple[int, Callable[[list[bytes]], list[bytes]]], ...] = (
            (ACCOUNT_SIZE, lambda listed: account_hashes(self._scheme, listed)),
            (WORD_SIZE, self._scheme.word_hashes),
        )
        for size, hashed in kinds:
            chosen = [entry for entry in values if len(entry[1]) == size]
            if not chosen:
                continue
            indices, listed, hvals = (list(column) for column in zip(*chosen, strict=True))
            try:
                self._compare("leaf", indices, hashed(listed), hvals, "value of ")
            except InvalidInput:  # a value is not in the field of the hash function
                self._compare("leaf", indices, [_or_nothing(hashed, value) for value in listed], hvals, "value of ")
            if size == ACCOUNT_SIZE:
                for value in listed:
                    account = AccountLeaf.from_bytes(value)
                    self._roots.add(account.storage_root)
                    self._codes_of(account.keccak_code_hash)
        for index, value, _ in values:
            if len(value) not in (ACCOUNT_SIZE, WORD_SIZE):
                self._found(f"value of leaf {index} has {len(value)} bytes")

    def _codes_of(self, keccak: bytes) -> None:
        if keccak != EMPTY_KECCAK and keccak not in self._codes:
            self._found(f"code {keccak.hex()} of an account is missing")
            self._codes.add(keccak)  # report each missing code only once

    def _digests(self, table: str, before: int, messages: bytes, size: int) -> Words:
        try:
            return _first_words(self._scheme.digests(messages, size))
        except InvalidInput:  # a row has no digest if one of its elements is outside the hash's field
            listed = [messages[start : start + size] for start in range(0, len(messages), size)]
            digests = [_or_nothing(lambda pair: [self._scheme.digest(pair[0])], message) for message in listed]
            for index, digest in enumerate(digests, before + 1):
                if digest == bytes(HASH_SIZE):
                    self._found(f"{table} {index} is out of the hash's field")
            return _first_words(b"".join(digests))

    def _nodes(self) -> _Nodes:
        children: list[Any] = [np.zeros((1, 2), dtype=np.int64)]
        hashes: list[Any] = [np.zeros((1, 2), dtype=np.uint64)]
        digests: list[Words] = [np.zeros(1, dtype=np.uint64)]
        for before, rows in self._each("node", ("left", "right", "children")):
            self._sound("node", before, rows, is_node)
            pairs = b"".join(row[2] for row in rows)
            children.append(np.array([row[:2] for row in rows]))
            hashes.append(_first_words(pairs).reshape(-1, 2))
            digests.append(self._digests("node", before, pairs, 2 * HASH_SIZE))
        return _Nodes(np.concatenate(children), np.concatenate(hashes), np.concatenate(digests))

    def _branches(self) -> Numbers:
        parts: list[Any] = [np.zeros((1, len(DIGIT_COLUMNS)), dtype=np.int64)]
        for before, rows in self._each("branch", DIGIT_COLUMNS):
            self._sound("branch", before, rows, is_branch)
            indices = np.array(rows)
            parts.append(indices)
        return np.concatenate(parts)

    def _trees(self, keys: Numbers, words: Words, leaves: _Leaves, nodes: _Nodes, branches: Numbers) -> None:
        """Check hashes and leaf positions of each tree, and that the tree's index has the same keys as the leaves."""
        versions = [Version(*row) for row in self._store.database.all(
            "SELECT root, next_free, sub_root, node, branch FROM tree"
        )]  # fmt: skip
        sound = []
        for count, version in enumerate(versions, 1):
            try:
                self._store.check_version(version)
                sound.append(version)
            except LedgerDamaged as error:
                self._findings.append(str(error))
            self._count("tree", count, 1)
        for root in self._roots - {version.root for version in versions} - {self._scheme.empty_root}:
            self._found(f"the storage tree {root.hex()} is missing")
        below = self._below_nodes(sound, keys, leaves, nodes)
        listed = self._below_branches(sound, words, branches)
        top = np.array([version.node for version in sound], dtype=np.int64)
        branch = np.array([version.branch for version in sound], dtype=np.int64)
        ends = _mixed(np.array([HEAD_KEY, TAIL_KEY])).sum(keepdims=True)
        for index in np.flatnonzero(below[top] != listed[branch] + ends):
            self._found(f"the sorted index of the tree {sound[index].root.hex()} does not have the keys of its leaves")

    def _below_nodes(self, versions: list[Version], keys: Numbers, leaves: _Leaves, nodes: _Nodes) -> Words:
        """Check hashes and leaf positions.

        Return a checksum for each node, over the keys of all leaves below the node.
        """
        zeros = _first_words(b"".join(self._scheme.zeros))
        tops: dict[int, list[int]] = {}
        for version in versions:
            tops.setdefault(stored_height(version.next_free), []).append(version.node)
        levels: dict[int, Numbers] = {}
        children_of: dict[int, Numbers] = {}
        index = np.zeros(len(nodes.digest), dtype=np.int64)  # position of each node in its level
        level = np.zeros(0, dtype=np.int64)
        for height in range(DEPTH, 0, -1):
            levels[height] = level = np.union1d(level, np.array(tops.get(height, []), dtype=np.int64))
            below = leaves.digest if height == 1 else nodes.digest
            children = children_of[height] = nodes.children[level]
            outside = (children >= len(below)).any(axis=1)
            expected = np.where(children == 0, zeros[height - 1], below[np.where(children < len(below), children, 0)])
            for number in level[outside | (expected != nodes.hashes[level]).any(axis=1)]:
                self._found(f"node {number} has another hash than a row below it")
            children = np.where(children < len(below), children, 0)
            indices = 2 * index[level][:, None] + np.array([0, 1])
            there = children > 0
            if height > 1:
                index[children[there]] = indices[there]
                level = np.unique(children[there])
            else:
                wrong = keys[leaves.key[children]] != indices
                for number in children[there & wrong]:
                    self._found(f"leaf {number} is not at the index in its key")
        sums = np.where(np.arange(len(leaves.key)) > 0, _mixed(leaves.key), np.uint64(0))
        found = np.zeros(len(nodes.digest), dtype=np.uint64)
        for height in range(1, DEPTH + 1):
            level = levels[height]
            source = sums if height == 1 else found
            children = children_of[height]
            found[level] = source[np.where(children < len(source), children, 0)].sum(axis=1, dtype=np.uint64)
        return found

    def _below_branches(self, versions: list[Version], words: Words, branches: Numbers) -> Words:
        """Check the leading digits of keys; return a checksum for each branch, over all keys below the branch."""
        numbers = np.array([version.branch for version in versions if version.branch], dtype=np.int64)
        level = np.unique(numbers)
        prefix = np.zeros(len(branches), dtype=np.uint64)
        levels: list[Numbers] = []
        while len(level) and len(levels) < 2 * HASH_SIZE:
            if level.max() >= len(branches):
                raise LedgerDamaged(f"{self._store.path}: branch {level.max()} is missing")
            levels.append(level)
            depth = len(levels)
            children = branches[level]
            prefixes = np.broadcast_to(prefix[level][:, None], children.shape)
            if depth <= PREFIX_DIGITS:
                prefixes = prefixes | np.arange(16, dtype=np.uint64) << np.uint64(64 - 4 * depth)
            is_key_here = children < 0
            if (minimum := int(children.min())) <= -len(words):
                raise LedgerDamaged(f"{self._store.path}: key {-minimum} of the sorted index is missing")
            keys_here = -children[is_key_here]
            shift = np.uint64(64 - 4 * min(depth, PREFIX_DIGITS))
            for number in keys_here[words[keys_here] >> shift != prefixes[is_key_here] >> shift]:
                self._found(f"key {number} is at the wrong position in the sorted index")
            further = children > 0
            if further.any() and children.max() >= len(branches):
                raise LedgerDamaged(f"{self._store.path}: branch {children.max()} is missing")
            prefix[children[further]] = prefixes[further]
            level = np.unique(children[further])
        if len(level):
            self._found("the sorted index of a tree has more levels than its keys have digits")
        found = np.zeros(len(branches), dtype=np.uint64)
        for level in reversed(levels):
            children = branches[level]
            of_keys = np.where(children < 0, _mixed(-children), np.uint64(0))
            found[level] = (of_keys + np.where(children > 0, found[np.maximum(children, 0)], np.uint64(0))).sum(
                axis=1, dtype=np.uint64
            )
        return found


def _first_words(hashes: bytes) -> Words:
    """Return the first eight bytes of each hash."""
    return np.frombuffer(hashes, dtype=">u8")[:: HASH_SIZE // 8].astype(np.uint64)


def _mixed(numbers: NDArray[Any]) -> Words:
    """Return a 64-bit hash of each number (finalizer of SplitMix64); the sum of the hashes is a checksum of a set."""
    mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    return (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)


def _or_nothing(hashed: Callable[[list[bytes]], list[bytes]], value: bytes) -> bytes:
    """Return the hash of a value, or 32 zero bytes if the value is not in the field of the hash function."""
    try:
        return hashed([value])[0]
    except InvalidInput:
        return bytes(HASH_SIZE)
