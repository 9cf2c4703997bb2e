"""Compiled simulation of L1 fees, block by block.

The fees approach given prices as fast as the protocol's fee rules allow.
"""

import math

import numpy as np

from feemodel._compiled import cached_njit
from feemodel.ethereum._fee_market_kernels import blob_base_fee, next_base_fee, next_excess_blob_gas
from feemodel.ethereum.fee_market import BASE_FEE_CHANGE_DENOMINATOR, GAS_PER_BLOB

RESPONSE = 8.0  # time constant with which the excess blob gas approaches the value for the given blob base fee [blocks]


@cached_njit(nogil=True, error_model="numpy")
def follow(  # type: ignore[no-untyped-def]
    times, prices, blob_prices, noise, blob_noise, base_fee, excess, gas_limit, target, maximum, update_fraction,
    reserve, block_seconds, every, base_fees, excesses,
):  # fmt: skip
    """Compute the base fee and the excess blob gas of the first block of each step, on each path.

        gas used = min(gas limit, gas limit / 2 · price · exp(noise) / base fee)
        blobs = target + (given excess − excess) / (gas per blob · RESPONSE) + blob noise, rounded, from 0 to maximum

    `given excess` is the excess blob gas at which the blob base fee equals the given blob price. The fees of a block
    are computed from its parent block by EIP-1559, EIP-4844 and EIP-7918.

    Prices are logarithms, (paths, knots), interpolated linearly between `times`, (knots,) [s], of which the first is at
    most 0. Noise is (paths, blocks). The outputs, (paths, steps), have the first block of each `every` blocks.
    """
    half = gas_limit // 2
    for path in range(prices.shape[0]):
        fee, gas, knot = base_fee, excess, 0
        for block in range(noise.shape[1]):
            if block % every == 0:
                base_fees[path, block // every] = fee
                excesses[path, block // every] = gas
            time = block * block_seconds
            while knot < times.size - 2 and times[knot + 1] <= time:
                knot += 1
            part = min(1.0, (time - times[knot]) / (times[knot + 1] - times[knot]))
            price = prices[path, knot] + part * (prices[path, knot + 1] - prices[path, knot])
            blob_price = blob_prices[path, knot] + part * (blob_prices[path, knot + 1] - blob_prices[path, knot])
            used = np.int64(min(half * math.exp(price + noise[path, block]) / fee, float(gas_limit)))
            missing = (update_fraction * max(blob_price, 0.0) - gas) / (GAS_PER_BLOB * RESPONSE)
            blobs = min(max(round(target + missing + blob_noise[path, block]), 0.0), float(maximum))
            gas = next_excess_blob_gas(
                gas, np.int64(blobs) * GAS_PER_BLOB, fee, target * GAS_PER_BLOB, maximum * GAS_PER_BLOB,
                update_fraction, reserve,
            )  # fmt: skip
            fee = next_base_fee(fee, used, half, half, BASE_FEE_CHANGE_DENOMINATOR)


@cached_njit(nogil=True, error_model="numpy")
def blob_base_fees(excesses, update_fraction):  # type: ignore[no-untyped-def]
    """Return the blob base fee for each element of a two-dimensional array of excess blob gas [wei / gas].

    >>> blob_base_fees(np.array([[0, 2_314_058]]), 3_338_477).tolist()
    [[1, 2]]
    """
    found = np.empty_like(excesses)
    for row in range(excesses.shape[0]):
        for column in range(excesses.shape[1]):
            found[row, column] = blob_base_fee(excesses[row, column], update_fraction)
    return found
