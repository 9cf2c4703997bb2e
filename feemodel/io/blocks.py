"""Read blocks and L1 fees of cryo, ethereum-etl, xatu, Dune, `feemodel fetch` and nodes."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd

from feemodel.checks import real_scalar
from feemodel.errors import InvalidInput
from feemodel.ethereum._fee_units import implausible
from feemodel.io.files import PathLike, container_of, contents, json_objects, reading
from feemodel.io.formats import parse_columns, read_table, table_of_objects
from feemodel.io.tables import BLOCKS, L1_FEES, in_order

FEES = ("base_fee", "blob_base_fee", "tip")


def read_blocks(path: PathLike) -> pd.DataFrame:
    """Read the blocks of a file, sorted by block number.

    Parameters
    ----------
    path : Parquet or CSV file of cryo, ethereum-etl or `feemodel fetch`, or JSON that `parse_blocks` accepts. CSV and
        JSON may be gzipped. The format is recognised from the content, not from the file name.

    Returns
    -------
    Table with the columns of `feemodel.io.tables.BLOCKS`, one row per block.

    Raises
    ------
    UnreadableFile : the file is missing, truncated or of an unknown format, or contains an invalid value or a duplicate
        block. The error message names the file, the row and the value.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "blocks.json")
    ...     _ = path.write_text('{"number": "0x10", "timestamp": "0x65", "gasUsed": "0x5208"}')
    ...     read_blocks(path)[["block_number", "gas_used"]].to_numpy().tolist()
    [[16, 21000]]
    """
    with reading(path):
        if container_of(path) == "json":
            return parse_blocks(contents(path))
        return in_order(read_table(path, BLOCKS), "block_number")


def parse_blocks(data: bytes | str) -> pd.DataFrame:
    """Parse blocks from `eth_getBlockByNumber` JSON, sorted by block number.

    Parameters
    ----------
    data : a block, a list of blocks, JSON-RPC responses that contain blocks (one response or a batch), or JSON Lines of
        any of these. A block may list its transactions in full or as hashes.

    Returns
    -------
    Table with the columns of `feemodel.io.tables.BLOCKS`, one row per block.

    Raises
    ------
    InvalidInput : invalid JSON, a response with an error, a missing or invalid field, or a duplicate block. The error
        message names the line or the row.

    >>> line = b'{"number": "0x10", "timestamp": "0x65", "gasUsed": "0x5208", "transactions": []}'
    >>> parse_blocks(line)[["block_number", "timestamp", "gas_used"]].to_numpy().tolist()
    [[16, 101, 21000]]
    """
    return in_order(table_of_objects([*map(with_count, json_objects(data))], BLOCKS), "block_number")


def with_count(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return a block of `eth_getBlockByNumber` with the number of its transactions."""
    transactions = block.get("transactions")
    return {**block, "transaction_count": len(transactions) if isinstance(transactions, list) else None}


def read_l1_fees(path: PathLike, *, columns: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Read the L1 fees of a file, sorted by block number or time.

    Parameters
    ----------
    path : CSV, Parquet or JSON file of samples, or L1 blocks that `feemodel.io.read_blocks` reads. CSV and JSON may be
        gzipped. A sample needs a time and a base fee. In a file without base fees, a sample needs a time and either
        `blob_base_fee`, or `excess_blob_gas` with `blob_count` or `blob_gas_used`. Other columns of the table are
        optional. Fees need not be whole numbers of wei.
    columns : column of the table → column of the file, with the unit if it is not wei: `{"base_fee": "fee:gwei"}`. Fees
        without a unit are read as wei. Fees that are probably not in wei are refused (see
        `feemodel.ethereum._fee_units`), unless the unit `:wei` is given.

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
        names = table.attrs["names_in_file"]
        if not len(table):
            raise InvalidInput("L1 fees", "expected at least one row", 0)
        if table[["base_fee", "excess_blob_gas", "blob_base_fee"]].isna().all(axis=None):
            reason = "expected rows with base_fee, blob_base_fee or excess_blob_gas (base_fee=NAME selects a column)"
            raise InvalidInput("L1 fees", reason, ", ".join(names.values()) or "nothing")
        said = _said(columns)
        _check_unit(table, said)
        table = in_order(table, "timestamp" if table["block_number"].isna().any() else "block_number")
        table.attrs["units_given"] = said
        return table


def _said(columns: Mapping[str, str] | None) -> tuple[str, ...]:
    """Return the fee columns for which the caller gave a unit."""
    chosen = parse_columns(columns, L1_FEES)
    given = {ours: text for text, ours in zip((columns or {}).values(), chosen, strict=True)}
    return tuple(name for name in FEES if name in given and given[name] == f"{chosen[name].name}:wei")


def _check_unit(table: pd.DataFrame, said: Collection[str]) -> None:
    """Raise `InvalidInput` for fees that are probably not in wei; the message says how to give the unit."""
    for name in FEES:
        if name in said or table[name].isna().all():
            continue
        if (found := implausible(name, table[name].to_numpy(np.float64, na_value=np.nan))) is not None:
            theirs = table.attrs["names_in_file"].get(name, name)
            say = f"if the column is in gwei, use {name}={theirs}:gwei, otherwise {name}={theirs}:wei"
            raise InvalidInput(f"row {found.position + 1}: {theirs}", f"expected {found.expected}; {say}", found.value)


def checked_percentile(name: str, value: float) -> float:
    """Return a number from 0 to 100; raises `InvalidInput` for other values.

    >>> checked_percentile("percentile", 60)
    60.0
    """
    level = real_scalar(name, value)
    if level > 100.0:
        raise InvalidInput(name, "expected a number from 0 to 100", value)
    return level
