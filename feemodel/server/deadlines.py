"""uvicorn's protocols with the limits that uvicorn does not have: on time, on connections and on small frames.

A connection is closed when its request does not arrive in time, when it is idle, and when its client does not read an
answer. One task looks at all connections of a worker.
"""

import asyncio
from asyncio.transports import BaseTransport
from typing import Any

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

HEAD_BYTES = 65_536  # of a request's first line and headers
LOOK = 0.5  # pause between two looks at the connections [s]
FRAMES = 1_024  # control frames and fragments of one message of a WebSocket in `FRAME_SECONDS`
FRAME_SECONDS = 10.0
SLICE = 4_096  # bytes of a WebSocket that are read before the frames are counted


class ConnectionLimits(msgspec.Struct, frozen=True):
    """Limits on the connections of a worker."""

    connections: int = 1_000
    websockets: int = 64
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
        self.http: dict[Http, None] = {}  # in the order of their opening
        self.websockets: set[WebSocket] = set()

    def has_room(self) -> bool:
        """Return whether there is room for one more, after the longest idle connection was closed if needed."""
        if len(self.http) + len(self.websockets) < self.limits.connections:
            return True
        idle = min((one for one in self.http if one.is_idle), key=lambda one: one.active_at, default=None)
        if idle is None:
            return False
        self.http.pop(idle)
        idle.transport.abort()
        return True

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


class Http(HttpToolsProtocol):
    """One connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.open: Connections = self.config.loaded_app.connections
        self.active_at = self.loop.time()  #: when it last received something or ended an answer
        self.reading_since: float | None = None  #: of a request that has not arrived as a whole
        self.paused_at: float | None = None  #: when the client stopped reading
        self.head_bytes = 0
        if self.open.has_room():
            self.open.http[self] = None
        else:
            self._refuse(b"503 Service Unavailable", b"retry-after: 1\r\n")

    def connection_lost(self, exc: Exception | None) -> None:
        self.open.http.pop(self, None)
        super().connection_lost(exc)

    @property
    def is_idle(self) -> bool:
        """Whether no request is being read or answered."""
        return self.reading_since is None and (self.cycle is None or self.cycle.response_complete)

    def is_late(self, now: float, limits: ConnectionLimits) -> bool:
        """Return whether the connection must be closed."""
        if self.paused_at is not None and now - self.paused_at > limits.write_seconds:
            return True
        if self.reading_since is not None:
            return now - self.reading_since > limits.read_seconds
        return self.is_idle and now - self.active_at > limits.idle_seconds

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self.reading_since is None:
            self.reading_since = self.loop.time()
        self.head_bytes += len(data)
        super().data_received(data)
        if self.head_bytes > HEAD_BYTES and not self.transport.is_closing():
            self._refuse(b"431 Request Header Fields Too Large")

    def on_headers_complete(self) -> None:
        self.head_bytes = -(1 << 62)  # what follows is the body
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self.head_bytes, self.reading_since = 0, None
        super().on_message_complete()

    def on_response_complete(self) -> None:
        self.active_at = self.loop.time()
        super().on_response_complete()

    def handle_websocket_upgrade(self) -> None:
        self.open.http.pop(self, None)
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

    def _refuse(self, status: bytes, headers: bytes = b"") -> None:
        self.transport.write(b"HTTP/1.1 %b\r\n%bcontent-length: 0\r\nconnection: close\r\n\r\n" % (status, headers))
        self.transport.close()


class WebSocket(WebSocketsSansIOProtocol):
    """One WebSocket."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.open: Connections = self.config.loaded_app.connections
        self.reading_since: float | None = None  #: of a message that has not arrived as a whole
        self.paused_at: float | None = None
        self.counted_since, self.counted = self.loop.time(), 0

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)
        self.open.websockets.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.open.websockets.discard(self)
        super().connection_lost(exc)

    def is_late(self, now: float, limits: ConnectionLimits) -> bool:
        """Return whether the connection must be closed."""
        since = [moment for moment in (self.reading_since,) if moment is not None]
        if self.paused_at is not None and now - self.paused_at > limits.write_seconds:
            return True
        return any(now - moment > limits.read_seconds for moment in since)

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), SLICE):
            if self.transport.is_closing():
                return
            if self.reading_since is None:
                self.reading_since = self.loop.time()
            super().data_received(data[start : start + SLICE])
            if not self.frames and not self.conn.reader.buffer:
                self.reading_since = None

    def handle_ping(self) -> None:
        self._count()
        super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        self._count()
        super().handle_pong(event)

    def handle_cont(self, event: Frame) -> None:
        self._count()
        super().handle_cont(event)

    def _count(self) -> None:
        """Close a connection that sends too many control frames and fragments."""
        now = self.loop.time()
        if now - self.counted_since > FRAME_SECONDS:
            self.counted_since, self.counted = now, 0
        self.counted += 1
        if self.counted > FRAMES:
            self.transport.abort()

    def pause_writing(self) -> None:
        self.paused_at = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        self.paused_at = None
        super().resume_writing()
