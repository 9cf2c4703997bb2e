"""Tables that the readers return: dtype, unit and meaning of every column.

A column has one of these kinds:

| kind   | in the table                                                                                                |
|--------|-------------------------------------------------------------------------------------------------------------|
| whole  | int64, or pandas' Int64 where a value may be missing                                                        |
| time   | like `whole`: seconds since 1970                                                                            |
| type   | like `whole`: 0 to 255; a name in the file, such as DynamicFee, is converted to its number                  |
| fee    | Int64; Float64 if the file has means with fractions of a wei                                                |
| real   | Float64                                                                                                     |
| accesses | object column; a value is a tuple of pairs: an address, and its storage keys                              |
| list   | object column; a value is a tuple of the items of a list in the file                                        |
| amount | object column of Python ints, because amounts in wei may exceed 64 bits                                     |
| data   | bytes, as pandas' binary[pyarrow]                                                                           |
| flag   | pandas' boolean                                                                                             |
| text   | pandas' string                                                                                              |

A missing value is `<NA>`; a column that is not in the file contains only `<NA>`. Rows are sorted by block number (and
index within the block); duplicate blocks or transactions are refused. Gaps between block numbers are allowed, for
example in a sample of every tenth block.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pandas.api.extensions import ExtensionDtype

from feemodel.errors import InvalidInput
from feemodel.io._values import NO_VALUE, ONE, Kind, cell, fees, objects

Presence: TypeAlias = Literal["always", "nullable", "optional"]

ARROW_TYPES = {
    "whole": pa.int64(), "time": pa.int64(), "type": pa.int64(), "real": pa.float64(), "data": pa.binary(),
    "flag": pa.bool_(), "text": pa.string(),
}  # fmt: skip
OBJECTS = ("amount", "accesses", "list")  # kinds of columns that hold Python objects
INT64 = ("whole", "time", "type")
_NULLABLE: "dict[str, ExtensionDtype | np.dtype[Any]]" = {
    **dict.fromkeys((*INT64, "fee"), pd.Int64Dtype()),
    **dict.fromkeys(OBJECTS, np.dtype(object)),
    "real": pd.Float64Dtype(),
    "data": pd.ArrowDtype(pa.binary()),
    "flag": pd.BooleanDtype(),
    "text": pd.StringDtype(),
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


Columns: TypeAlias = tuple[Column, ...]

BLOCKS: Columns = (
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
    Column("transaction_count", "whole", "1", "number of transactions in the block", "optional"),
    Column("size", "whole", "bytes", "size of the encoded block", "optional"),
    Column("extra_data", "data", "", "extra data of the header; on Linea the pricing record", "optional"),
)

_GAS_PRICE = Column(
    "gas_price", "whole", "wei / gas", "as reported by a node; after inclusion, the price paid", "optional"
)
TRANSACTIONS: Columns = (
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
    _GAS_PRICE,
    Column("max_fee_per_gas", "whole", "wei / gas", "missing for types 0 and 1", "optional"),
    Column("max_priority_fee_per_gas", "whole", "wei / gas", "missing for types 0 and 1", "optional"),
    Column("max_fee_per_blob_gas", "whole", "wei / gas", "only for type 3", "optional"),
    Column("access_list", "accesses", "", "missing for type 0", "optional"),
    Column("blob_versioned_hashes", "list", "", "only for type 3", "optional"),
    Column("authorization_list", "list", "", "only for type 4", "optional"),
    Column("v", "whole", "1", "part of the signature; the y parity for types 1 and above", "optional"),
    Column("y_parity", "whole", "1", "part of the signature, for types 1 and above", "optional"),
    Column("r", "amount", "1", "part of the signature", "optional"),
    Column("s", "amount", "1", "part of the signature", "optional"),
    Column("gas_used", "whole", "gas", "from the receipt", "optional"),
    Column("effective_gas_price", "whole", "wei / gas", "from the receipt", "optional"),
    Column("success", "flag", "", "from the receipt", "optional"),
)

RECEIPTS: Columns = (
    Column("transaction_hash", "data", "", "", length=HASH),
    Column("gas_used", "whole", "gas", "after refunds"),
    Column("effective_gas_price", "whole", "wei / gas", "the price paid", "optional"),
    Column("success", "flag", "", "missing before Byzantium", "optional"),
)

PRICED: Columns = (
    Column("block_number", "whole", "1", "height of the block"),
    Column("gas_used", "whole", "gas", "after refunds"),
    _GAS_PRICE,
    Column("effective_gas_price", "whole", "wei / gas", "from the receipt", "optional"),
)

RAW_TRANSACTIONS: Columns = (
    Column("raw", "data", "", "the signed EIP-2718 encoding", "optional"),
    Column("sender_and_unsigned_transaction", "data", "", "measured if `raw` is unknown", "optional"),
    Column("block_number", "whole", "1", "height of the block", "optional"),
    Column("block_hash", "data", "", "", "optional", HASH),
    Column("timestamp", "whole", "s", "time of the block since 1970", "optional"),
    Column("transaction_index", "whole", "1", "index within the block, from 0", "optional"),
    Column("l2_block_index", "whole", "1", "index of the block within a channel, from 0", "optional"),
    Column("hash", "data", "", "hash of the transaction", "optional", HASH),
    Column("type", "whole", "1", "EIP-2718 type", "optional"),
    Column("sender", "data", "", "", "optional", ADDRESS),
    Column("size", "whole", "bytes", "size of `raw`", "optional"),
    Column("gas_limit", "whole", "gas", "gas limit set by the sender", "optional"),
    Column("gas_used", "whole", "gas", "before or after refunds, depending on the source of the file", "optional"),
    Column("status", "flag", "", "whether the transaction succeeded", "optional"),
    Column("gas_price", "whole", "wei / gas", "", "optional"),
    Column("max_fee_per_gas", "whole", "wei / gas", "", "optional"),
    Column("max_priority_fee_per_gas", "whole", "wei / gas", "", "optional"),
    Column("base_fee_per_gas", "whole", "wei / gas", "base fee of the block", "optional"),
    Column("block_extra_data", "data", "", "extra data of the header", "optional"),
    Column("fixed_cost_kwei", "whole", "kwei", "fixed cost in the valid pricing record", "optional"),
    Column("variable_cost_kwei", "whole", "kwei", "variable cost in the valid pricing record", "optional"),
    Column("eth_gas_price_kwei", "whole", "kwei", "gas price in the valid pricing record", "optional"),
    Column("linea_lzss_size", "whole", "bytes", "compressed size by the production compressor", "optional"),
    Column("linea_packed_size", "whole", "bytes", "compressed size after packing into field elements", "optional"),
    Column("source", "text", "", "origin of the row", "optional"),
)

L1_FEES: Columns = (
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
)


def make_table(columns: Columns, arrays: Mapping[str, Any], rows: int) -> pd.DataFrame:
    """Check Arrow arrays (object arrays for amounts), and return them as a table with the given columns.

    Raises `InvalidInput` if a required value is missing or has the wrong length. The error message names the column and
    the row, counted from 1.
    """
    return pd.DataFrame({column.name: _series(column, arrays.get(column.name), rows) for column in columns})


def table_of_rows(
    columns: Columns, rows: Iterable[tuple[str, Mapping[str, Any]]], names: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Convert pairs of (position, JSON object) to a table; error messages contain the positions.

    `names` maps a column of the table to the name of the field in the JSON objects.
    """
    return table_of_cells(columns, (cells_of_row(columns, position, row, names or {}) for position, row in rows))


def cells_of_row(
    columns: Columns,
    position: str,
    row: Mapping[str, Any],
    names: Mapping[str, str],
    scales: Mapping[str, Fraction] | None = None,
    *,
    decimal: bool = False,
) -> list[Any]:
    """Return the values of a JSON object in the order of the columns; missing values are `None`.

    Raises `InvalidInput` for a missing or invalid value; the message names the position and the field.
    """
    scales = scales or {}
    return [
        _cell(column, position, row, names.get(column.name, column.name), scales.get(column.name, ONE), decimal=decimal)
        for column in columns
    ]


def _cell(column: Column, position: str, row: Mapping[str, Any], name: str, scale: Fraction, *, decimal: bool) -> Any:
    value = row.get(name)
    if value is None or (isinstance(value, str) and column.kind != "text" and value in NO_VALUE):
        if column.presence == "always" or (column.presence == "nullable" and name not in row):
            raise InvalidInput(f"{position}: {name}", "expected a value")
        return None
    converted = cell(column.kind, value, f"{position}: {name}", scale, decimal=decimal)
    if column.length is not None and len(converted) != column.length:
        raise InvalidInput(f"{position}: {name}", f"expected {column.length} bytes", value)
    return converted


def table_of_cells(columns: Columns, rows: Iterable[Sequence[Any]]) -> pd.DataFrame:
    """Return a table from rows of `cells_of_row`."""
    arrays = arrays_of_cells(columns, rows)
    return make_table(columns, arrays, len(next(iter(arrays.values()))))


def arrays_of_cells(columns: Columns, rows: Iterable[Sequence[Any]]) -> dict[str, Any]:
    """Convert rows of `cells_of_row` to one Arrow array per column."""
    by_column: Iterator[Sequence[Any]] = zip(*rows, strict=True)
    cells = list(by_column) or [()] * len(columns)
    return {column.name: array_of(column.kind, values) for column, values in zip(columns, cells, strict=True)}


def array_of(kind: Kind, values: Sequence[Any]) -> pa.Array | NDArray[np.object_]:
    """Return an array for `make_table` from results of `cell`."""
    if kind in OBJECTS:
        return objects(values)
    return fees(values, whole=True) if kind == "fee" else pa.array(values, ARROW_TYPES[kind])


def in_order(table: pd.DataFrame, *keys: str) -> pd.DataFrame:
    """Sort a table by the columns `keys`; a table with missing values in these columns is not sorted.

    Raises `InvalidInput` if two rows have the same values in these columns.
    """
    if len(table) < 2 or table[list(keys)].isna().any(axis=None):
        return table
    first = table[keys[0]].to_numpy()
    if len(keys) == 1 and (np.diff(first) > 0).all():  # large tables are usually sorted already
        return table
    table = table.sort_values(list(keys), kind="stable", ignore_index=True)
    twice = table.duplicated(list(keys)).to_numpy()
    if twice.any():
        values = table[list(keys)].to_numpy()[int(np.argmax(twice))].tolist()
        raise InvalidInput(", ".join(keys), "expected unique rows", values[0] if len(values) == 1 else values)
    return table


def _series(column: Column, array: Any, rows: int) -> "pd.Series[Any]":
    if array is None:
        return pd.Series(pd.NA, index=range(rows), dtype=_NULLABLE[column.kind])
    if column.kind in OBJECTS:
        series = pd.Series(array, dtype=object)
        missing = series.isna().to_numpy()
        if column.presence == "always" and missing.any():
            raise InvalidInput(f"row {int(missing.argmax()) + 1}: {column.name}", "expected a value")
        return series.where(~missing, pd.NA)
    if column.presence == "always" and array.null_count:
        raise InvalidInput(f"row {_first(array.is_null())}: {column.name}", "expected a value")
    if column.kind == "fee" and pa.types.is_floating(array.type):
        return pd.Series(array.to_pandas(types_mapper=lambda _: pd.Float64Dtype()))
    if column.length is not None:
        _check_length(column, array)
    return pd.Series(array.to_pandas(types_mapper=lambda _: _NULLABLE[column.kind]), dtype=column.dtype)


def _check_length(column: Column, array: Any) -> None:
    wrong = pc.fill_null(pc.not_equal(pc.binary_length(array), column.length), False)
    if pc.any(wrong).as_py():
        row = _first(wrong)
        raise InvalidInput(f"row {row}: {column.name}", f"expected {column.length} bytes", array[row - 1].as_py())


def _first(flags: Any) -> int:
    return int(np.argmax(flags.to_numpy(zero_copy_only=False))) + 1
