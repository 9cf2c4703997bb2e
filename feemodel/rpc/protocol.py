"""Connections: requests are read from them one at a time, answered, and the next one is read.

A connection waits for its client before a request, while the head or the body of one arrives, and while an answer is
not taken. Such a connection may be closed; one whose request is being answered may not. While it is being answered, and
while its answer is not taken, nothing more is read, so that pipelined requests wait with their sender.
"""

import asyncio
import ipaddress
import itertools
import logging
import re
import secrets
import time
from collections.abc import Callable, Coroutine
from contextvars import ContextVar, copy_context
from email.utils import formatdate
from functools import lru_cache, partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from feemodel.errors import UpstreamError
from feemodel.rpc.begun import Later
from feemodel.rpc.fair_queue import CLIENT
from feemodel.rpc.http import Head, Malformed, Reader
from feemodel.rpc.jsonrpc import Streamed
from feemodel.rpc.websocket import WebSocket

if TYPE_CHECKING:
    from feemodel.rpc.app import App

BODY_LIMIT = 1 << 20  # bytes of a request
READ_BYTES = 1 << 15  # taken from a connection at a time
BUFFERED_BYTES = 64 << 20  # of requests that all clients of a process together have sent and that are not answered
UNTAKEN_BYTES = 128 << 20  # of answers that they leave with it
DROPPED_BYTES = 8 << 20  # that may still come on a connection after its last answer
OVERFLOW = 32  # connections above the limit, which get a 503
OVERFLOW_SECONDS = 1.0  # for which they may take that answer [s]
YOUNG = 0.05  # seconds for which a new connection keeps its place; a request usually comes with the connection
RESERVED = 20  # one of so many connections is not left to WebSockets
SWEEPS = 4  # looks at idle connections in the time that they may be idle
IPV6_NETWORK = 64  # bits of an IPv6 address that tell clients apart
NO_CONTENT = 204  # the status of an answer without a body

#: The id of the request that is being answered.
REQUEST: ContextVar[str] = ContextVar("request", default="")
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:/+=-]{1,64}")
_PROCESS, _NUMBERS = secrets.token_hex(4), itertools.count(1)

HeaderField = tuple[bytes, bytes]
JSON: HeaderField = (b"content-type", b"application/json")
RETRY: HeaderField = (b"retry-after", b"1")
_BUSY = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"busy: %d %s"}}'
_log = logging.getLogger(__name__)


class Reply(NamedTuple):
    """The answer to a request."""

    status: int
    headers: tuple[HeaderField, ...]
    body: bytes
    rest: Streamed | None = None  #: what follows the body, piece by piece


class Bounds(NamedTuple):
    """Limits of one process.

    Parameters
    ----------
    connections : open at a time; one more takes the place of the one that has waited the longest, and gets a 503 where
        none waits.
    requests : in progress at a time; one more is answered with 503.
    idle_seconds : a connection that has waited for its client for so long is closed [s].
    body_limit : of a request [byte].
    body_seconds : until it has arrived as a whole [s].
    """

    connections: int = 1_000
    requests: int = 256
    idle_seconds: float = 15.0
    body_limit: int = BODY_LIMIT
    body_seconds: float = 10.0


class Connections:
    """The open connections of one process, within its event loop.

    Parameters
    ----------
    app : that answers.
    bounds : of all connections together.
    observe : called with the status of every answer.
    """

    def __init__(self, app: "App", bounds: Bounds, observe: Callable[[int], object] = lambda status: None) -> None:
        self.app, self.bounds, self.observe = app, bounds, observe
        self.is_draining = False  #: whether no connection is kept open any longer
        self.room: Callable[[], object] = lambda: None  #: called when a connection is closed
        self.input = memoryview(bytearray(READ_BYTES))  #: what was read from a connection, until its reader has it
        self._all: set[Connection] = set()
        self._sockets: set[Connection] = set()
        self._idle: dict[Connection, float] = {}  # and since when, the oldest first
        self._arriving: dict[Connection, None] = {}  # those whose body is waited for, the oldest first
        self._ended: dict[Connection, None] = {}  # those whose clients send no more, and may be gone
        self._untaken: dict[Connection, None] = {}  # those whose answers are not taken, the oldest first
        self._held: dict[Connection, int] = {}  # bytes of requests
        self._held_bytes = self._working = 0
        self._sweeping: asyncio.TimerHandle | None = None
        self._second, self._date = 0, b""

    def connection(self) -> "Connection":
        """A new connection, for the event loop."""
        return Connection(self)

    @property
    def most(self) -> int:
        """Those that may be open, with those that only get a 503."""
        return most_connections(self.bounds.connections)

    @property
    def count(self) -> int:
        """Those that are open."""
        return len(self._all)

    @property
    def seconds_until_room(self) -> float:
        """Seconds until one more connection has a place, or can be refused one."""
        if self.count < self.bounds.connections or not self._idle:
            return 0.0
        now = asyncio.get_running_loop().time()
        return max(next(iter(self._idle.values())) + YOUNG - now, 0.0)

    def opened(self, connection: "Connection") -> bool:
        """Count a connection; whether there is room for it."""
        self._all.add(connection)
        if len(self._all) > self.bounds.connections:
            oldest = next(iter(self._idle), None) or next(iter(self._ended), None)
            if oldest is None:
                return False
            oldest.give_way()
        self.idles(connection)
        if self._sweeping is None:
            self._sweep(connection.loop)
        return True

    def closed(self, connection: "Connection") -> None:
        """Count no longer."""
        self._all.discard(connection)
        self._sockets.discard(connection)
        self._idle.pop(connection, None)
        self._ended.pop(connection, None)
        self._arriving.pop(connection, None)
        self._untaken.pop(connection, None)
        self._held_bytes -= self._held.pop(connection, 0)
        if not self._all and self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None
        self.room()

    def idles(self, connection: "Connection") -> None:
        """Note that a connection waits for its client, from now on."""
        self._idle.pop(connection, None)  # to the end of those that wait
        self._idle[connection] = connection.loop.time()

    def leaves(self, connection: "Connection") -> None:
        """Note that a connection is about to be closed."""
        self._idle.pop(connection, None)
        self._ended.pop(connection, None)

    def ended(self, connection: "Connection") -> None:
        """Note that a client sends no more."""
        self._ended[connection] = None

    def holds(self, connection: "Connection", size: int) -> None:
        """Note how much of requests a connection has sent; where all is too much, those that wait longest are ended."""
        if not size and not self._held:  # nearly always
            return
        if size or connection in self._held:
            self._held_bytes += size - self._held.get(connection, 0)
            if size:
                self._held[connection] = size
            else:
                del self._held[connection]
        while self._held_bytes > BUFFERED_BYTES:
            oldest = next((other for other in self._held if other in self._idle), None)
            if oldest is None:
                return
            oldest.end()
            self._held_bytes -= self._held.pop(oldest)

    def arrives(self, connection: "Connection") -> bool:
        """Note that the body of a request is waited for; whether there is room for it."""
        if not self._has_room():
            return False
        self._arriving[connection] = None
        self.idles(connection)
        return True

    @property
    def most_sockets(self) -> int:
        """WebSockets that may be open: some connections are left for requests."""
        return self.bounds.connections - self.bounds.connections // RESERVED

    def takes_socket(self, connection: "Connection") -> bool:
        """Count a connection as a WebSocket, which waits for nothing; whether there is room for it."""
        if len(self._sockets) >= self.most_sockets:
            return False
        self._sockets.add(connection)
        self.leaves(connection)
        return True

    def has_room_for_message(self) -> bool:
        """Whether the message of a WebSocket may be answered, which is counted then."""
        if not self._has_room():
            return False
        self._working += 1
        return True

    def begins(self, connection: "Connection") -> bool:
        """Note that a request has come as a whole; whether there is room for it."""
        if connection in self._arriving:
            del self._arriving[connection]
        elif self._working + len(self._arriving) >= self.bounds.requests and not self._has_room():
            return False
        self._working += 1
        self._idle.pop(connection, None)
        return True

    def ends(self) -> None:
        """Note that a request was answered."""
        self._working -= 1

    def _has_room(self) -> bool:
        """Whether one more request may be under way, for which the one whose body arrives the longest makes room."""
        if self._working + len(self._arriving) < self.bounds.requests:
            return True
        oldest = next(iter(self._arriving), None)
        if oldest is None:
            return False
        oldest.is_late()
        return True

    def arrived(self, connection: "Connection") -> None:
        """Note that a body is waited for no longer."""
        self._arriving.pop(connection, None)

    def untaken(self, connection: "Connection") -> None:
        """Note that an answer is not taken; where all of them are too much, the one that waits the longest is lost."""
        self._untaken[connection] = None
        self.idles(connection)
        sizes = {other: other.transport.get_write_buffer_size() for other in self._untaken}
        excess = sum(sizes.values()) - UNTAKEN_BYTES
        for other, size in sizes.items():
            if excess <= 0 or other is connection:
                return
            other.end()
            excess -= size

    def taken(self, connection: "Connection", *, is_answering: bool) -> None:
        """Note that it is; `is_answering` says that more of the same answer follows."""
        self._untaken.pop(connection, None)
        if is_answering:
            self._idle.pop(connection, None)

    def drain(self) -> None:
        """Close the connections on which no request has begun; the others close when they have their answer."""
        self.is_draining = True
        for connection in list(self._all):
            if not connection.has_begun:
                connection.end()

    def end_all(self) -> None:
        """Close all connections, whatever is in progress."""
        for connection in list(self._all):
            connection.transport.abort()

    def date(self) -> bytes:
        """The time as the field `Date` has it."""
        now = int(time.time())
        if now != self._second:
            self._second, self._date = now, formatdate(now, usegmt=True).encode()
        return self._date

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        oldest = loop.time() - self.bounds.idle_seconds
        for connection, since in list(self._idle.items()):
            if since > oldest:
                break
            connection.end()
        self._sweeping = loop.call_later(self.bounds.idle_seconds / SWEEPS, self._sweep, loop)


class Connection(asyncio.BufferedProtocol):
    """One connection; `Connections` makes it."""

    transport: asyncio.Transport

    def __init__(self, connections: Connections) -> None:
        self.loop = asyncio.get_running_loop()
        self._connections, self._app = connections, connections.app
        self._reader = Reader(connections.bounds.body_limit)
        self._context = copy_context()
        self._head: Head | None = None  # of the request whose body is waited for
        self._task: asyncio.Task[None] | Later[Any] | None = None  # that answers a request
        self._deadline: asyncio.TimerHandle | None = None  # of a body that did not come at once
        self._dropped = 0  # bytes
        self._identity = request_id(None)  # of the request that is answered, or of none
        self._skips = self._lingers = self._is_paused = self._is_untaken = self._has_ended = False
        self._is_answered = False  # at least once
        self._socket: WebSocket | None = None  # once it is one
        self._taken: asyncio.Future[None] | None = None  # set when an answer in pieces can be sent on

    @property
    def has_begun(self) -> bool:
        """Whether a request is in progress."""
        return self._task is not None or self._head is not None or self._skips or self._is_untaken

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        self.transport = cast(asyncio.Transport, transport)
        self._context.run(CLIENT.set, client_of(transport.get_extra_info("peername")))
        if not self._connections.opened(self):
            self._close_with(self._busy(self._connections.bounds.connections, "connections are open"))
            self.loop.call_later(OVERFLOW_SECONDS, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self._stop_waiting()
        self._send_on()
        if self._socket is not None:
            self._socket.lost()
        self._connections.closed(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next bytes go: all connections share it, each takes its bytes out at once."""
        return self._connections.input

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes have come."""
        if self._socket is not None:
            self._context.run(self._socket.receive, self._connections.input[:nbytes])
            return
        if self._lingers:
            self._dropped += nbytes
            if self._dropped > DROPPED_BYTES:
                self.transport.abort()
            return
        data, is_free = self._connections.input[:nbytes], self._task is None and not self._is_untaken
        is_between = is_free and self._head is None and not self._skips and not self.transport.is_closing()
        if is_between and (request := self._reader.whole(data)) is not None:
            self._context.run(self._admit, *request)
            return
        self._reader.feed(data)
        if is_free:
            self._context.run(self._advance)
        else:
            self._pause()
        if self._reader.has_unread or self._head is not None:
            self._connections.holds(self, self._reader.held)

    def eof_received(self) -> bool:
        """The client sends no more; it may still take the answers to what it has sent."""
        if self._socket is not None:
            return False
        self._has_ended = True
        self._connections.ended(self)
        self.loop.call_soon(self._advance, context=self._context)
        return not self._lingers

    def _advance(self) -> None:
        """Read on, one request or as much of it as has come, in the connection's context, which has the client."""
        if self._task is not None or self._is_untaken or self._lingers or self.transport.is_closing():
            return
        try:
            if self._skips:
                self._skip()
            elif self._head is not None:
                self._read_body(self._head)
            elif (head := self._reader.head()) is None:
                self._read_more()
            else:
                self._admit(head)
        except Malformed as error:
            self._refuse(error.status, error.reason)

    def _admit(self, head: Head, body: bytes | None = None) -> None:
        """Answer a request, or read its body first where that has not come with its head as a whole and alone."""
        self._identity = request_id(head)
        refusal = self._app.refusal(head)
        if refusal is None:
            if body is not None:
                self._begin(head, body)
            elif b"upgrade" in head.headers and wants_websocket(head):
                self._upgrade(head)
            else:
                self._head = head
                self._read_body(head)
        elif body is not None:
            self._respond(refusal, head)
            self._go_on()
        elif head.length is None or head.length > self._connections.bounds.body_limit or _waits_for_leave(head):
            self._close_with(refusal, head)
        else:
            self._respond(refusal, head)
            self._skips = True
            self._skip()

    def _upgrade(self, head: Head) -> None:
        """Go on as a WebSocket."""
        connections = self._connections
        if head.length != 0 or not connections.takes_socket(self):
            self._close_with(self._busy(connections.most_sockets, "WebSockets are open"), head)
            return
        self._socket = socket = WebSocket(
            self.transport, head, partial(self._app.websocket, head), limit=connections.bounds.body_limit,
            begin=connections.has_room_for_message, end=connections.ends,
        )  # fmt: skip
        connections.observe(101 if socket.is_open else 400)
        self._is_answered = True
        if rest := self._reader.rest():
            socket.receive(rest)
        self._read_more()

    def _skip(self) -> None:
        if self._reader.skip():
            self._skips = False
            self._go_on()
        else:
            self._read_more()

    def _read_body(self, head: Head) -> None:
        body = self._reader.body()
        if body is not None:
            if self._deadline is not None:
                self._stop_waiting()
            self._begin(head, body)
        elif self._deadline is None and not self._connections.arrives(self):
            self._close_with(self._busy(self._connections.bounds.requests, "requests are under way"), head)
        else:
            if self._deadline is None:
                self._deadline = self.loop.call_later(self._connections.bounds.body_seconds, self.is_late)
                if _waits_for_leave(head):
                    self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            if self._reader.has_more_chunks:
                self._soon()
            else:
                self._read_more()

    def _begin(self, head: Head, body: bytes) -> None:
        self._head = None
        if not self._connections.begins(self):
            self._respond(self._busy(self._connections.bounds.requests, "requests are under way"), head)
            self._go_on()
            return
        if len(body) > READ_BYTES or self._reader.has_unread:
            self._connections.holds(self, self._reader.held + len(body))
        REQUEST.set(self._identity)
        try:
            reply = self._app.begin(head, body)
        except Exception:
            _log.exception("unforeseen error in a request")
            reply = self._app.refused(500, "internal error", head)
        if isinstance(reply, Reply):
            self._connections.ends()
            self._respond(reply, head)
            self._go_on()
        elif isinstance(reply, Later):
            self._task = reply.then(partial(self._answered, head))
        else:
            self._task = self.loop.create_task(self._answer(head, reply), context=self._context)

    def _answered(self, head: Head, outcome: Any) -> Coroutine[Any, Any, None] | None:
        """Send the answer that has come, one in pieces in a task."""
        if not isinstance(outcome, Reply) or outcome.rest is not None:
            return self._answer(head, outcome)
        self._connections.ends()
        self._task = None
        if not self.transport.is_closing():
            self._respond(outcome, head)
            self._go_on()
        return None

    async def _answer(self, head: Head, answer: Coroutine[Any, Any, Reply] | Reply | Exception) -> None:
        try:
            if isinstance(answer, Exception):
                raise answer
            reply = answer if isinstance(answer, Reply) else await answer
            if reply.rest is not None:
                await self._stream(reply, reply.rest, head)
        except Exception:
            _log.exception("unforeseen error in a request")
            reply = self._app.refused(500, "internal error", head)
        finally:
            self._connections.ends()
            self._task = None
        if self.transport.is_closing():
            return
        if reply.rest is None:
            self._respond(reply, head)
        elif not self._keeps_open(head):
            self._finish()
        self._go_on()

    async def _stream(self, reply: Reply, rest: Streamed, head: Head) -> None:
        """Send an answer while it arrives; an answer that breaks off ends the connection."""
        kind = b"transfer-encoding: chunked\r\n" if head.is_newest else b""
        self.transport.write(self._head_of(reply, kind, closes=not self._keeps_open(head)))
        try:
            self._send_piece(reply.body, head)
            async for piece in rest.pieces():
                if self.transport.is_closing():
                    return
                self._send_piece(piece, head)
                while self._is_untaken and not self.transport.is_closing():
                    self._taken = self.loop.create_future()
                    await self._taken
            if head.is_newest:
                self.transport.write(b"0\r\n\r\n")
        except UpstreamError as error:
            _log.warning("an answer broke off: %s", error)
            self.transport.abort()
        finally:
            await rest.close()

    def _send_piece(self, piece: bytes, head: Head) -> None:
        self.transport.write(b"%x\r\n%b\r\n" % (len(piece), piece) if head.is_newest else piece)

    def _keeps_open(self, head: Head) -> bool:
        return head.keeps_open and not self._connections.is_draining

    def _go_on(self) -> None:
        """Read the next request, which others may go before."""
        if self.transport.is_closing() or self._lingers:
            return
        self._connections.idles(self)
        self._connections.holds(self, self._reader.held)
        if self._is_untaken:
            return
        if self._reader.has_unread:
            self._soon()
        else:
            self._read_more()

    def _soon(self) -> None:
        """Read on when others had their turn, and take nothing more until then."""
        self._pause()
        self.loop.call_soon(self._advance, context=self._context)

    def _pause(self) -> None:
        if not self._is_paused:
            self._is_paused = True
            self.transport.pause_reading()

    def _read_more(self) -> None:
        if self._has_ended:
            self.transport.close()
        elif self._is_paused:
            self._is_paused = False
            self.transport.resume_reading()

    def is_late(self) -> None:
        """Refuse a request whose body has not come in time."""
        limit = self._connections.bounds.body_seconds
        self._refuse(408, f"the request took more than {limit:g} s to arrive, or others came meanwhile")

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self, status: int, reason: str) -> None:
        """Answer that a request is not read any further."""
        head, self._head = self._head, None
        self._stop_waiting()
        self._connections.arrived(self)
        self._close_with(self._app.refused(status, reason, head), head)

    def _busy(self, limit: int, what: str) -> Reply:
        return Reply(503, (JSON, RETRY), _BUSY % (limit, what.encode()))

    def _respond(self, reply: Reply, head: Head | None, *, closes: bool = False) -> None:
        closes = closes or head is None or not head.keeps_open or self._connections.is_draining
        self._write(reply, head, closes=closes)
        if closes:
            self._finish()

    def _write(self, reply: Reply, head: Head | None, *, closes: bool) -> None:
        length = b"" if reply.status == NO_CONTENT else b"content-length: %d\r\n" % len(reply.body)
        body = b"" if head is not None and head.method == "HEAD" else reply.body
        self.transport.write(self._head_of(reply, length, closes=closes, body=body))

    def _head_of(self, reply: Reply, framing: bytes, *, closes: bool, body: bytes = b"") -> bytes:
        """What comes before the body, and the body behind it; the answer is counted."""
        self._connections.observe(reply.status)
        self._is_answered = True
        first, end = _first_lines(reply.status, reply.headers), b"connection: close\r\n\r\n" if closes else b"\r\n"
        date, identity = self._connections.date(), self._identity.encode()
        return b"".join((first, b"date: ", date, b"\r\nx-request-id: ", identity, b"\r\n", framing, end, body))

    def _close_with(self, reply: Reply, head: Head | None = None) -> None:
        """Answer for the last time."""
        self._head = None
        self._respond(reply, head, closes=True)

    def _finish(self) -> None:
        """End the connection behind its last answer, which a close before all bytes have come would break."""
        self._reader = Reader(0)
        self._connections.holds(self, 0)
        if self._has_ended or self._connections.is_draining:
            self.transport.close()
        elif not self.transport.is_closing():
            self._lingers = True
            self._connections.idles(self)
            self.transport.write_eof()
            self._read_more()

    def pause_writing(self) -> None:
        """The client does not take its answer."""
        if self._socket is not None:
            return  # which bounds what it leaves untaken itself
        self._is_untaken = True
        self._connections.untaken(self)

    def resume_writing(self) -> None:
        """The client has taken its answer."""
        if self._socket is not None:
            return
        self._is_untaken = False
        self._connections.taken(self, is_answering=self._task is not None)
        self._send_on()
        if self._task is None:
            self._go_on()

    def _send_on(self) -> None:
        if self._taken is not None and not self._taken.done():
            self._taken.set_result(None)

    def give_way(self) -> None:
        """Close the connection for another one; where it has had no answer yet, this is one."""
        if not self._is_answered and self.transport.get_write_buffer_size() == 0 and not self.transport.is_closing():
            self._connections.leaves(self)
            self._lingers = True
            self._write(self._busy(self._connections.bounds.connections, "connections are open"), None, closes=True)
            self.transport.close()
        else:
            self.end()

    def end(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()
            return
        self._connections.leaves(self)
        if self.transport.get_write_buffer_size():  # which its client would have to take before it is closed
            self.transport.abort()
        elif not self.transport.is_closing():
            self.transport.close()


@lru_cache
def _first_lines(status: int, headers: tuple[HeaderField, ...]) -> bytes:
    """The status line and the fields of an answer; most have the same."""
    line = b"HTTP/1.1 %d %b\r\n" % (status, HTTPStatus(status).phrase.encode())
    return line + b"".join(b"%b: %b\r\n" % field for field in headers)


def most_connections(limit: int) -> int:
    """Connections that may be open where so many are answered."""
    return limit + min(limit // 4 + 1, OVERFLOW)


def most_within(files: int) -> int:
    """Connections that are answered where so many may be open.

    >>> most_within(100), most_connections(most_within(100))
    (79, 99)
    """
    return max(files - OVERFLOW, (files - 1) * 4 // 5)


def wants_websocket(head: Head) -> bool:
    """Whether a request asks to go on as a WebSocket."""
    upgrade = head.headers.get(b"upgrade")
    if upgrade is None:
        return False
    protocols = upgrade.lower().split(b",")
    return any(protocol.strip().partition(b"/")[0] == b"websocket" for protocol in protocols)


def request_id(head: Head | None) -> str:
    """The id of a request, in its answer and in the log: the client's own where that is short.

    >>> request_id(Head("GET", "/", {b"x-request-id": b"7f-A"}))
    '7f-A'
    """
    given = b"" if head is None else head.headers.get(b"x-request-id", b"")
    if given and _REQUEST_ID.fullmatch(given):
        return given.decode()
    return f"{_PROCESS}-{next(_NUMBERS):x}"


def _waits_for_leave(head: Head) -> bool:
    return head.length != 0 and head.headers.get(b"expect", b"").lower() == b"100-continue"


def client_of(peer: Any) -> str:
    """The address that identifies a client: of IPv6 the network, which one client has as a whole.

    >>> client_of(("192.0.2.7", 50_000)), client_of(("2001:db8:0:1::7", 50_000, 0, 0))
    ('192.0.2.7', '2001:db8:0:1::/64')
    """
    address = str(peer[0]) if peer else ""
    if ":" not in address:
        return address
    return str(ipaddress.ip_network((address.partition("%")[0], IPV6_NETWORK), strict=False))
