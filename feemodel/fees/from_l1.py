"""The priority fee straight from L1 fees: L1 base fee and blob base fee → variable cost → pricing record → fee."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from feemodel.fees.pricing import variable_cost
from feemodel.fees.priority import priority_fee
from feemodel.fees.record import MAX_KWEI
from feemodel.units import WEI_PER_KWEI

BLOB_GAS = 131_072  # of one blob [gas]
EXECUTION_GAS = 65_250  # of a submission [gas]; Consensys/linea-monorepo at cb180134, coordinator configuration
USABLE_BLOB_BYTES = 130_048  # 4,096 field elements of 254 bits


def recorded_variable_cost(
    base_fee: ArrayLike,
    blob_base_fee: ArrayLike,
    *,
    tip: ArrayLike = 0,
    execution_gas: ArrayLike = EXECUTION_GAS,
    blob_gas: ArrayLike = BLOB_GAS,
    bytes_per_submission: ArrayLike = USABLE_BLOB_BYTES,
    cost_margin: ArrayLike = 1.0,
) -> Any:
    """The variable cost that a block's pricing record holds at these L1 fees: whole kwei, at most 2**32 − 1 of them.

    Parameters
    ----------
    base_fee, tip, blob_base_fee : of L1 [wei / gas].
    execution_gas, blob_gas : of a submission [gas].
    bytes_per_submission : compressed bytes that it carries [byte].
    cost_margin : the coordinator's own, apart from the margin of the fee [1].

    Returns
    -------
    int for scalars, an int64 array otherwise [wei / byte].

    (7e7 + 1e8) · 65,250 + 4e6 · 131,072 = 11,616,788,000,000 over 130,048 is 89,326,925.4 wei:

    >>> recorded_variable_cost(70_000_000, 4_000_000, tip=100_000_000)
    89326000
    """
    cost = variable_cost(
        base_fee,
        tip,
        blob_base_fee,
        execution_gas=execution_gas,
        blob_gas=blob_gas,
        bytes_per_submission=bytes_per_submission,
        margin=cost_margin,
    )
    kwei = np.minimum(np.trunc(np.divide(cost, WEI_PER_KWEI)), MAX_KWEI)
    return kwei.astype(np.int64) * WEI_PER_KWEI if isinstance(cost, np.ndarray) else int(kwei) * WEI_PER_KWEI


def priority_fee_from_l1(
    compressed_size: ArrayLike,
    gas: ArrayLike,
    *,
    base_fee: ArrayLike,
    blob_base_fee: ArrayLike,
    tip: ArrayLike = 0,
    execution_gas: ArrayLike = EXECUTION_GAS,
    blob_gas: ArrayLike = BLOB_GAS,
    bytes_per_submission: ArrayLike = USABLE_BLOB_BYTES,
    cost_margin: ArrayLike = 1.0,
    fixed_cost: ArrayLike = 0,
    margin: ArrayLike = 1.0,
) -> Any:
    """The priority fee per gas in the cost-per-byte form, with the variable cost that L1 fees give.

    Parameters
    ----------
    compressed_size, gas, fixed_cost, margin : as in `feemodel.priority_fee`.
    The rest as in `recorded_variable_cost`.

    Returns
    -------
    int for scalars, an int64 array otherwise [wei / gas].

    Raises
    ------
    InvalidInput, Int64Overflow : as in `feemodel.priority_fee` and `feemodel.variable_cost`.

    89,326,000 · 128 div 21,000 = 544,463, and 30,000,000 more:

    >>> priority_fee_from_l1(
    ...     128, 21_000, base_fee=70_000_000, blob_base_fee=4_000_000, tip=100_000_000, fixed_cost=30_000_000
    ... )
    30544463
    """
    cost = recorded_variable_cost(
        base_fee,
        blob_base_fee,
        tip=tip,
        execution_gas=execution_gas,
        blob_gas=blob_gas,
        bytes_per_submission=bytes_per_submission,
        cost_margin=cost_margin,
    )
    return priority_fee(compressed_size, gas, variable_cost=cost, fixed_cost=fixed_cost, margin=margin)
