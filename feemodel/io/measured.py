"""Files of transactions whose sizes are measured already, such as `data/linea_transactions.csv`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from feemodel.io.files import PathLike, column_names, container_of, reading
from feemodel.io.formats import Format, read_format
from feemodel.io.tables import Column


def read_measured(
    path: PathLike, size: str, *, gas: str = "gas_used", columns: Mapping[str, str] | None = None
) -> dict[str, Any] | None:
    """The arrays of a workload from a CSV or Parquet file; `None` where it has no column of sizes.

    Parameters
    ----------
    path : the file. Of its columns are read the sizes and the gas, and where they are there `timestamp` [s] and
        `calldata_bytes` [byte].
    size, gas : columns of compressed sizes [byte] and of gas [gas].
    columns : the file's names of our columns, as in `feemodel.io.read_transactions`.

    Raises `UnreadableFile` for a value that is missing, or is no whole number, with its row.
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
                Column(size, "whole", "bytes", "compressed size"),
                Column(gas, "whole", "gas", "of the transaction"),
                Column("timestamp", "time", "s", "since 1970", "optional"),
                Column("calldata_bytes", "whole", "bytes", "of the input", "optional"),
            ),
            {"gas_used": ("gas_used", "receipt_gas_used"), "timestamp": ("timestamp", "block_timestamp", "block_time")},
        )
        _, table = read_format(path, container, (form,), columns)
    found: dict[str, Any] = {"compressed_size": table[size].to_numpy(), "gas": table[gas].to_numpy()}
    for name, column in (("timestamp", "timestamp"), ("calldata", "calldata_bytes")):
        if table[column].notna().all():
            found[name] = table[column].to_numpy(np.int64)
    return found
