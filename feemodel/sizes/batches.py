"""Millions of payloads: cut into chunks, handed to threads, collected in order, with the progress shown."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

from feemodel.errors import InvalidInput
from feemodel.sizes.payloads import Sizes

CHUNK = 2_048  # payloads handed to a thread at once: some milliseconds of zstd, a megabyte or so of real transactions

Piece = TypeVar("Piece")


def thread_count(threads: int | None) -> int:
    """The number of threads that was asked for; `None`: one for each processor."""
    if threads is None:
        return getattr(os, "process_cpu_count", os.cpu_count)() or 1  # process_cpu_count: from Python 3.13 on
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise InvalidInput("threads", "expected an int of at least 1", threads)
    return threads


def chunks(payloads: Iterable[Any], total: int | None, threads: int) -> Iterator[tuple[int, list[Any]]]:
    """Payloads in lists of at most `CHUNK`, each with the index of its first; `total`: how many, if that is known."""
    # A short list is cut finer, so that a slow codec keeps every thread busy.
    size = CHUNK if total is None else min(CHUNK, total // (4 * threads) + 1)
    remaining, first = iter(payloads), 0
    while chunk := list(islice(remaining, size)):
        yield first, chunk
        first += len(chunk)


def map_in_order(function: Callable[[Piece], Sizes], pieces: Iterable[Piece], threads: int) -> Iterator[Sizes]:
    """`function` of each piece, in order; two pieces for each thread are taken ahead, no more."""
    if threads == 1:
        yield from map(function, pieces)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Sizes]] = deque()
        for piece in pieces:
            waiting.append(pool.submit(function, piece))
            if len(waiting) > 2 * threads:  # one in work and one at hand for each
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
