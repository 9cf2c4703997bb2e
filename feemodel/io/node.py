"""Clients of a node: JSON-RPC 2.0 over HTTP, with retries, and limits on the time of requests and size of responses.

Error messages do not show the node's whole address, because the address may contain a password.
"""

import asyncio
import itertools
import os
import random
import re
import socket
import ssl
import threading
import time
import weakref
from base64 import b64encode
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache, partial
from typing import Any, Self, TypeAlias, TypeVar
from urllib.parse import unquote, urlsplit

import aiohttp
import msgspec

from feemodel.checks import real_scalar, whole_scalar
from feemodel.errors import LimitExceeded, UpstreamError
from feemodel.io.address import HIDDEN, check_address, shown_address

CHUNK = 1 << 16  # number of bytes that are read at a time
RECEIVE_BYTES = 1 << 16  # size of the receive buffer of a connection [byte]
HELD_BYTES = 64 << 20  # maximum total size of the responses that are being read at the same time [byte]
# maximum size of a decompressed response [byte]; a batch of full blocks has tens of megabytes
MAX_RESPONSE = 256 * 2**20
RETRIED_STATUSES = frozenset({429, 502, 503, 504})  # HTTP: too many requests; gateway or service unavailable
RATE_LIMITED = frozenset({-32005, 429})  # error codes of EIP-1474, and of QuickNode and Alchemy
LONGEST_BACKOFF = 8.0  # maximum backoff [s]
LONGEST_RETRY_AFTER = 60.0  # maximum wait [s]; if a node asks for a longer wait, the request is not retried
WITHOUT_BATCHES = 600.0  # time after a refused batch during which calls are sent one by one [s]
SECRET_LENGTH = 6  # minimum length of a part of the address that is hidden on its own
OTHER_HOST = frozenset({62, 64})  # OpenSSL's X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH

Call: TypeAlias = tuple[str, Sequence[Any]]
Answer = TypeVar("Answer")


class NodeError(UpstreamError):
    """Error that a node returned.

    Parameters
    ----------
    method : method that was called.
    code, message, data : fields `code`, `message` and `data` of the JSON-RPC error; `data` is `None` if absent.
    """

    def __init__(self, method: str, code: int, message: str, data: Any = None) -> None:
        super().__init__(method, code, message, data)  # pass all arguments, because pickle calls the class with `args`
        self.method, self.code, self.message, self.data = method, code, message, data

    def __str__(self) -> str:
        return f"{self.method}: {self.message} (code {self.code})"


class _Request(msgspec.Struct):
    id: int
    method: str
    params: Any
    jsonrpc: str = "2.0"


class _Reply(msgspec.Struct):
    """JSON-RPC response whose result is not decoded, so that it can be forwarded exactly as the node sent it."""

    id: Any = None
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: Any = None

    @property
    def is_rate_limit(self) -> bool:
        return isinstance(self.error, dict) and self.error.get("code") in RATE_LIMITED


_Replies: TypeAlias = _Reply | list[_Reply]

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Reply | list[_Reply]).decode
_decode_any = msgspec.json.Decoder().decode


class _Unanswered(UpstreamError):
    """HTTP response that is not a JSON-RPC response."""


class _BatchRefused(Exception):
    """Raised if the node refused a whole batch, whose calls may succeed if they are sent one by one."""

    def __init__(self, error: UpstreamError) -> None:
        self.error = error  #: error that the caller raises if it does not send the calls one by one


class _TryAgain(Exception):
    """Raised when an attempt fails for a reason that may be temporary.

    Parameters
    ----------
    outcome : error to raise, or responses to return, if this was the last attempt.
    received : whether the node may have acted on the request.
    wait : time that the node asks the client to wait [s].
    stale : whether the request was sent on an idle connection that the node had closed.
    """

    def __init__(
        self, outcome: UpstreamError | _Replies, *, received: bool, wait: float = 0.0, stale: bool = False
    ) -> None:
        self.outcome, self.received, self.wait, self.stale = outcome, received, wait, stale


@dataclass(slots=True)
class _Attempt:
    """State of one attempt to send a request."""

    missing: str = "no connection became free"
    sent: bool = False
    reused: bool = False  #: whether an earlier request used the connection


def _socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """Return a socket for a connection to a node. Its buffer bounds what one turn of the event loop reads."""
    family, kind, protocol, *_ = address
    opened = socket.socket(family, kind, protocol)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
    return opened


class AsyncNode:
    """Client of one node, for use in one event loop. `Node` describes the retries and the arguments that both have.

    If the node has closed the idle connection on which a request is sent, the request is sent once more, even if
    `retries` is 0.

    Parameters
    ----------
    requests : maximum number of concurrent requests.
    queue : maximum number of waiting requests; `None` for no limit.
    max_bytes : maximum size of a decompressed response [byte].
    held_bytes : maximum total size of the responses that are being read at the same time [byte].
    compressed : whether responses may be compressed.
    called : name of the node in errors; `None` uses the scheme, host and port of `url`.
    """

    def __init__(
        self,
        url: str,
        *,
        timeout: float,
        retries: int = 0,
        backoff: float = 0.25,
        requests: int = 64,
        queue: int | None = None,
        max_bytes: int,
        held_bytes: int = HELD_BYTES,
        compressed: bool = False,
        called: str | None = None,
    ) -> None:
        check_address("url", url)
        self.name = shown_address(url)
        self._called = self.name if called is None else called
        self._address, self._secrets = _patterns(url.strip())
        self._url, self._timeout, self._retries, self._backoff = url.strip(), timeout, retries, backoff
        self._max_bytes, self._held_bytes, self._held = max_bytes, held_bytes, 0
        self._requests, self._queue, self._waiting = requests, queue, 0
        self._slots = asyncio.Semaphore(requests)
        self._compressed, self._ids = compressed, itertools.count(1)
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        self._batches_from = 0.0  # monotonic time before which no batches are sent
        self._closed = asyncio.Event()

    async def call(self, method: str, params: Sequence[Any] = ()) -> Any:
        """Return the result of one call.

        Raises `NodeError` if the node returns an error, and `UpstreamError` if there is no valid response.
        """
        return _decode_any(await self.forward(method, params))

    async def forward(self, method: str, params: Any) -> msgspec.Raw:
        """Return the result of one call as JSON, exactly as the node encoded it. Raises the same errors as `call`."""
        request = _Request(next(self._ids), method, params)
        return await self._answer([method], request, partial(self._result, request))

    async def outcome(self, method: str, params: Sequence[Any]) -> Any:
        """Return the result of one call, or a `NodeError` if the node returns an error.

        Raises `UpstreamError` if there is no valid response.
        """
        try:
            return await self.call(method, params)
        except NodeError as error:
            return error

    async def outcomes(self, calls: Sequence[Call]) -> list[Any]:
        """Return the results of calls, in the order of the calls. The result of a call that failed is a `NodeError`.

        The calls are sent in one request, or one by one if the node refuses batches. Raises `UpstreamError` if there is
        no valid response.
        """
        outcomes: list[Any] = []
        if calls and time.monotonic() >= self._batches_from:
            requests = [_Request(next(self._ids), method, params) for method, params in calls]
            methods = [request.method for request in requests]
            try:
                return await self._answer(methods, requests, partial(self._results, requests))
            except _BatchRefused as refused:
                if any(map(_changes_state, methods)):  # the node may have executed a part of the batch
                    raise refused.error from None
            outcomes.append(await self.outcome(*calls[0]))
            self._batches_from = time.monotonic() + WITHOUT_BATCHES  # the node accepts the call, but not the batch
        together = max(1, self._requests // 8)  # few calls at a time, so that no call waits long for a connection
        for start in range(len(outcomes), len(calls), together):
            part = calls[start : start + together]
            outcomes += await asyncio.gather(*(self.outcome(method, params) for method, params in part))
        return outcomes

    def own(self, outcome: Any) -> Any:
        """Return the outcome of a call that the server made on its own behalf, not for a client.

        A `NodeError` is raised as `UpstreamError`, because no client of the server caused the error.
        """
        if isinstance(outcome, NodeError):
            raise UpstreamError(f"{self._called}: {outcome}") from None
        return outcome

    def anonymous(self, value: Any) -> Any:
        """Replace the node's address in a JSON value by "the node", and single secrets of the address by a note.

        The clients of a server must not see the node's address.
        """
        if isinstance(value, str):
            return self._secrets.sub(HIDDEN, self._address.sub("the node", value))
        if isinstance(value, list):
            return [self.anonymous(part) for part in value]
        if isinstance(value, dict):
            return {self.anonymous(name): self.anonymous(part) for name, part in value.items()}
        return value

    async def close(self) -> None:
        """Close the connections, and end the pauses before retries."""
        self._closed.set()
        for session in self._sessions.values():
            await session.close()

    async def _answer(self, methods: list[str], request: Any, read: Callable[[_Replies], Answer]) -> Answer:
        body, changing = _encode(request), any(map(_changes_state, methods))
        attempt, fresh = 0, changing
        while True:
            try:
                return read(await self._post(body, fresh=fresh))
            except _Unanswered as error:
                if isinstance(request, list):
                    raise _BatchRefused(error) from None
                raise
            except _TryAgain as again:
                last = attempt >= (max(self._retries, 1) if again.stale else self._retries)
                last = last or again.wait > LONGEST_RETRY_AFTER or (changing and again.received)
                if last or not (again.stale or await self._pause(attempt, again.wait)):
                    if isinstance(again.outcome, UpstreamError):
                        raise again.outcome from None
                    return read(again.outcome)
                fresh = fresh or again.stale
            attempt += 1

    async def _pause(self, attempt: int, wait: float) -> bool:
        """Wait before a retry. Return whether the client is still open after the wait."""
        backoff = min(self._backoff * 2**attempt, LONGEST_BACKOFF) * random.uniform(0.5, 1.0)
        try:
            async with asyncio.timeout(max(backoff, wait)):
                await self._closed.wait()
        except TimeoutError:
            return True
        return False

    async def _post(self, body: bytes, *, fresh: bool) -> _Replies:
        """Send a request and return the responses. If `fresh` is true, send the request on a new connection."""
        if self._closed.is_set():
            raise self._failure("the client is closed")
        if self._queue is not None and self._waiting >= self._queue:
            raise LimitExceeded(f"requests that wait for the node: at most {self._queue:,}")
        attempt = _Attempt()
        try:
            async with asyncio.timeout(self._timeout):
                self._waiting += 1
                try:
                    await self._slots.acquire()
                finally:
                    self._waiting -= 1
                try:
                    response, data = await self._read(body, attempt, fresh=fresh)
                finally:
                    self._slots.release()
        except TimeoutError:
            late = self._failure(f"{attempt.missing} in {self._timeout:g} s")
            raise _TryAgain(late, received=attempt.sent) from None
        except (aiohttp.ClientConnectorCertificateError, aiohttp.ClientConnectorSSLError) as error:
            raise self._failure(f"no secure connection ({_tls_reason(error)})") from None
        except aiohttp.ClientConnectorError as error:
            raise _TryAgain(self._failure(f"no connection ({_reason(error)})"), received=False) from None
        except (aiohttp.ClientError, aiohttp.http_exceptions.HttpProcessingError, ValueError) as error:
            if not _is_broken(error):
                raise self._failure(f"the answer cannot be read ({type(error).__name__})") from None
            broken = self._failure("the connection broke before the answer was whole")
            raise _TryAgain(broken, received=attempt.sent, stale=attempt.reused) from None
        return self._parsed(response, data)

    async def _read(self, body: bytes, attempt: _Attempt, *, fresh: bool) -> tuple[aiohttp.ClientResponse, bytearray]:
        attempt.missing = "no connection"
        data, session = bytearray(), self._session(fresh=fresh)
        async with session.post(self._url, data=body, allow_redirects=False, trace_request_ctx=attempt) as response:
            attempt.missing = "no whole answer"
            try:
                async for chunk in response.content.iter_chunked(CHUNK):
                    data += chunk
                    self._held += len(chunk)
                    if len(data) > self._max_bytes:
                        response.close()
                        raise self._failure(f"the answer is longer than {self._max_bytes:,} bytes")
                    if self._held > self._held_bytes and len(data) < self._held:
                        response.close()
                        held = f"{self._held_bytes:,} bytes"
                        raise LimitExceeded(f"answers of the node that are being read: at most {held}")
            finally:
                self._held -= len(data)
        return response, data

    def _session(self, *, fresh: bool) -> aiohttp.ClientSession:
        """Return the HTTP client. If `fresh` is true, the client opens a new connection for each request."""
        if fresh not in self._sessions:
            encoding = "gzip" if self._compressed else "identity"
            self._sessions[fresh] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, force_close=fresh, socket_factory=_socket),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"content-type": "application/json", "accept-encoding": encoding, "user-agent": "feemodel"},
                timeout=aiohttp.ClientTimeout(total=None),
                auto_decompress=self._compressed,
                trace_configs=[_TRACE],
            )
        return self._sessions[fresh]

    def _parsed(self, response: aiohttp.ClientResponse, data: bytearray) -> _Replies:
        replies: _Replies | None
        try:
            replies = _decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            replies = None
        is_error = isinstance(replies, _Reply) and isinstance(replies.error, dict)
        status = f"HTTP {response.status} {response.reason or ''}".strip()
        if response.status in RETRIED_STATUSES:
            wait = _retry_after(response.headers.get("retry-after", ""))
            asked = f", asks to wait {wait:g} s" if wait else ""
            outcome = replies if replies is not None and is_error else self._failure(f"{status}{asked}")
            # A node that responds with status 429 has not acted on the request.
            raise _TryAgain(outcome, received=response.status != 429, wait=wait)
        if response.status != 200 and not is_error:
            raise _Unanswered(f"{self._called}: {status}")
        if replies is None:
            kind = response.headers.get("content-type", "no content type")
            raise _Unanswered(f"{self._called}: the answer is not JSON-RPC ({len(data):,} bytes, {kind:.80})")
        several = replies if isinstance(replies, list) else [replies]
        if any(reply.is_rate_limit for reply in several):
            # Calls of the batch that did not exceed the rate limit may have been executed.
            raise _TryAgain(replies, received=not all(reply.is_rate_limit for reply in several))
        return replies

    def _result(self, request: _Request, reply: _Replies) -> msgspec.Raw:
        """Return the result in a response. Raises the node's error, if any, without the node's address."""
        if not isinstance(reply, _Reply):
            raise self._failure(f"{request.method}: the answer is not a JSON-RPC response")
        # A node that could not read the request answers with an error whose id is null.
        is_mine = type(reply.id) is int and reply.id == request.id
        if not is_mine and (reply.id is not None or reply.error is None):
            reason = f"the answer has the id {reply.id!r}, the request has the id {request.id}"
            raise self._failure(f"{request.method}: {reason}")
        if reply.error is not None:
            raise self._error(request.method, reply.error)
        if isinstance(reply.result, msgspec.UnsetType):
            raise self._failure(f"{request.method}: the answer has neither result nor error")
        return reply.result

    def _results(self, requests: list[_Request], replies: _Replies) -> list[Any]:
        if not isinstance(replies, list):
            if replies.error is not None:  # error for the whole batch
                raise _BatchRefused(self._error("batch", replies.error))
            raise _BatchRefused(self._failure("the answer to a batch is not a list"))
        by_id = {reply.id: reply for reply in replies if type(reply.id) is int}
        if len(replies) != len(requests) or by_id.keys() != {request.id for request in requests}:
            for reply in replies:  # an error with the id null explains why the batch failed
                if reply.id is None and reply.error is not None:
                    raise _BatchRefused(self._error("batch", reply.error))
            raise self._failure(f"the answers to a batch do not have the ids of its {len(requests)} calls")
        return [self._outcome_of(request, by_id[request.id]) for request in requests]

    def _outcome_of(self, request: _Request, reply: _Reply) -> Any:
        try:
            return _decode_any(self._result(request, reply))
        except NodeError as error:
            return error

    def _error(self, method: str, error: Any) -> UpstreamError:
        code = error.get("code") if isinstance(error, dict) else None
        if isinstance(code, bool) or not isinstance(code, int):
            return self._failure(f"{method}: an error without a code")
        if not -(2**63) <= code < 2**63:
            return self._failure(f"{method}: an error whose code does not fit 64 bits")
        return NodeError(method, code, self.anonymous(str(error.get("message", ""))), self.anonymous(error.get("data")))

    def _failure(self, reason: str) -> UpstreamError:
        return UpstreamError(f"{self._called}: {reason}")


def _patterns(url: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns of a node's address, with or without its secret parts, and of the secret parts alone."""
    address = urlsplit(url)
    host, port = address.hostname or "", address.netloc.rpartition("@")[2]
    # Do not hide a host name without a dot, such as "node": a message may contain the same word with another meaning.
    names = "|".join(map(re.escape, [port, *([host] if "." in host or ":" in host else [])]))
    parts = [address.password or "", *address.path.split("/"), *re.split("[&=]", address.query)]
    secrets = {part for given in parts if len(given) >= SECRET_LENGTH for part in (given, unquote(given))}
    if address.username is not None:
        user = f"{unquote(address.username)}:{unquote(address.password or '')}"
        secrets |= {user, b64encode(user.encode()).decode()}
    anywhere = "|".join(map(re.escape, sorted(secrets, key=len, reverse=True)))
    return (
        re.compile(rf"(?<![\w.])(https?://)?([^\s@/\"']*@)?({names})([/?#][^\s\"'<>,;)]*)?(?!\w)", re.IGNORECASE),
        re.compile(anywhere or "(?!)"),
    )


def _changes_state(method: str) -> bool:
    """Return whether a method changes state, so that a call must not be sent twice."""
    return method.startswith("eth_send")


def _retry_after(text: str) -> float:
    """Return the waiting time in a `Retry-After` header [s]; 0 for an invalid header.

    >>> _retry_after("3"), _retry_after("soon"), _retry_after("Wed, 21 Oct 2015 07:28:00 GMT")
    (3.0, 0.0, 0.0)
    """
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text).astimezone(UTC) - datetime.now(UTC)).total_seconds())
    except (ValueError, OverflowError):
        return 0.0


def _reason(error: aiohttp.ClientConnectorError) -> str:
    """Return the reason why a connection failed. aiohttp's message is not used, because it contains the host."""
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "its name is not known"
    number = error.os_error.errno
    return os.strerror(number) if number else "the system refuses it"


def _tls_reason(error: aiohttp.ClientConnectorCertificateError | aiohttp.ClientConnectorSSLError) -> str:
    """Return the reason why TLS failed. OpenSSL's message is not used, because it may contain the host."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        cause: BaseException = error.certificate_error
    else:
        cause = error.os_error
    if isinstance(cause, ssl.SSLCertVerificationError):
        if cause.verify_code in OTHER_HOST:
            return "its certificate is for another host"
        return f"its certificate: {cause.verify_message}"
    return getattr(cause, "reason", None) or "TLS failed"


def _is_broken(error: Exception) -> bool:
    """Return whether an exception means that the connection ended before the response was complete."""
    if isinstance(error, aiohttp.ClientPayloadError):
        return not isinstance(error.__cause__, aiohttp.http_exceptions.ContentEncodingError)
    return isinstance(error, (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError))


async def _on_reused(_: aiohttp.ClientSession, context: Any, __: object) -> None:
    context.trace_request_ctx.reused = True


async def _on_sent(_: aiohttp.ClientSession, context: Any, __: object) -> None:
    attempt: _Attempt = context.trace_request_ctx
    attempt.missing, attempt.sent = "no answer", True


_TRACE = aiohttp.TraceConfig()
_TRACE.on_connection_reuseconn.append(_on_reused)
_TRACE.on_request_headers_sent.append(_on_sent)


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
        self.name, self._loop = self._node.name, _loop()
        weakref.finalize(self, _end, self._node, self._loop)

    def _run(self, coroutine: Coroutine[Any, Any, Answer]) -> Answer:
        running = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return running.result()
        except BaseException:
            running.cancel()  # an interrupt ends the request
            raise

    def call(self, method: str, params: Sequence[Any] = ()) -> Any:
        """Return the result of one call.

        Raises `NodeError` if the node returns an error, and `UpstreamError` if the node cannot be reached or if its
        response does not belong to this call.
        """
        return self._run(self._node.call(method, list(params)))

    def batch(self, calls: Iterable[Call]) -> list[Any]:
        """Send calls in one request, and return the results in order. Raises the first error among the results."""
        outcomes = self.outcomes(calls)
        for outcome in outcomes:
            if isinstance(outcome, NodeError):
                raise outcome
        return outcomes

    def outcomes(self, calls: Iterable[Call]) -> list[Any]:
        """Send calls in one request, and return the results in order; that of a failed call is a `NodeError`.

        If the node refuses batches, the calls of this and of later batches are sent one by one.
        """
        return self._run(self._node.outcomes([(method, list(params)) for method, params in calls]))

    def close(self) -> None:
        """Close the connections, and cancel the pauses before retries."""
        self._run(self._node.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Node({self.name!r})"


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of all clients without a loop of their own; it runs in a thread, also beside a notebook."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop


if hasattr(os, "register_at_fork"):  # the thread does not run in a child
    os.register_at_fork(after_in_child=_loop.cache_clear)


def _end(node: AsyncNode, loop: asyncio.AbstractEventLoop) -> None:
    asyncio.run_coroutine_threadsafe(node.close(), loop)
