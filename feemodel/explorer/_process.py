"""Run methods that need much memory or time in a child process.

The process starts with the first task, has a lower priority than the server, and is killed if a task takes too long.
"""

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import TypeVar

from feemodel._processors import end_with_parent
from feemodel.errors import LimitExceeded

START_SECONDS = 60.0  # maximum time to start the process, import modules and compile code
LOWER_PRIORITY = 10  # value added to the niceness of the process

Found = TypeVar("Found")


class ChildProcess:
    """A child process that can be killed.

    Parameters
    ----------
    task : what the process computes, as named in error messages.
    load : function that imports and compiles the code that tasks need.
    """

    def __init__(self, task: str, load: Callable[[], object]) -> None:
        self._task, self._load = task, load
        self._pool: ProcessPoolExecutor | None = None
        self._number: int | None = None

    async def run(self, task: Callable[[], Found], seconds: float) -> Found:
        """Return the result of a task; raises `LimitExceeded` if the task exceeds its time or ends the process."""
        loop = asyncio.get_running_loop()
        if self._pool is None:
            spawn = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(1, mp_context=spawn, initializer=_begin)
        try:
            if self._number is None:
                self._number = await asyncio.wait_for(
                    loop.run_in_executor(self._pool, _loaded, self._load), START_SECONDS
                )
            return await asyncio.wait_for(loop.run_in_executor(self._pool, task), seconds)
        except TimeoutError:
            self.close()
            raise LimitExceeded(f"a {self._task}: at most {seconds:g} s") from None
        except BrokenProcessPool:
            self.close()
            raise LimitExceeded(f"the process of {self._task}s ended: try again") from None
        except asyncio.CancelledError:
            self.close()
            raise

    def close(self) -> None:
        """Kill the process; the next task starts a new process."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        if self._number is not None:
            with suppress(ProcessLookupError):
                os.kill(self._number, signal.SIGKILL)
        self._pool = self._number = None


def _begin() -> None:
    """Prepare the child process: lower the priority, and end the process when the parent process ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C and ends this process
    os.nice(LOWER_PRIORITY)
    end_with_parent()


def _loaded(load: Callable[[], object]) -> int:
    """Run `load`, and return the id of this process."""
    load()
    return os.getpid()
