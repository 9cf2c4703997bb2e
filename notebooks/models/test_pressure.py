"""Calldata pressure over time: the published doubling and growth, and what an attack costs."""

import numpy as np
import pytest

from feemodel.errors import InvalidInput
from feemodel.linea.extra_data import HIGHEST_COST
from feemodel.linea.priority import priority_fee
from feemodel.simulation.announced import CalldataPressure
from models.pressure import Attack, attack_cost, doubling_blocks, pressure_path

FULL, GWEI = 109_000, 10**9
TERMS = {"variable_cost": 1e9, "fixed_cost": 30_000_000, "margin": 1.0}
L1 = {"l1_base_fee": 7e7, "l1_blob_base_fee": 4e6}


def test_the_cost_doubles_in_22_and_a_half_blocks():
    assert doubling_blocks() == pytest.approx(22.526, abs=1e-3)
    assert doubling_blocks(0.5) == pytest.approx(44.707, abs=1e-3)
    assert doubling_blocks(denominator=8) == pytest.approx(5.885, abs=1e-3)


@pytest.mark.parametrize("pressure", [0.0, -1.0, 1.5])
def test_a_pressure_that_raises_nothing_is_refused(pressure):
    with pytest.raises(InvalidInput, match="pressure: expected a number above 0, at most 1"):
        doubling_blocks(pressure)


def test_ten_minutes_of_full_pressure_raise_a_small_cost_ten_thousand_times():
    """From 10 Mwei / byte, once the window is full: (33 / 32)**300, except what the record truncates."""
    cost = pressure_path(np.full(400, FULL), variable_cost=1e7)["variable_cost"].to_numpy()

    assert cost[304] / cost[4] == pytest.approx((33 / 32) ** 300, rel=0.003)
    assert cost[304] / cost[4] > 10_000


def test_from_a_gwei_the_record_ends_the_growth_first():
    """2**32 − 1 kwei is all that four bytes hold: 4,295 times 1 gwei."""
    cost = pressure_path(np.full(400, FULL), variable_cost=1e9)["variable_cost"].to_numpy()
    held = int(np.argmax(cost == HIGHEST_COST)) + 1

    assert HIGHEST_COST == 4_294_967_295_000
    assert cost.max() == HIGHEST_COST
    assert held == 276  # blocks: 9.2 minutes


def test_half_full_blocks_raise_nothing():
    assert set(pressure_path(np.full(300, FULL // 2), variable_cost=1e9)["variable_cost"].values) == {GWEI}


def test_the_cost_falls_back_as_it_rose():
    """Empty blocks take as much away as full ones add, 1/32 of the cost, down to what L1 asks for."""
    calldata = np.append(np.full(100, FULL), np.zeros(120, dtype=np.int64))
    cost = pressure_path(calldata, variable_cost=1e9)["variable_cost"].to_numpy()

    assert cost.argmax() == 101  # the window is more than half full for two blocks more
    assert cost[115] / cost[114] == pytest.approx(31 / 32, abs=1e-5)
    assert cost[-1] == GWEI


def test_a_path_may_start_under_pressure():
    path = pressure_path(np.zeros(3, dtype=np.int64), variable_cost=1e9, latest_variable_cost=2e9)

    assert path["variable_cost"].values.tolist() == [1_937_500_000, 1_876_953_000, 1_818_298_000]


def test_pressure_can_be_off():
    off = CalldataPressure(block_count=0)

    assert set(pressure_path(np.full(50, FULL), variable_cost=1e9, pressure=off)["variable_cost"].values) == {GWEI}


def test_calldata_has_one_number_a_block():
    with pytest.raises(InvalidInput, match="calldata: expected a list of numbers, one per block"):
        pressure_path(7, variable_cost=1e9)
    with pytest.raises(InvalidInput, match=r"calldata\[1\]: expected whole bytes of at least 0, got -1"):
        pressure_path(np.array([1, -1]), variable_cost=1e9)


def test_an_attack_is_as_many_transactions_as_a_block_takes():
    sizes, gas = Attack(calldata=150_000, compression=0.5).transactions()

    assert sizes.tolist() == [30_000, 30_000, 15_000]
    assert gas.tolist() == [21_000 + 40 * 60_000] * 2 + [21_000 + 40 * 30_000]


def test_without_pressure_an_attack_pays_the_same_each_block():
    found = attack_cost(Attack(), hours=0.1, **TERMS, **L1)
    sizes, gas = Attack().transactions()
    fees = priority_fee(sizes, gas, variable_cost=GWEI, fixed_cost=30_000_000, margin=1.0)
    each = int(((7 + fees) * gas).sum())

    assert found["paid"].sel(rule="without").values.tolist() == [each] * 180
    assert found["paid"].sel(rule="calldata pressure").values[0] == each


def test_pressure_makes_an_hour_a_thousand_times_dearer():
    paid = attack_cost(Attack(), hours=1.0, **TERMS, **L1)["paid"].sum("block") / 1e18

    assert paid.sel(rule="without").item() == pytest.approx(0.434, abs=1e-3)
    assert paid.sel(rule="calldata pressure").item() == pytest.approx(729, abs=1)


def test_a_patient_attack_at_the_target_pays_no_more_with_pressure():
    found = attack_cost(Attack(calldata=FULL // 2), hours=1.0, **TERMS, **L1)["paid"].sum("block")

    assert found.sel(rule="calldata pressure") == found.sel(rule="without")


def test_an_attack_without_time_is_refused():
    with pytest.raises(InvalidInput, match="hours: expected a number above 0"):
        attack_cost(Attack(), hours=0, **TERMS, **L1)
