"""Which file is which: the column names of the extractors, as rows.

Sources: paradigmxyz/cryo at 559b654 (2025-01-08), crates/freeze/src/datasets; blockchain-etl/ethereum-etl at 9e51c3b
(2024-03), ethereumetl/jobs/exporters.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from feemodel.errors import UnreadableFile
from feemodel.io.files import Container, PathLike, column_names, read_columns
from feemodel.io.tables import BLOCKS, L1_FEES, RECEIPTS, TRANSACTIONS, Columns, make_table
from feemodel.io.values import column as convert

EXACT_VALUES = ("value_string", "value_binary", "value")
LOSSY_VALUES = ("value_f64", "value_f32", "value_float")


@dataclass(frozen=True, slots=True)
class Format:
    """How an extractor names the columns of a table, where it does not name them as the table does."""

    name: str
    reader: str  #: the function that reads it
    columns: Columns
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  #: best first
    needs: tuple[str, ...] = ()  #: optional columns of the table without which it is another format

    def source_names(self, column: str) -> tuple[str, ...]:
        """The names that a column may have in the file."""
        return self.names.get(column, (column,))

    def missing(self, found: Sequence[str]) -> list[str]:
        """What a file with these columns lacks to be of this format."""
        needed = [column.name for column in self.columns if column.presence != "optional"]
        return [
            " or ".join(self.source_names(column))
            for column in (*needed, *self.needs)
            if not any(name in found for name in self.source_names(column))
        ]


CRYO_BLOCKS = Format("blocks of cryo or `feemodel fetch`", "read_blocks", BLOCKS)
ETL_BLOCKS = Format(
    "blocks of ethereum-etl", "read_blocks", BLOCKS, {"block_number": ("number",), "block_hash": ("hash",)}
)
CRYO_TRANSACTIONS = Format("transactions of cryo", "read_transactions", TRANSACTIONS, {"value": EXACT_VALUES})
ETL_TRANSACTIONS = Format(
    "transactions of ethereum-etl",
    "read_transactions",
    TRANSACTIONS,
    {"transaction_hash": ("hash",), "gas_limit": ("gas",), "timestamp": ("block_timestamp",)},
)
ETL_RECEIPTS = Format("receipts of ethereum-etl", "read_transactions(receipts=)", RECEIPTS, {"success": ("status",)})
L1_BLOBS = Format(
    "L1 blob counts", "read_l1_fees", L1_FEES, {"blob_gas_used": ("blob_count",)}, ("blob_gas_used", "excess_blob_gas")
)
L1_FEE_HISTORY = Format(
    "L1 fees", "read_l1_fees", L1_FEES, {"base_fee": ("base_fee_per_gas", "base_fee")}, ("base_fee",)
)
ETL_L1_FEES = Format(
    "L1 fees", "read_l1_fees", L1_FEES, {"block_number": ("number",), "base_fee": ("base_fee_per_gas",)}, ("base_fee",)
)

ALL = (CRYO_BLOCKS, ETL_BLOCKS, CRYO_TRANSACTIONS, ETL_TRANSACTIONS, L1_BLOBS, L1_FEE_HISTORY)


def read_format(path: PathLike, container: Container, formats: Sequence[Format]) -> tuple[Format, pd.DataFrame]:
    """A Parquet or CSV file as the table of the first of the formats that it has the columns of."""
    found = column_names(path, container)
    chosen = next((candidate for candidate in formats if not candidate.missing(found)), None)
    if chosen is None:
        raise UnreadableFile(f"{path}: has the columns {', '.join(found)}; {_explanation(found, formats)}")
    names = {
        column.name: next((name for name in chosen.source_names(column.name) if name in found), None)
        for column in chosen.columns
    }
    wanted = [name for name in names.values() if name is not None]
    if twice := [name for name in wanted if found.count(name) > 1]:
        raise UnreadableFile(f"{path}: has the column {twice[0]} twice")
    table = read_columns(path, container, wanted)
    arrays: dict[str, Any] = {
        column.name: convert(column.kind, table.column(name), name)
        for column in chosen.columns
        if (name := names[column.name]) is not None
    }
    return chosen, make_table(chosen.columns, arrays, table.num_rows)


def _explanation(found: Sequence[str], formats: Sequence[Format]) -> str:
    other = next((candidate for candidate in ALL if not candidate.missing(found)), None)
    if other is not None:
        return f"these are {other.name}, which {other.reader} reads"
    lossy = next((name for name in LOSSY_VALUES if name in found), None)
    if lossy is not None and any(not candidate.missing([*found, "value"]) for candidate in formats):
        return (
            f"{lossy} has lost the last digits of the amounts, and none of {', '.join(EXACT_VALUES)} is there; "
            "run cryo with --u256-types string"
        )
    return "; ".join(f"{candidate.name} would need also {', '.join(candidate.missing(found))}" for candidate in formats)
