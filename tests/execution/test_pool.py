"""The reference engine in child processes: as exact, and never waited for beyond the deadline."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from feemodel.errors import ExecutionFailed, InvalidInput, LimitExceeded
from feemodel.execution import Account, CallState, EnginePool, Limits, Message, Reference, estimate_gas
from tests.helpers.execution_engines import address

SENDER, TARGET, LOOP = address(0x5E17DE5), address(0x7A67), address(0x100F)
STATE = CallState(
    accounts={
        SENDER: Account(balance=10**18),
        TARGET: Account(nonce=1, code=bytes.fromhex("5f545f5260205ff3"), storage={0: 7}),
        LOOP: Account(nonce=1, code=bytes.fromhex("5b5f56")),
    }
)
READ, SPIN = Message(sender=SENDER, to=TARGET), Message(sender=SENDER, to=LOOP)
SMALL = Limits(gas_cap=50_000)
PATIENCE = 60  # seconds, on a machine that does much else


@pytest.fixture(scope="module")
def pool():
    with EnginePool(processes=2, deadline=PATIENCE) as pool:
        pool.warm_up()
        yield pool


def descriptors():
    """What this process has open; nothing where the system does not tell."""
    return {path.name for path in Path("/proc/self").glob("fd/*")}


def once(pool, message, gas_limit=100_000, call_state=STATE):
    return pool.run(call_state, lambda execute: execute(message, gas_limit))


def test_a_child_answers_as_the_engine_itself_does(pool):
    assert once(pool, READ) == Reference().run(STATE, lambda execute: execute(READ, 100_000))


def test_an_override_holds_for_one_task(pool):
    changed = STATE.overridden({TARGET: {"stateDiff": {0: 9}}})

    assert [once(pool, READ, call_state=call_state).output[-1] for call_state in (STATE, changed, STATE)] == [7, 9, 7]


def test_an_estimate_takes_the_pool_as_its_engine(pool):
    found = estimate_gas({"from": SENDER, "to": TARGET, "data": "0x00"}, STATE, engine=pool)

    assert (found.engine, found.gas_limit) == (
        "reference",
        estimate_gas({"from": SENDER, "to": TARGET, "data": "0x00"}, STATE).gas_limit,
    )


def test_what_is_wrong_comes_back_as_it_was_raised(pool):
    with pytest.raises(InvalidInput, match=r"message\.sender: expected a balance of at least 5 wei"):
        once(pool, Message(sender=TARGET, to=TARGET, value=5))
    with pytest.raises(ExecutionFailed, match="gas required exceeds allowance"):
        estimate_gas({"from": SENDER, "to": LOOP, "data": "0x00"}, STATE, engine=pool, search="geth", limits=SMALL)
    assert once(pool, READ).output[-1] == 7


def test_what_takes_too_long_is_ended_and_the_next_call_is_answered():
    with EnginePool(processes=1, deadline=3) as pool:
        pool.warm_up()
        once(pool, READ)
        started = time.monotonic()
        with pytest.raises(LimitExceeded, match="the executions of one estimate took more than 3 s together"):
            once(pool, SPIN, 2**32)
        assert time.monotonic() - started < PATIENCE
        assert pool.run(STATE, lambda execute: execute(READ, 100_000)).output[-1] == 7


def test_a_task_that_finds_no_free_process_says_so():
    with EnginePool(processes=1, deadline=0.5) as pool:

        def occupied(execute):
            with pytest.raises(LimitExceeded, match=r"no process of the engine came free within 0\.5 s"):
                once(pool, READ)

        pool.run(STATE, occupied)


def test_a_child_that_dies_is_replaced():
    with EnginePool(processes=1, deadline=PATIENCE) as pool:
        once(pool, READ)
        (child,) = pool._all
        os.kill(child._process.pid, signal.SIGKILL)
        child._process.wait()
        assert once(pool, READ).output[-1] == 7


@pytest.mark.parametrize("seconds", [0, 0.05, 0.2, 0.6])
def test_a_pool_closes_at_any_moment_and_leaves_nothing_open(seconds):
    """While children start, load a state or execute: each is let go by the thread that uses it, and no other begins."""
    before = descriptors()
    pool, ends = EnginePool(processes=2, deadline=PATIENCE), []

    def spin():
        try:
            once(pool, SPIN, 2**32)
        except RuntimeError as error:
            ends.append(str(error))

    threads = [threading.Thread(target=spin) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    pool.close()
    pool.close()
    for thread in threads:
        thread.join()
    assert ends == ["the processes of the engine are closed"] * 4
    assert [child._process for child in pool._all] == [None, None]
    assert descriptors() == before
    with pytest.raises(RuntimeError, match="the processes of the engine are closed"):
        once(pool, READ)


def test_a_pool_without_processes_is_refused():
    with pytest.raises(InvalidInput, match="processes: expected at least 1, got 0"):
        EnginePool(processes=0)
