"""An asyncio HTTP/1.1 client for load and attacks."""

import asyncio
import json
import ssl
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

Result = TypeVar("Result")

PATIENCE = 60.0  # seconds until a request without an answer is given up
GONE = (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError)  # the other side has closed the connection


class Answer(NamedTuple):
    """Status and body of an HTTP response."""

    status: int
    body: bytes

    @property
    def outcome(self) -> str:
        """Summary in one word: "ok", the code of a JSON-RPC error, or the HTTP status with the code in its body.

        >>> Answer(503, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"no"}}').outcome
        'HTTP 503 -32005'
        >>> Answer(200, b'[{"id":1,"result":1},{"id":2,"error":{"code":3}}]').outcome
        'batch: 1 of 2 failed, [3]'
        """
        if self.status == 200 and b'"error":{"code":' not in self.body:
            return "ok"
        try:
            content = json.loads(self.body or b"null")
        except ValueError:
            return f"HTTP {self.status}"
        error = content.get("error") if isinstance(content, dict) else None
        code = str(error["code"]) if isinstance(error, dict) and "code" in error else ""
        if isinstance(content, list):
            failed = [reply["error"]["code"] for reply in content if "error" in reply]
            code = f"batch: {len(failed)} of {len(content)} failed, {sorted(set(failed))}"
        return code if self.status == 200 and code else f"HTTP {self.status} {code}".strip()


def http(body: bytes, *, path: str = "/", more: bytes = b"") -> bytes:
    """Return the bytes of a POST request; `more` is further header lines."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n".encode()
    return head + more + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def rpc(method: str, *params: Any) -> bytes:
    """Return the JSON of one call."""
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, separators=(",", ":")).encode()


def post(method: str, *params: Any) -> bytes:
    """Return the bytes of a request with one call."""
    return http(rpc(method, *params))


@dataclass(frozen=True, slots=True)
class Target:
    """Address of a server as a client sees it."""

    port: int  #: on 127.0.0.1
    path: str = "/"  #: of JSON-RPC requests, with the API key where a reverse proxy asks for one
    source: str = "127.0.0.1"  #: loopback address to connect from
    tls: ssl.SSLContext | None = None  #: context with which to connect; `None` for plain HTTP

    def connection(self) -> "Connection":
        """Return a connection that opens at its first request."""
        return Connection(self.port, self.source, self.tls)

    def http(self, body: bytes, more: bytes = b"") -> bytes:
        """Return the bytes of a POST request."""
        return http(body, path=self.path, more=more)

    def post(self, method: str, *params: Any) -> bytes:
        """Return the bytes of a request with one call."""
        return http(rpc(method, *params), path=self.path)

    @property
    def head(self) -> bytes:
        """Request line and headers of a POST request without a length."""
        return f"POST {self.path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n".encode()


class Connection:
    """A persistent connection, opened at the first request and again after the other side has closed it."""

    def __init__(self, port: int, source: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> None:
        self._port, self._source, self._tls = port, source, tls
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    @property
    def is_open(self) -> bool:
        """Whether the next request goes out on a connection that is open already."""
        return self._streams is not None

    async def ask(self, request: bytes, *, patience: float = PATIENCE) -> Answer:
        """Send a request and return its response; raises one of `GONE`, or `TimeoutError`."""
        try:
            async with asyncio.timeout(patience):
                reader, writer = await self.opened()
                writer.write(request)
                return await self.answer(reader)
        except BaseException:
            self.abort()
            raise

    async def opened(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Return reader and writer of the connection."""
        if self._streams is None:
            name = None if self._tls is None else "localhost"
            self._streams = await asyncio.open_connection(
                "127.0.0.1",
                self._port,
                limit=1 << 22,
                local_addr=(self._source, 0),
                ssl=self._tls,
                server_hostname=name,
            )
        return self._streams

    async def answer(self, reader: asyncio.StreamReader) -> Answer:
        """Read the next response, to a request that the caller has written."""
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        _, _, length = head.partition(b"content-length: ")
        if length:
            body = await reader.readexactly(int(length.partition(b"\r\n")[0]))
        else:
            body = await _chunks(reader) if b"transfer-encoding: chunked" in head else b""
        if b"connection: close" in head:
            self.close()
        return Answer(int(head[9:12]), body)

    def close(self) -> None:
        """Close the connection; the next request opens another one."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    def abort(self) -> None:
        """Close the connection and discard what is still to be sent, which would keep the event loop from ending."""
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    """Read a chunked body without trailers."""
    chunks = []
    while size := int(await reader.readuntil(b"\r\n"), 16):
        chunks.append((await reader.readexactly(size + 2))[:-2])
    await reader.readexactly(2)
    return b"".join(chunks)


async def timed(connection: Connection, request: bytes, *, patience: float = PATIENCE) -> tuple[str, float, bytes]:
    """Send a request and return its outcome, the seconds that it took and the body, also if no response comes."""
    began = time.perf_counter()
    body = b""
    try:
        answer = await connection.ask(request, patience=patience)
        outcome, body = answer.outcome, answer.body
    except TimeoutError:
        outcome = "no answer"
    except GONE as error:
        outcome = "refused" if isinstance(error, ConnectionRefusedError) else "closed"
    return outcome, time.perf_counter() - began, body


async def alone(port: int, request: bytes) -> tuple[str, float]:
    """Send a request on a connection of its own and return its outcome and the seconds that it took."""
    connection = Connection(port)
    outcome, took, _ = await timed(connection, request)
    connection.close()
    return outcome, took


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end, on uvloop if that is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(_ended(work))
    return uvloop.run(_ended(work))


async def _ended(work: Coroutine[Any, Any, Result]) -> Result:
    result = await work
    await asyncio.sleep(0.01)  # lets the loop close connections that were aborted last
    return result
