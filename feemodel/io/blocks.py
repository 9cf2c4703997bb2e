"""Read blocks, and L1 fees and tips from blocks, of cryo, ethereum-etl, xatu, Dune, `feemodel fetch` and nodes.

Source of tips: go-ethereum, eth/gasprice/feehistory.go: transactions of a block are sorted by priority fee. The tip of
the block is the priority fee of the first transaction at which the cumulative gas used reaches floor(gas used by the
block · `percentile` / 100).
"""

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from feemodel.checks import WholeArray, real_scalar, sequence, whole
from feemodel.errors import InvalidInput
from feemodel.ethereum._fee_units import implausible
from feemodel.io.files import PathLike, column_units, container_of, contents, json_objects, reading
from feemodel.io.formats import parse_columns, read_table, table_of_objects
from feemodel.io.tables import BLOCKS, L1_FEES, PRICED, in_order

FEES = ("base_fee", "blob_base_fee", "tip")
#: Columns that may be empty before an upgrade of L1; after the first value of such a column, no value may be missing.
SERIES = (*FEES, "excess_blob_gas", "blob_gas_used", "gas_used", "gas_limit", "gas_used_ratio", "blob_gas_used_ratio")


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
        message names the line or the block.

    >>> line = b'{"number": "0x10", "timestamp": "0x65", "gasUsed": "0x5208", "transactions": []}'
    >>> parse_blocks(line)[["block_number", "timestamp", "gas_used"]].to_numpy().tolist()
    [[16, 101, 21000]]
    """
    blocks = ((position, with_count(block)) for position, block in json_objects(data))
    return in_order(table_of_objects(blocks, BLOCKS), "block_number")


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
        table = read_table(path, L1_FEES, columns)
        names = table.attrs["names_in_file"]
        if not len(table):
            raise InvalidInput("L1 fees", "expected at least one row", 0)
        if table[["base_fee", "excess_blob_gas", "blob_base_fee"]].isna().all(axis=None):
            reason = "expected rows with base_fee, blob_base_fee or excess_blob_gas (base_fee=NAME selects a column)"
            raise InvalidInput("L1 fees", reason, ", ".join(names.values()) or "nothing")
        _check_whole(table)
        units = (
            column_units(path) if container_of(path) == "parquet" else {"baseFeePerGas": "wei / gas"}
        )  # as nodes write it
        said = _said(columns) + tuple(name for name in FEES if units.get(names.get(name, "")) == "wei / gas")
        _check_unit(table, said)
        table = in_order(_with_ratio(table), "timestamp" if table["block_number"].isna().any() else "block_number")
        table.attrs["units_given"] = said
        return table


def _said(columns: Mapping[str, str] | None) -> tuple[str, ...]:
    """Return the fee columns for which the caller gave a unit."""
    chosen = parse_columns(columns, L1_FEES)
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


def percentile_tips(
    blocks: WholeArray, tips: WholeArray, gas: WholeArray, level: float
) -> tuple[WholeArray, WholeArray]:
    """Return block numbers in ascending order, and the tip of each block at a percentile of the gas used [wei / gas].

    A transaction with a tip of 3 wei uses 21,000 gas, one with a tip of 5 wei uses 79,000 gas:

    >>> both = np.array([7, 7]), np.array([5, 3]), np.array([79_000, 21_000])
    >>> [percentile_tips(*both, level)[1].tolist() for level in (21, 22)]
    [[3], [5]]
    """
    order = np.lexsort((tips, blocks))
    numbers, tips, gas = blocks[order], tips[order], gas[order]
    found, first = np.unique(numbers, return_index=True)
    reached = np.cumsum(gas)
    before = reached[first] - gas[first]
    last = np.append(first[1:], len(numbers)) - 1
    needed = np.floor((reached[last] - before) * level / 100.0).astype(np.int64)
    return found, tips[np.searchsorted(reached, np.maximum(before + needed, reached[first]))] if len(found) else tips


def add_tips(l1_fees: pd.DataFrame, transactions: PathLike | Sequence[PathLike], *, percentile: float) -> pd.DataFrame:
    """Add the column `tip` to a table of L1 fees, from files that contain all transactions of the table's blocks.

    Parameters
    ----------
    l1_fees : table of `feemodel.io.read_l1_fees` with block numbers, base fees and gas used.
    transactions : path or paths of Parquet or CSV files from xatu (canonical_execution_transaction), cryo, or another
        source. The files have the columns `block_number`, `gas_used`, and `gas_price` or `effective_gas_price`.
        Transactions of blocks that are not in `l1_fees` are ignored.
    percentile : percentile of the tips in a block, weighted by gas used, from 0 to 100.

    Returns
    -------
    The table `l1_fees` with a column `tip` [wei / gas]; the tip of a block without transactions is 0, as in
    `eth_feeHistory`.

    Raises
    ------
    InvalidInput : a percentile out of range, a table that lacks a column or already has tips, a block whose gas used is
        not the sum over its transactions, or a price below the base fee.
    UnreadableFile : a file that cannot be read, or is neither Parquet nor CSV.

    A transfer that pays 9 wei at a base fee of 7 wei has a tip of 2 wei:

    >>> import tempfile, pathlib
    >>> row = {"block_number": [17], "base_fee": [7], "gas_used": [21_000]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "transactions.csv")
    ...     _ = path.write_text("block_number,gas_used,gas_price\\n17,21000,9\\n")
    ...     add_tips(pd.DataFrame(row), path, percentile=50)["tip"].tolist()
    [2]
    """
    level = checked_percentile("percentile", percentile)
    needed = ("block_number", "base_fee", "gas_used")
    known = isinstance(l1_fees, pd.DataFrame) and all(name in l1_fees for name in needed)
    if not known or l1_fees[[*needed]].isna().any(axis=None):
        raise InvalidInput("l1_fees", f"expected a table with {', '.join(needed)} in every row", [*l1_fees])
    if "tip" in l1_fees and l1_fees["tip"].notna().any():
        raise InvalidInput("l1_fees", "expected a table without tips", [*l1_fees])
    blocks, base_fees, gas = (np.asarray(whole(f"l1_fees.{name}", l1_fees[name].to_numpy())) for name in needed)
    if (falls := np.diff(blocks) <= 0).any():
        raise InvalidInput("l1_fees.block_number", "expected increasing block numbers", int(blocks[1:][falls][0]))
    files = [transactions] if isinstance(transactions, (str, os.PathLike)) else sequence("transactions", transactions)
    paid = _read_priced(files)
    row = np.searchsorted(blocks, paid["block_number"]).clip(max=len(blocks) - 1)
    paid = paid[blocks[row] == paid["block_number"].to_numpy()]
    row = np.searchsorted(blocks, paid["block_number"])
    sums = np.bincount(row, weights=paid["gas_used"], minlength=len(blocks))
    if (other := sums != gas).any():
        at = int(other.argmax())
        reason = f"expected transactions of {gas[at]:,} gas in block {blocks[at]}, as in its header"
        raise InvalidInput("transactions", reason, int(sums[at]))
    tips = paid["price"].to_numpy() - base_fees[row]
    if (below := tips < 0).any():
        at = int(below.argmax())
        reason = f"expected at least the base fee of block {blocks[row[at]]}, {base_fees[row[at]]} wei"
        raise InvalidInput("transactions.gas_price", reason, int(paid["price"].iloc[at]))
    found, tip = percentile_tips(blocks[row], tips, paid["gas_used"].to_numpy(), level)
    column = np.zeros(len(blocks), np.int64)
    column[np.searchsorted(blocks, found)] = tip
    return l1_fees.assign(tip=pd.Series(column, l1_fees.index, dtype="Int64"))


def _read_priced(files: Sequence[PathLike]) -> pd.DataFrame:
    """Return the block number, gas used and gas price of all transactions in the files."""
    tables = []
    for path in files:
        with reading(path):
            table = read_table(path, PRICED)
            price = table["effective_gas_price"].fillna(table["gas_price"])
            if price.isna().any():
                raise InvalidInput(f"row {int(price.isna().argmax()) + 1}: gas_price", "expected a value")
            tables.append(table[["block_number", "gas_used"]].assign(price=price.astype(np.int64)))
    if not tables:
        raise InvalidInput("transactions", "expected at least one file", files)
    return pd.concat(tables, ignore_index=True)


def checked_percentile(name: str, value: float) -> float:
    """Return a number from 0 to 100; raises `InvalidInput` for other values.

    >>> checked_percentile("percentile", 60)
    60.0
    """
    level = real_scalar(name, value)
    if level > 100.0:
        raise InvalidInput(name, "expected a number from 0 to 100", value)
    return level
