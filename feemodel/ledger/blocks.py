"""Blocks of state changes, and the import of these blocks into the store.

The resulting state roots are the same as on production nodes.

The changes of a block are the block's net effect on accounts and storage slots, with the values before the block.
Accounts are updated in the order of their hashed addresses, and the slots of an account in the order of their hashes. A
destroyed account loses its leaf; if the account is created again, it gets a new leaf and an empty storage tree. Each
block is imported in one database transaction.

`get_stored_blocks` reconstructs the changes by comparing the trees of consecutive blocks. Trees share all rows that do
not change, so that only subtrees with different row numbers are compared. Importing the reconstructed blocks into an
empty ledger gives the state roots of the original ledger.

Source: `ZkEvmWorldStateEntryPoint` and `ZKEvmWorldState` of Consensys/shomei at 3f47bed.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from feemodel.errors import InvalidInput
from feemodel.ethereum._hashes import keccak256
from feemodel.ethereum._quantities import WORD_SIZE, to_hex
from feemodel.ledger._rows import EMPTY, HEAD_KEY, TAIL_KEY, Leaf, stored_height
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


def get_stored_blocks(store: Store, first: int | None = None, last: int | None = None) -> Iterator[BlockChanges]:
    """Yield the blocks of a ledger, reconstructed from the ledger's trees.

    Parameters
    ----------
    first : first block; `None` means 0, or the block after the oldest block with state if the ledger was pruned.
    last : last block; `None` means the head.

    Raises `InvalidInput` for a range that is not in the store, and `LedgerDamaged` for missing rows.

    >>> import tempfile
    >>> from feemodel.ledger.blocks import GenesisAccount
    >>> from feemodel.ledger._genesis import import_genesis
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/ledger.db") as store:
    ...     block = import_genesis(store, [GenesisAccount(bytes(20), balance=5)])
    ...     [block] = get_stored_blocks(store)
    >>> block.number, block.accounts[0].after.balance
    (0, 5)
    """
    head = store.head
    if head is None:
        raise InvalidInput("store", "expected a store with a genesis block", str(store.path))
    minimum = store.oldest + 1 if store.oldest else 0
    first, last = minimum if first is None else first, head.number if last is None else last
    if not minimum <= first:
        raise InvalidInput("first block", f"expected at least {minimum}, the oldest block with known changes", first)
    if last > head.number:
        raise InvalidInput("last block", f"expected at most {head.number}, the head", last)
    for number in range(first, last + 1):
        yield _changes_between(store, store.block(number), store.block(number - 1) if number else None)


def _changes_between(store: Store, block: StoredBlock, parent: StoredBlock | None) -> BlockChanges:
    after = store.accounts(block.number)
    before = store.accounts(parent.number) if parent else store.tree(store.scheme.empty_root)
    old, new = _unlike_leaves(before, after)
    changes = (_account_change(store, address, old.get(address), new.get(address)) for address in sorted(old | new))
    accounts = tuple(change for change in changes if change is not None)
    return BlockChanges(block.number, accounts, block.hash, parent.hash if parent else None)


def _account_change(
    store: Store, address: bytes, old: tuple[int, Leaf] | None, new: tuple[int, Leaf] | None
) -> AccountChange | None:
    """Return the change of an account, or `None` if only the links of the account's leaf changed."""
    before = AccountLeaf.from_bytes(old[1].value) if old else None
    after = AccountLeaf.from_bytes(new[1].value) if new else None
    # the account was destroyed, and recreated with a new leaf
    cleared = old is not None and new is not None and old[0] != new[0]
    if before == after and not cleared:
        return None
    empty = store.scheme.empty_root
    roots = [account.storage_root if account else empty for account in (before, after)]
    old_slots, new_slots = _unlike_leaves(*map(store.storage, roots), whole=cleared)
    storage = []
    for slot in sorted(old_slots | new_slots):
        values = [int.from_bytes(side[slot][1].value) if slot in side else 0 for side in (old_slots, new_slots)]
        if values[0] != values[1] or cleared:
            storage.append(SlotChange(slot, *values))
    code = None
    if after is not None and after.keccak_code_hash not in (EMPTY_KECCAK, before and before.keccak_code_hash):
        code = store.code(after.keccak_code_hash)
    return AccountChange(
        address, AccountFields.of(before), AccountFields.of(after), False, cleared, code, tuple(storage)
    )


def _unlike_leaves(
    before: Tree, after: Tree, *, whole: bool = False
) -> tuple[dict[bytes, tuple[int, Leaf]], dict[bytes, tuple[int, Leaf]]]:
    """Return the leaves that differ between two trees, with their indices, by address or slot.

    If `whole` is true, return all leaves of the trees `before` and `after`.
    """
    old: dict[int, int] = {}  # at one height of a tree: position of a node from the left → its row number
    new: dict[int, int] = {}
    tops = [(stored_height(tree.next_free), tree.version.node) for tree in (before, after)]
    for height in range(max(tops)[0], 0, -1):
        for side, (top, number) in zip((old, new), tops, strict=True):
            if top == height:
                side[0] = number
        if not whole:
            old, new = _unlike(old, new), _unlike(new, old)
        old, new = _children(before, old), _children(after, new)
    if not whole:
        old, new = _unlike(old, new), _unlike(new, old)
    return _named(before, old), _named(after, new)


def _unlike(side: dict[int, int], other: dict[int, int]) -> dict[int, int]:
    return {index: number for index, number in side.items() if other.get(index) != number}


def _children(tree: Tree, numbers: dict[int, int]) -> dict[int, int]:
    nodes = tree.rows.nodes.many(list(numbers.values()))
    children = {
        2 * index + side: number
        for index, node in zip(numbers, nodes, strict=True)
        for side, number in enumerate((node.left, node.right))
    }
    return {index: number for index, number in children.items() if number != EMPTY}


def _named(tree: Tree, numbers: dict[int, int]) -> dict[bytes, tuple[int, Leaf]]:
    leaves = tree.rows.leaves.many(list(numbers.values()))
    found = [(index, leaf) for index, leaf in zip(numbers, leaves, strict=True) if leaf.key not in (HEAD_KEY, TAIL_KEY)]
    keys = tree.rows.keys.many([leaf.key for _, leaf in found])
    return {key.name: entry for key, entry in zip(keys, found, strict=True)}
