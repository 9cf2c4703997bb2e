"""Somebody with honest, quick calls, in a process of his own: how long he waits while others do their worst.

    python -m tests.fire.prober PORT

sends a call every 50 ms, whether the ones before have been answered or not, in turns on a fresh connection and on one
that is kept. For a line on standard input it says as a line of JSON what it has seen since the last one.
"""

import asyncio
import json
import random
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from feemodel.ethereum.quantities import to_hex
from tests.development import HOLDERS
from tests.fire.calls import balance, token, transfer
from tests.fire.client import Connection, Latencies, post, run, timed

EVERY = 0.05  # seconds
PATIENCE = 30.0  # seconds; nobody honest waits longer


@dataclass(frozen=True, slots=True)
class Seen:
    """What the prober saw for a while."""

    calls: int
    p50: float  #: [s]
    p99: float
    longest: float
    late: float  #: how long after its time its own longest step began: what the machine did, and no server [s]
    failures: dict[str, int]  #: outcomes but for "ok"


def requests() -> Iterator[bytes]:
    """Quick calls of the kinds that a wallet makes."""
    rng = random.Random(7)
    while True:
        yield post("rollup_estimateGas", transfer(rng))
        yield post("rollup_estimateGas", token(rng))
        yield post("eth_call", balance(rng), "latest")
        yield post("eth_getBalance", to_hex(rng.choice(HOLDERS)), "latest")
        yield post("rollup_getProof", to_hex(rng.choice(HOLDERS)), [], "latest")


class Prober:
    """Sends, and counts."""

    def __init__(self, port: int) -> None:
        self._port, self._requests = port, requests()
        self._kept: deque[Connection] = deque()
        self._asking: set[asyncio.Task[None]] = set()
        self._anew()

    def _anew(self) -> None:
        self._times, self._late, self._failures = Latencies(), 0.0, Counter[str]()

    async def keep_asking(self) -> None:
        """A call at each tick, for ever."""
        due, number = time.perf_counter(), 0
        while True:
            number += 1
            connection = self._kept.popleft() if number % 2 and self._kept else Connection(self._port)
            task = asyncio.create_task(self._ask(connection, keep=bool(number % 2)))
            self._asking.add(task)
            task.add_done_callback(self._asking.discard)
            due += EVERY
            await asyncio.sleep(due - time.perf_counter())
            self._late = max(self._late, time.perf_counter() - due)

    async def _ask(self, connection: Connection, *, keep: bool) -> None:
        request, was_open = next(self._requests), connection.is_open
        outcome, seconds, _ = await timed(connection, request, patience=PATIENCE)
        if outcome == "closed" and was_open:  # while it was idle: as any client he opens another one
            outcome, more, _ = await timed(connection, request, patience=PATIENCE)
            seconds += more
        self._times.add(seconds)
        if outcome != "ok":
            self._failures[outcome] += 1
        if keep and outcome == "ok":
            self._kept.append(connection)
        else:
            connection.close()

    async def seen(self) -> Seen:
        """Since the last time, those calls included that are under way now."""
        while self._asking:
            await asyncio.wait(self._asking.copy())
            if not self._asking or all(task.done() for task in self._asking):
                break
        times = self._times
        found = Seen(
            times.count, times.quantile(0.5), times.quantile(0.99), times.longest, self._late, dict(self._failures)
        )
        self._anew()
        return found


@dataclass(slots=True)
class Probing:
    """A prober that runs in another process."""

    process: "subprocess.Popen[str]"

    def seen(self) -> Seen:
        """What it has seen since it was last asked; waits for what is under way."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return Seen(**json.loads(self.process.stdout.readline()))


@contextmanager
def probing(port: int) -> Iterator[Probing]:
    """A prober of a server, until the block ends."""
    command = [sys.executable, "-m", "tests.fire.prober", str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Probing(process)
        finally:
            process.kill()


async def main(port: int) -> None:
    prober = Prober(port)
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    asking = asyncio.create_task(prober.keep_asking())
    while await reader.readline():
        print(json.dumps(asdict(await prober.seen())), flush=True)
    asking.cancel()


if __name__ == "__main__":
    run(main(int(sys.argv[1])))
