"""Range in which fees of L1 are plausible, so that a series in another unit than wei is noticed.

| column        | plausible [wei / gas]                                                                    |
|---------------|------------------------------------------------------------------------------------------|
| base_fee      | 1,000 to 10**16, which is 10 million gwei; with a fraction of a wei, at least 100,000    |
| blob_base_fee | 1, which the protocol holds it above and where it was for months, to 10**16              |
| tip           | 0 to 10**16, some above 1,000 unless all are 0; with a fraction of a wei, at least 100,000 |

A mean of whole fees has a fraction, but a base fee of some 10 wei with a fraction is one of gwei.
"""

from typing import NamedTuple

import numpy as np

from feemodel.checks import RealArray

MINIMUM = {"base_fee": 1_000.0, "blob_base_fee": 1.0, "tip": 1_000.0}
MIN_MEAN = 100_000.0
MAXIMUM = 1e16
SCALES = {"wei": 1, "kwei": 10**3, "gwei": 10**9, "eth": 10**18}  #: [wei]


#: For parameters that are prices in wei, of which some may be 0.
MIN_PRICE = 1_000.0
IN_WEI = "in wei; 0.1 gwei are 100,000,000"
#: For parameters that are amounts in wei, of which some may be 0.
MIN_AMOUNT = 100_000.0
IN_WEI_OF_ETH = "in wei; 1 ETH are 10**18"


class Implausible(NamedTuple):
    """The first fee of a column that is out of its range."""

    position: int  #: in the flat array
    value: float
    expected: str


def implausible(column: str, values: RealArray) -> Implausible | None:
    """The first fee of a column that is probably not in wei; `None` where all are plausible.

    Parameters
    ----------
    column : "base_fee", "blob_base_fee" or "tip".
    values : any shape [wei / gas]; NaN is not looked at.

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
