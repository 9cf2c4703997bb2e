"""Histories of L1 fees, from files and from `eth_feeHistory` responses."""

from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd

from feemodel.errors import InvalidInput
from feemodel.ethereum._fee_units import implausible
from feemodel.io._blocks import parse_blocks
from feemodel.io._documents import contents
from feemodel.io._files import PathLike, column_names, column_units, container_of, reading
from feemodel.io._formats import L1_FEE_FILES, parse_columns, read_format, rows_of_json, table_of_objects
from feemodel.io._tables import L1_FEES, in_order

FEES = ("base_fee", "blob_base_fee", "tip")
#: Columns that may be empty before an upgrade of L1; after the first value of such a column, no value may be missing.
SERIES = (*FEES, "excess_blob_gas", "blob_gas_used", "gas_used", "gas_limit", "gas_used_ratio", "blob_gas_used_ratio")


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
    Table with the columns of `feemodel.io._tables.L1_FEES`, one row per block or sample. Values that are not in the
    file are `<NA>`, except that `gas_used_ratio` is computed if `gas_used` and `gas_limit` are known. The function
    `feemodel.simulation.scenarios.replay` fills missing values and states its assumptions.

    Raises
    ------
    UnreadableFile : the file is missing, truncated or of an unknown format, or has an invalid value, implausible fees
        or a missing value after the first value of its column. The error message names the file, the row and the value.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "fees.csv")
    ...     _ = path.write_text("block_number,timestamp,base_fee_per_gas\\n17,1683029999,80869370967\\n")
    ...     print(read_l1_fees(path)[["block_number", "base_fee"]].to_numpy().tolist())
    [[17, 80869370967]]
    """
    with reading(path):
        container = container_of(path)
        if container == "json":
            table = _of_json(contents(path), columns)
        else:
            _, table = read_format(path, container, (L1_FEE_FILES,), columns)
        if table[["base_fee", "excess_blob_gas", "blob_base_fee"]].isna().all(axis=None) and len(table):
            in_json = container == "json"
            names = ", ".join(table.attrs["names_in_file"].values() if in_json else column_names(path, container))
            reason = "expected base_fee, blob_base_fee or excess_blob_gas (base_fee=NAME selects another column)"
            raise InvalidInput("L1 fees", reason, names)
        if not len(table):
            raise InvalidInput("L1 fees", "expected at least one row", container)
        _check_whole(table)
        said = FEES if container == "json" and not table.attrs["names_in_file"] else _said(columns)
        if container == "parquet":
            units, names = column_units(path), table.attrs["names_in_file"]
            said += tuple(name for name in FEES if units.get(names.get(name, "")) == "wei / gas")
        _check_unit(table, said)
        table = in_order(_with_ratio(table), "timestamp" if table["block_number"].isna().any() else "block_number")
        table.attrs["units_given"] = said
        return table


def _of_json(data: bytes, columns: Mapping[str, str] | None) -> pd.DataFrame:
    """Return the table of L1 fees from blocks of a node, or from rows with column names of `L1_FEE_FILES`."""
    rows = rows_of_json(data)
    first = rows[0][1] if rows else {}
    result = first.get("result")
    inner = result if isinstance(result, Mapping) else first
    if "oldestBlock" in inner:
        reason = "an answer of eth_feeHistory, which parse_fee_history reads: it has no times"
        raise InvalidInput("the document", reason, sorted(inner))
    if not {"jsonrpc", "result", "error", "transactions", "gasUsed"} & first.keys():
        return table_of_objects(rows, L1_FEE_FILES, columns)
    table = parse_blocks(data).rename(columns={"base_fee_per_gas": "base_fee"})
    for column in L1_FEES:
        if column.name not in table:
            table[column.name] = pd.Series(pd.NA, index=table.index, dtype=column.dtype)
    for name in ("block_number", "gas_used"):  # columns that are optional in a table of L1 fees
        table[name] = table[name].astype("Int64")
    table = table[[column.name for column in L1_FEES]]
    table.attrs["names_in_file"] = {}
    return table


def _said(columns: Mapping[str, str] | None) -> tuple[str, ...]:
    """Return the fee columns for which the caller gave a unit."""
    chosen = parse_columns(columns, L1_FEE_FILES)
    given = {ours: text for text, ours in zip((columns or {}).values(), chosen, strict=True)}
    return tuple(name for name in FEES if name in given and given[name] == f"{chosen[name].name}:wei")


def _check_whole(table: pd.DataFrame) -> None:
    """Raise `InvalidInput` if a value is missing at a later time than the first value of its column."""
    order = table["timestamp"].to_numpy().argsort(kind="stable")
    for name in SERIES:
        missing = table[name].isna().to_numpy()
        if not missing.any() or missing.all():
            continue
        first = int((~missing[order]).argmax())
        late = order[first:][missing[order][first:]]
        if late.size:
            theirs = table.attrs["names_in_file"].get(name, name)
            reason = f"expected a value in every row after the first value, {late.size:,} are missing"
            raise InvalidInput(f"row {int(late.min()) + 1}: {theirs}", reason)


def _check_unit(table: pd.DataFrame, said: Collection[str]) -> None:
    """Raise `InvalidInput` for fees that are probably not in wei; the message says how to give the unit."""
    for name in FEES:
        if name in said or table[name].isna().all():
            continue
        if (found := implausible(name, table[name].to_numpy(np.float64, na_value=np.nan))) is not None:
            theirs = table.attrs["names_in_file"].get(name, name)
            say = f"if the column is in gwei, use {name}={theirs}:gwei, otherwise {name}={theirs}:wei"
            raise InvalidInput(f"row {found.position + 1}: {theirs}", f"expected {found.expected}; {say}", found.value)


def _with_ratio(table: pd.DataFrame) -> pd.DataFrame:
    """Add the column `gas_used_ratio` = gas used / gas limit if the table has both amounts in every row."""
    if table["gas_used_ratio"].notna().any() or table["gas_limit"].isna().any() or table["gas_used"].isna().any():
        return table
    if (wrong := (table["gas_used"] > table["gas_limit"]).to_numpy()).any():
        row = int(wrong.argmax())
        reason = f"expected at most the gas limit, {table['gas_limit'].iloc[row]}"
        raise InvalidInput(f"row {row + 1}: gas_used", reason, int(table["gas_used"].iloc[row]))
    return table.assign(gas_used_ratio=(table["gas_used"] / table["gas_limit"]).astype("Float64"))
