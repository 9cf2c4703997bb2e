"""Import of the genesis allocation into an empty store: one update of empty trees, in one transaction."""

import gc
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import ADDRESS_SIZE, to_hex
from feemodel.ledger.blocks import GenesisAccount, check_successor, slot_edits, stored_code
from feemodel.ledger.files import parse_genesis
from feemodel.ledger.scheme import EMPTY_KECCAK, AccountLeaf, account_hashes
from feemodel.ledger.store import Store, StoredBlock
from feemodel.ledger.tree import Change, Edit


def import_genesis(store: Store, accounts: Iterable[GenesisAccount], *, block_hash: bytes | None = None) -> StoredBlock:
    """Import an allocation as block 0 of an empty store. The accounts must fit in memory, about 1 kB each.

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
    scheme = store.scheme
    listed = [*accounts]
    addresses = [account.address for account in listed]
    for address in addresses:
        if len(address) != ADDRESS_SIZE:
            raise InvalidInput("address", f"expected {ADDRESS_SIZE} bytes", to_hex(address))
    if len({*addresses}) < len(addresses):
        twice = next(address for address, times in Counter(addresses).items() if times > 1)
        raise InvalidInput("address", "expected each account only once", to_hex(twice))
    with _collector_paused(), store.transaction():
        check_successor(store.head, 0)
        by_hkey = dict(sorted(zip(scheme.account_keys(addresses), listed, strict=True)))
        hkeys, ordered = [*by_hkey], [*by_hkey.values()]
        holders = [account for account in ordered if account.storage]
        storage = {account.address: store.tree(scheme.empty_root) for account in holders}
        slots = slot_edits(scheme, [account.storage for account in holders])
        store.update_trees([Change(tree, edits) for tree, edits in zip(storage.values(), slots, strict=True)])
        values = []
        for address, nonce, balance, code, _ in ordered:
            code_hash, keccak = stored_code(store, code) if code else (scheme.empty_code_hash, EMPTY_KECCAK)
            root = storage[address].root if address in storage else scheme.empty_root
            values.append(AccountLeaf(nonce, balance, root, code_hash, keccak, len(code)).to_bytes())
        tree = store.tree(scheme.empty_root)
        store.update_trees([Change(tree, [*map(Edit, hkeys, account_hashes(scheme, values), values)])])
        block = StoredBlock(0, block_hash, tree.root)
        store.save_block(block)
    store.checkpoint()
    return block


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector, which would repeatedly scan millions of leaves that have no cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def genesis_root(genesis: Any, hashing: str) -> bytes:
    """Return the state root of the allocation in a geth genesis object.

    >>> from feemodel.ledger.scheme import scheme_of
    >>> genesis_root({"alloc": {}}, "poseidon2") == scheme_of("poseidon2").empty_root
    True
    """
    with TemporaryDirectory(prefix="feemodel-") as folder, Store(Path(folder) / "ledger.db", hashing=hashing) as store:
        return import_genesis(store, parse_genesis(genesis)).root
