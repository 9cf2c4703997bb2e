"""Recommended fee parameters of every family, and set anew every day of the month that ships."""

import pytest
from scipy.stats import binomtest

from benchmarks.recommend import LOSS, daily
from feemodel.io import read_shipped_l1_fees
from feemodel.simulation.forecast._recommend import FAMILIES
from feemodel.simulation.scenarios import replay
from tests.simulation.test_recommend import check_a_lower_loss_probability_asks_for_more


@pytest.fixture(scope="module")
def month():
    return replay(read_shipped_l1_fees(), source="the month that ships")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_lower_loss_probability_asks_for_more(month, family):
    check_a_lower_loss_probability_asks_for_more(month, family)


@pytest.mark.parametrize("family", ["op-stack", "linea"])
def test_set_anew_every_day_they_lose_as_often_as_asked_and_overcharge_less_than_a_fixed_price(month, family):
    """It takes a minute each: 21 days, three policies."""
    found = daily(month, family)
    days = found["recommended"]
    interval = binomtest(days.losing, len(days.fees)).proportion_ci(0.95)

    assert interval.low <= LOSS <= interval.high
    assert days.losing >= found["fixed"].losing  # which is chosen to lose on as many days
    assert days.overcharge <= 0.6 * found["fixed"].overcharge
