"""Poll values from a node, such as its newest block, and limit the age of these values."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any, Generic, Protocol, TypeVar

from feemodel.checks import INT64_MAX
from feemodel.errors import FeeModelError, InvalidInput, UpstreamError
from feemodel.ethereum._quantities import from_hex, from_quantity
from feemodel.ethereum.fee_market import next_base_fee
from feemodel.io.node import AsyncNode

MAX_CHAIN_ID = 2**255
ERROR_LENGTH = 300  # maximum number of characters of an error that are shown

_log = logging.getLogger(__name__)


class OtherChain(UpstreamError):
    """Raised if a node serves a different chain than before."""


class ChainId:
    """Chain id that a node must have: a known id or, if no id is known, the first id that the node reports."""

    def __init__(self, known: int | None = None, called: str = "the node") -> None:
        self.known, self._called = known, called

    def check(self, answer: Any) -> int:
        """Return the chain id in a response; raises `OtherChain` if the known chain id is different."""
        found = quantity_in("eth_chainId", answer)
        if found >= MAX_CHAIN_ID:
            raise UpstreamError(f"{self._called}: eth_chainId: expected at most 32 bytes")
        if self.known not in (None, found):
            raise OtherChain(f"{self._called}: expected the chain id {self.known} of the served chain, got {found}")
        self.known = found
        return found


def quantity_in(method: str, answer: Any) -> int:
    """Return the quantity in a response to a method; raises `UpstreamError` if the response is not a valid quantity."""
    try:
        return from_quantity(answer, method)
    except InvalidInput as error:
        raise UpstreamError(f"the node: {error}") from None


@dataclass(frozen=True, slots=True)
class Head:
    """Newest block of a node. Rarely needed fields of the block are parsed on demand."""

    block: Mapping[str, Any]
    number: int
    timestamp: int  #: Unix time [s]
    announced: int | None = None  #: base fee of the next block, if the node announces it [wei / gas]

    @classmethod
    def parse(cls, answer: Any, fee_history: Any = None) -> "Head":
        """Return the block in a response; raises `UpstreamError` for an invalid response.

        Parameters
        ----------
        answer : result of `eth_getBlockByNumber`.
        fee_history : result of `eth_feeHistory` for one block, if the node has that method.
        """
        if not isinstance(answer, Mapping):
            raise UpstreamError(f"the node: eth_getBlockByNumber: expected a block, got {answer!r:.120}")
        number = _read_number(answer, "number")
        return cls(answer, number, _read_number(answer, "timestamp"), _announced(fee_history, number))

    def next_base_fee(self) -> int:
        """Return the base fee of the next block [wei / gas].

        If the node announces the base fee of the next block, the announced value is returned, because chains may differ
        from EIP-1559. If the node announces no base fee, the base fee of the next block is computed by EIP-1559 with
        Ethereum's parameters. Raises `UpstreamError` for a block without the necessary fields.
        """
        if self.announced is not None:
            return self.announced
        if self.block.get("baseFeePerGas") is None:
            raise UpstreamError(
                "the newest block has no baseFeePerGas: a chain without a base fee needs the setting base_fee"
            )
        fee, used, limit = (_read_number(self.block, name) for name in ("baseFeePerGas", "gasUsed", "gasLimit"))
        try:
            return int(next_base_fee(fee, used, limit))
        except InvalidInput as error:
            raise UpstreamError(f"the newest block: {error}") from None

    def extra_data(self) -> bytes:
        """Return the block's extra data, in which Linea publishes its pricing record."""
        return from_hex(self.block.get("extraData") or "0x", "extraData")


def _announced(fee_history: Any, number: int) -> int | None:
    """Return the base fee of the block after `number` from a fee history; `None` if for another block."""
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
    """Value that was read at a block, with the time of the block."""

    @property
    def timestamp(self) -> int:
        """Time of the block [s since 1970]."""


Value = TypeVar("Value", bound=Dated)


class Polled(Generic[Value]):
    """Last value that was fetched from a node, and its age.

    If the chain has stopped, polls succeed, but the newest block gets older. If the node cannot be reached, polls fail.
    A value is therefore used only if both its block and the last successful poll are recent enough.

    Parameters
    ----------
    what : name of the value, for error messages.
    every : pause between two fetches [s].
    max_age : maximum age of the value's block, and also of the last successful poll; older values are not used [s].
    node : client of the node; its name is in the log, and not shown to callers.
    """

    def __init__(
        self, what: str, fetch: Callable[[], Awaitable[Value]], *, node: AsyncNode, every: float, max_age: float
    ) -> None:
        self.node, self.what, self._fetch = node, what, fetch
        self._every, self._max_age = every, max_age
        self._held: tuple[Value, float] | None = None  # value, and time of the fetch (monotonic clock)
        self.error: str | None = None  #: reason why the last fetch failed, or `None`

    @property
    def value(self) -> Value:
        """Last value; raises `UpstreamError` if no value was received yet or the last value is too old."""
        if self._held is None:
            raise UpstreamError(f"{self.what}: not received yet{f', {self.error}' if self.error else ''}")
        value, since = self._held
        age, limit = time.time() - value.timestamp, f"more than max_age, {self._max_age:g} s"
        why = f"; {self.error}" if self.error else ""
        if age > self._max_age:
            raise UpstreamError(f"{self.what}: {age:,.0f} s old, {limit}{why}")
        if age < -self._max_age:
            raise UpstreamError(f"{self.what}: {-age:,.0f} s ahead of this clock, {limit}{why}")
        if monotonic() - since > self._max_age:
            raise UpstreamError(f"{self.what}: last polled {monotonic() - since:,.0f} s ago, {limit}{why}")
        return value

    @property
    def last(self) -> Value | None:
        """Last value, even if it is too old to be used."""
        return None if self._held is None else self._held[0]

    @property
    def age(self) -> float | None:
        """Time since the block of the last value, negative if the block is ahead of this clock [s]."""
        return None if self._held is None else time.time() - self._held[0].timestamp

    @property
    def poll_age(self) -> float | None:
        """Time since the last value was received [s]."""
        return None if self._held is None else monotonic() - self._held[1]

    def note(self, value: Value) -> None:
        """Store a value that came with the response to another request."""
        self._held, self.error = (value, monotonic()), None

    def fail(self, error: Exception) -> None:
        """Store the error of a fetch, and log the error unless the previous fetch failed too.

        If the error is `OtherChain`, the last value is discarded.
        """
        said = self.node.anonymous(str(error))
        if self.error is None:
            trace = None if isinstance(error, FeeModelError) else error
            fields = {"what": self.what, "node": self.node.name, "error": said}
            _log.warning("poll failed", exc_info=trace, extra={"fields": fields})
        if isinstance(error, OtherChain):
            self._held = None
        self.error = said.encode(errors="backslashreplace").decode()[:ERROR_LENGTH]

    async def refresh(self) -> None:
        """Fetch the value once. If the fetch fails, keep the last value and set `error`."""
        try:
            self.note(await self._fetch())
        except Exception as error:  # polling must continue after any error
            self.fail(error)

    async def keep(self) -> None:
        """Fetch the value at regular intervals until cancelled. The method first waits for one interval."""
        while True:
            await asyncio.sleep(self._every)
            await self.refresh()
