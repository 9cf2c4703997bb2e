"""Adaptive conformal calibration: quantiles move until they cover as often as they say.

Each quantile's distance from the median is multiplied by a factor. After a target beyond the quantile the factor grows,
otherwise it shrinks a little, in proportions that balance at the nominal share (Gibbs, Candès, "Adaptive conformal
inference under distribution shift", NeurIPS 2021; the quantile tracker of Angelopoulos, Candès, Tibshirani, "Conformal
PID control for time series prediction", NeurIPS 2023). The long-run share is the nominal one for any series whose
factors stay within their bounds.
"""

import numpy as np

from feemodel.checks import RealArray

STEP = 0.015  # change of the logarithm of a factor after a target beyond its quantile [1]
# Bounds of the logarithm of a factor. A factor carries what it learned in one regime into the next, where other
# forecasters have weight, which may be wide already: it at most doubles a distance, about.
NARROWEST, WIDEST = -1.0, 0.75


def calibrated(forecasts: RealArray, targets: RealArray, quantiles: RealArray, horizon: int) -> RealArray:
    """Quantiles whose distances from the median follow the coverage that is known at each origin.

    Parameters
    ----------
    forecasts : (origins, q), one origin a bin.
    targets : what the first origins' targets were; shorter than the origins.
    quantiles : (q), rising, 0.5 among them.
    horizon : after which a target is known [bins].

    Returns
    -------
    Array (origins, q), rising along each row; the median as it was.

    Every target lies above the upper quantile, which therefore rises:

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
