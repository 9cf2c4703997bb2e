"""Where calls are executed: short ones in the event loop, all others in threads that are waited for.

While the event loop executes, no other caller is answered. So the native engine executes there with little gas only,
whatever limit the call may use. Most calls need no more gas, and their trace proves how they end with a larger limit.
What is not proven is executed again in a thread, where the engine does not hold Python's lock. The reference engine
holds it, and executes in child processes.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from time import monotonic
from typing import TypeVar

import msgspec

from feemodel.errors import FeeModelError, LimitExceeded
from feemodel.execution.engines import Engine, Execute, check_installed, is_native
from feemodel.execution.limits import Limits
from feemodel.execution.message import Message
from feemodel.execution.outcome import Inspected, Outcome, Status, Traced
from feemodel.execution.pool import EnginePool
from feemodel.execution.search import Search, Searched, Unproven
from feemodel.execution.state import CallState

Found = TypeVar("Found")

INLINE_GAS = 150_000  # of all executions of a call in the event loop: 20 ms at the 130 ns a gas of ECRECOVER
INLINE_BYTES = 65_536  # of calldata, overridden code and slots: reading them costs no gas
WAITS = 2  # times the seconds of a call that it may wait for a thread
SLOW_SECONDS = 0.002  # that an execution in the event loop took in vain
HEAVY_SECONDS = 0.5  # that an execution kept a thread
PENALTY = 20  # times as long as it took, code counts as slow
SLOW_FOR = 60.0  # maximum of that time [s]
SLOW_CODES = 4_096  # that are remembered


class Work(msgspec.Struct, frozen=True):
    """What is known of a call before it is executed."""

    code: bytes  #: that it executes first
    size: int  #: of its data, and of overridden code and slots [byte]
    is_known: bool  #: whether it can only meet code and storage of the chain


class TooLong(FeeModelError):
    """A call that needs more than the event loop may execute."""


class _SlowCodes:
    """Code that took longer than some seconds, for a while."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until: OrderedDict[int, float] = OrderedDict()  # hash of code: when it no longer counts as slow

    def note(self, code: bytes, seconds: float) -> None:
        """Note how long a call of this code took."""
        if seconds <= self._seconds or not code:
            return
        self._until[hash(code)] = monotonic() + min(PENALTY * (seconds - self._seconds), SLOW_FOR)
        self._until.move_to_end(hash(code))
        while len(self._until) > SLOW_CODES:
            self._until.popitem(last=False)

    def __contains__(self, code: bytes) -> bool:
        return bool(self._until) and self._until.get(hash(code), 0.0) > monotonic()


class _Inline:
    """The native engine for the event loop: it executes a task with little gas, or raises `TooLong`."""

    def __init__(self, on: Callable[[CallState], Execute]) -> None:
        self._on = on

    def run(self, call_state: CallState, task: Callable[[Execute], Found]) -> Found:
        return task(_Brief(self._on(call_state), call_state))


class _Brief:
    """Executes messages with little gas in place of more."""

    engine = "native"

    def __init__(self, execute: Execute, call_state: CallState) -> None:
        self._execute, self._call_state, self._left = execute, call_state, INLINE_GAS

    def __call__(self, message: Message, gas_limit: int) -> Outcome:
        return self.trace(message, gas_limit).outcome

    def trace(self, message: Message, gas_limit: int) -> Traced:
        """Return the execution with this gas limit, or one with less that proves how it ends."""
        left = self._left
        if gas_limit > left and message.pays and message.gas_price and self._call_state.account(message.sender).code:
            raise TooLong("the sender's code may spend what is left of its balance")
        traced = self._execute.trace(message, min(gas_limit, left))
        outcome = traced.outcome
        if gas_limit > left and not (traced.oblivious and outcome.status in (Status.SUCCESS, Status.REVERT)):
            raise TooLong(f"{left:,} gas do not tell")
        self._left = left - outcome.gas_used
        return traced

    def search(self, message: Message, search: Search) -> Searched:
        """Return what is found with little gas in place of more."""
        has_code = message.pays and bool(self._call_state.account(message.sender).code)
        try:
            searched = self._execute.search(message, search._replace(inline_gas=self._left, sender_has_code=has_code))
        except Unproven as error:
            raise TooLong(str(error)) from None
        self._left -= searched.spent
        return searched

    def inspect(self, message: Message, gas_limit: int) -> Inspected:
        raise TooLong("an inspection")


class Runner:
    """Execute tasks of one process.

    Parameters
    ----------
    engine : "auto", "native" or "reference".
    limits : of a call.
    threads : tasks that are executed at the same time; child processes of the reference engine.
    queue : tasks that may wait for a thread.

    Belongs to one event loop. Raises `InvalidInput` where the engine is not installed.
    """

    def __init__(self, engine: str, limits: Limits, *, threads: int, queue: int) -> None:
        self._limits, self._queue, self._waiting = limits, queue, 0
        self._pool: EnginePool | None = None
        self._inline: _Inline | None = None
        check_installed(engine)
        if is_native(engine):
            from feemodel.execution.native import Native

            native = Native(limits.seconds)
            self._engine: Engine = native
            self._inline = _Inline(native.on)
        else:
            self._engine = self._pool = EnginePool(threads, limits.seconds)
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="execution")
        self._free = asyncio.Semaphore(threads)
        self._free_of_heavy = asyncio.Semaphore(max(threads - 1, 1))
        self._slow, self._heavy = _SlowCodes(SLOW_SECONDS), _SlowCodes(HEAVY_SECONDS)

    async def run(self, task: Callable[[Engine], Found], work: Work) -> Found:
        """Return what a task returns; it may be started twice.

        Parameters
        ----------
        task : takes an engine.
        work : what is known of it.

        Raises
        ------
        LimitExceeded : the limits of a call, or too many tasks waiting; and whatever the task raises.
        """
        if self._inline is not None and work.size <= INLINE_BYTES and work.code not in self._slow:
            began = monotonic()
            try:
                return task(self._inline)
            except TooLong:
                self._slow.note(work.code, monotonic() - began)
        return await self._in_thread(task, work)

    async def _in_thread(self, task: Callable[[Engine], Found], work: Work) -> Found:
        async with self._place(is_heavy=not work.is_known or work.code in self._heavy):
            began = monotonic()
            try:
                return await asyncio.get_running_loop().run_in_executor(self._threads, task, self._engine)
            finally:
                self._heavy.note(work.code, monotonic() - began)

    @asynccontextmanager
    async def _place(self, *, is_heavy: bool) -> AsyncIterator[None]:
        """Hold one of the threads; overridden and slow code may not take all of them."""
        if self._waiting >= self._queue:
            raise LimitExceeded(f"calls that wait to be executed: at most {self._queue:,}")
        seconds = WAITS * self._limits.seconds
        self._waiting += 1
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(seconds):
                    for semaphore in (self._free_of_heavy, self._free) if is_heavy else (self._free,):
                        await held.enter_async_context(semaphore)
            except TimeoutError:
                raise LimitExceeded(f"a call may wait {seconds:g} s to be executed") from None
            finally:
                self._waiting -= 1
            yield

    async def warm_up(self, call_state: CallState) -> None:
        """Load a state into the engine, so that the first call on it need not wait."""
        await self._in_thread(lambda engine: engine.run(call_state, lambda execute: None), Work(b"", 0, True))

    def close(self) -> None:
        """End the child processes; a thread ends with its task."""
        if self._pool is not None:
            self._pool.close()
        self._threads.shutdown(wait=True, cancel_futures=True)
