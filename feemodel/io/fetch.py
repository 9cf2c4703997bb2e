"""Blocks from a node: as a table, or as a Parquet file that is whole or not there."""

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

import pandas as pd

from feemodel.checks import whole_scalar
from feemodel.errors import InvalidInput, UpstreamError
from feemodel.ethereum.quantities import from_quantity, to_quantity
from feemodel.io.blocks import block_cells
from feemodel.io.files import PathLike, written_whole
from feemodel.io.node import Node
from feemodel.io.tables import ARROW_TYPES, BLOCKS, arrays_of_cells, table_of_cells
from feemodel.processors import map_in_order
from feemodel.progress import Progress, reporting

ROW_GROUP = 10_000  # blocks in memory at a time, some megabytes
MAX_CONNECTIONS = 256
CALLS_PER_REQUEST = 20  # providers limit batches; a block of L1 with its transaction hashes has some 20 kB

_RANGE = re.compile(r"([0-9]{1,18}):([0-9]{1,18})\Z")
_NUMBER, _HASH, _PARENT = (
    next(index for index, column in enumerate(BLOCKS) if column.name == name)
    for name in ("block_number", "block_hash", "parent_hash")
)

Row: TypeAlias = list[Any]


def parse_block_range(text: str) -> range:
    """The blocks of `A:B`: from A on, B not included, as Python and cryo count.

    >>> parse_block_range("19426587:19426590")
    range(19426587, 19426590)
    """
    match = _RANGE.match(text) if isinstance(text, str) else None
    if match is None:
        raise InvalidInput("blocks", "expected A:B, two block numbers, B not included", text)
    first, end = map(int, match.groups())
    if first >= end:
        raise InvalidInput("blocks", "expected A:B with A below B, since B is not included", text)
    return range(first, end)


def get_blocks(
    node: Node,
    blocks: range,
    *,
    concurrency: int = 8,
    calls_per_request: int = CALLS_PER_REQUEST,
    progress: Progress = False,
) -> pd.DataFrame:
    """The blocks of a range as the table `feemodel.io.tables.BLOCKS`.

    Parameters
    ----------
    node : where they are asked for, by `eth_getBlockByNumber`.
    blocks : without gaps.
    concurrency : concurrent requests.
    calls_per_request : blocks in one JSON-RPC batch.
    progress : `True`: a bar on standard error if that is a terminal; or what is called with the number of blocks that
        arrived since the last call.

    Raises `UpstreamError` if a block is missing, is another than was asked for, is not the child of the one before
    it, or lacks a field; the message names the block.
    """
    _check(blocks, concurrency, calls_per_request)
    with (
        reporting(progress, len(blocks), "blocks") as report,
        closing(_rows(node, blocks, concurrency, calls_per_request, report)) as rows,
    ):
        return table_of_cells(BLOCKS, rows)


def fetch_blocks(
    url: str,
    blocks: range,
    out: PathLike,
    *,
    overwrite: bool = False,
    concurrency: int = 8,
    calls_per_request: int = CALLS_PER_REQUEST,
    timeout: float = 10.0,
    retries: int = 4,
    progress: Progress = True,
) -> None:
    """Write the blocks of a range to one Parquet file, which `feemodel.io.read_blocks` reads.

    The file has the columns of `feemodel.io.tables.BLOCKS`, each with its unit and meaning in the field's metadata. It
    appears when it is whole; an error or an interrupt leaves nothing behind. Memory is bounded by a row group of 10,000
    blocks and the requests in progress.

    Parameters
    ----------
    url, timeout, retries : of the node, as `feemodel.io.node.Node` takes them.
    blocks, concurrency, calls_per_request, progress : as `get_blocks` takes them.
    out : the file; refused if it exists, unless `overwrite`.

    Raises `UpstreamError` as `get_blocks` does; `InvalidInput` for a range or file that cannot be.
    """
    _check(blocks, concurrency, calls_per_request)
    with (
        written_whole(out, overwrite=overwrite) as file,
        Node(url, timeout=timeout, retries=retries, connections=concurrency) as node,
        reporting(progress, len(blocks), "blocks") as report,
        closing(_rows(node, blocks, concurrency, calls_per_request, report)) as rows,
    ):
        _write(file, rows)


def _write(file: Any, rows: Iterator[Row]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(
        pa.field(
            column.name,
            ARROW_TYPES[column.kind],
            nullable=column.presence != "always",
            metadata={"unit": column.unit, "meaning": column.meaning},
        )
        for column in BLOCKS
    )
    with pq.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True) as writer:
        while group := list(islice(rows, ROW_GROUP)):
            writer.write_table(pa.table(arrays_of_cells(BLOCKS, group), schema))


def _rows(
    node: Node, blocks: range, concurrency: int, calls_per_request: int, report: Callable[[int], object]
) -> Generator[Row, None, None]:
    """The blocks as rows of the table, in order, each the child of the one before it."""
    _check_head(node, blocks[-1])
    before: Row | None = None
    numbers = (blocks[start : start + calls_per_request] for start in range(0, len(blocks), calls_per_request))
    for part in map_in_order(partial(_part, node), numbers, concurrency):
        for row in part:
            if before is not None and row[_PARENT] != before[_HASH]:
                raise UpstreamError(
                    f"{node.name}: block {row[_NUMBER]} is not the child of block {before[_NUMBER]}: "
                    "the chain was reorganised, or several nodes answer at this address"
                )
            before = row
            yield row
        report(len(part))


def _part(node: Node, numbers: Sequence[int]) -> list[Row]:
    answers = node.batch([("eth_getBlockByNumber", [to_quantity(number), False]) for number in numbers])
    return [_row(node, number, answer) for number, answer in zip(numbers, answers, strict=True)]


def _row(node: Node, number: int, answer: Any) -> Row:
    if answer is None:
        raise UpstreamError(f"{node.name}: block {number} does not exist there")
    if not isinstance(answer, dict):
        raise UpstreamError(f"{node.name}: block {number}: the answer is not a block")
    try:
        row = block_cells(f"block {number}", answer)
    except InvalidInput as error:
        raise UpstreamError(f"{node.name}: {error}") from None
    if row[_NUMBER] != number:
        raise UpstreamError(f"{node.name}: asked for block {number}, was given block {row[_NUMBER]}")
    if row[_HASH] is None or row[_PARENT] is None:
        raise UpstreamError(f"{node.name}: block {number} has no hash, or not that of its parent")
    return row


def _check_head(node: Node, last: int) -> None:
    # Said before an hour of work rather than after it.
    answer = node.call("eth_blockNumber")
    try:
        head = from_quantity(answer, "eth_blockNumber")
    except InvalidInput as error:
        raise UpstreamError(f"{node.name}: {error}") from None
    if last > head:
        raise UpstreamError(f"{node.name}: block {last} does not exist yet, the newest is {head}")


def _check(blocks: range, concurrency: int, calls_per_request: int) -> None:
    if not isinstance(blocks, range) or blocks.step != 1 or not blocks or blocks.start < 0:
        raise InvalidInput("blocks", "expected a range of block numbers with at least one and without gaps", blocks)
    if whole_scalar("concurrency", concurrency, minimum=1) > MAX_CONNECTIONS:
        raise InvalidInput("concurrency", f"expected at most {MAX_CONNECTIONS}", concurrency)
    whole_scalar("calls_per_request", calls_per_request, minimum=1)
