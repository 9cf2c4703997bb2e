"""Fetch blocks, and the tips paid in the blocks, from a node into a table or a Parquet file."""

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

import pandas as pd

from feemodel._processors import map_in_order
from feemodel.checks import whole_scalar
from feemodel.errors import InvalidInput, UpstreamError
from feemodel.ethereum._quantities import from_quantity, to_quantity
from feemodel.io.blocks import checked_percentile, with_count
from feemodel.io.fee_history import FeeHistory, parse_fee_history
from feemodel.io.files import PathLike, written_whole
from feemodel.io.formats import arrays_of_rows, cells_of
from feemodel.io.node import Node, NodeError
from feemodel.io.tables import BLOCKS, make_table
from feemodel.io.values import ARROW_TYPES
from feemodel.progress import Progress, reporting

ROW_GROUP = 10_000  # number of blocks held in memory at a time, which take a few megabytes
MAX_CONNECTIONS = 256
CALLS_PER_REQUEST = 20  # providers limit the size of batches; an L1 block with its transaction hashes has about 20 kB

_RANGE = re.compile(r"([0-9]{1,18}):([0-9]{1,18})\Z")
Row: TypeAlias = dict[str, Any]  # values of a block by column


def parse_block_range(text: str) -> range:
    """Parse a range of blocks `A:B`, which includes A and excludes B, as in Python and cryo.

    Parameters
    ----------
    text : two block numbers, separated by a colon.

    Returns
    -------
    The range of block numbers.

    Raises
    ------
    InvalidInput : the text does not have the form `A:B`, or A is not less than B.

    >>> parse_block_range("19426587:19426590")
    range(19426587, 19426590)
    """
    match = _RANGE.match(text) if isinstance(text, str) else None
    if match is None:
        raise InvalidInput("blocks", "expected A:B, two block numbers (B is not included)", text)
    first, end = map(int, match.groups())
    if first >= end:
        raise InvalidInput("blocks", "expected A:B with A less than B (B is not included)", text)
    return range(first, end)


def get_blocks(
    node: Node,
    blocks: range,
    *,
    tip_percentile: float | None = None,
    concurrency: int = 8,
    calls_per_request: int = CALLS_PER_REQUEST,
    progress: Progress = False,
) -> pd.DataFrame:
    """Fetch a range of blocks from a node.

    Parameters
    ----------
    node : node that answers `eth_getBlockByNumber`.
    blocks : consecutive block numbers.
    tip_percentile : percentile of the tips in a block, weighted by gas used, from 0 to 100. The tip of a block without
        transactions is 0. The columns `tip` and `blob_base_fee` are filled from `eth_feeHistory`, with one more request
        per batch. If `tip_percentile` is `None`, the columns `tip` and `blob_base_fee` stay empty.
    concurrency : maximum number of concurrent requests, up to 256.
    calls_per_request : number of blocks in one JSON-RPC batch.
    progress : `True` shows a progress bar if standard error is a terminal. If `progress` is a function, it is called
        with the number of blocks received since the previous call.

    Returns
    -------
    Table with the columns of `feemodel.io.tables.BLOCKS`, one row per block, in order of block number.

    Raises
    ------
    InvalidInput : an invalid range, percentile, concurrency or batch size.
    UpstreamError : the node cannot be reached; a block is missing, has a wrong number, lacks a field or is not the
        child of the previous block; or `tip_percentile` is given and the node has no fee history of these blocks. The
        error message names the block.

    >>> get_blocks(Node("http://localhost:8545"), range(7, 7))
    Traceback (most recent call last):
    feemodel.errors.InvalidInput: blocks: expected a range of at least one block number, with step 1, \
got range(7, 7)
    """
    _check(blocks, concurrency, calls_per_request, tip_percentile)
    with (
        reporting(progress, len(blocks), "blocks") as report,
        closing(_rows(node, blocks, concurrency, calls_per_request, tip_percentile, report)) as rows,
    ):
        return make_table(BLOCKS.columns, arrays_of_rows(BLOCKS, list(rows)), len(blocks))


def fetch_blocks(
    url: str,
    blocks: range,
    out: PathLike,
    *,
    overwrite: bool = False,
    tip_percentile: float | None = None,
    concurrency: int = 8,
    calls_per_request: int = CALLS_PER_REQUEST,
    timeout: float = 10.0,
    retries: int = 4,
    progress: Progress = True,
) -> None:
    """Fetch a range of blocks from a node and write them to a Parquet file, which `feemodel.io.read_blocks` reads.

    The file has the columns of `feemodel.io.tables.BLOCKS`; the metadata of each field states its unit and meaning.
    The file becomes visible only after it is complete; an error or an interrupt leaves no file. Memory holds at most
    10,000 blocks, plus the blocks of pending requests.

    Parameters
    ----------
    url : address of the node, http:// or https://.
    blocks : consecutive block numbers.
    out : path of the file.
    overwrite : whether to replace a file that exists.
    tip_percentile : percentile of the tips in a block, weighted by gas used, from 0 to 100. The columns `tip` and
        `blob_base_fee` are filled from `eth_feeHistory`, but stay empty if `tip_percentile` is `None`.
    concurrency : maximum number of concurrent requests, up to 256.
    calls_per_request : number of blocks in one JSON-RPC batch.
    timeout : maximum time of an attempt, including the wait for a free connection [s].
    retries : number of retries after a failed attempt.
    progress : `True` shows a progress bar if standard error is a terminal. If `progress` is a function, it is called
        with the number of blocks received since the previous call.

    Raises
    ------
    InvalidInput : an invalid range, address or limit, a file that exists although `overwrite` is not set, or a folder
        that is not writable.
    UpstreamError : the node cannot be reached; a block is missing, has a wrong number, lacks a field or is not the
        child of the previous block; or `tip_percentile` is given and the node has no fee history of these blocks.

    >>> fetch_blocks("http://localhost:8545", range(7, 7), "blocks.parquet")
    Traceback (most recent call last):
    feemodel.errors.InvalidInput: blocks: expected a range of at least one block number, with step 1, \
got range(7, 7)
    """
    _check(blocks, concurrency, calls_per_request, tip_percentile)
    with (
        written_whole(out, overwrite=overwrite) as file,
        Node(url, timeout=timeout, retries=retries, connections=concurrency) as node,
        reporting(progress, len(blocks), "blocks") as report,
        closing(_rows(node, blocks, concurrency, calls_per_request, tip_percentile, report)) as rows,
    ):
        _write(file, rows, tip_percentile)


def _write(file: Any, rows: Iterator[Row], tip_percentile: float | None) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(
        pa.field(
            column.name,
            ARROW_TYPES[column.kind],
            nullable=column.presence != "always",
            metadata={"unit": column.unit, "meaning": column.meaning}
            | ({"percentile": f"{tip_percentile:g}"} if column.name == "tip" and tip_percentile is not None else {}),
        )
        for column in BLOCKS.columns
    )
    with pq.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True) as writer:
        while group := list(islice(rows, ROW_GROUP)):
            writer.write_table(pa.table(arrays_of_rows(BLOCKS, group), schema))


def _rows(
    node: Node,
    blocks: range,
    concurrency: int,
    calls_per_request: int,
    tip_percentile: float | None,
    report: Callable[[int], object],
) -> Generator[Row, None, None]:
    """Yield the blocks as rows of the table, in order; each block must be the child of the previous block."""
    _check_head(node, blocks[-1])
    before: Row | None = None
    numbers = (blocks[start : start + calls_per_request] for start in range(0, len(blocks), calls_per_request))
    for part in map_in_order(partial(_part, node, tip_percentile), numbers, concurrency):
        for row in part:
            if before is not None and row["parent_hash"] != before["block_hash"]:
                raise UpstreamError(
                    f"{node.name}: block {row['block_number']} is not the child of block {before['block_number']}: "
                    "the chain was reorganised, or several nodes answer at this address"
                )
            before = row
            yield row
        report(len(part))


def _part(node: Node, tip_percentile: float | None, numbers: Sequence[int]) -> list[Row]:
    answers = node.batch([("eth_getBlockByNumber", [to_quantity(number), False]) for number in numbers])
    rows = [_row(node, number, answer) for number, answer in zip(numbers, answers, strict=True)]
    if tip_percentile is not None:
        _add_fees(node, rows, _fee_history(node, numbers, tip_percentile))
    return rows


def _fee_history(node: Node, numbers: Sequence[int], percentile: float) -> FeeHistory:
    """Return the fee history of consecutive blocks; raises `UpstreamError` if the history lacks any of the blocks."""
    where = f"{node.name}: eth_feeHistory of blocks {numbers[0]} to {numbers[-1]}"
    asked = int(percentile) if percentile == int(percentile) else percentile
    try:
        answer = node.call("eth_feeHistory", [to_quantity(len(numbers)), to_quantity(numbers[-1]), [asked]])
        history = parse_fee_history(answer)
    except NodeError as error:
        reason = f"{where}: {error.message} (code {error.code}); omit the tips to request only headers"
        raise UpstreamError(reason) from None
    except InvalidInput as error:
        raise UpstreamError(f"{where}: {error}") from None
    count, used = len(history.gas_used_ratios), any(history.gas_used_ratios)
    if (history.oldest_block, count) != (numbers[0], len(numbers)):
        raise UpstreamError(
            f"{where}: the response has {count} blocks from block {history.oldest_block} on: "
            "older blocks are pruned, or the node limits the number of blocks"
        )
    answered = len(history.rewards[0]) if history.rewards else 0
    if answered != 1 and (used or answered):
        raise UpstreamError(f"{where}: expected rewards of 1 percentile, the response has {answered}")
    return history


def _add_fees(node: Node, rows: list[Row], history: FeeHistory) -> None:
    """Set the tip and the blob base fee in the rows of blocks, from the fee history of these blocks."""
    for index, row in enumerate(rows):
        if history.base_fees[index] != (row["base_fee_per_gas"] or 0):  # 0 before London
            raise UpstreamError(
                f"{node.name}: block {row['block_number']}: the base fee is {history.base_fees[index]} in "
                f"eth_feeHistory, but {row['base_fee_per_gas']} in the header: the chain was reorganised, or several "
                "nodes answer at this address"
            )
        if row["excess_blob_gas"] is not None and history.blob_base_fees:
            row["blob_base_fee"] = history.blob_base_fees[index] or None  # 0 means no blob base fee (the minimum is 1)
        row["tip"] = history.rewards[index][0] if history.rewards else 0


def _row(node: Node, number: int, answer: Any) -> Row:
    if answer is None:
        raise UpstreamError(f"{node.name}: the node has no block {number}")
    if not isinstance(answer, dict):
        raise UpstreamError(f"{node.name}: block {number}: the answer is not a block")
    try:
        row = cells_of(BLOCKS, f"block {number}", with_count(answer))
    except InvalidInput as error:
        raise UpstreamError(f"{node.name}: {error}") from None
    if row["block_number"] != number:
        raise UpstreamError(f"{node.name}: expected block {number}, the node returned block {row['block_number']}")
    if row["block_hash"] is None or row["parent_hash"] is None:
        raise UpstreamError(f"{node.name}: block {number} has no hash, or no parent hash")
    return row


def _check_head(node: Node, last: int) -> None:
    # Before a download that may take an hour, check that the node has the last requested block.
    answer = node.call("eth_blockNumber")
    try:
        head = from_quantity(answer, "eth_blockNumber")
    except InvalidInput as error:
        raise UpstreamError(f"{node.name}: {error}") from None
    if last > head:
        raise UpstreamError(f"{node.name}: block {last} does not exist yet, the newest is {head}")


def _check(blocks: range, concurrency: int, calls_per_request: int, tip_percentile: float | None) -> None:
    if not isinstance(blocks, range) or blocks.step != 1 or not blocks or blocks.start < 0:
        raise InvalidInput("blocks", "expected a range of at least one block number, with step 1", blocks)
    if whole_scalar("concurrency", concurrency, minimum=1) > MAX_CONNECTIONS:
        raise InvalidInput("concurrency", f"expected at most {MAX_CONNECTIONS}", concurrency)
    whole_scalar("calls_per_request", calls_per_request, minimum=1)
    if tip_percentile is not None:
        checked_percentile("tip_percentile", tip_percentile)
