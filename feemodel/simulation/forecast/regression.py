"""Linear quantile regression with a smoothed loss and a ridge penalty, solved by Newton's method.

The loss is the pinball loss convolved with a Gaussian kernel, so it is smooth and convex. Sources: Fernandes, Guerre,
Horta, JBES 39(1), 2021; He, Pan, Tan, Zhou, Journal of Econometrics 232(2), 2023.
"""

import numpy as np

from feemodel.checks import RealArray

BANDWIDTH = 0.1  # bandwidth of the kernel / mean absolute deviation of the response [1]
RIDGE = 40.0  # factor of the ridge penalty on squared coefficients [1]
MAX_ITERATIONS = 40
MIN_CURVATURE = 1e-3  # keeps the Hessian matrix positive definite if no residual is near 0
TOLERANCE = 1e-6  # the iteration ends when the relative decrease of the loss is at most this value
SQRT_TAU = float(np.sqrt(2 * np.pi))


def fit_quantiles(
    regressors: RealArray,
    response: RealArray,
    quantiles: RealArray,
    *,
    start: RealArray | None = None,
    ridge: float = RIDGE,
) -> RealArray:
    """Return the coefficients of a linear quantile regression, (q, k + 1); the last column has the intercepts.

    The regressors, (rows, k), are standardized. The penalty does not apply to the intercept. `start` has coefficients
    from which the iteration begins.

    >>> x = np.linspace(-1.7, 1.7, 2_001)
    >>> fit_quantiles(x[:, None], 3.0 * x, np.array([0.5]), ridge=0.0).round(2) + 0.0
    array([[3., 0.]])
    """
    rows, width = regressors.shape
    design = np.column_stack((regressors, np.ones(rows)))
    scale = float(np.mean(np.abs(response - np.median(response)))) or 1.0
    scaled = response / scale
    penalty = np.append(np.full(width, ridge), 0.0)
    found = np.zeros((len(quantiles), width + 1)) if start is None else start / scale
    for index, quantile in enumerate(quantiles):
        if start is None:
            found[index, -1] = np.quantile(scaled, quantile)
        found[index] = _minimum(design, scaled, float(quantile), penalty, found[index])
    return found * scale


def _minimum(
    design: RealArray, response: RealArray, quantile: float, penalty: RealArray, start: RealArray
) -> RealArray:
    found = start
    loss, probability, density = _loss(design, response, quantile, penalty, found)
    for _ in range(MAX_ITERATIONS):
        gradient = penalty * found - design.T @ (quantile - probability)
        weights = np.maximum(density, MIN_CURVATURE)
        curvature = (design * weights[:, None]).T @ design
        curvature.flat[:: len(penalty) + 1] += penalty + 1e-9  # add the penalty to the diagonal
        step = np.linalg.solve(curvature, gradient)
        fall, length = float(gradient @ step), 1.0
        while True:
            tried = found - length * step
            tried_loss, tried_probability, tried_density = _loss(design, response, quantile, penalty, tried)
            if tried_loss <= loss - 1e-4 * length * fall or length < 1e-4:
                break
            length /= 2
        if not loss - tried_loss > TOLERANCE * abs(loss):
            break
        found, loss, probability, density = tried, tried_loss, tried_probability, tried_density
    return found


def _loss(
    design: RealArray, response: RealArray, quantile: float, penalty: RealArray, coefficients: RealArray
) -> tuple[float, RealArray, RealArray]:
    """Return the loss and, for the normally distributed residual of each row, P(residual < 0) and its density at 0."""
    from scipy.special import ndtr

    residual = response - design @ coefficients
    standard = residual / BANDWIDTH
    below = np.asarray(ndtr(-standard))
    density = np.exp(-(standard**2) / 2) / (SQRT_TAU * BANDWIDTH)
    smoothed = residual @ (quantile - below) + BANDWIDTH**2 * density.sum()
    return float(smoothed + coefficients @ (penalty * coefficients) / 2), below, density
