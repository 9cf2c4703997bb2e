"""The explorer on the server: its methods with the server's prices and gas, and its page."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from feemodel.estimates.rollup import EstimateOptions
from feemodel.ethereum._transaction import LINEA_CHAIN_ID, Transaction
from feemodel.explorer import POLICY, STATIC, explorer_methods
from feemodel.server.dispatch import Method
from feemodel.server.prices import configured_prices

if TYPE_CHECKING:
    from feemodel.server.service import Service

HEADERS = {
    "content-security-policy": POLICY, "referrer-policy": "no-referrer", "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}  # fmt: skip
#: Methods that take much memory or time; calls of the same method run one after the other.
LONG = ("feemodel_presets", "feemodel_explain", "feemodel_compare")
_FILES = StaticFiles(directory=STATIC)


def methods_of(service: "Service") -> dict[str, Method]:
    """Return the explorer's methods, which check their own parameters."""
    upstream, measuring = service.upstream, service.measuring
    source = service.gas

    async def estimate(call: Transaction) -> int:
        assert source is not None
        return (await source.gas(call, EstimateOptions())).limit

    def chain_id() -> int:
        """Return the id of the served chain, or Linea's until the node has reported its own."""
        if service.chain is not None:
            return service.chain.call_state.chain_id
        known = None if upstream is None else upstream.chain_id.known
        return LINEA_CHAIN_ID if known is None else known

    functions = explorer_methods(
        own_form=lambda: service.pricing.now.form,
        preset=configured_prices(service.settings).preset,
        chain_id=chain_id,
        codec=measuring.codec,
        measured=measuring.form,
        packed=measuring.packed,
        ask_node=None if upstream is None else upstream.ask,
        estimate=estimate if source is not None else None,
    )
    first = {} if upstream is None else {"feemodel_explain": upstream.check}  # determines the chain id
    for name in LONG:
        functions[name] = one_at_a_time(functions[name], first.get(name))
    return {name: Method(function, typed=False) for name, function in functions.items()}


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


async def _page(request: Request) -> Response:
    response = await _FILES.get_response(request.path_params.get("path", "index.html"), request.scope)
    response.headers.update(HEADERS)
    return response


ROUTES = [Route("/", _page, methods=["GET"]), Route("/static/{path:path}", _page, methods=["GET"])]
