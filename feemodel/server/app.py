"""ASGI application that each worker process runs.

POST /                  JSON-RPC 2.0
GET  /                  the explorer's page
GET  /openrpc.json      OpenRPC description of the methods
GET  /health            200 if the process is alive
GET  /ready             200 if estimates and proofs can be answered, else 503
GET  /metrics           Prometheus metrics of all workers
"""

import asyncio
import ipaddress
import re
from collections.abc import Iterable
from typing import Any, TypeAlias

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from feemodel.server import explorer, metrics
from feemodel.server.execute import RECEIVE
from feemodel.server.service import Service
from feemodel.server.settings import LOOPBACK

Headers: TypeAlias = Iterable[tuple[bytes, bytes]]

BODY_BYTES = 1 << 20  # maximum size of a request [byte]
REQUESTS = 256  # maximum requests in progress
LARGE = 1 << 16  # minimum size of a large request [byte]
HELD = 16 << 20  # large requests are refused while the requests in progress exceed this total size [byte]
JSON_TYPES = frozenset((b"application/json", b"application/json-rpc", b"application/jsonrequest"))
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([0-9a-z._-]+))(?::[0-9]{1,5})?", re.IGNORECASE)
_JSON = (b"content-type", b"application/json")


class Refusal(Exception):
    """A request that is answered with an HTTP status other than 200."""

    def __init__(self, status: int, reason: str, *headers: tuple[bytes, bytes]) -> None:
        super().__init__(status, reason, *headers)
        self.status, self.reason, self.headers = status, reason, headers


class App:
    """ASGI application with the routes of the server.

    Parameters
    ----------
    service : the worker's service, whose methods the application serves.
    """

    def __init__(self, service: Service) -> None:
        settings = service.settings
        self._service, self._dispatcher = service, service.dispatcher()
        self._hosts = frozenset(map(str.lower, (*LOOPBACK, settings.host, *settings.allowed_hosts)))
        self._answering = self._held = 0  # requests in progress: number, total size of the bodies
        routes = [
            Route("/health", self._health, methods=["GET"]),
            Route("/ready", self._ready, methods=["GET"]),
            Route("/metrics", self._metrics, methods=["GET"]),
            Route("/openrpc.json", self._openrpc, methods=["GET"]),
            *explorer.ROUTES,
        ]
        self._others = Starlette(routes=routes, lifespan=service.lifespan)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._others(scope, receive, send)
            return
        try:
            self._check_host(scope["headers"])
        except Refusal as refusal:
            await self._refuse(send, refusal)
            return
        await self._route(scope, receive, send)

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST" or scope["path"] != "/":
            await self._others(scope, receive, send)
            return
        try:
            answer = await self._answer(scope["headers"], receive)
        except Refusal as refusal:
            await self._refuse(send, refusal)
            return
        except asyncio.CancelledError:  # the client is gone
            return
        if answer is None:
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        headers = [_JSON, (b"content-length", b"%d" % len(answer))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    async def _answer(self, headers: Headers, receive: Receive) -> bytes | None:
        """Return the response to a request; raises `Refusal` for a request that is refused."""
        self._check_content(headers)
        if self._answering >= REQUESTS:
            raise Refusal(503, f"at most {REQUESTS:,} requests are answered at the same time", (b"retry-after", b"1"))
        self._answering += 1
        body = bytearray()
        try:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Refusal(400, "the request did not arrive as a whole")
                body += message["body"]
                self._held += len(message["body"])
                if len(body) > BODY_BYTES:
                    raise self._too_large()
                if len(body) > LARGE and self._held > HELD:
                    reason = f"at most {HELD:,} bytes of large requests are held at the same time"
                    raise Refusal(503, reason, (b"retry-after", b"1"), (b"connection", b"close"))
                if not message.get("more_body"):
                    RECEIVE.set(receive)
                    return await self._dispatcher.answer(bytes(body))
        finally:
            self._answering -= 1
            self._held -= len(body)

    def _too_large(self) -> Refusal:
        return Refusal(413, f"a request has at most {BODY_BYTES:,} bytes", (b"connection", b"close"))

    def _check_content(self, headers: Headers) -> None:
        """Refuse compressed or too large bodies, and content types that browsers send without a CORS preflight."""
        kind = b""
        for name, value in headers:
            if name == b"content-type":
                kind = value.partition(b";")[0].strip().lower()
            elif name == b"content-length" and int(value) > BODY_BYTES:
                raise self._too_large()
            elif name == b"content-encoding" and value.strip().lower() != b"identity":
                shown = value[:100].decode("latin-1")
                raise Refusal(415, f"expected no content-encoding, got {shown!r}")
        if kind not in JSON_TYPES:
            shown = kind[:100].decode("latin-1")
            raise Refusal(415, f"expected content-type application/json, got {shown!r}")

    def _check_host(self, headers: Headers) -> None:
        """Reject requests whose Host header is not allowed (DNS rebinding); IP addresses are always allowed."""
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) != 1:
            raise Refusal(400, f"expected one Host header, got {len(hosts)}", (b"connection", b"close"))
        if not _is_allowed(self._hosts, hosts[0]):
            shown = hosts[0][:100].decode("latin-1")
            raise Refusal(403, f"the host {shown!r} is not allowed")

    async def _refuse(self, send: Send, refusal: Refusal) -> None:
        metrics.count_refusal(refusal.status)
        body = msgspec.json.encode({"error": refusal.reason})
        headers = [_JSON, (b"content-length", b"%d" % len(body)), *refusal.headers]
        await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def _health(self, request: Request) -> Response:
        return _json({"status": "ok"})

    async def _ready(self, request: Request) -> Response:
        reasons = self._service.unready()
        state = {"ready": not reasons, "reasons": reasons, "warnings": self._service.warnings()}
        return _json(state, 503 if reasons else 200)

    async def _metrics(self, request: Request) -> Response:
        found = await asyncio.to_thread(metrics.text, self._service.gauges())
        return Response(found, media_type="text/plain; version=0.0.4")

    async def _openrpc(self, request: Request) -> Response:
        return Response(self._service.document(), media_type="application/json")


def _json(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


def _is_allowed(allowed: frozenset[str], host: bytes) -> bool:
    """Return whether a Host header has an allowed name or an IP address."""
    found = _HOST.fullmatch(host.decode("latin-1"))
    name = (found[1] or found[2]).lower() if found else ""
    return "*" in allowed or name in allowed or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
