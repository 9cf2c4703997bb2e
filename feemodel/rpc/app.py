"""The application: JSON-RPC by POST, and what people and machines look at by GET.

    POST /  or  /v3/KEY     JSON-RPC 2.0
    GET  /  or  /v3/KEY     the explorer, or a WebSocket with the same methods and subscriptions
    GET  /openrpc.json      the methods, described
    GET  /health            that the process is alive, and how fresh is what it knows of other nodes
    GET  /ready             503 while an estimate would not be answered
    GET  /metrics           for Prometheus, over all processes

Where keys are set, calls are answered on a key's path, or on / with the key in a header (`X-API-Key: KEY` or
`Authorization: Bearer KEY`). What may not be answered is refused before the body is read: a `Host`
that is a name and not ours (a page elsewhere whose name points here), a body that is not JSON or compressed.
"""

import ipaddress
import math
import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

import msgspec

from feemodel.errors import UpstreamError
from feemodel.rpc.begun import Begun, Later, following, once
from feemodel.rpc.fair_queue import CLIENT
from feemodel.rpc.feeds import Feeds
from feemodel.rpc.http import Head
from feemodel.rpc.jsonrpc import (
    BATCH_LIMIT,
    LIMIT_EXCEEDED,
    UNAVAILABLE,
    Batches,
    CallError,
    Methods,
    Observe,
    Response,
    Streamed,
    begin,
    failure,
    unobserved,
)
from feemodel.rpc.keys import CALLER, Caller, Keys
from feemodel.rpc.protocol import JSON, HeaderField, Reply, wants_websocket
from feemodel.rpc.websocket import Session

MESSAGE_LIMIT = 16 << 20  # bytes of an answer over a WebSocket
KNOWN_HOSTS = 64  # Host headers that are remembered as good
LOOPBACK = ("localhost", "127.0.0.1", "::1")
OPEN_PATHS = frozenset(("/health", "/ready", "/metrics", "/openrpc.json"))  # which need no key
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([0-9a-z._-]+))(?::[0-9]{1,5})?", re.IGNORECASE)


class Page(NamedTuple):
    """What `GET /` answers."""

    body: bytes
    headers: tuple[HeaderField, ...]


class State(Protocol):
    """What the application asks of the process that it runs in."""

    async def start(self) -> None: ...
    async def close(self) -> None: ...
    def health(self) -> dict[str, Any]: ...
    def unready(self) -> list[str]: ...


class Access(NamedTuple):
    """Who may ask.

    Parameters
    ----------
    hosts : names in the `Host` header that are answered, besides every IP address; "*" for any.
    keys : of which a request must have one, with their limits; `None` for none.
    guarded : paths that only a key of an operator opens, of `OPEN_PATHS`.
    cors_origins : whose pages may read answers; "*" for any.
    batch_limit : calls in a batch.
    """

    hosts: frozenset[str] = frozenset(LOOPBACK)
    keys: Keys | None = None
    guarded: frozenset[str] = frozenset()
    cors_origins: tuple[str, ...] = ()
    batch_limit: int = BATCH_LIMIT


class App:
    """The application of one process.

    Parameters
    ----------
    methods : name → function, plain or coroutine.
    access : who may ask.
    state : of the process, asked for health, started and closed; `None` for methods that need nothing.
    page : what `GET /` answers.
    openrpc : the description of the methods, JSON.
    metrics : their text, for Prometheus.
    observe : called with the method, the error code and the seconds of every call.
    feeds : of subscriptions; `None` for an application without WebSockets.
    """

    def __init__(
        self,
        methods: Methods,
        *,
        access: Access | None = None,
        state: State | None = None,
        page: Page | None = None,
        openrpc: bytes | None = None,
        metrics: Callable[[], Awaitable[bytes]] | None = None,
        observe: Observe = unobserved,
        feeds: Feeds | None = None,
    ) -> None:
        self._feeds = feeds
        self._methods, self._access, self._state = methods, access or Access(), state
        self._page, self._openrpc, self._metrics = page, openrpc, metrics
        self.keys = self._access.keys  #: may be replaced at any time
        self._any_host = "*" in self._access.hosts
        self._known_hosts: set[bytes] = set()  # headers that were found to be good
        self._begin_calls = partial(begin, batch_limit=self._access.batch_limit, observe=observe, batches=Batches())

    async def start(self) -> None:
        """Begin, before anything is answered."""
        if self._state is not None:
            await self._state.start()

    async def close(self) -> None:
        """End, when nothing more is answered."""
        if self._state is not None:
            await self._state.close()

    def refusal(self, head: Head) -> Reply | None:
        """What a request is answered before its body is read; `None` where it is read."""
        headers = head.headers
        host = headers.get(b"host", b"")
        if host not in self._known_hosts and not self._is_known_host(host):
            shown = host.decode("latin-1")[:100]
            return self.refused(403, f"the host {shown!r} is not one of those that are answered", head)
        if b"upgrade" in headers and wants_websocket(head):
            return self._websocket_refusal(head)
        is_keyed = self.keys is not None and (head.path == "/" or head.path.startswith("/v3/"))
        caller = self._caller(head)
        is_ours = caller is not None if self.keys is not None and is_keyed else head.path == "/"
        if is_ours and head.method == "POST":
            return self._content_refusal(head) or self._rate_refusal(caller, head)
        if head.method == "OPTIONS" and (is_ours or head.path == "/") and self._cors(head):
            return None  # a browser asks without the headers of the request that follows
        if head.path in self._access.guarded:
            if caller is None or not caller.key.operator:
                return self._unknown(head)
        elif not (is_ours or head.path in OPEN_PATHS):
            return self._unknown(head) if is_keyed else self.refused(404, "not found", head)
        if head.method not in ("GET", "HEAD") or (is_ours and self._page is None):
            allowed = ["GET", "HEAD"] if not is_ours or self._page is not None else []
            names = ", ".join([*allowed, *["POST"] * is_ours]).encode()
            return self.refused(405, "method not allowed", head, (b"allow", names))
        return None

    def _websocket_refusal(self, head: Head) -> Reply | None:
        """What a request for a WebSocket is answered; `None` where it gets one."""
        if self._feeds is None or not (head.path == "/" or (self.keys is not None and head.path.startswith("/v3/"))):
            reason = "expected JSON-RPC by POST; there is no WebSocket here"
            return self.refused(426, reason, head, (b"upgrade", b"HTTP/1.1"), (b"connection", b"upgrade"))
        if self.keys is not None and self._caller(head) is None:
            return self._unknown(head)
        origin, host = head.headers.get(b"origin"), head.headers.get(b"host", b"")
        is_own = origin is None or origin.partition(b"://")[2] == host  # browsers ask no leave for a WebSocket
        if not is_own and not self._cors(head):
            return self.refused(403, "pages of this origin may not open a WebSocket", head)
        return None

    def websocket(self, head: Head, send_frame: Callable[[bytes], None]) -> Session:
        """What answers the messages of one WebSocket.

        Parameters
        ----------
        head : of the request for it, which was not refused.
        send_frame : a whole frame to the client.
        """
        assert self._feeds is not None
        return Session(self._feeds, self._methods, partial(self._answer_message, head), send_frame)

    async def _answer_message(self, head: Head, message: bytes, methods: Methods) -> bytes | None:
        """The response to a message of a WebSocket; raises `PermissionError` where its key is known no longer."""
        caller = self._caller(head)
        if self.keys is not None and caller is None:
            raise PermissionError("the key is not known any more")
        CALLER.set(caller)
        response = await once(self._begin_calls(message, methods, admit=None if caller is None else caller.admit))
        return await _whole(response) if isinstance(response, Streamed) else response

    def _unknown(self, head: Head) -> Reply:
        """The answer to a request without a key that opens its path."""
        if self.keys is not None:
            self.keys.refused(CLIENT.get(), given=given_key(head) is not None)
        return self.refused(401, "this request does not have a key that is known here", head)

    def _rate_refusal(self, caller: Caller | None, head: Head) -> Reply | None:
        wait = 0.0 if caller is None else caller.wait()
        if not wait:
            return None
        return self.refused(429, "the rate of this key is used up", head, (b"retry-after", b"%d" % math.ceil(wait)))

    def _caller(self, head: Head) -> Caller | None:
        """Whose key a request has; `None` where it has none that is known."""
        return None if self.keys is None else self.keys.find(given_key(head))

    def refused(self, status: int, reason: str, head: Head | None, *headers: HeaderField) -> Reply:
        """An HTTP status with its reason."""
        body = msgspec.json.encode({"error": reason})
        return Reply(status, (JSON, *headers, *(self._cors(head) if head is not None else ())), body)

    def begin(self, head: Head, body: bytes) -> Begun[Reply]:
        """The answer to a request that has come as a whole and was not refused, or what waits for it."""
        if head.method != "POST":
            return self._answer_other(head)
        caller = self._caller(head)
        CALLER.set(caller)
        response = self._begin_calls(body, self._methods, admit=None if caller is None else caller.admit)
        if isinstance(response, Later):
            return response.then(partial(self._reply, head))
        reply = partial(self._reply, head)
        return reply(response) if isinstance(response, bytes) else following(response, reply)  # type: ignore[arg-type]

    def _reply(self, head: Head, response: Response | Exception) -> Reply:
        """The answer with a response; raises what came in its place."""
        if isinstance(response, Exception):
            raise response
        headers = (JSON, *self._cors(head)) if b"origin" in head.headers else _JSON_ONLY
        if isinstance(response, bytes):
            return Reply(200, headers, response)
        return Reply(204, headers, b"") if response is None else Reply(200, headers, response.head, response)

    async def _answer_other(self, head: Head) -> Reply:
        cors = self._cors(head)
        if head.method == "OPTIONS":
            return Reply(204, (*cors, *_PREFLIGHT), b"")
        reply = await self._got(head.path)
        if reply is None:
            return self.refused(404, "not found", head)
        return reply._replace(headers=(*reply.headers, *cors))

    async def _got(self, path: str) -> Reply | None:
        """The answer to GET; `None` where there is nothing."""
        if path == "/health":
            return Reply(200, (JSON,), msgspec.json.encode({"status": "ok"} if self._state is None else
                                                           self._state.health()))  # fmt: skip
        if path == "/ready":
            reasons = [] if self._state is None else self._state.unready()
            answer = msgspec.json.encode({"ready": not reasons, "reasons": reasons})
            return Reply(503 if reasons else 200, (JSON,), answer)
        if path == "/metrics":
            return None if self._metrics is None else Reply(200, (_METRICS,), await self._metrics())
        if path == "/openrpc.json":
            return None if self._openrpc is None else Reply(200, (JSON,), self._openrpc)
        return None if self._page is None else Reply(200, self._page.headers, self._page.body)

    def _content_refusal(self, head: Head) -> Reply | None:
        """A page elsewhere may send other types without asking; a compressed body may be larger than it looks."""
        kind = head.headers.get(b"content-type", b"")
        if kind != b"application/json" and (kind := kind.partition(b";")[0].strip().lower()) != b"application/json":
            shown = kind[:100].decode("latin-1")
            return self.refused(415, f"expected content-type application/json, got {shown!r}", head)
        encoding = head.headers.get(b"content-encoding")
        if encoding is not None and (encoding := encoding.strip().lower()) != b"identity":
            shown = encoding[:100].decode("latin-1")
            return self.refused(415, f"expected no content-encoding, got {shown!r}", head)
        return None

    def _is_known_host(self, header: bytes) -> bool:
        if self._any_host:
            return True
        name = host_name(header.decode("latin-1"))
        if name not in self._access.hosts and not _is_address(name):
            return False
        if len(self._known_hosts) < KNOWN_HOSTS:
            self._known_hosts.add(header)
        return True

    def _cors(self, head: Head) -> tuple[HeaderField, ...]:
        """What lets a page elsewhere read the answer; nothing unless its origin was named."""
        origin, named = head.headers.get(b"origin"), self._access.cors_origins
        if origin is None or not named or ("*" not in named and origin.decode("latin-1") not in named):
            return ()
        return (b"access-control-allow-origin", origin), (b"vary", b"origin")


_JSON_ONLY: tuple[HeaderField, ...] = (JSON,)
_METRICS: HeaderField = (b"content-type", b"text/plain; version=0.0.4; charset=utf-8")
_PREFLIGHT: tuple[HeaderField, ...] = (
    (b"access-control-allow-methods", b"POST"),
    (b"access-control-allow-headers", b"content-type, x-api-key, authorization"),
    (b"access-control-max-age", b"600"),
)


async def _whole(response: Streamed) -> bytes:
    """A response in pieces as one message."""
    pieces, size = [response.head], 0
    try:
        async for piece in response.pieces():
            size += len(piece)
            if size > MESSAGE_LIMIT:
                return failure(CallError(LIMIT_EXCEEDED, f"an answer over WebSocket: at most {MESSAGE_LIMIT:,} bytes"))
            pieces.append(piece)
    except UpstreamError as error:
        return failure(CallError(UNAVAILABLE, str(error)))
    finally:
        await response.close()
    return b"".join(pieces)


def given_key(head: Head) -> str | None:
    """The key in the path or the headers of a request; `None` where there is none.

    >>> given_key(Head("POST", "/v3/abc", {})), given_key(Head("POST", "/", {b"authorization": b"Bearer abc"}))
    ('abc', 'abc')
    """
    if head.path.startswith("/v3/"):
        return head.path[len("/v3/") :]
    if (key := head.headers.get(b"x-api-key")) is not None:
        return key.decode("latin-1")
    scheme, _, credentials = head.headers.get(b"authorization", b"").partition(b" ")
    return credentials.strip().decode("latin-1") if scheme.lower() == b"bearer" else None


def host_name(host: str) -> str:
    """The name or the address in a `Host` header, without port and brackets; "" where it is neither.

    >>> host_name("localhost:8545"), host_name("[::1]:8545"), host_name("[::1]evil.example")
    ('localhost', '::1', '')
    """
    found = _HOST.fullmatch(host)
    return (found[1] or found[2]).lower() if found is not None else ""


def _is_address(name: str) -> bool:
    """Whether a name is an IP address, which nobody can point elsewhere."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
