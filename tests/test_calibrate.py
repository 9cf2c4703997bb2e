"""The margin that keeps the risk: against break-even margins that are known, and on real L1 fees."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from feemodel.errors import InvalidInput
from feemodel.io import read_shipped_l1_fees, read_shipped_transactions
from feemodel.simulation.announced import PricingRule
from feemodel.simulation.backtest import backtest
from feemodel.simulation.calibrate import calibrate, smallest_margin
from feemodel.simulation.scenarios import bootstrap, replay
from feemodel.simulation.surfaces import Workload

DAY = 86_400  # seconds
TOLERANCE = 1e-3


def known(break_even):
    return lambda path, margin: margin - break_even[path]


@settings(max_examples=40)
@given(st.lists(st.floats(0.1, 50), min_size=5, max_size=80), st.sampled_from([0.01, 0.05, 0.2, 0.5]))
def test_the_margin_is_the_quantile_of_the_break_even_margins(break_even, bound):
    found = smallest_margin(known(break_even), len(break_even), loss_probability=bound, tolerance=TOLERANCE)
    exact = np.sort(break_even)[::-1][int(Fraction(str(bound)) * len(break_even))]  # so many may lie above it

    assert exact - 1e-9 <= found.margin <= exact + TOLERANCE
    assert found.losing == sum(value > found.margin for value in break_even)
    assert found.low <= found.margin
    assert found.high is None or found.margin <= found.high


def test_the_interval_is_clopper_and_pearsons():
    """At `high` the interval of the losing share lies below the bound; a little lower it does not; likewise `low`."""
    break_even = np.random.default_rng(1).gamma(2.0, 1.0, 400)
    found = smallest_margin(known(break_even), 400, loss_probability=0.05, tolerance=1e-6)

    def interval(margin):
        return binomtest(int((break_even > margin).sum()), 400).proportion_ci(0.95, "exact")

    assert interval(found.high).high <= 0.05 < interval(found.high - 1e-3).high
    assert interval(found.low).low <= 0.05 < interval(found.low - 1e-3).low


def test_the_interval_holds_the_true_margin_as_often_as_stated():
    """Break-even margins of a known distribution: the interval holds its quantile in at least 95 of 100 samples."""
    rng, held = np.random.default_rng(2), 0
    for _ in range(200):
        found = smallest_margin(known(rng.exponential(1.0, 300)), 300, loss_probability=0.1, tolerance=1e-4)
        held += found.low <= np.log(10) <= found.high

    assert held >= 0.93 * 200


def test_no_margin_is_said():
    """A tenth of the paths cannot be made to pay: the announced cost is bounded, say."""
    found = smallest_margin(lambda path, margin: -1.0 if path < 10 else margin - 1, 100, loss_probability=0.05)

    assert found.margin is None
    assert found.high is None
    assert found.reason == "no margin up to 100 does: at it 10 of 100 paths lose, 5 may"


def test_too_few_paths_for_a_bound_are_said():
    found = smallest_margin(known([1.0] * 50), 50, loss_probability=0.01)

    assert (round(found.margin, 3), found.high) == (1.0, None)
    assert found.reason == "the interval has no upper end: that takes at least 368 paths, there are 50"


def test_an_upper_end_beyond_the_highest_is_said():
    break_even = [1.0] * 193 + [1e9] * 7
    found = smallest_margin(known(break_even), 200, loss_probability=0.05)

    assert round(found.margin, 3) == 1.0
    assert found.high is None
    assert found.reason == "the interval has no upper end up to a margin of 100"


def test_no_loss_needs_no_margin():
    found = smallest_margin(lambda path, margin: 1.0, 100, loss_probability=0.05)

    assert (found.margin, found.low, found.high, found.losing, found.reason) == (0.0, 0.0, 0.0, 0, "")


def test_few_evaluations_are_needed():
    found = smallest_margin(known(np.random.default_rng(1).gamma(2.0, 1.0, 1_000)), 1_000, loss_probability=0.05)

    assert found.evaluations < 6 * 1_000


@pytest.mark.parametrize(
    "change", [{"loss_probability": 0.0}, {"loss_probability": 1.0}, {"confidence": 1.0}, {"tolerance": 0.0}]
)
def test_what_has_no_answer_is_refused(change):
    with pytest.raises(InvalidInput, match=next(iter(change))):
        smallest_margin(known([1.0]), 1, **{"loss_probability": 0.1} | change)


@pytest.fixture(scope="module")
def days():
    history = replay(read_shipped_l1_fees(), source="the shipped month")
    return bootstrap(history, paths=40, block_seconds=DAY / 4, horizon=DAY / 2, rng=1)


@pytest.fixture(scope="module")
def real():
    table = read_shipped_transactions().dropna(subset=["gas_used"])
    return Workload("real", table["zstd"].to_numpy(np.int64), table["gas_used"].to_numpy(np.int64))


RULE = PricingRule(lower_bound=None, upper_bound=None)


@pytest.fixture(scope="module")
def found(real, days):
    return calibrate(real, days, RULE, arrival_rate=0.5, loss_probability=0.1, rng=5)


def test_the_calibrated_margin_keeps_the_bound_on_its_paths(real, days, found):
    """The same margin tried anew, with other transactions on the same paths: about as many lose."""
    rule = PricingRule(lower_bound=None, upper_bound=None, estimate_margin=found.margin)
    again = backtest(real, days, rule, arrival_rate=0.5, rng=6)
    losing = int((again["total_size_revenue"] < again["total_cost"]).sum())

    assert found.losing == 4
    assert 1 <= losing <= 8
    assert 1.0 < found.low < found.margin


def test_the_two_margins_do_the_same_where_nothing_bounds_the_cost(real, days, found):
    """The coordinator's margin and the estimate's both multiply the size part; 1.2 of the latter stays."""
    other = calibrate(real, days, RULE, arrival_rate=0.5, loss_probability=0.1, rng=5, vary="margin")

    assert other.margin * 1.2 == pytest.approx(found.margin, abs=0.01)


def test_an_upper_bound_of_the_cost_leaves_no_margin(real, days):
    rule = PricingRule(lower_bound=None, upper_bound=1e7)
    found = calibrate(real, days, rule, arrival_rate=0.5, loss_probability=0.1, rng=5, vary="margin")

    assert found.margin is None
    assert found.reason == "no margin up to 100 does: at it 40 of 40 paths lose, 4 may"


def test_all_that_users_pay_needs_less_margin(real, days, found):
    everything = calibrate(real, days, RULE, arrival_rate=0.5, loss_probability=0.1, rng=5, counted="revenue")

    assert everything.margin < 0.2 < found.margin


@pytest.mark.parametrize("change", [{"vary": "fixed_cost"}, {"counted": "cost"}])
def test_an_unknown_choice_is_refused(real, days, change):
    with pytest.raises(InvalidInput, match=next(iter(change))):
        calibrate(real, days, arrival_rate=0.5, loss_probability=0.1, rng=5, **change)
