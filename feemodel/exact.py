"""Integer arrays with the operators of Python's ints, exact up to 126 bits, for formulas in plain operators.

`Exact` holds an int64 array and the bounds of its elements. Each operator computes the bounds of its result first. A
result whose bounds fit int64 is computed on int64 arrays, any other result on arrays of two words. `Beyond` is raised
where two words do not suffice; `feemodel.formula` then computes the formula on Python ints, one element at a time.
"""

import math
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feemodel.checks import INT64_MAX, UINT64_MAX, raise_first
from feemodel.errors import Int64Overflow, InvalidInput

INT64_MIN = -(2**63)
WIDEST = 2**126  # bound of every value in two words
DIVIDEND, DIVISOR, QUOTIENT = 2**112, 2**61, 2.0**62  # where doubles and one remainder give a quotient, see `_divided`
DOUBLE_EXACT = 2.0**53  # below, truncating a double and truncating its shortest decimal give the same integer
LOW, HALF, ZERO = np.uint64(2**32 - 1), np.uint64(32), np.int64(0)
WOULD_WRAP = "expected at most 2**63 - 1, because larger integers would wrap in a node"

NO_ROOM = "expected a result of at most 2**63 - 1 with int64 arrays (Python ints have no limit)"

Words = tuple[Any, Any]


class Beyond(Exception):
    """A value of an array may not fit two words."""


class Exact:
    """Array of integers between two bounds: one word, or two words in two's complement."""

    __array_ufunc__ = None  # so that NumPy arrays leave their operators to this class
    __slots__ = ("high", "low", "upper", "word")

    def __init__(self, word: Any, low: int, high: int, upper: Any = None) -> None:
        #: an int64 array; or, if there are upper words (int64), the lower words (uint64); `None` for a large Python int
        self.word, self.upper = word, upper
        self.low, self.high = low, high

    @property
    def narrow(self) -> bool:
        """Whether the array is one of int64."""
        return self.upper is None

    def words(self) -> Words:
        """Return the upper words (int64) and lower words (uint64)."""
        if self.word is None:
            if not -WIDEST < self.low < WIDEST:
                raise Beyond
            return np.int64(self.low >> 64), np.uint64(self.low & UINT64_MAX)
        if self.upper is None:
            return ZERO if self.low >= 0 else self.word >> 63, self.word.view(np.uint64)
        return self.upper, self.word

    def integers(self) -> NDArray[Any]:
        """Return the elements as Python ints."""
        upper, word = (np.asarray(words).astype(object) for words in self.words())
        return np.asarray(upper * 2**64 + word)

    def __add__(self, other: Any) -> "Exact":
        other = _of(other)
        return _combined(np.add, _plus, self, other, self.low + other.low, self.high + other.high)

    def __sub__(self, other: Any) -> "Exact":
        other = _of(other)
        return _combined(np.subtract, _minus, self, other, self.low - other.high, self.high - other.low)

    def __rsub__(self, other: Any) -> "Exact":
        return _of(other).__sub__(self)

    def __neg__(self) -> "Exact":
        return _of(0).__sub__(self)

    def __mul__(self, other: Any) -> "Exact":
        other = _of(other)
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return _combined(np.multiply, _times, self, other, min(ends), max(ends))

    def __floordiv__(self, other: Any) -> "Exact":
        return _divided(self, _of(other))

    def __rfloordiv__(self, other: Any) -> "Exact":
        return _divided(_of(other), self)

    def __lt__(self, other: Any) -> Any:
        return _less(self, _of(other))

    def __gt__(self, other: Any) -> Any:
        return _less(_of(other), self)

    def __le__(self, other: Any) -> Any:
        return ~(self > other)

    def __ge__(self, other: Any) -> Any:
        return ~(self < other)

    def __eq__(self, other: object) -> Any:
        return ~((self < other) | (self > other))

    def __ne__(self, other: object) -> Any:
        return (self < other) | (self > other)

    __radd__, __rmul__ = __add__, __mul__
    __hash__ = None  # type: ignore[assignment]


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
    if value.narrow and otherwise.narrow:
        return Exact(np.where(condition, value.word, otherwise.word), low, high)
    (a, b), (c, d) = value.words(), otherwise.words()
    return _exact((np.where(condition, a, c), np.where(condition, b, d)), low, high)


def maximum(value: Any, other: Any) -> Any:
    """Return the larger of two numbers; Python numbers remain Python numbers.

    >>> maximum(2**70, 0)
    1180591620717411303424
    """
    if type(value) is int and type(other) is int:
        return other if other > value else value
    return _extreme(value, other, 1, np.maximum)


def minimum(value: Any, other: Any) -> Any:
    """Return the smaller of two numbers; Python numbers remain Python numbers.

    >>> minimum(2**70, 5)
    5
    """
    if type(value) is int and type(other) is int:
        return other if other < value else value
    return _extreme(value, other, -1, np.minimum)


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
    if isinstance(value, np.ndarray):
        return _truncated(name, value)
    return int(_finite(name, value))


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
        return Exact(value.words()[1].view(np.int64), value.low, INT64_MAX)
    return value


def require(name: str, reason: str, value: Any, holds: Any, error: type[InvalidInput] = InvalidInput) -> None:
    """Raise `error` for the first element of `value` at which a condition is false.

    >>> require("gas_used", "expected at most the gas limit", 5, 5 <= 7)
    """
    if holds is True:
        return
    if isinstance(holds, (bool, np.bool_)):
        if not holds:
            raise error(name, reason, value)
    elif not holds.all():
        raise_first(name, reason, value.integers() if isinstance(value, Exact) else value, ~holds, error)


def some(value: Any) -> bool:
    """Return whether any element is not 0."""
    return value != 0 if type(value) is int else bool((value != 0).any())


def _extreme(value: Any, other: Any, sign: int, of_doubles: Any) -> Any:
    if isinstance(value, (int, float)) and isinstance(other, (int, float)):
        return other if sign * other > sign * value or other != other else value  # NaN, if one is NaN
    if not (isinstance(value, (Exact, int)) and isinstance(other, (Exact, int))):
        return of_doubles(value, other)
    value, other = _of(value), _of(other)
    ends, bounds = (value.low, value.high), (other.low, other.high)
    least, most = (0, 1) if sign > 0 else (1, 0)
    if sign * (ends[least] - bounds[most]) >= 0:  # the bounds alone decide
        return value
    if sign * (bounds[least] - ends[most]) >= 0:
        return other
    best = max if sign > 0 else min
    low, high = (best(one, two) for one, two in zip(ends, bounds, strict=True))
    if value.narrow and other.narrow:
        return Exact(of_doubles(value.word, other.word), low, high)
    first = _less(other, value) if sign > 0 else _less(value, other)
    return _exact(where(first, value, other).words(), low, high)


def _fits(low: int, high: int) -> bool:
    return low >= INT64_MIN and high <= INT64_MAX


def _combined(in_one_word: Any, in_words: Any, one: Exact, other: Exact, low: int, high: int) -> Exact:
    """Return the result of an operation, whose bounds are known, in as few words as they need."""
    if _fits(low, high) and one.narrow and other.narrow:
        return Exact(in_one_word(one.word, other.word), low, high)
    return _exact(in_words(one.words(), other.words()), low, high)


def _exact(words: Words, low: int, high: int) -> Exact:
    upper, word = words
    if _fits(low, high):
        return Exact(word.view(np.int64), low, high)
    if low <= -WIDEST or high >= WIDEST:
        raise Beyond
    return Exact(word, low, high, upper)


def _of(value: Any) -> Exact:
    """Return a Python int as `Exact`."""
    if isinstance(value, Exact):
        return value
    if not isinstance(value, int):
        raise TypeError(f"expected an integer, not {type(value).__name__}: `double` converts the integers of a formula")
    return Exact(np.int64(value), value, value) if _fits(value, value) else Exact(None, value, value, ZERO)


def _plus(one: Words, other: Words) -> Words:
    total = one[1] + other[1]
    return one[0] + other[0] + (total < other[1]), total


def _minus(one: Words, other: Words) -> Words:
    return one[0] - other[0] - (one[1] < other[1]), one[1] - other[1]


def _times(one: Words, other: Words) -> Words:
    (a, b), (c, d) = one, other
    b1, b0, d1, d0 = b >> HALF, b & LOW, d >> HALF, d & LOW
    middle = b1 * d0 + (b0 * d0 >> HALF)
    carried = b0 * d1 + (middle & LOW)
    upper = (b1 * d1 + (middle >> HALF) + (carried >> HALF)).astype(np.int64)
    if a is not ZERO:
        upper = upper + a * d.astype(np.int64)
    if c is not ZERO:
        upper = upper + b.astype(np.int64) * c
    return upper, b * d


def _less(one: Exact, other: Exact) -> Any:
    if one.narrow and other.narrow:
        return one.word < other.word
    (a, b), (c, d) = one.words(), other.words()
    return (a < c) | ((a == c) & (b < d))


def _check_divisor(divisor: Exact) -> None:
    if divisor.low <= 0 and (not divisor.narrow or (divisor.word <= 0).any()):
        raise Beyond  # Python ints raise ZeroDivisionError, and divide by negative numbers


def _divided(value: Exact, divisor: Exact) -> Exact:
    """Return the quotient, rounded down.

    A dividend in two words is divided in doubles, with a relative error below 2**-50. If the dividend is below 2**112
    and the divisor below 2**61, the remainder of this quotient lies within ±2**63, so that int64 arithmetic (modulo
    2**64) gives the remainder exactly, and the remainder corrects the quotient.
    """
    _check_divisor(divisor)
    ends = [a // b for a in (value.low, value.high) for b in (max(divisor.low, 1), max(divisor.high, 1))]
    low, high = min(ends), max(ends)
    if value.narrow and divisor.narrow:
        quotient = value.word // divisor.word
        if high > 2**31 and quotient.size:  # tighter bounds keep later products in one word
            high = int(quotient.max())
        return Exact(quotient, low, high)
    if value.low > -DIVIDEND and value.high < DIVIDEND and divisor.high < DIVISOR:
        by, words = divisor.word, value.words()
        estimate, word = _as_double(words) / by, words[1].view(np.int64)
        largest = float(estimate.max(initial=0.0))
        smallest = float(estimate.min(initial=0.0)) if low < 0 else 0.0
        if largest < QUOTIENT and smallest > -QUOTIENT:
            quotient = estimate.astype(np.int64)
            remainder = word - quotient * by
            if low >= 0 and largest < 2.0**49:  # the quotient is off by at most 1
                quotient += remainder >= by
                quotient -= remainder < 0
            else:
                quotient += remainder // by
            return Exact(quotient, max(low, int(smallest) - 2**13), min(high, int(largest) + 2**13))
    if divisor.high >= 2**32:
        raise Beyond
    return _exact(_short_division(value.words(), divisor), low, high)


def _as_double(words: Words) -> Any:
    # The lower word is read as signed, because a small negative number would lose its digits in -(2**64) + word.
    low = words[1].view(np.int64)
    return (words[0] + (low < 0)) * 2.0**64 + low


def _short_division(dividend: Words, divisor: Exact) -> Words:
    """Return a quotient of any size by a divisor below 2**32: the rest and 32 more bits fit one word."""
    sign = dividend[0] >> 63  # -1 or 0: inverting a negative number rounds the quotient down
    by, quotients, rest = divisor.words()[1], [], np.uint64(0)
    for word in (dividend[0] ^ sign).astype(np.uint64), dividend[1] ^ sign.astype(np.uint64):
        for half in (word >> HALF, word & LOW):
            rest = rest << HALF | half
            quotients.append(rest // by)
            rest = rest - quotients[-1] * by
    a, b, c, d = quotients
    return (a << HALF | b).astype(np.int64) ^ sign, (c << HALF | d) ^ sign.astype(np.uint64)
