"""Compiled sums of a rule's L1 fees over millions of transactions and thousands of samples of L1 prices.

Individual fees are not stored, so the memory is proportional to transactions + samples, not to transactions · samples.
A test checks that each fee is the exact integer that `feemodel.rollups.factors.evaluate` computes. The sums of fees are
doubles.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from feemodel._compiled import cached_njit
from feemodel._processors import cores
from feemodel._records import compared_by_value
from feemodel.checks import WholeArray
from feemodel.errors import Int64Overflow
from feemodel.integers import DIVISOR_LIMIT, MILLION, fitting
from feemodel.rollups.factors import DOUBLE_EXACT, Factors, _with_margin

CHUNK = 4_096  # transactions per task
QUOTIENT_LIMIT = 2.0**60
UNITS_LIMIT = 2.0**50
OFFSET_LIMIT = 2.0**61
RATIO_LIMIT = 2.0**49  # maximum of units / divisor + offset / divisor


@compared_by_value
class Sums(NamedTuple):
    """Sums of fees [wei]."""

    by_transaction: NDArray[np.float64]  #: sum of the fees of each transaction over all samples
    by_sample: NDArray[np.float64]  #: sum of the fees of all transactions at each sample


def l1_sums(factors: Factors, transactions: int, samples: int) -> Sums:
    """Sum a rule's L1 fees over all samples for each transaction, and over all transactions for each sample.

    Parameters
    ----------
    factors : factors of the rule; every factor is a number, or a one-dimensional array with one value per transaction
        or per sample.
    transactions, samples : number of transactions and of samples.

    Raises `Int64Overflow` if a fee could exceed 2**60, or if an intermediate result could be inexact.

    >>> from feemodel.integers import FixedPoint
    >>> factors = Factors(np.array([7, 8]), FixedPoint(np.array([10, 20, 30]), 0), 4, gas=0, gas_price=0)
    >>> l1_sums(factors, 2, 3).by_sample
    array([ 37.,  75., 112.])
    """
    units, divisor, step = (_column(value, transactions) for value in (factors.units, factors.divisor, factors.step))
    price, millionths, offset, offset_millionths, fixed = (
        _column(value, samples) for value in (*factors.price, *factors.offset, factors.fixed)
    )
    fixed_price = _column(_with_margin(factors.fixed, factors.margin), samples)
    has_millionths = bool(millionths.any() or offset_millionths.any())
    if factors.check is not None and price.size:
        # The largest price and the largest fixed part belong to the same sample, so one check covers all samples.
        factors.check(units, int(price.max()), divisor, int(fixed.max()))
    _check_range(units, divisor, step, price, offset, fixed, factors.margin)
    margin = 1.0 if factors.margin is None else factors.margin
    by_transaction = np.empty(transactions)
    prices = price, millionths, offset, offset_millionths, fixed, fixed_price, margin

    def chunk(start: int) -> NDArray[np.float64]:
        part = slice(start, start + CHUNK)
        by_sample = np.zeros(samples)
        _sums(units[part], divisor[part], step[part], *prices, has_millionths, by_transaction[part], by_sample)
        return by_sample

    with ThreadPoolExecutor(max_workers=cores()) as pool:
        by_sample = np.zeros(samples)
        # Add the sums of the chunks in order, so that the result does not depend on the number of threads.
        for partial in pool.map(chunk, range(0, transactions, CHUNK)):
            by_sample += partial
    return Sums(by_transaction, by_sample)


# "reassoc" allows the compiler to reorder additions of doubles, and so to use SIMD instructions. This option does not
# affect integer arithmetic.
@cached_njit(nogil=True, error_model="numpy", fastmath={"reassoc"})
def _sums(  # type: ignore[no-untyped-def]
    units, divisor, step, price, millionths, offset, offset_millionths, fixed, fixed_price, margin, has_millionths,
    by_transaction, by_sample,
):  # fmt: skip
    for t in range(units.size):
        unit, whole_divisor = units[t], divisor[t]
        size, inverse = np.float64(unit), 1.0 / np.float64(whole_divisor)
        total = 0.0
        for m in range(price.size):
            # The quotient is below 2**60 and is computed with five roundings, so the error of the quotient is below
            # 2**10. The divisor is below 2**51, so the remainder fits into 64 bits. After `correction` is added, the
            # error of the quotient is at most 1.
            quotient = np.int64(size * np.float64(price[m]) * inverse)
            remainder = unit * price[m] + offset[m] - quotient * whole_divisor
            if has_millionths:
                part = np.int64(size * np.float64(millionths[m]) * (1.0 / MILLION))
                rest = unit * millionths[m] + offset_millionths[m] - part * MILLION
                remainder += part + np.int64(rest >= MILLION) - np.int64(rest < 0)
            correction = np.int64(np.floor(np.float64(remainder) * inverse))
            remainder -= correction * whole_divisor
            quotient += correction + np.int64(remainder >= whole_divisor) - np.int64(remainder < 0)
            before_margin = quotient + fixed[m]
            after_margin = np.int64(margin * np.float64(before_margin)) if margin != 1.0 else before_margin
            fee = np.float64(step[t] * (after_margin - fixed_price[m]))
            total += fee
            by_sample[m] += fee
        by_transaction[t] = total


def _check_range(
    units: WholeArray, divisor: WholeArray, step: WholeArray, price: WholeArray, offset: WholeArray,
    fixed: WholeArray, margin: float | None,
) -> None:  # fmt: skip
    if not (units.size and price.size):
        return
    ratio, added = units / divisor, float(offset.max()) / divisor
    largest = ratio * (float(price.max()) + 1) + added + 2
    # With a margin, the price and price · margin must be below 2**53, so that doubles represent them exactly.
    limit = QUOTIENT_LIMIT if margin is None else DOUBLE_EXACT / max(margin, 1.0)
    with np.errstate(over="ignore"):  # an infinite fee is out of range
        fee = largest * step * (1.0 if margin is None else margin)
    out_of_range = (
        (largest + float(fixed.max()) >= limit)
        | (fee >= QUOTIENT_LIMIT)
        | (units >= UNITS_LIMIT)
        | (divisor > DIVISOR_LIMIT)
        | (ratio + added >= RATIO_LIMIT)
        | (added * divisor >= OFFSET_LIMIT)
    )
    if out_of_range.any():
        index = int(np.argmax(out_of_range))
        reason = "expected transactions whose fees fit 64 bits at every sample"
        raise Int64Overflow("transactions", reason, int(units[index]), (index,))


def _column(value: Any, length: int) -> WholeArray:
    return np.ascontiguousarray(np.broadcast_to(np.asarray(fitting("l1_fee", value), dtype=np.int64), (length,)))
