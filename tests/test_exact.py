"""Formulas in plain operators: arrays give what Python's ints give, up to where 64 bits end."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feemodel.checks import require
from feemodel.errors import Int64Overflow, InvalidInput
from feemodel.exact import Beyond, double, exact, long, maximum, minimum, some, truncated, truncated_decimal, where
from feemodel.formula import PIECE, formula
from feemodel.quantities import Divisor, Ratio, Wei, WholeNumber

EDGES = st.sampled_from([0, 1, 2, 2**31, 2**32, 2**51, 2**52, 2**53 - 1, 2**61, 2**62 - 1, 2**62, 2**63 - 2, 2**63 - 1])
INT64 = st.integers(0, 2**63 - 1) | EDGES | st.integers(0, 10**6)
ROWS = 3


class Parts(NamedTuple):
    quotient: Any
    rest: Any


@formula
def divided_product(value: WholeNumber, factor: WholeNumber, divisor: Divisor, addend: WholeNumber) -> Wei:
    return (value * factor + addend) // divisor


@formula
def scaled_product(value: WholeNumber, factor: WholeNumber, divisor: Divisor, addend: WholeNumber) -> Wei:
    return value * factor // divisor * 3 + minimum(addend, 10)


@formula
def nested(value: WholeNumber, factor: WholeNumber, divisor: Divisor, addend: WholeNumber) -> Wei:
    """Products of products, differences below 0, and quotients that exceed a word."""
    product = value * factor
    price = where(product > addend * 2, product - addend, addend * 5 - product)
    return maximum(price * 7 // divisor, addend - value) - minimum(price // divisor, 3) * 6


@formula
def squared(value: WholeNumber, factor: WholeNumber, divisor: Divisor, addend: WholeNumber) -> Wei:
    return value * value // (factor + 1) * addend // divisor + -(-value // divisor)


@formula
def divided_by_a_product(value: WholeNumber, factor: WholeNumber, divisor: Divisor, addend: WholeNumber) -> Wei:
    return value * factor * 16 // (divisor * (addend + 1))


@formula
def parted(value: WholeNumber, factor: WholeNumber, divisor: Divisor, addend: WholeNumber) -> Parts:
    return Parts(value * factor // divisor, value * factor == addend * divisor)


FORMULAS = [divided_product, scaled_product, nested, squared, divided_by_a_product, parted]


@pytest.mark.parametrize("function", FORMULAS, ids=lambda function: function.__name__)
@given(data=st.data())
def test_arrays_give_what_python_ints_give_or_refuse_it(function: Any, data: Any) -> None:
    columns = {
        name: data.draw(st.lists(INT64.filter(lambda n, low=quantity.minimum: n >= low), min_size=ROWS, max_size=ROWS))
        for name, quantity in function.quantities.items()
    }
    scalars = [function(**{name: values[i] for name, values in columns.items()}) for i in range(ROWS)]
    fits = [all(-(2**63) <= part < 2**63 for part in (one if isinstance(one, tuple) else (one,))) for one in scalars]
    arrays = {name: np.array(values) for name, values in columns.items()}
    if not all(fits):
        with pytest.raises(Int64Overflow) as caught:
            function(**arrays)
        row = {name: values[fits.index(False)] for name, values in columns.items()}
        assert (caught.value.name, caught.value.index) == (max(row, key=row.__getitem__), (fits.index(False),))
        return
    found = function(**arrays)
    if isinstance(found, tuple):
        assert [part.tolist() for part in found] == [[one[i] for one in scalars] for i in range(len(found))]
    else:
        assert found.tolist() == scalars


@given(INT64, INT64, st.integers(1, 2**63 - 1), st.integers(1, 2**63 - 1))
def test_quotients_of_any_size_are_exact(value: int, factor: int, divisor: int, other: int) -> None:
    by_array = exact(np.array([divisor]))
    for by, number in ((divisor, divisor), (by_array, divisor), (by_array * other, divisor * other)):
        expected = value * factor // number
        try:
            found = exact(np.array([value])) * factor // by
        except Beyond:
            continue
        assert np.asarray(found).tolist() == [expected]
        assert found.low <= expected <= found.high


@given(st.integers(0, 2**40), st.integers(1, 2**51), st.integers(0, 2**10))
def test_multiples_of_the_divisor_are_not_missed(quotient: int, divisor: int, less: int) -> None:
    """The edge that a rounded quotient falls over: just below and at a multiple."""
    value = max(0, quotient * divisor - less)
    factor = 1
    while value >= 2**63:
        value, factor = value // 2, factor * 2
    found = divided_product(np.array([value]), np.array([factor]), divisor, 0)
    assert found.tolist() == [value * factor // divisor]


def test_the_index_is_that_of_the_whole_array() -> None:
    values = np.ones((3, PIECE + 5), dtype=np.int64)
    values[2, PIECE + 1] = 2**62
    with pytest.raises(Int64Overflow, match=rf"value\[2, {PIECE + 1}\]: expected .* got {2**62}"):
        divided_product(values, 4, 1, 0)

    @formula
    def checked(value: WholeNumber, limit: WholeNumber) -> Wei:
        require("value", "expected at most the limit", value, value <= limit)
        return value

    with pytest.raises(InvalidInput, match=rf"value\[2, {PIECE + 1}\]: expected at most the limit, got {2**62}"):
        checked(values, 1)
    assert checked(values, 2**62).tolist() == values.tolist()
    assert checked(values[:1].T, values[:, :1].T).shape == (PIECE + 5, 3)


@given(st.floats(0, 2.0**70))
def test_a_double_is_truncated(value: float) -> None:
    @formula
    def whole(value: Ratio) -> Wei:
        return truncated("value", value)

    assert whole(value) == int(value)
    if value < 2.0**63:
        assert whole([value]).tolist() == [int(value)]
    else:
        with pytest.raises(Int64Overflow, match=r"value\[0\]: expected a result of at most"):
            whole([value])


@given(st.floats(0, 2.0**62))
def test_a_decimal_is_truncated(value: float) -> None:
    assert truncated_decimal("fee", np.array([value])).word.tolist() == [truncated_decimal("fee", value)]


def test_scalars_are_pythons() -> None:
    assert [where(True, 2**70, 0), maximum(2**70, 0), minimum(2**70, 5), some(0)] == [2**70, 2**70, 5, False]
    assert [maximum(1.5, float("nan")), minimum(float("nan"), 1.5)] == pytest.approx([float("nan")] * 2, nan_ok=True)
    assert double(2**53 + 1) == 2.0**53
    with pytest.raises(InvalidInput, match="fee: expected a finite result, got inf"):
        truncated("fee", float("inf"))
    with pytest.raises(TypeError, match="double"):
        exact(np.array([1])) * 1.5


def test_a_long_does_not_wrap() -> None:
    @formula
    def product(value: WholeNumber, factor: WholeNumber) -> Wei:
        return long("value · factor", value * factor) // 4

    assert product(2**62, 1) == product([2**62], 1)[0] == 2**60
    with pytest.raises(Int64Overflow, match=rf"value · factor: .*would wrap in a node, got {2**63}"):
        product(2**62, 2)
    with pytest.raises(Int64Overflow, match=rf"value · factor\[1\]: .*would wrap in a node, got {2**63}"):
        product([1, 2**62], 2)
