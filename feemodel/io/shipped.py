"""The data that ships with the project; `data/README.md` describes every column, its source and how it was made."""

from pathlib import Path
from typing import TYPE_CHECKING

from feemodel.errors import InvalidInput, UnreadableFile

if TYPE_CHECKING:
    import pandas as pd

TRANSACTIONS, L1_FEES = "linea_transactions.csv", "l1_fees_2026-01-07_2026-02-06.csv"


def shipped_path(name: str) -> Path:
    """The path of a shipped file: in the installed package, or in a checkout next to the package."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "data", package.parent / "data"):
        if (folder / name).is_file():
            return folder / name
    raise UnreadableFile(f"{name}: expected in {package.parent / 'data'}")


def read_shipped_transactions() -> "pd.DataFrame":
    """Real Linea transactions: gas, lengths and measured sizes, no calldata; 2,282 rows.

    >>> len(read_shipped_transactions())
    2282
    """
    import pandas as pd  # where a file's path is all that is asked for, it is not needed

    return pd.read_csv(shipped_path(TRANSACTIONS)).convert_dtypes()


def day_l1_fees(name: str, timestamp: int) -> tuple[int, int]:
    """The median L1 base fee and blob base fee of a day (UTC) of the shipped thirty days [wei / gas].

    Parameters
    ----------
    name : of the argument that gave the time, for the error.
    timestamp : any second of the day, Unix time [s].

    Raises `InvalidInput` for another day.

    >>> day_l1_fees("at", 1_769_904_000)
    (153278231, 8284247)
    """
    from datetime import UTC, datetime

    fees = read_shipped_l1_fees()
    day = datetime.fromtimestamp(timestamp, UTC).date()
    days = fees["time"].dt.date
    fees = fees[days == day]
    if fees.empty:
        reason = f"expected a day from {days.min()} to {days.max()}, or both L1 fees given"
        raise InvalidInput(name, reason, day.isoformat())
    base_fee, blob_base_fee = fees[["base_fee", "blob_base_fee"]].median()
    return round(base_fee), round(blob_base_fee)


def read_shipped_l1_fees() -> "pd.DataFrame":
    """L1 base fee and blob base fee [wei / gas] as ten-minute means over thirty days; 4,341 rows.

    >>> fees = read_shipped_l1_fees()
    >>> len(fees), fees["time"].iloc[1] - fees["time"].iloc[0]
    (4341, Timedelta('0 days 00:10:00'))
    """
    import pandas as pd

    return pd.read_csv(shipped_path(L1_FEES), parse_dates=["time"])


def median_l1_fees() -> tuple[int, int]:
    """The median L1 base fee and blob base fee of the shipped thirty days [wei / gas].

    >>> median_l1_fees()[1]
    4002739
    """
    fees = read_shipped_l1_fees()[["base_fee", "blob_base_fee"]].median()
    return round(fees["base_fee"]), round(fees["blob_base_fee"])
