"""`rollup_getProof`: an account and its slots at a final block, present or absent, each with its Merkle path.

The block may be any final one of the store. `finalized` is the newest final block, `earliest` the genesis; `latest`,
`pending` and `safe` are the store's head and refused while it is not final. A contract without storage gets a proof of
absence for each slot, where production nodes give none; an absent account has no storage root to prove anything under.

Source: `MerkleProof` of Consensys/shomei at 3f47bed; `SparseMerkleProof.sol` of Consensys/linea-monorepo at cb180134,
which checks them on L1.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from feemodel.checks import sequence
from feemodel.errors import LimitExceeded, NotFinalized
from feemodel.ethereum.quantities import address_bytes, from_block, slot_bytes, to_hex
from feemodel.ledger.account import Account
from feemodel.ledger.store import Store
from feemodel.ledger.tree import ProvenLeaf, Tree, proven

KEY_LIMIT = 1_024  # slots of one request, as geth has it for eth_getProof (internal/ethapi/api.go, 2024)
STEP = 32  # slots that are proved in a few milliseconds
HEAD_TAGS = ("latest", "pending", "safe")


def get_proof(
    store: Store, address: str, storage_keys: Sequence[str], block: str, *, key_limit: int = KEY_LIMIT
) -> dict[str, Any]:
    """The result object of `rollup_getProof`.

    Parameters
    ----------
    address : 20 bytes, hexadecimal.
    storage_keys : slots, each hexadecimal of up to 32 bytes; the order and duplicates are kept.
    block : a quantity such as "0x5", or "finalized", "earliest", "latest", "pending", "safe".
    key_limit : the most slots that are answered.

    Raises `InvalidInput` for a malformed parameter, `LimitExceeded` for too many slots, `NotFinalized` for a block that
    is unknown or not final.

    >>> import tempfile
    >>> from feemodel.ledger.blocks import GenesisAccount
    >>> from feemodel.ledger.genesis import import_genesis
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/ledger.db") as store:
    ...     block = import_genesis(store, [GenesisAccount(bytes(20), balance=5)])
    ...     store.finalize(0)
    ...     proof = get_proof(store, "0x" + "00" * 20, ["0x1"], "finalized")
    >>> proof["accountProof"]["leafIndex"], len(proof["storageProofs"])
    (2, 1)
    """
    *_, proof = proof_steps(store, address, storage_keys, block, key_limit=key_limit)
    return proof


def proof_steps(
    store: Store, address: str, storage_keys: Sequence[str], block: str, *, key_limit: int = KEY_LIMIT
) -> Iterator[dict[str, Any]]:
    """The same object again and again while it is filled, a few slots at a time; whole when there is no further one.

    Parameters and errors as in `get_proof`; the errors come with the first one.
    """
    where = address_bytes(address)
    keys = sequence("storageKeys", storage_keys)
    if len(keys) > key_limit:
        raise LimitExceeded(f"storageKeys: at most {key_limit:,} a request, got {len(keys):,}")
    slots = [slot_bytes(key, f"storageKeys[{place}]") for place, key in enumerate(keys)]
    accounts = store.accounts(final_block(store, block))
    proof = prove_account(accounts, store.storage, where, slots[:STEP])
    yield proof
    for start in range(STEP, len(slots), STEP):
        more = prove_account(accounts, store.storage, where, slots[start : start + STEP])
        proof["storageProofs"] += more["storageProofs"]
        yield proof


def final_block(store: Store, block: str) -> int:
    """The number of the final block that a parameter names.

    Raises `InvalidInput` for another text, `NotFinalized` for a block that is unknown or not final.
    """
    finalized = store.finalized
    newest = "no block is final yet" if finalized is None else f"the newest final block is {finalized}"
    if block == "finalized":
        number = finalized
    elif block in HEAD_TAGS:
        number = head.number if (head := store.head) else None
    elif block == "earliest":
        number = 0
    else:
        number = from_block(block, ("finalized", "earliest", *HEAD_TAGS))
    if number is None or finalized is None or number > finalized:
        known = "" if number is None or block.startswith("0x") else f" ({number})"
        raise NotFinalized(f"block {block}{known} is not final: {newest}")
    return number


def prove_account(
    accounts: Tree, storage: Callable[[bytes], Tree], address: bytes, slots: Sequence[bytes]
) -> dict[str, Any]:
    """The proof of an account and of its slots, in the order asked, duplicates kept.

    Parameters
    ----------
    accounts : the account tree.
    storage : storage root → that storage tree; called when the account exists and slots are asked for.
    address : [20 bytes]
    slots : [32 bytes each] an absent account has none to prove, so that its `storageProofs` is empty.

    Raises `LedgerDamaged` where the stored rows prove neither.
    """
    scheme = accounts.scheme
    hkey = scheme.account_key(address)
    (found,) = proven(accounts, [hkey])
    storage_proofs = []
    if len(found) == 1 and slots:
        tree = storage(Account.from_bytes(found[0].leaf.value).storage_root)
        proofs = proven(tree, scheme.word_hashes(slots))
        storage_proofs = [key_proof(proof, slot) for proof, slot in zip(proofs, slots, strict=True)]
    return {"accountProof": key_proof(found, address), "storageProofs": storage_proofs}


def key_proof(found: list[ProvenLeaf], key: bytes) -> dict[str, Any]:
    """The proof of one key, an address or a slot, from its leaf or the two leaves between which it is missing."""
    if len(found) == 1:
        return {"key": to_hex(key), "leafIndex": found[0].leaf_index, "proof": _leaf_proof(found[0])}
    left, right = found
    return {
        "key": to_hex(key),
        "leftProof": _leaf_proof(left),
        "rightProof": _leaf_proof(right),
        "leftLeafIndex": left.leaf_index,
        "rightLeafIndex": right.leaf_index,
    }


def _leaf_proof(proven: ProvenLeaf) -> dict[str, Any]:
    return {
        "value": to_hex(proven.leaf.value),
        "proofRelatedNodes": ["0x" + entry.hex() for entry in proven.related_nodes],  # 42 of each leaf: no call for one
    }
