"""ZKsync OS: the server's prices and the gas that a transaction is charged, derived from their code."""

from fractions import Fraction

import pytest

from feemodel.errors import InvalidInput
from feemodel.rollups.zksync_os import BlockPrices, block_prices, gas_used

ONE_NATIVE = {
    "native_price_usd": Fraction(3, 10**15), "base_token_usd": Fraction(3_000, 10**18),
    "settlement_token_usd": Fraction(3_000, 10**18), "native_per_gas": 100, "pubdata_price": 1_000,
}  # fmt: skip

# what differs -> base fee, native price, pubdata price: matter-labs/zksync-os-server at a8ebf6b, fee_provider.rs
PRICES = [
    ({"blobs": False}, (100, 1, 1_000)),
    ({}, (100, 1, 2_786)),  # no blobs are known: half full
    ({"fill_ratio": Fraction(1)}, (100, 1, 1_393)),
    ({"fill_ratio": 1, "pubdata_price": 0}, (100, 1, 393)),
    ({"native_per_gas": 1, "pubdata_price_cap": 0}, (1, 1, 0)),
    ({"previous": BlockPrices(0, 1, 0)}, (100, 1, 1)),  # a pubdata price rises by 1 at least
    ({"previous": BlockPrices(0, 1, 1_000)}, (100, 1, 1_500)),
    ({"previous": BlockPrices(0, 1, 1_857)}, (100, 1, 2_785)),
    ({"previous": BlockPrices(0, 1, 1_858)}, (100, 1, 2_786)),
    ({"native_price_override": 0, "pubdata_price_override": 0}, (0, 0, 0)),
    ({"previous": BlockPrices(0, 800, 1)}, (70_000, 700, 2)),
    ({"previous": BlockPrices(0, 7, 10**9)}, (700, 7, 7_502)),  # below 8 an eighth is nothing: the price cannot fall
]


@pytest.mark.parametrize(("change", "expected"), PRICES)
def test_prices_are_those_of_the_server(change, expected):
    assert block_prices(**(ONE_NATIVE | change)) == expected


@pytest.mark.parametrize(("before", "after"), [(80, 90), (7, 8), (1, 2), (999, 1_000)])
def test_the_native_price_rises_by_an_eighth_or_by_one(before, after):
    dear = {"native_price_usd": 1_000 * ONE_NATIVE["native_price_usd"], "previous": BlockPrices(0, before, 1)}

    assert block_prices(**(ONE_NATIVE | dear))[:2] == (100 * after, after)


def test_no_price_passes_256_bits():
    overrides = dict.fromkeys(("native_price_override", "base_fee_override", "pubdata_price_override"), 2**256)

    assert block_prices(**(ONE_NATIVE | overrides)) == (2**256 - 1,) * 3


@pytest.mark.parametrize(("price", "native", "per_gas"), [(1, 1, 1), (1, 2, 1), (2, 2, 1), (3, 2, 2)])
def test_a_unit_of_gas_pays_for_one_native_unit_at_least(price, native, per_gas):
    assert gas_used(0, 10, gas_price=price, native_price=native) == (per_gas, 10 // per_gas)


@pytest.mark.parametrize("change", [{"gas_price": 0}, {"native_price": 0}, {"evm_gas_used": -1}, {"native_used": -1}])
def test_a_transaction_of_nothing_is_refused(change):
    terms = {"evm_gas_used": 0, "native_used": 0, "gas_price": 1, "native_price": 1} | change
    with pytest.raises(InvalidInput, match=next(iter(change))):
        gas_used(terms.pop("evm_gas_used"), terms.pop("native_used"), **terms)


@pytest.mark.parametrize(("change", "message"), [
    ({"native_price_usd": True}, "native_price_usd: expected a whole number or Fraction above 0"),
    ({"base_token_usd": Fraction(0)}, "base_token_usd: expected a whole number or Fraction above 0"),
    ({"native_price_usd": 0.5}, "native_price_usd: expected a whole number or Fraction above 0"),
    ({"fill_ratio": Fraction(3, 2)}, "fill_ratio: expected at most 1"),
    ({"pubdata_price": -1}, "pubdata_price: expected whole wei of at least 0"),
    ({"native_per_gas": 0}, "native_per_gas: expected an integer of at least 1"),
])  # fmt: skip
def test_what_is_no_price_is_refused(change, message):
    with pytest.raises(InvalidInput, match=message):
        block_prices(**(ONE_NATIVE | change))
