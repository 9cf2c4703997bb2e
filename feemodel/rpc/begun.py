"""Answers that are found at once or waited for: a task for each would take longer than finding most of them does."""

from collections.abc import Callable, Coroutine
from types import CoroutineType
from typing import Any, TypeAlias, TypeVar

Found = TypeVar("Found")
Next = TypeVar("Next")
Begun: TypeAlias = Found | Coroutine[Any, Any, Found]  # what was found at once, or what waits for it


async def once(found: Begun[Found]) -> Found:
    """What was found, once it is."""
    if isinstance(found, CoroutineType):
        found = await found
    return found  # type: ignore[return-value]


def following(found: Begun[Found], follow: Callable[[Found], Next]) -> Begun[Next]:
    """What follows from what was found, once it is."""
    return _followed(found, follow) if isinstance(found, CoroutineType) else follow(found)  # type: ignore[arg-type]


async def _followed(found: Coroutine[Any, Any, Found], follow: Callable[[Found], Next]) -> Next:
    return follow(await found)
