"""Forwarded calls: the server compared with nginx as a proxy and with the node itself.

Measures throughput and latency of the same calls over HTTP: to a node, through nginx as a plain reverse proxy, and
through this server. The three alternate in every round. The nodes are geth, as operators run it, and anvil, which
answers most calls from memory in less time than a proxy needs. Client, node and proxy share the processors, so nginx
shows the cost of any proxy on this machine.
Needs anvil (`scripts/install-peers`) and nginx (Debian's package). geth is built from its Go module, which takes
minutes the first time. Without Go, only anvil is measured.
"""

import asyncio
import itertools
import json
import shutil
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import psutil

from benchmarks import ratio
from benchmarks.peer_anvil import GETH_VERSION, PATIENCE, MissingTool, built_geth, running_geth
from feemodel.errors import FeeModelError
from feemodel.ethereum._quantities import to_hex
from tests.helpers import anvil
from tests.helpers.development import ALDER, GENESIS, HOLDERS, encoded
from tests.system import nginx
from tests.system.client import Connection, http, post, rpc, run, timed
from tests.system.processes import workers
from tests.system.start import serving

WORKERS, CONNECTIONS, ROUNDS, SECONDS, WARM_UP = 2, 16, 5, 0.4, 0.2
TRANSFERS, BATCH = 64, 10  # blocks with one log each; calls in a batch
#: Contracts of EIP-7002 and EIP-7251.
SYSTEM_CONTRACTS = ("0x00000961ef480eb55e80d19ad83579a64c007002", "0x0000bbddc7ce488642fb579f8b00f3a590007251")
SETTLE = 5.0  # seconds for a server to compile in the background
DIRECT, PROXY, SERVER = "node", "nginx", "server"
SITE = """upstream node {{ server 127.0.0.1:{node}; keepalive 64; }}
server {{
    listen 127.0.0.1:{port} reuseport;
    keepalive_requests 1000000000;
    location / {{
        proxy_pass http://node;
        proxy_http_version 1.1;
        proxy_set_header Connection '';
        proxy_set_header Host $http_host;
    }}
}}
"""


def holder(number: int) -> bytes:
    return HOLDERS[number % len(HOLDERS)]


def transfer(number: int) -> dict[str, str]:
    """Return a token transfer."""
    data = encoded("transfer(address,uint256)", holder(number), 1)
    return {"from": to_hex(HOLDERS[0]), "to": to_hex(ALDER), "data": to_hex(data)}


def balance_of(number: int) -> dict[str, str]:
    return {"to": to_hex(ALDER), "data": to_hex(encoded("balanceOf(address)", holder(number)))}


ASKED: dict[str, Callable[[int], bytes]] = {
    "eth_getBalance": lambda number: post("eth_getBalance", to_hex(holder(number)), "latest"),
    "eth_getBlockByNumber": lambda number: post("eth_getBlockByNumber", "latest", False),
    "eth_call of a token": lambda number: post("eth_call", balance_of(number), "latest"),
    "eth_estimateGas of a token": lambda number: post("eth_estimateGas", transfer(number)),
    f"eth_getLogs, {TRANSFERS} blocks": lambda number: post("eth_getLogs", {"fromBlock": "0x0", "toBlock": "latest"}),
    f"a batch of {BATCH} balances": lambda number: http(
        b"[%b]" % b",".join(rpc("eth_getBalance", to_hex(holder(number + each)), "latest") for each in range(BATCH))
    ),
}


def main() -> None:
    if shutil.which(str(anvil.binary())) is None:
        raise MissingTool(f"{anvil.binary()}: not found; scripts/install-peers installs it")
    if nginx.BINARY is None:
        raise MissingTool("nginx: not found")
    print(
        f"  client, node and proxy on the same processors; {ROUNDS} rounds of {SECONDS:g} s in turn, {WORKERS} workers "
        "each; medians; ratios are of calls a second, with their range; p99 in ms; µs is the server's processor time"
    )
    with TemporaryDirectory(prefix="feemodel-geth-") as name, anvil.asking() as pool:
        if (geth := built_geth()) is not None:
            genesis = Path(name) / "genesis.json"
            genesis.write_text(json.dumps(with_system_contracts()))
            with running_geth(geth, Path(name), pool, genesis, develops=True) as node:
                measured(f"geth {GETH_VERSION}", node)
    with anvil.running(GENESIS) as node:
        node.ask("anvil_autoImpersonateAccount", True)
        measured(f"anvil {anvil.VERSION}", node)


def measured(name: str, node: anvil.Node) -> None:
    """Measure all calls to a node, and through the proxies in front of it."""
    for number in range(TRANSFERS):
        wait_for_receipt(node, node.ask("eth_sendTransaction", transfer(number))["result"])
    with (
        proxied(node) as port,
        serving("--node", node.url, "--workers", str(WORKERS)) as server,
    ):
        ports = {DIRECT: int(node.url.rpartition(":")[2]), PROXY: port, SERVER: server.port}
        for asked in ASKED.values():
            run(check(asked, ports))
        time.sleep(SETTLE)
        rows = [[name, "at a time", *ports, "nginx / node", "server / node", "server / nginx", *_P99, "µs"]]
        for connections, (what, request) in itertools.product((1, CONNECTIONS), ASKED.items()):
            rows.append([what, str(connections), *beside(request, ports, connections, server.pid)])
        print(table(rows))


def with_system_contracts() -> dict[str, Any]:
    """Return the genesis with code at Prague's system contracts; geth builds no block without it."""
    document: dict[str, Any] = json.loads(GENESIS.read_bytes())
    stopping = {address: {"balance": "0x0", "code": "0x00"} for address in SYSTEM_CONTRACTS}
    return document | {"alloc": document["alloc"] | stopping}


def table(rows: Iterable[Iterable[str]]) -> str:
    """Align rows in columns, the first one left and the others right."""
    listed = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*listed, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) if place else cell.ljust(width) for place, (cell, width) in enumerate(
            zip(row, widths, strict=True)))
        for row in listed
    )  # fmt: skip


def serving_time(pid: int) -> float:
    """Return the processor time of all workers so far [s]."""
    total = 0.0
    for process in workers(pid):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system
    return total


_P99 = ("p99 node", "p99 nginx", "p99 server")


def wait_for_receipt(node: anvil.Node, transaction: str) -> None:
    """Wait until a transaction is in a block; raises `FeeModelError` after a timeout, or if the transaction fails."""
    end = time.monotonic() + PATIENCE
    while (receipt := node.ask("eth_getTransactionReceipt", transaction).get("result")) is None:
        if time.monotonic() > end:
            raise FeeModelError(f"{transaction}: no receipt within {PATIENCE:g} s")
        time.sleep(0.002)
    if receipt["status"] != "0x1":
        raise FeeModelError(f"{transaction}: {receipt}")


async def check(request: Callable[[int], bytes], ports: dict[str, int]) -> None:
    """Raise `FeeModelError` if a response through a proxy differs from the node's response."""
    answers = {}
    for who, port in ports.items():
        connection = Connection(port)
        answers[who] = (await connection.ask(request(0))).body
        connection.close()
    decoded = [json.loads(body) for body in answers.values()]
    if any(other != decoded[0] for other in decoded) or b'"error"' in answers[DIRECT]:
        raise FeeModelError(f"answers differ, or are errors: {answers}")


@contextmanager
def proxied(node: anvil.Node) -> Iterator[int]:
    """Run nginx in front of a node; yields nginx's port."""
    with TemporaryDirectory(prefix="feemodel-nginx-") as folder:
        port = anvil.free_port()
        site = SITE.format(node=int(node.url.rpartition(":")[2]), port=port)
        with nginx.running(Path(folder), port, site, workers=WORKERS):
            yield port


def beside(request: Callable[[int], bytes], ports: dict[str, int], connections: int, pid: int) -> list[str]:
    """Measure calls per second of all three in turn; add ratios, 99th percentiles and processor time per call."""
    found: dict[str, list[list[float]]] = {who: [] for who in ports}
    spent, passed = 0.0, 0
    for number in range(ROUNDS + 1):
        for who, port in ports.items():
            before = serving_time(pid)
            times = run(load(port, request, connections, SECONDS if number else WARM_UP))
            if number:  # the first round is a warm-up
                found[who].append(times)
                if who == SERVER:
                    spent, passed = spent + serving_time(pid) - before, passed + len(times)
    seconds = {who: [1 / len(times) for times in each] for who, each in found.items()}
    rates = [f"{statistics.median(len(times) for times in each) / SECONDS:,.0f}" for each in found.values()]
    pairs = ((DIRECT, PROXY), (DIRECT, SERVER), (PROXY, SERVER))
    ratios = [ratio(seconds, first, second) for first, second in pairs]
    late = [f"{1e3 * statistics.median(np.quantile(times, 0.99) for times in each):.2f}" for each in found.values()]
    return [*rates, *ratios, *late, f"{1e6 * spent / passed:.0f}"]


async def load(port: int, request: Callable[[int], bytes], connections: int, seconds: float) -> list[float]:
    """Measure latencies of clients that each send one call at a time; raises `AssertionError` for an error."""
    times, end = list[float](), time.perf_counter() + seconds

    async def client(number: int) -> None:
        connection = Connection(port)
        while time.perf_counter() < end:
            number += connections
            outcome, taken, body = await timed(connection, request(number))
            if outcome != "ok":
                raise AssertionError(outcome, body)
            times.append(taken)
        connection.close()

    await asyncio.gather(*map(client, range(connections)))
    return times


if __name__ == "__main__":
    main()
