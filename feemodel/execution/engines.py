"""Interface of an engine, and the engines by name."""

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Protocol, TypeVar

from feemodel.checks import UINT64_MAX, choice
from feemodel.errors import InvalidInput
from feemodel.ethereum.fee_market import GAS_PER_BLOB
from feemodel.execution.inputs import check_gas_limit
from feemodel.execution.message import Message
from feemodel.execution.outcome import Inspected, Outcome, Traced
from feemodel.execution.search import Search, Searched
from feemodel.execution.state import Account, CallState, blob_base_fee
from feemodel.extras import engine_commands, has_native, install_command

Found = TypeVar("Found")

ENGINES = ("auto", "native", "reference")


class Execute(Protocol):
    """Executes a message with a gas limit; nothing of it stays."""

    @property
    def engine(self) -> str:
        """Name of the engine: "native" or "reference"."""

    def __call__(self, message: Message, gas_limit: int) -> Outcome:
        """Execute a message with a gas limit."""

    def trace(self, message: Message, gas_limit: int) -> Traced:
        """The same execution with what it proves about other gas limits; an engine that cannot tell proves nothing."""

    def search(self, message: Message, search: Search) -> Searched:
        """The gas limit that a message needs, as `feemodel.execution.search.search_message` finds it.

        Raises `LimitExceeded` where its executions take too much.
        """

    def inspect(self, message: Message, gas_limit: int) -> Inspected:
        """The same execution with its gas by contract, and the accounts and slots that its code named."""


class Engine(Protocol):
    """Gives a task a way to execute messages on a state."""

    def run(self, call_state: CallState, task: Callable[[Execute], Found]) -> Found:
        """Run a task with an executor of this state."""


def blob_cost(call_state: CallState, message: Message) -> int:
    """Return the cost of a message's blobs [wei]; raises `InvalidInput` for blobs before Cancun."""
    if not message.blob_hashes:
        return 0
    cost = len(message.blob_hashes) * GAS_PER_BLOB * blob_base_fee(call_state)
    return cost if message.pays and message.pays_for_blobs else 0


def check_executable(call_state: CallState, message: Message, gas_limit: int, blob_cost: int = 0) -> Account:
    """The sender's account, whose nonce can rise, and which has what the value, the gas limit and the blobs cost.

    Raises `InvalidInput` if it has not, and for a gas limit that no execution may have; whoever asks an engine says
    before in the words of a node why.
    """
    check_gas_limit(gas_limit)
    sender = call_state.account(message.sender)
    if sender.nonce >= UINT64_MAX:
        raise InvalidInput("message.sender", "expected a nonce below 2**64 - 1", sender.nonce)
    due = message.value + blob_cost + (gas_limit * message.gas_price if message.pays else 0)
    if due > sender.balance:
        raise InvalidInput("message.sender", f"expected a balance of at least {due:,} wei", sender.balance)
    return sender


@cache
def engine_named(name: str) -> Engine:
    """An engine that all callers share: "auto", "native" or "reference".

    "auto" is the native engine, or the reference where the package `feemodel-native` is not installed.

    Raises
    ------
    InvalidInput : another name, or an engine whose package is not installed; the message has the command.

    >>> engine_named("reference") is engine_named("reference")
    True
    """
    if is_native(choice("engine", name, ENGINES)):
        from feemodel.execution.native import Native

        return Native()
    if name == "native":
        raise _missing(name)
    try:
        from feemodel.execution.reference import Reference
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "ethereum":
            raise
        raise _missing(name) from None
    return Reference()


def check_installed(name: str) -> None:
    """Raise `InvalidInput` with the command that installs it where the engine of this name is not there.

    Nothing is imported: the reference takes a second.

    >>> check_installed("reference")
    """
    if not is_native(name) and (name == "native" or find_spec("ethereum") is None):
        raise _missing(name)


def _missing(name: str) -> InvalidInput:
    commands = {"auto": engine_commands(), "native": install_command("feemodel_native")}
    return InvalidInput(
        "engine", f"expected an installed engine: {commands.get(name, install_command('ethereum'))}", name
    )


def engine_of(engine: str | Engine) -> Engine:
    """An engine, or the one of this name."""
    return engine_named(engine) if isinstance(engine, str) else engine


def is_native(name: str) -> bool:
    """Whether the engine of this name is the native one."""
    return name in ("auto", "native") and has_native()
