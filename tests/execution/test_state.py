"""States and overrides."""

import pickle

import pytest

from feemodel.errors import InvalidInput
from feemodel.execution import Account, CallState, parse_overrides
from tests.helpers.execution_engines import address

HOLDER, OTHER = address(0xAA), address(0xBB)
HOLDER_TEXT = "0x" + HOLDER.hex()
STATE = CallState(accounts={HOLDER: Account(balance=5, nonce=1, code=b"\x00", storage={0: 7, 1: 8})})
ONE, TWO = "0x" + "01".rjust(64, "0"), "0x" + "02".rjust(64, "0")


@pytest.mark.parametrize(
    ("override", "account"),
    [
        ({"balance": "0x10"}, Account(16, 1, b"\x00", {0: 7, 1: 8})),
        ({"nonce": "0x2"}, Account(5, 2, b"\x00", {0: 7, 1: 8})),
        ({"code": "0x"}, Account(5, 1, b"", {0: 7, 1: 8})),
        ({"stateDiff": {ONE: TWO}}, Account(5, 1, b"\x00", {0: 7, 1: 2})),
        ({"state": {ONE: TWO}}, Account(5, 1, b"\x00", {1: 2})),
        ({"state": {}}, Account(5, 1, b"\x00", {})),
        ({"balance": None}, Account(5, 1, b"\x00", {0: 7, 1: 8})),
        ({"balance": 16, "stateDiff": {1: 2}}, Account(16, 1, b"\x00", {0: 7, 1: 2})),
    ],
)
def test_an_override_replaces_what_it_names(override, account):
    found = STATE.overridden({HOLDER_TEXT: override}).account(HOLDER)

    assert (found.balance, found.nonce, found.code) == (account.balance, account.nonce, account.code)
    assert dict(found.storage) == account.storage


def test_overrides_add_up():
    twice = STATE.overridden({HOLDER: {"balance": 1}}).overridden({HOLDER: {"nonce": 9}})

    assert (twice.account(HOLDER).balance, twice.account(HOLDER).nonce) == (1, 9)


def test_an_account_can_be_emptied():
    empty = STATE.overridden({HOLDER: {"balance": 0, "nonce": 0, "code": b"", "state": {}}})

    assert empty.account(HOLDER) == Account()


def test_a_world_can_be_sent_to_another_process():
    changed = STATE.overridden({HOLDER: {"stateDiff": {1: 2}}})

    assert pickle.loads(pickle.dumps(changed)) == changed


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ([], "overrides: expected an object of addresses"),
        ({"0x12": {}}, r"overrides\.0x12: expected an address of 20 bytes, counted 1"),
        ({"holder": {}}, r"overrides\.holder: expected hexadecimal data that starts with 0x"),
        ({5: {}}, r"overrides\.5: expected hexadecimal data"),
        ({HOLDER_TEXT: None}, f"overrides.{HOLDER_TEXT}: expected an object of balance, nonce, code, state, stateDiff"),
        ({HOLDER_TEXT: {}, HOLDER_TEXT.upper().replace("X", "x"): {}}, "expected each address only once"),
        ({HOLDER_TEXT: {"balance": "5"}}, f"overrides.{HOLDER_TEXT}.balance: expected a quantity"),
        ({HOLDER_TEXT: {"balance": "0x" + "1" * 65}}, "balance: expected a number below 2\\*\\*256"),
        ({HOLDER_TEXT: {"nonce": "0x10000000000000000"}}, "nonce: expected a number below 2\\*\\*64"),
        ({HOLDER_TEXT: {"balance": -1}}, "balance: expected an integer of at least 0"),
        ({HOLDER_TEXT: {"code": "0x0"}}, "code: expected an even number of hexadecimal digits"),
        ({HOLDER_TEXT: {"state": {}, "stateDiff": {}}}, "stateDiff: expected either state or stateDiff"),
        ({HOLDER_TEXT: {"stateDiff": {"0x1": ONE}}}, "stateDiff.0x1: expected an even number"),
        ({HOLDER_TEXT: {"stateDiff": {ONE: "0x01"}}}, f"stateDiff.{ONE}: expected 32 bytes, counted 1"),
        ({HOLDER_TEXT: {"stateDiff": 7}}, "stateDiff: expected an object of slots"),
        ({HOLDER_TEXT: {"movePrecompileToAddress": HOLDER_TEXT}}, "movePrecompileToAddress: expected one of balance"),
    ],
)
def test_a_wrong_override_is_refused_with_its_path(overrides, message):
    with pytest.raises(InvalidInput, match=message):
        parse_overrides(overrides)
