"""Recommended fee parameters of every family, and set anew every day of the month that ships."""

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import binomtest

from benchmarks.recommend import LOSS, daily
from feemodel.io import read_shipped_l1_fees
from feemodel.linea.parameters import COORDINATOR
from feemodel.simulation.forecast.recommend import SUBMISSIONS, Family, recommend
from feemodel.simulation.scenarios import replay
from feemodel.simulation.surfaces import Submission


@pytest.fixture(scope="module")
def month():
    return replay(read_shipped_l1_fees(), source="the month that ships")


@pytest.mark.parametrize("family", Family.__args__)
def test_a_lower_loss_probability_asks_for_more(month, family):
    terms = {"family": family, "method": "seasonal", "submission": SUBMISSIONS.get(family, Submission())}
    careful, bold = (
        recommend(month, **terms, loss_probability=share, paths=50, hold=7_200.0, rng=1) for share in (0.02, 0.5)
    )

    assert careful.factor > bold.factor
    assert careful.loss_probability <= bold.loss_probability
    assert careful.parameters.keys() == bold.parameters.keys()


def test_set_anew_every_day_they_lose_as_often_as_asked_and_overcharge_less_than_a_fixed_price(month):
    """It takes a minute: 11 days, three policies; `scripts/bench recommend` has 21 days, and Linea too."""
    found = daily(month, "op-stack", warm_up=18)
    days = found["recommended"]
    interval = binomtest(days.losing, len(days.fees)).proportion_ci(0.95)

    assert interval.low <= LOSS <= interval.high
    assert days.losing >= found["fixed"].losing  # which is chosen to lose on as many days
    assert days.overcharge <= 0.6 * found["fixed"].overcharge


@pytest.mark.parametrize("family", ["op-stack", "linea"])
def test_the_interval_of_a_factor_holds_that_of_the_process_which_made_the_history(family):
    """Twelve histories of a known process; the factor of the process comes from its own continuations."""
    inside = [contains(seed, family) for seed in range(12)]

    assert binomtest(sum(inside), len(inside), 0.9).pvalue > 0.01


def contains(seed, family):
    """Whether the interval for a history of three weeks holds the factor that 4,000 true continuations need."""
    rng, bins = np.random.default_rng(seed), 21 * 144
    level = continued(0.0, 0, bins, 1, rng)
    seconds = 1_770_000_000 // 600 * 600 + 600 * np.arange(bins)
    fees = np.exp(level[0])
    l1 = replay({"timestamp": seconds, "base_fee": fees, "blob_base_fee": fees / 16}, source="a known process")
    last = level[0, -1]
    ahead = continued(last - cycle(bins - 1), bins, 147, 4_000, rng)
    # Prices of a byte change every two minutes. Linea's are the mean of 100 such steps, 12,000 s.
    levels = np.column_stack((np.tile(level[:, -20:], (4_000, 1)), np.full(4_000, last), ahead))
    base_fee = np.repeat(np.exp(levels), 5, axis=1)
    submission = SUBMISSIONS[family]
    cost = submission.cost(base_fee, submission.tip, base_fee / 16) / submission.capacity
    price = cost[:, 100:]
    if family == "linea":
        sums = np.cumsum(cost * submission.capacity / COORDINATOR.bytes_per_submission, axis=1)
        price = (sums[:, 100:] - sums[:, :-100]) / 100
    needed = float(np.quantile(cost[:, 106:826:6].mean(axis=1) / price[:, :720].mean(axis=1), 0.95))
    low, high = recommend(l1, family=family, paths=200, rng=seed).factor_interval
    return low <= needed <= high


def cycle(bins):
    return np.log(3e8) + 0.5 * np.sin(2 * np.pi * bins / 144)


def continued(state, first, bins, paths, rng):
    """Paths of the logarithm of a fee: a daily cycle, and a deviation that decays."""
    deviation = lfilter([1.0], [1.0, -0.97], 0.12 * rng.standard_normal((paths, bins)), axis=1)
    return cycle(first + np.arange(bins)) + deviation + state * 0.97 ** np.arange(1, bins + 1)
