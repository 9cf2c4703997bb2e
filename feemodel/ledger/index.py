"""The keys of a tree in order: a trie over the hexadecimal digits of the hkeys.

The state tree orders its leaves by age; an insertion, a deletion and a proof of absence need neighbours by key. A
branch has sixteen places: nothing, a key (minus its number) where only one key begins so, or a further branch. Like
all rows a branch never changes: a changed trie copies the few branches on the path and shares the rest.
"""

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias, Union

from feemodel.errors import LedgerDamaged
from feemodel.ledger.rows import EMPTY, Branch, digit_at
from feemodel.ledger.scheme import HASH_SIZE
from feemodel.ledger.sql_rows import SqlRows

DIGITS = 16

_Place: TypeAlias = Union[int, "_Changed"]  # a stored branch, minus a key, nothing; or a branch not yet stored
_Changed: TypeAlias = list[_Place]


class Neighbours(NamedTuple):
    """Numbers of the key of an hkey and of its neighbours; 0 where there is none."""

    left: int
    exact: int
    right: int


class KeyIndex:
    """The sorted keys of one tree, from a stored branch on; `save` stores what changed."""

    def __init__(self, rows: SqlRows, branch: int) -> None:
        self._rows = rows
        self._root: _Place = branch

    def find(self, hkey: bytes) -> int | None:
        """The leaf index of the key with that hash, `None` where it is absent."""
        place, depth = self._root, 0
        while not isinstance(place, int):
            place = place[digit_at(hkey, depth)]
            depth += 1
        key = self._rows.last_key(place, depth, hkey)
        return key.leaf if key and key.hkey == hkey else None

    def find_many(self, hkeys: Iterable[bytes]) -> dict[bytes, int]:
        """The numbers of those keys that are there, by their hashes; each depth is read in one batch."""
        places, depth = dict.fromkeys(hkeys, self._root), 0
        ends: dict[bytes, int] = {}
        while places:
            ends |= {hkey: _key(place) for hkey, place in places.items() if _is_key(place)}
            stored = [place for place in places.values() if isinstance(place, int) and place > EMPTY]
            branches = dict(zip(stored, self._rows.branches.many(stored), strict=True))
            places = {
                hkey: (branches[place] if isinstance(place, int) else place)[digit_at(hkey, depth)]
                for hkey, place in places.items()
                if hkey not in ends
            }
            depth += 1
        keys = {hkey: key for hkey, key in ends.items() if key}
        rows = self._rows.keys.many(list(keys.values()))
        return {hkey: key for (hkey, key), row in zip(keys.items(), rows, strict=True) if row.hkey == hkey}

    def neighbours(self, hkey: bytes) -> Neighbours:
        """The key with that hash, and the nearest below and above it."""
        path = []
        place, depth = self._root, 0
        while not _is_key(place):
            branch, digit = self._branch(place), digit_at(hkey, depth)
            path.append((branch, digit))
            place = branch[digit]
            depth += 1
        left = exact = right = EMPTY
        if key := _key(place):
            found = self._rows.keys[key].hkey
            left, exact, right = (key if found < hkey else 0, key if found == hkey else 0, key if found > hkey else 0)
        return Neighbours(left or self._nearest(path, -1), exact, right or self._nearest(path, 1))

    def insert(self, hkey: bytes, key: int) -> None:
        """Add a key whose hash is not there yet."""
        self._root = self._inserted(self._root, hkey, key, 0)

    def remove(self, hkey: bytes) -> None:
        """Take out the key with that hash, which is there."""
        self._root = self._removed(self._root, hkey, 0)

    def save(self) -> int:
        """Store the changed branches; the number of the top one."""
        self._root = self._saved(self._root)
        return self._root

    def _branch(self, place: _Place) -> Branch | _Changed:
        return self._rows.branches[place] if isinstance(place, int) else place

    def _nearest(self, path: list[tuple[Branch | _Changed, int]], step: int) -> int:
        """The nearest key of a path: the last one below it (step -1) or the first one above (step 1)."""
        for branch, digit in reversed(path):
            for place in range(digit + step, -1 if step < 0 else DIGITS, step):
                if branch[place] != EMPTY:
                    return self._outermost(branch[place], step)
        return EMPTY

    def _outermost(self, place: _Place, step: int) -> int:
        """The first key of a subtree (step 1), or its last (step -1)."""
        for _ in range(2 * HASH_SIZE):
            if _is_key(place):
                return _key(place)
            place = next((child for child in self._branch(place)[::step] if child != EMPTY), EMPTY)
        raise LedgerDamaged("the sorted index of a tree leads to no key")

    def _inserted(self, place: _Place, hkey: bytes, key: int, depth: int) -> _Place:
        if place == EMPTY and depth:
            return -key
        if _is_key(place):
            branch: _Changed = [EMPTY] * DIGITS
            if other := _key(place):
                branch[digit_at(self._rows.keys[other].hkey, depth)] = place
        else:
            branch = self._changeable(place)
        digit = digit_at(hkey, depth)
        branch[digit] = self._inserted(branch[digit], hkey, key, depth + 1)
        return branch

    def _removed(self, place: _Place, hkey: bytes, depth: int) -> _Place:
        if _is_key(place):
            return EMPTY
        branch, digit = self._changeable(place), digit_at(hkey, depth)
        branch[digit] = self._removed(branch[digit], hkey, depth + 1)
        left = [child for child in branch if child != EMPTY]
        if not left:
            return EMPTY
        return left[0] if depth and len(left) == 1 and _is_key(left[0]) else branch

    def _changeable(self, place: _Place) -> _Changed:
        return list(self._rows.branches[place]) if isinstance(place, int) else place

    def _saved(self, place: _Place) -> int:
        if isinstance(place, int):
            return place
        return self._rows.branches.extend([tuple(self._saved(child) for child in place)])


def _is_key(place: _Place) -> bool:
    """Whether the path ends here: at a key, or at nothing."""
    return isinstance(place, int) and place <= EMPTY


def _key(place: _Place) -> int:
    return -place if isinstance(place, int) else EMPTY
