"""Taiko's L2 base fee by EIP-4396, a variant of EIP-1559 in which the gas target depends on the block time."""

from dataclasses import dataclass

from feemodel.checks import check_fields, check_plausible
from feemodel.rollups import taiko
from feemodel.simulation.closed_loop.observations import Setting
from feemodel.simulation.policies.eip1559 import MAX_GAS_LIMIT, check_bounds
from feemodel.simulation.policies.execution import (
    BLOCK_BY_BLOCK,
    IN_GAS,
    LONGEST_BLOCK,
    MIN_LIMIT,
    ExecutionPrice,
    ExecutionState,
    execution_state,
    whole_blocks,
)


@dataclass(frozen=True, kw_only=True)
class TaikoPricing(ExecutionPrice):
    """Taiko's L2 base fee by EIP-4396, with a minimum and a maximum. The base fee does not depend on L1 fees."""

    base_fee: int = taiko.INITIAL_BASE_FEE  #: base fee of the first block [wei / gas]
    gas_limit: int = 240_000_000  #: gas limit of a block [gas]
    block_time: int = taiko.BLOCK_TIME_TARGET  #: time between L2 blocks [s]
    min_base_fee: int = taiko.MIN_BASE_FEE  #: minimum base fee [wei / gas]
    max_base_fee: int = taiko.MAX_BASE_FEE  #: maximum base fee [wei / gas]

    def __post_init__(self) -> None:
        check_fields(
            self,
            above_zero=("block_time",),
            minimum={"gas_limit": taiko.ELASTICITY},
            maximum={"gas_limit": MAX_GAS_LIMIT},
        )
        check_plausible("block_time", self.block_time, "in seconds; 2,000 ms = 2", highest=LONGEST_BLOCK)
        check_plausible("gas_limit", self.gas_limit, IN_GAS, lowest=MIN_LIMIT)
        check_bounds(self.base_fee, self.min_base_fee, self.max_base_fee)

    def start(self, setting: Setting) -> ExecutionState:
        """Return the initial state, for the start of a path."""
        target = self.gas_limit // taiko.ELASTICITY
        return execution_state(
            BLOCK_BY_BLOCK,
            per_gas=self.base_fee,
            blocks=whole_blocks(setting.step, self.block_time),
            gas_limit=self.gas_limit,
            target=target,
            compared_target=int(taiko.adjusted_target(self.gas_limit, self.block_time)),
            denominator=taiko.BASE_FEE_CHANGE_DENOMINATOR,
            min_base_fee=self.min_base_fee,
            max_base_fee=self.max_base_fee,
        )
