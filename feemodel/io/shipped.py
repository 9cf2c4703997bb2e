"""Read the data files that ship with the package. `data/README.md` describes every column and its source."""

import csv
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from feemodel._extras import need
from feemodel.errors import InvalidInput, UnreadableFile

if TYPE_CHECKING:
    import pandas as pd

TRANSACTIONS, L1_FEES = "linea_transactions.csv", "l1_fees_2026-01-07_2026-02-06.csv"
MONTH = "2026-01-07 to 2026-02-06"  # days of the L1 fees


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


def typical_l1_fees(name: str = "at", timestamp: int | None = None) -> tuple[int, int]:
    """Return the median L1 base fee and blob base fee of the shipped month, or of one of its days (UTC) [wei / gas].

    Parameters
    ----------
    name : name of the argument `timestamp` in the error message.
    timestamp : Unix time of any second of the day; `None`: the whole month [s].

    Raises `InvalidInput` for a day outside the month.

    >>> typical_l1_fees(), typical_l1_fees("at", 1_769_904_000)[0]
    ((69335406, 4002699), 153278231)
    """
    by_day = l1_fees_by_day()
    chosen = [*by_day.values()]
    if timestamp is not None:
        day = datetime.fromtimestamp(timestamp, UTC).date().isoformat()
        if day not in by_day:
            reason = f"expected a day from {min(by_day)} to {max(by_day)}, or values for both L1 fees"
            raise InvalidInput(name, reason, day)
        chosen = [by_day[day]]
    base_fee, blob_base_fee = np.median(np.concatenate(chosen), axis=0).tolist()
    return round(base_fee), round(blob_base_fee)


def l1_fees_by_day() -> dict[str, NDArray[np.float64]]:
    """Return base fees and blob base fees of `read_shipped_l1_fees` for each day, without using pandas [wei / gas].

    >>> l1_fees_by_day()["2026-01-08"].shape
    (144, 2)
    """
    by_day: dict[str, list[tuple[float, float]]] = {}
    with shipped_path(L1_FEES).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            by_day.setdefault(row["time"][:10], []).append((float(row["base_fee"]), float(row["blob_base_fee"])))
    return {day: np.array(fees) for day, fees in by_day.items()}


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
