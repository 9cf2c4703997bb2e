"""Execution: a call and a state in, a gas limit out."""

from typing import TYPE_CHECKING

from feemodel.lazy import lazy_names

if TYPE_CHECKING:
    from feemodel.execution.clients import parse_message as parse_message
    from feemodel.execution.engines import engine_named as engine_named
    from feemodel.execution.estimate import GasEstimate as GasEstimate
    from feemodel.execution.estimate import estimate_gas as estimate_gas
    from feemodel.execution.estimate import execute_call as execute_call
    from feemodel.execution.limits import Limits as Limits
    from feemodel.execution.message import Message as Message
    from feemodel.execution.native import Native as Native
    from feemodel.execution.outcome import Outcome as Outcome
    from feemodel.execution.outcome import Status as Status
    from feemodel.execution.pool import EnginePool as EnginePool
    from feemodel.execution.reference import Reference as Reference
    from feemodel.execution.state import Account as Account
    from feemodel.execution.state import Block as Block
    from feemodel.execution.state import CallState as CallState
    from feemodel.execution.state import parse_overrides as parse_overrides

__getattr__, __dir__ = lazy_names(__name__)
