"""More than a server takes: connections, slow calls, half requests; what is refused, and that it ends."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

from feemodel.ethereum.quantities import to_hex
from tests.development import HOLDERS
from tests.execution_engines import HAS_NATIVE
from tests.fire import programs
from tests.fire.calls import Order, orders, quick_orders
from tests.fire.client import Connection, http, port_of, post, rpc, summed, timed
from tests.fire.processes import MIB, held
from tests.serving import Server

#: Servers that are overloaded: as it is by default; with room for fewer requests than calls may wait; a small one.
LIMITS: tuple[dict[str, int], ...] = (
    {"connections": 1_000, "requests": 256, "queue": 32, "processes": 2},
    {"connections": 1_000, "requests": 16, "queue": 32, "processes": 2},
)
SMALL = {"connections": 40, "requests": 16, "queue": 4, "processes": 2}
TIMES = 2  # as much as it takes
SECONDS = 5.0  # of each kind of overload
RECOVERED = 10.0  # seconds within which everything is answered again; the calls that wait are done by then
PAUSE = 0.02  # seconds that a refused client waits
#: Of a loop that the engine of the server takes long for: the reference a sixth of a second, the native one a thread.
SLOW_GAS = 16_000_000 if HAS_NATIVE else 100_000
TARGET = "0x" + "7a" * 20

#: What a server may answer when it has too much to do.
REFUSALS = frozenset({"-32005", "HTTP 503 -32005", "closed"})
REFUSED_WITHIN = "failed, [-32005]"  # some of the calls of a batch


@dataclass(slots=True)
class Overload:
    """What came of too much of something."""

    limits: dict[str, int]
    outcomes: dict[str, Counter[str]] = field(default_factory=dict)  #: of what there was too much of
    unexpected: Counter[str] = field(default_factory=Counter)
    recovered: dict[str, float] = field(default_factory=dict)  #: until everything was answered again [s]
    memory: int = 0  #: at most [byte]

    def failures(self) -> list[str]:
        """What should not be; nothing where all is well."""
        found = [f"{count:,} × {name}" for name, count in self.unexpected.most_common()]
        found += [f"after {name} nothing was refused" for name, seen in self.outcomes.items() if not _refused(seen)]
        late = {name: seconds for name, seconds in self.recovered.items() if seconds > RECOVERED}
        return found + [f"answered again only {seconds:.1f} s after {name}" for name, seconds in late.items()]

    def __str__(self) -> str:
        shown = ", ".join(f"{name} {value:,}" for name, value in self.limits.items())
        lines = [f"overload of a server with {shown} (each worker), at most {self.memory / MIB:,.0f} MiB:"]
        for name, seen in self.outcomes.items():
            answers = ", ".join(f"{count:,} × {outcome}" for outcome, count in seen.most_common())
            lines.append(f"    {name}: {answers}; all answered again after {self.recovered[name]:.1f} s")
        return "\n".join(lines)


def _refused(seen: Counter[str]) -> int:
    return sum(count for outcome, count in seen.items() if outcome in REFUSALS or outcome == "HTTP 408")


async def overload(server: Server, limits: dict[str, int], workers: int, seconds: float = SECONDS) -> Overload:
    """Twice as much of everything as the server takes, one after the other."""
    found, port = Overload(limits), port_of(server.address)
    slow = (limits["processes"] + limits["queue"]) * workers * TIMES
    crowds: dict[str, Callable[[], Awaitable[Counter[str]]]] = {
        f"{TIMES * workers * limits['connections']:,} busy connections": partial(
            _connections, port, TIMES * workers * limits["connections"], seconds, found
        ),
        f"{slow} slow calls at a time": partial(_slow_calls, port, slow, seconds, found),
        f"{TIMES * workers * limits['requests']:,} half requests": partial(
            _half_requests, port, TIMES * workers * limits["requests"], seconds, found
        ),
    }
    for name, crowd in crowds.items():
        found.outcomes[name] = await crowd()
        found.memory = max(found.memory, held(server.pid).memory)
        found.recovered[name] = await _recovery(port, found)
    return found


async def _connections(port: int, many: int, seconds: float, found: Overload) -> Counter[str]:
    """Clients with a connection each, all of them busy."""
    quick = quick_orders(3, 400)
    until = time.perf_counter() + seconds

    async def client(number: int) -> Counter[str]:
        rng, connection, seen = random.Random(number), Connection(port), Counter[str]()
        while time.perf_counter() < until:
            order = rng.choice(quick)
            outcome = _checked(order, (await timed(connection, order.request))[0], found)
            seen[outcome] += 1
            if outcome in REFUSALS:
                await asyncio.sleep(PAUSE)
        connection.close()
        return seen

    return summed(await asyncio.gather(*map(client, range(many))))


async def _slow_calls(port: int, many: int, seconds: float, found: Overload) -> Counter[str]:
    """Calls that are not executed in the serving thread, more than may wait; quick ones are answered meanwhile."""
    until = time.perf_counter() + seconds
    code = {TARGET: {"code": to_hex(programs.CLZ_LOOP)}}
    call = {"from": to_hex(HOLDERS[0]), "to": TARGET, "gas": hex(SLOW_GAS)}
    slow = Order("a slow call", post("eth_call", call, "latest", code), frozenset({"-32000"}))
    quick = next(order for order in orders(4, 100) if order.kind == "estimate, token")

    async def client(order: Order) -> Counter[str]:
        connection, seen = Connection(port), Counter[str]()
        while time.perf_counter() < until:
            outcome = _checked(order, (await timed(connection, order.request))[0], found)
            seen[outcome] += 1
            if outcome in REFUSALS:
                await asyncio.sleep(PAUSE)
        connection.close()
        return seen

    return summed(await asyncio.gather(*(client(slow) for _ in range(many)), client(quick)))


async def _half_requests(port: int, many: int, seconds: float, found: Overload) -> Counter[str]:
    """Requests whose last byte does not come, more than may be under way."""
    whole = http(rpc("eth_chainId"))

    async def client() -> str:
        connection = Connection(port)
        outcome, _, _ = await timed(connection, whole[:-1], patience=seconds)
        connection.close()
        return outcome

    seen = Counter(await asyncio.gather(*(client() for _ in range(many))))
    for outcome in seen.keys() - {"no answer", "closed", "HTTP 408"}:  # no answer: it still waited for the last byte
        found.unexpected[f"half a request: {outcome}"] += seen[outcome]
    return seen


def _checked(order: Order, outcome: str, found: Overload) -> str:
    """The outcome, "answered" for the right answer."""
    if outcome in order.outcomes:
        return "answered"
    if outcome.endswith(REFUSED_WITHIN):
        return "-32005"
    if outcome not in REFUSALS:
        found.unexpected[f"{order.kind}: {outcome}"] += 1
    return outcome


async def _recovery(port: int, found: Overload) -> float:
    """Seconds until a call of every kind is answered."""
    began, wanted = time.perf_counter(), {order.kind: order for order in orders(5, 50)}
    while wanted and time.perf_counter() - began < 3 * RECOVERED:
        for kind, order in list(wanted.items()):
            connection = Connection(port)
            outcome, _, _ = await timed(connection, order.request)
            connection.close()
            if outcome in order.outcomes:
                del wanted[kind]
    for kind in wanted:
        found.unexpected[f"not answered again: {kind}"] += 1
    return time.perf_counter() - began
