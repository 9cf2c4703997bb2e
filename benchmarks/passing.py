"""Calls that are passed on beside the node asked directly, and pushes to a thousand WebSockets.

Throughput and latency over HTTP of the same calls, asked of anvil and through a server in front of it, one after the
other in every round. Then WebSockets that are subscribed to new blocks, each of which is told of every block: the times
from the first of them that is told to the last, and from the block to the last. Needs anvil by `scripts/install-peers`.
"""

import asyncio
import base64
import itertools
import os
import shutil
import statistics
import time
from collections.abc import Callable, Sequence

from benchmarks import ratio
from benchmarks.peer_anvil import MissingTool
from feemodel.ethereum.quantities import to_hex
from tests import anvil
from tests.development import ALDER, GENESIS, HOLDERS
from tests.fire.client import Connection, Latencies, port_of, post, run, timed
from tests.fire.processes import serving_time
from tests.serving import serving

WORKERS, CONNECTIONS, ROUNDS, SECONDS = 2, 16, 5, 3.0
SOCKETS, BLOCKS = 1_000, 10
PATIENCE = 60.0  # seconds for all WebSockets to be told

ASKED: dict[str, Callable[[int], bytes]] = {
    "eth_getBalance": lambda number: post("eth_getBalance", to_hex(HOLDERS[number % len(HOLDERS)]), "latest"),
    "eth_getCode": lambda number: post("eth_getCode", to_hex(ALDER), "latest"),
    "eth_getBlockByNumber": lambda number: post("eth_getBlockByNumber", "latest", False),
}


def main() -> None:
    if shutil.which(str(anvil.binary())) is None:
        raise MissingTool(f"{anvil.binary()}: not found; scripts/install-peers installs it")
    with (
        anvil.running(GENESIS) as node,
        serving("--node", node.url, "--workers", str(WORKERS), "--watch-seconds", "0.02") as server,
    ):
        ports = {"anvil": port_of(node.url), "through the server": port_of(server.address)}
        print(f"  {ROUNDS} rounds of {SECONDS:g} s, {WORKERS} workers")
        for connections, (name, request) in itertools.product((1, CONNECTIONS), ASKED.items()):
            before = serving_time(server.pid)
            count = beside(name, request, ports, connections)
            spent = 1e6 * (serving_time(server.pid) - before) / count
            print(f"    {spent:.0f} µs of processor time a call in the server")
        pushed(node, port_of(server.address))


def beside(name: str, request: Callable[[int], bytes], ports: dict[str, int], connections: int) -> int:
    """Throughput of the two, in turn; how many calls the server passed on."""
    found: dict[str, list[Latencies]] = {who: [] for who in ports}
    passed = 0
    for number in range(ROUNDS + 1):
        for who, port in ports.items():
            times = run(load(port, request, connections, SECONDS if number else 0.5))
            passed += times.count if who != "anvil" else 0
            if number:  # the first round warms up
                found[who].append(times)
    seconds = {who: [1 / times.count for times in each] for who, each in found.items()}
    direct, through = ports
    print(f"  {name}, {connections} at a time: {ratio(seconds, direct, through)} of the throughput of {direct}")
    for who, each in found.items():
        p50, p99 = (1e3 * statistics.median(times.quantile(share) for times in each) for share in (0.5, 0.99))
        rate = statistics.median(times.count for times in each) / SECONDS
        print(f"    {who:20} {rate:>7,.0f} a second, p50 {p50:.2f} ms, p99 {p99:.2f} ms")
    return passed


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
