"""Arbitrum's charges, its L1 pricing controller and its L2 base fee."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feemodel.errors import InvalidInput
from feemodel.rollups import arbitrum, arbitrum_l2_pricing
from feemodel.rollups.arbitrum_l1_pricing import L1Pricing, charged, equilibrium_price, reported
from tests.helpers.rollup_vectors import equilibration

UP = [18_500_000_211, 0, 141_955_639, 4_787_611_603, 5_498_218_192, 5_112_085_131, 4_974_025_028, 4_984_999_198,
      4_999_639_584, 5_001_299_423]  # fmt: skip
DOWN = [0, 0, 0, 0, 902_339_401, 1_079_705_335, 1_023_630_452, 996_994_770, 997_299_288, 999_782_363]


@pytest.mark.parametrize(
    ("start", "end", "prices"), [(1, 5, UP), (5, 1, DOWN), (2, 2, [2 * 10**9] * 10)], ids=["up", "down", "still"]
)
def test_the_controller_finds_the_cost_of_posting(start: int, end: int, prices: list[int]) -> None:
    """OffchainLabs/nitro at 6dce8d1, arbos/l1pricing_test.go, asks for 1 % after ten reports; it swings on the way."""
    inputs = {
        "initial_price_per_unit": start * 10**9, "equilibrium": end * 10**9, "updates": 10,
        "units_per_update": 160_000_000,
    }  # fmt: skip
    assert equilibration(inputs) == prices
    assert abs(prices[-1] - end * 10**9) <= 0.01 * max(1, abs(end - start)) * 10**9


@pytest.mark.parametrize(("fees", "paid"), [
    (23_400, (780, 156, 3_000, 19_620)), (3_939, (780, 156, 3_000, 159)), (93, (93, 156, 0, 0)),
])  # fmt: skip
def test_a_report_pays_rewards_first(fees: int, paid: tuple[int, ...]) -> None:
    """The three cases of l1pricing_test.go: rich, enough, too little; a third of 234 units is the batch's."""
    state = L1Pricing(price_per_unit=0, units_since_update=234, fees_available=fees)
    report = reported(state, update_time=1, current_time=3, wei_spent=3_000)
    after = report.state
    assert (report.reward_paid, after.units_since_update, report.poster_paid, after.fees_available) == paid


def test_what_is_not_paid_stays_due_and_lowers_the_surplus() -> None:
    state = L1Pricing(price_per_unit=100, units_since_update=10, fees_available=50)
    after = reported(state, update_time=1, current_time=1, wei_spent=3_000).state
    assert (after.due_for_rewards, after.due_to_posters, after.last_surplus) == (50, 3_000, -3_050)
    later = reported(charged(after, 10, 5_000), update_time=2, current_time=2, wei_spent=0)
    assert (later.poster_paid, later.state.due_to_posters) == (3_000, 0)


def test_a_cap_bounds_the_cost_of_a_batch() -> None:
    """78 units · 10 wei · 50 % = 390 wei, of 3,000 spent."""
    state = L1Pricing(price_per_unit=0, units_since_update=234, fees_available=23_400)
    times = {"update_time": 1, "current_time": 3, "wei_spent": 3_000, "l1_base_fee": 10}
    assert reported(state, **times, cost_cap_bips=5_000).poster_paid == 390
    assert reported(state, **times).poster_paid == 3_000


def test_at_the_equilibrium_price_nothing_moves() -> None:
    price = equilibrium_price(160_000_000 * 7_000, 160_000_000)
    state = L1Pricing(price_per_unit=price)
    for i in range(1, 20):
        state = charged(state, 160_000_000, 160_000_000 * state.price_per_unit)
        state = reported(state, update_time=i, current_time=i, wei_spent=160_000_000 * 7_000).state
        assert state.price_per_unit == price == 7_010


def test_a_price_per_unit_needs_units() -> None:
    assert equilibrium_price(5, 1) == 15
    with pytest.raises(InvalidInput, match="units: expected an integer of at least 1"):
        equilibrium_price(1, 0)


@pytest.mark.parametrize(("update_time", "current_time"), [(5, 4), (3, 9)])
def test_reports_come_in_order_of_time(update_time: int, current_time: int) -> None:
    state = L1Pricing(price_per_unit=1, last_update_time=4)
    with pytest.raises(InvalidInput, match="update_time: expected a time from 4"):
        reported(state, update_time=update_time, current_time=current_time, wei_spent=0)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**8), st.integers(0, 5)), min_size=1, max_size=30))
def test_the_controller_loses_no_wei(batches: list[tuple[int, int, int]]) -> None:
    """What came in is in the pool, or was paid; what was spent was paid, or is due."""
    state, time = L1Pricing(price_per_unit=50), 1
    income = paid = spent = rewards = 0
    for units, cost, seconds in batches:
        fees = units * state.price_per_unit
        before = state.units_since_update + units
        report = reported(charged(state, units, fees), update_time=time, current_time=time + seconds, wei_spent=cost)
        allocated = before - report.state.units_since_update
        income, paid, spent = income + fees, paid + report.reward_paid + report.poster_paid, spent + cost
        rewards += 10 * allocated
        state, time = report.state, time + seconds + 1
    assert state.fees_available == income - paid >= 0
    assert state.due_to_posters + state.due_for_rewards == spent + rewards - paid
    assert state.price_per_unit >= 0


def test_a_charge_is_whole_gas() -> None:
    charge = arbitrum.poster_charge([0, 120, 121], price_per_unit=10**9 + 7, gas_price=10**7)
    assert charge.units.tolist() == [0, 1_920, 1_936]
    assert charge.gas.tolist() == [0, 192_000, 193_600]
    assert charge.fee.tolist() == [0, 1_920_000_000_000, 1_936_000_000_000]
    assert arbitrum.poster_charge(120, price_per_unit=10**9 + 7, gas_price=10**7) == (1_920, 192_000, 192 * 10**10)
    with pytest.raises(InvalidInput, match="gas_price"):
        arbitrum.poster_charge(120, price_per_unit=1, gas_price=0)


def test_an_estimate_is_padded() -> None:
    """At congestion the price is taken at 7/8, not below its minimum."""
    terms = {"price_per_unit": 10**9, "min_base_fee": 10**7}
    assert arbitrum.estimated_poster_gas(120, base_fee=10**7, **terms) == 241_670
    assert arbitrum.estimated_poster_gas([120], base_fee=10**8, **terms).tolist() == [27_619]


def test_a_batch_is_reported_with_its_bookkeeping() -> None:
    """From ArbOS 50 on not below EIP-7623's floor: 10 · (4 · 100,000 + 172) + 21,000."""
    assert arbitrum.batch_gas(10, 100, version="arbos-6") == 40 + 1_600 + 30 + 6 * 4 + 40_000 + 100_000
    counts = {"zero_bytes": 0, "nonzero_bytes": 100_000}
    before, after = (arbitrum.batch_gas(**counts, version=name) for name in ("arbos-20", "arbos-50"))
    assert (before, after) == (1_600_000 + 30 + 6 * 3_125 + 40_000 + 210_000, 4_022_720)
    assert arbitrum.batch_gas([0], [100_000], version="arbos-50").tolist() == [after]
    with pytest.raises(InvalidInput, match="expected one of arbos-0, arbos-6"):
        arbitrum.batch_gas(0, 1, version="arbos-7")


@pytest.mark.parametrize(("backlog", "fee"), [
    (0, 10**7), (70_000_000, 10**7), (70_000_000 + 142_800_000, 12_214_000), ([0, 784_000_000], [10**7, 27_083_000]),
])  # fmt: skip
def test_l2_base_fee_rises_with_the_backlog(backlog: Any, fee: Any) -> None:
    """One fifth and one whole of inertia · speed limit beyond the tolerance: e^0.2 and e."""
    price = arbitrum_l2_pricing.l2_base_fee(backlog, min_base_fee=10**7, speed_limit=7_000_000)
    assert (price.tolist() if isinstance(backlog, list) else price) == fee


def test_backlog_is_paid_off_by_time() -> None:
    assert arbitrum_l2_pricing.next_backlog([0, 10**7], 10**6, [1, 1], speed_limit=7_000_000).tolist() == [0, 4_000_000]


# Brotli level, equilibration units, gas of a batch, speed limit, floor: nitro at 6dce8d1, l1pricing.go, l2pricing.go
VERSIONS = {
    "arbos-0": (0, 96_000_000, 0, 1_000_000, False), "arbos-6": (0, 160_000_000, 100_000, 7_000_000, False),
    "arbos-11": (0, 160_000_000, 210_000, 7_000_000, False), "arbos-20": (1, 160_000_000, 210_000, 7_000_000, False),
    "arbos-40": (1, 160_000_000, 210_000, 7_000_000, False),
    "arbos-50": (1, 160_000_000, 210_000, 7_000_000, True), "arbos-51": (1, 160_000_000, 210_000, None, True),
    "arbos-61": (1, 160_000_000, 210_000, None, True),
}  # fmt: skip


@pytest.mark.parametrize(("name", "expected"), VERSIONS.items())
def test_a_version_brings_the_published_parameters(name: str, expected: tuple[Any, ...]) -> None:
    row = arbitrum.version(name)
    found = (row.brotli_level, row.equilibration_units, row.per_batch_gas, row.speed_limit, row.counts_floor)

    assert found == expected
    assert [one.name for one in arbitrum.VERSIONS] == list(VERSIONS)


# zero and non-zero bytes, version -> gas by hand: 4 z + 16 n + 30 + 6 ⌈(z + n) / 32⌉ + 40,000 + of a batch
BATCHES = [
    (0, 0, "arbos-0", 40_030), (33, 0, "arbos-0", 40_174), (1, 31, "arbos-6", 140_536), (1, 32, "arbos-11", 250_558),
    (0, 0, "arbos-50", 250_030), (0, 10_000, "arbos-50", 422_720), (10_000, 100, "arbos-61", 293_526),
    (100_000, 0, "arbos-61", 1_022_720),
]  # fmt: skip


@pytest.mark.parametrize(("zero", "nonzero", "version", "gas"), BATCHES)
def test_a_batch_costs_its_bytes_or_its_floor(zero: int, nonzero: int, version: str, gas: int) -> None:
    """From version 50 on at least 10 · (zero + 4 · nonzero + 172) + 21,000: 10 · 40,172 + 21,000 and 1,022,720."""
    assert arbitrum.batch_gas(zero, nonzero, version=version) == gas
    assert arbitrum.batch_gas([zero], nonzero, version=version).tolist() == [gas]


def test_the_least_prices_are_taken() -> None:
    assert arbitrum.poster_charge(1, price_per_unit=1, gas_price=1) == (16, 16, 16)
    assert arbitrum.poster_charge(1, price_per_unit=1, gas_price=17) == (16, 0, 0)
    # (16 + 256) · 1.01 = 274.72 units; 274 · 1.1 = 301.4 wei
    assert arbitrum.estimated_poster_gas(1, price_per_unit=1, base_fee=1, min_base_fee=1) == 301
    assert arbitrum.estimated_poster_gas(1, price_per_unit=1, base_fee=16, min_base_fee=1) == 301 // 14
    assert arbitrum.estimated_poster_gas(1, price_per_unit=1, base_fee=16, min_base_fee=15) == 301 // 15
    with pytest.raises(InvalidInput, match="gas_price"):
        arbitrum.poster_charge(1, price_per_unit=1, gas_price=0)
    with pytest.raises(InvalidInput, match="min_base_fee"):
        arbitrum.estimated_poster_gas(1, price_per_unit=1, base_fee=16, min_base_fee=0)
