"""Prices of L2 execution in a closed loop: fixed, EIP-1559, Taiko's EIP-4396, Arbitrum's gas constraints.

Each is a policy by itself, with no price for data, and can be the `execution` of a policy that prices data.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from feemodel.checks import RealArray, check_fields, check_plausible, instance, sequence, whole_scalar
from feemodel.errors import InvalidInput
from feemodel.ethereum.fee_units import IN_WEI
from feemodel.rollups import taiko
from feemodel.rollups.arbitrum_l2_pricing import DIA_CONSTRAINTS, GasConstraint
from feemodel.simulation.closed_loop import policy_kernels as kernels
from feemodel.simulation.closed_loop.observations import Setting

LONGEST_BLOCK = 60.0  # seconds; more are probably milliseconds
LEAST_LIMIT = 21_000  # gas of a block: a transfer; less is probably in millions
IN_GAS = "in gas; 30 Mgas are 30,000,000"
MOST_PRICE = 2**53  # [wei / gas]: whole numbers that a double counts one by one


class _Execution(ABC):
    """What the execution prices share: a policy whose data price is 0."""

    level = 1.0
    l1_lag = 0
    balance_lag = 0
    target_balance = 0.0
    announce = staticmethod(kernels.announce)
    settle = staticmethod(kernels.settle)

    @abstractmethod
    def execution_state(self, setting: Setting) -> RealArray:
        """The execution rule's part of a state."""

    def start(self, setting: Setting) -> RealArray:
        """The state at the start of a path."""
        return built_in_state(kernels.NO_DATA_PRICE, (), self.execution_state(setting))


def built_in_state(kind: int, rule: Any, execution: RealArray) -> RealArray:
    """The state array of a built-in policy from its data rule and its execution rule.

    >>> built_in_state(1, [7.0], np.array([0.0, 30.0])).tolist()
    [1.0, 3.0, 7.0, 0.0, 30.0]
    """
    data = np.asarray(rule, dtype=np.float64)
    head = np.array([kind, kernels.FIRST + len(data)], dtype=np.float64)
    return np.concatenate([head, data, execution])


@dataclass(frozen=True, kw_only=True)
class FixedExecution(_Execution):
    """A constant price of execution."""

    per_gas: float = 0.0  #: [wei / gas]
    per_transaction: float = 0.0  #: [wei]

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("per_gas", "per_transaction"):
            check_plausible(name, getattr(self, name), IN_WEI, least=1.0)

    def execution_state(self, setting: Setting) -> RealArray:
        return np.array([kernels.FIXED_EXECUTION, self.per_gas, 0.0, self.per_transaction])


@dataclass(frozen=True, kw_only=True)
class Eip1559(_Execution):
    """The L2 base fee of EIP-1559, block by block, with the operator fee of the OP Stack on top.

    The defaults are OP Mainnet's since Holocene: denominator 250, elasticity 2, blocks of 2 s with 40 Mgas.

    >>> Eip1559(operator_fee_scalar=3, operator_fee_multiplier=100.0).further_per_gas
    300.0
    """

    base_fee: int = 1_000_000  #: of the first block [wei / gas]
    gas_limit: int = 40_000_000  #: of a block [gas]
    elasticity: int = 2  #: gas limit over gas target [1]
    denominator: int = 250  #: [1]
    min_base_fee: int = 0  #: [wei / gas]
    max_base_fee: int = MOST_PRICE  #: [wei / gas]
    block_time: float = 2.0  #: [s]
    operator_fee_scalar: int = 0
    operator_fee_multiplier: float = 1e-6  #: of the scalar: 1e-6 in Isthmus, 100 from Jovian on [1]
    operator_fee_constant: float = 0.0  #: of a transaction [wei]

    def __post_init__(self) -> None:
        check_fields(self, above_zero=("elasticity", "denominator", "block_time"))
        whole_scalar("gas_limit", self.gas_limit, minimum=self.elasticity)
        check_plausible("block_time", self.block_time, "in seconds; 250 ms are 0.25", most=LONGEST_BLOCK)
        check_plausible("gas_limit", self.gas_limit, IN_GAS, least=LEAST_LIMIT)
        if not self.min_base_fee <= self.max_base_fee <= MOST_PRICE:
            raise InvalidInput("max_base_fee", "expected from min_base_fee to 2**53", self.max_base_fee)
        if not self.min_base_fee <= self.base_fee <= self.max_base_fee:
            raise InvalidInput("base_fee", "expected from min_base_fee to max_base_fee", self.base_fee)

    @property
    def further_per_gas(self) -> float:
        """The operator fee's price [wei / gas]."""
        return self.operator_fee_scalar * self.operator_fee_multiplier

    def execution_state(self, setting: Setting) -> RealArray:
        blocks = whole_blocks(setting.step, self.block_time)
        target = self.gas_limit // self.elasticity
        fee = (self.base_fee, self.further_per_gas, self.operator_fee_constant)
        bounds = (self.min_base_fee, self.gas_limit, blocks, self.max_base_fee)
        return np.array([kernels.EIP1559, *fee, target, self.denominator, *bounds], dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class TaikoPricing(_Execution):
    """Taiko's base fee: EIP-4396 on L2 gas between two bounds; L1 data is not an input."""

    base_fee: int = taiko.MAINNET.initial_base_fee  #: of the first block [wei / gas]
    gas_limit: int = 240_000_000  #: of a block [gas]
    block_time: int = taiko.BLOCK_TIME_TARGET  #: [s]
    min_base_fee: int = taiko.MAINNET.min_base_fee  #: [wei / gas]
    max_base_fee: int = taiko.MAINNET.max_base_fee  #: [wei / gas]

    def __post_init__(self) -> None:
        check_fields(self, above_zero=("block_time",), minimum={"gas_limit": taiko.ELASTICITY})
        check_plausible("block_time", self.block_time, "in seconds; 2,000 ms are 2", most=LONGEST_BLOCK)
        check_plausible("gas_limit", self.gas_limit, IN_GAS, least=LEAST_LIMIT)
        if not self.min_base_fee <= self.base_fee <= self.max_base_fee:
            raise InvalidInput("base_fee", "expected from min_base_fee to max_base_fee", self.base_fee)

    def execution_state(self, setting: Setting) -> RealArray:
        blocks = whole_blocks(setting.step, self.block_time)
        rule = (self.gas_limit // taiko.ELASTICITY, taiko.BASE_FEE_CHANGE_DENOMINATOR, self.min_base_fee)
        bounds = (self.gas_limit, blocks, self.max_base_fee, self.block_time)
        return np.array([kernels.TAIKO, self.base_fee, 0.0, 0.0, *rule, *bounds], dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class ArbitrumExecution(_Execution):
    """Arbitrum's L2 base fee from backlogs of gas, one for each constraint, in blocks of one second."""

    min_base_fee: int = 20_000_000  #: [wei / gas]
    constraints: tuple[GasConstraint, ...] = DIA_CONSTRAINTS

    def __post_init__(self) -> None:
        check_fields(self)
        for one in sequence("constraints", self.constraints):
            instance("constraints", one, GasConstraint)

    def execution_state(self, setting: Setting) -> RealArray:
        seconds = whole_blocks(setting.step, 1.0)
        targets = [one.target for one in self.constraints]
        scales = [one.target * one.window for one in self.constraints]
        head = (kernels.ARBITRUM_L2, self.min_base_fee, 0.0, 0.0, self.min_base_fee, len(targets), seconds)
        return np.array([*head, *targets, *scales, *[0] * len(targets)], dtype=np.float64)


def whole_blocks(step: float, block_time: float) -> int:
    """L2 blocks in a step; raises `InvalidInput` where a step is not a whole number of them.

    >>> whole_blocks(12.0, 2.0)
    6
    """
    blocks = round(step / block_time)
    if blocks < 1 or abs(blocks * block_time - step) > 1e-9 * step:
        raise InvalidInput("step", f"expected a whole number of L2 blocks of {block_time:g} s", step)
    return blocks
