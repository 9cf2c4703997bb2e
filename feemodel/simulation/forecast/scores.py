"""Scores of probabilistic forecasts: lower is better, in the unit of what is forecast.

Sources: Gneiting, Raftery, "Strictly proper scoring rules, prediction, and estimation", JASA 102(477), 2007; Diebold,
Mariano, "Comparing predictive accuracy", JBES 13(3), 1995; Politis, Romano, "A circular block-resampling procedure for
stationary data", 1992.
"""

from typing import NamedTuple

import numpy as np

from feemodel.checks import INT64_MAX, RealArray, real, whole_scalar
from feemodel.errors import InvalidInput
from feemodel.simulation.scenarios import Rng, generator_of

LARGEST_BOOTSTRAP = 1 << 27  # block means that are drawn in all


def pinball(targets: RealArray, forecasts: RealArray, quantiles: RealArray) -> RealArray:
    """Pinball loss of quantiles, max(q · e, (q − 1) · e) with e = target − forecast.

    Parameters
    ----------
    targets : broadcasts against `forecasts`.
    forecasts : (…, q), in the unit of the targets.
    quantiles : (q), from 0 to 1.

    Returns
    -------
    Array of the broadcast shape, in the unit of the targets.

    Raises
    ------
    InvalidInput : shapes that do not broadcast, numbers that are not finite.

    >>> pinball(np.array([[3.0]]), np.array([[1.0, 4.0]]), np.array([0.25, 0.75]))
    array([[0.5 , 0.25]])
    """
    target, value, level = _broadcast(targets=targets, forecasts=forecasts, quantiles=quantiles)
    error = target - value
    return np.asarray(np.maximum(level * error, (level - 1.0) * error))


def crps_of_sample(targets: RealArray, sample: RealArray) -> RealArray:
    """Continuous ranked probability score of a sample, E|X − y| − E|X − X′| / 2.

    Parameters
    ----------
    targets : (n).
    sample : (n, draws), in the unit of the targets.

    Returns
    -------
    Array (n), in the unit of the targets.

    Raises
    ------
    InvalidInput : arrays of other shapes, numbers that are not finite.

    >>> crps_of_sample(np.array([0.0]), np.array([[1.0, 3.0]]))  # (1 + 3) / 2 − (0 + 2 + 2 + 0) / 8
    array([1.5])
    """
    value = np.sort(_matrix("sample", sample), axis=1)
    target = _column("targets", targets, len(value))
    draws = value.shape[1]
    # Σ|xᵢ − xⱼ| over all pairs, of sorted draws.
    spread = 2.0 * (value * (2.0 * np.arange(draws) + 1.0 - draws)).sum(axis=1) / draws**2
    return np.asarray(np.abs(value - target[:, None]).mean(axis=1) - spread / 2.0)


def crps_of_quantiles(targets: RealArray, forecasts: RealArray, quantiles: RealArray) -> RealArray:
    """Continuous ranked probability score as twice the integral of the pinball loss over the quantile.

    The loss at each quantile stands for the levels that lie nearer to it than to another, from 0 to 1.

    Parameters
    ----------
    targets : (n).
    forecasts : (n, q), in the unit of the targets.
    quantiles : (q), rising.

    Returns
    -------
    Array (n), in the unit of the targets.

    Raises
    ------
    InvalidInput : arrays of other shapes, numbers that are not finite.

    >>> crps_of_quantiles(np.array([2.0]), np.array([[1.0, 3.0]]), np.array([0.25, 0.75]))  # 2 · (0.25 + 0.25) / 2
    array([0.5])
    """
    value = _matrix("forecasts", forecasts)
    level = _column("quantiles", quantiles, value.shape[1])
    edges = np.concatenate(([0.0], (level[1:] + level[:-1]) / 2.0, [1.0]))
    loss = pinball(_column("targets", targets, len(value))[:, None], value, level)
    return np.asarray(2.0 * loss @ np.diff(edges))


def interval_score(targets: RealArray, low: RealArray, high: RealArray, coverage: float) -> RealArray:
    """Interval score: the width of an interval plus 2 / (1 − coverage) times the distance of a target outside it.

    Parameters
    ----------
    targets, low, high : broadcast, in one unit.
    coverage : nominal, from 0 to below 1 [1].

    Returns
    -------
    Array of the broadcast shape, in the unit of the targets.

    Raises
    ------
    InvalidInput : shapes that do not broadcast, a coverage of 1 or more.

    >>> interval_score(np.array([5.0]), np.array([1.0]), np.array([4.0]), 0.9).round(6)  # 3 + 2 / 0.1 · 1
    array([23.])
    """
    target, below, above = _broadcast(targets=targets, low=low, high=high)
    share = real("coverage", coverage)
    if not isinstance(share, float | int) or share >= 1.0:
        raise InvalidInput("coverage", "expected a number from 0 to below 1", coverage)
    outside = np.maximum(below - target, 0.0) + np.maximum(target - above, 0.0)
    return np.asarray(above - below + 2.0 / (1.0 - share) * outside)


def shares_between(targets: RealArray, forecasts: RealArray) -> RealArray:
    """Shares of targets below, between and above forecast quantiles: the histogram of the probability integral.

    Parameters
    ----------
    targets : (n).
    forecasts : (n, q), rising along each row, in the unit of the targets.

    Returns
    -------
    Array (q + 1), which sums to 1; for calibrated quantiles the differences of 0, the quantiles and 1.

    Raises
    ------
    InvalidInput : arrays of other shapes, numbers that are not finite.

    >>> shares_between(np.array([0.0, 2.0]), np.array([[1.0, 3.0], [1.0, 3.0]]))
    array([0.5, 0.5, 0. ])
    """
    value = _matrix("forecasts", forecasts)
    index = (_column("targets", targets, len(value))[:, None] > value).sum(axis=1)
    return np.bincount(index, minlength=value.shape[1] + 1) / len(value)


class Difference(NamedTuple):
    """The mean difference of two losses, with its interval."""

    mean: float  #: of the first loss minus the second, in their unit; below 0 the first is better
    low: float  #: lower end of the interval of 95 %
    high: float  #: upper end
    p_value: float  #: two-sided, of no difference [1]


def diebold_mariano(losses: RealArray, others: RealArray, *, block: int, draws: int = 1_000, rng: Rng) -> Difference:
    """Test of Diebold and Mariano for equal accuracy, by a circular block bootstrap of the differences.

    Parameters
    ----------
    losses, others : (n), of two forecasters at the same origins, in order of time.
    block : length of a block, of which differences depend on each other, such as a day; at most n.
    draws : bootstrap samples.
    rng : seed, SeedSequence or Generator.

    Returns
    -------
    Difference, whose interval has the 2.5 % and 97.5 % quantiles of the resampled means.

    Raises
    ------
    InvalidInput : arrays of other shapes, blocks longer than them.

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
        raise InvalidInput("draws", f"expected at most {LARGEST_BOOTSTRAP // blocks:,} of {blocks:,} blocks", draws)
    sums = np.concatenate(([0.0], np.cumsum(np.concatenate((difference, difference[:length])))))
    starts = generator_of(rng).integers(len(one), size=(count, blocks))
    means = (sums[starts + length] - sums[starts]).mean(axis=1) / length
    mean = float(difference.mean())
    low, high = np.quantile(means, (0.025, 0.975))
    beyond = int((np.abs(means - mean) >= abs(mean)).sum())
    return Difference(mean, float(low), float(high), (beyond + 1) / (count + 1))


class OperatorLoss(NamedTuple):
    """Losses of a price to costs unknown when it was set; each of shape (q), one for each column of prices."""

    under_recovered: RealArray  #: mean of max(0, cost − price), in the unit of the costs
    overcharged: RealArray  #: mean of max(0, price − cost)
    losing_days: RealArray  #: share of days whose costs, in all, pass their prices [1]


def operator_loss(costs: RealArray, prices: RealArray, *, day: int) -> OperatorLoss:
    """The operator's loss for prices set ahead, such as quantiles of a forecast.

    Parameters
    ----------
    costs : (n), in order of time, such as wei per byte.
    prices : (n, q), in the unit of the costs.
    day : how many of them a day has; the last day may be shorter.

    Returns
    -------
    OperatorLoss.

    Raises
    ------
    InvalidInput : arrays of other shapes, numbers that are not finite.

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
        raise InvalidInput(", ".join(arrays), "expected shapes that broadcast", shapes) from None


def _matrix(name: str, values: RealArray) -> RealArray:
    found = np.asarray(real(name, values, minimum=None))
    if found.ndim != 2 or not found.size:
        raise InvalidInput(name, "expected rows of at least one number", found.shape)
    return found


def _column(name: str, values: RealArray, length: int | None = None) -> RealArray:
    found = np.asarray(real(name, values, minimum=None))
    if found.ndim != 1 or not found.size or (length is not None and len(found) != length):
        raise InvalidInput(name, f"expected {'at least one number' if length is None else length}", found.shape)
    return found
