"""Attacks that keep connections: slow, endless and unfinished requests, idle connections, responses nobody reads."""

import asyncio
import time
from collections import Counter

from feemodel.ethereum.quantities import to_hex
from tests.helpers.development import ALDER
from tests.system.attack import Attack, Throw, ending
from tests.system.client import GONE, Connection, Target, rpc, summed

CONNECTIONS = 300  # of an attack that keeps them
IDLE = 3_000  # connections that send nothing
FLOOD = 200 << 20  # bytes after which a flood ends by itself
FLOOD_SECONDS = 20.0
HALF_SIZE = 900_000  # bytes of a body of which most has come
STUFFING, STUFFED = 1 << 18, 60  # bytes that are sent at once, and connections
WHOLE_PROOF = (to_hex(ALDER), [hex(index) for index in range(1_024)], "latest")
CHAIN_ID = rpc("eth_chainId")

ENDS = frozenset({"closed", "open"})
BAD = frozenset({"closed", "HTTP 400", "HTTP 403", "HTTP 404", "HTTP 405", "HTTP 408", "HTTP 413", "HTTP 431"})


def http_attacks() -> list[Attack]:
    """Return every attack that keeps connections; "open" is one that was open at the end."""
    return [
        Attack("slow bodies", slow_bodies, ENDS | {"HTTP 408"}),
        Attack("slow heads", slow_heads, ENDS | {"HTTP 408"}),
        Attack("slow first lines", slow_first_lines, ENDS | {"HTTP 400", "HTTP 408"}),
        Attack("endless heads", endless_heads, BAD),
        Attack("an endless header", endless_header, BAD),
        Attack("an endless request target", endless_target, BAD | {"HTTP 414"}),
        Attack("endless bodies", endless_bodies, BAD),
        Attack("endless bodies of a refused path", endless_refused_bodies, BAD),
        Attack("one-byte chunks without end", one_byte_chunks, BAD),
        Attack("endless chunk extensions", endless_extensions, BAD),
        Attack("endless trailers", endless_trailers, BAD | {"ok"}),
        Attack("large unfinished bodies on 300 connections", unfinished_bodies, ENDS | {"HTTP 408", "HTTP 503"}),
        Attack("3,000 idle connections", idle_connections, ENDS | {"HTTP 503"}),
        Attack("3,000 connections, each answered once", answered_connections, ENDS | {"HTTP 503", "HTTP 503 -32005"}),
        Attack("connections opened and dropped", dropped_connections, frozenset({"dropped"})),
        Attack("a thousand requests at once on a connection", pipelined, frozenset({"ok", "closed"})),
        Attack("requests without Host, pipelined", pipelined_without_host, BAD),
        Attack("calls pipelined on 60 connections", pipelined_calls, frozenset({"ok", "closed"})),
        Attack("pages pipelined on 60 connections", pipelined_pages, BAD | {"ok"}),
        Attack("13 MB responses that nobody reads", unread_proofs, ENDS),
        Attack("pipelined calls whose responses nobody reads", unread_calls, ENDS),
    ]


async def slow_bodies(target: Target, seconds: float) -> Counter[str]:
    """Send a byte of a body each half second."""
    begun = target.http(CHAIN_ID)[: -len(CHAIN_ID)] + CHAIN_ID[:1]
    return await dripping(begun, b" ")(target, seconds)


async def slow_heads(target: Target, seconds: float) -> Counter[str]:
    """Send a header each half second."""
    return await dripping(target.head, b"X-More: 1\r\n")(target, seconds)


async def slow_first_lines(target: Target, seconds: float) -> Counter[str]:
    """Send a byte of the method each half second."""
    return await dripping(b"P", b"O")(target, seconds)


async def unfinished_bodies(target: Target, seconds: float) -> Counter[str]:
    """Send most of a large body on many connections, and then a byte each half second."""
    return await dripping(target.head + b"Content-Length: 1000000\r\n\r\n" + b" " * HALF_SIZE, b" ")(target, seconds)


async def endless_heads(target: Target, seconds: float) -> Counter[str]:
    """Send headers without end."""
    return await flooding(target.head, b"X-More: " + b"a" * 8_000 + b"\r\n")(target, seconds)


async def endless_header(target: Target, seconds: float) -> Counter[str]:
    """Send one header without end."""
    return await flooding(target.head + b"X-More: ", b"a" * 8_000)(target, seconds)


async def endless_target(target: Target, seconds: float) -> Counter[str]:
    """Send a request line without end."""
    return await flooding(b"GET /", b"a" * 8_000)(target, seconds)


async def endless_bodies(target: Target, seconds: float) -> Counter[str]:
    """Send a chunked body without end."""
    head = target.head + b"Transfer-Encoding: chunked\r\n\r\n"
    return await flooding(head, b"2000\r\n" + b" " * 8_192 + b"\r\n")(target, seconds)


async def endless_refused_bodies(target: Target, seconds: float) -> Counter[str]:
    """Send a chunked body without end to a path that does not exist."""
    head = target.head.replace(b"POST /", b"POST /nothing/", 1) + b"Transfer-Encoding: chunked\r\n\r\n"
    return await flooding(head, b"2000\r\n" + b" " * 8_192 + b"\r\n")(target, seconds)


async def one_byte_chunks(target: Target, seconds: float) -> Counter[str]:
    """Send chunks of one byte without end."""
    return await flooding(target.head + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n" * 1_300)(target, seconds)


async def endless_extensions(target: Target, seconds: float) -> Counter[str]:
    """Send a chunk extension without end."""
    return await flooding(target.head + b"Transfer-Encoding: chunked\r\n\r\n1;", b"a" * 8_000)(target, seconds)


async def endless_trailers(target: Target, seconds: float) -> Counter[str]:
    """Send trailers without end."""
    head = target.head + b"Transfer-Encoding: chunked\r\n\r\n0\r\n"
    return await flooding(head, b"a:b\r\n" * 1_600)(target, seconds)


async def idle_connections(target: Target, seconds: float) -> Counter[str]:
    """Open connections that send nothing."""
    return await idling(b"")(target, seconds)


async def answered_connections(target: Target, seconds: float) -> Counter[str]:
    """Open connections that send one request, and then nothing."""
    return await idling(target.http(CHAIN_ID))(target, seconds)


async def pipelined_calls(target: Target, seconds: float) -> Counter[str]:
    """Send as many calls at once as a quarter of a megabyte holds, on many connections."""
    return await stuffing(target.http(CHAIN_ID))(target, seconds)


async def pipelined_pages(target: Target, seconds: float) -> Counter[str]:
    """Send requests for a path that does not exist, on many connections."""
    return await stuffing(b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")(target, seconds)


async def pipelined_without_host(target: Target, seconds: float) -> Counter[str]:
    """Send requests that HTTP/1.1 does not allow, on many connections."""
    return await stuffing(b"GET /nothing HTTP/1.1\r\n\r\n")(target, seconds)


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


async def pipelined(target: Target, seconds: float) -> Counter[str]:
    """Send a thousand requests before the first response is read, again and again, on four connections."""
    until, requests = time.perf_counter() + seconds, target.http(CHAIN_ID) * 1_000

    async def again() -> Counter[str]:
        ends = Counter[str]()
        while time.perf_counter() < until:
            connection = target.connection()
            try:
                reader, writer = await connection.opened()
                writer.write(requests)
                for _ in range(1_000):
                    ends[(await connection.answer(reader)).outcome] += 1
            except GONE:
                ends["closed"] += 1
            finally:
                connection.abort()
        return ends

    return summed(await asyncio.gather(*(again() for _ in range(4))))


async def unread_proofs(target: Target, seconds: float) -> Counter[str]:
    """Ask for the largest responses, and read nothing."""
    return await unread(target, seconds, target.post("rollup_getProof", *WHOLE_PROOF))


async def unread_calls(target: Target, seconds: float) -> Counter[str]:
    """Send many requests at once, and read nothing."""
    return await unread(target, seconds, target.post("eth_getBlockByNumber", "latest", False) * 1_000)


async def unread(target: Target, seconds: float, requests: bytes) -> Counter[str]:
    """Open connections, four at a time, that send requests and read nothing."""
    until, connections = time.perf_counter() + seconds, list[Connection]()

    async def again() -> None:
        while time.perf_counter() < until:
            connection = target.connection()
            connections.append(connection)
            try:
                _, writer = await connection.opened()
                writer.transport.pause_reading()  # type: ignore[attr-defined]
                writer.write(requests)
            except GONE:
                pass
            await asyncio.sleep(0.2)

    await asyncio.gather(*(again() for _ in range(4)))
    for connection in connections:
        connection.abort()
    return Counter(open=len(connections))


def dripping(first: bytes, more: bytes) -> Throw:
    """Keep many connections on which a little comes every half second."""

    async def one(target: Target, until: float) -> str:
        connection = target.connection()
        try:
            reader, writer = await connection.opened()
            writer.write(first)
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


def flooding(first: bytes, more: bytes) -> Throw:
    """Keep four connections on which a request never ends, sent as fast as it is accepted."""

    async def one(target: Target) -> str:
        connection, until = target.connection(), time.perf_counter() + FLOOD_SECONDS
        try:
            reader, writer = await connection.opened()
            writer.write(first)
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
        return summed(await asyncio.gather(*(again(target, until) for _ in range(4))))

    return throw


def idling(first: bytes) -> Throw:
    """Keep many connections open, with one request on each at most; they open within a second."""

    async def one(target: Target, number: int, until: float) -> str:
        connection = target.connection()
        try:
            await asyncio.sleep(number / IDLE)
            reader, writer = await connection.opened()
            if first:
                writer.write(first)
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


def stuffing(request: bytes) -> Throw:
    """Send requests of a quarter of a megabyte at once on sixty connections, and read the responses."""

    async def one(target: Target, until: float) -> Counter[str]:
        ends = Counter[str]()
        while time.perf_counter() < until:
            connection = target.connection()
            try:
                reader, writer = await connection.opened()
                writer.write(request * (STUFFING // len(request)))
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
        return summed(await asyncio.gather(*(one(target, until) for _ in range(STUFFED))))

    return throw
