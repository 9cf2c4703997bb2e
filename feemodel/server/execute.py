"""Execution of calls on the server's chain: short calls in the event loop, all other calls in threads.

While a call runs in the event loop, no other request is answered, so `Executor.run` limits its gas and its time there.
In a thread, the native engine releases the global interpreter lock. The reference engine holds it; its gas cap bounds
the time.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from functools import partial
from importlib import import_module
from operator import attrgetter
from time import perf_counter
from typing import Any

from starlette.types import Receive

from feemodel.errors import InvalidInput, LimitExceeded
from feemodel.estimates.chain import ChainState
from feemodel.estimates.rollup import NOTHING, EstimateOptions, Gas
from feemodel.ethereum._transaction import Transaction
from feemodel.ethereum.fee_market import TRANSACTION_GAS
from feemodel.execution._clients import NodeClient, node_named
from feemodel.execution._engines import Engine, engine_named, is_native
from feemodel.execution._failures import failure
from feemodel.execution._limits import REFERENCE_LIMITS, Limits
from feemodel.execution._message import Message
from feemodel.execution._outcome import Outcome
from feemodel.execution._search import Unproven
from feemodel.execution._state import EMPTY, SLOT_BYTES, CallState
from feemodel.execution.native import Native
from feemodel.server.settings import Settings

#: ASGI's function that waits for the next event of the current request's connection; `None` outside of a request.
RECEIVE: ContextVar[Receive | None] = ContextVar("RECEIVE", default=None)

TOTAL_GAS = 200_000_000  # maximum gas of all executions of an estimate [gas]
THREADS = 3  # calls that are executed at the same time outside the event loop
INLINE_GAS = 1_200_000  # maximum gas of a call in the event loop: 15 ms of KECCAK256, the slowest instruction [gas]
INLINE_SECONDS = 0.005  # maximum time of such a call, which is checked when it calls another contract [s]
BUSY_GAS = 150_000  # maximum gas of a call if calls in the same pass of the event loop have taken INLINE_SECONDS [gas]
INLINE_BYTES = 65_536  # maximum size of a call's calldata and overrides in the event loop [byte]
BESU, INTACT = node_named("besu"), node_named("intact")


async def _cancel_if_gone(receive: Receive, call: asyncio.Task[Any]) -> None:
    """Cancel a call when its client closes the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass
    call.cancel()


class Executor:
    """Executes calls on one chain and finds the gas they need; long calls run in threads.

    An executor must be used within one event loop. Raises `InvalidInput` if the engine is not installed.
    """

    def __init__(self, chain: ChainState, settings: Settings) -> None:
        native = is_native(settings.engine)
        gas_cap = settings.gas_cap if native else min(settings.gas_cap, REFERENCE_LIMITS.gas_cap)
        self.chain, self.settings, self._pending = chain, settings, 0
        self._pass_began: float | None = None  # when a pass of the event loop executed its first call
        self.limits = Limits(gas_cap=gas_cap, total_gas=TOTAL_GAS, seconds=settings.seconds)
        self.engine: Engine = Native(settings.seconds) if native else engine_named(settings.engine)
        if settings.intact and not native:
            raise InvalidInput("intact", "expected the native engine, which records every frame", self.engine.name)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="execution")

    def state(self, asked: EstimateOptions) -> CallState:
        """Return the state of a block with overrides; for an unknown block, raises the same error as a node."""
        self.chain.check(asked.block)
        call_state = self.chain.call_state
        return call_state if asked.overrides is None else call_state.with_overrides(asked.overrides.accounts)

    async def gas(self, call: Transaction, asked: EstimateOptions, node: NodeClient = BESU) -> Gas:
        """Return the gas limit that a call needs, by a node's search, or by one that changes no inner call.

        Raises `ExecutionFailed` for a call that fails with the maximum gas limit, and `LimitExceeded`.
        """
        base = self.chain.call_state
        call_state = base if asked is NOTHING else self.state(asked)
        searched = INTACT if asked.intact or self.settings.intact else node
        message, search = searched.prepare(call, call_state, tolerance=self.settings.tolerance, limits=self.limits)
        found = await self.run("search", call_state, message, search)
        if isinstance(found, Outcome):
            raise failure(found, search.upper, estimating=True)
        # An override of the nonce is ignored.
        nonce = 0 if call.from_address is None else (base.accounts.get(call.from_address) or EMPTY).nonce
        return Gas(limit=found.gas_limit, nonce=nonce, chain_id=base.chain_id)

    async def run(self, method: str, call_state: CallState, message: Message, how: Any) -> Any:
        """Return the result of a method of the engine, `execute` or `search`, which may be called twice.

        The native engine first executes a small call in the event loop with little gas and time, whatever the gas limit
        of the call. For most calls, this is enough, and the trace shows that a larger limit gives the same result.
        """
        keys = sum(len(keys) for _, keys in message.access_list) if message.access_list else 0
        overridden = sum(map(attrgetter("size"), call_state.overrides.values()))
        if isinstance(self.engine, Native) and overridden + len(message.data) + SLOT_BYTES * keys <= INLINE_BYTES:
            if self._pass_began is None:
                self._pass_began = perf_counter()
                asyncio.get_running_loop().call_soon(setattr, self, "_pass_began", None)
            gas = INLINE_GAS if perf_counter() - self._pass_began < INLINE_SECONDS else BUSY_GAS
            try:
                return getattr(self.engine, method)(call_state, message, how, inline_gas=gas, seconds=INLINE_SECONDS)
            except (Unproven, LimitExceeded):
                pass
        return await self.run_whole(method, call_state, message, how)

    async def run_whole(self, method: str, call_state: CallState, message: Message, how: Any) -> Any:
        """Call a method of the engine in a thread; if the client disconnects, it is skipped, or stopped if native."""
        if self._pending >= THREADS + self.settings.queue:
            raise LimitExceeded(f"calls that wait to be executed: at most {self.settings.queue:,}")
        receive, call, engine = RECEIVE.get(), asyncio.current_task(), self.engine
        watch = None if receive is None or call is None else asyncio.create_task(_cancel_if_gone(receive, call))
        stop = import_module("feemodel_native").Stop() if isinstance(engine, Native) else None
        run = getattr(engine, method) if stop is None else partial(getattr(engine, method), stop=stop)
        self._pending += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, run, call_state, message, how)
        except asyncio.CancelledError:
            if stop is not None:
                stop.set()
            raise
        finally:
            self._pending -= 1
            if watch is not None:
                watch.cancel()

    async def warm_up(self) -> None:
        """Load the state into the engine, so that the first call does not have to wait."""
        await self.run_whole("execute", self.chain.call_state, Message(to=bytes(20)), TRANSACTION_GAS)

    def close(self) -> None:
        """Wait until each thread has finished its current task."""
        self._threads.shutdown(wait=True, cancel_futures=True)
