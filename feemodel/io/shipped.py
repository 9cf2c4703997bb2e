"""The data that ships with the project; `data/README.md` describes every column, its source and how it was made."""

from pathlib import Path

import pandas as pd

from feemodel.errors import UnreadableFile

TRANSACTIONS, L1_FEES = "linea_transactions.csv", "l1_fees_2026-01-07_2026-02-06.csv"


def shipped_path(name: str) -> Path:
    """Where a shipped file lies: in the installed package, or in a checkout beside it."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "data", package.parent / "data"):
        if (folder / name).is_file():
            return folder / name
    raise UnreadableFile(f"{name}: expected in {package.parent / 'data'}")


def read_shipped_transactions() -> pd.DataFrame:
    """Real Linea transactions: gas, lengths and measured sizes, no calldata; 2,282 rows."""
    return pd.read_csv(shipped_path(TRANSACTIONS)).convert_dtypes()


def read_shipped_l1_fees() -> pd.DataFrame:
    """L1 base fee and blob base fee [wei / gas] as ten-minute means over thirty days; 4,320 rows."""
    return pd.read_csv(shipped_path(L1_FEES), parse_dates=["time"])
