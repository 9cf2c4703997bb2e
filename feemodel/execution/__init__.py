"""Execution of calls on a state, and estimates of their gas limits."""

from typing import TYPE_CHECKING

from feemodel._lazy import lazy_names

if TYPE_CHECKING:
    from feemodel.execution._engines import engine_named as engine_named
    from feemodel.execution._estimate import estimate_gas as estimate_gas
    from feemodel.execution._estimate import execute_call as execute_call
    from feemodel.execution._limits import Limits as Limits
    from feemodel.execution._message import Message as Message
    from feemodel.execution._outcome import Outcome as Outcome
    from feemodel.execution._outcome import Status as Status
    from feemodel.execution._search import GasEstimate as GasEstimate
    from feemodel.execution._state import Account as Account
    from feemodel.execution._state import Block as Block
    from feemodel.execution._state import CallState as CallState
    from feemodel.execution._state import parse_overrides as parse_overrides
    from feemodel.execution.native import Native as Native
    from feemodel.execution.reference import Reference as Reference

__getattr__, __dir__ = lazy_names(__name__)
