"""One client's endless calls on the reference engine, and what another client's short calls get meanwhile."""

import asyncio
from itertools import count

from tests.fire.arsenal import TARGET, running
from tests.fire.client import Connection, Tally, port_of, post, run, timed
from tests.fire.findings import Finding
from tests.fire.programs import LOOP
from tests.serving import serving

GREEDY = 40  # endless calls at a time
ENDLESS = 3.0  # seconds after which one is ended
HONEST = 10  # calls of the other client, one after the other
OTHER = "127.0.0.2"
ENOUGH = 10.0  # seconds that the other client may wait


def shared_fairly(name: str) -> Finding:
    """Whether a client that runs nothing is answered, with code of its own too."""
    flags = ("--workers", "1", "--engine", "reference", "--seconds", f"{ENDLESS:g}")
    with serving(*flags) as server:
        honest, greedy = run(_both(port_of(server.address)))
    held = honest.outcomes == {"ok": HONEST} and honest.times.longest <= ENOUGH and "ok" not in greedy.outcomes
    seen = f"{honest.outcomes.total()} calls, failed: {honest.failures()}, longest {honest.times.longest:.2f} s"
    return Finding(name, f"{seen}; the endless ones: {greedy.failures()}", held)


async def _both(port: int) -> tuple[Tally, Tally]:
    greedy = Tally()
    requests = running(LOOP)()
    ended = asyncio.Event()

    async def again() -> None:
        connection = Connection(port)
        while not ended.is_set():
            outcome, seconds, _ = await timed(connection, next(requests))
            greedy.add("endless", outcome, seconds)
        connection.close()

    tasks = [asyncio.create_task(again()) for _ in range(GREEDY)]
    await asyncio.sleep(1.0)
    honest = await _asked(port)
    ended.set()
    await asyncio.gather(*tasks)
    return honest, greedy


async def _asked(port: int) -> Tally:
    tally, connection = Tally(), Connection(port, OTHER)
    for number in count(1):
        code = {TARGET: {"code": f"0x60{number:02x}50"}}  # PUSH1, POP
        outcome, seconds, _ = await timed(connection, post("rollup_estimateGas", {"to": TARGET}, code))
        tally.add("a short override", outcome, seconds)
        if number == HONEST:
            break
    connection.close()
    return tally
