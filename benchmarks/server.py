"""rollup_getProof over HTTP from a store of a million accounts: two workers, the client on the same two cores."""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.ledger import CONTRACT, MILLION, _address, _million
from feemodel.ledger import Store
from feemodel.units import to_hex

CONNECTIONS, SECONDS, WORKERS = 16, 8.0, 2

Body: TypeAlias = Callable[[int], list[Any]]  # the number of a request → its parameters


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "million.db"
        with get_context("spawn").Pool(1) as pool:
            pool.apply(_million, (str(path),))
        with Store(path) as store:
            store.finalize(0)
        command = [sys.executable, "-m", "feemodel.cli", "serve", "--store", str(path), "--port", "0", "--json"]
        with subprocess.Popen([*command, "--workers", str(WORKERS)], stdout=subprocess.PIPE, text=True) as server:
            try:
                text = ""
                while not text.endswith("}\n"):
                    text += server.stdout.readline()  # type: ignore[union-attr]
                port = int(json.loads(text)["address"].rsplit(":", 1)[1])
                for name, body in (("account + 3 slots", contract_body()), ("account", account_body())):
                    times = asyncio.run(load(port, body))
                    p50, p99 = (sorted(times)[len(times) * share // 100] * 1e3 for share in (50, 99))
                    print(
                        f"  {name:18} {len(times) / SECONDS:,.0f} requests a second, p50 {p50:.1f} ms, p99 {p99:.1f} ms"
                    )
            finally:
                server.terminate()


def contract_body() -> Body:
    slots = ["0x1", "0x2", "0xffff"]
    return lambda number: [to_hex(CONTRACT), slots, "finalized"]


def account_body() -> Body:
    return lambda number: [to_hex(_address(number * 7_919 % MILLION)), [], "finalized"]


async def load(port: int, body: Body) -> list[float]:
    """Seconds of every answer that came within the time, one request after the other on each connection."""
    end = time.perf_counter() + SECONDS
    rows = await asyncio.gather(*(_ask(port, body, place, end) for place in range(CONNECTIONS)))
    return [seconds for row in rows for seconds in row]


async def _ask(port: int, body: Body, place: int, end: float) -> list[float]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    times = []
    number = place
    while (started := time.perf_counter()) < end:
        number += CONNECTIONS
        call = {"jsonrpc": "2.0", "id": number, "method": "rollup_getProof", "params": body(number)}
        content = json.dumps(call).encode()
        writer.write(b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n%s" % (len(content), content))
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        answer = await reader.readexactly(length)
        if b'"result"' not in answer:
            raise AssertionError(answer)
        times.append(time.perf_counter() - started)
    writer.close()
    return times


if __name__ == "__main__":
    main()
