"""The attack lab: published figures to the printed digit, and the protocol's rules in their place."""

from dataclasses import replace

import numpy as np
import pytest

from feemodel.errors import InvalidInput, LimitExceeded
from feemodel.ethereum.fee_market import blob_base_fee
from models.denial import (
    ERA_CALLDATA_GAS,
    PUBLISHED,
    PUBLISHED_ARBITRUM,
    PUBLISHED_SATURATION,
    Victim,
    denial,
    finality_delay,
    published_denial,
    published_finality_delay,
)
from models.pressure import Attack, attack_cost
from models.saturation import (
    L1State,
    base_fee_after_block,
    published_saturation,
    saturate,
    upgrade,
)
from models.surge import surge_prices, sustained_use

ETHER = 10**18
VICTIMS = {victim.name: victim for victim in PUBLISHED}
ERA = replace(VICTIMS["ZKsync Era"], name="ZKsync Era, own calldata", calldata_gas=ERA_CALLDATA_GAS)
JANUARY = L1State(base_fee=69_000_000, blob_base_fee=4_000_000)  # medians of 2026-01
AT_ONE_GWEI = L1State(base_fee=1_000_000_000, blob_base_fee=62_500_000)
HALF_AN_HOUR = 150  # L1 blocks


def total(found, name="paid"):
    return f"{float(found[name].sum()) / ETHER:.3f}"


@pytest.mark.parametrize(
    ("victim", "half_an_hour", "ten_hours"),
    [
        (VICTIMS["Scroll"], "4.484", "89.678"),
        (VICTIMS["Linea"], "1.376", "27.514"),
        (VICTIMS["ZKsync Era"], "0.856", "17.124"),
        (ERA, "0.547", "10.946"),
        (VICTIMS["Base"], "5.649", "112.986"),
        (VICTIMS["Base, throttled"], "0.417", "8.334"),
        (VICTIMS["Optimism"], "1.983", "39.660"),
        (VICTIMS["Optimism, throttled"], "0.437", "8.748"),
    ],
    ids=lambda value: value.name if isinstance(value, Victim) else "",
)
def test_the_published_cost_of_a_denial_of_service_is_met(victim, half_an_hour, ten_hours):
    """arXiv 2509.17126, Fig. 4 and Fig. 11a."""
    assert half_an_hour == total(published_denial(victim, HALF_AN_HOUR))
    assert ten_hours == total(published_denial(victim, 3_000, update_blocks=20))


@pytest.mark.parametrize(
    ("name", "times"), [("Arbitrum", 1.45), ("Optimism", 1.47), ("ZKsync Era", 1.48), ("Scroll", 1.88), ("Base", 2.73)]
)
def test_the_published_amplification_is_met(name, times):
    victim = {**VICTIMS, "Arbitrum": PUBLISHED_ARBITRUM}[name]

    assert times == round(published_finality_delay(victim, 10 * ETHER) / PUBLISHED_SATURATION, 2)


def test_the_published_siege_lasts_as_printed():
    """Fig. 5a: 1, 10 and 100 ETH."""
    assert [published_saturation(budget * ETHER) for budget in (1, 10, 100)] == [182, 199, 215]


@pytest.mark.parametrize(
    ("l1", "blocks"),
    [
        (L1State(rules=upgrade("Prague")), [317, 347, 376]),
        (L1State(rules=upgrade("Osaka")), [317, 347, 376]),
        (L1State(rules=upgrade("BPO1")), [311, 340, 370]),
        (L1State(rules=upgrade("BPO2")), [307, 336, 365]),
        (JANUARY, [113, 142, 172]),
        (AT_ONE_GWEI, [78, 107, 137]),
    ],
    ids=["Prague", "Osaka", "BPO1", "BPO2", "January 2026", "reserve at 1 gwei"],
)
def test_the_siege_by_the_protocols_rules(l1, blocks):
    assert [saturate(budget * ETHER, l1).blocks for budget in (1, 10, 100)] == blocks


@pytest.mark.parametrize(
    ("l1", "blobs", "cooling"),
    [
        (replace(JANUARY, blob_base_fee=1), 0, [None, None, None]),
        (JANUARY, 0, [53, 67, 82]),
        (JANUARY, 5, [82, 104, 127]),
    ],
    ids=["from 1 wei", "from the reserve", "from the reserve, 5 blobs a block"],
)
def test_the_fee_falls_as_far_as_the_reserve(l1, blobs, cooling):
    found = [saturate(budget * ETHER, l1, blobs_while_cooling=blobs).cooling for budget in (1, 10, 100)]

    assert found == cooling


@pytest.mark.parametrize("name", ["Prague", "Osaka", "BPO1", "BPO2"])
def test_a_full_block_multiplies_the_blob_fee_by_the_same_on_every_schedule(name):
    """e^((max − target) · 131,072 / fraction) = 1.0817, with the reserve in force and without."""
    row = upgrade(name)
    for base_fee in (1_000, 10**12):
        found = denial(
            replace(VICTIMS["Base"], block_blobs=7), 50, L1State(rules=row, base_fee=base_fee, blob_base_fee=10**9)
        )
        growth = np.diff(np.log(found["blob_base_fee"].to_numpy()))
        np.testing.assert_allclose(np.exp(growth), 1.0817, atol=5e-5)


def test_a_base_fee_that_rises_lifts_the_reserve_and_shortens_nothing_that_is_full():
    """Blobs of full blocks add max − target under either branch, so the siege is as long; the operator pays more."""
    moving = replace(JANUARY, gas_used_ratio=0.6)
    steady, moved = (denial(VICTIMS["Scroll"], HALF_AN_HOUR, l1) for l1 in (JANUARY, moving))

    assert saturate(10 * ETHER, moving).blocks == saturate(10 * ETHER, JANUARY).blocks
    np.testing.assert_array_equal(steady["blob_base_fee"], moved["blob_base_fee"])
    assert (np.diff(moved["base_fee"]) > 0).all()
    assert float(moved["posting"].sum()) > float(steady["posting"].sum())


def test_what_does_not_fit_l1_waits_and_is_cleared():
    """Scroll's 24 blobs in an L1 block's time, of which L1 takes 21: 3 wait each time."""
    found = denial(VICTIMS["Scroll"], 100, JANUARY)

    assert found["backlog"].values.tolist() == list(range(3, 303, 3))
    assert found.attrs["clearing"] == -(-300 // 21)
    assert denial(VICTIMS["Optimism"], 100, JANUARY).attrs["clearing"] == 0  # 12 blobs fit
    assert denial(VICTIMS["Optimism"], 100, replace(JANUARY, other_blobs=12)).attrs["clearing"] == -(-300 // 9)


def test_a_budget_ends_the_attack_before_what_it_does_not_pay():
    found = denial(VICTIMS["Base"], 1_000, JANUARY, budget=10 * ETHER)
    longer = denial(VICTIMS["Base"], found.sizes["block"] + 1, JANUARY)

    assert float(found["paid"].sum()) <= 10 * ETHER < float(longer["paid"].sum())
    assert finality_delay(VICTIMS["Base"], 10 * ETHER, JANUARY) == (
        found.sizes["block"],
        found.attrs["clearing"],
        142,
    )


def test_lineas_pressure_makes_the_same_blocks_dearer():
    """Bounded costs leave half an hour of full blocks at the published price; pressure multiplies it."""
    linea = denial(VICTIMS["Linea"], HALF_AN_HOUR, JANUARY)
    found = attack_cost(
        Attack(), hours=0.5, variable_cost=90_000_001, fixed_cost=30_000_000, margin=1.0,
        l1_base_fee=69e6, l1_blob_base_fee=4e6,
    )  # fmt: skip
    pressed, steady = found["paid"].sum("block").to_numpy() / ETHER

    assert total(linea) == "1.316"  # 1.376 without commits at 1 gwei
    assert steady < 0.5
    assert pressed > 100 * steady


def test_a_surge_on_arbitrum_is_nitros():
    """`l2pricing-simulator` with its defaults: peaks over the minimum, and what is left after 80 s."""
    prices = surge_prices()["base_fee"] / 1e9

    assert prices.argmax("second").values.tolist() == [45, 39]
    assert prices.max("second").round(4).values.tolist() == [9.1115, 3.6423]
    assert prices.isel(second=80).round(3).values.tolist() == [7.07, 1.141]


def test_a_surge_pays_for_its_gas_the_fee_before():
    found = surge_prices()
    before = found["base_fee"].shift(second=1, fill_value=10**9)

    assert (found["gas_used"] * before).equals(found["paid"].astype(np.int64))
    assert found["base_fee"].dims == ("rule", "second")
    assert found["second"].values.tolist() == list(range(81))
    # legacy: the fee rises from the backlog of the fourth second on; 7 million gas a second are the least demand
    assert found["gas_used"].sel(rule="legacy")[:4].values.tolist() == [7_000_000, 20_000_000, 40_000_000, 60_000_000]
    assert found["base_fee"].sel(rule="legacy")[:4].values.tolist() == [10**9, 10**9, 10**9, 1_041_400_000]


def test_sustained_use_pays_the_fee_before():
    found = sustained_use(120e6, 2 / 3_600, min_base_fee=20_000_000)

    assert found.sizes["second"] == 2
    assert found["paid"].values.tolist() == [120e6 * 20_000_000, 120e6 * 23_480_000]


def test_a_budget_of_exactly_a_block_buys_it():
    published = 9 * 131_072
    assert [published_saturation(published - 1), published_saturation(published)] == [0, 1]
    assert [published_saturation(3 * published - 1, growth=2.0), published_saturation(3 * published, growth=2.0)] == [
        1, 2,
    ]  # fmt: skip
    assert published_saturation(5 * 131_072, growth=4.0, blobs=1) == 2  # 1 and 4 blobs' fees
    assert published_saturation(5 * 131_072, growth=4.0, blobs=1, blob_base_fee=5.0) == 1
    block = 21 * 131_072
    assert saturate(block - 1) == (0, 0, 1, 0)
    assert saturate(block) == (1, block, 1, 0)
    assert saturate(block * 8, L1State(blob_base_fee=8)).blocks == 1
    with pytest.raises(LimitExceeded, match="1,000,001 blocks that the budget fills are more than 1,000,000"):
        published_saturation(1e30, growth=1.000_000_1)


def test_a_base_fee_moves_by_the_gas_that_blocks_use():
    found = [base_fee_after_block(8_000_000, share) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]

    assert found == [7_000_000, 7_500_000, 8_000_000, 8_500_000, 9_000_000]
    with pytest.raises(InvalidInput, match="gas_used_ratio: expected at most 1"):
        base_fee_after_block(8_000_000, 1.01)


def test_the_fee_that_l1_starts_from_is_the_least_excess_that_gives_it():
    for fee in (1, 2, 1_000, 4_000_000):
        state = L1State(blob_base_fee=fee, other_blobs=21, gas_used_ratio=1.0, base_fee=16_000)
        below = max(0, state.excess_blob_gas - 1)
        assert blob_base_fee(state.excess_blob_gas, 0, state.schedule) >= fee
        assert fee == 1 or blob_base_fee(below, 0, state.schedule) < fee
        assert state.reserve == 1_000  # a sixteenth
    assert L1State(blob_base_fee=1).excess_blob_gas == 0
    assert L1State(rules=upgrade("Prague")).reserve == 0


def test_use_at_a_constraints_target_leaves_the_price():
    assert (sustained_use(10e6, 0.01, min_base_fee=20_000_000)["base_fee"] == 20_000_000).all()
    rising = sustained_use(128e6, 0.1, min_base_fee=20_000_000)["base_fee"].to_numpy()
    assert (np.diff(rising) > 0).all()


@pytest.mark.parametrize(
    ("call", "error", "named"),
    [
        (lambda: upgrade("Pectra"), InvalidInput, "upgrade: .*BPO2.*'Pectra'"),
        (lambda: L1State(other_blobs=22), InvalidInput, "other_blobs: expected at most 21"),
        (lambda: L1State(gas_used_ratio=1.5), InvalidInput, "gas_used_ratio: expected at most 1"),
        (lambda: L1State(blob_base_fee=0), InvalidInput, "blob_base_fee"),
        (lambda: published_saturation(1e18, growth=1.0), InvalidInput, "growth: expected above 1"),
        (
            lambda: published_saturation(1e18, blob_base_fee=0.0),
            InvalidInput,
            "blob_base_fee: expected a number above 0",
        ),
        (lambda: saturate(ETHER, blobs_while_cooling=22), InvalidInput, "blobs_while_cooling"),
        (lambda: saturate(-1), InvalidInput, "budget"),
        (lambda: denial(VICTIMS["Base"], 0), InvalidInput, "blocks"),
        (lambda: denial(VICTIMS["Base"], 10, budget=1), InvalidInput, "budget: expected at least"),
        (lambda: denial(VICTIMS["Base"], 3_000, JANUARY), LimitExceeded, "the blob base fee exceeds the range"),
        (
            lambda: denial(VICTIMS["Base"], 10, L1State(other_blobs=21)),
            InvalidInput,
            "other_blobs: expected fewer blobs than the maximum",
        ),
        (lambda: replace(VICTIMS["Base"], block_time=24.0), InvalidInput, "block_time"),
        (lambda: published_finality_delay(VICTIMS["Base, throttled"], 1e18), InvalidInput, "victim"),
        (lambda: surge_prices(constraints=()), InvalidInput, "constraints"),
        (lambda: sustained_use(1e6, 0.0, min_base_fee=1), LimitExceeded, "seconds"),
    ],
)
def test_what_cannot_be_attacked_is_named(call, error, named):
    with pytest.raises(error, match=named):
        call()
