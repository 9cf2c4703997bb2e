"""`rollup_getProof` as a function: which block is meant, which are refused, what is answered."""

import pytest

from feemodel.errors import InvalidInput, LimitExceeded, NotFinalized
from feemodel.ethereum._quantities import to_hex
from feemodel.ledger import Store, get_proof, import_block, import_genesis
from tests.helpers.ledger_blocks import address, allocated, block, change, fields

USER, CONTRACT = to_hex(address(1)), to_hex(address(7))


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with Store(tmp_path_factory.mktemp("store") / "ledger.db") as store:
        import_genesis(store, [allocated(address(1)), allocated(address(7))])
        for number in (1, 2, 3):
            import_block(store, block(number, change(1, fields(number - 1), fields(number)), parent_hash=None))
        store.finalize(2)
        yield store


def test_a_tag_is_the_block_with_its_number(store):
    proofs = {tag: get_proof(store, USER, [], tag) for tag in ("finalized", "0x2", "earliest", "0x0")}
    assert proofs["finalized"] == proofs["0x2"] != proofs["earliest"] == proofs["0x0"]


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
        ((USER, "0x1", "0x1"), "storageKeys: expected a list"),
        ((USER, ["0x1", "1"], "0x1"), r"storageKeys\[1\]: expected hexadecimal of 1 to 32 bytes"),
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
