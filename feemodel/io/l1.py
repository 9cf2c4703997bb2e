"""Read L1 fees from files of cryo, ethereum-etl, xatu, Dune, `feemodel fetch` and nodes."""

from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd

from feemodel.errors import InvalidInput
from feemodel.ethereum._fee_units import implausible
from feemodel.io.files import PathLike, reading
from feemodel.io.formats import read_table
from feemodel.io.tables import L1_FEES, in_order

FEES = ("base_fee", "blob_base_fee", "tip")


def read_l1_fees(path: PathLike, *, columns: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Read the L1 fees of a file, sorted by block number or time.

    Parameters
    ----------
    path : CSV, Parquet or JSON file of samples or of L1 blocks, such as the responses of `eth_getBlockByNumber` in a
        list or one per line. CSV and JSON may be gzipped. A sample needs a time and a base fee. In a file without base
        fees, a sample needs a time and either `blob_base_fee`, or `excess_blob_gas` with `blob_count` or
        `blob_gas_used`. Other columns of the table are optional. Fees need not be whole numbers of wei.
    columns : column of the table → column of the file, with the unit if it is not wei: `{"base_fee": "fee:gwei"}`. Fees
        without a unit are read as wei. Fees that are probably not in wei, such as a base fee
        below 1,000 wei, are refused unless the unit `:wei` is given.

    Returns
    -------
    Table with the columns of `feemodel.io.tables.L1_FEES`, one row per block or sample. Values that are not in the
    file are `<NA>`. The function `feemodel.simulation.scenarios.replay` fills missing columns and states its
    assumptions.

    Raises
    ------
    UnreadableFile : the file is missing, truncated or of an unknown format, or has an invalid value or implausible
        fees. The error message names the file, the row and the value.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "fees.csv")
    ...     _ = path.write_text("block_number,timestamp,base_fee_per_gas\\n17,1683029999,80869370967\\n")
    ...     print(read_l1_fees(path)[["block_number", "base_fee"]].to_numpy().tolist())
    [[17, 80869370967]]
    """
    with reading(path):
        table = read_table(path, L1_FEES, columns)
        if not len(table):
            raise InvalidInput("L1 fees", "expected at least one row", 0)
        if table[["base_fee", "excess_blob_gas", "blob_base_fee"]].isna().all(axis=None):
            reason = "expected rows with base_fee, blob_base_fee or excess_blob_gas (base_fee=NAME selects a column)"
            raise InvalidInput("L1 fees", reason, ", ".join(table.attrs["name"].values()))
        said = tuple(name for name in FEES if table.attrs["unit"].get(name) == "wei")
        _check_unit(table, said)
        table = in_order(table, "timestamp" if table["block_number"].isna().any() else "block_number")
        table.attrs["units_given"] = said
        return table


def _check_unit(table: pd.DataFrame, said: Collection[str]) -> None:
    """Raise `InvalidInput` for fees that are probably not in wei; the message says how to give the unit."""
    for name in FEES:
        if name in said or table[name].isna().all():
            continue
        if (found := implausible(name, table[name].to_numpy(np.float64, na_value=np.nan))) is not None:
            theirs = table.attrs["name"].get(name, name)
            say = f"if the column is in gwei, use {name}={theirs}:gwei, otherwise {name}={theirs}:wei"
            raise InvalidInput(f"row {found.position + 1}: {theirs}", f"expected {found.expected}; {say}", found.value)
