"""Arbitrum's charges, its L1 pricing controller and its L2 base fee."""

import pytest

from feemodel.errors import InvalidInput
from feemodel.rollups import arbitrum
from feemodel.rollups.arbitrum_l1_pricing import L1Pricing, charged, reported


@pytest.mark.parametrize(("update_time", "current_time"), [(5, 4), (3, 9)])
def test_reports_come_in_order_of_time(update_time: int, current_time: int) -> None:
    state = L1Pricing(price_per_unit=1, last_update_time=4)
    with pytest.raises(InvalidInput, match="update_time: expected a time from 4"):
        reported(state, update_time=update_time, current_time=current_time, wei_spent=0)


def test_what_the_pool_does_not_cover_stays_due() -> None:
    """1,000 wei of rewards and 3,000 wei of costs at 500 wei; costs are paid later, rewards are not."""
    state = L1Pricing(price_per_unit=1, units_since_update=100, fees_available=500)
    short = reported(state, update_time=1, current_time=1, wei_spent=3_000).state
    assert (short.due_for_rewards, short.due_to_posters, short.fees_available) == (500, 3_000, 0)

    later = reported(charged(short, 0, 9_000), update_time=2, current_time=2, wei_spent=0)
    assert (later.poster_paid, later.state.due_to_posters, later.state.due_for_rewards) == (3_000, 0, 500)


def test_versions_bring_the_published_parameters() -> None:
    """nitro at 6dce8d1, l1pricing.go, l2pricing.go."""
    assert [one.brotli_level for one in arbitrum.VERSIONS] == [0, 0, 0, 1, 1, 1, 1, 1]
    assert [one.equilibration_units for one in arbitrum.VERSIONS] == [96_000_000] + [160_000_000] * 7
    assert [one.speed_limit for one in arbitrum.VERSIONS] == [1_000_000] + [7_000_000] * 5 + [None] * 2
