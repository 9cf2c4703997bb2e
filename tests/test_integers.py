"""Integer arithmetic on arrays against Python's, up to where 64 bits end."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feemodel import integers
from feemodel.errors import Int64Overflow, InvalidInput

INT64 = st.integers(0, 2**63 - 1)


@given(INT64, INT64, st.integers(1, 2**63 - 1), INT64)
def test_a_product_is_divided_exactly(value: int, factor: int, divisor: int, addend: int) -> None:
    """Whatever the size of the product, the divisor and the addend."""
    expected = (value * factor + addend) // divisor
    assert expected == integers.multiply_divide("x", value, factor, divisor, addend)
    try:
        found = integers.multiply_divide("x", np.array([value]), factor, divisor, addend).tolist()
    except Int64Overflow:
        found = None
    assert found == (None if expected >= 2**63 else [expected])


@given(st.integers(0, 2**40), st.integers(1, 2**51), st.integers(0, 2**10))
def test_multiples_of_the_divisor_are_not_missed(quotient: int, divisor: int, less: int) -> None:
    """The edge that a rounded quotient falls over: just below and at a multiple."""
    value = max(0, quotient * divisor - less)
    factor = 1
    while value >= 2**63:
        value, factor = value // 2, factor * 2
    expected = value * factor // divisor
    assert integers.multiply_divide("x", np.array([value]), np.array([factor]), divisor).tolist() == [expected]


@pytest.mark.parametrize(("form", "plain"), [(integers.multiply, "__mul__"), (integers.add, "__add__")])
@given(INT64, INT64)
def test_products_and_sums_are_exact_or_refused(form: Any, plain: str, value: int, other: int) -> None:
    expected = getattr(value, plain)(other)
    assert form("x", value, other) == expected
    try:
        found = form("x", np.array([value]), other).tolist()
    except Int64Overflow:
        found = None
    assert found == (None if expected >= 2**63 else [expected])


def test_sums_and_products_reach_the_last_integer_of_64_bits() -> None:
    last, second = np.array([2**63 - 1, 1]), np.array([2**62 - 1, 5])
    assert integers.add("x", last, 0).tolist() == integers.multiply("x", last, 1).tolist() == [2**63 - 1, 1]
    assert integers.add("x", second, 2**62).tolist() == [2**63 - 1, 2**62 + 5]
    assert integers.multiply("x", np.array([7]), (2**63 - 1) // 7).tolist() == [2**63 - 1]  # 7 divides it
    assert integers.multiply_divide("x", last, 3, 3).tolist() == [2**63 - 1, 1]


def test_the_first_element_that_does_not_fit_is_named() -> None:
    with pytest.raises(Int64Overflow, match=r"fee\[1\]"):
        integers.multiply("fee", np.array([1, 2**40]), 2**40)
    with pytest.raises(Int64Overflow, match=r"fee: expected at most 2\*\*63 - 1 in a computation with arrays"):
        integers.multiply_divide("fee", np.array([1]), 2**64, 7)
    with pytest.raises(Int64Overflow):
        integers.where(np.array([True]), 2**63, 1)


def test_the_first_element_that_breaks_a_condition_is_named() -> None:
    gas, holds = np.array([5, 9, 8]), np.array([True, False, False])
    with pytest.raises(InvalidInput, match=r"gas\[1\]: expected at most 7, got 9"):
        integers.require("gas", "expected at most 7", gas, holds)
    with pytest.raises(InvalidInput, match=r"gas\[1\]: expected at most 7, got 9"):
        integers.require("gas", "expected at most 7", 9, holds)  # one number beside arrays
    with pytest.raises(InvalidInput, match="gas: expected at most 7, got 9"):
        integers.require("gas", "expected at most 7", 9, np.bool_(False))
    integers.require("gas", "expected at most 7", gas, np.array([True, True, True]))


def test_nothing_is_computed_from_nothing() -> None:
    empty = np.array([], dtype=np.int64)
    assert integers.multiply("x", empty, 5).shape == integers.multiply_divide("x", empty, 5, 7).shape == (0,)


@given(st.integers(0, 2**63 - 1), st.integers(1, 2**62))
def test_division_rounds_up(value: int, divisor: int) -> None:
    assert integers.ceiling_divide(value, divisor) == -(-value // divisor)
    assert integers.ceiling_divide(np.array([value]), divisor).tolist() == [-(-value // divisor)]


@given(st.floats(0, 2.0**70))
def test_a_double_is_truncated_as_a_node_casts_it(value: float) -> None:
    assert integers.truncated("x", value) == min(int(value), 2**64 - 1)
    if value < 2.0**63:
        assert integers.truncated("x", np.array([value])).tolist() == [int(value)]
    else:
        with pytest.raises(Int64Overflow):
            integers.truncated("x", np.array([value]))


def test_limits_are_refused_or_kept_at_the_last_number_that_fits():
    last, largest_double = 2**63 - 1, float(np.nextafter(2.0**63, 0))
    assert integers.fitting("x", last) == last
    with pytest.raises(Int64Overflow):
        integers.fitting("x", last + 1)
    assert [integers.truncated("x", value) for value in (2.0**63, 2.0**64)] == [2**63, 2**64 - 1]
    assert integers.truncated("x", np.array([largest_double])).tolist() == [int(largest_double)]
    with pytest.raises(Int64Overflow, match=r"x\[1\]"):
        integers.truncated("x", np.array([1.0, 2.0**63]))
    assert [integers.saturated(value) for value in (2**64 - 1, 2**64)] == [2**64 - 1, 2**64 - 1]
    for form in (integers.multiply, integers.add):
        with pytest.raises(Int64Overflow, match=str(2**63)):  # just beyond: the estimate in doubles alone cannot tell
            form("x", np.array([2**62]), *([2] if form is integers.multiply else [2**62]))


@pytest.mark.parametrize("quotient", [2**62 - 1, 2**62, 2**62 + 1, 2**63 - 1])
@pytest.mark.parametrize("divisor", [1, 2**51 - 1, 2**51, 2**51 + 1, 2**62 + 1])
@pytest.mark.parametrize("addend", [0, 2**62 - 1, 2**62, 2**63 - 1])
def test_divided_products_are_exact_where_the_arithmetic_changes(quotient: int, divisor: int, addend: int) -> None:
    for value in (quotient - addend // divisor - 1, quotient - addend // divisor):
        expected = (max(value, 0) * divisor + addend) // divisor
        found = integers.multiply_divide("x", np.array([max(value, 0), 0]), np.array([divisor, 1]), divisor, addend)
        assert found.tolist() == [expected, addend // divisor]


@given(INT64, INT64, st.integers(0, 10**6 - 1), st.integers(0, 10**6 - 1), st.integers(1, 10**7))
def test_numbers_in_parts_are_exact(value: int, factor: int, millionths: int, more: int, divisor: int) -> None:
    product = integers.product_in_parts("x", value, factor)
    assert product.whole * 10**6 + product.millionths == value * factor
    assert product.millionths < 10**6
    left, right = integers.FixedPoint(value, millionths), integers.FixedPoint(factor, more)
    total = integers.add_parts("x", left, right)
    assert total.whole * 10**6 + total.millionths == (value + factor) * 10**6 + millionths + more
    assert total.millionths < 10**6
    found = integers.multiply_divide_parts("x", left, factor, divisor, right)
    assert found == ((value * 10**6 + millionths) * factor + factor * 10**6 + more) // (divisor * 10**6)
