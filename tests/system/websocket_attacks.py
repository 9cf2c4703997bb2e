"""Attacks over WebSocket: control frames, fragments, unfinished and oversized messages, clients that read nothing."""

import asyncio
import struct
import time
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress

from tests.system.attack import Attack, Throw, ending
from tests.system.client import GONE, Connection, Target, rpc, summed
from tests.system.http_attacks import WHOLE_PROOF

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
MASK = b"\x00\x00\x00\x00"  # a mask of zeros leaves the payload as it is
SOCKETS = 60
UNFINISHED, UNFINISHED_SIZE = 400, 2 << 20  # connections, and bytes of a message on each that does not end
IDLE = 1_500  # connections
FLOOD = 100 << 20  # bytes on each connection after which a flood ends by itself
ENDS = frozenset({"closed", "open", "HTTP 503"})

Reader, Writer = asyncio.StreamReader, asyncio.StreamWriter
Act = Callable[[Reader, Writer, float], Awaitable[None]]  # what is done on a WebSocket until some time


def frame(payload: bytes, opcode: int = TEXT, *, final: bool = True, size: int | None = None, bits: int = 0) -> bytes:
    """Return a masked frame; `size` is the announced length if that is not the payload's."""
    announced = len(payload) if size is None else size
    first = (0x80 if final else 0) | bits | opcode
    if announced < 126:
        head = struct.pack("!BB", first, 0x80 | announced)
    elif announced < 1 << 16:
        head = struct.pack("!BBH", first, 0x80 | 126, announced)
    else:
        head = struct.pack("!BBQ", first, 0x80 | 127, announced)
    return head + MASK + payload


def handshake(target: Target, more: str = "") -> bytes:
    """Return the request that opens a WebSocket."""
    return (
        f"GET {target.path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n{more}\r\n"
    ).encode()


async def opened(connection: Connection, target: Target, more: str = "") -> tuple[Reader, Writer, str]:
    """Open a WebSocket and return its streams and the head of the response; raises `ConnectionError` if refused."""
    reader, writer = await connection.opened()
    writer.write(handshake(target, more))
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    if not head.startswith("HTTP/1.1 101"):
        raise ConnectionRefusedError(f"HTTP {head[9:12]}")
    return reader, writer, head


async def sockets(target: Target, seconds: float, many: int, act: Act, more: str = "") -> Counter[str]:
    """Open many WebSockets, act on each, and return how each one ended."""
    until = time.perf_counter() + seconds

    async def one() -> str:
        connection = target.connection()
        try:
            reader, writer, _ = await opened(connection, target, more)
            acting = asyncio.create_task(_quietly(act(reader, writer, until)))
            ended = asyncio.create_task(ending(reader, until))
            await asyncio.wait({acting, ended}, return_when=asyncio.FIRST_COMPLETED, timeout=seconds + 5)
            result = await ended
            acting.cancel()
            return result
        except ConnectionRefusedError as error:
            return str(error) if str(error) == "HTTP 503" else "closed"
        except (*GONE, RuntimeError):
            return "closed"
        finally:
            connection.abort()

    return Counter(await asyncio.gather(*(one() for _ in range(many))))


async def _quietly(acting: Awaitable[None]) -> None:
    with suppress(*GONE, RuntimeError):
        await acting


def again(data: bytes) -> Act:
    """Send the same bytes without end, as fast as they are accepted."""

    async def act(reader: Reader, writer: Writer, until: float) -> None:
        for _ in range(FLOOD // len(data)):
            if time.perf_counter() > until or writer.is_closing():
                break
            writer.write(data)
            await writer.drain()
            await asyncio.sleep(0)

    return act


def once(data: bytes) -> Act:
    """Send bytes once, and keep the connection."""

    async def act(reader: Reader, writer: Writer, until: float) -> None:
        writer.write(data)
        await writer.drain()
        await asyncio.sleep(max(until - time.perf_counter(), 0))

    return act


def unreading(data: bytes) -> Act:
    """Send bytes without end, and read nothing."""
    send = again(data)

    async def act(reader: Reader, writer: Writer, until: float) -> None:
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        async with asyncio.timeout(max(until - time.perf_counter(), 0.01)):
            await send(reader, writer, until)
            await asyncio.sleep(max(until - time.perf_counter(), 0))

    async def quietly(reader: Reader, writer: Writer, until: float) -> None:
        with suppress(TimeoutError):
            await act(reader, writer, until)

    return quietly


def fragments(payload: bytes, times: int, longer: float = 0.0) -> Act:
    """Send a message of fragments without end."""
    act = again(frame(payload, CONTINUATION, final=False) * times)

    async def begun(reader: Reader, writer: Writer, until: float) -> None:
        writer.write(frame(payload[:1], TEXT, final=False))
        await act(reader, writer, until + longer)

    return begun


def websocket_attacks() -> list[Attack]:
    """Return every attack over WebSocket; "open" is a connection that was open at the end."""
    quarter, whole = b" " * (UNFINISHED_SIZE // 4), frozenset({"closed", "HTTP 503"})
    unfinished = frame(quarter, TEXT, final=False) + frame(quarter, CONTINUATION, final=False) * 3
    logs = {"address": ["0x" + f"{index:040x}" for index in range(100)]}
    subscribed = frame(rpc("eth_subscribe", "newHeads")) + frame(rpc("eth_subscribe", "logs", logs))
    block, proof = frame(rpc("eth_getBlockByNumber", "latest", False)), frame(rpc("rollup_getProof", *WHOLE_PROOF))
    return [
        Attack("pings on 60 connections", on_sockets(again(frame(b"", PING) * 4_000)), ENDS),
        Attack("pongs on 60 connections", on_sockets(again(frame(b"x" * 125, PONG) * 500)), ENDS),
        Attack("large pings whose pongs nobody reads", on_sockets(unreading(frame(b"x" * 125, PING) * 500)), ENDS),
        Attack("empty fragments without end", on_sockets(fragments(b"", 4_000)), ENDS),
        Attack("one-byte fragments without end", on_sockets(fragments(b" ", 4_000)), ENDS),
        Attack("empty messages without end", on_sockets(again(frame(b"", TEXT) * 2_000)), ENDS),
        Attack("unfinished messages on 400 connections", on_sockets(once(unfinished), UNFINISHED), ENDS),
        Attack(
            "unfinished frames on 400 connections",
            on_sockets(once(frame(b" " * 1_000_000, TEXT, size=1_000_100)), UNFINISHED),
            ENDS,
        ),
        Attack("oversized frames", oversized_frames, whole),
        Attack("an endless message", on_sockets(fragments(b" " * 65_536, 1, 5.0), longer=5.0), whole),
        Attack("compressed messages", compressed_messages, whole),
        Attack("frames that the protocol forbids", forbidden_frames, whole),
        Attack("calls whose responses nobody reads", on_sockets(unreading(block * 200)), ENDS),
        Attack("13 MB responses that nobody reads, WebSocket", on_sockets(unreading(proof * 8)), ENDS),
        Attack("13 MB responses that are read, WebSocket", on_sockets(again(proof)), ENDS),
        Attack("subscriptions without end", on_sockets(again(subscribed * 20)), ENDS),
        Attack("1,500 idle WebSockets", on_sockets(once(b""), IDLE), ENDS),
        Attack("WebSockets opened and dropped", dropped_sockets, ENDS),
        Attack("unfinished handshakes", unfinished_handshakes, ENDS | {"HTTP 400", "HTTP 408"}),
    ]


def on_sockets(act: Act, many: int = SOCKETS, longer: float = 0.0) -> Throw:
    """Act on many WebSockets, for some seconds longer than asked for."""

    async def throw(target: Target, seconds: float) -> Counter[str]:
        return await sockets(target, seconds + longer, many, act)

    return throw


async def oversized_frames(target: Target, seconds: float) -> Counter[str]:
    """Announce frames of two mebibytes, of a terabyte, and of more than the protocol allows, and send some of it."""
    ends = Counter[str]()
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        for size in (2 << 20, 1 << 40, 1 << 63):
            ends += await sockets(
                target, seconds + 5, 8, once(frame(b" " * 65_536, TEXT, size=size) + b" " * (2 << 20))
            )
    return ends


async def compressed_messages(target: Target, seconds: float) -> Counter[str]:
    """Offer compression and send 64 MiB of blanks in 64 KiB, whether the server has agreed to it or not."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(b" " * (64 << 20)) + packer.flush(zlib.Z_SYNC_FLUSH)
    ends, until = Counter[str](), time.perf_counter() + seconds
    while time.perf_counter() < until:
        act = once(frame(packed[:-4], TEXT, bits=0x40))
        ends += await sockets(target, 10, 8, act, "Sec-WebSocket-Extensions: permessage-deflate\r\n")
    return ends


async def forbidden_frames(target: Target, seconds: float) -> Counter[str]:
    """Send frames that end a WebSocket: without mask, long pings, unknown opcodes, reserved bits, invalid text."""
    bad = [
        b"\x81\x02{}",
        frame(b"x" * 126, PING),
        frame(b"", PING, final=False),
        frame(b"", 3),
        frame(b"", 11),
        frame(b"{}", TEXT, bits=0x20),
        frame(b"\xff\xfe", TEXT),
        frame(b"", CONTINUATION),
        frame(b"{", TEXT, final=False) + frame(b"}", TEXT),
        frame(b"\x00", CLOSE),
        frame(struct.pack("!H", 1005), CLOSE),
        frame(struct.pack("!H", 1000) + b"\xff", CLOSE),
    ]
    ends, until = Counter[str](), time.perf_counter() + seconds
    while time.perf_counter() < until:
        ends += summed(await asyncio.gather(*(sockets(target, 10, 4, once(data)) for data in bad)))
    return ends


async def dropped_sockets(target: Target, seconds: float) -> Counter[str]:
    """Open WebSockets, send half a message, and drop the connection."""
    until = time.perf_counter() + seconds

    async def one() -> Counter[str]:
        ends = Counter[str]()
        while time.perf_counter() < until:
            connection = target.connection()
            try:
                _, writer, _ = await opened(connection, target)
                writer.write(frame(b"{", TEXT, final=False))
                ends["open"] += 1
            except (*GONE, RuntimeError):
                ends["closed"] += 1
            finally:
                connection.abort()
        return ends

    return summed(await asyncio.gather(*(one() for _ in range(8))))


async def unfinished_handshakes(target: Target, seconds: float) -> Counter[str]:
    """Send most of the request that opens a WebSocket, on many connections."""
    until = time.perf_counter() + seconds

    async def one() -> str:
        connection = target.connection()
        try:
            reader, writer = await connection.opened()
            writer.write(handshake(target)[:-2])
            return await ending(reader, until)
        except GONE:
            return "closed"
        finally:
            connection.abort()

    return Counter(await asyncio.gather(*(one() for _ in range(300))))
