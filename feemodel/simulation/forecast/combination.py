"""Weights of several forecasters by their recent losses."""

import numpy as np

from feemodel.checks import RealArray
from feemodel.simulation.forecast.scores import pinball
from feemodel.simulation.forecast.series import DAY

HALF_LIFE = 2 * DAY  # of a loss in the recent mean [bins]
POWER = 8.0  # of the recent mean loss


def combined(experts: RealArray, targets: RealArray, quantiles: RealArray, horizon: int) -> RealArray:
    """Weighted means of the quantiles of several forecasters, weights by the losses that are known at each origin.

    A weight is the inverse eighth power of the forecaster's mean pinball loss, in which a loss counts half after two
    days. A loss is known once its target is, `horizon` bins after its origin. Before any is known, all weights are
    equal.

    Parameters
    ----------
    experts : (forecasters, origins, q), one origin a bin.
    targets : what the first origins' targets were; shorter than the origins.
    quantiles : (q).
    horizon : [bins].

    Returns
    -------
    Array (origins, q).

    The second forecaster loses ten times as much, and has next to no weight:

    >>> experts = np.stack([np.full((5, 1), 1.0), np.full((5, 1), 10.0)])
    >>> combined(experts, np.zeros(4), np.array([0.5]), 1)[:, 0].round(3)
    array([5.5, 1. , 1. , 1. , 1. ])
    """
    from scipy.signal import lfilter

    count = len(targets)
    losses = pinball(targets[:, None], experts[:, :count], quantiles).mean(axis=-1)
    kept = 0.5 ** (1 / HALF_LIFE)
    sums = lfilter([1.0], [1.0, -kept], losses, axis=1)
    means = sums / lfilter([1.0], [1.0, -kept], np.ones(count))
    shares = np.full(experts.shape[:2], 1 / len(experts))
    known = np.maximum(means[:, : experts.shape[1] - horizon], 1e-12)
    inverse = (known.min(axis=0) / known) ** POWER
    shares[:, horizon : horizon + known.shape[1]] = inverse / inverse.sum(axis=0)
    return np.sort((shares[:, :, None] * experts).sum(axis=0), axis=1)
