"""The gas-limit search on made-up executions: what it answers depends on nothing but what it is told."""

import math
import random
from collections import Counter
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feemodel.errors import FeeModelError, LimitExceeded
from feemodel.ethereum._quantities import to_hex
from feemodel.execution import Account, CallState, GasEstimate, Limits, Message, estimate_gas
from feemodel.execution._engines import engine_named
from feemodel.execution._forks import FORKS
from feemodel.execution._outcome import Outcome, Status
from feemodel.execution._search import TOLERANCE, Search, bisected
from tests.helpers.engine_differences import cases
from tests.helpers.execution_engines import HAS_NATIVE, WITHOUT_NATIVE, address
from tests.helpers.searches import Asked, compared, search_message

CAP = 16_777_216
TARGET, CALLEE = address(0xC0DE), address(0xCA11)


class Needs:
    """A call that succeeds from a gas limit on, uses less than that, and remembers with what it was tried."""

    def __init__(self, least, used=None, refund=0, floor=0):
        self.least, self.used, self.refund, self.floor = least, used or least, refund, floor
        self.tried = []

    def __call__(self, gas_limit):
        self.tried.append(gas_limit)
        if gas_limit < self.least:
            return Outcome(Status.OUT_OF_GAS, gas_limit, floor=self.floor)
        return Outcome(Status.SUCCESS, self.used, self.refund, self.floor)


def search_of(upper=CAP, rules="besu", tolerance=TOLERANCE, transfer=False, limits=None):
    limits = limits or Limits(total_gas=10**12, seconds=10**6)
    return Search(rules, upper, math.inf, tolerance, transfer, limits)


def found_by(search, needs, **options):
    """What a search finds of a made-up execution."""
    return search(lambda message, gas_limit: needs(gas_limit), Message(to=TARGET), search_of(**options))


@pytest.mark.parametrize(
    ("rules", "needs", "limit", "tried"),
    [
        # A token transfer to a new holder: the least limit, the answer, and each limit tried on the way to it.
        ("geth", Needs(50_962), 51_354, [CAP, 54_107, 52_534, 51_747, 51_354]),
        ("besu", Needs(50_962), 51_354, [CAP, 54_107, 52_534, 51_747, 51_354]),
        # Fifty new slots: the optimistic limit lies within the tolerance after one more step.
        ("geth", Needs(1_139_766), 1_149_979, [CAP, 1_160_194, 1_149_979]),
        # Twenty slots cleared, a refund of a fifth: geth's lower end is below what is used, Besu's at it.
        ("geth", Needs(125_446, refund=25_089), 126_095, [CAP, 129_773, 115_064, 122_418, 126_095, 124_256]),
        ("besu", Needs(125_446, refund=25_089), 126_527, [CAP, 129_773, 127_609, 126_527]),
    ],
)
def test_the_steps_are_the_nodes(rules, needs, limit, tried):
    """Of the search that the native engine's is compared with."""
    assert found_by(search_message, needs, rules=rules, tolerance=0.015).gas_limit == limit
    assert needs.tried == tried


@given(least=st.integers(21_000, CAP), spare=st.floats(0, 0.9), tolerance=st.just(0.0) | st.floats(0.001, 0.5))
def test_the_reference_engine_finds_a_limit_that_suffices_within_the_tolerance(least, spare, tolerance):
    needs = Needs(least, max(int(least * (1 - spare)), 1))
    found = found_by(bisected, needs, tolerance=tolerance).gas_limit

    assert least <= found
    assert found == least or (found - least) / found < tolerance


@pytest.mark.parametrize("limits", [Limits(total_gas=50_000), Limits(seconds=0)])
def test_a_search_stops_at_its_limits(limits):
    """A call that needs 30,000 gas is executed at the upper bound only."""
    with pytest.raises(LimitExceeded, match="the executions of one estimate took more than"):
        found_by(bisected, Needs(30_000, used=60_000), limits=limits)


def ended(action):
    try:
        return action()
    except FeeModelError as error:
        return type(error), str(error)


@pytest.mark.skipif(not HAS_NATIVE, reason=WITHOUT_NATIVE)
@pytest.mark.parametrize("seed", [3, 4])
def test_the_search_in_rust_answers_as_the_one_that_executes_every_limit(seed):
    """Of calls under the rules of every fork, with bounds and limits."""
    rng, native, ends = random.Random(seed), engine_named("native"), Counter()
    for call_state, message, _ in cases(seed, 600, native, tuple(FORKS)):
        search = Search(
            rules=rng.choice(["geth", "besu"]),
            upper=(upper := rng.choice([CAP, CAP, 200_000, 60_000, 21_000, 0])),
            max_gas=max(upper, rng.choice([math.inf, math.inf, CAP, 100_000, 21_000])),
            tolerance=rng.choice([0, 0.015, 0.5]),
            transfer=rng.random() < 0.5,
            limits=Limits(total_gas=10**12, seconds=10**6),
        )
        execute = partial(native.execute, call_state)
        found = ended(partial(native.search, call_state, message, search))
        expected = ended(partial(search_message, execute, message, search))
        ends[isinstance(found, GasEstimate)] += 1
        if not isinstance(found, GasEstimate):
            assert found == expected
            continue
        assert (found.gas_limit, found.gas_used) == (expected.gas_limit, expected.gas_used)
        assert found.executions <= expected.executions + 1  # one more may prove the rest
    assert min(ends.values()) > 10


@pytest.mark.skipif(not HAS_NATIVE, reason=WITHOUT_NATIVE)
def test_a_search_that_takes_too_long_begins_no_further_execution():
    """An execution of 100,000 hashes takes milliseconds; the second one is not begun."""
    call_state = CallState(
        accounts={TARGET: Account(nonce=1, code=bytes.fromhex("5b5a5f5260205f20505a61ffff1060005700"))}
    )
    search = Search("geth", CAP, math.inf, 0, transfer=False, limits=Limits(seconds=1e-6))

    with pytest.raises(LimitExceeded, match=r"the executions of one estimate took more than 1e-06 s together"):
        engine_named("native").search(call_state, Message(to=TARGET), search)


@pytest.mark.skipif(not HAS_NATIVE, reason=WITHOUT_NATIVE)
def test_a_limit_may_succeed_where_one_below_the_least_fails():
    """So limits below the least are executed: a failure of the callee is ignored, and less is left to do after it."""
    clears = "".join(f"5f60{slot:02x}55" for slot in range(20))  # 5,000 gas each, of which a fifth is refunded
    works = "6175305f2050"  # about 10,000 gas, after a success only
    code = f"5f5f5f5f5f73{CALLEE.hex()}5af115602657{works}5b00"
    accounts = {
        TARGET: Account(nonce=1, code=bytes.fromhex(code)),
        CALLEE: Account(nonce=1, code=bytes.fromhex(clears), storage=dict.fromkeys(range(20), 1)),
    }
    call_state, message = CallState(accounts=accounts), Message(to=TARGET, data=b"\0")
    asked = Asked("", {"to": to_hex(TARGET), "data": "0x00"}, call_state)
    found = engine_named("native").trace(call_state, message, CAP)
    below = engine_named("native").execute(call_state, message, found.minimum - 1)
    estimate = estimate_gas(asked.call, call_state, search="geth", tolerance=0, engine="native")

    assert found.oblivious
    assert not below.succeeded
    assert estimate.gas_limit < 0.95 * found.minimum
    assert compared(iter([asked]))[0] == []
