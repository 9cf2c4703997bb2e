"""Linea's data price: the coordinator multiplies a moving average of L1 fees by a margin, and rounds the price.

Source: Consensys/linea-monorepo at cb180134 (2026-06-12).
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from feemodel._compiled import cached_njit
from feemodel.checks import check_limit
from feemodel.errors import InvalidInput
from feemodel.linea.kernels import recorded, variable_cost
from feemodel.linea.parameters import NODE
from feemodel.quantities import Ratio
from feemodel.simulation.announced import PricingRule
from feemodel.simulation.closed_loop._accounts import Rounding
from feemodel.simulation.closed_loop.loop import run_loop, uncounted
from feemodel.simulation.closed_loop.observations import Setting, State, empty_record, policy_state, records
from feemodel.simulation.policies.base import MAX_LAG
from feemodel.simulation.quantities import Amount, Lag

#: Products (weight · L1 fee) and weights, of one block or summed over the averaging window.
WEIGHTED = np.dtype(
    [(name, np.float64) for name in ("base_fee", "tip", "weight", "blob_base_fee", "blob_weight")], align=True
)


class LineaState(NamedTuple):
    """State of the coordinator."""

    terms: np.record
    sums: np.record  #: sums of the records in `window`, a `WEIGHTED` record
    window: NDArray[Any]  #: ring buffer of `WEIGHTED` records


@cached_njit(nogil=True, error_model="numpy")
def announce(state, seen, price):  # type: ignore[no-untyped-def]
    """Add the present block to the averages, update the variable cost if an update is due, and set the price."""
    terms = state.terms
    tip = seen.tip if terms.tip < 0.0 else terms.tip
    _replace_oldest(state, seen, tip)
    terms.calldata += seen.calldata
    if seen.step % int(terms.update_steps) == 0:
        _update(terms, state.sums, seen, tip)
    price.per_byte = terms.announced * terms.estimate_margin
    price.per_gas = terms.per_gas


@cached_njit(nogil=True, error_model="numpy")
def _replace_oldest(state, seen, tip):  # type: ignore[no-untyped-def]
    """Replace the oldest block in the averaging window by the present block, and update the sums over the window."""
    terms, sums, row = state.terms, state.sums, state.window[int(state.terms.oldest)]
    terms.oldest = terms.oldest + 1.0 if terms.oldest + 1.0 < state.window.size else 0.0
    base_fee, tip = seen.base_fee * seen.gas_used_ratio, tip * seen.gas_used_ratio
    blob_base_fee = seen.blob_base_fee * seen.blob_gas_used_ratio
    sums.base_fee = sums.base_fee - row.base_fee + base_fee
    sums.tip = sums.tip - row.tip + tip
    sums.weight = sums.weight - row.weight + seen.gas_used_ratio
    sums.blob_base_fee = sums.blob_base_fee - row.blob_base_fee + blob_base_fee
    sums.blob_weight = sums.blob_weight - row.blob_weight + seen.blob_gas_used_ratio
    row.base_fee, row.tip, row.weight = base_fee, tip, seen.gas_used_ratio
    row.blob_base_fee, row.blob_weight = blob_base_fee, seen.blob_gas_used_ratio


@cached_njit(nogil=True, error_model="numpy")
def _update(terms, sums, seen, tip):  # type: ignore[no-untyped-def]
    """Compute the variable cost from average fees or, if all weights are 0, from the fees of the present block."""
    base_fee, blob_base_fee = seen.base_fee, seen.blob_base_fee
    if sums.weight > 0.0:
        base_fee, tip = sums.base_fee / sums.weight, sums.tip / sums.weight
    if sums.blob_weight > 0.0:
        blob_base_fee = sums.blob_base_fee / sums.blob_weight
    cost = variable_cost(
        base_fee, tip, blob_base_fee, terms.margin, terms.execution_gas, terms.blob_gas, terms.bytes_per_submission
    )
    cost = min(max(cost, terms.lower_bound), terms.upper_bound)
    if terms.denominator > 0.0:
        pressure = min(max((terms.calldata - terms.calldata_target) / terms.calldata_target, -1.0), 1.0)
        cost = max(cost, terms.announced * (1.0 + pressure / terms.denominator))
    terms.calldata = 0.0
    terms.announced = recorded(cost)


@cached_njit(nogil=True, error_model="numpy")
def settle(state, settled):  # type: ignore[no-untyped-def]
    """Do nothing, because only `announce` changes the state of this policy."""


@cached_njit(nogil=True, error_model="numpy")
def run(state, path, rng):  # type: ignore[no-untyped-def]
    """Simulate one path with this policy."""
    run_loop(announce, settle, state, uncounted(path), rng)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineaPricing(PricingRule):
    """Data price of Linea's coordinator as a policy for `simulate`, with the parameters of `PricingRule`.

    The averaging window is rounded to a whole number of steps. If `l1_lag` is 0, the window includes the present step.
    If the scenario has usage ratios, L1 fees are averaged with these ratios as weights. The price of execution per gas
    is `base_fee + estimate_margin · fixed_cost`.
    """

    level: Ratio = 1.0  #: factor by which the announced data price is multiplied
    l1_lag: Lag = 0  #: age of the L1 fees that the policy observes
    balance_lag: Lag = 0  #: age of the balance that the policy observes
    target_balance: Amount = 0.0  #: operator's balance at the start of a path

    announce, settle, run = staticmethod(announce), staticmethod(settle), staticmethod(run)

    @property
    def rounding(self) -> Rounding:
        """Rounding of the fees of real transactions, as `feemodel.priority_fee` rounds them."""
        return Rounding(True, float(self.estimate_margin), int(self.fixed_cost), int(self.base_fee))

    def start(self, setting: Setting) -> State:
        """Return the initial state, for the start of a path."""
        window, updates = round(self.window / setting.step), round(self.update_interval / setting.step)
        if window < 1 or updates < 1:
            raise InvalidInput(
                "window",
                f"expected window and update_interval of at least a step, {setting.step:g} s",
                self.window if window < 1 else self.update_interval,
            )
        check_limit(window, "steps of window", MAX_LAG)
        terms = policy_state(
            execution_gas=self.execution_gas,
            blob_gas=self.blob_gas,
            bytes_per_submission=self.bytes_per_submission,
            margin=self.margin,
            lower_bound=-math.inf if self.lower_bound is None else self.lower_bound,
            upper_bound=math.inf if self.upper_bound is None else self.upper_bound,
            update_steps=updates,
            estimate_margin=self.estimate_margin,
            per_gas=self.base_fee + self.estimate_margin * self.fixed_cost,  # price of execution [wei / gas]
            denominator=0.0,  # denominator of the calldata pressure; 0 means no calldata pressure
            calldata_target=1.0,  # calldata between two updates at which the calldata pressure is 0 [byte]
            tip=-1.0 if setting.tips_known else self.tip,  # tip to use; negative: use the observed tip
            announced=0.0,  # announced variable cost, without the estimate margin [wei / byte]
            calldata=0.0,  # calldata since the last update [byte]
            oldest=0.0,  # index of the oldest block in the window
        )
        if self.pressure is not None:
            terms.denominator = float(self.pressure.denominator)
            terms.calldata_target = self.pressure.max_block_calldata * updates * setting.step / (2.0 * NODE.block_time)
        return LineaState(terms, empty_record(WEIGHTED), records(window, WEIGHTED))
