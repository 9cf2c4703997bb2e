"""The genesis allocation applied to an empty store: one transaction, all accounts in the order of their hashes.

Accounts may come in any number and order: those that were read wait in a temporary file in the ledger's folder, sorted
in runs, which are then merged a range of hashes at a time. Memory holds one run, one range, and a few bytes an account.
"""

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feemodel.errors import InvalidInput
from feemodel.ethereum.hashes import keccak256
from feemodel.ethereum.quantities import ADDRESS_SIZE, WORD_SIZE, to_hex
from feemodel.ledger.account import ACCOUNT_SIZE, EMPTY_KECCAK, Account, flat_hashes, plain_suffix
from feemodel.ledger.blocks import GenesisAccount, check_successor, set_slots, word_hashes
from feemodel.ledger.bulk_load import CHUNK, Bytes, Chunk, Spool, fill
from feemodel.ledger.files import parse_genesis
from feemodel.ledger.scheme import HASH_SIZE, Scheme, cut
from feemodel.ledger.store import Block, Store
from feemodel.ledger.tree import Tree

RUN = 131_072  # accounts and slots that are read together; each contract's code counts by its size
CODE_UNIT = 128  # bytes of code that count as much as an account
RANGES = 1_024  # of hashes: ten million accounts have 10,000 in each
NUMBERS = 2 * WORD_SIZE  # nonce and balance
PLACE = 8  # bytes of a place in a spool
#: Where the parts of an account that waits begin: hash of the address, nonce and balance, address, place of the rest.
VALUE, ADDRESS, REST, RECORD = np.cumsum([HASH_SIZE, NUMBERS, ADDRESS_SIZE, PLACE]).tolist()


def import_genesis(store: Store, accounts: Iterable[GenesisAccount], *, block_hash: bytes | None = None) -> Block:
    """Make an allocation block 0 of an empty store.

    The accounts are read one after the other, and never all of them are in memory. The temporary file takes 124 bytes
    an account of the ledger's disk.

    Raises `InvalidInput` where the store holds blocks already, an address is given twice or has not 20 bytes,
    `UnreadableFile` where the disk has no room.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/ledger.db") as store:
    ...     block = import_genesis(store, [GenesisAccount(bytes(20), balance=5)])
    ...     print(block.number, store.account(0, bytes(20)).balance)
    0 5
    """
    scheme, folder = store.scheme, store.path.parent
    with _collector_paused(), store.transaction(), _Waiting(scheme, folder) as waiting:
        check_successor(store.head, 0)
        for run in _runs(accounts):  # with their storage, for `fill` numbers its rows without a gap
            _add_run(store, waiting, run)
        version = fill(store.rows, scheme, waiting.chunks(), len(waiting), folder)
        tree = Tree(scheme.name, rows=store.rows, version=version)
        store.save_trees([tree])
        block = Block(0, block_hash, tree.root)
        store.save_block(block)
    store.checkpoint()
    return block


def genesis_root(genesis: Any, hashing: str) -> bytes:
    """The state root of the allocation of a geth genesis object.

    >>> from feemodel.ledger.scheme import scheme_of
    >>> genesis_root({"alloc": {}}, "poseidon2") == scheme_of("poseidon2").empty_root
    True
    """
    with TemporaryDirectory(prefix="feemodel-") as folder, Store(Path(folder) / "ledger.db", hashing=hashing) as store:
        return import_genesis(store, parse_genesis(genesis)).root


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Millions of rows, none of them part of a cycle: walking them again and again would take a quarter of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _runs(accounts: Iterable[GenesisAccount]) -> Iterator[list[GenesisAccount]]:
    """Accounts, some at a time."""
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
    """Store the code and the storage of some accounts, which then wait for the others."""
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
    others = [place for place, account in enumerate(run) if account.code or account.storage]
    values = [
        _value(store, run[place], storage_roots.get(run[place].address, store.scheme.empty_root)) for place in others
    ]
    waiting.add(records, others, values)


def _as_rows(data: bytes, size: int) -> Bytes:
    return np.frombuffer(data, dtype=np.uint8).reshape(-1, size)


def _storage_roots(store: Store, accounts: list[GenesisAccount]) -> dict[bytes, bytes]:
    """The storage roots of the accounts that have storage, by address; their trees are stored."""
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
    return Account(account.nonce, account.balance, storage_root, code_hash, keccak, size).to_bytes()


class _Waiting:
    """Accounts that wait on disk until all are known, each run of them sorted by the hashes of the addresses."""

    def __init__(self, scheme: Scheme, folder: Path) -> None:
        self._scheme = scheme
        self._records = Spool(RECORD, folder)
        self._rests = Spool(ACCOUNT_SIZE - NUMBERS, folder)  # last four words of the accounts with code or storage
        self._starts: list[NDArray[np.int64]] = []  # of each run, where each range begins, and where the last ends
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
        records : [n, RECORD] the accounts, without the place of the rest of their values.
        others, values : the places of accounts with code or storage in the run, and their flat values.
        """
        if others:
            places = len(self._rests) + 1 + np.arange(len(others))
            records[others, REST:] = places.astype("<u8").view(np.uint8).reshape(-1, PLACE)
            self._rests.append(_as_rows(b"".join(value[NUMBERS:] for value in values), ACCOUNT_SIZE - NUMBERS))
        order = _order(records)
        ranges = (_first_words(records)[order] // self._range_size).astype(np.int64)
        self._starts.append(len(self) + np.searchsorted(ranges, np.arange(RANGES + 1)))
        self._records.append(records[order])

    def chunks(self) -> Iterator[Chunk]:
        """All accounts in the order of their hashes. Raises `InvalidInput` for an address that is there twice."""
        together = max(1, RANGES * CHUNK // max(len(self), 1))
        for place in range(0, RANGES, together):
            after = min(place + together, RANGES)
            parts = [self._records.rows(starts[place], starts[after]) for starts in self._starts]
            records = np.concatenate(parts)
            records = records[_order(records)]
            twice = (records[1:, :VALUE] == records[:-1, :VALUE]).all(axis=1)
            if twice.any():
                address = records[int(twice.argmax()), ADDRESS:REST].tobytes()
                raise InvalidInput("address", "expected each account once", to_hex(address))
            for start in range(0, len(records), CHUNK):
                yield self._chunk(records[start : start + CHUNK])

    def _chunk(self, records: Bytes) -> Chunk:
        suffix = np.frombuffer(plain_suffix(self._scheme), dtype=np.uint8)
        values = np.empty((len(records), ACCOUNT_SIZE), dtype=np.uint8)
        values[:, :NUMBERS], values[:, NUMBERS:] = records[:, VALUE:ADDRESS], suffix
        rests = np.ascontiguousarray(records[:, REST:]).view("<u8").ravel()
        for place in np.flatnonzero(rests):
            number = int(rests[place])
            values[place, NUMBERS:] = self._rests.rows(number - 1, number)[0]
        names = cut(records[:, ADDRESS:REST])
        return Chunk(records[:, :VALUE], flat_hashes(self._scheme, values), cut(values), names)


def _first_words(rows: Bytes) -> NDArray[np.uint64]:
    """The first eight bytes of each row as a number."""
    return np.ascontiguousarray(rows[:, :8]).view(">u8").ravel().astype(np.uint64)


def _order(records: Bytes) -> NDArray[np.int64]:
    """The places of records in the order of the hashes with which they begin."""
    first = _first_words(records)
    order = np.argsort(first, kind="stable")
    if (first[order[1:]] == first[order[:-1]]).any():
        order = np.lexsort(records[:, HASH_SIZE - 1 :: -1].T)
    return order
