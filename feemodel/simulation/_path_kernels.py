"""Compiled loops over the steps of a path, where each value depends on the previous value."""

import numpy as np

from feemodel._compiled import cached_njit
from feemodel.ethereum._fee_market_kernels import next_base_fee, next_excess_blob_gas
from feemodel.ethereum.fee_market import BASE_FEE_CHANGE_DENOMINATOR, GAS_PER_BLOB
from feemodel.linea.kernels import recorded


@cached_njit(nogil=True, error_model="numpy")
def drive(demand, blobs, base_fee, excess, gas_limit, target, maximum, fraction, reserve):  # type: ignore[no-untyped-def]
    """Return the base fee, the excess blob gas and the gas used of each block.

    Each block uses min(gas_limit / 2 · demand / base_fee, gas_limit) gas.
    """
    count = demand.size
    base_fees = np.empty(count, dtype=np.int64)
    excesses = np.empty(count, dtype=np.int64)
    used = np.empty(count, dtype=np.int64)
    half = gas_limit // 2
    for i in range(count):
        base_fees[i], excesses[i] = base_fee, excess
        used[i] = np.int64(min(half * demand[i] / base_fee, float(gas_limit)))
        excess = next_excess_blob_gas(excess, blobs[i] * GAS_PER_BLOB, base_fee, target, maximum, fraction, reserve)
        base_fee = next_base_fee(base_fee, used[i], half, half, BASE_FEE_CHANGE_DENOMINATOR)
    return base_fees, excesses, used


@cached_njit(nogil=True)
def under_pressure(cost, growth, latest=0.0):  # type: ignore[no-untyped-def]
    """Return the announced cost at each update: max(cost from L1 fees, growth · previously announced cost).

    Parameters
    ----------
    cost : cost from L1 fees at each update, already limited to the bounds of the pricing rule [wei / byte].
    growth : factor `1 + pressure / denominator` at each update, by which calldata pressure multiplies the previously
        announced cost [1].
    latest : announced cost before the first update [wei / byte].

    Returns
    -------
    Announced cost at each update [wei / byte].
    """
    announced = np.empty(cost.size, dtype=np.int64)
    for i in range(cost.size):
        latest = recorded(max(cost[i], latest * growth[i]))
        announced[i] = latest
    return announced
