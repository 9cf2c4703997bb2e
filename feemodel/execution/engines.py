"""What an engine is, and the engines by name."""

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Protocol, TypeVar

from feemodel.errors import FeeModelError, InvalidInput
from feemodel.execution.message import Message
from feemodel.execution.outcome import Outcome, Traced
from feemodel.execution.world import Account, World

Found = TypeVar("Found")


class Execute(Protocol):
    """Executes a message with a gas limit; nothing of it stays."""

    @property
    def engine(self) -> str: ...

    def __call__(self, message: Message, gas_limit: int) -> Outcome: ...

    def trace(self, message: Message, gas_limit: int) -> Traced:
        """The same execution with what it proves about other gas limits; an engine that cannot tell proves nothing."""
        ...


class Engine(Protocol):
    """Gives a task a way to execute messages on a world.

    The task may be called again from its start, when the engine finds that what it answered was not exact; so it keeps
    what it counts to itself.
    """

    def run(self, world: World, task: Callable[[Execute], Found]) -> Found: ...


class Inexact(FeeModelError):
    """A call on which the fast engine is not exact; the message says what it met."""


class Auto:
    """The fast engine where it is exact, the reference for the rest."""

    def __init__(self, fast: Engine, reference: Engine) -> None:
        self._fast, self._reference = fast, reference

    def run(self, world: World, task: Callable[[Execute], Found]) -> Found:
        """What `task` makes of the executions that it asks for."""
        try:
            return self._fast.run(world, task)
        except Inexact:
            return self._reference.run(world, task)


def check_payable(world: World, message: Message, gas_limit: int, blob_cost: int = 0) -> Account:
    """The sender's account, which has what the value, the gas limit and the blobs cost.

    Raises `InvalidInput` if it has not; whoever asks an engine says before in the words of a node why.
    """
    sender = world.account(message.sender)
    due = message.value + blob_cost + (gas_limit * message.gas_price if message.pays else 0)
    if due > sender.balance:
        raise InvalidInput("message.sender", f"expected a balance of at least {due:,} wei", sender.balance)
    return sender


@cache
def engine_named(name: str) -> Engine:
    """An engine that all callers share: "auto", "fast", "native" or "reference".

    "auto" is the fast engine backed by the reference, or the reference alone where pyrevm is not installed.

    Raises
    ------
    InvalidInput : another name, or "fast" without pyrevm.

    >>> engine_named("reference") is engine_named("reference")
    True
    """
    has_fast = find_spec("pyrevm") is not None
    if name == "reference" or (name == "auto" and not has_fast):
        from feemodel.execution.reference import Reference

        return Reference()
    if name == "fast" and has_fast:
        from feemodel.execution.fast import Fast

        return Fast()
    if name == "native" and find_spec("feemodel_native") is not None:
        from feemodel.execution.native import Native

        return Native()
    if name == "auto":
        return Auto(engine_named("fast"), engine_named("reference"))
    raise InvalidInput("engine", f"expected auto, {'fast ' if has_fast else ''}or reference", name)
