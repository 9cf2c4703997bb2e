"""Temporary changes of Python's recursion limit.

The raised limit must not remain in force, because deeply nested JSON could then crash the process.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def recursion_limit(limit: int | None = None) -> Iterator[None]:
    """Raise the recursion limit to at least `limit` inside the `with` block, and restore the previous limit afterwards.

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
