"""Forecasts with other constants, and after a move to another level: the losses that the page states."""

import numpy as np
import pytest

from feemodel.simulation.forecast import methods
from feemodel.simulation.forecast.methods import BASELINES, METHODS, combined, pinball, rolling_quantiles
from feemodel.simulation.forecast.series import DAY, binned
from tests.simulation.test_forecast_methods import FIRST, MAX_LOSS, QUANTILES, scores, shipped_month


@pytest.fixture(scope="module")
def month(shared):
    return shipped_month(shared)


@pytest.fixture(scope="module")
def learned(month):
    """By horizon, what the weights and the calibration of `auto` are learned from, and its loss."""
    found = {}
    with pytest.MonkeyPatch.context() as patched:
        for horizon in MAX_LOSS:
            patched.setattr(methods, "combined", lambda *terms: found.update({terms[-1]: terms}) or combined(*terms))
            loss, _ = scores(month, horizon, "auto")
            found[horizon] = (found[horizon], loss)
    return found


NEIGHBOURS = [
    *((methods, "POWER", power) for power in (6.0, 10.0)),
    *((methods, "HALF_LIFE", days * DAY) for days in (1, 4)),
    *((methods, "EVEN_HORIZON", hours * 6) for hours in (16, 24)),
    *((methods, "FACTOR_STEP", step) for step in (0.01, 0.02)),
    *((methods, "WIDEST", bound) for bound in (0.5, 1.0)),
]


@pytest.mark.parametrize(
    ("module", "name", "value"), NEIGHBOURS, ids=[f"{name}={value:g}" for _, name, value in NEIGHBOURS]
)
def test_a_neighbouring_constant_changes_no_loss_by_more_than_the_page_says(
    month, learned, monkeypatch, module, name, value
):
    monkeypatch.setattr(module, name, value)

    for change in changes(month, learned):
        assert abs(change) <= 0.021


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_another_ridge_changes_no_loss_by_more_than_the_page_says(month, learned, monkeypatch, factor):
    monkeypatch.setattr(methods, "RIDGE", factor * methods.RIDGE)

    for horizon, (_, loss) in learned.items():
        assert scores(month, horizon, "auto")[0] == pytest.approx(loss, rel=0.021)


def changes(month, learned):
    """The change of the loss at each horizon, by constants as they are now [1]."""
    found = []
    for horizon, ((experts, targets, values, quantiles, _), loss) in learned.items():
        mixed = combined(experts, targets, values, quantiles, horizon)
        forecasts = methods.calibrated(mixed, targets, quantiles, horizon)[FIRST - len(month) : -horizon]
        wanted = month.interpolated[FIRST + horizon :]
        found.append(pinball(wanted[:, None], forecasts, QUANTILES).mean() / loss - 1.0)
    return found


def another_level(seed):
    """A month at 1 wei with a peak now and then, and six days at another level."""
    random, before, after = np.random.default_rng(seed), 30 * DAY, 6 * DAY
    logs, height, around = np.zeros(before + after), 0.0, 0.0
    for place in range(before):
        if random.random() < 1 / (6 * DAY):
            height = random.uniform(5, 15)
        height = height * 0.985 + (0.1 * random.standard_normal() if height > 0.5 else 0.0)
        logs[place] = max(height, 0.0)
    for place in range(before, before + after):
        around = 0.98 * around + 0.15 * random.standard_normal()
        logs[place] = 14.0 + abs(around)
    return binned(1_770_000_000.0 + 600.0 * np.arange(len(logs)), np.exp(logs)), before


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("horizon", "most"), [(1, 1.0), (6, 1.0), (36, 1.25), (144, 1.3)])
def test_auto_is_near_the_best_baseline_after_a_move_to_another_level(seed, horizon, most):
    series, change = another_level(seed)
    targets = series.means[change:, None]
    losses = {
        method: pinball(
            targets,
            rolling_quantiles(series, horizon, method=method, quantiles=QUANTILES, first=change - horizon)[:-horizon],
            QUANTILES,
        ).mean()
        for method in METHODS
    }

    assert losses["auto"] <= most * min(losses[method] for method in BASELINES)
