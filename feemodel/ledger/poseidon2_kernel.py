"""What the state tree hashes with Poseidon2, compiled: batches of messages, roots of Merkle paths, checks of paths.

Messages and hashes are bytes; each lane of the vectors of the permutation has one message.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from feemodel.compiled import kept
from feemodel.ledger.poseidon2 import P
from feemodel.ledger.poseidon2_permutation import KEYS, compress, finish

FEW, MANY = 4, 8  # lanes: eight take 1.6 times as long as four
PARALLEL = 4_096  # messages from which on threads are worth their start


def absorb(data: NDArray[np.uint8], size: int) -> NDArray[np.uint8] | None:
    """The digests of messages of `size` bytes, whole blocks each; `None` where an element is not below P.

    Large batches are hashed on all cores.
    """
    count = len(data) // size
    result = np.empty(32 * count, dtype=np.uint8)
    if count <= FEW:
        return result if _absorb_few(data, size, result) else None
    part = count
    if count >= PARALLEL:
        part = -(-count // (os.cpu_count() or 1) // MANY) * MANY
    parts = [(start, min(start + part, count)) for start in range(0, count, part)]
    if len(parts) == 1:
        return result if _absorb_many(data, size, result) else None
    with ThreadPoolExecutor() as pool:
        sound = pool.map(
            lambda rows: _absorb_many(data[size * rows[0] : size * rows[1]], size, result[32 * rows[0] : 32 * rows[1]]),
            parts,
        )
        return result if all(list(sound)) else None


def path_roots(hashes: NDArray[np.uint8], siblings: NDArray[np.uint8], indices: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The digests at the tops of paths from hashes [32·n] past siblings [32·n·height]; all elements below P."""
    result = hashes.copy()
    (_path_roots_few if len(indices) <= FEW else _path_roots_many)(result, siblings, indices)
    return result


def first_wrong(data: NDArray[np.uint8], sizes: NDArray[np.int64]) -> int:
    """The first message that has not the hash given for it, or how many there are.

    Parameters
    ----------
    data : the messages, each of at least one whole block, then as many hashes.
    sizes : of the messages.
    """
    starts = np.cumsum(sizes) - sizes
    return int(_first_wrong(data, starts, sizes, sizes.sum() + 32 * np.arange(len(sizes))))


def paths_hold(data: NDArray[np.uint8], count: int) -> bool:
    """Whether each of some paths leads to its hash.

    Parameters
    ----------
    data : of each path five numbers of four bytes: the height of its highest node, the index of its leaf below that
        node, the sizes of leaf, sibling leaf and value (whole blocks, 0 where there is none). Then of each path: the
        hash; from that height down to 1 the two hashes below each node, then those below each sibling, which are one
        fewer; the leaf, the sibling leaf, the hash of the value, the value as it is hashed.
    """
    return bool((_paths_hold_few if count == 1 else _paths_hold_many)(data, count))


@numba.njit(inline="always")
def _element(data: Any, place: int) -> Any:
    """Four bytes, the highest first."""
    high = np.int64(data[place]) << 24 | np.int64(data[place + 1]) << 16
    return high | np.int64(data[place + 2]) << 8 | np.int64(data[place + 3])


@numba.njit(inline="always")
def _put_digest(result: Any, place: int, state: Any, lane: int, lanes: int) -> None:
    for i in range(8):
        element = state[i * lanes + lane]
        for byte in range(4):
            result[place + 4 * i + byte] = element >> 24 - 8 * byte & 255


# The functions from here on are inlined where the number of lanes is a constant of the compiled code.


@numba.njit(inline="always")
def _absorb(data: Any, size: int, result: Any, lanes: int) -> Any:
    count = len(result) // 32
    state, block = np.empty(8 * lanes, dtype=np.int64), np.zeros(8 * lanes, dtype=np.int64)
    sound = True
    for first in range(0, count, lanes):
        used = min(lanes, count - first)
        state[:] = 0
        for start in range(0, size, 32):
            for j in range(used):
                for i in range(8):
                    element = _element(data, (first + j) * size + start + 4 * i)
                    sound &= element < P
                    block[i * lanes + j] = element
            compress(state, block, KEYS, lanes)
        finish(state, lanes)
        for j in range(used):
            _put_digest(result, 32 * (first + j), state, j, lanes)
    return sound


@numba.njit(inline="always")
def _path_roots(hashes: Any, siblings: Any, indices: Any, lanes: int) -> None:
    count = len(indices)
    height = len(siblings) // len(hashes)
    pairs = np.empty(64 * count, dtype=np.uint8)
    for level in range(height):
        for path in range(count):
            right = 32 * (indices[path] >> level & 1)
            for i in range(32):
                pairs[64 * path + right + i] = hashes[32 * path + i]
                pairs[64 * path + 32 - right + i] = siblings[32 * (path * height + level) + i]
        _absorb(pairs, 64, hashes, lanes)


@numba.njit(inline="always")
def _wrong(data: Any, starts: Any, sizes: Any, expected: Any, lanes: int) -> Any:
    """A lane that is done with its message takes the next one, so that long and short ones share the steps."""
    state, block = np.zeros(8 * lanes, dtype=np.int64), np.zeros(8 * lanes, dtype=np.int64)
    done = np.empty(8 * lanes, dtype=np.int64)
    message, place = np.full(lanes, -1, dtype=np.int64), np.zeros(lanes, dtype=np.int64)
    following, wrong = 0, len(sizes)
    while True:
        busy, ends = False, False
        for j in range(lanes):
            if message[j] < 0 and following < len(sizes):
                message[j], place[j] = following, starts[following]
                following += 1
                for i in range(8):
                    state[i * lanes + j] = 0
            if message[j] >= 0:
                busy = True
                for i in range(8):
                    element = _element(data, place[j] + 4 * i)
                    if element >= P:
                        wrong = min(wrong, message[j])
                    block[i * lanes + j] = element
                place[j] += 32
                ends |= place[j] == starts[message[j]] + sizes[message[j]]
        if not busy:
            return wrong
        compress(state, block, KEYS, lanes)
        if not ends:
            continue
        done[:] = state
        finish(done, lanes)
        for j in range(lanes):
            if message[j] >= 0 and place[j] == starts[message[j]] + sizes[message[j]]:
                for i in range(8):
                    if done[i * lanes + j] != _element(data, expected[message[j]] + 4 * i):
                        wrong = min(wrong, message[j])
                message[j] = -1


@numba.njit(inline="always")
def _paths_hold(data: Any, count: int, lanes: int) -> Any:
    """The messages of all paths as `_wrong` takes them: all values, then all leaves, then all nodes."""
    most = 0
    for path in range(count):
        most += 2 * _element(data, 20 * path) + 2
    starts, sizes = np.empty(most, dtype=np.int64), np.full(most, 64, dtype=np.int64)
    expected = np.empty(most, dtype=np.int64)
    n = 0
    for turn in range(3):
        digest = 20 * count
        for path in range(count):
            height, index = _element(data, 20 * path), _element(data, 20 * path + 4)
            leaf_size, sibling_size = _element(data, 20 * path + 8), _element(data, 20 * path + 12)
            value_size = _element(data, 20 * path + 16)
            siblings = digest + 32 + 64 * height
            lowest = siblings - 64  # the two hashes below the lowest node
            leaf = siblings + 64 * (height - 1)
            sibling, hval = leaf + leaf_size, leaf + leaf_size + sibling_size
            if turn == 0 and value_size:
                starts[n], sizes[n], expected[n] = hval + 32, value_size, hval
                n += 1
            elif turn == 1:
                starts[n], sizes[n], expected[n] = leaf, leaf_size, lowest + 32 * (index & 1)
                n += 1
                if sibling_size:
                    starts[n], sizes[n], expected[n] = sibling, sibling_size, lowest + 32 - 32 * (index & 1)
                    n += 1
                else:
                    for i in range(32):
                        if data[lowest + 32 - 32 * (index & 1) + i]:
                            return False
            elif turn == 2:
                for level in range(height):
                    starts[n], expected[n] = digest + 32 + 64 * level, digest
                    if level:
                        expected[n] = digest + 64 * level - 32 + 32 * (index >> height - level & 1)
                    n += 1
                    if level < height - 1:
                        starts[n] = siblings + 64 * level
                        expected[n] = digest + 64 * level + 64 - 32 * (index >> height - 1 - level & 1)
                        n += 1
            digest = hval + 32 + value_size
    return _wrong(data, starts[:n], sizes[:n], expected[:n], lanes) == n


@kept(nogil=True)
def _absorb_few(data: Any, size: int, result: Any) -> Any:
    return _absorb(data, size, result, FEW)


@kept(nogil=True)
def _absorb_many(data: Any, size: int, result: Any) -> Any:
    return _absorb(data, size, result, MANY)


@kept(nogil=True)
def _path_roots_few(hashes: Any, siblings: Any, indices: Any) -> None:
    _path_roots(hashes, siblings, indices, FEW)


@kept(nogil=True)
def _path_roots_many(hashes: Any, siblings: Any, indices: Any) -> None:
    _path_roots(hashes, siblings, indices, MANY)


@kept(nogil=True)
def _first_wrong(data: Any, starts: Any, sizes: Any, expected: Any) -> Any:
    return _wrong(data, starts, sizes, expected, MANY)


@kept(nogil=True)
def _paths_hold_few(data: Any, count: int) -> Any:
    return _paths_hold(data, count, FEW)


@kept(nogil=True)
def _paths_hold_many(data: Any, count: int) -> Any:
    return _paths_hold(data, count, MANY)
