"""What one traced execution proves: against executing with other gas limits, on calls that try to prove it wrong."""

import random
from functools import partial

import pytest

from feemodel.ethereum import parse_call
from feemodel.ethereum._quantities import to_hex
from feemodel.execution._clients import message_of
from feemodel.execution._engines import engine_named
from feemodel.execution._estimate import estimate_gas
from feemodel.execution._message import Message
from feemodel.execution._state import Account, CallState
from tests.helpers.execution_engines import HAS_NATIVE, WITHOUT_NATIVE, address
from tests.helpers.gas_families import BALANCE, FAMILIES, family_calls, with_fork
from tests.helpers.searches import Asked, compared

pytestmark = pytest.mark.skipif(not HAS_NATIVE, reason=WITHOUT_NATIVE)

SENDER, TARGET, CALLEE = address(0x5E17DE5), address(0x7A67), address(0xCA11)
PLENTY = 10_000_000
CALL_CALLEE = f"5f5f5f5f5f73{CALLEE.hex()}5af1"


def traced_on(call_state, message, gas_limit=PLENTY):
    return engine_named("native").trace(call_state, message, gas_limit)


OLD = ("london", "paris", "shanghai", "cancun")


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
        execute, trace = (partial(method, call.call_state, message) for method in (engine.execute, engine.trace))
        wrong = wrong_about(execute, trace, upper, rng)
        assert wrong == [], (number, call)


def wrong_about(execute, trace, upper, rng):
    whole = trace(upper)
    needed = whole.outcome.peak
    limits = {upper, whole.minimum - 1, rng.randint(needed // 2, needed), rng.randint(needed, max(needed, upper))}
    return [
        (limit, *wrong)
        for limit in sorted(limits)
        if 21_000 <= limit <= upper and (wrong := wrong_about_one(execute, trace, limit, upper, rng))
    ]


def wrong_about_one(execute, trace, limit, upper, rng):
    found, expected = trace(limit), execute(limit)
    if found.outcome != expected:
        return ["the outcome itself"]
    if found.minimum > found.maximum:
        return []
    most = min(found.maximum, upper)
    within = {found.minimum, rng.randint(found.minimum, most), rng.randint(found.minimum, min(2 * found.minimum, most))}
    wrong = [
        other
        for other in within
        if (ended := execute(other)).succeeded != expected.succeeded or (found.oblivious and ended != expected)
    ]
    below = execute(found.minimum - 1)
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
