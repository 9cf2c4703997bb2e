"""Parts of the server put together for tests: an application in process, or behind a real socket."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from feemodel.execution.limits import Limits
from feemodel.rpc.app import App
from feemodel.rpc.begun import once
from feemodel.rpc.chain import Chain
from feemodel.rpc.chain_methods import ChainMethods
from feemodel.rpc.http import Head
from feemodel.rpc.jsonrpc import Methods, Response, Unavailable, begin
from feemodel.rpc.listener import serve_until
from feemodel.rpc.methods import both_names, common_methods
from feemodel.rpc.pricing import Prices, Pricing, configured_prices
from feemodel.rpc.protocol import Bounds, Connections
from feemodel.rpc.runner import Runner
from feemodel.rpc.service import Service
from feemodel.rpc.settings import Settings
from feemodel.rpc.worker import run_loop

JSON = {"content-type": "application/json", "host": "localhost"}
PATIENCE = 30  # seconds, on a machine that does much else
ANY_AGE = 1e12  # seconds: of a node whose newest block is a genesis


def head_block(age: float = 0.0, **fields: Any) -> dict[str, Any]:
    """The newest block of a node as far as the server reads it; `age` of its time [s]."""
    fixed = {"number": "0x5", "extraData": "0x", "baseFeePerGas": "0x7", "gasUsed": "0x0", "gasLimit": hex(30_000_000)}
    return fixed | {"timestamp": hex(int(time.time() - age))} | fields


def request(method: str, *params: Any, **fields: Any) -> bytes:
    """The bytes of a JSON-RPC request."""
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params, **fields}).encode()


async def respond(body: bytes, methods: Methods, **options: Any) -> Response:
    """The response of these methods to a request, begun within the event loop; options as of `begin`."""
    return await once(begin(body, methods, **options))


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request was answered with."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


async def exchange(
    app: App,
    method: str,
    path: str = "/",
    body: bytes = b"",
    headers: Mapping[str, str] = JSON,
) -> Answer:
    """One HTTP request to an application."""
    named = {name.lower().encode(): value.encode() for name, value in headers.items()}
    head = Head(method, path, named)
    reply = app.refusal(head) or await once(app.begin(head, body))
    found = {name.decode(): value.decode() for name, value in reply.headers}
    assert len(found) == len(reply.headers), "a header stands there twice"
    return Answer(reply.status, found, reply.body)


@dataclass(frozen=True, slots=True)
class Client:
    """An application, and the event loop that it runs in."""

    app: App
    loop: asyncio.Runner
    methods: Mapping[str, Callable[..., Any]] | None = None  #: that it answers, where it knows them

    @property
    def answered(self) -> Mapping[str, Callable[..., Any]]:
        """The methods without those that are known and refused."""
        return {name: method for name, method in (self.methods or {}).items() if not isinstance(method, Unavailable)}

    def http(self, method: str, path: str = "/", body: Any = b"", **headers: str) -> Answer:
        """The answer to one request; headers with underscores."""
        named = JSON | {name.replace("_", "-"): value for name, value in headers.items()}
        return self.loop.run(exchange(self.app, method, path, body, named))

    def ask(self, method: str, *params: Any) -> dict[str, Any]:
        """`result` or `error` of one call."""
        answer = self.http("POST", "/", request(method, *params))
        response = answer.json()
        assert (answer.status, response.pop("jsonrpc"), response.pop("id")) == (200, "2.0", 1)
        assert len(response) == 1
        return response

    def result(self, method: str, *params: Any) -> Any:
        response = self.ask(method, *params)
        assert "result" in response, response
        return response["result"]

    def error(self, method: str, *params: Any) -> dict[str, Any]:
        response = self.ask(method, *params)
        assert "error" in response, response
        return response["error"]

    def together(self, *calls: tuple[Any, ...]) -> list[dict[str, Any]]:
        """The responses to calls that are made at the same time, each by a request of its own."""

        async def all_of_them() -> list[Answer]:
            return await asyncio.gather(*(exchange(self.app, "POST", "/", request(*call)) for call in calls))

        return [answer.json() for answer in self.loop.run(all_of_them())]

    def wait(self, seconds: float) -> None:
        """Let the server do what it does beside answering."""
        self.loop.run(asyncio.sleep(seconds))


@contextmanager
def opened(settings: Settings | None = None, *, store: Path | None = None, started: bool = True) -> Iterator[Client]:
    """A service of these settings behind an application."""

    async def made() -> Service:
        return Service(settings or Settings(), store)

    with asyncio.Runner() as loop:
        service = loop.run(made())
        try:
            if started:
                loop.run(service.start())
            yield Client(App(service.methods, state=service), loop, service.methods)
        finally:
            loop.run(service.close())


@contextmanager
def on_chain(
    chain: Chain,
    prices: Prices | None = None,
    *,
    tolerance: float = 0.015,
    limits: Limits | None = None,
    runner_type: type[Runner] = Runner,
    **measuring: Any,
) -> Iterator[Client]:
    """The methods on any chain, which no file need hold."""
    limits, current = limits or Limits(), prices or configured_prices(Settings())

    async def made() -> Runner:
        return runner_type("auto", limits)

    with asyncio.Runner() as loop:
        runner = loop.run(made())
        try:
            pricing = Pricing("configured", lambda: current)
            shared = {"override_accounts": 100, "override_slots": 1_000, "codec": "zstd", "measured": "sender_unsigned"}
            methods = ChainMethods(chain, runner, pricing, limits, tolerance, **shared | measuring)
            estimates = both_names("rollup", "estimateGas", methods.estimate)
            yield Client(App(estimates | methods.methods() | common_methods(pricing)), loop)
        finally:
            runner.close()


@contextmanager
def behind(settings: Settings, *, store: Path | None = None) -> Iterator[str]:
    """A server of these settings to be the node of another one; gives its address."""

    def made() -> App:  # in the thread that serves, to which a ledger belongs
        service = Service(settings, store)
        return App(service.methods, state=service)

    with listening(made, factory=True) as port:
        yield f"http://127.0.0.1:{port}"


@contextmanager
def listening(app: App | Callable[[], App], *, factory: bool = False, bounds: Bounds | None = None) -> Iterator[int]:
    """An application, or what makes it, served by the own protocol in a thread; gives the port once it answers."""
    begun: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
    ready = threading.Event()

    async def serve(listener: socket.socket) -> None:
        stop = asyncio.Event()
        served: Any = app() if factory else app  # type: ignore[operator]
        connections = Connections(served, bounds or Bounds(idle_seconds=PATIENCE))
        begun.append((asyncio.get_running_loop(), stop))
        await serve_until(stop, listener, connections, ready=ready.set, drain=0.0, grace=1.0)

    with socket.create_server(("127.0.0.1", 0), backlog=1_000) as listener:
        listener.setblocking(False)
        thread = threading.Thread(target=lambda: run_loop(serve(listener)))
        thread.start()
        try:
            while not ready.wait(0.01) and thread.is_alive():  # compiling a kernel takes a while
                pass
            yield listener.getsockname()[1]
        finally:
            while not begun and thread.is_alive():
                time.sleep(0.01)
            for loop, stop in begun:
                loop.call_soon_threadsafe(stop.set)
            thread.join(PATIENCE)
            assert not thread.is_alive()
