"""Adaptive conformal calibration of quantiles: a share q of targets should be below the quantile of probability q.

The distance of each quantile from the median is multiplied by a factor. The factor increases when a target is beyond
the quantile; otherwise, the factor decreases by a smaller amount. At the nominal coverage, increases and decreases of
the factor cancel out. While the factors are within their bounds, the long-run coverage is nominal for any series.

Sources: Gibbs, Candès, "Adaptive conformal inference under distribution shift", NeurIPS 2021; the quantile tracker of
Angelopoulos, Candès, Tibshirani, "Conformal PID control for time series prediction", NeurIPS 2023.
"""

import numpy as np

from feemodel.checks import RealArray

STEP = 0.015  # step size of the changes of the logarithm of a factor [1]
# Bounds of the logarithm of the factor by which a quantile's distance from the median is multiplied. With the upper
# bound, a calibrated quantile is at most about twice as far from the median as the forecast quantile. After a change in
# the weights of the forecasters, the factors are wrong for a while, and the bounds limit the effect of wrong factors.
NARROWEST, WIDEST = -1.0, 0.75


def calibrated(forecasts: RealArray, targets: RealArray, quantiles: RealArray, horizon: int) -> RealArray:
    """Adjust the distance of each quantile from the median, based on the coverage known at each origin.

    Parameters
    ----------
    forecasts : forecast quantiles, (origins, q), with one origin per bin.
    targets : targets of the first origins; the targets of the last origins are not known yet.
    quantiles : probabilities of the quantiles, (q,), increasing and including 0.5.
    horizon : time from an origin to its target [bins].

    Returns
    -------
    Calibrated quantiles, (origins, q), increasing along each row; the median is unchanged.

    All targets are above the upper quantile, so the upper quantile increases:

    >>> forecasts = np.tile([0.0, 1.0, 2.0], (4, 1))
    >>> calibrated(forecasts, np.full(3, 9.0), np.array([0.1, 0.5, 0.9]), 1)[:, 2].round(4)
    array([2.    , 2.0136, 2.0274, 2.0413])
    """
    middle = forecasts[:, [int(np.argmax(quantiles == 0.5))]]
    distances = forecasts - middle
    lower = quantiles < 0.5
    tails = np.where(lower, quantiles, 1.0 - quantiles)
    factor, found = np.where(quantiles == 0.5, 0.0, np.zeros_like(quantiles)), np.empty_like(forecasts)
    for origin in range(len(forecasts)):
        known = origin - horizon
        if 0 <= known < len(targets):
            beyond = np.where(lower, targets[known] < found[known], targets[known] > found[known])
            factor = np.clip(factor + STEP * (beyond - tails), NARROWEST, WIDEST)
        row = middle[origin] + distances[origin] * np.exp(factor)
        found[origin] = np.sort(row)
    return found
