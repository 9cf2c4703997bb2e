"""Read transactions from cryo, ethereum-etl, Dune, a node or other tables, and read files of measured sizes."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from feemodel.errors import InvalidInput
from feemodel.ethereum._transaction_fields import FIELD_OF
from feemodel.ethereum._transaction_table import as_table, columns_of, is_table
from feemodel.io.files import column_names, container_of, contents, json_objects, reading
from feemodel.io.formats import read_table, table_of_frame, table_of_objects
from feemodel.io.tables import RAW_TRANSACTIONS, TRANSACTIONS, Schema, in_order

PAYLOADS = ("raw", "sender_and_unsigned_transaction")


def read_transactions(source: Any, *, columns: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Read the transactions of a file or of a table, sorted by block number and index.

    Parameters
    ----------
    source : table of pandas, polars or Arrow; or the path of a Parquet or CSV file of cryo, ethereum-etl, Dune or
        another source, of JSON that `parse_transactions` accepts, or of raw transactions, one per line. CSV and JSON
        may be gzipped. The format is recognised from the content. Raw transactions, and transactions without a block
        number and an index, stay in their order. A cryo file needs `value_string` or `value_binary`, because
        `value_f64` is not exact.
    columns : column of the table → column of the source, for names that are not those of Dune, cryo, ethereum-etl or
        a node. A name may be followed by a unit, if the source has another unit than the table:
        `{"input": "payload", "gas_price": "price:gwei"}`.

    Returns
    -------
    Table with the columns of `feemodel.io.tables.TRANSACTIONS`, or of `RAW_TRANSACTIONS` for raw transactions, one row
    per transaction. Columns that the source lacks are `<NA>`.

    Raises
    ------
    UnreadableFile : the file is missing, truncated or of an unknown format, or contains an invalid value or a duplicate
        transaction. The error message names the file, the row and the value.
    InvalidInput : the same faults of a table.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "transactions.csv")
    ...     _ = path.write_text(
    ...         f"nonce,from_address,to_address,value,input,gas_limit\\n5,0x{'11' * 20},0x{'22' * 20},7,0x,21000\\n"
    ...     )
    ...     read_transactions(path)[["nonce", "value", "gas_limit"]].to_numpy().tolist()
    [[5, 7, 21000]]
    """
    if is_table(frame := as_table(source)):
        columns_of(frame := frame.set_axis([*map(str, frame.columns)], axis=1))  # refuses a name that occurs twice
        return _ordered(table_of_frame(frame, _schema(frame.columns, columns), columns))
    with reading(source):
        if container_of(source) == "json":
            return parse_transactions(contents(source), columns=columns)
        names = column_names(source, container_of(source))
        return _ordered(read_table(source, _schema(names, columns), columns))


def _schema(names: Iterable[str], columns: Mapping[str, str] | None) -> Schema:
    known = {*names, *(columns if isinstance(columns, Mapping) else ())}
    return TRANSACTIONS if known.isdisjoint(PAYLOADS) else RAW_TRANSACTIONS


def _ordered(table: pd.DataFrame) -> pd.DataFrame:
    return table if "raw" in table else in_order(table, "block_number", "transaction_index")


def parse_transactions(data: bytes | str, *, columns: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Parse transactions from JSON or from lines, sorted by block number and index.

    Parameters
    ----------
    data : one of the following: blocks with full transactions (one, a list, or one per line);
        responses of `eth_getTransactionByHash`; transactions in a list or one per line, with the field names of
        `read_transactions`; the response of a Dune query; or raw transactions, one per line. A raw
        transaction is the signed EIP-2718 encoding in hexadecimal with 0x, or a JSON object with `raw` (the signed
        encoding) or `sender_and_unsigned_transaction`, and any other columns of the table. Other fields are ignored.
    columns : column of the table → field of the data, for other field names. A name may be followed by a unit, if the
        data does not use the unit of the table: `{"gas_price": "price:gwei"}`.

    Returns
    -------
    Table with the columns of `feemodel.io.tables.TRANSACTIONS`, or of `RAW_TRANSACTIONS` for raw transactions, one row
    per transaction.

    Raises
    ------
    InvalidInput : invalid JSON, a missing or invalid field, a duplicate transaction, or a block that has only the
        hashes of its transactions. The error message names the row.

    >>> parse_transactions(b'{"number": "0x10", "timestamp": "0x65", "gasUsed": "0x5208", "transactions": ["0x11"]}')
    Traceback (most recent call last):
    feemodel.errors.InvalidInput: transactions: expected full transactions (eth_getBlockByNumber with true), got '0x11'
    >>> parse_transactions('{"raw": "0x02f87782e708", "gas_used": 21000}\\n0x02f87782e709')["raw"].to_list()
    [b'\\x02\\xf8w\\x82\\xe7\\x08', b'\\x02\\xf8w\\x82\\xe7\\t']
    """
    rows = [row for item in json_objects(data) for row in _of_block(item)]
    return _ordered(table_of_objects(rows, _schema(rows[0] if rows else (), columns), columns))


def _of_block(item: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the transactions of a block, or a transaction itself."""
    transactions = item.get("transactions")
    if not isinstance(transactions, list):
        yield item
        return
    for transaction in transactions:
        if not isinstance(transaction, dict):
            reason = "expected full transactions (eth_getBlockByNumber with true)"
            raise InvalidInput("transactions", reason, transaction)
        own = {name: value for name, value in transaction.items() if FIELD_OF.get(name) != "timestamp"}
        yield {"timestamp": item.get("timestamp"), **own}
