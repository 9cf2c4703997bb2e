"""HTTP/1.1 connections from the event loop to a node: kept open, bounded, with answers that can be read in pieces.

`feemodel.io.node.Node` waits in a thread for each call. Calls that are passed on are too many for that.
"""

import asyncio
import os
import socket
import ssl
from collections import deque
from collections.abc import Callable
from functools import lru_cache
from http import HTTPStatus
from time import monotonic
from typing import NamedTuple, cast

import httptools
import urllib3

from feemodel.errors import UpstreamError
from feemodel.io.connections import of_certificate
from feemodel.io.node import node_address

HEAD_LIMIT = 1 << 16  # bytes of an answer before its body
BUFFERED = 1 << 18  # bytes of an answer that wait to be read; beyond, nothing more is taken from the node
KNOWN_HEADS, KNOWN_BYTES = 256, 1_024  # heads of answers that are kept as they were read, and bytes of each
IDLE_SECONDS = 1.0  # after which an idle connection may have been closed by the node


class ConnectionFailed(UpstreamError):
    """A request that was not answered as a whole.

    Parameters
    ----------
    received : whether the node may have acted on the request.
    """

    def __init__(self, reason: str, *, received: bool) -> None:
        self.received = received
        super().__init__(reason)


class NodeConnections:
    """Connections to one node.

    Parameters
    ----------
    url : of the node, see `feemodel.io.node.Node`.

    Belongs to one event loop.
    """

    def __init__(self, url: str) -> None:
        address = node_address(url)
        self._host, tls = str(address.host).strip("[]"), address.scheme == "https"
        self._port = address.port or (443 if tls else 80)
        self._tls = ssl.create_default_context() if tls else None
        fields = {"host": str(address.netloc), "content-type": "application/json", "accept-encoding": "identity"}
        fields |= urllib3.make_headers(basic_auth=address.auth, user_agent="feemodel")
        lines = [f"POST {address.request_uri} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
        self._head = "\r\n".join(lines).encode("latin-1") + b"\r\ncontent-length: %d\r\n\r\n"
        self._idle: list[NodeConnection] = []
        self._is_closed = False

    async def post(
        self, body: bytes, *, changes: bool = False, begun: "NodeConnection | None" = None
    ) -> "NodeConnection":
        """The connection on which a request was sent and the head of its answer has come; `release` it afterwards.

        Parameters
        ----------
        changes : whether the request must not be sent twice.
        begun : the connection on which `begin` has sent the request already.

        Raises `ConnectionFailed`.
        """
        connection = begun or self._idle_connection(changes=changes)
        while connection is not None:
            try:
                await (self._sent(connection, body) if connection is not begun else self._headed(connection))
            except ConnectionFailed:
                if changes:  # the node may have acted on it
                    raise
            else:
                return connection
            connection = self._idle_connection(changes=changes)
        connection = await self._connected()
        await self._sent(connection, body)
        return connection

    def begin(
        self, body: bytes, done: "Callable[[NodeConnection], None]", *, changes: bool = False
    ) -> "NodeConnection | None":
        """Send a request on an idle connection; `None` where there is none.

        Parameters
        ----------
        done : called once when the answer has come as a whole, and where it is long or fails, which `arrived` says.
        changes : as in `post`.
        """
        connection = self._idle_connection(changes=changes)
        if connection is not None:
            connection.send(self._head % len(body) + body, done)
        return connection

    def release(self, connection: "NodeConnection") -> None:
        """Keep a connection whose answer was read as a whole for the next request; close any other."""
        if connection.is_reusable and not self._is_closed:
            connection.idle_since = monotonic()
            self._idle.append(connection)
        else:
            connection.abort()

    def close(self) -> None:
        """Close the idle connections; the others are closed when they are released."""
        self._is_closed = True
        while self._idle:
            self._idle.pop().abort()

    def _idle_connection(self, *, changes: bool) -> "NodeConnection | None":
        while self._idle:
            connection = self._idle.pop()  # the newest, so that others age and are closed by the node
            if connection.is_reusable and not (changes and monotonic() - connection.idle_since > IDLE_SECONDS):
                return connection
            connection.abort()
        return None

    async def _sent(self, connection: "NodeConnection", body: bytes) -> None:
        connection.send(self._head % len(body) + body)
        await self._headed(connection)

    async def _headed(self, connection: "NodeConnection") -> None:
        try:
            await connection.head()
        except BaseException:
            connection.abort()
            raise

    async def _connected(self) -> "NodeConnection":
        try:
            _, connection = await asyncio.get_running_loop().create_connection(
                NodeConnection, self._host, self._port, ssl=self._tls
            )
        except OSError as error:
            raise ConnectionFailed(_reason(error), received=False) from None
        return connection


class NodeConnection(asyncio.Protocol):
    """One connection: a request is sent, then its answer is read, then the next request is sent."""

    _transport: asyncio.Transport

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._pieces: deque[bytes] = deque()
        self._size = self._head_size = 0
        self._has_head = self._is_complete = True
        self._is_paused = self._is_lost = self._parser_knows_length = self._is_begun = False
        self._failure = ""
        self._waiter: asyncio.Future[None] | None = None
        self._done: Callable[[NodeConnection], None] | None = None
        self.idle_since = 0.0  #: monotonic time [s]
        self.status, self.content_type, self.encoding, self.length = 0, "", "", 0
        self._keeps_open = True

    @property
    def is_reusable(self) -> bool:
        """Whether another request can be sent."""
        return self._is_complete and self._keeps_open and not (self._is_lost or self._failure or self._pieces)

    def send(self, request: bytes, done: "Callable[[NodeConnection], None] | None" = None) -> None:
        """Send a request; `done` as in `NodeConnections.begin`."""
        self._done = done
        self._has_head = self._is_complete = self._is_begun = False
        self._transport.write(request)

    async def head(self) -> None:
        """Wait for the head of the answer."""
        while not self._has_head:
            await self._wait()

    def arrived(self) -> bytes | None:
        """The answer where it has come as a whole and well; `None` where that has to be waited for, or is not so."""
        is_well = self._is_complete and self.status == 200 and self.encoding in ("", "identity")
        if not is_well or self._failure or not self._pieces:
            return None
        return self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)

    def drop(self) -> None:
        """Forget the answer that has arrived."""
        self._pieces.clear()
        self._size = 0

    async def piece(self) -> bytes:
        """The next part of the answer; nothing at its end."""
        while not self._pieces:
            if self._is_complete:
                return b""
            await self._wait()
        piece = b"".join(self._pieces) if len(self._pieces) > 1 else self._pieces[0]
        self._pieces.clear()
        self._size = 0
        if self._is_paused and not self._is_lost:
            self._is_paused = False
            self._transport.resume_reading()
        return piece

    def abort(self) -> None:
        """Close the connection at once, and tell nobody."""
        self._done = None
        self._fail("the connection was closed")
        self._transport.abort()

    async def _wait(self) -> None:
        if self._failure:
            raise ConnectionFailed(self._failure, received=True)
        if self._is_lost:
            raise ConnectionFailed("the connection broke before the answer was whole", received=True)
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _call_back(self) -> None:
        """Call back whoever has begun a request, outside the parser, as the next one may follow at once."""
        if (done := self._done) is not None:
            self._done = None
            done(self)

    def _fail(self, reason: str) -> None:
        self._failure = self._failure or reason
        self._wake()

    # asyncio's callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is open."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Bytes have come."""
        if self._is_complete:
            self._fail("bytes came that nobody asked for")
            self._transport.abort()
            return
        if not self._is_begun and (body := self._short(data)) is not None:
            self._has_head = self._is_complete = True
            self._pieces.append(body)
            self._size += len(body)
            if (done := self._done) is not None:
                self._done = None
                done(self)
            else:
                self._wake()
            return
        if not self._is_begun:
            self._is_begun = True
            self.status, self.content_type, self.encoding, self._head_size = 0, "", "", 0
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(f"the answer cannot be read ({type(error).__name__})")
        if not self._has_head:
            self._head_size += len(data)
            if self._head_size > HEAD_LIMIT:
                self._fail(f"more than {HEAD_LIMIT:,} bytes before the answer")
        if self._failure:
            self._transport.abort()
        elif self._size > BUFFERED and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()
        if self._is_complete or self._is_paused or self._failure:
            self._call_back()

    def _short(self, data: bytes) -> bytes | None:
        """The body of an answer that has come as a whole at once, as most do; the parser need not see these."""
        end = data.find(b"\r\n\r\n", 0, KNOWN_BYTES) + 4
        head = _read_head(data[:end]) if end > 3 else None
        if head is None or len(data) - end != head.length:
            return None
        self.status, self.content_type, self.encoding, _ = head
        return data[end:]

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone; where the body has no length, that is its end."""
        self._is_lost = True
        if self._has_head and not self._is_complete and exc is None and not self._parser_knows_length:
            self._is_complete = True
        self._wake()
        self._call_back()

    # httptools' callbacks

    def on_message_begin(self) -> None:
        """An answer begins."""
        self._parser_knows_length = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header field."""
        match name.lower():
            case b"content-type":
                self.content_type = value.decode("latin-1")
            case b"content-encoding":
                self.encoding = value.decode("latin-1").strip().lower()
            case b"content-length" | b"transfer-encoding" as framing:
                self._parser_knows_length = True
                self.length = int(value) if framing == b"content-length" and value.isdigit() else 0

    def on_headers_complete(self) -> None:
        """The head has come; that of an interim answer is followed by another one."""
        self.status = self._parser.get_status_code()
        self._has_head = self.status >= 200
        self._wake()

    def on_body(self, body: bytes) -> None:
        """A part of the body has come."""
        self._pieces.append(body)
        self._size += len(body)
        self._wake()

    def on_message_complete(self) -> None:
        """The answer has come as a whole."""
        if self._has_head:
            self._is_complete = True
            self._keeps_open = self._parser.should_keep_alive()
            self._wake()


class _Head(NamedTuple):
    """What stands before the body of an answer that is no error and has a length."""

    status: int
    content_type: str
    encoding: str
    length: int


@lru_cache(KNOWN_HEADS)
def _read_head(data: bytes) -> _Head | None:
    """The head of an answer; `None` for one that the parser has to see with what follows it."""
    parsed = httptools.HttpResponseParser(read := NodeConnection())
    try:
        parsed.feed_data(data)
    except (httptools.HttpParserError, httptools.HttpParserUpgrade):
        return None
    if parsed.get_status_code() != HTTPStatus.OK or read.length <= 0 or not parsed.should_keep_alive():
        return None
    return _Head(200, read.content_type, read.encoding, read.length)


def _reason(error: OSError) -> str:
    """Why there is no connection, without the host's name."""
    if isinstance(error, ssl.SSLError):
        return f"no secure connection ({of_certificate(error)})"
    if isinstance(error, socket.gaierror):
        return "no connection (its name is not known)"
    return f"no connection ({os.strerror(error.errno) if error.errno else 'the system refuses it'})"
