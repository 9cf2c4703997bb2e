"""Optimal stopping of a submission that may wait: the costs at which it leaves, from a forecast of its cost.

Waiting has a price of its own, so that the best moment is found by dynamic programming over the distribution of costs
ahead, in the form of Mamageishvili and Felten, "Efficient Rollup Batch Posting Strategy on L1" (arXiv 2212.10337).
Theirs has the number of waiting batches as a state. Here the delay of each submission counts for itself and L1 takes
any number of them, so that each is a problem of its own, whose state is the time that is left.

The logarithm of the cost is forecast as a curve of the time of day plus a deviation that dies out:

    log cost(t) = curve(time of day) + d(t),    d(t + 1) = φ · d(t) + an error drawn from past ones

Curve, φ and errors are fitted once a day on the seven days before.
"""

import math
from typing import NamedTuple

import numpy as np

from feemodel._compiled import cached_njit
from feemodel.checks import RealArray, WholeArray, above_zero, check_limit, real, real_scalar
from feemodel.errors import InvalidInput

MIN_STEP = 1e-3  # [s]
BIN_SECONDS = 1_200.0  # for which a cost at which a submission leaves holds; at least a step
DAY_SECONDS, HOUR_SECONDS = 86_400.0, 3_600.0
MIN_DAYS, MAX_DAYS = 3, 7  # of history that a fit needs and reads
HARMONICS = 3  # of the time of day
RIDGE = 1.0  # penalty on the curve's harmonics, in bins
POINTS = 81  # of the deviation
MAX_LIMITS = 1 << 26  # 512 MiB
MARGIN = math.log(2.0)  # by which deviations may pass those of the history
ERRORS = 64  # quantiles that stand for the distribution of errors
ROUNDING = 1e-9  # part of a cost below which waiting gains nothing


class Limits(NamedTuple):
    """The greatest costs at which a submission leaves."""

    costs: RealArray  #: (bins, waits): by the time and by how many bins are left until the deadline [wei]
    steps: int  #: of a bin


class _Model(NamedTuple):
    """Forecast of the logarithm of the cost from the end of a history on."""

    curve: RealArray  #: (7), coefficients of the constant and of three harmonics
    deviations: RealArray  #: (points), rising, evenly spaced
    transition: RealArray  #: (points, points), probability of each deviation a bin after each one


def posting_limits(costs: RealArray, *, step: float, deadline: float, delay_cost: float) -> Limits:
    """The greatest cost at which a submission that may wait leaves, at each time and for each time that is left.

    A submission leaves once its cost is at most what it must expect to pay later, waiting included. At the deadline it
    leaves at any cost, and so it does in the first three days, before a forecast is possible. The limits of a bin
    depend on costs before the bin alone.

    Parameters
    ----------
    costs : of a submission in each step [wei].
    step : [s].
    deadline : longest wait [s].
    delay_cost : of an hour of waiting, in median costs of the seven days before [1 / h].

    Raises `InvalidInput` for costs that are no numbers of at least 0 in one dimension and for a step longer than a day,
    and `LimitExceeded` for more limits than memory holds.

    Fees that never move leave nothing to wait for:

    >>> limits = posting_limits(np.full(8 * 144, 1e13), step=600.0, deadline=3_600.0, delay_cost=0.0)
    >>> limits.costs.shape, round(float(limits.costs[-1, -1]) / 1e13, 3)
    ((576, 4), 1.0)
    """
    costs = np.asarray(real("costs", costs, unit="wei"))
    if costs.ndim != 1 or not costs.size:
        raise InvalidInput("costs", "expected one number a step", costs.shape)
    for name, value in (("step", step), ("deadline", deadline)):
        above_zero(name, value, unit="s")
    if not MIN_STEP <= step <= DAY_SECONDS:
        raise InvalidInput("step", f"expected from {MIN_STEP:g} s to a day", step)
    real_scalar("delay_cost", delay_cost)
    steps = max(1, round(BIN_SECONDS / step))
    bins = -(-len(costs) // steps)
    check_limit(bins * (deadline / (steps * step) + 2.0), "limits", MAX_LIMITS)
    waits = math.ceil(deadline / (steps * step))
    a_day = max(1, round(DAY_SECONDS / (steps * step)))
    starts = np.arange(bins) * steps
    # No transaction costs less than a wei, and no logarithm of a cost of 0 exists.
    sums = np.add.reduceat(np.log(np.maximum(costs, 1.0)), starts)
    means = sums / np.diff(np.append(starts, len(costs)))
    found = np.full((bins, waits + 1), np.inf)
    for day in range(MIN_DAYS * a_day, bins, a_day):
        first = max(0, day - MAX_DAYS * a_day)
        history = means[first:day]
        model = _fitted(history, first, a_day)
        count = min(a_day, bins - day)
        ahead = _harmonics(np.arange(day, day + count + waits + 1), a_day) @ model.curve
        hourly = delay_cost * math.exp(float(np.median(history)))
        _stop(
            np.exp(ahead[:, None] + model.deviations), model.transition, hourly * steps * step / HOUR_SECONDS,
            found[day : day + count],
        )  # fmt: skip
    return Limits(found, steps)


def _harmonics(bins: WholeArray, a_day: int) -> RealArray:
    """A constant and the harmonics of the time of day at each bin, shape (bins, 7)."""
    angles = 2.0 * np.pi * (bins % a_day)[:, None] / a_day * np.arange(1, HARMONICS + 1)
    return np.column_stack((np.ones(len(bins)), np.cos(angles), np.sin(angles)))


def _fitted(history: RealArray, first: int, a_day: int) -> _Model:
    """The model that fits the mean logarithms of a history of bins, which begins at bin `first`."""
    design = _harmonics(np.arange(first, first + len(history)), a_day)
    penalty = RIDGE * np.diag(np.append(0.0, np.ones(2 * HARMONICS)))
    curve = np.linalg.solve(design.T @ design + penalty, design.T @ history)
    deviation = history - design @ curve
    square = float(np.sum(deviation[:-1] ** 2))
    persistence = min(float(np.sum(deviation[:-1] * deviation[1:])) / square, 1.0) if square > 0.0 else 0.0
    errors = deviation[1:] - persistence * deviation[:-1]
    drawn = np.quantile(errors - errors.mean(), (np.arange(ERRORS) + 0.5) / ERRORS)
    points = np.linspace(deviation.min() - MARGIN, deviation.max() + MARGIN, POINTS)
    return _Model(np.asarray(curve, np.float64), points, _transition(points, persistence * points[:, None] + drawn))


def _transition(points: RealArray, following: RealArray) -> RealArray:
    """Probabilities of the points after each one, from equally likely values, each shared by its two neighbours."""
    position = np.interp(following, points, np.arange(len(points)))
    lower = np.minimum(position.astype(np.int64), len(points) - 2)
    found = np.zeros((len(points), len(points)))
    rows = np.broadcast_to(np.arange(len(points))[:, None], lower.shape)
    np.add.at(found, (rows, lower), lower + 1 - position)
    np.add.at(found, (rows, lower + 1), position - lower)
    return np.asarray(found / following.shape[1])


@cached_njit(nogil=True, error_model="numpy")
def _stop(costs, transition, delay_cost, limits):  # type: ignore[no-untyped-def]
    """Fill in limits by dynamic programming, from the deadline back.

    Parameters
    ----------
    costs : (bins + waits + 1, points), of leaving in each bin at each deviation, rising along points [wei].
    transition : (points, points), probabilities a bin later.
    delay_cost : of waiting for a bin [wei].
    limits : (bins, waits + 1), filled in but for no time left, where any cost is accepted [wei].
    """
    count, points = limits.shape[0], costs.shape[1]
    values = costs.copy()  # expected costs of the best decisions, with no bin left
    waiting = np.empty(points)
    for left in range(1, limits.shape[1]):
        for k in range(count + limits.shape[1] - 1 - left):
            following = values[k + 1]  # with one bin less left
            for i in range(points):
                expected = 0.0
                for j in range(points):
                    expected += transition[i, j] * following[j]
                waiting[i] = (expected + delay_cost) * (1.0 + ROUNDING)
                values[k, i] = min(costs[k, i], waiting[i])
            if k < count:
                limits[k, left] = _crossing(costs[k], waiting)


@cached_njit(makes_arrays=False, nogil=True, error_model="numpy")
def _crossing(costs, waiting):  # type: ignore[no-untyped-def]
    """The greatest cost up to which leaving costs at most what waiting does, on lines between the points."""
    for i in range(costs.size):
        if costs[i] > waiting[i]:
            if i == 0:
                return costs[0]
            before, after = waiting[i - 1] - costs[i - 1], costs[i] - waiting[i]
            return costs[i - 1] + (costs[i] - costs[i - 1]) * before / (before + after)
    return np.inf
