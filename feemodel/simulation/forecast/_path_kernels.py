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

    Parameters
    ----------
    times : times at which prices are given, (knots,), increasing; the first is at most 0 [s].
    prices : logarithms of base fees at `times`, (paths, knots), interpolated linearly [log(wei / gas)].
    blob_prices : logarithms of blob base fees at `times`, (paths, knots) [log(wei / gas)].
    noise : random deviation of the logarithm of gas demand in each block, (paths, blocks) [1].
    blob_noise : random deviation of the number of blobs in each block, (paths, blocks) [blobs].
    base_fee : base fee of the first block [wei / gas].
    excess : excess blob gas of the first block [gas].
    gas_limit : gas limit of a block [gas].
    target, maximum : target and maximum number of blobs in a block.
    update_fraction : `BLOB_BASE_FEE_UPDATE_FRACTION` of EIP-4844 [gas].
    reserve : whether the reserve price of EIP-7918 is active.
    block_seconds : time between blocks [s].
    every : number of blocks in a step.
    base_fees : output, base fees, (paths, steps) [wei / gas].
    excesses : output, excess blob gas, (paths, steps) [gas].
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
