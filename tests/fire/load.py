"""Mixed calls at saturation, and at twice that: what is answered, how fast, and what the server holds meanwhile.

    python -m tests.fire.load [--front] [--seconds 600] [--clients 32] [--workers 2]

Every client sends one request after the other. No answer may be another one than its kind has, and memory must stay
flat: a line through the last three quarters of the run may rise by 5 %. Then come more connections, slow calls and
half requests than the server takes; every refusal must be one that is documented, and afterwards all is answered.
With `--front` the server stands in front of two nodes instead, see `tests.fire.front`.
"""

import argparse
import asyncio
import random
import sys
import time
from dataclasses import dataclass, field

import numpy as np

from tests.fire.calls import Order, orders
from tests.fire.client import Connection, Latencies, Tally, port_of, run, table, timed
from tests.fire.overload import LIMITS, Overload, overload
from tests.fire.processes import MIB, Held, held
from tests.serving import Server, serving

SECONDS, CLIENTS, WORKERS = 600.0, 32, 2
LINE_EVERY, LOOK_EVERY = 10.0, 1.0  # seconds
GROWTH = 0.05  # of the memory, over the last three quarters of a run
WARM_UP = 24  # rounds of all kinds, from as many clients at a time: everything that is loaded once is loaded


@dataclass(slots=True)
class Load:
    """What a run came to."""

    seconds: float
    total: Tally = field(default_factory=Tally)
    kinds: dict[str, Tally] = field(default_factory=dict)
    recent: Latencies = field(default_factory=Latencies)  #: since the last line was printed
    looks: list[tuple[float, Held]] = field(default_factory=list)  #: since the begin [s], and what was held

    def add(self, order: Order, outcome: str, seconds: float) -> None:
        """Count an answer."""
        expected = outcome in order.outcomes
        self.recent.add(seconds)
        for tally in (self.total, self.kinds.setdefault(order.kind, Tally())):
            tally.add(order.kind, outcome, seconds, expected=expected)

    def end(self, server: Server, began: float) -> None:
        """Note how long it took, and what is held at its end."""
        self.seconds = time.perf_counter() - began
        self.looks.append((self.seconds, held(server.pid)))

    @property
    def growth(self) -> float:
        """How much a line through the memory of the last three quarters rises, as a part of its mean [1]."""
        looks = [(when, found.memory) for when, found in self.looks if when >= self.seconds / 4]
        times, memory = np.array(looks, dtype=float).T
        slope = np.polyfit(times, memory, 1)[0]
        return float(slope * (times[-1] - times[0]) / memory.mean())

    def failures(self, growth: float = GROWTH) -> list[str]:
        """What should not be, a growth of the memory among it; nothing where all is well."""
        found = [f"{count:,} × {name}" for name, count in self.total.unexpected.most_common()]
        found += [f"no answer at all of: {kind}" for kind, tally in self.kinds.items() if tally.times.count == 0]
        if self.growth > growth:
            found.append(f"memory rose by {self.growth:.1%}, more than {growth:.0%}")
        return found

    def rows(self) -> list[list[str]]:
        """A table of the kinds, and all of them together."""
        lines = [["", "answers", "a second", "p50", "p99", "longest", "errors"]]
        for name, tally in [*sorted(self.kinds.items()), ("all", self.total)]:
            times = tally.times
            shown = [f"{1e3 * value:,.1f} ms" for value in (times.quantile(0.5), times.quantile(0.99), times.longest)]
            lines.append([name, f"{times.count:,}", f"{times.count / self.seconds:,.1f}", *shown, tally.failures()])
        return lines

    def memory_line(self) -> str:
        """Memory at the first quarter and at the end, its slope, and what else was held."""
        _, last = self.looks[-1]
        after = [found.memory for when, found in self.looks if when >= self.seconds / 4]
        return (
            f"memory of {last.processes} processes: {after[0] / MIB:,.0f} MiB after the first quarter, "
            f"{last.memory / MIB:,.0f} MiB at the end, at most {max(after) / MIB:,.0f} MiB; "
            f"the line through it rises by {self.growth:+.2%} (bound {GROWTH:.0%}); {last.files} open files at most"
        )


async def saturate(server: Server, seconds: float, clients: int, *, show: bool = False) -> Load:
    """Mixed calls from a number of clients, each one after the other."""
    port, listed = port_of(server.address), orders()
    await _warm_up(port, listed)
    load, began = Load(seconds), time.perf_counter()
    watching = asyncio.create_task(watched(server, load, began, show=show))

    async def client(number: int) -> None:
        rng, connection = random.Random(number), Connection(port)
        while time.perf_counter() - began < seconds:
            order = rng.choice(listed)
            outcome, took, _ = await timed(connection, order.request)
            load.add(order, outcome, took)
        connection.close()

    await asyncio.gather(*map(client, range(clients)))
    watching.cancel()
    load.end(server, began)
    return load


async def _warm_up(port: int, listed: list[Order]) -> None:
    each = list({order.kind: order for order in listed}.values())

    async def ask() -> None:
        connection = Connection(port)
        for order in each:
            await timed(connection, order.request)
        connection.close()

    await asyncio.gather(*(ask() for _ in range(WARM_UP)))


async def watched(server: Server, load: Load, began: float, *, show: bool) -> None:
    """Look at what a server holds every second."""
    shown = began
    while True:
        await asyncio.sleep(LOOK_EVERY)
        now, found = time.perf_counter(), held(server.pid)
        load.looks.append((now - began, found))
        if show and now - shown >= LINE_EVERY:
            print(_line(load, now - began, now - shown, found), flush=True)
            shown, load.recent = now, Latencies()


def _line(load: Load, since: float, seconds: float, found: Held) -> str:
    """What the last seconds came to."""
    times = load.recent
    p50, p99 = (1e3 * times.quantile(share) for share in (0.5, 0.99))
    return (
        f"{since:5.0f} s  {times.count / seconds:7,.0f} requests/s  p50 {p50:5.1f} ms  p99 {p99:6.1f} ms  "
        f"{found.memory / MIB:6,.0f} MiB in {found.processes}  errors so far: {load.total.failures()}; "
        f"{load.total.unexpected.total()} unexpected"
    )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/load", description="Load a server, then overload it.")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="at saturation, %(default)g unless given")
    parser.add_argument("--clients", type=int, default=CLIENTS, help="at a time, %(default)d unless given")
    parser.add_argument("--workers", type=int, default=WORKERS, help="of the server, %(default)d unless given")
    parser.add_argument("--front", action="store_true", help="in front of a node that fails, with keys and WebSockets")
    options = parser.parse_args(arguments)
    failures = _fronted(options) if options.front else _alone(options)
    for failure in failures:
        print(f"NOT held: {failure}")
    print("held" if not failures else "NOT held")
    return 1 if failures else 0


def _alone(options: argparse.Namespace) -> list[str]:
    workers = ("--workers", str(options.workers))
    with serving(*workers) as server:
        print(f"feemodel serve {' '.join(workers)}; {options.clients} clients, {options.seconds:g} s", flush=True)
        load = run(saturate(server, options.seconds, options.clients, show=True))
    failures = _shown(load)
    for limits in LIMITS:
        crowd = _overloaded(limits, options.workers)
        print(crowd)
        failures += crowd.failures()
    return failures


def _fronted(options: argparse.Namespace) -> list[str]:
    from tests.fire import front  # which is built on this module

    with front.fronted(options.workers) as (server, nodes):
        print(f"{options.clients} clients, {front.SOCKETS} WebSockets, {options.seconds:g} s", flush=True)
        load = run(front.front(server, nodes, options.seconds, options.clients, show=True))
    return _shown(load) + front.limit_failures(load)


def _shown(load: Load) -> list[str]:
    print(table(load.rows()))
    print(load.memory_line())
    return load.failures()


def _overloaded(limits: dict[str, int], workers: int) -> Overload:
    flags = [text for name, value in limits.items() for text in (f"--{name}", str(value))]
    with serving("--workers", str(workers), *flags) as server:
        return run(overload(server, limits, workers))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
