"""Priority fee per gas that pays for L1, in both published forms, exactly as a node computes it.

Cost-per-byte form, used by nodes since May 2024 (V2 of the sequencer's history):

    fee = trunc( margin · double( (variable_cost · compressed_size) div gas + fixed_cost ) )

Verification-cost form, used by nodes before May 2024 (V1f, the last version before V2):

    fee = max( trunc( (ratio · verification_gas_cost · compressed_size · min_gas_price
                       / (gas · verification_capacity) + adjustment) · margin ),  min_gas_price − base_fee )

`div` is integer division. A node multiplies signed 64-bit integers, and the product may wrap. In this module, a product
that would wrap raises `Int64Overflow`. All operations on doubles are IEEE operations, in the order of the formulas
above.

Source: Consensys/linea-sequencer, TransactionProfitabilityCalculator, commits 4c81fa07 (V0, 2024-01-10),
8c046a76 (V1f, 2024-03-06), 3d56714c (V2, 2024-05-30); Consensys/linea-monorepo at cb180134 (2026-06-12).
"""

from __future__ import annotations  # so that `help` shows the names of quantities

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from feemodel.checks import require
from feemodel.exact import double, long, maximum, truncated_decimal
from feemodel.formula import compiled, formula
from feemodel.linea.parameters import NODE, VERIFICATION
from feemodel.quantities import (
    Adjustment,
    BaseFee,
    CompressedSize,
    FixedCost,
    GasAboveZero,
    GasPrice,
    GasPriceRatio,
    Margin,
    MinGasPrice,
    OfferedPrice,
    PriorityFee,
    Ratio,
    SizeAdjustment,
    Truth,
    VariableCost,
    VerificationGas,
    VerifiedBytes,
)


class Breakdown(NamedTuple):
    """The parts of a fee: whole numbers [wei / gas] whose sum is the fee."""

    fixed: Any  #: the fixed cost per gas, which does not depend on the size
    size: Any  #: cost of the compressed bytes
    margin: Any  #: amount that the safety margin adds; negative for a margin below 1
    floor: Any = 0  #: amount that the minimum gas price adds (verification-cost form)

    @property
    def total(self) -> Any:
        """The priority fee per gas [wei / gas]."""
        return self.fixed + self.size + self.margin + self.floor


def _kernel(name: str) -> Callable[[], Any]:
    return lambda: getattr(import_module("feemodel.linea.kernels"), name)


@formula
@compiled(_kernel("priority_fees"))
def priority_fee(
    compressed_size: CompressedSize,
    gas: GasAboveZero,
    *,
    variable_cost: VariableCost,
    fixed_cost: FixedCost = 0,
    margin: Margin = 1.0,
) -> PriorityFee:
    """Priority fee per gas in the cost-per-byte form.

        trunc( margin · double( variable_cost · compressed_size div gas + fixed_cost ) )

    A variable cost of a few wei is not refused, because a node computes its fee in the same way.

    A plain transfer on Linea mainnet in January 2026: 1e9 · 128 div 21,000 = 6,095,238, and
    1.2 · (6,095,238 + 30,000,000) = 43,314,285.6:

    >>> priority_fee(128, 21_000, variable_cost=1_000_000_000, fixed_cost=30_000_000, margin=1.2)
    43314285
    """
    size_part = long("variable_cost · compressed_size", variable_cost * compressed_size) // gas
    return truncated_decimal("fee", margin * double(long("size part + fixed_cost", size_part + fixed_cost)))


@formula
def breakdown(
    compressed_size: CompressedSize,
    gas: GasAboveZero,
    *,
    variable_cost: VariableCost,
    fixed_cost: FixedCost = 0,
    margin: Margin = 1.0,
) -> Breakdown:
    """Parts of the priority fee per gas in the cost-per-byte form; their sum `total` is `priority_fee`.

    1.2 · (30,000,000 + 6,095,238) is 43,314,285, of which the margin is 7,219,047:

    >>> breakdown(128, 21_000, variable_cost=1_000_000_000, fixed_cost=30_000_000, margin=1.2)
    Breakdown(fixed=30000000, size=6095238, margin=7219047, floor=0)
    """
    size = variable_cost * compressed_size // gas
    fee = priority_fee.core(compressed_size, gas, variable_cost=variable_cost, fixed_cost=fixed_cost, margin=margin)
    return Breakdown(fixed_cost, size, fee - size - fixed_cost)


@formula
def profitable(
    price: OfferedPrice,
    compressed_size: CompressedSize,
    gas: GasAboveZero,
    *,
    variable_cost: VariableCost,
    fixed_cost: FixedCost = 0,
    margin: Margin = 1.0,
    base_fee: BaseFee = NODE.base_fee,
) -> Truth:
    """Return whether a price per gas pays the base fee and the priority fee: `price ≥ base_fee + priority_fee(…)`.

    For the gas, the margin and the price that a node uses in each check, see `feemodel.linea.node_checks`.

    >>> profitable(43_314_292, 128, 21_000, variable_cost=10**9, fixed_cost=30_000_000, margin=1.2)
    True
    >>> profitable(43_314_291, 128, 21_000, variable_cost=10**9, fixed_cost=30_000_000, margin=1.2)
    False
    """
    fee = priority_fee.core(compressed_size, gas, variable_cost=variable_cost, fixed_cost=fixed_cost, margin=margin)
    return price >= base_fee + fee


@formula
def verification_priority_fee(
    compressed_size: CompressedSize,
    gas: GasAboveZero,
    *,
    min_gas_price: MinGasPrice,
    base_fee: BaseFee = NODE.base_fee,
    verification_gas_cost: VerificationGas = VERIFICATION.gas_cost,
    verification_capacity: VerifiedBytes = VERIFICATION.capacity,
    gas_price_ratio: GasPriceRatio = VERIFICATION.gas_price_ratio,
    margin: Margin = 1.0,
    adjustment: Adjustment = 0,
) -> PriorityFee:
    """Priority fee per gas in the verification-cost form.

    One submission verifies `verification_capacity` bytes with `verification_gas_cost` gas, at an L1 gas price of
    `gas_price_ratio` · `min_gas_price`; `min_gas_price` must be ≥ `base_fee`. For V0, see `verification_margin`.

    Without the margin, the fee is 15 · 1,200,000 · 128 · 1e8 / (21,000 · 90,000) = 121,904,761.9. With the margin, the
    fee is 1.2 · 121,904,761.9 = 146,285,714.3:

    >>> verification_priority_fee(128, 21_000, min_gas_price=100_000_000, margin=1.2)
    146285714
    """
    require("min_gas_price", "expected at least the base fee", min_gas_price, min_gas_price >= base_fee)
    divisor = double(long("gas · verification_capacity", gas * verification_capacity))
    l1_cost = gas_price_ratio * double(verification_gas_cost)
    size_part = l1_cost * double(compressed_size) * double(min_gas_price) / divisor
    fee = truncated_decimal("fee", (size_part + double(adjustment)) * margin)
    return maximum(fee, min_gas_price - base_fee)


@formula
def verification_margin(
    price: OfferedPrice,
    compressed_size: CompressedSize,
    gas: GasAboveZero,
    *,
    min_gas_price: GasPrice,
    verification_gas_cost: VerificationGas = VERIFICATION.gas_cost,
    verification_capacity: VerifiedBytes = VERIFICATION.capacity,
    gas_price_ratio: GasPriceRatio = VERIFICATION.gas_price_ratio,
    size_adjustment: SizeAdjustment = 0,
) -> Ratio:
    """Ratio revenue / cost; block selection in the first published version (V0) required a minimum ratio.

        revenue = price · gas;   cost = min_gas_price · ratio · (max(0, size + adjustment) / capacity · gas_cost)

    V0 used the length of the signed encoding as the size, and an adjustment of -45 in January 2024. As in a node, the
    ratio is infinite if the adjusted size is 0, and NaN if the price is 0 too.

    (price 9.9e9 wei · 21,000 gas) / (minimum price 1e9 wei · 15 · adjusted size (1000 / 90,000 · 1,200,000)):

    >>> verification_margin(9_900_000_000, 1000, 21_000, min_gas_price=1_000_000_000)
    1.0395
    """
    adjusted = double(maximum(compressed_size + size_adjustment, 0))
    revenue = double(price) * double(gas)
    size_cost = adjusted / double(verification_capacity) * double(verification_gas_cost)
    cost = double(min_gas_price) * gas_price_ratio * size_cost
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        margin = np.divide(revenue, cost)
    return float(margin) if np.ndim(margin) == 0 else margin
