"""Sample paths of the L1 base fee and blob base fee, from past changes and forecast quantiles."""

from collections.abc import Mapping

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from feemodel.checks import RealArray, WholeArray
from feemodel.simulation.forecast.series import DAY, FeeSeries, trailing, typical

RETURN = 36.0  # time constant of the point forecast's return to the seasonal value [bins]
SAME_TIME = 18  # maximum difference in time of day between the origin and the past origins to draw from [bins]


def past_changes(
    series: Mapping[str, FeeSeries], bins: int, paths: int, stream: Generator
) -> dict[str, NDArray[np.float64]]:
    """Draw sample paths of both fees from past forecast errors.

    A path is a point forecast plus the errors that this forecast made from a past origin, drawn at random from origins
    at about the same time of day. Both fees of a path use the same past origin. The result is fee name → mean
    logarithms, of shape (paths, bins + 1); the first column is the newest fee.
    """
    first = next(iter(series.values()))
    newest = len(first) - 1
    origins = first.fitted(np.arange(DAY, newest - bins + 1))
    apart = np.abs((origins - newest + DAY // 2) % DAY - DAY // 2)
    drawn = stream.choice(near if len(near := origins[apart <= SAME_TIME]) else origins, size=paths)
    ahead = np.arange(1, bins + 1)
    found = {}
    for name, one in series.items():
        usual = np.asarray(trailing(typical(one.means, DAY), SAME_TIME).mean(), np.float64)  # smooths noise
        errors = one.means[drawn[:, None] + ahead] - _point(one, usual, drawn, ahead)
        values = _point(one, usual, np.array([newest]), ahead) + errors
        found[name] = np.column_stack((np.full(paths, one.newest[newest]), values))
    return found


def _point(series: FeeSeries, usual: RealArray, origins: WholeArray, ahead: WholeArray) -> RealArray:
    """Return point forecasts: typical fee + (newest fee − typical fee at its time) · exp(−bins ahead / RETURN)."""
    distance = series.newest[origins] - usual[origins - DAY]
    return np.asarray(
        usual[origins[:, None] + ahead - -(-ahead // DAY) * DAY] + distance[:, None] * np.exp(-ahead / RETURN)
    )


def moved(values: RealArray, knots: WholeArray, quantiles: RealArray, levels: RealArray) -> RealArray:
    """Adjust paths so that their quantiles at each knot [bins] are the forecast's, of shape (knots, q).

    The adjustment does not change the order of the paths at a knot. Between two knots, it is interpolated linearly. The
    first column of `values`, the newest fee, is not adjusted; the last knot is the last column.

    >>> paths = np.column_stack((np.zeros(5), np.arange(5.0)))
    >>> moved(paths, np.array([1]), np.array([[0.0, 10.0, 20.0]]), np.array([0.25, 0.5, 0.75]))[:, 1]
    array([-1.,  0., 10., 20., 21.])
    """
    changes = [np.zeros(len(values))]
    for knot, target in zip(knots, quantiles, strict=True):
        current = np.quantile(values[:, knot], levels)
        changes.append(np.interp(values[:, knot], current, target - current))
    positions, bins = np.append(0, knots), np.arange(values.shape[1])
    return np.asarray(values + [np.interp(bins, positions, of_path) for of_path in np.transpose(changes)])
