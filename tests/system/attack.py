"""One attack on a server while an innocent caller asks: its longest wait, the growth of each worker, workers lost."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
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
    """One way to disturb a server; `throw` counts the outcomes of its requests or connections."""

    name: str
    throw: Throw
    outcomes: frozenset[str]  #: that are allowed


class Field(NamedTuple):
    """A server under attack, and an innocent caller in a process of its own."""

    pid: int  #: of the server's first process
    target: Target  #: as the attacker sees it
    prober: Probing

    def failures(self, attack: Attack, seconds: float, bound: float, refusals: frozenset[str]) -> list[str]:
        """List what did not hold.

        Parameters
        ----------
        bound : on the innocent caller's wait [s]; the memory of a worker is judged where it is `WAIT`, the strict one.
        refusals : outcomes that a reverse proxy may have in addition.
        """
        for _ in range(ROUNDS):
            time.sleep(QUIET)
            self.prober.seen()
            before = self._memory()
            outcomes, others, most = run(self._attacked(attack, seconds))
            if others.waited <= bound and not others.failures:
                break
        lost = len(before.keys() - self._memory().keys())
        growth = max(most.get(pid, 0) - size for pid, size in before.items())
        print(f"{attack.name}: {others}, grown by {growth / MIB:.0f} MiB, lost {lost}; {outcomes.most_common(4)}")
        found = [f"not an allowed outcome: {name}" for name in outcomes.keys() - attack.outcomes - refusals]
        found += [f"an innocent caller got {count} × {name}" for name, count in others.failures.items()]
        if others.waited > bound:
            found.append(f"an innocent caller waited {others.waited:.2f} s")
        if bound <= WAIT and growth > GROWTH:
            found.append(f"a worker grew by {growth / MIB:.0f} MiB")
        return found + [f"{lost} workers died"] * bool(lost)

    async def _attacked(self, attack: Attack, seconds: float) -> tuple[Counter[str], Seen, dict[int, int]]:
        most: dict[int, int] = {}

        async def watch() -> None:
            while True:
                for pid, size in self._memory().items():
                    most[pid] = max(most.get(pid, 0), size)
                await asyncio.sleep(0.1)

        watching = asyncio.create_task(watch())
        outcomes = await attack.throw(self.target, seconds)
        others = await asyncio.to_thread(self.prober.seen)
        watching.cancel()
        return outcomes, others, most

    def _memory(self) -> dict[int, int]:
        """Return the resident memory of each worker by its process id [byte]."""
        return {each.pid: memory(each) for each in workers(self.pid)}


def repeated(requests: Callable[[Target], Iterator[bytes]]) -> Throw:
    """Send requests one after the other on a few connections."""

    async def throw(target: Target, seconds: float) -> Counter[str]:
        outcomes, until, source = Counter[str](), time.perf_counter() + seconds, requests(target)

        async def again() -> None:
            connection = target.connection()
            while time.perf_counter() < until:
                outcome, _, _ = await timed(connection, next(source))
                outcomes[outcome] += 1
            connection.close()

        await asyncio.gather(*(again() for _ in range(AT_A_TIME)))
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
