"""The ASGI application: JSON-RPC by POST, and what people and machines look at by GET.

    POST /  or  /v3/KEY     JSON-RPC 2.0
    GET  /  or  /v3/KEY     the explorer
    GET  /openrpc.json      the methods, described
    GET  /health            that the process is alive, and how fresh is what it knows of other nodes
    GET  /ready             503 while an estimate would not be answered
    GET  /metrics           for Prometheus, over all processes

Where a key is set, only its path answers calls. Whoever stands in the way is refused before anything is read: a `Host`
that is not ours (a page elsewhere whose name points here), a body that is not JSON, too long, compressed or too slow.
"""

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias, cast

import msgspec

from feemodel.rpc.jsonrpc import (
    BATCH_LIMIT,
    LIMIT_EXCEEDED,
    Batches,
    CallError,
    Methods,
    Observe,
    failure,
    respond,
    unobserved,
)

BODY_LIMIT = 1 << 20  # bytes of a request
MAX_DIGITS = 18  # of a length that is looked at
KNOWN_HOSTS = 64  # Host headers that are remembered as good
LOOPBACK = ("localhost", "127.0.0.1", "::1")

Receive: TypeAlias = Callable[[], Awaitable[dict[str, Any]]]
Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]
Header: TypeAlias = tuple[bytes, bytes]

#: With these a request asks for more than an answer to its body.
_MORE_ASKED = frozenset((b"expect", b"origin", b"transfer-encoding", b"upgrade", b"content-encoding"))

_JSON = (b"content-type", b"application/json")
_RETRY = (b"retry-after", b"1")


class Page(NamedTuple):
    """What `GET /` answers."""

    body: bytes
    headers: tuple[Header, ...]


class Reply(NamedTuple):
    """The answer to a POST."""

    status: int
    headers: list[Header]
    body: bytes


class State(Protocol):
    """What the application asks of the process that it runs in."""

    async def start(self) -> None: ...
    async def close(self) -> None: ...
    def health(self) -> dict[str, Any]: ...
    def unready(self) -> list[str]: ...


class Access(NamedTuple):
    """Who may ask, and how much.

    Parameters
    ----------
    hosts : names in the `Host` header that are answered; "*" for any.
    api_key : which the path must have, `None` for none.
    cors_origins : whose pages may read answers; "*" for any.
    body_limit : of a request [byte].
    body_seconds : until it has arrived as a whole [s].
    batch_limit : calls in a batch.
    requests : under way at a time; one more is told 503.
    """

    hosts: frozenset[str] = frozenset(LOOPBACK)
    api_key: str | None = None
    cors_origins: tuple[str, ...] = ()
    body_limit: int = BODY_LIMIT
    body_seconds: float = 10.0
    batch_limit: int = BATCH_LIMIT
    requests: int = 256


class _Refused(Exception):
    """A request that is answered with an HTTP status and no more."""

    def __init__(self, status: int, reason: str, *headers: Header) -> None:
        self.status, self.reason, self.headers = status, reason, headers


class App:
    """An ASGI 3 application.

    Parameters
    ----------
    methods : name → function, plain or coroutine.
    access : who may ask, and how much.
    state : of the process, asked for health and told of start and end; `None` for methods that need nothing.
    page : what `GET /` answers.
    openrpc : the description of the methods, JSON.
    metrics : their text, for Prometheus.
    observe : told of every call.
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
    ) -> None:
        self._methods, self._access, self._state = methods, access or Access(), state
        self._page, self._openrpc, self._metrics, self._observe = page, openrpc, metrics, observe
        key = self._access.api_key
        self._call_path = b"/" if key is None else b"/v3/" + key.encode()
        self._any_host = "*" in self._access.hosts
        self._known_hosts: set[bytes] = set()  # headers that were found to be good
        self._batches = Batches()
        self._under_way: set[object] = set()  # a token for each request
        self._arriving: dict[object, asyncio.Timeout] = {}  # those whose body is waited for, the oldest first

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Serve one connection of the protocol server."""
        if scope["type"] == "lifespan":
            await _live(receive, send, self._state)
            return
        headers = dict(scope["headers"])
        extra = self._cors(headers)
        try:
            self._check_host(headers)
            is_ours = self._is_call_path(scope["path"])
            if is_ours and scope["method"] == "POST":
                await self._post(headers, receive, send, extra)
            elif is_ours and scope["method"] == "OPTIONS" and extra:
                await _reply(send, 204, b"", [*extra, *_PREFLIGHT])
            else:
                await self._get(scope, send, is_ours, extra)
        except _Refused as refused:
            body = msgspec.json.encode({"error": refused.reason})
            await _reply(send, refused.status, body, [_JSON, *refused.headers, *extra])

    def _is_call_path(self, path: str) -> bool:
        if self._access.api_key is None:
            return path == "/"
        return hmac.compare_digest(path.encode(), self._call_path)  # a key cannot be guessed by its beginning

    async def _post(self, headers: dict[bytes, bytes], receive: Receive, send: Send, extra: Iterable[Header]) -> None:
        _check_content(headers)
        refusal = self._refusal()
        if refusal is not None:
            await _reply(send, refusal.status, refusal.body, [*refusal.headers, *extra])
            return
        token = object()
        self._under_way.add(token)
        try:
            begun = _Begun(self._body(headers, receive))
            body = begun.value if begun.is_done else await self._arrived(token, begun)
            if body is None:
                return
            reply = _reply_of(await self._called(body))
        finally:
            self._under_way.discard(token)
        await _reply(send, reply.status, reply.body, [*reply.headers, *extra])

    def plain_length(self, scope: Mapping[str, Any]) -> int | None:
        """The length of the body of a call that its head leaves no doubt about; `None` of any other request [byte].

        Any request with the same head may be answered by `call` with its body.
        """
        headers = dict(scope["headers"])
        length = headers.get(b"content-length", b"")
        if scope["method"] != "POST" or not self._is_call_path(scope["path"]) or not length.isdigit():
            return None
        if len(headers) < len(scope["headers"]) or not _MORE_ASKED.isdisjoint(headers):
            return None
        if headers.get(b"connection", b"keep-alive").lower() != b"keep-alive":
            return None
        try:
            self._check_host(headers)
            _check_content(headers)
        except _Refused:
            return None
        return int(length) if len(length) <= MAX_DIGITS and int(length) <= self._access.body_limit else None

    async def call(self, body: bytes) -> Reply:
        """Answer a call whose body has come as a whole."""
        refusal = self._refusal()
        if refusal is not None:
            return refusal
        token = object()
        self._under_way.add(token)
        try:
            return _reply_of(await self._called(body))
        finally:
            self._under_way.discard(token)

    def _called(self, body: bytes) -> Coroutine[Any, Any, bytes | None]:
        return respond(
            body, self._methods, batch_limit=self._access.batch_limit, observe=self._observe, batches=self._batches
        )

    def _refusal(self) -> Reply | None:
        """What is told where too much is under way already."""
        if len(self._under_way) < self._access.requests or self._made_room():
            return None
        reason = f"busy: {self._access.requests} requests are under way"
        return Reply(503, [_JSON, _RETRY], failure(CallError(LIMIT_EXCEEDED, reason)))

    def _made_room(self) -> bool:
        """End the request whose body has been arriving for the longest; whether there was one."""
        oldest = next(iter(self._arriving), None)
        if oldest is None:
            return False
        self._under_way.discard(oldest)
        self._arriving.pop(oldest).reschedule(asyncio.get_running_loop().time())
        return True

    async def _arrived(self, token: object, body: "_Begun") -> bytes | None:
        """The body as a whole, in time; `None` where the other side has gone."""
        try:
            async with asyncio.timeout(self._access.body_seconds) as waited:
                self._arriving[token] = waited
                return await body
        except TimeoutError:
            limit = self._access.body_seconds
            raise _Refused(408, f"the request took more than {limit:g} s to arrive, or others came meanwhile") from None
        finally:
            self._arriving.pop(token, None)

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes | None:
        """The body as a whole; `None` where the other side has gone."""
        limit = self._access.body_limit
        too_long = _Refused(413, f"the request is longer than {limit} bytes")
        declared = headers.get(b"content-length", b"0")
        if declared.isdigit() and (len(declared) > MAX_DIGITS or int(declared) > limit):
            raise too_long
        message = await receive()
        if not message.get("more_body", False) and message["type"] == "http.request":
            body = message.get("body", b"")
            if len(body) > limit:
                raise too_long
            return bytes(body)
        parts = bytearray()
        while message["type"] != "http.disconnect":
            parts += message.get("body", b"")
            if len(parts) > limit:
                raise too_long
            if not message.get("more_body", False):
                return bytes(parts)
            message = await receive()
        return None

    async def _get(self, scope: dict[str, Any], send: Send, is_ours: bool, extra: Iterable[Header]) -> None:
        path, method = scope["path"], scope["method"]
        known = {"/openrpc.json": self._openrpc, "/metrics": self._metrics, "/health": True, "/ready": True}
        if not (is_ours or path in known):
            if self._access.api_key is not None and (path == "/" or path.startswith("/v3/")):
                raise _Refused(401, "this path does not have the key")
            raise _Refused(404, "not found")
        if method not in ("GET", "HEAD") or (is_ours and self._page is None):
            allowed = ["GET", "HEAD"] if path in known or self._page is not None else []
            raise _Refused(405, "method not allowed", (b"allow", ", ".join([*allowed, *["POST"] * is_ours]).encode()))
        if is_ours and self._page is not None:
            await _reply(send, 200, self._page.body, [*self._page.headers, *extra])
        elif path == "/health":
            state = {"status": "ok"} if self._state is None else self._state.health()
            await _reply(send, 200, msgspec.json.encode(state), [_JSON, *extra])
        elif path == "/ready":
            reasons = [] if self._state is None else self._state.unready()
            answer = msgspec.json.encode({"ready": not reasons, "reasons": reasons})
            await _reply(send, 503 if reasons else 200, answer, [_JSON, *extra])
        elif path == "/metrics" and self._metrics is not None:
            text = await self._metrics()
            await _reply(send, 200, text, [(b"content-type", b"text/plain; version=0.0.4; charset=utf-8"), *extra])
        elif path == "/openrpc.json" and self._openrpc is not None:
            await _reply(send, 200, self._openrpc, [_JSON, *extra])
        else:
            raise _Refused(404, "not found")

    def _check_host(self, headers: dict[bytes, bytes]) -> None:
        header = headers.get(b"host", b"")
        if self._any_host or header in self._known_hosts:
            return
        host = header.decode("latin-1")
        if _host_name(host) not in self._access.hosts:
            raise _Refused(403, f"the host {host[:100]!r} is not one of those that are answered")
        if len(self._known_hosts) < KNOWN_HOSTS:
            self._known_hosts.add(header)

    def _cors(self, headers: dict[bytes, bytes]) -> list[Header]:
        """What lets a page elsewhere read the answer; nothing unless its origin was named."""
        origin = headers.get(b"origin")
        if origin is None or not self._access.cors_origins:
            return []
        named = self._access.cors_origins
        if "*" not in named and origin.decode("latin-1") not in named:
            return []
        return [(b"access-control-allow-origin", origin), (b"vary", b"origin")]


def _reply_of(response: bytes | None) -> Reply:
    return Reply(204, [_JSON], b"") if response is None else Reply(200, [_JSON], response)


class _Begun:
    """A coroutine that was run up to its first wait; a body that has come already needs no clock."""

    value: bytes | None = None

    def __init__(self, coroutine: Coroutine[Any, Any, bytes | None]) -> None:
        self._coroutine = coroutine
        self.is_done = False
        try:
            self._waits_for = coroutine.send(None)
        except StopIteration as finished:
            self.value, self.is_done = finished.value, True

    def __await__(self) -> Generator[Any, Any, bytes | None]:
        try:
            while True:
                try:
                    sent = yield self._waits_for
                except BaseException as error:  # of the task that awaits, such as its end
                    self._waits_for = self._coroutine.throw(error)
                else:
                    self._waits_for = self._coroutine.send(sent)
        except StopIteration as finished:
            return cast("bytes | None", finished.value)


_PREFLIGHT: tuple[Header, ...] = (
    (b"access-control-allow-methods", b"POST"),
    (b"access-control-allow-headers", b"content-type"),
    (b"access-control-max-age", b"600"),
)


def _check_content(headers: dict[bytes, bytes]) -> None:
    """A page elsewhere may send other types without asking; a compressed body may be larger than it looks."""
    kind = headers.get(b"content-type", b"").split(b";", 1)[0].strip().lower()
    if kind != b"application/json":
        raise _Refused(415, f"expected content-type application/json, got {kind[:100].decode('latin-1')!r}")
    encoding = headers.get(b"content-encoding", b"identity").strip().lower()
    if encoding != b"identity":
        raise _Refused(415, f"expected no content-encoding, got {encoding[:100].decode('latin-1')!r}")


def _host_name(host: str) -> str:
    """The name in a `Host` header, without its port and the brackets of IPv6.

    >>> _host_name("localhost:8545"), _host_name("[::1]:8545")
    ('localhost', '::1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


async def _live(receive: Receive, send: Send, state: State | None) -> None:
    """The start and the end of the process."""
    while True:
        message = await receive()
        if state is not None:
            await (state.start() if message["type"] == "lifespan.startup" else state.close())
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


async def _reply(send: Send, status: int, body: bytes, headers: list[Header]) -> None:
    sized = headers if status == 204 else [*headers, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": sized})
    await send({"type": "http.response.body", "body": body})
