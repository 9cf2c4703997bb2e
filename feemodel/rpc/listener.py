"""Takes the connections of one listening socket, until it is stopped."""

import asyncio
import logging
import socket
from collections.abc import Callable

from feemodel.rpc.protocol import Connections

DRAIN = 0.5  # seconds in which connections that wait are accepted, and what has come on open ones is read
POLL = 0.02  # seconds between two looks whether all connections have ended
AT_A_TIME = 64  # connections that are accepted before others are answered
WITHOUT_FILES = 0.5  # seconds until connections are accepted again where no file could be opened

_log = logging.getLogger(__name__)


class Listener:
    """Accepts connections.

    An event loop would accept them itself, but uvloop resets those for which the process may open no file.

    Parameters
    ----------
    listener : that listens, and does not block.
    connections : to which accepted ones are added; while they are full, others wait with the kernel.
    """

    def __init__(self, listener: socket.socket, connections: Connections) -> None:
        self._loop = asyncio.get_running_loop()
        self._socket, self._connections = listener, connections
        self._making: set[asyncio.Task[object]] = set()
        self._accepts = self._is_closed = False
        connections.room = self._resume
        self._resume()

    def close(self) -> None:
        """Accept no more."""
        self._pause()
        self._is_closed = True

    def _resume(self) -> None:
        if not (self._accepts or self._is_closed):
            self._accepts = True
            self._loop.add_reader(self._socket.fileno(), self._accept)

    def _pause(self) -> None:
        if self._accepts:
            self._accepts = False
            self._loop.remove_reader(self._socket.fileno())

    def _has_room(self) -> bool:
        """Whether a connection more can be answered; looks again by itself where that is a matter of time."""
        connections, count = self._connections, self._connections.count + len(self._making)
        if count < connections.bounds.connections:
            return True
        if self._making or count >= connections.most:
            return False
        seconds = connections.seconds_until_room
        if seconds:
            self._loop.call_later(seconds, self._resume)
        return not seconds

    def _accept(self) -> None:
        for _ in range(AT_A_TIME):
            if not self._has_room():
                self._pause()
                return
            try:
                accepted, _ = self._socket.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:
                _log.warning("connections wait: %s", error.strerror)
                self._pause()
                self._loop.call_later(WITHOUT_FILES, self._resume)
                return
            accepted.setblocking(False)
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            task = self._loop.create_task(self._made(accepted))
            self._making.add(task)
            task.add_done_callback(self._is_made)

    def _is_made(self, task: "asyncio.Task[object]") -> None:
        self._making.discard(task)
        self._resume()

    async def _made(self, accepted: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._connections.connection, accepted)
        except OSError:  # it is gone already
            accepted.close()


async def serve_until(
    stop: asyncio.Event,
    listener: socket.socket,
    connections: Connections,
    *,
    grace: float,
    ready: Callable[[], object] = lambda: None,
    drain: float = DRAIN,
) -> None:
    """Answer what comes until `stop` is set, then what has come until then.

    Parameters
    ----------
    grace : for requests in progress, after `drain` [s].
    ready : called once the application has started and connections are accepted.
    drain : in which connections that wait are accepted, and what has come on open ones is read [s].
    """
    await connections.app.start()
    try:
        accepting = Listener(listener, connections)
        ready()
        await stop.wait()
        await asyncio.sleep(drain)
        accepting.close()
        connections.drain()
        end = asyncio.get_running_loop().time() + grace
        while connections.count and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(POLL)
        connections.end_all()
    finally:
        await connections.app.close()
