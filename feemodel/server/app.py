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
from typing import Any

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

BODY_BYTES = 1 << 20  # maximum size of a request [byte]
JSON_TYPES = frozenset((b"application/json", b"application/json-rpc", b"application/jsonrequest"))
_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([0-9a-z._-]+))(?::[0-9]{1,5})?", re.IGNORECASE)


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
        routes = [
            Route("/health", self._health, methods=["GET"]),
            Route("/ready", self._ready, methods=["GET"]),
            Route("/metrics", self._metrics, methods=["GET"]),
            Route("/openrpc.json", self._openrpc, methods=["GET"]),
            *explorer.ROUTES,
        ]
        self._others = Starlette(routes=routes, lifespan=service.lifespan)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; one whose Host header is not allowed is refused (DNS rebinding)."""
        if scope["type"] != "lifespan":
            hosts = [value for name, value in scope["headers"] if name == b"host"]
            if len(hosts) != 1:
                await _refuse(send, 400, f"expected one Host header, got {len(hosts)}")
                return
            if not _is_allowed(self._hosts, hosts[0]):
                await _refuse(send, 403, f"the host {hosts[0][:100].decode('latin-1')!r} is not allowed")
                return
            if scope["method"] == "POST" and scope["path"] == "/":
                await self._call(dict(scope["headers"]), receive, send)
                return
        await self._others(scope, receive, send)

    async def _call(self, headers: dict[bytes, bytes], receive: Receive, send: Send) -> None:
        """Answer a JSON-RPC request, whose content type no browser sends without a CORS preflight."""
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if kind not in JSON_TYPES:
            await _refuse(send, 415, f"expected content-type application/json, got {kind[:100].decode('latin-1')!r}")
            return
        if (encoding := headers.get(b"content-encoding", b"identity").strip().lower()) != b"identity":
            await _refuse(send, 415, f"expected no content-encoding, got {encoding[:100].decode('latin-1')!r}")
            return
        body, is_whole = bytearray(), False
        while not is_whole:
            message = await receive()
            is_whole = not message.get("more_body")
            if message["type"] == "http.disconnect":
                return
            body += message["body"]
            if len(body) > BODY_BYTES:
                await _refuse(send, 413, f"a request has at most {BODY_BYTES:,} bytes")
                return
        RECEIVE.set(receive)
        try:
            answer = await self._dispatcher.answer(bytes(body))
        except asyncio.CancelledError:  # the client is gone
            return
        await _send(send, 204 if answer is None else 200, answer or b"")

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


async def _refuse(send: Send, status: int, reason: str) -> None:
    """Refuse a request, and close its connection, from which more may come."""
    metrics.count_refusal(status)
    await _send(send, status, msgspec.json.encode({"error": reason}), (b"connection", b"close"))


async def _send(send: Send, status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    named = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))] if body else []
    await send({"type": "http.response.start", "status": status, "headers": [*named, *headers]})
    await send({"type": "http.response.body", "body": body})


def _is_allowed(allowed: frozenset[str], host: bytes) -> bool:
    """Return whether a Host header has an allowed name or an IP address."""
    found = _HOST.fullmatch(host.decode("latin-1"))
    name = (found[1] or found[2]).lower() if found else ""
    if "*" in allowed or name in allowed:
        return True
    try:
        return bool(ipaddress.ip_address(name))
    except ValueError:
        return False
