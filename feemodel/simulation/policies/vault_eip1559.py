"""Data price that changes when data is posted, depending on the operator's balance and the target balance.

Source of the formulas: linoscope/taiko-fee-simulator at 4f91b7b (2026-03-19), data/plots/fee_history_sim_core.js.
"""

import math
from dataclasses import dataclass

from feemodel._compiled import cached_njit
from feemodel.errors import InvalidInput
from feemodel.simulation.closed_loop.loop import run_loop
from feemodel.simulation.closed_loop.observations import Setting, State, policy_state
from feemodel.simulation.policies.base import Baseline, BuiltIn
from feemodel.simulation.policies.vault import target_of


@cached_njit(makes_arrays=False, nogil=True, error_model="numpy")
def announce(state, seen, price):  # type: ignore[no-untyped-def]
    """Set the price of a byte to the price computed after the last posting."""
    price.per_byte = state.price


@cached_njit(makes_arrays=False, nogil=True, error_model="numpy")
def settle(state, settled):  # type: ignore[no-untyped-def]
    """If data was posted in this step, multiply the price by a factor that depends on the operator's balance."""
    if settled.posted_bytes > 0.0:
        error = min(max((state.target - settled.seen_balance) / state.target, -8.0), 1.0)
        state.price = min(max(state.price * (1.0 + error / state.denominator), state.min_price), state.max_price)


@cached_njit(makes_arrays=False, nogil=True, error_model="numpy")
def run(state, path):  # type: ignore[no-untyped-def]
    """Simulate one path with this policy."""
    run_loop(announce, settle, state, path)


@dataclass(frozen=True, kw_only=True)
class VaultEip1559(BuiltIn):
    """Data price that is multiplied by `1 + clamp(error, −8, 1) / denominator` whenever data is posted.

    `error` is `(target − balance) / target`, as in `VaultPricing`. `clamp` limits `error` to the range from −8 to 1.
    """

    price: float  #: initial price [wei / byte]
    denominator: float = 8.0  #: divisor of the error; higher values make price changes smaller [1]
    min_price: float = 0.0  #: minimum price [wei / byte]
    max_price: float = math.inf  #: maximum price [wei / byte]

    announce, settle, run = staticmethod(announce), staticmethod(settle), staticmethod(run)

    def __post_init__(self) -> None:
        self._check(above_zero=("denominator",), unchecked=("max_price",))
        if not self.target_balance > 0.0:
            raise InvalidInput("target_balance", "expected more than 0 wei", self.target_balance)
        if not self.max_price >= self.min_price:
            raise InvalidInput("max_price", "expected at least min_price", self.max_price)

    def start(self, setting: Setting) -> State:
        """Return the initial state, for the start of a path."""
        return policy_state(
            target=self.target_balance,
            denominator=self.denominator,
            min_price=self.min_price,
            max_price=self.max_price,
            price=min(max(self.price, self.min_price), self.max_price),
        )


def baseline(at: Baseline) -> VaultEip1559:
    """Return the policy with the break-even price as initial price and the target balance of the baseline.

    >>> from feemodel.simulation.policies.base import BreakEven
    >>> baseline(Baseline(BreakEven(1e8, 1e15, 1e7), 50, 12.0)).target_balance
    1e+16
    """
    return VaultEip1559(price=at.even.price, target_balance=target_of(at))
