"""A node behind the server that is slow, breaks off, redirects, never ends, goes away and comes back."""

import asyncio
import gzip
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from typing import Any

import pytest

from tests.helpers import node_server
from tests.helpers.node_server import Fault, Handler, NodeServer
from tests.server.parts import head_block
from tests.system.client import Connection, alone, post, run, timed
from tests.system.processes import MIB, memory, workers
from tests.system.start import started, wait_until

TIMEOUT = 1.0  # seconds that the server waits for the node
CALLS = 40  # at the same time
SLACK = 4.0  # seconds for everything but the wait, on a busy machine
RETURN = 15.0  # seconds after which a node that is well again must be asked again
QUICK = 1.0  # seconds for a call that the server answers itself
GROWTH = 200 * MIB
NUMBER = post("eth_blockNumber")
ESTIMATE = post("rollup_estimateGas", {"from": "0x" + "11" * 20, "to": "0x" + "22" * 20})
FORWARDED = post("eth_getLogs", {})
SEND = post("eth_sendRawTransaction", "0x02")
OWN = post("web3_clientVersion")


KNOWN = {
    "eth_blockNumber": hex(node_server.HEAD), "eth_getBlockByNumber": lambda params: head_block(),
    "eth_estimateGas": "0x5208", "eth_getTransactionCount": "0x7", "eth_chainId": "0x539", "eth_getLogs": [],
    "eth_feeHistory": None,  # not every node has it
}  # fmt: skip
honest = node_server.results(**KNOWN)


def late(handler: Handler, payload: Any) -> None:
    """The right answer after the server has given up."""
    handler.server.stopping.wait(3 * TIMEOUT)
    with suppress(OSError):
        honest(handler, payload)


def endless(handler: Handler, payload: Any) -> None:
    """An answer without end, as fast as it is read."""
    handler.send(200, b"", content_length=str(1 << 40))
    with suppress(OSError):
        while not handler.server.stopping.is_set():
            handler.wfile.write(b" " * 65_536)
    handler.close_connection = True


def redirects(handler: Handler, payload: Any) -> None:
    """To the same node, for ever: a client that follows would repeat a transaction."""
    handler.send(307, b"", location=handler.server.url + "/elsewhere")


@cache
def flood() -> bytes:
    """A hundred mebibytes of blanks, compressed."""
    return gzip.compress(b" " * (100 << 20), 1)


FAULTS: dict[str, Fault] = {
    "slow": late,
    "silent": node_server.silent,
    "dripping a byte at a time": node_server.dripping,
    "dripping the head of an answer": node_server.dripping_head,
    "whose answer never ends": endless,
    "cut off in the middle": node_server.truncated,
    "tearing connections down": node_server.reset,
    "redirecting": redirects,
    "answering with another type": node_server.results(**dict.fromkeys(KNOWN, "odd")),
    "answering with 33 MiB": lambda handler, payload: handler.send(200, b" " * (33 << 20)),
    "answering with a compressed flood": lambda handler, payload: handler.send(200, flood(), content_encoding="gzip"),
    "of another chain": node_server.results(**KNOWN | {"eth_chainId": "0x1"}),
}
#: Outcomes of what is forwarded: the node's own words may be passed on as they are.
FORWARDED_OUTCOMES = frozenset({"-32002", "-32005", "ok"})


@contextmanager
def node_on(port: int = 0) -> Iterator[NodeServer]:
    """Run a sound node."""
    with node_server.running(port) as node:
        node.always = honest
        yield node


@pytest.fixture(scope="module")
def node():
    with node_on() as node:
        yield node


@pytest.fixture(scope="module")
def fronted(node):
    """A server in front of the node."""
    flags = ("--node", node.url, "--node-timeout", f"{TIMEOUT:g}", "--poll-seconds", "0.2", "--workers", "1")
    with started(*flags) as server:
        wait_until(lambda: well(server.port), "the server has asked the node")
        yield server


async def _asked(port: int) -> tuple[Counter[str], Counter[str], float, float]:
    """Return outcomes of estimates and of what is forwarded, the longest of these, and of a call that needs no node."""
    estimates, forwarded, times = Counter[str](), Counter[str](), []

    async def ask(request: bytes, found: Counter[str]) -> None:
        outcome, took = await alone(port, request)
        found[outcome] += 1
        times.append(took)

    async def own() -> float:
        connection, longest = Connection(port), 0.0
        for _ in range(20):
            outcome, took, _ = await timed(connection, OWN)
            assert outcome == "ok"
            longest = max(longest, took)
            await asyncio.sleep(0.02)
        connection.close()
        return longest

    asked = [ask(*(ESTIMATE, estimates) if place % 2 else (FORWARDED, forwarded)) for place in range(CALLS)]
    longest_own, *_ = await asyncio.gather(own(), *asked)
    return estimates, forwarded, max(times), longest_own


def well(port: int) -> bool:
    """Return whether everything that needs the node is answered."""

    return all(run(alone(port, request))[0] == "ok" for request in (NUMBER, ESTIMATE, FORWARDED))


@pytest.mark.parametrize("name", FAULTS)
def test_a_misbehaving_node_is_an_error_in_time_and_asked_again_when_it_is_well(fronted, node, bound, name: str):
    (worker,) = workers(fronted.pid)
    before = memory(worker)
    node.always = FAULTS[name]
    if name == "of another chain":  # as if another node had taken the address
        node.hang_up()
    try:
        estimates, forwarded, longest, own = run(_asked(fronted.port))
        grown = memory(worker) - before
    finally:
        node.always = honest
    back = wait_until(lambda: well(fronted.port), "the node is asked again", patience=RETURN)
    print(f"{name}: {dict(estimates)} {dict(forwarded)}, longest {longest:.2f} s, own {own:.2f} s, back {back:.1f} s")

    assert estimates.keys() <= {"-32002", "-32005"}
    assert forwarded.keys() <= FORWARDED_OUTCOMES
    assert longest < TIMEOUT + max(SLACK, bound)
    assert own < max(QUICK, bound)
    assert grown < GROWTH
    assert [worker.pid] == [process.pid for process in workers(fronted.pid)]


@pytest.mark.parametrize(
    "fault",
    [node_server.reset, node_server.truncated, late, node_server.status(503), redirects],
    ids=["torn down", "cut off", "late", "503", "redirected"],
)
def test_a_transaction_is_never_sent_twice(fronted, node, fault: Fault):
    node.always, sent = fault, len(node.requests)
    try:
        outcome = run(alone(fronted.port, SEND))[0]
    finally:
        node.always = honest
    wait_until(lambda: well(fronted.port), "the node is asked again", patience=RETURN)

    assert outcome == "-32002"
    assert len([payload for _, _, payload in node.requests[sent:] if sending(payload)]) == 1


def sending(payload: Any) -> bool:
    """Return whether a request to the node sends a transaction."""
    calls = payload if isinstance(payload, list) else [payload]
    return any(call["method"] == "eth_sendRawTransaction" for call in calls)


def test_a_server_answers_without_its_node_and_finds_it_when_it_comes_back(bound):
    with ExitStack() as stack:
        with node_on() as node:
            port = node.server_address[1]
            flags = ("--node", node.url, "--node-timeout", f"{TIMEOUT:g}", "--poll-seconds", "0.2", "--workers", "1")
            server = stack.enter_context(started(*flags))
            wait_until(lambda: well(server.port), "the server has asked the node")
        estimates, forwarded, longest, own = run(_asked(server.port))
        with node_on(port):
            wait_until(lambda: well(server.port), "the node is asked again", patience=RETURN)
        log = server.log()

    assert estimates.keys() == forwarded.keys() == {"-32002"}
    assert longest < TIMEOUT + max(SLACK, bound)
    assert own < max(QUICK, bound)
    assert "Traceback" not in log
