"""Proofs as `rollup_getProof` answers them: an account and its slots, present or absent, each with its Merkle path.

Source: `MerkleProof` of Consensys/shomei at 3f47bed; `SparseMerkleProof.sol` of Consensys/linea-monorepo at cb180134,
which checks them on L1.
"""

from collections.abc import Callable, Sequence
from typing import Any

from feemodel.errors import LedgerDamaged
from feemodel.ethereum.quantities import to_hex
from feemodel.ledger.account import Account
from feemodel.ledger.tree import ProvenLeaf, Tree


def prove(tree: Tree, hkey: bytes, key: bytes) -> dict[str, Any]:
    """The proof of one key: its leaf, or the two leaves between which it is missing.

    Parameters
    ----------
    tree : an account tree or a storage tree.
    hkey : [32 bytes] the hash of the key.
    key : the address or slot, shown as it is.

    Raises `LedgerDamaged` where the stored rows prove neither.
    """
    return _shown(proven(tree, [hkey])[0], key)


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
        storage_proofs = [_shown(proof, slot) for proof, slot in zip(proofs, slots, strict=True)]
    return {"accountProof": _shown(found, address), "storageProofs": storage_proofs}


def proven(tree: Tree, hkeys: Sequence[bytes]) -> list[list[ProvenLeaf]]:
    """The leaf of each key, or the two leaves between which it is missing; all paths are checked in one call.

    Raises `LedgerDamaged` where the stored rows prove neither.
    """
    located = [tree.locate(hkey) for hkey in hkeys]
    leaves = iter(tree.proven_leaves([index for indices in located for index in indices]))
    found = [[next(leaves) for _ in indices] for indices in located]
    if not all(map(_is_proof, hkeys, found)):
        raise LedgerDamaged("the sorted index of a tree contradicts its leaves")
    return found


def _is_proof(hkey: bytes, entry: list[ProvenLeaf]) -> bool:
    """Whether the one leaf has the key, or the two are neighbours around it."""
    left, right = entry[0], entry[-1]
    if left is right:
        return left.hkey == hkey
    linked = left.leaf.following == right.leaf_index and right.leaf.previous == left.leaf_index
    return linked and left.hkey < hkey < right.hkey


def _shown(found: list[ProvenLeaf], key: bytes) -> dict[str, Any]:
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
