"""A value that another node tells, looked up again and again, with its age."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor
from time import monotonic
from typing import Generic, TypeVar

from feemodel.errors import FeeModelError, UpstreamError

Value = TypeVar("Value")

_log = logging.getLogger(__name__)


class Polled(Generic[Value]):
    """The last value that `fetch` gave, and how old it is.

    Parameters
    ----------
    what : the value, in the messages.
    fetch : the value now; it may wait, so it runs in `threads`.
    every : pause between two fetches [s].
    max_age : beyond which the value is not given out any more [s]; `None` for any age.
    threads : to fetch in.
    node : the name of who is asked, which the log has and callers do not.
    """

    def __init__(
        self,
        what: str,
        fetch: Callable[[], Value],
        *,
        every: float,
        max_age: float | None,
        threads: Executor,
        node: str = "the node",
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
        if self._max_age is not None and monotonic() - since > self._max_age:
            raise UpstreamError(f"{self._what}: older than {self._max_age:g} s, {self.error or 'no newer one yet'}")
        return value

    @property
    def age(self) -> float | None:
        """Since the last value came [s]; `None` while there is none."""
        return None if self._held is None else monotonic() - self._held[1]

    async def refresh(self) -> None:
        """Fetch once; a failure leaves the last value, and its reason in `error`."""
        try:
            value = await asyncio.get_running_loop().run_in_executor(self._threads, self._fetch)
        except Exception as error:  # whatever a node answers, it is asked again
            if self.error is None:
                foreseen = isinstance(error, FeeModelError)
                _log.warning("%s: %s", self._what, error, exc_info=None if foreseen else error)
            told = str(error).replace(self._node, "the node")
            self.error = told.encode(errors="replace").decode()  # a node's words may hold half a character
        else:
            self._held, self.error = (value, monotonic()), None

    async def keep(self) -> None:
        """Fetch for ever, from the first pause on."""
        while True:
            await asyncio.sleep(self._every)
            await self.refresh()
