"""Weights of several forecasters by their recent losses."""

import numpy as np

from feemodel.checks import RealArray
from feemodel.simulation.forecast._series import DAY
from feemodel.simulation.forecast.scores import pinball

HALF_LIFE = 2 * DAY  # of a loss in the recent mean [bins]
POWER = 8.0  # of the losses
EVEN_HORIZON = 3 * DAY // 4  # at which known and provisional losses count alike [bins]
PROVISIONAL_SCORES = 24  # earlier forecasts that a provisional loss is the mean of, about
MIN_LOSS = 1e-4  # below which losses count as equal: 0.01 % of a fee [log(wei / gas)]


def combined(
    experts: RealArray, targets: RealArray, values: RealArray, quantiles: RealArray, horizon: int
) -> RealArray:
    """Weighted means of the quantiles of several forecasters, weights by the losses that are known at each origin.

    A weight is the inverse of K^(8 - p) · P^p. K is the forecaster's mean pinball loss over targets that are known, in
    which a loss counts half after two days. P is its provisional loss: that of the forecasts whose targets lie ahead,
    against the value at the origin in place of the target. A day ahead, no outcome is known for a day after fees have
    moved to another level, and P tells within hours which forecasters still expect the old one. The exponent p rises
    with the horizon, from 0.07 at ten minutes to 4.6 at a day. Before a target is known, p is 8.

    Parameters
    ----------
    experts : (forecasters, origins, q), one origin a bin [log(wei / gas)].
    targets : what the first origins' targets were; shorter than the origins [log(wei / gas)].
    values : (origins), the value that is known at each origin [log(wei / gas)].
    quantiles : (q).
    horizon : [bins].

    Returns
    -------
    Array (origins, q) [log(wei / gas)].

    The second forecaster loses ten times as much, and has next to no weight:

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
    """Discounted mean pinball losses up to each origin that has a target, (forecasters, targets)."""
    from scipy.signal import lfilter

    count = len(targets)
    losses = pinball(targets[:, None], experts[:, :count], quantiles).mean(axis=-1)
    decay = 0.5 ** (1 / HALF_LIFE)
    sums = lfilter([1.0], [1.0, -decay], losses, axis=1)
    return np.asarray(sums / lfilter([1.0], [1.0, -decay], np.ones(count)))


def _provisional_losses(experts: RealArray, values: RealArray, quantiles: RealArray, horizon: int) -> RealArray:
    """Mean pinball losses, against each origin's value, of forecasts made since a horizon ago."""
    origins = experts.shape[1]
    sums, counts = np.zeros(experts.shape[:2]), np.zeros(origins)
    for lag in range(0, min(horizon, origins), max(1, horizon // PROVISIONAL_SCORES)):
        losses = pinball(values[lag:, None], experts[:, : origins - lag], quantiles)
        sums[:, lag:] += losses.mean(axis=-1)
        counts[lag:] += 1.0
    return sums / counts
