"""Attacks that keep connections: slow, endless and unfinished requests, idle connections, responses nobody reads."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
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
WHOLE_PROOF = (to_hex(ALDER), [hex(index) for index in range(1_024)], "latest")
CHAIN_ID, BLOCK = rpc("eth_chainId"), ("latest", False)

ENDS = frozenset({"closed", "open"})
BAD = frozenset({"closed", "HTTP 400", "HTTP 403", "HTTP 404", "HTTP 405", "HTTP 408", "HTTP 413", "HTTP 431"})


Bytes = Callable[[Target], bytes]  # what an attack sends to a target


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
        Attack("connections opened and dropped", dropped_connections, frozenset({"dropped"})),
        Attack("requests without Host, pipelined", stuffing(lambda target: b"GET /nothing HTTP/1.1\r\n\r\n"), BAD),
        Attack("calls pipelined on 60 connections", stuffing(call), stuff),
        Attack("13 MB responses that nobody reads", unread("rollup_getProof", WHOLE_PROOF), ENDS),
        Attack("pipelined calls whose responses nobody reads", unread("eth_getBlockByNumber", BLOCK, 1_000), ENDS),
    ]


def call(target: Target) -> bytes:
    """A quick call."""
    return target.http(CHAIN_ID)


async def dropped_connections(target: Target, seconds: float) -> Counter[str]:
    """Close connections as soon as they are open, in the middle of a request or before its response."""
    until, whole = time.perf_counter() + seconds, target.http(CHAIN_ID)

    async def again() -> int:
        dropped = 0
        while time.perf_counter() < until:
            connection = target.connection()
            try:
                _, writer = await connection.opened()
                writer.write(whole[:-20] if dropped % 2 else whole)
            except GONE:
                pass
            connection.abort()
            dropped += 1
            await asyncio.sleep(0.001)
        return dropped

    return Counter(dropped=sum(await asyncio.gather(*(again() for _ in range(8)))))


def unread(method: str, params: tuple[Any, ...], times: int = 1) -> Throw:
    """Open connections, four at a time, that send calls at once and read nothing."""

    async def throw(target: Target, seconds: float) -> Counter[str]:
        until, connections = time.perf_counter() + seconds, list[Connection]()

        async def again() -> None:
            while time.perf_counter() < until:
                connection = target.connection()
                connections.append(connection)
                try:
                    _, writer = await connection.opened()
                    writer.transport.pause_reading()  # type: ignore[attr-defined]
                    writer.write(target.post(method, *params) * times)
                except GONE:
                    pass
                await asyncio.sleep(0.2)

        await asyncio.gather(*(again() for _ in range(4)))
        for connection in connections:
            connection.abort()
        return Counter(open=len(connections))

    return throw


def dripping(first: Bytes, more: bytes) -> Throw:
    """Keep many connections on which a little comes every half second."""

    async def one(target: Target, until: float) -> str:
        connection = target.connection()
        try:
            reader, writer = await connection.opened()
            writer.write(first(target))
            ended = asyncio.create_task(ending(reader, until))
            while not ended.done():
                writer.write(more)
                await asyncio.wait([ended], timeout=0.5)
            return ended.result()
        except (*GONE, RuntimeError):  # uvloop raises RuntimeError for a write to a closed connection
            return "closed"
        finally:
            connection.abort()

    async def throw(target: Target, seconds: float) -> Counter[str]:
        until = time.perf_counter() + seconds
        return Counter(await asyncio.gather(*(one(target, until) for _ in range(CONNECTIONS))))

    return throw


def flooding(first: Bytes, more: bytes) -> Throw:
    """Keep four connections on which a request never ends, sent as fast as it is accepted."""

    async def one(target: Target) -> str:
        connection, until = target.connection(), time.perf_counter() + FLOOD_SECONDS
        try:
            reader, writer = await connection.opened()
            writer.write(first(target))
            ended = asyncio.create_task(ending(reader, until))
            for _ in range(FLOOD // len(more)):
                if ended.done() or writer.is_closing():
                    break
                writer.write(more)
                drained = asyncio.create_task(writer.drain())
                await asyncio.wait({drained, ended}, return_when=asyncio.FIRST_COMPLETED)
                if drained.done():
                    drained.exception()
                drained.cancel()
            return await ended
        except (*GONE, RuntimeError):
            return "closed"
        finally:
            connection.abort()

    async def again(target: Target, until: float) -> Counter[str]:
        ends = Counter([await one(target)])  # at least one, however late it is
        while time.perf_counter() < until:
            ends[await one(target)] += 1
        return ends

    async def throw(target: Target, seconds: float) -> Counter[str]:
        until = time.perf_counter() + seconds
        return sum(await asyncio.gather(*(again(target, until) for _ in range(4))), Counter())

    return throw


def idling(first: Bytes) -> Throw:
    """Keep many connections open, with one request on each at most; they open within a second."""

    async def one(target: Target, number: int, until: float) -> str:
        connection = target.connection()
        try:
            await asyncio.sleep(number / IDLE)
            reader, writer = await connection.opened()
            if begun := first(target):
                writer.write(begun)
                answer = await connection.answer(reader)
                if answer.outcome != "ok":
                    return answer.outcome
            return await ending(reader, until)
        except GONE:
            return "closed"
        finally:
            connection.abort()

    async def throw(target: Target, seconds: float) -> Counter[str]:
        until = time.perf_counter() + 1.0 + seconds
        return Counter(await asyncio.gather(*(one(target, number, until) for number in range(IDLE))))

    return throw


def stuffing(request: Bytes) -> Throw:
    """Send requests of a quarter of a megabyte at once on sixty connections, and read the responses."""

    async def one(target: Target, until: float) -> Counter[str]:
        ends = Counter[str]()
        while time.perf_counter() < until:
            connection = target.connection()
            try:
                reader, writer = await connection.opened()
                writer.write(request(target) * (STUFFING // len(request(target))))
                async with asyncio.timeout(max(until - time.perf_counter(), 0.01)):
                    while True:
                        answer = await connection.answer(reader)
                        ends[answer.outcome] += 1
                        if not connection.is_open:
                            break
            except TimeoutError:
                ends["closed"] += 1  # by this side, at the end
            except GONE:
                ends["closed"] += 1
            finally:
                connection.abort()
        return ends

    async def throw(target: Target, seconds: float) -> Counter[str]:
        until = time.perf_counter() + seconds
        return sum(await asyncio.gather(*(one(target, until) for _ in range(STUFFED))), Counter())

    return throw
