"""Where a call is executed: in the serving thread what is short, everything else in a place that it has to wait for.

While the serving thread executes, nobody else is answered. So the native engine executes there with little gas only,
whatever the call may use; most calls need no more, and their trace proves how they end with any larger limit. What is
not proven is begun anew in another thread, where the engine does not hold Python's lock. The reference holds it, so it
executes in child processes that can be ended.

Clients take turns for these places. Code that a caller brings may not take all of them, nor may code that has kept one
for long: so it keeps nobody waiting who calls what stands on the chain.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import TypeVar

from feemodel.errors import FeeModelError
from feemodel.execution.engines import Engine, Execute, check_installed, is_native
from feemodel.execution.limits import Limits
from feemodel.execution.message import Message
from feemodel.execution.outcome import Committed, Inspected, Outcome, Status, Traced
from feemodel.execution.pool import EnginePool
from feemodel.execution.search import Search, Searched, Unproven
from feemodel.execution.state import CallState
from feemodel.rpc.begun import Begun, once
from feemodel.rpc.fair_queue import CLIENT, FairQueue

Found = TypeVar("Found")

INLINE_GAS = 150_000  # of a call's executions together: 20 ms at 130 ns a gas, which is ECRECOVER's, the dearest
INLINE_BYTES = 65_536  # of calldata, and of code and slots that a caller brought: to read these costs no gas
WAITS = 2  # times the limit of a call that it may wait for a place
SLOW_SECONDS = 0.002  # that code computed in the serving thread in vain
HEAVY_SECONDS = 0.5  # that code kept a place
PENALTY = 20  # times as long code counts as slow
SLOW_FOR = 60.0  # the longest that it does [s]
SLOW_CODES = 4_096  # that are remembered


class Beyond(FeeModelError):
    """A call for which the serving thread is not the place."""


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


class Inline:
    """The native engine for the serving thread, which executes a task with little gas and briefly, or not at all.

    To hand an estimate of a token transfer to another thread takes 142 µs of processor time in place of 82.

    Parameters
    ----------
    on : a state → what executes on it.
    """

    def __init__(self, on: Callable[[CallState], Execute]) -> None:
        self._on = on

    def run(self, call_state: CallState, task: Callable[[Execute], Found]) -> Found:
        """What the task answers; raises `Beyond` where that would take more."""
        return task(_Brief(self._on(call_state), call_state))


class _Brief:
    """Executes messages with little gas, in place of more."""

    engine = "native"

    def __init__(self, execute: Execute, call_state: CallState) -> None:
        self._execute, self._call_state, self._left = execute, call_state, INLINE_GAS

    def __call__(self, message: Message, gas_limit: int) -> Outcome:
        return self.trace(message, gas_limit).outcome

    def trace(self, message: Message, gas_limit: int) -> Traced:
        """The execution with this gas limit, or one with less that proves how it ends."""
        left = self._left
        if gas_limit > left and message.pays and message.gas_price and self._call_state.account(message.sender).code:
            raise Beyond("the sender's code, which may spend what is left of its balance")
        traced = self._execute.trace(message, min(gas_limit, left))
        outcome = traced.outcome
        if gas_limit > left and not (traced.oblivious and outcome.status in (Status.SUCCESS, Status.REVERT)):
            raise Beyond(f"{left:,} gas do not tell")
        self._left = left - outcome.gas_used
        return traced

    def search(self, message: Message, search: Search) -> Searched:
        """Return what is found with little gas in place of more."""
        has_code = message.pays and bool(self._call_state.account(message.sender).code)
        try:
            searched = self._execute.search(message, search._replace(inline_gas=self._left, sender_has_code=has_code))
        except Unproven as error:
            raise Beyond(str(error)) from None
        self._left -= searched.spent
        return searched

    def inspect(self, message: Message, gas_limit: int) -> Inspected:
        """Nothing that is asked for often enough to be done here."""
        raise Beyond("an inspection")

    def commit(self, message: Message, gas_limit: int, *, transfers: bool = False) -> Committed:
        """Nothing that is done here: less gas would not stay as what was asked for would."""
        raise Beyond("an execution that stays")


class Runner:
    """Executes tasks of one process, see the module.

    Parameters
    ----------
    engine : "auto", "native" or "reference".
    limits : of a call.
    processes : places: threads of the native engine, child processes of the reference.
    queue : calls that may wait for a place.

    `close()` ends the children. Belongs to one event loop. Raises `InvalidInput` where the engine is not installed.
    """

    def __init__(
        self, engine: str = "auto", limits: Limits | None = None, *, processes: int = 2, queue: int = 32
    ) -> None:
        self._limits = limits = limits or Limits()
        self._pool: EnginePool | None = None
        self._inline: Inline | None = None
        check_installed(engine)
        if is_native(engine):
            from feemodel.execution.native import Native

            native = Native(limits.seconds)
            self._engine: Engine = native
            self._inline = Inline(native.on)
        else:
            self._engine = self._pool = EnginePool(processes, limits.seconds)
        self._threads = ThreadPoolExecutor(processes, thread_name_prefix="execution")
        self._places = FairQueue(processes, max(processes - 1, 1), queue)
        self._slow, self._heavy = _Slow(SLOW_SECONDS), _Slow(HEAVY_SECONDS)

    async def run(self, task: Callable[[Engine], Found], *, code: bytes, size: int, known: bool) -> Found:
        """What a task answers; parameters as in `begin`."""
        return await once(self.begin(task, code=code, size=size, known=known))

    def begin(self, task: Callable[[Engine], Found], *, code: bytes, size: int, known: bool) -> Begun[Found]:
        """What a task answers where the serving thread executes it, else the coroutine that waits for a place.

        Parameters
        ----------
        task : given an engine.
        code : that it executes first, which slow calls are known by.
        size : of the call's data, and of what it brings along [byte].
        known : whether all code and storage that it can meet is on the chain.

        The task may be begun twice. Raises `LimitExceeded` at the limits, and where too many wait; what the task
        raises otherwise.
        """
        if self._inline is not None and size <= INLINE_BYTES and not self._slow.has(code):
            began = monotonic()
            try:
                return task(self._inline)
            except Beyond:
                self._slow.note(code, monotonic() - began)
        return self._in_place(task, code, known and not self._heavy.has(code))

    async def _in_place(self, task: Callable[[Engine], Found], code: bytes, known: bool) -> Found:
        # A call of somebody else's may take all the time that it has, and one more follows it.
        async with self._places.place(CLIENT.get(), known=known, seconds=WAITS * self._limits.seconds):
            timed = Timed(self._engine)
            try:
                return await asyncio.get_running_loop().run_in_executor(self._threads, task, timed)
            finally:
                self._heavy.note(code, timed.seconds)

    async def warm_up(self, call_state: CallState) -> None:
        """Have the engine load a state, so that the first call on it need not wait."""
        await self._in_place(lambda engine: engine.run(call_state, lambda execute: None), b"", True)

    def close(self) -> None:
        """End the children; tasks that wait for them fail. A thread ends with its task."""
        if self._pool is not None:
            self._pool.close()
        self._threads.shutdown(wait=True, cancel_futures=True)


class Timed:
    """An engine that measures how long its executions take, without the start of a process."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._began: float | None = None

    @property
    def seconds(self) -> float:
        return 0.0 if self._began is None else monotonic() - self._began

    def run(self, call_state: CallState, task: Callable[[Execute], Found]) -> Found:
        """What the task answers."""

        def begun(execute: Execute) -> Found:
            if self._began is None:
                self._began = monotonic()
            return task(execute)

        return self._engine.run(call_state, begun)
