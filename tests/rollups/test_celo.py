"""Celo's base fee before and after Jovian, and fees in other currencies."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feemodel import rollups
from feemodel.errors import InvalidInput, UnknownParameter
from feemodel.rollups import celo
from feemodel.rollups.celo import CELO, Rate

A, B = Rate(47, 100), Rate(45, 100)
RATE = st.builds(Rate, st.integers(1, 10**24), st.integers(1, 10**24))


def test_the_floor_ends_with_jovian():
    """celo-org/celo-kona, crates/celo-reth: the time of the new block decides."""
    assert celo.next_base_fee(10**9, 0, 30_000_000, jovian=False, elasticity=2, denominator=8) == 25 * 10**9
    assert celo.next_base_fee(7, 15_000_000, 30_000_000, jovian=True, elasticity=2, denominator=8) == 7
    assert celo.next_base_fee(10**11, 0, 30_000_000, jovian=True, min_base_fee=10**11) == 10**11


def test_a_fee_in_a_currency():
    terms = {"base_fee": 25_000_000_001, "rate": Rate(1, 3), "max_priority_fee": 0}
    assert celo.fee_in_currency(21_000, **terms, max_fee_per_gas=10**10) == (
        8_333_333_333, 8_333_333_333, 174_999_999_993_000,
    )  # fmt: skip
    with pytest.raises(InvalidInput, match="max_fee_per_gas: expected at least the converted base fee, 8,333,333,333"):
        celo.fee_in_currency(21_000, **terms, max_fee_per_gas=8_333_333_332)


@given(st.integers(0, 10**30), st.integers(0, 10**30), RATE, RATE)
def test_fees_are_compared_without_rounding(one, other, rate, other_rate):
    found = celo.compare_fees(one, other, rate=rate, other_rate=other_rate)
    assert found == -celo.compare_fees(other, one, rate=other_rate, other_rate=rate)
    left, right = one * rate.denominator * other_rate.numerator, other * other_rate.denominator * rate.numerator
    assert (found == 0) == (left == right)


def test_published_comparisons():
    assert [celo.compare_fees(*case) for case in ((1, 5), (1, 1), (5, 1))] == [-1, 0, 1]
    assert celo.compare_fees(45, 100, rate=B, other_rate=CELO) == 0
    assert celo.compare_fees(47, 46, rate=A, other_rate=B) == -1


def test_the_chain_charges_for_gas_alone_and_its_minimum_is_unknown_since_jovian():
    row = {"gas": 21_000, "fastlz_size": 200}
    then = rollups.rule("celo", at="2026-01-01").fees(row, base_fee=10**10, blob_base_fee=10**9)
    assert then == (0, 21_000 * 25 * 10**9)
    with pytest.raises(UnknownParameter, match="l2_gas_price of celo since 2026-03-31T12:06:28"):
        rollups.rule("celo")
