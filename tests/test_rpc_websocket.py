"""WebSockets: the same methods, limits and keys as over HTTP, and subscriptions."""

import json
import socket
import time
from contextlib import ExitStack, contextmanager

import pytest
from websockets.client import ClientProtocol
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.sync.client import connect
from websockets.uri import parse_uri

from feemodel.rpc.app import Access, App
from feemodel.rpc.feeds import LogFilter
from feemodel.rpc.keys import Key, Keys
from feemodel.rpc.protocol import Bounds
from feemodel.rpc.service import Service
from feemodel.rpc.settings import Settings
from tests import node_server
from tests.rpc_calls import TRANSFER
from tests.rpc_parts import PATIENCE, head_block, listening, request


@contextmanager
def served(settings=None, bounds=None, **access):
    """The port of a server of these settings."""
    apps = []

    def made():
        service = Service(settings or Settings(), None)
        apps.append(App(service.methods, state=service, feeds=service.feeds, access=Access(**access)))
        return apps[0]

    with listening(made, factory=True, bounds=bounds) as port:
        yield port


def opened(port, path="/", **options):
    return connect(f"ws://127.0.0.1:{port}{path}", open_timeout=PATIENCE, compression=None, **options)


def asked(client, method, *params):
    client.send(request(method, *params).decode())
    return json.loads(client.recv(timeout=PATIENCE))


@contextmanager
def chain():
    """A node whose newest block is what a test says, as number and prices."""
    with node_server.running() as node:
        node.number = 5

        def head(params):
            number = node.number if params[0] == "latest" else int(params[0], 16)
            fields = {"number": hex(number), "hash": f"0x{number:064x}", "transactions": ["0x1"]}
            return head_block(baseFeePerGas=hex(number), **fields)

        log = {"address": "0x" + "aB" * 20, "topics": ["0x" + "11" * 32], "data": "0x"}
        node.always = node_server.results(
            eth_chainId="0x539", eth_getBlockByNumber=head, eth_getLogs=[log], eth_blockNumber="0x5"
        )
        yield node


def test_a_websocket_answers_what_http_answers():
    with served() as port, opened(port) as client:
        assert asked(client, "eth_chainId")["result"] == "0x539"
        assert asked(client, "rollup_estimateGas", TRANSFER)["result"]["gasLimit"] == "0x5208"
        assert asked(client, "eth_nothing")["error"]["code"] == -32601
        client.send(b"\x00")  # a binary message is read too
        assert json.loads(client.recv(timeout=PATIENCE))["error"]["code"] == -32700
        client.send(json.dumps([json.loads(request("eth_chainId"))] * 3))
        assert [answer["result"] for answer in json.loads(client.recv(timeout=PATIENCE))] == ["0x539"] * 3
        client.send([request("eth_ch").decode()[:10], request("eth_chainId").decode()[10:]])  # in fragments
        assert json.loads(client.recv(timeout=PATIENCE))["result"] == "0x539"


def test_new_heads_are_told_one_by_one_until_the_subscription_ends():
    settings = {"poll_seconds": PATIENCE, "watch_seconds": 0.01}
    with chain() as node, served(Settings(node=node.url, **settings)) as port, opened(port) as client:
        identity = asked(client, "eth_subscribe", "newHeads")["result"]
        time.sleep(0.1)
        node.number = 8
        told = [json.loads(client.recv(timeout=PATIENCE)) for _ in range(3)]
        assert [message["method"] for message in told] == ["eth_subscription"] * 3
        assert [identity] * 3 == [message["params"]["subscription"] for message in told]
        assert [message["params"]["result"]["number"] for message in told] == ["0x6", "0x7", "0x8"]
        assert "transactions" not in told[0]["params"]["result"]
        assert asked(client, "eth_unsubscribe", identity)["result"] is True
        assert asked(client, "eth_unsubscribe", identity)["result"] is False
        node.number = 9
        with pytest.raises(TimeoutError):
            client.recv(timeout=0.2)


def test_logs_are_told_by_address_and_topics():
    settings = {"poll_seconds": PATIENCE, "watch_seconds": 0.01}
    with chain() as node, served(Settings(node=node.url, **settings)) as port, opened(port) as client:
        asked(client, "eth_subscribe", "logs", {"address": "0x" + "cd" * 20})
        wanted = asked(client, "eth_subscribe", "logs", {"address": "0x" + "ab" * 20, "topics": ["0x" + "11" * 32]})
        time.sleep(0.1)
        node.number = 6
        told = json.loads(client.recv(timeout=PATIENCE))
        assert wanted["result"] == told["params"]["subscription"]


def test_prices_are_told_when_they_change():
    settings = {"poll_seconds": 0.05, "watch_seconds": 0.01}
    with chain() as node, served(Settings(node=node.url, **settings)) as port, opened(port) as client:
        asked(client, "eth_subscribe", "feemodel_pricing")
        time.sleep(0.1)
        node.number = 10**9
        told = json.loads(client.recv(timeout=PATIENCE))["params"]["result"]
        assert (told["source"], int(told["baseFee"], 16)) == ("configured", 875_000_000)


@pytest.mark.parametrize(
    "params",
    [["newPendingTransactions"], [5], [None], ["newHeads", {}], ["logs", 5], ["logs", {"topics": 5}],
     ["logs", {"address": [5]}], []],
)  # fmt: skip
def test_what_cannot_be_subscribed_to_is_refused(params):
    with served() as port, opened(port) as client:
        assert asked(client, "eth_subscribe", *params)["error"]["code"] == -32602


def test_a_connection_has_so_many_subscriptions():
    with served() as port, opened(port) as client:
        codes = [asked(client, "eth_subscribe", "newHeads").get("error", {}).get("code") for _ in range(65)]
        assert codes == [None] * 64 + [-32005]


def test_a_page_elsewhere_opens_none():
    with served(cors_origins=("https://app.example",)) as port:
        with pytest.raises(InvalidStatus, match="403"):
            opened(port, origin="https://evil.example")
        for origin in ("https://app.example", f"http://127.0.0.1:{port}"):
            with opened(port, origin=origin) as client:
                assert "result" in asked(client, "eth_chainId")


def test_a_key_opens_one_and_its_limits_hold():
    keys = Keys.of({"s3cret": Key(name="a", methods=("eth_*",), requests_per_second=2.0)})
    with served(keys=keys) as port:
        with pytest.raises(InvalidStatus, match="401"):
            opened(port)
        with opened(port, path="/v3/s3cret") as client:
            assert asked(client, "feemodel_pricing")["error"]["code"] == -32601
            codes = [asked(client, "eth_chainId").get("error", {}).get("code") for _ in range(3)]
            assert codes == [None, None, -32005]
        with opened(port, additional_headers={"x-api-key": "s3cret"}) as client:
            assert "jsonrpc" in asked(client, "eth_chainId")


@pytest.mark.parametrize("path", ["/metrics", "/nothing", "/v3/"])
def test_other_paths_have_none(path):
    with served() as port, pytest.raises(InvalidStatus, match="426"):
        opened(port, path=path)


def test_a_message_that_is_too_long_ends_the_connection():
    with served(bounds=Bounds(body_limit=1_000)) as port, opened(port) as client:
        client.send("x" * 1_001)
        with pytest.raises(ConnectionClosed) as closed:
            client.recv(timeout=PATIENCE)
        assert closed.value.rcvd.code == 1009


def test_some_connections_are_left_for_requests():
    with served(bounds=Bounds(connections=20)) as port, ExitStack() as sockets:
        for _ in range(19):
            sockets.enter_context(opened(port))
        with pytest.raises(InvalidStatus, match="503"):
            sockets.enter_context(opened(port))


def test_a_client_that_takes_nothing_is_disconnected_and_others_are_answered():
    frame = Frame(Opcode.TEXT, request("feemodel_presets")).serialize(mask=True)
    with served() as port, opened(port) as other:
        protocol = ClientProtocol(parse_uri(f"ws://127.0.0.1:{port}/"))
        protocol.send_request(protocol.connect())
        with socket.create_connection(("127.0.0.1", port)) as greedy:
            greedy.settimeout(PATIENCE)
            greedy.sendall(b"".join(protocol.data_to_send()))
            with pytest.raises(ConnectionError):
                send_for_ever(greedy, frame)
        assert asked(other, "eth_chainId")["result"] == "0x539"


def send_for_ever(connection, data):
    """Send until the other side hangs up."""
    while True:
        connection.sendall(data)


def test_a_filter_is_that_of_eth_get_logs():
    log = {"address": "0xAb", "topics": ["0x1", "0x2"]}
    for wanted, expected in [
        (None, True), ({}, True), ({"address": ["0xcd", "0xaB"]}, True), ({"address": "0xcd"}, False),
        ({"topics": ["0x1"]}, True), ({"topics": [None, ["0x3", "0x2"]]}, True), ({"topics": ["0x2"]}, False),
        ({"topics": [None, None, None]}, False),
    ]:  # fmt: skip
        assert expected is LogFilter(wanted).matches(log), wanted
