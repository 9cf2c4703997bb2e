"""Sample paths of the L1 base fee and blob base fee, from past changes, forecast quantiles and protocol rules."""

import math
from collections.abc import Mapping

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from feemodel._compiled import cached_njit
from feemodel.checks import RealArray, WholeArray
from feemodel.ethereum._fee_market_kernels import blob_base_fee, next_base_fee, next_excess_blob_gas
from feemodel.ethereum.fee_market import BASE_FEE_CHANGE_DENOMINATOR, GAS_PER_BLOB, BlobRules, excess_behind
from feemodel.simulation.forecast.series import BIN, DAY, FeeSeries, typical

SLOT = 12.0  # time between L1 blocks [s]
GAS_LIMIT = 60_000_000  # assumed gas limit of an L1 block; only (gas used / gas limit) matters
GAS_NOISE = 0.3  # assumed standard deviation of the noise in the logarithm of gas demand
BLOB_NOISE = 4.4  # standard deviation of blobs per block; Chainscore/score-da, 2026-01-07 to 02-05, CC BY 4.0
RESPONSE = 8.0  # time constant with which the excess blob gas approaches the value for the given blob base fee [blocks]
RETURN = 36.0  # time constant of the point forecast's return to the seasonal value [bins]
SAME_TIME = 18  # maximum difference in time of day between the origin and the past origins to draw from [bins]


@cached_njit(nogil=True, error_model="numpy")
def follow(times, prices, base_fee, excess, rules, every, steps, rng):  # type: ignore[no-untyped-def]
    """Return the base fee, the excess blob gas and the blob base fee of the first block of each step, on each path.

        gas used = min(gas limit, gas limit / 2 · price · exp(noise) / base fee)
        blobs = target + (given excess − excess) / (gas per blob · RESPONSE) + noise, rounded, from 0 to maximum

    `given excess` is the excess blob gas at which the blob base fee equals the given blob price. The fees of a block
    are computed from its parent block by EIP-1559, EIP-4844 and EIP-7918.

    `prices` are the logarithms of both fees, (2, paths, knots), interpolated linearly between `times`, (knots,) [s], of
    which the first is at most 0. `base_fee` and `excess` are those of the first block. `rules` are the target, the
    maximum [blobs], the update fraction [gas] and the reserve of the blob rules.
    """
    target, maximum, update_fraction, reserve = rules
    half, paths = GAS_LIMIT // 2, prices.shape[1]
    base_fees, excesses = np.empty((paths, steps), np.int64), np.empty((paths, steps), np.int64)
    blob_fees = np.empty((paths, steps), np.int64)
    for path in range(paths):
        fee, gas, knot = base_fee, excess, 0
        for block in range((steps - 1) * every + 1):
            if block % every == 0:
                base_fees[path, block // every] = fee
                excesses[path, block // every] = gas
                blob_fees[path, block // every] = blob_base_fee(gas, update_fraction)
            time = block * SLOT
            while knot < times.size - 2 and times[knot + 1] <= time:
                knot += 1
            part = min(1.0, (time - times[knot]) / (times[knot + 1] - times[knot]))
            price = prices[0, path, knot] + part * (prices[0, path, knot + 1] - prices[0, path, knot])
            blob_price = prices[1, path, knot] + part * (prices[1, path, knot + 1] - prices[1, path, knot])
            noise = GAS_NOISE * rng.standard_normal() - GAS_NOISE**2 / 2
            used = np.int64(min(half * math.exp(price + noise) / fee, float(GAS_LIMIT)))
            missing = (update_fraction * max(blob_price, 0.0) - gas) / (GAS_PER_BLOB * RESPONSE)
            wanted = round(target + missing + BLOB_NOISE * rng.standard_normal())
            gas = next_excess_blob_gas(
                gas,
                np.int64(min(max(wanted, 0.0), float(maximum))) * GAS_PER_BLOB,
                fee,
                target * GAS_PER_BLOB,
                maximum * GAS_PER_BLOB,
                update_fraction,
                reserve,
            )
            fee = next_base_fee(fee, used, half, half, BASE_FEE_CHANGE_DENOMINATOR)
    return base_fees, excesses, blob_fees


def past_changes(
    series: Mapping[str, FeeSeries], bins: int, paths: int, stream: Generator
) -> dict[str, NDArray[np.float64]]:
    """Draw sample paths of both fees from past forecast errors.

    A path is a point forecast plus the errors of the same forecast at a past origin, which is drawn from those at about
    the same time of day. Both fees of a path use the same past origin. The result is fee name → mean logarithms of the
    fee, (paths, bins + 1), of which the first column is the newest fee.
    """
    first = next(iter(series.values()))
    newest = len(first) - 1
    origins = first.fitted(np.arange(DAY, newest - bins + 1))
    apart = np.abs((origins - newest + DAY // 2) % DAY - DAY // 2)
    drawn = stream.choice(near if len(near := origins[apart <= SAME_TIME]) else origins, size=paths)
    ahead = np.arange(1, bins + 1)
    found = {}
    for name, one in series.items():
        usual = typical(one.means, DAY)  # of each bin's time of day, on this and the days before
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
    """Adjust paths so that, at each knot [bins], their quantiles equal the forecast quantiles, (knots, q).

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


def driven(
    prices: Mapping[str, RealArray],
    base_fee: int,
    blob_fee: int,
    rules: BlobRules,
    *,
    wait: float,
    every: int,
    rng: Generator,
) -> tuple[WholeArray, WholeArray]:
    """Simulate blocks in which demand for gas and blobs moves the L1 fees towards given prices, results of `moved`.

    The result is the base fee and the blob base fee of the first block of each step of `every` blocks, (paths, steps)
    [wei / gas]. The first block has the given fees; the first of the bins begins after the time `wait` [s].
    """
    both = np.stack([prices["base_fee"], prices["blob_base_fee"]])
    bins = both.shape[2] - 1
    times = np.concatenate(([0.0], wait + BIN * (np.arange(bins) + 0.5)))
    steps = int((wait + BIN * bins) // (SLOT * every)) + 1
    terms = (rules.target, rules.maximum, rules.update_fraction, rules.reserve)
    excess = excess_behind(blob_fee, rules.update_fraction)
    base_fees, _, blob_fees = follow(times, both, base_fee, excess, terms, every, steps, rng)
    return base_fees, blob_fees
