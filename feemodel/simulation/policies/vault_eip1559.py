"""Price that is multiplied at each posting by a factor, which depends on the balance and its target.

Source: linoscope/taiko-fee-simulator at 4f91b7b (2026-03-19), data/plots/fee_history_sim_core.js (the formulas, not
the code).
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
    """Announce the price that the last posting set."""
    price.per_byte = state.price


@cached_njit(makes_arrays=False, nogil=True, error_model="numpy")
def settle(state, settled):  # type: ignore[no-untyped-def]
    """Multiply the price by the factor if data was posted in this step."""
    if settled.posted_bytes > 0.0:
        error = min(max((state.target - settled.seen_balance) / state.target, -8.0), 1.0)
        state.price = min(max(state.price * (1.0 + error / state.denominator), state.min_price), state.max_price)


@cached_njit(makes_arrays=False, nogil=True, error_model="numpy")
def run(state, path):  # type: ignore[no-untyped-def]
    """Simulate a path."""
    run_loop(announce, settle, state, path)


@dataclass(frozen=True, kw_only=True)
class VaultEip1559(BuiltIn):
    """Price that is multiplied by `1 + clamp(error, −8, 1) / denominator` at each posting.

    The error is `(target − balance) / target`, as in `VaultPricing`.
    """

    price: float  #: initial price [wei / byte]
    denominator: float = 8.0  #: [1]
    min_price: float = 0.0  #: [wei / byte]
    max_price: float = math.inf  #: [wei / byte]

    announce, settle, run = staticmethod(announce), staticmethod(settle), staticmethod(run)

    def __post_init__(self) -> None:
        self._check(above_zero=("denominator",), unchecked=("max_price",))
        if not self.target_balance > 0.0:
            raise InvalidInput("target_balance", "expected above 0 wei", self.target_balance)
        if not self.max_price >= self.min_price:
            raise InvalidInput("max_price", "expected at least min_price", self.max_price)

    def start(self, setting: Setting) -> State:
        """Return the state at the start of a path."""
        return policy_state(
            target=self.target_balance,
            denominator=self.denominator,
            min_price=self.min_price,
            max_price=self.max_price,
            price=min(max(self.price, self.min_price), self.max_price),
        )


def baseline(at: Baseline) -> VaultEip1559:
    """Return a policy that starts at the break-even price, with the same target balance as the `VaultPricing` policies.

    >>> from feemodel.simulation.policies.base import BreakEven
    >>> baseline(Baseline(BreakEven(1e8, 1e15, 1e7), 50, 12.0)).target_balance
    1e+16
    """
    return VaultEip1559(price=at.even.price, target_balance=target_of(at))
