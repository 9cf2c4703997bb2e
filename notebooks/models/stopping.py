"""Optimal stopping for submissions that may wait: compute, from a forecast, the maximum cost at which to submit.

Waiting has a cost. Dynamic programming over the distribution of future costs finds the best time to submit, as in
Mamageishvili and Felten, "Efficient Rollup Batch Posting Strategy on L1" (arXiv 2212.10337). In the paper by
Mamageishvili and Felten, the state of the dynamic program includes the number of waiting batches. In this module, the
state is only the time until the deadline of one submission. Submissions do not affect each other: each submission has
its own waiting cost, and L1 accepts any number of submissions.

The forecast of the logarithm of the cost is a curve over the time of day plus a deviation that decays:

    log cost(t) = curve(time of day) + d(t),    d(t + 1) = φ · d(t) + a randomly drawn past error

Once a day, this forecast model (the curve, φ and the errors) is fitted to the costs of the previous seven days.
"""

import math
from typing import NamedTuple

import numpy as np
import xarray as xr

from feemodel._compiled import cached_njit
from feemodel.arguments import check_of
from feemodel.checks import RealArray, WholeArray, check_limit
from feemodel.errors import InvalidInput
from feemodel.quantities import Quantity
from feemodel.simulation.quantities import DurationAboveZero
from models.finality import Clairvoyant, fees_by_step, price_of_finality

MIN_STEP = 1e-3  # minimum length of a step [s]
BIN_SECONDS = 1_200.0  # length of a bin, in which one maximum cost applies; at least one step [s]
DAY_SECONDS, HOUR_SECONDS = 86_400.0, 3_600.0
MIN_DAYS, MAX_DAYS = 3, 7  # minimum and maximum length of the history to which the model is fitted [days]
HARMONICS = 3  # number of harmonics (sine and cosine) in the curve over the time of day
RIDGE = 1.0  # ridge penalty on the coefficients of the harmonics [bins]
POINTS = 81  # number of grid points for the deviation from the curve
MAX_LIMITS = 1 << 26  # maximum number of elements in the array of maximum costs; 2**26 doubles take 512 MiB
MARGIN = math.log(2.0)  # distance by which the grid extends beyond the deviations in the history
ERRORS = 64  # number of quantiles that represent the distribution of forecast errors
ROUNDING = 1e-9  # waiting must save more than this share of the cost; a smaller saving may be a rounding error [1]


class StoppingLimits(NamedTuple):
    """Maximum costs at which to submit."""

    costs: RealArray  #: element i, n: maximum cost in bin i if the deadline is n bins later [wei]
    steps: int  #: number of steps in a bin


def posted_by_forecast(l1_fees: xr.Dataset, *, deadline: float, delay_cost: float, step: float = 12.0) -> xr.Dataset:
    """Compare submissions that leave by forecast with submissions that are sent when they are due.

    Result and submissions are those of `models.finality.price_of_finality`. A
    submission waits at most `deadline` seconds; an hour of waiting costs `delay_cost` of the median submission [1 / h].

    >>> from feemodel.simulation.scenarios import replay
    >>> rows = {"timestamp": [1767795167, 1767795167 + 700_000], "base_fee": [7e7] * 2, "blob_base_fee": [4e6] * 2}
    >>> found = posted_by_forecast(replay(rows, source="by hand"), deadline=3_600.0, delay_cost=0.25)
    >>> found.sizes["submission"], found.saving.item(), found.mean_delay.item()
    (127, 0.0, 0.0)
    """
    posting = Clairvoyant(deadline=deadline)
    found = price_of_finality(l1_fees, posting, step=step)
    (base_fee, blob_base_fee, tip), _ = fees_by_step(l1_fees, step, posting.submission.tip)
    costs = np.asarray(posting.submission.cost(base_fee, tip, blob_base_fee))
    limits = posting_limits(costs, step=step, deadline=deadline, delay_cost=delay_cost)
    due_times = found["due"].to_numpy()
    due = np.ceil(due_times / step - 1e-9).astype(np.int64)
    sent = _sent(due, step, deadline, costs, limits)
    cost, delay = costs[sent], np.where(sent > due, sent * step - due_times, 0.0)
    named = {"sent": sent * step, "delay": delay, "cost": cost}
    found = found.assign({name: ("submission", values, found[name].attrs) for name, values in named.items()})
    saving = float(1.0 - cost.sum() / found["cost_when_due"].to_numpy().sum())
    return found.assign(saving=((), saving, found["saving"].attrs), mean_delay=((), float(delay.mean())))


class _Model(NamedTuple):
    """Fitted model that forecasts the logarithm of the cost after the end of a history."""

    curve: RealArray  #: (7,): coefficients of the constant and of three harmonics
    deviations: RealArray  #: (points,): grid of deviations from the curve, increasing and evenly spaced
    transition: RealArray  #: (points, points): probability that deviation j (column) follows deviation i (row)


def posting_limits(costs: RealArray, *, step: float, deadline: float, delay_cost: float) -> StoppingLimits:
    """Return the maximum cost at which to submit, for each bin of time and each remaining time until the deadline.

    The optimal policy submits if the present cost is at most the expected cost of a later submission plus the cost of
    waiting. At the deadline, any cost is accepted. In the first three days, no forecast is possible, and any cost is
    accepted. The maximum costs of a bin depend only on costs before that bin.

    Parameters
    ----------
    costs : cost of a submission in each step, (steps,) [wei].
    step : length of a step [s].
    deadline : maximum waiting time [s].
    delay_cost : cost of waiting for an hour, divided by the median submission cost of the previous seven days [1 / h].

    Returns
    -------
    Maximum costs for each bin and each number of bins until the deadline [wei].

    Raises
    ------
    InvalidInput : `costs` is not one-dimensional or has a negative element, or `step` is longer than a day.
    LimitExceeded : the array of maximum costs does not fit in memory.

    If the submission cost is constant, the maximum cost equals the submission cost:

    >>> limits = posting_limits(np.full(8 * 144, 1e13), step=600.0, deadline=3_600.0, delay_cost=0.0)
    >>> limits.costs.shape, round(float(limits.costs[-1, -1]) / 1e13, 3)
    ((576, 4), 1.0)
    """
    costs = np.asarray(Quantity("wei", double=True).check("costs", costs))
    if costs.ndim != 1 or not costs.size:
        raise InvalidInput("costs", "expected one number per step", costs.shape)
    for name, value in (("step", step), ("deadline", deadline)):
        check_of(DurationAboveZero)(name, value)
    if not MIN_STEP <= step <= DAY_SECONDS:
        raise InvalidInput("step", f"expected from {MIN_STEP:g} s to a day", step)
    check_of(float)("delay_cost", delay_cost)
    steps = max(1, round(BIN_SECONDS / step))
    bins = -(-len(costs) // steps)
    check_limit(bins * (deadline / (steps * step) + 2.0), "limits", MAX_LIMITS)
    waits = math.ceil(deadline / (steps * step))
    a_day = max(1, round(DAY_SECONDS / (steps * step)))
    starts = np.arange(bins) * steps
    # Use a cost of at least 1 wei, because the logarithm of 0 is not defined.
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
    return StoppingLimits(found, steps)


def _harmonics(bins: WholeArray, a_day: int) -> RealArray:
    """Return the regressors of the curve in each bin, (bins, 7): a constant, and harmonics of the time of day."""
    angles = 2.0 * np.pi * (bins % a_day)[:, None] / a_day * np.arange(1, HARMONICS + 1)
    return np.column_stack((np.ones(len(bins)), np.cos(angles), np.sin(angles)))


def _fitted(history: RealArray, first: int, a_day: int) -> _Model:
    """Fit the model to `history`, the mean logarithm of the cost in each bin from bin `first` on."""
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
    """Return the transition probabilities between grid points.

    If the deviation is at grid point i, the next deviation is one of the equally likely values in row i of `following`.
    The probability of each value is divided between the two nearest grid points by linear interpolation.
    """
    position = np.interp(following, points, np.arange(len(points)))
    lower = np.minimum(position.astype(np.int64), len(points) - 2)
    found = np.zeros((len(points), len(points)))
    rows = np.broadcast_to(np.arange(len(points))[:, None], lower.shape)
    np.add.at(found, (rows, lower), lower + 1 - position)
    np.add.at(found, (rows, lower + 1), position - lower)
    return np.asarray(found / following.shape[1])


@cached_njit(nogil=True, error_model="numpy")
def _stop(costs, transition, delay_cost, limits):  # type: ignore[no-untyped-def]
    """Fill `limits`, the maximum costs at which to submit, by dynamic programming, backwards from the deadline.

    Parameters
    ----------
    costs : cost of submitting in each bin at each deviation, (bins + waits + 1, points), increasing in each row [wei].
    transition : probability of a change from one deviation to another in one bin, (points, points).
    delay_cost : cost of waiting during one time bin [wei].
    limits : output, maximum costs, (bins, waits + 1) [wei]. Column 0, for submissions at the deadline, is not changed.
    """
    count, points = limits.shape[0], costs.shape[1]
    values = costs.copy()  # expected costs under optimal decisions; before the loop, the costs at the deadline
    waiting = np.empty(points)
    for left in range(1, limits.shape[1]):
        for k in range(count + limits.shape[1] - 1 - left):
            following = values[k + 1]  # expected costs in the next bin
            for i in range(points):
                expected = 0.0
                for j in range(points):
                    expected += transition[i, j] * following[j]
                waiting[i] = (expected + delay_cost) * (1.0 + ROUNDING)
                values[k, i] = min(costs[k, i], waiting[i])
            if k < count:
                limits[k, left] = _crossing(costs[k], waiting)


@cached_njit(nogil=True, error_model="numpy")
def _crossing(costs, waiting):  # type: ignore[no-untyped-def]
    """Return the cost at which submitting now and waiting are equally expensive, by linear interpolation."""
    for i in range(costs.size):
        if costs[i] > waiting[i]:
            if i == 0:
                return costs[0]
            before, after = waiting[i - 1] - costs[i - 1], costs[i] - waiting[i]
            return costs[i - 1] + (costs[i] - costs[i - 1]) * before / (before + after)
    return np.inf


@cached_njit(nogil=True, error_model="numpy")
def _sent(due, step, deadline, costs, limits):  # type: ignore[no-untyped-def]
    """Return the step in which each submission is sent. Submissions are sent in the last step at the latest."""
    sent = np.empty(due.size, dtype=np.int64)
    for i in range(due.size):
        k = due[i]
        while k < costs.size - 1:
            waited = k - due[i]
            left = limits.costs.shape[1] - 1 - waited // limits.steps
            if waited * step >= deadline or costs[k] <= limits.costs[k // limits.steps, left]:
                break
            k += 1
        sent[i] = k
    return sent
