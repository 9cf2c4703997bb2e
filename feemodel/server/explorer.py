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

from feemodel.explorer import POLICY, STATIC, explorer_methods
from feemodel.server.dispatch import Method
from feemodel.server.prices import configured_prices

if TYPE_CHECKING:
    from feemodel.server.service import Service

HEADERS = {
    "content-security-policy": POLICY, "referrer-policy": "no-referrer", "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}  # fmt: skip
_FILES = StaticFiles(directory=STATIC)


def methods_of(service: "Service") -> dict[str, Method]:
    """Return the explorer's methods, which check their own parameters."""
    functions = explorer_methods(
        own_form=lambda: service.pricing.now.form,
        preset=configured_prices(service.settings).preset,
        chain_id=service.chain_id,
        measuring=service.measuring,
        ask_node=None if service.upstream is None else service.upstream.ask,
        source=service.gas,
    )
    return {name: Method(in_turn(function), typed=False) for name, function in functions.items()}


def in_turn(method: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    """Wrap a method so that its calls, which may take much memory or time, run one after the other.

    A function that is not a coroutine function runs in a thread.
    """
    turn, is_async = asyncio.Lock(), inspect.iscoroutinefunction(method)

    @wraps(method)
    async def alone(*parameters: Any) -> Any:
        async with turn:
            return await (method(*parameters) if is_async else asyncio.to_thread(method, *parameters))

    return alone


async def _page(request: Request) -> Response:
    response = await _FILES.get_response(request.path_params.get("path", "index.html"), request.scope)
    response.headers.update(HEADERS)
    return response


ROUTES = [Route("/", _page, methods=["GET"]), Route("/static/{path:path}", _page, methods=["GET"])]
