"""Count processors, and run tasks on threads."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import TypeVar

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_in_order(
    function: Callable[[Piece], Result], pieces: Iterable[Piece], threads: int, executor: Executor | None = None
) -> Generator[Result, None, None]:
    """Yield `function(piece)` for each piece, in order; at most two pieces per thread are read ahead.

    If `executor` is given, it computes the results in place of threads, and stays open.

    >>> list(map_in_order(abs, [-1, 2, -3], threads=2))
    [1, 2, 3]
    """
    if threads == 1 and executor is None:
        yield from map(function, pieces)
        return
    pool = ThreadPoolExecutor(threads) if executor is None else executor
    waiting: deque[Future[Result]] = deque()
    try:
        for piece in pieces:
            waiting.append(pool.submit(function, piece))
            if len(waiting) > 2 * threads:  # keep one running task and one waiting task for each thread
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
        if executor is None:
            # If the caller stops early, do not wait for running tasks. A request to a node ends by its own timeout.
            pool.shutdown(wait=False)
