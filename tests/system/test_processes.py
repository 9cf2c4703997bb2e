"""Workers that are killed, signals to stop, files that go bad."""

import asyncio
import json
import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

from feemodel.ethereum._quantities import to_hex
from feemodel.ledger import Store, import_genesis
from tests.helpers.development import GENESIS, HOLDERS
from tests.helpers.ledger_blocks import allocated
from tests.system import evm_programs as programs
from tests.system.calls import orders
from tests.system.client import Connection, alone, post, run, timed
from tests.system.evm_programs import numbered
from tests.system.load import Load, send
from tests.system.processes import alive, tree, workers
from tests.system.start import Started, started, wait_until

LOAD = 1.5  # seconds before and after something happens
PAUSE = 10.0  # seconds without any answer: a busy machine may take long, a server must not
SOON = 40.0  # seconds for processes to start or end, on a busy machine
GRACE = 20.0  # seconds in which a server that was told to stop has ended
CLIENTS = 16
TWO = ("--workers", "2")
ADDRESS = "0x" + "7a" * 20


def both(server: Started) -> list[psutil.Process]:
    """Return the two workers, as soon as both are there."""
    wait_until(lambda: len(workers(server.pid)) == 2, "both workers are there", patience=SOON)
    return workers(server.pid)


def ended(processes: list[psutil.Process], patience: float = SOON) -> None:
    """Wait until all these processes have ended."""
    wait_until(lambda: not alive(processes), "all processes have ended", patience=patience)


def slow_call(number: int, gas: int) -> bytes:
    """Return a request whose execution takes a while: half a second for 20 million gas on the native engine."""
    call = {"from": to_hex(HOLDERS[0]), "to": ADDRESS, "gas": hex(gas)}
    return post("eth_call", call, "latest", {ADDRESS: {"code": to_hex(numbered(programs.LOOP, number))}})


def test_a_killed_worker_is_replaced_and_takes_only_its_own_connections():
    with started(*TWO) as server:
        killed = both(server)[0]
        children = killed.children(recursive=True)
        found = run(traffic(server.port, killed.kill))
        both(server)
        ended([killed, *children])
        after = outcomes(server.port)

    assert {name.rpartition(": ")[2] for name in found.wrong} <= {"closed", "refused"}
    assert found.wrong.total() <= 2 * CLIENTS
    assert max(later - earlier for earlier, later in pairwise(found.answered)) < PAUSE
    assert after == {"ok": 20}


async def traffic(port: int, happens: Callable[[], object]) -> Load:
    """Send mixed calls; something happens in the middle."""
    found = Load()
    sending = asyncio.create_task(send(port, 2 * LOAD, CLIENTS, orders(11, 300), found))
    await asyncio.sleep(LOAD)
    await asyncio.to_thread(happens)
    await sending
    return found


def outcomes(port: int, times: int = 20) -> Counter[str]:
    """Return the outcomes of calls, each on a connection of its own."""
    return Counter(run(alone(port, post("eth_chainId")))[0] for _ in range(times))


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
    """Return the outcomes of requests whose last byte was sent before the signal: quick ones, slow ones."""
    listed, found, told = orders(13, 300), Counter[str](), asyncio.Event()

    async def client(place: int) -> None:
        connection, index = Connection(server.port), place
        while not told.is_set():
            index += 1
            order = listed[index % len(listed)]
            try:
                await connection.opened()
            except OSError:
                return
            before = not told.is_set()
            outcome, _, _ = await timed(connection, order.request)
            if before and told.is_set():
                found["answered" if outcome == order.outcome else outcome] += 1
        connection.close()

    clients = [asyncio.create_task(client(place)) for place in range(4 * CLIENTS)]
    await asyncio.sleep(LOAD)
    slow_connections = [Connection(server.port) for _ in range(4)]
    for connection in slow_connections:
        await connection.opened()  # a busy server may take longer for it than the pause below
    slow_ones = [
        asyncio.create_task(timed(connection, slow_call(place, 20_000_000)))
        for place, connection in enumerate(slow_connections)
    ]
    await asyncio.sleep(0.3)
    told.set()
    server.process.send_signal(signal.SIGTERM)
    ends = Counter(outcome for outcome, _, _ in await asyncio.gather(*slow_ones))
    await asyncio.gather(*clients)
    for connection in slow_connections:
        connection.close()
    return found, ends


def test_unfinished_requests_and_idle_connections_do_not_keep_a_server_from_stopping():
    async def stop(server: Started) -> float:
        connections = [Connection(server.port) for _ in range(40)]
        request = slow_call(0, 50_000_000)
        for number, connection in enumerate(connections):
            _, writer = await connection.opened()
            writer.write(request if number < 6 else request[: -number * 5] if number < 20 else b"")
        await asyncio.sleep(0.5)
        server.process.send_signal(signal.SIGINT)
        began = time.monotonic()
        while server.process.poll() is None and time.monotonic() - began < GRACE:
            await asyncio.sleep(0.05)
        for connection in connections:
            connection.close()
        return time.monotonic() - began

    with started(*TWO) as server:
        both(server)
        processes = tree(server.pid)
        took = run(stop(server))
        assert server.process.poll() == 0
        ended(processes)
        assert server.left() == []
    assert took < GRACE


def got(port: int, path: str) -> str:
    """Return the outcome of a GET request."""
    return run(alone(port, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()))[0]


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
        after = got(server.port, "/health")
        same = before == sorted(worker.pid for worker in both(server))

    assert sound == {"ok": len(proofs)}
    assert found.keys() <= {"ok", "-32603", "-32002"}
    assert after in ("ok", "HTTP 503")
    assert same
