"""The client of upstream nodes against a server that misbehaves."""

import gc
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from feemodel.errors import InvalidInput, UpstreamError
from feemodel.io import node as node_module
from feemodel.io.node import Node, NodeError
from tests.helpers import node_server
from tests.helpers.node_server import NodeServer, answered, edited, rpc_error, status

DOWN = "http://127.0.0.1:9"  # the discard port, where nobody listens


@pytest.fixture
def server() -> Iterator[NodeServer]:
    with node_server.running() as running:
        yield running


@pytest.fixture
def node(server: NodeServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    monkeypatch.setattr(node_module, "MAX_RESPONSE", 100_000)
    with Node(server.url, timeout=0.3, retries=2, backoff=0.01) as node:
        yield node


def test_request_is_json_rpc(node: Node, server: NodeServer) -> None:
    node.call("echo", [1])
    [(_, headers, request)] = server.requests
    assert request == {"jsonrpc": "2.0", "id": 1, "method": "echo", "params": [1]}
    assert headers["content-type"] == "application/json"


def test_batch_is_in_the_order_of_the_calls_whatever_that_of_the_answers(node: Node, server: NodeServer) -> None:
    assert node.batch([("echo", [number]) for number in range(5)]) == [[0], [1], [2], [3], [4]]
    assert len(server.requests) == 1


def test_empty_batch_asks_nothing(node: Node, server: NodeServer) -> None:
    assert node.batch([]) == []
    assert server.requests == []


def test_connection_is_used_again(node: Node, server: NodeServer) -> None:
    clients = set()
    server.always = lambda handler, payload: (
        clients.add(handler.client_address),
        node_server.answered(handler, payload),
    )[1]
    for _ in range(5):
        node.call("echo")
    assert len(clients) == 1


def test_error_of_the_node_passes_with_code_message_and_data(node: Node, server: NodeServer) -> None:
    with pytest.raises(NodeError, match=r"eth_call: execution reverted: no \(code 3\)") as caught:
        node.call("eth_call", [{}])
    error = caught.value
    assert (error.method, error.code, error.message, error.data) == (
        "eth_call",
        3,
        "execution reverted: no",
        "0x08c379a0",
    )
    assert isinstance(error, UpstreamError)
    assert len(server.requests) == 1


def test_error_within_a_batch_is_raised(node: Node) -> None:
    with pytest.raises(NodeError, match="the method nonsense does not exist") as caught:
        node.batch([("echo", [1]), ("nonsense", [])])
    assert (caught.value.method, caught.value.code, caught.value.data) == ("nonsense", -32601, None)


@pytest.mark.parametrize(
    "fault",
    [
        status(429),
        status(502),
        status(503),
        status(504),
        rpc_error(-32005, "limit exceeded"),
        rpc_error(429, "too many requests"),
        node_server.reset,
        node_server.truncated,
        node_server.silent,
    ],
    ids=["429", "502", "503", "504", "-32005", "code-429", "reset", "truncated", "silent"],
)
@pytest.mark.parametrize("batch", [False, True])
def test_what_may_pass_is_tried_again(node: Node, server: NodeServer, fault: Any, batch: bool) -> None:
    server.faults.extend([fault, fault])
    assert (node.batch([("echo", [1])]) if batch else [node.call("echo", [1])]) == [[1]]
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (status(503), "HTTP 503 Service Unavailable"),
        (status(429, b'{"error": {"code": -32000, "message": "slow down"}}'), r"echo: slow down \(code -32000\)"),
        (rpc_error(-32005, "limit exceeded"), r"echo: limit exceeded \(code -32005\)"),
        (node_server.truncated, "the connection broke before the answer was whole"),
        (node_server.silent, r"no answer in 0\.3 s"),
    ],
)
def test_retries_are_bounded(node: Node, server: NodeServer, fault: Any, message: str) -> None:
    server.always = fault
    with pytest.raises(UpstreamError, match=message):
        node.call("echo")
    assert len(server.requests) == 3


def test_node_that_is_not_there_is_a_clear_error() -> None:
    with (
        Node(DOWN, retries=1, backoff=0.01) as node,
        pytest.raises(UpstreamError, match=r"http://127\.0\.0\.1:9: no connection \(.*refused"),
    ):
        node.call("eth_blockNumber")


def test_server_without_tls_at_a_secure_address_is_a_clear_error(server: NodeServer) -> None:
    with (
        Node(server.url.replace("http:", "https:"), retries=2, timeout=2.0) as node,
        pytest.raises(UpstreamError, match="no secure connection"),
    ):
        node.call("eth_blockNumber")


def test_method_that_changes_something_is_not_sent_twice(node: Node, server: NodeServer) -> None:
    for fault in (status(503), node_server.reset, node_server.silent):
        server.faults.append(fault)
        before = len(server.requests)
        with pytest.raises(UpstreamError):
            node.call("eth_sendRawTransaction", ["0x"])
        assert len(server.requests) == before + 1


def test_pause_that_the_node_asks_for_is_kept(node: Node, server: NodeServer) -> None:
    server.faults.append(status(429, retry_after="1"))
    started = time.monotonic()
    node.call("echo")
    assert time.monotonic() - started >= 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda reply: {**reply, "id": reply["id"] + 1}, "not a JSON-RPC response to the request"),
        (lambda reply: {"id": reply["id"]}, "neither result nor error"),
        (lambda reply: [reply], "not a JSON-RPC response"),
        (lambda reply: {**reply, "error": {"message": "no"}}, "an error without a code"),
        (lambda reply: 5, r"not JSON-RPC \(1 bytes"),
        (lambda reply: {"id": reply["id"], "error": {"code": 1, "message": "half \ud800"}}, "not JSON-RPC"),
    ],
)
def test_wrong_answer_is_an_error(node: Node, server: NodeServer, change: Any, message: str) -> None:
    server.always = edited(change)
    with pytest.raises(UpstreamError, match=message):
        node.call("echo")
    assert len(server.requests) == 1


REFUSAL = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "no batches"}}
REFUSALS = {
    "an error": lambda handler: handler.send(200, json.dumps(REFUSAL).encode()),
    "a list of one error": lambda handler: handler.send(200, json.dumps([REFUSAL]).encode()),
    "an object": lambda handler: handler.send(200, b"{}"),
    "a web page": lambda handler: handler.send(200, b"<html>no</html>"),
    "status 400": lambda handler: handler.send(400, b"no"),
    "status 413": lambda handler: handler.send(413, json.dumps(REFUSAL).encode()),
    "status 501": lambda handler: handler.send(501, b""),
}


def without_batches(refuse: Any) -> Any:
    """A node that refuses batches in one way, and answers single calls."""
    return lambda handler, payload: refuse(handler) if isinstance(payload, list) else answered(handler, payload)


@pytest.mark.parametrize("name", REFUSALS)
def test_a_node_without_batches_is_asked_one_by_one(node: Node, server: NodeServer, name: str) -> None:
    server.always = without_batches(REFUSALS[name])
    assert node.batch([("echo", [1]), ("echo", [2])]) == [[1], [2]]
    assert node.batch([("echo", [3])]) == [[3]]
    assert server.methods == ["echo"] * 5, "a batch of two, its two calls, and the next batch's call without the batch"


def test_the_error_of_a_call_is_its_own_where_batches_are_refused(node: Node, server: NodeServer) -> None:
    server.always = without_batches(REFUSALS["an error"])
    with pytest.raises(NodeError, match="eth_call: execution reverted: no") as refused:
        node.batch([("echo", [1]), ("eth_call", [])])
    assert refused.value.code == 3


def test_calls_that_change_something_are_not_in_a_batch_and_sent_once(node: Node, server: NodeServer) -> None:
    server.always = rpc_error(-32005, "limit exceeded")
    with pytest.raises(NodeError, match="limit exceeded"):
        node.batch([("eth_sendRawTransaction", ["0x"])])
    assert server.methods == ["eth_sendRawTransaction"]


def test_the_address_is_taken_out_of_a_nodes_own_words(node: Node, server: NodeServer) -> None:
    words = f"no route from {node.name}/key, 127.0.0.1 or {node.name[7:]}; 1127.0.0.1 is another"
    server.always = edited(lambda reply: {"id": reply["id"], "error": {"code": 1, "message": words}})
    with pytest.raises(NodeError) as refused:
        node.call("echo")
    assert refused.value.message == "no route from the node, the node or the node; 1127.0.0.1 is another"


@pytest.mark.parametrize("host", ["secret-host.invalid", "secret-host"])
def test_a_name_that_is_not_known_is_in_no_message_but_before_the_colon(host: str) -> None:
    with Node(f"http://{host}:1/key", retries=0) as unknown, pytest.raises(UpstreamError) as refused:
        unknown.call("echo")
    assert f"http://{host}:1: no connection (its name is not known)" == str(refused.value)


@pytest.mark.parametrize(
    "data",
    [b"", b"<html>", b'{"jsonrpc": "2.0"', b"\xff\xfe", b"[" * 90_000, b'{"id": ' + b"9" * 9_000 + b"}"],
    ids=["empty", "html", "cut", "not UTF-8", "nested", "digits"],
)
def test_answer_that_is_not_json_is_an_error(node: Node, server: NodeServer, data: bytes) -> None:
    server.always = status(200, data, content_type="text/html")
    with pytest.raises(UpstreamError, match=rf"not JSON-RPC \({len(data):,} bytes, text/html\)"):
        node.call("echo")
    server.always = status(200, b'{"id": 1, "result": 1e999}')
    with pytest.raises(UpstreamError, match=r"echo: the result cannot be read \(Number out of range\)"):
        node.call("echo")


@pytest.mark.parametrize("fault", [node_server.answered, node_server.zipped], ids=["plain", "zipped"])
def test_answer_above_the_limit_is_refused(node: Node, server: NodeServer, fault: Any) -> None:
    server.always = fault
    with pytest.raises(UpstreamError, match="longer than 100,000 bytes"):
        node.call("echo", ["x" * 100_000])
    assert node.call("echo", ["x" * 90_000]) == ["x" * 90_000]


@pytest.mark.parametrize("code", [301, 400, 401, 403, 404, 500])
def test_other_statuses_are_errors_at_once(node: Node, server: NodeServer, code: int) -> None:
    server.always = status(code, location="http://127.0.0.1:9/elsewhere")
    with pytest.raises(UpstreamError, match=f"HTTP {code}"):
        node.call("echo")
    assert len(server.requests) == 1


def test_error_status_with_a_json_rpc_error_passes_that(node: Node, server: NodeServer) -> None:
    server.always = status(400, b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "bad"}}')
    with pytest.raises(NodeError, match=r"bad \(code -32600\)"):
        node.call("echo")


@pytest.mark.parametrize(
    "said",
    ["cannot reach {url}", "POST {url}: 403", "no such key: 0f1e2d3c4b5a6978", "see http://{rest}",
     "user anna with hunter2-hunter2 is not known", "authorization: Basic YW5uYTpodW50ZXIyLWh1bnRlcjI=",
     "/v3/0f1e2d3c4b5a6978?token=s3cret%2Fs3cret", "token s3cret/s3cret"],
)  # fmt: skip
def test_no_secret_of_the_address_is_in_an_error_of_the_node(server: NodeServer, said: str) -> None:
    rest = server.url.removeprefix("http://") + "/v3/0f1e2d3c4b5a6978?token=s3cret%2Fs3cret"
    url = f"http://anna:hunter2-hunter2@{rest}"
    text = said.format(url=url, rest=rest)
    server.always = edited(
        lambda _: {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": text, "data": [text]}}
    )
    server.faults.append(lambda handler, _: handler.send_error(401, text))
    server.faults.append(status(200, **{"content-type": text}))
    shown = ""
    with Node(url, retries=0) as node:
        for _ in range(3):
            with pytest.raises(UpstreamError) as caught:
                node.call("echo")
            shown += f"{caught.value} {caught.value.args}"

    assert "HTTP 401" in shown
    assert "is not JSON-RPC" in shown
    secrets = ("hunter2", "0f1e2d", "s3cret", "YW5uYTpodW50ZXIyLWh1bnRlcjI", server.url.rpartition(":")[2] + "/")
    assert not [secret for secret in secrets if secret in shown]


def test_address_keeps_its_secrets_to_itself(server: NodeServer) -> None:
    """The node gets user, password, path and query; no error and no representation shows them."""
    url = server.url.replace("http://", "http://anna:PASSWORD@") + "/v3/KEY?token=TOKEN"
    shown = []
    faults: list[Any] = [status(500), status(503), node_server.reset, node_server.silent, status(200, b"x")]
    faults += [edited(lambda reply: {**reply, "id": 0}), None]
    with Node(url, timeout=0.2, retries=0) as node:
        shown.append(repr(node))
        for fault in faults:
            server.faults.append(fault)
            with pytest.raises(UpstreamError) as caught:
                node.call("eth_call")
            shown += [str(caught.value), repr(caught.value), str(caught.value.__cause__), str(caught.value.args)]
    path, headers, _ = server.requests[0]
    assert path == "/v3/KEY?token=TOKEN"
    assert headers["authorization"].startswith("Basic ")
    assert not [text for text in shown for secret in ("anna", "PASSWORD", "KEY", "TOKEN") if secret in text]
    assert repr(node) == f"Node('{server.url}')"


@pytest.mark.parametrize("url", ["", "ws://host/KEY", "http://[::1/KEY", "https:///KEY", None])
def test_address_of_another_form_is_refused_without_its_secrets(url: Any) -> None:
    with pytest.raises(InvalidInput, match="expected an address such as https://host:port/path") as caught:
        Node(url)
    assert "KEY" not in str(caught.value)


@pytest.mark.parametrize(
    "limits", [{"timeout": 0}, {"timeout": float("nan")}, {"retries": -1}, {"retries": 1.5}, {"backoff": -1}]
)
def test_senseless_limits_are_refused(limits: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(limits))):
        Node("http://127.0.0.1:8545", **limits)


def test_a_closed_client_says_so(server: NodeServer) -> None:
    for used in (False, True):
        node = Node(server.url)
        if used:
            node.call("echo")
        node.close()
        node.close()
        with pytest.raises(UpstreamError, match="the client is closed"):
            node.call("echo")


def test_a_program_that_closes_no_client_ends_without_a_word(server: NodeServer) -> None:
    program = f"from feemodel.io import Node; node = Node({server.url!r}); print(node.call('echo', [1]))"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert (ended.stdout, ended.stderr) == ("[1]\n", "")


def test_a_client_that_nobody_has_any_more_closes_its_connections(server: NodeServer) -> None:
    before = threading.active_count()
    node = Node(server.url)
    node.call("echo")
    del node
    gc.collect()
    ends = time.monotonic() + 5
    while threading.active_count() > before + 1 and time.monotonic() < ends:  # the loop of all clients
        time.sleep(0.01)
    assert threading.active_count() <= before + 1
