"""Two nodes behind a server: which one is asked, and what a client sees while one of them fails."""

import json
import time
from contextlib import ExitStack, contextmanager

import pytest

from feemodel.rpc import upstream
from feemodel.rpc.settings import Settings
from tests import node_server
from tests.rpc_calls import TRANSFER
from tests.rpc_parts import PATIENCE, head_block, opened


def answering(node, gas="0x5208", number="0x5", chain="0x539", **others):
    known = {
        "eth_chainId": chain, "eth_estimateGas": gas, "eth_getTransactionCount": "0x0", "eth_blockNumber": number,
        "eth_getBlockByNumber": lambda params: head_block(number=number), "eth_sendRawTransaction": gas,
    }  # fmt: skip
    node.always = node_server.results(**known | others)


@contextmanager
def two(**settings):
    """Two nodes, told apart by their gas, and a server before them."""
    with ExitStack() as stack:
        nodes = [stack.enter_context(node_server.running()) for _ in range(2)]
        for node, gas in zip(nodes, ("0x5208", "0x5209"), strict=True):
            answering(node, gas)
        urls = " ".join(node.url for node in nodes)
        fixed = {"poll_seconds": 0.05, "node_timeout": 1.0}
        yield *nodes, stack.enter_context(opened(Settings(node=urls, **fixed | settings)))
        for node in nodes:
            node.stopping.set()


@pytest.fixture(autouse=True)
def stalls_change_no_node(monkeypatch):
    """A machine that does much else makes either node look slow."""
    monkeypatch.setattr(upstream, "WORTH_A_CHANGE", PATIENCE)


def gas(client):
    return client.result("eth_estimateGas", TRANSFER)


def until(client, condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        client.wait(0.02)


def seen(client, place):
    return client.http("GET", "/health").json()["nodes"][place]


def test_the_first_node_answers_while_it_is_well():
    with two(node_timeout=PATIENCE) as (_, _, client):
        assert {"0x5208"} == {gas(client) for _ in range(10)}
        assert [seen(client, place)["inUse"] for place in (0, 1)] == [True, False]


FAULTS = [
    node_server.reset, node_server.status(500), node_server.body(b"<html>"), node_server.truncated, node_server.silent,
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_no_call_is_lost_when_the_node_in_use_fails_and_it_is_used_again_later(fault):
    with two() as (first, second, client):
        first.always = fault
        for _ in range(5):
            assert gas(client) == "0x5209"
            assert client.result("rollup_estimateGas", TRANSFER)["gasLimit"] == "0x5209"
        assert client.http("GET", "/ready").status == 200
        answering(first)
        second.always = node_server.reset
        until(client, lambda: seen(client, 0)["reachable"])
        assert gas(client) == "0x5208"


def test_a_batch_is_answered_by_the_other_node_as_a_whole():
    with two() as (first, _, client):
        first.always = node_server.reset
        calls = [{"jsonrpc": "2.0", "id": place, "method": "eth_estimateGas", "params": [{}]} for place in range(5)]
        answers = client.http("POST", "/", json.dumps(calls).encode()).json()
        assert [answer["result"] for answer in answers] == ["0x5209"] * 5


def test_a_transaction_is_sent_to_one_node_where_that_may_have_taken_it():
    with two(poll_seconds=PATIENCE, node_timeout=PATIENCE) as (first, second, client):
        second.requests.clear()
        first.always = node_server.truncated
        assert client.error("eth_sendRawTransaction", "0x02")["code"] == -32002
        assert "eth_sendRawTransaction" not in second.methods


def test_a_transaction_goes_to_the_other_node_where_the_first_is_gone():
    with node_server.running() as gone:
        url = gone.url
    with node_server.running() as node:
        answering(node)
        with opened(Settings(node=f"{url} {node.url}", poll_seconds=PATIENCE, node_timeout=1.0)) as client:
            assert client.result("eth_sendRawTransaction", "0x02") == "0x5208"


def test_a_node_that_is_behind_neither_prices_nor_answers_while_another_is_not():
    with two() as (first, second, client):
        answering(second, "0x5209", number="0x20")
        until(client, lambda: gas(client) == "0x5209")
        assert (seen(client, 0)["lag"], seen(client, 1)["lag"]) == (27, 0)
        second.always = node_server.reset
        until(client, lambda: not seen(client, 1)["reachable"])
        assert gas(client) == "0x5208"  # what is passed on is the node's own word
        error = client.error("rollup_estimateGas", TRANSFER)
        assert (
            error["code"],
            error["message"],
        ) == (-32002, "the newest block: 27 blocks behind another node, more than max_lag, 3")
        assert client.http("GET", "/ready").status == 503
        answering(first, number="0x1f")
        until(client, lambda: client.http("GET", "/ready").status == 200)
        assert client.result("rollup_estimateGas", TRANSFER)["gasLimit"] == "0x5208"


def test_a_node_of_another_chain_is_not_asked():
    with two() as (first, second, client):
        answering(first, chain="0x1")
        assert {"0x5209"} == {gas(client) for _ in range(5)}
        until(client, lambda: not seen(client, 0)["reachable"])
        assert "its chain id is 1" in seen(client, 0)["error"]
        answering(second, chain="0x1")
        assert "its chain id is 1" in client.error("eth_estimateGas", TRANSFER)["message"]


def test_the_error_of_a_node_is_an_answer():
    def refusing(handler, payload):
        answers = [{"jsonrpc": "2.0", "id": call["id"], "result": "0x539"} if call["method"] == "eth_chainId" else
                   {"jsonrpc": "2.0", "id": call["id"], "error": {"code": 3, "message": "execution reverted"}}
                   for call in payload]  # fmt: skip
        handler.send(200, json.dumps(answers).encode())

    with two(poll_seconds=PATIENCE, node_timeout=PATIENCE) as (first, second, client):
        first.always = refusing
        assert client.error("eth_call", {}) == {"code": 3, "message": "execution reverted"}
        assert "eth_call" not in second.methods


def test_a_much_quicker_node_is_used(monkeypatch):
    monkeypatch.setattr(upstream, "WORTH_A_CHANGE", 0.02)

    def slow(handler, payload):
        time.sleep(0.1)
        head = head_block(number="0x5")
        answer = node_server.results(eth_chainId="0x539", eth_estimateGas="0x5208", eth_getBlockByNumber=head)
        answer(handler, payload)

    with two() as (first, _, client):
        first.always = slow
        until(client, lambda: gas(client) == "0x5209")
