"""Read blocks from cryo Parquet, ethereum-etl CSV, `feemodel fetch` files and `eth_getBlockByNumber` JSON."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from feemodel.errors import InvalidInput
from feemodel.io._documents import contents
from feemodel.io._files import PathLike, container_of, json_items, reading
from feemodel.io._formats import CRYO_BLOCKS, ETL_BLOCKS, read_format
from feemodel.io._tables import BLOCKS, cells_of_row, in_order, table_of_cells

#: Column of the table → field of `eth_getBlockByNumber`.
RPC_NAMES = {
    "block_number": "number",
    "block_hash": "hash",
    "parent_hash": "parentHash",
    "gas_used": "gasUsed",
    "gas_limit": "gasLimit",
    "base_fee_per_gas": "baseFeePerGas",
    "blob_gas_used": "blobGasUsed",
    "excess_blob_gas": "excessBlobGas",
    "extra_data": "extraData",
}


def read_blocks(path: PathLike) -> pd.DataFrame:
    """Read the blocks of a file, sorted by block number.

    Parameters
    ----------
    path : Parquet or CSV file of cryo, ethereum-etl or `feemodel fetch`, or JSON that `parse_blocks` accepts. CSV and
        JSON may be gzipped. The format is recognised from the content, not from the file name.

    Returns
    -------
    Table with the columns of `feemodel.io._tables.BLOCKS`, one row per block.

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
        container = container_of(path)
        if container == "json":
            return parse_blocks(contents(path))
        _, table = read_format(path, container, (CRYO_BLOCKS, ETL_BLOCKS))
        return in_order(table, "block_number")


def parse_blocks(data: bytes | str) -> pd.DataFrame:
    """Parse blocks from `eth_getBlockByNumber` JSON, sorted by block number.

    Parameters
    ----------
    data : a block, a list of blocks, JSON-RPC responses that contain blocks (one response or a batch), or JSON Lines of
        any of these. A block may list its transactions in full or as hashes.

    Returns
    -------
    Table with the columns of `feemodel.io._tables.BLOCKS`, one row per block.

    Raises
    ------
    InvalidInput : invalid JSON, a response with an error, a missing or invalid field, or a duplicate block. The error
        message names the line or the block.

    >>> line = b'{"number": "0x10", "timestamp": "0x65", "gasUsed": "0x5208", "transactions": []}'
    >>> parse_blocks(line)[["block_number", "timestamp", "gas_used"]].to_numpy().tolist()
    [[16, 101, 21000]]
    """
    table = table_of_cells(BLOCKS, (block_cells(position, block) for position, block in rpc_blocks(data)))
    return in_order(table, "block_number")


def block_cells(position: str, block: Mapping[str, Any]) -> list[Any]:
    """Convert a block of `eth_getBlockByNumber` to a row of the table.

    Error messages use `position` as the name of the block.
    """
    transactions = block.get("transactions")
    count = len(transactions) if isinstance(transactions, list) else None
    return cells_of_row(BLOCKS, position, {**block, "transaction_count": count}, RPC_NAMES)


def rpc_blocks(data: bytes | str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each block in the JSON that `parse_blocks` accepts, with its position for error messages."""
    for position, item in json_items(data, "block", "the block"):
        yield position, block_of(position, item)


def block_of(position: str, item: Any) -> dict[str, Any]:
    """Return the block in a JSON object.

    The object is either the block or a JSON-RPC response that contains the block.
    """
    if isinstance(item, dict) and "error" in item:
        raise InvalidInput(position, "the node answered with an error instead of a block", item["error"])
    if isinstance(item, dict) and "result" in item:
        item = item["result"]
        if item is None:
            raise InvalidInput(position, "the node does not have this block", item)
    if not isinstance(item, dict):
        raise InvalidInput(position, "expected a block of eth_getBlockByNumber", item)
    if missing := [name for name in ("number", "timestamp", "gasUsed") if name not in item]:
        raise InvalidInput(
            position, f"not a block of eth_getBlockByNumber: no {', '.join(missing)} in it", sorted(item)
        )
    return item
