"""A child process for methods that need much memory or time.

It starts with the first task, has a lower priority than the server, and is killed where a task takes too long.
"""

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from typing import TypeVar

from feemodel.errors import LimitExceeded

START_SECONDS = 60.0  # until the process has imported what it needs, and compiled it the first time
LOWER_PRIORITY = 10  # of the process, as `nice` counts

Found = TypeVar("Found")


class ChildProcess:
    """A child process that can be killed.

    Parameters
    ----------
    task : name of what it computes, for the messages of errors.
    load : function that imports and compiles what the first task needs.
    """

    def __init__(self, task: str, load: Callable[[], object]) -> None:
        self._task, self._load = task, load
        self._pool: ProcessPoolExecutor | None = None
        self._number: int | None = None

    async def run(self, task: Callable[[], Found], seconds: float) -> Found:
        """Return the result of a task; raises `LimitExceeded` where it takes longer, or ends the process."""
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
        """Kill the process; the next task starts another one."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        if self._number is not None:
            with suppress(ProcessLookupError):
                os.kill(self._number, signal.SIGKILL)
        self._pool = self._number = None


def _begin() -> None:
    """Prepare the child process: it ends with its parent, and leaves the processors to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # which a terminal sends to the parent as well
    os.nice(LOWER_PRIORITY)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _loaded(load: Callable[[], object]) -> int:
    """Load what the tasks need; returns the number of this process."""
    load()
    return os.getpid()
