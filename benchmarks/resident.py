"""Memory of each process of a server with a ledger of a million accounts, under a constant load.

    python -m benchmarks.resident [SECONDS [CALLS_A_SECOND]]

Default: one minute. Calls: fees, and proofs of random accounts, absent accounts and slots.
"""

import asyncio
import random
import sys
import time
from collections import Counter

from benchmarks.ledger import CONTRACT, MILLION, _address
from benchmarks.server import million_served
from feemodel.ethereum._quantities import to_hex
from tests.system.calls import fee
from tests.system.client import Connection, post, run, timed
from tests.system.processes import MIB, tree, workers

SECONDS, RATE, CONNECTIONS = 60.0, 400.0, 8
LINES = 12  # number of printed lines, at equal intervals


def main(seconds: float = SECONDS, rate: float = RATE) -> None:
    with million_served(2) as server:
        outcomes = run(_paced(server.port, server.pid, seconds, rate))
    print("   " + ", ".join(f"{count:,} × {name}" for name, count in outcomes.most_common()))


async def _paced(port: int, pid: int, seconds: float, rate: float) -> Counter[str]:
    """Send calls at a constant rate over a few connections; count the outcomes."""
    outcomes: Counter[str] = Counter()
    began = time.perf_counter()

    async def client(number: int) -> None:
        rng, connection = random.Random(number), Connection(port)
        sent = 0
        while (now := time.perf_counter() - began) < seconds:
            due = (sent + number / CONNECTIONS) * CONNECTIONS / rate
            if due > now:
                await asyncio.sleep(due - now)
            kind, request = _request(rng)
            outcome, _, _ = await timed(connection, request)
            outcomes[f"{kind}: {outcome}"] += 1
            sent += 1
        connection.close()

    async def watch() -> None:
        for number in range(1, LINES + 1):
            await asyncio.sleep(max(0.0, began + number * seconds / LINES - time.perf_counter() - 0.5))
            print(f"   {time.perf_counter() - began:6,.0f} s  {_memory(pid)}", flush=True)

    await asyncio.gather(watch(), *map(client, range(CONNECTIONS)))
    return outcomes


def _request(rng: random.Random) -> tuple[str, bytes]:
    address = to_hex(_address(rng.randrange(MILLION - 1)))
    drawn = rng.random()
    if drawn < 0.5:
        return "proof", post("rollup_getProof", address, [], "finalized")
    if drawn < 0.65:
        return "proof of absence", post("rollup_getProof", to_hex(rng.randbytes(20)), [], "finalized")
    if drawn < 0.8:
        slots = [hex(rng.randrange(2_000)) for _ in range(3)]
        return "proof of slots", post("rollup_getProof", to_hex(CONTRACT), slots, "finalized")
    return "fee", post("feemodel_fee", fee(rng))


def _memory(pid: int) -> str:
    """Format the private memory of each process and its resident pages of the ledger's file."""
    answering = {process.pid for process in workers(pid)}
    shown = []
    for process in tree(pid):
        maps = process.memory_maps()
        kind = "worker" if process.pid in answering else "other"
        files = sum(part.rss for part in maps if "million.db" in part.path)
        own = sum(part.anonymous for part in maps)
        shown.append(f"{kind} {own / MIB:.0f} (resident {process.memory_info().rss / MIB:.0f}, file {files / MIB:.0f})")
    return "own " + ", ".join(sorted(shown)) + " MiB"


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
