"""`rollup_getProof` as a function: which block is meant, which are refused, what is answered."""

import pytest

from feemodel.errors import InvalidInput, LimitExceeded, NotFinalized
from feemodel.ethereum._quantities import to_hex
from feemodel.ledger import Store, check_proof, get_proof, import_block, import_genesis
from tests.helpers.ledger_blocks import CODE, address, allocated, block, change, fields, slot, touch

USER, CONTRACT = to_hex(address(1)), to_hex(address(7))


@pytest.fixture(params=["poseidon2", "mimc"], scope="module")
def store(request, tmp_path_factory):
    with Store(tmp_path_factory.mktemp("store") / "ledger.db", hashing=request.param) as store:
        genesis = [allocated(address(1), balance=100), allocated(address(7), 1, 0, CODE, {slot(1): 11})]
        import_genesis(store, genesis)
        import_block(store, block(1, touch(7, (1, 11, 12), (2, 0, 1)), parent_hash=None))
        import_block(store, block(2, change(1, fields(0, 100), None)))
        import_block(store, block(3, touch(7, (1, 12, 0))))
        store.finalize(2)
        yield store


@pytest.mark.parametrize(("tag", "number"), [("finalized", 2), ("earliest", 0), ("0x0", 0), ("0x1", 1), ("0x2", 2)])
def test_every_final_block_is_proven_under_its_own_root(store, tag, number):
    proof = get_proof(store, CONTRACT, ["0x1", "0x2", "0x1"], tag)
    proven = check_proof(proof, root=store.block(number).root, address=CONTRACT, storage_keys=["0x1", "0x2", "0x1"])
    assert proven.storage == {to_hex(slot(1)): 11 if number == 0 else 12, to_hex(slot(2)): min(number, 1)}
    assert [entry["key"] for entry in proof["storageProofs"]] == [to_hex(slot(place)) for place in (1, 2, 1)]


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        ("latest", r"block latest \(3\) is not final: the newest final block is 2"),
        ("pending", r"block pending \(3\) is not final"),
        ("safe", r"block safe \(3\) is not final"),
        ("0x3", "block 0x3 is not final: the newest final block is 2"),
        ("0x77", "block 0x77 is not final: the newest final block is 2"),
        (hex(2**70), "is not final"),
    ],
)
def test_what_is_not_final_is_refused_with_what_is(store, tag, message):
    with pytest.raises(NotFinalized, match=message):
        get_proof(store, CONTRACT, [], tag)


def test_the_head_is_answered_when_it_is_final(tmp_path):
    with Store(tmp_path / "ledger.db") as store:
        with pytest.raises(NotFinalized, match="block finalized is not final: no block is final yet"):
            get_proof(store, USER, [], "finalized")
        import_genesis(store, [allocated(address(1))])
        with pytest.raises(NotFinalized, match=r"block earliest \(0\) is not final: no block is final yet"):
            get_proof(store, USER, [], "earliest")
        store.finalize(0)
        proofs = [get_proof(store, USER, ["0x1"], tag) for tag in ("latest", "pending", "safe", "finalized", "0x0")]
        assert all(proof == proofs[0] for proof in proofs)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (("0x12", [], "0x1"), "address: expected an address of 20 bytes"),
        ((USER[2:], [], "0x1"), "address: expected hexadecimal"),
        ((None, [], "0x1"), "address: expected hexadecimal"),
        ((USER, None, "0x1"), "storageKeys: expected a list"),
        ((USER, "0x1", "0x1"), "storageKeys: expected a list"),
        ((USER, ["0x1", "1"], "0x1"), r"storageKeys\[1\]: expected hexadecimal of 1 to 32 bytes"),
        ((USER, ["0xg"], "0x1"), r"storageKeys\[0\]: expected hexadecimal of 1 to 32 bytes, got '0xg'"),
        ((USER, ["0x" + "0" * 65], "0x1"), r"storageKeys\[0\]: expected hexadecimal of 1 to 32 bytes"),
        ((USER, [], "newest"), "block: expected a quantity .* or one of latest, pending, safe, finalized, earliest"),
        ((USER, [], "0x01"), "block: expected a quantity"),
        ((USER, [], None), "block: expected a quantity"),
    ],
)
def test_malformed_parameters_are_refused_by_name(store, params, message):
    with pytest.raises(InvalidInput, match=message):
        get_proof(store, *params)


def test_the_number_of_keys_is_limited(store):
    assert len(get_proof(store, CONTRACT, ["0x1"] * 1024, "0x0")["storageProofs"]) == 1024
    with pytest.raises(LimitExceeded, match="at most 1,024 per request, got 1,025"):
        get_proof(store, CONTRACT, ["0x1"] * 1025, "0x0")
