"""Execution of calls: in the event loop or in a thread, with the same result and within the limits."""

import asyncio
import threading
import time

import pytest

from feemodel.errors import ExecutionFailed, LimitExceeded
from feemodel.estimates.chain import ChainState
from feemodel.estimates.rollup import EstimateOptions
from feemodel.ethereum import parse_call
from feemodel.execution._clients import GETH_NODE, message_of, node_named
from feemodel.server import execute
from feemodel.server.execute import Executor
from feemodel.server.settings import Settings
from tests.helpers.development import development_state
from tests.helpers.execution_engines import HAS_NATIVE, WITHOUT_NATIVE
from tests.server.wire import ANNA, BERT, LIST, LOOP, NOBODY, SWAP, TOKENS, TRANSFER, data

STATE = development_state()
FILL, LONGER_FILL = (  # of 1.1 and 2.2 million gas
    {"from": ANNA, "to": LIST, "data": data("fill(uint256,uint256)", count, 7)} for count in (50, 100)
)
native_only = pytest.mark.skipif(not HAS_NATIVE, reason=WITHOUT_NATIVE)

#: Calls the precompiled contract that copies data as long as it has gas.
CALLER = {NOBODY: {"code": "0x5b5f5f5f5f5f60045af1505f56"}}


def run(use, **settings):
    """The result of a coroutine function that uses an executor."""

    async def main():
        executor = Executor(ChainState(call_state=STATE), Settings(**settings))
        try:
            return await use(executor)
        finally:
            executor.close()

    return asyncio.run(main())


async def limit_of(executor, call):
    return (await executor.gas(parse_call(call), EstimateOptions(), node_named("geth"))).limit


def in_threads(executor, monkeypatch):
    """The list to which the name of every thread that the executor uses is added."""
    used, submit = [], executor._threads.submit

    def noted(function, *arguments):
        used.append(function)
        return submit(function, *arguments)

    monkeypatch.setattr(executor._threads, "submit", noted)
    return used


@native_only
@pytest.mark.parametrize(("name", "value"), [("INLINE_BYTES", -1), ("INLINE_SECONDS", 1e-9)])
@pytest.mark.parametrize("call", [TRANSFER, TOKENS, {"to": SWAP}, FILL, LONGER_FILL, {"data": "0x60fe5f5360015ff3"}])
def test_the_event_loop_and_a_thread_give_the_same_result(call, name, value, monkeypatch):
    threads = []

    async def use(executor):
        threads.append(in_threads(executor, monkeypatch))
        try:
            return await limit_of(executor, call)
        except ExecutionFailed as error:
            return error.args

    inline = run(use)
    monkeypatch.setattr(execute, name, value)
    assert run(use) == inline
    assert len(threads[1]) == 1


@native_only
@pytest.mark.parametrize(("call", "threads"), [(TRANSFER, 0), (TOKENS, 0), (FILL, 0), (LONGER_FILL, 1)])
def test_what_little_gas_proves_needs_no_thread(call, threads, monkeypatch):
    monkeypatch.setattr(execute, "INLINE_SECONDS", 60.0)

    async def use(executor):
        used = in_threads(executor, monkeypatch)
        await limit_of(executor, call)
        return len(used)

    assert run(use) == threads


@native_only
def test_a_long_pass_of_the_event_loop_leaves_little_gas_to_its_other_calls(monkeypatch):
    monkeypatch.setattr(execute, "INLINE_SECONDS", 1.0)

    async def use(executor):
        used, found = in_threads(executor, monkeypatch), []
        for call in (FILL, TOKENS, FILL, FILL):
            await limit_of(executor, call)
            found.append(len(used))
            time.sleep(0.6)
        return found

    assert run(use) == [0, 0, 1, 1]  # the third call, after 1.2 s, waits for a thread, which ends the pass


def held(executor):
    """The event until which the executor's engine runs."""
    release = threading.Event()
    executor.engine = type("E", (), {"execute": lambda *_: release.wait(30)})()
    return release


def test_a_call_that_finds_the_queue_full_is_refused_at_once():
    async def use(executor):
        release = held(executor)
        tasks = [asyncio.create_task(executor.run_whole("execute", STATE, None, 0)) for _ in range(execute.THREADS + 2)]
        await asyncio.sleep(0.01)  # two wait
        with pytest.raises(LimitExceeded, match="calls that wait to be executed: at most 2"):
            await executor.run_whole("execute", STATE, None, 0)
        release.set()
        await asyncio.gather(*tasks)

    run(use, queue=2)


@native_only
def test_a_call_whose_client_is_gone_frees_its_thread():
    """The code makes calls until two thousand million gas are used, which takes many seconds."""
    call, state = parse_call({"to": NOBODY, "gas": hex(2 * 10**9)}), STATE.overridden(CALLER)

    async def use(executor):
        gone = asyncio.Event()

        async def receive():
            await gone.wait()
            return {"type": "http.disconnect"}

        execute.RECEIVE.set(receive)
        message, gas = GETH_NODE.call(call, state, executor.limits)
        task = asyncio.create_task(executor.run("execute", state, message, gas))
        await asyncio.sleep(0.3)
        assert not task.done()
        gone.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(asyncio.to_thread(executor.close), 5.0)  # waits for the threads

    run(use, gas_cap=2**28, seconds=600.0)


def test_a_call_whose_client_is_gone_does_not_wait_for_a_thread():
    async def use(executor):
        release = held(executor)
        tasks = [asyncio.create_task(executor.run_whole("execute", STATE, None, 0)) for _ in range(execute.THREADS)]
        await asyncio.sleep(0.01)
        gone = asyncio.Event()

        async def receive():
            await gone.wait()
            return {"type": "http.disconnect"}

        execute.RECEIVE.set(receive)
        abandoned = asyncio.create_task(executor.run_whole("execute", STATE, None, 0))
        await asyncio.sleep(0.01)
        assert executor._pending == execute.THREADS + 1
        gone.set()
        with pytest.raises(asyncio.CancelledError):
            await abandoned
        assert executor._pending == execute.THREADS
        release.set()
        await asyncio.gather(*tasks)

    run(use)


@native_only
@pytest.mark.parametrize(
    ("call", "state", "size"),
    [
        ({"to": BERT}, STATE, 0),
        ({"to": BERT, "data": "0x01"}, STATE, 1),
        ({"to": NOBODY}, STATE.overridden(LOOP), 3),
        ({"to": BERT}, STATE.overridden({NOBODY: {"stateDiff": {bytes(32): bytes(32)}}}), 64),
        ({"to": BERT, "accessList": [{"address": BERT, "storageKeys": ["0x" + "00" * 32]}]}, STATE, 64),
    ],
)
def test_a_call_is_executed_in_the_event_loop_up_to_the_size_of_all_that_it_brings(call, state, size, monkeypatch):
    async def use(executor):
        used = in_threads(executor, monkeypatch)
        for most in (size, size - 1):
            monkeypatch.setattr(execute, "INLINE_BYTES", most)
            await executor.run("execute", state, message_of(parse_call(call)), 30_000)
        return len(used)

    assert run(use) == 1
