"""Scores of probabilistic forecasts. Scores have the unit of the target, and lower scores are better.

`targets` and losses are (n,), in order of time; `forecasts` are quantiles, (n, q), in the unit of the targets.

Sources: Gneiting, Raftery, "Strictly proper scoring rules, prediction, and estimation", JASA 102(477), 2007; Diebold,
Mariano, "Comparing predictive accuracy", JBES 13(3), 1995; Politis, Romano, "A circular block-resampling procedure for
stationary data", 1992.
"""

from typing import NamedTuple

import numpy as np

from feemodel.checks import RealArray
from feemodel.simulation.forecast.methods import pinball


def crps_of_quantiles(targets: RealArray, forecasts: RealArray, quantiles: RealArray) -> RealArray:
    """Approximate the continuous ranked probability score (CRPS) from forecast quantiles.

    The CRPS is twice the integral of the pinball loss over all probabilities from 0 to 1. At each probability, the
    integral uses the forecast quantile with the closest probability.

    >>> crps_of_quantiles(np.array([2.0]), np.array([[1.0, 3.0]]), np.array([0.25, 0.75]))  # 2 · (0.25 + 0.25) / 2
    array([0.5])
    """
    edges = np.concatenate(([0.0], (quantiles[1:] + quantiles[:-1]) / 2.0, [1.0]))
    return np.asarray(2.0 * pinball(targets[:, None], forecasts, quantiles) @ np.diff(edges))


def shares_between(targets: RealArray, forecasts: RealArray) -> RealArray:
    """Return the share of targets in each range between forecast quantiles (probability integral transform).

    The first range contains targets below all quantiles, and the last range contains targets above all quantiles.

    >>> shares_between(np.array([0.0, 2.0]), np.array([[1.0, 3.0], [1.0, 3.0]]))
    array([0.5, 0.5, 0. ])
    """
    index = (targets[:, None] > forecasts).sum(axis=1)
    return np.bincount(index, minlength=forecasts.shape[1] + 1) / len(forecasts)


class Difference(NamedTuple):
    """Mean difference of two losses, with a confidence interval."""

    mean: float  #: mean of (first loss − second loss), in the unit of the losses
    low: float  #: lower end of the 95 % interval
    high: float  #: upper end of the 95 % interval
    p_value: float  #: two-sided p-value of the hypothesis of no difference [1]


def diebold_mariano(losses: RealArray, others: RealArray, *, block: int, draws: int = 1_000, rng: int) -> Difference:
    """Test two forecasters for equal accuracy (Diebold-Mariano), by a circular block bootstrap of loss differences.

    Blocks should be long enough that the loss differences of different blocks are almost uncorrelated, for example a
    day.

    >>> losses = np.tile([1.0, 2.0], 50)
    >>> diebold_mariano(losses, losses + 1.0, block=10, rng=1)
    Difference(mean=-1.0, low=-1.0, high=-1.0, p_value=0.000999000999000999)
    """
    difference = losses - others
    sums = np.concatenate(([0.0], np.cumsum(np.concatenate((difference, difference[:block])))))
    starts = np.random.default_rng(rng).integers(len(losses), size=(draws, -(-len(losses) // block)))
    means = (sums[starts + block] - sums[starts]).mean(axis=1) / block
    mean = float(difference.mean())
    low, high = np.quantile(means, (0.025, 0.975))
    beyond = int((np.abs(means - mean) >= abs(mean)).sum())
    return Difference(mean, float(low), float(high), (beyond + 1) / (draws + 1))


class OperatorLoss(NamedTuple):
    """Losses from prices that were set before costs were known. Each array has one value per column of prices, (q,)."""

    under_recovered: RealArray  #: mean of max(0, cost − price), in the unit of costs
    overcharged: RealArray  #: mean of max(0, price − cost), in the unit of costs
    losing_days: RealArray  #: share of days on which the sum of costs exceeds the sum of prices [1]


def operator_loss(costs: RealArray, prices: RealArray, *, day: int) -> OperatorLoss:
    """Return the losses of an operator who sets prices in advance, for example to quantiles of a forecast.

    `day` is the number of consecutive costs that form a day; the last day may be shorter.

    >>> found = operator_loss(np.array([1.0, 3.0, 1.0, 1.0]), np.full((4, 1), 1.5), day=2)
    >>> found.under_recovered, found.overcharged, found.losing_days
    (array([0.375]), array([0.375]), array([0.5]))
    """
    cost = costs[:, None]
    days = np.arange(len(prices)) // day
    balance = np.add.reduceat(prices - cost, np.flatnonzero(np.diff(days, prepend=-1)), axis=0)
    return OperatorLoss(
        np.maximum(cost - prices, 0.0).mean(axis=0),
        np.maximum(prices - cost, 0.0).mean(axis=0),
        (balance < 0.0).mean(axis=0),
    )
