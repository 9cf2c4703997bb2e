"""Execution of calls on the server's chain: short calls in the event loop, all other calls in threads.

While a call runs in the event loop, no other request is answered. Therefore the native engine first executes a call
there with a small amount of gas, whatever the gas limit of the call. For most calls, a small amount of gas is enough,
and the trace shows that a larger limit gives the same result. A call whose result is not yet known is executed again in
a thread, where the native engine releases the global interpreter lock. The reference engine holds the lock; its gas
cap bounds the time.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from functools import partial
from importlib import import_module
from operator import methodcaller
from typing import Any, TypeVar

from starlette.types import Receive

from feemodel.errors import InvalidInput, LimitExceeded
from feemodel.estimates.chain import ChainState
from feemodel.estimates.estimate import EstimateOptions, Gas
from feemodel.estimates.json_types import StateOverride
from feemodel.ethereum._block_id import BlockId
from feemodel.ethereum._quantities import to_hex
from feemodel.ethereum._transaction import Transaction
from feemodel.execution._clients import NodeClient, node_named
from feemodel.execution._engines import Engine, Execute, engine_named, is_native
from feemodel.execution._limits import REFERENCE_LIMITS, Limits
from feemodel.execution._message import Message
from feemodel.execution._outcome import Outcome
from feemodel.execution._search import Searched, Unproven
from feemodel.execution._state import SLOT_BYTES, CallState
from feemodel.execution.native import Native
from feemodel.server.errors import SERVER_ERROR, CallError
from feemodel.server.settings import Settings

Found = TypeVar("Found")
_BESU, _INTACT = node_named("besu"), node_named("intact")

#: ASGI's function that waits for the next event of the current request's connection; `None` outside of a request.
RECEIVE: ContextVar[Receive | None] = ContextVar("RECEIVE", default=None)

INLINE_GAS = 80_000  # maximum gas of a call in the event loop: 6 ms of ECRECOVER, the slowest operation
INLINE_BYTES = 65_536  # maximum size of calldata and overrides of a call in the event loop [byte]
TOTAL_GAS = 200_000_000  # maximum gas of all executions of an estimate [gas]
THREADS = 3  # calls that are executed at the same time outside the event loop
WAITS = 2  # maximum wait for a thread, as a multiple of the maximum time of a call
OVERRIDE_ACCOUNTS = 1_000  # maximum accounts in a state override
OVERRIDE_SLOTS = 10_000  # maximum slots in a state override
SHOWN = 100  # maximum number of characters of an unknown block in an error message


def limits_of(settings: Settings) -> Limits:
    """Return the limits on gas and time of one estimate, which are lower on the reference engine."""
    gas_cap = settings.gas_cap if is_native(settings.engine) else min(settings.gas_cap, REFERENCE_LIMITS.gas_cap)
    return Limits(gas_cap=gas_cap, total_gas=TOTAL_GAS, seconds=settings.seconds)


def check_overrides(overrides: StateOverride) -> None:
    """Raise `LimitExceeded` for a state override that is too large."""
    if len(overrides.accounts) > OVERRIDE_ACCOUNTS:
        raise LimitExceeded(f"overrides: at most {OVERRIDE_ACCOUNTS:,} accounts, got {len(overrides.accounts):,}")
    count = sum(len(one.state or ()) + len(one.state_diff or ()) for one in overrides.accounts.values())
    if count > OVERRIDE_SLOTS:
        raise LimitExceeded(f"overrides: at most {OVERRIDE_SLOTS:,} slots, got {count:,}")


async def _cancel_if_gone(receive: Receive, call: asyncio.Task[Any]) -> None:
    """Cancel a call when its client closes the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass
    call.cancel()


class Executor:
    """Execute calls on one chain, within one process.

    Parameters
    ----------
    chain : chain on whose state calls are executed.
    settings : settings that select the engine, the limits, and the number of waiting calls.

    An executor must be used within one event loop. Raises `InvalidInput` if the engine is not installed.
    """

    def __init__(self, chain: ChainState, settings: Settings) -> None:
        self.chain, self.settings, self.limits = chain, settings, limits_of(settings)
        self._waiting = 0
        self._native = Native(self.limits.seconds) if is_native(settings.engine) else None
        self._any: Engine = self._native or engine_named(settings.engine)
        self.engine = "reference" if self._native is None else "native"
        if settings.intact and self._native is None:
            raise InvalidInput("intact", "expected the native engine, which records every frame", self.engine)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="execution")
        self._free = asyncio.Semaphore(THREADS)

    def state(
        self, block: BlockId | None, overrides: StateOverride | None, block_overrides: Mapping[str, Any] | None
    ) -> CallState:
        """Return the state of a block with overrides; for an unknown block, raises the same error as a node."""
        self.check_block(block)
        call_state = self.chain.call_state
        if overrides is not None:
            check_overrides(overrides)
            call_state = call_state.with_overrides(overrides.accounts)
        return call_state.in_block(block_overrides)

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

    async def gas(self, call: Transaction, asked: EstimateOptions, node: NodeClient = _BESU) -> Gas:
        """Return the gas limit that a call needs with a node's search, by default that of Linea's nodes.

        Raises `ExecutionFailed` for a call that fails with the maximum gas limit. Raises `LimitExceeded` if the call
        exceeds a limit, or if too many calls are waiting.
        """
        base, given = self.chain.call_state, (asked.block, asked.overrides, asked.block_overrides)
        call_state = base if given == (None, None, None) else self.state(*given)
        node = _INTACT if asked.intact or self.settings.intact else node
        prepared = node.prepare(call, call_state, tolerance=self.settings.tolerance, limits=self.limits)
        task = methodcaller("search", prepared.message, prepared.search)  # calls the method `search` of an `Execute`
        found: Searched = await self._run(task, call, call_state)
        if found.gas_limit is None:
            raise prepared.failure(found.outcome)
        # An override of the nonce is ignored.
        nonce = 0 if call.from_address is None else base.account(call.from_address).nonce
        return Gas(limit=found.gas_limit, nonce=nonce, chain_id=base.chain_id)

    async def execute(self, message: Message, gas_limit: int, call: Transaction, call_state: CallState) -> Outcome:
        """Return the outcome of a message; raises `LimitExceeded` if a limit is exceeded or too many calls wait."""
        return await self._run(lambda execute: execute(message, gas_limit), call, call_state)

    async def _run(self, task: Callable[[Execute], Found], call: Transaction, call_state: CallState) -> Found:
        """Return the result of a task that executes a call; the task may be started twice."""
        keys = sum(len(keys) for _, keys in call.access_list) if call.access_list else 0
        overridden = call_state.overridden_bytes() if call_state.changes else 0
        if self._native is not None and overridden + len(call.data) + SLOT_BYTES * keys <= INLINE_BYTES:
            try:
                return self._native.run(call_state, task, inline_gas=INLINE_GAS)
            except Unproven:
                pass
        return await self._in_thread(task, call_state)

    async def _in_thread(self, task: Callable[[Execute], Found], call_state: CallState) -> Found:
        """Run a task in a thread; if the caller goes away, the task is not run, or the native engine stops."""
        if self._waiting >= self.settings.queue:
            raise LimitExceeded(f"calls that wait to be executed: at most {self.settings.queue:,}")
        seconds, receive, call = WAITS * self.limits.seconds, RECEIVE.get(), asyncio.current_task()
        watch = None if receive is None or call is None else asyncio.create_task(_cancel_if_gone(receive, call))
        stop = None if self._native is None else import_module("feemodel_native").Stop()
        try:
            self._waiting += 1
            try:
                async with asyncio.timeout(seconds):
                    await self._free.acquire()
            except TimeoutError:
                raise LimitExceeded(f"a call may wait {seconds:g} s to be executed") from None
            finally:
                self._waiting -= 1
            run = self._any.run if self._native is None else partial(self._native.run, stop=stop)
            running = asyncio.get_running_loop().run_in_executor(self._threads, run, call_state, task)
            running.add_done_callback(lambda _: self._free.release())
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            if stop is not None:
                stop.set()
            raise
        finally:
            if watch is not None:
                watch.cancel()

    async def warm_up(self) -> None:
        """Load the state into the engine, so that the first call does not have to wait."""
        await self._in_thread(lambda execute: None, self.chain.call_state)

    def close(self) -> None:
        """Wait until each thread has finished its current task."""
        self._threads.shutdown(wait=True, cancel_futures=True)
