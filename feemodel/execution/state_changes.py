"""What an execution changed: the difference between two states of the executable specification."""

from collections.abc import Iterator
from typing import Any

from feemodel.execution.state import Change


def changes_between(before: Any, after: Any) -> Iterator[Change]:
    """What is different between two states, account by account; an empty account is none."""
    old, new = before._main_trie._data, after._main_trie._data
    for key in {*old, *new}:
        was, account = old.get(key), new.get(key)
        if account is None:
            if was is not None:
                yield Change(bytes(key), 0, 0, b"", True, {})
            continue
        slots = dict(_changed_slots(before._storage_tries.get(key), after._storage_tries.get(key)))
        if account != was or slots:
            code = None if was is not None and was.code == account.code else bytes(account.code)
            yield Change(bytes(key), int(account.balance), int(account.nonce), code, False, slots)


def _changed_slots(before: Any, after: Any) -> Iterator[tuple[int, int]]:
    was, slots = ({} if trie is None else trie._data for trie in (before, after))
    if was == slots:
        return
    for slot in {*was, *slots}:
        value = int(slots.get(slot, 0))
        if value != int(was.get(slot, 0)):
            yield int.from_bytes(slot, "big"), value
