"""Compiled twins of the formulas that sweeps are bound by; equal to the NumPy forms by test.

A kernel makes one pass over the memory and reports, instead of raising, that an element left the range in which
its arithmetic is proven: the caller then takes the NumPy form, which names the element or handles it.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from feemodel.checks import INT64_MAX, WholeArray
from feemodel.compiled import kept
from feemodel.processors import cores

BLOCK = 1 << 18  # elements a task: 2 MiB an array, so that a block's inputs and outputs meet in the cache
PROVEN = 2.0**52  # below it the double quotient is at most one off and truncation needs no decimal
SUM_LIMIT = 2.0**53  # of the quotient: 64 bits hold its sum with a fixed cost below `PROVEN`


def priority_fee(
    compressed_size: WholeArray,
    gas: WholeArray,
    variable_cost: int,
    fixed_cost: int,
    margin: float,
    out: WholeArray | None = None,
) -> WholeArray | None:
    """`feemodel.priority_fee` over two int64 arrays of one shape, or `None` where an element is out of range.

    `out`, if given, is a contiguous int64 array of that shape; after `None` what it holds is undefined.

    >>> import numpy as np
    >>> priority_fee(np.array([128]), np.array([21_000]), 1_000_000_000, 30_000_000, 1.2)
    array([43314285])
    >>> priority_fee(np.array([128]), np.array([0]), 1_000_000_000, 30_000_000, 1.2) is None
    True
    """
    if variable_cost > INT64_MAX or fixed_cost >= PROVEN:
        return None
    size, gas_ = np.ascontiguousarray(compressed_size).reshape(-1), np.ascontiguousarray(gas).reshape(-1)
    result = np.empty(compressed_size.shape, dtype=np.int64) if out is None else out
    fees = result.reshape(-1)
    size_limit = INT64_MAX // max(variable_cost, 1)

    def block(start: int) -> bool:
        part = slice(start, start + BLOCK)
        return bool(_priority_fee(size[part], gas_[part], variable_cost, fixed_cost, margin, size_limit, fees[part]))

    with ThreadPoolExecutor(max_workers=cores()) as pool:
        in_range = all(pool.map(block, range(0, size.size, BLOCK)))
    return result if in_range else None


@kept(nogil=True, error_model="numpy")  # a zero divisor is reported, not raised
def _priority_fee(size, gas, variable_cost, fixed_cost, margin, size_limit, fees):  # type: ignore[no-untyped-def]
    out_of_range = False
    for i in range(size.size):
        cost = variable_cost * size[i]
        # A 64-bit integer division has no vector form. The quotient of the doubles is off by one at most (it is
        # below 2**52, or the element is reported), and the integer remainder puts it right.
        ratio = np.float64(cost) / np.float64(gas[i])
        quotient = np.int64(ratio)
        remainder = cost - quotient * gas[i]
        quotient += np.int64(remainder >= gas[i]) - np.int64(remainder < 0)
        before_margin = quotient + fixed_cost
        fee = margin * np.float64(before_margin)
        out_of_range |= (
            (size[i] < 0)
            | (size[i] > size_limit)
            | (gas[i] < 1)
            | (ratio >= SUM_LIMIT)  # first: beyond it the sum with the fixed cost might wrap to a small number
            | (before_margin >= PROVEN)
            | (fee >= PROVEN)
        )
        fees[i] = np.int64(fee)
    return not out_of_range
