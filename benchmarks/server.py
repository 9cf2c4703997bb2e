"""rollup_getProof over HTTP on a ledger of a million accounts: two workers, and a client on the same two cores."""

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks.ledger import CONTRACT, MILLION, _address, _million
from feemodel.ethereum._quantities import to_hex
from feemodel.ledger import Store
from tests.system.client import Connection, post, run, timed
from tests.system.start import Started, serving

CONNECTIONS, SECONDS, WORKERS = 16, 8.0, 2
WARM_UP = 2.0  # seconds; the first worker gets all connections until the second one listens
SLOTS = ["0x1", "0x2", "0xffff"]

#: Requests: a function from the number of a request to the request.
ASKED: Mapping[str, Callable[[int], bytes]] = {
    "account + 3 slots": lambda number: post("rollup_getProof", to_hex(CONTRACT), SLOTS, "finalized"),
    "account": lambda number: post("rollup_getProof", to_hex(_address(number * 7_919 % MILLION)), [], "finalized"),
}


def main() -> None:
    with million_served(WORKERS) as server:
        for name, request in ASKED.items():
            run(load(server.port, request, seconds=WARM_UP))
            times = run(load(server.port, request))
            p50, p99 = (f"{1e3 * np.quantile(times, share):.1f} ms" for share in (0.5, 0.99))
            print(f"  {name:18} {len(times) / SECONDS:,.0f} requests a second, p50 {p50}, p99 {p99}")


@contextmanager
def million_served(count: int) -> Iterator[Started]:
    """Run a server with `count` workers on a new ledger of a million accounts; its block is final."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "million.db"
        with get_context("spawn").Pool(1) as pool:
            pool.apply(_million, (str(path),))
        with Store(path) as store:
            store.finalize(0)
        with serving("--store", str(path), "--workers", str(count)) as server:
            yield server


async def load(port: int, request: Callable[[int], bytes], *, seconds: float = SECONDS) -> list[float]:
    """Measure latencies of clients that each send one call at a time; raises `AssertionError` for an error."""
    times, end = list[float](), time.perf_counter() + seconds

    async def client(number: int) -> None:
        connection = Connection(port)
        while time.perf_counter() < end:
            number += CONNECTIONS
            outcome, seconds_taken, body = await timed(connection, request(number))
            if outcome != "ok":
                raise AssertionError(outcome, body)
            times.append(seconds_taken)
        connection.close()

    await asyncio.gather(*map(client, range(CONNECTIONS)))
    return times


if __name__ == "__main__":
    main()
