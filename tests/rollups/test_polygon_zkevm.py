"""Polygon zkEVM's effective gas price against published vectors, and arrays against their elements."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feemodel.errors import Int64Overflow, InvalidInput
from feemodel.rollups import polygon_zkevm
from feemodel.rollups.polygon_zkevm import GasPricing

# zero bytes, non-zero bytes, gas used, l1 gas price, expected; 0xPolygonHermez/zkevm-node at 7b80367
BREAK_EVEN = [(0, 0, 200, 100, 33), (0, 0, 0, 100, 1_000), (5, 5, 200, 100, 83), (5, 5, 200_000, 1, 1)]
PRICE = st.integers(1, 10**14)


@pytest.mark.parametrize(("zero", "nonzero", "gas", "l1_price", "expected"), BREAK_EVEN)
def test_break_even_is_the_published_one(zero: int, nonzero: int, gas: int, l1_price: int, expected: int) -> None:
    terms = {"tx_gas_price": 1_000, "l1_gas_price": l1_price}
    assert polygon_zkevm.break_even_gas_price(zero, nonzero, gas, **terms) == expected
    assert polygon_zkevm.break_even_gas_price([zero], nonzero, [gas], **terms).tolist() == [expected]


@pytest.mark.parametrize(("pricing", "expected"), [
    (GasPricing(transfer_gas_price=2_000), 2_000), (GasPricing(transfer_l1_factor=0.5), 5_000),
    (GasPricing(transfer_l1_factor=0.00001), 1),
])  # fmt: skip
def test_plain_transfers_may_have_a_price_of_their_own(pricing: GasPricing, expected: int) -> None:
    terms = {"tx_gas_price": 1_000, "l1_gas_price": 10_000, "pricing": pricing}
    assert polygon_zkevm.break_even_gas_price(5, 5, 21_000, **terms) == expected
    others = polygon_zkevm.break_even_gas_price(5, 5, [21_000, 21_001], **terms).tolist()
    assert others == [
        expected,
        polygon_zkevm.break_even_gas_price(5, 5, 21_001, tx_gas_price=1_000, l1_gas_price=10_000),
    ]


def test_a_transfer_has_one_price_of_its_own() -> None:
    with pytest.raises(InvalidInput, match="transfer_gas_price: expected 0 if transfer_l1_factor is not 0"):
        GasPricing(transfer_gas_price=1, transfer_l1_factor=0.5)


def test_the_total_of_a_transaction_with_another_price_is_not_formed() -> None:
    """A transfer of fixed price, and a transaction without gas, where the L1 price times the bytes overflows."""
    terms = {"tx_gas_price": 5, "l1_gas_price": 2**62}
    pricing = GasPricing(transfer_gas_price=7)

    assert polygon_zkevm.break_even_gas_price(0, 100, 0, **terms) == 5
    assert polygon_zkevm.break_even_gas_price(0, 100, 21_000, **terms, pricing=pricing) == 7
    assert polygon_zkevm.break_even_gas_price(0, 100, [0, 21_000], **terms, pricing=pricing).tolist() == [5, 7]


@pytest.mark.parametrize(("zero", "nonzero", "l2_price", "expected"), [(0, 10, 1_000, 113), (5, 5, 250, 332)])
def test_effective_price_is_the_published_one(zero: int, nonzero: int, l2_price: int, expected: int) -> None:
    terms = {"tx_gas_price": 1_000, "l1_gas_price": 100, "l2_gas_price": l2_price}
    assert polygon_zkevm.effective_gas_price(zero, nonzero, 200, **terms) == expected


@given(st.lists(st.tuples(st.integers(1, 10**7), PRICE, PRICE), min_size=1, max_size=8), st.integers(1, 10**12))
def test_arrays_are_their_elements(rows: list[tuple[int, int, int]], l1_price: int) -> None:
    """And the float of 64 bits is within its rounding of the exact ratio."""
    gas, offers, suggestions = zip(*rows, strict=True)
    suggestions = tuple(
        max(suggestion, offer // 1_000 + 1) for offer, suggestion in zip(offers, suggestions, strict=True)
    )
    arrays = polygon_zkevm.effective_gas_price(
        7, 100, gas, tx_gas_price=offers, l1_gas_price=l1_price, l2_gas_price=suggestions
    )
    for value, used, offer, suggestion in zip(arrays.tolist(), gas, offers, suggestions, strict=True):
        terms = {"tx_gas_price": offer, "l1_gas_price": l1_price}
        assert value == polygon_zkevm.effective_gas_price(7, 100, used, **terms, l2_gas_price=suggestion)
        break_even = polygon_zkevm.break_even_gas_price(7, 100, used, **terms)
        exact = break_even * max(Fraction(1), Fraction(offer, suggestion))
        assert abs(value - exact) <= 1 + exact / 2**62


@pytest.mark.parametrize(("numerator", "denominator", "expected"), [
    (2**64 - 1, 1, (2**64 - 1, 0)), (2**64 + 1, 1, (2**63, 1)), (2**64 + 3, 1, (2**63 + 2, 1)),
    (2**65 + 5, 1, (2**63 + 1, 2)), (2**65 + 6, 1, (2**63 + 2, 2)), (7, 2, (4, 0)), (5, 2, (2, 0)),
    (2**65 + 2, 1, (2**63, 2)), (3 * (2**70 + 2**6), 3, (2**63, 7)), (3 * (2**70 + 2**6) + 1, 3, (2**63 + 1, 7)),
])  # fmt: skip
def test_a_float_of_64_bits_is_rounded_to_the_nearest_and_ties_to_even(
    numerator: int, denominator: int, expected: tuple[int, int]
) -> None:
    assert polygon_zkevm._rounded(numerator, denominator, 64) == expected


def test_prices_beyond_64_bits_are_scaled_too() -> None:
    """2**70 · 2**50: powers of two are exact; from 64 bits on the mantissa is as long as the longest operand."""
    assert polygon_zkevm._prioritized(2**70, 2**60, 2**10) == 2**120
    assert [polygon_zkevm._prioritized(2**bits, 2**40, 1) for bits in (21, 22, 23, 24)] == [2**61, 2**62, 2**63, 2**64]
    # An offer of 65 bits over 2 has a mantissa of 65 bits, in which this ratio and its product with 1 are exact.
    assert polygon_zkevm._prioritized(1, 2**64 + 2, 2) == 2**63 + 1
    assert polygon_zkevm._prioritized(2, 2**64 + 1, 2) == 2**64 + 1


def test_a_total_that_wraps_around_in_the_node_is_refused() -> None:
    """A quarter of 2**40 wei for 2**25 gas is 2**63: twice as much gas is one too much."""
    terms = {"tx_gas_price": 1, "l1_gas_price": 2**40}

    assert polygon_zkevm.break_even_gas_price(0, 0, 2**25, **terms) == 2**38 + 16 * 2**40 // 2**25
    with pytest.raises(Int64Overflow, match="total_price: expected an unsigned 64-bit integer, got 18446"):
        polygon_zkevm.break_even_gas_price(0, 0, 2**26, **terms)


@pytest.mark.parametrize("pricing", [GasPricing(net_profit=1e19), GasPricing(transfer_l1_factor=1e19)])
def test_a_factor_whose_product_passes_64_bits_is_refused(pricing: GasPricing) -> None:
    with pytest.raises(Int64Overflow, match="expected a value whose product with the factor fits 64 bits"):
        polygon_zkevm.break_even_gas_price(0, 0, 21_000, tx_gas_price=1, l1_gas_price=21_000, pricing=pricing)


@pytest.mark.parametrize(("offer", "effective", "byte"), [
    (11 * 10**9, 22 * 10**9, 255), (22 * 10**9, 22 * 10**9, 255), (22 * 10**9, 21_900_000_000, 254), (1_000, 157, 40),
    (1_000, 4, 1),
])  # fmt: skip
def test_percentage_byte_is_the_published_one(offer: int, effective: int, byte: int) -> None:
    assert polygon_zkevm.effective_percentage(offer, effective) == byte
    assert polygon_zkevm.effective_percentage([offer], effective).tolist() == [byte]


def test_the_defaults_are_those_of_the_node() -> None:
    expected = GasPricing(
        l1_gas_price_factor=0.25, byte_gas_cost=16, zero_byte_gas_cost=4, net_profit=1.0, transfer_gas_price=0,
        transfer_l1_factor=0.0,
    )  # fmt: skip
    assert GasPricing() == expected == polygon_zkevm.NODE_DEFAULTS
    # 100 gas of bytes at 8 wei and 25 gas at 2 wei, over 25, 1.5 times: 34 · 1.5
    terms = {"tx_gas_price": 1, "l1_gas_price": 8, "pricing": GasPricing(net_profit=1.5)}
    assert polygon_zkevm.break_even_gas_price(1, 5, 25, **terms) == 51
    assert polygon_zkevm.break_even_gas_price([1], 5, 25, **terms).tolist() == [51]


def test_the_least_prices_are_taken_and_the_largest_that_64_bits_hold() -> None:
    assert polygon_zkevm.min_l2_gas_price(1) == 0
    assert polygon_zkevm.min_l2_gas_price(2**64 - 1) == 2**62
    with pytest.raises(Int64Overflow, match="l1_gas_price: expected an unsigned 64-bit integer"):
        polygon_zkevm.min_l2_gas_price(2**64)
    terms = {"tx_gas_price": 1, "l1_gas_price": 1}
    assert polygon_zkevm.effective_gas_price(0, 0, 1, **terms, l2_gas_price=1) == 16
    assert polygon_zkevm.effective_percentage(1, 1) == 255
    assert polygon_zkevm.effective_percentage(2, 1) == 127
    # 16 wei of break even, scaled by 2**59: just beyond 64 bits; a quarter of it fits
    for offer, fits in ((2**59, False), (2**57, True)):
        terms = {"tx_gas_price": [1, offer], "l1_gas_price": 1, "l2_gas_price": 1}
        if fits:
            assert polygon_zkevm.effective_gas_price(0, 0, 1, **terms).tolist() == [16, 2**61]
        else:
            with pytest.raises(Int64Overflow, match="effective_gas_price: expected a price that fits"):
                polygon_zkevm.effective_gas_price(0, 0, 1, **terms)


def test_prices_of_nothing_are_refused() -> None:
    with pytest.raises(InvalidInput, match="l2_gas_price"):
        polygon_zkevm.effective_gas_price(0, 1, 1, tx_gas_price=1, l1_gas_price=1, l2_gas_price=0)
    with pytest.raises(InvalidInput, match="effective_gas_price"):
        polygon_zkevm.effective_percentage(1, 0)
    with pytest.raises(InvalidInput, match="l1_gas_price"):
        polygon_zkevm.break_even_gas_price(0, 1, 1, tx_gas_price=1, l1_gas_price=0)
    with pytest.raises(InvalidInput, match="gas_price"):
        polygon_zkevm.effective_percentage(0, 1)
