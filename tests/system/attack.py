"""One attack on a server while an innocent caller asks: its longest wait, the growth of each worker, workers lost."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tests.system.client import GONE, Target, run, timed
from tests.system.prober import Probing, Seen
from tests.system.processes import MIB, memory, workers

WAIT = 0.5  # seconds that an innocent caller may wait, at two workers
GROWTH = 200 * MIB  # by which a worker may grow
AT_A_TIME = 4  # requests
QUIET = 0.3  # seconds between two attacks
ROUNDS = 3  # an attack is repeated this often while the caller waits too long: a busy machine does not repeat itself

Throw = Callable[[Target, float], Awaitable[Counter[str]]]  # a target, seconds → outcomes


class Attack(NamedTuple):
    """One way to disturb a server.

    Parameters
    ----------
    name : words that describe it.
    throw : runs it for some seconds and counts the outcomes of its requests or connections.
    outcomes : allowed outcomes.
    """

    name: str
    throw: Throw
    outcomes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Damage:
    """Effect of an attack.

    Parameters
    ----------
    name : of the attack.
    outcomes : of its requests or connections.
    unexpected : outcomes that are not allowed.
    others : what an innocent caller saw meanwhile.
    growth : of the worker that grew most, at most [byte].
    lost : workers that died.
    """

    name: str
    outcomes: Counter[str]
    unexpected: list[str]
    others: Seen
    growth: int
    lost: int

    def failures(self, bound: float, refusals: frozenset[str] = frozenset()) -> list[str]:
        """List what did not hold.

        Parameters
        ----------
        bound : on the innocent caller's wait [s]; the memory of a worker is judged where it is `WAIT`, the strict one.
        refusals : outcomes that a reverse proxy may have in addition.
        """
        found = [f"not an allowed outcome: {name}" for name in self.unexpected if name not in refusals]
        found += [f"an innocent caller got {count} × {name}" for name, count in self.others.failures.items()]
        if self.others.waited > bound:
            found.append(f"an innocent caller waited {self.others.waited:.2f} s (p99 {self.others.p99:.2f} s)")
        if bound <= WAIT and self.growth > GROWTH:
            found.append(f"a worker grew by {self.growth / MIB:.0f} MiB")
        if self.lost:
            found.append(f"{self.lost} workers died")
        return found

    def __str__(self) -> str:
        common = ", ".join(f"{count:,} × {name}" for name, count in self.outcomes.most_common(4))
        return (
            f"{self.name}: waited {self.others.waited:.2f} s ({self.others.longest:.2f} s on this machine, "
            f"p99 {self.others.p99:.2f} s, {self.others.calls} calls), grown by {self.growth / MIB:.0f} MiB, "
            f"lost {self.lost}; {common}"
        )


class Field:
    """A server under attack, and an innocent caller in a process of its own.

    Parameters
    ----------
    pid : of the server's first process; `None` for a server whose processes are not on this machine.
    target : as the attacker sees it.
    prober : the innocent caller.
    """

    def __init__(self, pid: int | None, target: Target, prober: Probing) -> None:
        self._pid, self._target, self._prober = pid, target, prober

    def attack(self, attack: Attack, seconds: float, bound: float) -> Damage:
        """Throw an attack, again if the innocent caller waits too long."""
        for _ in range(ROUNDS):
            time.sleep(QUIET)
            self._prober.seen()
            damage = run(self._attacked(attack, seconds))
            if damage.others.waited <= bound and not damage.others.failures:
                break
        return damage

    async def _attacked(self, attack: Attack, seconds: float) -> Damage:
        before = self._memory()
        most = dict(before)
        watching = asyncio.create_task(self._watch(most))
        outcomes = await attack.throw(self._target, seconds)
        others = await asyncio.to_thread(self._prober.seen)
        watching.cancel()
        left = self._memory()
        growth = max((most.get(pid, 0) - size for pid, size in before.items()), default=0)
        unexpected = sorted(outcomes.keys() - attack.outcomes)
        return Damage(attack.name, outcomes, unexpected, others, growth, len(before.keys() - left.keys()))

    def _memory(self) -> dict[int, int]:
        """Return the resident memory of each worker by its process id [byte]."""
        return {} if self._pid is None else {each.pid: memory(each) for each in workers(self._pid)}

    async def _watch(self, most: dict[int, int]) -> None:
        while True:
            for pid, size in self._memory().items():
                most[pid] = max(most.get(pid, 0), size)
            await asyncio.sleep(0.1)


def repeated(requests: Callable[[Target], Iterator[bytes]], at_a_time: int = AT_A_TIME) -> Throw:
    """Send requests one after the other on a few connections."""

    async def throw(target: Target, seconds: float) -> Counter[str]:
        outcomes, until, source = Counter[str](), time.perf_counter() + seconds, requests(target)

        async def again() -> None:
            connection = target.connection()
            while time.perf_counter() < until:
                outcome, _, _ = await timed(connection, next(source))
                outcomes[outcome] += 1
            connection.close()

        await asyncio.gather(*(again() for _ in range(at_a_time)))
        return outcomes

    return throw


async def ending(reader: asyncio.StreamReader, until: float) -> str:
    """Return how the other side ends a connection: an HTTP error, "closed", or "open" if it does not."""
    try:
        async with asyncio.timeout(max(until - time.perf_counter(), 0.01)):
            while chunk := await reader.read(1 << 16):
                if chunk.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5")):
                    return f"HTTP {chunk[9:12].decode()}"
    except TimeoutError:
        return "open"
    except GONE:
        pass
    return "closed"
