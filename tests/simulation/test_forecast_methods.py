"""Rolling quantile forecasts: the table of the baselines, calibration, and that nothing after an origin is read."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feemodel.errors import InvalidInput
from feemodel.io import read_l1_fees
from feemodel.simulation.forecast.methods import BASELINES, METHODS, fit_quantiles, min_bins, pinball, rolling_quantiles
from feemodel.simulation.forecast.series import DAY, binned

QUANTILES = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
FIRST = 15 * DAY
#: Mean pinball loss and coverage of the 90 % interval, by horizon, of an independent computation.
TABLE = {
    "persistence": {1: (0.0554, 0.85), 6: (0.1569, 0.85), 36: (0.3482, 0.80), 144: (0.2487, 0.83)},
    "seasonal": {1: (0.248, 0.83), 6: (0.247, 0.83), 36: (0.245, 0.83), 144: (0.2487, 0.83)},
}
MAX_LOSS = {1: 0.045, 6: 0.130, 36: 0.203, 144: 0.232}


@pytest.fixture(scope="module")
def month(shared):
    table = read_l1_fees(shared / "data" / "l1_fees_every10_24183321_24399311.csv.gz")
    return binned(table["timestamp"].to_numpy(np.float64), table["base_fee"].to_numpy(np.float64))


def scores(series, horizon, method):
    forecasts = rolling_quantiles(series, horizon, method=method, quantiles=QUANTILES, first=FIRST)[:-horizon]
    targets = series.interpolated[FIRST + horizon :]
    loss = pinball(targets[:, None], forecasts, QUANTILES).mean()
    return loss, np.mean((targets >= forecasts[:, 0]) & (targets <= forecasts[:, -1]))


@pytest.mark.parametrize("method", TABLE)
@pytest.mark.parametrize("horizon", MAX_LOSS)
def test_a_baseline_has_the_scores_of_the_published_table(month, method, horizon):
    loss, coverage = TABLE[method][horizon]
    digits = 3 if round(loss, 3) == loss else 4

    found_loss, found_coverage = scores(month, horizon, method)

    assert loss == round(found_loss, digits)
    assert coverage == pytest.approx(found_coverage, abs=0.006)  # which rounds half a hundredth either way


@pytest.mark.parametrize("horizon", MAX_LOSS)
def test_auto_loses_less_than_every_baseline_and_its_interval_covers_as_often_as_it_says(month, horizon):
    loss, coverage = scores(month, horizon, "auto")

    assert loss <= MAX_LOSS[horizon]
    assert loss < min(TABLE[method][horizon][0] for method in BASELINES)
    assert 0.88 <= coverage <= 0.92


def walk(seed, bins, gaps):
    """Times and fees of a random walk with a daily cycle, rows missing at random."""
    random = np.random.default_rng(seed)
    seconds = 1_770_000_000.0 + 200.0 * np.arange(bins * 3)
    logs = 18.0 + np.cumsum(0.03 * random.standard_normal(len(seconds))) + np.sin(2 * np.pi * seconds / 86_400)
    rows = random.random(len(seconds)) >= gaps
    rows[0] = True
    return seconds[rows], np.exp(logs[rows])


@settings(max_examples=12)
@given(
    method=st.sampled_from(METHODS),
    horizon=st.sampled_from((1, 6, 36)),
    seed=st.integers(0, 1_000),
    gaps=st.sampled_from((0.0, 0.2, 0.9)),
)
def test_a_forecast_rises_with_its_level_and_reads_nothing_after_its_origin(method, horizon, seed, gaps):
    seconds, fees = walk(seed, 8 * DAY, gaps)
    first = 6 * DAY
    origin = first + 3 * horizon + DAY  # on the second day of refits
    known = seconds < (seconds[0] // 600 + origin + 1) * 600
    changed = np.where(known, fees, fees[::-1] * 3.0)
    whole, other, cut = (
        rolling_quantiles(binned(times, values), horizon, method=method, quantiles=QUANTILES, first=first)
        for times, values in ((seconds, fees), (seconds, changed), (seconds[known], fees[known]))
    )

    assert (np.diff(whole, axis=1) >= 0).all()
    place = origin - first
    # The sums of a regression may be rounded in another order if an array begins at another address.
    np.testing.assert_allclose(other[: place + 1], whole[: place + 1], rtol=1e-12)
    # A series that ends within a gap has fewer bins, and what it has is the same.
    np.testing.assert_allclose(cut, whole[: len(cut)][: place + 1], rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_a_constant_fee_is_forecast_to_stay(method):
    series = binned(600.0 * np.arange(7 * DAY), np.full(7 * DAY, 5e8))

    found = rolling_quantiles(series, 6, method=method, quantiles=QUANTILES)

    assert found == pytest.approx(np.log(5e8), abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_series_that_is_too_short_is_refused_and_one_bin_more_is_not(method):
    least = min_bins(36, method=method)
    seconds, fees = walk(3, least, 0.0)
    bins = (seconds - seconds[0]) // 600

    with pytest.raises(InvalidInput, match="h up to the first origin"):
        rolling_quantiles(
            binned(seconds[bins < least - 1], fees[bins < least - 1]), 36, method=method, quantiles=QUANTILES
        )
    assert rolling_quantiles(binned(seconds, fees), 36, method=method, quantiles=QUANTILES).shape == (1, 5)


def test_the_regression_finds_the_quantiles_of_a_known_line():
    random = np.random.default_rng(1)
    x = random.standard_normal(20_000)
    y = 2.0 * x + random.standard_normal(20_000) * 0.5

    found = fit_quantiles(x[:, None], y, np.array([0.1, 0.5, 0.9]), ridge=0.0)

    assert found[:, 0] == pytest.approx(2.0, abs=0.02)
    assert found[:, 1] == pytest.approx([-0.64078, 0.0, 0.64078], abs=0.04)  # half a standard normal's, smoothed


def test_a_spike_is_not_forecast_to_come_back_at_the_same_time():
    """Two weeks of one level with a daily cycle, and on the last day three hours at twenty times the fee."""
    seconds = 1_770_000_000.0 + 600.0 * np.arange(14 * DAY)
    logs = 20.0 + 0.3 * np.sin(2 * np.pi * seconds / 86_400) + 0.05 * np.random.default_rng(1).standard_normal(14 * DAY)
    usual = logs[-72]
    logs[-DAY + 63 : -DAY + 81] += np.log(20.0)
    series = binned(seconds, np.exp(logs))

    auto, seasonal = (
        rolling_quantiles(series, 72, method=method, quantiles=QUANTILES)[0] for method in ("auto", "seasonal")
    )

    assert seasonal[2] > usual + 2.0  # the newest day, by definition
    assert abs(auto[2] - usual) < 0.35
