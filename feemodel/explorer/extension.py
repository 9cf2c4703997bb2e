"""Server extension with the methods and the page of the explorer."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial, wraps
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from feemodel._extras import need
from feemodel.ethereum import from_quantity
from feemodel.ethereum._transaction import LINEA_CHAIN_ID
from feemodel.explorer._methods import explorer_methods
from feemodel.explorer._month import simulate_month
from feemodel.explorer._page import POLICY, STATIC
from feemodel.explorer._process import ChildProcess
from feemodel.server._prices import configured_prices
from feemodel.server.dispatch import Method
from feemodel.server.service import Service

HEADERS = {
    "content-security-policy": POLICY, "referrer-policy": "no-referrer", "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}  # fmt: skip
MONTH = "feemodel_simulateMonth"
#: Packages that only the simulation of a month needs. The server does not import these packages, which take 300 MiB.
OF_MONTH = ("numba", "pandas", "pyarrow", "xarray")
MONTH_SECONDS = 60.0  # maximum time of a simulation; the first simulation mostly waits for compilation
#: Methods that take much memory or time; calls of the same method run one after the other.
LONG = ("feemodel_presets", MONTH, "feemodel_explain", "feemodel_compare")


class ExplorerMethods:
    """Server extension with the explorer's methods and page.

    Parameters
    ----------
    service : the worker's service.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._files = StaticFiles(directory=STATIC)
        self._process = ChildProcess("simulated month", partial(simulate_month, {}))
        self.methods = self._methods()
        self.reasons: dict[str, str] = {}
        self.routes = [
            Route("/", self._page, methods=["GET"]),
            Route("/static/{path:path}", self._page, methods=["GET"]),
        ]

    def _methods(self) -> dict[str, Method]:
        """Return the methods, which check their own parameters."""
        service = self._service
        upstream, measuring = service.upstream, service.measuring
        answers = service.chain is not None or upstream is not None
        found = explorer_methods(
            form=lambda: service.pricing.now.form,
            preset=configured_prices(service.settings).preset,
            chain_id=self._chain_id,
            codec=measuring.codec,
            measured=measuring.form,
            packed=measuring.packed,
            ask_node=None if upstream is None else upstream.ask,
            estimate=self._estimate if answers else None,
        )
        found[MONTH] = self._simulate_month
        first = {} if upstream is None else {"feemodel_explain": upstream.refresh}  # determines the chain id
        for name in LONG:
            found[name] = one_at_a_time(found[name], first.get(name))
        return {name: Method(function, typed=False) for name, function in found.items()}

    async def _simulate_month(self, choices: Any) -> dict[str, Any]:
        """Simulate a month of a pricing policy in a closed loop with users and L1."""
        need(MONTH, *OF_MONTH)
        return await self._process.run(partial(simulate_month, choices), MONTH_SECONDS)

    async def _estimate(self, call: Mapping[str, Any], overrides: Mapping[str, Any] | None) -> int:
        """Return the gas limit of a call, by the same method as `eth_estimateGas`."""
        params, upstream = [call, "latest", *([overrides] if overrides else [])], self._service.upstream
        if upstream is not None:
            return from_quantity(await upstream.ask("eth_estimateGas", params), "eth_estimateGas")
        method = self._service.methods["eth_estimateGas"]
        return from_quantity(await method.function(*method.arguments(params)), "eth_estimateGas")

    def _chain_id(self) -> int:
        """Return the id of the served chain, or Linea's chain id until the node has reported its own."""
        if self._service.chain is not None:
            return self._service.chain.call_state.chain_id
        upstream = self._service.upstream
        known = None if upstream is None else upstream.chain_id.known
        return LINEA_CHAIN_ID if known is None else known

    async def _page(self, request: Request) -> Response:
        response = await self._files.get_response(request.path_params.get("path", "index.html"), request.scope)
        response.headers.update(HEADERS)
        return response

    async def close(self) -> None:
        """Stop the child process; the server itself closes the node and the engine."""
        self._process.close()


def one_at_a_time(
    method: Callable[..., Any], first: Callable[[], Awaitable[None]] | None = None
) -> Callable[..., Awaitable[Any]]:
    """Wrap a method so that its calls run one after the other. Each call awaits `first` before it runs.

    A function that is not a coroutine function runs in a thread.
    """
    turn, is_async = asyncio.Lock(), inspect.iscoroutinefunction(method)

    @wraps(method)
    async def in_turn(*parameters: Any) -> Any:
        if first is not None:
            await first()
        async with turn:
            return await (method(*parameters) if is_async else asyncio.to_thread(method, *parameters))

    return in_turn
