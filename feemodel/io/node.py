"""Clients of a node: JSON-RPC 2.0 over HTTP, with retries, and limits on the time of requests and size of responses.

Error messages do not show the node's whole address, because the address may contain a password.
"""

import asyncio
import os
import random
import re
import socket
import threading
import weakref
from base64 import b64encode
from collections.abc import Coroutine, Iterable, Sequence
from functools import cache
from typing import Any, Self, TypeAlias, TypeVar
from urllib.parse import unquote, urlsplit

import aiohttp
import msgspec

from feemodel.errors import LimitExceeded, UpstreamError
from feemodel.io.address import HIDDEN, check_address, shown_address
from feemodel.quantities import Quantity

RECEIVE_BYTES = 1 << 16  # size of the receive buffer of a connection [byte]
HELD_BYTES = 64 << 20  # maximum total size of the responses that are being read at the same time [byte]
# maximum size of a decompressed response [byte]; a batch of full blocks has tens of megabytes
MAX_RESPONSE = 256 * 2**20
RETRIED_STATUSES = frozenset({429, 502, 503, 504})  # HTTP: too many requests; gateway or service unavailable
RATE_LIMITED = frozenset({-32005, 429})  # error codes of EIP-1474, and of QuickNode and Alchemy
LONGEST_BACKOFF = 8.0  # maximum backoff [s]
LONGEST_RETRY_AFTER = 60.0  # maximum wait [s]; if a node asks for a longer wait, the request is not retried
CALL: dict[str, Any] = {"jsonrpc": "2.0"}
SECRET_LENGTH = 6  # minimum length of a part of the address that is hidden on its own

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


class _Reply(msgspec.Struct):
    """JSON-RPC response whose result is not decoded, so that it can be forwarded exactly as the node sent it."""

    id: Any = None
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: Any = None


_Replies: TypeAlias = _Reply | list[_Reply]

_decode = msgspec.json.Decoder(_Reply | list[_Reply]).decode


class _Unanswered(UpstreamError):
    """HTTP response that is not a JSON-RPC response."""


class _Temporary(UpstreamError):
    """Failure after which a retry may succeed; `wait` is the time that the node asks the client to wait [s]."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.wait = wait


def _socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """Return a socket for a connection to a node. Its buffer bounds what one turn of the event loop reads."""
    family, kind, protocol, *_ = address
    opened = socket.socket(family, kind, protocol)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
    return opened


class AsyncNode:
    """Client of one node, for use in one event loop. `Node` describes the retries and the arguments that both have.

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
        self._requests, self._queue, self._pending = requests, queue, 0
        self._compressed = compressed
        self._session: aiohttp.ClientSession | None = None
        self._has_batches, self._closed = True, False

    async def call(self, method: str, params: Sequence[Any] = ()) -> Any:
        """Return the result of one call.

        Raises `NodeError` if the node returns an error, and `UpstreamError` if there is no valid response.
        """
        outcome = self._outcome(method, await self._reply(method, params))
        if isinstance(outcome, NodeError):
            raise outcome
        return outcome

    async def forward(self, method: str, params: Any) -> msgspec.Raw:
        """Return the result of one call as JSON, exactly as the node encoded it. Raises the same errors as `call`."""
        return self._result(method, await self._reply(method, params))

    async def outcomes(self, calls: Sequence[Call]) -> list[Any]:
        """Return the results of calls, in the order of the calls. The result of a call that failed is a `NodeError`.

        The calls are sent in one request, or one by one if one of them changes state or if the node has refused a
        batch. Raises `UpstreamError` if there is no valid response.
        """
        batch = bool(calls) and self._has_batches and not any(_changes_state(method) for method, _ in calls)
        replies = await self._batch(calls) if batch else None
        if replies is None:
            replies = await asyncio.gather(*(self._reply(method, params) for method, params in calls))
            self._has_batches = not batch and self._has_batches
        return [self._outcome(method, reply) for (method, _), reply in zip(calls, replies, strict=True)]

    async def _reply(self, method: str, params: Any) -> _Reply:
        """Return the response to one call."""
        retries = 0 if _changes_state(method) else self._retries
        replies = await self._answers(CALL | {"id": 1, "method": method, "params": params}, retries)
        # A node that could not read the request answers with an error whose id is null.
        if isinstance(replies, list) or (replies.id != 1 and (replies.id is not None or replies.error is None)):
            raise self._failure(f"{method}: the answer is not a JSON-RPC response to the request")
        return replies

    async def _batch(self, calls: Sequence[Call]) -> list[_Reply] | None:
        """Return the responses to a batch, in the order of its calls; `None` if the node does not answer the batch."""
        requests = [CALL | {"id": at, "method": method, "params": params} for at, (method, params) in enumerate(calls)]
        try:
            replies = await self._answers(requests, self._retries)
        except _Unanswered:
            return None
        by_id = {reply.id: reply for reply in replies} if isinstance(replies, list) else {}
        return [by_id[number] for number in range(len(calls))] if by_id.keys() == {*range(len(calls))} else None

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
        """Close the connections."""
        self._closed = True
        if self._session is not None:
            await self._session.close()

    async def _answers(self, request: Any, retries: int) -> _Replies:
        """Send a request, with at most `retries` repeats, and return the responses."""
        body = msgspec.json.encode(request)
        for attempt in range(retries):
            wait = 0.0
            try:
                replies, is_busy = await self._post(body)
                if not is_busy:
                    return replies
            except _Temporary as error:
                if (wait := error.wait) > LONGEST_RETRY_AFTER:
                    raise
            backoff = min(self._backoff * 2**attempt, LONGEST_BACKOFF) * random.uniform(0.5, 1.0)
            await asyncio.sleep(max(backoff, wait))
        replies, _ = await self._post(body)
        return replies

    async def _post(self, body: bytes) -> tuple[_Replies, bool]:
        """Send a request once. Return the responses, and whether they say that the node has too many requests."""
        if self._closed:
            raise self._failure("the client is closed")
        if self._queue is not None and self._pending >= self._requests + self._queue:
            raise LimitExceeded(f"requests that wait for the node: at most {self._queue:,}")
        self._pending += 1
        try:
            response, data = await self._read(body)
        except TimeoutError:
            raise _Temporary(f"{self._called}: no answer in {self._timeout:g} s") from None
        except aiohttp.ClientSSLError as error:
            cause = getattr(error, "certificate_error", None) or error.os_error
            reason = getattr(cause, "verify_message", None) or getattr(cause, "reason", None) or "TLS failed"
            raise self._failure(f"no secure connection ({self.anonymous(reason)})") from None
        except aiohttp.ClientConnectorError as error:
            raise _Temporary(f"{self._called}: no connection ({_reason(error)})") from None
        except (aiohttp.ClientPayloadError, aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            raise _Temporary(f"{self._called}: the connection broke before the answer was whole") from None
        except (aiohttp.ClientError, aiohttp.http_exceptions.HttpProcessingError, ValueError) as error:
            raise self._failure(f"the answer cannot be read ({type(error).__name__})") from None
        finally:
            self._pending -= 1
        return self._parsed(response, data)

    async def _read(self, body: bytes) -> tuple[aiohttp.ClientResponse, bytearray]:
        if self._session is None:
            encoding = "gzip" if self._compressed else "identity"
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._requests, socket_factory=_socket),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"content-type": "application/json", "accept-encoding": encoding},
                auto_decompress=self._compressed,
                timeout=aiohttp.ClientTimeout(total=self._timeout),
            )
        data = bytearray()
        async with self._session.post(self._url, data=body, allow_redirects=False) as response:
            try:
                async for chunk in response.content.iter_any():
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

    def _parsed(self, response: aiohttp.ClientResponse, data: bytearray) -> tuple[_Replies, bool]:
        try:
            replies: _Replies | None = _decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            replies = None
        is_error = isinstance(replies, _Reply) and isinstance(replies.error, dict)
        is_busy = response.status in RETRIED_STATUSES
        if response.status != 200 and not is_error:
            reason = f"{self._called}: HTTP {response.status} {self.anonymous(response.reason)}"
            if not is_busy:
                raise _Unanswered(reason)
            wait = response.headers.get("retry-after", "")
            raise _Temporary(reason, float(wait) if wait.isdecimal() else 0.0)
        if replies is None:
            kind = self.anonymous(response.headers.get("content-type", "no content type"))
            raise _Unanswered(f"{self._called}: the answer is not JSON-RPC ({len(data):,} bytes, {kind:.80})")
        errors = [reply.error for reply in (replies if isinstance(replies, list) else [replies])]
        return replies, is_busy or any(isinstance(one, dict) and one.get("code") in RATE_LIMITED for one in errors)

    def _result(self, method: str, reply: _Reply) -> msgspec.Raw:
        """Return the result in a response. Raises the node's error, if any, without the node's address."""
        if reply.error is None:
            if isinstance(reply.result, msgspec.UnsetType):
                raise self._failure(f"{method}: the answer has neither result nor error")
            return reply.result
        error = reply.error if isinstance(reply.error, dict) else {}
        code = error.get("code")
        if type(code) is not int or not -(2**63) <= code < 2**63:
            raise self._failure(f"{method}: an error without a code of 64 bits")
        raise NodeError(method, code, self.anonymous(str(error.get("message", ""))), self.anonymous(error.get("data")))

    def _outcome(self, method: str, reply: _Reply) -> Any:
        try:
            return msgspec.json.decode(self._result(method, reply))
        except NodeError as error:
            return error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self._failure(f"{method}: the result cannot be read ({error})") from None

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


def _reason(error: aiohttp.ClientConnectorError) -> str:
    """Return the reason why a connection failed. aiohttp's message is not used, because it contains the host."""
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "its name is not known"
    return os.strerror(error.os_error.errno) if error.os_error.errno else "the system refuses it"


class Node:
    """Client of one node. The client is thread-safe. Close the client with `close`, or use it as a context manager.

    A request is retried if the connection fails, if the status is 429, 502, 503 or 504, or if the node reports that a
    rate limit is exceeded. Before a retry, the client waits for an exponential backoff with jitter, or longer if the
    node asks for a longer wait. A call that changes state (`eth_send…`) is sent only once.

    Parameters
    ----------
    url : HTTP or HTTPS address, with user, password, path and query. Error messages show only the scheme, host
        and port.
    timeout : maximum time of an attempt, including the wait for a free connection [s].
    retries : number of retries after a failed attempt.
    backoff : pause before the first retry; the pause doubles with each further retry [s].

    Raises
    ------
    InvalidInput : `url` is not an HTTP or HTTPS address, or a limit is invalid.
    """

    def __init__(self, url: str, *, timeout: float = 10.0, retries: int = 4, backoff: float = 0.25) -> None:
        Quantity("s", double=True, above_zero=True).check_one("timeout", timeout)
        Quantity("s", double=True).check_one("backoff", backoff)
        Quantity("1").check_one("retries", retries)
        self._node = AsyncNode(
            url, timeout=timeout, retries=retries, backoff=backoff, max_bytes=MAX_RESPONSE,
            held_bytes=8 * MAX_RESPONSE, compressed=True,
        )  # fmt: skip
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
        response is not valid.
        """
        return self._run(self._node.call(method, list(params)))

    def batch(self, calls: Iterable[Call]) -> list[Any]:
        """Send calls in one request, and return the results in order. Raises the first error among the results.

        If the node refuses batches, the calls of this and of later batches are sent one by one.
        """
        outcomes = self._run(self._node.outcomes([(method, list(params)) for method, params in calls]))
        for outcome in outcomes:
            if isinstance(outcome, NodeError):
                raise outcome
        return outcomes

    def close(self) -> None:
        """Close the connections."""
        self._run(self._node.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Node({self.name!r})"


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of clients without their own; it runs in a thread, so it works in notebooks."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop


if hasattr(os, "register_at_fork"):  # a forked child lacks the thread
    os.register_at_fork(after_in_child=_loop.cache_clear)


def _end(node: AsyncNode, loop: asyncio.AbstractEventLoop) -> None:
    asyncio.run_coroutine_threadsafe(node.close(), loop)
