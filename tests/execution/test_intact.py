"""Limits that keep every frame as it is with the upper bound: against executing with every other limit."""

import math
import random
from collections import Counter
from dataclasses import replace
from functools import partial

import pytest

from feemodel.errors import ExecutionFailed, InvalidInput, LimitExceeded
from feemodel.ethereum._quantities import to_hex
from feemodel.execution import Account, CallState, Limits, Message, estimate_gas
from feemodel.execution._engines import engine_named
from feemodel.execution._outcome import Outcome
from feemodel.execution._search import Search
from tests.helpers.execution_engines import HAS_NATIVE, WITHOUT_NATIVE, address

SENDER, TARGET, CALLEE = address(0x5E17DE5), address(0x7A67), address(0xCA11)
CALLEES = [address(0xCA12), address(0xCA13), address(0xCA14)]
CALL_CALLEE = f"5f5f5f5f5f73{CALLEE.hex()}5af1"
STORES = "60015f55"

needs_native = pytest.mark.skipif(not HAS_NATIVE, reason=WITHOUT_NATIVE)


def state(code, callee="", **fields):
    accounts = {
        SENDER: Account(balance=10**18),
        TARGET: Account(nonce=1, balance=1, code=bytes.fromhex(code)),
        CALLEE: Account(nonce=1, code=bytes.fromhex(callee)),
    }
    return CallState(accounts=accounts, **fields)


def estimate(call_state, **call):
    request = {"from": to_hex(SENDER), "to": to_hex(TARGET), "data": "0x00", "gas": hex(200_000)} | call
    return estimate_gas(request, call_state, search="intact", tolerance=0)


def frames_at(call_state, message, limits):
    """How every frame ends with each limit."""
    trace = partial(engine_named("native").trace, call_state, message, frames=True)
    return [[frame[:4] for frame in trace(limit).frames] for limit in limits]


def program(rng, callees):
    """Code that takes a few hundred gas: it calls, catches, passes on, halts, and reads gas."""
    code = b""
    for _ in range(rng.randrange(1, 4)):
        works = b"\x60" + rng.randbytes(1) + b"\x5f\x20\x50"
        if callees and rng.random() < 0.7:
            gas = b"\x5a" if rng.random() < 0.6 else b"\x61" + rng.randrange(900).to_bytes(2)
            kind = rng.choice([b"\xf1", b"\xf4", b"\xfa"])
            values = b"\x5f" * (5 if kind == b"\xf1" else 4)
            code += values + b"\x73" + rng.choice(callees) + gas + kind
            failed = rng.choice([b"", b"\x5f\x5f\xfd", works])
            code += b"\x60" + bytes([len(code) + 4 + len(failed)]) + b"\x57" + failed + b"\x5b" if failed else b"\x50"
        code += rng.choice([works, works, b"\x5a\x50" if rng.random() < 0.3 else b""])
    ends = [b"\x00", b"\x00", b"\x5f\x5f\xfd", b"\xfe", b"\x60\x20\x5f\xf3", b"\x5a\x5f\x52\x60\x20\x5f\xf3"]
    return code + (b"\x00" if len(callees) == len(CALLEES) else rng.choice(ends))


@needs_native
def test_the_least_of_all_limits_is_found():
    """Each of 300 calls is executed with every limit from its intrinsic gas to its upper bound."""
    rng, counts = random.Random(43), Counter()
    while sum(counts.values()) - counts["least"] < 300:
        places = [TARGET, *CALLEES[: rng.randrange(len(CALLEES) + 1)]]
        accounts = {SENDER: Account(balance=10**18)} | {
            account: Account(nonce=1, code=program(rng, CALLEES if account == TARGET else places[place + 1 :]))
            for place, account in enumerate(places)
        }
        warm = tuple((account, ()) for account in CALLEES)
        message, call_state = Message(sender=SENDER, to=TARGET, access_list=warm), CallState(accounts=accounts)
        intrinsic, upper = 28_200, 29_700  # with three addresses in the access list
        search = Search("intact", upper, math.inf, 0, transfer=False, limits=Limits())
        found = engine_named("native").search(call_state, message, search)
        if isinstance(found, Outcome):
            continue  # it fails with the upper bound
        whole, *ends = frames_at(call_state, message, [upper, *range(intrinsic - 1, upper)])
        kept = [intrinsic - 1 + place for place, frames in enumerate(ends) if frames == whole] + [upper]
        counts[found.intact] += 1
        counts["least"] += found.gas_limit == kept[0]
        if found.intact == "proven":
            assert kept == list(range(found.gas_limit, upper + 1)), accounts
        elif found.intact == "searched":
            assert found.gas_limit in kept, accounts
            assert found.gas_limit - 1 not in kept, accounts
        else:
            assert upper - 1 not in kept, accounts
    assert counts["least"] == 300 - counts["not possible"]
    assert min(counts[status] for status in ("proven", "searched", "not possible")) > 5


@needs_native
@pytest.mark.parametrize(
    ("code", "callee", "intact", "place"),
    [
        (CALL_CALLEE, STORES, "proven", None),  # its failure is not looked at
        (CALL_CALLEE, f"{STORES}5f5ffd", "proven", None),  # a failure on purpose stays one
        (CALL_CALLEE, f"{STORES}fe", "proven", None),
        (f"5f5f5f5f600173{CALLEE.hex()}5af1", STORES, "proven", None),  # the stipend of a wei is on top
        (f"5a50{CALL_CALLEE}", STORES, "searched", (0, TARGET, "GAS")),
        (CALL_CALLEE, f"{STORES}5a50", "searched", (1, CALLEE, "GAS")),
        (f"{CALL_CALLEE}3231", STORES, "searched", (0, TARGET, "BALANCE")),
        (CALL_CALLEE, f"{STORES}5a5f5260205ff3", "not possible", (1, CALLEE, "GAS")),
    ],
)
def test_one_gas_less_changes_a_frame(code, callee, intact, place):
    call_state, call = state(code, callee), {"gasPrice": "0x7"}
    found = estimate(call_state, **call)
    message = Message(sender=SENDER, to=TARGET, data=b"\0", gas_price=7, base_fee=7)
    whole, same, less = frames_at(call_state, message, [200_000, found.gas_limit, found.gas_limit - 1])
    statuses = [[frame[2] for frame in frames] for frames in (whole, same, less)]

    assert (found.intact, found.prevented_by) == (intact, place)
    assert statuses[1] == statuses[0]
    assert less != whole
    assert (same == whole) == (intact != "not possible")
    assert found.executions == 1 if intact == "proven" else found.executions <= 5


@needs_native
def test_a_call_is_executed_at_the_price_that_it_will_pay():
    """More work where GASPRICE is not 0: without a price in the call, it is the base fee."""
    call_state = state(f"3a600557005b{STORES}")
    request = {"from": to_hex(SENDER), "to": to_hex(TARGET), "data": "0x00"}
    limits = {
        name: estimate_gas(request, call_state, search=name, tolerance=0).gas_limit for name in ("geth", "intact")
    }

    assert limits == {"geth": 21_004 + 15, "intact": 21_004 + 15 + 1 + 22_105}


@needs_native
def test_the_upper_bound_is_what_the_sender_can_pay_for():
    call_state = state(STORES)
    poor = replace(call_state, accounts=call_state.accounts | {SENDER: Account(balance=50_000 * 7)})

    assert estimate(poor, gasPrice="0x7").gas_limit == 21_004 + 22_105
    with pytest.raises(ExecutionFailed, match="gas required exceeds allowance"):
        estimate(poor, gasPrice="0xa")
    with pytest.raises(ExecutionFailed, match="Upfront cost exceeds account balance"):
        estimate(poor, gasPrice="0x64")


def test_the_reference_engine_refuses():
    with pytest.raises(InvalidInput, match="search: intact needs the native engine"):
        estimate_gas({"to": to_hex(TARGET)}, state("00"), search="intact", engine="reference")


@needs_native
def test_an_execution_that_nobody_waits_for_ends():
    import feemodel_native

    stop = feemodel_native.Stop()
    stop.set()
    with pytest.raises(LimitExceeded):
        engine_named("native").execute(state("00"), Message(sender=SENDER, to=TARGET), 50_000, stop=stop)
