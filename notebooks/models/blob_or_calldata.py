"""Optimal interval between postings if delay has a cost, choice of blobs or calldata, and cost of a shared blob.

A rollup with `rate` bytes per second posts every T seconds. Per second, the rollup pays `fixed / T` for the fixed costs
of postings, and `delay_cost · rate · T / 2` for the delay of its data. The optimal T is √(2 · fixed / (delay_cost ·
rate)) if the bytes fit in a posting. A posting with a blob has only a fixed cost. A posting with calldata has a
fixed cost and a cost per byte.

Source: the model of Davide Crapis, Edward W. Felten and Akaki Mamageishvili, EIP-4844 Economics and Rollup Strategies,
arXiv 2310.01155 (2023), according to the abstract and the authors' summary; this module derives the formulas.
"""

import numpy as np

from feemodel.arguments import check_of
from feemodel.checks import RealArray
from feemodel.errors import InvalidInput
from feemodel.quantities import REAL, RealByte


def posting_interval(
    rate: float | RealArray,
    posting_cost: float | RealArray,
    delay_cost: float | RealArray,
    *,
    capacity: float | None = None,
) -> RealArray:
    """Return the optimal interval between postings: min(√(2 · posting_cost / (delay_cost · rate)), capacity / rate).

    Parameters
    ----------
    rate : rate of compressed data, above 0 [byte / s].
    posting_cost : fixed cost of a posting [wei].
    delay_cost : cost of delaying one byte by one second, above 0 [wei / (byte s)].
    capacity : maximum size of a posting, which limits the interval to capacity / rate; `None` means no limit [byte].

    The first three arguments broadcast against each other.

    Returns
    -------
    Optimal interval, in the broadcast shape of the first three arguments [s].

    Raises
    ------
    InvalidInput : an argument is negative; or `rate`, `delay_cost` or `capacity` is 0.

    For a posting cost of 2·10¹² wei, 10 bytes per second, and a delay cost of 10⁷ wei / (byte s), the interval is
    √(4·10¹² / 10⁸) = 200 s:

    >>> float(posting_interval(10.0, 2e12, 1e7)), float(posting_interval(10.0, 2e12, 1e7, capacity=500))
    (200.0, 50.0)
    """
    data, delay = _positive("rate", rate), _positive("delay_cost", delay_cost)
    cheapest = np.asarray(np.sqrt(2.0 * _real("posting_cost", posting_cost) / (delay * data)))
    if capacity is None:
        return cheapest
    limit = check_of(RealByte)("capacity", capacity)
    if limit == 0.0:
        raise InvalidInput("capacity", "expected above 0 bytes", capacity)
    return np.asarray(np.minimum(cheapest, limit / data))


def calldata_threshold(
    blob_cost: float | RealArray,
    calldata_cost: float | RealArray,
    calldata_price: float | RealArray,
    delay_cost: float | RealArray,
) -> RealArray:
    """Return the data rate below which calldata is cheaper than blobs.

    The threshold is 2 · delay_cost · (√blob_cost − √calldata_cost)² / calldata_price².

    Parameters
    ----------
    blob_cost : cost of a posting with one blob: blob gas and execution gas [wei].
    calldata_cost : fixed cost of a posting with calldata [wei]. If `calldata_cost` exceeds `blob_cost`, the threshold
        is 0.
    calldata_price : price of calldata, above 0 [wei / byte].
    delay_cost : cost of delaying one byte by one second, above 0 [wei / (byte s)].

    All arguments broadcast against each other.

    Returns
    -------
    Data rate below which calldata is cheaper, in the broadcast shape of the arguments [byte / s]. The threshold is
    valid only if it is below delay_cost · capacity² / (2 · blob_cost). At higher data rates, blobs are full before the
    optimal interval ends.

    Raises
    ------
    InvalidInput : an argument is negative; or `calldata_price` or `delay_cost` is 0.

    The threshold is 2 · 8 · (√9 − √4)² / 4² = 1 byte per second:

    >>> float(calldata_threshold(9.0, 4.0, 4.0, 8.0))
    1.0
    """
    price, delay = _positive("calldata_price", calldata_price), _positive("delay_cost", delay_cost)
    blob, calldata = np.sqrt(_real("blob_cost", blob_cost)), np.sqrt(_real("calldata_cost", calldata_cost))
    return np.asarray(2.0 * delay * (np.maximum(blob - calldata, 0.0) / price) ** 2)


def shared_blob_payment(share: float | RealArray) -> RealArray:
    """Return the share of a shared blob's cost that a rollup pays after Nash bargaining: 1 + √s − √(1 − s) − s.

    In the formula, s is `share`. A rollup that posts alone pays √(2 · delay_cost · blob_cost · rate) per second. Two
    rollups that share blobs together pay √(2 · delay_cost · blob_cost · (sum of both rates)) per second. Each rollup
    bears the delay cost of its own data. The cost of the blob is divided so that both rollups save the same amount
    compared with posting alone.

    Parameters
    ----------
    share : the rollup's share of the data, from 0 to 1 [1].

    Returns
    -------
    Payment / cost of the blob, in the shape of `share` [1]. The rollup with more data pays more than half of the blob's
    cost, but a smaller share of the cost than its share of the data.

    Raises
    ------
    InvalidInput : a share below 0 or above 1.

    A rollup with 0.64 of a blob's data pays 1 + 0.8 − 0.6 − 0.64 = 0.56 of the blob's cost:

    >>> round(float(shared_blob_payment(0.64)), 12)
    0.56
    """
    part = _real("share", share)
    if (part > 1.0).any():
        raise InvalidInput("share", "expected at most 1", float(part[part > 1.0].flat[0]))
    return np.asarray(1.0 + np.sqrt(part) - np.sqrt(1.0 - part) - part)


def _real(name: str, value: float | RealArray) -> RealArray:
    return np.asarray(REAL.check(name, value), dtype=np.float64)


def _positive(name: str, value: float | RealArray) -> RealArray:
    found = _real(name, value)
    if not (found > 0.0).all():
        raise InvalidInput(name, "expected above 0", float(found[found <= 0.0].flat[0]))
    return found
