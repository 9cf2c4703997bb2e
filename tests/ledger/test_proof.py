"""Proofs: built as production builds them, and refused at the step where they are wrong."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feemodel.errors import InvalidInput, InvalidProof
from feemodel.ethereum._quantities import to_hex
from feemodel.ledger.plain_hashes import DIGESTS
from feemodel.ledger.proof import check_proof, prove_account
from feemodel.ledger.scheme import EMPTY_KECCAK, MIMC, POSEIDON2, SCHEMES, AccountLeaf, account_hashes, scheme_of
from tests.helpers.execution_engines import HAS_NATIVE, WITHOUT_NATIVE
from tests.helpers.proof_corruptions import accepted, recorded
from tests.helpers.state_vectors import run_state_file, scenario_trees
from tests.helpers.trees import empty_tree, put

RARER = 1 if HAS_NATIVE else 10  # of ten corruptions one is tried where Python hashes, fifty times as slow

USER, CONTRACT, NOBODY = (bytes([first]) + bytes(19) for first in (0x24, 0x2F, 0x77))
SLOT, OTHER_SLOT = bytes([0x0E]) + bytes(31), bytes(31) + b"\x01"


def contract_state(hashing, slots=((SLOT, 0x12 << 248),)):
    """The published state of a user and a contract; its storage tree with these slots."""
    scheme = scheme_of(hashing)
    storage = empty_tree(hashing)
    for slot, value in slots:
        word = value.to_bytes(32)
        put(storage, scheme.word_hash(slot), scheme.word_hash(word), word)
    user = AccountLeaf(65, 835, scheme.empty_root, scheme.empty_code_hash, EMPTY_KECCAK, 0)
    contract = AccountLeaf(41, 15353, storage.root, (0x4B).to_bytes(32), bytes([0x0F]) + bytes(31), 7)
    accounts = empty_tree(hashing)
    for address, account in ((USER, user), (CONTRACT, contract)):
        value = account.to_bytes()
        put(accounts, scheme.account_key(address), account_hashes(scheme, [value])[0], value)
    return accounts, storage


def proof_of(state, address, slots):
    accounts, storage = state
    empty = accounts.scheme.empty_root

    def tree_of(root):
        return empty_tree(accounts.scheme.name) if root == empty else storage

    return prove_account(accounts, tree_of, address, slots)


@pytest.fixture(scope="module", params=list(SCHEMES))
def state(request):
    return contract_state(request.param)


def test_a_proof_tells_account_and_slots(state):
    accounts, _ = state
    slots = [SLOT, OTHER_SLOT, SLOT]
    proof = proof_of(state, CONTRACT, slots)
    assert [entry["key"] for entry in proof["storageProofs"]] == [to_hex(slot) for slot in slots]
    proven = check_proof(proof, root=accounts.root, address=CONTRACT, storage_keys=slots)
    assert proven.account is not None
    assert (proven.account.nonce, proven.account.balance) == (41, 15353)
    assert proven.storage == {to_hex(SLOT): 0x12 << 248, to_hex(OTHER_SLOT): 0}


def test_arguments_may_be_text_or_bytes(state):
    accounts, _ = state
    proof = json.loads(json.dumps(proof_of(state, CONTRACT, [OTHER_SLOT])))
    for address, key in ((to_hex(CONTRACT).upper().replace("0X", "0x"), "0x1"), (CONTRACT, 1), (None, b"\x01")):
        check_proof(proof, root=to_hex(accounts.root), address=address, storage_keys=[key])


def test_an_absent_account_is_proven_by_its_neighbours(state):
    accounts, _ = state
    proof = proof_of(state, NOBODY, [SLOT])
    assert list(proof["accountProof"]) == ["key", "leftProof", "rightProof", "leftLeafIndex", "rightLeafIndex"]
    assert proof["storageProofs"] == []
    proven = check_proof(proof, root=accounts.root, address=NOBODY, storage_keys=[SLOT])
    assert (proven.account, proven.storage) == (None, {to_hex(SLOT): 0})


def test_empty_storage_gives_one_absence_proof_per_slot(state):
    accounts, _ = state
    proof = proof_of(state, USER, [SLOT, SLOT])
    for entry in proof["storageProofs"]:
        assert (entry["leftLeafIndex"], entry["rightLeafIndex"]) == (0, 1)
    assert check_proof(proof, root=accounts.root, storage_keys=[SLOT, SLOT]).storage == {to_hex(SLOT): 0}
    as_production_has_it = proof | {"storageProofs": []}
    assert check_proof(as_production_has_it, root=accounts.root, storage_keys=[SLOT]).storage == {to_hex(SLOT): 0}


def test_slots_that_were_asked_for_must_be_answered(state):
    accounts, _ = state
    proof = proof_of(state, CONTRACT, [SLOT])
    for keys in ([], [SLOT, SLOT], [OTHER_SLOT]):
        with pytest.raises(InvalidProof, match="storageProofs"):
            check_proof(proof, root=accounts.root, storage_keys=keys)
    with pytest.raises(InvalidProof, match="storageProofs: expected one proof for each of the 1 requested slots"):
        check_proof(proof | {"storageProofs": []}, root=accounts.root, storage_keys=[SLOT])
    absent = proof_of(state, NOBODY, [])
    with pytest.raises(InvalidProof, match="storageProofs: expected an empty list"):
        check_proof(absent | {"storageProofs": proof["storageProofs"]}, root=accounts.root)


def test_no_corruption_of_a_poseidon2_proof_is_accepted():
    state = contract_state("poseidon2")
    proof = proof_of(state, CONTRACT, [SLOT])
    tried, wrong = accepted(proof, step=3 * RARER, root=state[0].root, address=CONTRACT, storage_keys=[SLOT])
    assert tried > 2_000 / RARER
    assert wrong == []


@pytest.mark.parametrize(("hashing", "step"), [("poseidon2", 11), ("mimc", 211)])
@pytest.mark.parametrize("address", [NOBODY, CONTRACT], ids=["account", "slot"])
def test_no_corruption_of_an_absence_proof_is_accepted(hashing, step, address):
    state = contract_state(hashing)
    proof = proof_of(state, address, [OTHER_SLOT])
    tried, wrong = accepted(proof, step=step * RARER, root=state[0].root, address=address, storage_keys=[OTHER_SLOT])
    assert tried > 20 / RARER
    assert wrong == []


def test_no_corruption_of_a_mainnet_proof_is_accepted(shared):
    for _, proof, request in recorded(shared / "vectors" / "state" / "proof_mimc_mainnet_20931518.json"):
        tried, wrong = accepted(proof, step=59 * RARER, **request)
        assert tried > 45 / RARER
        assert wrong == []


def changed(proof, change):
    proof = copy.deepcopy(proof)
    change(proof)
    return proof


def nodes(proof, side="proof"):
    return proof["accountProof"][side]["proofRelatedNodes"]


@pytest.mark.parametrize(
    ("change", "step"),
    [
        (lambda p: p.pop("storageProofs"), "proof: expected an object with accountProof, storageProofs"),
        (lambda p: p.update(more=1), "proof: expected an object with"),
        (lambda p: p.update(storageProofs={}), "storageProofs: expected a list"),
        (lambda p: p["accountProof"].pop("leafIndex"), "accountProof: expected an object with"),
        (lambda p: p["accountProof"].update(leafIndex="3"), "accountProof.leafIndex: expected an integer"),
        (lambda p: p["accountProof"].update(leafIndex=True), "accountProof.leafIndex: expected an integer"),
        (lambda p: p["accountProof"].update(leafIndex=-1), "accountProof.leafIndex: expected an integer"),
        (lambda p: p["accountProof"].update(leafIndex=2**40), "accountProof.leafIndex: expected an integer"),
        (lambda p: p["accountProof"].update(leafIndex=2**30), r"proofRelatedNodes\[0\]: expected the sub root"),
        (lambda p: p["accountProof"].update(key="0x2f"), "accountProof.key: expected 20 bytes"),
        (lambda p: p["accountProof"].update(key=None), "accountProof.key: data: expected hexadecimal"),
        (lambda p: p["accountProof"]["proof"].update(value="0x"), "accountProof.proof.value: expected 192 bytes"),
        (lambda p: nodes(p).pop(), "proofRelatedNodes: expected a list of 42 nodes"),
        (lambda p: nodes(p).__setitem__(0, "0x00"), r"proofRelatedNodes\[0\]: expected 64 or 96 bytes"),
        (lambda p: nodes(p).__setitem__(9, "0x00"), r"proofRelatedNodes\[9\]: expected 64 bytes"),
        (lambda p: nodes(p).__setitem__(41, "0x" + "00" * 32), r"proofRelatedNodes\[41\]: expected 192 bytes"),
        (lambda p: nodes(p).__setitem__(9, "0x" + "ff" * 64), r"Nodes\[9\]: data: expected whole elements"),
        (lambda p: nodes(p).__setitem__(41, nodes(p)[41].upper().replace("0X", "0x")), "expected lower-case digits"),
        (lambda p: p["storageProofs"][0].update(key=to_hex(OTHER_SLOT)), r"Proofs\[0\].proof: expected the leaf with"),
    ],
)  # fmt: skip
def test_the_failing_step_is_named(change, step):
    state = contract_state("poseidon2")
    proof = changed(proof_of(state, CONTRACT, [SLOT]), change)
    with pytest.raises(InvalidProof, match=step):
        check_proof(proof, root=state[0].root)


def test_a_proof_of_another_state_is_refused(state):
    accounts, _ = state
    proof = proof_of(state, CONTRACT, [SLOT])
    with pytest.raises(InvalidProof, match=r"accountProof.proof.proofRelatedNodes\[0\]: expected a path to the root"):
        check_proof(proof, root=accounts.scheme.empty_root)
    with pytest.raises(InvalidProof, match="expected the requested address"):
        check_proof(proof, root=accounts.root, address=USER)
    with pytest.raises(InvalidInput, match="root: expected 32 bytes"):
        check_proof(proof, root="0x00")


def test_neighbours_must_be_neighbours(state):
    """Two leaves with a third between them prove nothing, nor do two on the same side."""
    accounts, storage = contract_state(state[0].scheme.name, [(slot.to_bytes(32), 1) for slot in range(1, 8)])
    scheme = accounts.scheme
    hkeys = sorted(scheme.word_hash(slot.to_bytes(32)) for slot in range(1, 8))
    proof = proof_of((accounts, storage), CONTRACT, [bytes(32)])
    entry = proof["storageProofs"][0]

    def leaf_proof(hkey):
        [[found]] = storage.prove([hkey])
        nodes = [to_hex(node) for node in found.entries]
        return found.leaf_index, {"value": to_hex(found.leaf.value), "proofRelatedNodes": nodes}

    def shown(left, right):
        (left_index, left_proof), (right_index, right_proof) = leaf_proof(left), leaf_proof(right)
        parts = {"leftProof": left_proof, "rightProof": right_proof}
        indices = {"leftLeafIndex": left_index, "rightLeafIndex": right_index}
        return proof | {"storageProofs": [entry | parts | indices]}

    absent = scheme.word_hash(bytes(32))
    below = max(hkey for hkey in hkeys if hkey < absent)
    above = min(hkey for hkey in hkeys if hkey > absent)
    check_proof(shown(below, above), root=accounts.root)
    wrong = {
        (hkeys[0], above): "leftProof: expected a leaf whose next leaf is",
        (below, hkeys[-1]): "leftProof: expected a leaf whose next leaf is",
        (above, hkeys[-1]): "leftProof: expected a leaf with a key hash below",
        (hkeys[0], below): "rightProof: expected a leaf with a key hash above",
    }
    for (left, right), step in wrong.items():
        if (left, right) != (below, above):
            with pytest.raises(InvalidProof, match=step):
                check_proof(shown(left, right), root=accounts.root)


@given(st.recursive(st.none() | st.integers() | st.text(max_size=4), lambda inner: st.lists(inner) | st.dictionaries(
    st.sampled_from(["accountProof", "storageProofs", "key", "leafIndex", "proof", "value", "proofRelatedNodes"]), inner
)))  # fmt: skip
def test_anything_that_is_not_a_proof_is_refused_by_name(value):
    with pytest.raises(InvalidProof):
        check_proof(value, root=bytes(32))


def test_proofs_are_regenerated_as_equal_json(shared):
    """A recorded contract with storage: the tree of the published scenario gives its text."""
    folder = shared / "vectors" / "state"
    recorded_proof = json.loads((folder / "proof_poseidon2_contract_storage.json").read_bytes())
    scenarios = json.loads((folder / "tree_poseidon2.json").read_bytes())["scenarios"]
    operations = next(row["ops"] for row in scenarios if row["name"] == "contract storage written")
    trees = scenario_trees(scheme_of("poseidon2"), operations)
    result = proof_of((trees[""], trees["B"]), CONTRACT, [SLOT])
    assert json.dumps(result) == json.dumps(recorded_proof["result"])


@pytest.mark.parametrize(
    "in_python",
    [pytest.param(False, marks=pytest.mark.skipif(not HAS_NATIVE, reason=WITHOUT_NATIVE)), True],
    ids=["compiled package", "Python"],
)
def test_all_published_state_vectors(shared, in_python, monkeypatch):
    for hash_ in (MIMC, POSEIDON2):
        if in_python:
            monkeypatch.setitem(vars(hash_), "compiled", DIGESTS[hash_.name])
        assert (hash_.compiled is DIGESTS[hash_.name]) is in_python
    files = sorted((shared / "vectors" / "state").glob("*.json"))
    assert len(files) >= 21
    for path in files:
        data = json.loads(path.read_bytes())
        cases = list(run_state_file(data, path.name))
        assert cases
        assert [case for case in cases if not case[1]] == [], path.name


def test_the_runner_of_state_vectors_can_fail():
    """With a wrong digest, a wrong root, a damaged proof, and with what it does not know."""
    digest = {"hash": "Poseidon2", "vectors": [{"in": "0x00", "out": "0x00"}]}
    scenario = {"scheme": "mimc_bls12_377", "scenarios": [{"name": "x", "ops": [{"op": "expect", "topRoot": "0x00"}]}]}
    unknown = {"scheme": "mimc_bls12_377", "scenarios": [{"name": "x", "ops": [{"op": "jump"}]}]}
    accounts, storage = contract_state("poseidon2")
    proof = proof_of((accounts, storage), CONTRACT, [SLOT])
    proof["storageProofs"][0]["proof"]["value"] = "0x" + "00" * 32
    damaged = {"scheme": "poseidon2_koalabear", "topRoot": to_hex(accounts.root), "result": proof}
    for data in (digest, scenario, unknown, damaged, {"strange": 1}):
        cases = list(run_state_file(data, "file.json"))
        assert [passed for _, passed, _ in cases] == [False]
        assert cases[0][2]
