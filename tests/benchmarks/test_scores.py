"""Scores: hand-worked numbers, analytic distributions, and an interval that covers."""

import math

import numpy as np
import pytest
import scoringrules
from scipy.stats import norm

from feemodel.simulation.forecast.methods import pinball
from tests.helpers import forecast_scores as scores


def test_the_score_of_many_quantiles_is_that_of_the_normal_distribution():
    levels = (np.arange(2_000) + 0.5) / 2_000
    quantiles, targets = np.tile(norm.ppf(levels), (3, 1)), np.array([-2.0, 0.0, 1.0])
    # CRPS of N(0, 1) at y: y (2Φ(y) − 1) + 2φ(y) − 1/√π, Gneiting and Raftery 2007, section 4.2
    expected = targets * (2 * norm.cdf(targets) - 1) + 2 * norm.pdf(targets) - 1 / math.sqrt(math.pi)

    found = scores.crps_of_quantiles(targets, quantiles, levels)
    assert found == pytest.approx(expected, abs=1e-3)
    assert found == pytest.approx(scoringrules.crps_quantile(targets, quantiles, levels, backend="numpy"))
    loss = scoringrules.quantile_score(targets[:, None], quantiles, levels, backend="numpy")
    assert pinball(targets[:, None], quantiles, levels) == pytest.approx(loss)


def test_the_interval_of_a_true_difference_covers_it_about_as_often_as_it_says():
    random, inside = np.random.default_rng(1), 0
    for trial in range(200):
        found = scores.diebold_mariano(random.standard_normal(400) + 0.3, np.zeros(400), block=20, draws=200, rng=trial)
        inside += found.low <= 0.3 <= found.high

    assert 0.88 <= inside / 200 <= 0.99
