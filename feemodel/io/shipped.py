"""Read the data files that ship with the package. `data/README.md` describes every column and its source."""

import csv
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from feemodel._extras import need
from feemodel.errors import InvalidInput, UnreadableFile

if TYPE_CHECKING:
    import pandas as pd

TRANSACTIONS, L1_FEES = "linea_transactions.csv", "l1_fees_2026-01-07_2026-02-06.csv"
MONTH = "2026-01-07 to 2026-02-06"  # days of the L1 fees


class L1Fees(NamedTuple):
    """Base fee and blob base fee of L1 at the same point in time [wei / gas]."""

    base_fee: int
    blob_base_fee: int


class L1Sample(NamedTuple):
    """Means of L1 fees over ten minutes [wei / gas]."""

    time: str  #: UTC, ISO 8601
    base_fee: float
    blob_base_fee: float

    @property
    def day(self) -> str:
        """Day of the sample, UTC, ISO 8601."""
        return self.time[:10]


def shipped_path(name: str) -> Path:
    """Return the path of a shipped file, in the installed package or in a checkout."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "data", package.parent / "data"):
        if (folder / name).is_file():
            return folder / name
    raise UnreadableFile(f"{name}: no such file in {package.parent / 'data'}")


def read_shipped_transactions() -> "pd.DataFrame":
    """Read the shipped Linea transactions: gas, lengths and measured sizes, without calldata.

    Returns
    -------
    Table with one row for each of 2,282 real transactions; sizes are in bytes.

    Raises
    ------
    MissingExtra : pandas is not installed.

    >>> len(read_shipped_transactions())
    2282
    """
    need("read_shipped_transactions", "pandas")
    import pandas as pd

    return pd.read_csv(shipped_path(TRANSACTIONS)).convert_dtypes()


def day_l1_fees(name: str, timestamp: int, quantile: float = 0.5) -> L1Fees:
    """Return the median L1 fees of a day (UTC) of the shipped month, or another quantile of each fee [wei / gas].

    Parameters
    ----------
    name : name of the argument `timestamp` in the error message.
    timestamp : Unix time of any second of the day [s].
    quantile : from 0 to 1, applied to each fee separately.

    Raises `InvalidInput` for a day outside the month.

    >>> day_l1_fees("at", 1_769_904_000)
    L1Fees(base_fee=153278231, blob_base_fee=8284247)
    """
    day = datetime.fromtimestamp(timestamp, UTC).date().isoformat()
    samples = shipped_l1_samples()
    of_day = [one for one in samples if one.day == day]
    if not of_day:
        reason = f"expected a day from {samples[0].day} to {samples[-1].day}, or values for both L1 fees"
        raise InvalidInput(name, reason, day)
    return _fees_at(of_day, quantile)


def month_l1_fees(quantile: float = 0.5) -> L1Fees:
    """Return the median, or another quantile, of each L1 fee over the 30 days in the package [wei / gas].

    >>> month_l1_fees()
    L1Fees(base_fee=69335406, blob_base_fee=4002699)
    """
    return _fees_at(shipped_l1_samples(), quantile)


def _fees_at(samples: Sequence[L1Sample], quantile: float) -> L1Fees:
    """Return a quantile of each fee over samples, interpolated linearly and rounded to whole wei."""
    base_fees = np.array([one.base_fee for one in samples])
    blob_base_fees = np.array([one.blob_base_fee for one in samples])
    return L1Fees(round(np.quantile(base_fees, quantile)), round(np.quantile(blob_base_fees, quantile)))


def shipped_l1_samples() -> list[L1Sample]:
    """Return the samples of `read_shipped_l1_fees` without using pandas.

    >>> samples = shipped_l1_samples()
    >>> len(samples), samples[0].day
    (4341, '2026-01-07')
    """
    with shipped_path(L1_FEES).open(encoding="utf-8", newline="") as file:
        return [
            L1Sample(row["time"], float(row["base_fee"]), float(row["blob_base_fee"])) for row in csv.DictReader(file)
        ]


def read_shipped_l1_fees() -> "pd.DataFrame":
    """Read the shipped ten-minute means of L1 base fee and blob base fee over 30 days.

    Returns
    -------
    Table of 4,341 rows with `time` (UTC), `base_fee` and `blob_base_fee` [wei / gas].

    Raises
    ------
    MissingExtra : pandas is not installed.

    >>> fees = read_shipped_l1_fees()
    >>> len(fees), fees["time"].iloc[1] - fees["time"].iloc[0]
    (4341, Timedelta('0 days 00:10:00'))
    """
    need("read_shipped_l1_fees", "pandas")
    import pandas as pd

    return pd.read_csv(shipped_path(L1_FEES), parse_dates=["time"])
