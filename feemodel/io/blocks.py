"""Blocks from cryo Parquet, ethereum-etl CSV, `feemodel fetch` and `eth_getBlockByNumber` JSON, as one table."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from feemodel.errors import InvalidInput
from feemodel.io.documents import contents
from feemodel.io.files import PathLike, container_of, json_items, reading
from feemodel.io.formats import CRYO_BLOCKS, ETL_BLOCKS, read_format
from feemodel.io.tables import BLOCKS, cells_of_row, in_order, table_of_cells

#: The names of `eth_getBlockByNumber` for the columns of the table.
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
    """The blocks of a file as the table `feemodel.io.tables.BLOCKS`, sorted by block number.

    Parameters
    ----------
    path : a cryo or `feemodel fetch` Parquet file, an ethereum-etl CSV file (either may be CSV or Parquet, CSV and JSON
        may be gzipped), or JSON as `parse_blocks` takes it. What it is is seen by its content.

    Raises `UnreadableFile`, which names the file, the place and what was found there, if it is missing, cut off, of no
    known format, or has a value that does not fit or a block twice.
    """
    with reading(path):
        container = container_of(path)
        if container == "json":
            return parse_blocks(contents(path))
        _, table = read_format(path, container, (CRYO_BLOCKS, ETL_BLOCKS))
        return in_order(table, "block_number")


def parse_blocks(data: bytes | str) -> pd.DataFrame:
    """The blocks of `eth_getBlockByNumber` JSON as the table `feemodel.io.tables.BLOCKS`.

    Parameters
    ----------
    data : a block, a list of blocks, JSON-RPC responses that hold them (one or a batch), or JSON Lines of any of
        these; the transactions of a block whole or as hashes.

    Raises `InvalidInput` that names the place.

    >>> line = b'{"number": "0x10", "timestamp": "0x65", "gasUsed": "0x5208", "transactions": []}'
    >>> parse_blocks(line)[["block_number", "timestamp", "gas_used"]].to_numpy().tolist()
    [[16, 101, 21000]]
    """
    table = table_of_cells(BLOCKS, (block_cells(place, block) for place, block in rpc_blocks(data)))
    return in_order(table, "block_number")


def block_cells(place: str, block: Mapping[str, Any]) -> list[Any]:
    """One block of `eth_getBlockByNumber` as a row of the table."""
    transactions = block.get("transactions")
    count = len(transactions) if isinstance(transactions, list) else None
    return cells_of_row(BLOCKS, place, {**block, "transaction_count": count}, RPC_NAMES)


def rpc_blocks(data: bytes | str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The blocks within the JSON that `parse_blocks` takes, each with its place."""
    for place, item in json_items(data, "block", "the block"):
        yield place, block_of(place, item)


def block_of(place: str, item: Any) -> dict[str, Any]:
    """The block that an object is, or the response of a node that holds it."""
    if isinstance(item, dict) and "error" in item:
        raise InvalidInput(place, "the node answered with an error instead of a block", item["error"])
    if isinstance(item, dict) and "result" in item:
        item = item["result"]
        if item is None:
            raise InvalidInput(place, "the node does not have this block", item)
    if not isinstance(item, dict):
        raise InvalidInput(place, "expected a block of eth_getBlockByNumber", item)
    if missing := [name for name in ("number", "timestamp", "gasUsed") if name not in item]:
        raise InvalidInput(place, f"not a block of eth_getBlockByNumber: no {', '.join(missing)} in it", sorted(item))
    return item
