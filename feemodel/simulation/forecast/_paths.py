"""Joint sample paths: past changes of both fees, moved to the forecast quantiles and driven through the protocol."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from feemodel.checks import RealArray, WholeArray
from feemodel.ethereum.fee_market import BlobRules
from feemodel.simulation.forecast._path_kernels import blob_base_fees, follow
from feemodel.simulation.forecast._series import BIN, DAY, FeeSeries

SLOT = 12.0  # of L1 [s]
GAS_LIMIT = 60_000_000  # of an L1 block, an assumption: only ratios to it matter
GAS_NOISE = 0.3  # standard deviation of the logarithm of a block's demand around its price, an assumption
BLOB_NOISE = 4.4  # standard deviation of a block's blobs, 2026-01-07 to 02-05; Chainscore/score-da, CC BY 4.0
RETURN = 36.0  # bins in which a fee returns to its seasonal value by all but 1/e, in the paths before they are moved
SAME_TIME = 18  # bins of the day between an origin and the past origins whose changes it is given
CHUNK = 128  # paths that are driven at a time: some 15 MB of noise a day


class SampledPaths(NamedTuple):
    """Fees of sample paths, one element a step."""

    elapsed: RealArray  #: (steps), since the newest row [s]
    base_fee: WholeArray  #: (paths, steps), of the first block of each step [wei / gas]
    blob_base_fee: WholeArray  #: (paths, steps) [wei / gas]


class Beginning(NamedTuple):
    """The first block of every path."""

    elapsed: float  #: from the newest row to the end of its bin [s]
    base_fee: int  #: [wei / gas]
    excess: int  #: [gas]


def past_changes(
    series: Mapping[str, FeeSeries], bins: int, paths: int, stream: Generator
) -> dict[str, NDArray[np.float64]]:
    """Mean logarithms of the bins ahead on each path, before they are moved to forecast quantiles.

    A path takes its errors, from one point forecast over all its bins, of a past origin at nearly the same time of day;
    every fee takes those of the same origin.

    Parameters
    ----------
    series : the fees, in the same bins.
    bins : length of a path [bins].
    paths : how many.
    stream : source of the origins that are drawn.

    Returns
    -------
    Arrays (paths, bins + 1), the first column the newest fee [log(wei / gas)].
    """
    newest = len(next(iter(series.values()))) - 1
    origins = np.arange(DAY, newest - bins + 1)
    apart = np.abs((origins - newest + DAY // 2) % DAY - DAY // 2)
    drawn = stream.choice(near if len(near := origins[apart <= SAME_TIME]) else origins, size=paths)
    ahead = np.arange(1, bins + 1)
    found = {}
    for name, one in series.items():
        errors = one.means[drawn[:, None] + ahead] - _point(one, drawn, ahead)
        values = _point(one, np.array([newest]), ahead) + errors
        found[name] = np.column_stack((np.full(paths, one.newest[newest]), values))
    return found


def _point(series: FeeSeries, origins: WholeArray, ahead: WholeArray) -> RealArray:
    """The seasonal value of each bin ahead, plus a part of the newest fee's distance from it that dies out."""
    seasonal = series.means[origins[:, None] + ahead - -(-ahead // DAY) * DAY]
    distance = series.newest[origins] - series.means[origins - DAY]
    return np.asarray(seasonal + distance[:, None] * np.exp(-ahead / RETURN))


def moved(values: RealArray, knots: WholeArray, quantiles: RealArray, levels: RealArray) -> RealArray:
    """Paths whose distribution at each knot is that of the forecast quantiles, each at its rank.

    Between two knots a path is moved by what lies on the line between both; between and beyond quantiles values keep
    their order.

    Parameters
    ----------
    values : (paths, bins + 1), the first column the newest fee, which stays.
    knots : (k), rising, the last one the last column [bins].
    quantiles : (k, q), forecast at each knot.
    levels : (q).

    >>> paths = np.column_stack((np.zeros(5), np.arange(5.0)))
    >>> moved(paths, np.array([1]), np.array([[0.0, 10.0, 20.0]]), np.array([0.25, 0.5, 0.75]))[:, 1]
    array([-1.,  0., 10., 20., 21.])
    """
    changes = [np.zeros(len(values))]
    for knot, target in zip(knots, quantiles, strict=True):
        column = values[:, knot]
        current = np.quantile(column, levels)
        # Where many paths have one value, a quantile of them is met by the first and last of equal ones alone.
        inside = np.interp(column, current, target)
        low, high = column < current[0], column > current[-1]
        inside = np.where(high, target[-1] + column - current[-1], inside)
        inside = np.where(low, target[0] + column - current[0], inside)
        changes.append(inside - column)
    positions = np.concatenate(([0], knots))
    bins = np.arange(values.shape[1])
    after = np.clip(np.searchsorted(positions, bins, side="left"), 1, len(knots))
    part = (bins - positions[after - 1]) / (positions[after] - positions[after - 1])
    stacked = np.stack(changes, axis=1)
    return np.asarray(values + stacked[:, after - 1] * (1.0 - part) + stacked[:, after] * part)


def driven(
    prices: Mapping[str, RealArray], begin: Beginning, rules: BlobRules, *, every: int, stream: Generator
) -> SampledPaths:
    """The fees that blocks reach when demand for gas and blobs follows the prices.

    Parameters
    ----------
    prices : "base_fee" and "blob_base_fee", (paths, bins + 1), as `moved` makes them [log(wei / gas)].
    begin : the first block.
    rules : of blobs, on the whole path.
    every : blocks of a step.
    stream : source of the noise of demand.
    """
    paths, bins = prices["base_fee"].shape[0], prices["base_fee"].shape[1] - 1
    times = np.concatenate(([0.0], begin.elapsed + BIN * (np.arange(bins) + 0.5)))
    steps = int((begin.elapsed + BIN * bins) // (SLOT * every)) + 1
    blocks = (steps - 1) * every + 1
    base_fees, excesses = (np.empty((paths, steps), np.int64) for _ in range(2))
    for start in range(0, paths, CHUNK):
        chunk = slice(start, min(start + CHUNK, paths))
        noise = stream.standard_normal((chunk.stop - chunk.start, blocks, 2), dtype=np.float32)
        follow(
            times, prices["base_fee"][chunk], prices["blob_base_fee"][chunk],
            noise[:, :, 0] * GAS_NOISE - GAS_NOISE**2 / 2, noise[:, :, 1] * BLOB_NOISE,
            begin.base_fee, begin.excess, GAS_LIMIT, rules.target, rules.maximum, rules.update_fraction, rules.reserve,
            SLOT, every, base_fees[chunk], excesses[chunk],
        )  # fmt: skip
    elapsed = np.arange(steps, dtype=np.float64) * (SLOT * every)
    return SampledPaths(elapsed, base_fees, blob_base_fees(excesses, rules.update_fraction))
