"""Import of the genesis allocation into an empty store, in one transaction.

The number of accounts is not limited, and the accounts may come in any order. The accounts are sorted in runs of
limited size, and the runs are written to a temporary file in the ledger's folder. The runs are then merged, one range
of hashes at a time. At any time, at most one run, one range of hashes, and a few bytes per account are in memory.

The tree is built from the keys in ascending order. No lookups are needed, because the neighbours of a leaf are the
previous leaf and the next leaf. Each node is the hash of two consecutive nodes of the level below. A subtree of five
levels is stored as soon as the subtree is complete; only the hash and the row number of the subtree's top node stay in
memory. The sorted index is computed from the number of leading digits that consecutive keys share. The keys are kept in
a temporary file until the index is built.
"""

import gc
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._quantities import ADDRESS_SIZE, WORD_SIZE, to_hex
from feemodel.ledger._files import parse_genesis
from feemodel.ledger._rows import (
    EMPTY,
    HEAD_KEY,
    TAIL_KEY,
    Key,
    Leaf,
    SqlRows,
    TreeNode,
    Version,
    empty_version,
    stored_height,
)
from feemodel.ledger._scheme import (
    ACCOUNT_SIZE,
    DEPTH,
    EMPTY_KECCAK,
    FIRST_FREE,
    HASH_SIZE,
    HEAD,
    NOTHING,
    TAIL,
    AccountLeaf,
    Scheme,
    cut,
    flat_hashes,
    plain_suffix,
    side_by_side,
)
from feemodel.ledger._store import Store, StoredBlock
from feemodel.ledger._tree import DIGITS, Tree
from feemodel.ledger.blocks import GenesisAccount, check_successor, set_slots, word_hashes

SUBTREE_LEVELS = 5  # number of levels of a subtree, whose rows are stored together, so that a path reads one page of it
CHUNK = 32_768  # number of rows that are created and stored at a time
KEYS_READ = 65_536  # number of keys that are read at a time to build the index
Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int64]


class _Spool:
    """Rows of equal width in an anonymous temporary file, which the system removes when the process ends.

    Parameters
    ----------
    width : width of a row [byte].
    folder : folder of the file; `None` means the system's folder for temporary files.

    Raises `UnreadableFile` if the disk is full or fails.

    >>> with _Spool(2) as spool:
    ...     spool.append(np.array([[1, 2], [3, 4]], dtype=np.uint8))
    ...     spool.rows(1, 2).tolist()
    [[3, 4]]
    """

    def __init__(self, width: int, folder: Path | None = None) -> None:
        self._width, self._folder = width, folder
        self._count = 0
        try:
            self._file = TemporaryFile(dir=folder)  # noqa: SIM115 closed by `__exit__`
        except OSError as error:
            raise self._named(error) from None

    def __enter__(self) -> "_Spool":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __len__(self) -> int:
        return self._count

    def append(self, rows: Bytes) -> None:
        """Append rows of shape (n, width)."""
        try:
            self._file.write(np.ascontiguousarray(rows).data)
            self._file.flush()
        except OSError as error:
            raise self._named(error) from None
        self._count += len(rows)

    def rows(self, start: int, stop: int) -> Bytes:
        """Return the rows `start` to `stop` - 1, of shape (n, width)."""
        try:
            data = os.pread(self._file.fileno(), (stop - start) * self._width, start * self._width)
        except OSError as error:
            raise self._named(error) from None
        return np.frombuffer(data, dtype=np.uint8).reshape(-1, self._width)

    def _named(self, error: OSError) -> UnreadableFile:
        where = self._folder or "the folder of temporary files"
        return UnreadableFile(f"{where}: no temporary file for the import ({(error.strerror or str(error)).lower()})")


class _Chunk(NamedTuple):
    """Keys to load, in ascending order.

    Parameters
    ----------
    hkeys : hashes of the keys, of shape (n, 32).
    hvals : hashes of the values, of shape (n, 32).
    values : value of each key.
    names : address or slot of each key.
    """

    hkeys: Bytes
    hvals: Bytes
    values: Sequence[bytes]
    names: Sequence[bytes]


def _fill(rows: SqlRows, scheme: Scheme, chunks: Iterable[_Chunk], count: int, folder: Path | None = None) -> Version:
    """Store a tree of `count` keys; the chunks contain the keys in ascending order.

    No other rows may be added at the same time, because the rows of the tree have consecutive numbers.

    Raises `UnreadableFile` if the disk of the temporary file is full.
    """
    if not count:
        return empty_version(scheme)
    last = FIRST_FREE + count - 1
    ends = [Leaf(HEAD_KEY, HEAD, FIRST_FREE, NOTHING, NOTHING), Leaf(TAIL_KEY, last, TAIL, NOTHING, NOTHING)]
    nodes = _GenesisNodes(rows, scheme, rows.leaves.extend(ends), last + 1)
    shown = [(HEAD, FIRST_FREE, NOTHING, NOTHING), (last, TAIL, scheme.tail_key, NOTHING)]
    nodes.add(scheme.digests(scheme.leaves(shown), scheme.leaf_size))
    first_key = 0
    with _Spool(HASH_SIZE + 1, folder) as keys:
        index, before = FIRST_FREE, None
        for chunk in chunks:
            first_key = first_key or rows.keys.extend([])
            nodes.add(_add_leaves(rows, scheme, chunk, index, last))
            keys.append(np.column_stack((chunk.hkeys, _digits_shared(chunk.hkeys, before))))
            index, before = index + len(chunk.names), chunk.hkeys[-1]
        node, sub_root = nodes.top()
        branch = _fill_index(rows, keys, first_key)
    next_free = last + 1
    return Version(scheme.digest(scheme.top(next_free, sub_root)), next_free, sub_root, node, branch)


def _add_leaves(rows: SqlRows, scheme: Scheme, chunk: _Chunk, index: int, last: int) -> bytes:
    """Store the keys and leaves of a chunk, whose first leaf has the index `index`; return the hashes of the leaves."""
    count = len(chunk.names)
    indices = np.arange(index, index + count)
    links = np.stack((indices - 1, indices + 1), axis=1)
    if index == FIRST_FREE:
        links[0, 0] = HEAD
    if index + count > last:
        links[-1, 1] = TAIL
    hkeys, hvals = cut(chunk.hkeys), cut(chunk.hvals)
    number = rows.keys.extend(map(Key._make, zip(indices.tolist(), hkeys, chunk.names, strict=True)))
    numbers, (previous, following) = range(number, number + count), links.T.tolist()
    rows.leaves.extend(map(Leaf._make, zip(numbers, previous, following, hvals, chunk.values, strict=True)))
    words = np.zeros((count, 2, HASH_SIZE // 8), dtype=">u8")
    words[:, :, -1] = links
    messages = side_by_side(count, scheme.numbers(words.tobytes()), chunk.hkeys.tobytes(), chunk.hvals.tobytes())
    return scheme.digests(messages, scheme.leaf_size)


class _GenesisNodes:
    """Compute and store the inner nodes of a tree from the hashes of the tree's leaves, which are added in order.

    Parameters
    ----------
    first : number of the first leaf.
    count : number of leaves.
    """

    def __init__(self, rows: SqlRows, scheme: Scheme, first: int, count: int) -> None:
        self._rows, self._scheme, self._height = rows, scheme, stored_height(count)
        self._lowest = scheme.zeros[: min(SUBTREE_LEVELS, self._height)]
        # hashes of the leaves in incomplete subtrees, and number of the first of these leaves
        self._waiting, self._number = bytearray(), first
        self._hashes = bytearray()  # hashes of the top nodes of the stored subtrees at the bottom of the tree
        self._numbers: list[Numbers] = []

    def add(self, hashes: bytes) -> None:
        """Add the hashes of the next leaves, and store the subtrees that are complete."""
        self._waiting += hashes
        subtree = HASH_SIZE << len(self._lowest)
        self._store(len(self._waiting) // subtree * subtree)

    def top(self) -> tuple[int, bytes]:
        """Store the remaining nodes; return the row number of the highest stored node, and the sub root of the tree."""
        if self._waiting:
            self._store(len(self._waiting))
        hashes, numbers = bytes(self._hashes), np.concatenate(self._numbers)
        for bottom in range(SUBTREE_LEVELS, self._height, SUBTREE_LEVELS):
            zeros = self._scheme.zeros[bottom : min(bottom + SUBTREE_LEVELS, self._height)]
            hashes, numbers = _fill_subtrees(self._rows, self._scheme, hashes, numbers, zeros)
        zeros = self._scheme.zeros[self._height : DEPTH]
        (sub_root,) = self._scheme.path_roots([hashes], [zeros], [HEAD])
        return int(numbers[0]), sub_root

    def _store(self, size: int) -> None:
        if not size:
            return
        below = self._number + np.arange(size // HASH_SIZE)
        hashes, numbers = _fill_subtrees(self._rows, self._scheme, bytes(self._waiting[:size]), below, self._lowest)
        del self._waiting[:size]
        self._number += len(below)
        self._hashes += hashes
        self._numbers.append(numbers)


def _fill_subtrees(
    rows: SqlRows, scheme: Scheme, hashes: bytes, below: Numbers, zeros: Sequence[bytes]
) -> tuple[bytes, Numbers]:
    """Store several levels of complete subtrees from the top down.

    Return the hashes and row numbers of the subtrees' top nodes.

    Parameters
    ----------
    hashes : hashes of the nodes on the level below the subtrees.
    below : row numbers of the nodes in `hashes`.
    zeros : hashes of empty subtrees: on the level of `hashes`, and on each stored level except the highest.
    """
    levels = []
    for zero in zeros:
        if len(hashes) // HASH_SIZE % 2:
            hashes += zero
        levels.append(np.frombuffer(hashes, dtype=np.uint8).reshape(-1, 2 * HASH_SIZE))
        hashes = scheme.digests(hashes, 2 * HASH_SIZE)
    height = np.repeat(np.arange(len(levels)), [len(level) for level in levels])
    subtree = np.concatenate([np.arange(len(level)) >> len(levels) - 1 - index for index, level in enumerate(levels)])
    order = np.lexsort((-height, subtree))
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = rows.nodes.extend([]) + np.arange(len(order))
    of_level = [numbers[height == index] for index in range(len(levels))]
    children = np.concatenate([_in_pairs(level) for level in (below, *of_level[:-1])])
    pairs = np.concatenate(levels)
    for start in range(0, len(order), CHUNK):
        chosen = order[start : start + CHUNK]
        left, right = children[chosen].T.tolist()
        rows.nodes.extend(map(TreeNode._make, zip(left, right, cut(pairs[chosen]), strict=True)))
    return hashes, of_level[-1]


def _in_pairs(numbers: Numbers) -> Numbers:
    """Return numbers in pairs; if their count is odd, the last number is paired with 0."""
    pairs = np.full((-(-len(numbers) // 2), 2), EMPTY)
    pairs.flat[: len(numbers)] = numbers
    return pairs


def _digits_shared(hkeys: Bytes, before: Bytes | None) -> Bytes:
    """Return the number of leading digits that each key shares with the previous key.

    The keys are in ascending order and have the shape (n, 32).
    """
    preceding = np.concatenate((hkeys[:1] ^ 0x80 if before is None else before[None], hkeys[:-1]))
    differs = hkeys ^ preceding
    byte = (differs != 0).argmax(axis=1)
    shared = 2 * byte + (differs[np.arange(len(byte)), byte] < DIGITS)
    result: Bytes = shared.astype(np.uint8)
    return result


def _fill_index(rows: SqlRows, keys: _Spool, first_key: int) -> int:
    """Store the sorted index of the keys, one depth at a time; return the row number of the top branch.

    All branches of one depth are stored before the branches of the next depth, so that the number of a branch is known
    before the branch is stored. The keys are read once for each depth.

    Parameters
    ----------
    keys : rows with the hash of a key and the number of leading digits that the key shares with the previous key.
    first_key : row number of the first of these keys in the table `rows.keys`.
    """
    top = following = rows.branches.extend([])
    branches, depth = 1, 0
    while branches:
        following += branches
        branches = _fill_depth(rows, keys, first_key, depth, following)
        depth += 1
    return top


def _fill_depth(rows: SqlRows, keys: _Spool, first_key: int, depth: int, following: int) -> int:
    """Store the branches of one depth.

    Return the number of branches of the next depth; the first of these branches has the row number `following`.
    """
    deeper, started = 0, 0  # numbers of branches found so far: on the next depth, and on this depth
    # Entries of the last branch that has been read, which may continue in the next part of the keys.
    indices = children = np.zeros(0, dtype=np.int64)
    for start in range(0, len(keys), KEYS_READ):
        part = keys.rows(start, min(start + KEYS_READ + 1, len(keys)))
        shared = part[:, HASH_SIZE]
        with_next = np.append(shared[1:], 0)[:KEYS_READ]
        shared = shared[:KEYS_READ]
        # A key belongs to a branch at depth `depth` if the key shares `depth` or more digits with a neighbour. A key of
        # the branch starts an entry if the key shares at most `depth` digits with the previous key.
        firsts = np.flatnonzero(((shared >= depth) | (with_next >= depth)) & (shared <= depth))
        digits = part[firsts, depth // 2] >> (0 if depth % 2 else 4) & 15
        branch = np.cumsum(shared[firsts] < depth) + started if depth else np.ones(len(firsts), dtype=np.int64)
        is_deeper = with_next[firsts] > depth
        numbers = following + deeper - 1 + np.cumsum(is_deeper)
        indices = np.append(indices, branch * DIGITS + digits)
        children = np.append(children, np.where(is_deeper, numbers, -(first_key + start + firsts)))
        deeper += int(is_deeper.sum())
        if len(branch):
            started = int(branch[-1])
        done = int(np.searchsorted(indices, started * DIGITS)) if start + KEYS_READ < len(keys) else len(indices)
        _store_branches(rows, indices[:done], children[:done])
        indices, children = indices[done:], children[done:]
    return deeper


def _store_branches(rows: SqlRows, indices: Numbers, children: Numbers) -> None:
    """Store complete branches.

    `children` are the entries of the branches that are not empty, and `indices` are the positions of these entries.
    """
    if not len(indices):
        return
    first = indices[0] // DIGITS
    table = np.zeros((int(indices[-1] // DIGITS - first) + 1) * DIGITS, dtype=np.int64)
    table[indices - first * DIGITS] = children
    rows.branches.extend(map(tuple, table.reshape(-1, DIGITS).tolist()))


RUN = 131_072  # size of a run: number of accounts + slots + units of code (CODE_UNIT)
CODE_UNIT = 128  # bytes per unit of code; a unit of code adds 1 to the size of a run, like an account or a slot
RANGES = 1_024  # number of ranges of hashes; with ten million accounts, each range has about 10,000 accounts
NUMBERS = 2 * WORD_SIZE  # size of nonce and balance [byte]
OFFSET_BYTES = 8  # size of the index of a row in a temporary file [byte]
#: Offsets in the record of an account; the record starts with the hash of the address. VALUE is the offset of the nonce
#: and the balance, and ADDRESS the offset of the address. REST is the offset of a row number in a second `_Spool`,
#: whose row contains the account's remaining fields. RECORD is the length of the whole record.
VALUE, ADDRESS, REST, RECORD = np.cumsum([HASH_SIZE, NUMBERS, ADDRESS_SIZE, OFFSET_BYTES]).tolist()


def import_genesis(store: Store, accounts: Iterable[GenesisAccount], *, block_hash: bytes | None = None) -> StoredBlock:
    """Import an allocation as block 0 of an empty store.

    The accounts are streamed and need not fit in memory. A temporary file next to the ledger takes 124 bytes per
    account.

    Parameters
    ----------
    store : empty ledger, open for writing.
    accounts : accounts in any order, each address once.
    block_hash : hash of the genesis block [32 bytes], or `None` if unknown.

    Returns
    -------
    Block 0, with its state root.

    Raises
    ------
    InvalidInput : the store is not empty, an address occurs twice, or an address is not 20 bytes long.
    UnreadableFile : the disk is full or fails.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/ledger.db") as store:
    ...     block = import_genesis(store, [GenesisAccount(bytes(20), balance=5)])
    ...     print(block.number, store.account(0, bytes(20)).balance)
    0 5
    """
    scheme, folder = store.scheme, store.path.parent
    with _collector_paused(), store.transaction(), _Waiting(scheme, folder) as waiting:
        check_successor(store.head, 0)
        for run in _runs(accounts):  # store all storage trees first, because `_fill` needs consecutive row numbers
            _add_run(store, waiting, run)
        version = _fill(store.rows, scheme, waiting.chunks(), len(waiting), folder)
        tree = Tree(scheme.name, rows=store.rows, version=version)
        store.save_trees([tree])
        block = StoredBlock(0, block_hash, tree.root)
        store.save_block(block)
    store.checkpoint()
    return block


def genesis_root(genesis: Any, hashing: str) -> bytes:
    """Return the state root of the allocation in a geth genesis object.

    >>> from feemodel.ledger._scheme import scheme_of
    >>> genesis_root({"alloc": {}}, "poseidon2") == scheme_of("poseidon2").empty_root
    True
    """
    with TemporaryDirectory(prefix="feemodel-") as folder, Store(Path(folder) / "ledger.db", hashing=hashing) as store:
        return import_genesis(store, parse_genesis(genesis)).root


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector, which would repeatedly scan millions of rows that have no cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _runs(accounts: Iterable[GenesisAccount]) -> Iterator[list[GenesisAccount]]:
    """Split accounts into runs of limited size."""
    run: list[GenesisAccount] = []
    size = 0
    for account in accounts:
        run.append(account)
        size += 1
        if account.code or account.storage:
            size += len(account.storage) + len(account.code) // CODE_UNIT
        if size >= RUN:
            yield run
            run, size = [], 0
    if run:
        yield run


def _add_run(store: Store, waiting: "_Waiting", run: list[GenesisAccount]) -> None:
    """Store the code and storage of a run of accounts, and write the accounts to the temporary file."""
    storage_roots = _storage_roots(store, run)
    count = len(run)
    records = np.zeros((count, RECORD), dtype=np.uint8)
    addresses = [account.address for account in run]
    for address in addresses:
        if len(address) != ADDRESS_SIZE:
            raise InvalidInput("address", f"expected {ADDRESS_SIZE} bytes", to_hex(address))
    joined = b"".join(
        [part for _, nonce, balance, _, _ in run for part in (nonce.to_bytes(WORD_SIZE), balance.to_bytes(WORD_SIZE))]
    )
    records[:, :VALUE] = _as_rows(b"".join(store.scheme.account_keys(addresses)), HASH_SIZE)
    records[:, VALUE:ADDRESS] = _as_rows(joined, NUMBERS)
    records[:, ADDRESS:REST] = _as_rows(b"".join(addresses), ADDRESS_SIZE)
    others = [index for index, account in enumerate(run) if account.code or account.storage]
    values = [
        _value(store, run[index], storage_roots.get(run[index].address, store.scheme.empty_root)) for index in others
    ]
    waiting.add(records, others, values)


def _as_rows(data: bytes, size: int) -> Bytes:
    return np.frombuffer(data, dtype=np.uint8).reshape(-1, size)


def _storage_roots(store: Store, accounts: list[GenesisAccount]) -> dict[bytes, bytes]:
    """Store the storage trees of the accounts that have storage; return the storage roots by address."""
    trees = {}
    for account in accounts:
        if account.storage:
            tree = trees[account.address] = store.tree(store.scheme.empty_root)
            words = [word for slot, value in account.storage.items() for word in (slot, value.to_bytes(WORD_SIZE))]
            set_slots(tree, account.storage, word_hashes(store.scheme, words))
    store.save_trees(list(trees.values()))
    return {address: tree.root for address, tree in trees.items()}


def _value(store: Store, account: GenesisAccount, storage_root: bytes) -> bytes:
    keccak, code_hash = EMPTY_KECCAK, store.scheme.empty_code_hash
    if account.code:
        keccak, code_hash = keccak256(account.code), store.scheme.code_hash(account.code)
        store.save_code(keccak, account.code)
    size = len(account.code)
    return AccountLeaf(account.nonce, account.balance, storage_root, code_hash, keccak, size).to_bytes()


class _Waiting:
    """Temporary file that stores the accounts until all of them are read.

    The file consists of runs of accounts, and each run is sorted by the hashes of the addresses.
    """

    def __init__(self, scheme: Scheme, folder: Path) -> None:
        self._scheme = scheme
        self._records = _Spool(RECORD, folder)
        self._rests = _Spool(ACCOUNT_SIZE - NUMBERS, folder)  # last four words of each account that has code or storage
        # one array for each sorted run of accounts: the index of the first record of each range of hashes, and the end
        # of the last range
        self._starts: list[NDArray[np.int64]] = []
        first, *_ = _first_words(_as_rows(scheme.tail_key, HASH_SIZE)).tolist()
        self._range_size = np.uint64(first // RANGES + 1)

    def __enter__(self) -> "_Waiting":
        return self

    def __exit__(self, *_: object) -> None:
        self._records.__exit__()
        self._rests.__exit__()

    def __len__(self) -> int:
        return len(self._records)

    def add(self, records: Bytes, others: list[int], values: list[bytes]) -> None:
        """Add a run.

        Parameters
        ----------
        records : records of accounts, of shape (n, RECORD), in which the bytes from REST on are not set yet.
        others : indices (within the run) of the accounts with code or storage.
        values : encoded values of the accounts with code or storage, 192 bytes for each account.
        """
        if others:
            indices = len(self._rests) + 1 + np.arange(len(others))
            records[others, REST:] = indices.astype("<u8").view(np.uint8).reshape(-1, OFFSET_BYTES)
            self._rests.append(_as_rows(b"".join(value[NUMBERS:] for value in values), ACCOUNT_SIZE - NUMBERS))
        order = _order(records)
        ranges = (_first_words(records)[order] // self._range_size).astype(np.int64)
        self._starts.append(len(self) + np.searchsorted(ranges, np.arange(RANGES + 1)))
        self._records.append(records[order])

    def chunks(self) -> Iterator[_Chunk]:
        """Yield all accounts in the order of their hashed addresses; raises `InvalidInput` for a duplicate address."""
        together = max(1, RANGES * CHUNK // max(len(self), 1))
        for index in range(0, RANGES, together):
            after = min(index + together, RANGES)
            parts = [self._records.rows(starts[index], starts[after]) for starts in self._starts]
            records = np.concatenate(parts)
            records = records[_order(records)]
            twice = (records[1:, :VALUE] == records[:-1, :VALUE]).all(axis=1)
            if twice.any():
                address = records[int(twice.argmax()), ADDRESS:REST].tobytes()
                raise InvalidInput("address", "expected each account only once", to_hex(address))
            for start in range(0, len(records), CHUNK):
                yield self._chunk(records[start : start + CHUNK])

    def _chunk(self, records: Bytes) -> _Chunk:
        suffix = np.frombuffer(plain_suffix(self._scheme), dtype=np.uint8)
        values = np.empty((len(records), ACCOUNT_SIZE), dtype=np.uint8)
        values[:, :NUMBERS], values[:, NUMBERS:] = records[:, VALUE:ADDRESS], suffix
        rests = np.ascontiguousarray(records[:, REST:]).view("<u8").ravel()
        for index in np.flatnonzero(rests):
            number = int(rests[index])
            values[index, NUMBERS:] = self._rests.rows(number - 1, number)[0]
        names = cut(records[:, ADDRESS:REST])
        return _Chunk(records[:, :VALUE], flat_hashes(self._scheme, values), cut(values), names)


def _first_words(rows: Bytes) -> NDArray[np.uint64]:
    """Return the first eight bytes of each row as a number."""
    return np.ascontiguousarray(rows[:, :8]).view(">u8").ravel().astype(np.uint64)


def _order(records: Bytes) -> NDArray[np.int64]:
    """Return the indices that sort records by the hash at the start of each record."""
    first = _first_words(records)
    order = np.argsort(first, kind="stable")
    if (first[order[1:]] == first[order[:-1]]).any():
        order = np.lexsort(records[:, HASH_SIZE - 1 :: -1].T)
    return order
