"""A ledger copied while it may be written, or told as its blocks' net state changes.

The changes are found by comparing the trees of neighbouring blocks. Blocks share every row that does not change,
so the comparison descends only where the numbers of two rows differ. What it finds, imported into an empty ledger,
gives the same roots.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.ledger.account import EMPTY_KECCAK, Account
from feemodel.ledger.blocks import AccountChange, AccountFields, BlockChanges, SlotChange
from feemodel.ledger.rows import EMPTY, HEAD_KEY, TAIL_KEY, Leaf, stored_height
from feemodel.ledger.store import Block, Store
from feemodel.ledger.tree import Tree


def back_up(store: Store, path: str | Path) -> Block | None:
    """Copy a ledger as it is at one moment into a new file; the head of the copy.

    Another process may import blocks meanwhile. The copy appears under its name when all of it is on disk, or not at
    all; it is one file, without a write-ahead log.

    Raises `InvalidInput` where the file exists or its folder cannot be written, `UnreadableFile` where the disk fails.

    >>> import tempfile
    >>> from feemodel.ledger.genesis import import_genesis
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
            store.database.run("VACUUM INTO ?", (str(part),))  # all that is committed now
        with Store(part, read_only=True) as copy:
            head = copy.head
        with part.open("rb") as file:
            os.fsync(file.fileno())
        try:
            os.link(part, target)  # which fails where the file exists
        except FileExistsError:
            raise InvalidInput("out", "exists already", str(target)) from None
        except OSError as error:
            raise UnreadableFile(f"{target}: {error.strerror}") from None
    return head


def get_stored_blocks(store: Store, first: int | None = None, last: int | None = None) -> Iterator[BlockChanges]:
    """The blocks that a ledger holds, from its trees.

    Parameters
    ----------
    first : the first block; of a ledger that was not pruned block 0, else the one after the oldest whose state is held.
    last : the last block, the head unless given.

    Raises `InvalidInput` for a range that the store does not hold, `LedgerDamaged` for rows that are missing.

    >>> import tempfile
    >>> from feemodel.ledger.blocks import GenesisAccount
    >>> from feemodel.ledger.genesis import import_genesis
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/ledger.db") as store:
    ...     block = import_genesis(store, [GenesisAccount(bytes(20), balance=5)])
    ...     [block] = get_stored_blocks(store)
    >>> block.number, block.accounts[0].after.balance
    (0, 5)
    """
    head = store.head
    if head is None:
        raise InvalidInput("store", "expected one that holds its genesis", str(store.path))
    least = store.oldest + 1 if store.oldest else 0
    first, last = least if first is None else first, head.number if last is None else last
    if not least <= first:
        raise InvalidInput("first block", f"expected at least {least}: the state before it was pruned", first)
    if last > head.number:
        raise InvalidInput("last block", f"expected at most {head.number}, the head", last)
    for number in range(first, last + 1):
        yield _block(store, store.block(number), store.block(number - 1) if number else None)


def _block(store: Store, block: Block, parent: Block | None) -> BlockChanges:
    after = store.accounts(block.number)
    before = store.accounts(parent.number) if parent else store.tree(store.scheme.empty_root)
    old, new = _changed(before, after)
    changes = (_account(store, address, old.get(address), new.get(address)) for address in sorted(old | new))
    accounts = tuple(change for change in changes if change is not None)
    return BlockChanges(block.number, accounts, block.hash, parent.hash if parent else None)


def _account(
    store: Store, address: bytes, old: tuple[int, Leaf] | None, new: tuple[int, Leaf] | None
) -> AccountChange | None:
    """How an account changed, `None` where only the links of its leaf did."""
    before = Account.from_bytes(old[1].value) if old else None
    after = Account.from_bytes(new[1].value) if new else None
    cleared = old is not None and new is not None and old[0] != new[0]  # it exists again, with a new leaf
    if before == after and not cleared:
        return None
    empty = store.scheme.empty_root
    roots = [account.storage_root if account else empty for account in (before, after)]
    old_slots, new_slots = _changed(*map(store.storage, roots), whole=cleared)
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


def _changed(
    before: Tree, after: Tree, *, whole: bool = False
) -> tuple[dict[bytes, tuple[int, Leaf]], dict[bytes, tuple[int, Leaf]]]:
    """The leaves in which two trees differ, by the names of their keys, with their indices; all of them if `whole`."""
    old: dict[int, int] = {}  # the numbers of the rows at one height, by their places from the left
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
    return {place: number for place, number in side.items() if other.get(place) != number}


def _children(tree: Tree, numbers: dict[int, int]) -> dict[int, int]:
    nodes = tree.rows.nodes.many(list(numbers.values()))
    children = {
        2 * place + side: number
        for place, node in zip(numbers, nodes, strict=True)
        for side, number in enumerate((node.left, node.right))
    }
    return {place: number for place, number in children.items() if number != EMPTY}


def _named(tree: Tree, numbers: dict[int, int]) -> dict[bytes, tuple[int, Leaf]]:
    leaves = tree.rows.leaves.many(list(numbers.values()))
    found = [(index, leaf) for index, leaf in zip(numbers, leaves, strict=True) if leaf.key not in (HEAD_KEY, TAIL_KEY)]
    keys = tree.rows.keys.many([leaf.key for _, leaf in found])
    return {key.name: entry for key, entry in zip(keys, found, strict=True)}
