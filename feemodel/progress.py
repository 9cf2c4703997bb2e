"""Long computations: their threads, and reports of their progress."""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeAlias, TypeVar

from feemodel.errors import InvalidInput

Progress: TypeAlias = bool | Callable[[int], object] | None
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


@contextmanager
def reporting(progress: Progress, total: int | None, what: str) -> Iterator[Callable[[int], object]]:
    """Yield a function that reports progress: call it with the number of items finished since the previous call.

    Parameters
    ----------
    progress : a function, which is yielded unchanged; `True` for a progress bar if standard error is a terminal;
        `False` or `None` for no report.
    total : number of items, `None` if unknown.
    what : name of the items, shown next to the bar.
    """
    if callable(progress):
        yield progress
    elif progress is True:
        from rich.console import Console
        from rich.progress import Progress as Bars

        console = Console(stderr=True)
        with Bars(console=console, disable=not console.is_terminal, transient=True) as bars:
            task = bars.add_task(what, total=total)
            yield lambda count: bars.advance(task, count)
    elif progress is None or progress is False:
        yield lambda count: None
    else:
        raise InvalidInput("progress", "expected a callable, True, False or None", progress)
