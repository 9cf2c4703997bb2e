"""HTTP is read strictly, within limits, and as other parsers read it: a short form of `scripts/http-exchanges`."""

from collections import Counter
from random import Random

import pytest

from feemodel.rpc.http import (
    CHUNK_LINE,
    FIELD_LIMIT,
    FRAMING_LIMIT,
    HEAD_LIMIT,
    KNOWN_BYTES,
    STEPS,
    Malformed,
    Reader,
    read_head,
)
from tests.fuzz.http_exchanges import request, run

HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
BODY_LIMIT = 100_000
SHORT = 3_000  # requests


def read(data, size=0):
    """The bodies of the requests that are read, and the status of the refusal or None; in pieces of some size."""
    reader, bodies, head = Reader(BODY_LIMIT), [], None
    try:
        for start in range(0, len(data), size or len(data)):
            reader.feed(data[start : start + (size or len(data))])
            while head is not None or (head := reader.head()) is not None:
                body = reader.body()
                if body is None and not reader.has_more_chunks:
                    break
                if body is not None:
                    bodies.append(body)
                    head = None
    except Malformed as error:
        return bodies, error.status
    return bodies, None


def test_generated_exchanges_are_read_as_others_read_them_and_all_are_answered():
    counts = run(SHORT, seed=7)

    assert counts["requests"] >= SHORT
    assert all(counts[f"connections that end in '{end}'"] for end in ("waits", "closes", "refuses"))


@pytest.mark.parametrize(
    ("data", "status"),
    [
        pytest.param(HEAD + b"X: " + b"a" * (HEAD_LIMIT - len(HEAD) - 3) + b"\r\n\r\n", None, id="as long as may be"),
        pytest.param(HEAD + b"X: " + b"a" * (HEAD_LIMIT - len(HEAD) - 2) + b"\r\n\r\n", 431, id="a byte too long"),
        pytest.param(HEAD + b"X: " + b"a" * 70_000 + b"\r\nContent-Length: 1\r\n\r\na", 431, id="with its body"),
        pytest.param(HEAD + b"X: y\r\n" * (FIELD_LIMIT - 1) + b"\r\n", None, id="as many fields as may be"),
        pytest.param(HEAD + b"X: y\r\n" * FIELD_LIMIT + b"\r\n", 431, id="a field too many"),
        pytest.param(HEAD + b"X: " + b"a" * 2 * HEAD_LIMIT, 431, id="without end"),
        pytest.param(HEAD + b"X: y\r\n" * HEAD_LIMIT, 431, id="fields without end"),
        pytest.param(HEAD + b"Content-Length: 100000\r\n\r\n" + bytes(100_000), None, id="a long body"),
        pytest.param(HEAD + b"Content-Length: 100001\r\n\r\n", 413, id="a body too long"),
        pytest.param(HEAD + b"Content-Length: " + b"9" * 18 + b"\r\n\r\n", 413, id="of many digits"),
        pytest.param(CHUNKED + b"%x\r\n" % 100_001, 413, id="a chunk too long"),
        pytest.param(CHUNKED + (b"c350\r\n" + bytes(50_000) + b"\r\n") * 3, 413, id="chunks too long"),
        pytest.param(CHUNKED + b"0;" + b"a" * (CHUNK_LINE - 2) + b"\r\n\r\n", None, id="an extension"),
        pytest.param(CHUNKED + b"0;" + b"a" * (CHUNK_LINE - 1) + b"\r\n\r\n", 400, id="an extension too long"),
        pytest.param(CHUNKED + b"0" * 2 * CHUNK_LINE, 400, id="a size without end"),
        pytest.param(CHUNKED + b"0\r\n" + b"a:b\r\n" * FIELD_LIMIT + b"\r\n", None, id="trailers"),
        pytest.param(CHUNKED + b"0\r\n" + b"a:b\r\n" * (FIELD_LIMIT + 1), 400, id="a trailer too many"),
        pytest.param(CHUNKED + b"0\r\na:" + b"b" * 2 * FRAMING_LIMIT, 400, id="a trailer without end"),
        pytest.param(CHUNKED + b"1\r\na\r\n" * FRAMING_LIMIT, 400, id="chunks without end"),
    ],
)
def test_what_has_no_end_has_a_limit_however_it_comes(data, status):
    whole = read(data)

    assert status == whole[1]
    assert whole == read(data, 1_000) == read(data, 1_001)


@pytest.mark.parametrize("size", [1, 2, 7, 0])
def test_requests_come_out_one_by_one_however_they_come_in(size):
    first, last = HEAD + b"Content-Length: 3\r\n\r\nabc", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    chunks = CHUNKED + b"1;a=b\r\na\r\n" * (STEPS + 3) + b"0\r\nX: y\r\n\r\n"

    assert read(first + chunks + last + first, size) == ([b"abc", b"a" * (STEPS + 3), b"", b"abc"], None)


@pytest.mark.parametrize("head", [b"\r", b"", b"\r\nGET / HTTP/1.1\r\nHost: x", b"GET / HTTP/1.1\r\nHost: x\r"])
def test_a_head_that_was_refused_is_refused_again(head):
    for _ in range(3):
        with pytest.raises(Malformed):
            read_head(head)


def test_a_head_that_is_known_is_read_as_it_was():
    data = HEAD + b"Content-Length: 1\r\n\r\n"
    reader = Reader(BODY_LIMIT)
    reader.feed((data + b"a") * 2)
    first = reader.head()
    reader.body()
    second = reader.head()

    assert first == second == read_head(data[:-4])
    assert len(data) < KNOWN_BYTES


@pytest.mark.parametrize(
    "data", [b"\x16\x03\x01\x02\x00", b"\x00", b"\r", b"get /", b"GET / HTTP/1.1\n", HEAD + b"X\n"]
)
def test_what_is_no_request_is_refused_before_it_ends(data):
    assert read(data) == ([], 400)


def test_a_request_that_comes_alone_is_read_at_once_as_it_is_step_by_step():
    rng, counts = Random(5), Counter()
    for _ in range(SHORT):
        made = request(rng)
        for data in (made, made[:-1], made + b"G", made + request(rng)):
            reader, stepwise = Reader(BODY_LIMIT), Reader(BODY_LIMIT)
            taken = reader.whole(memoryview(data))
            counts[data == made, taken is not None] += 1
            if taken is not None:
                stepwise.feed(data)
                assert taken == (stepwise.head(), stepwise.body())
                assert not stepwise.has_unread
            assert reader.held == 0

    assert counts[True, True] > SHORT // 10
    assert counts[True, False] > SHORT // 10


def test_a_request_behind_an_unread_one_is_not_read_before_it():
    reader, data = Reader(BODY_LIMIT), HEAD + b"Content-Length: 1\r\n\r\n"
    reader.feed(data)
    assert reader.whole(memoryview(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")) is None
    assert reader.head() == read_head(data[:-4])
