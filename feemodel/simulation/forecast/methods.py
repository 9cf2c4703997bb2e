"""Quantile forecasts of a fee series at many origins, by the methods "persistence", "seasonal" and "auto".

Once a day, a method is fitted to the targets before the first origin of the day. A forecast uses no value after its
origin. "auto" is a quantile regression, which is calibrated by adaptive conformal inference.

Sources: Gibbs, Candès, "Adaptive conformal inference under distribution shift", NeurIPS 2021; the quantile tracker of
Angelopoulos, Candès, Tibshirani, "Conformal PID control for time series prediction", NeurIPS 2023.
"""

import math
from typing import Literal, TypeAlias, get_args

import numpy as np

from feemodel.checks import RealArray
from feemodel.errors import InvalidInput
from feemodel.ethereum._fee_units import MAXIMUM
from feemodel.simulation.forecast.series import (
    DAY,
    SIX_HOURS,
    WEEK,
    FeeSeries,
    before_target,
    days_before,
    estimate,
    features,
)

BANDWIDTH = 0.1  # half the width of the kernel / mean absolute deviation of the response [1]
RIDGE = 40.0  # factor of the ridge penalty on squared coefficients [1]
MIN_SCALE = 1e-9  # in place of a mean absolute deviation of 0
MAX_ITERATIONS = 40
TOLERANCE = 3e-3  # the iteration ends when no standardized coefficient changes by more than this value


def fit_quantiles(
    regressors: RealArray,
    response: RealArray,
    quantiles: RealArray,
    *,
    start: RealArray | None = None,
    ridge: float = RIDGE,
) -> RealArray:
    """Return the coefficients of a linear quantile regression, (q, k + 1); the last column has the intercepts.

    The loss is the pinball loss convolved with a uniform kernel, so it is smooth and convex. Each iteration minimizes a
    quadratic upper bound of the loss, so the loss never rises. Sources: Fernandes, Guerre, Horta, JBES 39(1), 2021;
    Hunter, Lange, Journal of Computational and Graphical Statistics 9(1), 2000.

    The regressors, (rows, k), are standardized. The penalty does not apply to the intercept. `start` has coefficients
    from which the iteration begins.

    >>> x = np.linspace(-1.7, 1.7, 2_001)
    >>> fit_quantiles(x[:, None], 3.0 * x, np.array([0.5]), ridge=0.0).round(2) + 0.0
    array([[3., 0.]])
    """
    rows, width = regressors.shape
    design = np.column_stack((regressors, np.ones(rows)))
    scale = float(np.mean(np.abs(response - np.median(response)))) or MIN_SCALE
    scaled, tilt = response / scale, quantiles[:, None] - 0.5
    penalty = np.diag(np.append(np.full(width, ridge), 0.0) + 1e-9)
    intercepts = np.quantile(scaled, quantiles)
    found = np.pad(intercepts[:, None], ((0, 0), (width, 0))) if start is None else start / scale
    for _ in range(MAX_ITERATIONS):
        previous = found
        weights = 0.5 / np.maximum(np.abs(scaled - found @ design.T), BANDWIDTH)
        curvature = (weights[:, None, :] * design.T) @ design + penalty
        found = np.asarray(np.linalg.solve(curvature, ((weights * scaled + tilt) @ design)[:, :, None])[:, :, 0])
        if np.abs(found - previous).max() <= TOLERANCE:
            break
    return np.asarray(found * scale)


Method: TypeAlias = Literal["persistence", "seasonal", "auto"]
METHODS: tuple[str, ...] = get_args(Method)
BASELINES = METHODS[:-1]

SKIPPED = 2 * DAY  # length of the first part of a series, to which no method is fitted [bins]
LONGEST_FIT = 45 * DAY  # maximum length of the history to which regressions are fitted [bins]
WARM_UP = WEEK  # additional earlier origins from which "auto" computes the initial calibration [bins]
LARGEST_STRIDE = 6  # regressions use every 6th target at horizons of at least six hours, otherwise every 2nd
MIN_ROWS = DAY  # minimum number of targets to fit a method


def min_bins(horizon: int, *, method: str = "auto") -> int:
    """Return the minimum length of a series that a method requires at a horizon [bins].

    >>> min_bins(144) / 144, min_bins(144, method="seasonal") / 144
    (6.0, 4.0)
    """
    return SKIPPED + horizon + MIN_ROWS + (2 * DAY if method == "auto" else 0)


def fees_of(logarithms: RealArray) -> RealArray:
    """Convert logarithms of fees to fees, from 1 wei to 10 million gwei [wei / gas].

    >>> fees_of(np.array([-3.0, 40.0])).tolist()
    [1.0, 1e+16]
    """
    return np.asarray(np.clip(np.exp(logarithms), 1.0, MAXIMUM))


def rolling_quantiles(
    series: FeeSeries, horizon: int, *, method: str, quantiles: RealArray, first: int | None = None
) -> RealArray:
    """Forecast quantiles of the mean logarithm of a fee in the bin that is `horizon` bins after each origin.

    The result, (origins, q) [log(wei / gas)], has a row for each origin from `first` on, by default only for the newest
    bin. All forecast fees are between 1 wei, the minimum of the protocol, and 10 million gwei.

    >>> from feemodel.simulation.forecast.series import binned
    >>> series = binned(600.0 * np.arange(1_000), np.full(1_000, 1e9))
    >>> rolling_quantiles(series, 6, method="persistence", quantiles=np.array([0.1, 0.9])).round(6)
    array([[20.723266, 20.723266]])
    """
    begin = len(series) - 1 if first is None else first
    if (minimum := min_bins(horizon, method=method)) > begin + 1:
        reason = f"expected at least {minimum / 6:,.1f} h up to the first origin, at a horizon of {horizon / 6:,.1f} h"
        raise InvalidInput("l1", reason, f"{(begin + 1) / 6:,.1f} h")
    auto = method == "auto"
    found = _auto(series, horizon, quantiles, begin) if auto else _baseline(series, horizon, quantiles, begin, method)
    return np.clip(found, 0.0, math.log(MAXIMUM))


def _auto(series: FeeSeries, horizon: int, quantiles: RealArray, begin: int) -> RealArray:
    """Calibrate a quantile regression."""
    warm = max(begin - WARM_UP, min_bins(horizon, method="seasonal"))
    warm = begin - (begin - warm) // DAY * DAY  # whole days before `begin`: each fit is at this time of day
    levels = np.unique(np.append(quantiles, 0.5))
    found = calibrated(_regression(series, horizon, levels, warm), series.means[warm + horizon :], levels, horizon)
    return found[begin - warm :, np.isin(levels, quantiles)]


def _days(begin: int, end: int) -> list[slice]:
    return [slice(day, min(day + DAY, end)) for day in range(begin, end, DAY)]


def _baseline(series: FeeSeries, horizon: int, quantiles: RealArray, begin: int, method: str) -> RealArray:
    """Forecast the newest fee, or that at the target's time of day on the newest day, plus quantiles of past errors."""
    middle = series.means
    if method == "seasonal":
        middle = before_target(middle, horizon, days_before(horizon))
    found = np.empty((len(series) - begin, len(quantiles)))
    for day in _days(begin, len(series)):
        fitted = np.arange(SKIPPED, day.start - horizon)
        fitted = series.fitted(fitted[~np.isnan(middle[fitted])])
        errors = np.quantile(series.means[fitted + horizon] - middle[fitted], quantiles)
        found[day.start - begin : day.stop - begin] = middle[day][:, None] + errors
    return found


def _regression(series: FeeSeries, horizon: int, quantiles: RealArray, begin: int) -> RealArray:
    """Forecast the target's distance from a simple estimate by ridge quantile regression."""
    values, anchor, table = series.means, estimate(series, horizon), features(series, horizon)
    complete = np.isfinite(table.sum(axis=1)) & ~np.isnan(anchor)
    stride = 2 if horizon < SIX_HOURS else LARGEST_STRIDE
    found, start = np.empty((len(series) - begin, len(quantiles))), None
    for day in _days(begin, len(series)):
        newest = day.start - horizon
        fitted = np.arange(newest - 1, max(SKIPPED, newest - LONGEST_FIT) - 1, -stride)[::-1]
        fitted = series.fitted(fitted[complete[fitted]])
        mean, deviation = table[fitted].mean(axis=0), table[fitted].std(axis=0)
        deviation = np.where(deviation > 0.0, deviation, 1.0)
        regressors = (table[fitted] - mean) / deviation
        distance = values[fitted + horizon] - anchor[fitted]
        start = fit_quantiles(regressors, distance, quantiles, start=start, ridge=RIDGE / stride)
        # Do not extrapolate: limit each regressor to the range of its values in the data of the fit.
        standard = np.clip((table[day] - mean) / deviation, regressors.min(axis=0), regressors.max(axis=0))
        predicted = anchor[day][:, None] + standard @ start[:, :-1].T + start[:, -1]
        found[day.start - begin : day.stop - begin] = np.sort(predicted, axis=1)
    return found


FACTOR_STEP = 0.003  # step of the logarithm of a factor; larger steps overreact at a horizon of a day [1]
NARROWEST, WIDEST = -1.0, 0.75  # bounds of the logarithm, which limit what a wrong factor does after a change


def pinball(targets: RealArray, forecasts: RealArray, quantiles: RealArray) -> RealArray:
    """Return the pinball loss of forecast quantiles, (…, q): max(q · e, (q − 1) · e), where e = target − forecast.

    >>> pinball(np.array([[3.0]]), np.array([[1.0, 4.0]]), np.array([0.25, 0.75]))
    array([[0.5 , 0.25]])
    """
    error = targets - forecasts
    return np.asarray(np.maximum(quantiles * error, (quantiles - 1.0) * error))


def calibrated(forecasts: RealArray, targets: RealArray, quantiles: RealArray, horizon: int) -> RealArray:
    """Adjust the quantiles' distances from the median, (origins, q), by the coverage known at each origin.

    A distance grows after a target beyond the quantile and shrinks otherwise; at the nominal coverage, both cancel
    out. The median is unchanged.

    All targets are above the upper quantile, so the upper quantile increases:

    >>> forecasts = np.tile([0.0, 1.0, 2.0], (4, 1))
    >>> calibrated(forecasts, np.full(3, 9.0), np.array([0.1, 0.5, 0.9]), 1)[:, 2].round(4)
    array([2.    , 2.0027, 2.0054, 2.0081])
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
            factor = np.clip(factor + FACTOR_STEP * (beyond - tails), NARROWEST, WIDEST)
        found[origin] = np.sort(middle[origin] + distances[origin] * np.exp(factor))
    return found
