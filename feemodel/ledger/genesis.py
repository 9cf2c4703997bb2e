"""The genesis allocation applied to an empty store: one transaction, all accounts in the order of their hashes.

The account tree is loaded in bulk from its keys in ascending order. Nothing is looked up: a leaf's neighbours are the
leaves before and after it, a level's hashes in a row are the messages of the level above, and the sorted index follows
from where neighbouring keys begin to differ.
"""

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from feemodel.errors import InvalidInput
from feemodel.ethereum.hashes import keccak256
from feemodel.ethereum.quantities import WORD_SIZE, to_hex
from feemodel.ledger.account import EMPTY_KECCAK, Account, account_hashes, plain_suffix
from feemodel.ledger.blocks import GenesisAccount, check_successor, set_slots, word_hashes
from feemodel.ledger.files import parse_genesis
from feemodel.ledger.index import DIGITS
from feemodel.ledger.rows import EMPTY, HEAD_KEY, TAIL_KEY, Key, Leaf, Node, Rows, Version, empty_version, stored_height
from feemodel.ledger.scheme import DEPTH, FIRST_FREE, HASH_SIZE, HEAD, NOTHING, TAIL, Scheme
from feemodel.ledger.store import Block, Store
from feemodel.ledger.tree import Tree

SUBTREE_LEVELS = 5  # each such subtree is stored contiguously, so that a Merkle path reads one page per subtree
CHUNK = 8_192  # rows that are made and stored together


class Item(NamedTuple):
    """A key to load: its hash, the hash of its value, the value, what the key is the hash of."""

    hkey: bytes
    hval: bytes
    value: bytes
    name: bytes


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


def fill(rows: Rows, scheme: Scheme, chunks: Iterable[Sequence[Item]], count: int) -> Version:
    """Store a tree of `count` items, which come in chunks and in ascending order of their hkeys.

    Nothing else may be added to the rows while the chunks are made: the tree numbers its rows without a gap.
    """
    if not count:
        return empty_version(scheme)
    last = FIRST_FREE + count - 1
    ends = [Leaf(HEAD_KEY, HEAD, FIRST_FREE, NOTHING, NOTHING), Leaf(TAIL_KEY, last, TAIL, NOTHING, NOTHING)]
    first_leaf = rows.leaves.extend(ends)
    level = bytearray(_leaf_hashes(scheme, ends, (NOTHING, scheme.tail_key)))
    joined = bytearray()
    first_key = 0
    for items in chunks:
        hkeys, hvals, values, names = zip(*items, strict=True)
        index = len(level) // HASH_SIZE
        indices = range(index, index + len(items))
        number = rows.keys.extend(map(Key._make, zip(indices, hkeys, names, strict=True)))
        first_key = first_key or number
        previous, following = ([leaf + step for leaf in indices] for step in (-1, 1))
        if index == FIRST_FREE:
            previous[0] = HEAD
        if following[-1] > last:
            following[-1] = TAIL
        numbers = range(number, number + len(items))
        leaves = list(map(Leaf._make, zip(numbers, previous, following, hvals, values, strict=True)))
        rows.leaves.extend(leaves)
        level += _leaf_hashes(scheme, leaves, hkeys)
        joined += b"".join(hkeys)
    node, sub_root = _fill_nodes(rows, scheme, bytes(level), first_leaf)
    branch = _fill_index(rows, np.frombuffer(joined, dtype=np.uint8).reshape(-1, HASH_SIZE), first_key)
    next_free = last + 1
    return Version(scheme.digest(scheme.top(next_free, sub_root)), next_free, sub_root, node, branch)


def _leaf_hashes(scheme: Scheme, leaves: Sequence[Leaf], hkeys: Iterable[bytes]) -> bytes:
    _, previous, following, hvals, _ = zip(*leaves, strict=True)
    return scheme.digests(scheme.leaves(zip(previous, following, hkeys, hvals, strict=True)), scheme.leaf_size)


def _fill_nodes(rows: Rows, scheme: Scheme, level: bytes, first: int) -> tuple[int, bytes]:
    """The number of the highest stored node and the sub root, from the leaves' hashes and the number of the first."""
    numbers = first + np.arange(len(level) // HASH_SIZE)
    top = stored_height(len(numbers))
    for bottom in range(0, top, SUBTREE_LEVELS):
        subtrees = []
        for zero in scheme.zeros[bottom : min(bottom + SUBTREE_LEVELS, top)]:
            if len(level) // HASH_SIZE % 2:
                level += zero
            subtrees.append(np.frombuffer(level, dtype=np.uint8).reshape(-1, 2 * HASH_SIZE))
            level = scheme.digests(level, 2 * HASH_SIZE)
        numbers = _fill_subtrees(rows, subtrees, numbers)
    (sub_root,) = scheme.path_roots([level], [scheme.zeros[top:DEPTH]], [HEAD])
    return int(numbers[0]), sub_root


def _fill_subtrees(rows: Rows, subtrees: Sequence[NDArray[np.uint8]], below: NDArray[np.int64]) -> NDArray[np.int64]:
    """Store some levels, the nodes below each of the highest together, from the top; the numbers of the highest.

    Parameters
    ----------
    subtrees : [nodes, 64] of each level from the lowest, the two hashes of each node.
    below : numbers of the level under them.
    """
    height = np.repeat(np.arange(len(subtrees)), [len(level) for level in subtrees])
    subtree = np.concatenate(
        [np.arange(len(level)) >> len(subtrees) - 1 - place for place, level in enumerate(subtrees)]
    )
    order = np.lexsort((-height, subtree))
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = rows.nodes.extend([]) + np.arange(len(order))
    levels: list[NDArray[np.int64]] = [numbers[height == place] for place in range(len(subtrees))]
    children = np.concatenate([_in_pairs(level) for level in (below, *levels[:-1])])
    hashes = np.concatenate(subtrees)
    for start in range(0, len(order), CHUNK):
        chosen = order[start : start + CHUNK]
        left, right = children[chosen].T.tolist()
        data = hashes[chosen].tobytes()
        pieces = [data[place : place + 2 * HASH_SIZE] for place in range(0, len(data), 2 * HASH_SIZE)]
        rows.nodes.extend(map(Node._make, zip(left, right, pieces, strict=True)))
    return levels[-1]


def _in_pairs(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Two by two; nothing beside the last of an odd number."""
    pairs = np.full((-(-len(numbers) // 2), 2), EMPTY)
    pairs.flat[: len(numbers)] = numbers
    return pairs


def _fill_index(rows: Rows, hkeys: NDArray[np.uint8], first_key: int) -> int:
    """The sorted index of ascending keys [n, 32], digit by digit; the number of its top branch.

    The branches of one depth are stored together, so a branch's number is known before it is stored: the ones of the
    next depth follow.
    """
    top = number = rows.branches.extend([])
    keys = np.arange(len(hkeys))
    branch = np.zeros(len(hkeys), dtype=np.int64)  # of each key, counted within the depth
    depth = 0
    while len(keys):
        digit = hkeys[keys, depth // 2] >> (0 if depth % 2 else 4) & 15
        place = branch * DIGITS + digit
        starts = np.flatnonzero(np.diff(place, prepend=-1))
        sizes = np.diff(starts, append=len(place))
        shared = sizes > 1
        number += int(branch[-1]) + 1
        children = np.zeros((int(branch[-1]) + 1) * DIGITS, dtype=np.int64)
        children[place[starts]] = np.where(shared, number + np.cumsum(shared) - 1, -(first_key + keys[starts]))
        rows.branches.extend(map(tuple, children.reshape(-1, DIGITS).tolist()))
        stay = np.repeat(shared, sizes)
        branch = np.repeat(np.cumsum(shared) - 1, sizes)[stay]
        keys = keys[stay]
        depth += 1
    return top
