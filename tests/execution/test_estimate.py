"""The whole estimate: what a node answers, word for word, and the fee on top."""

import re

import pandas as pd
import pytest

from feemodel.errors import ExecutionFailed, InvalidInput, LimitExceeded
from feemodel.ethereum import parse_call
from feemodel.ethereum._transaction_fields import FIELD_NAMES
from feemodel.execution import Account, Block, CallState, Limits, estimate_gas, execute_call
from feemodel.execution._clients import message_of
from feemodel.execution._failures import revert_reason
from feemodel.execution._forks import fork_named
from tests.helpers.development import creation_address
from tests.helpers.execution_engines import ENGINES, HAS_NATIVE, WITHOUT_NATIVE, address

RICH, BROKE, TARGET = address(0x5E17DE5), address(0xB0), address(0x7A67)
RICH_TEXT, BROKE_TEXT, TARGET_TEXT = (f"0x{key.hex()}" for key in (RICH, BROKE, TARGET))
BLOB = "0x01" + "17" * 31
ERROR = "08c379a0" + "20".rjust(64, "0") + "0a".rjust(64, "0") + b"user error".hex().ljust(64, "0")


def call_state(code="", *, balance=10**18, fork="osaka", storage=None, **block):
    accounts = {
        RICH: Account(balance=balance, nonce=5),
        TARGET: Account(nonce=1, code=bytes.fromhex(code), storage=storage or {}),
    }
    return CallState(accounts=accounts, fork=fork_named(fork), block=Block(**block))


def reverting(data):
    """Code that reverts with these bytes, up to 255 of them."""
    size = len(data) // 2
    return f"60{size:02x}600a5f3960{size:02x}5ffd" + data


def call(**fields):
    return {"from": RICH_TEXT, "to": TARGET_TEXT, **fields}


def failed(action):
    with pytest.raises(ExecutionFailed) as caught:
        action()
    return caught.value.code, caught.value.message, caught.value.data


@pytest.fixture(params=ENGINES)
def engine(request):
    return request.param


native_only = pytest.mark.skipif(not HAS_NATIVE, reason=WITHOUT_NATIVE)


LISTS = {
    "authorizationList": [
        {"chainId": "0x1", "address": BROKE_TEXT, "nonce": "0x0", "yParity": "0x0", "r": "0x1", "s": "0x1"}
    ],
    "accessList": [{"address": BROKE_TEXT, "storageKeys": ["0x" + "00" * 32]}],
    "blobVersionedHashes": [BLOB],
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("fees", [{}, {"maxFeePerGas": "0x9"}])
def test_a_parsed_call_keeps_its_lists(engine, name, fees):
    """Its estimate, and its message, are those of the object that was parsed."""
    asked = call(data="0x00", **fees, **{name: LISTS[name]})
    parsed = parse_call(asked)

    assert estimate_gas(parsed, call_state("00"), engine=engine) == estimate_gas(asked, call_state("00"), engine=engine)
    assert message_of(parsed) != message_of(parse_call(call(data="0x00")))


@pytest.mark.parametrize("search", ["geth", "besu"])
def test_a_plain_transfer_takes_21000_and_one_execution(engine, search):
    found = estimate_gas(call(to=BROKE_TEXT, value=1), call_state(), search=search, engine=engine)

    assert (found.gas_limit, found.gas_used, found.executions) == (21_000, 21_000, 1)


@native_only
def test_besu_tries_a_contract_too_and_geth_does_not():
    assert estimate_gas(call(), call_state("00"), search="besu").executions == 1
    found = estimate_gas(call(), call_state("00"), search="geth")
    # At the bound and at 23,669, then 22,334, 21,666, 21,332 and 21,165, which is close enough to 20,999. The first
    # execution proves the others.
    assert (found.gas_limit, found.executions + found.proven) == (21_165, 6)
    # With GAS in it nothing is known: 21,004 at the bound, then every step.
    found = estimate_gas(call(), call_state("5a5000"), search="geth")
    assert (found.gas_limit, found.executions) == (21_169, 6)


def test_tolerance_zero_finds_the_least_that_succeeds(engine):
    state = call_state("6175305a11600957fe5b00")  # halts unless more than 30,000 gas are left after five

    found = estimate_gas(call(data="0x00"), state, tolerance=0, engine=engine)
    assert found.gas_limit == 21_004 + 5 + 30_001
    short = call(data="0x00", gas=found.gas_limit - 1)
    assert failed(lambda: estimate_gas(short, state, search="geth", engine=engine))[1] == "invalid opcode: INVALID"


def test_a_refund_does_not_lower_the_limit_below_what_is_needed(engine):
    state = call_state("5f5f555f600155", storage={0: 1, 1: 1})
    found = estimate_gas(call(data="0x00"), state, tolerance=0, engine=engine)

    assert found.gas_limit == 21_004 + 2 + 2 + 5_000 + 2 + 3 + 5_000
    assert found.gas_used == found.gas_limit - found.gas_limit // 5


def test_calldata_is_never_below_its_floor(engine):
    data = "0x" + "11" * 1_000

    for search in ("geth", "besu"):
        found = estimate_gas(call(data=data), call_state("00"), search=search, tolerance=0, engine=engine)
        assert found.gas_limit == 21_000 + 40 * 1_000


@pytest.mark.skipif(not HAS_NATIVE, reason=WITHOUT_NATIVE)
def test_init_code_beyond_the_limit_is_refused():
    words = failed(lambda: estimate_gas({"from": RICH_TEXT, "data": bytes(49_153)}, call_state()))[1]

    assert words == "max initcode size exceeded: code size 49153 limit 49152"
    assert (
        estimate_gas({"from": RICH_TEXT, "data": bytes(49_153)}, call_state(fork="paris")).gas_limit
        > 21_000 + 4 * 49_153
    )


def test_blobs_are_paid_for(engine):
    """A contract reads the hash of the first one; the sender must have what they cost at most."""
    code, blobs = "5f495f5260205ff3", {"blobVersionedHashes": [BLOB], "maxFeePerBlobGas": 10**12, "gasPrice": 7}

    assert execute_call(call(**blobs, gas=50_000), call_state(code), engine=engine).hex() == BLOB[2:]
    for search in ("geth", "besu"):
        assert estimate_gas(call(**blobs, data="0x00"), call_state("00"), search=search).gas_limit > 21_000
        short = call_state("00", balance=10**17)
        assert failed(lambda: estimate_gas(call(**blobs, data="0x00"), short, search=search))[0] in (-32_000, -32_004)  # noqa: B023


def test_an_access_list_is_paid_for_and_warms(engine):
    listed = [{"address": TARGET_TEXT, "storageKeys": ["0x" + "00" * 32]}]
    found = estimate_gas(call(data="0x00", accessList=listed), call_state("5f54"), tolerance=0, engine=engine)

    assert found.gas_limit == 21_004 + 2_400 + 1_900 + 2 + 100


@pytest.mark.parametrize("name", FIELD_NAMES["authorization_list"] + ("authorization_list",))
def test_an_authorization_is_paid_for(name):
    entry = {"chainId": "0x1", "address": TARGET_TEXT, "nonce": "0x0", "yParity": "0x0", "r": "0x1", "s": "0x1"}
    fields = call(data="0x00", **{name: [entry]})
    for given in (fields, pd.Series(fields)):
        assert estimate_gas(given, call_state("00"), tolerance=0).gas_limit == 21_004 + 25_000


def test_the_upper_bound_is_the_least_of_block_cap_and_transaction_cap(engine):
    bounds = [
        (call_state("5b5f56", gas_limit=300_000), Limits(), 300_000),
        (call_state("5b5f56"), Limits(gas_cap=100_000), 100_000),
    ]
    for state, limits, bound in bounds:
        words = failed(lambda: estimate_gas(call(), state, limits=limits, engine=engine))[1]  # noqa: B023
        assert words == f"gas required exceeds allowance ({bound})"


@pytest.mark.skipif(len(ENGINES) == 1, reason="sixteen million gas take the reference half a minute")
def test_no_transaction_may_have_more_than_the_cap_of_osaka():
    words = failed(lambda: estimate_gas(call(), call_state("5b5f56"), engine="native"))[1]

    assert words == "gas required exceeds allowance (16777216)"


def test_geth_takes_the_calls_gas_as_upper_bound_and_besu_ignores_it(engine):
    state = call_state("60015f55")

    assert failed(lambda: estimate_gas(call(gas=30_000), state, search="geth", engine=engine)) == (
        -32_000, "gas required exceeds allowance (30000)", None,
    )  # fmt: skip
    assert estimate_gas(call(gas=30_000), state, engine=engine).gas_limit > 43_105


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", "execution reverted"),
        (ERROR, "execution reverted: user error"),
        ("4e487b71" + "01".rjust(64, "0"), "execution reverted: assert(false)"),
        ("4e487b71" + "11".rjust(64, "0"), "execution reverted: arithmetic underflow or overflow"),
        ("4e487b71" + "99".rjust(64, "0"), "execution reverted: unknown panic code: 0x99"),
        ("deadbeef", "execution reverted"),
        (ERROR[:-64], "execution reverted"),  # cut off
        ("08c379a0" + "ff" * 64, "execution reverted"),  # offsets beyond the end
    ],
)
def test_a_revert_is_code_3_with_its_reason_and_its_data(engine, data, message):
    found = failed(lambda: estimate_gas(call(data="0x00"), call_state(reverting(data)), engine=engine))

    assert found == (3, message, f"0x{data}")


@native_only
@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("80", "stack underflow"),  # DUP1 of nothing
        ("5b5f56", "gas required exceeds allowance (200000)"),
        ("7f" + "ff" * 32 + "51", "gas required exceeds allowance (200000)"),  # memory that has no price
        ("67ffffffffffffffff51", "gas required exceeds allowance (200000)"),
        ("6501000000000051", "gas required exceeds allowance (200000)"),  # whose price is no number of 64 bits
    ],
)
def test_the_stack_and_memory_have_words_of_their_own(code, words):
    asked = call(data="0x00")

    assert failed(lambda: estimate_gas(asked, call_state(code, gas_limit=200_000), engine="native"))[1] == words


@native_only
@pytest.mark.parametrize(
    ("code", "gas", "words"),
    [
        ("6160015ff3", 10_000_000, "max code size exceeded: code size 24577 limit 24576"),
        ("6160015ff3", 200_000, "max code size exceeded: code size 24577 limit 24576"),
        ("6103e85ff3", 200_000, "gas required exceeds allowance (200000)"),
        ("60ef5f5360015ff3", 200_000, "invalid code: must not begin with 0xef"),
    ],
)
def test_code_that_cannot_be_created_has_words_of_its_own(code, gas, words):
    asked = {"from": RICH_TEXT, "data": f"0x{code}"}

    assert failed(lambda: estimate_gas(asked, call_state(gas_limit=gas), engine="native"))[1] == words


@native_only
@pytest.mark.parametrize(
    ("number", "data"),
    [
        (5, "0401".zfill(64) + "01".zfill(64) * 2),  # a length beyond 1,024 bytes
        (6, "ff" * 32),  # no element of the field
        (10, "00" * 192),  # a wrong version of the hash
        (0x0B, "01" * 256),  # zeros are missing
    ],
)
def test_a_precompile_that_refuses_its_input_says_why(number, data):
    asked = {"to": f"0x{number:040x}", "data": f"0x{data}"}

    words = failed(lambda: estimate_gas(asked, call_state(), search="geth", engine="native"))[1]
    assert re.fullmatch("precompiled contract failed: .{10,}", words)


@pytest.mark.parametrize("search", ["geth", "besu"])
def test_less_than_the_floor_of_calldata_is_too_little(engine, search):
    """21,000 gas and 4 for each zero byte pay for the execution; the floor is 10 each, EIP-7623."""
    asked = call(to=BROKE_TEXT, data="0x" + "00" * 1_000, gas=hex(26_000))
    state = call_state(gas_limit=26_000)

    words = failed(lambda: estimate_gas(asked, state, search=search, engine=engine))[1]
    assert words == "gas required exceeds allowance (26000)"


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -1, 1.8e19, "1"])
def test_seconds_that_are_no_time_are_refused(seconds):
    with pytest.raises(InvalidInput, match=r"limits.seconds: expected"):
        Limits(seconds=seconds)


@pytest.mark.parametrize("limits", [{"gas_cap": -1}, {"gas_cap": 2**63}, {"total_gas": 1.5}])
def test_limits_that_are_none_are_refused(limits):
    with pytest.raises(InvalidInput, match=f"limits.{next(iter(limits))}: expected"):
        Limits(**limits)


def test_an_account_without_funds_is_refused_and_an_override_helps(engine):
    poor = call(**{"from": BROKE_TEXT}, data="0x00")

    code, words, _ = failed(lambda: estimate_gas(poor, call_state("00"), engine=engine, limits=Limits()))
    assert code == -32_000
    assert words == (
        f"transaction up-front cost {7 * 16_777_216:#x} exceeds transaction sender account balance 0x0 "
        f"for sender {BROKE_TEXT}"
    )
    funded = {BROKE_TEXT: {"balance": hex(10**18)}}
    assert estimate_gas(poor, call_state("00"), overrides=funded, engine=engine).gas_limit > 21_000
    priced = poor | {"gasPrice": "0x64"}
    assert failed(lambda: estimate_gas(priced, call_state("00"), engine=engine))[:2] == (
        -32_004,
        "Upfront cost exceeds account balance",
    )
    assert estimate_gas(priced, call_state("00"), overrides=funded, engine=engine).gas_limit > 21_000


def test_geth_asks_no_funds_of_a_call_without_a_price(engine):
    poor = {"from": BROKE_TEXT, "to": TARGET_TEXT, "data": "0x00"}

    assert estimate_gas(poor, call_state("00"), search="geth", engine=engine).gas_limit > 21_000
    words = failed(
        lambda: estimate_gas(poor | {"gasPrice": 100, "value": 1}, call_state("00"), search="geth", engine=engine)
    )[1]
    assert words == "insufficient funds for transfer"
    words = failed(
        lambda: estimate_gas(poor | {"value": 1}, call_state("00", gas_limit=50_000), search="geth", engine=engine)
    )[1]
    assert words.startswith("failed with 50000 gas: insufficient funds for gas * price + value: address 0x")
    assert words.endswith("have 0 want 1")


def test_nobody_pays_for_a_call_without_a_sender(engine):
    assert estimate_gas({"to": TARGET_TEXT, "data": "0x00"}, call_state("00"), engine=engine).gas_limit > 21_000


def test_the_balance_caps_the_search(engine):
    """What 100,000 gas cost at the price: a call that spends all it gets finds no more."""
    state = call_state("5b5f56", balance=100_000 * 10 + 1)
    priced = call(gasPrice=10, value=1)

    for search in ("geth", "besu"):
        words = failed(lambda: estimate_gas(priced, state, search=search, engine=engine))[1]  # noqa: B023
        assert words == "gas required exceeds allowance (100000)"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (
            {"maxFeePerGas": 6},
            "{refused}max fee per gas less than block base fee: address {who}, maxFeePerGas: 6, baseFee: 7",
        ),
        (
            {"maxFeePerGas": 8, "maxPriorityFeePerGas": 9},
            "{refused}max priority fee per gas higher than max fee per gas: "
            "address {who}, maxPriorityFeePerGas: 9, maxFeePerGas: 8",
        ),
        ({"chainId": 1}, "chainId does not match node's (have=1, want=1337)"),
    ],
)
def test_geth_says_what_is_wrong_with_the_fees(fields, words):
    who = "0x0000000000000000000000000000000005E17de5"
    state, limits = call_state("00"), Limits(gas_cap=50_000_000)
    found = failed(lambda: estimate_gas(call(**fields), state, search="geth", limits=limits))

    expected = words.format(who=who, refused="failed with 16777216 gas: ")
    assert (found[0], found[1].lower()) == (-32_000, expected.lower())


def test_contracts_read_the_price_as_the_node_has_it(engine):
    """The base fee: Besu's is the block's; geth's is zero unless a price is given."""
    stores_base_fee = "485f55"
    gas = {
        (search, price): estimate_gas(
            call(data="0x00", **({"gasPrice": price} if price else {})),
            call_state(stores_base_fee),
            search=search,
            tolerance=0,
            engine=engine,
        ).gas_limit
        for search in ("geth", "besu")
        for price in (None, 9)
    }

    assert gas["besu", None] == gas["besu", 9] == gas["geth", 9] == 21_004 + 4 + 22_100
    # Writing zero over zero takes 2,200, and EIP-2200 wants more than 2,300 to be left before it.
    assert gas["geth", None] == 21_004 + 4 + 2_301


def test_executions_together_have_a_budget(engine):
    with pytest.raises(LimitExceeded, match="the executions of one estimate took more than 50,000 gas together"):
        estimate_gas(call(data="0x00"), call_state("5a5060015f55"), limits=Limits(total_gas=50_000), engine=engine)


@native_only
def test_one_execution_proves_the_others():
    """Where it is oblivious: of a call into nothing below the limit, of a single frame on both sides of it."""
    stores, calls = call_state("60015f55"), call_state(f"5f5f5f5f5f73{BROKE.hex()}5af15060015f55")

    def counts(state, **options):
        found = estimate_gas(call(data="0x00"), state, engine="native", **options)
        return found.executions, found.proven

    # 46,129, 44,618, 43,863 and 43,485 are tried after the bound, for a call that needs 43,109.
    assert [counts(stores, search=search) for search in ("geth", "besu")] == [(1, 4), (1, 4)]
    assert counts(stores, tolerance=0)[0] == 1
    assert counts(calls)[0] == 1
    assert counts(call_state("5a5060015f55")) == (5, 0)  # GAS proves nothing


@pytest.mark.parametrize(
    ("there", "collides"),
    [
        (Account(balance=7), False),
        (Account(storage={1: 0}), False),
        (Account(storage={1: 2}), True),
        (Account(nonce=1), True),
        (Account(code=b"\0"), True),
    ],
)
def test_a_contract_is_created_where_there_is_neither_code_nor_nonce_nor_storage(engine, there, collides):
    """EIP-684 and EIP-7610."""
    state = call_state()
    place = creation_address(RICH, state.account(RICH).nonce)
    state = CallState(accounts={**state.accounts, place: there})

    def found():
        return estimate_gas({"from": RICH_TEXT, "data": "0x600160005500"}, state, engine=engine, tolerance=0)

    if collides:
        assert failed(found)[1] == "contract address collision"
    else:
        assert found().gas_limit == 21_000 + 32_000 + 2 + 4 * 16 + 2 * 4 + 6 + 22_100


def test_a_sender_whose_nonces_are_used_up_is_refused():
    used_up = {RICH_TEXT: {"nonce": hex(2**64 - 1)}}

    assert failed(lambda: estimate_gas(call(), call_state(), overrides=used_up))[1].startswith(
        "nonce has max value: address 0x"
    )


def test_an_account_cannot_hold_more_than_a_word(engine):
    full = {TARGET_TEXT: {"balance": hex(2**256 - 1)}}

    words = failed(lambda: estimate_gas(call(value=1, data="0x00"), call_state("00"), overrides=full, engine=engine))[1]
    assert words == "an account would hold more than 2**256 - 1 wei"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": 1}, "tolerance: expected a number of at least 0 and below 1"),
        ({"tolerance": -0.1}, "tolerance: expected a finite number, at least 0"),
        ({"search": "anvil"}, "search: expected one of geth, besu, intact, got 'anvil'"),
        ({"engine": "evm"}, "engine: expected one of auto, native, reference"),
    ],
)
def test_a_wrong_option_is_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        estimate_gas(call(), call_state(), **options)


def test_a_call_returns_what_it_returns(engine):
    state = call_state("5f545f5260205ff3", storage={0: 7})

    assert int.from_bytes(execute_call(call(), state, engine=engine), "big") == 7
    changed = {TARGET_TEXT: {"stateDiff": {"0x" + "00" * 32: "0x" + "05".rjust(64, "0")}}}
    assert int.from_bytes(execute_call(call(), state, overrides=changed, engine=engine), "big") == 5


def test_a_call_that_fails_says_why(engine):
    assert failed(lambda: execute_call(call(gas=30_000), call_state("5b5f56"), engine=engine))[1] == "out of gas"
    words = failed(lambda: execute_call(call(gas=100), call_state("00"), engine=engine))[1]
    assert words == "err: intrinsic gas too low: have 100, want 21000 (supplied gas 100)"
    assert failed(lambda: execute_call(call(), call_state(reverting(ERROR)), engine=engine))[0] == 3
    asked = {"to": TARGET_TEXT, "value": 5}
    words = failed(lambda: execute_call(asked, call_state("00"), engine=engine, limits=Limits()))[1]
    assert words == (
        "err: insufficient funds for gas * price + value: address 0x0000000000000000000000000000000000000000 "
        "have 0 want 5 (supplied gas 50000000)"
    )


def test_a_reason_may_be_no_text():
    reason = revert_reason(bytes.fromhex(ERROR).replace(b"user error", b"\xff" * 10))

    assert reason == "\ufffd" * 10
