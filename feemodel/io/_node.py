"""Client of a node for programs without an event loop."""

import asyncio
import threading
import weakref
from collections.abc import Coroutine, Iterable, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, Self, TypeVar

from feemodel.checks import real_scalar, whole_scalar
from feemodel.errors import UpstreamError
from feemodel.io._async_node import AsyncNode, NodeError

# maximum size of a decompressed response [byte]; a batch of full blocks has tens of megabytes
MAX_RESPONSE = 256 * 2**20
CLOSING_SECONDS = 2.0

Result = TypeVar("Result")


class Node:
    """Client of one node. The client is thread-safe. Close the client with `close`, or use it as a context manager.

    A request is retried if the connection fails, if the status is 429, 502, 503 or 504, or if the node reports that a
    rate limit is exceeded. Before a retry, the client waits for an exponential backoff with jitter, or longer if the
    node asks for a longer wait. A call that changes state (`eth_send…`) is retried only if the node has rejected the
    call or cannot have received the call.

    Parameters
    ----------
    url : http:// or https:// address, with user, password, path and query. Error messages show only the scheme, host
        and port.
    timeout : maximum time of an attempt, including the wait for a free connection [s].
    retries : number of retries after a failed attempt.
    backoff : pause before the first retry; the pause doubles with each further retry [s].
    connections : maximum number of open connections.
    max_response : maximum size of a decompressed response [byte].

    Raises
    ------
    InvalidInput : `url` is not an http:// or https:// address, or a limit is invalid.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout: float = 10.0,
        retries: int = 4,
        backoff: float = 0.25,
        connections: int = 8,
        max_response: int = MAX_RESPONSE,
    ) -> None:
        real_scalar("timeout", timeout, minimum=0.001, unit="seconds")
        real_scalar("backoff", backoff, unit="seconds")
        whole_scalar("retries", retries)
        whole_scalar("connections", connections, minimum=1)
        whole_scalar("max_response", max_response, minimum=1, unit="bytes")
        self._node = AsyncNode(
            url,
            timeout=timeout,
            retries=retries,
            backoff=backoff,
            requests=connections,
            max_bytes=max_response,
            held_bytes=connections * max_response,
            compressed=True,
        )
        self.name = self._node.name
        self._loop = _LoopThread(self._node)
        weakref.finalize(self, self._loop.end)  # if the client is never closed, the garbage collector ends the thread

    def call(self, method: str, params: Sequence[Any] = ()) -> Any:
        """Return the result of one call.

        Raises `NodeError` if the node returns an error, and `UpstreamError` if the node cannot be reached or if its
        response does not belong to this call.
        """
        return self._loop.run(self._node.call(method, list(params)))

    def batch(self, calls: Iterable[tuple[str, Sequence[Any]]]) -> list[Any]:
        """Send calls in one request, and return the results in the order of the calls.

        Raises the first error among the results.
        """
        outcomes = self.outcomes(calls)
        for outcome in outcomes:
            if isinstance(outcome, NodeError):
                raise outcome
        return outcomes

    def outcomes(self, calls: Iterable[tuple[str, Sequence[Any]]]) -> list[Any]:
        """Send calls in one request, and return the results in the order of the calls.

        The result of a failed call is a `NodeError`.

        If the node refuses batches, the calls of this and of later batches are sent one by one.
        """
        return self._loop.run(self._node.outcomes([(method, list(params)) for method, params in calls]))

    def close(self) -> None:
        """Close the connections, and cancel the pauses before retries."""
        self._loop.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Node({self.name!r})"


class _LoopThread:
    """Event loop of a client, in a thread that starts with the first call."""

    def __init__(self, node: AsyncNode) -> None:
        self._node, self._lock = node, threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ended, self._end = False, asyncio.Event()

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Return the result of a coroutine. An interrupt in the calling thread cancels the coroutine."""
        try:
            running = asyncio.run_coroutine_threadsafe(coroutine, self._started())
        except BaseException:
            coroutine.close()
            raise
        try:
            return running.result()
        except CancelledError:
            raise self._closed() from None
        except BaseException:
            running.cancel()
            raise

    def end(self) -> None:
        """Close the client, and wait until the thread has ended."""
        with self._lock:
            self._ended = True
            loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        with suppress(RuntimeError):  # the event loop has ended already
            loop.call_soon_threadsafe(self._end.set)
        if thread is not threading.current_thread():  # the garbage collector may call `end` in the event loop's thread
            thread.join(CLOSING_SECONDS)

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._ended or (self._thread is not None and not self._thread.is_alive()):  # e.g. after a fork
                raise self._closed()
            if self._loop is None:
                started: Future[asyncio.AbstractEventLoop] = Future()
                serve = self._serve(started)
                self._thread = threading.Thread(target=asyncio.run, args=(serve,), daemon=True)
                self._thread.start()
                self._loop = started.result()
        return self._loop

    async def _serve(self, started: "Future[asyncio.AbstractEventLoop]") -> None:
        started.set_result(asyncio.get_running_loop())
        await self._end.wait()
        await self._node.close()
        if calls := asyncio.all_tasks() - {asyncio.current_task()}:  # pending calls fail now
            await asyncio.wait(calls, timeout=CLOSING_SECONDS / 2)

    def _closed(self) -> UpstreamError:
        return UpstreamError(f"{self._node.name}: the client is closed")
