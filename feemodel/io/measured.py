"""Files of transactions whose sizes are measured already, such as `data/linea_transactions.csv`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from feemodel.errors import InvalidInput
from feemodel.ethereum.transaction_fields import FIELD_OF, IGNORED_NAMES
from feemodel.io.files import PathLike, column_names, container_of, reading
from feemodel.io.formats import Format, read_format
from feemodel.io.tables import Column

#: Other columns of `data/linea_transactions.csv`.
_SHIPPED = frozenset((
    "set", "creation", "measured_bytes", "signed_bytes", "zstd", "zstd_signed", "brotli", "deflate", "fastlz", "lzss",
    "lzss_packed",
))  # fmt: skip


def read_measured(
    path: PathLike, size: str, *, gas: str = "gas_used", columns: Mapping[str, str] | None = None
) -> dict[str, Any] | None:
    """A workload from a CSV or Parquet file, as arguments; `None` where the file has no column of sizes.

    Rows without a size or without gas are left out, and the name says how many for which reason.

    Parameters
    ----------
    path : the file. Of its columns are read the sizes and the gas, and where they are there `timestamp` [s] and
        `calldata_bytes` [byte].
    size, gas : columns of compressed sizes [byte] and of gas [gas].
    columns : the file's names of our columns, as in `feemodel.io.read_transactions`.

    Raises `UnreadableFile` for a value that is no whole number, with its row, and where no row has both.
    """
    with reading(path):
        container = container_of(path)
        if container not in ("csv", "parquet"):
            return None
        if (columns or {}).get(size, size) not in column_names(path, container):
            return None
        form = Format(
            "measured transactions",
            "read_measured",
            (
                Column(size, "whole", "bytes", "compressed size", "nullable"),
                Column(gas, "whole", "gas", "of the transaction", "nullable"),
                Column("timestamp", "time", "s", "since 1970", "optional"),
                Column("calldata_bytes", "whole", "bytes", "of the input", "optional"),
            ),
            {"gas_used": ("gas_used", "receipt_gas_used"), "timestamp": ("timestamp", "block_timestamp", "block_time")},
            ignored=_SHIPPED | IGNORED_NAMES | FIELD_OF.keys(),
        )
        _, table = read_format(path, container, (form,), columns)
        known, reasons = _with_values(table, (size, gas))
    found: dict[str, Any] = {
        "name": "; ".join([Path(path).name, *reasons]),
        "compressed_size": known[size].to_numpy(np.int64),
        "gas": known[gas].to_numpy(np.int64),
    }
    for name, column in (("timestamp", "timestamp"), ("calldata", "calldata_bytes")):
        if known[column].notna().all():
            found[name] = known[column].to_numpy(np.int64)
    return found


def _with_values(table: pd.DataFrame, names: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """The rows that have all of these columns, and how many were left out for want of which."""
    reasons = []
    for name in names:
        missing = table[name].isna()
        if missing.all():
            raise InvalidInput(name, "expected a value in at least one row", None)
        if missing.any():
            reasons.append(f"left out: {int(missing.sum()):,} of {len(table):,} rows without {name}")
            table = table[~missing]
    return table, reasons
