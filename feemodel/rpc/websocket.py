"""A WebSocket connection: JSON-RPC in each text message, and subscriptions.

The `websockets` library reads and writes the protocol without doing input or output itself; this module gives it the
bytes of a connection of `feemodel.rpc.protocol`.
"""

import asyncio
import secrets
from collections import ChainMap
from collections.abc import Awaitable, Callable
from typing import Any

from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol

from feemodel.errors import LimitExceeded
from feemodel.rpc.feeds import Feeds, Push
from feemodel.rpc.http import Head
from feemodel.rpc.jsonrpc import LIMIT_EXCEEDED, CallError, Methods, failure

CALLS_AT_A_TIME = 16  # messages of one connection; more stay with their sender
SUBSCRIPTIONS = 64  # of one connection
UNTAKEN = 1 << 20  # bytes that a client leaves unread, beyond which it is disconnected
PING_SECONDS = 20.0  # between two pings; a client that has not answered the last one is disconnected
POLICY, AWAY = 1008, 1001  # close codes of RFC 6455


class Session:
    """What answers the messages of one WebSocket, which has the methods `eth_subscribe` and `eth_unsubscribe` too.

    Parameters
    ----------
    feeds : of the process.
    methods : that are answered without a WebSocket.
    answer : the response to a message by these methods and its own; `None` for none. Raises `PermissionError` where the
        client may ask no more.
    send_frame : a whole frame to the client.
    """

    def __init__(
        self,
        feeds: Feeds,
        methods: Methods,
        answer: Callable[[bytes, Methods], Awaitable[bytes | None]],
        send_frame: Callable[[bytes], None],
    ) -> None:
        self._feeds, self._answer, self._send_frame = feeds, answer, send_frame
        self._identities: set[str] = set()
        own: dict[str, Any] = {"eth_subscribe": self._subscribe, "eth_unsubscribe": self._unsubscribe}
        self._methods: Methods = ChainMap(own, methods)  # type: ignore[arg-type]  # which is never written to

    async def answer(self, message: bytes) -> bytes | None:
        """The response to a message; `None` for none."""
        return await self._answer(message, self._methods)

    def _subscribe(self, kind: Any, filter: Any = None) -> str:
        if len(self._identities) >= SUBSCRIPTIONS:
            raise LimitExceeded(f"subscriptions: at most {SUBSCRIPTIONS} a connection")
        identity = f"0x{secrets.randbits(128) | 1 << 127:x}"
        self._feeds.subscribe(self, identity, kind, filter)
        self._identities.add(identity)
        return identity

    def _unsubscribe(self, identity: Any) -> bool:
        self._identities.discard(identity)
        return isinstance(identity, str) and self._feeds.unsubscribe(self, identity)

    def tell(self, identity: str, push: Push) -> None:
        """Send what is new."""
        self._send_frame(push.frame(identity))

    def close(self) -> None:
        """End all subscriptions."""
        for identity in self._identities:
            self._feeds.unsubscribe(self, identity)


class WebSocket:
    """One connection after its upgrade.

    Parameters
    ----------
    transport : of the connection.
    head : of the request to upgrade.
    session : makes what answers its messages, of what sends a frame.
    limit : of a message [byte].
    begin, end : called around every answer; the first says whether there is room for it.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        head: Head,
        session: Callable[[Callable[[bytes], None]], Session],
        *,
        limit: int,
        begin: Callable[[], bool],
        end: Callable[[], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport, self._session, self._begin, self._end = transport, session(self.send_frame), begin, end
        self._protocol = ServerProtocol(max_size=limit)
        self._tasks: set[asyncio.Task[None]] = set()
        self._message = bytearray()
        self._is_paused = self._is_ponged = False
        self._pinging: asyncio.TimerHandle | None = None
        self.is_open = self._upgrade(head)

    def _upgrade(self, head: Head) -> bool:
        lines = [b"GET %b HTTP/1.1" % head.target, *(b"%b: %b" % field for field in head.headers.items())]
        self._protocol.receive_data(b"\r\n".join(lines) + b"\r\n\r\n")
        for event in self._protocol.events_received():
            if isinstance(event, Request):
                response = self._protocol.accept(event)
                self._protocol.send_response(response)
                self._flush()
                if response.status_code == 101:
                    self._is_ponged = True
                    self._ping()
                    return True
        self._transport.close()
        return False

    def receive(self, data: bytes | memoryview) -> None:
        """Take bytes that have come."""
        self._protocol.receive_data(bytes(data))
        self._read()

    def _read(self) -> None:
        for event in self._protocol.events_received():
            if isinstance(event, Frame):
                self._take(event)
        self._flush()
        if len(self._tasks) >= CALLS_AT_A_TIME and not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()

    def _take(self, frame: Frame) -> None:
        if frame.opcode is Opcode.PONG:
            self._is_ponged = True
        elif frame.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
            self._message += frame.data
            if frame.fin:
                message, self._message = bytes(self._message), bytearray()
                self._respond(message)

    def _respond(self, message: bytes) -> None:
        if not self._begin():
            self.send(failure(CallError(LIMIT_EXCEEDED, "busy: too many requests are under way")))
            return
        task = self._loop.create_task(self._responded(message))
        self._tasks.add(task)
        task.add_done_callback(self._is_done)

    async def _responded(self, message: bytes) -> None:
        try:
            response = await self._session.answer(message)
        except PermissionError as error:
            self.close(POLICY, str(error))
            return
        finally:
            self._end()
        if response is not None:
            self.send(response)

    def _is_done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if self._is_paused and len(self._tasks) < CALLS_AT_A_TIME and not self._transport.is_closing():
            self._is_paused = False
            self._transport.resume_reading()

    def send(self, message: bytes) -> None:
        """Send a message; a client that takes none of them is disconnected."""
        if self._takes_more():
            self._protocol.send_text(message)
            self._flush()

    def send_frame(self, frame: bytes) -> None:
        """Send a frame that was made once for many connections; see `send`."""
        if self._takes_more():
            self._transport.write(frame)

    def _takes_more(self) -> bool:
        if self._transport.is_closing() or self._protocol.state is not State.OPEN:
            return False
        if self._transport.get_write_buffer_size() > UNTAKEN:
            self._transport.abort()
            return False
        return True

    def close(self, code: int = AWAY, reason: str = "") -> None:
        """End the connection."""
        if not self._transport.is_closing():
            self._protocol.fail(code, reason)
            self._flush()
            self._transport.close()

    def lost(self) -> None:
        """The connection is gone."""
        if self._pinging is not None:
            self._pinging.cancel()
        for task in self._tasks:
            task.cancel()
        self._session.close()

    def _ping(self) -> None:
        if not self._is_ponged:
            self._transport.abort()
            return
        self._is_ponged = False
        self._protocol.send_ping(b"")
        self._flush()
        self._pinging = self._loop.call_later(PING_SECONDS, self._ping)

    def _flush(self) -> None:
        if self._transport.get_write_buffer_size() > UNTAKEN:  # also of pongs
            self._transport.abort()
        for data in self._protocol.data_to_send():
            if data and not self._transport.is_closing():
                self._transport.write(data)
            elif not self._transport.is_closing():  # the end of what is sent
                self._transport.close()
