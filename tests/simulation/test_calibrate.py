"""The margin that keeps the risk: against break-even margins that are known, and on real L1 fees."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from feemodel import backtest, calibrate
from feemodel.errors import InvalidInput
from feemodel.simulation.announced import CalldataPressure, PricingRule
from feemodel.simulation.calibrate import calibration
from feemodel.simulation.scenarios import bootstrap
from feemodel.simulation.surfaces import Workload

DAY = 86_400  # seconds
TOLERANCE = 1e-3


@given(st.lists(st.floats(0.1, 50), min_size=5, max_size=80), st.sampled_from([0.01, 0.05, 0.2, 0.5]))
def test_the_margin_is_the_quantile_of_the_break_even_margins(break_even, bound):
    found = calibration(break_even, loss_probability=bound)

    assert found.margin == np.sort(break_even)[::-1][int(Fraction(str(bound)) * len(break_even))]
    assert found.losing == sum(value > found.margin for value in break_even)
    assert found.low <= found.margin
    assert found.high is None or found.margin <= found.high


def test_the_interval_is_clopper_and_pearsons():
    """At `high` the interval of the losing share lies below the bound; a little lower it does not; likewise `low`."""
    break_even = np.random.default_rng(1).gamma(2.0, 1.0, 400)
    found = calibration(break_even.tolist(), loss_probability=0.05)

    def interval(margin):
        return binomtest(int((break_even > margin).sum()), 400).proportion_ci(0.95, "exact")

    assert interval(found.high).high <= 0.05 < interval(found.high - 1e-9).high
    assert interval(found.low).low <= 0.05 < interval(found.low - 1e-9).low


@pytest.mark.parametrize(
    ("break_even", "bound", "margin", "high", "reason"),
    [
        ([np.inf] * 10 + [1.0] * 90, 0.05, None, None,
         "no margin up to 50 suffices: at 50, 10 of 100 paths have a loss, and 5 are allowed"),
        ([1.0] * 50, 0.01, 1.0, None,
         "the interval has no upper end: 50 paths are too few, at least 368 are required"),
        ([1.0] * 193 + [np.inf] * 7, 0.05, 1.0, None, "the interval has no upper end up to a margin of 50"),
        ([0.0] * 100, 0.05, 0.0, 0.0, ""),
    ],
)  # fmt: skip
def test_the_reason_for_a_missing_margin_is_said(break_even, bound, margin, high, reason):
    found = calibration(break_even, loss_probability=bound)

    assert (found.margin, found.high, found.reason) == (margin, high, reason)


@pytest.mark.parametrize(
    "change",
    [{"loss_probability": 0.0}, {"loss_probability": 1.0}, {"confidence": 1.0}, {"vary": "fixed_cost"}],
)
def test_what_has_no_answer_is_refused(real, days, change):
    with pytest.raises(InvalidInput, match=next(iter(change))):
        calibrate(real, days, **{"arrival_rate": 0.5, "loss_probability": 0.1, "rng": 5} | change)


@pytest.fixture(scope="module")
def days(month):
    return bootstrap(month, paths=40, block_seconds=DAY / 4, horizon=DAY / 2, rng=1)


RULE = PricingRule(lower_bound=None, upper_bound=None)


def test_an_upper_bound_of_the_cost_leaves_no_margin(real, days):
    rule = PricingRule(lower_bound=None, upper_bound=1e7)
    found = calibrate(real, days, rule, arrival_rate=0.5, loss_probability=0.1, rng=5, vary="margin")

    assert found.margin is None
    assert found.reason == "no margin up to 50 suffices: at 50, 40 of 40 paths have a loss, and 4 are allowed"


@pytest.mark.parametrize(
    ("rule", "options"),
    [
        (RULE, {}),
        (PricingRule(), {"vary": "margin"}),
        (PricingRule(upper_bound=None, pressure=CalldataPressure()), {"vary": "margin"}),
    ],
)
def test_each_path_breaks_even_at_its_margin(days, rule, options):
    """At the margin, fees cover the cost; the tolerance below it, they do not."""
    few = days.isel(path=slice(0, 4))
    workload = Workload("two", np.array([40, 900]), np.array([60_000, 2_000_000]), calldata=np.array([9, 40_000]))
    found = calibrate(workload, few, rule, arrival_rate=0.1, loss_probability=0.3, rng=3, **options)

    def surplus(margin):
        at = replace(rule, **{options.get("vary", "estimate_margin"): margin})
        one = backtest(workload, few, at, arrival_rate=0.1, rng=3)
        return (one["data_fees"].sum("day") - one["data_cost"]).to_numpy()

    for path, margin in enumerate(found.break_even):
        if 0.0 < margin < np.inf:
            assert surplus(margin - TOLERANCE)[path] < 0.0 <= surplus(margin)[path]


def test_the_loss_curve_falls_from_all_paths_to_none(real, days):
    found = calibrate(real, days, RULE, arrival_rate=0.5, loss_probability=0.1, rng=5)
    curve = found.loss_curve()
    at = curve.sel(margin=found.margin)

    assert at["loss_probability"].item() == found.losing / 40
    expected = binomtest(found.losing, 40).proportion_ci(0.95, "exact")
    assert (at["low"].item(), at["high"].item()) == pytest.approx(expected)
    assert (np.diff(curve["loss_probability"]) < 0).all()
    assert curve["loss_probability"][-1] == 0.0
    assert (curve.attrs["margin"], curve.attrs["losing"]) == (found.margin, found.losing)
