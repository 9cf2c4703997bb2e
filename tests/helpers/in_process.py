"""A child process of the explorer that is none: its tasks run where the test does."""

from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


class InProcess:
    """In place of `ChildProcess`, for tests of what it computes: a process takes seconds to start."""

    def __init__(self, task: str, load: Callable[[], object]) -> None:
        pass

    async def run(self, task: Callable[[], Found], seconds: float) -> Found:
        return task()

    def close(self) -> None:
        pass
