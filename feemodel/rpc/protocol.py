"""The HTTP protocol of the server: uvicorn's, with limits on how many connections are open, and how long they wait.

A connection waits for its client before a request, while the head or the body of one arrives, and while an answer is
not taken. Such a connection may be closed; one whose request is being answered may not.

A client that calls again and again sends the same head before every body of the same length. What was found to be such
a head is remembered, and a request that comes in one piece and begins with it goes to the application as it is:
reading the head, and carrying the request through ASGI, would take longer than most answers.
"""

import asyncio
import signal
import socket
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

if TYPE_CHECKING:
    from feemodel.rpc.app import App

HEAD_LIMIT = 1 << 16  # bytes of a request before its body; the parser itself has no limit
KNOWN_HEADS, KNOWN_BYTES = 4_096, 1_024  # heads that are remembered at a time, and bytes of each
UNTAKEN_BYTES = 256 << 20  # of answers that all clients of a process together leave with it
STOPPING = frozenset({signal.SIGTERM, signal.SIGINT})
DRAIN = 0.5  # seconds in which connections that wait are accepted, and what has come on open ones is read
SWEEPS = 4  # looks at idle connections in the time that they may be idle

BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
    b"retry-after: 1\r\nconnection: close\r\n\r\n%s"
)
_BUSY_BODY = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"busy: %d connections are open"}}'


class Connections:
    """The open connections of one process.

    Parameters
    ----------
    idle_seconds : a connection that has waited for its client for so long is closed; uvicorn waits without end [s].
    limit : open at a time; one more takes the place of the one that has waited the longest, and is told 503 where
        none waits.
    """

    def __init__(self, *, idle_seconds: float, limit: int) -> None:
        self._idle_seconds, self._limit = idle_seconds, limit
        self._idle: dict[LimitedProtocol, float] = {}  # and since when, the oldest first
        self._untaken: dict[LimitedProtocol, None] = {}  # those whose answers are not taken, the oldest first
        self._open = 0
        self._sweeping = False

    def opened(self, connection: "LimitedProtocol") -> bool:
        """Count a connection; whether there is room for it."""
        self._open += 1
        if self._open > self._limit:
            if not self._idle:
                return False
            next(iter(self._idle)).end()
        self.idles(connection)
        if not self._sweeping:
            self._sweeping = True
            self._sweep(connection.loop)
        return True

    def closed(self, connection: "LimitedProtocol") -> None:
        """Count no longer."""
        self._open -= 1
        self._idle.pop(connection, None)
        self.taken(connection)

    def idles(self, connection: "LimitedProtocol") -> None:
        """Note that a connection waits for its client, from now on."""
        self._idle.pop(connection, None)  # to the end of those that wait
        self._idle[connection] = connection.loop.time()

    def works(self, connection: "LimitedProtocol") -> None:
        """Note that a request has come as a whole."""
        self._idle.pop(connection, None)

    def untaken(self, connection: "LimitedProtocol") -> None:
        """Note that an answer is not taken; where all of them are too much, the one that waits the longest is lost."""
        self._untaken[connection] = None
        sizes = {other: other.transport.get_write_buffer_size() for other in self._untaken}
        excess = sum(sizes.values()) - UNTAKEN_BYTES
        for other, size in sizes.items():
            if excess <= 0 or other is connection:
                return
            other.end()
            excess -= size

    def taken(self, connection: "LimitedProtocol") -> None:
        """Note that it is."""
        self._untaken.pop(connection, None)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        oldest = loop.time() - self._idle_seconds
        for connection, since in list(self._idle.items()):
            if since > oldest:
                break
            connection.end()
        if self._open > 0:
            loop.call_later(self._idle_seconds / SWEEPS, self._sweep, loop)
        else:
            self._sweeping = False


class _Joined:
    """A transport that sends the head of a response together with its body: one system call instead of two."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head = b""
        # What is asked for with every request, without a detour.
        self.is_closing, self.get_extra_info = transport.is_closing, transport.get_extra_info

    def write(self, data: bytes) -> None:
        if not self._head and data.startswith(b"HTTP/1.1 2"):
            self._head = data
        else:
            self.send(self._head + data)
            self._head = b""

    def send(self, data: bytes) -> None:
        """Send what is complete."""
        if not self.is_closing():  # the client of a pipelined request may be gone without uvicorn's noticing
            self._transport.write(data)

    def flush(self) -> None:
        """Send a head that no body follows, as the answer to HEAD."""
        if self._head:
            self.write(b"")

    def close(self) -> None:
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class _Call:
    """A request that went to the application without uvicorn's cycle, for those who look at the cycle."""

    response_complete = disconnected = False
    keep_alive = True

    def __init__(self) -> None:
        self.message_event = self  # that nobody waits for

    def set(self) -> None:
        pass


class LimitedProtocol(HttpToolsProtocol):
    """One connection; see `Connections`, which `protocol_of` gives it."""

    limits: Connections
    heads: "Heads"
    app: Any  # a `feemodel.rpc.app.App`
    transport: Any  # a `_Joined`
    cycle: Any  # uvicorn's, or a `_Call`
    _head_bytes = 0
    _in_body = False
    _between = True  # two requests
    _candidate = b""  # the head of a request that has come in one piece

    def connection_made(self, transport: Any) -> None:
        """A client has connected."""
        super().connection_made(cast(asyncio.Transport, _Joined(transport)))
        if not self.limits.opened(self):
            body = _BUSY_BODY % self.limits._limit
            transport.write(BUSY % (len(body), body))
            transport.close()

    def data_received(self, data: bytes) -> None:
        """Bytes have come, of which a head may have only so many."""
        if self._between and not self._answers():
            head, _, body = data.partition(b"\r\n\r\n")
            if self.heads.known.get(head) == len(body):
                self._call(body)
                return
            self._candidate = head
        self._head_bytes += len(data)
        super().data_received(data)  # which begins to count anew where a request is there as a whole
        self._candidate = b""
        if self._head_bytes > HEAD_LIMIT and not self._in_body:
            self.end()

    def on_message_begin(self) -> None:
        """The first byte of a request has come."""
        super().on_message_begin()
        self._between = False

    def on_headers_complete(self) -> None:
        """A request begins, whose body is still to come."""
        self._in_body = True
        if not self._answers():
            self.limits.idles(self)
        super().on_headers_complete()
        if self._candidate:
            self.heads.learn(self._candidate, self.scope, self.app)
            self._candidate = b""

    def on_message_complete(self) -> None:
        """A request is there as a whole."""
        super().on_message_complete()
        self._in_body, self._head_bytes, self._between = False, 0, True
        if self._answers():
            self.limits.works(self)

    def _call(self, body: bytes) -> None:
        self.cycle = call = _Call()
        self.limits.works(self)
        self.tasks.add(self.loop.create_task(self._answer(call, body)))

    async def _answer(self, call: _Call, body: bytes) -> None:
        try:
            status, headers, answer = await self.app.call(body)
            if self.flow.write_paused and not call.disconnected:
                await self.flow.drain()
        except BaseException:  # such as the end of the process
            self.transport.close()
            raise
        finally:
            call.response_complete = True
            self.tasks.discard(cast("asyncio.Task[None]", asyncio.current_task()))
        lines = [STATUS_LINE[status]]
        for name, value in (*self.server_state.default_headers, *headers):
            lines += (name, b": ", value, b"\r\n")
        if status != HTTPStatus.NO_CONTENT:
            lines.append(b"content-length: %d\r\n" % len(answer))
        lines.append(b"\r\n" if call.keep_alive else b"connection: close\r\n\r\n")
        self.transport.send(b"".join((*lines, answer)))
        if not call.keep_alive:
            self.transport.close()
        if self.pipeline:
            self.on_response_complete()
        else:
            self.server_state.total_requests += 1
            if not self.transport.is_closing():
                self.limits.idles(self)

    def on_response_complete(self) -> None:
        """A request has been answered."""
        super().on_response_complete()
        self.transport.flush()
        if not self._answers() and not self.transport.is_closing():
            self.limits.idles(self)

    def pause_writing(self) -> None:
        """The client does not take its answer."""
        super().pause_writing()
        self.limits.idles(self)
        self.limits.untaken(self)

    def resume_writing(self) -> None:
        """The client has taken its answer."""
        super().resume_writing()
        self.limits.taken(self)
        if self._answers() and not self._in_body:
            self.limits.works(self)

    def _answers(self) -> bool:
        """Whether a request has begun that is not answered yet."""
        return self.cycle is not None and not self.cycle.response_complete

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self.limits.closed(self)
        super().connection_lost(exc)

    def end(self) -> None:
        """Close the connection."""
        self.limits.works(self)
        if self.transport.get_write_buffer_size():  # which its client would have to take before it is closed
            self.transport.abort()
        elif not self.transport.is_closing():
            self.transport.close()


class Heads:
    """The heads of requests that are calls and nothing more, and how long a body each announces."""

    def __init__(self) -> None:
        self.known: dict[bytes, int] = {}

    def learn(self, head: bytes, scope: Mapping[str, Any], app: "App") -> None:
        """Remember the head of a request that was read, if it is such a one."""
        if len(head) > KNOWN_BYTES or scope["http_version"] != "1.1" or head.count(b"\n") != head.count(b"\r\n"):
            return
        length = app.plain_length(scope)
        if length is not None:
            if len(self.known) >= KNOWN_HEADS:
                self.known.clear()
            self.known[head] = length


class DrainingServer(uvicorn.Server):
    """uvicorn's server, which at the signal to stop goes on for a moment: what was sent before is read and answered."""

    async def main_loop(self) -> None:
        """Serve until the signal comes, or has come: until now it was held back."""
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
        await super().main_loop()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop as uvicorn does, after that moment."""
        await asyncio.sleep(DRAIN)
        await super().shutdown(sockets)


def protocol_of(limits: Connections) -> type[HttpToolsProtocol]:
    """The protocol class that uvicorn makes for every connection of a process."""
    return type("Protocol", (LimitedProtocol,), {"limits": limits, "heads": Heads()})
