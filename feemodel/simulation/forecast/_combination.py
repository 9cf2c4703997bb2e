"""Combine several forecasters. Forecasters with lower recent losses have a higher weight."""

import numpy as np

from feemodel.checks import RealArray
from feemodel.simulation.forecast._series import DAY
from feemodel.simulation.forecast.scores import pinball

HALF_LIFE = 2 * DAY  # half-life of the weights in the mean of past losses [bins]
POWER = 8.0  # weight of a forecaster = loss^−8
EVEN_HORIZON = 3 * DAY // 4  # horizon at which both losses in `combined` have the same exponent, `POWER` / 2 [bins]
PROVISIONAL_SCORES = 24  # approximate number of forecasts that are averaged in a provisional loss
MIN_LOSS = 1e-4  # lower bound on losses, 0.01 % of a fee [log(wei / gas)]


def combined(
    experts: RealArray, targets: RealArray, values: RealArray, quantiles: RealArray, horizon: int
) -> RealArray:
    """Combine the quantiles of several forecasters by weighted means, with weights that are updated at each origin.

        weight = 1 / (K^(8 − p) · P^p)

    K is the mean pinball loss of a forecaster over known targets, weighted with a half-life of two days. P is the
    provisional loss of the forecaster: the pinball loss of forecasts whose targets are still unknown, computed with the
    value at the origin in place of the target. When the level of fees changes, the provisional loss reacts within
    hours, but the loss K of forecasts for one day ahead reacts only after a day. The exponent p increases with the
    horizon of the forecasts, from 0.07 at ten minutes to 4.6 at a day. At origins where no target is known yet, the
    exponent p is 8, so that the weights depend only on P.

    Parameters
    ----------
    experts : quantiles of each forecaster, (forecasters, origins, q), with one origin per bin [log(wei / gas)].
    targets : targets of the first origins; the targets of the last origins are not known yet [log(wei / gas)].
    values : logarithm of the observed fee at each origin, (origins,) [log(wei / gas)].
    quantiles : probabilities of the quantiles, (q,).
    horizon : horizon of the forecasts [bins].

    Returns
    -------
    Combined quantiles, (origins, q) [log(wei / gas)].

    The second forecaster's loss is ten times the first forecaster's loss, so the weight of the second forecaster is
    close to 0:

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
