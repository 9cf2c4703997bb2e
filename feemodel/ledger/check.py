"""Verify a proof against a root: every hash, key, value, neighbour and range; an error names the step that fails.

The length of the top node says which hash the tree uses. All Merkle paths are verified together: their siblings are one
batch of hashes, and so is each level of nodes above their leaves.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, NoReturn

from feemodel.errors import InvalidInput, InvalidProof
from feemodel.ethereum.quantities import (
    ADDRESS_SIZE,
    WORD_SIZE,
    address_bytes,
    from_hex,
    hash_bytes,
    slot_bytes,
    to_hex,
)
from feemodel.ledger.account import ACCOUNT_SIZE, Account, account_hash
from feemodel.ledger.scheme import DEPTH, HASH_SIZE, HEAD, NOTHING, SCHEMES, TAIL, Scheme

ENTRIES = DEPTH + 2  # of proofRelatedNodes: the top node, forty siblings, the leaf
PRESENT = {"key", "leafIndex", "proof"}
ABSENT = {"key", "leftProof", "rightProof", "leftLeafIndex", "rightLeafIndex"}


@dataclass(frozen=True)
class Proven:
    """What a valid proof says.

    Parameters
    ----------
    account : `None` when the proof is of its absence.
    storage : 32-byte slot in hexadecimal → value, 0 for an absent one.
    """

    account: Account | None
    storage: dict[str, int]


@dataclass(frozen=True)
class _Leaf:
    """A leaf that a proof shows: its claimed index and value, and the 42 entries of its path."""

    where: str
    index: int
    value: bytes
    entries: list[bytes]


@dataclass(frozen=True)
class _Entry:
    """The proof of one key: its leaf, or the two neighbouring leaves."""

    where: str
    key: bytes
    leaves: list[_Leaf]


@dataclass(frozen=True)
class _Seen:
    """What a path holds: the fields of the leaf, and the root that it leads to."""

    previous: int
    following: int
    hkey: bytes
    hval: bytes
    root: bytes


def check_proof(
    proof: dict[str, Any],
    *,
    root: str | bytes,
    address: str | bytes | None = None,
    storage_keys: Sequence[str | bytes | int] | None = None,
) -> Proven:
    """Check the answer of `rollup_getProof` and tell what it proves.

    Parameters
    ----------
    proof : the JSON object with `accountProof` and `storageProofs`.
    root : [32 bytes] the state root of the block, as L1 holds it.
    address : the account that was asked for; without it the proof says for itself which account it speaks of.
    storage_keys : the slots that were asked for, likewise.

    A production node leaves `storageProofs` empty where the storage is; this is accepted, the empty storage root proves
    each slot zero.

    Raises `InvalidProof`, which names the step that fails, and `InvalidInput` for a malformed argument.

    An empty tree holds no account, and can prove it:

    >>> from feemodel.ledger.proof import prove_account
    >>> from feemodel.ledger.tree import Tree
    >>> tree = Tree()
    >>> proof = prove_account(tree, lambda root: Tree(), bytes(20), [])
    >>> check_proof(proof, root=tree.root, address=bytes(20))
    Proven(account=None, storage={})
    """
    state_root = hash_bytes(root, "root")
    account_entry, slot_entries = _parsed(proof)
    if address is not None and account_entry.key != (wanted := address_bytes(address)):
        _refuse("accountProof.key", f"expected the address asked for, {to_hex(wanted)}", to_hex(account_entry.key))
    leaves = [leaf for entry in (account_entry, *slot_entries) for leaf in entry.leaves]
    scheme = _generation(leaves)
    seen = dict(zip((leaf.where for leaf in leaves), _hash_paths(scheme, leaves), strict=True))

    account_key = scheme.account_key(account_entry.key)
    value = _checked(scheme, account_entry, seen, state_root, account_key, partial(account_hash, scheme))
    account = Account.from_bytes(value) if value is not None else None
    asked = [entry.key for entry in slot_entries] if storage_keys is None else [slot_bytes(key) for key in storage_keys]
    _check_slots(scheme, asked, slot_entries, account)
    storage = dict.fromkeys(map(to_hex, asked), 0)
    if account is None:
        return Proven(None, storage)
    for entry in slot_entries:
        word = _checked(scheme, entry, seen, account.storage_root, scheme.word_hash(entry.key), scheme.word_hash)
        storage[to_hex(entry.key)] = int.from_bytes(word or b"")
    return Proven(account, storage)


def _parsed(proof: Any) -> tuple[_Entry, list[_Entry]]:
    _check_fields("proof", proof, {"accountProof", "storageProofs"})
    slots = proof["storageProofs"]
    if not isinstance(slots, list):
        _refuse("storageProofs", "expected a list", slots)
    return (
        _entry("accountProof", proof["accountProof"], ADDRESS_SIZE, ACCOUNT_SIZE),
        [_entry(f"storageProofs[{place}]", entry, WORD_SIZE, WORD_SIZE) for place, entry in enumerate(slots)],
    )


def _entry(where: str, entry: Any, key_size: int, value_size: int) -> _Entry:
    if isinstance(entry, dict) and "leafIndex" in entry:
        _check_fields(where, entry, PRESENT)
        leaves = [_leaf(f"{where}.proof", entry["proof"], f"{where}.leafIndex", entry["leafIndex"], value_size)]
    else:
        _check_fields(where, entry, ABSENT)
        leaves = [
            _leaf(f"{where}.{side}Proof", entry[f"{side}Proof"], f"{where}.{side}LeafIndex", index, value_size)
            for side, index in (("left", entry["leftLeafIndex"]), ("right", entry["rightLeafIndex"]))
        ]
    return _Entry(where, _data(f"{where}.key", entry["key"], key_size), leaves)


def _leaf(where: str, proof: Any, index_name: str, index: Any, value_size: int) -> _Leaf:
    if isinstance(index, bool) or not isinstance(index, int) or index < 0 or index >> DEPTH:
        _refuse(index_name, f"expected an integer from 0 to 2**{DEPTH} - 1", index)
    _check_fields(where, proof, {"value", "proofRelatedNodes"})
    entries = proof["proofRelatedNodes"]
    if not isinstance(entries, list) or len(entries) != ENTRIES:
        shown = len(entries) if isinstance(entries, list) else entries
        _refuse(f"{where}.proofRelatedNodes", f"expected a list of {ENTRIES} nodes", shown)
    nodes = [_data(f"{where}.proofRelatedNodes[{place}]", entry) for place, entry in enumerate(entries)]
    size = WORD_SIZE if index in (HEAD, TAIL) else value_size  # the ends have no account
    return _Leaf(where, index, _data(f"{where}.value", proof["value"], size), nodes)


def _check_fields(where: str, value: Any, names: set[str]) -> None:
    if not isinstance(value, dict) or set(value) != names:
        shown = sorted(value) if isinstance(value, dict) else value
        _refuse(where, f"expected an object with {', '.join(sorted(names))}", shown)


def _data(where: str, text: Any, size: int | None = None) -> bytes:
    """Hexadecimal data in the one way of writing it, lower case."""
    try:
        data = from_hex(text)
    except InvalidInput as error:
        raise InvalidProof(f"{where}: {error}") from None
    if text != text.lower():
        _refuse(where, "expected lower-case digits", text)
    if size is not None and len(data) != size:
        _refuse(where, f"expected {size} bytes", text)
    return data


def _generation(leaves: list[_Leaf]) -> Scheme:
    """The scheme that the first top node is written in; every node must have the size that this scheme gives it."""
    by_size = {scheme.top_size: scheme for scheme in SCHEMES.values()}
    scheme = by_size.get(len(leaves[0].entries[0]))
    if scheme is None:
        sizes = " or ".join(f"{size}" for size in sorted(by_size))
        _refuse(f"{leaves[0].where}.proofRelatedNodes[0]", f"expected {sizes} bytes", len(leaves[0].entries[0]))
    sizes_by_place = [scheme.top_size, *[2 * HASH_SIZE] * (DEPTH - 1), scheme.leaf_size, scheme.leaf_size]
    for leaf in leaves:
        for place, (entry, size) in enumerate(zip(leaf.entries, sizes_by_place, strict=True)):
            empty_sibling = place == DEPTH and entry == NOTHING
            if len(entry) != size and not empty_sibling:
                _refuse(f"{leaf.where}.proofRelatedNodes[{place}]", f"expected {size} bytes", len(entry))
    return scheme


def _hash_paths(scheme: Scheme, leaves: list[_Leaf]) -> list[_Seen]:
    """Each leaf's path hashed from the leaf to the root; the paths side by side."""
    roots = _hashes(scheme, [(leaf, 0) for leaf in leaves])
    nodes = _hashes(scheme, [(leaf, DEPTH + 1) for leaf in leaves])
    full = [leaf for leaf in leaves if leaf.entries[DEPTH] != NOTHING]
    sibling_leaves = dict(
        zip((leaf.where for leaf in full), _hashes(scheme, [(leaf, DEPTH) for leaf in full]), strict=True)
    )
    inner = iter(_hashes(scheme, [(leaf, DEPTH - height) for leaf in leaves for height in range(1, DEPTH)]))
    siblings = [[sibling_leaves.get(leaf.where, NOTHING), *islice(inner, DEPTH - 1)] for leaf in leaves]
    sub_roots = scheme.path_roots(nodes, siblings, [leaf.index for leaf in leaves])
    return [_seen(scheme, *path) for path in zip(leaves, roots, sub_roots, strict=True)]


def _hashes(scheme: Scheme, places: list[tuple[_Leaf, int]]) -> list[bytes]:
    """The hashes of entries of one size; one that is out of the hash's field is refused by name."""
    messages = [leaf.entries[place] for leaf, place in places]
    try:
        return scheme.hashes(b"".join(messages), len(messages))
    except InvalidInput:
        for leaf, place in places:
            try:
                scheme.digest(leaf.entries[place])
            except InvalidInput as error:
                raise InvalidProof(f"{leaf.where}.proofRelatedNodes[{place}]: {error}") from None
        raise


def _seen(scheme: Scheme, leaf: _Leaf, root: bytes, sub_root: bytes) -> _Seen:
    top, encoded = leaf.entries[0], leaf.entries[DEPTH + 1]
    claimed = top[-HASH_SIZE:]
    nodes = f"{leaf.where}.proofRelatedNodes"
    if sub_root != claimed:
        reason = f"expected the sub root that the path of leaf {leaf.index} leads to, {to_hex(sub_root)}"
        _refuse(f"{nodes}[0]", reason, to_hex(claimed))
    next_free = _number(scheme, f"{nodes}[0]", top[:-HASH_SIZE])
    if leaf.index >= next_free:
        _refuse(leaf.where, f"expected a leaf index below the next free one, {next_free}", leaf.index)
    half = (len(encoded) - 2 * HASH_SIZE) // 2
    return _Seen(
        previous=_number(scheme, f"{nodes}[{DEPTH + 1}]", encoded[:half]),
        following=_number(scheme, f"{nodes}[{DEPTH + 1}]", encoded[half : 2 * half]),
        hkey=encoded[-2 * HASH_SIZE : -HASH_SIZE],
        hval=encoded[-HASH_SIZE:],
        root=root,
    )


def _number(scheme: Scheme, where: str, encoded: bytes) -> int:
    word = scheme.plain(encoded)
    if scheme.numbers(word) != encoded:
        _refuse(where, "expected a number in elements of two bytes", to_hex(encoded))
    return int.from_bytes(word)


def _checked(
    scheme: Scheme, entry: _Entry, seen: dict[str, _Seen], root: bytes, hkey: bytes, hashed: Callable[[bytes], bytes]
) -> bytes | None:
    """The value of a key that is present, `None` of one that is absent; `hashed` gives the hval of a value."""
    for leaf in entry.leaves:
        if seen[leaf.where].root != root:
            reason = f"expected a path to the root {to_hex(root)}"
            _refuse(f"{leaf.where}.proofRelatedNodes[0]", reason, to_hex(seen[leaf.where].root))
        _check_value(leaf, seen[leaf.where].hval, hashed)
    first, last = entry.leaves[0], entry.leaves[-1]
    left, right = seen[first.where], seen[last.where]
    if first is last:
        if left.hkey != hkey:
            _refuse(first.where, f"expected the leaf of the key hash {to_hex(hkey)}", to_hex(left.hkey))
        return first.value
    if not left.hkey < hkey:
        _refuse(first.where, f"expected a leaf below the key hash {to_hex(hkey)}", to_hex(left.hkey))
    if not hkey < right.hkey:
        _refuse(last.where, f"expected a leaf above the key hash {to_hex(hkey)}", to_hex(right.hkey))
    if left.following != last.index:
        _refuse(first.where, f"expected a leaf whose next leaf is {last.index}", left.following)
    if right.previous != first.index:
        _refuse(last.where, f"expected a leaf whose previous leaf is {first.index}", right.previous)
    return None


def _check_value(leaf: _Leaf, hval: bytes, hashed: Callable[[bytes], bytes]) -> None:
    try:
        expected = leaf.value if leaf.index in (HEAD, TAIL) else hashed(leaf.value)  # the ends hold 32 zero bytes
    except InvalidInput as error:
        raise InvalidProof(f"{leaf.where}.value: {error}") from None
    if expected != hval:
        _refuse(f"{leaf.where}.value", f"expected a value with the hash {to_hex(hval)}", to_hex(leaf.value))


def _check_slots(scheme: Scheme, asked: list[bytes], entries: list[_Entry], account: Account | None) -> None:
    """One entry for each slot, in order; none where there is no storage to prove anything of."""
    if not entries and (account is None or account.storage_root == scheme.empty_root):
        return
    if account is None:
        _refuse("storageProofs", "expected none for an absent account", len(entries))
    if len(entries) != len(asked):
        _refuse("storageProofs", f"expected one for each of the {len(asked)} slots asked for", len(entries))
    for entry, slot in zip(entries, asked, strict=True):
        if entry.key != slot:
            _refuse(f"{entry.where}.key", f"expected the slot asked for, {to_hex(slot)}", to_hex(entry.key))


def _refuse(where: str, reason: str, value: Any) -> NoReturn:
    raise InvalidProof(str(InvalidInput(where, reason, value)))  # which shows any value
