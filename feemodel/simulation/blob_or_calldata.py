"""Blobs or calldata for a rollup that weighs the cost of posting against delay, and how two rollups share a blob.

A rollup of `rate` bytes a second that posts every T seconds pays `fixed / T` a second for a fixed cost a posting, and
`delay_cost · rate · T / 2` for bytes that wait; the best T is √(2 · fixed / (delay_cost · rate)), as long as its bytes
fit. A blob is all fixed cost; calldata has a price a byte besides.

Source: the model of Davide Crapis, Edward W. Felten and Akaki Mamageishvili, EIP-4844 Economics and Rollup Strategies,
arXiv 2310.01155 (2023), as its abstract and its authors' summary give it; the formulas are derived here.
"""

import numpy as np

from feemodel.checks import RealArray, real, real_scalar
from feemodel.errors import InvalidInput


def posting_interval(
    rate: float | RealArray,
    posting_cost: float | RealArray,
    delay_cost: float | RealArray,
    *,
    capacity: float | None = None,
) -> RealArray:
    """Return the cheapest interval between postings: √(2 · cost / (delay cost · rate)), or full.

    Parameters
    ----------
    rate : of compressed data, above 0 [byte / s].
    posting_cost : whatever is posted [wei].
    delay_cost : of a byte that waits for a second, above 0 [wei / (byte s)].
    capacity : of a posting; the interval in which it fills is the longest; `None` for no limit [byte].

    All broadcast against each other.

    Returns
    -------
    Interval, in the broadcast shape [s].

    Raises
    ------
    InvalidInput : a rate, a delay cost or a capacity of 0, anything negative.

    A posting of 2·10¹² wei, 10 bytes a second and 10⁷ wei for each byte and second: √(4·10¹² / 10⁸) = 200 s.

    >>> float(posting_interval(10.0, 2e12, 1e7)), float(posting_interval(10.0, 2e12, 1e7, capacity=500))
    (200.0, 50.0)
    """
    data, delay = _positive("rate", rate), _positive("delay_cost", delay_cost)
    cheapest = np.asarray(np.sqrt(2.0 * _real("posting_cost", posting_cost) / (delay * data)))
    if capacity is None:
        return cheapest
    limit = real_scalar("capacity", capacity, unit="bytes")
    if limit == 0.0:
        raise InvalidInput("capacity", "expected above 0 bytes", capacity)
    return np.asarray(np.minimum(cheapest, limit / data))


def calldata_threshold(
    blob_cost: float | RealArray,
    calldata_cost: float | RealArray,
    calldata_price: float | RealArray,
    delay_cost: float | RealArray,
) -> RealArray:
    """Return the arrival rate below which calldata is cheaper: 2 · delay cost · (√blob − √calldata)² / price².

    Parameters
    ----------
    blob_cost : of a posting with one blob: its blob gas and the execution gas of its transaction [wei].
    calldata_cost : of a posting with calldata before its first byte; 0 is the result where it is the greater [wei].
    calldata_price : above 0 [wei / byte].
    delay_cost : of a byte that waits for a second, above 0 [wei / (byte s)].

    All broadcast against each other.

    Returns
    -------
    Threshold, in the broadcast shape [byte / s]. It holds where a blob at that rate is posted before it is full, below
    delay cost · capacity² / (2 · blob cost).

    Raises
    ------
    InvalidInput : a price or a delay cost of 0, anything negative.

    (√9 − √4)² = 1 wei, 2 · 8 / 4² = 1 byte a second:

    >>> float(calldata_threshold(9.0, 4.0, 4.0, 8.0))
    1.0
    """
    price, delay = _positive("calldata_price", calldata_price), _positive("delay_cost", delay_cost)
    blob, calldata = np.sqrt(_real("blob_cost", blob_cost)), np.sqrt(_real("calldata_cost", calldata_cost))
    return np.asarray(2.0 * delay * (np.maximum(blob - calldata, 0.0) / price) ** 2)


def shared_blob_payment(share: float | RealArray) -> RealArray:
    """Return the part of a shared blob that a rollup pays after Nash bargaining: 1 + √s − √(1 − s) − s.

    Two rollups that post blobs before they are full would pay √(2 · delay cost · blob cost · rate) a second each, and
    together the same of the sum of their rates. Each bears its own delay, and half of what they save is each one's.

    Parameters
    ----------
    share : of the data that is its own, from 0 to 1 [1].

    Returns
    -------
    Payment over the cost of the blob, in the shape of `share` [1]. The larger rollup pays more than half of the blob,
    and less than its share.

    Raises
    ------
    InvalidInput : a share outside of 0 to 1.

    Of 0.64: 1 + 0.8 − 0.6 − 0.64:

    >>> round(float(shared_blob_payment(0.64)), 12)
    0.56
    """
    part = _real("share", share)
    if (part > 1.0).any():
        raise InvalidInput("share", "expected at most 1", float(part[part > 1.0].flat[0]))
    return np.asarray(1.0 + np.sqrt(part) - np.sqrt(1.0 - part) - part)


def _real(name: str, value: float | RealArray) -> RealArray:
    return np.asarray(real(name, value), dtype=np.float64)


def _positive(name: str, value: float | RealArray) -> RealArray:
    found = _real(name, value)
    if not (found > 0.0).all():
        raise InvalidInput(name, "expected above 0", float(found[found <= 0.0].flat[0]))
    return found
