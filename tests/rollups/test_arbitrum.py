"""Arbitrum's charges, its L1 pricing controller and its L2 base fee."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feemodel.errors import InvalidInput
from feemodel.rollups import arbitrum
from feemodel.rollups.arbitrum_l1_pricing import L1Pricing, charged, reported


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


def test_versions_bring_the_published_parameters() -> None:
    """nitro at 6dce8d1, l1pricing.go, l2pricing.go."""
    assert [one.brotli_level for one in arbitrum.VERSIONS] == [0, 0, 0, 1, 1, 1, 1, 1]
    assert [one.equilibration_units for one in arbitrum.VERSIONS] == [96_000_000] + [160_000_000] * 7
    assert [one.speed_limit for one in arbitrum.VERSIONS] == [1_000_000] + [7_000_000] * 5 + [None] * 2
