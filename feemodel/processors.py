"""Number of processors, and work shared among threads."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_in_order(function: Callable[[Piece], Result], pieces: Iterable[Piece], threads: int) -> Iterator[Result]:
    """`function` of each piece, in order; two pieces for each thread are taken ahead, no more.

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
            if len(waiting) > 2 * threads:  # one in work and one at hand for each
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        # Where the caller stops before the end nothing is waited for: a request to a node ends by its own time-out.
        pool.shutdown(wait=False, cancel_futures=True)
