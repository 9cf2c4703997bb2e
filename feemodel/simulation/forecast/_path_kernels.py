"""Compiled block-by-block paths of L1 fees that follow given prices as far as the protocol lets them."""

import math

import numpy as np

from feemodel._compiled import cached_njit
from feemodel.ethereum._fee_market_kernels import blob_base_fee, next_base_fee, next_excess_blob_gas
from feemodel.ethereum.fee_market import BASE_FEE_CHANGE_DENOMINATOR, GAS_PER_BLOB

RESPONSE = 8.0  # blocks in which excess blob gas makes up for most of its distance from a price


@cached_njit(nogil=True, error_model="numpy")
def follow(  # type: ignore[no-untyped-def]
    times, prices, blob_prices, noise, blob_noise, base_fee, excess, gas_limit, target, maximum, update_fraction,
    reserve, block_seconds, every, base_fees, excesses,
):  # fmt: skip
    """Fill in the base fee and the excess blob gas of every so many blocks, path by path.

    A block uses half its gas limit times the price over the base fee, at most all of it; its blobs are the target and a
    part of what lacks to the excess blob gas of the blob price. Each block's fees follow from its parent by EIP-1559,
    EIP-4844 and EIP-7918.

    Parameters
    ----------
    times : (knots), rising, the first at most 0 [s].
    prices, blob_prices : (paths, knots), logarithms, on lines between the knots [log(wei / gas)].
    noise : (paths, blocks), logarithm of demand around its price [1]; blob_noise : of the blobs of a block [blobs].
    base_fee, excess : of the first block [wei / gas], [gas].
    gas_limit : [gas]; target, maximum : [blobs]; update_fraction : [gas]; reserve : whether EIP-7918 is in force.
    block_seconds : [s]; every : how many blocks a step has.
    base_fees, excesses : (paths, steps), filled in: those of each step's first block [wei / gas], [gas].
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
    """The blob base fee of each excess blob gas of a matrix [wei / gas].

    >>> blob_base_fees(np.array([[0, 2_314_058]]), 3_338_477).tolist()
    [[1, 2]]
    """
    found = np.empty_like(excesses)
    for row in range(excesses.shape[0]):
        for column in range(excesses.shape[1]):
            found[row, column] = blob_base_fee(excesses[row, column], update_fraction)
    return found
