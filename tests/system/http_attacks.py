"""Attacks that keep connections: slow, endless and unfinished requests, idle connections, responses nobody reads."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

from feemodel.ethereum._quantities import to_hex
from tests.helpers.development import ALDER
from tests.system.attack import Attack, Throw, ending
from tests.system.client import GONE, Connection, Target, rpc

CONNECTIONS = 300  # of an attack that keeps them
IDLE = 3_000  # connections that send nothing
FLOOD = 200 << 20  # bytes after which a flood ends by itself
FLOOD_SECONDS = 20.0
HALF_SIZE = 900_000  # bytes of a body of which most has come
STUFFING, STUFFED = 1 << 18, 60  # bytes that are sent at once, and connections
UNREAD = 30  # connections whose responses nobody reads
WHOLE_PROOF = (to_hex(ALDER), [hex(index) for index in range(1_024)], "latest")
CHAIN_ID, BLOCK = rpc("eth_chainId"), ("latest", False)

ENDS = frozenset({"closed", "open"})
BAD = frozenset({"closed", "HTTP 400", "HTTP 403", "HTTP 404", "HTTP 405", "HTTP 408", "HTTP 413", "HTTP 431"})


Bytes = Callable[[Target], bytes]  # what an attack sends to a target
Use = Callable[[Connection, Target, float], AsyncIterator[str]]  # a connection, its target, when to end → outcomes


def posted(more: bytes) -> Bytes:
    """Head of a POST request without its length, and what follows."""
    return lambda target: target.head + more


def chunked(more: bytes) -> Bytes:
    """Head of a POST request whose body comes in chunks, and what follows."""
    return posted(b"Transfer-Encoding: chunked\r\n\r\n" + more)


def http_attacks() -> list[Attack]:
    """Return every attack that keeps connections; "open" is one that was open at the end."""
    drip, flood, idle, stuff = ENDS | {"HTTP 408"}, BAD, ENDS | {"HTTP 503"}, frozenset({"ok", "closed"})
    chunk = b"2000\r\n" + b" " * 8_192 + b"\r\n"
    half = posted(b"Content-Length: 1000000\r\n\r\n" + b" " * HALF_SIZE)
    return [
        Attack("slow bodies", dripping(lambda target: target.http(CHAIN_ID)[: 1 - len(CHAIN_ID)], b" "), drip),
        Attack("slow heads", dripping(posted(b""), b"X-More: 1\r\n"), drip),
        Attack("endless heads", flooding(posted(b""), b"X-More: " + b"a" * 8_000 + b"\r\n"), flood),
        Attack("an endless request target", flooding(lambda target: b"GET /", b"a" * 8_000), flood | {"HTTP 414"}),
        Attack("endless bodies", flooding(chunked(b""), chunk), flood),
        Attack("one-byte chunks without end", flooding(chunked(b""), b"1\r\na\r\n" * 1_300), flood),
        Attack("endless trailers", flooding(chunked(b"0\r\n"), b"a:b\r\n" * 1_600), flood | {"ok"}),
        Attack("large unfinished bodies on 300 connections", dripping(half, b" "), drip | {"HTTP 503"}),
        Attack("3,000 idle connections", idling(lambda target: b""), idle),
        Attack("3,000 connections, each answered once", idling(call), idle | {"HTTP 503 -32005"}),
        Attack("connections opened and dropped", each(dropped, 8, again=True), frozenset({"dropped", "closed"})),
        Attack("requests without Host, pipelined", stuffing(lambda target: b"GET /nothing HTTP/1.1\r\n\r\n"), BAD),
        Attack("calls pipelined on 60 connections", stuffing(call), stuff),
        Attack("13 MB responses that nobody reads", unread("rollup_getProof", WHOLE_PROOF), ENDS),
        Attack("pipelined calls whose responses nobody reads", unread("eth_getBlockByNumber", BLOCK, 1_000), ENDS),
    ]


def call(target: Target) -> bytes:
    """A quick call."""
    return target.http(CHAIN_ID)


def each(use: Use, connections: int, *, again: bool = False) -> Throw:
    """Use a number of connections, and further ones `again` until the time is over; count the outcomes."""

    async def one(target: Target, until: float) -> Counter[str]:
        ends = Counter[str]()
        while not ends or (again and time.perf_counter() < until):
            connection = target.connection()
            try:
                async for end in use(connection, target, until):
                    ends[end] += 1
            except (*GONE, RuntimeError, TimeoutError):  # uvloop raises RuntimeError for a write to a closed connection
                ends["closed"] += 1
            finally:
                connection.abort()
        return ends

    async def throw(target: Target, seconds: float) -> Counter[str]:
        until = time.perf_counter() + seconds
        return sum(await asyncio.gather(*(one(target, until) for _ in range(connections))), Counter())

    return throw


async def dropped(connection: Connection, target: Target, until: float) -> AsyncIterator[str]:
    """Close a connection as soon as it is open, in the middle of a request or before its response."""
    await asyncio.sleep(0.001)
    _, writer = await connection.opened()
    writer.write(call(target)[: random.choice((-20, None))])
    yield "dropped"


def unread(method: str, params: tuple[Any, ...], times: int = 1) -> Throw:
    """Open connections within a second that send calls at once and read nothing."""

    async def use(connection: Connection, target: Target, until: float) -> AsyncIterator[str]:
        await asyncio.sleep(random.random())
        _, writer = await connection.opened()
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(target.post(method, *params) * times)
        await asyncio.sleep(until - time.perf_counter())
        yield "open"

    return each(use, UNREAD)


def dripping(first: Bytes, more: bytes) -> Throw:
    """Keep many connections on which a little comes every half second."""

    async def use(connection: Connection, target: Target, until: float) -> AsyncIterator[str]:
        reader, writer = await connection.opened()
        writer.write(first(target))
        ended = asyncio.create_task(ending(reader, until))
        while not ended.done():
            writer.write(more)
            await asyncio.wait([ended], timeout=0.5)
        yield ended.result()

    return each(use, CONNECTIONS)


def flooding(first: Bytes, more: bytes) -> Throw:
    """Keep four connections on which a request never ends, sent as fast as it is accepted."""

    async def use(connection: Connection, target: Target, until: float) -> AsyncIterator[str]:
        reader, writer = await connection.opened()
        writer.write(first(target))
        ended = asyncio.create_task(ending(reader, time.perf_counter() + FLOOD_SECONDS))
        for _ in range(FLOOD // len(more)):
            if ended.done() or writer.is_closing():
                break
            writer.write(more)
            drained = asyncio.create_task(writer.drain())
            await asyncio.wait({drained, ended}, return_when=asyncio.FIRST_COMPLETED)
            if drained.done():
                drained.exception()
            drained.cancel()
        yield await ended

    return each(use, 4, again=True)


def idling(first: Bytes) -> Throw:
    """Keep many connections open, with one request on each at most; they open within a second."""

    async def use(connection: Connection, target: Target, until: float) -> AsyncIterator[str]:
        await asyncio.sleep(random.random())
        reader, writer = await connection.opened()
        outcome = "ok"
        if begun := first(target):
            writer.write(begun)
            outcome = (await connection.answer(reader)).outcome
        yield outcome if outcome != "ok" else await ending(reader, until + 1.0)

    return each(use, IDLE)


def stuffing(request: Bytes) -> Throw:
    """Send requests of a quarter of a megabyte at once on sixty connections, and read the responses."""

    async def use(connection: Connection, target: Target, until: float) -> AsyncIterator[str]:
        reader, writer = await connection.opened()
        writer.write(request(target) * (STUFFING // len(request(target))))
        async with asyncio.timeout(max(until - time.perf_counter(), 0.01)):
            while connection.is_open:
                yield (await connection.answer(reader)).outcome

    return each(use, STUFFED, again=True)
