"""ASGI application that each worker process runs, and the methods that it serves.

POST /                  JSON-RPC 2.0
GET  /                  the explorer's page
GET  /openrpc.json      OpenRPC description of the methods
GET  /health            200 if the process is alive
GET  /ready             200 if estimates and proofs can be answered, else 503
GET  /metrics           Prometheus metrics of all workers
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

from prometheus_client.core import Metric
from starlette.applications import Starlette
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from feemodel.errors import UpstreamError
from feemodel.estimates.prices import suggested_tip
from feemodel.estimates.rollup import Estimates, GasSource, Measuring
from feemodel.ethereum._transaction import LINEA_CHAIN_ID
from feemodel.explorer import POLICY, STATIC, explorer_methods
from feemodel.io.polled import Polled
from feemodel.server.dispatch import Dispatcher, Method, as_call_error, document, methods_of
from feemodel.server.execute import RECEIVE, Executor
from feemodel.server.methods import ChainMethods, Ledger, NodeMethods, accounts, client_version
from feemodel.server.metrics import gauge, text
from feemodel.server.node import Upstream
from feemodel.server.prices import CurrentPrices, configured_prices, polled_l1_prices
from feemodel.server.settings import LOOPBACK
from feemodel.server.workers import Loaded

JSON_TYPES = frozenset(("application/json", "application/json-rpc", "application/jsonrequest"))
PAGE_HEADERS = {
    "content-security-policy": POLICY, "referrer-policy": "no-referrer", "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}  # fmt: skip
# Methods of the rollup; existing clients of Linea use the prefix `linea_`.
ESTIMATES, PROOFS = (("rollup_" + name, "linea_" + name) for name in ("estimateGas", "getProof"))


class Service:
    """The methods of one worker, with the chain, ledger, node and prices that they use.

    A service must be created within an event loop; `lifespan` starts and stops the service.
    """

    def __init__(self, loaded: Loaded) -> None:
        self.settings = settings = loaded.settings
        self.chain = loaded.chain
        self.measuring = Measuring(loaded.codec, settings.measured, settings.packed)
        loaded.codec.size(bytes(64))  # compiles the codec's kernels before the first request
        node, l1_node = settings.node, settings.l1_node
        self.upstream = None if node is None else Upstream(settings, node, loaded.chain_id)
        self.head = None if self.upstream is None else self.upstream.head
        self._l1 = None if l1_node is None else polled_l1_prices(settings, l1_node)
        self._polled: list[Polled[Any]] = [one for one in (self.head, self._l1) if one is not None]
        self.ledger = None if loaded.store is None else Ledger(loaded.store, self.head)
        self.pricing = CurrentPrices(settings, self.chain, self.head, self._l1)
        self._executor = None if self.chain is None else Executor(self.chain, settings)
        self.gas: GasSource | None = self._executor or self.upstream
        self.methods = self._methods()
        self.dispatcher = Dispatcher(self.methods, None if self.upstream is None else self.upstream.forward)

    def _methods(self) -> dict[str, Method]:
        methods = {"eth_accounts": Method(accounts), "web3_clientVersion": Method(client_version)}
        if self.upstream is not None:
            methods |= methods_of(NodeMethods(self.upstream, self.pricing))
        if self._executor is not None:
            methods |= methods_of(ChainMethods(self._executor, self.pricing))
        if self.gas is not None:
            # Without polls the prices are constant, and computed and checked once.
            prices = self.pricing if self._polled else SimpleNamespace(now=self.pricing.now)
            estimates = Estimates(self.gas, prices, self.measuring)
            methods |= dict.fromkeys(ESTIMATES, Method(estimates.estimate))
        if self.ledger is not None:
            methods |= dict.fromkeys(PROOFS, Method(self.ledger.proof))
        methods["feemodel_pricing"] = Method(self.pricing.describe)
        explorer = explorer_methods(
            own_form=lambda: self.pricing.now.form,
            preset=configured_prices(self.settings).preset,
            chain_id=self.chain_id,
            measuring=self.measuring,
            ask_node=None if self.upstream is None else self.upstream.ask,
            source=self.gas,
        )
        return methods | {name: Method(function, typed=False) for name, function in explorer.items()}

    def chain_id(self) -> int:
        """Return the id of the served chain, or Linea's until the node has reported its own."""
        if self.chain is not None:
            return self.chain.call_state.chain_id
        known = None if self.upstream is None else self.upstream.chain_id.known
        return LINEA_CHAIN_ID if known is None else known

    @asynccontextmanager
    async def lifespan(self, _: object = None) -> AsyncIterator[None]:
        """Warm up and poll the nodes while the context is open, then close all connections and files."""
        first = [asyncio.create_task(one.refresh()) for one in self._polled]
        if self._executor is not None:
            await self._executor.warm_up()
        if first:
            await asyncio.wait(first, timeout=self.settings.node_timeout)  # a slow node does not delay the start longer
        tasks = [*first, *(asyncio.create_task(one.keep()) for one in self._polled)]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.close()

    async def close(self) -> None:
        """Close all connections, files and threads."""
        if self._executor is not None:
            self._executor.close()
        for one in self._polled:
            await one.node.close()
        if self.ledger is not None:
            self.ledger.store.close()

    def unready(self) -> list[str]:
        """Return the reasons why an estimate would fail now; an empty list if it would succeed."""
        try:
            self.pricing.describe()
        except Exception as error:
            return [as_call_error(error).message]
        return []

    def warnings(self) -> list[str]:
        """Return the polls whose last attempt failed; their earlier values may still be used."""
        return [f"{one.what}: {one.error}" for one in self._polled if one.error is not None]

    def gauges(self) -> list[Metric]:
        """Return the metrics of this moment; unknown values are left out."""
        node, costs, l1 = self.head, self.pricing.polled, self._l1
        is_up = None if node is None else float(node.error is None and node.last is not None)
        try:
            now = self.pricing.now
            prices = asdict(now.form) | {"suggested_tip": suggested_tip(now)}
        except UpstreamError:
            prices = {}
        return [
            gauge("pricing_age_seconds", "Age of the block that the polled costs come from", costs and costs.age),
            gauge("pricing_poll_age_seconds", "Time since the costs were last polled", costs and costs.poll_age),
            gauge("node_block_age_seconds", "Age of the newest block of the node", node and node.age),
            gauge("node_poll_age_seconds", "Time since the node was last polled", node and node.poll_age),
            gauge("node_up", "Whether the last poll of the node succeeded", is_up),
            gauge("ready", "Whether estimates and proofs are answered", float(not self.unready())),
            gauge("price", "Current price, in wei, or a ratio", prices),
            gauge("l1_fee", "Newest fee of L1, in wei per gas", l1.last.l1_fees if l1 and l1.last else {}),
        ]


def application(service: Service) -> ASGIApp:
    """Return the application that serves the methods of a service.

    Without a proxy, the Host header of a request must be loopback, against DNS rebinding.
    """

    async def call(scope: Scope, receive: Receive) -> Response:
        """Answer a JSON-RPC request, whose content type no browser sends without a CORS preflight."""
        kind = dict(scope["headers"]).get(b"content-type", b"").partition(b";")[0].strip().lower().decode("latin-1")
        if kind not in JSON_TYPES:
            return JSONResponse({"error": f"expected content-type application/json, got {kind[:100]!r}"}, 415)
        RECEIVE.set(receive)
        body, more = bytearray(), True
        try:
            while more:
                event = await receive()
                if event["type"] == "http.disconnect":
                    return Response(status_code=400)
                body += event.get("body", b"")
                more = event.get("more_body", False)
            answer = await service.dispatcher.answer(bytes(body))
        except asyncio.CancelledError:  # the client is gone
            return Response(status_code=400)
        return Response(answer, 204 if answer is None else 200, media_type="application/json")

    async def ready(request: Request) -> Response:
        reasons = service.unready()
        state = {"ready": not reasons, "reasons": reasons, "warnings": service.warnings()}
        return JSONResponse(state, 503 if reasons else 200)

    async def measured(request: Request) -> Response:
        return Response(await asyncio.to_thread(text, service.gauges()), media_type="text/plain; version=0.0.4")

    async def page(request: Request) -> Response:
        response = await files.get_response(request.path_params.get("path", "index.html"), request.scope)
        response.headers.update(PAGE_HEADERS)
        return response

    files, hosts = StaticFiles(directory=STATIC), ["*"] if service.settings.behind_proxy else [*LOOPBACK, "[::1]"]
    openrpc = Response(document(service.methods), media_type="application/json")
    routes = [
        Route("/health", JSONResponse({"status": "ok"}), methods=["GET"]),
        Route("/ready", ready),
        Route("/metrics", measured),
        Route("/openrpc.json", openrpc, methods=["GET"]),
        Route("/", page),
        Route("/static/{path:path}", page),
    ]
    others = Starlette(routes=routes, lifespan=service.lifespan)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; a call skips routes and `Request`, which would take half as long as an estimate."""
        if scope["type"] == "http" and scope["method"] == "POST" and scope["path"] == "/":
            response = await call(scope, receive)
            await response(scope, receive, send)
        else:
            await others(scope, receive, send)

    return TrustedHostMiddleware(answer, allowed_hosts=hosts, www_redirect=False)
