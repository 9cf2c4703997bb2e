"""The reference engine in child processes, so that executions can run in parallel and be stopped at a deadline.

A child caches the last state for further calls. A child that misses the deadline is killed and replaced. If a child
dies, for example because memory runs out, the pool runs its task again in a new child.

The pool does not use `concurrent.futures`, pebble or loky, because their busy workers keep running if the parent is
killed. The workers of `concurrent.futures` and pebble also import the caller's main module, which must therefore
contain `if __name__ == "__main__"`.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import Connection, Pipe
from time import monotonic
from types import TracebackType
from typing import Any, Self, TypeVar

from feemodel.errors import InvalidInput, LimitExceeded
from feemodel.execution._engines import Execute
from feemodel.execution._inputs import check_seconds
from feemodel.execution._message import Message
from feemodel.execution._outcome import Outcome, Traced
from feemodel.execution._search import Search, Searched, search_message
from feemodel.execution._state import CallState, Overlay

Found = TypeVar("Found")

PROCESSES = 2
DEADLINE = 10.0  # maximum time of a task [s]; a call that fits into a rollup block takes about two seconds
START = 60.0  # maximum time for a child to load its engine and a state [s]; on a busy machine, loading takes about 5 s
ATTEMPTS = 2  # maximum number of attempts for one task; each attempt uses another process


class ChildEnded(RuntimeError):
    """A child process that ended before it sent a reply."""


class EnginePool:
    """Pool of child processes that execute with the reference engine.

    Parameters
    ----------
    processes : number of tasks that run at the same time; further tasks wait.
    deadline : time limit for waiting for a free process, and also for all executions of a task together [s]. The
        deadline does not include the time to start a process.

    Children start when they are first needed and end with `close()` or with this process. Threads may share a pool.

    >>> with EnginePool(processes=1, deadline=60) as pool:
    ...     pool.run(CallState(accounts={}), lambda execute: execute(Message(to=bytes(20)), 21_000)).gas_used
    21000
    """

    def __init__(self, processes: int = PROCESSES, deadline: float = DEADLINE) -> None:
        if processes < 1:
            raise InvalidInput("processes", "expected at least 1", processes)
        self._deadline = check_seconds("deadline", deadline)
        self._all = [_Child() for _ in range(processes)]
        self._free = [*self._all]  # free child processes; the one used last is at the end
        self._change = threading.Condition()  # notified when `_free` changes

    def run(self, call_state: CallState, task: Callable[[Execute], Found]) -> Found:
        """Return the result of a task that executes messages on a state, see `feemodel.execution._engines.Engine`.

        Raises `LimitExceeded` at the deadline or if the child dies in every attempt, and `RuntimeError` if the pool
        is closed.
        """
        left = self._deadline
        for _ in range(ATTEMPTS):
            with suppress(ChildEnded), self._taken() as child:
                child.load(call_state)
                began = monotonic()
                try:
                    return task(_PoolMachine(child, began + left, self._deadline))
                finally:
                    left -= monotonic() - began
        raise LimitExceeded(f"{ATTEMPTS} processes of the engine ended while they executed this call: try again")

    def warm_up(self, call_state: CallState | None = None) -> None:
        """Start all child processes and load a state into each, to avoid a delay of the first calls."""
        with ExitStack() as held:
            children = [held.enter_context(self._taken()) for _ in self._all]
            for child in children:
                child.start()
            for child in children:
                child.load(call_state or CallState(accounts={}))

    def close(self) -> None:
        """Stop all children; running and waiting tasks fail with `RuntimeError`."""
        for child in self._all:
            child.end()
        with self._change:  # each running task fails now, and the thread of the task frees the child
            self._change.wait_for(lambda: len(self._free) == len(self._all))
            for child in self._all:
                child.stop()

    @contextmanager
    def _taken(self) -> Iterator["_Child"]:
        """Reserve a free child process for the caller."""
        with self._change:
            if not self._change.wait_for(lambda: self._free, self._deadline):
                raise LimitExceeded(f"no process of the engine came free within {self._deadline:g} s")
            # Prefer the child that was used last, because it may have the state of the call in memory. Restarting a
            # killed process takes seconds, so restart a child only if no other child is free.
            child = next((one for one in reversed(self._free) if one.is_alive), self._free[-1])
            self._free.remove(child)
        try:
            yield child
        except BaseException as error:
            if child.is_busy or isinstance(error, ChildEnded):
                child.stop()
            raise
        finally:
            with self._change:
                self._free.append(child)
                self._change.notify_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _PoolMachine:
    """Executes EVM messages in a child process until a deadline."""

    engine = "reference"

    def __init__(self, child: "_Child", until: float, deadline: float) -> None:
        self._child, self._until, self._deadline = child, until, deadline

    def __call__(self, message: Message, gas_limit: int) -> Outcome:
        answer: Outcome = self._asked("__call__", message, gas_limit)
        return answer

    def trace(self, message: Message, gas_limit: int) -> Traced:
        answer: Traced = self._asked("trace", message, gas_limit)
        return answer

    def search(self, message: Message, search: Search) -> Searched:
        """Return the gas limit that a message needs."""
        return search_message(self, message, search)

    def _asked(self, method: str, message: Message, gas_limit: int) -> Any:
        answer = self._child.ask((method, message, gas_limit), max(self._until - monotonic(), 0))
        if answer is None:
            raise LimitExceeded(f"the executions of one estimate took more than {self._deadline:g} s together")
        return answer


class _Child:
    """A child process and the pipe to it.

    Only the thread that reserved the child may use it, except that any thread may call `end`.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self._base: CallState | None = None
        self._ended = False
        self._starting = threading.Lock()
        self.is_busy = False  #: whether the child has not yet replied to a request

    @property
    def is_alive(self) -> bool:
        """Whether the process is running."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> Connection:
        """Return the pipe to the process; start the process if it is not running."""
        if self._process is not None and self._process.poll() is not None:
            self.stop()
        if self._pipe is not None:
            return self._pipe
        with ExitStack() as opened:
            ours, theirs = Pipe()
            opened.enter_context(ours)
            with theirs, self._starting:
                if self._ended:
                    raise RuntimeError("the processes of the engine are closed")
                self._process = _started(theirs.fileno())
            opened.pop_all()
        self._pipe = ours
        return ours

    def load(self, call_state: CallState) -> None:
        """Send the state for the next messages to the child; return when the child has loaded the state."""
        pipe = self.start()
        if self._base is not None and call_state.same_base(self._base):
            _send(pipe, Overlay.of(call_state, self._base))
            return
        self.is_busy = True
        _send(pipe, call_state)
        if _received(pipe, START) is None:
            self.stop()
            raise LimitExceeded(f"a process of the engine took more than {START:g} s to start")
        self.is_busy, self._base = False, call_state

    def ask(self, question: Any, seconds: float) -> Any:
        """Send a request to the child and return its reply; `None` if no reply arrives in time."""
        if self._pipe is None:
            raise ChildEnded
        self.is_busy = True
        _send(self._pipe, question)
        answer = _received(self._pipe, seconds)
        if answer is None:
            return None
        self.is_busy = False
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def stop(self) -> None:
        """Kill the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = self._base = None
        self.is_busy = False

    def end(self) -> None:
        """Kill the process; any thread may call this method. A thread that is using the process gets `ChildEnded`."""
        with self._starting:
            self._ended = True
            process = self._process
        if process is not None:
            process.kill()


def _started(descriptor: int) -> subprocess.Popen[bytes]:
    """Start a child that runs `feemodel.execution._worker`, independent of the caller's main module and threads."""
    command = [sys.executable, "-m", "feemodel.execution._worker", str(descriptor)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=(descriptor,), env=environment)


def _send(pipe: Connection, message: Any) -> None:
    """Send a message to a child; raises `ChildEnded` if the child has ended."""
    try:
        pipe.send(message)
    except OSError:
        raise ChildEnded from None


def _received(pipe: Connection, seconds: float) -> Any:
    """Return the next message of a child; `None` if no message arrives in time."""
    try:
        return pipe.recv() if pipe.poll(seconds) else None
    except (EOFError, OSError):
        raise ChildEnded from None
