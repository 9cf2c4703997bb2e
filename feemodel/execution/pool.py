"""The reference in a few child processes, which can be killed: no call keeps others waiting, none runs for ever.

A child loads a state once and keeps it for later calls on the same one. A child whose execution is not done at the
deadline is killed and replaced. A task whose child dies, as one without memory does, is begun again in a new one.
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
from feemodel.execution.engines import Execute
from feemodel.execution.inputs import check_seconds
from feemodel.execution.message import Message
from feemodel.execution.outcome import Inspected, Outcome, Traced
from feemodel.execution.search import Search, Searched, search_message
from feemodel.execution.state import CallState, Overlay

Found = TypeVar("Found")

PROCESSES = 2
DEADLINE = 10.0  # seconds; a call that a rollup block takes is done in two
START = 60.0  # seconds until a child has its engine and a state; on a busy machine it takes five
ATTEMPTS = 2  # at a task, each in a process of its own


class ChildEnded(RuntimeError):
    """A child process that ended before it answered."""


class EnginePool:
    """The reference in child processes.

    Parameters
    ----------
    processes : how many tasks run at a time; others wait.
    deadline : of waiting for a process, and of all executions of a task together [s]; the start of a process has time
        of its own.

    Children start when they are first needed and end with `close()`, or with this process. May be used by several
    threads.

    >>> with EnginePool(processes=1, deadline=60) as pool:
    ...     pool.run(CallState(accounts={}), lambda execute: execute(Message(to=bytes(20)), 21_000)).gas_used
    21000
    """

    def __init__(self, processes: int = PROCESSES, deadline: float = DEADLINE) -> None:
        if processes < 1:
            raise InvalidInput("processes", "expected at least 1", processes)
        self._deadline = check_seconds("deadline", deadline)
        self._all = [_Child() for _ in range(processes)]
        self._free = [*self._all]  # the one that was used last comes last
        self._change = threading.Condition()  # of those that are free

    def run(self, call_state: CallState, task: Callable[[Execute], Found]) -> Found:
        """Run a task with the executions that it asks for, see `feemodel.execution.engines.Engine`.

        Raises `LimitExceeded` at the deadline and where each process that was given the task died, `RuntimeError` where
        the pool is closed.
        """
        left = self._deadline
        for _ in range(ATTEMPTS):
            with suppress(ChildEnded), self._taken() as child:
                child.load(call_state)
                began = monotonic()
                try:
                    return task(_Machine(child, began + left, self._deadline))
                finally:
                    left -= monotonic() - began
        raise LimitExceeded(f"{ATTEMPTS} processes of the engine ended while they executed this call: try it again")

    def warm_up(self, call_state: CallState | None = None) -> None:
        """Start all children and load a state, so that the first calls need not wait for it."""
        with ExitStack() as held:
            children = [held.enter_context(self._taken()) for _ in self._all]
            for child in children:
                child.start()
            for child in children:
                child.load(call_state or CallState(accounts={}))

    def close(self) -> None:
        """End the children for good; tasks that wait for them fail with `RuntimeError`."""
        for child in self._all:
            child.end()
        with self._change:  # each is let go by the thread whose task has failed
            self._change.wait_for(lambda: len(self._free) == len(self._all))
            for child in self._all:
                child.stop()

    @contextmanager
    def _taken(self) -> Iterator["_Child"]:
        """A child that is free, which nobody else uses meanwhile."""
        with self._change:
            if not self._change.wait_for(lambda: self._free, self._deadline):
                raise LimitExceeded(f"no process of the engine came free within {self._deadline:g} s")
            # The last one has its state loaded. A process that was killed takes seconds to start anew: that is left to
            # a call that finds no other.
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


class _Machine:
    """Executes messages in a child, up to a deadline."""

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
        """The gas limit that a message needs."""
        return search_message(self, message, search)

    def inspect(self, message: Message, gas_limit: int) -> Inspected:
        answer: Inspected = self._asked("inspect", message, gas_limit)
        return answer

    def _asked(self, method: str, message: Message, gas_limit: int) -> Any:
        answer = self._child.ask((method, message, gas_limit), max(self._until - monotonic(), 0))
        if answer is None:
            raise LimitExceeded(f"the executions of one estimate took more than {self._deadline:g} s together")
        return answer


class _Child:
    """One child process and the pipe to it; used by the one thread that took it, but for `end()`."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self._base: CallState | None = None
        self._ended = False
        self._starting = threading.Lock()
        self.is_busy = False  #: whether an answer is owed

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> Connection:
        """The pipe to the process, which is started if it does not run."""
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
        """Tell the child on which state the next messages run; a new one is there when this returns."""
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
        """The answer of the child that was loaded; `None` if it did not come in time."""
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
        """Kill the process, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = self._base = None
        self.is_busy = False

    def end(self) -> None:
        """Kill the process and start none again. From any thread: the one that uses the process gets `ChildEnded`."""
        with self._starting:
            self._ended = True
            process = self._process
        if process is not None:
            process.kill()


def _started(descriptor: int) -> subprocess.Popen[bytes]:
    """A process of its own module: what the caller's main program is does not matter, nor its threads."""
    command = [sys.executable, "-m", "feemodel.execution.worker", str(descriptor)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=(descriptor,), env=environment)


def _send(pipe: Connection, message: Any) -> None:
    """Tell a child something."""
    try:
        pipe.send(message)
    except OSError:
        raise ChildEnded from None


def _received(pipe: Connection, seconds: float) -> Any:
    """Return a child's next message; `None` if there is none in that time."""
    try:
        return pipe.recv() if pipe.poll(seconds) else None
    except (EOFError, OSError):
        raise ChildEnded from None
