"""Methods that the server does not have are the node's: forwarded with limits."""

import pytest

from feemodel.server.settings import Settings
from tests.helpers import node_server
from tests.server.parts import PATIENCE, head_block, opened

KNOWN = {"eth_chainId": "0x539", "eth_getBlockByNumber": head_block()}
RAW = "0x02f8"


@pytest.fixture
def node():
    with node_server.running() as node:
        node.always = node_server.results(**KNOWN, eth_getLogs=[{"data": "0x"}], linea_getProof={"accountProof": {}})
        yield node


@pytest.fixture
def client(node):
    with opened(Settings(node=node.url, poll_seconds=PATIENCE, node_timeout=2.0, node_bytes=10_000)) as client:
        yield client


def sent(node, method):
    """How many requests have called a method."""
    return sum(method in str(request) for request in node.requests)


def test_the_nodes_answer_is_the_servers(client):
    assert client.result("eth_getLogs", {}) == [{"data": "0x"}]
    assert client.result("linea_getProof", "0x", [], "latest") == {"accountProof": {}}


def test_the_nodes_error_is_the_servers(node, client):
    node.always = node_server.rpc_error(-32000, "nonce too low")
    assert client.error("eth_sendRawTransaction", RAW) == {"code": -32000, "message": "nonce too low"}


@pytest.mark.parametrize(
    "method", ["debug_traceCall", "admin_peers", "personal_sign", "eth_sign", "eth_sendTransaction"]
)
def test_what_operates_a_node_or_signs_for_it_is_not_forwarded(node, client, method):
    assert client.error(method)["code"] == -32601
    assert sent(node, method) == 0


def test_an_answer_that_is_too_long_is_not_read(node, client):
    node.always = node_server.results(**KNOWN, eth_getLogs=["0x" + "00" * 10_000])
    error = client.error("eth_getLogs", {})
    assert error == {"code": -32002, "message": "the node: the answer is longer than 10,000 bytes"}


def test_subscriptions_say_where_they_are(client):
    assert "WebSocket" in client.error("eth_subscribe", "newHeads")["message"]
