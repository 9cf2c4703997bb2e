"""Blocks of state changes, and the import of these blocks into the store.

The resulting state roots are the same as on production nodes.

The changes of a block are the block's net effect on accounts and storage slots, with the values before the block.
Accounts are updated in the order of their hashed addresses, and the slots of an account in the order of their hashes. A
destroyed account loses its leaf; if the account is created again, it gets a new leaf and an empty storage tree. Each
block is imported in one database transaction.

Source: `ZkEvmWorldStateEntryPoint` and `ZKEvmWorldState` of Consensys/shomei at 3f47bed.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from feemodel.errors import InvalidInput
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._quantities import WORD_SIZE, to_hex
from feemodel.ledger._scheme import EMPTY_KECCAK, AccountLeaf, Scheme, account_hashes
from feemodel.ledger._store import Store, StoredBlock
from feemodel.ledger._tree import Tree, proven


class AccountFields(NamedTuple):
    """Fields of an account in a state change: nonce, balance [wei] and Keccak-256 of the code."""

    nonce: int
    balance: int
    keccak_code_hash: bytes

    @classmethod
    def of(cls, account: AccountLeaf | None) -> "AccountFields | None":
        """Return the fields of an account in the ledger, or `None` if the account does not exist."""
        return cls(account.nonce, account.balance, account.keccak_code_hash) if account else None


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


class GenesisAccount(NamedTuple):
    """Account of the genesis allocation: nonce, balance [wei], code, and the values of the storage slots [32 bytes]."""

    address: bytes
    nonce: int = 0
    balance: int = 0
    code: bytes = b""
    storage: Mapping[bytes, int] = MappingProxyType({})


@dataclass(slots=True)
class _Work:
    """Account that a block changes: hashed key, change, account before and after the block, and new storage tree."""

    hkey: bytes
    change: AccountChange
    stored: AccountLeaf | None
    after: AccountFields | None
    storage: Tree | None = None

    @property
    def destroyed(self) -> bool:
        """Whether the account's leaf is removed from the account tree."""
        return self.stored is not None and (self.change.cleared or self.after is None)


def import_block(store: Store, block: BlockChanges) -> StoredBlock:
    """Import a block into the store, and make the block the head.

    Parameters
    ----------
    store : ledger, open for writing.
    block : block that follows the head; block 0 in an empty store.

    Returns
    -------
    The stored block, with its state root.

    Raises
    ------
    InvalidInput : the block does not follow the head, or the values before the block do not match the state. If
        `InvalidInput` is raised, the store is unchanged.
    LedgerDamaged : stored rows contradict their hashes.
    UnreadableFile : the disk fails or is full, or another process keeps writing.

    >>> import tempfile
    >>> five = AccountChange(bytes(20), before=None, after=AccountFields(0, 5, EMPTY_KECCAK))
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/ledger.db") as store:
    ...     block = import_block(store, BlockChanges(0, (five,)))
    ...     print(block.number, store.account(0, bytes(20)).balance)
    0 5
    """
    with store.transaction():
        head = store.head
        check_successor(head, block.number, block.parent_hash)
        accounts = store.accounts(head.number) if head else store.tree(store.scheme.empty_root)
        try:
            _apply(store, accounts, block.accounts)
        except InvalidInput as error:
            raise InvalidInput(f"block {block.number}: {error.name}", error.reason, error.value) from None
        added = StoredBlock(block.number, block.hash, accounts.root)
        store.save_block(added)
    return added


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


def word_hashes(scheme: Scheme, words: Iterable[bytes]) -> dict[bytes, bytes]:
    """Return the hashes of slots and of slot values, computed in one batch."""
    distinct = list(dict.fromkeys(words))
    return dict(zip(distinct, scheme.word_hashes(distinct), strict=True))


def set_slots(tree: Tree, values: Mapping[bytes, int], hashes: Mapping[bytes, bytes]) -> None:
    """Write slots into a storage tree in the order of their hashes; a value of 0 removes the slot."""
    for slot in sorted(values, key=hashes.__getitem__):
        value = values[slot].to_bytes(WORD_SIZE)
        if values[slot]:
            tree.put(hashes[slot], hashes[value], value, slot)
        elif hashes[slot] in tree:
            tree.remove(hashes[slot])


def _apply(store: Store, accounts: Tree, changes: Sequence[AccountChange]) -> None:
    works = _works(store.scheme, accounts, changes)
    slots = [change for work in works for change in work.change.storage]
    hashes = word_hashes(store.scheme, [word for slot, _, after in slots for word in (slot, after.to_bytes(WORD_SIZE))])
    for work in works:
        if work.change.storage:
            _apply_storage(store, work, hashes)
    store.save_trees([work.storage for work in works if work.storage])
    _apply_accounts(store, accounts, works)
    store.save_trees([accounts])


def _works(scheme: Scheme, accounts: Tree, changes: Sequence[AccountChange]) -> list[_Work]:
    """Check each change against the account tree; return the changed accounts, sorted by hashed address."""
    _check_once("accounts", [change.address for change in changes])
    hkeys = scheme.account_keys([change.address for change in changes])
    leaves = accounts.get_many(hkeys)
    works = []
    for hkey, change in sorted(zip(hkeys, changes, strict=True)):
        leaf = leaves.get(hkey)
        stored = AccountLeaf.from_bytes(leaf.value) if leaf else None
        fields = AccountFields.of(stored)
        if fields is None if change.same else change.before != fields:
            proven(accounts, [hkey])  # raises an error if the ledger is corrupt
            reason = f"expected the current fields of the account, {fields}"
            if change.same:
                reason = "expected an account that exists, to change its storage"
            raise InvalidInput(to_hex(change.address), reason, change.before)
        works.append(_Work(hkey, change, stored, fields if change.same else change.after))
    return works


def _apply_storage(store: Store, work: _Work, hashes: Mapping[bytes, bytes]) -> None:
    """Update an account's storage tree; an account that was destroyed starts with an empty tree."""
    name, scheme = to_hex(work.change.address), store.scheme
    stands = store.storage(work.stored.storage_root if work.stored else scheme.empty_root)
    _check_once(f"{name} storage", [slot for slot, *_ in work.change.storage])
    values: dict[bytes, int] = {}
    leaves = stands.get_many(hashes[slot] for slot, *_ in work.change.storage)
    for slot, before, after in work.change.storage:
        leaf = leaves.get(hashes[slot])
        value = int.from_bytes(leaf.value) if leaf else 0
        if value != before:
            proven(stands, [hashes[slot]])  # raises an error if the ledger is corrupt
            where = f"{name} slot {to_hex(slot)}"
            raise InvalidInput(where, f"expected the current value of the slot, {value:#x}", hex(before))
        if before != after or work.destroyed:
            values[slot] = after
    if work.after is None:
        if any(values.values()):
            raise InvalidInput(
                f"{name} storage", "expected only zeros, because the account does not exist", max(values.values())
            )
        return
    work.storage = store.tree(scheme.empty_root) if work.destroyed else stands
    set_slots(work.storage, values, hashes)


def _check_once(name: str, keys: Sequence[bytes]) -> None:
    for key, times in Counter(keys).items():
        if times > 1:
            raise InvalidInput(name, "expected each key only once", to_hex(key))


def _apply_accounts(store: Store, accounts: Tree, works: Sequence[_Work]) -> None:
    """Update the leaves of the account tree, after the storage trees have been updated."""
    values = [_account(store, work, work.after).to_bytes() for work in works if work.after]
    hvals = iter(account_hashes(store.scheme, values))
    following = iter(values)
    for work in works:
        if work.destroyed:
            accounts.remove(work.hkey)
        if work.after is not None:
            value, hval = next(following), next(hvals)
            if work.destroyed or work.stored is None or work.stored.to_bytes() != value:
                accounts.put(work.hkey, hval, value, work.change.address)


def _account(store: Store, work: _Work, after: AccountFields) -> AccountLeaf:
    kept = None if work.destroyed else work.stored
    if work.storage is not None:
        storage_root = work.storage.root
    else:
        storage_root = kept.storage_root if kept else store.scheme.empty_root
    code_hash, code_size = _code(store, work, after)
    return AccountLeaf(after.nonce, after.balance, storage_root, code_hash, after.keccak_code_hash, code_size)


def _code(store: Store, work: _Work, after: AccountFields) -> tuple[bytes, int]:
    """Return the hash and size of an account's code, taken from the block, the old account or the store."""
    keccak, code = after.keccak_code_hash, work.change.code
    if code is not None and keccak256(code) != keccak:
        name = f"{to_hex(work.change.address)} code"
        raise InvalidInput(name, f"expected code with the Keccak-256 hash {to_hex(keccak)}", to_hex(keccak256(code)))
    if keccak == EMPTY_KECCAK:
        return store.scheme.empty_code_hash, 0
    if work.stored and work.stored.keccak_code_hash == keccak:
        return work.stored.code_hash, work.stored.code_size
    if code is None:
        code = store.code(keccak)
    if code is None:
        raise InvalidInput(
            f"{to_hex(work.change.address)} code",
            "expected the code with this hash in the changes or the ledger",
            to_hex(keccak),
        )
    store.save_code(keccak, code)
    return store.scheme.code_hash(code), len(code)
