"""The state never moves: whatever estimates and calls do, and however many run at once on one engine.

Before and after, two things are compared: a digest and the ledger's root of all accounts; and what the engine answers
to fixed probes that read every balance, code and slot, gas included. Beside that every answer must be the one that the
same call gets alone, on an engine that never saw another.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from feemodel.ethereum._quantities import to_hex
from feemodel.execution import CallState, Native, engine_named
from feemodel.execution import native as native_module
from feemodel.execution._forks import fork_named
from feemodel.execution.reference import Reference
from feemodel.ledger import check_proof
from feemodel.server.app import Service
from feemodel.server.settings import Settings
from tests.fuzz.methods import real_service
from tests.helpers import engine_differences as programs
from tests.helpers.development import creation_address
from tests.helpers.execution_engines import ENGINES, HAS_NATIVE, WITHOUT_NATIVE
from tests.helpers.generated_calls import generated_calls
from tests.helpers.state_actions import ACTIONS, PATIENT, STATE, TOUCHED, Action, ended
from tests.helpers.still_state import unmoved

THREADS = 4
NAMES = ENGINES
SECONDS = 600  # of a child, on a machine that does much else


def fresh(name: str) -> Any:
    """An engine that nobody else has."""
    return Native() if name == "native" else Reference()


@cache
def alone(name: str, title: str) -> Any:
    """What an action is answered with on an engine that never saw another."""
    return ended(ACTIONS[title], STATE, fresh(name))


def together(tasks: list[list[Callable[[], Any]]]) -> list[list[Any]]:
    """Each list on a thread of its own, all at the same time."""
    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(lambda task: [ask() for ask in task], tasks))


def in_rows(asked: list[Any]) -> list[list[Any]]:
    """Dealt out to the threads."""
    return [asked[thread::THREADS] for thread in range(THREADS)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("title", ACTIONS)
def test_every_action_ends_as_it_should(name, title):
    """So that the properties below speak of stores, payments and failures that really were executed."""
    asked, end = ACTIONS[title], alone(name, title)
    if asked.ends is int:
        assert end.gas_limit >= 21_000
    elif isinstance(asked.ends, bytes):
        assert end == asked.ends
    else:
        assert end[0] is asked.ends


titles = st.lists(st.lists(st.sampled_from(sorted(ACTIONS)), min_size=1, max_size=8), min_size=2, max_size=THREADS)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=12)
@given(titles=titles)
def test_no_action_moves_the_state_on_a_shared_engine(name, titles):
    engine = engine_named(name)
    with unmoved(engine, STATE, TOUCHED):
        found = together(
            [[lambda title=title: ended(ACTIONS[title], STATE, engine) for title in row] for row in titles]
        )
    assert found == [[alone(name, title) for title in row] for row in titles]


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=5, phases=(Phase.explicit, Phase.reuse, Phase.generate))  # a seed has no smaller one
@given(seed=st.integers(0, 2**32))
def test_no_random_program_moves_the_state_on_a_shared_engine(name, seed):
    rng = Random(seed)
    engine, fork = engine_named(name), fork_named(rng.choice(["cancun", "prague", "osaka"]))
    call_state = programs.call_state(rng, fork)
    asked = [random_action(rng, call_state) for _ in range(8)]
    expected = [ended(action, call_state, fresh(name)) for action in asked]
    addresses = [*programs.EVERYBODY, *(creation_address(programs.SENDER, nonce) for nonce in (0, 5, 7))]
    with unmoved(engine, call_state, addresses):
        rows = in_rows(asked)
        found = together([[lambda action=action: ended(action, call_state, engine) for action in row] for row in rows])
    assert found == in_rows(expected)


def random_action(rng: Random, call_state: CallState) -> Action:
    """A call or an estimate of a random program, half of them under a random override."""
    message = programs.message(rng, call_state)
    call = {"from": message.sender, "to": message.to, "data": message.data, "value": message.value}
    listed = [{"address": key, "storageKeys": list(slots)} for key, slots in message.access_list]
    overrides = programs.override(rng, call_state.fork) if rng.random() < 0.5 else None
    return Action(rng.choice(["call", "estimate"]), call | {"accessList": listed}, overrides, PATIENT, None)


def test_a_server_under_calls_keeps_its_root_and_its_ledger():
    """Calls and estimates of every kind at once, over JSON-RPC; proofs, accounts and the file are then as before."""
    loop = asyncio.new_event_loop()
    try:
        with real_service(loop, Settings(seconds=float(SECONDS), queue=10_000)) as service:
            before = loop.run_until_complete(look(service))
            loop.run_until_complete(call_at_once(service))
            assert before == loop.run_until_complete(look(service))
    finally:
        loop.close()


async def answer(service: Service, method: str, *params: Any) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return json.loads(await service.dispatcher.answer(json.dumps(body).encode()) or b"")


async def call_at_once(service: Service) -> None:
    methods = ("eth_call", "eth_estimateGas", "rollup_estimateGas")
    asked = [
        answer(service, method, asked.call, "latest", *([asked.overrides] if asked.overrides else []))
        for asked in generated_calls(seed=12, count=60)
        for method in methods
    ]
    answers = await asyncio.gather(*asked)
    assert sum("result" in found for found in answers) > len(answers) // 2
    assert {found["error"]["code"] for found in answers if "error" in found} <= {3, -32000, -32004, -32602}


async def look(service: Service) -> Any:
    """The block, what stands at every account, all of it proved, and the bytes of the ledger."""
    block = (await answer(service, "eth_getBlockByNumber", "latest", False))["result"]
    accounts = {}
    for key in map(to_hex, service.chain.call_state.accounts):
        reads = ("eth_getBalance", "eth_getTransactionCount", "eth_getCode")
        accounts[key] = [await answer(service, read, key, "latest") for read in reads]
        proof = (await answer(service, "rollup_getProof", key, ["0x0", "0x2"], "finalized"))["result"]
        proven = check_proof(proof, root=block["stateRoot"], address=key)
        assert hex(proven.account.balance) == accounts[key][0]["result"]
        accounts[key].append(proof)
    return block, accounts, hashlib.sha256(service.ledger.store().path.read_bytes()).hexdigest()


@pytest.mark.skipif(not HAS_NATIVE, reason=WITHOUT_NATIVE)
@pytest.mark.parametrize("title", ["has another balance", "has other storage", "has everything else"])
def test_an_override_that_stays_would_be_seen(monkeypatch, title):
    """A native engine that takes an overridden state for its own."""
    engine = Native()
    overridden = native_module._overridden

    def keeping(engine):
        with monkeypatch.context() as patched:
            patched.setattr(
                native_module,
                "_overridden",
                lambda state, call_state: kept.append(overridden(state, call_state)) or state,
            )
            ended(ACTIONS[title], STATE, engine)
        engine._base = engine._base[0], kept[-1], engine._base[2]

    kept: list[Any] = []
    with pytest.raises(AssertionError):
        run_between_looks(engine, keeping)


def run_between_looks(engine, run):
    with unmoved(engine, STATE, TOUCHED):
        run(engine)
