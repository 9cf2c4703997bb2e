"""Proofs as `rollup_getProof` answers them: an account and its slots, present or absent, each with its Merkle path.

Source: `MerkleProof` of Consensys/shomei at 3f47bed; `SparseMerkleProof.sol` of Consensys/linea-monorepo at cb180134,
which checks them on L1.
"""

from collections.abc import Callable, Sequence
from typing import Any

from feemodel.ledger.account import Account
from feemodel.ledger.tree import Tree
from feemodel.units import to_hex


def prove(tree: Tree, hkey: bytes, key: bytes) -> dict[str, Any]:
    """The proof of one key: its leaf, or the two leaves between which it is missing.

    Parameters
    ----------
    tree : an account tree or a storage tree.
    hkey : [32 bytes] the hash of the key.
    key : the address or slot, shown as it is.
    """
    indices = tree.locate(hkey)
    if len(indices) == 1:
        return {"key": to_hex(key), "leafIndex": indices[0], "proof": _leaf_proof(tree, indices[0])}
    left, right = indices
    return {
        "key": to_hex(key),
        "leftProof": _leaf_proof(tree, left),
        "rightProof": _leaf_proof(tree, right),
        "leftLeafIndex": left,
        "rightLeafIndex": right,
    }


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
    """
    scheme = accounts.scheme
    hkey = scheme.account_key(address)
    leaf = accounts.get(hkey)
    storage_proofs = []
    if leaf and slots:
        tree = storage(Account.from_bytes(leaf.value).storage_root)
        storage_proofs = [prove(tree, scheme.word_hash(slot), slot) for slot in slots]
    return {"accountProof": prove(accounts, hkey, address), "storageProofs": storage_proofs}


def _leaf_proof(tree: Tree, index: int) -> dict[str, Any]:
    return {
        "value": to_hex(tree.leaf(index).value),
        "proofRelatedNodes": [to_hex(entry) for entry in tree.related_nodes(index)],
    }
