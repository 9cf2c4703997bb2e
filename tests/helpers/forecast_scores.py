"""Scores of probabilistic forecasts. Scores have the unit of the target, and lower scores are better.

Sources: Gneiting, Raftery, "Strictly proper scoring rules, prediction, and estimation", JASA 102(477), 2007; Diebold,
Mariano, "Comparing predictive accuracy", JBES 13(3), 1995; Politis, Romano, "A circular block-resampling procedure for
stationary data", 1992.
"""

from typing import NamedTuple

import numpy as np

from feemodel.checks import INT64_MAX, RealArray, real, whole_scalar
from feemodel.errors import InvalidInput
from feemodel.simulation.forecast.methods import pinball
from feemodel.simulation.scenarios import Rng, generator_of

LARGEST_BOOTSTRAP = 1 << 27  # maximum number of blocks that a bootstrap draws


def crps_of_quantiles(targets: RealArray, forecasts: RealArray, quantiles: RealArray) -> RealArray:
    """Approximate the continuous ranked probability score (CRPS) from forecast quantiles.

    The CRPS is twice the integral of the pinball loss over all probabilities from 0 to 1. At each probability, the
    integral uses the forecast quantile with the closest probability.

    Parameters
    ----------
    targets : observed values, (n,).
    forecasts : forecast quantiles, (n, q), in the unit of the targets.
    quantiles : probabilities of the quantiles, (q,), increasing.

    Returns
    -------
    Scores, (n,), in the unit of the targets.

    Raises
    ------
    InvalidInput : an array has the wrong shape, or a number is not finite.

    >>> crps_of_quantiles(np.array([2.0]), np.array([[1.0, 3.0]]), np.array([0.25, 0.75]))  # 2 · (0.25 + 0.25) / 2
    array([0.5])
    """
    value = _matrix("forecasts", forecasts)
    level = _column("quantiles", quantiles, value.shape[1])
    edges = np.concatenate(([0.0], (level[1:] + level[:-1]) / 2.0, [1.0]))
    loss = pinball(_column("targets", targets, len(value))[:, None], value, level)
    return np.asarray(2.0 * loss @ np.diff(edges))


def interval_score(targets: RealArray, low: RealArray, high: RealArray, coverage: float) -> RealArray:
    """Return the interval score: width + 2 / (1 − coverage) · distance of the target from the interval.

    The distance of a target inside the interval is 0.

    Parameters
    ----------
    targets : targets.
    low : lower end of each interval, in the unit of the targets; broadcasts against the targets.
    high : upper end of each interval, in the unit of the targets; broadcasts against the targets.
    coverage : nominal coverage, at least 0 and below 1 [1].

    Returns
    -------
    Scores, in the unit of the targets and in the broadcast shape.

    Raises
    ------
    InvalidInput : the shapes do not broadcast, or `coverage` is 1 or more.

    >>> interval_score(np.array([5.0]), np.array([1.0]), np.array([4.0]), 0.9).round(6)  # 3 + 2 / 0.1 · 1
    array([23.])
    """
    target, below, above = _broadcast(targets=targets, low=low, high=high)
    share = real("coverage", coverage)
    if not isinstance(share, float | int) or share >= 1.0:
        raise InvalidInput("coverage", "expected a number of at least 0 and below 1", coverage)
    outside = np.maximum(below - target, 0.0) + np.maximum(target - above, 0.0)
    return np.asarray(above - below + 2.0 / (1.0 - share) * outside)


def shares_between(targets: RealArray, forecasts: RealArray) -> RealArray:
    """Return the share of targets in each range between forecast quantiles (probability integral transform).

    The first range contains targets below all quantiles, and the last range contains targets above all quantiles.

    Parameters
    ----------
    targets : observed values, (n,).
    forecasts : forecast quantiles, (n, q), increasing along each row, in the unit of the targets.

    Returns
    -------
    Share of the targets in each interval between neighbouring quantiles, (q + 1,), with sum 1. For calibrated quantiles
    with the probabilities 0.1, 0.5 and 0.9, the expected shares of targets are 0.1, 0.4, 0.4 and 0.1.

    Raises
    ------
    InvalidInput : an array has the wrong shape, or a number is not finite.

    >>> shares_between(np.array([0.0, 2.0]), np.array([[1.0, 3.0], [1.0, 3.0]]))
    array([0.5, 0.5, 0. ])
    """
    value = _matrix("forecasts", forecasts)
    index = (_column("targets", targets, len(value))[:, None] > value).sum(axis=1)
    return np.bincount(index, minlength=value.shape[1] + 1) / len(value)


class Difference(NamedTuple):
    """Mean difference of two losses, with a confidence interval."""

    mean: float  #: mean of (first loss − second loss), in the unit of the losses
    low: float  #: lower end of the 95 % interval
    high: float  #: upper end of the 95 % interval
    p_value: float  #: two-sided p-value of the hypothesis of no difference [1]


def diebold_mariano(losses: RealArray, others: RealArray, *, block: int, draws: int = 1_000, rng: Rng) -> Difference:
    """Test two forecasters for equal accuracy (Diebold-Mariano), by a circular block bootstrap of loss differences.

    Parameters
    ----------
    losses : losses of the first forecaster at each origin, (n,), in order of time.
    others : losses of the second forecaster at the same origins, (n,).
    block : number of losses in a block, at most n. Blocks should be long enough that the loss differences of different
        blocks are almost uncorrelated, for example a day.
    draws : number of bootstrap samples.
    rng : seed, SeedSequence or Generator.

    Returns
    -------
    Mean of (losses − others), with the 2.5 % and 97.5 % quantiles of the resampled means as the confidence interval.

    Raises
    ------
    InvalidInput : an array has the wrong shape, or `block` exceeds n.

    >>> losses = np.tile([1.0, 2.0], 50)
    >>> diebold_mariano(losses, losses + 1.0, block=10, rng=1)
    Difference(mean=-1.0, low=-1.0, high=-1.0, p_value=0.000999000999000999)
    """
    one = _column("losses", losses)
    difference = one - _column("others", others, len(one))
    length = whole_scalar("block", block, minimum=1, maximum=len(one))
    count = whole_scalar("draws", draws, minimum=1, maximum=INT64_MAX)
    blocks = -(-len(one) // length)
    if count * blocks > LARGEST_BOOTSTRAP:
        reason = f"expected at most {LARGEST_BOOTSTRAP // blocks:,} draws of {blocks:,} blocks"
        raise InvalidInput("draws", reason, draws)
    sums = np.concatenate(([0.0], np.cumsum(np.concatenate((difference, difference[:length])))))
    starts = generator_of(rng).integers(len(one), size=(count, blocks))
    means = (sums[starts + length] - sums[starts]).mean(axis=1) / length
    mean = float(difference.mean())
    low, high = np.quantile(means, (0.025, 0.975))
    beyond = int((np.abs(means - mean) >= abs(mean)).sum())
    return Difference(mean, float(low), float(high), (beyond + 1) / (count + 1))


class OperatorLoss(NamedTuple):
    """Losses from prices that were set before costs were known. Each array has one value per column of prices, (q,)."""

    under_recovered: RealArray  #: mean of max(0, cost − price), in the unit of costs
    overcharged: RealArray  #: mean of max(0, price − cost), in the unit of costs
    losing_days: RealArray  #: share of days on which the sum of costs exceeds the sum of prices [1]


def operator_loss(costs: RealArray, prices: RealArray, *, day: int) -> OperatorLoss:
    """Return the losses of an operator who sets prices in advance, for example to quantiles of a forecast.

    Parameters
    ----------
    costs : costs, (n,), in order of time, for example in wei per byte.
    prices : prices, (n, q), in the unit of costs; each column is a separate series of prices.
    day : number of consecutive costs that form a day; the last day may be shorter.

    Returns
    -------
    OperatorLoss : arrays with one value for each column of prices.

    Raises
    ------
    InvalidInput : an array has the wrong shape, or a number is not finite.

    >>> found = operator_loss(np.array([1.0, 3.0, 1.0, 1.0]), np.full((4, 1), 1.5), day=2)
    >>> found.under_recovered, found.overcharged, found.losing_days
    (array([0.375]), array([0.375]), array([0.5]))
    """
    price = _matrix("prices", prices)
    cost = _column("costs", costs, len(price))[:, None]
    days = np.arange(len(price)) // whole_scalar("day", day, minimum=1, maximum=INT64_MAX)
    starts = np.flatnonzero(np.diff(days, prepend=-1))
    balance = np.add.reduceat(price - cost, starts, axis=0)
    return OperatorLoss(
        np.maximum(cost - price, 0.0).mean(axis=0),
        np.maximum(price - cost, 0.0).mean(axis=0),
        (balance < 0.0).mean(axis=0),
    )


def _broadcast(**arrays: RealArray) -> tuple[RealArray, ...]:
    checked = [np.asarray(real(name, array, minimum=None)) for name, array in arrays.items()]
    try:
        return tuple(np.broadcast_arrays(*checked))
    except ValueError:
        shapes = {name: array.shape for name, array in zip(arrays, checked, strict=True)}
        raise InvalidInput(", ".join(arrays), "expected shapes that can be broadcast together", shapes) from None


def _matrix(name: str, values: RealArray) -> RealArray:
    found = np.asarray(real(name, values, minimum=None))
    if found.ndim != 2 or not found.size:
        raise InvalidInput(name, "expected rows of at least one number", found.shape)
    return found


def _column(name: str, values: RealArray, length: int | None = None) -> RealArray:
    found = np.asarray(real(name, values, minimum=None))
    if found.ndim != 1 or not found.size or (length is not None and len(found) != length):
        raise InvalidInput(
            name, f"expected {'at least one number' if length is None else f'{length} numbers'}", found.shape
        )
    return found
