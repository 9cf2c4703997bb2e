"""What is known of a node's chain: its newest block and its id; and values that a node is polled for."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass
from time import monotonic
from typing import Any, Generic, Protocol, TypeVar

from feemodel.checks import INT64_MAX
from feemodel.errors import FeeModelError, InvalidInput, UpstreamError
from feemodel.ethereum.fee_market import next_base_fee
from feemodel.ethereum.quantities import from_hex, from_quantity
from feemodel.io.node import Node
from feemodel.rpc.processes import ID_BYTES

ERROR_LENGTH = 300  # characters of an error, of which a node may send megabytes


class Dated(Protocol):
    """A value of a block."""

    @property
    def timestamp(self) -> int: ...


Value = TypeVar("Value", bound=Dated)

_log = logging.getLogger(__name__)


class Polled(Generic[Value]):
    """The last value that `fetch` gave, and how old it is.

    A node whose chain has stopped answers every poll, so the age of a value is that of its block; a node that has gone
    answers none, so the age of the poll counts too.

    Parameters
    ----------
    what : the value, in the messages.
    fetch : the value now; it may wait, so it runs in `threads`.
    every : pause between two fetches [s].
    max_age : beyond which neither age may lie for the value to be given out [s].
    threads : to fetch in.
    node : that is asked; the log has its address and callers do not.
    """

    def __init__(
        self,
        what: str,
        fetch: Callable[[], Value],
        *,
        every: float,
        max_age: float,
        threads: Executor,
        node: Node,
    ) -> None:
        self._what, self._fetch, self._every, self._max_age, self._threads = what, fetch, every, max_age, threads
        self._node = node
        self._held: tuple[Value, float] | None = None  # and when it was fetched; no clock that can be set
        self.error: str | None = None  #: why the last fetch failed; `None` if it did not

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
        """The last value whatever its age; `None` while there is none."""
        return None if self._held is None else self._held[0]

    @property
    def age(self) -> float | None:
        """Since the block of the last value, below zero where that is ahead of this clock [s]."""
        return None if self._held is None else time.time() - self._held[0].timestamp

    @property
    def poll_age(self) -> float | None:
        """Since the last value came [s]; `None` while there is none."""
        return None if self._held is None else monotonic() - self._held[1]

    def note(self, value: Value) -> None:
        """Hold a value that came with another answer."""
        self._held, self.error = (value, monotonic()), None

    def fail(self, error: Exception) -> None:
        """Note why there is no new value; the log has it once. That of another chain leaves no value at all."""
        if self.error is None:
            foreseen = isinstance(error, FeeModelError)
            _log.warning("%s: %s", self._what, error, exc_info=None if foreseen else error)
        if isinstance(error, OtherChain):
            self._held = None
        text = self._node.anonymous(str(error)).encode(errors="backslashreplace").decode()
        self.error = text if len(text) <= ERROR_LENGTH else f"{text[:ERROR_LENGTH]}…"

    async def refresh(self) -> None:
        """Fetch once; a failure leaves the last value, and its reason in `error`."""
        try:
            value = await asyncio.get_running_loop().run_in_executor(self._threads, self._fetch)
        except Exception as error:  # whatever a node answers, it is asked again
            self.fail(error)
        else:
            self.note(value)

    async def keep(self) -> None:
        """Fetch for ever, from the first pause on."""
        while True:
            await asyncio.sleep(self._every)
            await self.refresh()


@dataclass(frozen=True, slots=True)
class Head:
    """The newest block of a node; what is not always needed is read when it is."""

    block: Mapping[str, Any]
    number: int
    timestamp: int  #: Unix time [s]
    announced: int | None = None  #: by the node, the base fee of the block that comes next [wei / gas]

    @classmethod
    def parse(cls, answer: Any, fee_history: Any = None) -> "Head":
        """The block in an answer; raises `UpstreamError` for what is none.

        Parameters
        ----------
        answer : of `eth_getBlockByNumber`.
        fee_history : of `eth_feeHistory` of one block, where the node has that method.
        """
        if not isinstance(answer, Mapping):
            raise UpstreamError(f"the node: eth_getBlockByNumber: expected a block, got {answer!r:.120}")
        number = _read(answer, "number")
        return cls(answer, number, _read(answer, "timestamp"), _announced(fee_history, number))

    def next_base_fee(self) -> int:
        """The base fee of the block that comes next [wei / gas].

        It is what the node announces, for chains have parameters and exceptions of their own; where it announces
        none, that of EIP-1559 with Ethereum's parameters. Raises `UpstreamError` for a block that has none of these.
        """
        if self.announced is not None:
            return self.announced
        if self.block.get("baseFeePerGas") is None:
            raise UpstreamError("the newest block has no baseFeePerGas: a chain without one needs the setting base_fee")
        fee, used, limit = (_read(self.block, name) for name in ("baseFeePerGas", "gasUsed", "gasLimit"))
        try:
            return int(next_base_fee(fee, used, limit))
        except InvalidInput as error:
            raise UpstreamError(f"the newest block: {error}") from None

    def extra_data(self) -> bytes:
        """The extra data, which holds the pricing record."""
        return from_hex(self.block.get("extraData") or "0x", "extraData")


def _announced(fee_history: Any, number: int) -> int | None:
    """The next base fee in a fee history; `None` where it is not of this block, as where a new one came meanwhile."""
    fees = fee_history.get("baseFeePerGas") if isinstance(fee_history, Mapping) else None
    if not isinstance(fees, list) or len(fees) != 2 or _read(fee_history, "oldestBlock") != number:
        return None
    return _read({"baseFeePerGas": fees[1]}, "baseFeePerGas")


def _read(block: Mapping[str, Any], name: str) -> int:
    try:
        number = from_quantity(block.get(name), name)  # type: ignore[arg-type]
        if number > INT64_MAX:
            raise InvalidInput(name, "expected at most 2**63 - 1", number)
    except InvalidInput as error:
        raise UpstreamError(f"the newest block: {error}") from None
    return number


class OtherChain(UpstreamError):
    """A node that serves another chain than it did before."""


class ChainId:
    """The chain id of a node, in one process or in all workers of a server.

    Parameters
    ----------
    shared : an array of bytes of `multiprocessing`, so that a worker that is replaced does not accept another chain.
    """

    def __init__(self, shared: Any = None) -> None:
        self._memory = bytearray(ID_BYTES) if shared is None else shared
        self._lock = nullcontext() if shared is None else shared.get_lock()
        self.refusal: OtherChain | None = None  #: why the node is not asked at present

    @property
    def known(self) -> int | None:
        """The id; `None` until a node has answered with one."""
        held = bytes(self._memory[:])
        return int.from_bytes(held) - 1 if any(held) else None

    def check(self, answer: Any) -> int:
        """The id in an answer; raises `UpstreamError` for no id, `OtherChain` for that of another chain."""
        try:
            found = from_quantity(answer, "eth_chainId")
        except InvalidInput as error:
            raise UpstreamError(f"the node: {error}") from None
        if found >= 1 << 8 * ID_BYTES - 1:
            raise UpstreamError(f"the node: eth_chainId: expected at most {ID_BYTES} bytes")
        with self._lock:
            known = self.known
            if known is None:
                self._memory[:] = (found + 1).to_bytes(ID_BYTES)  # all zero stands for none
        if known not in (None, found):
            self.refusal = OtherChain(f"the node: its chain id is {found}, the chain that is served has {known}")
            raise self.refusal
        self.refusal = None
        return found
