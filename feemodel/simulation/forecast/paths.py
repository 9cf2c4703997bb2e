"""Sample paths of the L1 base fee and blob base fee, from past changes, forecast quantiles and protocol rules."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from feemodel._compiled import cached_njit
from feemodel.checks import RealArray, WholeArray
from feemodel.ethereum._fee_market_kernels import blob_base_fee, next_base_fee, next_excess_blob_gas
from feemodel.ethereum.fee_market import BASE_FEE_CHANGE_DENOMINATOR, GAS_PER_BLOB, BlobRules
from feemodel.simulation.forecast.series import BIN, DAY, FeeSeries, typical

RESPONSE = 8.0  # time constant with which the excess blob gas approaches the value for the given blob base fee [blocks]


@cached_njit(nogil=True, error_model="numpy")
def follow(  # type: ignore[no-untyped-def]
    times,
    prices,
    blob_prices,
    noise,
    blob_noise,
    base_fee,
    excess,
    gas_limit,
    target,
    maximum,
    update_fraction,
    reserve,
    block_seconds,
    every,
    base_fees,
    excesses,
):
    """Compute the base fee and the excess blob gas of the first block of each step, on each path.

        gas used = min(gas limit, gas limit / 2 · price · exp(noise) / base fee)
        blobs = target + (given excess − excess) / (gas per blob · RESPONSE) + blob noise, rounded, from 0 to maximum

    `given excess` is the excess blob gas at which the blob base fee equals the given blob price. The fees of a block
    are computed from its parent block by EIP-1559, EIP-4844 and EIP-7918.

    Prices are logarithms, (paths, knots), interpolated linearly between `times`, (knots,) [s], of which the first is at
    most 0. Noise is (paths, blocks). The outputs, (paths, steps), have the first block of each `every` blocks.
    """
    half = gas_limit // 2
    for path in range(prices.shape[0]):
        fee, gas, knot = base_fee, excess, 0
        for block in range(noise.shape[1]):
            if block % every == 0:
                base_fees[path, block // every] = fee
                excesses[path, block // every] = gas
            time = block * block_seconds
            while knot < times.size - 2 and times[knot + 1] <= time:
                knot += 1
            part = min(1.0, (time - times[knot]) / (times[knot + 1] - times[knot]))
            price = prices[path, knot] + part * (prices[path, knot + 1] - prices[path, knot])
            blob_price = blob_prices[path, knot] + part * (blob_prices[path, knot + 1] - blob_prices[path, knot])
            used = np.int64(min(half * math.exp(price + noise[path, block]) / fee, float(gas_limit)))
            missing = (update_fraction * max(blob_price, 0.0) - gas) / (GAS_PER_BLOB * RESPONSE)
            blobs = min(max(round(target + missing + blob_noise[path, block]), 0.0), float(maximum))
            gas = next_excess_blob_gas(
                gas,
                np.int64(blobs) * GAS_PER_BLOB,
                fee,
                target * GAS_PER_BLOB,
                maximum * GAS_PER_BLOB,
                update_fraction,
                reserve,
            )
            fee = next_base_fee(fee, used, half, half, BASE_FEE_CHANGE_DENOMINATOR)


@cached_njit(nogil=True, error_model="numpy")
def blob_base_fees(excesses, update_fraction):  # type: ignore[no-untyped-def]
    """Return the blob base fee for each element of a two-dimensional array of excess blob gas [wei / gas].

    >>> blob_base_fees(np.array([[0, 2_314_058]]), 3_338_477).tolist()
    [[1, 2]]
    """
    found = np.empty_like(excesses)
    for row in range(excesses.shape[0]):
        for column in range(excesses.shape[1]):
            found[row, column] = blob_base_fee(excesses[row, column], update_fraction)
    return found


SLOT = 12.0  # time between L1 blocks [s]
GAS_LIMIT = 60_000_000  # assumed gas limit of an L1 block; only (gas used / gas limit) matters
GAS_NOISE = 0.3  # assumed standard deviation of the noise in the logarithm of gas demand
BLOB_NOISE = 4.4  # standard deviation of blobs per block; Chainscore/score-da, 2026-01-07 to 02-05, CC BY 4.0
RETURN = 36.0  # time constant of the point forecast's return to the seasonal value [bins]
SAME_TIME = 18  # maximum difference in time of day between the origin and the past origins to draw from [bins]
CHUNK = 128  # number of paths simulated at a time; the noise for these paths takes about 15 MB per day


class SampledPaths(NamedTuple):
    """Fees of sample paths in each step."""

    elapsed: RealArray  #: time from the newest row to each step, (steps,) [s]
    base_fee: WholeArray  #: base fee of the first block of each step, (paths, steps) [wei / gas]
    blob_base_fee: WholeArray  #: blob base fee of the first block of each step, (paths, steps) [wei / gas]


class Beginning(NamedTuple):
    """First block, which is the same on all paths."""

    elapsed: float  #: time from the newest row to the end of the bin of this row [s]
    base_fee: int  #: base fee [wei / gas]
    excess: int  #: excess blob gas [gas]


def past_changes(
    series: Mapping[str, FeeSeries], bins: int, paths: int, stream: Generator
) -> tuple[dict[str, NDArray[np.float64]], WholeArray]:
    """Draw sample paths of both fees from past forecast errors, and the past origin of each path [bins].

    A path is a point forecast plus the errors of the same forecast at a past origin, which is drawn from those at about
    the same time of day. Both fees of a path use the same past origin. The result is fee name → mean logarithms of the
    fee, (paths, bins + 1), of which the first column is the newest fee.
    """
    newest = len(next(iter(series.values()))) - 1
    origins = np.arange(DAY, newest - bins + 1)
    apart = np.abs((origins - newest + DAY // 2) % DAY - DAY // 2)
    drawn = stream.choice(near if len(near := origins[apart <= SAME_TIME]) else origins, size=paths)
    ahead = np.arange(1, bins + 1)
    found = {}
    for name, one in series.items():
        usual = typical(one.means, DAY)  # of each bin's time of day, on this and the days before
        errors = one.means[drawn[:, None] + ahead] - _point(one, usual, drawn, ahead)
        values = _point(one, usual, np.array([newest]), ahead) + errors
        found[name] = np.column_stack((np.full(paths, one.newest[newest]), values))
    return found, drawn


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
        column = values[:, knot]
        current = np.quantile(column, levels)
        # If several quantiles in `current` are equal, np.interp uses the first or the last of these equal quantiles.
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
    """Simulate blocks in which demand for gas and blobs moves the L1 fees towards given prices, results of `moved`."""
    paths, bins = prices["base_fee"].shape[0], prices["base_fee"].shape[1] - 1
    times = np.concatenate(([0.0], begin.elapsed + BIN * (np.arange(bins) + 0.5)))
    steps = int((begin.elapsed + BIN * bins) // (SLOT * every)) + 1
    blocks = (steps - 1) * every + 1
    base_fees, excesses = (np.empty((paths, steps), np.int64) for _ in range(2))
    for start in range(0, paths, CHUNK):
        chunk = slice(start, min(start + CHUNK, paths))
        noise = stream.standard_normal((chunk.stop - chunk.start, blocks, 2), dtype=np.float32)
        follow(
            times,
            prices["base_fee"][chunk],
            prices["blob_base_fee"][chunk],
            noise[:, :, 0] * GAS_NOISE - GAS_NOISE**2 / 2,
            noise[:, :, 1] * BLOB_NOISE,
            begin.base_fee,
            begin.excess,
            GAS_LIMIT,
            rules.target,
            rules.maximum,
            rules.update_fraction,
            rules.reserve,
            SLOT,
            every,
            base_fees[chunk],
            excesses[chunk],
        )
    elapsed = np.arange(steps, dtype=np.float64) * (SLOT * every)
    return SampledPaths(elapsed, base_fees, blob_base_fees(excesses, rules.update_fraction))
