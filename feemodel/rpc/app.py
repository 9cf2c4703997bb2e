"""The ASGI application: POST / answers JSON-RPC, GET /health says that the process is alive."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from feemodel.rpc.jsonrpc import Methods, respond

BODY_LIMIT = 1 << 20  # bytes of a request

Receive: TypeAlias = Callable[[], Awaitable[dict[str, Any]]]
Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]


class App:
    """An ASGI 3 application.

    Parameters
    ----------
    methods : name → function, plain or coroutine.
    body_limit : the most bytes that a request may have.
    """

    def __init__(self, methods: Methods, *, body_limit: int = BODY_LIMIT) -> None:
        self._methods, self._body_limit = methods, body_limit

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Serve one connection of the protocol server."""
        if scope["type"] == "lifespan":
            await _live(receive, send)
            return
        match scope["method"], scope["path"]:
            case "POST", "/":
                await self._post(receive, send)
            case "GET", "/health":
                await _reply(send, 200, b'{"status":"ok"}')
            case _, "/" | "/health":
                await _reply(send, 405, b'{"error":"method not allowed"}')
            case _:
                await _reply(send, 404, b'{"error":"not found"}')

    async def _post(self, receive: Receive, send: Send) -> None:
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self._body_limit:
                await _reply(send, 413, b'{"error":"the request is longer than %d bytes"}' % self._body_limit)
                return
        response = await respond(bytes(body), self._methods)
        await _reply(send, 204 if response is None else 200, response or b"")


async def _live(receive: Receive, send: Send) -> None:
    """The start and the end of the process, between which there is nothing to do."""
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


async def _reply(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
