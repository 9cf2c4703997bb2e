"""The genesis allocation applied to an empty store: one transaction, all accounts in the order of their hashes."""

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from feemodel.errors import InvalidInput
from feemodel.ethereum.hashes import keccak256
from feemodel.ethereum.quantities import to_hex
from feemodel.ledger.account import EMPTY_KECCAK, Account, account_hashes, plain_suffix
from feemodel.ledger.blocks import check_successor, set_slots, word_hashes
from feemodel.ledger.bulk import CHUNK, Item, fill
from feemodel.ledger.changes import GenesisAccount
from feemodel.ledger.files import parse_genesis
from feemodel.ledger.store import Block, Store
from feemodel.ledger.tree import Tree
from feemodel.ledger.words import WORD_SIZE


def import_genesis(store: Store, accounts: Iterable[GenesisAccount], *, block_hash: bytes | None = None) -> Block:
    """Make an allocation block 0 of an empty store.

    Raises `InvalidInput` where the store holds blocks already, or an address is given twice.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/ledger.db") as store:
    ...     block = import_genesis(store, [GenesisAccount(bytes(20), balance=5)])
    ...     print(block.number, store.account(0, bytes(20)).balance)
    0 5
    """
    scheme = store.scheme
    with _collector_paused(), store.transaction():
        check_successor(store.head, 0)
        listed = list(accounts)
        hkeys = _account_keys(store, listed)
        order = sorted(range(len(listed)), key=hkeys.__getitem__)
        for place, following in pairwise(order):
            if hkeys[place] == hkeys[following]:
                raise InvalidInput("address", "expected each account once", to_hex(listed[following].address))
        storage_roots = _storage_roots(store, listed)  # first, for `fill` numbers its rows without a gap
        parts = (order[start : start + CHUNK] for start in range(0, len(order), CHUNK))
        chunks = (_items(store, [(hkeys[place], listed[place]) for place in part], storage_roots) for part in parts)
        tree = Tree(scheme.name, rows=store.rows, version=fill(store.rows, scheme, chunks, len(order)))
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


def _account_keys(store: Store, accounts: list[GenesisAccount]) -> list[bytes]:
    hkeys = []
    for start in range(0, len(accounts), CHUNK):
        hkeys += store.scheme.account_keys([account.address for account in accounts[start : start + CHUNK]])
    return hkeys


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


def _items(store: Store, accounts: list[tuple[bytes, GenesisAccount]], storage_roots: dict[bytes, bytes]) -> list[Item]:
    plain = plain_suffix(store.scheme)
    hkeys, listed = zip(*accounts, strict=True)
    values = [
        _value(store, account, storage_roots.get(account.address, store.scheme.empty_root))
        if account.code or account.storage
        else account.nonce.to_bytes(WORD_SIZE) + account.balance.to_bytes(WORD_SIZE) + plain  # nearly all
        for account in listed
    ]
    hvals = account_hashes(store.scheme, values)
    addresses = (account.address for account in listed)
    return list(map(Item._make, zip(hkeys, hvals, values, addresses, strict=True)))


def _value(store: Store, account: GenesisAccount, storage_root: bytes) -> bytes:
    keccak, code_hash = EMPTY_KECCAK, store.scheme.empty_code_hash
    if account.code:
        keccak, code_hash = keccak256(account.code), store.scheme.code_hash(account.code)
        store.save_code(keccak, account.code)
    size = len(account.code)
    return Account(account.nonce, account.balance, storage_root, code_hash, keccak, size).to_bytes()
