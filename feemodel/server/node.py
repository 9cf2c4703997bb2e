"""The node behind the server: what is asked of it, and forwarding of the methods that the server does not have.

Answers are limited in size, in time and in number. A transaction is sent once. Addresses of nodes are not shown to
callers, because they may hold passwords.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, Generic, Protocol, TypeVar
from urllib.parse import urlsplit

import aiohttp
import msgspec

from feemodel.checks import INT64_MAX
from feemodel.errors import FeeModelError, InvalidInput, LimitExceeded, UpstreamError
from feemodel.ethereum.fee_market import next_base_fee
from feemodel.ethereum.quantities import from_hex, from_quantity
from feemodel.io.node import NodeError

MAX_CHAIN_ID = 2**255
ERROR_LENGTH = 300  # characters of an error that is shown
CHUNK = 1 << 16  # bytes that are read at a time
HELD_BYTES = 64 << 20  # of all answers that are being read
CHAIN_ID: tuple[str, list[Any]] = ("eth_chainId", [])
NEWEST_BLOCK: tuple[str, list[Any]] = ("eth_getBlockByNumber", ["latest", False])
NEXT_BASE_FEE: tuple[str, list[Any]] = ("eth_feeHistory", ["0x1", "latest", []])

Call = tuple[str, Sequence[Any]]
_log = logging.getLogger(__name__)


class _Ask(msgspec.Struct):
    id: int
    method: str
    params: Any
    jsonrpc: str = "2.0"


class _Reply(msgspec.Struct):
    """A response whose result stays as the node wrote it."""

    id: Any = None
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: Any = None


class _RawReply(msgspec.Struct):
    result: msgspec.Raw


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Reply | list[_Reply]).decode
_decode_any = msgspec.json.Decoder().decode


class OtherChain(UpstreamError):
    """A node that serves another chain than before."""


class NotSent(UpstreamError):
    """A request that the node cannot have acted on."""


class Node:
    """A node at an address. Belongs to one event loop.

    Parameters
    ----------
    url : with user and password, path and query as the provider gives them.
    timeout : of one request [s].
    requests : that are sent at the same time.
    queue : requests that may wait.
    max_bytes : of one answer.
    """

    def __init__(self, url: str, *, timeout: float, requests: int = 64, queue: int = 1_024, max_bytes: int) -> None:
        address = urlsplit(url)
        self.name = f"{address.scheme}://{address.netloc.rpartition('@')[2]}"
        self._hidden = tuple(part for part in (self.name, address.netloc.rpartition("@")[2]) if part)
        self._url, self._timeout, self._max_bytes, self._queue = url, timeout, max_bytes, queue
        self._places, self._waiting, self._held = asyncio.Semaphore(requests), 0, 0
        self._sessions: dict[bool, aiohttp.ClientSession] = {}
        self._takes_batches = True

    async def outcomes(self, calls: Sequence[Call]) -> list[Any]:
        """Return the results of calls, in their order, with a `NodeError` for each that failed.

        They are sent in one request, or one by one to a node that refuses batches. Raises `UpstreamError`.
        """
        if self._takes_batches and len(calls) > 1:
            asked = [_Ask(index, method, params) for index, (method, params) in enumerate(calls)]
            replies = await self._posted(_encode(asked))
            if isinstance(replies, list):
                found = {reply.id: reply for reply in replies if type(reply.id) is int}
                if len(replies) != len(calls) or found.keys() != set(range(len(calls))):
                    raise UpstreamError("the node: the answer to a batch is not one to each of its calls")
                return [self._outcome(method, found[index]) for index, (method, _) in enumerate(calls)]
            self._takes_batches = False
        return await asyncio.gather(*(self._asked(method, params) for method, params in calls))

    async def forward(self, method: str, params: Any) -> msgspec.Raw:
        """Return the result of a call as the node wrote it; raises `NodeError` and `UpstreamError`."""
        sends = method.startswith("eth_send")
        body = _encode(_Ask(1, method, params))
        try:
            reply = await self._posted(body, fresh=sends)
        except NotSent:  # an idle connection that the node has closed
            reply = await self._posted(body, fresh=True)
        if not isinstance(reply, _Reply):
            raise UpstreamError(f"the node: {method}: the answer is not a JSON-RPC response")
        return self._result(method, reply, 1)

    async def _asked(self, method: str, params: Sequence[Any]) -> Any:
        try:
            return _decode_any(await self.forward(method, params))
        except NodeError as error:
            return error

    def _outcome(self, method: str, reply: _Reply) -> Any:
        try:
            return _decode_any(self._result(method, reply, reply.id))
        except NodeError as error:
            return error

    def _result(self, method: str, reply: _Reply, identity: int) -> msgspec.Raw:
        """Return the result of a response; raises the node's own error, without the node's address."""
        if reply.error is not None:
            error = reply.error
            code = error.get("code") if isinstance(error, dict) else None
            if not isinstance(code, int) or isinstance(code, bool) or not -(2**63) <= code < 2**63:
                raise UpstreamError(f"the node: {method}: an error without a code of 64 bits")
            message = str(error.get("message", "")).encode(errors="backslashreplace").decode()
            raise NodeError(method, code, self._anonymous(message), self._anonymous(error.get("data")))
        if type(reply.id) is not int or reply.id != identity:
            raise UpstreamError(f"the node: {method}: the answer is to another request")
        if isinstance(reply.result, msgspec.UnsetType):
            raise UpstreamError(f"the node: {method}: the answer has neither result nor error")
        return reply.result

    def _anonymous(self, value: Any) -> Any:
        """Return a value without this node's address."""
        if isinstance(value, str):
            for address in self._hidden:
                value = value.replace(address, "the node")
            return value
        if isinstance(value, list):
            return [self._anonymous(part) for part in value]
        if isinstance(value, dict):
            return {self._anonymous(name): self._anonymous(part) for name, part in value.items()}
        return value

    async def _posted(self, body: bytes, *, fresh: bool = False) -> Any:
        """Return the replies to a request; raises `UpstreamError` for an answer that is not JSON-RPC."""
        if self._waiting >= self._queue:
            raise LimitExceeded(f"requests that wait for the node: at most {self._queue:,}")
        self._waiting += 1
        try:
            async with asyncio.timeout(self._timeout):
                async with self._places:
                    self._waiting -= 1
                    try:
                        return await self._read(body, fresh=fresh)
                    finally:
                        self._waiting += 1
        except TimeoutError:
            raise UpstreamError(f"the node: no whole answer in {self._timeout:g} s") from None
        except aiohttp.ClientConnectorError as error:
            reason = (error.strerror or type(error).__name__).partition(" [")[0]
            raise UpstreamError(f"the node: no connection ({self._anonymous(reason)})") from None
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            if fresh:
                raise UpstreamError("the node: the connection broke before the answer was whole") from None
            raise NotSent("the node: the connection broke before the answer was whole") from None
        except (aiohttp.ClientError, aiohttp.ClientPayloadError, ValueError) as error:
            raise UpstreamError(f"the node: the answer cannot be read ({type(error).__name__})") from None
        finally:
            self._waiting -= 1

    async def _read(self, body: bytes, *, fresh: bool) -> Any:
        size = 0
        session = self._session(fresh=fresh)
        async with session.post(self._url, data=body, allow_redirects=False) as response:
            data = bytearray()
            try:
                async for chunk in response.content.iter_chunked(CHUNK):
                    data += chunk
                    size += len(chunk)
                    self._held += len(chunk)
                    if size > self._max_bytes:
                        response.close()
                        raise UpstreamError(f"the node: the answer is longer than {self._max_bytes:,} bytes")
                    if self._held > HELD_BYTES and size < self._held:
                        response.close()
                        raise LimitExceeded(f"answers of the node that are being read: at most {HELD_BYTES:,} bytes")
            finally:
                self._held -= size
        try:
            replies = _decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            replies = None
        if response.status != 200 and not (isinstance(replies, _Reply) and isinstance(replies.error, dict)):
            raise UpstreamError(f"the node: HTTP {response.status} {response.reason or ''}".rstrip())
        if replies is None:
            raise UpstreamError(f"the node: the answer is not JSON-RPC ({size:,} bytes)")
        return replies

    def _session(self, *, fresh: bool) -> aiohttp.ClientSession:
        """Return the client; a fresh one opens a connection for each request, which the node has not closed."""
        if fresh not in self._sessions:
            self._sessions[fresh] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, force_close=fresh),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"content-type": "application/json", "accept-encoding": "identity", "user-agent": "feemodel"},
                timeout=aiohttp.ClientTimeout(total=None),
                auto_decompress=False,
            )
        return self._sessions[fresh]

    @staticmethod
    def own(outcome: Any) -> Any:
        """Return the answer to a call of the server's own; that it failed is not the fault of a caller."""
        if isinstance(outcome, NodeError):
            raise UpstreamError(f"the node: {outcome}") from None
        return outcome

    async def close(self) -> None:
        """Close the connections."""
        for session in self._sessions.values():
            await session.close()


class ChainId:
    """The chain id that a node must have: the first that it answered with, or a known one."""

    def __init__(self, known: int | None = None) -> None:
        self.known = known

    def check(self, answer: Any) -> int:
        """Return the id in an answer; raises `UpstreamError` for no id, `OtherChain` for another chain's."""
        try:
            found = from_quantity(answer, "eth_chainId")
        except InvalidInput as error:
            raise UpstreamError(f"the node: {error}") from None
        if found >= MAX_CHAIN_ID:
            raise UpstreamError("the node: eth_chainId: expected at most 32 bytes")
        if self.known not in (None, found):
            raise OtherChain(f"the node: its chain id is {found}, the chain that is served has {self.known}")
        self.known = found
        return found


@dataclass(frozen=True, slots=True)
class Head:
    """The newest block of a node; fields that are not always needed are read when they are."""

    block: Mapping[str, Any]
    number: int
    timestamp: int  #: Unix time [s]
    announced: int | None = None  #: by the node, the base fee of the block that comes next [wei / gas]

    @classmethod
    def parse(cls, answer: Any, fee_history: Any = None) -> "Head":
        """Return the block in an answer; raises `UpstreamError`.

        Parameters
        ----------
        answer : of `eth_getBlockByNumber`.
        fee_history : of `eth_feeHistory` of one block, where the node has that method.
        """
        if not isinstance(answer, Mapping):
            raise UpstreamError(f"the node: eth_getBlockByNumber: expected a block, got {answer!r:.120}")
        number = _read_number(answer, "number")
        return cls(answer, number, _read_number(answer, "timestamp"), _announced(fee_history, number))

    def next_base_fee(self) -> int:
        """Return the base fee of the block that comes next [wei / gas].

        It is what the node announces, because chains have parameters and exceptions of their own; where it announces
        none, that of EIP-1559 with Ethereum's parameters. Raises `UpstreamError` for a block that has none of these.
        """
        if self.announced is not None:
            return self.announced
        if self.block.get("baseFeePerGas") is None:
            raise UpstreamError("the newest block has no baseFeePerGas: a chain without one needs the setting base_fee")
        fee, used, limit = (_read_number(self.block, name) for name in ("baseFeePerGas", "gasUsed", "gasLimit"))
        try:
            return int(next_base_fee(fee, used, limit))
        except InvalidInput as error:
            raise UpstreamError(f"the newest block: {error}") from None

    def extra_data(self) -> bytes:
        """Return the extra data, which holds the pricing record."""
        return from_hex(self.block.get("extraData") or "0x", "extraData")


def _announced(fee_history: Any, number: int) -> int | None:
    """Return the next base fee in a fee history; `None` where it is not of this block."""
    fees = fee_history.get("baseFeePerGas") if isinstance(fee_history, Mapping) else None
    if not isinstance(fees, list) or len(fees) != 2 or _read_number(fee_history, "oldestBlock") != number:
        return None
    return _read_number({"baseFeePerGas": fees[1]}, "baseFeePerGas")


def _read_number(block: Mapping[str, Any], name: str) -> int:
    try:
        number = from_quantity(block.get(name), name)  # type: ignore[arg-type]
        if number > INT64_MAX:
            raise InvalidInput(name, "expected at most 2**63 - 1", number)
    except InvalidInput as error:
        raise UpstreamError(f"the newest block: {error}") from None
    return number


class Dated(Protocol):
    """A value of a block."""

    @property
    def timestamp(self) -> int: ...


Value = TypeVar("Value", bound=Dated)


class Polled(Generic[Value]):
    """The last value that was fetched from a node, and how old it is.

    A node whose chain has stopped answers every poll, so that the age of a value is that of its block. A node that is
    gone answers none, so that the age of the poll counts too.

    Parameters
    ----------
    what : the value, in messages.
    fetch : returns the value; tried in this order.
    every : pause between two fetches [s].
    max_age : above which neither age may be for the value to be used [s].
    name : of the node, for the log; callers do not see it.
    """

    def __init__(
        self, what: str, fetch: Sequence[Callable[[], Awaitable[Value]]], *, every: float, max_age: float, name: str
    ) -> None:
        self._name, self._what, self._fetch = name, what, fetch
        self._every, self._max_age = every, max_age
        self._held: tuple[Value, float] | None = None  # and when it was fetched; no clock that can be set
        self.error: str | None = None  #: why the last fetch failed

    @property
    def value(self) -> Value:
        """The last value; raises `UpstreamError` while there is none, and when it is too old."""
        if self._held is None:
            raise UpstreamError(f"{self._what}: none yet{f', {self.error}' if self.error else ''}")
        value, since = self._held
        age, limit = time.time() - value.timestamp, f"more than max_age, {self._max_age:g} s"
        why = f"; {self.error}" if self.error else ""
        if age > self._max_age:
            raise UpstreamError(f"{self._what}: {age:,.0f} s old, {limit}{why}")
        if age < -self._max_age:
            raise UpstreamError(f"{self._what}: {-age:,.0f} s ahead of this clock, {limit}{why}")
        if monotonic() - since > self._max_age:
            raise UpstreamError(f"{self._what}: looked at {monotonic() - since:,.0f} s ago, {limit}{why}")
        return value

    @property
    def last(self) -> Value | None:
        """The last value whatever its age."""
        return None if self._held is None else self._held[0]

    @property
    def age(self) -> float | None:
        """Time since the block of the last value, below zero where that is ahead of this clock [s]."""
        return None if self._held is None else time.time() - self._held[0].timestamp

    @property
    def poll_age(self) -> float | None:
        """Time since the last value came [s]."""
        return None if self._held is None else monotonic() - self._held[1]

    def note(self, value: Value) -> None:
        """Keep a value that came with another answer."""
        self._held, self.error = (value, monotonic()), None

    def fail(self, error: Exception) -> None:
        """Note why there is no new value; the log has it once. Another chain leaves no value at all."""
        if self.error is None:
            foreseen = isinstance(error, FeeModelError)
            _log.warning("%s of %s: %s", self._what, self._name, error, exc_info=None if foreseen else error)
        if isinstance(error, OtherChain):
            self._held = None
        self.error = str(error).encode(errors="backslashreplace").decode()[:ERROR_LENGTH]

    async def refresh(self) -> None:
        """Fetch once; a failure leaves the last value, and its reason in `error`."""
        failure: Exception | None = None
        for fetch in self._fetch:
            try:
                value = await fetch()
            except Exception as error:  # whatever a node answers, it is asked again
                failure = failure or error
            else:
                self.note(value)
                return
        if failure is not None:
            self.fail(failure)

    async def keep(self) -> None:
        """Fetch for ever, after the first pause."""
        while True:
            await asyncio.sleep(self._every)
            await self.refresh()
