"""Execution of calls: in the event loop or in a thread, with the same result and within the limits."""

import asyncio
import threading
from dataclasses import replace

import pytest

from feemodel.errors import ExecutionFailed, LimitExceeded
from feemodel.estimates._chain import ChainState
from feemodel.estimates.json_types import CallObject, parse
from feemodel.execution._clients import node_named
from feemodel.execution._limits import Limits
from feemodel.execution._message import Request, parse_request
from feemodel.execution._state import Account, CallState
from feemodel.server import execute
from feemodel.server.dispatch import BATCH_GAS, GasMeter
from feemodel.server.execute import Executor, Work, work_of
from feemodel.server.settings import Settings
from tests.helpers.development import development_state
from tests.helpers.execution_engines import HAS_NATIVE, WITHOUT_NATIVE
from tests.server.wire import ANNA, BERT, LIST, LOOP, NOBODY, SWAP, TOKENS, TRANSFER, data

STATE = development_state()
FILL = {"from": ANNA, "to": LIST, "data": data("fill(uint256,uint256)", 50, 7)}  # of a million gas
native_only = pytest.mark.skipif(not HAS_NATIVE, reason=WITHOUT_NATIVE)


def run(use, *, state=STATE, **settings):
    """The result of a coroutine function that uses an executor."""

    async def main():
        limits = {"processes": 2, "override_accounts": 2, "override_slots": 4, **settings}
        executor = Executor(ChainState(call_state=state), Settings(**limits))
        try:
            return await use(executor)
        finally:
            executor.close()

    return asyncio.run(main())


def prepared(call, state=STATE, *, node="geth", limits=None):
    request = parse("call", call, CallObject).request()
    return node_named(node).prepare(request, state, tolerance=0.0, limits=limits or Limits())


def in_threads(executor, monkeypatch):
    """The list to which the name of every thread that the executor uses is added."""
    used, submit = [], executor._threads.submit

    def noted(function, *arguments):
        used.append(function)
        return submit(function, *arguments)

    monkeypatch.setattr(executor._threads, "submit", noted)
    return used


@native_only
@pytest.mark.parametrize("call", [TRANSFER, TOKENS, {"to": SWAP}, FILL, {"data": "0x60fe5f5360015ff3"}])
def test_the_event_loop_and_a_thread_give_the_same_result(call, monkeypatch):
    async def use(executor):
        try:
            return await executor.gas_limit(prepared(call))
        except ExecutionFailed as error:
            return error.args

    inline = run(use)
    monkeypatch.setattr(execute, "INLINE_BYTES", -1)
    assert run(use) == inline


@native_only
@pytest.mark.parametrize(("call", "threads"), [(TRANSFER, 0), (TOKENS, 0), (FILL, 1)])
def test_what_little_gas_proves_needs_no_thread(call, threads, monkeypatch):
    async def use(executor):
        used = in_threads(executor, monkeypatch)
        await executor.gas_limit(prepared(call))
        return len(used)

    assert run(use) == threads


@native_only
def test_code_that_kept_the_event_loop_in_vain_goes_to_a_thread_for_a_while(monkeypatch):
    monkeypatch.setattr(execute, "SLOW_SECONDS", -1.0)  # anything counts as slow
    clock = [1_000.0]
    monkeypatch.setattr(execute, "monotonic", lambda: clock[0])

    async def use(executor):
        tried = []
        inline = executor._native.run

        def noted(call_state, task, *, inline_gas=None):
            tried.append(inline_gas is not None)
            return inline(call_state, task, inline_gas=inline_gas)

        monkeypatch.setattr(executor._native, "run", noted)
        for later in (0.0, 1.0, execute.SLOW_FOR):
            clock[0] += later
            await executor.gas_limit(prepared(FILL))
        return tried

    assert run(use) == [True, False, False, True, False]


def test_calls_of_code_that_is_not_the_chains_leave_a_thread_to_others():
    """Two of them may not hold both threads: a known call is executed while they run."""
    release, running = threading.Event(), []

    async def use(executor):
        def hold(call_state, task):
            running.append(True)
            assert release.wait(30)

        executor._native, executor._any = None, type("Engine", (), {"run": staticmethod(hold)})()
        heavy = [asyncio.create_task(executor._in_thread(None, Work(b"", 0, False), STATE)) for _ in range(2)]
        while not running:
            await asyncio.sleep(0.001)
        assert len(running) == 1
        known = asyncio.create_task(executor._in_thread(None, Work(b"", 0, True), STATE))
        while len(running) < 2:
            await asyncio.sleep(0.001)
        assert not any(task.done() for task in (*heavy, known))
        release.set()
        await asyncio.gather(*heavy, known)

    run(use)
    assert len(running) == 3


def held(executor):
    """The event until which the executor's engine runs."""
    release = threading.Event()
    executor._native = None
    executor._any = type("E", (), {"run": lambda *_: release.wait(30)})()
    return release


def test_a_call_that_finds_the_queue_full_is_refused_at_once():
    async def use(executor):
        release = held(executor)
        tasks = [asyncio.create_task(executor._in_thread(None, Work(b"", 0, True), STATE)) for _ in range(3)]
        await asyncio.sleep(0.01)  # one is executed, two wait
        with pytest.raises(LimitExceeded, match="calls that wait to be executed: at most 2"):
            await executor._in_thread(None, Work(b"", 0, True), STATE)
        release.set()
        await asyncio.gather(*tasks)

    run(use, processes=1, queue=2)


def test_a_call_waits_for_a_thread_for_so_long(monkeypatch):
    async def use(executor):
        release = held(executor)
        first = asyncio.create_task(executor._in_thread(None, Work(b"", 0, True), STATE))
        await asyncio.sleep(0)
        with pytest.raises(LimitExceeded, match=r"a call may wait 0.02 s to be executed"):
            await executor._in_thread(None, Work(b"", 0, True), STATE)
        release.set()
        await first

    run(use, processes=1, seconds=0.01)


def test_the_gas_of_a_batch_is_that_of_all_executions():
    """A transfer is executed once, at 21,000; a call that fails counts too."""
    request = parse_request({"from": ANNA, "to": BERT})

    async def use(executor):
        meter = GasMeter()
        BATCH_GAS.set(meter)
        await executor.gas_limit(prepared(TRANSFER))
        estimated = meter.spent
        message = prepared(TRANSFER).message
        await executor.execute(message, 50_000, request, STATE)
        with pytest.raises(ExecutionFailed):
            await executor.gas_limit(prepared({"from": ANNA, "to": LIST}))
        return estimated, meter.spent

    estimated, spent = run(use)
    assert estimated == 21_000
    assert spent > 2 * 21_000


def test_executions_that_took_too_much_count_as_all_that_they_may_take():
    limits = Limits(total_gas=1_000_000)
    state = STATE.overridden({NOBODY: {"code": "0x5b621e84805a115f57"}})  # for as long as it has 2,000,000 gas

    async def use(executor):
        meter = GasMeter()
        BATCH_GAS.set(meter)
        with pytest.raises(LimitExceeded):
            await executor.gas_limit(prepared({"from": ANNA, "to": NOBODY}, state, limits=limits))
        return meter.spent

    assert run(use, total_gas=1_000_000) == 1_000_000


CODE = bytes.fromhex("5b5f56")
LOOPING = STATE.overridden(LOOP)


@pytest.mark.parametrize(
    ("request_", "state", "expected"),
    [
        (Request(parse_request({"to": BERT}).call), STATE, Work(b"", 0, True)),
        (parse_request({"to": BERT, "data": "0x01"}), STATE, Work(b"", 1, True)),
        (parse_request({"data": "0x5b5f56"}), STATE, Work(CODE, 3, False)),
        (parse_request({"to": NOBODY}), LOOPING, Work(CODE, 3, False)),
        (parse_request({"to": BERT}), LOOPING, Work(b"", 3, False)),
        (parse_request({"to": BERT}), STATE.overridden({NOBODY: {"balance": 1}}), Work(b"", 0, True)),
        (parse_request({"to": BERT}), STATE.overridden({NOBODY: {"stateDiff": {bytes(32): bytes(32)}}}),
         Work(b"", 64, False)),
        (parse_request({"to": BERT, "data": "0x" + "00" * 8_193}), STATE, Work(b"", 8_193, False)),
        (parse_request({"to": "0x" + "00" * 19 + "05", "data": "0x01"}), STATE, Work(b"", 1, False)),
        (parse_request({"to": "0x" + "00" * 19 + "05"}), STATE, Work(b"", 0, True)),
        (parse_request({"to": BERT, "accessList": [{"address": BERT, "storageKeys": ["0x" + "00" * 32]}]}), STATE,
         Work(b"", 64, True)),
    ],
)  # fmt: skip
def test_the_work_of_a_call_is_known_before_it_is_executed(request_, state, expected):
    found = work_of(request_, state)
    assert replace_code(found, state, request_) == expected


def replace_code(work, state, request):
    """The work without the code that stands on the chain."""
    on_chain = request.call.to is not None and STATE.account(request.call.to).code == work.code
    return Work(b"" if on_chain else work.code, work.size, work.is_known)


def test_a_state_of_another_chain_is_loaded():
    """The engine keeps what it loaded, and must not answer from it on another state."""
    poor = CallState(accounts={}, block=STATE.block, chain_id=STATE.chain_id)

    async def use(executor):
        await executor.gas_limit(prepared(TRANSFER))
        await executor.gas_limit(prepared(TRANSFER, poor))

    with pytest.raises(ExecutionFailed, match="insufficient funds"):
        run(use)
    rich = replace(poor, accounts={bytes.fromhex(ANNA[2:]): Account(balance=10**18)})
    assert run(lambda executor: executor.gas_limit(prepared(TRANSFER, rich))) == 21_000
