"""Pricing policies of a closed loop: what a rollup charges for a byte of data, from L1 fees or from its own balance.

Sources: Consensys/linea-monorepo at cb180134 (2026-06-12); ethereum-optimism/specs at fd72cf7 (2026-04);
OffchainLabs/nitro at 6dce8d1 (2026-04-23), arbos/l1pricing/l1pricing.go; linoscope/taiko-fee-simulator at 4f91b7b
(2026-03-19), data/plots/fee_history_sim_core.js (the vault rules, described, not copied).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from feemodel.checks import RealArray, check_fields, check_limit, check_plausible
from feemodel.errors import InvalidInput
from feemodel.ethereum.fee_market import USABLE_BLOB_BYTES
from feemodel.ethereum.fee_units import IN_WEI, LEAST_PRICE
from feemodel.linea.parameters import COORDINATOR, NODE
from feemodel.rollups.optimism import MIN_SCALED_SIZE
from feemodel.simulation.announced import PricingRule
from feemodel.simulation.closed_loop import policy_kernels as kernels
from feemodel.simulation.closed_loop.execution_prices import FixedExecution, _Execution, built_in_state
from feemodel.simulation.closed_loop.observations import Setting

MOST_LAG = 1 << 20  # steps: some 145 days of L1 blocks
UNITS_PER_BYTE = 16.0  # Arbitrum's L1 calldata units of a compressed byte
LIMITS_OF_VAULT = ("least_proportional", "least_integral", "greatest_integral", "max_price")  # which may be infinite


class Pricing(Protocol):
    """What `simulate` needs of a policy; the user's own may be any object with these.

    `announce` and `settle` are compiled with `numba.njit`, or plain Python functions of the same arrays, which are
    slow. `level`, `l1_lag`, `balance_lag` and `target_balance` may be left out.
    """

    def start(self, setting: Setting) -> RealArray:
        """The state at the start of a path."""

    def announce(self, state: RealArray, seen: RealArray, price: RealArray) -> None:
        """Fill the prices of a step from what is seen."""

    def settle(self, state: RealArray, settled: RealArray) -> None:
        """Update the state at the end of a step."""


@dataclass(frozen=True, kw_only=True)
class _BuiltIn(ABC):
    """What the built-in data policies share: compiled functions, a level, lags, a price of execution."""

    level: float = 1.0  #: factor on the announced data price [1]
    l1_lag: int = 0  #: how old the L1 fees are that the policy sees [steps]
    balance_lag: int = 0  #: how old the balance is [steps]
    target_balance: float = 0.0  #: of the operator; also what a path starts with [wei]
    execution: _Execution | None = None  #: price of L2 execution; none: 0

    announce = staticmethod(kernels.announce)
    settle = staticmethod(kernels.settle)

    def __post_init__(self) -> None:
        self._check()

    def _check(self, **limits: Any) -> None:
        check_fields(self, **limits)
        for name in ("price", "min_price", "max_price"):
            if (price := getattr(self, name, None)) != math.inf:
                check_plausible(name, price, IN_WEI, least=LEAST_PRICE)
        for name in ("l1_lag", "balance_lag"):
            check_limit(getattr(self, name), f"steps of {name}", MOST_LAG)
        if self.execution is not None and not isinstance(self.execution, _Execution):
            raise InvalidInput("execution", "expected an execution price, such as Eip1559", self.execution)

    @abstractmethod
    def data_rule(self, setting: Setting) -> tuple[int, Sequence[float]]:
        """The kind of the data rule, its parameters and its memory at the start."""

    def start(self, setting: Setting) -> RealArray:
        """The state at the start of a path."""
        execution = FixedExecution() if self.execution is None else self.execution
        return built_in_state(*self.data_rule(setting), execution.execution_state(setting))


@dataclass(frozen=True, kw_only=True)
class Fixed(_BuiltIn):
    """A constant price."""

    price: float  #: [wei / byte]

    def data_rule(self, setting: Setting) -> tuple[int, Sequence[float]]:
        return kernels.FIXED, [self.price]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineaPricing(PricingRule):
    """Linea's coordinator, as `PricingRule` describes it, in a loop.

    The window holds whole steps and ends with the step's own L1 fees (`l1_lag` 0). Averages are weighted by usage
    ratios where the scenario has them. Execution costs `base_fee + estimate_margin · fixed_cost` a gas.
    """

    level: float = 1.0  #: factor on the announced data price [1]
    l1_lag: int = 0  #: [steps]
    balance_lag: int = 0  #: [steps]
    target_balance: float = 0.0  #: [wei]

    announce = staticmethod(kernels.announce)
    settle = staticmethod(kernels.settle)

    def start(self, setting: Setting) -> RealArray:
        """The state at the start of a path."""
        window, updates = round(self.window / setting.step), round(self.update_interval / setting.step)
        if window < 1 or updates < 1:
            raise InvalidInput("window", f"expected at least a step of {setting.step:g} s, as of update_interval",
                               self.window if window < 1 else self.update_interval)  # fmt: skip
        check_limit(window, "steps of window", MOST_LAG)
        lower = -math.inf if self.lower_bound is None else self.lower_bound
        upper = math.inf if self.upper_bound is None else self.upper_bound
        costs = (self.execution_gas, self.blob_gas, self.bytes_per_submission, self.margin, lower, upper)
        denominator, target = 0.0, 1.0
        if self.pressure is not None:
            denominator = float(self.pressure.denominator)
            target = self.pressure.max_block_calldata * updates * setting.step / (2.0 * NODE.block_time)
        memory = [0.0] * (kernels.LINEA_TIP - 11)
        tip = -1.0 if setting.tips_known else self.tip
        terms = [*costs, updates, window, self.estimate_margin, denominator, target]
        rule = [*terms, *memory, tip, 0.0, *[0.0] * (5 * window)]
        execution = FixedExecution(per_gas=self.base_fee + self.estimate_margin * self.fixed_cost)
        return built_in_state(kernels.LINEA, rule, execution.execution_state(setting))


@dataclass(frozen=True, kw_only=True)
class OpStackPricing(_BuiltIn):
    """The OP Stack's L1 data fee from Ecotone on: no tip, no average, the fees of the L1 origin.

    The defaults are OP Mainnet's scalars; the origin is four L1 blocks old, as the sequencer's confirmations keep it.
    """

    base_fee_scalar: int = 5_227  #: [10⁻⁶]
    blob_base_fee_scalar: int = 1_014_213  #: [10⁻⁶]
    estimated_size: float | None = None  #: that a transaction is charged for, at least 100; the stream's bytes [byte]
    l1_lag: int = 4

    def data_rule(self, setting: Setting) -> tuple[int, Sequence[float]]:
        posted = setting.bytes_per_transaction
        size = posted if self.estimated_size is None else self.estimated_size
        scale = max(size, MIN_SCALED_SIZE / 1e6) / posted
        return kernels.OP_STACK, [self.base_fee_scalar, self.blob_base_fee_scalar, scale]


@dataclass(frozen=True, kw_only=True)
class ArbitrumPricing(_BuiltIn):
    """Arbitrum's L1 pricing controller: a batch report moves the price by the surplus and by its change."""

    price: float  #: at the start [wei / byte]
    equilibration_units: float = 160_000_000.0  #: [unit]
    inertia: float = 10.0  #: [1]
    reward: float = 0.0  #: [wei / unit]
    report_delay: int = 0  #: [batches]
    units_per_byte: float = UNITS_PER_BYTE  #: [unit / byte]

    def __post_init__(self) -> None:
        self._check(above_zero=("equilibration_units", "inertia", "units_per_byte"))
        check_limit(self.report_delay, "batches of report_delay", MOST_LAG)

    def data_rule(self, setting: Setting) -> tuple[int, Sequence[float]]:
        terms = [self.equilibration_units, self.inertia, self.reward, self.report_delay, self.units_per_byte]
        return kernels.ARBITRUM, [*terms, self.price / self.units_per_byte, 0.0, 0.0, 0.0,
                                  *[0.0] * (2 * (self.report_delay + 1))]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class VaultPricing(_BuiltIn):
    """Feed-forward of L1 fees plus a P, PI or PID controller on the operator's balance.

        error = (target − balance) / target
        fee = gas_per_byte · (base_fee + tip) + blob_gas_per_byte · blob_base_fee
              + range · (max(kp · error, least P) + ki · Σ error + kd · filtered change), clamped

    `range` is 1 wei a byte unless `max_price` is finite: then it is `max_price − min_price`, as the source has it.
    """

    gas_per_byte: float = COORDINATOR.execution_gas / USABLE_BLOB_BYTES  #: 0 turns it off [gas / byte]
    blob_gas_per_byte: float = COORDINATOR.blob_gas / USABLE_BLOB_BYTES  #: [gas / byte]
    kp: float = 0.0  #: [range]
    ki: float = 0.0  #: a step [range]
    kd: float = 0.0  #: [range]
    least_proportional: float = -math.inf  #: below which the P term does not fall [wei / byte]
    least_integral: float = 0.0  #: of Σ error; 0 cannot take back an overshoot
    greatest_integral: float = 10.0
    derivative_memory: float = 0.8  #: β of the filter [1]
    min_price: float = 0.0  #: [wei / byte]
    max_price: float = math.inf  #: [wei / byte]
    l1_lag: int = 5
    balance_lag: int = 5

    def __post_init__(self) -> None:
        self._check(minimum=dict.fromkeys(("kp", "ki", "kd")), unchecked=LIMITS_OF_VAULT)
        if not self.derivative_memory < 1.0:
            raise InvalidInput("derivative_memory", "expected at least 0 and below 1", self.derivative_memory)
        if not self.max_price >= self.min_price:
            raise InvalidInput("max_price", "expected at least min_price", self.max_price)
        if not self.greatest_integral >= self.least_integral:
            raise InvalidInput("greatest_integral", "expected at least least_integral", self.greatest_integral)
        if (self.kp or self.ki or self.kd) and not self.target_balance > 0.0:
            raise InvalidInput("target_balance", "expected above 0 wei for feedback", self.target_balance)

    def data_rule(self, setting: Setting) -> tuple[int, Sequence[float]]:
        scale = self.max_price - self.min_price if math.isfinite(self.max_price) else 1.0
        limits = [self.least_proportional, self.least_integral, self.greatest_integral]
        return kernels.VAULT, [self.target_balance or 1.0, self.gas_per_byte, self.blob_gas_per_byte, self.kp, self.ki,
                               self.kd, *limits, self.derivative_memory, self.min_price, self.max_price, scale,
                               0.0, 0.0, 0.0]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class VaultEip1559(_BuiltIn):
    """At each posting the price is multiplied by `1 + clamp(error, −8, 1) / denominator`."""

    price: float  #: at the start [wei / byte]
    denominator: float = 8.0  #: [1]
    min_price: float = 0.0  #: [wei / byte]
    max_price: float = math.inf  #: [wei / byte]

    def __post_init__(self) -> None:
        self._check(above_zero=("denominator",), unchecked=("max_price",))
        if not self.target_balance > 0.0:
            raise InvalidInput("target_balance", "expected above 0 wei", self.target_balance)
        if not self.max_price >= self.min_price:
            raise InvalidInput("max_price", "expected at least min_price", self.max_price)

    def data_rule(self, setting: Setting) -> tuple[int, Sequence[float]]:
        bounds = [self.min_price, self.max_price]
        start = min(max(self.price, self.min_price), self.max_price)
        return kernels.VAULT_EIP1559, [self.target_balance, self.denominator, *bounds, start]
