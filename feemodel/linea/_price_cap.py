"""Price cap of Linea's L1 submissions, which rises while data waits to be submitted.

    multiplier = 1 + adjustment · time_of_day · (elapsed / target_delay)²
    base fee cap = p10 of the base fee over 7 days · multiplier
    tip cap = 0.1 gwei · multiplier
    blob fee cap = max(p10 of the blob base fee, 0.1 gwei) · (the multiplier without time_of_day)

p10 is the 10th percentile of a fee over the last 7 days. A transaction is sent as soon as the caps, multiplied by 0.9,
cover the current fees. The fee fields of the transaction contain the full caps. The paid tip is min(tip cap, max fee −
base fee).

Source: Consensys/linea-monorepo at cb180134 (2026-06-12), coordinator/ethereum/gas-pricing/dynamic-cap and
docker/config/coordinator; the hourly factors: docker/config/common/gas-price-cap-time-of-day-multipliers.toml.
"""

import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from feemodel._compiled import cached_njit

ADJUSTMENT = 25.0  # increase of the multiplier at the target delay [1]
TARGET_DELAY = 57_600.0  # target delay of submissions [s]: 16 h as documented; the local configuration has 32 h
PERCENTILE = 0.1  # percentile of the fees in the window, as a fraction [1]
WINDOW = 7 * 86_400.0  # length of the window of past fees [s]
TIP = 100_000_000.0  # tip cap before the multiplier, a constant [wei / gas]
MIN_BLOB_FEE = 100_000_000.0  # minimum of the 10 % quantile of the blob base fee [wei / gas]
COEFFICIENT = 0.9  # current fees may be at most this share of the caps
MAX_FEE, MAX_TIP, MAX_BLOB_FEE = 100e9, 20e9, 100e9  # maximum of each cap of a blob transaction [wei / gas]
MAX_FINALIZATION_FEE, MAX_FINALIZATION_TIP = 200e9, 40e9  # [wei / gas]


def time_of_day_multipliers() -> NDArray[np.float64]:
    """Return the factor of each hour of the week, from Monday 00:00 UTC [1]."""
    return np.loadtxt(Path(__file__).with_name("time_of_day_multipliers.csv"), delimiter=",", skiprows=1, usecols=2)


@cached_njit(nogil=True, error_model="numpy")
def cap_multiplier(elapsed, target_delay, adjustment, time_of_day):  # type: ignore[no-untyped-def]
    """Return the factor by which the fee caps are multiplied after a waiting time; times are in seconds.

    After half of the target delay, at an adjustment of 25, the multiplier is 1 + 25 · (1 / 2)²:

    >>> cap_multiplier(28_800.0, 57_600.0, 25.0, 1.0)
    7.25
    """
    share = math.floor(elapsed) / math.floor(target_delay)
    return 1.0 + adjustment * time_of_day * share * share


@cached_njit(nogil=True, error_model="numpy")
def tip_within_caps(  # type: ignore[no-untyped-def]
    base_fee, blob_base_fee, base_cap, tip_cap, blob_cap, coefficient, max_fee, max_tip, max_blob
):
    """Return the tip that a transaction pays, or -1 if the caps are too low for it to be sent [wei / gas].

    This function limits the caps to their maxima. The blob base fee of a transaction without blobs is 0.

    0.9 · (100 + 20) = 108 is less than a base fee of 110, but covers a base fee of 105. With a base fee of 105, the tip
    is 120 − 105 = 15:

    >>> tip_within_caps(110.0, 0.0, 100.0, 20.0, 1.0, 0.9, 1e9, 1e9, 1e9)
    -1.0
    >>> tip_within_caps(105.0, 0.0, 100.0, 20.0, 1.0, 0.9, 1e9, 1e9, 1e9)
    15.0
    """
    tip = min(math.floor(coefficient * math.floor(tip_cap)), max_tip)
    fee = min(math.floor(coefficient * math.floor(base_cap)) + tip, max_fee)
    blob = min(max(math.floor(coefficient * math.floor(blob_cap)), 1.0), max_blob)
    if fee < base_fee or blob < blob_base_fee:
        return -1.0
    sent_tip = min(math.floor(tip_cap), max_tip)
    sent_fee = min(math.floor(base_cap) + sent_tip, max_fee)
    return min(sent_tip, sent_fee - base_fee)
