"""Adaptive conformal calibration: adjust quantiles until their coverage equals their probability.

Each quantile's distance from the median is multiplied by a factor. The factor grows after a target beyond the quantile,
and shrinks otherwise. The changes cancel out if the coverage is nominal (Gibbs, Candès, "Adaptive conformal inference
under distribution shift", NeurIPS 2021; the quantile tracker of Angelopoulos, Candès, Tibshirani, "Conformal PID
control for time series prediction", NeurIPS 2023). If the factors stay within their bounds, the long-run coverage is
nominal for any series.
"""

import numpy as np

from feemodel.checks import RealArray

STEP = 0.015  # change of the logarithm of a factor after a target beyond its quantile [1]
# Bounds of the logarithm of a factor: a distance can at most about double. They limit the effect of a factor that was
# adjusted while other forecasters had more weight.
NARROWEST, WIDEST = -1.0, 0.75


def calibrated(forecasts: RealArray, targets: RealArray, quantiles: RealArray, horizon: int) -> RealArray:
    """Adjust the distances of quantiles from the median to the coverage that is known at each origin.

    Parameters
    ----------
    forecasts : quantiles, (origins, q), with one origin per bin.
    targets : known targets of the first origins, fewer than origins.
    quantiles : probabilities of the quantiles, (q,), increasing and including 0.5.
    horizon : horizon of the forecasts, after which a target is known [bins].

    Returns
    -------
    Calibrated quantiles, (origins, q), increasing along each row; the median is unchanged.

    All targets are above the upper quantile, so the upper quantile rises:

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
