"""Who executes a call: this process where that is quick, a child process that can be ended everywhere else.

The fast engine answers in tens of microseconds, but while it executes, nobody else in this process is answered. So it
is given only calls whose one execution is bounded, for a short time together; what takes longer, or is not exact on it,
goes to the child processes, and code that was slow goes there at once, the longer the slower it was. Code that a caller
brings along goes there too: a block's gas of precompiles takes seconds, and the next caller brings other code. Not all
children execute it, so that it keeps nobody waiting who calls what stands on the chain.
"""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from time import monotonic, thread_time
from typing import TypeVar

from feemodel.errors import LimitExceeded
from feemodel.execution.engines import Engine, Execute, Inexact, engine_named
from feemodel.execution.estimate import Limits
from feemodel.execution.pool import EnginePool
from feemodel.execution.world import World
from feemodel.rpc.fair_queue import CLIENT, FairQueue

Found = TypeVar("Found")

INLINE_GAS = 50_000_000  # of one execution; what an eth_call has that names none
INLINE_UNKNOWN_GAS = 500_000  # of one execution of code that a caller brought along: a tenth of a second at the worst
INLINE_DATA = 8_192  # bytes of calldata, of which a contract can make much work
INLINE_TOTAL_GAS = 60_000_000  # of all executions of a call
INLINE_SECONDS = 0.1  # after which no further execution begins inline [s]
SLOW_SECONDS = 0.05  # that an inline call computed for which was slow [s]
FRESH = 0.01  # seconds for which a reading of the processor's clock, which is a system call, is good enough
HEAVY_SECONDS = 0.5  # of a call that kept a child for long [s]
PENALTY = 20  # times the time above these that code counts as slow
SLOW_FOR = 60.0  # the longest that it does [s]
SLOW_CODES = 4_096  # that are remembered
WAITS = 2  # times the limit of time of a call that a call waits for a process


class _Slow:
    """Code that took longer than some time, for a while.

    Parameters
    ----------
    seconds : beyond which a call was slow [s].
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until: OrderedDict[int, float] = OrderedDict()  # hash of code → when it counts as slow no longer

    def note(self, code: bytes, seconds: float) -> None:
        """Note how long a call took. No code is not slow."""
        if seconds <= self._seconds or not code:
            return
        self._until[hash(code)] = monotonic() + min(PENALTY * (seconds - self._seconds), SLOW_FOR)
        self._until.move_to_end(hash(code))
        while len(self._until) > SLOW_CODES:
            self._until.popitem(last=False)

    def has(self, code: bytes) -> bool:
        """Whether a call of this code is expected to be slow."""
        return bool(self._until) and self._until.get(hash(code), 0.0) > monotonic()


class _Watch:
    """How long an inline call computed: a busy machine makes any call last."""

    def __init__(self) -> None:
        self._read, self._computed = -math.inf, 0.0

    def begin(self) -> float:
        """The moment at which a call begins."""
        now = monotonic()
        if now > self._read + FRESH:
            self._read, self._computed = now, thread_time()
        return now

    def computed(self, began: float) -> float:
        """Seconds since the call began, to a hundredth; 0 where it was not slow by any clock."""
        return thread_time() - self._computed if monotonic() - began > SLOW_SECONDS else 0.0


class _Brief:
    """An engine that does not begin a task again and again, for each account that it meets."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def run(self, world: World, task: Callable[[Execute], Found]) -> Found:
        """What the task answers; raises `Inexact` where it is begun again too late."""
        until = monotonic() + INLINE_SECONDS

        def begun(execute: Execute) -> Found:
            if monotonic() > until:
                raise Inexact("many accounts, met one after the other")
            return task(execute)

        return self._engine.run(world, begun)


class Timed:
    """An engine that tells how long its executions took, the start of a process apart."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._began: float | None = None

    @property
    def seconds(self) -> float:
        return 0.0 if self._began is None else monotonic() - self._began

    def run(self, world: World, task: Callable[[Execute], Found]) -> Found:
        """What the task answers."""

        def begun(execute: Execute) -> Found:
            self._began = monotonic()
            return task(execute)

        return self._engine.run(world, begun)


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
        self._inline = _Brief(engine_named("fast")) if has_fast else None
        self._limits = limits = limits or Limits()
        self._inline_limits = replace(
            limits, total_gas=min(limits.total_gas, INLINE_TOTAL_GAS), seconds=min(limits.seconds, INLINE_SECONDS)
        )
        self._pool = EnginePool(processes, limits.seconds, engine)
        self._threads = ThreadPoolExecutor(processes, thread_name_prefix="execution")
        self._places = FairQueue(processes, max(processes - 1, 1), queue)
        self._slow, self._heavy, self._watch = _Slow(SLOW_SECONDS), _Slow(HEAVY_SECONDS), _Watch()

    async def run(self, task: Callable[[Engine, Limits], Found], *, gas: int, code: bytes, known: bool) -> Found:
        """What a task answers, which may be begun more than once.

        Parameters
        ----------
        task : given an engine and limits.
        gas : the most that one of its executions may use [gas].
        code : that it executes first, by which slow calls are told.
        known : whether all code that it can execute stands on the chain, and it has little data.

        Raises `LimitExceeded` at the limits, and where too many wait; what the task raises otherwise.
        """
        most = INLINE_GAS if known else INLINE_UNKNOWN_GAS
        if self._inline is not None and gas <= most and not self._slow.has(code):
            began = self._watch.begin()
            try:
                return task(self._inline, self._inline_limits)
            except Inexact:
                pass
            except LimitExceeded:
                if self._inline_limits == self._limits:
                    raise
            finally:
                self._slow.note(code, self._watch.computed(began))
        return await self._in_child(task, code, known and not self._heavy.has(code))

    async def _in_child(self, task: Callable[[Engine, Limits], Found], code: bytes, known: bool) -> Found:
        # A call of somebody else's may take all the time that it has, and one more follows it.
        async with self._places.place(CLIENT.get(), known=known, seconds=WAITS * self._limits.seconds):
            pool = Timed(self._pool)
            try:
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(self._threads, lambda: task(pool, self._limits))
            finally:
                self._heavy.note(code, pool.seconds)

    async def warm_up(self, world: World) -> None:
        """Have a child started and the world loaded, so that the first call for one need not wait."""
        await self._in_child(lambda engine, limits: engine.run(world, lambda execute: None), b"", True)

    def close(self) -> None:
        """End the children; tasks that wait for them fail."""
        self._pool.close()
        self._threads.shutdown(wait=True, cancel_futures=True)
