"""What one traced execution proves: against executing with other gas limits, on calls that try to prove it wrong."""

import random

import pytest

from feemodel.ethereum import parse_call
from feemodel.ethereum._quantities import to_hex
from feemodel.execution._clients import message_of
from feemodel.execution._engines import engine_named
from feemodel.execution._estimate import estimate_gas
from feemodel.execution._forks import fork_named
from feemodel.execution._message import Message
from feemodel.execution._state import Account, CallState
from tests.helpers.execution_engines import HAS_NATIVE, WITHOUT_NATIVE, address
from tests.helpers.gas_families import BALANCE, FAMILIES, family_calls, with_fork
from tests.helpers.searches import Asked, compared, generated

pytestmark = pytest.mark.skipif(not HAS_NATIVE, reason=WITHOUT_NATIVE)

SENDER, TARGET, CALLEE = address(0x5E17DE5), address(0x7A67), address(0xCA11)
PLENTY = 10_000_000
CALL_CALLEE = f"5f5f5f5f5f73{CALLEE.hex()}5af1"


def traced(code, callee="", *, fork="osaka", gas_price=0, to=TARGET, data=b"", sender_code="", storage=None, **fields):
    accounts = {
        SENDER: Account(balance=BALANCE, nonce=1, code=bytes.fromhex(sender_code)),
        TARGET: Account(nonce=1, code=bytes.fromhex(code), storage=storage or {}),
        CALLEE: Account(nonce=1, code=bytes.fromhex(callee)),
    }
    message = Message(sender=SENDER, to=to, data=data, gas_price=gas_price, **fields)
    return traced_on(CallState(accounts=accounts, fork=fork_named(fork)), message)


def traced_on(call_state, message, gas_limit=PLENTY):
    return engine_named("native").run(call_state, lambda execute: execute.trace(message, gas_limit))


@pytest.mark.parametrize(
    ("code", "least"),
    [
        ("00", 21_000),
        ("60015f55", 21_000 + 3 + 2 + 22_100),  # a new slot
        ("5f545f55", 21_000 + 2 + 2_100 + 2 + 2_301),  # 100 gas, but 2,301 must be left, EIP-2200
        ("5f545f556103e85f2050", 21_000 + 2 + 2_100 + 2 + 2_301),  # 306 more gas come from what must be left
    ],
)
def test_a_single_frame_needs_what_it_uses_and_the_sentry(code, least):
    found = traced(code)

    assert (found.minimum, found.oblivious, found.single_frame) == (least, True, True)


def test_what_cannot_be_paid_for_reads_nothing():
    """Before EIP-150 a callee has just what its caller names, here 1 gas, and GAS takes 2."""
    call_state = CallState(
        accounts={
            SENDER: Account(balance=BALANCE, nonce=1),
            TARGET: Account(nonce=1, code=bytes.fromhex(f"60006000600060006000{'73' + CALLEE.hex()}6001f100")),
            CALLEE: Account(nonce=1, code=bytes.fromhex("5a00")),
        },
        fork=fork_named("frontier"),
    )
    message = Message(sender=SENDER, to=TARGET)
    found = engine_named("native").run(call_state, lambda execute: execute.trace(message, PLENTY))

    assert (found.outcome.succeeded, found.oblivious) == (True, True)


def test_a_call_must_leave_its_caller_one_64th():
    """The callee takes 22,105; 22,455 must be there, of which the caller keeps 350."""
    found = traced(CALL_CALLEE + "00", "60015f55")
    before = 21_000 + 5 * 2 + 3 + 2 + 2_600

    assert (found.minimum, found.single_frame) == (before + 22_105 + 22_104 // 63, False)
    assert found.minimum - before - (found.minimum - before) // 64 == 22_105


def test_a_value_gives_the_callee_a_stipend():
    """The callee takes less than 2,300: it needs nothing of its caller."""
    found = traced(CALL_CALLEE.replace("5f73", "600173", 1) + "00", "5a50", value=1)

    assert not found.oblivious  # GAS
    found = traced(CALL_CALLEE.replace("5f73", "600173", 1) + "00", "5f50", value=1)
    assert found.minimum == 21_000 + 4 * 2 + 3 + 3 + 2 + 2_600 + 9_000
    assert found.oblivious


def test_the_deposit_of_a_created_contract_is_needed_inside():
    """Init code that returns 32 zeros: 2 + 3 + 3 for memory, then 6,400 for the deposit."""
    found = traced("6360205ff35f526004601c5ff000")
    inside = 3 + 2 + 3 + 6_400

    assert found.minimum == 21_000 + 3 + 2 + 6 + 3 + 3 + 2 + 32_000 + 2 + inside + (inside - 1) // 63
    assert not found.single_frame


@pytest.mark.parametrize(
    ("code", "callee", "oblivious"),
    [
        ("5a50", "", False),
        (CALL_CALLEE, "", True),  # GAS at once before a call: all but 1/64
        (CALL_CALLEE.replace("5af1", "61ffff5a03f1"), "", False),
        (CALL_CALLEE, "fe", False),  # a halt takes what it is given
        (CALL_CALLEE, "5f5ffd", True),
        ("3231", "", True),  # of a sender who pays nothing
    ],
)
def test_reading_gas_is_seen(code, callee, oblivious):
    assert traced(code, callee).oblivious == oblivious


PAYER = SENDER.hex()


@pytest.mark.parametrize(
    ("code", "to", "oblivious"),
    [
        ("3231", TARGET, False),
        (f"73{PAYER}31", TARGET, False),
        (f"7fffffffffffffffffffffffff{PAYER}31", TARGET, False),  # only the last twenty bytes are the address
        (f"73{PAYER}3b73{PAYER}3f", TARGET, True),  # its code does not depend on what it pays
        ("47", TARGET, True),  # the contract's own
        ("47", SENDER, False),
        ("5f5f5f5f670de0b6b3a763ffff5f5af1", SENDER, False),  # a value that it cannot pay with this limit
        ("5f5f670de0b6b3a763fffff0", SENDER, False),
        ("5f5f5f5f60015f5af1", SENDER, True),
        ("5fff", SENDER, False),  # all that it has moves to another account
        ("5fff", TARGET, True),
    ],
)
def test_reading_the_balance_that_pays_is_seen(code, to, oblivious):
    codes = {"sender_code": code} if to == SENDER else {"code": code}
    found = traced(**({"code": ""} | codes), to=to, gas_price=7)

    assert found.outcome.succeeded
    assert found.oblivious == oblivious
    assert traced(**({"code": ""} | codes), to=to, gas_price=0).oblivious


def test_the_rules_before_the_sentry_and_before_the_64th():
    assert traced("5f545f55".replace("5f", "6000"), fork="byzantium").minimum == 21_000 + 3 + 200 + 3 + 5_000
    asks = f"6000600060006000600073{CALLEE.hex()}619c40f100"  # 40,000 gas for one that takes 20,006
    assert traced(asks, "6001600055", fork="homestead").minimum == 21_000 + 7 * 3 + 40 + 40_000
    assert traced("5a50", fork="frontier").oblivious is False
    assert traced(asks.replace("619c40", "5a6120"), "", fork="homestead").oblivious is False


@pytest.mark.parametrize("value", [0, 1])
@pytest.mark.parametrize("callee", ["", "6001600055"])
def test_before_eip_150_a_halt_needs_nothing_of_its_calls(callee, value):
    """Where a call cannot be given just what it names, the caller halts too; and it has no ether to send."""
    asks = f"600060006000600060{value:02x}73{CALLEE.hex()}619c40f1fe"
    accounts = {
        SENDER: Account(balance=BALANCE, nonce=1),
        TARGET: Account(nonce=1, code=bytes.fromhex(asks)),
        CALLEE: Account(nonce=1, code=bytes.fromhex(callee)),
    }
    call_state, message = CallState(accounts=accounts, fork=fork_named("homestead")), Message(sender=SENDER, to=TARGET)
    found = engine_named("native").run(call_state, lambda execute: execute.trace(message, PLENTY))

    assert (found.outcome.succeeded, found.minimum) == (False, 21_000)


def test_a_selfdestruct_that_cannot_be_paid_for_reads_no_balance():
    """With less gas the sender keeps more, and it costs no less."""
    sender = Account(balance=BALANCE, nonce=1, code=bytes.fromhex("5f73" + "99" * 20 + "ff"))
    message = Message(sender=SENDER, to=SENDER, gas_price=7)
    found = engine_named("native").run(
        CallState(accounts={SENDER: sender}), lambda execute: execute.trace(message, 50_000)
    )

    assert (found.outcome.succeeded, found.minimum, found.maximum) == (False, 21_000, 50_000)


OLD = ("frontier", "homestead", "tangerine_whistle", "spurious_dragon", "byzantium", "istanbul", "berlin", "shanghai")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("old", [False, True])
def test_a_trace_is_right_about_every_other_limit(family, old):
    """Of executions that succeed and that fail, with as much gas as there may be, and with just too little."""
    engine = engine_named("native")
    for number, call in enumerate(family_calls(7, 8, (family,))):
        rng = random.Random(number)
        call = with_fork(call, rng.choice(OLD)) if old else call
        price = int(call.call.get("gasPrice", "0x0"), 16)
        message = message_of(parse_call(call.call), gas_price=price, base_fee=min(price, 7), pays="from" in call.call)
        upper = min(PLENTY, (BALANCE - message.value) // price if price else PLENTY)
        wrong = engine.run(call.call_state, lambda execute: wrong_about(execute, message, upper, rng))  # noqa: B023
        assert wrong == [], (number, call)


def wrong_about(execute, message, upper, rng):
    whole = execute.trace(message, upper)
    needed = whole.outcome.peak
    limits = {upper, whole.minimum - 1, rng.randint(needed // 2, needed), rng.randint(needed, max(needed, upper))}
    return [
        (limit, *wrong)
        for limit in sorted(limits)
        if 21_000 <= limit <= upper and (wrong := wrong_about_one(execute, message, limit, upper, rng))
    ]


def wrong_about_one(execute, message, limit, upper, rng):
    found, expected = execute.trace(message, limit), execute(message, limit)
    if found.outcome != expected:
        return ["the outcome itself"]
    if found.minimum > found.maximum:
        return []
    most = min(found.maximum, upper)
    within = {found.minimum, rng.randint(found.minimum, most), rng.randint(found.minimum, min(2 * found.minimum, most))}
    wrong = [
        other
        for other in within
        if (ended := execute(message, other)).succeeded != expected.succeeded or (found.oblivious and ended != expected)
    ]
    below = execute(message, found.minimum - 1)
    if (found.oblivious and below == expected) or (found.single_frame and below.succeeded):
        wrong.append(found.minimum - 1)
    return wrong


def test_a_limit_may_succeed_where_one_below_the_least_fails():
    """So limits below the least are executed: a failure of the callee is ignored, and less is left to do after it."""
    clears = "".join(f"5f60{slot:02x}55" for slot in range(20))  # 5,000 gas each, of which a fifth is refunded
    works = "6175305f2050"  # about 10,000 gas, after a success only
    code = CALL_CALLEE + f"1560{len(bytes.fromhex(CALL_CALLEE)) + 10:02x}57{works}5b00"
    accounts = {
        SENDER: Account(balance=BALANCE),
        TARGET: Account(nonce=1, code=bytes.fromhex(code)),
        CALLEE: Account(nonce=1, code=bytes.fromhex(clears), storage=dict.fromkeys(range(20), 1)),
    }
    asked = Asked("", {"from": to_hex(SENDER), "to": to_hex(TARGET), "data": "0x00"}, CallState(accounts=accounts))
    found = traced_on(asked.call_state, Message(sender=SENDER, to=TARGET, data=b"\0"))
    estimate = estimate_gas(asked.call, asked.call_state, search="geth", tolerance=0, engine="native")

    assert found.oblivious
    assert not traced_on(
        asked.call_state, Message(sender=SENDER, to=TARGET, data=b"\0"), found.minimum - 1
    ).outcome.succeeded
    assert estimate.gas_limit < 0.95 * found.minimum
    assert compared(iter([asked]))[0] == []


@pytest.mark.parametrize("family", FAMILIES)
def test_the_search_with_proven_limits_answers_as_the_one_that_executes_all(family):
    """`tests/system` compares real calls too."""
    calls = (asked for asked in generated(11, len(FAMILIES) * 6) if asked.name == family)
    differences, counts = compared(calls)

    assert differences == []
    assert sum(counts.values()) > 0
