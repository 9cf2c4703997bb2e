"""Calls that are passed on beside nginx and the node asked directly, and pushes to a thousand WebSockets.

Throughput and latency over HTTP of the same calls, asked of anvil, through nginx in front of it as a plain reverse
proxy, and through a server in front of it, one after the other in every round. Client, node and proxy share the
processors, so that nginx shows what any proxy costs there: where anvil answers at once, each takes processor time that
it would have; where anvil works on a call, there is room for a proxy. Then WebSockets that are subscribed to new
blocks, each of which is told of every block: the times from the first of them that is told to the last, and from the
block to the last. Needs anvil by `scripts/install-peers`, and nginx, of Debian's package of that name.
"""

import asyncio
import base64
import itertools
import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import ratio
from benchmarks.peer_anvil import MissingTool
from feemodel.ethereum.quantities import to_hex
from tests import anvil, nginx
from tests.development import ALDER, GENESIS, HOLDERS, encoded
from tests.fire.client import Connection, Latencies, http, port_of, post, rpc, run, table, timed
from tests.fire.processes import serving_time
from tests.serving import serving

WORKERS, CONNECTIONS, ROUNDS, SECONDS = 2, 16, 3, 2.0
TRANSFERS, BATCH = 64, 10  # blocks with a log each; calls of a batch
SOCKETS, BLOCKS = 1_000, 10
PATIENCE = 60.0  # seconds for all WebSockets to be told
DIRECT, PROXY, SERVER = "anvil", "nginx", "the server"
SITE = """upstream node {{ server 127.0.0.1:{node}; keepalive 64; }}
server {{
    listen 127.0.0.1:{port} reuseport;
    keepalive_requests 1000000000;
    location / {{ proxy_pass http://node; proxy_http_version 1.1; proxy_set_header Connection ''; }}
}}
"""


def holder(number: int) -> bytes:
    return HOLDERS[number % len(HOLDERS)]


def transfer(number: int) -> dict[str, str]:
    """A transfer of tokens."""
    data = encoded("transfer(address,uint256)", holder(number), 1)
    return {"from": to_hex(HOLDERS[0]), "to": to_hex(ALDER), "data": to_hex(data)}


def balance_of(number: int) -> dict[str, str]:
    return {"to": to_hex(ALDER), "data": to_hex(encoded("balanceOf(address)", holder(number)))}


ASKED: dict[str, Callable[[int], bytes]] = {
    "eth_getBalance": lambda number: post("eth_getBalance", to_hex(holder(number)), "latest"),
    "eth_getCode": lambda number: post("eth_getCode", to_hex(ALDER), "latest"),
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
    with (
        anvil.running(GENESIS) as node,
        proxied(node) as port,
        serving("--node", node.url, "--workers", str(WORKERS), "--watch-seconds", "0.02") as server,
    ):
        node.ask("anvil_autoImpersonateAccount", True)
        for number in range(TRANSFERS):
            assert "result" in node.ask("eth_sendTransaction", transfer(number))
        ports = {DIRECT: port_of(node.url), PROXY: port, SERVER: port_of(server.address)}
        print(f"  {ROUNDS} rounds of {SECONDS:g} s, {WORKERS} workers each; throughput as medians of ratios, p99 [ms]")
        rows = [["", "at a time", *ports, "nginx / anvil", "server / anvil", "server / nginx", *_P99, "µs in it"]]
        for connections, (name, request) in itertools.product((1, CONNECTIONS), ASKED.items()):
            rows.append([name, str(connections), *beside(request, ports, connections, server.pid)])
        print(table(rows))
        pushed(node, port_of(server.address))


_P99 = ("p99 anvil", "p99 nginx", "p99 server")


@contextmanager
def proxied(node: anvil.Node) -> Iterator[int]:
    """nginx in front of a node, and nothing else; its port."""
    with TemporaryDirectory(prefix="feemodel-nginx-") as folder:
        port = nginx.free_port()
        site = SITE.format(node=port_of(node.url), port=port)
        with nginx.running(Path(folder), port, site, workers=WORKERS):
            yield port


def beside(request: Callable[[int], bytes], ports: dict[str, int], connections: int, pid: int) -> list[str]:
    """Calls a second of all three, in turn; ratios, 99th percentiles, and the server's processor time for a call."""
    found: dict[str, list[Latencies]] = {who: [] for who in ports}
    spent, passed = 0.0, 0
    for number in range(ROUNDS + 1):
        for who, port in ports.items():
            before = serving_time(pid)
            times = run(load(port, request, connections, SECONDS if number else 0.5))
            if number:  # the first round warms up
                found[who].append(times)
                if who == SERVER:
                    spent, passed = spent + serving_time(pid) - before, passed + times.count
    seconds = {who: [1 / times.count for times in each] for who, each in found.items()}
    rates = [f"{statistics.median(times.count for times in each) / SECONDS:,.0f}" for each in found.values()]
    pairs = ((DIRECT, PROXY), (DIRECT, SERVER), (PROXY, SERVER))
    ratios = [ratio(seconds, first, second) for first, second in pairs]
    late = [f"{1e3 * statistics.median(times.quantile(0.99) for times in each):.2f}" for each in found.values()]
    return [*rates, *ratios, *late, f"{1e6 * spent / passed:.0f}"]


async def load(port: int, request: Callable[[int], bytes], connections: int, seconds: float) -> Latencies:
    """How long the answers took, of clients that ask one after the other; raises `AssertionError` for an error."""
    times, end = Latencies(), time.perf_counter() + seconds

    async def client(number: int) -> None:
        connection = Connection(port)
        while time.perf_counter() < end:
            number += connections
            outcome, taken, body = await timed(connection, request(number))
            if outcome != "ok":
                raise AssertionError(outcome, body)
            times.add(taken)
        connection.close()

    await asyncio.gather(*map(client, range(connections)))
    return times


class Told(asyncio.Protocol):
    """A WebSocket that notes when it is told of a block."""

    def __init__(self, number: int, told: Callable[[float], None]) -> None:
        self._told, self.is_subscribed, self._data = told, asyncio.get_running_loop().create_future(), b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        key = base64.b64encode(os.urandom(16)).decode()
        transport.write(  # type: ignore[attr-defined]
            f"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        body = b'{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}'
        transport.write(bytes([0x81, 0x80 | len(body)]) + bytes(4) + body)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter()
        if b'"result":"0x' in data and not self.is_subscribed.done():
            self.is_subscribed.set_result(None)
        elif b"eth_subscription" in data:
            self._told(now)


def pushed(node: anvil.Node, port: int) -> None:
    """How long it takes until the last WebSocket is told of a block."""
    spread, late = run(push(node, port))
    for what, times in (("the first to the last WebSocket", spread), ("the block to the last WebSocket", late)):
        shown = f"{1e3 * statistics.median(times):.0f} ms ({1e3 * min(times):.0f} to {1e3 * max(times):.0f})"
        print(f"  {SOCKETS:,} WebSockets, {len(times)} blocks, from {what}: {shown}")


async def push(node: anvil.Node, port: int) -> tuple[Sequence[float], Sequence[float]]:
    """Seconds from the first to the last, and from the block to the last, for each block."""
    loop, times = asyncio.get_running_loop(), []
    sockets = [
        (await loop.create_connection(lambda number=number: Told(number, times.append), "127.0.0.1", port))
        for number in range(SOCKETS)
    ]
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*(socket.is_subscribed for _, socket in sockets))
    await asyncio.sleep(1)
    spread, late = [], []
    for _ in range(BLOCKS):
        times.clear()
        began = time.perf_counter()
        await asyncio.to_thread(node.ask, "evm_mine")
        async with asyncio.timeout(PATIENCE):
            while len(times) < SOCKETS:
                await asyncio.sleep(0.005)
        spread.append(max(times) - min(times))
        late.append(max(times) - began)
        await asyncio.sleep(0.5)
    for transport, _ in sockets:
        transport.abort()
    return spread, late


if __name__ == "__main__":
    main()
