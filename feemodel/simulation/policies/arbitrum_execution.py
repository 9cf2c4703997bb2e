"""Arbitrum's L2 base fee, which increases with the backlog of gas above a target."""

from dataclasses import dataclass

import numpy as np

from feemodel._compiled import cached_njit
from feemodel.checks import INT64_MAX, check_fields, instance, sequence
from feemodel.errors import InvalidInput
from feemodel.rollups._arbitrum_kernels import base_fees
from feemodel.rollups.arbitrum_l2_pricing import DIA_CONSTRAINTS, GasConstraint
from feemodel.simulation.closed_loop.observations import Setting
from feemodel.simulation.policies.execution import (
    BACKLOGS,
    MAX_PRICE,
    ExecutionPrice,
    ExecutionState,
    execution_state,
    whole_blocks,
)


@cached_njit(nogil=True, error_model="numpy")
def settle(execution, settled):  # type: ignore[no-untyped-def]
    """Update the base fee and the backlogs for each block of a step, assuming that all blocks use the same gas."""
    terms = execution.terms
    used = np.full(terms.blocks, np.int64(settled.gas_used / terms.blocks))
    seconds, fees = np.ones(terms.blocks, dtype=np.int64), np.empty(terms.blocks, dtype=np.int64)
    failed, stored = base_fees(
        used,
        seconds,
        execution.targets,
        execution.scales,
        execution.backlogs,
        terms.min_base_fee,
        np.int64(terms.per_gas),
        fees,
    )
    # If the price does not fit in 64 bits, set the price to infinity, which the next step rejects.
    terms.per_gas = np.inf if failed >= 0 else float(stored)


@dataclass(frozen=True, kw_only=True)
class ArbitrumExecution(ExecutionPrice):
    """Arbitrum's L2 base fee, which depends on a backlog of gas for each gas constraint.

    A block is assumed to take one second.
    """

    min_base_fee: int = 20_000_000  #: minimum L2 base fee [wei / gas]
    constraints: tuple[GasConstraint, ...] = DIA_CONSTRAINTS

    def __post_init__(self) -> None:
        check_fields(self, maximum={"min_base_fee": MAX_PRICE})
        for index, one in enumerate(sequence("constraints", self.constraints)):
            if instance("constraints", one, GasConstraint).target * one.window > INT64_MAX:
                raise InvalidInput("constraints", "expected target · window to fit into 64 bits", one, (index,))

    def start(self, setting: Setting) -> ExecutionState:
        """Return the initial state, for the start of a path."""
        return execution_state(
            BACKLOGS,
            constraints=self.constraints,
            per_gas=self.min_base_fee,
            min_base_fee=self.min_base_fee,
            blocks=whole_blocks(setting.step, 1.0),
        )
