"""Bytes that two programs could read as different requests are refused, and what follows them is not answered."""

import re
import socket
import time
from contextlib import suppress

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.system.client import rpc
from tests.system.start import Started

PATIENCE = 20.0  # seconds until a connection must have ended
BODY = rpc("eth_chainId")
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
LINE, HOST, TYPE = b"POST / HTTP/1.1\r\n", b"Host: localhost\r\n", b"Content-Type: application/json\r\n"
START = LINE + HOST + TYPE
CHUNKED = b"Transfer-Encoding: chunked\r\n"
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
SECOND = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + LENGTH + b"\r\n" + BODY
REFUSED = {400, 403, 404, 405, 408, 413, 414, 415, 431, 501, 505}

#: Requests that must not be answered as if they were sound.
MALFORMED = {
    "Content-Length and Transfer-Encoding": START + LENGTH + CHUNKED + b"\r\n" + CHUNKS,
    "Transfer-Encoding and Content-Length": START + CHUNKED + LENGTH + b"\r\n" + CHUNKS,
    "two different lengths": START + LENGTH + b"Content-Length: 5\r\n\r\n" + BODY,
    "two equal lengths": START + LENGTH + LENGTH + b"\r\n" + BODY,
    "a list of lengths": START + b"Content-Length: %d, %d\r\n\r\n" % (len(BODY), len(BODY)) + BODY,
    "a length with a sign": START + b"Content-Length: +%d\r\n\r\n" % len(BODY) + BODY,
    "a negative length": START + b"Content-Length: -1\r\n\r\n" + BODY,
    "a length in hexadecimal": START + b"Content-Length: 0x%x\r\n\r\n" % len(BODY) + BODY,
    "a length with an underscore": START + b"Content-Length: 1_0\r\n\r\n" + BODY,
    "a length of 400 digits": START + b"Content-Length: " + b"9" * 400 + b"\r\n\r\n" + BODY,
    "an empty length": START + b"Content-Length: \r\n\r\n" + BODY,
    "a space before the colon": START + b"Content-Length : %d\r\n\r\n" % len(BODY) + BODY,
    "a folded header": START + b"X-Folded: a\r\n b\r\n" + LENGTH + b"\r\n" + BODY,
    "a bare line feed after a header": LINE + HOST + TYPE + b"X-A: b\nX-C: d\r\n" + LENGTH + b"\r\n" + BODY,
    "bare line feeds everywhere": (START + LENGTH + b"\r\n").replace(b"\r\n", b"\n") + BODY,
    "a bare carriage return in a header": START + b"X-A: b\rc\r\n" + LENGTH + b"\r\n" + BODY,
    "NUL in a header": START + b"X-A: b\x00c\r\n" + LENGTH + b"\r\n" + BODY,
    "NUL in a name": START + b"X-\x00A: b\r\n" + LENGTH + b"\r\n" + BODY,
    "a header without a colon": START + b"Nothing\r\n" + LENGTH + b"\r\n" + BODY,
    "a header without a name": START + b": a\r\n" + LENGTH + b"\r\n" + BODY,
    "two hosts": LINE + HOST + b"Host: evil.example\r\n" + TYPE + LENGTH + b"\r\n" + BODY,
    "the same host twice": LINE + HOST + HOST + TYPE + LENGTH + b"\r\n" + BODY,
    "no host": LINE + TYPE + LENGTH + b"\r\n" + BODY,
    "NUL in the target": b"POST /\x00 HTTP/1.1\r\n" + HOST + TYPE + LENGTH + b"\r\n" + BODY,
    "a space in the target": b"POST / / HTTP/1.1\r\n" + HOST + TYPE + LENGTH + b"\r\n" + BODY,
    "an unknown transfer coding": START + b"Transfer-Encoding: identity\r\n\r\n" + BODY,
    "chunked twice": START + CHUNKED + CHUNKED + b"\r\n" + CHUNKS,
    "chunked and another coding": START + b"Transfer-Encoding: chunked, gzip\r\n\r\n" + CHUNKS,
    "a coding in odd letters": START + b"Transfer-Encoding: \x0bchunked\r\n\r\n" + CHUNKS,
    "a chunk size with a sign": START + CHUNKED + b"\r\n+%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY),
    "a chunk size of 20 digits": START + CHUNKED + b"\r\nfffffffffffffffffff0\r\n" + BODY,
    "a chunk size that is none": START + CHUNKED + b"\r\nxyz\r\n" + BODY + b"\r\n0\r\n\r\n",
    "a chunk longer than its size": START + CHUNKED + b"\r\n5\r\n" + BODY + b"\r\n0\r\n\r\n",
    "chunks with bare line feeds": START + CHUNKED + b"\r\n%x\n%s\n0\n\n" % (len(BODY), BODY),
    "TLS": bytes.fromhex("16030100c8010000c403035b") + bytes(200),
    "random bytes": bytes(range(256)) * 4 + b"\r\n\r\n",
}
#: Requests that may be answered, because the connection ends with the answer.
LAST = {
    "no version": b"POST /\r\n" + HOST + TYPE + LENGTH + b"\r\n" + BODY,
    "version 2.0": b"POST / HTTP/2.0\r\n" + HOST + TYPE + LENGTH + b"\r\n" + BODY,
    "HTTP/1.0 with chunks": b"POST / HTTP/1.0\r\n" + HOST + TYPE + CHUNKED + b"\r\n" + CHUNKS,
}
#: Requests that are refused although their framing is sound; the connection may stay open.
FOREIGN = {
    "another host": LINE + b"Host: evil.example\r\n" + TYPE + LENGTH + b"\r\n" + BODY,
    "an empty host": LINE + b"Host: \r\n" + TYPE + LENGTH + b"\r\n" + BODY,
    "a host in the target": b"POST http://evil.example/ HTTP/1.1\r\n" + HOST + TYPE + LENGTH + b"\r\n" + BODY,
}
#: Spellings of a sound request that clients and proxies send.
SOUND = {
    "a length": START + LENGTH + b"\r\n" + BODY,
    "chunks": START + CHUNKED + b"\r\n" + CHUNKS,
    "chunks with an extension and a trailer": START
    + CHUNKED
    + b"\r\n%x;a=b\r\n%s\r\n0\r\nX-T: 1\r\n\r\n" % (len(BODY), BODY),
    "names in capitals": (START + LENGTH).upper().replace(b"APPLICATION/JSON", b"application/json") + b"\r\n" + BODY,
    "no space after the colon": START + LENGTH.replace(b": ", b":") + b"\r\n" + BODY,
    "HTTP/1.0": b"POST / HTTP/1.0\r\n" + HOST + TYPE + LENGTH + b"\r\n" + BODY,
    "an expectation": START + LENGTH + b"Expect: 100-continue\r\n\r\n" + BODY,
    "the media type of JSON-RPC": LINE + HOST + b"Content-Type: application/json-rpc\r\n" + LENGTH + b"\r\n" + BODY,
    "a character set": LINE + HOST + b"Content-Type: application/json; charset=utf-8\r\n" + LENGTH + b"\r\n" + BODY,
}


def exchanged(port: int, data: bytes, *, size: int = 0, until: bytes | None = None) -> bytes:
    """Send bytes, in pieces of some size, and return everything that comes back until the connection ends."""
    received, end = b"", time.monotonic() + PATIENCE
    with socket.create_connection(("127.0.0.1", port), timeout=0.5) as connection:
        try:
            for start in range(0, len(data), size or len(data)):
                connection.sendall(data[start : start + (size or len(data))])
                if size:
                    time.sleep(0.0005)
            while time.monotonic() < end and not (until and until in received):
                try:
                    piece = connection.recv(1 << 16)
                except TimeoutError:
                    if received:
                        break
                    continue
                if not piece:
                    break
                received += piece
        except ConnectionError:
            pass
        else:
            if not received and time.monotonic() >= end:
                pytest.fail("neither a response nor the end of the connection")
    return received


def statuses(received: bytes) -> list[int]:
    """Return the status of each response."""
    return [int(found) for found in re.findall(rb"HTTP/1\.1 (\d{3})[ \r]", received) if found != b"100"]


@pytest.mark.parametrize("data", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_request_is_refused_and_what_follows_it_is_not_answered(server: Started, data: bytes):
    received = exchanged(server.port, data + SECOND)

    assert b'"result"' not in received
    assert set(statuses(received)) <= REFUSED
    assert len(statuses(received)) <= 1


@pytest.mark.parametrize("data", LAST.values(), ids=LAST.keys())
def test_nothing_is_answered_after_a_request_of_another_version(server: Started, data: bytes):
    received = exchanged(server.port, data + SECOND)

    assert len(statuses(received)) <= 1


@pytest.mark.parametrize("data", FOREIGN.values(), ids=FOREIGN.keys())
def test_a_request_for_another_host_is_refused(server: Started, data: bytes):
    received = exchanged(server.port, data)

    assert b'"result"' not in received
    assert set(statuses(received)) <= {400, 403, 404}


@pytest.mark.parametrize("size", [0, 1, 7])
@pytest.mark.parametrize("data", SOUND.values(), ids=SOUND.keys())
def test_a_sound_request_is_answered_in_every_spelling(server: Started, data: bytes, size: int):
    received = exchanged(server.port, data, size=size, until=b'"result":"0x539"')

    assert statuses(received) == [200]


@pytest.mark.parametrize("size", [0, 1, 50])
def test_pipelined_requests_are_answered_in_order(server: Started, size: int):
    bodies = [BODY.replace(b'"id":1', b'"id":%d' % number) for number in range(100, 120)]
    data = b"".join(START + b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies)
    received = exchanged(server.port, data, size=size, until=b'"id":119,"result":"0x539"}')

    assert [b'"id":%d,' % number in received for number in range(100, 120)] == [True] * 20
    places = [received.index(b'"id":%d,' % number) for number in range(100, 120)]
    assert places == sorted(places)


def test_an_idle_connection_ends(server: Started):
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(SECOND)
        began = time.monotonic()
        with suppress(ConnectionResetError):
            while connection.recv(1 << 16):
                pass
        assert time.monotonic() - began < 30


def test_no_client_can_put_a_line_into_the_log(server: Started):
    """Text that is not UTF-8 on a WebSocket, a request that is not HTTP, and an upgrade to another protocol."""
    upgrade = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n"
    with connect(f"ws://127.0.0.1:{server.port}") as websocket:
        websocket.socket.sendall(b"\x81\x81\x00\x00\x00\x00\xff")
        with pytest.raises(ConnectionClosed):
            websocket.recv(timeout=60)
    for data in (b"\x00\r\n\r\n", upgrade):
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
            connection.sendall(data)
            connection.recv(1 << 16)

    assert websocket.close_code == 1007
    assert server.log() == ""
