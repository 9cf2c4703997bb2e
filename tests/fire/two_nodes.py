"""Two nodes behind a server, of which the one in use fails: what a client sees, and for how long.

    python -m tests.fire.two_nodes

A client asks every 20 ms for an estimate and a balance. "Wrong" counts answers that no healthy node gives.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import NamedTuple

from tests import node_server
from tests.fire.client import Connection, port_of, post, run, table, timed
from tests.fire.findings import Finding
from tests.node_server import NodeServer
from tests.rpc_parts import head_block
from tests.serving import serving

HEALTHY, FAILING, AGAIN = 1.0, 6.0, 2.0  # seconds
TIMEOUT, POLL = 1.0, 0.5  # seconds, of the server
PAUSE, SLOW = 0.02, 0.25  # seconds: between two calls; from which on an answer is noticed
LONGEST = 3 * TIMEOUT  # that an answer may take
ESTIMATE = post("eth_estimateGas", {"from": "0x" + "11" * 20, "to": "0x" + "22" * 20})
BALANCE = post("eth_getBalance", "0x" + "11" * 20, "latest")
GAS, WRONG_GAS = "0x5208", "0x7777"


class Seen(NamedTuple):
    """One call.

    Parameters
    ----------
    after : when it was sent, after the fault began [s].
    seconds : until its answer [s].
    outcome : of the call, see `tests.fire.client.Answer`.
    wrong : whether the answer is not that of a healthy node.
    """

    after: float
    seconds: float
    outcome: str
    wrong: bool


def behave(node: NodeServer, *, number: str = "0x5", chain: str = "0x539", gas: str = GAS) -> None:
    """A node that answers."""
    node.always = node_server.results(
        eth_chainId=chain, eth_estimateGas=gas, eth_getBalance=gas, eth_getTransactionCount="0x0",
        eth_blockNumber=number, eth_getBlockByNumber=lambda params: head_block(number=number),
    )  # fmt: skip


def killed(node: NodeServer, other: NodeServer) -> None:
    """The process is gone: connections are refused, open ones reset."""
    node.always = node_server.reset
    node.shutdown()
    node.socket.close()


def stalled(node: NodeServer, other: NodeServer) -> None:
    """Requests are taken and never answered."""
    node.always = node_server.silent


def lagging(node: NodeServer, other: NodeServer) -> None:
    """The node stands still while the other one goes on."""
    behave(node, gas=WRONG_GAS)
    behave(other, number="0x19")


def on_another_chain(node: NodeServer, other: NodeServer) -> None:
    """The node answers for another chain."""
    behave(node, chain="0x1", gas=WRONG_GAS)


def slow(node: NodeServer, other: NodeServer) -> None:
    """Each answer takes 0.3 s."""
    answered = node.always
    assert answered is not None

    def later(handler: node_server.Handler, payload: object) -> None:
        handler.server.stopping.wait(0.3)
        answered(handler, payload)

    node.always = later


def garbage(node: NodeServer, other: NodeServer) -> None:
    """A page of HTML in place of JSON."""
    node.always = node_server.body(b"<html>busy</html>", content_type="text/html")


FAULTS: dict[str, Callable[[NodeServer, NodeServer], None]] = {
    "killed": killed, "stalled": stalled, "lagging": lagging, "on another chain": on_another_chain, "slow": slow,
    "answering garbage": garbage,
}  # fmt: skip


async def watch(port: int, fail: Callable[[], None], recover: Callable[[], None]) -> list[Seen]:
    """Calls before, during and after a fault."""
    seen: list[Seen] = []
    started = time.perf_counter()

    async def ask(request: bytes) -> None:
        connection = Connection(port)
        while time.perf_counter() < started + HEALTHY + FAILING + AGAIN:
            after = time.perf_counter() - started - HEALTHY
            outcome, seconds, body = await timed(connection, request)
            wrong = outcome == "ok" and GAS.encode() not in body
            seen.append(Seen(after, seconds, outcome, wrong))
            await asyncio.sleep(PAUSE)
        connection.close()

    async def happen() -> None:
        await asyncio.sleep(HEALTHY)
        await asyncio.to_thread(fail)
        await asyncio.sleep(FAILING)
        recover()

    await asyncio.gather(ask(ESTIMATE), ask(BALANCE), happen())
    return seen


def tried(name: str) -> list[Seen]:
    """What a client sees of one fault of the node that is in use."""
    with ExitStack() as stack:
        node, other = (stack.enter_context(node_server.running()) for _ in range(2))
        for each in (node, other):
            stack.callback(each.stopping.set)
        behave(node)
        behave(other)
        flags = ["--node", node.url, "--node", other.url, "--node-timeout", str(TIMEOUT), "--poll-seconds", str(POLL)]
        server = stack.enter_context(serving("--workers", "1", *flags))
        failing: list[NodeServer] = []

        def fail() -> None:
            used = [each["inUse"] for each in server.pool.request("GET", f"{server.address}/health").json()["nodes"]]
            pair = (node, other) if used[0] else (other, node)
            failing.append(pair[0])
            FAULTS[name](*pair)

        return run(watch(port_of(server.address), fail, lambda: behave(failing[0])))


def summary(name: str, seen: list[Seen]) -> list[str]:
    """A row of the table."""
    during = [one for one in seen if one.after >= -PAUSE]
    failures = Counter(one.outcome for one in during if one.outcome != "ok")
    noticed = [one for one in during if one.outcome != "ok" or one.seconds > SLOW or one.wrong]
    last_failed = max((one.after + one.seconds for one in during if one.outcome != "ok"), default=0.0)
    last_noticed = max((one.after + one.seconds for one in noticed), default=0.0)
    words = ", ".join(f"{count} × {outcome}" for outcome, count in failures.most_common()) or "none"
    return [
        name, f"{len(during):,}", words, f"{last_failed:.1f} s", f"{sum(one.wrong for one in during)}",
        f"{max(one.seconds for one in during):.2f} s", f"{len(noticed)}", f"{last_noticed:.1f} s",
    ]  # fmt: skip


HEADINGS = ["the node in use is", "calls", "errors", "the last after", "wrong", "longest", "noticed", "the last after"]


def findings() -> Iterator[Finding]:
    """Each fault with what was seen of it."""
    for name in FAULTS:
        seen = tried(name)
        row = summary(name, seen)
        told = "; ".join(f"{heading} {cell}" for heading, cell in zip(HEADINGS[1:], row[1:], strict=True))
        healthy_end = all(one.outcome == "ok" for one in seen if one.after > FAILING - 1.0)
        held = healthy_end and max(one.seconds for one in seen) < LONGEST
        yield Finding(f"two nodes, the one in use {name}", held, told)


def main() -> None:
    print(table([HEADINGS, *(summary(name, tried(name)) for name in FAULTS)]))


if __name__ == "__main__":
    main()
