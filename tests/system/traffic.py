"""Mixed calls under which something happens to the server: what came of them, and the longest pause."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

from tests.system.calls import Order, quick_orders
from tests.system.client import Connection, alone, post, run, timed

CLIENTS = 16
LOST = frozenset({"closed", "refused"})  # outcomes of a request on a connection of a process that is killed


@dataclass(slots=True)
class Traffic:
    """Outcomes of mixed calls; "answered" is the right answer."""

    outcomes: Counter[str] = field(default_factory=Counter)
    answered: list[float] = field(default_factory=list)  #: times of right answers [s]

    def add(self, order: Order, outcome: str) -> None:
        """Count one call."""
        right = outcome in order.outcomes
        self.outcomes["answered" if right else outcome] += 1
        if right:
            self.answered.append(time.monotonic())

    @property
    def pause(self) -> float:
        """The longest time in which nothing was answered [s]."""
        return max((after - before for before, after in pairwise(self.answered)), default=99.0)

    @property
    def lost(self) -> int:
        """Requests whose connection ended without an answer."""
        return sum(self.outcomes[name] for name in LOST)


def traffic(port: int, happens: Callable[[], object], seconds: float) -> Traffic:
    """Send mixed calls for twice some seconds; something happens in the middle."""
    return run(_traffic(port, happens, seconds))


async def _traffic(port: int, happens: Callable[[], object], seconds: float) -> Traffic:
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
    await asyncio.to_thread(happens)
    await asking
    return found


def outcomes(port: int, times: int = 20) -> Counter[str]:
    """Return the outcomes of calls, each on a connection of its own."""
    return run(_outcomes(port, times))


async def _outcomes(port: int, times: int) -> Counter[str]:
    return Counter([(await alone(port, post("eth_chainId")))[0] for _ in range(times)])
