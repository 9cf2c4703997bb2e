"""ASGI application that each worker process runs.

POST /                  JSON-RPC 2.0
GET  /                  the explorer's page
GET  /openrpc.json      OpenRPC description of the methods
GET  /health            200 if the process is alive
GET  /ready             200 if estimates and proofs can be answered, else 503
GET  /metrics           Prometheus metrics of all workers
"""

import asyncio
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from feemodel.server import explorer, metrics
from feemodel.server.dispatch import document
from feemodel.server.execute import RECEIVE
from feemodel.server.service import Service
from feemodel.server.settings import LOOPBACK

JSON_TYPES = frozenset(("application/json", "application/json-rpc", "application/jsonrequest"))


def application(service: Service) -> ASGIApp:
    """Return the application that serves the methods of a service.

    Without a proxy, only requests to loopback are answered, by their Host header (DNS rebinding).
    """
    dispatcher = service.dispatcher()

    async def call(request: Request) -> Response:
        """Answer a JSON-RPC request, whose content type no browser sends without a CORS preflight."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in JSON_TYPES:
            return _json({"error": f"expected content-type application/json, got {kind[:100]!r}"}, 415)
        RECEIVE.set(request.receive)
        try:
            answer = await dispatcher.answer(await request.body())
        except (ClientDisconnect, asyncio.CancelledError):  # the client is gone
            return Response(status_code=400)
        return Response(answer, 204 if answer is None else 200, media_type="application/json")

    async def health(request: Request) -> Response:
        return _json({"status": "ok"})

    async def ready(request: Request) -> Response:
        reasons = service.unready()
        state = {"ready": not reasons, "reasons": reasons, "warnings": service.warnings()}
        return _json(state, 503 if reasons else 200)

    async def measured(request: Request) -> Response:
        found = await asyncio.to_thread(metrics.text, service.gauges())
        return Response(found, media_type="text/plain; version=0.0.4")

    async def openrpc(request: Request) -> Response:
        return Response(document(service.methods), media_type="application/json")

    hosts = ["*"] if service.settings.behind_proxy else [*LOOPBACK, "[::1]"]
    routes = [
        Route("/health", health),
        Route("/ready", ready),
        Route("/metrics", measured),
        Route("/openrpc.json", openrpc),
        *explorer.ROUTES,
    ]
    others = Starlette(routes=routes, lifespan=service.lifespan)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; a call does not pass the routes, which would take half as long as an estimate."""
        if scope["type"] == "http" and scope["method"] == "POST" and scope["path"] == "/":
            response = await call(Request(scope, receive))
            await response(scope, receive, send)
        else:
            await others(scope, receive, send)

    return TrustedHostMiddleware(answer, allowed_hosts=hosts, www_redirect=False)


def _json(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")
