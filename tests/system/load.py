"""Mixed load for minutes without one wrong answer: JSON-RPC over HTTP, checked against the first answer.

    python -m tests.system.load [--seconds 600] [--clients 32] [--workers 2]

Every client sends one request after the other. An answer is wrong if its kind may not have this
outcome, or if it is another one than the same request got before: the chain does not change. Memory must stay flat: a
line through the last three quarters of the run may rise by 5 %, and no worker may grow by more than 200 MiB or die.
"""

import argparse
import asyncio
import hashlib
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from tests.system.calls import Order, orders
from tests.system.client import Connection, run, timed
from tests.system.processes import MIB, memory, tree, workers
from tests.system.start import Started, started

RISE = 0.05  # of the memory, over the last three quarters of a run
GROWTH = 200 * MIB  # of a worker
WARM_UP = 8  # rounds of all kinds


@dataclass(slots=True)
class Load:
    """What came of mixed calls, and the memory of the server meanwhile."""

    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    answered: list[float] = field(default_factory=list)  #: when right answers came [s]
    first: dict[bytes, bytes] = field(default_factory=dict)  #: digest of the first answer to each request
    looks: list[tuple[float, int]] = field(default_factory=list)  #: time [s] and memory of all processes [byte]
    lost: int = 0  #: workers that died
    grown: int = 0  #: of the worker that grew most [byte]

    def add(self, order: Order, outcome: str, body: bytes) -> None:
        """Count an answer, and compare it with the first one to the same request."""
        self.outcomes[outcome] += 1
        digest = hashlib.blake2b(body, digest_size=16).digest()
        if outcome != order.outcome:
            self.wrong[f"{order.kind}: {outcome}"] += 1
        elif self.first.setdefault(order.request, digest) != digest:
            self.wrong[f"{order.kind}: another answer than before: {body[:200]!r}"] += 1
        else:
            self.answered.append(time.perf_counter())

    @property
    def rise(self) -> float:
        """Rise of a line through the memory of the last three quarters, as a part of its mean [1]."""
        times, sizes = np.array(self.looks[len(self.looks) // 4 :], dtype=float).T
        slope = np.polyfit(times, sizes, 1)[0]
        return float(slope * (times[-1] - times[0]) / sizes.mean())

    def failures(self, rise: float = RISE) -> list[str]:
        """List what must not be; nothing if all held."""
        found = [f"{count:,} × {name}" for name, count in self.wrong.most_common()]
        if self.rise > rise:
            found.append(f"memory rose by {self.rise:.1%}, more than {rise:.0%}")
        if self.grown > GROWTH:
            found.append(f"a worker grew by {self.grown / MIB:.0f} MiB")
        if self.lost:
            found.append(f"{self.lost} workers died")
        return found


async def send(port: int, seconds: float, clients: int, listed: list[Order], load: Load) -> None:
    """Send orders from a number of clients, each one after the other, and count what comes of them."""
    until = time.perf_counter() + seconds

    async def client(number: int) -> None:
        rng, connection = random.Random(number), Connection(port)
        while time.perf_counter() < until:
            order = rng.choice(listed)
            outcome, _, body = await timed(connection, order.request)
            load.add(order, outcome, body)
            if not connection.is_open:
                await asyncio.sleep(0.01)
        connection.close()

    await asyncio.gather(*map(client, range(clients)))


async def saturate(server: Started, seconds: float, clients: int) -> Load:
    """Send mixed calls as fast as they are answered, and look at the server's processes every second."""
    listed, load = orders(), Load()
    warm = list({order.kind: order for order in listed}.values())
    await send(server.port, 1.0, WARM_UP, warm, Load())
    before = {worker.pid: memory(worker) for worker in workers(server.pid)}

    async def watch() -> None:
        while True:
            after = {worker.pid: memory(worker) for worker in workers(server.pid)}
            load.looks.append((time.perf_counter(), sum(map(memory, tree(server.pid)))))
            load.lost = len(before.keys() - after.keys())
            load.grown = max([load.grown, *(after[pid] - size for pid, size in before.items() if pid in after)])
            await asyncio.sleep(1.0)

    watching = asyncio.create_task(watch())
    await send(server.port, seconds, clients, listed, load)
    watching.cancel()
    return load


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/load", description="Load a server and check every answer.")
    parser.add_argument("--seconds", type=float, default=600.0, help="%(default)g unless given")
    parser.add_argument("--clients", type=int, default=32, help="at a time, %(default)d unless given")
    parser.add_argument("--workers", type=int, default=2, help="of the server, %(default)d unless given")
    options = parser.parse_args(arguments)
    with started("--workers", str(options.workers)) as server:
        load = run(saturate(server, options.seconds, options.clients))
    print(", ".join(f"{count:,} × {name}" for name, count in load.outcomes.most_common()))
    sizes = [size / MIB for _, size in load.looks[len(load.looks) // 4 :]]
    print(
        f"memory of all processes: {sizes[0]:,.0f} MiB after the first quarter, {sizes[-1]:,.0f} MiB at the end; the "
        f"line through it rises by {load.rise:+.2%}; a worker grew by {load.grown / MIB:.0f} MiB at most"
    )
    failures = load.failures()
    for failure in failures:
        print(f"NOT held: {failure}")
    print("held" if not failures else "NOT held")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
