"""Compiled kernel of `feemodel.ethereum.fee_market` that computes the base fee of a block from its parent.

Inputs are int64 and are not checked: base fees and gas must be below 2**62.
"""

from feemodel._compiled import cached_njit


@cached_njit(nogil=True, error_model="numpy")
def next_base_fee(base_fee, gas_used, target, compared_target, denominator):  # type: ignore[no-untyped-def]
    """Base fee of the next block for a given gas target, see `feemodel.ethereum.fee_market.next_base_fee`.

    >>> int(next_base_fee(1_000_000_000, 11_000_000, 10_000_000, 10_000_000, 8))
    1012500000
    """
    distance = abs(gas_used - compared_target)
    # compute base_fee · distance // target as a sum of two terms, so that every product fits 64 bits
    step = (base_fee // target * distance + base_fee % target * distance // target) // denominator
    return base_fee + max(step, 1) if gas_used > compared_target else base_fee - step
