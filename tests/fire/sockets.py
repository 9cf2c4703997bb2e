"""Bombs that are no request but a way to keep one: slow bodies, slow heads, endless ones, idle connections."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from feemodel.ethereum.quantities import to_hex
from tests.development import ALDER
from tests.fire.client import GONE, Connection, http, post, rpc, summed

CONNECTIONS = 300  # of a bomb that keeps them
IDLE = 3_000  # connections that send nothing
HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
ENDLESS = CHUNKED.replace(b"POST /", b"POST /x")
HALF_SIZE = 900_000  # bytes of a body of which most has come
LARGE_HALF = HEAD + b"Content-Length: 1000000\r\n\r\n" + b" " * HALF_SIZE
STUFFING, STUFFED = 1 << 18, 60  # bytes that are sent at once, and connections
WHOLE = post("eth_chainId")
PROOFS = post("rollup_getProof", to_hex(ALDER), [hex(place) for place in range(1_024)], "latest")

Throw = Callable[[int, float], Awaitable[Counter[str]]]  # a port, seconds → how the connections ended


class Siege(NamedTuple):
    """One way to keep connections."""

    name: str
    throw: Throw
    answers: frozenset[str]  #: how its connections may end


def sieges() -> list[Siege]:
    """Every bomb that keeps connections; "open" is one that was still open at the end."""
    body = rpc("eth_chainId")
    begun = http(body)[: -len(body)]
    closed = frozenset({"closed", "open"})
    return [
        Siege("slow bodies", dripping(begun + body[:1], b" "), closed | {"HTTP 408"}),
        Siege("slow heads", dripping(HEAD, b"X-More: 1\r\n"), closed),
        Siege("slow first lines", dripping(b"P", b"O"), closed | {"HTTP 400"}),
        Siege("endless heads", flooding(HEAD, b"X-More: " + b"a" * 8_000 + b"\r\n"), frozenset({"closed", "HTTP 431"})),
        Siege("endless bodies", flooding(CHUNKED, b"2000\r\n" + b" " * 8_192 + b"\r\n"),
              frozenset({"closed", "HTTP 413"})),
        Siege("3,000 idle connections", idling(b""), closed),
        Siege("3,000 connections, each answered once", idling(WHOLE),
              closed | {"ok", "HTTP 503 -32005"}),  # of one that gives way before it was answered
        Siege("connections opened and dropped", dropping, frozenset({"dropped"})),
        Siege("a thousand requests at once on a connection", pipelining, frozenset({"ok", "closed"})),
        Siege("13 MB answers that nobody takes", untaken, closed),
        Siege("trailers without end", flooding(ENDLESS + b"0\r\n", b"a:b\r\n" * 1_600),
              frozenset({"closed", "HTTP 400", "HTTP 404"})),
        Siege("one-byte chunks without end", flooding(CHUNKED, b"1\r\na\r\n" * 1_300),
              frozenset({"closed", "HTTP 400"})),
        Siege("256 KiB of requests at once on 60 connections", stuffing(b"GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n"),
              frozenset({"HTTP 404", "closed"})),
        Siege("256 KiB of requests without Host on 60 connections", stuffing(b"GET /x HTTP/1.1\r\n\r\n"),
              frozenset({"HTTP 400", "closed"})),
        Siege("256 KiB of calls at once on 60 connections", stuffing(WHOLE), frozenset({"ok", "closed"})),
        Siege("megabytes of bodies that do not end on 300 connections", dripping(LARGE_HALF, b" "),
              closed | {"HTTP 408"}),
    ]  # fmt: skip


def crowds() -> list[Siege]:
    """Bombs for a server on which few connections may be open."""
    ends = frozenset({"closed", "open"})
    return [Siege(f"{CONNECTIONS} idle connections", idling(b"", CONNECTIONS), ends)]


async def _ended(reader: asyncio.StreamReader, until: float) -> str:
    """How the other side ends the connection; "open" where it does not."""
    try:
        async with asyncio.timeout(max(until - time.perf_counter(), 0.01)):
            while chunk := await reader.read(1 << 16):
                if chunk.startswith(b"HTTP/1.1 4"):
                    return f"HTTP {chunk[9:12].decode()}"
    except TimeoutError:
        return "open"
    except GONE:
        pass
    return "closed"


def dripping(first: bytes, more: bytes) -> Throw:
    """Connections on which a little comes every half second."""

    async def one(port: int, until: float) -> str:
        connection = Connection(port)
        try:
            reader, writer = await connection.opened()
            writer.write(first)
            ended = asyncio.create_task(_ended(reader, until))
            while not ended.done():
                writer.write(more)
                await asyncio.wait([ended], timeout=0.5)
            return ended.result()
        except (*GONE, RuntimeError):  # which uvloop raises for a write to a closed connection
            return "closed"
        finally:
            connection.abort()

    async def throw(port: int, seconds: float) -> Counter[str]:
        until = time.perf_counter() + seconds
        return Counter(await asyncio.gather(*(one(port, until) for _ in range(CONNECTIONS))))

    return throw


def flooding(first: bytes, more: bytes) -> Throw:
    """Four connections on which a request never ends, as fast as it is taken."""

    async def one(port: int) -> str:
        connection = Connection(port)
        try:
            reader, writer = await connection.opened()
            writer.write(first)
            ended = asyncio.create_task(_ended(reader, time.perf_counter() + 20))
            for _ in range(10_000):
                if ended.done() or writer.is_closing():
                    break
                writer.write(more)
                drained = asyncio.create_task(writer.drain())
                await asyncio.wait({drained, ended}, return_when=asyncio.FIRST_COMPLETED)
                drained.cancel()
            return await ended
        except GONE:
            return "closed"
        finally:
            connection.abort()

    async def again(port: int, until: float) -> Counter[str]:
        ends = Counter[str]()
        while time.perf_counter() < until:
            ends[await one(port)] += 1
        return ends

    async def throw(port: int, seconds: float) -> Counter[str]:
        until = time.perf_counter() + seconds
        return summed(await asyncio.gather(*(again(port, until) for _ in range(4))))

    return throw


def idling(first: bytes, connections: int = IDLE) -> Throw:
    """Many connections that are kept open, with a request on each at most."""

    async def one(port: int, until: float) -> str:
        connection = Connection(port)
        try:
            reader, writer = await connection.opened()
            if first:
                writer.write(first)
                answer = await connection.answer(reader)
                if answer.outcome != "ok":
                    return answer.outcome
            return await _ended(reader, until)
        except GONE:
            return "closed"
        finally:
            connection.abort()

    async def throw(port: int, seconds: float) -> Counter[str]:
        until = time.perf_counter() + seconds
        return Counter(await asyncio.gather(*(one(port, until) for _ in range(connections))))

    return throw


async def dropping(port: int, seconds: float) -> Counter[str]:
    """Connections that are closed as soon as they are there, in the middle of a request."""
    until = time.perf_counter() + seconds

    async def again() -> int:
        dropped = 0
        while time.perf_counter() < until:
            connection = Connection(port)
            _, writer = await connection.opened()
            writer.write(WHOLE[:-20] if dropped % 2 else WHOLE)
            connection.close()
            dropped += 1
            await asyncio.sleep(0.001)
        return dropped

    return Counter(dropped=sum(await asyncio.gather(*(again() for _ in range(8)))))


async def pipelining(port: int, seconds: float) -> Counter[str]:
    """A thousand requests sent before the first answer is taken, again and again, on four connections."""
    until = time.perf_counter() + seconds

    async def again() -> Counter[str]:
        ends = Counter[str]()
        while time.perf_counter() < until:
            connection = Connection(port)
            try:
                reader, writer = await connection.opened()
                writer.write(WHOLE * 1_000)
                for _ in range(1_000):
                    ends[(await connection.answer(reader)).outcome] += 1
            except GONE:
                ends["closed"] += 1
            finally:
                connection.abort()
        return ends

    return summed(await asyncio.gather(*(again() for _ in range(4))))


def stuffing(request: bytes) -> Throw:
    """Sixty connections, each of which sends 256 KiB of requests again and again, and reads what is answered."""

    async def one(port: int, until: float) -> Counter[str]:
        ends = Counter[str]()
        while time.perf_counter() < until:
            connection = Connection(port)
            try:
                reader, writer = await connection.opened()
                writer.write(request * (STUFFING // len(request)))
                while time.perf_counter() < until:
                    answer = await connection.answer(reader)
                    ends[answer.outcome] += 1
                    if not connection.is_open:
                        break
            except GONE:
                ends["closed"] += 1
            finally:
                connection.abort()
        return ends

    async def throw(port: int, seconds: float) -> Counter[str]:
        until = time.perf_counter() + seconds
        return summed(await asyncio.gather(*(one(port, until) for _ in range(STUFFED))))

    return throw


async def untaken(port: int, seconds: float) -> Counter[str]:
    """Connections that ask for the largest answers and read nothing; opened four at a time."""
    until = time.perf_counter() + seconds
    connections: list[Connection] = []

    async def again() -> None:
        while time.perf_counter() < until:
            connection = Connection(port)
            connections.append(connection)
            _, writer = await connection.opened()
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            writer.write(PROOFS)
            await asyncio.sleep(0.2)

    await asyncio.gather(*(again() for _ in range(4)))
    for connection in connections:
        connection.abort()
    return Counter(open=len(connections))
