"""Count processors, run tasks on threads, and end worker processes together with their parent."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def end_with_parent() -> None:
    """Exit when the parent process ends, because a worker process would otherwise wait for tasks forever."""
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_exit_after, args=(parent,), daemon=True).start()


def _exit_after(parent: "BaseProcess") -> None:
    parent.join()
    os._exit(1)


def map_in_order(function: Callable[[Piece], Result], pieces: Iterable[Piece], threads: int) -> Iterator[Result]:
    """Yield `function(piece)` for each piece, in order; at most two pieces per thread are read ahead.

    >>> list(map_in_order(abs, [-1, 2, -3], threads=2))
    [1, 2, 3]
    """
    if threads == 1:
        yield from map(function, pieces)
        return
    pool = ThreadPoolExecutor(threads)
    waiting: deque[Future[Result]] = deque()
    try:
        for piece in pieces:
            waiting.append(pool.submit(function, piece))
            if len(waiting) > 2 * threads:  # keep one running task and one waiting task for each thread
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        # If the caller stops early, do not wait for running tasks. A request to a node ends by its own timeout.
        pool.shutdown(wait=False, cancel_futures=True)
