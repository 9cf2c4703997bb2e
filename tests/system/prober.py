"""An innocent caller in a process of its own: the longest that it waits while others attack.

    python -m tests.system.prober TARGET CERTIFICATE WORKER,WORKER...

sends a quick call every 20 ms, whether the calls before have been answered or not, in turns on a new connection and on
a persistent one. For each line on standard input it prints a line of JSON with what it has seen since the last one.

A machine that is busy with other programs delays every answer. The time that all workers of a server, or the caller
itself, waited for a processor during a call is therefore taken off its wait.
"""

import asyncio
import json
import os
import random
import ssl
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from feemodel.ethereum._quantities import to_hex
from tests.helpers.development import HOLDERS
from tests.system.calls import balance, token, transfer
from tests.system.client import Connection, Target, run, timed
from tests.system.processes import unscheduled

EVERY = 0.02  # seconds between two calls
PATIENCE = 30.0  # seconds after which a call is given up


@dataclass(frozen=True, slots=True)
class Seen:
    """Latencies of an innocent caller."""

    calls: int
    longest: float  #: [s]
    waited: float  #: longest without the time for which the machine was busy [s]
    failures: dict[str, int]  #: outcomes other than "ok"


def requests(target: Target) -> Iterator[bytes]:
    """Yield quick calls of the kinds that a wallet makes."""
    rng = random.Random(7)
    while True:
        yield target.post("rollup_estimateGas", transfer(rng))
        yield target.post("rollup_estimateGas", token(rng))
        yield target.post("eth_call", balance(rng), "latest")
        yield target.post("eth_getBalance", to_hex(rng.choice(HOLDERS)), "latest")
        yield target.post("rollup_getProof", to_hex(rng.choice(HOLDERS)), [], "latest")


class Prober:
    """Calls a server at a fixed rate, and counts."""

    def __init__(self, target: Target, workers: Sequence[Sequence[int]]) -> None:
        self._target, self._requests, self._workers = target, requests(target), workers
        self._kept: deque[Connection] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._reset()

    def _reset(self) -> None:
        self._times, self._waited, self._failures = list[float](), 0.0, Counter[str]()

    async def run(self) -> None:
        """Send a call at each tick, for ever."""
        due, number = time.perf_counter(), 0
        while True:
            number += 1
            keep = bool(number % 2)
            connection = self._kept.popleft() if keep and self._kept else self._target.connection()
            task = asyncio.create_task(self._ask(connection, keep=keep))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            due += EVERY
            await asyncio.sleep(due - time.perf_counter())
            due = max(due, time.perf_counter() - EVERY)  # ticks that the machine missed are not made up for

    async def _ask(self, connection: Connection, *, keep: bool) -> None:
        request, was_open = next(self._requests), connection.is_open
        before = self._unscheduled()
        outcome, seconds, _ = await timed(connection, request, patience=PATIENCE)
        if outcome == "closed" and was_open:  # closed while it was idle: as every HTTP client, try a new one
            outcome, more, _ = await timed(connection, request, patience=PATIENCE)
            seconds += more
        busy = max(
            min(now[pid] - then for pid, then in group.items())
            for group, now in zip(before, self._unscheduled(), strict=True)
        )
        self._waited = max(self._waited, seconds - busy)
        self._times.append(seconds)
        if outcome != "ok":
            self._failures[outcome] += 1
        if keep and outcome == "ok":
            self._kept.append(connection)
        else:
            connection.close()

    def _unscheduled(self) -> list[dict[int, float]]:
        return [{pid: unscheduled(pid) for pid in group} for group in ([os.getpid()], *self._workers)]

    async def seen(self) -> Seen:
        """Return what was seen since the last time, including the calls that are under way now."""
        if pending := self._tasks.copy():
            await asyncio.wait(pending)
        found = Seen(len(self._times), max(self._times, default=0.0), self._waited, dict(self._failures))
        self._reset()
        return found


@dataclass(slots=True)
class Probing:
    """A prober that runs in another process."""

    process: "subprocess.Popen[str]"

    def seen(self) -> Seen:
        """Return what it has seen since it was last asked."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return Seen(**json.loads(self.process.stdout.readline()))


@contextmanager
def probing(target: Target, workers: Sequence[Sequence[int]], trusted: Path) -> Iterator[Probing]:
    """Run a prober of a server until the block ends.

    Parameters
    ----------
    target : the server, as the innocent caller sees it.
    workers : process ids of its workers, and those of a proxy in front of it.
    trusted : certificate with which TLS is checked.
    """
    about = {"port": target.port, "path": target.path, "source": target.source}
    line = [sys.executable, "-m", "tests.system.prober", json.dumps(about), str(trusted)]
    line += [",".join(map(str, group)) for group in workers]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Probing(process)
        finally:
            process.kill()


async def main(about: str, trusted: str, *workers: str) -> None:
    tls = ssl.create_default_context(cafile=trusted)
    prober = Prober(Target(**json.loads(about), tls=tls), [[int(pid) for pid in group.split(",")] for group in workers])
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    calling = asyncio.create_task(prober.run())
    while await reader.readline():
        print(json.dumps(asdict(await prober.seen())), flush=True)
    calling.cancel()


if __name__ == "__main__":
    run(main(*sys.argv[1:]))
