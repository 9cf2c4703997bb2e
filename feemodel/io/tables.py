"""Tables that the readers return: dtype, unit and meaning of every column.

A column has one of these kinds:

| kind   | in the table                                                                                                |
|--------|-------------------------------------------------------------------------------------------------------------|
| whole  | int64, or pandas' Int64 where a value may be missing                                                        |
| time   | like `whole`: seconds since 1970                                                                            |
| type   | like `whole`: 0 to 255; a name in the file, such as DynamicFee, is converted to its number                  |
| fee    | Int64; Float64 if the file has means with fractions of a wei                                                |
| real   | Float64                                                                                                     |
| list   | object column; a value has the items of a list in the file                                                  |
| amount | object column of Python ints, because amounts in wei may exceed 64 bits                                     |
| data   | bytes, as pandas' binary[pyarrow]                                                                           |

A missing value is `<NA>`; a column that is not in the file contains only `<NA>`. Rows are sorted by block number (and
index within the block); duplicate blocks or transactions are refused. Gaps between block numbers are allowed, for
example in a sample of every tenth block.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api.extensions import ExtensionDtype

from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import to_hex
from feemodel.io.values import OBJECTS, Kind

Presence: TypeAlias = Literal["always", "nullable", "optional"]

INT64 = ("whole", "time", "type")
_NULLABLE: "dict[str, ExtensionDtype | np.dtype[Any]]" = {
    **dict.fromkeys((*INT64, "fee"), pd.Int64Dtype()),
    **dict.fromkeys(OBJECTS, np.dtype(object)),
    "real": pd.Float64Dtype(),
    "data": pd.ArrowDtype(pa.binary()),
}

HASH, ADDRESS = 32, 20  # bytes


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    name: str
    kind: Kind
    unit: str
    meaning: str
    presence: Presence = "always"  #: nullable: values may be missing; optional: the whole column may be missing too
    length: int | None = None  #: length of each value in a column of bytes [byte]

    @property
    def dtype(self) -> "ExtensionDtype | np.dtype[Any]":
        """Return the pandas dtype."""
        return np.dtype(np.int64) if self.kind in INT64 and self.presence == "always" else _NULLABLE[self.kind]


@dataclass(frozen=True, slots=True)
class Schema:
    """Columns of one kind of table."""

    name: str  #: for errors, such as "transactions"
    columns: tuple[Column, ...]
    option: str = "--columns"  #: command-line option that gives the names of columns
    prices: tuple[str, ...] = ()  #: price columns, of which every row needs one


BLOCKS = Schema(
    "blocks",
    (
        Column("block_number", "whole", "1", "height of the block"),
        Column("timestamp", "whole", "s", "time of the block since 1970"),
        Column("block_hash", "data", "", "", "optional", HASH),
        Column("parent_hash", "data", "", "hash of the previous block", "optional", HASH),
        Column("gas_used", "whole", "gas", "gas used by all transactions, after refunds"),
        Column("gas_limit", "whole", "gas", "gas limit of the block", "optional"),
        Column("base_fee_per_gas", "whole", "wei / gas", "missing before London", "optional"),
        Column("blob_gas_used", "whole", "gas", "missing before Cancun, and on most rollups", "optional"),
        Column("excess_blob_gas", "whole", "gas", "determines the blob base fee", "optional"),
        Column("blob_base_fee", "whole", "wei / gas", "as reported by the node; missing before Cancun", "optional"),
        Column("tip", "whole", "wei / gas", "priority fee at a percentile of the gas; 0 in an empty block", "optional"),
        Column("extra_data", "data", "", "extra data of the header; on Linea the pricing record", "optional"),
    ),
)

TRANSACTIONS = Schema(
    "transactions",
    (
        Column("block_number", "whole", "1", "height of the block", "optional"),
        Column("transaction_index", "whole", "1", "index within the block, from 0", "optional"),
        Column("transaction_hash", "data", "", "", "optional", HASH),
        Column("timestamp", "time", "s", "time of the block since 1970", "optional"),
        Column("transaction_type", "type", "1", "EIP-2718 type", "optional"),
        Column("chain_id", "whole", "1", "", "optional"),
        Column("nonce", "whole", "1", "number of earlier transactions of the sender"),
        Column("from_address", "data", "", "the sender", length=ADDRESS),
        Column("to_address", "data", "", "missing if the transaction creates a contract", "nullable", ADDRESS),
        Column("value", "amount", "wei", "amount sent"),
        Column("input", "data", "", "calldata, or the init code of a contract creation"),
        Column("gas_limit", "whole", "gas", "gas limit set by the sender"),
        Column("gas_price", "whole", "wei / gas", "of the node; after inclusion, the price paid", "optional"),
        Column("max_fee_per_gas", "whole", "wei / gas", "missing for types 0 and 1", "optional"),
        Column("max_priority_fee_per_gas", "whole", "wei / gas", "missing for types 0 and 1", "optional"),
        Column("max_fee_per_blob_gas", "whole", "wei / gas", "only for type 3", "optional"),
        Column("access_list", "list", "", "missing for type 0", "optional"),
        Column("blob_versioned_hashes", "list", "", "only for type 3", "optional"),
        Column("authorization_list", "list", "", "only for type 4", "optional"),
        Column("v", "whole", "1", "part of the signature; the y parity for types 1 and above", "optional"),
        Column("y_parity", "whole", "1", "part of the signature, for types 1 and above", "optional"),
        Column("r", "amount", "1", "part of the signature", "optional"),
        Column("s", "amount", "1", "part of the signature", "optional"),
        Column("gas_used", "whole", "gas", "from the receipt", "optional"),
        Column("effective_gas_price", "whole", "wei / gas", "from the receipt", "optional"),
    ),
    prices=("gas_price", "max_fee_per_gas"),
)

RAW_TRANSACTIONS = Schema(
    "raw transactions",
    (
        Column("raw", "data", "", "the signed EIP-2718 encoding", "optional"),
        Column("sender_and_unsigned_transaction", "data", "", "measured if `raw` is unknown", "optional"),
        Column("block_number", "whole", "1", "height of the block", "optional"),
        Column("timestamp", "whole", "s", "time of the block since 1970", "optional"),
        Column("transaction_index", "whole", "1", "index within the block, from 0", "optional"),
        Column("hash", "data", "", "hash of the transaction", "optional", HASH),
        Column("sender", "data", "", "", "optional", ADDRESS),
        Column("gas_used", "whole", "gas", "before or after refunds, depending on the source of the file", "optional"),
    ),
)

L1_FEES = Schema(
    "L1 fees",
    (
        Column("block_number", "whole", "1", "height of the L1 block", "optional"),
        Column("timestamp", "time", "s", "time of the block since 1970"),
        Column("base_fee", "fee", "wei / gas", "base fee of execution gas", "optional"),
        Column("excess_blob_gas", "whole", "gas", "determines the blob base fee", "optional"),
        Column("blob_gas_used", "whole", "gas", "131,072 gas for every blob", "optional"),
        Column("blob_base_fee", "fee", "wei / gas", "base fee of blob gas", "optional"),
        Column("gas_used", "whole", "gas", "gas used by all transactions of the block", "optional"),
        Column("gas_limit", "whole", "gas", "gas limit of the block", "optional"),
        Column("gas_used_ratio", "real", "1", "gas used / gas limit", "optional"),
        Column("blob_gas_used_ratio", "real", "1", "blob gas used / maximum blob gas of a block", "optional"),
        Column("tip", "fee", "wei / gas", "priority fee", "optional"),
    ),
    "--l1-columns",
)


def make_table(columns: tuple[Column, ...], arrays: Mapping[str, Any], rows: int) -> pd.DataFrame:
    """Return Arrow arrays (object arrays for amounts) as a table with the given columns.

    Raises `InvalidInput` if a required value is missing or has the wrong length. The error message names the column and
    the row, counted from 1.
    """
    return pd.DataFrame({column.name: _series(column, arrays.get(column.name), rows) for column in columns})


def _series(column: Column, array: Any, rows: int) -> "pd.Series[Any]":
    if array is None:
        dtype = column.dtype if not rows else _NULLABLE[column.kind]
        return pd.Series(pd.NA if rows else [], index=range(rows), dtype=dtype)
    is_arrow = isinstance(array, (pa.Array, pa.ChunkedArray))
    missing = np.asarray(array.is_null()) if is_arrow else np.array([value is None for value in array], dtype=bool)
    if column.presence == "always" and missing.any():
        raise InvalidInput(f"row {int(missing.argmax()) + 1}: {column.name}", "expected a value")
    if not is_arrow:
        return pd.Series(array, dtype=object).where(~missing, pd.NA)
    if column.length is not None:
        wrong = np.asarray(pc.fill_null(pc.not_equal(pc.binary_length(array), column.length), False))
        if wrong.any():
            row = int(wrong.argmax())
            reason = f"expected {column.length} bytes"
            raise InvalidInput(f"row {row + 1}: {column.name}", reason, to_hex(array[row].as_py()))
    if column.kind == "fee" and pa.types.is_floating(array.type):
        return pd.Series(array.to_pandas(types_mapper=lambda _: pd.Float64Dtype()))
    return pd.Series(array.to_pandas(types_mapper=lambda _: _NULLABLE[column.kind]), dtype=column.dtype)


def in_order(table: pd.DataFrame, *keys: str) -> pd.DataFrame:
    """Sort a table by the columns `keys`; a table with missing values in these columns is not sorted.

    Raises `InvalidInput` if two rows have the same values in these columns.
    """
    if table[list(keys)].isna().any(axis=None):
        return table
    table = table.sort_values(list(keys), kind="stable", ignore_index=True)
    if (twice := table.duplicated(list(keys)).to_numpy()).any():
        values = table[list(keys)].to_numpy()[int(np.argmax(twice))].tolist()
        raise InvalidInput(", ".join(keys), "expected unique rows", values[0] if len(values) == 1 else values)
    return table
