"""Gas of a call by part, and the gas that an access list saves, both from a few executions of the call."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from feemodel.errors import ExecutionFailed
from feemodel.ethereum._call import Call
from feemodel.ethereum._quantities import to_quantity
from feemodel.execution._access_list import AccessListFound, fixed_point, list_reply, warm_accounts, without
from feemodel.execution._clients import node_named
from feemodel.execution._engines import Engine, Execute, engine_of
from feemodel.execution._failures import failure
from feemodel.execution._gas_parts import GasParts, gas_parts
from feemodel.execution._limits import DEFAULT_LIMITS, Limits
from feemodel.execution._message import Request, parse_request
from feemodel.execution._state import CallState


@dataclass(frozen=True, slots=True)
class GasDetails:
    """Gas of a call by part, and the access list of this call."""

    parts: GasParts
    access_list: AccessListFound | None  #: `None` before Berlin, which introduced access lists

    @property
    def saved(self) -> int:
        """Gas saved by the access list; negative if the list costs more gas than it saves [gas]."""
        return 0 if self.access_list is None else self.parts.used - self.access_list.outcome.charged

    def reply(self) -> dict[str, Any]:
        """Return the details in their JSON-RPC form."""
        answer: dict[str, Any] = {"gas": self.parts.reply()}
        if self.access_list is not None:
            answer["accessList"] = list_reply(self.access_list.access_list)
            answer["gasUsedWithAccessList"] = to_quantity(self.access_list.outcome.charged)
        return answer


def gas_details(
    call: Request | Call | Mapping[str, Any],
    call_state: CallState,
    gas_limit: int,
    *,
    overrides: Mapping[Any, Any] | None = None,
    search: str = "besu",
    engine: str | Engine = "auto",
    limits: Limits = DEFAULT_LIMITS,
) -> GasDetails:
    """Return the gas of a call by part, and its access list.

    Parameters
    ----------
    call : a JSON-RPC call object, or a parsed call.
    call_state : the accounts and the block on which the call is executed; not modified.
    gas_limit : a sufficient gas limit, such as the result of `estimate_gas` [gas].
    overrides : state override for this call, see `feemodel.execution.parse_overrides`.
    search : the node whose gas price and checks are used, "besu" or "geth".
    engine : "auto", "native", "reference", or an engine object such as `EnginePool(...)`.
    limits : limits on gas and time of all executions together.

    Returns
    -------
    GasDetails : the gas by part [gas] and the access list.

    Raises
    ------
    ExecutionFailed : the call fails with `gas_limit`.
    LimitExceeded : the executions together took more gas or time than `limits` allows.
    InvalidInput : the call, an override or an option is not valid.

    >>> reader = {"0x" + "22" * 20: {"code": "0x5f5460015400"}}
    >>> found = gas_details({"to": "0x" + "22" * 20}, CallState(accounts={}), 30_000, overrides=reader)
    >>> found.parts.execution, found.parts.contracts[0][1], found.saved
    (4205, 4205, -2200)
    """
    node, request, changed = node_named(search), parse_request(call), call_state.overridden(overrides)
    prepared = node.prepare(request, changed, tolerance=0.0, limits=limits)
    message, maximum = prepared.message, max(prepared.search.upper, gas_limit)
    excluded = warm_accounts(request, changed) if call_state.fork.access_lists else frozenset()

    def task(execute: Execute) -> GasDetails:
        inspected = execute.inspect(message, gas_limit)
        if not inspected.outcome.succeeded:
            raise failure(inspected.outcome, gas_limit, estimating=True)
        parts = gas_parts(message, inspected, call_state.fork)
        if not call_state.fork.access_lists:
            return GasDetails(parts, None)
        listed = message._replace(access_list=without(message.access_list, excluded))
        found = fixed_point(execute, listed, maximum, excluded, limits)
        if not found.outcome.succeeded:
            raise ExecutionFailed(f"with its access list: {found.outcome.halt}")
        return GasDetails(parts, found)

    return engine_of(engine).run(changed, task)
