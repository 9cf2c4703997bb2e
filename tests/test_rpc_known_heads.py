"""Requests whose head was seen before on their connection: answered without reading it again, and not otherwise."""

import json
import time
from contextlib import ExitStack

import pytest

from feemodel.rpc import protocol
from feemodel.rpc.app import App
from tests.protocol_parts import (
    ECHO,
    LONG_WAIT,
    METHODS,
    SHORT,
    answer,
    connecting,
    post,
    result,
    serving,
    until,
    until_closed,
)
from tests.rpc_parts import listening, request


@pytest.fixture
def direct(monkeypatch):
    """The bodies that came to the application without ASGI, because their heads were known."""
    bodies, call = [], App.call

    async def noted(self, body):
        bodies.append(body)
        return await call(self, body)

    monkeypatch.setattr(App, "call", noted)
    return bodies


def test_a_known_head_is_answered_like_an_unknown_one(direct):
    with serving() as connect:
        connection = connect(ECHO)
        first = answer(connection)
        connection.sendall(ECHO)
        second = answer(connection)
        assert {**second[1], b"date": b""} == {**first[1], b"date": b""}
        assert (second[0], second[2]) == (first[0], first[2])
        third = post(request("echo", 2))  # the same head, another body
        connection.sendall(third)
        assert result(connection) == [2]
    assert direct == [data.partition(b"\r\n\r\n")[2] for data in (ECHO, third)]


@pytest.mark.parametrize(
    "more",
    [
        pytest.param([ECHO[:40], ECHO[40:]], id="the head in parts"),
        pytest.param([ECHO[:-5], ECHO[-5:]], id="the body in parts"),
        pytest.param([ECHO + ECHO[:-5], ECHO[-5:]], id="one and a half"),
        pytest.param([ECHO * 3], id="several at once"),
        pytest.param([b"\r\n" + ECHO], id="an empty line before"),
    ],
)
def test_what_begins_with_a_known_head_need_not_be_one_request(more):
    with serving() as connect:
        connection = connect(ECHO)
        assert result(connection) == [1]
        for data in more:
            connection.sendall(data)
            time.sleep(0.05)
        for _ in range(b"".join(more).count(b"POST")):
            assert result(connection) == [1]


def test_requests_behind_one_with_a_known_head_wait_their_turn(direct):
    with serving() as connect:
        connection = connect(LONG_WAIT + ECHO)
        assert [result(connection), result(connection)] == ["waited", [1]]
        connection.sendall(LONG_WAIT)
        until(lambda: len(direct) == 1)
        for body in (2, 3):
            connection.sendall(post(request("echo", body)))
            time.sleep(0.01)
        assert [result(connection) for _ in range(3)] == ["waited", [2], [3]]
        for _ in range(2):  # the first of which is read
            connection.sendall(ECHO)
            assert result(connection) == [1]
    assert len(direct) == 2


def test_a_client_that_goes_away_from_a_request_with_a_known_head_takes_nobody_with_it(direct):
    with serving(connections=3) as connect:
        connection = connect(LONG_WAIT)
        assert result(connection) == "waited"
        for _ in range(6):
            gone = connect(LONG_WAIT)
            gone.close()
        time.sleep(5 * SHORT)
        connection = connect(ECHO)
        assert result(connection) == [1]
    assert direct


@pytest.mark.parametrize(
    ("more", "status"),
    [
        (b"Origin: https://page.example\r\n", 200),
        (b"Connection: close\r\n", 200),
        (b"Content-Encoding: identity\r\n", 200),
        (b"Content-Encoding: gzip\r\n", 415),
        (b"Content-Type: text/plain\r\n", 415),
        (b"Expect: nothing\r\n", 200),
        (b"X-Long: " + b"x" * 1_024 + b"\r\n", 200),
    ],
)
def test_a_head_that_asks_for_more_is_read_every_time(direct, more, status):
    asked = post(request("echo", 1), more)
    with serving(cors_origins=("https://page.example",)) as connect:
        received = [answer(connect(asked)) for _ in range(3)]
    assert [got[0] for got in received] == [status] * 3
    assert [got[1].get(b"access-control-allow-origin") for got in received] == [
        b"https://page.example" if b"Origin" in more else None
    ] * 3
    assert direct == []


def test_a_host_and_a_key_are_asked_for_every_time(direct):
    asked = [ECHO.replace(b"POST /", b"POST /v3/" + key) for key in (b"secret", b"wrong")]
    asked.append(asked[0].replace(b"localhost", b"evil.example"))
    with serving(api_key="secret") as connect:
        statuses = [[answer(connect(data))[0] for data in asked] for _ in range(3)]
    assert statuses == [[200, 401, 403]] * 3
    assert len(direct) == 2


def test_so_many_heads_are_known_at_a_time(direct, monkeypatch):
    monkeypatch.setattr(protocol, "KNOWN_HEADS", 3)
    with serving() as connect:
        connection = connect()
        for length in [1, 10, 100, 1_000, 1, 1]:
            connection.sendall(post(request("echo", "x" * length)))
            assert result(connection) == ["x" * length]
    assert len(direct) == 1  # the first was forgotten for the fourth


def test_more_requests_with_a_known_head_than_may_be_under_way_are_told_to_come_back(direct):
    longer = post(request("wait", 2.5))  # which is a body as long
    with serving(requests=2) as connect:
        assert result(connect(LONG_WAIT)) == "waited"
        first, second = connect(longer), connect(longer)
        until(lambda: len(direct) == 2)
        status, headers, body = answer(connect(LONG_WAIT))
        assert (status, headers[b"retry-after"], json.loads(body)["error"]["code"]) == (503, b"1", -32005)
        assert [result(first), result(second)] == ["waited", "waited"]


def test_a_server_that_ends_answers_what_is_under_way_with_a_known_head(direct):
    with ExitStack() as server, ExitStack() as client:
        connect = client.enter_context(connecting(server.enter_context(listening(App(METHODS)))))
        connection = connect(LONG_WAIT)
        assert result(connection) == "waited"
        connection.sendall(LONG_WAIT)
        until(lambda: len(direct) == 1)
        server.close()
        status, headers, _ = answer(connection)
        assert (status, headers[b"connection"]) == (200, b"close")
        assert until_closed(connection) == b""
