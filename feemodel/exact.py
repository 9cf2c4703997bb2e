"""Integer arrays with the operators of Python's ints, exact up to 112 bits, for formulas in plain operators.

`Exact` holds its elements modulo 2**64, and their bounds; each operator first computes the bounds of its result. Where
the bounds do not fit int64, it also holds the elements as doubles, with a bound of their error: if it is below 2**60,
the double and the integer modulo 2**64 give the element. `Beyond` is raised by a quotient or comparison for which the
error may be larger; `feemodel.formula` then computes the formula on Python ints, one element at a time.
"""

import math
import operator
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from feemodel.checks import INT64_MAX, UINT64_MAX, require
from feemodel.errors import Int64Overflow, InvalidInput

INT64_MIN = -(2**63)
WIDEST = 2**113  # numbers whose nearest double may be wrong by `LIMIT`
LIMIT = 2.0**60  # bound of the error of doubles
DIVISOR, NEAR = 2**61, 2.0**62  # limits up to which int64 corrects doubles, see `_less` and `_divided`
DOUBLE_EXACT = 2.0**53  # below this, a double and its shortest decimal truncate to the same integer
SCALARS = frozenset((int, float))
WOULD_WRAP = "expected at most 2**63 - 1, because larger integers would wrap in a node"
NO_ROOM = "expected a result of at most 2**63 - 1 with int64 arrays (Python ints have no limit)"


class Beyond(Exception):
    """A value of an array may need more than 112 bits."""


class Exact(NDArrayOperatorsMixin):
    """Array of integers between two bounds."""

    __slots__ = ("_double", "_error", "high", "low", "narrow", "word")

    def __init__(self, word: Any, low: int, high: int, double: Any = None, error: float = 0.0) -> None:
        self.word, self.low, self.high = word, low, high  # `word`: the elements modulo 2**64, as int64
        self.narrow = low >= INT64_MIN and high <= INT64_MAX  # whether the elements fit int64
        self._double, self._error = double, error

    @property
    def size(self) -> float:
        """Bound of the absolute value of the doubles; capped beyond `WIDEST`, where the error is too large."""
        return min(max(-self.low, self.high), WIDEST) + self.error

    @property
    def double(self) -> Any:
        """The elements as doubles."""
        return self.word.astype(np.float64) if self.narrow else self._double

    @property
    def error(self) -> float:
        """Bound of the error of the doubles."""
        return _rounding(self.low, self.high) if self.narrow else self._error

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        """Return the elements as Python ints."""
        if self.error >= LIMIT:
            raise Beyond
        upper = 0 if self.narrow else np.rint((self.double - self.word) / 2.0**64).astype(np.int64).astype(object)
        return np.asarray(upper * 2**64 + self.word.astype(object))

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, out: Any = None) -> Any:
        """Compute an operator of NumPy. `+=` gives a new array, not `out`."""
        return OPERATORS[function](*map(_of, inputs))


def exact(array: NDArray[np.int64]) -> Exact:
    """Return an int64 array as `Exact`.

    >>> (exact(np.array([10**18])) * 10**12 // 10**13).word
    array([100000000000000000])
    """
    return Exact(array, int(array.min()), int(array.max())) if array.size else Exact(array, 0, 0)


def where(condition: Any, value: Any, otherwise: Any) -> Any:
    """Return `value` where the condition is true, else `otherwise`; scalars remain Python numbers.

    >>> where(True, 2**70, 0)
    1180591620717411303424
    """
    if condition is True or condition is False or isinstance(condition, np.bool_):
        return value if condition else otherwise
    if not (isinstance(value, (Exact, int)) and isinstance(otherwise, (Exact, int))):
        return np.where(condition, value, otherwise)
    value, otherwise = _of(value), _of(otherwise)
    low, high = min(value.low, otherwise.low), max(value.high, otherwise.high)
    word = np.where(condition, value.word, otherwise.word)
    if value.narrow and otherwise.narrow:
        return Exact(word, low, high)
    error = max(value.error, otherwise.error)
    return Exact(word, low, high, np.where(condition, value.double, otherwise.double), error)


def maximum(value: Any, other: Any) -> Any:
    """Return the larger of two numbers; Python numbers remain Python numbers.

    >>> maximum(2**70, 0)
    1180591620717411303424
    """
    if type(value) is int is type(other) or (type(value) in SCALARS and type(other) in SCALARS):
        return value if value >= other or value != value else other  # NaN, if one is NaN
    return _extreme(value, other, max, np.maximum)


def minimum(value: Any, other: Any) -> Any:
    """Return the smaller of two numbers; Python numbers remain Python numbers.

    >>> minimum(2**70, 5)
    5
    """
    if type(value) is int is type(other) or (type(value) in SCALARS and type(other) in SCALARS):
        return value if value <= other or value != value else other
    return _extreme(value, other, min, np.minimum)


def double(value: Any) -> Any:
    """Return an integer as the nearest double.

    >>> double(2**53 + 1)
    9007199254740992.0
    """
    if isinstance(value, Exact):
        if not value.narrow:
            raise Beyond
        return value.word.astype(np.float64)
    return float(value)


def truncated(name: str, value: Any) -> Any:
    """Truncate doubles to integers.

    >>> truncated("price", 2.9)
    2
    """
    return _truncated(name, value) if isinstance(value, np.ndarray) else int(_finite(name, value))


def truncated_decimal(name: str, value: Any) -> Any:
    """Truncate doubles to the integer part of their shortest decimal, as Java's `BigDecimal.valueOf` does.

    >>> truncated_decimal("fee", 2.9), int(1e23), truncated_decimal("fee", 1e23)
    (2, 99999999999999991611392, 100000000000000000000000)
    """
    if isinstance(value, np.ndarray):
        result = _truncated(name, value)
        if max(-result.low, result.high) < DOUBLE_EXACT:
            return result
        for index in zip(*np.nonzero(abs(value) >= DOUBLE_EXACT), strict=True):
            result.word[index] = int(Decimal(repr(float(value[index]))))
        return exact(result.word)
    return int(value) if abs(value) < DOUBLE_EXACT else int(Decimal(repr(_finite(name, value))))


def _truncated(name: str, values: NDArray[np.float64]) -> Exact:
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    if not (low >= -(2.0**63) and high < 2.0**63):
        require(name, NO_ROOM, values, (values < 2.0**63) & (values >= -(2.0**63)), Int64Overflow)
    return Exact(values.astype(np.int64), int(low), int(high))


def _finite(name: str, value: float) -> float:
    if not math.isfinite(value):
        raise InvalidInput(name, "expected a finite result", value)
    return float(value)


def long(name: str, value: Any) -> Any:
    """Return a number that fits a signed 64-bit integer; raise `Int64Overflow` for one that would wrap in a node.

    >>> long("gas · price", 21_000)
    21000
    """
    if isinstance(value, int):
        if value > INT64_MAX:
            raise Int64Overflow(name, WOULD_WRAP, value)
        return value
    if value.high > INT64_MAX:
        require(name, WOULD_WRAP, value, value <= INT64_MAX, Int64Overflow)
        return Exact(value.word, value.low, INT64_MAX, value.double, value.error)
    return value


def some(value: Any) -> bool:
    """Return whether any element is not 0."""
    return value != 0 if type(value) is int else bool((value != 0).any())


def _extreme(value: Any, other: Any, best: Any, of_arrays: Any) -> Any:
    if not (isinstance(value, (Exact, int)) and isinstance(other, (Exact, int))):
        return of_arrays(value, other)
    value, other = _of(value), _of(other)
    for one, two in ((value, other), (other, value)):
        if best(one.low, two.high) == one.low and best(one.high, two.low) == one.high:  # no need to compare elements
            return one
    low, high = best(value.low, other.low), best(value.high, other.high)
    if value.narrow and other.narrow:
        return Exact(of_arrays(value.word, other.word), low, high)
    result = where(value < other, *((other, value) if best is max else (value, other)))
    return Exact(result.word, low, high, result.double, result.error)


def _rounding(low: int, high: int) -> float:
    """Return a bound of the error of rounding integers from `low` to `high` to doubles."""
    size = max(-low, high)
    return 0.0 if size <= DOUBLE_EXACT else min(size, WIDEST) * 2.0**-53


def _of(value: Any) -> Exact:
    """Return a Python int as `Exact`."""
    if isinstance(value, Exact):
        return value
    if not isinstance(value, int):
        raise TypeError(f"expected an integer, not {type(value).__name__}: `double` converts the integers of a formula")
    if INT64_MIN <= value <= INT64_MAX:
        return Exact(np.int64(value), value, value)
    near = np.float64(value if abs(value) < WIDEST else math.inf)
    return Exact(np.uint64(value & UINT64_MAX).astype(np.int64), value, value, near, _rounding(value, value))


def _combined(operation: Any, one: Exact, other: Exact) -> Exact:
    """Return the sum, difference or product."""
    ends = [operation(a, b) for a in (one.low, one.high) for b in (other.low, other.high)]
    word = operation(one.word, other.word)
    result = Exact(word, min(ends), max(ends))
    if result.narrow:
        return result
    factors = (other.size, one.size) if operation is operator.mul else (1.0, 1.0)
    error = one.error * factors[0] + other.error * factors[1] + 2.0 * _rounding(result.low, result.high)
    return Exact(word, result.low, result.high, operation(one.double, other.double), error)


def _less(one: Exact, other: Exact) -> Any:
    if one.narrow and other.narrow:
        return one.word < other.word
    if one.high < other.low or one.low >= other.high:  # no need to compare elements
        return np.broadcast_to(one.high < other.low, np.broadcast(one.word, other.word).shape)
    if max(one.error, other.error) >= LIMIT:
        raise Beyond
    difference = one.double - other.double
    return np.where(abs(difference) < NEAR, one.word - other.word < 0, difference < 0.0)


def _divided(value: Exact, divisor: Exact) -> Any:
    """Return the quotient, rounded down.

    A dividend that does not fit int64 is divided in doubles, with an error of less than 2**60. With a divisor below
    2**61, the remainder of this quotient lies within ±2**63, so that int64 arithmetic (modulo 2**64) gives it exactly.
    The remainder corrects the quotient. A quotient above 2**62 is computed in two parts.
    """
    if divisor.low <= 0 and (not divisor.narrow or (divisor.word <= 0).any()):
        raise Beyond  # Python ints raise ZeroDivisionError, and divide by negative numbers
    least, most = max(divisor.low, 1), max(divisor.high, 1)
    ends = [a // b for a in (value.low, value.high) for b in (least, most)]
    low, high = min(ends), max(ends)
    if value.narrow and divisor.narrow:
        quotient = value.word // divisor.word
        if high > 2**31 and quotient.size:  # with tighter bounds, later products fit int64
            high = int(quotient.max())
        return Exact(quotient, low, high)
    if divisor.high >= DIVISOR or value.error >= LIMIT:
        raise Beyond
    estimate = value.double / divisor.word
    largest, smallest = float(estimate.max(initial=0.0)), float(estimate.min(initial=0.0)) if low < 0 else 0.0
    if max(largest, -smallest) >= NEAR:
        if max(largest, -smallest) >= NEAR * 2.0**32:
            raise Beyond
        upper = exact((estimate / 2.0**32).astype(np.int64))
        return upper * 2**32 + (value - upper * divisor * 2**32) // divisor
    quotient = estimate.astype(np.int64)
    quotient += (value.word - quotient * divisor.word) // divisor.word
    slack = int(value.error / least) + 2**11
    return Exact(quotient, max(low, int(smallest) - slack), min(high, int(largest) + slack))


#: NumPy function that an operator calls → what the operator computes.
OPERATORS: dict[Any, Callable[..., Any]] = {
    np.add: partial(_combined, operator.add),
    np.subtract: partial(_combined, operator.sub),
    np.multiply: partial(_combined, operator.mul),
    np.negative: lambda value: 0 - value,
    np.floor_divide: _divided,
    np.less: _less,
    np.greater: lambda one, other: _less(other, one),
    np.less_equal: lambda one, other: ~_less(other, one),
    np.greater_equal: lambda one, other: ~_less(one, other),
    np.not_equal: lambda one, other: _less(one, other) | _less(other, one),
    np.equal: lambda one, other: ~(_less(one, other) | _less(other, one)),
}
