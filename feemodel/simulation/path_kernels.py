"""Compiled recurrences along a path: each value depends on the one before, so no array expression has them."""

import math

import numpy as np

from feemodel.compiled import kept


@kept(nogil=True, error_model="numpy")
def drive(demand, blobs, base_fee, excess, gas_limit, target, maximum, fraction, reserve):  # type: ignore[no-untyped-def]
    """Base fees, excess blob gas and gas used, block by block: `feemodel.ethereum.fee_market`'s rules in integers.

    A block uses half its limit times demand over base fee, at most all of it. The blob base fee that EIP-7918
    compares comes from the double exponential, which the integer series follows to less than 1 wei.
    """
    count = demand.size
    base_fees = np.empty(count, dtype=np.int64)
    excesses = np.empty(count, dtype=np.int64)
    used = np.empty(count, dtype=np.int64)
    half = gas_limit // 2
    for i in range(count):
        base_fees[i], excesses[i] = base_fee, excess
        gas = np.int64(min(half * demand[i] / base_fee, float(gas_limit)))
        used[i] = gas
        blob_gas = blobs[i] * 131_072
        if excess + blob_gas < target:
            following = 0
        elif reserve and base_fee > 16.0 * math.floor(math.exp(excess / fraction)):
            following = excess + blob_gas * (maximum - target) // maximum
        else:
            following = excess + blob_gas - target
        distance = abs(gas - half)
        # base_fee · distance // half in two parts, neither of which passes 64 bits
        step = (base_fee // half * distance + base_fee % half * distance // half) // 8
        base_fee = base_fee + max(step, 1) if gas > half else base_fee - step if gas < half else base_fee
        excess = following
    return base_fees, excesses, used


@kept(nogil=True)
def under_pressure(cost, growth):  # type: ignore[no-untyped-def]
    """Announced kwei, update by update: the greater of L1's cost and the last announced one times its growth.

    Parameters
    ----------
    cost : from L1 fees, bounded, one an update [wei / byte].
    growth : `1 + pressure / denominator`, one an update [1].
    """
    kwei = np.empty(cost.size, dtype=np.int64)
    latest = 0.0
    for i in range(cost.size):
        announced = max(cost[i], latest * growth[i])
        kwei[i] = np.int64(min(announced / 1_000.0, 4_294_967_295.0))  # as the record truncates and holds it
        latest = 1_000.0 * kwei[i]
    return kwei
