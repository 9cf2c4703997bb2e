"""In front of a chain: keys, rates, WebSockets and a node that fails again and again, all at once.

    python -m tests.fire.load --front [--seconds 600] [--clients 32] [--workers 2]

Two nodes answer a balance that depends on the address alone, and a block that counts up; one of them resets, stalls,
lies about its chain, sends garbage or is slow for some seconds, is well for as long, then misbehaves in the next way.
Clients with different keys ask by HTTP and over WebSockets: each answer must be that of a healthy node, or an error
that is documented for its key; each WebSocket must be told of blocks in their order. The keys are read again meanwhile.
"""

import asyncio
import itertools
import json
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from feemodel.rpc.keys import BURST_SECONDS
from tests import node_server
from tests.fire.calls import Order
from tests.fire.client import Connection, http, port_of, rpc, timed
from tests.fire.load import Load, watched
from tests.node_server import NodeServer
from tests.rpc_parts import head_block
from tests.serving import Server, serving

TIMEOUT, POLL, WATCH = 1.0, 0.5, 0.1  # seconds, of the server
FAILING, BLOCK, RELOAD = 5.0, 0.25, 5.0  # seconds: of each fault and of each rest; between blocks; between SIGHUPs
SLOW = 0.2  # seconds
SOCKETS = 40
RATE = 50.0  # requests a second of the key that is limited
KEYS = f"""
[wallet]
key = "of-a-wallet"
[limited]
key = "of-a-limited-one"
requests_per_second = {RATE}
[reader]
key = "of-a-reader"
methods = ["eth_getBalance"]
"""
UNAVAILABLE, LIMITED, UNKNOWN_METHOD = "-32002", frozenset({"HTTP 429", "-32005"}), "-32601"
WRONG = "a wrong answer"


def balance_of(address: str) -> str:
    """What a healthy node answers."""
    return hex(int(address, 16) % (1 << 120) + 1)


class Nodes:
    """Two nodes of one chain, the first of which fails."""

    def __init__(self, first: NodeServer, second: NodeServer, failing: float) -> None:
        self._first, self.both, self.number, self._failing = first, (first, second), 1_000, failing
        self._stopping = threading.Event()
        for node in self.both:
            self._well(node)

    def _well(self, node: NodeServer, chain: str = "0x539", offset: int = 0) -> None:
        node.always = node_server.results(
            eth_chainId=chain, eth_estimateGas="0x5208", eth_getTransactionCount="0x0",
            eth_getBalance=lambda params: hex(int(balance_of(params[0]), 16) + offset),
            eth_blockNumber=lambda params: hex(self.number), eth_getBlockByNumber=lambda params: self._block(params[0]),
        )  # fmt: skip

    def _block(self, wanted: str) -> dict[str, Any]:
        number = self.number if wanted == "latest" else int(wanted, 16)
        return node_server.header(number) | head_block(number=hex(number))

    def run(self) -> None:
        """Count blocks, and let the first node fail in one way after the other, until `stop`."""
        began, faults = time.monotonic(), itertools.cycle([node_server.reset, self._stalled, self._lies, GARBAGE, None])
        turn = 0
        while not self._stopping.wait(BLOCK):
            self.number += 1
            if int((time.monotonic() - began) / self._failing) == turn:
                continue
            turn += 1
            if turn % 2 == 0:
                self._well(self._first)
            elif (fault := next(faults)) is None:
                self._slow()
            elif fault == self._lies:
                self._well(self._first, chain="0x1", offset=1)
            else:
                self._first.always = fault

    def stop(self) -> None:
        self._stopping.set()

    def _stalled(self, handler: node_server.Handler, payload: Any) -> None:
        self._stopping.wait(2 * TIMEOUT)
        handler.close_connection = True

    def _lies(self, handler: node_server.Handler, payload: Any) -> None:
        """Stands for a node of another chain, whose every answer is wrong."""

    def _slow(self) -> None:
        answered = self._first.always
        assert answered is not None

        def later(handler: node_server.Handler, payload: Any) -> None:
            self._stopping.wait(SLOW)
            answered(handler, payload)

        self._first.always = later


GARBAGE = node_server.body(b"<html>busy</html>", content_type="text/html")


@contextmanager
def fronted(workers: int, *, failing: float = FAILING) -> Iterator[tuple[Server, Nodes]]:
    """A server with keys in front of two nodes, the first of which fails for so long at a time [s]."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="feemodel-front-")))
        (folder / "keys.toml").write_text(KEYS)
        first, second = (stack.enter_context(node_server.running()) for _ in range(2))
        nodes = Nodes(first, second, failing)
        failing = threading.Thread(target=nodes.run)
        flags = ["--node", first.url, "--node", second.url, "--api-keys", str(folder / "keys.toml")]
        flags += ["--node-timeout", str(TIMEOUT), "--poll-seconds", str(POLL), "--watch-seconds", str(WATCH)]
        server = stack.enter_context(serving("--workers", str(workers), *flags))
        failing.start()
        try:
            yield server, nodes
        finally:
            nodes.stop()
            failing.join()
            for node in nodes.both:
                node.stopping.set()


async def front(server: Server, nodes: Nodes, seconds: float, clients: int, *, show: bool = False) -> Load:
    """Clients with all keys and without one, WebSockets, and the signal to read keys again."""
    load, began = Load(seconds), time.perf_counter()
    port, until = port_of(server.address), began + seconds
    watching = asyncio.create_task(watched(server, load, began, show=show))
    reloading = asyncio.create_task(_reload(server.pid))
    ways = itertools.islice(itertools.cycle(WAYS), max(clients, len(WAYS)))
    asking = [_ask(port, load, until, random.Random(number), *way) for number, way in enumerate(ways)]
    await asyncio.gather(*asking, *(_listen(port, load, until, nodes, number) for number in range(SOCKETS)))
    for task in (watching, reloading):
        task.cancel()
    load.end(server, began)
    return load


def limit_failures(load: Load) -> list[str]:
    """Why the limited key was not held to its rate, or nobody was refused; nothing where all is well."""
    found = [f"nobody met: {kind}" for kind, *_ in WAYS if kind not in load.kinds]
    outcomes = load.kinds["limited key"].outcomes
    most = RATE * (load.seconds + BURST_SECONDS) * 1.05
    if outcomes["ok"] > most:
        found.append(f"limited key: {outcomes['ok']:,} answers, at most {most:,.0f} were to be given")
    if not sum(outcomes[name] for name in LIMITED) and load.kinds["limited key"].times.count > most:
        found.append("limited key: none was refused")
    if not load.kinds["WebSocket, block"].times.count:
        found.append("no WebSocket was told of a block")
    return found


#: kind, key, method, and what may come of it beside the right answer, which "ok" stands for where it may.
WAYS: tuple[tuple[str, str | None, str, frozenset[str]], ...] = (
    ("wallet key", "of-a-wallet", "eth_getBalance", frozenset({"ok", UNAVAILABLE})),
    ("limited key", "of-a-limited-one", "eth_getBalance", LIMITED | {"ok", UNAVAILABLE}),
    ("reader key", "of-a-reader", "eth_getBalance", frozenset({"ok", UNAVAILABLE})),
    ("reader key, other method", "of-a-reader", "eth_estimateGas", frozenset({UNKNOWN_METHOD})),
    ("unknown key", "of-nobody", "eth_getBalance", frozenset({"HTTP 401"})),
    ("no key", None, "eth_getBalance", frozenset({"HTTP 401"})),
)


async def _ask(
    port: int, load: Load, until: float, rng: random.Random, kind: str, key: str | None, method: str,
    outcomes: frozenset[str],
) -> None:  # fmt: skip
    connection, head = Connection(port), f"POST /{'' if key is None else 'v3/' + key} HTTP/1.1\r\n".encode()
    while time.perf_counter() < until:
        address = f"0x{rng.getrandbits(160):040x}"
        request = http(rpc(method, address, "latest"), head=head)
        outcome, took, body = await timed(connection, request)
        if outcome == "ok" and json.loads(body).get("result") != balance_of(address):
            outcome = WRONG
        load.add(Order(kind, request, outcomes), outcome, took)
        if outcome != "ok":
            await asyncio.sleep(0.01)  # a refusal costs little; whoever is refused waits a little
    connection.close()


async def _listen(port: int, load: Load, until: float, nodes: Nodes, number: int) -> None:
    """One WebSocket: told of blocks, and asking in between."""
    rng, block = random.Random(number), Order("WebSocket, block", b"", frozenset({"ok"}))
    call = Order("WebSocket, call", b"", frozenset({"ok", UNAVAILABLE}))
    async with connect(f"ws://127.0.0.1:{port}/v3/of-a-wallet") as websocket:
        await websocket.send(rpc("eth_subscribe", "newHeads").decode())
        address, asked, last = "", 0.0, 0
        try:
            while time.perf_counter() < until:
                if not address:
                    address, asked = f"0x{rng.getrandbits(160):040x}", time.perf_counter()
                    body = {"jsonrpc": "2.0", "id": 2, "method": "eth_getBalance", "params": [address, "latest"]}
                    await websocket.send(json.dumps(body))
                message = json.loads(await asyncio.wait_for(websocket.recv(), timeout=30))
                if message.get("method") == "eth_subscription":
                    told = int(message["params"]["result"]["number"], 16)
                    load.add(block, "ok" if last < told <= nodes.number else f"block {told} after {last}", 0.0)
                    last = told
                elif message["id"] == 2:
                    outcome = "ok" if message.get("result") == balance_of(address) else WRONG
                    outcome = str(message["error"]["code"]) if "error" in message else outcome
                    load.add(call, outcome, time.perf_counter() - asked)
                    address = ""
                    await asyncio.sleep(0.05)
        except (ConnectionClosed, TimeoutError) as error:
            load.add(call, type(error).__name__, 0.0)


async def _reload(pid: int) -> None:
    while True:
        await asyncio.sleep(RELOAD)
        os.kill(pid, signal.SIGHUP)
