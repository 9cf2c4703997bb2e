"""The state never moves: whatever estimates and calls do, and however many run at once on one engine.

Before and after, two things are compared: all accounts; and what the engine answers to fixed probes that read every
balance, code and slot, gas included. Beside that every answer must be the one that the same call gets alone, on an
engine that never saw another.
"""

import copy
import hashlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from feemodel.errors import FeeModelError, InvalidInput
from feemodel.estimates.chain import copy_development_ledger
from feemodel.ethereum._quantities import to_hex
from feemodel.execution import CallState, Limits, Message, Native, Reference, engine_named, estimate_gas, execute_call
from feemodel.execution._forks import fork_named
from feemodel.ledger import check_proof
from feemodel.server.settings import Settings
from tests.helpers import engine_differences as programs
from tests.helpers.development import creation_address
from tests.helpers.engine_differences import push
from tests.helpers.execution_engines import ENGINES, address
from tests.helpers.generated_calls import generated_calls
from tests.server.parts import opened

THREADS = 4
#: As much as a call may want, little gas, and a budget that a search of some steps exceeds.
LIMITS = [
    Limits(gas_cap=200_000, total_gas=2_000_000, seconds=600), Limits(gas_cap=60_000, seconds=600),
    Limits(gas_cap=200_000, total_gas=60_000, seconds=600),
]  # fmt: skip
SLOTS = (*range(12), 2**200)
PROBE, PROBER = address(0x9E0BE), address(0x9E0BE2)


class Action(NamedTuple):
    """A call or an estimate of a random program, half of them under a random override."""

    method: Any
    call: dict[str, Any]
    overrides: dict[Any, Any] | None
    limits: Limits


def random_action(rng: Random, call_state: CallState) -> Action:
    message = programs.message(rng, call_state)
    call = {"from": message.sender, "to": message.to, "data": message.data, "value": message.value}
    listed = [{"address": key, "storageKeys": list(slots)} for key, slots in message.access_list]
    overrides = programs.override(rng, call_state.fork) if rng.random() < 0.5 else None
    method = rng.choice([execute_call, estimate_gas])
    return Action(method, call | {"accessList": listed}, overrides, rng.choice(LIMITS))


def ended(asked: Action, call_state: CallState, engine: Any) -> Any:
    """What an action is answered with, an error by its kind and words."""
    try:
        return asked.method(asked.call, call_state, overrides=asked.overrides, engine=engine, limits=asked.limits)
    except FeeModelError as error:
        return type(error), str(error)


def reads_accounts(addresses: list[bytes]) -> bytes:
    """Code that returns balance, size and hash of the code of every account."""
    code = b""
    for place, key in enumerate(addresses):
        for number, opcode in enumerate((0x31, 0x3B, 0x3F)):  # BALANCE, EXTCODESIZE, EXTCODEHASH
            code += b"\x73" + key + bytes([opcode]) + push(32 * (3 * place + number), 2) + b"\x52"
    return code + push(96 * len(addresses), 2) + b"\x5f\xf3"


READS_SLOTS = b"".join(push(slot) + b"\x54" + push(32 * place, 2) + b"\x52" for place, slot in enumerate(SLOTS))
READS_SLOTS += push(32 * len(SLOTS), 2) + b"\x5f\xf3"


def probes(engine: Any, call_state: CallState, addresses: list[bytes]) -> list[Any]:
    """What the engine answers to calls that read everything: how it ended, gas and output."""
    found = []
    for target in (PROBE, *addresses):
        code = reads_accounts(addresses) if target == PROBE else READS_SLOTS
        reader = call_state.overridden({target: {"code": to_hex(code)}})
        try:
            found.append(engine.execute(reader, Message(sender=PROBER, to=target), 5_000_000))
        except InvalidInput as error:
            found.append(type(error))
    return found


@contextmanager
def unmoved(engine: Any, call_state: CallState, addresses: list[bytes]) -> Any:
    """Fail if the state is another one afterwards."""
    before = copy.deepcopy(call_state), probes(engine, call_state, addresses)
    yield
    assert before == (call_state, probes(engine, call_state, addresses))


@pytest.mark.parametrize(("name", "made"), [("native", Native), ("reference", Reference)][-len(ENGINES) :])
@settings(max_examples=15, phases=(Phase.explicit, Phase.reuse, Phase.generate))  # a seed has no smaller one
@given(seed=st.integers(0, 2**32))
def test_no_random_program_moves_the_state_on_a_shared_engine(name, made, seed):
    rng = Random(seed)
    engine, fork = engine_named(name), fork_named(rng.choice(["cancun", "prague", "osaka"]))
    call_state = programs.call_state(rng, fork)
    asked = [random_action(rng, call_state) for _ in range(8)]
    expected = [ended(action, call_state, made()) for action in asked]
    addresses = [*programs.EVERYBODY, *(creation_address(programs.SENDER, nonce) for nonce in (0, 5, 7))]
    with unmoved(engine, call_state, addresses), ThreadPoolExecutor(THREADS) as threads:
        found = list(threads.map(lambda action: ended(action, call_state, engine), asked))
    assert found == expected


# Over JSON-RPC


def test_a_server_under_calls_keeps_its_root_and_its_ledger(tmp_path):
    """Calls and estimates of every kind at once; proofs, accounts and the file are then as before."""
    path = tmp_path / "ledger.db"
    copy_development_ledger(path)
    methods = ("eth_call", "eth_estimateGas", "rollup_estimateGas")
    calls = [
        (method, asked.call, "latest", *([asked.overrides] if asked.overrides else []))
        for asked in generated_calls(seed=12, count=60)
        for method in methods
    ]
    with opened(Settings(seconds=600.0, queue=10_000), store=path, started=False) as client:
        before = look(client), hashlib.sha256(path.read_bytes()).hexdigest()
        answers = client.together(*calls)
        assert before == (look(client), hashlib.sha256(path.read_bytes()).hexdigest())
    assert sum("result" in found for found in answers) > len(answers) // 2
    assert {found["error"]["code"] for found in answers if "error" in found} <= {3, -32000, -32004, -32602}


def look(client: Any) -> Any:
    """The block and what stands at every account, all of it proved."""
    block = client.result("eth_getBlockByNumber", "latest", False)
    accounts = {}
    for key in map(to_hex, client.service.chain.call_state.accounts):
        reads = [client.result(f"eth_get{name}", key, "latest") for name in ("Balance", "TransactionCount", "Code")]
        proof = client.result("rollup_getProof", key, ["0x0", "0x2"], "finalized")
        assert hex(check_proof(proof, root=block["stateRoot"], address=key).account.balance) == reads[0]
        accounts[key] = reads, proof
    return block, accounts
