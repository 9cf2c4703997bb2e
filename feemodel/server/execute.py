"""Execution of calls on the server's chain: short calls in the event loop, all other calls in threads.

While a call runs in the event loop, no other request is answered. Therefore the native engine first executes a call
there with a small amount of gas, whatever the gas limit of the call. For most calls, a small amount of gas is enough,
and the trace shows that a larger limit gives the same result. A call whose result is not yet known is executed again in
a thread, where the native engine releases the global interpreter lock. The reference engine holds the lock; its gas
cap bounds the time.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from operator import methodcaller
from time import monotonic
from typing import TypeVar

import msgspec

from feemodel.errors import LimitExceeded
from feemodel.estimates._chain import ChainState
from feemodel.estimates.json_types import StateOverride
from feemodel.ethereum._block_id import BlockId
from feemodel.ethereum._quantities import to_hex
from feemodel.execution._clients import Prepared
from feemodel.execution._engines import Engine, Execute, check_installed, engine_named, is_native
from feemodel.execution._limits import REFERENCE_LIMITS, Limits
from feemodel.execution._message import Message, Request
from feemodel.execution._outcome import Outcome
from feemodel.execution._search import Searched, Unproven
from feemodel.execution._state import SLOT_BYTES, CallState
from feemodel.execution.native import Native
from feemodel.server.dispatch import BATCH_GAS
from feemodel.server.errors import SERVER_ERROR, CallError
from feemodel.server.settings import Settings

Found = TypeVar("Found")

INLINE_GAS = 150_000  # maximum gas of a call in the event loop: 11 ms of ECRECOVER, the slowest operation
INLINE_BYTES = 65_536  # maximum size of calldata and overrides of a call in the event loop [byte]
FEW_BYTES = 8_192  # maximum size of short calldata [byte]; with longer calldata, a contract can run for long
SHOWN = 100  # maximum number of characters of an unknown block in an error message
LAST_PRECOMPILE = 0x1FF  # EIP-7587: addresses above 0x1FF are never precompiles of Ethereum
WAITS = 2  # maximum wait for a thread, as a multiple of the maximum time of a call
SLOW_SECONDS = 0.002  # code is slow if a call fails to finish in the event loop and takes longer than this [s]
HEAVY_SECONDS = 0.5  # code is heavy if a call of this code occupies a thread for longer than this [s]
PENALTY = 20  # code counts as slow for PENALTY · (time of the call − SLOW_SECONDS or HEAVY_SECONDS)
SLOW_FOR = 60.0  # code is treated as slow for at most this time after a slow call [s]
SLOW_CODES = 4_096  # maximum number of stored codes that count as slow


def limits_of(settings: Settings) -> Limits:
    """Return the limits on gas and time of one estimate, which are lower on the reference engine."""
    gas_cap, total_gas = settings.gas_cap, settings.total_gas
    if not is_native(settings.engine):
        gas_cap, total_gas = min(gas_cap, REFERENCE_LIMITS.gas_cap), min(total_gas, REFERENCE_LIMITS.total_gas)
    return Limits(gas_cap=gas_cap, total_gas=total_gas, seconds=settings.seconds, max_call_gas=settings.max_call_gas)


def check_overrides(overrides: StateOverride, settings: Settings) -> None:
    """Raise `LimitExceeded` for a state override that is larger than the settings allow."""
    if len(overrides.accounts) > settings.override_accounts:
        limit = f"at most {settings.override_accounts:,} accounts"
        raise LimitExceeded(f"overrides: {limit}, got {len(overrides.accounts):,}")
    count = sum(len(one.state or ()) + len(one.state_diff or ()) for one in overrides.accounts.values())
    if count > settings.override_slots:
        raise LimitExceeded(f"overrides: at most {settings.override_slots:,} slots, got {count:,}")


class Work(msgspec.Struct, frozen=True):
    """The properties of a call that are known before it is executed."""

    code: bytes  #: code of the called contract, or init code
    size: int  #: total size of calldata, access list, and overridden code and slots [byte]
    is_known: bool  #: whether the call has short calldata, no authorizations or overrides, and no precompile as target


def work_of(request: Request, call_state: CallState) -> Work:
    """Return the properties of a call that are known before it is executed."""
    call = request.call
    overridden = call_state.overridden_bytes() if call_state.changes else 0
    size = overridden + len(call.data)
    if call.access_list:
        size += SLOT_BYTES * sum(len(slots) for _, slots in call.access_list)
    if call.to is None:
        return Work(call.data, size, is_known=False)
    few = len(call.data) <= FEW_BYTES and not (call.data and int.from_bytes(call.to) <= LAST_PRECOMPILE)
    return Work(call_state.account(call.to).code, size, few and not (overridden or request.authorizations))


class _SlowCodes:
    """Contract codes whose calls recently took longer than a limit; a code leaves the set after some time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.until: OrderedDict[int, float] = OrderedDict()  #: hash of a code → time until which the code is slow

    def note(self, code: bytes, seconds: float) -> None:
        """Record how long a call to a contract with this code took."""
        if seconds <= self._seconds or not code:
            return
        self.until[hash(code)] = monotonic() + min(PENALTY * (seconds - self._seconds), SLOW_FOR)
        self.until.move_to_end(hash(code))
        while len(self.until) > SLOW_CODES:
            self.until.popitem(last=False)


class Executor:
    """Execute calls on one chain, within one process.

    Parameters
    ----------
    chain : chain on whose state calls are executed.
    settings : settings that select the engine, the limits, and the numbers of concurrent and of waiting calls.

    An executor must be used within one event loop. Raises `InvalidInput` if the engine is not installed.
    """

    def __init__(self, chain: ChainState, settings: Settings) -> None:
        self.chain, self.settings, self.limits = chain, settings, limits_of(settings)
        self._waiting, threads = 0, settings.processes
        check_installed(settings.engine)
        self._native = Native(self.limits.seconds) if is_native(settings.engine) else None
        self._any: Engine = self._native or engine_named("reference")
        self.engine = "reference" if self._native is None else "native"
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="execution")
        self._free = asyncio.Semaphore(threads)
        self._free_of_heavy = asyncio.Semaphore(max(threads - 1, 1))
        self._slow, self._heavy = _SlowCodes(SLOW_SECONDS), _SlowCodes(HEAVY_SECONDS)

    def state(self, block: BlockId | None, overrides: StateOverride | None) -> CallState:
        """Return the state of a block with an override; for an unknown block, raises the same error as a node."""
        if block is not None:
            self.check_block(block)
        if overrides is None:
            return self.chain.call_state
        check_overrides(overrides, self.settings)
        return self.chain.call_state.with_overrides(overrides.accounts)

    def check_block(self, block: BlockId | None) -> None:
        """Raise the same error as a node for a block whose state is not available; `None` means the newest block."""
        if block is not None and not self.is_newest(block):
            text = str(block.given)
            shown = text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
            known = "" if self.chain.hash is None else f" ({to_hex(self.chain.hash)})"
            newest = f"{self.chain.call_state.block.number:#x}{known}"
            raise CallError(SERVER_ERROR, f"header not found: {shown}, the newest block is {newest}")

    def is_newest(self, block: BlockId) -> bool:
        """Return whether a block parameter names the newest block."""
        if block.hash is not None:
            return block.hash == self.chain.hash
        number = self.chain.call_state.block.number
        if block.tag is not None:
            return block.tag != "earliest" or number == 0
        return block.number == number

    async def gas_limit(self, prepared: Prepared) -> int:
        """Return the gas limit that a call needs [gas].

        Raises `ExecutionFailed` for a call that fails with the maximum gas limit. Raises `LimitExceeded` if the call
        exceeds a limit, or if too many calls are waiting.
        """
        task = methodcaller("search", prepared.message, prepared.search)  # calls the method `search` of an `Execute`
        found: Searched = await self._run(task, prepared.request, prepared.call_state)
        BATCH_GAS.get().spent += found.spent
        if found.gas_limit is None:
            raise prepared.failure(found.outcome)
        return found.gas_limit

    async def execute(self, message: Message, gas_limit: int, request: Request, call_state: CallState) -> Outcome:
        """Return the outcome of a message; raises `LimitExceeded` if a limit is exceeded or too many calls wait."""
        outcome = await self._run(lambda execute: execute(message, gas_limit), request, call_state)
        BATCH_GAS.get().spent += outcome.gas_used
        return outcome

    async def _run(self, task: Callable[[Execute], Found], request: Request, call_state: CallState) -> Found:
        """Return the result of a task that executes a call; the task may be started twice."""
        work = work_of(request, call_state)
        if self._native is not None and work.size <= INLINE_BYTES:
            began = monotonic()
            if self._slow.until.get(hash(work.code), began) <= began:
                try:
                    return self._native.run(call_state, task, inline_gas=INLINE_GAS)
                except Unproven:
                    self._slow.note(work.code, monotonic() - began)
        return await self._in_thread(task, work, call_state)

    async def _in_thread(self, task: Callable[[Execute], Found], work: Work, call_state: CallState) -> Found:
        is_heavy = not work.is_known or self._heavy.until.get(hash(work.code), 0.0) > monotonic()
        async with self._slot(is_heavy=is_heavy):
            began, loop = monotonic(), asyncio.get_running_loop()
            try:
                return await loop.run_in_executor(self._threads, self._any.run, call_state, task)
            except LimitExceeded:
                BATCH_GAS.get().spent += self.limits.total_gas  # the gas used is not known: assume the limit
                raise
            finally:
                self._heavy.note(work.code, monotonic() - began)

    @asynccontextmanager
    async def _slot(self, *, is_heavy: bool) -> AsyncIterator[None]:
        """Reserve a thread; heavy calls (overridden or slow code) cannot reserve all threads."""
        if self._waiting >= self.settings.queue:
            raise LimitExceeded(f"calls that wait to be executed: at most {self.settings.queue:,}")
        seconds = WAITS * self.limits.seconds
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

    async def warm_up(self) -> None:
        """Load the state into the engine, so that the first call does not have to wait."""
        await self._in_thread(lambda execute: None, Work(b"", 0, is_known=True), self.chain.call_state)

    def close(self) -> None:
        """Wait until each thread has finished its current task."""
        self._threads.shutdown(wait=True, cancel_futures=True)
