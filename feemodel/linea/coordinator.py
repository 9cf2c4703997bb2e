"""Prices that a rollup announces, computed from L1 fees: averages, variable cost, gas price, calldata pressure.

All arithmetic uses doubles, one operation after the other in the order of the coordinator's code. Only the pricing
record (`feemodel.linea.extra_data`) rounds to whole numbers.

Source: Consensys/linea-monorepo at cb180134 (2026-06-12), coordinator/ethereum/gas-pricing.
"""

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any, NamedTuple, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from feemodel._records import printed_as_table
from feemodel.checks import ArrayLike, Numbers, Reals, above_zero, raise_first, real, real_scalar, whole_scalar
from feemodel.errors import InvalidInput
from feemodel.formula import formula
from feemodel.linea.parameters import COORDINATOR

Real: TypeAlias = float | NDArray[np.float64]


@printed_as_table
class AverageFees(NamedTuple):
    """Averages over a fee history [wei / gas]."""

    base_fee: float
    priority_fee: float
    blob_base_fee: float


def weighted_average(fees: Sequence[float], ratios: Sequence[float]) -> float:
    """Average of the fees of blocks, weighted by the gas used ratio of the blocks.

        Σ fee · ratio / Σ ratio

    The result is the plain mean if all ratios are 0, and 0 if there are no blocks.

    Parameters
    ----------
    fees : sequence with one fee for each block, oldest first [wei / gas]. One more fee at the end, which
        `eth_feeHistory` adds for the next block, is ignored.
    ratios : sequence with the gas used ratio of each block, or the blob gas used ratio for blob fees [1].

    Returns
    -------
    float [wei / gas].

    Raises
    ------
    InvalidInput : the number of fees is neither n nor n + 1, where n is the number of ratios; or a value is negative or
        not finite.

    >>> weighted_average([100, 110, 120, 130, 140], [0.25, 0.5, 0.75, 0.9])
    119.58333333333334
    """
    weights = _reals("ratios", ratios)
    return _weighted(_of_blocks("fees", fees, weights), weights)


def average_fees(
    base_fees: Sequence[float],
    priority_fees: Sequence[float],
    gas_used_ratios: Sequence[float],
    blob_base_fees: Sequence[float],
    blob_gas_used_ratios: Sequence[float],
) -> AverageFees:
    """Averages of base fee, priority fee and blob base fee, each weighted as in `weighted_average`.

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


@overload
def variable_cost(
    base_fee: float, priority_fee: float, blob_base_fee: float, *, execution_gas: float, blob_gas: float,
    bytes_per_submission: float, margin: float, fee_margin: float = ..., lower_bound: float | None = ...,
    upper_bound: float | None = ...
) -> float: ...  # fmt: skip
@overload
def variable_cost(
    base_fee: Numbers[Reals], priority_fee: Numbers[Reals], blob_base_fee: Numbers[Reals], *,
    execution_gas: Numbers[Reals], blob_gas: Numbers[Reals], bytes_per_submission: Numbers[Reals],
    margin: Numbers[Reals], fee_margin: Numbers[Reals] = ..., lower_bound: Numbers[Reals] | None = ...,
    upper_bound: Numbers[Reals] | None = ...
) -> Reals: ...  # fmt: skip
@formula
def variable_cost(
    base_fee: ArrayLike,
    priority_fee: ArrayLike,
    blob_base_fee: ArrayLike,
    *,
    execution_gas: ArrayLike,
    blob_gas: ArrayLike,
    bytes_per_submission: ArrayLike,
    margin: ArrayLike,
    fee_margin: ArrayLike = 0.0,
    lower_bound: ArrayLike | None = None,
    upper_bound: ArrayLike | None = None,
) -> Real:
    """Cost of one compressed byte on L1.

        ((base_fee + priority_fee) · execution_gas + blob_base_fee · blob_gas) · margin / bytes_per_submission

    The result also includes `fee_margin`, and is limited to `lower_bound` and `upper_bound`, see `bounded`.

    Parameters
    ----------
    base_fee, priority_fee, blob_base_fee : averages of L1 fees [wei / gas].
    execution_gas : L1 gas of a blob submission [gas].
    blob_gas : blob gas of a submission [gas].
    bytes_per_submission : divisor of the cost of a submission, above 0 [byte]; the coordinator's own setting is
        `COORDINATOR.bytes_per_submission` of `feemodel.linea.parameters`.
    margin : safety factor [1].
    fee_margin : amount added to the cost [wei / byte].
    lower_bound, upper_bound : minimum and maximum of the result; `None` for no bound [wei / byte].

    All parameters broadcast against each other.

    Returns
    -------
    float for scalars, a float64 array otherwise [wei / byte]; not rounded.

    Raises
    ------
    InvalidInput : a negative or non-finite value, a zero divisor, or an upper bound below the lower bound.

    A submission costs (1 + 2) · 120,000 + 5 · 131,000 = 1,015,000 wei, and 1,015,000 · 1.1 / 200,000 bytes = 5.5825:

    >>> variable_cost(1, 2, 5, execution_gas=120_000, blob_gas=131_000, bytes_per_submission=200_000, margin=1.1)
    5.5825
    """
    fees = _fee("base_fee", base_fee), _fee("priority_fee", priority_fee)
    gas = real("execution_gas", execution_gas, unit="gas")
    blob = _fee("blob_base_fee", blob_base_fee), real("blob_gas", blob_gas, unit="gas")
    factor, divisor = real("margin", margin), _above_zero("bytes_per_submission", bytes_per_submission)
    cost = _variable_cost(*fees, *blob, gas, factor, divisor)
    return bounded(cost, fee_margin=fee_margin, lower_bound=lower_bound, upper_bound=upper_bound)


def _variable_cost(
    base_fee: Real, priority_fee: Real, blob_base_fee: Real, blob_gas: Real, execution_gas: Real, margin: Real,
    bytes_per_submission: Real,
) -> Real:  # fmt: skip
    execution = (base_fee + priority_fee) * execution_gas
    return (execution + blob_base_fee * blob_gas) * margin / bytes_per_submission


@overload
def bounded(
    fee: float, *, fee_margin: float = ..., lower_bound: float | None = ..., upper_bound: float | None = ...
) -> float: ...
@overload
def bounded(
    fee: Numbers[Reals], *, fee_margin: Numbers[Reals] = ..., lower_bound: Numbers[Reals] | None = ...,
    upper_bound: Numbers[Reals] | None = ...
) -> Reals: ...  # fmt: skip
@formula
def bounded(
    fee: ArrayLike,
    *,
    fee_margin: ArrayLike = 0.0,
    lower_bound: ArrayLike | None = None,
    upper_bound: ArrayLike | None = None,
) -> Real:
    """Fee plus a margin, limited to a range: `min(max(fee + fee_margin, lower_bound), upper_bound)`.

    Parameters
    ----------
    fee : fee before the margin [wei].
    fee_margin : amount added to the fee [wei].
    lower_bound, upper_bound : minimum and maximum of the result; `None` for no bound [wei].

    All parameters broadcast against each other.

    Returns
    -------
    float for scalars, a float64 array otherwise [wei].

    Raises
    ------
    InvalidInput : a negative or non-finite value, or an upper bound below the lower bound.

    >>> bounded(9_999_999_950.0, fee_margin=100.0, lower_bound=1_000_000.0, upper_bound=10_000_000_000.0)
    10000000000.0
    """
    result = real("fee", fee) + real("fee_margin", fee_margin)
    lower = None if lower_bound is None else real("lower_bound", lower_bound)
    return _bounded(result, lower, None if upper_bound is None else real("upper_bound", upper_bound))


def _bounded(result: Real, lower: Real | None, upper: Real | None) -> Real:
    if lower is not None and upper is not None and np.any(np.less(upper, lower)):
        bounds, below = np.broadcast_arrays(np.asarray(upper), np.less(upper, lower))
        raise_first("upper_bound", "expected at least the lower bound", bounds, below)
    if lower is not None:
        result = np.maximum(result, lower)
    if upper is not None:
        result = np.minimum(result, upper)
    return _scalar(result)


@overload
def sample_gas_price(
    variable_cost: float, *, fixed_cost: float, compressed_size: float = ..., gas: float = ..., multiplier: float = ...
) -> float: ...
@overload
def sample_gas_price(
    variable_cost: Numbers[Reals], *, fixed_cost: Numbers[Reals], compressed_size: Numbers[Reals] = ...,
    gas: Numbers[Reals] = ..., multiplier: Numbers[Reals] = ...
) -> Reals: ...  # fmt: skip
@formula
def sample_gas_price(
    variable_cost: ArrayLike,
    *,
    fixed_cost: ArrayLike,
    compressed_size: ArrayLike = COORDINATOR.sample_compressed_size,
    gas: ArrayLike = COORDINATOR.sample_gas,
    multiplier: ArrayLike = 1.0,
) -> Real:
    """Legacy gas price that the rollup announces, computed for a sample transaction.

        multiplier · (variable_cost · compressed_size / gas + fixed_cost)

    Parameters
    ----------
    variable_cost : cost of one compressed byte [wei / byte].
    fixed_cost : cost of one unit of gas [wei / gas].
    compressed_size, gas : size [byte] and gas [gas] of the sample transaction; the gas is above 0.
    multiplier : factor by which the price is multiplied [1].

    All parameters broadcast against each other.

    Returns
    -------
    float for scalars, a float64 array otherwise: the gas price [wei / gas].

    Raises
    ------
    InvalidInput : a negative or non-finite value, or zero gas.

    >>> sample_gas_price(1e9, fixed_cost=3e7, compressed_size=250)
    41904761.9047619
    """
    size = real("compressed_size", compressed_size, unit="bytes")
    per_gas = _fee("variable_cost", variable_cost) * size / _above_zero("gas", gas)
    return _scalar(real("multiplier", multiplier) * (per_gas + _fee("fixed_cost", fixed_cost)))


def usage_weighted_gas_price(
    base_fees: Sequence[float],
    priority_fees: Sequence[float],
    gas_used_ratios: Sequence[float],
    blob_base_fees: Sequence[float],
    blob_gas_used_ratios: Sequence[float],
    *,
    base_fee_coefficient: float = 0.1,
    priority_fee_coefficient: float = 1.0,
    blob_base_fee_coefficient: float = 0.1,
    execution_gas: float,
    blob_gas: float,
) -> float:
    """Gas price by the rule before September 2024: average of scaled L1 fees, weighted by the gas used ratio.

        Σ (base · c_base + priority · c_priority) · ratio / Σ ratio
        + Σ blob · ratio / Σ ratio · c_blob · blob_gas / execution_gas

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
    """  # fmt: skip
    ratios = _reals("gas_used_ratios", gas_used_ratios)
    blob_ratios = _reals("blob_gas_used_ratios", blob_gas_used_ratios)
    blocks = zip(
        _of_blocks("base_fees", base_fees, ratios), _of_blocks("priority_fees", priority_fees, ratios), strict=True
    )
    execution_fees = [base * base_fee_coefficient + priority * priority_fee_coefficient for base, priority in blocks]
    blob_fee = _weighted(_of_blocks("blob_base_fees", blob_base_fees, blob_ratios), blob_ratios)
    per_gas = real_scalar("blob_gas", blob_gas, unit="gas") / above_zero("execution_gas", execution_gas, unit="gas")
    return _weighted(execution_fees, ratios) + blob_fee * blob_base_fee_coefficient * per_gas


def calldata_sum(
    block_sizes: Sequence[int],
    *,
    block_count: int = COORDINATOR.calldata_blocks,
    overhead: int = COORDINATOR.block_overhead,
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
    count = whole_scalar("block_count", block_count)
    if len(block_sizes) < count:
        return 0
    non_calldata = whole_scalar("overhead", overhead, unit="bytes")
    newest = [*block_sizes][len(block_sizes) - count :]
    return sum(max(0, whole_scalar("block_sizes", size, unit="bytes") - non_calldata) for size in newest)


@overload
def calldata_pressure(calldata: float, *, max_block_calldata: float = ..., block_count: int = ...) -> float: ...
@overload
def calldata_pressure(
    calldata: Numbers[Reals], *, max_block_calldata: Numbers[Reals] = ..., block_count: int = ...
) -> Reals: ...
@formula
def calldata_pressure(
    calldata: ArrayLike,
    *,
    max_block_calldata: ArrayLike = COORDINATOR.max_block_calldata,
    block_count: int = COORDINATOR.calldata_blocks,
) -> Real:
    """Calldata of the last blocks relative to the target: `clamp((calldata − target) / target, −1, 1)`.

    Parameters
    ----------
    calldata : sum over the last `block_count` blocks [byte], see `calldata_sum`.
    max_block_calldata : maximum calldata of one block, above 0 [byte]. The target of `calldata` is
        `max_block_calldata · block_count / 2`.
    block_count : number of newest blocks whose calldata is added up, above 0.

    Returns
    -------
    float for scalars, a float64 array otherwise [1].

    Raises
    ------
    InvalidInput : a negative or non-finite value, or a target of 0.

    The target is 109,000 · 5 / 2 = 272,500 bytes:

    >>> calldata_pressure(408_750)
    0.5
    """
    target = _above_zero("max_block_calldata", max_block_calldata) * _above_zero("block_count", block_count) / 2.0
    return _scalar(np.clip((real("calldata", calldata, unit="bytes") - target) / target, -1.0, 1.0))


@overload
def calldata_variable_cost(
    variable_cost: float, latest_variable_cost: float, calldata: float, *, max_block_calldata: float = ...,
    block_count: int = ..., denominator: float = ...
) -> float: ...  # fmt: skip
@overload
def calldata_variable_cost(
    variable_cost: Numbers[Reals], latest_variable_cost: Numbers[Reals], calldata: Numbers[Reals], *,
    max_block_calldata: Numbers[Reals] = ..., block_count: int = ..., denominator: Numbers[Reals] = ...
) -> Reals: ...  # fmt: skip
@formula
def calldata_variable_cost(
    variable_cost: ArrayLike,
    latest_variable_cost: ArrayLike,
    calldata: ArrayLike,
    *,
    max_block_calldata: ArrayLike = COORDINATOR.max_block_calldata,
    block_count: int = COORDINATOR.calldata_blocks,
    denominator: ArrayLike = COORDINATOR.calldata_fee_denominator,
) -> Real:
    """Variable cost under calldata pressure: `max(variable_cost, latest_variable_cost · (1 + pressure / denominator))`.

    The result is not limited to the upper bound of the variable cost, so sustained pressure raises the cost without
    limit.

    Parameters
    ----------
    variable_cost : variable cost computed from L1 fees, within its bounds [wei / byte].
    latest_variable_cost : variable cost in the newest block's pricing record [wei / byte].
    calldata : calldata in the last `block_count` blocks [byte].
    max_block_calldata : maximum calldata of one block, above 0 [byte].
    block_count : number of newest blocks whose calldata is added up; 0 turns the rule off.
    denominator : divisor of the pressure, above 0 [1]. The larger `denominator` is, the more slowly the cost changes.

    Returns
    -------
    float for scalars, a float64 array otherwise [wei / byte].

    Raises
    ------
    InvalidInput : a negative or non-finite value, or a zero divisor.

    The last five blocks are full of calldata, so the cost is 15,000 · (1 + 1 / 32):

    >>> calldata_variable_cost(15_000.0, 15_000.0, 545_000)
    15468.75
    """
    cost = _fee("variable_cost", variable_cost)
    if block_count == 0:
        return cost
    pressure = calldata_pressure(calldata, max_block_calldata=max_block_calldata, block_count=block_count)
    moved = _fee("latest_variable_cost", latest_variable_cost) * (
        1.0 + pressure / _above_zero("denominator", denominator)
    )
    return _scalar(np.maximum(cost, moved))


def weighted_moving_average_fee(
    base_fees: Sequence[float],
    priority_fees: Sequence[float],
    gas_used_ratios: Sequence[float],
    *,
    base_fee_coefficient: float,
    priority_fee_coefficient: float,
) -> float:
    """Fee that the coordinator offers for its own L1 transactions.

    The fee is the newest base fee plus an average of recent priority fees, in which later blocks have more weight:

        base_newest · c_base + c_priority · (Σ ratio_i · (i + 1) · priority_i) / (Σ ratio_i · (i + 1))

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
    """  # fmt: skip
    ratios, fees = _reals("gas_used_ratios", gas_used_ratios), _reals("base_fees", base_fees)
    if not fees:
        raise InvalidInput("base_fees", "expected at least one block", [])
    newest = fees[-1]
    weights = [ratio * (i + 1) for i, ratio in enumerate(ratios)]
    offers = _of_blocks("priority_fees", priority_fees, ratios)
    tips = [weight * tip for weight, tip in zip(weights, offers, strict=True)]
    divisor = _ordered_sum(weights)
    tip = 0.0 if divisor == 0.0 else _ordered_sum(tips) / divisor
    return newest * base_fee_coefficient + priority_fee_coefficient * tip


def submission_fees(tip: float, base_fee: int, *, max_fee_cap: int, max_priority_fee_cap: int) -> tuple[int, int]:
    """Dynamic fees of the coordinator's own L1 transaction.

        max priority fee = min(trunc(tip), max_priority_fee_cap)
        max fee          = min(2 · base_fee + max priority fee, max_fee_cap)

    Parameters
    ----------
    tip : priority fee that the coordinator intends to offer, see `weighted_moving_average_fee` [wei / gas].
    base_fee : base fee of the next L1 block [wei / gas].
    max_fee_cap, max_priority_fee_cap : upper bounds of the max fee and of the max priority fee [wei / gas].

    Returns
    -------
    (max priority fee, max fee), two ints [wei / gas].

    Raises
    ------
    InvalidInput : a value that is negative or not finite, or a float in place of whole wei.

    >>> submission_fees(1229.5, 140, max_fee_cap=10**9, max_priority_fee_cap=10**8)
    (1229, 1509)
    """
    offered = min(int(real_scalar("tip", tip)), whole_scalar("max_priority_fee_cap", max_priority_fee_cap))
    fee = 2 * whole_scalar("base_fee", base_fee, unit="wei") + offered
    return offered, min(fee, whole_scalar("max_fee_cap", max_fee_cap))


def dynamic_gas_price_cap(
    historic_cap: int,
    *,
    elapsed: float,
    target: float,
    time_of_day_multiplier: float = 1.0,
    adjustment_constant: float = 25.0,
) -> int:
    """Maximum gas price that the coordinator pays on L1; the maximum rises while data waits for its submission.

        trunc( historic_cap · (1 + adjustment_constant · time_of_day_multiplier · (elapsed / target)²) )

    Parameters
    ----------
    historic_cap : a percentile of past L1 gas prices [wei / gas].
    elapsed : time for which the oldest block has been waiting for its submission.
    target : time within which the block should be finalized, above 0, in the same unit as `elapsed`.
    time_of_day_multiplier : factor for the hour of the week [1].
    adjustment_constant : increase of the multiplier when the target is reached [1].

    Returns
    -------
    int [wei / gas].

    Raises
    ------
    InvalidInput : a value that is negative or not finite, a zero target, or a float for `historic_cap`.

    >>> dynamic_gas_price_cap(1_000_000_000, elapsed=16, target=32, time_of_day_multiplier=1.75)
    11937500000
    """
    cap = whole_scalar("historic_cap", historic_cap, unit="wei")
    share = real_scalar("elapsed", elapsed) / _above_zero("target", target)
    multiplier = real_scalar("time_of_day_multiplier", time_of_day_multiplier)
    constant = real_scalar("adjustment_constant", adjustment_constant)
    return int(cap * (1.0 + constant * multiplier * share**2))


def _fee(name: str, value: Any) -> Real:
    return real(name, value, unit="wei")


def _above_zero(name: str, value: Any) -> Real:
    number = real(name, value)
    if np.any(np.less_equal(number, 0.0)):
        raise_first(name, "expected a number above 0", np.asarray(number), np.asarray(number) <= 0.0)
    return number


def _reals(name: str, values: Sequence[float]) -> list[float]:
    array = real(name, values)
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
    if not ratios:
        return 0.0
    weight = _ordered_sum(ratios)
    if weight == 0.0:
        return _ordered_sum(fees) / len(fees)
    return _ordered_sum([fee * ratio for fee, ratio in zip(fees, ratios, strict=True)]) / weight


def _ordered_sum(values: Sequence[float]) -> float:
    # Add the values from left to right, as the coordinator does. Pairwise sums (NumPy) and compensated sums (Python
    # 3.12) may differ in the last bit.
    return reduce(add, values, 0.0)


def _scalar(value: Any) -> Real:
    numbers: Real = float(value) if np.ndim(value) == 0 else value
    return numbers
