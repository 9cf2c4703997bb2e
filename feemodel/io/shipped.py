"""Read the data files that ship with the package. `data/README.md` describes every column and its source."""

import csv
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


def typical_l1_fees(name: str = "at", timestamp: int | None = None) -> L1Fees:
    """Return the median L1 fees of the shipped month, or of one of its days (UTC) [wei / gas].

    Parameters
    ----------
    name : name of the argument `timestamp` in the error message.
    timestamp : Unix time of any second of the day; `None`: the whole month [s].

    Raises `InvalidInput` for a day outside the month.

    >>> typical_l1_fees(), typical_l1_fees("at", 1_769_904_000).base_fee
    (L1Fees(base_fee=69335406, blob_base_fee=4002699), 153278231)
    """
    chosen = samples = shipped_l1_samples()
    if timestamp is not None:
        day = datetime.fromtimestamp(timestamp, UTC).date().isoformat()
        chosen = [one for one in samples if one.day == day]
        if not chosen:
            reason = f"expected a day from {samples[0].day} to {samples[-1].day}, or values for both L1 fees"
            raise InvalidInput(name, reason, day)
    fees = np.array([(one.base_fee, one.blob_base_fee) for one in chosen])
    return L1Fees(*map(round, np.median(fees, axis=0).tolist()))


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
