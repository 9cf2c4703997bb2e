"""The interpreter's recursion limit, kept as it was: under a high one, deeply nested JSON ends the process."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def recursion_limit(limit: int | None = None) -> Iterator[None]:
    """The limit raised to `limit`, if it is lower; what it was before is set again at the end, whatever came between.

    >>> before = sys.getrecursionlimit()
    >>> with recursion_limit(50_000):
    ...     print(sys.getrecursionlimit())
    50000
    >>> sys.getrecursionlimit() == before
    True
    """
    before = sys.getrecursionlimit()
    if limit is not None:
        sys.setrecursionlimit(max(before, limit))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
