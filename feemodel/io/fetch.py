"""Fetch blocks, and the tips paid in the blocks, from a node into a table."""

import re
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from functools import partial
from typing import Annotated

import pandas as pd

from feemodel.arguments import checked
from feemodel.errors import InvalidInput, UpstreamError
from feemodel.ethereum._quantities import to_quantity
from feemodel.io.fee_history import FeeHistory, parse_fee_history
from feemodel.io.formats import table_of_objects
from feemodel.io.node import Node, NodeError
from feemodel.io.polled import quantity_in
from feemodel.io.tables import BLOCKS
from feemodel.progress import Progress, map_in_order, reporting
from feemodel.quantities import Divisor, Quantity

CALLS_PER_REQUEST = 20  # providers limit the size of batches; an L1 block with its transaction hashes has about 20 kB

_RANGE = re.compile(r"([0-9]{1,18}):([0-9]{1,18})\Z")


def parse_block_range(text: str) -> range:
    """Return the range of blocks `A:B`, which includes A and excludes B, as in Python and cryo.

    >>> parse_block_range("19426587:19426590")
    range(19426587, 19426590)
    """
    match = _RANGE.match(text) if isinstance(text, str) else None
    if match is None or int(match[1]) >= int(match[2]):
        raise InvalidInput("blocks", "expected A:B, two block numbers, A less than B (B is not included)", text)
    return range(int(match[1]), int(match[2]))


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
    concurrency : maximum number of concurrent requests.
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
        closing(_tables(node, blocks, concurrency, calls_per_request, tip_percentile, report)) as tables,
    ):
        return pd.concat(tables, ignore_index=True)


def _tables(
    node: Node,
    blocks: range,
    concurrency: int,
    calls_per_request: int,
    tip_percentile: float | None,
    report: Callable[[int], object],
) -> Generator[pd.DataFrame, None, None]:
    """Yield a table for each request, in order; each block must be the child of the previous block."""
    head = quantity_in("eth_blockNumber", node.call("eth_blockNumber"))
    if blocks[-1] > head:  # known before a download that may take an hour
        raise UpstreamError(f"{node.name}: block {blocks[-1]} does not exist yet, the newest is {head}")
    before: bytes | None = None
    numbers = (blocks[start : start + calls_per_request] for start in range(0, len(blocks), calls_per_request))
    for table in map_in_order(partial(_table, node, tip_percentile), numbers, concurrency):
        for number, own, parent in table[["block_number", "block_hash", "parent_hash"]].itertuples(index=False):
            if before not in (None, parent):
                raise UpstreamError(
                    f"{node.name}: block {number} is not the child of block {number - 1}: the chain was reorganised, "
                    "or several nodes answer at this address"
                )
            before = own
        yield table
        report(len(table))


def _table(node: Node, tip_percentile: float | None, numbers: Sequence[int]) -> pd.DataFrame:
    answers = node.batch([("eth_getBlockByNumber", [to_quantity(number), False]) for number in numbers])
    for number, answer in zip(numbers, answers, strict=True):
        if not isinstance(answer, dict):
            raise UpstreamError(f"{node.name}: expected block {number}, the node returned {answer!r:.80}")
    where = f"{node.name}: blocks {numbers[0]} to {numbers[-1]}"
    try:
        table = table_of_objects(answers, BLOCKS)
    except InvalidInput as error:
        raise UpstreamError(f"{where}: {error}") from None
    if (returned := table["block_number"].tolist()) != list(numbers):
        raise UpstreamError(f"{where}: the node returned blocks {returned}")
    if table[["block_hash", "parent_hash"]].isna().any(axis=None):
        raise UpstreamError(f"{where}: a block has no hash, or no parent hash")
    if tip_percentile is None:
        return table
    return _with_fees(node, table, _fee_history(node, numbers, tip_percentile))


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


def _with_fees(node: Node, table: pd.DataFrame, history: FeeHistory) -> pd.DataFrame:
    """Return blocks with the tips and blob base fees of their fee history."""
    for number, fee, own in zip(table["block_number"], history.base_fees, table["base_fee_per_gas"], strict=False):
        if fee != (0 if own is pd.NA else own):  # 0 before London
            raise UpstreamError(
                f"{node.name}: block {number}: the base fee is {fee} in eth_feeHistory, but {own} in the header: the "
                "chain was reorganised, or several nodes answer at this address"
            )
    tips = [row[0] for row in history.rewards] or [0] * len(table)
    blob_fees = [fee or pd.NA for fee in history.blob_base_fees[: len(table)]] or pd.NA  # 0: the minimum is 1
    return table.assign(
        tip=pd.Series(tips, dtype="Int64"),
        blob_base_fee=pd.Series(blob_fees, table.index, dtype="Int64").where(table["excess_blob_gas"].notna()),
    )


Percentile = Annotated[float, Quantity("1", "percentile of priority fees", double=True, maximum=100)]


@checked
def _check(blocks: range, concurrency: Divisor, calls_per_request: Divisor, tip_percentile: Percentile | None) -> None:
    if blocks.step != 1 or not blocks or blocks.start < 0:
        raise InvalidInput("blocks", "expected a range of at least one block number, with step 1", blocks)
