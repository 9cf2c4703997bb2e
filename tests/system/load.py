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
from dataclasses import dataclass, field

import numpy as np

from tests.system.calls import Order, orders
from tests.system.client import Connection, Tally, run, table, timed
from tests.system.processes import MIB, held, memory, workers
from tests.system.start import Started, started

SECONDS, CLIENTS, WORKERS = 600.0, 32, 2
LINE_EVERY, LOOK_EVERY = 10.0, 1.0  # seconds
RISE = 0.05  # of the memory, over the last three quarters of a run
GROWTH = 200 * MIB  # of a worker
WARM_UP = 8  # rounds of all kinds


@dataclass(slots=True)
class Load:
    """Result of a run.

    Parameters
    ----------
    total : outcomes and latencies of all calls.
    kinds : the same by kind of call.
    looks : time since the start [s] and memory of all processes [byte].
    first : digest of the first answer to each request.
    lost : workers that died.
    grown : of the worker that grew most [byte].
    """

    total: Tally = field(default_factory=Tally)
    kinds: dict[str, Tally] = field(default_factory=dict)
    looks: list[tuple[float, int]] = field(default_factory=list)
    first: dict[bytes, bytes] = field(default_factory=dict)
    seconds: float = 0.0
    lost: int = 0
    grown: int = 0

    def add(self, order: Order, outcome: str, seconds: float, body: bytes) -> None:
        """Count an answer, and compare it with the first one to the same request."""
        expected = outcome in order.outcomes
        digest = hashlib.blake2b(body, digest_size=16).digest()
        if expected and self.first.setdefault(order.request, digest) != digest:
            outcome, expected = f"another answer than before: {body[:200]!r}", False
        for tally in (self.total, self.kinds.setdefault(order.kind, Tally())):
            tally.add(order.kind, outcome, seconds, expected=expected)

    @property
    def rise(self) -> float:
        """Rise of a line through the memory of the last three quarters, as a part of its mean [1]."""
        looks = [look for look in self.looks if look[0] >= self.seconds / 4]
        times, sizes = np.array(looks, dtype=float).T
        slope = np.polyfit(times, sizes, 1)[0]
        return float(slope * (times[-1] - times[0]) / sizes.mean())

    def failures(self, rise: float = RISE) -> list[str]:
        """List what must not be; nothing if all held."""
        found = [f"{count:,} × {name}" for name, count in self.total.unexpected.most_common()]
        if self.rise > rise:
            found.append(f"memory rose by {self.rise:.1%}, more than {rise:.0%}")
        if self.grown > GROWTH:
            found.append(f"a worker grew by {self.grown / MIB:.0f} MiB")
        if self.lost:
            found.append(f"{self.lost} workers died")
        return found

    def rows(self) -> list[list[str]]:
        """Table of the kinds, and of all calls together."""
        lines = [["", "answers", "a second", "p50", "p99", "longest", "errors"]]
        for name, tally in [*sorted(self.kinds.items()), ("all", self.total)]:
            times = tally.times
            shown = [f"{1e3 * value:,.1f} ms" for value in (times.quantile(0.5), times.quantile(0.99), times.longest)]
            lines.append([name, f"{times.count:,}", f"{times.count / self.seconds:,.1f}", *shown, tally.failures()])
        return lines


async def saturate(server: Started, seconds: float, clients: int, *, show: bool = False) -> Load:
    """Send mixed calls from a number of clients, each one after the other."""
    listed, load = [order for order in orders() if order.kind != "a batch of five"], Load()
    batches = [order for order in orders() if order.kind == "a batch of five"]
    await _warm_up(server.port, [*listed, *batches])
    before = {worker.pid: memory(worker) for worker in workers(server.pid)}
    began = time.perf_counter()
    watching = asyncio.create_task(_watch(server, load, before, began, show=show))

    async def over_http(number: int) -> None:
        rng, connection = random.Random(number), Connection(server.port)
        while time.perf_counter() - began < seconds:
            order = rng.choice(listed if rng.random() < 0.97 else batches)
            outcome, took, body = await timed(connection, order.request)
            load.add(order, outcome, took, body)
        connection.close()

    await asyncio.gather(*map(over_http, range(clients)))
    watching.cancel()
    load.seconds = time.perf_counter() - began
    return load


async def _warm_up(port: int, listed: list[Order]) -> None:
    each = list({order.kind: order for order in listed}.values())

    async def ask() -> None:
        connection = Connection(port)
        for order in each:
            await timed(connection, order.request)
        connection.close()

    await asyncio.gather(*(ask() for _ in range(WARM_UP)))


async def _watch(server: Started, load: Load, before: dict[int, int], began: float, *, show: bool) -> None:
    """Look at the server's processes every second."""
    shown = began
    while True:
        now, after = time.perf_counter(), {worker.pid: memory(worker) for worker in workers(server.pid)}
        load.looks.append((now - began, held(server.pid).memory))
        load.lost = len(before.keys() - after.keys())
        load.grown = max([load.grown, *(after[pid] - size for pid, size in before.items() if pid in after)])
        if show and now - shown >= LINE_EVERY:
            total, shown = load.total, now
            print(
                f"{now - began:5.0f} s  {total.times.count:9,} answers  {load.looks[-1][1] / MIB:6,.0f} MiB  "
                f"{total.unexpected.total()} wrong",
                flush=True,
            )
        await asyncio.sleep(LOOK_EVERY)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/load", description="Load a server and check every answer.")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="%(default)g unless given")
    parser.add_argument("--clients", type=int, default=CLIENTS, help="at a time, %(default)d unless given")
    parser.add_argument("--workers", type=int, default=WORKERS, help="of the server, %(default)d unless given")
    options = parser.parse_args(arguments)
    with started("--workers", str(options.workers)) as server:
        load = run(saturate(server, options.seconds, options.clients, show=True))
    print(table(load.rows()))
    sizes = [size for when, size in load.looks if when >= load.seconds / 4]
    print(
        f"memory of all processes: {sizes[0] / MIB:,.0f} MiB after the first quarter, {sizes[-1] / MIB:,.0f} MiB at "
        f"the end; the line through it rises by {load.rise:+.2%}; a worker grew by {load.grown / MIB:.0f} MiB at most"
    )
    failures = load.failures()
    for failure in failures:
        print(f"NOT held: {failure}")
    print("held" if not failures else "NOT held")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
