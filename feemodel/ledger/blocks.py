"""Blocks of state changes, and the import of these blocks into the store.

The resulting state roots are the same as on production nodes.

The changes of a block are the block's net effect on accounts and storage slots, with the values before the block.
Accounts are updated in the order of their hashed addresses, and the slots of an account in the order of their hashes. A
destroyed account loses its leaf; if the account is created again, it gets a new leaf and an empty storage tree. Each
block is imported in one database transaction.

Source: `ZkEvmWorldStateEntryPoint` and `ZKEvmWorldState` of Consensys/shomei at 3f47bed.
"""

import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from feemodel.errors import InvalidInput
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._quantities import ADDRESS_SIZE, WORD_SIZE, to_hex
from feemodel.ledger.rows import Leaf
from feemodel.ledger.scheme import EMPTY_KECCAK, AccountLeaf, Scheme, account_hashes
from feemodel.ledger.store import Store, StoredBlock
from feemodel.ledger.tree import Change, Edit, Tree, floors


class AccountFields(NamedTuple):
    """Fields of an account in a state change: nonce, balance [wei] and Keccak-256 of the code."""

    nonce: int
    balance: int
    keccak_code_hash: bytes


class SlotChange(NamedTuple):
    """Storage slot [32 bytes] with its values before and after the block; 0 means absent."""

    slot: bytes
    before: int
    after: int


class AccountChange(NamedTuple):
    """Changes of one account in one block.

    Parameters
    ----------
    address : address [20 bytes].
    before : fields before the block, or `None` if the account does not exist before the block.
    after : fields after the block, or `None` if the account does not exist after the block.
    same : `True` if the account exists and only its storage changes; `before` and `after` are then `None`.
    cleared : whether the block destroyed the account, even if the block created the account again with empty storage.
    code : new code, or `None` if the code does not change.
    storage : slots that changed.
    """

    address: bytes
    before: AccountFields | None = None
    after: AccountFields | None = None
    same: bool = False
    cleared: bool = False
    code: bytes | None = None
    storage: tuple[SlotChange, ...] = ()


class BlockChanges(NamedTuple):
    """Block: number, hash and parent hash if known, and the changes of accounts in any order."""

    number: int
    accounts: tuple[AccountChange, ...]
    hash: bytes | None = None
    parent_hash: bytes | None = None


@dataclass(slots=True)
class _Work:
    """Account that a block changes: hashed key and change; flat value and account before the block; fields after it.

    `storage_root` is the root after the block; a destroyed account loses its leaf and gets a new tree.
    """

    hkey: bytes
    change: AccountChange
    value: bytes
    stored: AccountLeaf | None
    after: AccountFields | None
    destroyed: bool
    storage_root: bytes

    @property
    def name(self) -> str:
        """Address, for an error message."""
        return to_hex(self.change.address)


def import_block(store: Store, block: BlockChanges, *, final: bool = False) -> StoredBlock:
    """Import a block into the store, and make the block the head.

    Parameters
    ----------
    store : ledger, open for writing.
    block : block that follows the head; block 0 in an empty store.
    final : whether the block is final.

    Returns
    -------
    The stored block, with its state root.

    Raises
    ------
    InvalidInput : the block does not follow the head, or the values before the block do not match the state. If
        `InvalidInput` is raised, the store is unchanged.
    LedgerDamaged : stored rows are missing.
    UnreadableFile : the disk fails or is full, or another process keeps writing.

    >>> import tempfile
    >>> five = AccountChange(bytes(20), before=None, after=AccountFields(0, 5, EMPTY_KECCAK))
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/ledger.db") as store:
    ...     block = import_block(store, BlockChanges(0, (five,)))
    ...     print(block.number, store.account(0, bytes(20)).balance)
    0 5
    """
    with store.transaction(), _without_collector():
        head = store.head
        check_successor(head, block.number, block.parent_hash)
        accounts = store.accounts(head.number) if head else store.tree(store.scheme.empty_root)
        try:
            _apply(store, accounts, block.accounts)
        except InvalidInput as error:
            raise InvalidInput(f"block {block.number}: {error.name}", error.reason, error.value) from None
        added = StoredBlock(block.number, block.hash, accounts.root)
        store.save_block(added, final=final)
    return added


def import_genesis(
    store: Store, accounts: Iterable[AccountChange], *, block_hash: bytes | None = None, final: bool = False
) -> StoredBlock:
    """Import an allocation as block 0 of an empty store. The accounts must fit in memory, about 2 kB each.

    Parameters
    ----------
    store : empty ledger, open for writing.
    accounts : accounts in any order, each address once, such as the accounts that `parse_genesis` yields.
    block_hash : hash of the genesis block [32 bytes], or `None` if unknown.
    final : whether the block is final.

    Returns
    -------
    Block 0, with its state root.

    Raises
    ------
    InvalidInput : the store is not empty, an address occurs twice, or an address is not 20 bytes long.
    UnreadableFile : the disk is full or fails.

    >>> import tempfile
    >>> five = AccountChange(bytes(20), after=AccountFields(0, 5, EMPTY_KECCAK))
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/ledger.db") as store:
    ...     block = import_genesis(store, [five])
    ...     print(block.number, store.account(0, bytes(20)).balance)
    0 5
    """
    with _without_collector():
        block = import_block(store, BlockChanges(0, tuple(accounts), block_hash), final=final)
    store.database.one("PRAGMA wal_checkpoint(TRUNCATE)")  # empties the write-ahead log
    return block


@contextmanager
def _without_collector() -> Iterator[None]:
    """Keep Python from scanning many new objects, which have no cycles, again and again."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def check_successor(head: StoredBlock | None, number: int, parent_hash: bytes | None = None) -> None:
    """Raise `InvalidInput` unless a block with this number and parent hash follows the head."""
    expected = head.number + 1 if head else 0
    if number != expected:
        which = f"the successor of the head {head.number}" if head else "the genesis of an empty store"
        raise InvalidInput("block number", f"expected {expected}, {which}", number)
    if head and head.hash and parent_hash is not None and parent_hash != head.hash:
        reason = (
            f"expected {to_hex(head.hash)}, the hash of head {head.number} of the ledger (the chain was reorganised)"
        )
        raise InvalidInput("parentHash", reason, to_hex(parent_hash))


def _apply(store: Store, accounts: Tree, changes: Sequence[AccountChange]) -> None:
    _check_once("accounts", [change.address for change in changes])
    for change in changes:
        if len(change.address) != ADDRESS_SIZE:
            raise InvalidInput("address", f"expected {ADDRESS_SIZE} bytes", to_hex(change.address))
    hkeys = store.scheme.account_keys([change.address for change in changes])
    [leaves] = floors([(accounts, hkeys)])
    ordered = sorted(zip(hkeys, changes, strict=True))
    works = [_work(store.scheme, hkey, change, leaves[hkey][1]) for hkey, change in ordered]
    _apply_storage(store, [work for work in works if work.change.storage])
    store.update_trees([Change(accounts, _account_edits(store, works), leaves)])


def _work(scheme: Scheme, hkey: bytes, change: AccountChange, leaf: Leaf) -> _Work:
    """Check a change against its account's leaf or, for a new account, the leaf before."""
    value = leaf.value if leaf.hkey == hkey else b""
    stored = AccountLeaf.from_bytes(value) if value else None
    fields = AccountFields(stored.nonce, stored.balance, stored.keccak_code_hash) if stored else None
    if fields is None if change.same else change.before != fields:
        reason = f"expected the current fields of the account, {fields}"
        if change.same:
            reason = "expected an account that exists, to change its storage"
        raise InvalidInput(to_hex(change.address), reason, change.before)
    after = fields if change.same else change.after
    destroyed = stored is not None and (change.cleared or after is None)
    root = scheme.empty_root if stored is None or destroyed else stored.storage_root
    return _Work(hkey, change, value, stored, after, destroyed, root)


def _apply_storage(store: Store, works: Sequence[_Work]) -> None:
    """Check the slot values before the block, and update the storage trees; hashes are computed in batches."""
    scheme = store.scheme
    hashes = iter(scheme.word_hashes([change.slot for work in works for change in work.change.storage]))
    hkeys = [[*islice(hashes, len(work.change.storage))] for work in works]
    trees = [store.tree(work.stored.storage_root if work.stored else scheme.empty_root) for work in works]
    leaves = floors([*zip(trees, hkeys, strict=True)])
    values = [_checked_slots(*each) for each in zip(works, hkeys, leaves, strict=True)]
    words = [*{word for each in values for word in each.values()}]
    hvals: dict[bytes, bytes | None] = dict(zip(words, scheme.word_hashes(words), strict=True))
    hvals[bytes(WORD_SIZE)] = None
    changes = []
    for work, tree, each, found in zip(works, trees, values, leaves, strict=True):
        edits = [Edit(hkey, hvals[value], value) for hkey, value in sorted(each.items())]
        changes.append(Change(Tree(store.rows), edits) if work.destroyed else Change(tree, edits, found))
    store.update_trees(changes)
    for work, change in zip(works, changes, strict=True):
        work.storage_root = change.tree.root


def _checked_slots(work: _Work, hkeys: Sequence[bytes], leaves: Mapping[bytes, tuple[int, Leaf]]) -> dict[bytes, bytes]:
    """Check an account's slot values before the block; return the new values by hashed slot.

    An account that was destroyed starts with an empty tree, so each of its slots with a value changes.
    """
    storage = work.change.storage
    _check_once(f"{work.name} storage", [change.slot for change in storage])
    values: dict[bytes, bytes] = {}
    for hkey, (slot, before, after) in zip(hkeys, storage, strict=True):
        leaf = leaves[hkey][1]
        value = int.from_bytes(leaf.value) if leaf.hkey == hkey else 0
        if value != before:
            where = f"{work.name} slot {to_hex(slot)}"
            raise InvalidInput(where, f"expected the current value of the slot, {value:#x}", hex(before))
        if before != after or work.destroyed:
            values[hkey] = after.to_bytes(WORD_SIZE)
    if work.after is None and any(map(any, values.values())):
        reason = "expected only zeros, because the account does not exist"
        raise InvalidInput(f"{work.name} storage", reason, int.from_bytes(max(values.values())))
    return values if work.after is not None else {}


def _check_once(name: str, keys: Sequence[bytes]) -> None:
    for key, times in Counter(keys).items():
        if times > 1:
            raise InvalidInput(name, "expected each key only once", to_hex(key))


def _account_edits(store: Store, works: Sequence[_Work]) -> list[Edit]:
    """Return the edits of the account tree, after the storage trees have been updated."""
    values = [_account(store, work, work.after).to_bytes() if work.after else b"" for work in works]
    hvals = iter(account_hashes(store.scheme, [value for value in values if value]))
    edits = []
    for work, value in zip(works, values, strict=True):
        if work.destroyed:
            edits.append(Edit(work.hkey, None))
        if value:
            hval = next(hvals)
            if work.destroyed or work.value != value:
                edits.append(Edit(work.hkey, hval, value))
    return edits


def _account(store: Store, work: _Work, after: AccountFields) -> AccountLeaf:
    keccak, code = after.keccak_code_hash, work.change.code
    if code is not None and keccak256(code) != keccak:
        reason = f"expected code with the Keccak-256 hash {to_hex(keccak)}"
        raise InvalidInput(f"{work.name} code", reason, to_hex(keccak256(code)))
    if work.stored and work.stored.keccak_code_hash == keccak:
        code_hash, size = work.stored.code_hash, work.stored.code_size
    else:
        code = b"" if keccak == EMPTY_KECCAK else store.code(keccak) if code is None else code
        if code is None:
            reason = "expected the code with this hash in the changes or the ledger"
            raise InvalidInput(f"{work.name} code", reason, to_hex(keccak))
        code_hash, size = store.scheme.code_hash(code), len(code)
        if code:
            store.save_code(keccak, code)
    return AccountLeaf(after.nonce, after.balance, work.storage_root, code_hash, keccak, size)
