"""The server under load, cost bombs and faults: short forms of `scripts/load`, `scripts/bombs` and `scripts/faults`.

What takes a time is judged by processor time, or with much patience: the machine may do much else.
"""

import asyncio
import json
import socket
import time
from collections import Counter
from contextlib import ExitStack, suppress

import pytest

from feemodel.ledger import Store, check_proof, get_proof, import_genesis
from feemodel.ledger.blocks import GenesisAccount
from feemodel.ledger.proof import STEP, proof_steps
from feemodel.rpc import jsonrpc, methods, protocol
from feemodel.rpc.app import App, Page
from feemodel.rpc.protocol import Bounds
from tests.execution_engines import HAS_NATIVE
from tests.fire import bombs, front, node_faults, process_faults, store_faults
from tests.fire.arsenal import ANY_END, HALTED, Bomb, arsenal
from tests.fire.bombs import BOUND, MEMORY, Field
from tests.fire.client import Answer, Tally, port_of, run
from tests.fire.load import saturate
from tests.fire.overload import SMALL, overload
from tests.fire.prober import probing
from tests.fire.sockets import sieges
from tests.fire.start import begun
from tests.rpc_parts import listening, respond
from tests.serving import STOP, serving

LOADED, FRONTED, CROWDED, THROWN, TROUBLED = 2.0, 6.0, 0.6, 0.4, 0.4  # seconds of each
ROOM = () if HAS_NATIVE else ("--queue", "200")
CLIENTS = SMALL["queue"] + 1  # every one has a place or may wait for one, whatever all of them ask for at once
ANSWERS = 200 if HAS_NATIVE else 40  # of two seconds
PAGE = 16_000_000  # bytes, more than the buffers of a connection hold
GROWTH = 0.2  # of the memory within seconds, when much is still met for the first time
PATIENCE = "2"  # seconds that a call may execute, so that a bomb is soon over
OTHERS = 20.0  # seconds that others may wait here: the machine may do much else; `scripts/bombs` has the real bound
SERVING = (
    2 * BOUND
)  # seconds of processor time that a bomb may cost those who answer: `scripts/bombs` has the real bound
BOMBS = ("pairing, called directly", "accounts met one by one", "deeply nested JSON", "600 authorizations")


@pytest.fixture(scope="module")
def small():
    """A server with room for little."""
    flags = [text for name, value in SMALL.items() for text in (f"--{name}", str(value))]
    with serving("--workers", "1", *flags) as server:
        yield server


@pytest.fixture(scope="module")
def field():
    """A server with its default limits but for time, and somebody honest who calls it all the time."""
    with serving("--workers", "1", "--seconds", PATIENCE) as server, probing(port_of(server.address)) as prober:
        yield Field(server, prober, undisturbed=0.5)


def test_mixed_calls_at_saturation_are_all_answered_as_they_should_be(small):
    load = run(saturate(small, LOADED, CLIENTS))

    assert load.failures(growth=GROWTH) == []
    assert load.total.times.count > ANSWERS
    assert load.total.outcomes.keys() == {"ok", "3"}  # what reverts, reverts
    assert {"a batch of five", "rollup_getProof", "estimate, override"} < load.kinds.keys()


def test_keys_rates_websockets_and_a_failing_node_at_once_give_no_wrong_answer():
    with front.fronted(1, failing=2 * front.BLOCK) as (server, nodes):
        load = run(front.front(server, nodes, FRONTED, 6))

    assert load.failures(growth=GROWTH) + front.limit_failures(load) == []
    assert load.total.times.count > ANSWERS
    assert nodes.number > 1_000 + FRONTED


def test_too_much_of_anything_is_refused_as_documented_and_then_all_is_well_again(small):
    found = run(overload(small, SMALL, 1, CROWDED))

    assert found.failures() == []
    assert len(found.outcomes) == 3
    assert any(outcomes["answered"] for outcomes in found.outcomes.values())


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_ends_at_a_limit_and_keeps_nobody_else_waiting(field, name):
    (bomb,) = [bomb for bomb in arsenal() if bomb.name == name]
    blast = field.blast(bomb, THROWN)

    assert (blast.unexpected, blast.others.failures) == ([], {})
    assert blast.waited(field.alone) < OTHERS
    assert blast.serving < SERVING
    assert blast.memory < MEMORY


SIEGES = (
    "endless heads", "endless bodies", "a thousand requests at once on a connection", "trailers without end",
    "one-byte chunks without end", "256 KiB of requests at once on 60 connections",
)  # fmt: skip


@pytest.mark.parametrize("name", SIEGES)
def test_a_connection_without_end_is_cut_off_and_keeps_nobody_else_waiting(field, name):
    (siege,) = [siege for siege in sieges() if siege.name == name]
    blast = field.blast(siege, THROWN)

    assert (blast.unexpected, blast.others.failures) == ([], {})
    assert blast.waited(field.alone) < OTHERS
    assert blast.growth < bombs.GROWTH


def test_a_misbehaving_node_is_an_error_in_time_and_asked_again_when_it_is_well():
    findings = list(node_faults.findings(["dripping a byte at a time", "cut off in the middle", "lying about ids"]))

    assert [str(finding) for finding in findings if not finding.held] == []
    assert len(findings) == 5


def test_a_disk_without_room_leaves_a_ledger_that_is_read_and_goes_on(tmp_path):
    finding = store_faults.disk_full(tmp_path, limit=store_faults.FULL_AT)

    assert finding.held, str(finding)


def test_a_worker_that_dies_takes_its_connections_with_it_and_nothing_more():
    with begun("--workers", "2", *ROOM) as server:
        killed = process_faults.worker_killed(server, seconds=TROUBLED, gas=500_000)
        stopped = process_faults.told_to_stop(server, seconds=TROUBLED)

    assert killed.held, str(killed)
    assert stopped.held, str(stopped)


def test_few_open_files_are_told_and_no_connection_is_reset():
    finding = process_faults.few_files()

    assert finding.held, str(finding)


def test_a_temporary_folder_that_fills_up_costs_no_answer():
    finding = process_faults.temporary_folder_full()

    assert finding.held is not False, str(finding)


def test_a_worker_that_stands_still_is_replaced_and_signals_without_a_meaning_change_nothing():
    with begun("--workers", "2") as server:
        stopped = process_faults.worker_stopped(server)
        signalled = process_faults.signalled(server)

    assert stopped.held, str(stopped)
    assert signalled.held, str(signalled)


@pytest.mark.skipif(not process_faults.CLOCK.exists(), reason="needs libfaketime, of Debian's package faketime")
def test_a_clock_that_jumps_disturbs_nobody():
    finding = process_faults.clock_moved({"+7h": 7, "-30h": -30}, seconds=TROUBLED)

    assert finding.held, str(finding)


def batch(*calls):
    listed = [{"jsonrpc": "2.0", "method": "long", **call} for call in calls]
    answers = asyncio.run(respond(json.dumps(listed).encode(), {"long": lambda: "x" * 1_000}))
    return [(answer["id"], answer.get("error", {}).get("code")) for answer in json.loads(answers)]


def test_the_answers_to_a_batch_have_a_limit_together(monkeypatch):
    monkeypatch.setattr(jsonrpc, "BATCH_BYTES", 2_500)
    calls = [{"id": 1}, {"id": 2}, {"id": 3}, {"id": 4}, {}, {"id": 6, "params": 5}]

    assert batch(*calls) == [(1, None), (2, None), (3, None), (4, -32005), (None, -32600)]


def test_a_batch_has_a_limit_of_time(monkeypatch):
    monkeypatch.setattr(jsonrpc, "BATCH_SECONDS", -1.0)

    assert batch({"id": 1}, {"id": 2}) == [(1, -32005), (2, -32005)]


def test_the_answers_to_all_batches_have_a_limit_together(monkeypatch):
    monkeypatch.setattr(jsonrpc, "BATCHES_BYTES", 5_500)
    batches = jsonrpc.Batches()
    calls = json.dumps([{"jsonrpc": "2.0", "id": place, "method": "long"} for place in range(5)]).encode()

    async def all_at_once():
        return await asyncio.gather(*(respond(calls, {"long": lambda: "x" * 1_000}, batches=batches) for _ in range(4)))

    answers = [answer for text in asyncio.run(all_at_once()) for answer in json.loads(text)]
    assert len(answers) == 20
    assert len([answer for answer in answers if "result" in answer]) == 6  # which are more than 5,500 bytes
    assert {answer["error"]["code"] for answer in answers if "error" in answer} == {-32005}
    assert batches.held == 0


def test_one_long_proof_is_made_at_a_time_and_short_ones_meanwhile(tmp_path, monkeypatch):
    """Many that grow side by side would hold the memory of all of them."""
    steps = []

    def noted(store, address, keys, block, *, key_limit):
        for proof in proof_steps(store, address, keys, block, key_limit=key_limit):
            steps.append(len(keys))
            yield proof

    monkeypatch.setattr(methods, "proof_steps", noted)
    with Store(tmp_path / "ledger.db") as store:
        import_genesis(store, [GenesisAccount(bytes(20), balance=1)])
        store.finalize(0)

        async def asked():
            prove = methods.proof_methods(store)["rollup_getProof"]
            sizes = [4 * STEP, 4 * STEP + 1, STEP, 1]
            keys = [[hex(place) for place in range(size)] for size in sizes]
            await asyncio.gather(*(prove("0x" + "00" * 20, each, "0x0") for each in keys))
            return sizes

        first, second, *short = asyncio.run(asked())

    assert steps == [first, first, second, *short, first, first, *[second] * 4]


def test_a_proof_of_many_slots_is_made_in_steps(tmp_path):
    with Store(tmp_path / "ledger.db") as store:
        import_genesis(store, [GenesisAccount(bytes(20), balance=1, storage={bytes(32): 1})])
        store.finalize(0)
        asked = "0x" + "00" * 20, [hex(place) for place in range(2 * STEP + 1)], "0x0"
        counts = [len(proof["storageProofs"]) for proof in proof_steps(store, *asked)]
        proof = get_proof(store, *asked)
        check_proof(proof, root=store.block(0).root, address=asked[0], storage_keys=asked[1])

    assert counts == [STEP, 2 * STEP, 2 * STEP + 1]


def test_answers_that_nobody_takes_have_a_limit_together(monkeypatch):
    """The clients that wait the longest lose theirs; the last one gets his, when he takes it at last."""
    monkeypatch.setattr(protocol, "UNTAKEN_BYTES", 3 * PAGE)
    app = App({}, page=Page(b"x" * PAGE, ()))
    request = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with listening(app) as port, ExitStack() as stack:
        taken = []
        for _ in range(8):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=STOP))
            connection.sendall(request)
            connection.recv(1, socket.MSG_PEEK)  # the answer has begun
            taken.append(connection)
            time.sleep(0.05)
        sizes = [received(connection) for connection in taken]

    assert sizes[-1] > PAGE  # its head comes before it
    assert sum(size < PAGE for size in sizes) >= 3
    assert sizes == sorted(sizes, key=lambda size: size >= PAGE)  # who came first lost first


def test_an_answer_that_nobody_takes_is_not_kept_for_ever_where_the_client_wants_no_other():
    app = App({}, page=Page(b"x" * PAGE, ()))
    with (
        listening(app, bounds=Bounds(idle_seconds=0.2)) as port,
        socket.create_connection(("127.0.0.1", port), timeout=STOP) as client,
    ):
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        time.sleep(1.0)
        assert received(client) < PAGE


def received(connection):
    """Bytes until the other side closes, or breaks off."""
    size = 0
    with suppress(ConnectionResetError):
        while chunk := connection.recv(1 << 20):
            size += len(chunk)
    return size


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Answer(200, b'{"jsonrpc":"2.0","id":1,"result":"0x1"}'), "ok"),
        (Answer(200, b'{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"no"}}'), "-32005"),
        (Answer(503, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"no"}}'), "HTTP 503 -32005"),
        (Answer(413, b'{"error":"too long"}'), "HTTP 413"),
        (Answer(200, b'[{"id":1,"result":1},{"id":2,"error":{"code":3}}]'), "batch: 1 of 2 failed, [3]"),
    ],
)
def test_an_outcome_tells_errors_apart(answer, outcome):
    assert outcome == answer.outcome


def test_what_is_not_expected_is_counted():
    tally = Tally()
    tally.add("a call", "ok", 0.1)
    tally.add("a call", "-32603", 0.3, expected=False)

    assert Counter({"a call: -32603": 1}) == tally.unexpected
    assert (tally.failures(), tally.times.longest) == ("1 × -32603", 0.3)


def test_every_bomb_says_how_it_may_be_answered():
    bombs = arsenal()

    assert len(bombs) == len({bomb.name for bomb in bombs}) > 30
    assert all(isinstance(bomb, Bomb) and bomb.answers for bomb in bombs)
    assert ANY_END > HALTED
    assert all(b"\r\n\r\n" in next(bomb.requests()) for bomb in bombs)
