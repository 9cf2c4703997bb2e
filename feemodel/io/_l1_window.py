"""Recent L1 fees (30 days by default), read from a node and updated on each request."""

import asyncio
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from feemodel.errors import InvalidInput, UpstreamError
from feemodel.ethereum._quantities import to_quantity
from feemodel.io._async_node import AsyncNode, NodeError
from feemodel.io._l1_fees import FeeHistory, parse_fee_history
from feemodel.io._polled import ChainId, Head

PART = 1_024  # maximum number of blocks in a response of eth_feeHistory, as in geth
TOGETHER = 4  # number of concurrent requests
REORGANISED = 64  # number of newest blocks (two epochs) to request again, because a reorganisation may replace them
BLOCKS = 30 * 7_200  # number of slots in 30 days


@dataclass(frozen=True, slots=True)
class Part:
    """Fees of consecutive blocks, with the time of the first block."""

    timestamp: int  #: Unix time of the first block [s]
    fees: FeeHistory


@dataclass(frozen=True, slots=True)
class Window:
    """Fees of the newest blocks of L1."""

    columns: dict[str, Any]  #: input of `feemodel.simulation.scenarios.replay`; all rows have the same tip
    chain_id: int


class L1Window:
    """L1 fees of the newest blocks, for use in one event loop.

    The time of every 1,024th block is requested; the times of the blocks in between are interpolated linearly.

    Parameters
    ----------
    node : node of L1.
    chain_id : chain id that the node must report; if unknown, the first response sets the chain id.
    blocks : length of the window [blocks].
    tip_blocks : number of newest blocks over which the median of the tips is taken.
    tip_percentile : percentile of the tips in a block, weighted by gas used [%].
    max_age : maximum age of the newest block [s].
    """

    def __init__(
        self,
        node: AsyncNode,
        chain_id: ChainId,
        *,
        blocks: int = BLOCKS,
        tip_blocks: int = 50,
        tip_percentile: float = 50.0,
        max_age: float = 600.0,
    ) -> None:
        self._node, self._chain_id, self._blocks, self._max_age = node, chain_id, blocks, max_age
        self._tips = (tip_blocks, tip_percentile)
        self._parts: dict[int, Part] = {}  # number of the first block of a part of the window → part
        self._reading: asyncio.Task[Window] | None = None

    async def read(self, seconds: float) -> Window:
        """Return the fees up to the newest block.

        Parameters
        ----------
        seconds : maximum time to wait. If reading takes longer than `seconds`, the download continues in the
            background, so that the next call needs less time.

        Raises `UpstreamError` if the node does not respond, if the node's newest block is too old, or if reading takes
        longer than `seconds`.
        """
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read())
            self._reading.add_done_callback(_retrieved)
        try:
            return await asyncio.wait_for(asyncio.shield(self._reading), seconds)
        except TimeoutError:
            held = f"{len(self._parts) * PART:,} of {self._blocks:,} blocks"
            raise UpstreamError(f"the history of L1 fees is not complete: {held} were read; try again later") from None

    async def close(self) -> None:
        """Stop reading and close the connections."""
        if self._reading is not None:
            self._reading.cancel()
        await self._node.close()

    async def _read(self) -> Window:
        count, percentile = self._tips
        asked: list[Any] = [("eth_chainId", []), ("eth_getBlockByNumber", ["latest", False])]
        asked.append(("eth_feeHistory", [to_quantity(count), "latest", [percentile]]))
        chain_id, newest, tips = map(self._node.own, await self._node.outcomes(asked))
        known, head = self._chain_id.check(chain_id), Head.parse(newest)
        if abs(age := time.time() - head.timestamp) > self._max_age:
            raise UpstreamError(f"L1 fees: {age:,.0f} s old, more than max_age, {self._max_age:g} s")
        first = max(head.number - self._blocks, 0) // PART * PART
        self._parts = {start: part for start, part in self._parts.items() if start >= first}
        missing = [start for start in range(first, head.number + 1, PART) if start not in self._parts][::-1]
        for index in range(0, len(missing), TOGETHER):
            starts = missing[index : index + TOGETHER]
            try:
                found = await asyncio.gather(*(self._part(start, head.number) for start in starts))
            except NodeError as error:
                if not index:
                    raise UpstreamError(f"the node: {error}") from None
                break  # the node has no older blocks
            self._parts |= dict(zip(starts, found, strict=True))
        window = Window(self._columns(head, _median_tip(tips)), known)
        for start in [start for start in self._parts if start + PART > head.number - REORGANISED]:
            del self._parts[start]
        return window

    async def _part(self, start: int, head: int) -> Part:
        """Return the part of the window that begins at a block; raises `NodeError` if the node returns an error."""
        count = min(PART, head + 1 - start)
        history, block = await self._node.outcomes(
            [
                ("eth_feeHistory", [to_quantity(count), to_quantity(start + count - 1), []]),
                ("eth_getBlockByNumber", [to_quantity(start), False]),
            ]
        )
        for outcome in (history, block):
            if isinstance(outcome, NodeError):
                raise outcome
        fees, first = _parsed(history), Head.parse(block)
        if (fees.oldest_block, len(fees.gas_used_ratios), first.number) != (start, count, start):
            raise UpstreamError(f"the node: eth_feeHistory: expected {count:,} blocks from block {start:,} on")
        return Part(first.timestamp, fees)

    def _columns(self, head: Head, tip: float) -> dict[str, Any]:
        starts = sorted(self._parts)
        starts = [start for start in starts if all(later in self._parts for later in range(start, starts[-1], PART))]
        parts = [self._parts[start].fees for start in starts]
        numbers = np.arange(starts[0], head.number + 1)
        known = [(start, self._parts[start].timestamp) for start in starts if start < head.number]
        at, times = zip(*known, (head.number, head.timestamp), strict=True)
        columns: dict[str, Any] = {
            "timestamp": np.interp(numbers, at, times),
            "base_fee": np.concatenate([part.base_fees[:-1] for part in parts]),
            "gas_used_ratio": np.concatenate([part.gas_used_ratios for part in parts]),
            "tip": np.full(len(numbers), tip),
        }
        if all(any(part.blob_base_fees[:-1]) for part in parts):
            columns["blob_base_fee"] = np.concatenate([part.blob_base_fees[:-1] for part in parts])
        return columns


def _retrieved(task: asyncio.Task[Window]) -> None:
    """Retrieve the exception of a task, because asyncio would log an exception that is never retrieved."""
    if not task.cancelled():
        task.exception()


def _parsed(history: Any) -> FeeHistory:
    try:
        return parse_fee_history(history)
    except InvalidInput as error:
        raise UpstreamError(f"the node: eth_feeHistory: {error}") from None


def _median_tip(tips: Any) -> float:
    rewards = [row[0] for row in _parsed(tips).rewards]
    if not rewards:
        raise UpstreamError("the node: eth_feeHistory: expected a reward for each block")
    return float(np.median(rewards))


async def fetch_fee_history(
    node: AsyncNode, chain: ChainId, *, blocks: int, percentile: float
) -> tuple[FeeHistory, int]:
    """Return the fee history of a node's newest blocks, and the Unix time of the newest block [s].

    Parameters
    ----------
    node : node of L1.
    chain : chain id that the node must have.
    blocks : number of blocks in the history.
    percentile : percentile of the tips in a block, weighted by gas used [%].

    Raises `UpstreamError` if the node has another chain id, or returns a block that was not requested.
    """
    asked = [to_quantity(blocks), "latest", [percentile]]
    chain_id, answer = map(node.own, await node.outcomes([("eth_chainId", []), ("eth_feeHistory", asked)]))
    chain.check(chain_id)
    history = _parsed(answer)
    newest = history.oldest_block + len(history.gas_used_ratios) - 1
    head = Head.parse(node.own(await node.outcome("eth_getBlockByNumber", [to_quantity(newest), False])))
    if head.number != newest:
        raise UpstreamError(f"the node: expected block {newest}, it returned block {head.number}")
    return history, head.timestamp
