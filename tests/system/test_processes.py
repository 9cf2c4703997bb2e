"""Workers that are killed, signals to stop, files that go bad."""

import asyncio
import json
import os
import shutil
import signal
import threading
from collections import Counter
from itertools import pairwise
from pathlib import Path

import psutil
import pytest
import urllib3

from feemodel.ledger import Store, import_genesis
from tests.helpers.development import GENESIS
from tests.helpers.ledger_blocks import allocated
from tests.system.calls import orders, slow_call
from tests.system.client import Connection, alone, post, run, timed
from tests.system.load import Load, send
from tests.system.processes import alive, tree, workers
from tests.system.start import Started, started, wait_until

LOAD = 1.5  # seconds before and after something happens
PAUSE = 10.0  # seconds without any answer: a busy machine may take long, a server must not
SOON = 40.0  # seconds for processes to start or end, on a busy machine
GRACE = 20.0  # seconds in which a server that was told to stop has ended
CLIENTS = 16
TWO = ("--workers", "2")


def both(server: Started) -> list[psutil.Process]:
    """Return the two workers, as soon as both are there."""
    wait_until(lambda: len(workers(server.pid)) == 2, "both workers are there", patience=SOON)
    return workers(server.pid)


def ended(processes: list[psutil.Process]) -> None:
    """Wait until all these processes have ended."""
    wait_until(lambda: not alive(processes), "all processes have ended", patience=SOON)


def test_a_killed_worker_is_replaced_and_takes_only_its_own_connections():
    with started(*TWO) as server:
        killed = both(server)[0]
        children = killed.children(recursive=True)
        found = Load()
        threading.Timer(LOAD, killed.kill).start()
        run(send(server.port, 2 * LOAD, CLIENTS, orders(11, 300), found))
        both(server)
        ended([killed, *children])
        after = outcomes(server.port)

    assert {name.rpartition(": ")[2] for name in found.wrong} <= {"closed", "refused"}
    assert found.wrong.total() <= 2 * CLIENTS
    assert max(later - earlier for earlier, later in pairwise(found.answered)) < PAUSE
    assert after == {"ok": 20}


def outcomes(port: int) -> Counter[str]:
    """Return the outcomes of calls, each on a connection of its own."""
    return Counter(run(alone(port, post("eth_chainId")))[0] for _ in range(20))


def test_what_was_read_before_the_signal_to_stop_is_answered():
    with started(*TWO) as server:
        both(server)
        processes = tree(server.pid)
        answered, slow = run(stopped_under_load(server))
        code = server.process.wait(GRACE)
        ended(processes)
        left, log = server.left(), server.log()

    assert answered.keys() <= {"answered", "closed"}  # closed: not read yet
    assert slow.keys() <= {"-32000", "-32005"}
    assert code == 0
    assert left == []
    assert "Traceback" not in log


async def stopped_under_load(server: Started) -> tuple[Counter[str], Counter[str]]:
    """Return the outcomes of requests that were sent just before the signal: quick ones, slow ones."""
    listed = orders(13, 4 * CLIENTS)
    connections = [Connection(server.port) for _ in range(4 + len(listed))]
    for connection in connections:
        await connection.opened()
    slow = [asyncio.create_task(timed(connections[place], slow_call(place, 20_000_000))) for place in range(4)]
    await asyncio.sleep(0.3)
    quick = [
        asyncio.create_task(timed(*each)) for each in zip(connections[4:], (one.request for one in listed), strict=True)
    ]
    await asyncio.sleep(0.01)
    server.process.send_signal(signal.SIGTERM)
    found = [outcome for outcome, _, _ in await asyncio.gather(*slow, *quick)]
    for connection in connections:
        connection.close()
    answered = ["answered" if end == order.outcome else end for end, order in zip(found[4:], listed, strict=True)]
    return Counter(answered), Counter(found[:4])


def test_unfinished_requests_and_idle_connections_do_not_keep_a_server_from_stopping():
    async def stop(server: Started) -> int:
        connections = [Connection(server.port) for _ in range(40)]
        request = slow_call(0, 50_000_000)
        for number, connection in enumerate(connections):
            _, writer = await connection.opened()
            writer.write(request if number < 6 else request[: -number * 5] if number < 20 else b"")
        await asyncio.sleep(0.5)
        server.process.send_signal(signal.SIGINT)
        code = await asyncio.to_thread(server.process.wait, GRACE)
        for connection in connections:
            connection.close()
        return code

    with started(*TWO) as server:
        both(server)
        processes = tree(server.pid)
        assert run(stop(server)) == 0
        ended(processes)
        assert server.left() == []


def test_files_that_go_bad_after_the_start_take_nothing_down(tmp_path: Path):
    """Replaced workers answer as before: they get what was read at the start."""
    config, genesis = tmp_path / "feemodel.toml", tmp_path / "genesis.json"
    shutil.copy(GENESIS, genesis)
    config.write_text(f"workers = 2\ngenesis = {json.dumps(str(genesis))}\n")
    with started("--config", str(config)) as server:
        both(server)
        for content in (b"\x00garbage{", None):
            for file in (config, genesis):
                file.unlink() if content is None else file.write_bytes(content)
            killed = both(server)
            for worker in killed:
                worker.kill()
            ended(killed)
            both(server)
            wait_until(lambda: outcomes(server.port) == {"ok": 20}, "all is answered again", patience=SOON)
            assert server.process.poll() is None


@pytest.mark.parametrize("content", ["cut", "garbage"])
def test_a_ledger_that_goes_bad_gives_no_wrong_proof_and_ends_nothing(tmp_path: Path, content: str):
    ledger = tmp_path / "ledger.db"
    with Store(ledger) as store:
        import_genesis(store, [allocated(number.to_bytes(20), balance=1) for number in range(1, 3_000)])
        store.finalize(0)
    proofs = [post("rollup_getProof", "0x" + number.to_bytes(20).hex(), [], "0x0") for number in range(1, 3_000, 60)]

    async def asked(port: int) -> Counter[str]:
        connection, found = Connection(port), Counter[str]()
        for proof in proofs:
            outcome, _, _ = await timed(connection, proof)
            found[outcome] += 1
        connection.close()
        return found

    with started(*TWO, "--store", str(ledger)) as server:
        before = sorted(worker.pid for worker in both(server))
        sound = run(asked(server.port))
        size = ledger.stat().st_size
        data = ledger.read_bytes()[: size // 2] if content == "cut" else os.urandom(size)
        with ledger.open("r+b") as file:
            file.write(data)
            file.truncate(len(data))
        found = run(asked(server.port))
        health = urllib3.request("GET", f"{server.address}/health").status
        same = before == sorted(worker.pid for worker in both(server))

    assert sound == {"ok": len(proofs)}
    assert found.keys() <= {"ok", "-32603", "-32002"}
    assert health == 200
    assert same
