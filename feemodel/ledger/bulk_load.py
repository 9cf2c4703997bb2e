"""A tree stored at once from its keys in ascending order.

Nothing is looked up: a leaf's neighbours are the leaves before and after it, a level's hashes in a row are the messages
of the level above, and the sorted index follows from where neighbouring keys begin to differ.

Keys come in chunks, and each five-level subtree is stored as soon as its leaves are there. What stays in memory is the
hash and the number of every 32nd node, about a byte a leaf. The keys wait in a temporary file for the index.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from feemodel.errors import UnreadableFile
from feemodel.ledger.index import DIGITS
from feemodel.ledger.rows import EMPTY, HEAD_KEY, TAIL_KEY, Key, Leaf, Node, Version, empty_version, stored_height
from feemodel.ledger.scheme import DEPTH, FIRST_FREE, HASH_SIZE, HEAD, NOTHING, TAIL, Scheme, cut, side_by_side
from feemodel.ledger.sql_rows import SqlRows

SUBTREE_LEVELS = 5  # each such subtree is stored contiguously, so that a Merkle path reads one page per subtree
CHUNK = 32_768  # rows that are made and stored together
KEYS_READ = 65_536  # together, for the index
Bytes = NDArray[np.uint8]
Numbers = NDArray[np.int64]


class Spool:
    """Rows of one width in a temporary file without a name, which the system removes with the process.

    Parameters
    ----------
    width : [bytes] of a row.
    folder : where the file is; the system's folder for temporary files unless given.

    Raises `UnreadableFile` where the disk is full or fails.

    >>> with Spool(2) as spool:
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

    def __enter__(self) -> "Spool":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __len__(self) -> int:
        return self._count

    def append(self, rows: Bytes) -> None:
        """Add rows [n, width]."""
        try:
            self._file.write(np.ascontiguousarray(rows).data)
            self._file.flush()
        except OSError as error:
            raise self._named(error) from None
        self._count += len(rows)

    def rows(self, start: int, stop: int) -> Bytes:
        """The rows from one place to another [n, width]."""
        try:
            data = os.pread(self._file.fileno(), (stop - start) * self._width, start * self._width)
        except OSError as error:
            raise self._named(error) from None
        return np.frombuffer(data, dtype=np.uint8).reshape(-1, self._width)

    def _named(self, error: OSError) -> UnreadableFile:
        where = self._folder or "the folder of temporary files"
        return UnreadableFile(f"{where}: no temporary file for the import ({(error.strerror or str(error)).lower()})")


class Chunk(NamedTuple):
    """Keys to load, in ascending order.

    Parameters
    ----------
    hkeys, hvals : [n, 32] the hashes of the keys and of their values.
    values, names : of each key the value, and what the key is the hash of.
    """

    hkeys: Bytes
    hvals: Bytes
    values: Sequence[bytes]
    names: Sequence[bytes]


def fill(rows: SqlRows, scheme: Scheme, chunks: Iterable[Chunk], count: int, folder: Path | None = None) -> Version:
    """Store a tree of `count` keys, which come in chunks and in ascending order.

    Nothing else may be added to the rows while the chunks are made: the tree numbers its rows without a gap.

    Raises `UnreadableFile` where the folder of the temporary file has no room.
    """
    if not count:
        return empty_version(scheme)
    last = FIRST_FREE + count - 1
    ends = [Leaf(HEAD_KEY, HEAD, FIRST_FREE, NOTHING, NOTHING), Leaf(TAIL_KEY, last, TAIL, NOTHING, NOTHING)]
    nodes = _Nodes(rows, scheme, rows.leaves.extend(ends), last + 1)
    shown = [(HEAD, FIRST_FREE, NOTHING, NOTHING), (last, TAIL, scheme.tail_key, NOTHING)]
    nodes.add(scheme.digests(scheme.leaves(shown), scheme.leaf_size))
    first_key = 0
    with Spool(HASH_SIZE + 1, folder) as keys:
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


def _add_leaves(rows: SqlRows, scheme: Scheme, chunk: Chunk, index: int, last: int) -> bytes:
    """Store the keys and the leaves of a chunk, the first of which has that index; the leaves' hashes."""
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


class _Nodes:
    """The nodes above leaves whose hashes come one after the other.

    Parameters
    ----------
    first : the number of the first leaf.
    count : of the leaves.
    """

    def __init__(self, rows: SqlRows, scheme: Scheme, first: int, count: int) -> None:
        self._rows, self._scheme, self._height = rows, scheme, stored_height(count)
        self._lowest = scheme.zeros[: min(SUBTREE_LEVELS, self._height)]
        self._waiting, self._number = bytearray(), first  # of leaves, and the number of the first of them
        self._hashes = bytearray()  # of the highest nodes of the lowest subtrees
        self._numbers: list[Numbers] = []

    def add(self, hashes: bytes) -> None:
        """Take the hashes of the next leaves; store the subtrees that are whole."""
        self._waiting += hashes
        subtree = HASH_SIZE << len(self._lowest)
        self._store(len(self._waiting) // subtree * subtree)

    def top(self) -> tuple[int, bytes]:
        """Store the rest; the number of the highest stored node and the sub root."""
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
    """Store some levels, the nodes below each of the highest together, from the top; hashes and numbers of the highest.

    Parameters
    ----------
    hashes, below : hashes and numbers of the level under them.
    zeros : the hash of an empty subtree at that level and at each that is stored but the highest.
    """
    levels = []
    for zero in zeros:
        if len(hashes) // HASH_SIZE % 2:
            hashes += zero
        levels.append(np.frombuffer(hashes, dtype=np.uint8).reshape(-1, 2 * HASH_SIZE))
        hashes = scheme.digests(hashes, 2 * HASH_SIZE)
    height = np.repeat(np.arange(len(levels)), [len(level) for level in levels])
    subtree = np.concatenate([np.arange(len(level)) >> len(levels) - 1 - place for place, level in enumerate(levels)])
    order = np.lexsort((-height, subtree))
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = rows.nodes.extend([]) + np.arange(len(order))
    of_level = [numbers[height == place] for place in range(len(levels))]
    children = np.concatenate([_in_pairs(level) for level in (below, *of_level[:-1])])
    pairs = np.concatenate(levels)
    for start in range(0, len(order), CHUNK):
        chosen = order[start : start + CHUNK]
        left, right = children[chosen].T.tolist()
        rows.nodes.extend(map(Node._make, zip(left, right, cut(pairs[chosen]), strict=True)))
    return hashes, of_level[-1]


def _in_pairs(numbers: Numbers) -> Numbers:
    """Two by two; nothing beside the last of an odd number."""
    pairs = np.full((-(-len(numbers) // 2), 2), EMPTY)
    pairs.flat[: len(numbers)] = numbers
    return pairs


def _digits_shared(hkeys: Bytes, before: Bytes | None) -> Bytes:
    """How many first digits each of ascending keys [n, 32] has in common with the one before it, 0 of the first."""
    preceding = np.concatenate((hkeys[:1] ^ 0x80 if before is None else before[None], hkeys[:-1]))
    differs = hkeys ^ preceding
    byte = (differs != 0).argmax(axis=1)
    shared = 2 * byte + (differs[np.arange(len(byte)), byte] < DIGITS)
    result: Bytes = shared.astype(np.uint8)
    return result


def _fill_index(rows: SqlRows, keys: Spool, first_key: int) -> int:
    """The sorted index of ascending keys, digit by digit; the number of its top branch.

    The branches of one depth are stored together, so a branch's number is known before it is stored: the ones of the
    next depth follow. Each depth reads the keys once.

    Parameters
    ----------
    keys : of each key its hash, and how many first digits it has in common with the one before it.
    first_key : the number of the first.
    """
    top = following = rows.branches.extend([])
    branches, depth = 1, 0
    while branches:
        following += branches
        branches = _fill_depth(rows, keys, first_key, depth, following)
        depth += 1
    return top


def _fill_depth(rows: SqlRows, keys: Spool, first_key: int, depth: int, following: int) -> int:
    """Store the branches of one depth; how many the next depth has, the first of them with the number `following`."""
    deeper, started = 0, 0  # branches of the next depth, and of this one
    places = children = np.zeros(0, dtype=np.int64)  # of the branch that may go on in the next part
    for start in range(0, len(keys), KEYS_READ):
        part = keys.rows(start, min(start + KEYS_READ + 1, len(keys)))
        shared = part[:, HASH_SIZE]
        with_next = np.append(shared[1:], 0)[:KEYS_READ]
        shared = shared[:KEYS_READ]
        # A key is in a branch of this depth where it shares so many digits with a neighbour; it is the first at its
        # place where it shares no more with the one before it.
        firsts = np.flatnonzero(((shared >= depth) | (with_next >= depth)) & (shared <= depth))
        digits = part[firsts, depth // 2] >> (0 if depth % 2 else 4) & 15
        branch = np.cumsum(shared[firsts] < depth) + started if depth else np.ones(len(firsts), dtype=np.int64)
        is_deeper = with_next[firsts] > depth
        numbers = following + deeper - 1 + np.cumsum(is_deeper)
        places = np.append(places, branch * DIGITS + digits)
        children = np.append(children, np.where(is_deeper, numbers, -(first_key + start + firsts)))
        deeper += int(is_deeper.sum())
        if len(branch):
            started = int(branch[-1])
        done = int(np.searchsorted(places, started * DIGITS)) if start + KEYS_READ < len(keys) else len(places)
        _store_branches(rows, places[:done], children[:done])
        places, children = places[done:], children[done:]
    return deeper


def _store_branches(rows: SqlRows, places: Numbers, children: Numbers) -> None:
    """Store whole branches, of which those places are not empty."""
    if not len(places):
        return
    first = places[0] // DIGITS
    table = np.zeros((int(places[-1] // DIGITS - first) + 1) * DIGITS, dtype=np.int64)
    table[places - first * DIGITS] = children
    rows.branches.extend(map(tuple, table.reshape(-1, DIGITS).tolist()))
