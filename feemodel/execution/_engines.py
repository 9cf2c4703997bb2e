"""Interface of an engine, and the engines by name."""

from functools import cache
from typing import Protocol

from feemodel._extras import has_native, install_command
from feemodel.checks import UINT64_MAX, choice
from feemodel.errors import InvalidInput
from feemodel.execution._fields import Gas, check
from feemodel.execution._limits import Limits
from feemodel.execution._message import Message
from feemodel.execution._outcome import Outcome
from feemodel.execution._search import GasEstimate, Search
from feemodel.execution._state import CallState

ENGINES = ("auto", "native", "reference")


class Engine(Protocol):
    """Executes messages on a state, which never changes."""

    name: str  #: "native" or "reference"
    limits: Limits  #: default limits on gas and time of estimates and calls on this engine

    def execute(self, call_state: CallState, message: Message, gas_limit: int) -> Outcome:
        """Execute a message with a gas limit."""

    def search(self, call_state: CallState, message: Message, search: Search) -> GasEstimate | Outcome:
        """Return the gas limit that a message needs, or the outcome of a message that fails with the upper bound.

        Raises `LimitExceeded` if the executions take too much gas or time.
        """


def check_inputs(call_state: CallState, message: Message, gas_limit: int) -> None:
    """Raise `InvalidInput`, naming the field, for inputs that no engine executes.

    The sender's nonce must be able to rise, and the balance must cover the value and the gas. A caller that needs a
    node's error message checks the nonce and the balance before it uses an engine.
    """
    for name, value, kind in (("call_state", call_state, CallState), ("message", message, Message)):
        check(name, value, kind)
    check("gas_limit", gas_limit, Gas)
    if message.authorizations and not call_state.fork.authorizations:
        raise InvalidInput("fork", "expected Prague or later for authorizations", call_state.fork.name)
    sender = call_state.account(message.sender)
    if sender.nonce >= UINT64_MAX:
        raise InvalidInput("message.sender", "expected a nonce below 2**64 - 1", sender.nonce)
    due = message.value + (gas_limit * message.gas_price if message.pays else 0)
    if due > sender.balance:
        raise InvalidInput("message.sender", f"expected a balance of at least {due:,} wei", sender.balance)


@cache
def engine_named(name: str) -> Engine:
    """Return the engine with this name; all callers share one object.

    Parameters
    ----------
    name : "native", "reference", or "auto": the native engine if `feemodel-native` is installed, else the reference.

    Returns
    -------
    Engine : an object with the methods `execute` and `search`.

    Raises
    ------
    InvalidInput : the name is unknown, or the engine's package is not installed; the message has the install command.

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


def _missing(name: str) -> InvalidInput:
    native, reference = install_command("feemodel_native"), install_command("ethereum")
    both = f"{native} (compiled; a checkout needs Rust) or {reference}"
    command = {"auto": both, "native": native}.get(name, reference)
    return InvalidInput("engine", f"expected an installed engine: {command}", name)


def engine_of(engine: str | Engine) -> Engine:
    """Return the engine with this name; an engine object is returned unchanged."""
    return engine_named(engine) if isinstance(engine, str) else engine


def is_native(name: str) -> bool:
    """Return whether a name selects the native engine."""
    return name in ("auto", "native") and has_native()
