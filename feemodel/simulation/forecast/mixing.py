"""Weigh several forecasters by their recent losses, and calibrate the result by adaptive conformal inference.

Sources: Gibbs, Candès, "Adaptive conformal inference under distribution shift", NeurIPS 2021; the quantile tracker of
Angelopoulos, Candès, Tibshirani, "Conformal PID control for time series prediction", NeurIPS 2023.
"""

import numpy as np

from feemodel.checks import RealArray
from feemodel.simulation.forecast.series import DAY

HALF_LIFE = 2 * DAY  # half-life of the weights in the mean of past losses [bins]
POWER = 8.0  # weight of a forecaster = loss^−8
EVEN_HORIZON = 3 * DAY // 4  # horizon at which both losses in `combined` have the same exponent, `POWER` / 2 [bins]
PROVISIONAL_SCORES = 24  # approximate number of forecasts that are averaged in a provisional loss
MIN_LOSS = 1e-4  # lower bound on losses, 0.01 % of a fee [log(wei / gas)]
STEP = 0.015  # step size of the changes of the logarithm of a factor [1]
NARROWEST, WIDEST = -1.0, 0.75  # bounds of that logarithm, which limit what a wrong factor does after a change


def pinball(targets: RealArray, forecasts: RealArray, quantiles: RealArray) -> RealArray:
    """Return the pinball loss of forecast quantiles, (…, q): max(q · e, (q − 1) · e), where e = target − forecast.

    >>> pinball(np.array([[3.0]]), np.array([[1.0, 4.0]]), np.array([0.25, 0.75]))
    array([[0.5 , 0.25]])
    """
    error = targets - forecasts
    return np.asarray(np.maximum(quantiles * error, (quantiles - 1.0) * error))


def combined(
    experts: RealArray, targets: RealArray, values: RealArray, quantiles: RealArray, horizon: int
) -> RealArray:
    """Combine the quantiles of several forecasters, (forecasters, origins, q), with weights that follow their losses.

        weight = 1 / (K^(8 − p) · P^p)

    K is the mean pinball loss of a forecaster over known targets, weighted with a half-life of two days. P is the
    provisional loss: the loss of forecasts whose targets are still unknown, with the value at the origin in place of
    the target. When the level of fees changes, P reacts within hours. The exponent p increases with the horizon, from
    0.07 at ten minutes to 4.6 at a day, and is 8 at origins where no target is known yet. `targets` are those of the
    first origins, `values` the fees at every origin [log(wei / gas)].

    The second forecaster's loss is ten times the first forecaster's loss, so its weight is close to 0:

    >>> experts = np.stack([np.full((5, 1), 1.0), np.full((5, 1), 10.0)])
    >>> combined(experts, np.zeros(4), np.zeros(5), np.array([0.5]), 1)[:, 0].round(3)
    array([1., 1., 1., 1., 1.])
    """
    part = horizon / (horizon + EVEN_HORIZON)
    provisional = np.log(np.maximum(_provisional_losses(experts, values, quantiles, horizon), MIN_LOSS))
    score = provisional.copy()
    known = np.log(np.maximum(_known_losses(experts, targets, quantiles), MIN_LOSS))[:, : experts.shape[1] - horizon]
    after = slice(horizon, horizon + known.shape[1])
    score[:, after] = (1.0 - part) * known + part * provisional[:, after]
    shares = np.exp(-POWER * (score - score.min(axis=0)))
    shares /= shares.sum(axis=0)
    return np.sort((shares[:, :, None] * experts).sum(axis=0), axis=1)


def _known_losses(experts: RealArray, targets: RealArray, quantiles: RealArray) -> RealArray:
    """Return the exponentially weighted mean of pinball losses up to each known target, (forecasters, targets)."""
    from scipy.signal import lfilter

    count = len(targets)
    losses = pinball(targets[:, None], experts[:, :count], quantiles).mean(axis=-1)
    decay = 0.5 ** (1 / HALF_LIFE)
    sums = lfilter([1.0], [1.0, -decay], losses, axis=1)
    return np.asarray(sums / lfilter([1.0], [1.0, -decay], np.ones(count)))


def _provisional_losses(experts: RealArray, values: RealArray, quantiles: RealArray, horizon: int) -> RealArray:
    """Return the mean pinball loss of forecasts with unknown targets; each origin's value replaces the target."""
    origins = experts.shape[1]
    sums, counts = np.zeros(experts.shape[:2]), np.zeros(origins)
    for lag in range(0, min(horizon, origins), max(1, horizon // PROVISIONAL_SCORES)):
        losses = pinball(values[lag:, None], experts[:, : origins - lag], quantiles)
        sums[:, lag:] += losses.mean(axis=-1)
        counts[lag:] += 1.0
    return sums / counts


def calibrated(forecasts: RealArray, targets: RealArray, quantiles: RealArray, horizon: int) -> RealArray:
    """Adjust the distance of each quantile, (origins, q), from the median to the coverage known at each origin.

    A distance is multiplied by a factor that increases when a target is beyond the quantile, and otherwise decreases
    by so much less that both cancel out at the nominal coverage. The median is unchanged.

    All targets are above the upper quantile, so the upper quantile increases:

    >>> forecasts = np.tile([0.0, 1.0, 2.0], (4, 1))
    >>> calibrated(forecasts, np.full(3, 9.0), np.array([0.1, 0.5, 0.9]), 1)[:, 2].round(4)
    array([2.    , 2.0136, 2.0274, 2.0413])
    """
    middle = forecasts[:, [int(np.argmax(quantiles == 0.5))]]
    distances = forecasts - middle
    lower = quantiles < 0.5
    tails = np.where(lower, quantiles, 1.0 - quantiles)
    factor, found = np.zeros_like(quantiles), np.empty_like(forecasts)
    for origin in range(len(forecasts)):
        known = origin - horizon
        if 0 <= known < len(targets):
            beyond = np.where(lower, targets[known] < found[known], targets[known] > found[known])
            factor = np.clip(factor + STEP * (beyond - tails), NARROWEST, WIDEST)
        found[origin] = np.sort(middle[origin] + distances[origin] * np.exp(factor))
    return found
