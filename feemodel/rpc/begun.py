"""Answers that are found at once or waited for: a task for each would take longer than finding most of them does."""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from types import CoroutineType
from typing import Any, Generic, TypeAlias, TypeVar

Found = TypeVar("Found")
Next = TypeVar("Next")


class Later(Generic[Found]):
    """An answer that comes later, and the steps that follow; they run in the context in which this was made.

    A step is given what the one before it has returned or raised; where that is a coroutine, what it returns or raises.
    """

    __slots__ = ("_context", "_steps", "_task")

    def __init__(self) -> None:
        self._context = copy_context()
        self._steps: list[Callable[[Any], Any]] = []
        self._task: asyncio.Task[None] | None = None

    def then(self, step: Callable[[Any], Any]) -> "Later[Any]":
        """Add a step, before the answer is there."""
        self._steps.append(step)
        return self

    def settle(self, outcome: Any) -> None:
        """Take the answer, an exception, or the coroutine that waits for it."""
        self._context.run(self._follow, outcome, 0)

    def _follow(self, outcome: Any, place: int) -> None:
        steps = self._steps
        while type(outcome) is not CoroutineType:
            if place == len(steps):
                if isinstance(outcome, Exception):
                    report = {"message": "unforeseen error behind an answer", "exception": outcome}
                    asyncio.get_running_loop().call_exception_handler(report)
                return
            try:
                outcome = steps[place](outcome)
            except Exception as error:
                outcome = error
            place += 1
        self._task = asyncio.get_running_loop().create_task(self._wait(outcome, place))

    async def _wait(self, coroutine: Coroutine[Any, Any, Any], place: int) -> None:
        try:
            outcome = await coroutine
        except Exception as error:
            outcome = error
        self._follow(outcome, place)


#: What was found at once, or what waits for it.
Begun: TypeAlias = Found | Coroutine[Any, Any, Found] | Later[Found]


async def once(found: Begun[Found]) -> Found:
    """What was found, once it is."""
    if isinstance(found, CoroutineType):
        found = await found
    elif isinstance(found, Later):
        found = await eventual(found)  # type: ignore[arg-type]
    return found  # type: ignore[return-value]


def eventual(later: Later[Found]) -> "asyncio.Future[Found]":
    """What comes later, for those that can wait."""
    future: asyncio.Future[Found] = asyncio.get_running_loop().create_future()
    later.then(lambda outcome: _settled(future, outcome))
    return future


def _settled(future: "asyncio.Future[Any]", outcome: Any) -> None:
    if future.done():  # nobody waits any more
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)


def following(found: Begun[Found], follow: Callable[[Found], Next]) -> Begun[Next]:
    """What follows from what was found, once it is."""
    if isinstance(found, Later):
        return found.then(lambda outcome: outcome if isinstance(outcome, Exception) else follow(outcome))
    return _followed(found, follow) if isinstance(found, CoroutineType) else follow(found)  # type: ignore[arg-type]


async def _followed(found: Coroutine[Any, Any, Found], follow: Callable[[Found], Next]) -> Next:
    return follow(await found)
