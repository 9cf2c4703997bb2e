"""Who executes a call: this process where that is quick, a child process that can be ended everywhere else.

The fast engine answers in tens of microseconds, but while it executes, nobody else in this process is answered. So it
is given only calls whose one execution is bounded, for a short time together; what takes longer, or is not exact on it,
goes to the child processes, and code that was slow once is sent there at once.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from time import monotonic
from typing import TypeVar

from feemodel.errors import LimitExceeded
from feemodel.execution.engines import Engine, Inexact, engine_named
from feemodel.execution.estimate import Limits
from feemodel.execution.pool import EnginePool
from feemodel.execution.world import World

Found = TypeVar("Found")

INLINE_GAS = 20_000_000  # of one execution; above Osaka's cap of a transaction
INLINE_TOTAL_GAS = 60_000_000  # of all executions of a call
INLINE_SECONDS = 0.1  # after which no further execution begins inline [s]
SLOW_SECONDS = 0.05  # of an inline call that was slow [s]
SLOW_CALLS = 2  # one after the other, from which on their code counts as slow; a busy machine makes one so
SLOW_FOR = 60.0  # how long it does [s]
SLOW_CODES = 4_096  # that are remembered


class Runner:
    """Executes tasks of one process, see the module.

    Parameters
    ----------
    engine : "auto", "fast" or "reference".
    limits : of a call.
    processes : children.
    queue : calls that may wait for a child.

    `close()` ends the children. Belongs to one event loop.
    """

    def __init__(
        self, engine: str = "auto", limits: Limits | None = None, *, processes: int = 2, queue: int = 32
    ) -> None:
        has_fast = engine == "fast" or (engine == "auto" and find_spec("pyrevm") is not None)
        self._inline = engine_named("fast") if has_fast else None
        self._limits = limits = limits or Limits()
        self._inline_limits = replace(
            limits, total_gas=min(limits.total_gas, INLINE_TOTAL_GAS), seconds=min(limits.seconds, INLINE_SECONDS)
        )
        self._pool = EnginePool(processes, limits.seconds, engine)
        self._threads = ThreadPoolExecutor(processes, thread_name_prefix="execution")
        self._free = asyncio.Semaphore(processes)
        self._queue, self._waiting = queue, 0
        self._slow: OrderedDict[int, tuple[int, float]] = OrderedDict()  # hash of code → slow calls, remembered until

    async def run(self, task: Callable[[Engine, Limits], Found], *, gas: int, code: bytes) -> Found:
        """What a task answers, which may be begun more than once.

        Parameters
        ----------
        task : given an engine and limits.
        gas : the most that one of its executions may use [gas].
        code : that it executes first, by which slow calls are told.

        Raises `LimitExceeded` at the limits, and where too many wait; what the task raises otherwise.
        """
        if self._inline is not None and gas <= INLINE_GAS and not self._is_slow(code):
            began = monotonic()
            try:
                return task(self._inline, self._inline_limits)
            except Inexact:
                pass
            except LimitExceeded:
                if self._inline_limits == self._limits:
                    raise
            finally:
                if monotonic() - began > SLOW_SECONDS:
                    self._note_slow(code)
                elif self._slow:
                    self._slow.pop(hash(code), None)
        return await self._in_child(task)

    async def _in_child(self, task: Callable[[Engine, Limits], Found]) -> Found:
        if self._waiting >= self._queue:
            raise LimitExceeded(f"{self._queue} calls wait for a process already")
        self._waiting += 1
        try:
            async with asyncio.timeout(self._limits.seconds):
                await self._free.acquire()
        except TimeoutError:
            raise LimitExceeded(f"no process came free within {self._limits.seconds:g} s") from None
        finally:
            self._waiting -= 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, lambda: task(self._pool, self._limits))
        finally:
            self._free.release()

    async def warm_up(self, world: World) -> None:
        """Have a child started and the world loaded, so that the first call for one need not wait."""
        await self._in_child(lambda engine, limits: engine.run(world, lambda execute: None))

    def close(self) -> None:
        """End the children; tasks that wait for them fail."""
        self._pool.close()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _is_slow(self, code: bytes) -> bool:
        calls, until = self._slow.get(hash(code), (0, 0.0))
        return calls >= SLOW_CALLS and until > monotonic()

    def _note_slow(self, code: bytes) -> None:
        calls, _ = self._slow.get(hash(code), (0, 0.0))
        self._slow[hash(code)] = calls + 1, monotonic() + SLOW_FOR
        self._slow.move_to_end(hash(code))
        while len(self._slow) > SLOW_CODES:
            self._slow.popitem(last=False)
