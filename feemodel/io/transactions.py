"""Transactions from cryo Parquet, ethereum-etl CSV and `eth_getBlockByNumber` JSON, as one table."""

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from feemodel.errors import InvalidInput
from feemodel.io.blocks import rpc_blocks
from feemodel.io.files import PathLike, container_of, opened, reading
from feemodel.io.formats import CRYO_TRANSACTIONS, ETL_RECEIPTS, ETL_TRANSACTIONS, read_format
from feemodel.io.tables import TRANSACTIONS, in_order, table_of_rows
from feemodel.units import to_hex

#: The names of a transaction within `eth_getBlockByNumber` for the columns of the table.
RPC_NAMES = {
    "block_number": "blockNumber",
    "transaction_index": "transactionIndex",
    "transaction_hash": "hash",
    "transaction_type": "type",
    "chain_id": "chainId",
    "from_address": "from",
    "to_address": "to",
    "gas_limit": "gas",
    "gas_price": "gasPrice",
    "max_fee_per_gas": "maxFeePerGas",
    "max_priority_fee_per_gas": "maxPriorityFeePerGas",
}

RECEIPT_COLUMNS = ("gas_used", "effective_gas_price", "success")


def read_transactions(path: PathLike, *, receipts: PathLike | None = None) -> pd.DataFrame:
    """The transactions of a file as the table `feemodel.io.tables.TRANSACTIONS`, sorted by block and index.

    Parameters
    ----------
    path : a cryo Parquet file, an ethereum-etl CSV file (either may be CSV or Parquet, CSV and JSON may be gzipped), or
        JSON as `parse_transactions` takes it. What it is is seen by its content. Of cryo's columns for the value,
        `value_string` or `value_binary` must be there: `value_f64` alone has lost the last digits and is refused.
    receipts : the receipts of ethereum-etl for the same transactions, whence `gas_used`, `success` and
        `effective_gas_price`.

    Raises `UnreadableFile`, which names the file, the place and what was found there, if it is missing, cut off, of no
    known format, has a value that does not fit, a transaction twice, or one without its receipt.
    """
    with reading(path):
        container = container_of(path)
        if container == "json":
            with opened(path) as file:
                table = parse_transactions(file.read())
        else:
            _, table = read_format(path, container, (CRYO_TRANSACTIONS, ETL_TRANSACTIONS))
            table = in_order(table, "block_number", "transaction_index")
    return table if receipts is None else _with_receipts(table, receipts)


def parse_transactions(data: bytes) -> pd.DataFrame:
    """The transactions of `eth_getBlockByNumber` JSON as the table `feemodel.io.tables.TRANSACTIONS`.

    Parameters
    ----------
    data : blocks as `feemodel.io.parse_blocks` takes them, with their transactions whole.

    Raises `InvalidInput` that names the place; a block whose transactions are hashes only is refused.

    >>> parse_transactions(b'{"number": "0x10", "timestamp": "0x65", "gasUsed": "0x5208", "transactions": ["0x11"]}')
    Traceback (most recent call last):
    feemodel.errors.InvalidInput: the block: has transaction hashes only: ask eth_getBlockByNumber for whole \
transactions, got '0x11'
    """
    table = table_of_rows(TRANSACTIONS, _rpc_transactions(data), RPC_NAMES)
    return in_order(table, "block_number", "transaction_index")


def _rpc_transactions(data: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    for place, block in rpc_blocks(data):
        transactions = block.get("transactions")
        if not isinstance(transactions, list):
            raise InvalidInput(place, "expected a list of transactions", transactions)
        for index, transaction in enumerate(transactions):
            if not isinstance(transaction, dict):
                reason = "has transaction hashes only: ask eth_getBlockByNumber for whole transactions"
                raise InvalidInput(place, reason, transaction)
            yield f"{place}, transaction {index}", {"timestamp": block["timestamp"], **transaction}


def _with_receipts(table: pd.DataFrame, path: PathLike) -> pd.DataFrame:
    with reading(path):
        _, receipts = read_format(path, container_of(path), (ETL_RECEIPTS,))
        if (twice := receipts["transaction_hash"].duplicated()).any():
            _refuse("expected one receipt a transaction, two for", receipts["transaction_hash"], twice.to_numpy())
        rows = pd.Index(receipts["transaction_hash"]).get_indexer(pd.Index(table["transaction_hash"]))
        if (rows < 0).any():
            _refuse("expected a receipt for every transaction, none for", table["transaction_hash"], rows < 0)
    return table.assign(**{name: receipts[name].take(rows).astype(table[name].dtype).array for name in RECEIPT_COLUMNS})


def _refuse(reason: str, hashes: "pd.Series[Any]", bad: NDArray[np.bool_]) -> NoReturn:
    raise InvalidInput("transaction_hash", reason, to_hex(hashes.iloc[int(bad.argmax())]))
