"""uvicorn's protocols with the limits that uvicorn does not have: on time, on connections and on small frames.

A connection is closed when its request does not arrive in time, when it is idle, and when its client does not read an
answer. One task looks at all connections of a worker.
"""

import asyncio
from asyncio.transports import BaseTransport
from collections.abc import Callable
from typing import Any

import msgspec
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

HEAD_BYTES = 65_536  # of a request's first line and headers, and of the framing of a body
HEADERS = 100  # of a request
LOOK = 0.5  # pause between two looks at the connections [s]
SLICE = 4_096  # bytes of a body that are parsed before other connections have their turn
HEAD_SLICE = 1_024  # the same of a first line and headers
PIPELINED_SLICE = 128  # the same of a connection that sends requests before it has read responses
WEBSOCKET_SLICE = 512
FRAMES = 256  # control frames, small fragments and tiny messages of a WebSocket in `FRAME_SECONDS`
FRAME_SECONDS = 10.0
TINY = 16  # bytes of a message that cannot be a request
SMALL = 1_024  # bytes of a fragment


class ConnectionLimits(msgspec.Struct, frozen=True):
    """Limits on the connections of a worker."""

    connections: int = 1_000
    websockets: int = 64
    request_bytes: int = 1 << 20  #: of a request's body
    idle_seconds: float = 15.0
    read_seconds: float = 10.0  #: for a whole request
    write_seconds: float = 20.0  #: in which a client must read something of an answer


class Connections:
    """The open connections of a worker.

    Parameters
    ----------
    limits : on them.
    """

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.http: set[Http] = set()
        self.idle: dict[Http, None] = {}  #: those without a request, the longest idle first
        self.websockets: set[WebSocket] = set()

    def has_room(self) -> bool:
        """Return whether there is room for one more, after the longest idle connection was closed if needed."""
        if len(self.http) + len(self.websockets) < self.limits.connections:
            return True
        idle = next(iter(self.idle), None)
        if idle is None:
            return False
        self.forget(idle)
        idle.transport.abort()
        return True

    def forget(self, one: "Http") -> None:
        """Count a connection no more."""
        self.http.discard(one)
        self.idle.pop(one, None)

    async def watch(self) -> None:
        """Close connections that take too long, for ever."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(min(LOOK, self.limits.read_seconds / 4, self.limits.idle_seconds / 4))
            now = loop.time()
            connections: list[Http | WebSocket] = [*self.http, *self.websockets]
            for one in connections:
                if one.is_late(now, self.limits):
                    one.transport.abort()


class _Sliced:
    """Bytes that are parsed in slices, so that other connections have their turn in between.

    Parameters
    ----------
    parse : takes one slice.
    may_parse : whether the next slice may be parsed now.
    size : bytes of a slice.
    """

    def __init__(self, parse: Callable[[bytes], None], may_parse: Callable[[], bool], size: int) -> None:
        self._parse, self._may_parse, self.size = parse, may_parse, size
        self._left, self._at, self._is_scheduled = b"", 0, False  # bytes, and how many of them are parsed

    def feed(self, data: bytes) -> None:
        """Parse the first slice now, and the others later."""
        self._left, self._at = self._left[self._at :] + data if self._left else data, 0
        if not self._is_scheduled:
            self.resume()

    def resume(self) -> None:
        """Parse the next slice if that may be."""
        self._is_scheduled = False
        if self._left and self._may_parse():
            start, self._at = self._at, self._at + self.size
            data = self._left[start : self._at]
            if self._at >= len(self._left):
                self._left, self._at = b"", 0
            self._parse(data)
            if self._left:
                self._is_scheduled = True
                asyncio.get_running_loop().call_soon(self.resume)

    def __bool__(self) -> bool:
        return bool(self._left)

    def clear(self) -> None:
        """Forget what is not parsed."""
        self._left, self._at = b"", 0


class _Flow(FlowControl):
    """Reads on only when everything that was received is parsed: a request that is answered or read ends no pause.

    Parameters
    ----------
    transport : of the connection.
    received : what is not parsed.
    """

    def __init__(self, transport: asyncio.Transport, received: _Sliced) -> None:
        super().__init__(transport)
        self._received = received

    def resume_reading(self) -> None:
        if not self._received:
            super().resume_reading()


class Http(HttpToolsProtocol):
    """One connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.open: Connections = self.config.loaded_app.connections
        self.active_at = self.loop.time()  #: when it last received something or ended an answer
        self.reading_since: float | None = None  #: of a request that has not arrived as a whole
        self.paused_at: float | None = None  #: when the client stopped reading
        self.request_bytes, self.is_head = 0, True  #: of the request that is being read
        self.is_pipelined = False
        self.received = _Sliced(self._parse, self._may_parse, HEAD_SLICE)
        self.flow = _Flow(transport, self.received)
        if self.open.has_room():
            self.open.http.add(self)
            self._note_idle()
        else:
            self._refuse(b"503 Service Unavailable", b"retry-after: 1\r\n")

    def connection_lost(self, exc: Exception | None) -> None:
        self.open.forget(self)
        self.received.clear()
        super().connection_lost(exc)

    @property
    def is_idle(self) -> bool:
        """Whether no request is being read or answered."""
        return self.reading_since is None and (self.cycle is None or self.cycle.response_complete)

    def _note_idle(self) -> None:
        """Tell whether the connection is idle, after each change of that."""
        self.open.idle.pop(self, None)
        if self.is_idle and self in self.open.http:
            self.open.idle[self] = None

    def is_late(self, now: float, limits: ConnectionLimits) -> bool:
        """Return whether the connection must be closed."""
        if self.paused_at is not None and now - self.paused_at > limits.write_seconds:
            return True
        if self.reading_since is not None and not self.pipeline:
            return now - self.reading_since > limits.read_seconds
        return self.is_idle and now - self.active_at > limits.idle_seconds

    def data_received(self, data: bytes) -> None:
        self.received.feed(data)
        if self.received:
            self.flow.pause_reading()

    def _may_parse(self) -> bool:
        return not self.pipeline and not self.flow.write_paused and not self.transport.is_closing()

    def _parse(self, data: bytes) -> None:
        if self.reading_since is None:
            self.reading_since = self.loop.time()
            self._note_idle()
        self.request_bytes += len(data)
        super().data_received(data)
        if self.pipeline:
            self.is_pipelined = True
        self.received.size = PIPELINED_SLICE if self.is_pipelined else HEAD_SLICE if self.is_head else SLICE
        if self.transport.is_closing():
            return
        if self.is_head and self.request_bytes > HEAD_BYTES:
            self._refuse(b"431 Request Header Fields Too Large")
        elif self.request_bytes > self.open.limits.request_bytes + HEAD_BYTES:
            self._refuse(b"413 Content Too Large")
        elif not self.received and not self.pipeline:
            self.flow.resume_reading()

    def on_message_begin(self) -> None:
        self.is_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.is_head:
            return  # a trailer
        if len(self.headers) >= HEADERS:
            raise ValueError(f"expected at most {HEADERS} headers")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self.is_head = False
        if not self.url.startswith(b"/"):  # the host of an absolute target counts, and not the header that is checked
            raise ValueError("expected a path as the target of a request")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self.request_bytes, self.is_head, self.reading_since = 0, True, None
        super().on_message_complete()
        self._note_idle()

    def on_response_complete(self) -> None:
        self.active_at = self.loop.time()
        super().on_response_complete()
        self._note_idle()
        if self.received:
            self.flow.pause_reading()
            self.loop.call_soon(self.received.resume)

    def handle_websocket_upgrade(self) -> None:
        self.open.forget(self)
        self.received.clear()
        if len(self.open.websockets) >= self.open.limits.websockets:
            self._refuse(b"503 Service Unavailable", b"retry-after: 5\r\n")
        else:
            super().handle_websocket_upgrade()

    def pause_writing(self) -> None:
        self.paused_at = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        self.paused_at = None
        super().resume_writing()
        self.received.resume()

    def _refuse(self, status: bytes, headers: bytes = b"") -> None:
        self.received.clear()
        self.transport.write(b"HTTP/1.1 %b\r\n%bcontent-length: 0\r\nconnection: close\r\n\r\n" % (status, headers))
        self.transport.close()


class WebSocket(WebSocketsSansIOProtocol):
    """One WebSocket."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.open: Connections = self.config.loaded_app.connections
        self.reading_since: float | None = None  #: of a message that has not arrived as a whole
        self.paused_at: float | None = None  #: when the client stopped reading
        self.counted_since, self.counted = self.loop.time(), 0
        self.received = _Sliced(self._parse, self._may_parse, WEBSOCKET_SLICE)

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)
        self.open.websockets.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.open.websockets.discard(self)
        self.received.clear()
        super().connection_lost(exc)

    def is_late(self, now: float, limits: ConnectionLimits) -> bool:
        """Return whether the connection must be closed."""
        if self.paused_at is not None and now - self.paused_at > limits.write_seconds:
            return True
        return self.reading_since is not None and now - self.reading_since > limits.read_seconds

    def data_received(self, data: bytes) -> None:
        self.received.feed(data)
        if self.received:
            self._pause()

    def _may_parse(self) -> bool:
        return self.queue.empty() and not self.transport.is_closing()

    def _pause(self) -> None:
        if not self.read_paused:
            self.read_paused = True
            self.transport.pause_reading()

    def _parse(self, data: bytes) -> None:
        if self.reading_since is None:
            self.reading_since = self.loop.time()
        super().data_received(data)
        if not self.frames and not self.conn.reader.buffer:
            self.reading_since = None
        # In the middle of a large frame there is nothing to do for a slice but to keep it.
        self.received.size = SLICE if len(self.conn.reader.buffer) >= SLICE else WEBSOCKET_SLICE
        if not self.received and self.queue.empty() and self.read_paused and not self.transport.is_closing():
            self.read_paused = False
            self.transport.resume_reading()

    async def receive(self) -> Any:
        message = await self.queue.get()
        if self.queue.empty():
            if self.received:
                self.loop.call_soon(self.received.resume)
            elif self.read_paused and not self.transport.is_closing():
                self.read_paused = False
                self.transport.resume_reading()
        return message

    def handle_ping(self) -> None:
        self._count()
        super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        self._count()
        super().handle_pong(event)

    def handle_cont(self, event: Frame) -> None:
        if len(event.data) < SMALL:
            self._count()
        super().handle_cont(event)

    def handle_text(self, event: Frame) -> None:
        if len(event.data) < TINY:
            self._count()
        super().handle_text(event)

    def handle_bytes(self, event: Frame) -> None:
        if len(event.data) < TINY:
            self._count()
        super().handle_bytes(event)

    def _count(self) -> None:
        """Close a connection that sends too many frames which cannot be requests."""
        now = self.loop.time()
        if now - self.counted_since > FRAME_SECONDS:
            self.counted_since, self.counted = now, 0
        self.counted += 1
        if self.counted > FRAMES:
            self.received.clear()
            self.transport.abort()

    def pause_writing(self) -> None:
        self.paused_at = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        self.paused_at = None
        super().resume_writing()
