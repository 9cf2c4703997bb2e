"""uvicorn's protocols with additional limits: on time, on open connections, and on the bytes read at a time.

A connection is closed if a request does not arrive in time, or if the client does not read an answer in time. Each
connection reads a limited number of bytes before other connections have their turn; the remaining bytes stay in the
kernel's buffer.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from feemodel.server.settings import Settings

HEAD_BYTES = 65_536  # maximum size of request line and headers; a request may exceed `body_limit` by this much [byte]
HEADERS = 100  # maximum number of headers of a request
LOOK = 0.5  # maximum pause between two checks of the connections [s]
HEAD_SLICE = 1_024  # bytes of a request's head that are read before other connections have their turn
FRAME_SLICE = 256  # bytes read at a time from a WebSocket; few, because two bytes can be a whole frame
SLICE = 4_096  # bytes read at a time of the body of a request or frame; many, because they are only stored
FRAMES = 256  # maximum number of WebSocket frames in `FRAME_SECONDS`, plus one for each `FRAME_BYTES` received
FRAME_SECONDS, FRAME_BYTES = 10.0, 32
UNSENT = 48 << 20  # maximum size of all unread answers [byte]; beyond it, the longest-waiting connections are closed
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_BUFFER = memoryview(bytearray(SLICE))  # shared by all connections, because received bytes are copied immediately


class Connections:
    """The open connections of a worker.

    Parameters
    ----------
    limits : settings with the maximum number of connections, and the maximum times for a request and for reading.
    """

    def __init__(self, limits: Settings) -> None:
        self.limits = limits
        self.open: dict[asyncio.BaseTransport, Connection] = {}  #: open connections, by time of the last received data
        self.websockets = 0

    def has_room(self) -> bool:
        """Return whether another connection may open; if necessary, closes the connection that was idle for longest."""
        if len(self.open) < self.limits.connections:
            return True
        idle = next((one for one in self.open.values() if one.protocol.is_idle), None)
        if idle is not None:
            del self.open[idle.transport]
            idle.transport.abort()
        return idle is not None

    def limit_unsent(self) -> None:
        """Close connections with the oldest unread answers until all unread answers take at most `UNSENT` bytes."""
        waiting = [(one.unread_since, one) for one in self.open.values() if one.unread_since is not None]
        waiting.sort(key=lambda pair: pair[0])
        size = sum(one.transport.get_write_buffer_size() for _, one in waiting)
        for _, one in waiting[:-1]:
            if size > UNSENT:
                size -= one.transport.get_write_buffer_size()
                one.transport.abort()

    async def watch(self) -> None:
        """Repeatedly close the connections that take too long, until cancelled."""
        while True:
            await asyncio.sleep(min(LOOK, self.limits.body_seconds / 4, self.limits.write_seconds / 4))
            for one in list(self.open.values()):
                one.end_if_late()


class Connection(asyncio.BufferedProtocol):
    """A connection that passes received data to one of uvicorn's protocols.

    Parameters
    ----------
    kind : class of the protocol, `Http` or `WebSocket`.
    options : keyword arguments of the protocol's constructor.
    """

    transport: asyncio.Transport

    def __init__(self, kind: "Callable[..., Http | WebSocket]", **options: Any) -> None:
        self.protocol, self._loop = kind(**options), asyncio.get_running_loop()
        self._all = self.protocol.of_worker
        self._slice = 0  # number of bytes requested by the last read
        self.unread_since: float | None = None  #: time at which the client stopped reading

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport
        # A connection that was upgraded to a WebSocket is in `open` already, because the connection began as HTTP.
        has_room = transport in self._all.open or self._all.has_room()
        self.protocol.connection_made(transport)
        if has_room:
            self._all.open[transport] = self
        else:
            refuse(transport, b"503 Service Unavailable")

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.open.pop(self.transport, None)
        self.protocol.connection_lost(exc)

    def get_buffer(self, sizehint: int) -> memoryview:
        self._slice = self.protocol.slice
        return _BUFFER[: self._slice]

    def buffer_updated(self, nbytes: int) -> None:
        self.data_received(bytes(_BUFFER[:nbytes]))
        if nbytes == self._slice and not self.transport.is_closing():  # a full buffer: more data may follow
            self.transport.pause_reading()
            self._loop.call_soon(self._resume)

    def data_received(self, data: bytes) -> None:
        """Process bytes from the client. uvicorn also passes the first bytes of a WebSocket to this method."""
        if self._all.open.pop(self.transport, None) is not None:
            self._all.open[self.transport] = self  # moves the connection to the end of `open`
            if self.protocol.reading_since is None:
                self.protocol.reading_since = self._loop.time()
            self.protocol.data_received(data)

    def _resume(self) -> None:
        if not self.protocol.is_read_paused and self.unread_since is None and not self.transport.is_closing():
            self.transport.resume_reading()

    def end_if_late(self) -> None:
        """Close the connection if its client sends or reads too slowly."""
        now, limits, since = self._loop.time(), self._all.limits, self.protocol.reading_since
        if since is not None and self.protocol.is_read_paused:
            self.protocol.reading_since = since = now  # reading is paused while the client waits for an answer
        is_slow = since is not None and now - since > limits.body_seconds
        if is_slow or (self.unread_since is not None and now - self.unread_since > limits.write_seconds):
            self.transport.abort()

    def pause_writing(self) -> None:
        self.unread_since = self._loop.time()
        self.transport.pause_reading()
        self.protocol.pause_writing()
        self._all.limit_unsent()

    def resume_writing(self) -> None:
        self.unread_since = None
        self.protocol.resume_writing()
        self._resume()


class Http(HttpToolsProtocol):
    """HTTP protocol with limits on the size and the headers of each request."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.of_worker: Connections = self.config.loaded_app.connections
        self.reading_since: float | None = self.loop.time()  #: start time of the request that is being read
        self._request_bytes, self._is_head = 0, True  # state of the request that is being read

    @property
    def is_idle(self) -> bool:
        """Whether no request is being read or answered."""
        return self._request_bytes == 0 and (self.cycle is None or self.cycle.response_complete)

    @property
    def slice(self) -> int:
        """Maximum number of bytes to read next."""
        return HEAD_SLICE if self._is_head else SLICE

    @property
    def is_read_paused(self) -> bool:
        """Whether uvicorn has paused reading."""
        return self.flow.read_paused

    def data_received(self, data: bytes) -> None:
        self._request_bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._is_head and self._request_bytes > HEAD_BYTES:
            refuse(self.transport, b"431 Request Header Fields Too Large")
        elif self._request_bytes > self.of_worker.limits.body_limit + HEAD_BYTES:
            refuse(self.transport, b"413 Content Too Large")

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._is_head:
            return  # ignore trailers
        if len(self.headers) >= HEADERS:
            raise ValueError(f"expected at most {HEADERS} headers")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._is_head = False
        if not self.url.startswith(b"/"):  # the host of a full URL would replace the checked Host header
            raise ValueError("expected a path as the target of a request")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._request_bytes, self._is_head, self.reading_since = 0, True, None
        super().on_message_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        if cycle.scope["method"] != "HEAD":  # an answer to HEAD has no body
            cycle.transport = Answer(self.transport)  # type: ignore[assignment]
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.pipeline and not self.transport.is_closing():
            self.flow.pause_reading()  # stop reading until the requests that were read are answered

    def handle_websocket_upgrade(self) -> None:
        if self.of_worker.websockets < self.of_worker.limits.websockets:
            super().handle_websocket_upgrade()
        else:
            refuse(self.transport, b"503 Service Unavailable")


class Answer:
    """Transport for one answer, which sends the head together with the first bytes of the body.

    uvicorn writes head and body separately, and uvloop would send them in two packets, which wake the client twice.

    Parameters
    ----------
    transport : transport of the connection.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport, self._head, self._started = transport, b"", False
        self.is_closing, self.close = transport.is_closing, transport.close

    def write(self, data: bytes) -> None:
        """Send data; the head of a response is held back and sent together with the next data."""
        if self._started:
            self._transport.writelines((self._head, data))
            self._head = b""
        elif data == CONTINUE:
            self._transport.write(data)
        else:
            self._head, self._started = data, True


class WebSocket(WebSocketsSansIOProtocol):
    """WebSocket protocol with limits on the number of frames and on unread answers."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.of_worker: Connections = self.config.loaded_app.connections
        self.of_worker.websockets += 1
        self.reading_since: float | None = None  #: start time of the message that is being read
        self.is_idle = False  #: a WebSocket is never closed to make room for another connection
        self._counted_since, self._frames, self._bytes = self.loop.time(), 0, 0

    @property
    def slice(self) -> int:
        """Maximum number of bytes to read next."""
        return SLICE if len(self.conn.reader.buffer) >= FRAME_SLICE else FRAME_SLICE

    @property
    def is_read_paused(self) -> bool:
        """Whether uvicorn has paused reading."""
        return self.read_paused

    def data_received(self, data: bytes) -> None:
        self._bytes += len(data)
        super().data_received(data)
        if not self.frames and not self.conn.reader.buffer:
            self.reading_since = None

    def handle_events(self) -> None:
        now = self.loop.time()
        if now - self._counted_since > FRAME_SECONDS:
            self._counted_since, self._frames, self._bytes = now, 0, 0
        self._frames += len(self.conn.events)
        if self._frames > FRAMES + self._bytes // FRAME_BYTES:
            self.transport.abort()
        else:
            super().handle_events()

    async def receive(self) -> Any:
        await self.writable.wait()  # send an answer only after the client has read the previous answer
        return await super().receive()

    def connection_lost(self, exc: Exception | None) -> None:
        self.of_worker.websockets -= 1
        while not self.queue.empty():  # discard the unanswered messages of the disconnected client
            self.queue.get_nowait()
        super().connection_lost(exc)


#: Functions that create a connection, for uvicorn's options `http` and `ws`.
http, websocket = partial(Connection, Http), partial(Connection, WebSocket)


def refuse(transport: asyncio.Transport, status: bytes) -> None:
    """Send a response with this HTTP status, and close the connection."""
    transport.write(b"HTTP/1.1 %b\r\nretry-after: 5\r\ncontent-length: 0\r\nconnection: close\r\n\r\n" % status)
    transport.close()
