"""The server's application in process: ASGI requests without a socket."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from feemodel.estimates.chain import ChainState
from feemodel.server.app import Service, application
from feemodel.server.settings import Settings
from feemodel.server.workers import Loaded, load
from feemodel.sizes._codecs import Zstd
from tests.helpers import node_server

JSON = {"content-type": "application/json", "host": "localhost"}
PATIENCE = 30  # seconds, on a busy machine


def head_block(age: float = 0.0, **fields: Any) -> dict[str, Any]:
    """The newest block of a node as far as the server reads it; `age` of its time [s]."""
    fixed = {"number": "0x5", "extraData": "0x", "baseFeePerGas": "0x7", "gasUsed": "0x0", "gasLimit": hex(30_000_000)}
    return fixed | {"timestamp": hex(int(time.time() - age))} | fields


def answering(node: node_server.NodeServer, **results: Any) -> None:
    """Have a node answer these methods, with a result or with what a function makes of the parameters."""
    known = {
        "eth_chainId": "0x539", "eth_estimateGas": "0x5208", "eth_getTransactionCount": "0x0", "eth_blockNumber": "0x5",
        "net_version": "1337", "eth_getBlockByNumber": lambda params: head_block(),
    }  # fmt: skip
    node.always = node_server.results(**known | results)


def request(method: str, *params: Any, **fields: Any) -> bytes:
    """The bytes of a JSON-RPC request."""
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params, **fields}).encode()


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP response."""

    status: int
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


async def exchange(app: Any, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> Answer:
    """One HTTP request to an application."""
    sent: list[Any] = []

    given = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> dict[str, Any]:
        if (message := next(given, None)) is None:  # the client waits for the response
            await asyncio.Event().wait()
        return message or {}

    async def send(message: Any) -> None:
        sent.append(message)

    named = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    scope = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "",
        "headers": named, "http_version": "1.1", "scheme": "http", "client": None, "server": None,
    }  # fmt: skip
    await app(scope, receive, send)
    start, *bodies = sent
    return Answer(start["status"], b"".join(message.get("body", b"") for message in bodies))


@dataclass
class Client:
    """An application, and the event loop that it runs in."""

    app: Any
    loop: asyncio.Runner
    service: Service

    def http(self, method: str, path: str = "/", body: bytes = b"", **headers: str) -> Answer:
        """The answer to one request; headers with underscores."""
        named = JSON | {name.replace("_", "-"): value for name, value in headers.items()}
        return self.loop.run(exchange(self.app, method, path, body, named))

    def ask(self, method: str, *params: Any) -> dict[str, Any]:
        """`result` or `error` of one call."""
        answer = self.http("POST", "/", request(method, *params))
        response: dict[str, Any] = answer.json()
        assert (answer.status, response.pop("jsonrpc"), response.pop("id")) == (200, "2.0", 1)
        assert len(response) == 1
        return response

    def result(self, method: str, *params: Any) -> Any:
        response = self.ask(method, *params)
        assert "result" in response, response
        return response["result"]

    def error(self, method: str, *params: Any) -> Any:
        response = self.ask(method, *params)
        assert "error" in response, response
        return response["error"]

    def together(self, *calls: tuple[Any, ...]) -> list[dict[str, Any]]:
        """The responses to calls that are made at the same time, each by a request of its own."""

        async def all_of_them() -> list[Answer]:
            return await asyncio.gather(*(exchange(self.app, "POST", "/", request(*call), JSON) for call in calls))

        return [answer.json() for answer in self.loop.run(all_of_them())]

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Let the server run until something holds."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, what
            self.loop.run(asyncio.sleep(0.02))


def gauge(client: Client, name: str, label: str | None = None) -> Any:
    """The number of a metric, of the label `name` if it has one; `None` where it is not known."""
    (found,) = [one for one in client.service.gauges() if one.name == f"feemodel_{name}"]
    numbers = {sample.labels.get("name"): sample.value for sample in found.samples}
    return numbers.get(label)


@contextmanager
def opened(settings: Settings | None = None, *, store: Path | None = None, started: bool = True) -> Iterator[Client]:
    """The application of these settings."""
    with serving(load(settings or Settings(), store), started=started) as client:
        yield client


def on_chain(chain: ChainState) -> AbstractContextManager[Client]:
    """The application on any chain, which need not be in a file."""
    return serving(Loaded(Settings(), chain, None, None, Zstd()), started=False)


@contextmanager
def serving(loaded: Loaded, *, started: bool = True) -> Iterator[Client]:
    """The application of what was loaded."""

    async def made() -> Service:
        return Service(loaded)

    with asyncio.Runner() as loop:
        service = loop.run(made())
        lifespan = service.lifespan()
        if started:
            loop.run(lifespan.__aenter__())
        try:
            yield Client(application(service), loop, service)
        finally:
            if started:
                loop.run(lifespan.__aexit__(None, None, None))
            else:
                loop.run(service.close())
