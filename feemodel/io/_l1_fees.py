"""Histories of L1 fees, from files and from `eth_feeHistory` responses."""

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from feemodel.checks import sequence
from feemodel.errors import InvalidInput
from feemodel.ethereum._fee_units import implausible
from feemodel.io._blocks import parse_blocks
from feemodel.io._documents import contents, parse_json
from feemodel.io._files import PathLike, column_names, column_units, container_of, reading
from feemodel.io._formats import L1_FEE_FILES, parse_columns, read_format, rows_of_json, table_of_objects
from feemodel.io._tables import L1_FEES, in_order
from feemodel.io._values import cell

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


@dataclass(frozen=True, slots=True)
class FeeHistory:
    """Response of `eth_feeHistory` for `n` blocks, oldest block first."""

    oldest_block: int
    base_fees: tuple[int, ...]  #: n + 1 values; the last value is for the next block [wei / gas]
    gas_used_ratios: tuple[float, ...]  #: n values of gas used / gas limit [1]
    blob_base_fees: tuple[int, ...]  #: n + 1 fees, 0 before Cancun; empty if the node returns no blob fees [wei / gas]
    blob_gas_used_ratios: tuple[float, ...]  #: n values; empty if the node does not return them [1]
    rewards: tuple[tuple[int, ...], ...]  #: n rows, with a priority fee for each requested percentile [wei / gas]

    def as_table(self, *, reward: int | None = None) -> dict[str, Any]:
        """Return the columns that `feemodel.simulation.scenarios.replay` needs, one row per block.

        Blob base fees are left out if all of them are 0, because geth returns 0 for blocks before Cancun.

        Parameters
        ----------
        reward : index of the percentile that is used as the tip, counted from 0; required if the history has several
            percentiles.

        Returns
        -------
        dict : name of a column → list of `n` values; fees [wei / gas], ratios [1].

        Raises
        ------
        InvalidInput : `reward` is out of range, or is missing although the history has several percentiles.

        >>> FeeHistory(16, (7, 8), (0.5,), (), (), ((3,),)).as_table()["tip"]
        [3]
        """
        count, asked = len(self.gas_used_ratios), len(self.rewards[0]) if self.rewards else 0
        if (asked > 1 and reward is None) or (reward is not None and not 0 <= reward < asked):
            raise InvalidInput(
                "reward", f"expected the index (from 0) of the percentile that is the tip, below {asked}", reward
            )
        table: dict[str, Any] = {
            "slot": list(range(count)),
            "block_number": [self.oldest_block + index for index in range(count)],
            "base_fee": list(self.base_fees[:count]),
            "gas_used_ratio": list(self.gas_used_ratios),
        }
        if any(self.blob_base_fees[:count]):
            table["blob_base_fee"] = list(self.blob_base_fees[:count])
            if self.blob_gas_used_ratios:
                table["blob_gas_used_ratio"] = list(self.blob_gas_used_ratios)
        if asked:
            table["tip"] = [row[reward or 0] for row in self.rewards]
        return table


def parse_fee_history(answer: bytes | str | Mapping[str, Any]) -> FeeHistory:
    """Parse a response of `eth_feeHistory`.

    Parameters
    ----------
    answer : result of the method, or the whole JSON-RPC response, as JSON text or as the parsed object.

    Returns
    -------
    The fee history; fees [wei / gas], ratios [1].

    Raises
    ------
    InvalidInput : invalid JSON, a missing or invalid field, or lists whose lengths do not match; the message names the
        field.

    >>> history = parse_fee_history('{"oldestBlock": "0x10", "baseFeePerGas": ["0x7", "0x8"], "gasUsedRatio": [0.5]}')
    >>> history.base_fees, history.gas_used_ratios
    ((7, 8), (0.5,))
    """
    result = parse_json(answer, "the fee history") if isinstance(answer, (bytes, str)) else answer
    if isinstance(result, Mapping) and "result" in result:
        result = result["result"]
    if not isinstance(result, Mapping):
        raise InvalidInput("the fee history", "expected the answer of eth_feeHistory", result)
    ratios = _ratios(result, "gasUsedRatio")
    blob_ratios = _ratios(result, "blobGasUsedRatio") if result.get("blobGasUsedRatio") is not None else ()
    _check_length("blobGasUsedRatio", blob_ratios, len(ratios), may_be_empty=True)
    blob_fees = result.get("baseFeePerBlobGas")
    history = FeeHistory(
        oldest_block=cell("whole", result.get("oldestBlock"), "oldestBlock"),
        base_fees=_fees("baseFeePerGas", result.get("baseFeePerGas")),
        gas_used_ratios=ratios,
        blob_base_fees=_fees("baseFeePerBlobGas", blob_fees) if blob_ratios or blob_fees is not None else (),
        blob_gas_used_ratios=blob_ratios,
        rewards=_rewards(result, ratios),
    )
    _check_length("baseFeePerGas", history.base_fees, len(ratios) + 1)
    _check_length("baseFeePerBlobGas", history.blob_base_fees, len(ratios) + 1, may_be_empty=not blob_ratios)
    return history


def _fees(name: str, values: Any) -> tuple[int, ...]:
    return tuple(cell("whole", value, f"{name}[{index}]") for index, value in enumerate(sequence(name, values)))


def _ratios(result: Mapping[str, Any], name: str) -> tuple[float, ...]:
    ratios = sequence(name, result.get(name))
    for index, ratio in enumerate(ratios):
        if isinstance(ratio, bool) or not isinstance(ratio, (int, float)) or not 0 <= ratio <= sys.float_info.max:
            raise InvalidInput(f"{name}[{index}]", "expected a ratio of at least 0", ratio)
    return tuple(map(float, ratios))


def _rewards(result: Mapping[str, Any], ratios: Sequence[float]) -> tuple[tuple[int, ...], ...]:
    if not result.get("reward"):  # if no percentile was requested, `reward` is absent, null or empty
        return ()
    rows = sequence("reward", result["reward"])
    _check_length("reward", rows, len(ratios))
    asked = max((len(row) for row in rows if isinstance(row, list)), default=0)
    # For a block without transactions, go-ethereum returns a list of zeros as rewards, and other nodes return null.
    rewards = tuple(
        (0,) * asked if row is None and not used else _fees(f"reward[{index}]", row)
        for index, (row, used) in enumerate(zip(rows, ratios, strict=True))
    )
    for index, row in enumerate(rewards):
        _check_length(f"reward[{index}]", row, len(rewards[0]))
    return rewards if asked else ()


def _check_length(name: str, values: Any, length: int, *, may_be_empty: bool = False) -> None:
    if len(values) != length and not (may_be_empty and not values):
        raise InvalidInput(
            name, f"expected {length} values, because of the length of gasUsedRatio, not {len(values)}", values
        )
