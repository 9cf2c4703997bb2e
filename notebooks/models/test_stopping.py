"""Posting by forecast: the limits are those of dynamic programming, nothing looks ahead, and waiting pays."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feemodel.io import read_shipped_l1_fees
from feemodel.simulation.posting import Posting, PriceCap
from feemodel.simulation.scenarios import replay
from models.finality import Clairvoyant, cheapest_step, price_of_finality
from models.stopping import _stop, posted_by_forecast, posting_limits

HOUR = 3_600.0
SLA = 16 * HOUR
DELAY_COST = 0.25  # with this share an hour, submissions wait about as long as under the price cap
BINS = 144  # a day


@cache
def month():
    return replay(read_shipped_l1_fees(), source="Ethereum, 2026-01-07 to 2026-02-06")


def by_forecast(share, fees=None):
    return posted_by_forecast(month() if fees is None else fees, deadline=SLA, delay_cost=share)


def clairvoyant(share):
    return price_of_finality(month(), Clairvoyant(deadline=SLA, delay_cost=share))


def at_mean_delay(policy, wanted):
    """The result of a policy whose mean delay is about `wanted`, by bisection of the cost of waiting."""
    low, high = 0.05, 1.5
    for _ in range(9):
        middle = (low * high) ** 0.5
        found = policy(middle)
        low, high = (middle, high) if float(found["mean_delay"]) > wanted else (low, middle)
    return found


def daily(days, seed):
    """Costs of every ten minutes that follow the time of day, with noise that dies out."""
    rng, noise = np.random.default_rng(seed), 0.0
    found = np.empty(days * BINS)
    for k in range(len(found)):
        noise = 0.9 * noise + rng.normal(0.0, 0.3)
        found[k] = 1e13 * np.exp(np.sin(2 * np.pi * k / BINS) + noise)
    return found


def best(costs, transition, delay_cost, k, i, left):
    """Expected cost of the best decisions, by recursion."""
    if left == 0:
        return costs[k, i]
    return min(costs[k, i], waiting(costs, transition, delay_cost, k, i, left))


def waiting(costs, transition, delay_cost, k, i, left):
    after = (best(costs, transition, delay_cost, k + 1, j, left - 1) for j in range(costs.shape[1]))
    return delay_cost + sum(share * cost for share, cost in zip(transition[i], after, strict=True))


@pytest.mark.parametrize("delay_cost", [0.0, 0.3, 2.0])
def test_a_submission_leaves_where_waiting_is_expected_to_cost_more(delay_cost):
    rng = np.random.default_rng(5)
    costs = np.sort(rng.uniform(1.0, 10.0, (8, 4)), axis=1)
    transition = rng.dirichlet(np.ones(4), 4)
    limits = np.full((4, 4), np.inf)
    _stop(costs, transition, delay_cost, limits)

    assert (limits[:, 0] == np.inf).all()
    for k in range(4):
        for left in range(1, 4):
            leaves = [costs[k, i] <= waiting(costs, transition, delay_cost, k, i, left) for i in range(4)]
            first = leaves.index(False) if False in leaves else 4
            below = int(np.searchsorted(costs[k], limits[k, left], side="left"))
            assert max(first, 1) == max(below, 1)


@settings(max_examples=15, deadline=None)
@given(st.integers(3 * BINS, 9 * BINS - 1), st.floats(1e-3, 1e3), st.integers(0, 3))
def test_what_comes_later_changes_no_limit(origin, factor, seed):
    costs = daily(9, seed)
    changed = costs.copy()
    changed[origin:] *= factor
    before, after = (
        posting_limits(one, step=600.0, deadline=4 * HOUR, delay_cost=DELAY_COST) for one in (costs, changed)
    )
    known = origin // before.steps + 1

    assert np.array_equal(before.costs[:known], after.costs[:known])
    assert before.costs[-1, -1] != np.inf


def test_what_comes_later_changes_no_decision():
    fees = month()
    changed, origin = fees.copy(deep=True), 2_500
    for name in ("base_fee", "blob_base_fee"):
        changed[name][0, origin:] = np.random.default_rng(1).permutation(fees[name].to_numpy()[0, origin:])
    left, left_then = (by_forecast(DELAY_COST, one)["sent"].to_numpy() for one in (fees, changed))
    known = float(fees["elapsed"][origin])

    assert np.array_equal(left[left < known], left_then[left_then < known])
    assert not np.array_equal(left, left_then)


def test_the_default_waits_about_as_long_as_the_cap():
    cap = float(price_of_finality(month(), Posting(kind="price-cap"))["mean_delay"])

    assert float(by_forecast(DELAY_COST)["mean_delay"]) == pytest.approx(cap, rel=0.1)


def test_the_clairvoyant_weighs_waiting_too():
    found = [clairvoyant(share) for share in (0.0, 0.2)]

    assert float(found[1]["mean_delay"]) < 0.5 * float(found[0]["mean_delay"])
    assert float(found[1]["saving"]) < float(found[0]["saving"])
    assert cheapest_step(np.array([3.0, 2.9]) + 0.2 * np.arange(2), 1).tolist() == [0, 1]


@pytest.mark.parametrize("step", [12.0, 900.0, 3_600.0, 86_400.0])
@pytest.mark.parametrize("costs", [np.full(20 * BINS, 1e13), np.zeros(20 * BINS)], ids=["flat", "nothing"])
def test_where_costs_never_move_nothing_waits(costs, step):
    found = posting_limits(costs, step=step, deadline=SLA, delay_cost=0.0)

    assert (costs.min() <= found.costs).all()


def test_three_days_without_a_forecast_leave_at_once():
    found = posting_limits(daily(4, 1), step=600.0, deadline=SLA, delay_cost=DELAY_COST).costs

    assert (found[: 3 * BINS // 2] == np.inf).all()
    assert (found[3 * BINS // 2 :, 1:] < np.inf).all()


@pytest.mark.system
def test_a_forecast_saves_more_than_the_cap_at_the_same_mean_delay_and_most_of_what_can_be_saved():
    cap = {
        tip: price_of_finality(month(), Posting(kind="price-cap", cap=PriceCap(tip=tip)))
        for tip in ("paid", "constant")
    }
    wanted = float(cap["paid"]["mean_delay"])
    forecast = at_mean_delay(by_forecast, wanted)
    bound = at_mean_delay(clairvoyant, wanted)
    saving = {name: float(found["saving"]) for name, found in (cap | {"forecast": forecast, "bound": bound}).items()}

    assert float(forecast["mean_delay"]) == pytest.approx(wanted, rel=0.05)
    assert float(bound["mean_delay"]) == pytest.approx(wanted, rel=0.05)
    assert saving["constant"] < saving["paid"] < saving["forecast"] < saving["bound"]
    assert saving["forecast"] > 0.9 * saving["bound"]
    assert saving["constant"] < 0.85 * saving["bound"]
    assert float(forecast["delay"].max()) <= SLA + 12.0
