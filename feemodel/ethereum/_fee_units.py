"""Plausible ranges of L1 fees, used to detect a series that is not in wei.

| column        | plausible range [wei / gas]                                                                  |
|---------------|----------------------------------------------------------------------------------------------|
| base_fee      | 1,000 to 10**16 (10 million gwei); at least 100,000 if not an integer                        |
| blob_base_fee | 1, the protocol's minimum, to 10**16                                                         |
| tip           | 0 to 10**16, with some above 1,000 unless all are 0; at least 100,000 if not an integer      |

A mean of fees in wei may have a fraction, but a base fee such as 30.5 is probably in gwei.
"""

from typing import NamedTuple

import numpy as np

from feemodel.checks import RealArray

MINIMUM = {"base_fee": 1_000.0, "blob_base_fee": 1.0, "tip": 1_000.0}
MIN_MEAN = 100_000.0
MAXIMUM = 1e16
SCALES = {"wei": 1, "kwei": 10**3, "gwei": 10**9, "eth": 10**18}  #: [wei]


class Implausible(NamedTuple):
    """First implausible fee of a column, and a description of plausible fees."""

    position: int  #: index of the fee in the flattened column
    value: float
    expected: str


def implausible(column: str, values: RealArray) -> Implausible | None:
    """Return the first fee of a column that is probably not in wei; `None` if all fees are plausible.

    >>> implausible("base_fee", np.array([30.0, 90.0])).expected  # gwei
    'from 1,000 wei to 10,000,000 gwei'
    >>> implausible("blob_base_fee", np.array([1.0, 1.0])) is None
    True
    """
    minimum, flat = MINIMUM[column], values.reshape(-1)
    low = flat < minimum
    if column == "tip" and (flat.max(initial=0.0) >= minimum or not flat.any()):
        low = np.zeros(0, bool)
    rows = [(low, f"from {minimum:,.0f} wei to 10,000,000 gwei"), (flat > MAXIMUM, "at most 10,000,000 gwei")]
    if column != "blob_base_fee":
        rows.append(((flat < MIN_MEAN) & (flat % 1.0 != 0.0), f"whole wei, or at least {MIN_MEAN:,.0f} of them"))
    for wrong, expected in rows:
        if wrong.any():
            index = int(np.argmax(wrong))
            return Implausible(index, float(flat[index]), expected)
    return None
