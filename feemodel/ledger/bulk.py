"""A whole tree at once from keys in ascending order, as the genesis of a chain has them.

Nothing is looked up: a leaf's neighbours are the leaves beside it, a level's hashes in a row are the messages of the
level above, and the sorted index falls out of where neighbouring keys begin to differ.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feemodel.ledger.index import DIGITS
from feemodel.ledger.rehash import crown
from feemodel.ledger.rows import EMPTY, HEAD_KEY, TAIL_KEY, Key, Leaf, Node, Rows, Version, empty_version
from feemodel.ledger.scheme import DEPTH, FIRST_FREE, HASH_SIZE, HEAD, NOTHING, TAIL, Scheme


class Item(NamedTuple):
    """A key of the tree to be: its hash, the hash of its value, the value, what the key is the hash of."""

    hkey: bytes
    hval: bytes
    value: bytes
    name: bytes


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
    hkeys = bytearray()
    first_key = 0
    for items in chunks:
        index = len(level) // HASH_SIZE
        number = rows.keys.extend(Key(leaf, item.hkey, item.name) for leaf, item in enumerate(items, index))
        first_key = first_key or number
        leaves = [
            Leaf(number + place, leaf - 1 if leaf > FIRST_FREE else HEAD, leaf + 1 if leaf < last else TAIL, *item[1:3])
            for place, (leaf, item) in enumerate(zip(range(index, index + len(items)), items, strict=True))
        ]
        rows.leaves.extend(leaves)
        level += _leaf_hashes(scheme, leaves, (item.hkey for item in items))
        hkeys += b"".join(item.hkey for item in items)
    node, sub_root = _fill_nodes(rows, scheme, bytes(level), first_leaf)
    branch = _fill_index(rows, np.frombuffer(hkeys, dtype=np.uint8).reshape(-1, HASH_SIZE), first_key)
    next_free = last + 1
    return Version(scheme.digest(scheme.top(next_free, sub_root)), next_free, sub_root, node, branch)


def _leaf_hashes(scheme: Scheme, leaves: Sequence[Leaf], hkeys: Iterable[bytes]) -> bytes:
    shown = ((leaf.previous, leaf.following, hkey, leaf.hval) for leaf, hkey in zip(leaves, hkeys, strict=True))
    return scheme.digests(scheme.leaves(shown), scheme.leaf_size)


def _fill_nodes(rows: Rows, scheme: Scheme, level: bytes, first: int) -> tuple[int, bytes]:
    """The number of the node at the crown and the sub root, from the leaves' hashes and the number of the first."""
    top = crown(len(level) // HASH_SIZE)
    for zero in scheme.zeros[:top]:
        count = len(level) // HASH_SIZE
        if count % 2:
            level += zero
        first = rows.nodes.extend(_parents(level, first, count))
        level = scheme.digests(level, 2 * HASH_SIZE)
    for zero in scheme.zeros[top:DEPTH]:
        level = scheme.node(level, zero)
    return first, level


def _parents(level: bytes, first: int, count: int) -> Iterator[Node]:
    for left in range(0, count, 2):
        right = first + left + 1 if left + 1 < count else EMPTY
        yield Node(first + left, right, level[left * HASH_SIZE : (left + 2) * HASH_SIZE])


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
