"""The draft gas of Ethereum's next upgrade, against the tables of its proposals and go-ethereum's tests."""

import pytest

from feemodel.rollups import read_rules
from tests.conftest import ROOT
from tests.helpers.glamsterdam import draft

# kind, value, recipient exists, delegated -> intrinsic, runtime execution, runtime state: EIP-2780's reference table
RECIPIENTS = [
    ("self", True, True, False, (12_000, 0, 0)), ("call", False, True, False, (15_000, 0, 0)),
    ("call", True, True, False, (21_000, 0, 0)), ("call", False, True, True, (15_000, 3_000, 0)),
    ("call", True, True, True, (21_000, 3_000, 0)), ("self", True, True, True, (12_000, 3_000, 0)),
    ("call", True, False, False, (21_000, 0, 183_600)), ("call", False, False, False, (15_000, 0, 0)),
    ("create", False, False, False, (24_000, 0, 183_600)), ("create", True, False, False, (24_000, 0, 183_600)),
    ("create", True, True, False, (24_000, 0, 0)),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value", "exists", "delegated", "expected"), RECIPIENTS)
def test_the_reference_table_of_eip_2780(kind, value, exists, delegated, expected):
    assert draft.recipient_gas(kind=kind, has_value=value, exists=exists, delegated=delegated) == expected


# arguments -> gas: go-ethereum at 02b73d4, TestIntrinsicGas
INTRINSIC = [
    ({"kind": "call", "addresses": 2, "storage_keys": 3}, 35_504),
    ({"kind": "create", "nonzero_bytes": 32, "addresses": 1, "storage_keys": 1}, 32_742),
    ({"kind": "call", "nonzero_bytes": 100, "addresses": 1, "storage_keys": 1, "authorizations": 1}, 32_644),
]


@pytest.mark.parametrize(("terms", "expected"), INTRINSIC)
def test_intrinsic_gas_is_go_ethereum_s(terms, expected):
    assert draft.intrinsic_gas(has_value=False, **terms) == expected


@pytest.mark.parametrize(("length", "addresses", "keys", "expected"), [
    (0, 0, 0, 12_000), (1_024, 0, 0, 77_536), (0, 2, 0, 14_560), (100, 2, 3, 27_104),
])  # fmt: skip
def test_the_calldata_floor_is_go_ethereum_s(length, addresses, keys, expected):
    """TestFloorDataGas."""
    assert draft.calldata_floor(length, base=12_000, addresses=addresses, storage_keys=keys) == expected


# original, values -> execution without the pushes, state, refund: go-ethereum's TestEIP8038SStore
STORED = [
    (1, [1], (2_100, 0, 0)), (0, [1], (12_100, 97_920, 0)), (1, [2], (12_100, 0, 0)), (1, [0], (12_100, 0, 11_616)),
    (0, [0, 1], (12_200, 97_920, 0)), (1, [1, 2], (12_200, 0, 0)), (1, [1, 0], (12_200, 0, 11_616)),
    (0, [1, 0, 1], (22_300, 97_920, 10_000)), (1, [0, 1, 0], (22_300, 0, 21_616)),
]  # fmt: skip


@pytest.mark.parametrize(("original", "values", "expected"), STORED)
def test_storage_gas_is_go_ethereum_s(original, values, expected):
    assert draft.storage_gas(original, values) == expected


def test_a_slot_is_reset_by_its_value_alone():
    """Large numbers, of which Python keeps no single copy; and a third value that is larger than the first two."""
    assert draft.storage_gas(10**6, [10**7, int("1000000"), 10**8]) == (22_300, 0, 10_000)
    assert draft.storage_gas(1, [2, 3]) == (12_200, 0, 0)


def test_only_a_creation_pays_for_init_code():
    assert draft.intrinsic_gas(kind="self", has_value=False, nonzero_bytes=32) == 12_000 + 16 * 32


def test_state_costs_1_530_gas_a_byte():
    """EIP-8037: 64 bytes of a slot, 120 of an account, 23 of an authorization."""
    assert (draft.SLOT_STATE_GAS, draft.ACCOUNT_STATE_GAS, draft.AUTHORIZATION_STATE_GAS) == (97_920, 183_600, 35_190)


def test_a_system_call_may_fill_sixteen_slots():
    """EIP-8037: 30,000,000 + 16 · 64 · 1,530."""
    assert draft.SYSTEM_CALL_GAS == 31_566_720


def test_what_is_reset_in_a_transaction_costs_no_state():
    assert draft.storage_gas(0, [1, 0]).state_gas == 0
    assert draft.storage_gas(5, [0, 5]).refund == 10_000


@pytest.mark.parametrize(("limit", "intrinsic", "expected"), [
    (300_000, 21_000, (279_000, 0)), (20_000_000, 24_000, (16_753_216, 3_222_784)), (21_000, 21_000, (0, 0)),
])  # fmt: skip
def test_what_a_limit_says_beyond_the_cap_is_the_reservoir(limit, intrinsic, expected):
    assert draft.split_gas_limit(limit, intrinsic) == expected


def test_blocks_count_execution_and_state_apart():
    assert draft.block_gas([(100, 200)]) == 200
    used = draft.transaction_gas(
        20_000_000, gas_left=3_000_000, reservoir=2_000_000, refund_counter=0, state_gas=183_600, floor=12_000
    )
    assert used == (15_000_000, 183_600, 14_816_400)


def test_posting_a_blob_gets_cheaper_and_calldata_dearer():
    """An inbox without code: 15,000 gas for 21,000; a batch in calldata pays 64 a byte for 40."""
    assert draft.intrinsic_gas(kind="call", has_value=False) == 15_000
    assert draft.calldata_floor(100_000, base=15_000) == 6_415_000


# zero and non-zero bytes, new and changed slots, other gas -> today, draft; a slot is cold, by hand:
# today 22,100 and 5,000 (EIP-2929), in the draft 12,100 + 97,920 and 12,100
POSTINGS = [
    (0, 0, 2, 3, 7, (80_207, 271_347)), (0, 20, 1, 0, 0, (43_420, 125_340)),
    (10, 20, 0, 0, 0, (21_900, 16_920)),  # 10 · (10 + 4 · 20) and 64 · 30
    (10, 20, 0, 0, 10_000, (31_360, 25_360)),
]  # fmt: skip


@pytest.mark.parametrize(("zero", "nonzero", "new", "changed", "other", "expected"), POSTINGS)
def test_posting_pays_for_bytes_and_slots_or_the_floor(zero, nonzero, new, changed, other, expected):
    found = draft.posting_gas(
        zero_bytes=zero, nonzero_bytes=nonzero, new_slots=new, changed_slots=changed, other_gas=other
    )

    assert found == expected


@pytest.mark.parametrize(("size", "words"), [(0, 0), (1, 1), (32, 1), (33, 2), (64, 2), (65, 3), (1_000, 32)])
def test_code_is_hashed_by_the_word(size, words):
    assert draft.deposited_code_gas(size) == (1_530 * size, 6 * words)


def test_posting_under_the_draft_by_hand():
    """EIP-2780: 15,000 for 21,000; EIP-7976: 64 a byte for 40; a new slot 110,020 for 22,100, a changed one 12,100."""
    assert draft.posting_gas() == (21_000, 15_000)
    assert draft.posting_gas(new_slots=1, changed_slots=1) == (21_000 + 22_100 + 5_000, 15_000 + 110_020 + 12_100)
    assert draft.posting_gas(nonzero_bytes=1_000) == (61_000, 79_000)
    assert draft.posting_gas(zero_bytes=1_000) == (31_000, 79_000)
    assert draft.posting_gas(nonzero_bytes=1_000, other_gas=10**6) == (1_037_000, 1_031_000)


def test_the_shipped_file_of_rules_has_the_gas_of_a_submission_with_one_new_slot():
    today, then = draft.posting_gas(new_slots=1, other_gas=65_250 - 21_000 - 22_100)
    found = read_rules(ROOT / "data" / "rules" / "glamsterdam-draft.toml")

    assert (today, then) == (65_250, found.chains["linea"].at()["execution_gas"])
