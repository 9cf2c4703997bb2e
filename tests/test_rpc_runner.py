"""Where a call is executed: what is short in the serving thread, everything else in a place of its own; limits."""

import asyncio
import os
import signal
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from feemodel.errors import ExecutionFailed, LimitExceeded
from feemodel.ethereum.quantities import to_hex
from feemodel.execution import Account, CallState, Limits, engine_named, estimate_gas
from feemodel.rpc.chain import Chain
from feemodel.rpc.chain_methods import FEW_BYTES
from feemodel.rpc.runner import HEAVY_SECONDS, INLINE_BYTES, INLINE_GAS, SLOW_SECONDS, Beyond, Inline, Runner
from feemodel.rpc.service import WARM_UP_AFTER
from feemodel.rpc.settings import Settings
from tests.development import development_state
from tests.execution_engines import HAS_NATIVE, WITHOUT_NATIVE
from tests.rpc_calls import ANNA, BLOB, LIST, TOKEN, TOKENS, TRANSFER, data
from tests.rpc_parts import PATIENCE, exchange, on_chain, opened, request

BOMB, CLZ = "0x" + "b0" * 20, "0x" + "c1" * 20

CLZ_CODE = "0x60101e5f5260205ff3"  # answers how many zeros 16 begins with
CLZ_LOOP = "0x5f1e505b600356"  # and never ends
PLAIN_LOOP = "0x5b5f56"
ONE = "7f" + "01".rjust(64, "0") + "5f52" + "7f" + "02".rjust(64, "0") + "602052" + "7f" + "30" + "ff" * 31 + "604052"
MULTIPLICATIONS = f"0x{ONE}5b60405f60605f60075afa50606b56"  # of a point of BN254, 6,000 gas and some 50 µs each
needs_native = pytest.mark.skipif(not HAS_NATIVE, reason=WITHOUT_NATIVE)
linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds the children in /proc")


def coded(code, address=BOMB):
    return {address: {"code": code}}


@pytest.fixture(scope="module")
def client():
    with on_chain(Chain(call_state=ROUND), limits=Limits(seconds=PATIENCE)) as client:
        yield client


STATE = development_state()
CONTRACT = Account(nonce=1, code=bytes.fromhex(CLZ_CODE[2:]))
ROUND = replace(STATE, accounts={**STATE.accounts, bytes.fromhex(CLZ[2:]): CONTRACT})
QUICK = ("eth_call", {"to": CLZ})  # for a child
BROUGHT = ("eth_call", {"to": BOMB}, "latest", coded(CLZ_CODE))  # the same, in code of the caller's own
STARTS_A_CHILD = ("eth_call", {**TRANSFER, "blobVersionedHashes": [BLOB], "maxFeePerBlobGas": "0x1"})


def in_order(client, *calls):
    """The responses to calls made together, each with its place among them, in the order of the answers."""

    async def asked():
        done = []

        async def one(place, call):
            answer = await exchange(client.app, "POST", "/", request(*call))
            done.append((place, answer.json()))

        await asyncio.gather(*(one(place, call) for place, call in enumerate(calls)))
        return done

    return client.loop.run(asked())


# Bombs


@pytest.mark.parametrize("code", [PLAIN_LOOP, MULTIPLICATIONS], ids=["loop", "multiplications"])
def test_what_runs_out_of_gas_is_said(client, code):
    error = client.error("rollup_estimateGas", {"from": ANNA, "to": BOMB}, coded(code))
    assert error == {"code": -32000, "message": "gas required exceeds allowance (16777216)"}


OTHERS = [("eth_chainId",), ("rollup_estimateGas", TRANSFER), ("eth_getBalance", ANNA), ("feemodel_pricing",)]


BOMBED = (MULTIPLICATIONS, 16_000_000) if HAS_NATIVE else (CLZ_LOOP, 700_000)


def test_a_bomb_keeps_nobody_else_waiting(client):
    """All who ask for something else have their answers before it; one of them needs a place too, and has it."""
    with_children(client)
    bomb, gas = BOMBED
    thrown = ("eth_call", {"from": ANNA, "to": BOMB, "gas": hex(gas)}, "latest", coded(bomb))
    done = in_order(client, thrown, QUICK, *OTHERS * 3)
    places, answers = [place for place, _ in done], dict(done)
    here = [place for place in range(2, 14) if HAS_NATIVE or OTHERS[(place - 2) % 4][0] != "rollup_estimateGas"]
    assert max(places.index(place) for place in here) < places.index(0)
    assert all("result" in answers[place] for place in here)
    assert answers[0]["error"] == {"code": -32000, "message": "out of gas"}
    assert answers[1].get("result") == f"0x{251:064x}", answers[1]
    assert client.result(*BROUGHT) == client.result(*QUICK)


def with_children(client):
    """Have both children started: that takes its time, for which no call is to blame."""
    end = time.monotonic() + PATIENCE
    while any("error" in answer for answer in client.together(*[STARTS_A_CHILD] * 2)):
        assert time.monotonic() < end


def test_bombs_in_a_row_do_not_add_up(client):
    """Each brings code that no one has seen, so that none is known to be slow."""
    for place in range(3):
        code = MULTIPLICATIONS + f"{place:02x}"
        done = in_order(client, ("rollup_estimateGas", {"to": BOMB}, coded(code)), *OTHERS[:1])
        assert [number for number, _ in done] == [1, 0]


@pytest.mark.parametrize("setting", [{"seconds": 0.05}, {"total_gas": 5_000_000, "seconds": PATIENCE}], ids=str)
def test_each_limit_is_named_with_its_value(setting):
    """Filling takes 23,000 gas a record, so that a search among 100 records is of tens of millions."""
    call = {
        "from": ANNA,
        "to": LIST,
        "data": data("fillGuarded(uint256,uint256,uint256)", 100, 2, 5_000_000),
    }
    words = {"seconds": "0.05 s", "total_gas": "5,000,000 gas"}["seconds" if len(setting) == 1 else "total_gas"]
    with opened(Settings(engine="reference", **setting), started=False) as client:
        error = client.error("rollup_estimateGas", call)
    assert error == {"code": -32005, "message": f"the executions of one estimate took more than {words} together"}


# The engines


@contextmanager
def running(**options):
    async def made():
        return Runner(options.pop("engine", "auto"), options.pop("limits", None), **options)

    with asyncio.Runner() as loop:
        runner = loop.run(made())
        try:
            yield runner, loop
        finally:
            runner.close()


EMPTY_WORLD = CallState(accounts={})
TARGET = b"\xa2" * 20


def noted(engine="auto", **options):
    """A task's places in their order, and the runner that executes it."""

    class Noted(Runner):
        async def _in_place(self, *arguments):
            places.append("place")
            return await super()._in_place(*arguments)

    places = []
    return Noted(engine, Limits(seconds=PATIENCE), **options), places


def estimated(call, call_state, *, size=0, known=True, code=b""):
    """The estimate that a runner finds, where it was executed, and the one that the engine finds alone."""

    async def asked():
        runner, places = noted(processes=1)
        try:

            def task(engine):
                return estimate_gas(call, call_state, search="geth", engine=engine, limits=Limits(seconds=PATIENCE))

            return await runner.run(task, code=code, size=size, known=known), places
        finally:
            runner.close()

    found, places = asyncio.run(asked())
    alone = estimate_gas(call, call_state, search="geth", engine="native", limits=Limits(seconds=PATIENCE))
    return found, places, alone


def contract(code):
    return CallState(accounts={TARGET: Account(nonce=1, code=bytes.fromhex(code), balance=10**18)})


@needs_native
@pytest.mark.parametrize(
    ("code", "places"),
    [
        ("60015f55", []),
        ("5a5f55", ["place"]),  # GAS decides what is stored
        ("60035b6001900380600257", []),  # a short loop
        ("6180005b6001900380600357", ["place"]),  # a long one
        ("5f5f5f5f5f730000000000000000000000000000000000000001620f4240f15000", []),  # a precompile
        ("5f5f5f5f5f7300000000000000000000000000000000000000085af15000", []),
        ("5f5f5f5f5f73" + "a2" * 20 + "6103e8f15000", []),  # calls itself with 1,000 gas, until that is gone
    ],
)
def test_what_a_little_gas_proves_is_answered_in_the_serving_thread(code, places):
    found, where, alone = estimated({"to": to_hex(TARGET)}, contract(code))
    assert found.gas_limit == alone.gas_limit
    assert where == places or code.startswith("5f5f5f5f5f73a2")


@needs_native
def test_a_sender_with_code_who_pays_is_not_judged_by_less_gas():
    """It sends 2 wei on, which it has left where the limit is low and has not where it is high."""
    sender = to_hex(TARGET)
    call_state = contract("5f5f5f5f600273" + "33" * 20 + "5af15060015f55")
    for call, places in (
        ({"from": sender, "to": sender}, []),
        ({"from": sender, "to": sender, "gasPrice": "0x9"}, ["place"]),
    ):
        found, where, alone = estimated(call, call_state)
        assert (found.gas_limit, where) == (alone.gas_limit, places)


@needs_native
def test_much_data_is_read_in_a_place():
    for size, places in ((INLINE_BYTES, []), (INLINE_BYTES + 1, ["place"])):
        assert estimated({"to": to_hex(TARGET)}, contract("00"), size=size)[1] == places


@needs_native
def test_no_call_is_executed_in_the_serving_thread_with_more_than_a_little_gas():
    """Whatever code, storage or precompile a caller leads it to."""
    limits = []

    class Counting:
        engine = "native"

        def search(self, message, search):
            limits.append(search.inline_gas)
            return engine_named("native").run(ROUND, lambda execute: execute.search(message, search))

    for call, overrides in (
        (TOKENS, None),
        ({"to": BOMB}, coded(MULTIPLICATIONS)),
        ({"to": "0x" + "00" * 19 + "09", "data": "0x02ebae40" + "00" * 209}, None),
        ({"to": BOMB, "gas": "0x989680"}, coded("0x5a5f55")),
    ):
        with suppress(Beyond, ExecutionFailed):
            estimate_gas(call, ROUND.overridden(overrides), search="geth", engine=Inline(lambda call_state: Counting()))
    assert limits == [INLINE_GAS] * 4


@needs_native
def test_code_that_was_slow_in_vain_is_given_a_place_at_once_for_a_while():
    begun = []

    def task(engine):
        begun.append("inline" if isinstance(engine, Inline) else "place")
        if isinstance(engine, Inline):
            time.sleep(2 * SLOW_SECONDS)
            raise Beyond("a loop")

    with running(processes=1) as (runner, loop):

        def called(code):
            begun.clear()
            loop.run(runner.run(task, code=code, size=0, known=True))
            return begun.copy()

        assert [called(code) for code in (b"slow", b"slow", b"other", b"")] == [
            ["inline", "place"], ["place"], ["inline", "place"], ["inline", "place"],
        ]  # fmt: skip
        end = time.monotonic() + PATIENCE
        while called(b"slow") == ["place"]:
            assert time.monotonic() < end
            time.sleep(SLOW_SECONDS)


def test_code_that_callers_bring_leaves_a_place_to_the_rest():
    """And code of the chain that is heavy counts as such, once it is known to be."""
    order = []

    async def asked(runner, *calls):
        async def one(name, code, known, seconds):
            def task(engine):
                return engine.run(EMPTY_WORLD, lambda execute: time.sleep(seconds))

            await runner.run(task, code=code, size=INLINE_BYTES + 1, known=known)
            order.append(name)

        await asyncio.gather(*(one(*call) for call in calls))

    with running(processes=2) as (runner, loop):
        loop.run(asked(runner, *[("start", b"", True, 0.1)] * 2))
        order.clear()
        loop.run(asked(runner, *[("brought", b"a", False, 0.2)] * 2, ("known", b"b", True, 0.0)))
        assert order == ["known", "brought", "brought"]
        loop.run(asked(runner, ("heavy", b"c", True, 1.5 * HEAVY_SECONDS)))
        loop.run(asked(runner, *[("heavy", b"c", True, 0.2)] * 2, ("known", b"b", True, 0.0)))
        assert order[4:] == ["known", "heavy", "heavy"]


class Watched(Runner):
    """Notes which calls are known."""

    def begin(self, task, *, code, size, known):
        KNOWN.append(known)
        return super().begin(task, code=code, size=size, known=known)


KNOWN = []


@pytest.fixture(scope="module")
def watched():
    with on_chain(Chain(call_state=ROUND), runner_type=Watched, limits=Limits(seconds=PATIENCE)) as client:
        yield client


@pytest.mark.parametrize(
    ("params", "known"),
    [
        ([TOKENS], True),
        ([TOKENS, {ANNA: {"balance": hex(10**18)}, TOKEN: {"stateDiff": {}}}], True),
        ([TOKENS, {TOKEN: {"code": CLZ_CODE}}], False),
        ([TOKENS, {TOKEN: {"stateDiff": {"0x" + "00" * 32: "0x" + "00" * 31 + "09"}}}], False),
        ([{"from": ANNA, "data": "0x00"}], False),
        ([{"from": ANNA, "to": "0x" + "00" * 19 + "08", "data": "0x" + "00" * 192}], False),
        ([{"from": ANNA, "to": "0x" + "00" * 18 + "0100", "data": "0x00"}], False),
        ([{**TOKENS, "data": TOKENS["data"] + "00" * (FEW_BYTES - 68)}], True),
        ([{**TOKENS, "data": TOKENS["data"] + "00" * (FEW_BYTES - 67)}], False),
    ],
    ids=lambda value: str(value)[:60],
)
def test_code_and_storage_of_the_caller_are_told_from_the_chains(watched, params, known):
    KNOWN.clear()
    watched.ask("rollup_estimateGas", *params)
    assert [known] == KNOWN


def test_a_call_that_meets_clz_is_answered(watched):
    assert watched.result(*QUICK) == f"0x{251:064x}"
    found = int(watched.result("eth_estimateGas", {"to": CLZ, "data": "0x00"}), 16)
    assert found == estimate_gas({"to": CLZ, "data": "0x00"}, ROUND, search="geth", engine="reference").gas_limit


# The queue


def test_more_calls_than_may_wait_are_refused_at_once():

    def task(engine):
        return time.sleep(0.1)

    async def four(runner):
        calls = [runner.run(task, code=b"", size=INLINE_BYTES + 1, known=True) for _ in range(4)]
        return await asyncio.gather(*calls, return_exceptions=True)

    with running(processes=1, queue=2) as (runner, loop):
        found = loop.run(four(runner))
        assert [str(error) for error in found if error is not None] == ["2 calls wait for a process already"]
        assert loop.run(four(runner)).count(None) == 3  # those that waited are no longer counted


def test_a_call_does_not_wait_for_a_process_for_ever():
    async def two(runner):
        def task(engine):
            return time.sleep(0.5)

        calls = [runner.run(task, code=b"", size=INLINE_BYTES + 1, known=True) for _ in range(2)]
        return await asyncio.gather(*calls, return_exceptions=True)

    with running(processes=1, limits=Limits(seconds=0.2)) as (runner, loop):
        answered, refused = loop.run(two(runner))
    assert answered is None
    assert isinstance(refused, LimitExceeded)
    assert str(refused) == "no process came free within 0.4 s"


def test_a_queue_that_is_full_is_an_error_of_its_own():
    with opened(Settings(engine="reference", processes=1, queue=1, seconds=0.5), started=False) as client:
        loop = ("rollup_estimateGas", {"to": BOMB}, coded(CLZ_LOOP))
        answers = client.together(loop, loop, loop)
        messages = [answer["error"]["message"] for answer in answers]
        assert {answer["error"]["code"] for answer in answers} == {-32005}
        assert "1 calls wait for a process already" in messages


# The children


def children():
    """The processes of engines that this one has started, as Linux tells them."""
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
            if parent == os.getpid() and b"feemodel.execution.worker" in (folder / "cmdline").read_bytes():
                found.add(int(folder.name))
        except (OSError, IndexError):  # it has ended meanwhile
            continue
    return found


@linux
def test_a_call_whose_child_is_killed_is_executed_again():
    before = children()
    with opened(Settings(engine="reference", processes=1, seconds=PATIENCE), started=False) as client:
        client.result(*BROUGHT)
        (child,) = children() - before

        async def killed():
            call = {"to": BOMB, "gas": hex(500_000)}
            asking = asyncio.create_task(
                exchange(client.app, "POST", "/", request("eth_call", call, "latest", coded(CLZ_LOOP)))
            )
            await asyncio.sleep(0.2)
            os.kill(child, signal.SIGKILL)
            return (await asking).json()

        error = client.loop.run(killed())["error"]
        assert (error["code"], error["message"]) == (-32000, "out of gas")
        assert int(client.result(*BROUGHT), 16) == 251
        assert child not in children()


@linux
def test_the_children_end_with_the_service():
    before = children()
    with opened(Settings(engine="reference", processes=2), started=False) as client:
        client.together(*[("eth_estimateGas", TRANSFER)] * 4)
        assert len(children() - before) == 2
    assert children() == before


def test_a_service_closes_though_its_children_were_never_free(caplog):
    """What is to be warm by then finds no process; that is no reason to leave anything open."""
    with opened(Settings(engine="reference", processes=1, seconds=0.1)) as client:
        loop, end = ("eth_call", {"to": BOMB}, "latest", coded(CLZ_LOOP)), time.monotonic() + WARM_UP_AFTER + 0.3
        while time.monotonic() < end:
            client.together(*[loop] * 4)
    assert [record.getMessage() for record in caplog.records] == []
