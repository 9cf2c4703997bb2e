"""Prices of a node: averages of L1 fees computed by hand, tips for wallets."""

import pytest

from feemodel.errors import InvalidInput
from feemodel.estimates.prices import prices_of, reward, suggested_tip
from feemodel.io import parse_fee_history
from feemodel.io.shipped import read_shipped_transactions
from feemodel.linea._node import node_checks
from feemodel.linea.parameters import linea_preset
from feemodel.server.prices import l1_prices
from feemodel.server.settings import Settings

BYTES, VERIFIED = "cost-per-byte", "verification-cost"


def history(base_fees, ratios, blob_fees, blob_ratios, rewards=None):
    """The answer of `eth_feeHistory`; the element of the next block counts for nothing."""
    answer = {
        "oldestBlock": "0x10", "baseFeePerGas": [*map(hex, base_fees), "0xffffffffff"], "gasUsedRatio": ratios,
        "baseFeePerBlobGas": [*map(hex, blob_fees), "0xffffffffff"], "blobGasUsedRatio": blob_ratios,
    }  # fmt: skip
    return answer if rewards is None else {**answer, "reward": [[hex(reward)] for reward in rewards]}


# (7e7 + 1e8) · 65,250 + 4e6 · 131,072 = 11,616,788,000,000, over 131,072 bytes is 88,629,058.8: 88,629 kwei
FLAT = history([70_000_000] * 2, [0.5, 0.5], [4_000_000] * 2, [0.5, 0.5], [10**8, 10**8])
# base fees 4e7 and 8e7 by 0.25 and 0.75 are 7e7 too; so are tips of 4e7 and 12e7, and blob fees of 1e6 and 5e6
UNEVEN = history(
    [40_000_000, 80_000_000], [0.25, 0.75], [1_000_000, 5_000_000], [0.25, 0.75], [40_000_000, 120_000_000]
)
WITHOUT_TIPS = history([70_000_000], [0.0], [4_000_000], [0.0])  # 5,091,788,000,000 / 131,072 = 38,847,259.5
NUMBERS = {name: FLAT[name] for name in ("oldestBlock", "baseFeePerGas", "gasUsedRatio")}


@pytest.mark.parametrize(
    ("answer", "pricing", "costs", "expected"),
    [
        (FLAT, BYTES, {}, {"variable_cost": 88_629_000, "fixed_cost": 30_000_000}),
        (UNEVEN, BYTES, {}, {"variable_cost": 88_629_000}),
        (WITHOUT_TIPS, BYTES, {}, {"variable_cost": 38_847_000}),
        (NUMBERS, BYTES, {}, {"variable_cost": 34_847_000}),  # 7e7 · 65,250 / 131,072 = 34,847,259.5
        ({**NUMBERS, "reward": [[], []]}, BYTES, {}, {"variable_cost": 34_847_000}),
        (FLAT, BYTES, {"variable_cost": 5}, {"variable_cost": 5}),
        (FLAT, BYTES, {"fixed_cost": 0}, {"fixed_cost": 0}),
        (FLAT, BYTES, {"base_fee": 9}, {"base_fee": 9}),
        # (7e7 + 1e8) / 42,500,000; without a setting the minimum is the announced price
        (FLAT, VERIFIED, {"min_gas_price": 42_500_000}, {"gas_price_ratio": 4.0}),
        (FLAT, VERIFIED, {"min_gas_price": 10**9, "gas_price_ratio": 2.0}, {"gas_price_ratio": 2.0}),
        (FLAT, VERIFIED, {}, {"gas_price_ratio": 17e7 / 30_527_553, "min_gas_price": 30_527_553}),
    ],
    ids=str,
)
def test_l1_fees_price_as_computed_by_hand(answer, pricing, costs, expected):
    form = l1_prices(parse_fee_history(answer), Settings(pricing=pricing, **costs)).form
    assert {name: getattr(form, name) for name in expected} == expected


@pytest.mark.parametrize(("fixed_cost", "price"), [(None, 30_527_553), (0, 527_553)])
def test_the_announced_price_follows_from_l1_fees_and_the_fixed_cost(fixed_cost, price):
    prices = l1_prices(parse_fee_history(FLAT), Settings(fixed_cost=fixed_cost))
    assert prices.preset.eth_gas_price == price


def test_blob_base_fees_without_their_ratios_do_not_price_as_blobs_for_nothing():
    answer = {name: value for name, value in FLAT.items() if name != "blobGasUsedRatio"}
    with pytest.raises(InvalidInput, match="blob_base_fees: expected"):
        l1_prices(parse_fee_history(answer), Settings())


@pytest.mark.parametrize(
    ("pricing", "costs", "margin"),
    [
        (BYTES, {}, None),
        (BYTES, {"variable_cost": 10**11}, None),  # far above what the announced price was made from
        (BYTES, {"fixed_cost": 10**9}, None),
        (BYTES, {}, 3.0),
        (VERIFIED, {}, None),
        (VERIFIED, {"gas_price_ratio": 500.0}, None),
    ],
    ids=str,
)
@pytest.mark.parametrize("preset", ["linea-mainnet-2026-01", "linea-mainnet-2025-02"])
def test_what_wallets_are_told_to_tip_is_accepted_by_the_same_prices(preset, pricing, costs, margin):
    prices = prices_of(pricing, linea_preset(preset), costs, margin)
    sample = {"compressed_size": 125, "gas": 21_000}
    asked = {stage.name: prices.form.parts(**sample, margin=stage.margin).total for stage in node_checks(prices.preset)}
    assert reward(prices) >= asked["estimate"]
    assert suggested_tip(prices) >= asked["selection, after execution"] >= asked["pool"]


def test_the_sample_asks_more_than_nine_in_ten_real_transactions():
    table = read_shipped_transactions()
    gas = table["gas_used"].fillna(table["gas_limit"])
    assert (table["zstd"] / gas < 125 / 21_000).mean() > 0.9
