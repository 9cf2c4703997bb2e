"""Create and check `rollup_getProof` proofs: an account and its storage slots at a final block, present or absent.

A proof can be created for each final block of the store. `finalized` means the newest final block, and `earliest` means
the genesis block. `latest`, `pending` and `safe` mean the head of the store, and are refused if the head is not final.
For a contract without storage, this module returns a proof of absence for each slot, whereas production nodes return no
storage proofs. The result for an absent account has no storage proofs, because such an account has no storage root.

`check_proof` verifies a proof against a state root, without a store. The checks cover the hashes of all paths, the keys
and values of the leaves, and the order and links of neighbouring leaves. An error message names the step of the check
that failed. The size of the top node shows which hash function the tree uses.

Source: `MerkleProof` of Consensys/shomei at 3f47bed; `SparseMerkleProof.sol` of Consensys/linea-monorepo at cb180134,
which checks proofs on L1.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from typing import Any, NamedTuple, NoReturn, TypeAlias

from feemodel.checks import sequence
from feemodel.errors import InvalidInput, InvalidProof, LimitExceeded, NotFinalized
from feemodel.ethereum._block_id import read_block
from feemodel.ethereum._quantities import (
    ADDRESS_SIZE,
    WORD_SIZE,
    address_bytes,
    from_hex,
    hash_bytes,
    slot_bytes,
    to_hex,
)
from feemodel.ledger.hashing import pieces
from feemodel.ledger.rows import Leaf
from feemodel.ledger.scheme import (
    ACCOUNT_SIZE,
    DEPTH,
    HASH_SIZE,
    HEAD,
    NOTHING,
    SCHEMES,
    TAIL,
    AccountLeaf,
    Scheme,
    account_hashes,
)
from feemodel.ledger.store import Store
from feemodel.ledger.tree import ProvenLeaf, Tree

KEY_LIMIT = 1_024  # maximum number of slots, as in geth's eth_getProof (internal/ethapi/api.go, 2024)
STEP = 32  # number of slots in one step of `proof_steps`; a step takes a few milliseconds
HEAD_TAGS = ("latest", "pending", "safe")


def get_proof(store: Store, address: str | bytes, storage_keys: Sequence[str], block: str | bytes) -> dict[str, Any]:
    """Return the result of `rollup_getProof`.

    Parameters
    ----------
    store : ledger.
    address : 20 bytes, or hexadecimal text.
    storage_keys : slots, each as hexadecimal text of up to 32 bytes; order and duplicates are kept.
    block : quantity such as "0x5"; "finalized", "earliest", "latest", "pending" or "safe"; or the 32-byte hash of a
        block.

    Returns
    -------
    JSON object with `accountProof` and `storageProofs`.

    Raises
    ------
    InvalidInput : an invalid address, slot or block.
    LimitExceeded : more than 1,024 slots.
    NotFinalized : the block is unknown or not final.
    LedgerDamaged : stored rows contradict their hashes.

    >>> import tempfile
    >>> from feemodel.ledger import import_genesis, parse_genesis
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/ledger.db") as store:
    ...     block = import_genesis(store, parse_genesis({"alloc": {"00" * 20: {"balance": 5}}}), final=True)
    ...     proof = get_proof(store, "0x" + "00" * 20, ["0x1"], "finalized")
    >>> proof["accountProof"]["leafIndex"], len(proof["storageProofs"])
    (2, 1)
    """
    *_, proof = proof_steps(store, address, storage_keys, block)
    return proof


def proof_steps(
    store: Store, address: str | bytes, storage_keys: Sequence[str], block: str | bytes
) -> Iterator[dict[str, Any]]:
    """Create the result of `get_proof` in steps, and yield the result so far after each step.

    Each step adds the proofs of several slots to the result. After the last step, the yielded result is complete.

    Parameters and errors are the same as for `get_proof`. Errors are raised before the first result is yielded.
    """
    where = address_bytes(address)
    keys = sequence("storageKeys", storage_keys)
    if len(keys) > KEY_LIMIT:
        raise LimitExceeded(f"storageKeys: at most {KEY_LIMIT:,} per request, got {len(keys):,}")
    slots = [slot_bytes(key, f"storageKeys[{position}]") for position, key in enumerate(keys)]
    accounts = store.accounts(final_block(store, block))
    proof = prove_account(accounts, store.tree, where, slots[:STEP])
    yield proof
    for start in range(STEP, len(slots), STEP):
        more = prove_account(accounts, store.tree, where, slots[start : start + STEP])
        proof["storageProofs"] += more["storageProofs"]
        yield proof


def final_block(store: Store, block: str | bytes) -> int:
    """Return the number of the final block that the `block` parameter of a request names.

    Raises `InvalidInput` for an invalid parameter, and `NotFinalized` for a block that is unknown or not final.
    """
    finalized = store.finalized
    newest = "no block is final yet" if finalized is None else f"the newest final block is {finalized}"
    if isinstance(block, bytes):
        number = store.number_of(hash_bytes(block, "block"))
        block = to_hex(block)
    elif block == "finalized":
        number = finalized
    elif block in HEAD_TAGS:
        number = head.number if (head := store.head) else None
    elif block == "earliest":
        number = 0
    else:
        number = read_block(block).number
    if number is None or finalized is None or number > finalized:
        known = "" if number is None or block.startswith("0x") else f" ({number})"
        raise NotFinalized(f"block {block}{known} is not final: {newest}")
    return number


def prove_account(
    accounts: Tree, storage: Callable[[bytes], Tree], address: bytes, slots: Sequence[bytes]
) -> dict[str, Any]:
    """Return the proof of an account in the account tree and of its slots, checked as by `check_proof`.

    `storage(root)` returns a storage tree. For an absent account, `storageProofs` is empty.

    Raises `LedgerDamaged` if stored rows contradict their hashes.
    """
    scheme, entries = accounts.scheme, list[KeyProof]()
    try:
        hkeys = [scheme.account_key(address)]
        account = KeyProof("accountProof", address, *accounts.prove(hkeys))
        paths = [(*pair, accounts.root) for pair in account.named_leaves()]
        if len(account.leaves) == 1 and slots:
            tree = storage(AccountLeaf.from_bytes(account.leaves[0].leaf.value).storage_root)
            hkeys += scheme.word_hashes(slots)
            for slot, leaves in zip(slots, tree.prove(hkeys[1:]), strict=True):
                entries.append(KeyProof("storageProofs", slot, leaves))
            paths += [(*pair, tree.root) for entry in entries for pair in entry.named_leaves()]
        _check(scheme, [account, *entries], hkeys, iter(paths), accounts.root)
    except (InvalidProof, InvalidInput, LookupError, TypeError, ValueError, OverflowError) as error:
        accounts.rows.database.damaged(f"a row contradicts the hash above it ({error})")
    return {"accountProof": account.as_json(), "storageProofs": [entry.as_json() for entry in entries]}


ENTRIES = DEPTH + 2  # entries of proofRelatedNodes: the top node, forty siblings, the leaf
PRESENT = {"key", "leafIndex", "proof"}
ABSENT = {"key", "leftProof", "rightProof", "leftLeafIndex", "rightLeafIndex"}
SIDES = ("left", "right")
_Path: TypeAlias = tuple[str, ProvenLeaf, bytes]  # name, decoded leaf, and the root that results from hashing the path


@dataclass(frozen=True)
class Proven:
    """Content of a valid proof.

    Parameters
    ----------
    account : account, or `None` if the proof shows that the account is absent.
    storage : values by slot (32 bytes in hexadecimal); 0 for an absent slot.
    """

    account: AccountLeaf | None
    storage: dict[str, int]


class KeyProof(NamedTuple):
    """Proof of one key: the leaf of the key or, for an absent key, the two neighbouring leaves."""

    where: str
    key: bytes
    leaves: list[ProvenLeaf]

    def named_leaves(self) -> list[tuple[str, ProvenLeaf]]:
        """Return the leaves with their names, for errors."""
        names = ["proof"] if len(self.leaves) == 1 else [f"{side}Proof" for side in SIDES]
        return [(f"{self.where}.{name}", leaf) for name, leaf in zip(names, self.leaves, strict=True)]

    def as_json(self) -> dict[str, Any]:
        """Return the proof as `rollup_getProof` has it."""
        proofs = [
            {"value": to_hex(one.leaf.value), "proofRelatedNodes": ["0x" + entry.hex() for entry in one.entries]}
            for one in self.leaves  # `to_hex` of every entry would take longer
        ]
        key, (left, right) = to_hex(self.key), (self.leaves[0].leaf_index, self.leaves[-1].leaf_index)
        if len(proofs) == 1:
            return {"key": key, "leafIndex": left, "proof": proofs[0]}
        return {
            "key": key, "leftProof": proofs[0], "rightProof": proofs[1], "leftLeafIndex": left, "rightLeafIndex": right
        }  # fmt: skip


def check_proof(
    proof: dict[str, Any],
    *,
    root: str | bytes,
    address: str | bytes | None = None,
    storage_keys: Sequence[str | bytes | int] | None = None,
) -> Proven:
    """Check a result of `rollup_getProof`; return the account and the slot values that the result proves.

    For an account with empty storage, empty `storageProofs` are also accepted, as production nodes return them. The
    storage root of an empty tree proves that each slot is zero.

    Parameters
    ----------
    proof : JSON object with `accountProof` and `storageProofs`.
    root : state root of the block, from a trusted source such as L1 [32 bytes].
    address : requested address [20 bytes]; `None` accepts the address in the proof.
    storage_keys : requested slots [32 bytes each]; `None` accepts the slots in the proof.

    Returns
    -------
    The account and slot values that the proof shows.

    Raises
    ------
    InvalidProof : the proof is malformed or does not lead to the root; the message names the step that failed.
    InvalidInput : an invalid root, address or slot.

    An empty ledger proves that an account is absent:

    >>> import tempfile
    >>> from feemodel.ledger import import_genesis
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/ledger.db") as store:
    ...     block = import_genesis(store, [], final=True)
    ...     proof = get_proof(store, bytes(20), [], "finalized")
    >>> check_proof(proof, root=block.root, address=bytes(20))
    Proven(account=None, storage={})
    """
    state_root = hash_bytes(root, "root")
    account_entry, slot_entries = _parsed(proof)
    if address is not None and account_entry.key != (wanted := address_bytes(address)):
        _refuse("accountProof.key", f"expected the requested address, {to_hex(wanted)}", to_hex(account_entry.key))
    asked = [entry.key for entry in slot_entries] if storage_keys is None else [slot_bytes(key) for key in storage_keys]
    leaves = [pair for entry in (account_entry, *slot_entries) for pair in entry.named_leaves()]
    scheme = _generation(leaves)
    hkeys = [scheme.account_key(account_entry.key), *scheme.word_hashes([entry.key for entry in slot_entries])]
    paths = [*_hash_paths(scheme, leaves)]
    account, values = _check(scheme, [account_entry, *slot_entries], hkeys, iter(paths), state_root)
    _check_slots(scheme, asked, slot_entries, account)
    storage = dict.fromkeys(map(to_hex, asked), 0)
    return Proven(account, storage | {to_hex(slot): value for slot, value in values.items()} if account else storage)


def _check(
    scheme: Scheme, entries: Sequence[KeyProof], hkeys: Sequence[bytes], paths: Iterator[_Path], root: bytes
) -> tuple[AccountLeaf | None, dict[bytes, int]]:
    """Return the account and the slots that paths to the root show; `entries` and `hkeys` begin with the account."""
    (account_entry, *slot_entries), (account_key, *slot_keys) = entries, hkeys
    value = _checked(scheme, [*islice(paths, len(account_entry.leaves))], root, account_key)
    if value is None:
        return None, {}
    account, words = AccountLeaf.from_bytes(value), {}
    for entry, hkey in zip(slot_entries, slot_keys, strict=True):
        word = _checked(scheme, [*islice(paths, len(entry.leaves))], account.storage_root, hkey)
        words[entry.key] = int.from_bytes(word or b"")
    return account, words


def _parsed(proof: Any) -> tuple[KeyProof, list[KeyProof]]:
    _check_fields("proof", proof, {"accountProof", "storageProofs"})
    slots = proof["storageProofs"]
    if not isinstance(slots, list):
        _refuse("storageProofs", "expected a list", slots)
    return (
        _entry("accountProof", proof["accountProof"], ADDRESS_SIZE, ACCOUNT_SIZE),
        [_entry(f"storageProofs[{position}]", entry, WORD_SIZE, WORD_SIZE) for position, entry in enumerate(slots)],
    )


def _entry(where: str, entry: Any, key_size: int, value_size: int) -> KeyProof:
    if isinstance(entry, dict) and "leafIndex" in entry:
        _check_fields(where, entry, PRESENT)
        leaves = [_leaf(f"{where}.proof", entry["proof"], f"{where}.leafIndex", entry["leafIndex"], value_size)]
    else:
        _check_fields(where, entry, ABSENT)
        leaves = [
            _leaf(f"{where}.{side}Proof", entry[f"{side}Proof"], f"{where}.{side}LeafIndex", index, value_size)
            for side, index in zip(SIDES, (entry["leftLeafIndex"], entry["rightLeafIndex"]), strict=True)
        ]
    return KeyProof(where, _data(f"{where}.key", entry["key"], key_size), leaves)


def _leaf(where: str, proof: Any, index_name: str, index: Any, value_size: int) -> ProvenLeaf:
    if isinstance(index, bool) or not isinstance(index, int) or index < 0 or index >> DEPTH:
        _refuse(index_name, f"expected an integer from 0 to 2**{DEPTH} - 1", index)
    _check_fields(where, proof, {"value", "proofRelatedNodes"})
    entries = proof["proofRelatedNodes"]
    if not isinstance(entries, list) or len(entries) != ENTRIES:
        shown = len(entries) if isinstance(entries, list) else entries
        _refuse(f"{where}.proofRelatedNodes", f"expected a list of {ENTRIES} nodes", shown)
    nodes = [_data(f"{where}.proofRelatedNodes[{position}]", entry) for position, entry in enumerate(entries)]
    size = WORD_SIZE if index in (HEAD, TAIL) else value_size  # the first and last leaf contain no account
    value = _data(f"{where}.value", proof["value"], size)
    return ProvenLeaf(index, Leaf(NOTHING, HEAD, TAIL, NOTHING, value), nodes)  # decoded with the path


def _check_fields(where: str, value: Any, names: set[str]) -> None:
    if not isinstance(value, dict) or set(value) != names:
        shown = sorted(value) if isinstance(value, dict) else value
        _refuse(where, f"expected an object with {', '.join(sorted(names))}", shown)


def _data(where: str, text: Any, size: int | None = None) -> bytes:
    """Return bytes from lower-case hexadecimal text."""
    try:
        data = from_hex(text)
    except InvalidInput as error:
        raise InvalidProof(f"{where}: {error}") from None
    if text != text.lower():
        _refuse(where, "expected lower-case digits", text)
    if size is not None and len(data) != size:
        _refuse(where, f"expected {size} bytes", text)
    return data


def _generation(leaves: Sequence[tuple[str, ProvenLeaf]]) -> Scheme:
    """Return the hash scheme that fits the size of the first top node; check the sizes of all other nodes."""
    by_size = {len(scheme.top(HEAD, NOTHING)): scheme for scheme in SCHEMES.values()}
    where, first = leaves[0]
    scheme = by_size.get(len(first.entries[0]))
    if scheme is None:
        sizes = " or ".join(f"{size}" for size in sorted(by_size))
        _refuse(f"{where}.proofRelatedNodes[0]", f"expected {sizes} bytes", len(first.entries[0]))
    leaf_size = len(scheme.leaf(Leaf(NOTHING, HEAD, TAIL, NOTHING, NOTHING)))
    sizes_by_position = [len(first.entries[0]), *[2 * HASH_SIZE] * (DEPTH - 1), leaf_size, leaf_size]
    for where, leaf in leaves:
        for position, (entry, size) in enumerate(zip(leaf.entries, sizes_by_position, strict=True)):
            empty_sibling = position == DEPTH and entry == NOTHING
            if len(entry) != size and not empty_sibling:
                _refuse(f"{where}.proofRelatedNodes[{position}]", f"expected {size} bytes", len(entry))
    return scheme


def _hash_paths(scheme: Scheme, leaves: Sequence[tuple[str, ProvenLeaf]]) -> Iterator[_Path]:
    """Hash the path of each leaf up to the root, in one batch for all paths."""
    roots = _hashes(scheme, leaves, [0])
    nodes = _hashes(scheme, leaves, [DEPTH + 1])
    beside = iter(_hashes(scheme, [pair for pair in leaves if pair[1].entries[DEPTH] != NOTHING], [DEPTH]))
    inner = iter(_hashes(scheme, leaves, range(DEPTH - 1, 0, -1)))
    siblings = [
        [NOTHING if leaf.entries[DEPTH] == NOTHING else next(beside), *islice(inner, DEPTH - 1)] for _, leaf in leaves
    ]
    joined = b"".join(chain.from_iterable(siblings))
    sub_roots = scheme.path_roots(b"".join(nodes), joined, [leaf.leaf_index for _, leaf in leaves])
    for (where, leaf), root, sub_root in zip(leaves, roots, pieces(sub_roots, HASH_SIZE), strict=True):
        if sub_root != (claimed := leaf.entries[0][-HASH_SIZE:]):
            reason = f"expected the sub root computed from the path of leaf {leaf.leaf_index}, {to_hex(sub_root)}"
            _refuse(f"{where}.proofRelatedNodes[0]", reason, to_hex(claimed))
        yield _path(scheme, where, leaf, root)


def _hashes(scheme: Scheme, leaves: Sequence[tuple[str, ProvenLeaf]], positions: Sequence[int]) -> list[bytes]:
    """Return hashes of the entries at `positions` of each path; refuses an entry outside the hash's prime field."""
    messages = [leaf.entries[position] for _, leaf in leaves for position in positions]
    try:
        return scheme.hashes(b"".join(messages), len(messages))
    except InvalidInput:
        for where, leaf in leaves:
            for position in positions:
                try:
                    scheme.digest(leaf.entries[position])
                except InvalidInput as error:
                    raise InvalidProof(f"{where}.proofRelatedNodes[{position}]: {error}") from None
        raise


def _path(scheme: Scheme, where: str, leaf: ProvenLeaf, root: bytes) -> _Path:
    """Return a path with its leaf decoded, after a check of the leaf's index."""
    top, encoded, nodes = leaf.entries[0], leaf.entries[DEPTH + 1], f"{where}.proofRelatedNodes"
    next_free = _number(scheme, f"{nodes}[0]", top[:-HASH_SIZE])
    if leaf.leaf_index >= next_free:
        _refuse(where, f"expected an index below the next free leaf index, {next_free}", leaf.leaf_index)
    half = (len(encoded) - 2 * HASH_SIZE) // 2
    previous = _number(scheme, f"{nodes}[{DEPTH + 1}]", encoded[:half])
    following = _number(scheme, f"{nodes}[{DEPTH + 1}]", encoded[half : 2 * half])
    hkey, hval = pieces(encoded[2 * half :], HASH_SIZE)
    return where, leaf._replace(leaf=Leaf(hkey, previous, following, hval, leaf.leaf.value)), root


def _number(scheme: Scheme, where: str, encoded: bytes) -> int:
    word = scheme.plain(encoded)
    if scheme.numbers(word) != encoded:
        _refuse(where, "expected a number encoded in elements of two bytes", to_hex(encoded))
    return int.from_bytes(word)


def _checked(scheme: Scheme, paths: list[_Path], root: bytes, hkey: bytes) -> bytes | None:
    """Return the value of a key, or `None` if the key is proven absent."""
    for where, (index, leaf, _), found in paths:
        if found != root:
            _refuse(f"{where}.proofRelatedNodes[0]", f"expected a path to the root {to_hex(root)}", to_hex(found))
        try:
            # In the leaves HEAD and TAIL, the value and its hash are both 32 zero bytes.
            expected = leaf.value if index in (HEAD, TAIL) else _value_hash(scheme, leaf.value)
        except InvalidInput as error:
            raise InvalidProof(f"{where}.value: {error}") from None
        if expected != leaf.hval:
            _refuse(f"{where}.value", f"expected a value with the hash {to_hex(leaf.hval)}", to_hex(leaf.value))
    (before, (first, left, _), _), (after, (last, right, _), _) = paths[0], paths[-1]
    if left is right:
        if left.hkey != hkey:
            _refuse(before, f"expected the leaf with the key hash {to_hex(hkey)}", to_hex(left.hkey))
        return left.value
    if not left.hkey < hkey:
        _refuse(before, f"expected a leaf with a key hash below {to_hex(hkey)}", to_hex(left.hkey))
    if not hkey < right.hkey:
        _refuse(after, f"expected a leaf with a key hash above {to_hex(hkey)}", to_hex(right.hkey))
    if left.following != last:
        _refuse(before, f"expected a leaf whose next leaf is {last}", left.following)
    if right.previous != first:
        _refuse(after, f"expected a leaf whose previous leaf is {first}", right.previous)
    return None


@lru_cache(2_048)  # a proof that is asked for again takes a third less time
def _value_hash(scheme: Scheme, value: bytes) -> bytes:
    return account_hashes(scheme, [value])[0] if len(value) == ACCOUNT_SIZE else scheme.word_hash(value)


def _check_slots(scheme: Scheme, asked: list[bytes], entries: list[KeyProof], account: AccountLeaf | None) -> None:
    """Check that each requested slot has one proof, in order; an account without storage may also have no proofs."""
    if not entries and (account is None or account.storage_root == scheme.empty_root):
        return
    if account is None:
        _refuse("storageProofs", "expected an empty list, because the account does not exist", len(entries))
    if len(entries) != len(asked):
        _refuse("storageProofs", f"expected one proof for each of the {len(asked)} requested slots", len(entries))
    for entry, slot in zip(entries, asked, strict=True):
        if entry.key != slot:
            _refuse(f"{entry.where}.key", f"expected the requested slot, {to_hex(slot)}", to_hex(entry.key))


def _refuse(where: str, reason: str, value: Any) -> NoReturn:
    raise InvalidProof(str(InvalidInput(where, reason, value)))  # formats the value
