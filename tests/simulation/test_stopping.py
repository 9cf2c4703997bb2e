"""Posting by forecast: the limits are those of dynamic programming, nothing looks ahead, and waiting pays."""

import json
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feemodel.cli import main
from feemodel.errors import InvalidInput
from feemodel.io import read_shipped_l1_fees
from feemodel.simulation.closed_loop._l1_steps import cheapest_step
from feemodel.simulation.closed_loop._stopping import _stop, posting_limits
from feemodel.simulation.closed_loop.finality import price_of_finality
from feemodel.simulation.closed_loop.paths import Bootstrap
from feemodel.simulation.closed_loop.simulator import simulate
from feemodel.simulation.policies.fixed import Fixed
from feemodel.simulation.posting import DELAY_COST, Posting
from feemodel.simulation.scenarios import replay

HOUR = 3_600.0
SLA = 16 * HOUR
BY_FORECAST = Posting(kind="forecast", deadline=SLA, delay_cost=DELAY_COST)
BINS = 144  # a day


@cache
def month():
    return replay(read_shipped_l1_fees(), source="Ethereum, 2026-01-07 to 2026-02-06")


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
    left, left_then = (price_of_finality(one, BY_FORECAST)["sent"].to_numpy() for one in (fees, changed))
    known = float(fees["elapsed"][origin])

    assert np.array_equal(left[left < known], left_then[left_then < known])
    assert not np.array_equal(left, left_then)


def test_the_default_waits_about_as_long_as_the_cap():
    cap = float(price_of_finality(month(), Posting(kind="price-cap"))["mean_delay"])

    assert float(price_of_finality(month(), BY_FORECAST)["mean_delay"]) == pytest.approx(cap, rel=0.1)


def test_the_clairvoyant_weighs_waiting_too():
    found = [
        price_of_finality(month(), Posting(kind="clairvoyant", deadline=SLA, delay_cost=share)) for share in (0.0, 0.2)
    ]

    assert float(found[1]["mean_delay"]) < 0.5 * float(found[0]["mean_delay"])
    assert float(found[1]["saving"]) < float(found[0]["saving"])
    assert cheapest_step(np.array([3.0, 2.9]) + 0.2 * np.arange(2), 1).tolist() == [0, 1]


def test_a_loop_waits_until_the_deadline_at_most_and_pays_less_than_at_once():
    at_once, found = (simulate(month(), Fixed(price=1e8), posting) for posting in (Posting(), BY_FORECAST))

    assert float(found["data_cost"][0]) < 0.6 * float(at_once["data_cost"][0])
    assert float(found["accrued_data_cost"].sum()) == pytest.approx(float(found["data_cost"][0]), rel=1e-9)
    assert float(found["wait_p99"][0]) <= SLA + 752.0
    assert float(found["mean_wait"][0]) > float(at_once["mean_wait"][0])


def test_results_do_not_depend_on_workers():
    def drawn(**workers):
        return simulate(
            month(), Fixed(price=1e8), BY_FORECAST, step=600.0, rng=3,
            bootstrap=Bootstrap(paths=4, horizon=8 * 86_400.0), **workers,
        )  # fmt: skip

    one, threads, processes = drawn(workers=1), drawn(workers=3), drawn(executor="processes", workers=2)
    for name in ("data_cost", "mean_wait", "accrued_data_cost"):
        assert np.array_equal(one[name], threads[name])
        assert np.array_equal(one[name], processes[name])


@pytest.mark.parametrize("step", [12.0, 900.0, 3_600.0, 86_400.0])
@pytest.mark.parametrize("costs", [np.full(20 * BINS, 1e13), np.zeros(20 * BINS)], ids=["flat", "nothing"])
def test_where_costs_never_move_nothing_waits(costs, step):
    found = posting_limits(costs, step=step, deadline=SLA, delay_cost=0.0)

    assert (costs.min() <= found.costs).all()


def test_three_days_without_a_forecast_leave_at_once():
    found = posting_limits(daily(4, 1), step=600.0, deadline=SLA, delay_cost=DELAY_COST).costs

    assert (found[: 3 * BINS // 2] == np.inf).all()
    assert (found[3 * BINS // 2 :, 1:] < np.inf).all()


WRONG = {
    "no deadline": (lambda: Posting(kind="forecast"), "deadline"),
    "eight days": (lambda: Posting(kind="forecast", deadline=8 * 86_400.0), "deadline"),
    "two blobs": (lambda: Posting(kind="forecast", deadline=SLA, blobs=2), "blobs"),
    "a negative cost": (lambda: Posting(kind="forecast", deadline=SLA, delay_cost=-0.1), "delay_cost"),
    "percent": (lambda: Posting(kind="forecast", deadline=SLA, delay_cost=25.0), "delay_cost"),
    "a cost where nothing waits": (lambda: Posting(delay_cost=0.1), "delay_cost"),
    "a cost of the cap": (lambda: Posting(kind="price-cap", delay_cost=0.1), "delay_cost"),
}


@pytest.mark.parametrize(("call", "name"), WRONG.values(), ids=WRONG)
def test_a_wrong_posting_is_named(call, name):
    with pytest.raises(InvalidInput) as caught:
        call()
    assert name == caught.value.name


def test_the_command_posts_by_forecast_at_a_cost_of_waiting(capsys):
    def answer(*arguments):
        assert main(["simulate", "--posting", "forecast", *arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    usual, dearer = answer(), answer("--delay-cost", "1")

    assert usual["posting"] == "forecast"
    assert usual["saving"] == pytest.approx(float(price_of_finality(month(), BY_FORECAST)["saving"]))
    assert 0.0 < dearer["meanDelayHours"] < usual["meanDelayHours"]
    assert main(["simulate", "--posting", "fill", "--delay-cost", "1"]) == 2
    assert "--delay-cost" in capsys.readouterr().err
