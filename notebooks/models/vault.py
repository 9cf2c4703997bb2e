"""Data prices of a fee vault, which depend on L1 fees (feed-forward) and on the operator's balance (feedback).

Source of the formulas: linoscope/taiko-fee-simulator at 4f91b7b (2026-03-19), data/plots/fee_history_sim_core.js.
"""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeAlias

from feemodel._compiled import cached_njit
from feemodel.arguments import check_fields, check_of
from feemodel.errors import InvalidInput
from feemodel.ethereum.fee_market import USABLE_BLOB_BYTES
from feemodel.linea.parameters import COORDINATOR
from feemodel.quantities import Quantity, Ratio
from feemodel.simulation.closed_loop.baseline import BreakEven
from feemodel.simulation.closed_loop.observations import Setting, State, policy_state
from feemodel.simulation.policies.base import BuiltIn
from feemodel.simulation.quantities import BytePrice, FactorAboveZero, Lag

Limit: TypeAlias = Any  # a double that may be infinite
Gain = Annotated[float, Quantity("range", double=True, minimum=None)]
GasPerByte = Annotated[float, Quantity("gas / byte", double=True)]
TARGET_DAYS = 10.0  # target balance / mean cost of posting per day [d]
REPAID_DAYS = 1.0  # time in which the P term repays a deficit [d]
INTEGRAL_DAYS = 4.0  # time of constant error after which the I term equals the P term [d]
DAY = 86_400.0  # seconds


@cached_njit(nogil=True, error_model="numpy")
def announce(state, seen, price):  # type: ignore[no-untyped-def]
    """Set the price of a byte to feed-forward + feedback, limited to the minimum and maximum price."""
    error = (state.target - seen.balance) / state.target
    state.integral = min(max(state.integral + error, state.min_integral), state.max_integral)
    change = error - state.last_error if seen.step > 0 else 0.0
    state.derivative = state.memory * state.derivative + (1.0 - state.memory) * change
    state.last_error = error
    proportional = max(state.kp * error * state.range, state.min_proportional)
    feedback = proportional + (state.ki * state.integral + state.kd * state.derivative) * state.range
    forward = state.gas_per_byte * (seen.base_fee + seen.tip) + state.blob_gas_per_byte * seen.blob_base_fee
    price.per_byte = min(max(forward + feedback, state.min_price), state.max_price)


@cached_njit(nogil=True, error_model="numpy")
def settle(state, settled):  # type: ignore[no-untyped-def]
    """Do nothing, because only `announce` changes the state of this policy."""


@dataclass(frozen=True, kw_only=True)
class VaultPricing(BuiltIn):
    """Data price: a cost estimate from L1 fees (feed-forward) plus a P, PI or PID controller of the operator's balance.

        error = (target − balance) / target
        fee = gas_per_byte · (base_fee + tip) + blob_gas_per_byte · blob_base_fee
              + range · (max(kp · error, min_proportional) + ki · Σ error + kd · filtered change), clamped

    "clamped" means limited to `min_price` and `max_price`. `range` is `max_price − min_price`, as in the source; if
    `max_price` is infinite, `range` is 1 wei per byte.
    """

    gas_per_byte: GasPerByte = COORDINATOR.execution_gas / USABLE_BLOB_BYTES  #: L1 gas of posting a byte
    blob_gas_per_byte: GasPerByte = COORDINATOR.blob_gas / USABLE_BLOB_BYTES  #: blob gas of posting a byte
    kp: Gain = 0.0  #: gain of the proportional (P) term
    ki: Gain = 0.0  #: gain of the integral (I) term, per step
    kd: Gain = 0.0  #: gain of the derivative (D) term
    min_proportional: Limit = -math.inf  #: minimum of the P term [wei / byte]
    min_integral: Limit = 0.0  #: minimum of Σ error; 0 means that the I term never lowers the price [1]
    max_integral: Limit = 10.0  #: maximum of Σ error, the sum in the I term [1]
    derivative_memory: Ratio = 0.8  #: coefficient β of the low-pass filter on changes of the error
    min_price: BytePrice = 0.0  #: minimum price
    max_price: Limit = math.inf  #: maximum price [wei / byte]
    l1_lag: Lag = 5  #: age of the L1 fees that the policy observes
    balance_lag: Lag = 5  #: age of the balance that the policy observes

    announce, settle = staticmethod(announce), staticmethod(settle)

    def __post_init__(self) -> None:
        check_fields(self)
        check_bounds(self.min_price, self.max_price)
        if not self.derivative_memory < 1.0:
            raise InvalidInput(
                "derivative_memory", "expected a number of at least 0 and below 1", self.derivative_memory
            )
        if not self.max_integral >= self.min_integral:
            raise InvalidInput("max_integral", "expected at least min_integral", self.max_integral)
        if (self.kp or self.ki or self.kd) and not self.target_balance > 0.0:
            raise InvalidInput(
                "target_balance", "expected more than 0 wei, because kp, ki or kd is not 0", self.target_balance
            )

    def start(self, setting: Setting) -> State:
        """Return the initial state, for the start of a path."""
        return policy_state(
            target=self.target_balance or 1.0,
            gas_per_byte=self.gas_per_byte,
            blob_gas_per_byte=self.blob_gas_per_byte,
            kp=self.kp,
            ki=self.ki,
            kd=self.kd,
            min_proportional=self.min_proportional,
            min_integral=self.min_integral,
            max_integral=self.max_integral,
            memory=self.derivative_memory,
            min_price=self.min_price,
            max_price=self.max_price,
            range=self.max_price - self.min_price if math.isfinite(self.max_price) else 1.0,
            integral=0.0,
            derivative=0.0,
            last_error=0.0,
        )


@cached_njit(nogil=True, error_model="numpy")
def announce_held(state, seen, price):  # type: ignore[no-untyped-def]
    """Set the price of a byte to the price computed after the last posting."""
    price.per_byte = state.price


@cached_njit(nogil=True, error_model="numpy")
def settle_posting(state, settled):  # type: ignore[no-untyped-def]
    """If data was posted in this step, multiply the price by a factor that depends on the operator's balance."""
    if settled.posted_bytes > 0.0:
        error = min(max((state.target - settled.seen_balance) / state.target, -8.0), 1.0)
        state.price = min(max(state.price * (1.0 + error / state.denominator), state.min_price), state.max_price)


@dataclass(frozen=True, kw_only=True)
class VaultEip1559(BuiltIn):
    """Data price that is multiplied by `1 + clamp(error, −8, 1) / denominator` whenever data is posted.

    `error` is `(target − balance) / target`, as in `VaultPricing`. `clamp` limits `error` to the range from −8 to 1.
    """

    price: BytePrice  #: initial price
    denominator: FactorAboveZero = 8.0  #: divisor of the error; higher values make price changes smaller
    min_price: BytePrice = 0.0  #: minimum price
    max_price: Limit = math.inf  #: maximum price [wei / byte]

    announce, settle = staticmethod(announce_held), staticmethod(settle_posting)

    def __post_init__(self) -> None:
        check_fields(self)
        check_bounds(self.min_price, self.max_price)
        if not self.target_balance > 0.0:
            raise InvalidInput("target_balance", "expected more than 0 wei", self.target_balance)

    def start(self, setting: Setting) -> State:
        """Return the initial state, for the start of a path."""
        return policy_state(
            target=self.target_balance,
            denominator=self.denominator,
            min_price=self.min_price,
            max_price=self.max_price,
            price=min(max(self.price, self.min_price), self.max_price),
        )


def check_bounds(min_price: float, max_price: float) -> None:
    """Raise `InvalidInput` for bounds of a price in another unit, or in the wrong order."""
    if max_price != math.inf:
        check_of(BytePrice)("max_price", max_price)
    if not max_price >= min_price:
        raise InvalidInput("max_price", "expected at least min_price", max_price)


def feed_forward() -> VaultPricing:
    """Return a policy whose price depends only on L1 fees."""
    return VaultPricing()


def proportional(even: BreakEven) -> VaultPricing:
    """Return a policy with feed-forward of L1 fees and a P term that repays a deficit within a day.

    >>> proportional(BreakEven(1e8, 1e15, 1e7)).kp
    1000000000.0
    """
    target = TARGET_DAYS * even.cost_per_day
    return VaultPricing(kp=target / (even.bytes_per_day * REPAID_DAYS), target_balance=target)


def proportional_integral(even: BreakEven, *, step: float = 12.0) -> VaultPricing:
    """Return a policy with feed-forward, a P term and an I term.

    If the error is constant, the I term equals the P term after four days.

    >>> round(proportional_integral(BreakEven(1e8, 1e15, 1e7)).ki)
    34722
    """
    plain, steps = proportional(even), INTEGRAL_DAYS * DAY / step
    return replace(plain, ki=plain.kp / steps, max_integral=10.0 * steps)


def multiplicative(even: BreakEven) -> VaultEip1559:
    """Return the policy with the break-even price as initial price, and a target of ten days' cost.

    >>> multiplicative(BreakEven(1e8, 1e15, 1e7)).target_balance
    1e+16
    """
    return VaultEip1559(price=even.price, target_balance=TARGET_DAYS * even.cost_per_day)
