"""The margin by assumption: each combination is the calibration with these assumptions, and the figure shows all."""

from functools import cache

import numpy as np
import pytest
from matplotlib.figure import Figure

from feemodel import Posting, PricingRule, calibrate
from feemodel.errors import InvalidInput
from feemodel.plots import plot_margins
from feemodel.simulation import margins
from feemodel.simulation.scenarios import bootstrap, replay
from feemodel.simulation.surfaces import Submission, Workload

TIMES = 600 * np.arange(1_000)
WAVE = 1e9 * np.exp(np.sin(2 * np.pi * TIMES / 86_400))
FEES = replay({"timestamp": TIMES, "base_fee": WAVE, "blob_base_fee": WAVE / 16}, source="a wave")
TRANSFERS = Workload("transfers", np.array([128]), np.array([21_000]))
TERMS = {"loss_probability": 0.25, "arrival_rate": 1.0, "rng": 3}


@cache
def found():
    return margins(TRANSFERS, FEES, **TERMS, bounds=[False], tip=[10**8, 10**9], horizon=[7_200.0], paths=8)


def test_a_combination_is_the_calibration_with_these_assumptions():
    drawn = bootstrap(FEES, paths=8, block_seconds=3 * 86_400.0, horizon=7_200.0, rng=3)
    rule = PricingRule(lower_bound=None, upper_bound=None, tip=1e9)
    posting = Posting(submission=Submission(execution_gas=65_250 + 66_500, tip=10**9), stream_ratio=1.0)
    expected = calibrate(TRANSFERS, drawn, rule, posting, **TERMS)
    one = found().sel(bounds=False, stream_ratio=1.0, finalization_gas=66_500, tip=10**9, block_seconds=3 * 86_400.0)

    assert one.margin.item() == expected.margin
    assert one.low.item() == expected.low


def test_the_figure_has_a_row_for_each_combination():
    ax = plot_margins(found(), Figure().subplots())
    labels = [label.get_text() for label in ax.get_yticklabels()]

    assert len(labels) == len(set(labels)) == 16
    assert labels[0] == "without bounds, no sharing, no finalization, tip 0.1 gwei, blocks of 24 h"


def test_an_assumption_without_values_is_refused():
    with pytest.raises(InvalidInput, match="tip: expected at least one value"):
        margins(TRANSFERS, FEES, **TERMS, tip=[])
