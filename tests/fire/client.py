"""An HTTP/1.1 client that is fast enough to keep a server busy from beside it, and what it counts."""

import asyncio
import json
import math
import time
from collections import Counter
from collections.abc import Coroutine, Iterable
from typing import Any, NamedTuple, TypeVar

Result = TypeVar("Result")

PATIENCE = 60.0  # seconds for one answer, after which there is none
FINEST, STEP = 1e-5, 1.02  # of the buckets that latencies are counted in: seconds, and from one to the next
GONE = (ConnectionError, asyncio.IncompleteReadError)  # a connection that the other side has closed


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: bytes

    @property
    def outcome(self) -> str:
        """In a word: "ok", the code of a JSON-RPC error, or the HTTP status and what its body says."""
        if self.status == 200 and b'"error":{"code":' not in self.body:
            return "ok"
        try:
            body = json.loads(self.body or b"null")
        except ValueError:
            return f"HTTP {self.status}"
        error = body.get("error") if isinstance(body, dict) else None
        code = str(error["code"]) if isinstance(error, dict) and "code" in error else ""
        if isinstance(body, list):
            failed = [reply["error"]["code"] for reply in body if "error" in reply]
            code = f"batch: {len(failed)} of {len(body)} failed, {sorted(set(failed))}"
        return code if self.status == 200 and code else f"HTTP {self.status} {code}".strip()


def http(body: bytes, *, head: bytes = b"POST / HTTP/1.1\r\n", more: bytes = b"") -> bytes:
    """A whole request."""
    named = b"Host: localhost\r\nContent-Type: application/json\r\n" + more
    return head + named + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def rpc(method: str, *params: Any) -> bytes:
    """The bytes of a JSON-RPC call."""
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, separators=(",", ":")).encode()


def post(method: str, *params: Any) -> bytes:
    """A whole request with one call."""
    return http(rpc(method, *params))


class Connection:
    """A connection that is kept, and opened again after the other side has closed it.

    Parameters
    ----------
    port : of 127.0.0.1.
    source : the loopback address to connect from.
    """

    def __init__(self, port: int, source: str = "127.0.0.1") -> None:
        self._port, self._source = port, source
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    @property
    def is_open(self) -> bool:
        """Whether the next request goes out on a connection that is there already."""
        return self._streams is not None

    async def ask(self, request: bytes, *, patience: float = PATIENCE) -> Answer:
        """The answer to a request; raises one of `GONE` where the connection ends first, `TimeoutError` without one."""
        try:
            async with asyncio.timeout(patience):
                reader, writer = await self.opened()
                writer.write(request)
                return await self.answer(reader)
        except BaseException:
            self.abort()
            raise

    async def opened(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """The two ends of the connection."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(
                "127.0.0.1", self._port, limit=1 << 22, local_addr=(self._source, 0)
            )
        return self._streams

    async def answer(self, reader: asyncio.StreamReader) -> Answer:
        """The next answer, for whoever has sent the request himself."""
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
        """Close it; the next request opens another one."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    def abort(self) -> None:
        """Close it without sending what still waits to be sent, for which an event loop could not end."""
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    """A body that comes in chunks, without trailers."""
    chunks = []
    while size := int(await reader.readuntil(b"\r\n"), 16):
        chunks.append((await reader.readexactly(size + 2))[:-2])
    await reader.readexactly(2)
    return b"".join(chunks)


class Latencies:
    """How long things took, in buckets 2 % wide.

    >>> some = Latencies()
    >>> for milliseconds in range(1, 101):
    ...     some.add(milliseconds / 1_000)
    >>> round(some.quantile(0.5), 2), round(some.quantile(0.99), 2), some.longest
    (0.05, 0.1, 0.1)
    """

    def __init__(self) -> None:
        self._buckets: Counter[int] = Counter()
        self.count, self.longest = 0, 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        self._buckets[int(math.log(max(seconds, FINEST) / FINEST) / math.log(STEP))] += 1
        self.count += 1
        self.longest = max(self.longest, seconds)

    def quantile(self, share: float) -> float:
        """The time within which that share was done [s]; not a number where nothing was counted."""
        seen = 0
        for bucket, count in sorted(self._buckets.items()):
            seen += count
            if seen >= share * self.count:
                return min(FINEST * STEP ** (bucket + 1), self.longest)
        return math.nan


class Tally:
    """What a number of requests came to."""

    def __init__(self) -> None:
        self.times = Latencies()
        self.outcomes: Counter[str] = Counter()
        self.unexpected: Counter[str] = Counter()

    def add(self, kind: str, outcome: str, seconds: float, *, expected: bool = True) -> None:
        """Count a request."""
        self.times.add(seconds)
        self.outcomes[outcome] += 1
        if not expected:
            self.unexpected[f"{kind}: {outcome}"] += 1

    def failures(self) -> str:
        """The outcomes but for "ok", the most frequent first."""
        return ", ".join(f"{count:,} × {name}" for name, count in self.outcomes.most_common() if name != "ok") or "none"


async def timed(connection: Connection, request: bytes, *, patience: float = PATIENCE) -> tuple[str, float, bytes]:
    """Outcome, seconds and body of a request, also where no answer comes."""
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


def summed(counters: Iterable[Counter[str]]) -> Counter[str]:
    """All of them together.

    >>> sorted(summed([Counter(ok=2), Counter(ok=1, closed=1)]).items())
    [('closed', 1), ('ok', 3)]
    """
    total = Counter[str]()
    for counter in counters:
        total.update(counter)
    return total


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Run to its end, on uvloop where that is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(_ended(work))
    return uvloop.run(_ended(work))


async def _ended(work: Coroutine[Any, Any, Result]) -> Result:
    result = await work
    await asyncio.sleep(0.01)  # in which the loop closes connections that were aborted last
    return result


def port_of(address: str) -> int:
    """Of a server's address.

    >>> port_of("http://127.0.0.1:8080")
    8080
    """
    return int(address.rpartition(":")[2])


def table(rows: Iterable[Iterable[str]]) -> str:
    """Columns side by side, the first to the left and the others to the right."""
    listed = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*listed, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) if place else cell.ljust(width) for place, (cell, width) in enumerate(
            zip(row, widths, strict=True)))
        for row in listed
    )  # fmt: skip
