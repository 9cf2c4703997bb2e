"""A value that another node tells, looked up again and again, with the age of its block and of the last look."""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Executor
from time import monotonic
from typing import Generic, Protocol, TypeVar

from feemodel.errors import FeeModelError, UpstreamError
from feemodel.io.node import Node
from feemodel.rpc.head import OtherChain

MOST_TOLD = 300  # characters of an error, of which a node may send megabytes


class Dated(Protocol):
    """A value of a block."""

    @property
    def timestamp(self) -> int: ...


Value = TypeVar("Value", bound=Dated)

_log = logging.getLogger(__name__)


class Polled(Generic[Value]):
    """The last value that `fetch` gave, and how old it is.

    A node that stands still answers every poll, so the age of a value is that of its block; and a node that is gone
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
        told = self._node.anonymous(str(error)).encode(errors="backslashreplace").decode()
        self.error = told if len(told) <= MOST_TOLD else f"{told[:MOST_TOLD]}…"

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
