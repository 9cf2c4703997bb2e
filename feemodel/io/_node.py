"""Client of a node: JSON-RPC 2.0 over HTTP, with a connection pool, time-outs and a limited number of retries."""

import itertools
import json
import math
import random
import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self, TypeVar

import urllib3
from urllib3.exceptions import (
    ConnectTimeoutError,
    EmptyPoolError,
    HTTPError,
    InvalidHeader,
    LocationParseError,
    NewConnectionError,
    ProtocolError,
    ReadTimeoutError,
    SSLError,
)

from feemodel.checks import real_scalar, whole_scalar
from feemodel.errors import InvalidInput, UpstreamError
from feemodel.io._connections import connection_class, of_certificate, without_host

MAX_RESPONSE = 256 * 2**20  # bytes after unpacking: a batch of full blocks has tens of megabytes
RETRIED_STATUSES = frozenset({429, 502, 503, 504})  # too many requests, bad gateway, unavailable, gateway time-out
RATE_LIMITED = frozenset({-32005, 429})  # EIP-1474's "limit exceeded"; what QuickNode and Alchemy answer
LONGEST_BACKOFF = 8.0  # s
LONGEST_RETRY_AFTER = 60.0  # s; a node that asks for more is not retried
CHUNK = 1 << 16  # bytes

Answer = TypeVar("Answer")


class NodeError(UpstreamError):
    """Error that a node returned.

    Parameters
    ----------
    method : method that was called.
    code, message, data : fields of the JSON-RPC error object; `data` is `None` if absent.
    """

    def __init__(self, method: str, code: int, message: str, data: Any = None) -> None:
        self.method, self.code, self.message, self.data = method, code, message, data

    def __str__(self) -> str:
        return f"{self.method}: {self.message} (code {self.code})"


class _Unanswered(UpstreamError):
    """HTTP response that is not a JSON-RPC response."""


class BatchRefused(Exception):
    """Batch that the node refused as a whole; its calls may still succeed one by one."""

    def __init__(self, error: Exception) -> None:
        self.error = error  #: raised where its calls are not sent one by one


class TryAgain(Exception):
    """Attempt that failed for a reason that may be temporary."""

    def __init__(self, error: UpstreamError, *, received: bool, wait: float = 0.0) -> None:
        self.error, self.received, self.wait = error, received, wait  #: whether the node may have acted on it


class Node:
    """Client of one node. Thread-safe; close it with `close` or use it as a context manager.

    A request is retried if the connection fails, the status is 429, 502, 503 or 504, or the response is a rate limit.
    It waits as long as the node asks, or for an exponential backoff with jitter. A method that changes state
    (`eth_send…`) is retried only if the node cannot have received it or has rejected it.

    Parameters
    ----------
    url : http:// or https:// address, with user, password, path and query. Errors show only scheme, host and port.
    timeout : time-out for connecting, for the first byte of a response, and for the whole response [s].
    retries : number of retries after a failed attempt.
    backoff : pause before the first retry, doubled for each further one [s].
    connections : maximum number of open connections; a thread waits for a free one for at most `timeout`.
    max_response : maximum size of a decompressed response [byte].

    Raises
    ------
    InvalidInput : not an address of this form, or an invalid limit.
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
        address = node_address(url)
        real_scalar("timeout", timeout, minimum=0.001, unit="seconds")
        real_scalar("backoff", backoff, unit="seconds")
        whole_scalar("retries", retries)
        whole_scalar("connections", connections, minimum=1)
        whole_scalar("max_response", max_response, minimum=1, unit="bytes")
        self.name = f"{address.scheme}://{address.netloc}"
        self._netloc, host = str(address.netloc), str(address.host).strip("[]")
        # A host without a dot, such as "node", may be an ordinary word of a message.
        self._hosts = (host,) if "." in host or ":" in host else ()
        self.timeout, self.retries, self.backoff, self.max_response = timeout, retries, backoff, max_response
        self._target = address.request_uri
        self._pool = urllib3.connection_from_url(
            self.name,
            maxsize=connections,
            block=True,
            headers={
                "content-type": "application/json",
                **urllib3.make_headers(accept_encoding="gzip", basic_auth=address.auth, user_agent="feemodel"),
            },
        )
        self._pool.ConnectionCls = connection_class(str(address.scheme))
        self._ids = itertools.count(1)
        self.takes_batches = True  #: until the node refused a batch but answered its calls
        self._closed = threading.Event()

    def call(self, method: str, params: Sequence[Any] = ()) -> Any:
        """Return the result of one call.

        Raises `NodeError` with the node's error, or `UpstreamError` if the node cannot be reached or its response does
        not belong to this call.
        """
        request = self._request(method, params)
        return self._answer([method], request, lambda reply: self._result(request, reply))

    def batch(self, calls: Iterable[tuple[str, Sequence[Any]]]) -> list[Any]:
        """Return the results of calls sent in one request, in order; raises the first error among them."""
        outcomes = self.outcomes(calls)
        for outcome in outcomes:
            if isinstance(outcome, NodeError):
                raise outcome
        return outcomes

    def outcomes(self, calls: Iterable[tuple[str, Sequence[Any]]]) -> list[Any]:
        """Return the results of calls sent in one request, in order, with a `NodeError` for each call that failed.

        If the node refuses batches, the calls of this and of later batches are sent one by one.
        """
        calls = list(calls)
        if self.takes_batches and calls:
            requests = [self._request(method, params) for method, params in calls]
            methods = [request["method"] for request in requests]
            try:
                return self._answer(methods, requests, lambda replies: self._results(requests, replies))
            except BatchRefused as refused:
                if any(map(changes_state, methods)):  # the node may have acted on a part of the batch
                    raise refused.error from None
        outcomes: list[Any] = []
        for method, params in calls:
            try:
                outcomes.append(self.call(method, params))
            except NodeError as error:
                outcomes.append(error)
            self.takes_batches = False  # now that its calls are answered
        return outcomes

    def anonymous(self, text: str) -> str:
        """Replace this node's address in a text, because callers of a server must not see it."""
        for address in (self.name, self._netloc, *self._hosts):
            text = re.sub(rf"(?<![\w.]){re.escape(address)}(?![\w])", "the node", text, flags=re.IGNORECASE)
        return text

    def _anonymous_data(self, data: Any) -> Any:
        if isinstance(data, str):
            return self.anonymous(data)
        if isinstance(data, list):
            return [self._anonymous_data(part) for part in data]
        if isinstance(data, dict):
            return {self.anonymous(name): self._anonymous_data(part) for name, part in data.items()}
        return data

    def close(self) -> None:
        """Close idle connections, and cancel the pauses before retries."""
        self._closed.set()
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Node({self.name!r})"

    def _request(self, method: str, params: Sequence[Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": list(params)}

    def _answer(self, methods: list[str], payload: Any, read: Callable[[Any], Answer]) -> Answer:
        body = json.dumps(payload).encode()
        changing = any(map(changes_state, methods))
        attempt = 0
        while True:
            try:
                return read(self._post(body))
            except _Unanswered as error:
                if isinstance(payload, list):
                    raise BatchRefused(error) from None
                raise
            except TryAgain as again:
                if attempt == self.retries or again.wait > LONGEST_RETRY_AFTER or (changing and again.received):
                    raise again.error from None
                self._pause(attempt, again)
            attempt += 1

    def _pause(self, attempt: int, again: TryAgain) -> None:
        backoff = min(self.backoff * 2**attempt, LONGEST_BACKOFF) * random.uniform(0.5, 1.0)
        if self._closed.wait(max(backoff, again.wait)):
            raise again.error from None

    def _post(self, body: bytes) -> dict[str, Any] | list[Any]:
        deadline = time.monotonic() + self.timeout
        try:
            response = self._pool.urlopen(
                "POST",
                self._target,
                body=body,
                retries=False,
                redirect=False,
                timeout=urllib3.Timeout(connect=self.timeout, read=self.timeout),
                pool_timeout=math.ceil(self.timeout),
                preload_content=False,
            )
            try:
                data = self._body(response, deadline)
            except BaseException:
                response.close()  # what is left of the answer must not be read as the next one
                response.release_conn()  # otherwise the pool would run out of connections
                raise
            response.release_conn()
        except HTTPError as error:
            if isinstance(error, ProtocolError) and time.monotonic() > deadline:  # the timer ended the connection
                raise self._too_late() from None
            raise self._failure(error) from None
        return self._parsed(response, data)

    def _too_late(self) -> TryAgain:
        return TryAgain(UpstreamError(f"{self.name}: no whole answer in {self.timeout:g} s"), received=True)

    def _body(self, response: urllib3.BaseHTTPResponse, deadline: float) -> bytes:
        data = bytearray()
        while chunk := response.read1(CHUNK, decode_content=True):
            data += chunk
            if len(data) > self.max_response:
                raise UpstreamError(f"{self.name}: the answer is longer than {self.max_response:,} bytes")
            if time.monotonic() > deadline:
                raise self._too_late()
        if time.monotonic() > deadline:  # the connection was ended, which may look like the end of the answer
            raise self._too_late()
        return bytes(data)

    def _parsed(self, response: urllib3.BaseHTTPResponse, data: bytes) -> dict[str, Any] | list[Any]:
        status = f"HTTP {response.status} {response.reason or ''}".strip()
        if response.status in RETRIED_STATUSES:
            wait = _retry_after(response)
            asked = f", asks to wait {wait:g} s" if wait else ""
            # A node that turns a request away with 429 has not acted on it.
            raise TryAgain(UpstreamError(f"{self.name}: {status}{asked}"), received=response.status != 429, wait=wait)
        try:
            reply = json.loads(data)
        except (ValueError, RecursionError):
            reply = None
        if response.status != 200 and not (isinstance(reply, dict) and isinstance(reply.get("error"), dict)):
            raise _Unanswered(f"{self.name}: {status}")
        if not isinstance(reply, (dict, list)):
            kind = response.headers.get("content-type", "no content type")
            raise _Unanswered(f"{self.name}: the answer is not JSON-RPC ({len(data):,} bytes, {kind})")
        return reply

    def _failure(self, error: HTTPError) -> Exception:
        """Return the error for a failure, without urllib3's message, which may contain the whole address."""
        match error:
            case ConnectTimeoutError() if not isinstance(error, NewConnectionError):
                reason, again, received = f"no connection in {self.timeout:g} s", True, False
            case NewConnectionError():
                reason, again, received = f"no connection ({without_host(error)})", True, False
            case ReadTimeoutError():
                reason, again, received = f"no answer in {self.timeout:g} s", True, True
            case EmptyPoolError():
                reason, again, received = f"no connection became free in {self.timeout:g} s", True, False
            case SSLError():
                reason, again, received = f"no secure connection ({of_certificate(error)})", False, False
            case ProtocolError():
                reason, again, received = "the connection broke before the answer was whole", True, True
            case _:
                reason, again, received = f"the answer cannot be read ({type(error).__name__})", False, True
        failure = UpstreamError(f"{self.name}: {reason}")
        return TryAgain(failure, received=received) if again else failure

    def _result(self, request: dict[str, Any], reply: Any) -> Any:
        if not isinstance(reply, dict):
            raise UpstreamError(f"{self.name}: {request['method']}: the answer is not a JSON-RPC response")
        error = reply.get("error")
        identity = reply.get("id")
        # A node that could not read the request answers with an error whose id is null.
        if not (identity is None and error is not None) and (type(identity) is not int or identity != request["id"]):
            raise UpstreamError(
                f"{self.name}: {request['method']}: the answer is to request {identity!r}, asked was {request['id']}"
            )
        if error is not None:
            raise self._error(request["method"], error)
        if "result" not in reply:
            raise UpstreamError(f"{self.name}: {request['method']}: the answer has neither result nor error")
        return reply["result"]

    def _results(self, requests: list[dict[str, Any]], replies: Any) -> list[Any]:
        if isinstance(replies, dict) and replies.get("error") is not None:  # of the batch as a whole
            raise self._refused(replies["error"])
        if not isinstance(replies, list):
            raise BatchRefused(UpstreamError(f"{self.name}: the answer to a batch is not a list"))
        known = (reply for reply in replies if isinstance(reply, dict) and isinstance(reply.get("id"), (int, str)))
        by_id = {reply["id"]: reply for reply in known}
        if len(replies) != len(requests) or by_id.keys() != {request["id"] for request in requests}:
            for reply in replies:  # an error whose id is null says more than the count
                if isinstance(reply, dict) and reply.get("id") is None and reply.get("error") is not None:
                    raise self._refused(reply["error"])
            raise UpstreamError(f"{self.name}: the answers to a batch do not have the ids of its {len(requests)} calls")
        return [self._outcome(request, by_id[request["id"]]) for request in requests]

    def _outcome(self, request: dict[str, Any], reply: Any) -> Any:
        try:
            return self._result(request, reply)
        except NodeError as error:
            return error

    def _refused(self, error: Any) -> Exception:
        """Return the error of a refused batch, whose calls are then sent one by one; a rate limit is retried."""
        failure = self._error("batch", error)
        return failure if isinstance(failure, TryAgain) else BatchRefused(failure)

    def _error(self, method: str, error: Any) -> UpstreamError | TryAgain:
        code = error.get("code") if isinstance(error, dict) else None
        if isinstance(code, bool) or not isinstance(code, int):
            return UpstreamError(f"{self.name}: {method}: an error without a code")
        if not -(2**63) <= code < 2**63:
            return UpstreamError(f"{self.name}: {method}: an error whose code does not fit 64 bits")
        # A lone surrogate is escaped, because it cannot be encoded.
        message = str(error.get("message", "")).encode(errors="backslashreplace").decode()
        failure = NodeError(method, code, self.anonymous(message), self._anonymous_data(error.get("data")))
        return TryAgain(failure, received=False) if code in RATE_LIMITED else failure


def node_address(url: str) -> urllib3.util.Url:
    """Parse a node's address; raises `InvalidInput` if it is not valid."""
    expected = "expected an address such as https://host:port/path"
    if not isinstance(url, str):
        raise InvalidInput("url", expected, url)
    try:
        address = urllib3.util.parse_url(url.strip())
    except LocationParseError:
        raise InvalidInput("url", expected, "an address that cannot be read") from None
    if address.scheme not in ("http", "https") or not address.host:
        raise InvalidInput("url", expected, f"{address.scheme}://{address.host}/…" if address.scheme else "no scheme")
    return address


def _retry_after(response: urllib3.BaseHTTPResponse) -> float:
    try:
        return urllib3.Retry().get_retry_after(response) or 0.0
    except InvalidHeader:
        return 0.0


def changes_state(method: str) -> bool:
    """Return whether a call changes state, so that sending it twice may have another effect than sending it once."""
    return method.startswith("eth_send")
