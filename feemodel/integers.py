"""Integer arithmetic that is exact for Python ints and for int64 arrays.

For Python ints, each function is equivalent to a plain Python operator. For arrays, each function returns the same
numbers as for Python ints, even if an intermediate product does not fit int64. A function raises `Int64Overflow` if its
result does not fit an int64 array.
"""

from collections.abc import Callable
from operator import add as plus
from operator import mul
from typing import Any, Generic, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from feemodel.checks import INT64_MAX, UINT64_MAX, Part, WholeArray, raise_first
from feemodel.errors import Int64Overflow, InvalidInput

Whole: TypeAlias = int | WholeArray
Truth: TypeAlias = bool | NDArray[np.bool_]

QUOTIENT_LIMIT = 2**62
DIVISOR_LIMIT = 2**51
SURE_LIMIT = 2.0**63 * (1 - 2.0**-50)  # if a result in doubles is below SURE_LIMIT, the exact result is below 2**63
MILLION = 10**6
NO_ROOM = "expected at most 2**63 - 1 with int64 arrays (Python ints have no limit)"


class FixedPoint(NamedTuple, Generic[Part]):
    """Fixed-point number with six decimals, in two fields that each fit 64 bits: whole · 10⁶ + millionths."""

    whole: Part
    millionths: Part  #: below 10⁶


NOTHING = FixedPoint(0, 0)


def require(name: str, reason: str, value: Whole, holds: Truth, error: type[InvalidInput] = InvalidInput) -> None:
    """Raise `error` for the first element of `value` at which a condition is false.

    >>> require("gas_used", "expected at most the gas limit", 5, 5 <= 7)
    """
    if isinstance(holds, (bool, np.bool_)):
        if not holds:
            raise error(name, reason, value)
    elif not holds.all():
        raise_first(name, reason, np.broadcast_to(np.asarray(value), holds.shape), ~holds, error)


def fitting(name: str, value: Whole) -> Whole:
    """Return the value; raise `Int64Overflow` for a Python int above 2**63 - 1.

    >>> fitting("fee", 5)
    5
    """
    if isinstance(value, int) and value > INT64_MAX:
        raise Int64Overflow(name, "expected at most 2**63 - 1 in a computation with arrays", value)
    return value


def multiply(name: str, *factors: Whole, reason: str = NO_ROOM) -> Whole:
    """Return the product of integers of at least 0; raise `Int64Overflow` if the product does not fit an int64 array.

    >>> multiply("fee", 10**12, 10**12)
    1000000000000000000000000
    """
    product = factors[0]
    for factor in factors[1:]:
        if not (isinstance(product, int) and isinstance(factor, int)):
            product, factor = fitting(name, product), fitting(name, factor)
            if _largest(product) * _largest(factor) > INT64_MAX:
                _check_each(name, reason, np.multiply, mul, product, factor)
        product = product * factor
    return product


def add(name: str, *terms: Whole, reason: str = NO_ROOM) -> Whole:
    """Return the sum of integers of at least 0; raise `Int64Overflow` if the sum does not fit an int64 array.

    >>> add("fee", 2**63, 1)
    9223372036854775809
    """
    total = terms[0]
    for term in terms[1:]:
        if not (isinstance(total, int) and isinstance(term, int)):
            total, term = fitting(name, total), fitting(name, term)
            if _largest(total) + _largest(term) > INT64_MAX:
                _check_each(name, reason, np.add, plus, total, term)
        total = total + term
    return total


def multiply_divide(name: str, value: Whole, factor: Whole, divisor: Whole, addend: Whole = 0) -> Whole:
    """Return `(value * factor + addend) // divisor` of integers of at least 0; the product may exceed 2**63.

    For arrays, the quotient is computed in doubles and corrected by the remainder. The computation in doubles rounds
    four times, so the error of a quotient below 2**62 is less than 2**11 + 1. If the divisor is at most 2**51, the
    remainder of the inexact quotient is within ±2**63, and int64 arithmetic (modulo 2**64) computes the remainder
    exactly. Elements beyond `QUOTIENT_LIMIT` or `DIVISOR_LIMIT` are computed one by one as Python ints.

    Raises `Int64Overflow` if the quotient does not fit an int64 array.

    >>> multiply_divide("fee", 100_000_000, 40_583_973_580, 10**12)
    4058397
    >>> multiply_divide("fee", np.array([100_000_000_000]), np.array([5_000_000_000_000_000]), 10**12)
    array([500000000000000])
    """
    if isinstance(value, int) and isinstance(factor, int) and isinstance(divisor, int) and isinstance(addend, int):
        return (value * factor + addend) // divisor
    value, factor, divisor, addend = (fitting(name, operand) for operand in (value, factor, divisor, addend))
    estimate = np.multiply(value, factor, dtype=np.float64) / divisor
    if (
        _largest(divisor) <= DIVISOR_LIMIT
        and _largest(addend) < QUOTIENT_LIMIT
        and not (estimate.size and estimate.max() >= QUOTIENT_LIMIT)
    ):
        return divided_product(value, factor, divisor, addend)
    operands = np.broadcast_arrays(value, factor, divisor, addend)
    beyond = (estimate >= QUOTIENT_LIMIT) | (operands[2] > DIVISOR_LIMIT) | (operands[3] >= QUOTIENT_LIMIT)
    with np.errstate(invalid="ignore"):  # the loop below replaces the quotients beyond the limits
        quotient = np.broadcast_to(divided_product(*operands), beyond.shape).copy()
    for index in zip(*np.nonzero(beyond), strict=True):
        first, second, by, more = (int(operand[index]) for operand in operands)
        quotient[index] = _held(name, (first * second + more) // by, NO_ROOM, index)
    return quotient


def divided_product(value: Any, factor: Any, divisor: Any, addend: Any = 0) -> WholeArray:
    """Return the result of `multiply_divide` for operands within `QUOTIENT_LIMIT` and `DIVISOR_LIMIT`.

    At least one operand must be an array.
    """
    value, factor = np.asarray(value, dtype=np.int64), np.asarray(factor, dtype=np.int64)
    quotient = (np.multiply(value, factor, dtype=np.float64) / divisor).astype(np.int64)
    remainder = value * factor - quotient * divisor
    if isinstance(addend, int) and addend == 0:
        return np.asarray(quotient + remainder // divisor)
    return np.asarray(quotient + remainder // divisor + (remainder % divisor + addend) // divisor)


def product_in_parts(name: str, value: Whole, factor: Whole) -> FixedPoint:
    """Return value · factor / 10⁶ as a fixed-point number.

    Raises `Int64Overflow` if the whole part of the result does not fit an int64 array.

    >>> product_in_parts("price", 30 * 10**9, 230_759_955_285)
    FixedPoint(whole=6922798658550000, millionths=0)
    """
    millionths: Whole = (value % MILLION) * (factor % MILLION) % MILLION
    return FixedPoint(multiply_divide(name, value, factor, MILLION), millionths)


def add_parts(name: str, one: FixedPoint, other: FixedPoint) -> FixedPoint:
    """Return the sum of two fixed-point numbers.

    >>> add_parts("price", FixedPoint(1, 600_000), FixedPoint(2, 700_000))
    FixedPoint(whole=4, millionths=300000)
    """
    millionths: Whole = one.millionths + other.millionths
    return FixedPoint(add(name, one.whole, other.whole, millionths // MILLION), millionths % MILLION)


def multiply_divide_parts(
    name: str, parts: FixedPoint, factor: Whole, divisor: Whole, addend: FixedPoint = NOTHING
) -> Whole:
    """Return (parts · factor + addend) // (divisor · 10⁶).

    The millionths of parts · factor + addend are first rounded down to a whole number; this does not change the
    quotient.

    >>> multiply_divide_parts("fee", FixedPoint(32_030, 0), 100, 10)
    320300
    """
    carried = multiply_divide(name, parts.millionths, factor, MILLION, addend.millionths)
    return multiply_divide(name, parts.whole, factor, divisor, add(name, carried, addend.whole))


def ceiling_divide(value: Whole, divisor: Whole) -> Whole:
    """Return `value / divisor`, rounded up.

    >>> ceiling_divide(7, 2)
    4
    """
    return -(-value // divisor)


def where(condition: Truth, value: Whole, otherwise: Whole) -> Whole:
    """Return `value` where the condition is true, else `otherwise`; scalars remain Python ints.

    >>> where(True, 2**70, 0)
    1180591620717411303424
    """
    if isinstance(condition, (bool, np.bool_)):
        return value if condition else otherwise
    return np.where(condition, fitting("value", value), fitting("value", otherwise))


def maximum(value: Whole, other: Whole) -> Whole:
    """Return the larger of two numbers; Python ints remain Python ints.

    >>> maximum(2**70, 0)
    1180591620717411303424
    """
    if isinstance(value, int) and isinstance(other, int):
        return max(value, other)
    return np.maximum(fitting("value", value), fitting("value", other))


def minimum(value: Whole, other: Whole) -> Whole:
    """Return the smaller of two numbers; Python ints remain Python ints.

    >>> minimum(2**70, 5)
    5
    """
    if isinstance(value, int) and isinstance(other, int):
        return min(value, other)
    return np.minimum(fitting("value", value), fitting("value", other))


def truncated(name: str, value: float | NDArray[np.float64]) -> Whole:
    """Truncate doubles of at least 0 to integers and limit them to 2**64 - 1, like a saturating cast.

    Raises `Int64Overflow` for an array element that does not fit int64.

    >>> truncated("price", 2.9), truncated("price", 1e20)
    (2, 18446744073709551615)
    """
    if isinstance(value, float):
        return int(value) if value < 2.0**64 else UINT64_MAX
    if value.size and value.max() >= 2.0**63:
        raise_first(name, NO_ROOM, value, value >= 2.0**63, Int64Overflow)
    return value.astype(np.int64)


def saturated(value: Whole) -> Whole:
    """Limit a value to the range of an unsigned 64-bit integer; an int64 array is returned unchanged.

    >>> saturated(2**70)
    18446744073709551615
    """
    return min(value, UINT64_MAX) if isinstance(value, int) else value


def _largest(value: Whole) -> int:
    if isinstance(value, int):
        return value
    return int(value.max()) if value.size else 0


def _check_each(
    name: str, reason: str, doubles: np.ufunc, exact: Callable[[int, int], int], left: Whole, right: Whole
) -> None:
    """Raise `Int64Overflow` for the first element that does not fit int64.

    All elements are first computed in doubles. The exact values are computed only for elements whose double is close to
    2**63 or larger.
    """
    estimate = np.asarray(doubles(left, right, dtype=np.float64))
    if not estimate.size or estimate.max() < SURE_LIMIT:
        return
    lefts, rights = np.broadcast_arrays(left, right)
    for index in zip(*np.nonzero(estimate >= SURE_LIMIT), strict=True):
        _held(name, exact(int(lefts[index]), int(rights[index])), reason, index)


def _held(name: str, value: int, reason: str, index: tuple[Any, ...]) -> int:
    if value > INT64_MAX:
        raise Int64Overflow(name, reason, value, tuple(map(int, index)) or None)
    return value
