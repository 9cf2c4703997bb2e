"""Generated HTTP/1.1 connections, read by this package's reader and by two others: h11, and llhttp of Node.js.

    python -m tests.fuzz.http_exchanges [--count 1000000] [--seed 1]

A connection is a few requests one behind the other, some with a defect, cut into pieces anywhere. The rule:

- Every request that ours reads, h11 reads with the same method, target, header fields and body, in the same order;
  llhttp does too, or refuses. Ours may refuse what they read, and then answers 400, 413 or 431 and reads nothing more.
- Where ours waits for more, no other has read a further request.
- Requests without a defect are all read, up to one that closes the connection.
- However the bytes are cut into pieces, the same is read.
- Each request that is read gets one answer from a server on a socket, and so does the refusal; then it closes.

llhttp stops at `Upgrade`, whose request it does not read to the end, so that nothing is compared from there on.
"""

import argparse
import socket
import sys
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from itertools import pairwise
from random import Random
from typing import NamedTuple

import h11
import httptools

from feemodel.rpc.http import Head, Malformed, Reader
from feemodel.rpc.protocol import Reply
from tests.rpc_parts import PATIENCE, listening

COUNT, SEED = 1_000_000, 1
BODY_LIMIT = 1 << 20
SIZE = 1 << 18  # bytes that h11 takes of an incomplete request, more than ours
ANSWERED = 10  # connections of which one is also sent to a server


class Read(NamedTuple):
    """A request as a parser has read it."""

    method: bytes
    target: bytes
    headers: tuple[tuple[bytes, bytes], ...]  #: by name, values of one name joined
    body: bytes


class Ending(NamedTuple):
    """What a parser has read of a connection, and how that ended."""

    requests: list[Read]
    end: str  #: "waits", "closes", "refuses", or "stops" where a parser goes no further by itself


class Stream(NamedTuple):
    """A connection: its bytes, its requests before the first defect, whether there is none, the bytes in pieces."""

    data: bytes
    requests: int
    is_sound: bool
    pieces: list[bytes]


# Generator

METHODS = [b"GET", b"POST", b"POST", b"POST", b"HEAD", b"OPTIONS", b"PUT", b"DELETE"]
TARGETS = [b"/", b"/", b"/x", b"/health", b"/v3/key?a=b#c", b"/%2e%2e/%00", b"//", b"/~" + b"a" * 300]
FIELDS = [
    b"Content-Type: application/json", b"Accept: */*", b"X-Empty:", b"X-Tab:\t a\t b \t", b"x-obs: \xe9\xff",
    b"!#$%&'*+-.^_`|~1: token", b"Cookie: a=b; c=d", b"Cookie: e", b"Connection: keep-alive", b"Connection: x, close",
    b"Connection: close", b"Expect: 100-continue", b"Upgrade: h2c", b"Connection: Upgrade, x", b"Keep-Alive: timeout=5",
    b"X-Long: " + b"a" * 900,
]  # fmt: skip
TRAILERS = [b"", b"", b"", b"X-Sum: 1\r\n", b"a:b\r\n" * 20]
EXTENSIONS = [b"", b"", b"", b"", b";a", b";a=b", b";a=b;c=d"]
SIZES = [0, 1, 2, 15, 16, 17, 255, 256, 3_000]

#: What is replaced once in a request → by what: nearly all of it is no HTTP any more.
DEFECTS: dict[bytes, list[bytes]] = {
    b"\r\n": [
        b"\n", b"\r", b"\r\r\n", b"\n\r\n", b"\r\n\r\n", b"", b"\r\n ", b"\r\n\tfolded\r\n", b"\x00\r\n", b"\x7f\r\n",
        b"\r\nno field\r\n", b"\r\n: empty\r\n", b"\r\nX : space\r\n", b"\r\nX\xe9: y\r\n",
    ],
    b" HTTP/1.1": [
        b" HTTP/1.2", b" HTTP/2.0", b" http/1.1", b"", b"  HTTP/1.1", b"\tHTTP/1.1", b" HTTP/1.1 ", b" HTTP/1.0",
    ],
    b" /": [b"  /", b" http://localhost/", b" *", b" x", b" /\xe9", b" /\x01"],
    b"POST": [b"post", b"PO ST", b"PRI", b"CONNECT", b"\r\n\r\nPOST", b"\rPOST", b" POST", b"\nPOST"],
    b"Host:": [b"Host :", b"Host: a\r\nHost:", b"X-Host:", b"\x00Host:", b"X: " + b"a" * 70_000 + b"\r\nHost:"],
    b"Host: localhost\r\n": [b"Host: localhost\r\n" + b"X: y\r\n" * 120, b""],
    b"Content-Length:": [
        b"Content-Length: 1\r\nContent-Length:", b"Transfer-Encoding: chunked\r\nContent-Length:", b"Content-Length",
    ],
    b"Content-Length: ": [
        b"Content-Length: " + before for before in (b"+", b"-", b"0x", b"1, ", b"9" * 20, b"1_", b"\x0b", b"1 ")
    ],
    b"chunked": [
        b"gzip, chunked", b"chunked, identity", b"xchunked", b"chunked\x0b", b"identity", b"\x00chunked",
        b"chunked;q=1", b"", b"chunked, chunked", b"chunked,", b"\"chunked\"",
    ],
    b"chunked\r\n": [b"chunked\r\nTransfer-Encoding: chunked\r\n", b"chunked\r\nContent-Length: 3\r\n"],
    b"\r\n0": [b"\r\n-0", b"\r\n0x0", b"\r\ng", b"0", b"\r\n 0", b"\r\n+0", b"\r\n\r\n0"],
    b"\r\n0\r\n": [
        b"\r\n0 \r\n", b"\r\n0;\r\n", b"\r\n0;a=\"\r\n\"\r\n", b"\r\n0\n", b"\r\n0" + b"a" * 300 + b"\r\n",
        b"\r\n0;" + b"a" * 300 + b"\r\n", b"\r\n0\r\n" + b"a:b\r\n" * 150,
        b"\r\n0\r\nno field\r\n", b"\r\n0\r\nContent-Length: 9\r\n",
        b"\r\n0\r\nTransfer-Encoding: chunked\r\n",
        b"\r\n" + b"1\r\na\r\n" * 4_000 + b"0\r\n", b"\r\n0;a=b\x00\r\n", b"\r\n0;a\nb\r\n", b"\r\nfffffffffffff\r\n",
    ],
}  # fmt: skip


def request(rng: Random) -> bytes:
    """A request without a defect."""
    fields = [b"Host: localhost", *rng.sample(FIELDS, rng.choice([0, 1, 1, 2, 4]))]
    method, body = rng.choice(METHODS), rng.randbytes(rng.choice(SIZES))
    kind = rng.choice(["none", "length", "length", "chunked"]) if method not in (b"POST", b"PUT") else rng.choice(
        ["length", "length", "chunked"])  # fmt: skip
    if kind == "length":
        fields.insert(rng.randrange(len(fields) + 1), b"Content-Length: %d" % len(body))
    elif kind == "chunked":
        coding = rng.choice([b"Transfer-Encoding: chunked", b"transfer-encoding:Chunked "])
        fields.insert(rng.randrange(len(fields) + 1), coding)
        body = chunked(rng, body)
    else:
        body = b""
    head = b"%s %s HTTP/1.1\r\n" % (method, rng.choice(TARGETS)) + b"".join(field + b"\r\n" for field in fields)
    return head + b"\r\n" + body


def chunked(rng: Random, body: bytes) -> bytes:
    parts = []
    while body:
        size = rng.randrange(1, len(body) + 1)
        number = rng.choice([b"%x", b"%X", b"0%x"]) % size
        parts.append(number + rng.choice(EXTENSIONS) + b"\r\n" + body[:size] + b"\r\n")
        body = body[size:]
    return b"".join(parts) + b"0" + rng.choice(EXTENSIONS) + b"\r\n" + rng.choice(TRAILERS) + b"\r\n"


def damaged(rng: Random, data: bytes) -> bytes:
    """The request with a defect, or with bytes of chance, which may happen to be none."""
    before = rng.choice(list(DEFECTS))
    after = rng.choice(DEFECTS[before])
    places = [place for place in range(len(data)) if data.startswith(before, place)] if before in data else []
    if places:
        place = rng.choice(places)
        return data[:place] + after + data[place + len(before) :]
    place = rng.randrange(len(data))
    return data[:place] + rng.choice([b"", rng.randbytes(1), b"\r", b"\n", b" "]) + data[place + 1 :]


def stream(rng: Random) -> Stream:
    """A connection of a few requests, every third of them with a defect, and cut off at its end now and then."""
    requests = [request(rng) for _ in range(rng.choice([1, 2, 3, 3, 5, 8]))]
    sound = len(requests)
    if rng.random() < 0.33:
        sound = rng.randrange(len(requests))
        requests[sound] = damaged(rng, requests[sound])
    data = b"".join(requests)
    is_sound = sound == len(requests)
    if is_sound and rng.random() < 0.1:
        cut = rng.randrange(1, len(requests[-1]))
        data, sound = data[:-cut], sound - 1
    return Stream(data, sound, is_sound, pieces(rng, data))


def pieces(rng: Random, data: bytes) -> list[bytes]:
    """The bytes cut anywhere."""
    cuts = sorted({0, len(data), *(rng.randrange(len(data) + 1) for _ in range(rng.choice([0, 1, 3, 12])))})
    return [data[start:end] for start, end in pairwise(cuts)]


# Parsers


def ours(parts: list[bytes]) -> Ending:
    """What this package's reader makes of it."""
    reader, found, head = Reader(BODY_LIMIT), [], None
    for part in parts:
        reader.feed(part)
        try:
            while True:
                if head is None and (head := reader.head()) is None:
                    break
                body = reader.body()
                if body is None and reader.has_more_chunks:
                    continue
                if body is None:
                    break
                found.append(Read(head.method.encode(), head.target, _joined(head.headers.items()), body))
                if not head.keeps_open:
                    return Ending(found, "closes")
                head = None
        except Malformed as error:
            return Ending(found, "refuses" if error.status in (400, 413, 431) else f"ends with {error.status}")
    return Ending(found, "waits")


def of_h11(data: bytes) -> Ending:
    """What h11 makes of it."""
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=SIZE)
    connection.receive_data(data)
    found, head, body = [], None, b""
    try:
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                return Ending(found, "waits")
            if isinstance(event, h11.Request):
                head, body = event, b""
            elif isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage) and head is not None:
                found.append(Read(head.method, head.target, _joined(head.headers), body))
                connection.send(h11.Response(status_code=200, headers=[("content-length", "0")]))
                connection.send(h11.EndOfMessage())
                if connection.our_state is h11.MUST_CLOSE:
                    return Ending(found, "closes")
                connection.start_next_cycle()
    except h11.RemoteProtocolError:
        return Ending(found, "refuses")
    except h11.LocalProtocolError:  # of CONNECT, behind which there is another protocol
        return Ending(found, "stops")


class _Noted:
    """The callbacks of llhttp."""

    def __init__(self) -> None:
        self.found: list[Read] = []
        self.on_message_begin()

    def on_message_begin(self) -> None:
        self.target, self.body, self.in_trailers = b"", b"", False
        self.headers: list[tuple[bytes, bytes]] = []

    def on_url(self, url: bytes) -> None:
        self.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.in_trailers:
            self.headers.append((name.lower(), value.strip(b" \t")))

    def on_headers_complete(self) -> None:
        self.in_trailers = True

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        method = self.parser.get_method()
        self.found.append(Read(method, self.target, _joined(self.headers), self.body))

    parser: httptools.HttpRequestParser


def of_llhttp(data: bytes) -> Ending:
    """What llhttp makes of it."""
    noted = _Noted()
    noted.parser = httptools.HttpRequestParser(noted)
    try:
        noted.parser.feed_data(data)
    except httptools.HttpParserUpgrade:
        return Ending(noted.found, "stops")
    except httptools.HttpParserError:
        return Ending(noted.found, "refuses")
    return Ending(noted.found, "waits")


def _joined(fields: Iterable[tuple[bytes, bytes]]) -> tuple[tuple[bytes, bytes], ...]:
    headers: dict[bytes, bytes] = {}
    for field, value in fields:
        name, text = bytes(field), bytes(value)
        text = text.lower() if name == b"transfer-encoding" else text  # which h11 writes so
        headers[name] = headers[name] + b", " + text if name in headers else text
    return tuple(sorted(headers.items()))


# The rule


def check(made: Stream) -> Ending:
    """What ours reads of a connection; raises `AssertionError` where the rule does not hold."""
    mine = ours(made.pieces)
    assert mine == ours([made.data]), "pieces matter"
    for name, other in {"h11": of_h11(made.data), "llhttp": of_llhttp(made.data)}.items():
        read = len(mine.requests)
        if name == "llhttp" and other.end in ("stops", "refuses"):
            read = min(read, len(other.requests) - (other.end == "stops"))
        known = mine.requests[:read]
        assert known == other.requests[: len(known)], f"{name} reads something else"
        if mine.end == "waits":
            assert len(other.requests) - (other.end == "stops") <= len(mine.requests), f"{name} reads more"
    closing = mine.end == "closes"
    assert len(mine.requests) >= made.requests or closing, "a request without a defect is not read"
    assert mine.end != "refuses" or not made.is_sound, "a connection without a defect is refused"
    return mine


def answered(port: int, made: Stream, mine: Ending) -> None:
    """Send a connection to a server, which must answer what ours reads; raises `AssertionError` where it does not."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        for part in made.pieces:
            with suppress(OSError):  # it has refused already
                connection.sendall(part)
        with suppress(OSError):
            connection.shutdown(socket.SHUT_WR)
        received = bytearray()
        while chunk := connection.recv(1 << 16):
            received += chunk
    statuses, position = [], 0
    while position < len(received):
        end = received.index(b"\r\n\r\n", position)
        head = bytes(received[position:end])
        position = end + 4
        if head.startswith(b"HTTP/1.1 100"):
            continue
        is_head = len(statuses) < len(mine.requests) and mine.requests[len(statuses)].method == b"HEAD"
        is_head |= position == len(received)  # one that was refused
        statuses.append(int(head[9:12]))
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        position += 0 if is_head else length
    assert position == len(received), "an answer is cut off"
    refused = mine.end == "refuses"
    assert [status == 200 for status in statuses] == [True] * len(mine.requests) + [False] * refused, statuses


class Answering:
    """An application that answers every request alike."""

    async def start(self) -> None: ...
    async def close(self) -> None: ...

    def refusal(self, head: Head) -> None: ...

    def refused(self, status: int, reason: str, head: Head | None) -> Reply:
        return Reply(status, (), reason.encode())

    def begin(self, head: Head, body: bytes) -> Reply:
        return Reply(200, (), b"answered")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/http-exchanges", description="Read HTTP as other parsers do.")
    parser.add_argument("--count", type=int, default=COUNT, help="requests, %(default)d unless given")
    parser.add_argument("--seed", type=int, default=SEED, help="of the generator, %(default)d unless given")
    options = parser.parse_args(arguments)
    began = time.monotonic()
    counts = run(options.count, options.seed)
    seconds = time.monotonic() - began
    shown = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    print(f"{shown}; none read differently, none unanswered, in {seconds:,.0f} s")
    return 0


def run(count: int, seed: int) -> Counter[str]:
    """Check connections of so many requests; raises `AssertionError` with the first that breaks the rule."""
    rng, counts = Random(seed), Counter[str]()
    with listening(Answering()) as port:
        while counts["requests"] < count:
            made = stream(rng)
            counts["connections"] += 1
            try:
                mine = check(made)
                if counts["connections"] % ANSWERED == 0:
                    answered(port, made, mine)
                    counts["connections answered by a server"] += 1
            except AssertionError as error:
                raise AssertionError(f"{error}: {made.data[:2_000]!r}") from error
            counts["requests"] += max(len(mine.requests) + (mine.end == "refuses"), 1)
            counts[f"connections that end in '{mine.end}'"] += 1
    return counts


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
