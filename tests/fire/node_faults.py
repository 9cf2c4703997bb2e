"""The node behind a server: slow, wrong, cut off, lying about ids, gone and back."""

import asyncio
import json
import math
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import urllib3

from tests import node_server
from tests.fire.client import Connection, post, run, timed
from tests.fire.findings import Finding, counted
from tests.fire.start import Begun, begun, wait_until
from tests.node_server import Fault, Handler, NodeServer
from tests.rpc_parts import head_block

TIMEOUT = 1.0  # seconds that the server waits for the node
CALLS = 40  # at a time, more than there are threads to ask the node with
SLACK = 3.0  # seconds for all but the waiting, on a machine that does much else
RETURN = 10.0  # seconds after which a node that is well again must be asked again
QUICK = 3.0  # seconds, likewise, for what is answered without the node
NUMBER = post("eth_blockNumber")
ESTIMATE = post("rollup_estimateGas", {"from": "0x" + "11" * 20, "to": "0x" + "22" * 20})
OWN = post("web3_clientVersion")
NODE_GAS, NODE_COUNT = 0x5208, 7


def answers(payload: Any) -> Any:
    """What a node says, the newest block included."""
    if isinstance(payload, list):
        return [answers(call) for call in payload]
    results = {
        "eth_blockNumber": hex(node_server.HEAD),
        "eth_getBlockByNumber": head_block(),
        "eth_estimateGas": hex(NODE_GAS),
        "eth_getTransactionCount": hex(NODE_COUNT),
        "eth_chainId": "0x539",
        "eth_feeHistory": None,  # not every node has it
    }
    return {"jsonrpc": "2.0", "id": payload["id"], "result": results[payload["method"]]}


def honest(handler: Handler, payload: Any) -> None:
    handler.send(200, json.dumps(answers(payload)).encode())


def changed(payload: Any, **fields: Any) -> Any:
    """The right answer with other fields."""
    if isinstance(payload, list):
        return [changed(call, **fields) for call in payload]
    return answers(payload) | fields


def lying(handler: Handler, payload: Any) -> None:
    """The answer to another request."""
    first = payload[0] if isinstance(payload, list) else payload
    handler.send(200, json.dumps(changed(payload, id=first["id"] + 1)).encode())


def cut_off(handler: Handler, payload: Any) -> None:
    data = json.dumps(answers(payload)).encode()
    handler.send(200, data[: len(data) // 2], content_length=str(len(data)))
    handler.close_connection = True


def of_another_type(handler: Handler, payload: Any) -> None:
    handler.send(200, json.dumps(changed(payload, result={"number": [1.5]})).encode())


def late(handler: Handler, payload: Any) -> None:
    """The right answer, when nobody waits for it any more."""
    handler.server.stopping.wait(3 * TIMEOUT)
    honest(handler, payload)


def with_head(**fields: Any) -> Fault:
    """The right answers, but for fields of the newest block; `None` leaves one out."""

    def send(handler: Handler, payload: Any) -> None:
        head = {name: value for name, value in (head_block() | fields).items() if value is not None}
        calls = payload if isinstance(payload, list) else [payload]
        replies = [answers(call) | ({"result": head} if call["method"] in HEADS else {}) for call in calls]
        handler.send(200, json.dumps(replies if isinstance(payload, list) else replies[0]).encode())

    return send


def of_another_chain(handler: Handler, payload: Any) -> None:
    """The right answers of a node that serves another chain."""
    calls = payload if isinstance(payload, list) else [payload]
    replies = [answers(call) | ({"result": "0x1"} if call["method"] == "eth_chainId" else {}) for call in calls]
    handler.send(200, json.dumps(replies if isinstance(payload, list) else replies[0]).encode())


def without_batches(handler: Handler, payload: Any) -> None:
    """The right answers to single calls, and a refusal of batches."""
    refusal = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "no batches"}}
    handler.send(200, json.dumps(refusal if isinstance(payload, list) else answers(payload)).encode())


def in_odd_words(handler: Handler, payload: Any) -> None:
    """An error with half a character and a code of 400 digits."""
    calls = payload if isinstance(payload, list) else [payload]
    error = {"code": 10**400, "message": "half \ud800"}
    replies = [{"jsonrpc": "2.0", "id": call["id"], "error": error} for call in calls]
    handler.send(200, json.dumps(replies if isinstance(payload, list) else replies[0]).encode())


def huge(handler: Handler, payload: Any) -> None:
    """More than the server takes."""
    handler.send(200, b" " * (33 << 20))


HEADS = ("eth_getBlockByNumber",)
FAULTS: dict[str, Fault] = {
    "slow": late,
    "silent": node_server.silent,
    "dripping a byte at a time": node_server.dripping,
    "dripping the head of an answer": node_server.dripping_head,
    "cut off in the middle": cut_off,
    "tearing connections down": node_server.reset,
    "lying about ids": lying,
    "answering with another type": of_another_type,
    "answering with a web page": node_server.body(b"<html>no</html>"),
    "answering with status 500": node_server.status(500),
    "turning away with 429": node_server.status(429),
    "answering with nothing": node_server.body(b""),
    "in odd words": in_odd_words,
    "answering with 33 MiB": huge,
    "without batches": without_batches,
    "of another chain": of_another_chain,
    "that stands still": with_head(timestamp="0x5e0be100"),
    "ahead of time": with_head(timestamp="0xffffffff"),
    "whose block has no time": with_head(timestamp=None),
    "whose block has no base fee": with_head(baseFeePerGas=None),
    "whose block has a base fee of 70 digits": with_head(baseFeePerGas="0x" + "f" * 70),
    "whose block used more gas than it has": with_head(gasUsed="0xffffffffff"),
    "back at a lower block": with_head(number="0x1"),
}
#: Faults of the newest block alone: estimates are refused, the number is passed on.
OF_HEAD = {name for name in FAULTS if name.startswith("whose block")} | {"that stands still", "ahead of time"}
#: No fault at all of what is asked for.
WELL = {"without batches", "back at a lower block"}
#: What a caller may be told while the node misbehaves: that it does; and what it says as it says it.
TOLD = frozenset({"-32002"})
PASSED_ON = {  # of eth_blockNumber, which is passed on
    "answering with another type": frozenset({"-32002", "ok"}),
    **dict.fromkeys(OF_HEAD, frozenset({"-32002", "ok"})),
    **dict.fromkeys(WELL, frozenset({"ok"})),
}


class OnPort(NodeServer):
    """A node on a port of one's choice, whose connections end with it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._accepted: list[socket.socket] = []
        super().__init__()

    def get_request(self) -> tuple[socket.socket, Any]:
        """The next connection."""
        connection, address = super().get_request()
        self._accepted.append(connection)
        return connection, address

    def hang_up(self) -> None:
        """End all connections."""
        for connection in self._accepted:
            with suppress(OSError):  # which the other side has closed
                connection.shutdown(socket.SHUT_RDWR)

    def server_bind(self) -> None:
        """Take the port."""
        self.server_address = ("127.0.0.1", self._port)
        super().server_bind()


@contextmanager
def node_on(port: int = 0) -> Iterator[OnPort]:
    """A node that answers well, on a port that another one may have had."""
    node = OnPort(port)
    node.always = honest
    thread = threading.Thread(target=node.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield node
    finally:
        node.stopping.set()
        node.shutdown()
        thread.join()
        node.hang_up()
        node.server_close()


async def _asked(port: int) -> tuple[Counter[str], float, float]:
    """Many calls that need the node at a time: outcomes, the longest, and the longest of one that does not [s]."""
    outcomes, longest, own = Counter[str](), 0.0, 0.0

    async def ask(request: bytes) -> float:
        connection = Connection(port)
        outcome, seconds, _ = await timed(connection, request)
        connection.close()
        if request is not OWN:
            outcomes[outcome] += 1
        elif outcome != "ok":
            outcomes[f"own: {outcome}"] += 1
        return seconds

    async def own_calls() -> float:
        return max([await ask(OWN) for _ in range(10)])

    asked = [ask(ESTIMATE if place % 2 else NUMBER) for place in range(CALLS)]
    own, *times = await asyncio.gather(own_calls(), *asked)
    longest = max(times)
    return outcomes, longest, own


def of_node(server: Begun, node: OnPort, names: list[str] | None = None) -> Iterator[Finding]:
    """Each fault for a while, and what follows when it is over."""
    for name in names or list(FAULTS):
        node.always = FAULTS[name]
        if name == "of another chain":  # as where another node has taken the address
            node.hang_up()
        outcomes, longest, own = run(_asked(server.port))
        refused = name not in OF_HEAD or outcomes["-32002"] == CALLS // 2  # every estimate
        node.always = honest
        back = _well_after(server)
        allowed = PASSED_ON.get(name, TOLD)
        held = refused and not outcomes.keys() - allowed and longest < TIMEOUT + SLACK and own < QUICK and back < RETURN
        yield Finding(f"a node {name}", _told(outcomes, longest, own, back), held)


def _well_after(server: Begun) -> float:
    """Seconds until what needs the node is answered again; for ever where that takes too long."""
    try:
        return wait_until(lambda: _is_well(server), "the node is asked again", patience=RETURN)
    except AssertionError:
        return math.inf


def _is_well(server: Begun) -> bool:
    outcomes = [run(_once(server.port, request)) for request in (NUMBER, ESTIMATE)]
    return outcomes == ["ok", "ok"]


async def _once(port: int, request: bytes) -> str:
    connection = Connection(port)
    outcome, _, _ = await timed(connection, request)
    connection.close()
    return outcome


def gone_and_back(server: Begun, node_port: int) -> Finding:
    """The node is not there, and then it is."""
    wait_until(lambda: not _health(server)["node"]["reachable"], "the server has seen it", patience=RETURN)
    outcomes, longest, own = run(_asked(server.port))
    reachable = _health(server)["node"]["reachable"]
    with node_on(node_port):
        back = _well_after(server)
        wait_until(lambda: _health(server)["node"]["reachable"], "the health says so", patience=RETURN)
    told = not outcomes.keys() - TOLD and not reachable
    held = told and longest < TIMEOUT + SLACK and own < QUICK and back < RETURN
    return Finding("a node gone and coming back", _told(outcomes, longest, own, back), held)


def _told(outcomes: Counter[str], longest: float, own: float, back: float) -> str:
    times = f"longest {longest:.2f} s, without the node {own:.2f} s, well again {back:.1f} s after it was"
    return f"{counted(outcomes)}; {times}"


def _health(server: Begun) -> Any:
    return urllib3.request("GET", f"{server.address}/health", retries=False).json()


def findings(names: list[str] | None = None) -> Iterator[Finding]:
    """All faults of a node; or those that are named."""
    with ExitStack() as stack:
        with node_on() as node:
            port = node.server_address[1]
            flags = ("--node", node.url, "--node-timeout", f"{TIMEOUT:g}", "--poll-seconds", "0.2", "--workers", "1")
            server = stack.enter_context(begun(*flags))
            wait_until(lambda: _is_well(server), "the server has met the node")  # whose chain it holds to from here on
            yield from of_node(server, node, names)
        yield gone_and_back(server, port)
        yield Finding("a server behind all of these", *_sound(server))


def _sound(server: Begun) -> tuple[str, bool]:
    log = server.log()
    lines = log.count("\n")
    return f"{lines} lines in its log, {'a' if 'trace' in log else 'no'} trace of an error", "trace" not in log
