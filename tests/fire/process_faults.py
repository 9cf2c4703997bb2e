"""Processes that are killed, one after the other or all of them; the signal to stop; and a clock that jumps."""

import asyncio
import json
import math
import os
import random
import signal
import socket
import subprocess
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from feemodel.ethereum.quantities import to_hex
from feemodel.execution.pool import ATTEMPTS
from feemodel.rpc.processes import IGNORED
from feemodel.rpc.server import SILENCE
from tests.development import HOLDERS
from tests.fire import programs
from tests.fire.calls import Order, quick_orders
from tests.fire.client import Connection, post, run, timed
from tests.fire.findings import Finding, counted
from tests.fire.processes import engines, tree, workers
from tests.fire.programs import numbered
from tests.fire.start import PATIENCE, Begun, alive, begun, wait_until
from tests.fire.store_faults import may

CLIENTS = 16
LOAD = 2.0  # seconds before and after something happens
QUIET = 10.0  # seconds that answers may stay away altogether: a busy machine, not a server that stands still
SOON = 20.0  # seconds for processes to start or end
GRACE = 30.0  # seconds in which a server that was told to stop has ended, on a machine that does much else
BUSY_GAS = 20_000_000  # of a call that the reference engine takes half a minute for
TARGET = "0x" + "7a" * 20
#: What lets a process see another time: of Debian's package faketime, in the folder of the machine's kind.
CLOCK = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), Path("libfaketime.so.1"))
HOURS = {"+7h": 7, "-30h": -30, "+0": 0}  # as libfaketime reads them
LOST = frozenset({"closed", "refused"})  # what becomes of a request on a connection of a process that is killed


@dataclass(slots=True)
class Traffic:
    """What mixed calls came to while something happened."""

    outcomes: Counter[str] = field(default_factory=Counter)
    answered: list[float] = field(default_factory=list)  #: when [s]

    def add(self, order: Order, outcome: str) -> None:
        """Count one."""
        right = outcome in order.outcomes
        self.outcomes["answered" if right else outcome] += 1
        if right:
            self.answered.append(time.monotonic())

    @property
    def pause(self) -> float:
        """The longest in which nothing was answered [s]."""
        return max((after - before for before, after in pairwise(self.answered)), default=99)


async def traffic(port: int, happens: Callable[[], object], seconds: float) -> Traffic:
    """Mixed calls all the time; something happens in their middle."""
    found, listed = Traffic(), quick_orders(11, 300)
    until = time.monotonic() + 2 * seconds

    async def client(number: int) -> None:
        rng, connection = random.Random(number), Connection(port)
        while time.monotonic() < until:
            order = rng.choice(listed)
            outcome, _, _ = await timed(connection, order.request)
            found.add(order, outcome)
            if outcome in LOST:
                await asyncio.sleep(0.01)
        connection.close()

    asking = asyncio.gather(*map(client, range(CLIENTS)))
    await asyncio.sleep(seconds)
    happens()
    await asking
    return found


def slow_call(number: int, *, gas: int = 150_000) -> bytes:
    """A call that takes the reference engine a while."""
    call = {"from": to_hex(HOLDERS[0]), "to": TARGET, "gas": hex(gas)}
    return post("eth_call", call, "latest", {TARGET: {"code": to_hex(numbered(programs.CLZ_LOOP, number))}})


def worker_killed(server: Begun, *, seconds: float = LOAD, gas: int = BUSY_GAS) -> Finding:
    """One of two serving processes is killed under load, its children at work on calls of so much gas."""
    both_there(server)
    run(_busy_engines(server, gas))
    killed = workers(server.pid)[0]
    orphans = killed.children(recursive=True)
    found = run(traffic(server.port, killed.kill, seconds))
    back = both_there(server)
    ended = _seconds_until_ended(orphans)
    lost = sum(found.outcomes[name] for name in LOST)
    others = found.outcomes.keys() - LOST - {"answered"}
    # Each client loses the connection it has, and perhaps one that the kernel had given to the dead one's queue.
    held = not others and lost <= 2 * CLIENTS and found.pause < QUIET and ended < SOON
    seen = (
        f"{counted(found.outcomes)}; longest pause {found.pause:.2f} s; after the load it took {back:.1f} s until the "
        f"worker was replaced, {ended:.1f} s until its {len(orphans)} children had ended"
    )
    return Finding("a worker killed under load", seen, held)


def working_worker_killed(server: Begun) -> Finding:
    """One of two serving processes is killed while its children execute: they end too, and it is replaced."""
    both_there(server)
    run(_busy_engines(server, BUSY_GAS))
    wait_until(lambda: engines(server.pid), "a child executes", patience=SOON)
    killed = next(worker for worker in workers(server.pid) if worker.children())
    orphans = killed.children(recursive=True)
    killed.kill()
    ended = _seconds_until_ended([killed, *orphans])
    both_there(server)
    outcomes = run(_asked_anew(server.port, 20))
    held = ended < SOON and outcomes == Counter(ok=20)
    seen = f"its {len(orphans)} children ended after {ended:.1f} s; then {counted(outcomes)}"
    return Finding("a worker killed whose children execute", seen, held)


def both_there(server: Begun) -> float:
    """Wait for two workers that answer; the seconds that it took."""
    return wait_until(lambda: len(workers(server.pid)) == 2, "both workers are there", patience=SOON)


def _seconds_until_ended(processes: list[psutil.Process]) -> float:
    """Seconds until all have ended; for ever where that takes too long."""
    try:
        return wait_until(lambda: not alive(processes), "all processes have ended", patience=SOON)
    except AssertionError:
        return math.inf


def engine_killed(server: Begun) -> Finding:
    """The children that execute are killed, while they work and while they wait; a call is then executed again."""
    outcomes = run(_asked_of_killed_engines(server))
    held = outcomes == Counter(
        {"-32000 before": 1, "-32000 killed once": 1, "-32005 killed each time": 1, "-32000 after": 4}
    )
    return Finding("a child that executes killed", counted(outcomes), held)


async def _asked_of_killed_engines(server: Begun) -> Counter[str]:
    async def asked(number: int, *, gas: int) -> str:
        connection = Connection(server.port)
        outcome, _, _ = await timed(connection, slow_call(number, gas=gas))
        connection.close()
        return outcome

    def kill() -> None:
        for engine in engines(server.pid):
            engine.kill()

    async def killed(number: int, times: int) -> str:
        answer = asyncio.create_task(asked(number, gas=2_000_000))
        for _ in range(times):
            await _one_is_busy(server)
            kill()
        return await answer

    first = await asked(0, gas=30_000)
    once, each_time = await killed(1, 1), await killed(2, ATTEMPTS)
    kill()
    after = [await asked(number, gas=30_000) for number in range(3, 7)]
    return Counter(
        [f"{first} before", f"{once} killed once", f"{each_time} killed each time", *(f"{one} after" for one in after)]
    )


async def _one_is_busy(server: Begun) -> None:
    """Wait until a child executes: its start is over, and it needs the processor from look to look."""
    until, before = time.monotonic() + PATIENCE, dict[int, float]()
    while time.monotonic() < until:
        await asyncio.sleep(0.1)
        now = {engine.pid: sum(engine.cpu_times()[:2]) for engine in engines(server.pid)}
        if any(used - before.get(pid, used) > 0.05 for pid, used in now.items()):
            return
        before = now
    raise AssertionError(f"no child executes after {PATIENCE:g} s")


def parent_killed(server: Begun) -> Finding:
    """The process that started the others is killed: they end by themselves, and the port is free."""
    both_there(server)
    run(_busy_engines(server, BUSY_GAS))
    processes = tree(server.pid)[1:]
    server.process.kill()
    took = _seconds_until_ended(processes)
    free = _is_free(server.port)
    seen = (
        f"{len(processes)} processes ended after {took:.1f} s, port {'free' if free else 'taken'}; "
        f"{len(server.left())} temporary folders stay behind"
    )
    return Finding("the parent killed", seen, free and took < SOON)


async def _busy_engines(server: Begun, gas: int) -> None:
    """Leave children at work on calls that nobody waits for."""
    for number in range(4):
        connection = Connection(server.port)
        _, writer = await connection.opened()
        writer.write(slow_call(number, gas=gas))
        await asyncio.sleep(0.2)
        connection.close()


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return True
    return False


def told_to_stop(server: Begun, *, seconds: float = LOAD) -> Finding:
    """SIGTERM under load: what was sent before it is answered, nothing is left behind."""
    both_there(server)
    processes = tree(server.pid)
    outcomes, slow, longest = run(_stopped_under_load(server, seconds))
    code = server.process.wait(GRACE)
    ended = _seconds_until_ended(processes + tree(server.pid))
    files, traces = server.left(), server.log().count("trace")
    # A slow call is answered by what it came to or, where the machine is busy, by the limit of time that it reached.
    answered = outcomes.keys() == {"answered"} and slow.keys() <= {"-32000", "-32005"}
    held = answered and code == 0 and ended < SOON and not (files or traces)
    seen = (
        f"of what was sent before: {counted(outcomes)}, slow calls: {counted(slow)}, the last after {longest:.1f} s; "
        f"exit code {code}, the last process {ended:.1f} s later, files left: {files or 'none'}, {traces} traces"
    )
    return Finding("SIGTERM under load", seen, held)


async def _stopped_under_load(server: Begun, seconds: float) -> tuple[Counter[str], Counter[str], float]:
    """What came of the requests whose last byte was sent before the signal, and of slow ones; until the last [s]."""
    listed = quick_orders(13, 300)
    outcomes, told = Counter[str](), 0.0

    async def client(number: int) -> None:
        rng, connection = random.Random(number), Connection(server.port)
        while True:
            order = rng.choice(listed)
            try:
                await connection.opened()
            except OSError:
                return
            sent = time.monotonic()
            outcome, _, _ = await timed(connection, order.request)
            if told and sent < told:
                outcomes["answered" if outcome in order.outcomes else outcome] += 1
            if told:
                connection.close()
                return

    async def slow(number: int) -> str:
        connection = Connection(server.port)
        outcome, _, _ = await timed(connection, slow_call(number, gas=100_000))
        connection.close()
        return outcome

    clients = [asyncio.create_task(client(number)) for number in range(4 * CLIENTS)]
    await asyncio.sleep(seconds)
    slow_ones = [asyncio.create_task(slow(number)) for number in range(4)]
    await asyncio.sleep(0.3)
    told = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    ended = Counter(await asyncio.gather(*slow_ones))
    await asyncio.gather(*clients)
    return outcomes, ended, time.monotonic() - told


def told_to_stop_with_bombs(server: Begun) -> Finding:
    """SIGTERM while children execute for longer than the grace, and connections send half requests or nothing."""

    async def stop() -> None:
        connections = [Connection(server.port) for _ in range(30)]
        for number, connection in enumerate(connections):
            _, writer = await connection.opened()
            request = slow_call(number, gas=25_000_000)
            writer.write(request if number < 6 else request[: -number * 5] if number < 20 else b"")
        await asyncio.sleep(1.0)
        server.process.send_signal(signal.SIGTERM)
        while server.process.poll() is None and time.monotonic() - began < GRACE:
            await asyncio.sleep(0.05)
        for connection in connections:
            connection.close()

    both_there(server)
    began, processes = time.monotonic(), tree(server.pid)
    run(stop())
    took, code = time.monotonic() - began, server.process.poll()
    ended, files = _seconds_until_ended(processes + tree(server.pid)), server.left()
    seen = (
        f"exit code {code} after {took:.1f} s, all processes ended {ended:.1f} s later, files left: {files or 'none'}"
    )
    return Finding("SIGTERM while calls run that do not end", seen, code == 0 and ended < SOON and not files)


def clock_moved(hours: Mapping[str, int] = HOURS, *, seconds: float = LOAD) -> Finding:
    """The clock of all processes goes hours forward, back, and forward again, under load."""
    fault = "the clock moved by hours"
    if not CLOCK.exists():
        return Finding(fault, f"needs Debian's package faketime: {CLOCK} is not there", None)
    with TemporaryDirectory(prefix="under-fire-") as name:
        clock = Path(name) / "clock"
        _set(clock, "+0")
        environment = {
            "LD_PRELOAD": str(CLOCK), "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1", "FAKETIME_DONT_RESET": "1",
            # Else a wait of milliseconds on a condition, as every thread waits for Python's lock, ends at once, and
            # threads spin around the lock of the library; and compiled kernels look older than their source.
            "FAKETIME_FORCE_MONOTONIC_FIX": "0", "NO_FAKE_STAT": "1",
        }  # fmt: skip
        outcomes, pauses, seen_clocks = Counter[str](), [], []
        flags = ("--workers", "1", "--log", "requests", "--idle-seconds", "30")
        with begun(*flags, environment=environment) as server:
            for moved in hours:
                found = run(traffic(server.port, partial(_set, clock, moved), seconds))
                outcomes += found.outcomes
                pauses.append(found.pause)
                seen_clocks.append((_last_time(server) - time.time()) / 3600)
            strangers = _other_lines(server)
    held = outcomes.keys() == {"answered"} and max(pauses) < QUIET and not strangers
    held = held and [round(seen) for seen in seen_clocks] == list(hours.values())
    clocks = ", ".join(f"{seen:+.0f} h" for seen in seen_clocks)
    seen = f"{counted(outcomes)}; longest pause {max(pauses):.2f} s; its log said {clocks}"
    return Finding(fault, seen + "".join(f"; {line}" for line in strangers[-1:]), held)


def _set(clock: Path, moved: str) -> None:
    """Written beside it first: a process reads the file at any moment, and half of it is no time."""
    written = clock.with_suffix(".new")
    written.write_text(moved)
    written.replace(clock)


def _last_time(server: Begun) -> float:
    """When the last line was logged, by the server's own clock."""
    lines = [line for line in server.log().splitlines() if line.startswith("{")]
    return float(json.loads(lines[-1])["time"])


def _other_lines(server: Begun) -> list[str]:
    """What was written beside the log's own lines: traces of exceptions."""
    return [line for line in server.log().splitlines() if not line.startswith("{")]


def worker_stopped(server: Begun) -> Finding:
    """A worker that stands still, and answers nobody, is replaced; that is logged and counted."""
    both_there(server)
    stopped = workers(server.pid)[0]
    stopped.send_signal(signal.SIGSTOP)
    gone = wait_until(lambda: not alive([stopped]), "it is gone", patience=SOON + SILENCE)
    both_there(server)
    outcomes = run(_asked_anew(server.port, 20))
    logged = f"worker {stopped.pid} ended: silence" in server.log()
    counted_ = 'feemodel_workers_ended_total{reason="silence"} 1.0' in _metrics(server)
    held = outcomes == Counter(ok=20) and logged and counted_
    seen = f"replaced after {gone:.1f} s, logged: {logged}, counted: {counted_}; then {counted(outcomes)}"
    return Finding("a worker stopped", seen, held)


def _metrics(server: Begun) -> str:
    with urllib.request.urlopen(f"{server.address}/metrics", timeout=SOON) as answer:
        return str(answer.read().decode())


async def _asked_anew(port: int, times: int) -> Counter[str]:
    """The outcomes of calls, each on a connection of its own."""
    outcomes = Counter[str]()
    for _ in range(times):
        connection = Connection(port)
        outcome, _, _ = await timed(connection, post("eth_chainId"))
        outcomes[outcome] += 1
        connection.close()
    return outcomes


def signalled(server: Begun) -> Finding:
    """Signals that mean nothing here reach all processes: nothing ends, and all is answered."""
    both_there(server)
    processes = [server.pid, *(worker.pid for worker in workers(server.pid))]
    for number in IGNORED:
        for process in processes:
            os.kill(process, number)
        time.sleep(0.1)
    outcomes = run(_asked_anew(server.port, 20))
    same = processes == [server.pid, *(worker.pid for worker in workers(server.pid))]
    server.process.send_signal(signal.SIGQUIT)
    code, files = server.process.wait(GRACE), server.left()
    names = ", ".join(sorted(signal.Signals(number).name for number in IGNORED))
    held = same and outcomes == Counter(ok=20) and code == 0 and not files
    seen = f"{names}: {'the same' if same else 'other'} processes, {counted(outcomes)}; "
    return Finding("signals", seen + f"SIGQUIT: exit code {code}, files left: {files or 'none'}", held)


def few_files(files: int = 64) -> Finding:
    """A process may open few files, and more connections come than it can have: each gets an answer or waits."""
    fault = f"{files} open files"
    before = ("prlimit", f"--nofile={files}:{files}")
    with begun("--workers", "1", before=before) as server:

        async def crowd() -> Counter[str]:
            async def idle() -> str:
                connection = Connection(server.port)
                outcome, _, _ = await timed(connection, post("eth_chainId"), patience=10.0)
                await asyncio.sleep(1.0)
                connection.close()
                return outcome

            return Counter(await asyncio.gather(*(idle() for _ in range(4 * files))))

        outcomes = run(crowd())
        after = run(_asked_anew(server.port, 20))
        said = "the limit of open files leaves room for" in server.log()
    held = outcomes.keys() <= {"ok", "HTTP 503 -32005"} and after == Counter(ok=20) and said
    seen = f"{4 * files} connections at once: {counted(outcomes)}; then {counted(after)}; logged: {said}"
    return Finding(fault, seen, held)


def temporary_folder_full() -> Finding:
    """The folder of temporary files fills up under load: all is answered as before."""
    with TemporaryDirectory(prefix="under-fire-") as name:
        if not may("mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", name):
            return Finding("a full temporary folder", "a small disk cannot be mounted by this user", None)
        try:
            with begun("--workers", "2", environment={"TMPDIR": name}) as server:
                both_there(server)
                filling = Path(name) / "filling"
                found = run(traffic(server.port, lambda: _fill(filling), LOAD))
                same = len(workers(server.pid)) == 2
                counts = "feemodel_calls_total" in _metrics(server)
                filling.unlink()
        finally:
            subprocess.run(["umount", name], check=True)
    held = found.outcomes.keys() == {"answered"} and same and counts
    return Finding("a full temporary folder", f"{counted(found.outcomes)}; metrics still told: {counts}", held)


def _fill(file: Path) -> None:
    with suppress(OSError), file.open("wb") as out:
        while True:
            out.write(bytes(4_096))
            out.flush()


REFERENCE = ("--engine", "reference")  # which executes in child processes
#: Each with the flags of a server of its own.
FAULTS: tuple[tuple[Callable[[Begun], Finding], tuple[str, ...]], ...] = (
    (worker_killed, ("--workers", "2")),
    (working_worker_killed, ("--workers", "2", *REFERENCE)),
    (worker_stopped, ("--workers", "2")),
    (engine_killed, ("--workers", "1", "--processes", "1", *REFERENCE)),
    (parent_killed, ("--workers", "2", *REFERENCE)),
    (signalled, ("--workers", "2")),
    (told_to_stop, ("--workers", "2")),
    (told_to_stop_with_bombs, ("--workers", "2", *REFERENCE)),
)


def findings() -> Iterator[Finding]:
    """All faults of processes, and the clock."""
    for fault, flags in FAULTS:
        with begun(*flags) as server:
            found = fault(server)
        yield replace(found, fault=f"{found.fault}, reference engine" if REFERENCE[1] in flags else found.fault)
    yield few_files()
    yield temporary_folder_full()
    yield clock_moved()
