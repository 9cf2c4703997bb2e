"""Prices that a rollup announces, computed from L1 fees: averages, variable cost, gas price, calldata pressure.

All arithmetic uses doubles, one operation after the other in the order of the coordinator's code. Only the pricing
record (`feemodel.linea.extra_data`) rounds to whole numbers.

Source: Consensys/linea-monorepo at cb180134 (2026-06-12), coordinator/ethereum/gas-pricing.
"""

from __future__ import annotations  # so that `help` shows the names of quantities

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import NamedTuple

import numpy as np

from feemodel.arguments import checked
from feemodel.checks import require
from feemodel.errors import InvalidInput
from feemodel.exact import double, maximum, minimum, truncated
from feemodel.formula import formula
from feemodel.linea.parameters import COORDINATOR
from feemodel.quantities import (
    REAL,
    BaseFee,
    BlobFee,
    BlobGas,
    BlockCalldata,
    Byte,
    Calldata,
    DivisorAboveZero,
    ExecutionGas,
    L1BaseFee,
    Margin,
    Ratio,
    RealByte,
    RealGasAboveZero,
    RealWei,
    RealWeiPerByte,
    RealWeiPerGas,
    SubmissionBytes,
    Tip,
    WeiPerGas,
)


class AverageFees(NamedTuple):
    """Averages over a fee history [wei / gas]."""

    base_fee: float
    priority_fee: float
    blob_base_fee: float


def average_fees(
    base_fees: Sequence[float],
    priority_fees: Sequence[float],
    gas_used_ratios: Sequence[float],
    blob_base_fees: Sequence[float],
    blob_gas_used_ratios: Sequence[float],
) -> AverageFees:
    """Averages of base fee, priority fee and blob base fee: Σ fee · ratio / Σ ratio.

    An average is the plain mean if all its ratios are 0, and 0 if there are no blocks.

    Parameters
    ----------
    base_fees, priority_fees, blob_base_fees : columns of `eth_feeHistory`, one value for each block, oldest first, and
        optionally one more for the next block, which is ignored [wei / gas].
    gas_used_ratios : gas used / gas limit of each block, the weight of its base fee and priority fee [1].
    blob_gas_used_ratios : blob gas used / maximum blob gas of each block, the weight of its blob base fee [1].

    Returns
    -------
    AverageFees with three floats [wei / gas].

    Raises
    ------
    InvalidInput : a column of fees has neither n nor n + 1 values, where n is the number of ratios; or a value is
        negative or not finite.

    >>> average_fees([100, 110], [1000], [0.25], [200, 210], [0.16])
    AverageFees(base_fee=100.0, priority_fee=1000.0, blob_base_fee=200.0)
    """
    ratios = _reals("gas_used_ratios", gas_used_ratios)
    blob_ratios = _reals("blob_gas_used_ratios", blob_gas_used_ratios)
    return AverageFees(
        _weighted(_of_blocks("base_fees", base_fees, ratios), ratios),
        _weighted(_of_blocks("priority_fees", priority_fees, ratios), ratios),
        _weighted(_of_blocks("blob_base_fees", blob_base_fees, blob_ratios), blob_ratios),
    )


@formula
def variable_cost(
    base_fee: L1BaseFee,
    priority_fee: Tip,
    blob_base_fee: BlobFee,
    *,
    execution_gas: ExecutionGas,
    blob_gas: BlobGas,
    bytes_per_submission: SubmissionBytes,
    margin: Margin,
    fee_margin: RealWeiPerByte = 0.0,
    lower_bound: RealWeiPerByte | None = None,
    upper_bound: RealWeiPerByte | None = None,
) -> RealWeiPerByte:
    """Cost of one compressed byte on L1; not rounded.

        ((base_fee + priority_fee) · execution_gas + blob_base_fee · blob_gas) · margin / bytes_per_submission

    The fees are averages of L1 fees; the gas is a submission's. The result also includes `fee_margin`, and is
    limited to `lower_bound` and `upper_bound`, see `bounded`; `None` is no bound. The coordinator's own divisor is
    `COORDINATOR.bytes_per_submission` of `feemodel.linea.parameters`.

    A submission costs (1 + 2) · 120,000 + 5 · 131,000 = 1,015,000 wei, and 1,015,000 · 1.1 / 200,000 bytes = 5.5825:

    >>> variable_cost(1, 2, 5, execution_gas=120_000, blob_gas=131_000, bytes_per_submission=200_000, margin=1.1)
    5.5825
    """
    submission = (base_fee + priority_fee) * execution_gas + blob_base_fee * blob_gas
    cost = submission * margin / bytes_per_submission
    return bounded.core(cost, fee_margin=fee_margin, lower_bound=lower_bound, upper_bound=upper_bound)


@formula
def bounded(
    fee: RealWei, *, fee_margin: RealWei = 0.0, lower_bound: RealWei | None = None, upper_bound: RealWei | None = None
) -> RealWei:
    """Fee plus a margin, limited to a range: `min(max(fee + fee_margin, lower_bound), upper_bound)`.

    `None` is no bound; the upper bound must be at least the lower bound.

    >>> bounded(9_999_999_950.0, fee_margin=100.0, lower_bound=1_000_000.0, upper_bound=10_000_000_000.0)
    10000000000.0
    """
    if lower_bound is not None and upper_bound is not None:
        require("upper_bound", "expected at least the lower bound", upper_bound, upper_bound >= lower_bound)
    result = fee + fee_margin
    if lower_bound is not None:
        result = maximum(result, lower_bound)
    return result if upper_bound is None else minimum(result, upper_bound)


@formula
def sample_gas_price(
    variable_cost: RealWeiPerByte,
    *,
    fixed_cost: RealWeiPerGas,
    compressed_size: RealByte = COORDINATOR.sample_compressed_size,
    gas: RealGasAboveZero = COORDINATOR.sample_gas,
    multiplier: Ratio = 1.0,
) -> RealWeiPerGas:
    """Legacy gas price that the rollup announces, computed for a sample transaction.

        multiplier · (variable_cost · compressed_size / gas + fixed_cost)

    >>> sample_gas_price(1e9, fixed_cost=3e7, compressed_size=250)
    41904761.9047619
    """
    return multiplier * (variable_cost * compressed_size / gas + fixed_cost)


@checked
def usage_weighted_gas_price(
    base_fees: Sequence[float],
    priority_fees: Sequence[float],
    gas_used_ratios: Sequence[float],
    blob_base_fees: Sequence[float],
    blob_gas_used_ratios: Sequence[float],
    *,
    base_fee_coefficient: Ratio = 0.1,
    priority_fee_coefficient: Ratio = 1.0,
    blob_base_fee_coefficient: Ratio = 0.1,
    execution_gas: RealGasAboveZero,
    blob_gas: BlobGas,
) -> RealWeiPerGas:
    """Gas price by the rule before September 2024: average of scaled L1 fees, weighted by the gas used ratio.

        Σ (base · c_base + priority · c_priority) · ratio / Σ ratio
        + Σ blob · ratio · c_blob · blob_gas / (Σ ratio · execution_gas)

    If all ratios in a sum are 0, the plain mean takes the place of the weighted average.

    Parameters
    ----------
    base_fees, priority_fees, blob_base_fees : a fee for each block, oldest first, and optionally one more for the next
        block, which is ignored [wei / gas].
    gas_used_ratios, blob_gas_used_ratios : one ratio for each block [1].
    base_fee_coefficient, priority_fee_coefficient, blob_base_fee_coefficient : factors of the three fees [1].
    execution_gas, blob_gas : L1 gas and blob gas of a submission; the L1 gas is above 0 [gas].

    Returns
    -------
    float [wei / gas].

    Raises
    ------
    InvalidInput : a column of fees has neither n nor n + 1 values, where n is the number of ratios; a value is negative
        or not finite; or `execution_gas` is 0.

    >>> usage_weighted_gas_price(
    ...     [100, 110], [1000], [0.25], [100, 110], [0.16],
    ...     priority_fee_coefficient=1.2, execution_gas=120_000, blob_gas=131_000,
    ... )
    1220.9166666666667
    """
    ratios = _reals("gas_used_ratios", gas_used_ratios)
    blob_ratios = _reals("blob_gas_used_ratios", blob_gas_used_ratios)
    bases, tips = _of_blocks("base_fees", base_fees, ratios), _of_blocks("priority_fees", priority_fees, ratios)
    blob_fees = _of_blocks("blob_base_fees", blob_base_fees, blob_ratios)
    fees = [base * base_fee_coefficient + tip * priority_fee_coefficient for base, tip in zip(bases, tips, strict=True)]
    fee_sum, weight = _weighted_sum(blob_fees, blob_ratios)
    blob_price = fee_sum * blob_base_fee_coefficient * blob_gas / (weight * execution_gas)
    return _weighted(fees, ratios) + blob_price


@checked
def calldata_sum(
    block_sizes: Sequence[Byte],
    *,
    block_count: int = COORDINATOR.calldata_blocks,
    overhead: Byte = COORDINATOR.block_overhead,
) -> int:
    """Calldata in the last `block_count` L2 blocks: `Σ max(0, size − overhead)`.

    Parameters
    ----------
    block_sizes : size of each block, oldest first [byte].
    block_count : number of newest blocks whose calldata is added up.
    overhead : size of a block without calldata [byte].

    Returns
    -------
    int [byte]; 0 if there are fewer than `block_count` blocks.

    Raises
    ------
    InvalidInput : a value that is negative or not an integer.

    >>> calldata_sum([10_540] * 5)
    50000
    """
    if len(block_sizes) < block_count:
        return 0
    return sum(max(0, size - overhead) for size in block_sizes[len(block_sizes) - block_count :])


@formula
def calldata_pressure(
    calldata: Calldata,
    *,
    max_block_calldata: BlockCalldata = COORDINATOR.max_block_calldata,
    block_count: int = COORDINATOR.calldata_blocks,
) -> Ratio:
    """Calldata of the last blocks relative to the target: `clamp((calldata − target) / target, −1, 1)`.

    `calldata` is the sum over the last `block_count` blocks, see `calldata_sum`. The target is
    `max_block_calldata · block_count / 2`; both must be above 0.

    The target is 109,000 · 5 / 2 = 272,500 bytes:

    >>> calldata_pressure(408_750)
    0.5
    """
    require("block_count", "expected a number above 0", block_count, block_count > 0)
    target = max_block_calldata * block_count / 2.0
    return maximum(minimum((calldata - target) / target, 1.0), -1.0)


@formula
def calldata_variable_cost(
    variable_cost: RealWeiPerByte,
    latest_variable_cost: RealWeiPerByte,
    calldata: Calldata,
    *,
    max_block_calldata: BlockCalldata = COORDINATOR.max_block_calldata,
    block_count: int = COORDINATOR.calldata_blocks,
    denominator: DivisorAboveZero = COORDINATOR.calldata_fee_denominator,
) -> RealWeiPerByte:
    """Variable cost under calldata pressure: `max(variable_cost, latest_variable_cost · (1 + pressure / denominator))`.

    `variable_cost` is computed from L1 fees, within its bounds; `latest_variable_cost` is that of the newest block's
    pricing record. The result is not limited to the upper bound of the variable cost, so sustained pressure raises the
    cost without limit. A `block_count` of 0 turns the rule off.

    The last five blocks are full of calldata, so the cost is 15,000 · (1 + 1 / 32):

    >>> calldata_variable_cost(15_000.0, 15_000.0, 545_000)
    15468.75
    """
    if block_count == 0:
        return variable_cost
    pressure = calldata_pressure.core(calldata, max_block_calldata=max_block_calldata, block_count=block_count)
    return maximum(variable_cost, latest_variable_cost * (1.0 + pressure / denominator))


@checked
def weighted_moving_average_fee(
    base_fees: Sequence[float],
    priority_fees: Sequence[float],
    gas_used_ratios: Sequence[float],
    *,
    base_fee_coefficient: Ratio,
    priority_fee_coefficient: Ratio,
) -> RealWeiPerGas:
    """Fee that the coordinator offers for its own L1 transactions.

    The fee is the newest base fee plus an average of recent priority fees, in which later blocks have more weight:

        base_newest · c_base + (Σ ratio_i · (i + 1) · priority_i · c_priority) / (Σ ratio_i · (i + 1))

    If all ratios are 0, the result is base_newest · c_base.

    Parameters
    ----------
    base_fees : one fee for each block, oldest first; the last fee is `base_newest` [wei / gas].
    priority_fees : one fee for each block, and optionally one more, which is ignored [wei / gas].
    gas_used_ratios : one ratio for each block [1].
    base_fee_coefficient, priority_fee_coefficient : factors of the base fee and of the priority fee [1].

    Returns
    -------
    float [wei / gas].

    Raises
    ------
    InvalidInput : `base_fees` is empty; the number of priority fees is neither n nor n + 1, where n is the number of
        ratios; or a value is negative or not finite.

    >>> weighted_moving_average_fee(
    ...     [100, 110, 120, 130, 140], [1000, 1100, 1200, 1300], [0.25, 0.5, 0.75, 0.9],
    ...     base_fee_coefficient=0.1, priority_fee_coefficient=1.2,
    ... )
    1489.4929577464789
    """
    ratios, fees = _reals("gas_used_ratios", gas_used_ratios), _reals("base_fees", base_fees)
    if not fees:
        raise InvalidInput("base_fees", "expected at least one block", [])
    weights = [ratio * (i + 1) for i, ratio in enumerate(ratios)]
    offers = _of_blocks("priority_fees", priority_fees, ratios)
    tips = [weight * tip for weight, tip in zip(weights, offers, strict=True)]
    divisor = _ordered_sum(weights)
    tip = 0.0 if divisor == 0.0 else _ordered_sum(tips) * priority_fee_coefficient / divisor
    return fees[-1] * base_fee_coefficient + tip


@formula
def submission_fees(
    tip: RealWeiPerGas, base_fee: BaseFee, *, max_fee_cap: WeiPerGas, max_priority_fee_cap: WeiPerGas
) -> tuple[WeiPerGas, WeiPerGas]:
    """Dynamic fees of the coordinator's own L1 transaction: its max priority fee and its max fee.

        max priority fee = min(trunc(tip), max_priority_fee_cap)
        max fee          = min(2 · base_fee + max priority fee, max_fee_cap)

    `tip` is the priority fee that the coordinator intends to offer, see `weighted_moving_average_fee`, and `base_fee`
    the base fee of the next L1 block.

    >>> submission_fees(1229.5, 140, max_fee_cap=10**9, max_priority_fee_cap=10**8)
    (1229, 1509)
    """
    offered = minimum(truncated("tip", tip), max_priority_fee_cap)
    return offered, minimum(2 * base_fee + offered, max_fee_cap)


@formula
def dynamic_gas_price_cap(
    historic_cap: WeiPerGas,
    *,
    elapsed: Ratio,
    target: DivisorAboveZero,
    time_of_day_multiplier: Ratio = 1.0,
    adjustment_constant: Ratio = 25.0,
) -> WeiPerGas:
    """Maximum gas price that the coordinator pays on L1; the maximum rises while data waits for its submission.

        trunc( historic_cap · (1 + adjustment_constant · time_of_day_multiplier · (elapsed / target)²) )

    `historic_cap` is a percentile of past L1 gas prices, `elapsed` the time for which the oldest block has been waiting
    for its submission, and `target`, in the same unit, the time within which the block should be finalized. The
    multiplier is that of the hour of the week.

    >>> dynamic_gas_price_cap(1_000_000_000, elapsed=16, target=32, time_of_day_multiplier=1.75)
    11937500000
    """
    share = elapsed / target
    price = double(historic_cap) * (1.0 + adjustment_constant * time_of_day_multiplier * (share * share))
    return truncated("elapsed", price)


def _reals(name: str, values: Sequence[float]) -> list[float]:
    array = REAL.check(name, values)
    if not isinstance(array, np.ndarray) or array.ndim != 1:
        raise InvalidInput(name, "expected a sequence of numbers", values)
    return [float(value) for value in array]


def _of_blocks(name: str, values: Sequence[float], ratios: list[float]) -> list[float]:
    """Return the values of a fee history without the additional value for the next block."""
    count, numbers = len(ratios), _reals(name, values)
    if len(numbers) not in (count, count + 1):
        raise InvalidInput(name, f"expected {count} values, one for each ratio, or {count + 1}", len(numbers))
    return numbers[:count]


def _weighted(fees: list[float], ratios: list[float]) -> float:
    total, weight = _weighted_sum(fees, ratios)
    return total / weight


def _weighted_sum(fees: list[float], ratios: list[float]) -> tuple[float, float]:
    """Return Σ fee · ratio and Σ ratio; if all ratios are 0, they are 1. Without blocks, the sums are 0 and 1."""
    if _ordered_sum(ratios) == 0.0:
        ratios = [1.0] * len(ratios)
    return _ordered_sum([fee * ratio for fee, ratio in zip(fees, ratios, strict=True)]), _ordered_sum(ratios) or 1.0


def _ordered_sum(values: Sequence[float]) -> float:
    # Add the values from left to right, as the coordinator does. Pairwise sums (NumPy) and compensated sums (Python
    # 3.12) may differ in the last bit.
    return reduce(add, values, 0.0)
