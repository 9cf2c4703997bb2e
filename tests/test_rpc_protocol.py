"""Connections of the real protocol server: how many, how long they may wait for their client, what is cut off."""

import http.client
import json
import time
from contextlib import suppress

import pytest

from feemodel.rpc.http import HEAD_LIMIT
from tests.protocol_parts import (
    BODY_LIMIT,
    ECHO,
    HEAD,
    LARGE,
    LONG_WAIT,
    SHORT,
    WAITING,
    answer,
    connecting,
    post,
    result,
    serving,
    until,
    until_closed,
)
from tests.rpc_parts import PATIENCE, request


@pytest.fixture(scope="module")
def patient():
    """The port of a server that ends no connection by its age."""
    with serving() as connect:
        yield connect().getpeername()[1]


@pytest.fixture
def connect(patient):
    with connecting(patient) as connect:
        yield connect


def is_closed(connection):
    """Whether the other side closes without a word; it may do so by a reset."""
    try:
        return until_closed(connection) == b""
    except ConnectionResetError:
        return True


def is_refused(connection, data, *, times, pause=0.0):
    """Whether the other side closes while more and more is sent."""
    try:
        for _ in range(times):
            connection.sendall(data)
            time.sleep(pause)
    except (ConnectionResetError, BrokenPipeError):
        return True
    return False


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"POST / HTT", id="half a line"),
        pytest.param(b"POST / HTTP/1.1\r\n" + HEAD, id="half a head"),
        pytest.param(ECHO[:-1], id="half a body"),
    ],
)
def test_a_connection_that_waits_for_its_client_too_long_is_closed(data):
    with serving(idle_seconds=SHORT) as connect:
        assert is_closed(connect(data))


def test_a_connection_is_closed_when_it_has_been_answered_and_nothing_follows():
    with serving(idle_seconds=SHORT) as connect:
        connection = connect()
        for _ in range(3):
            connection.sendall(ECHO)
            assert result(connection) == [1]
        assert is_closed(connection)


def test_a_head_that_comes_byte_by_byte_is_not_waited_for_without_end():
    with serving(idle_seconds=SHORT) as connect:
        assert is_refused(connect(), b"a", times=1_000, pause=SHORT / 10)


@pytest.mark.parametrize("data", [LONG_WAIT, ECHO + LONG_WAIT, LONG_WAIT + LONG_WAIT], ids=["one", "second", "both"])
def test_a_request_under_way_is_answered_however_long_it_takes(data):
    """Pipelined ones too, which arrive while the one before them is under way."""
    with serving(idle_seconds=SHORT) as connect:
        connection = connect(data)
        for body in data.split(b"POST")[1:]:
            assert result(connection) == ([1] if b"echo" in body else "waited")


@pytest.mark.parametrize("requests", [1, 8])
def test_a_client_that_does_not_take_its_answer_is_cut_off(requests):
    with serving(idle_seconds=SHORT, requests=2) as connect:
        page = b"GET / HTTP/1.1\r\n" + HEAD + b"\r\n"
        stuck = [connect(page * requests + ECHO, SO_RCVBUF=4_096) for _ in range(4)]
        time.sleep(6 * SHORT)
        assert result(connect(ECHO)) == [1]
        for connection in stuck:
            with suppress(ConnectionResetError):
                assert len(until_closed(connection)) < requests * LARGE


def test_an_answer_that_is_taken_slowly_arrives_as_a_whole():
    with serving(page_size=500_000) as connect:
        connection = connect(b"GET / HTTP/1.1\r\n" + HEAD + b"\r\n", SO_RCVBUF=4_096)
        time.sleep(SHORT)
        assert answer(connection)[2] == b"x" * 500_000


@pytest.mark.parametrize(
    "begin",
    [
        pytest.param(b"POST / HTTP/1.1\r\n" + HEAD, id="header lines"),
        pytest.param(b"POST /", id="the path"),
        pytest.param(ECHO, id="behind a request"),
        pytest.param(LONG_WAIT, id="behind a request under way"),
    ],
)
def test_a_head_has_a_limit(begin):
    filling = b"a" * 1_000 if begin == b"POST /" else b"X-More: " + b"a" * 1_000 + b"\r\n"
    if begin in (ECHO, LONG_WAIT):
        filling = b"POST / HTTP/1.1\r\n" + filling
    with serving(idle_seconds=10 * PATIENCE) as connect:
        assert is_refused(connect(begin + filling), filling[-1_010:], times=HEAD_LIMIT)  # a thousand times the limit


def test_bodies_do_not_count_as_heads(connect):
    connection = connect()
    for size in (10, HEAD_LIMIT, 10, BODY_LIMIT - 1_000, 10):
        text = "a" * size
        connection.sendall(post(request("echo", text)))
        assert result(connection) == [text]


def test_one_connection_too_many_takes_the_place_of_the_one_that_waited_longest():
    with serving(connections=3) as connect:
        first, second, third = (connect(ECHO) for _ in range(3))
        for connection in (second, third, first):
            answer(connection)
        second.sendall(ECHO)  # which makes another one the oldest
        assert result(second) == [1]

        assert result(connect(ECHO)) == [1]
        until(lambda: any(is_open_no_longer(connection) for connection in (first, third)))
        assert [is_open_no_longer(connection) for connection in (first, second, third)].count(True) == 1
        assert not is_open_no_longer(second)


def test_many_more_idle_connections_than_there_is_room_for_keep_nobody_out():
    with serving(connections=50) as connect:
        idle = [connect() for _ in range(300)]
        assert [result(connect(ECHO)) for _ in range(3)] == [[1]] * 3
        assert len(idle) == 300


def is_open_no_longer(connection):
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    finally:
        connection.settimeout(PATIENCE)


def test_where_every_connection_is_under_way_one_more_is_told_so():
    with serving(connections=2) as connect:
        busy = [connect(post(request("wait", 1))) for _ in range(2)]
        until(lambda: WAITING.count(1) == 2)
        status, headers, body = answer(connect(ECHO))

        assert (status, headers[b"retry-after"], headers[b"connection"]) == (503, b"1", b"close")
        error = {"code": -32005, "message": "busy: 2 connections are open"}
        assert json.loads(body) == {"jsonrpc": "2.0", "id": None, "error": error}
        assert [result(connection) for connection in busy] == ["waited"] * 2
        assert result(connect(ECHO)) == [1]


@pytest.mark.parametrize(("connections", "requests"), [(4, 100), (100, 4)])
def test_bodies_that_do_not_come_keep_nobody_out(connections, requests):
    with serving(connections=connections, requests=requests, body_seconds=PATIENCE) as connect:
        slow = [connect(ECHO[:-1]) for _ in range(4)]
        time.sleep(SHORT)
        assert [result(connect(ECHO)) for _ in range(3)] == [[1]] * 3
        assert len(slow) == 4


def test_a_slow_body_is_told_so():
    with serving(body_seconds=SHORT) as connect:
        status, _, body = answer(connect(ECHO[:-1]))
        assert (status, b"took more than 0.2 s to arrive" in body) == (408, True)


@pytest.mark.parametrize("excess", [1, 5_000_000])
def test_a_body_too_long_is_told_so_even_to_a_client_that_sends_all_of_it(connect, excess):
    connection = connect(post(b" " * (BODY_LIMIT + excess)))
    status, headers, body = answer(connection)
    assert (status, body) == (413, b'{"error":"the request is longer than 600000 bytes"}')
    assert headers[b"connection"] == b"close"
    assert until_closed(connection) == b""


def test_a_chunked_body_is_read_and_has_the_same_limit(connect):
    body = request("echo", 1)
    head = b"POST / HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    connection = connect(head + b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n")
    assert result(connection) == [1]
    chunk = b" " * 50_000
    connection.sendall(head + (b"%x\r\n%s\r\n" % (len(chunk), chunk)) * 13 + b"0\r\n\r\n")
    assert answer(connection)[0] == 413


def test_a_client_that_waits_for_leave_to_send_gets_it(connect):
    body = request("echo", "a" * 2_000)
    head = b"POST / HTTP/1.1\r\n" + HEAD + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n"
    connection = connect(head % len(body))
    assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
    connection.sendall(body)
    assert result(connection) == ["a" * 2_000]

    assert answer(connect(head % (BODY_LIMIT + 1)))[0] == 413  # without leave


def test_head_is_answered_like_get_without_the_body(connect):
    port = connect().getpeername()[1]
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    for path, status in (("/health", 200), ("/", 200), ("/nothing", 404), ("/health", 200)):
        client.request("HEAD", path)
        answered = client.getresponse()
        assert (answered.status, answered.read()) == (status, b"")
        assert int(answered.headers["content-length"]) > 0
    client.close()


def test_a_notification_is_answered_with_neither_body_nor_length(connect):
    connection = connect(post(b'{"jsonrpc": "2.0", "method": "echo"}') + ECHO)
    status, headers, _ = answer(connection)
    assert (status, headers.keys() & {b"content-length", b"transfer-encoding"}) == (204, set())
    assert result(connection) == [1]


@pytest.mark.parametrize("version", [b"HTTP/1.0", b"HTTP/1.1"])
def test_a_client_may_ask_for_the_end_of_the_connection(connect, version):
    asked = ECHO.replace(b"HTTP/1.1", version).replace(HEAD, HEAD + b"Connection: close\r\n")
    received = until_closed(connect(asked))
    assert received.startswith(b"HTTP/1.1 200")
    assert json.loads(received.partition(b"\r\n\r\n")[2])["result"] == [1]


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # of TLS
        b"hello\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"CONNECT evil.example:443 HTTP/1.1\r\n" + HEAD + b"\r\n",
        b"POST / HTTP/1.1\r\n" + HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"POST / HTTP/1.1\r\n" + HEAD + b"Content-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\n" + HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_what_is_not_http_is_refused_and_nobody_else_minds(connect, data):
    received = until_closed(connect(data))
    assert received.startswith(b"HTTP/1.1 400") or received == b""
    assert result(connect(ECHO)) == [1]


def test_clients_that_come_and_go_leave_nothing_behind():
    """Each of them would take a place for ever if it were not counted out."""
    with serving(connections=5) as connect:
        for data in (
            b"",
            b"junk\r\n\r\n",
            ECHO,
            ECHO[:-1],
            ECHO * 3,
            LONG_WAIT,
            b"GET / HTTP/1.1\r\n" + HEAD + b"\r\n",
        ):
            for _ in range(6):
                connect(data).close()
        assert result(connect(ECHO)) == [1]
