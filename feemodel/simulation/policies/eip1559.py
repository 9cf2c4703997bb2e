"""L2 base fee by EIP-1559, updated in each block."""

from dataclasses import dataclass

import numpy as np

from feemodel._compiled import cached_njit
from feemodel.checks import check_fields, check_plausible, whole_scalar
from feemodel.errors import InvalidInput
from feemodel.ethereum._fee_market_kernels import next_base_fee
from feemodel.simulation.closed_loop.observations import Setting
from feemodel.simulation.policies.execution import (
    BLOCK_BY_BLOCK,
    IN_GAS,
    LONGEST_BLOCK,
    MAX_PRICE,
    MIN_LIMIT,
    ExecutionPrice,
    ExecutionState,
    execution_state,
    whole_blocks,
)

MAX_GAS_LIMIT = 3_000_000_000  # maximum gas limit of a block [gas]; the square of this value fits in 64 bits
MAX_ELASTICITY = 1_000


@cached_njit(makes_arrays=False, nogil=True, error_model="numpy")
def settle(execution, settled):  # type: ignore[no-untyped-def]
    """Update the base fee for each block of a step, in integers. All blocks of a step use the same amount of gas."""
    terms = execution.terms
    used = np.int64(min(settled.gas_used / terms.blocks, float(terms.gas_limit)))
    fee = np.int64(terms.per_gas)
    for _ in range(terms.blocks):
        fee = next_base_fee(fee, used, terms.target, terms.compared_target, terms.denominator)
        fee = min(max(fee, terms.min_base_fee), terms.max_base_fee)
    terms.per_gas = fee


@dataclass(frozen=True, kw_only=True)
class Eip1559(ExecutionPrice):
    """L2 base fee by EIP-1559, updated in each block, plus the operator fee of the OP Stack.

    The default values are the parameters of OP Mainnet since the Holocene upgrade.

    >>> Eip1559(operator_fee_scalar=3, operator_fee_multiplier=100.0).further_per_gas
    300.0
    """

    base_fee: int = 1_000_000  #: base fee of the first block [wei / gas]
    gas_limit: int = 40_000_000  #: gas limit of a block [gas]
    elasticity: int = 2  #: gas limit divided by gas target [1]
    denominator: int = 250  #: base fee change denominator [1]
    min_base_fee: int = 0  #: minimum base fee [wei / gas]
    max_base_fee: int = MAX_PRICE  #: maximum base fee [wei / gas]
    block_time: float = 2.0  #: time between L2 blocks [s]
    operator_fee_scalar: int = 0
    operator_fee_multiplier: float = 1e-6  #: `operator_fee_scalar` is multiplied by 1e-6 in Isthmus, 100 since Jovian
    operator_fee_constant: float = 0.0  #: constant part of the operator fee of a transaction [wei]

    def __post_init__(self) -> None:
        maximum = {"gas_limit": MAX_GAS_LIMIT, "elasticity": MAX_ELASTICITY, "denominator": MAX_PRICE}
        check_fields(self, above_zero=("elasticity", "denominator", "block_time"), maximum=maximum)
        whole_scalar("gas_limit", self.gas_limit, minimum=self.elasticity)
        check_plausible("block_time", self.block_time, "in seconds; 250 ms = 0.25", highest=LONGEST_BLOCK)
        check_plausible("gas_limit", self.gas_limit, IN_GAS, lowest=MIN_LIMIT)
        check_bounds(self.base_fee, self.min_base_fee, self.max_base_fee)

    @property
    def further_per_gas(self) -> float:
        """Part of the operator fee that is proportional to gas [wei / gas]."""
        return self.operator_fee_scalar * self.operator_fee_multiplier

    def start(self, setting: Setting) -> ExecutionState:
        """Return the initial state, for the start of a path."""
        target = self.gas_limit // self.elasticity
        return execution_state(
            BLOCK_BY_BLOCK,
            per_gas=self.base_fee,
            further_per_gas=self.further_per_gas,
            per_transaction=self.operator_fee_constant,
            blocks=whole_blocks(setting.step, self.block_time),
            gas_limit=self.gas_limit,
            target=target,
            compared_target=target,
            denominator=self.denominator,
            min_base_fee=self.min_base_fee,
            max_base_fee=self.max_base_fee,
        )


def check_bounds(base_fee: int, min_base_fee: int, max_base_fee: int) -> None:
    """Raise `InvalidInput` if a base fee is outside its bounds, or if a bound is greater than 2**53.

    >>> check_bounds(7, 5, 9)
    """
    if not min_base_fee <= max_base_fee <= MAX_PRICE:
        raise InvalidInput("max_base_fee", "expected a fee from min_base_fee to 2**53", max_base_fee)
    if not min_base_fee <= base_fee <= max_base_fee:
        raise InvalidInput("base_fee", "expected a fee from min_base_fee to max_base_fee", base_fee)
