"""Throws every bomb at a server with its default limits, and asks somebody honest how long he waited meanwhile.

    python -m tests.fire.bombs [--seconds 3] [--only WORD]... [--dictionary FILE]

Each bomb is thrown again and again, four at a time. Others are answered within a second: the longest wait of the
prober, less what it waits while nothing is thrown, and less what the machine itself kept the prober waiting. Where that
was longer than the bound itself, the bomb is thrown again.
"""

import argparse
import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.fire.arsenal import Bomb, arsenal
from tests.fire.client import Connection, Tally, port_of, run, table, timed
from tests.fire.prober import Probing, Seen, probing
from tests.fire.processes import MIB, held, serving_memory, serving_time
from tests.fire.shares import shared_fairly
from tests.fire.sockets import Siege, crowds, sieges
from tests.serving import Server, serving

AT_A_TIME = 4
SECONDS = 3.0
BOUND = 1.0  # seconds that others may wait for a bomb's sake
SIEGE_BOUND = 0.5  # seconds, for the sake of a bomb that keeps connections
GROWTH = 200 << 20  # bytes by which such a one may make a serving process larger
MEMORY = 2 << 30  # bytes that all processes of the server may hold together
UNDISTURBED = 3.0  # seconds for which the prober is alone at first
QUIET = 0.5  # seconds between two bombs
DICTIONARY = Path("data") / "linea-dict-2025-04-21.bin"  # under FEEMODEL_SHARED
FAIR = "endless overrides, and another client's"
AGAIN = 3  # times that a bomb is thrown on a machine that stands still
HEAD = (
    "bomb", "thrown", "its answers", "longest", "serving", "others p99", "longest", "late", "failed", "MiB", "grown by",
    "held",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Blast:
    """What one bomb did."""

    name: str
    thrown: int
    answers: Counter[str]
    unexpected: list[str]
    longest: float  #: that one of its requests was under way [s]
    serving: float  #: processor time of the serving processes for each, children not counted [s]
    others: Seen
    memory: int  #: of all processes of the server, at most [byte]
    growth: int  #: of the serving process that holds most, above what it held at first, at most [byte]
    keeps_connections: bool  #: whether it is no request

    def holds(self, alone: Seen) -> bool:
        """Whether the answers were the right ones, and others answered within the bound."""
        right = not self.unexpected and not self.others.failures
        bound = SIEGE_BOUND if self.keeps_connections else BOUND
        small = self.memory <= MEMORY and (self.growth <= GROWTH or not self.keeps_connections)
        return right and self.waited(alone) <= bound and small

    def waited(self, alone: Seen) -> float:
        """The longest that others waited for this bomb's sake [s]."""
        return self.others.longest - max(alone.longest, self.others.late)

    def row(self, alone: Seen) -> list[str]:
        answers = ", ".join(f"{name}" for name, _ in self.answers.most_common(3))
        failures = ", ".join(f"{count} × {name}" for name, count in self.others.failures.items()) or "-"
        return [
            self.name, f"{self.thrown:,}", answers, f"{self.longest:.2f} s", f"{self.serving * 1e3:,.1f} ms",
            f"{self.others.p99 * 1e3:.0f} ms", f"{self.others.longest:.2f} s", f"{self.others.late:.2f} s", failures,
            f"{self.memory / MIB:,.0f}", f"{self.growth / MIB:,.0f}", "yes" if self.holds(alone) else "NO",
        ]  # fmt: skip


async def throw(bomb: Bomb, port: int, seconds: float) -> tuple[Tally, float]:
    """Throw one for a while, each as soon as the one before it has been answered."""
    tally, until = Tally(), time.perf_counter() + seconds
    requests = bomb.requests()

    async def again() -> None:
        connection = Connection(port)
        while time.perf_counter() < until:
            outcome, took, _ = await timed(connection, next(requests))
            tally.add(bomb.name, outcome, took, expected=outcome in bomb.answers)
        connection.close()

    await asyncio.gather(*(again() for _ in range(AT_A_TIME)))
    return tally, tally.times.longest


class Field:
    """A server, and somebody honest who calls it."""

    def __init__(self, server: Server, prober: Probing, undisturbed: float = UNDISTURBED) -> None:
        self._server, self._prober = server, prober
        self._port = port_of(server.address)
        for _ in range(AGAIN):  # the first calls wait for what is loaded once
            time.sleep(undisturbed)
            prober.seen()
            time.sleep(undisturbed)
            self.alone = prober.seen()
            if self.alone.longest < SIEGE_BOUND:  # it is allowed for where a wait is judged
                break
        self._at_first = serving_memory(server.pid)

    def blast(self, bomb: Bomb | Siege, seconds: float) -> Blast:
        """Throw one kind of bomb."""
        for _ in range(AGAIN):
            time.sleep(QUIET)
            self._prober.seen()
            blast = run(self._blast(bomb, seconds))
            if blast.others.late < BOUND:
                break
        return blast

    async def _blast(self, bomb: Bomb | Siege, seconds: float) -> Blast:
        watching = asyncio.create_task(self._watch())
        busy = serving_time(self._server.pid)
        if isinstance(bomb, Siege):
            began = time.perf_counter()
            answers = await bomb.throw(self._port, seconds)
            longest, unexpected = time.perf_counter() - began, [name for name in answers if name not in bomb.answers]
        else:
            tally, longest = await throw(bomb, self._port, seconds)
            answers, unexpected = tally.outcomes, list(tally.unexpected)
        busy = serving_time(self._server.pid) - busy
        others = await asyncio.to_thread(self._prober.seen)
        watching.cancel()
        memory = max(self._memory, held(self._server.pid).memory)
        thrown = answers.total()
        return Blast(
            bomb.name, thrown, answers, unexpected, longest, busy / max(thrown, 1), others, memory,
            self._serving_memory - self._at_first, isinstance(bomb, Siege),
        )  # fmt: skip

    async def _watch(self) -> None:
        self._memory = self._serving_memory = 0
        while True:
            self._serving_memory = max(self._serving_memory, serving_memory(self._server.pid))
            self._memory = max(self._memory, held(self._server.pid).memory)
            await asyncio.sleep(0.1)


def blasts(bombs: list[Bomb | Siege], seconds: float, *flags: str) -> Iterator[tuple[Blast, Seen]]:
    """What each bomb does to a server with these flags, beside what the prober sees alone."""
    with serving(*flags) as server, probing(port_of(server.address)) as prober:
        field = Field(server, prober)
        for bomb in bombs:
            yield field.blast(bomb, seconds), field.alone


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/bombs", description="Throw cost bombs at a server.")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each, %(default)g unless given")
    parser.add_argument("--only", action="append", metavar="WORD", help="bombs whose name has it")
    parser.add_argument("--dictionary", type=Path, help="of the LZSS codec, for one round more with it")
    options = parser.parse_args(arguments)
    shared = os.environ.get("FEEMODEL_SHARED")
    dictionary = options.dictionary or (Path(shared) / DICTIONARY if shared else None)
    # The memory of bombs that keep connections is judged on a server that nothing else has made larger.
    groups: list[tuple[list[Bomb | Siege], tuple[str, ...]]] = [
        ([*arsenal()], ()), ([*sieges()], ()), ([*crowds()], ("--workers", "1", "--connections", "50")),
    ]  # fmt: skip
    if dictionary is not None:
        sized: list[Bomb | Siege] = [bomb for bomb in arsenal() if "two-valued" in bomb.name]
        groups.append((sized, ("--codec", "lzss", "--dictionary", str(dictionary))))
    held_all = True
    for group, flags in groups:
        bombs = [bomb for bomb in group if _named(bomb.name, options.only)]
        if bombs:
            held_all &= _round(bombs, options.seconds, *flags)
    if _named(FAIR, options.only):
        finding = shared_fairly(FAIR)
        held_all &= finding.held is True
        print(finding)
    print("every bomb held" if held_all else "NOT every bomb held")
    return 0 if held_all else 1


def _named(name: str, words: list[str] | None) -> bool:
    return not words or any(word in name for word in words)


def _round(bombs: list[Bomb | Siege], seconds: float, *flags: str) -> bool:
    print(" ".join(["feemodel serve", *flags]))
    rows, every = [list(HEAD)], True
    alone = None
    for blast, alone in blasts(bombs, seconds, *flags):
        rows.append(blast.row(alone))
        every &= blast.holds(alone)
        print("  ".join(rows[-1]), flush=True)
        if blast.unexpected:
            print(f"    not expected: {blast.unexpected[:5]}")
    print("\n" + table(rows))
    if alone is not None:
        print(f"undisturbed: {alone.calls} calls, p99 {alone.p99 * 1e3:.0f} ms, longest {alone.longest:.2f} s")
    return every


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
