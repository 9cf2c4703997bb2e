"""Limits on the connections of a worker, on sockets of its own."""

import socket
import sys
import time
from contextlib import suppress
from types import SimpleNamespace

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from feemodel.server import _deadlines as deadlines
from feemodel.server._deadlines import HEAD_BYTES, HEADERS, Connections
from feemodel.server.settings import Settings
from tests.server.parts import behind, request

SOON = 30.0  # seconds, of which a busy machine takes some
HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
BEGUN = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"


SETTINGS = Settings(port=0, connections=3, websockets=1, body_seconds=3.0, write_seconds=3.0, idle_seconds=60)


@pytest.fixture(scope="module")
def server():
    """A server with room for three connections, of which one may be a WebSocket; gives its address."""
    with behind(SETTINGS) as address:
        yield address


def dial(address: str, data: bytes = b"") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=SOON)
    connection.sendall(data)
    return connection


def status(connection: socket.socket) -> str:
    """Status of the next response; "closed" where the connection ends instead."""
    with suppress(ConnectionResetError):
        return connection.recv(1 << 16)[9:12].decode() or "closed"
    return "closed"


def is_open(connection: socket.socket) -> bool:
    connection.settimeout(0.2)
    try:
        return connection.recv(1) != b""
    except TimeoutError:
        return True
    except ConnectionResetError:
        return False


@pytest.mark.parametrize(
    "data",
    [b"", b"POST /", BEGUN[:60], BEGUN, BEGUN.replace(b"Content-Length: 100\r\n\r\n{", CHUNKED)],
    ids=["nothing", "half a line", "half a head", "half a body", "no chunk"],
)
def test_a_request_that_does_not_arrive_in_time_ends_its_connection(server, data):
    with dial(server, data) as connection:
        began = time.monotonic()
        assert status(connection) == "closed"
        assert 2.5 < time.monotonic() - began < SOON


def test_a_connection_that_was_answered_may_be_idle_for_longer(server):
    with dial(server, HEALTH) as connection:
        assert status(connection) == "200"
        time.sleep(4.0)
        connection.sendall(HEALTH)
        assert status(connection) == "200"


def test_the_longest_idle_connection_makes_room_for_a_new_one(server):
    with dial(server, HEALTH) as first, dial(server, HEALTH) as second, dial(server, HEALTH) as third:
        assert [status(first), status(second), status(third)] == ["200"] * 3
        first.sendall(HEALTH)
        assert status(first) == "200"
        with dial(server, HEALTH) as fourth:
            assert status(fourth) == "200"
            assert [is_open(first), is_open(second), is_open(third)] == [True, False, True]


def test_a_connection_above_the_limit_is_refused_while_none_is_idle(server):
    asking = BEGUN[:-1].replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n")
    with dial(server, asking) as first, dial(server, asking) as second, dial(server, asking) as third:
        assert [status(first), status(second), status(third)] == ["100"] * 3  # the server waits for their bodies
        with dial(server) as fourth:
            answer = fourth.recv(1 << 16)
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"\r\nretry-after: " in answer


def test_a_second_websocket_is_refused_and_the_first_one_goes_on():
    with behind(SETTINGS) as server:  # of its own: connections of other tests may not have ended yet
        address = server.replace("http", "ws")
        with connect(address, compression=None) as first:
            with pytest.raises(InvalidStatus) as refused, connect(address):
                pass
            first.send(request("web3_clientVersion").decode())
            assert "feemodel" in str(first.recv(timeout=SOON))
    assert refused.value.response.status_code == 503


@pytest.mark.parametrize("size", [1, 2], ids=["one frame", "two frames"])
def test_a_message_that_does_not_end_ends_its_websocket(server, size):
    with connect(server.replace("http", "ws")) as one:
        one.socket.sendall(b"\x01\x81\x00\x00\x00\x00{" * (size == 2) + b"\x80\x85\x00\x00\x00\x00{")
        with pytest.raises(ConnectionClosed):
            one.recv(timeout=SOON)


@pytest.mark.parametrize("frame", [b"\x89\x80" + bytes(4), b"\x8a\x81" + bytes(5), b"\x81\x80" + bytes(4)])
def test_a_websocket_with_too_many_frames_that_are_no_requests_ends(server, frame):
    with connect(server.replace("http", "ws")) as one:
        with suppress(ConnectionError):
            for _ in range(100):
                one.socket.sendall(frame * 10)
        with suppress(ConnectionClosed):
            for _ in range(2_000):
                one.recv(timeout=SOON)
        assert one.close_code == 1006


def test_a_websocket_may_send_as_many_requests_as_it_likes(server):
    with connect(server.replace("http", "ws")) as one:
        for number in range(1_000):
            one.send(request("eth_chainId", id=number).decode())
        answers = [str(one.recv(timeout=SOON)) for _ in range(1_000)]
    assert ['"result":"0x539"' in answer for answer in answers] == [True] * 1_000


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * (HEAD_BYTES + 2_000), "431"),
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + b"X: 1\r\n" * HEADERS + b"\r\n", "400"),
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + b"X: 1\r\n" * (HEADERS - 1) + b"\r\n", "200"),
    ],
    ids=["bytes", "one header too many", "as many headers as may be"],
)
def test_a_head_has_a_limit(server, data, expected):
    with dial(server, data) as connection:
        assert status(connection) == expected


def test_an_answer_arrives_in_one_packet_with_its_head(server):
    with dial(server, HEALTH) as connection:
        answer = b""
        while not answer.endswith(b'{"status":"ok"}'):
            answer += connection.recv(1 << 16)
        received = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 160)[152:156]  # tcpi_data_segs_in
    assert int.from_bytes(received, sys.byteorder) == 1


def test_an_answer_without_a_body_arrives(server):
    with dial(server, HEALTH.replace(b"GET", b"HEAD")) as connection:
        assert connection.recv(1 << 16).endswith(b"\r\n\r\n")
        connection.sendall(HEALTH)
        assert status(connection) == "200"


def test_answers_that_are_not_read_are_limited_for_all_connections_together(monkeypatch):
    monkeypatch.setattr(deadlines, "UNSENT", 100)
    closed: list[int] = []
    connections = Connections(Settings())
    for number, since in enumerate([3.0, 1.0, None, 2.0, 4.0]):
        transport = SimpleNamespace(get_write_buffer_size=lambda: 60, abort=lambda number=number: closed.append(number))
        connections.open[number] = SimpleNamespace(unread_since=since, transport=transport)

    connections.limit_unsent()

    assert closed == [1, 3, 0]  # the longest unread first, until the newest alone is left
