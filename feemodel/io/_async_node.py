"""Asynchronous client of a node: JSON-RPC 2.0 over HTTP, with limits on size, time and number of responses.

A transaction is sent once. Errors do not show the node's address, which may contain a password.
"""

import asyncio
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec

from feemodel.errors import LimitExceeded, UpstreamError
from feemodel.io._node import NodeError

CHUNK = 1 << 16  # bytes that are read at a time
HELD_BYTES = 64 << 20  # of all answers that are being read

Call = tuple[str, Sequence[Any]]


class _Ask(msgspec.Struct):
    id: int
    method: str
    params: Any
    jsonrpc: str = "2.0"


class _Reply(msgspec.Struct):
    """Response whose result is kept as the node encoded it."""

    id: Any = None
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: Any = None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Reply | list[_Reply]).decode
_decode_any = msgspec.json.Decoder().decode


class NotSent(UpstreamError):
    """Request that the node cannot have acted on."""


class AsyncNode:
    """Client of one node, for one event loop.

    Parameters
    ----------
    url : address, with user, password, path and query.
    timeout : time-out of one request [s].
    requests : maximum number of concurrent requests.
    queue : maximum number of waiting requests.
    max_bytes : maximum size of a response [byte].
    """

    def __init__(self, url: str, *, timeout: float, requests: int = 64, queue: int = 1_024, max_bytes: int) -> None:
        address = urlsplit(url)
        self.name = f"{address.scheme}://{address.netloc.rpartition('@')[2]}"
        self._hidden = tuple(part for part in (self.name, address.netloc.rpartition("@")[2]) if part)
        self._url, self._timeout, self._max_bytes, self._queue = url, timeout, max_bytes, queue
        self._places, self._waiting, self._held = asyncio.Semaphore(requests), 0, 0
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        self._takes_batches = True

    async def outcomes(self, calls: Sequence[Call]) -> list[Any]:
        """Return the results of calls, in order, with a `NodeError` for each call that failed.

        They are sent in one request, or one by one if the node refuses batches. Raises `UpstreamError`.
        """
        if self._takes_batches and len(calls) > 1:
            asked = [_Ask(index, method, params) for index, (method, params) in enumerate(calls)]
            replies = await self._posted(_encode(asked))
            if isinstance(replies, list):
                found = {reply.id: reply for reply in replies if type(reply.id) is int}
                if len(replies) != len(calls) or found.keys() != set(range(len(calls))):
                    raise UpstreamError("the node: the answer to a batch is not one to each of its calls")
                return [self._outcome(method, found[index]) for index, (method, _) in enumerate(calls)]
            self._takes_batches = False
        return await asyncio.gather(*(self._asked(method, params) for method, params in calls))

    async def forward(self, method: str, params: Any) -> msgspec.Raw:
        """Return the result of a call as the node encoded it; raises `NodeError` and `UpstreamError`."""
        sends = method.startswith("eth_send")
        body = _encode(_Ask(1, method, params))
        try:
            reply = await self._posted(body, fresh=sends)
        except NotSent:  # an idle connection that the node has closed
            reply = await self._posted(body, fresh=True)
        if not isinstance(reply, _Reply):
            raise UpstreamError(f"the node: {method}: the answer is not a JSON-RPC response")
        return self._result(method, reply, 1)

    async def _asked(self, method: str, params: Sequence[Any]) -> Any:
        try:
            return _decode_any(await self.forward(method, params))
        except NodeError as error:
            return error

    def _outcome(self, method: str, reply: _Reply) -> Any:
        try:
            return _decode_any(self._result(method, reply, reply.id))
        except NodeError as error:
            return error

    def _result(self, method: str, reply: _Reply, identity: int) -> msgspec.Raw:
        """Return the result of a response; raises the node's error, without the node's address."""
        if reply.error is not None:
            error = reply.error
            code = error.get("code") if isinstance(error, dict) else None
            if not isinstance(code, int) or isinstance(code, bool) or not -(2**63) <= code < 2**63:
                raise UpstreamError(f"the node: {method}: an error without a code of 64 bits")
            message = str(error.get("message", "")).encode(errors="backslashreplace").decode()
            raise NodeError(method, code, self._anonymous(message), self._anonymous(error.get("data")))
        if type(reply.id) is not int or reply.id != identity:
            raise UpstreamError(f"the node: {method}: the answer is to another request")
        if isinstance(reply.result, msgspec.UnsetType):
            raise UpstreamError(f"the node: {method}: the answer has neither result nor error")
        return reply.result

    def _anonymous(self, value: Any) -> Any:
        """Return a value without this node's address."""
        if isinstance(value, str):
            for address in self._hidden:
                value = value.replace(address, "the node")
            return value
        if isinstance(value, list):
            return [self._anonymous(part) for part in value]
        if isinstance(value, dict):
            return {self._anonymous(name): self._anonymous(part) for name, part in value.items()}
        return value

    async def _posted(self, body: bytes, *, fresh: bool = False) -> Any:
        """Return the responses to a request; raises `UpstreamError` for a response that is not JSON-RPC."""
        if self._waiting >= self._queue:
            raise LimitExceeded(f"requests that wait for the node: at most {self._queue:,}")
        self._waiting += 1
        try:
            async with asyncio.timeout(self._timeout):
                async with self._places:
                    self._waiting -= 1
                    try:
                        return await self._read(body, fresh=fresh)
                    finally:
                        self._waiting += 1
        except TimeoutError:
            raise UpstreamError(f"the node: no whole answer in {self._timeout:g} s") from None
        except aiohttp.ClientConnectorError as error:
            reason = (error.strerror or type(error).__name__).partition(" [")[0]
            raise UpstreamError(f"the node: no connection ({self._anonymous(reason)})") from None
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            if fresh:
                raise UpstreamError("the node: the connection broke before the answer was whole") from None
            raise NotSent("the node: the connection broke before the answer was whole") from None
        except (aiohttp.ClientError, aiohttp.ClientPayloadError, ValueError) as error:
            raise UpstreamError(f"the node: the answer cannot be read ({type(error).__name__})") from None
        finally:
            self._waiting -= 1

    async def _read(self, body: bytes, *, fresh: bool) -> Any:
        size = 0
        session = self._session(fresh=fresh)
        async with session.post(self._url, data=body, allow_redirects=False) as response:
            data = bytearray()
            try:
                async for chunk in response.content.iter_chunked(CHUNK):
                    data += chunk
                    size += len(chunk)
                    self._held += len(chunk)
                    if size > self._max_bytes:
                        response.close()
                        raise UpstreamError(f"the node: the answer is longer than {self._max_bytes:,} bytes")
                    if self._held > HELD_BYTES and size < self._held:
                        response.close()
                        raise LimitExceeded(f"answers of the node that are being read: at most {HELD_BYTES:,} bytes")
            finally:
                self._held -= size
        try:
            replies = _decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            replies = None
        if response.status != 200 and not (isinstance(replies, _Reply) and isinstance(replies.error, dict)):
            raise UpstreamError(f"the node: HTTP {response.status} {response.reason or ''}".rstrip())
        if replies is None:
            raise UpstreamError(f"the node: the answer is not JSON-RPC ({size:,} bytes)")
        return replies

    def _session(self, *, fresh: bool) -> aiohttp.ClientSession:
        """Return the HTTP client; a fresh one opens a new connection for each request."""
        if fresh not in self._sessions:
            self._sessions[fresh] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, force_close=fresh),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"content-type": "application/json", "accept-encoding": "identity", "user-agent": "feemodel"},
                timeout=aiohttp.ClientTimeout(total=None),
                auto_decompress=False,
            )
        return self._sessions[fresh]

    @staticmethod
    def own(outcome: Any) -> Any:
        """Return the result of the server's own call; an error becomes `UpstreamError`, as no caller has caused it."""
        if isinstance(outcome, NodeError):
            raise UpstreamError(f"the node: {outcome}") from None
        return outcome

    async def close(self) -> None:
        """Close the connections."""
        for session in self._sessions.values():
            await session.close()
