"""Compiled kernels of `feemodel.ethereum.fee_market` that compute one block from its parent.

Inputs are int64 and are not checked: base fees and gas must be below 2**62, update fractions below 2**41.
"""

import math

import numpy as np

from feemodel._compiled import cached_njit
from feemodel.ethereum.fee_market import BLOB_BASE_COST, GAS_PER_BLOB

SERIES_ERROR = 1e-4  # upper bound of the relative difference between the integer series and the exponential
EXACT = 2.0**61  # maximum of update_fraction · e**(excess / update_fraction) at which the series fits 64 bits


@cached_njit(makes_arrays=False, nogil=True, error_model="numpy")
def next_base_fee(base_fee, gas_used, target, compared_target, denominator):  # type: ignore[no-untyped-def]
    """Base fee of the next block for a given gas target, see `feemodel.ethereum.fee_market.next_base_fee`.

    >>> int(next_base_fee(1_000_000_000, 11_000_000, 10_000_000, 10_000_000, 8))
    1012500000
    """
    distance = abs(gas_used - compared_target)
    # compute base_fee · distance // target as a sum of two terms, so that every product fits 64 bits
    step = (base_fee // target * distance + base_fee % target * distance // target) // denominator
    return base_fee + max(step, 1) if gas_used > compared_target else base_fee - step


@cached_njit(nogil=True, error_model="numpy")
def blob_base_fee(excess, update_fraction):  # type: ignore[no-untyped-def]
    """Price of blob gas [wei / gas], see `feemodel.ethereum.fee_market.blob_base_fee`.

    Up to about 100 gwei, the terms of the integer series fit 64 bits, and the result is the series. At higher prices,
    the result is exp(excess / update_fraction) in doubles, at most 2**62. A result below 2**62 differs from the series
    by less than one part in 10**9.

    >>> int(blob_base_fee(2_314_058, 3_338_477))
    2
    """
    estimate = math.exp(excess / update_fraction)
    if not estimate * update_fraction < EXACT:
        return np.int64(min(estimate, 2.0**62))
    term, total, i = update_fraction, 0, 1
    while term > 0:
        total += term
        divisor = update_fraction * i
        # Compute term · excess // divisor in doubles, then correct the quotient by the remainder modulo 2**64.
        quotient = np.int64(np.float64(term) * np.float64(excess) / np.float64(divisor))
        remainder = term * excess - quotient * divisor
        term = quotient + remainder // divisor
        i += 1
    return total // update_fraction


@cached_njit(nogil=True, error_model="numpy")
def reserve_binds(excess, base_fee, update_fraction):  # type: ignore[no-untyped-def]
    """Return the result of `feemodel.ethereum.fee_market.reserve_binds` for blob rules with a reserve price (EIP-7918).

    The exponential in doubles differs from the integer series by less than one part in 10,000 plus three wei. The
    series is summed only if the error of the exponential could change the result.

    >>> bool(reserve_binds(0, 17, 5_007_716)), bool(reserve_binds(0, 16, 5_007_716))
    (True, False)
    """
    ratio = GAS_PER_BLOB // BLOB_BASE_COST
    estimate = math.exp(excess / update_fraction)
    distance = estimate * SERIES_ERROR + 3.0
    if base_fee > ratio * (estimate + distance):
        return True
    if base_fee < ratio * (estimate - distance):
        return False
    return base_fee > ratio * blob_base_fee(excess, update_fraction)


@cached_njit(nogil=True, error_model="numpy")
def next_excess_blob_gas(excess, used, base_fee, target, maximum, update_fraction, reserve):  # type: ignore[no-untyped-def]
    """Excess blob gas of the next block [gas], see `feemodel.ethereum.fee_market.next_excess_blob_gas`.

    >>> int(next_excess_blob_gas(0, 4 * 131_072, 10**9, 3 * 131_072, 6 * 131_072, 3_338_477, False))
    131072
    """
    if excess + used < target:
        return np.int64(0)
    if reserve and reserve_binds(excess, base_fee, update_fraction):
        return excess + used * (maximum - target) // maximum
    return excess + used - target
