"""`rollup_estimateGas`: the gas of one source, then the measured size, then the fee at the current prices.

The source is a chain of this process, or a node that is asked.
"""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple, Protocol

import msgspec

from feemodel.errors import InvalidInput
from feemodel.estimates.json_types import (
    MAX_BLOCKS,
    CallObject,
    EstimateOption,
    Quantity,
    StateOverride,
    read_overrides,
)
from feemodel.estimates.prices import Prices
from feemodel.estimates.rollup import Measuring, check_rollup_call
from feemodel.ethereum._block_id import EIP_1898_FIELDS, BlockId, read_block
from feemodel.ethereum._call import as_integer
from feemodel.ethereum._transaction import Transaction
from feemodel.execution._limits import Limits

LONG = 8_192  # size of calldata above which it is measured in a thread; some codecs may take seconds [byte]


class Gas(NamedTuple):
    """What a source of gas knows of a call."""

    limit: int  #: [gas]
    nonce: int  #: of the sender, for a call without a nonce
    chain_id: int


class GasSource(Protocol):
    """A chain that executes calls, or a node that is asked."""

    @property
    def limits(self) -> Limits:
        """Limits on the gas of a call."""

    async def gas(self, call: Transaction, asked: "EstimateOptions") -> Gas:
        """Return the gas limit that a call needs."""


class PriceSource(Protocol):
    """Current prices."""

    @property
    def now(self) -> Prices:
        """Prices of the next block."""

    def upper_bound(self, blocks: int) -> Prices:
        """Return an upper bound of the prices of the next blocks."""


class Estimate(msgspec.Struct, rename="camel"):
    """The result of `rollup_estimateGas`."""

    gas_limit: Quantity
    base_fee_per_gas: Quantity
    priority_fee_per_gas: Quantity


class EstimateOptions(msgspec.Struct, frozen=True):
    """Parameters of an estimate after the call object."""

    block: BlockId | None = None
    overrides: StateOverride | None = None
    block_overrides: Mapping[str, Any] | None = None  #: only of `eth_estimateGas`
    blocks: int | None = None  #: number of blocks for which the fee must suffice
    intact: bool = False  #: whether every inner call must end as with ample gas


def estimate_options(*given: Any) -> EstimateOptions:
    """Parse the parameters of `rollup_estimateGas` after the call object: block, state override and options.

    The parameters are `[overrides]`, as in the rollup's own method, or `[block, overrides]`, as clients send them. The
    options may follow: an object with `blocks`, `search` or both. Raises `InvalidInput`.

    >>> estimate_options("latest", {"blocks": 5}, None).blocks
    5
    """
    named, options = list(given), {}
    while named and named[-1] is None:
        named.pop()
    if named and isinstance(named[-1], Mapping) and named[-1] and named[-1].keys() <= {"blocks", "search"}:
        options = named.pop()
    blocks, search = options.get("blocks"), options.get("search")
    if "blocks" in options:
        blocks = as_integer("blocks", blocks)
        if not 1 <= blocks <= MAX_BLOCKS:
            raise InvalidInput("blocks", f"expected 1 to {MAX_BLOCKS}", blocks)
    if search not in (None, "intact"):
        raise InvalidInput("search", "expected intact", search)
    if len(named) > 2:
        raise InvalidInput("parameter 4", 'expected options such as {"blocks": k}', named[-1])
    block, overrides = (*named, None, None)[:2]
    if isinstance(block, Mapping) and not (block and block.keys() <= EIP_1898_FIELDS):
        if overrides is not None:
            raise InvalidInput("parameter 3", "expected nothing after a state override", overrides)
        block, overrides = None, block
    return EstimateOptions(
        block=None if block is None else read_block(block),
        overrides=None if overrides is None else read_overrides(overrides),
        blocks=blocks,
        intact=search is not None,
    )


class Estimates:
    """`rollup_estimateGas` with the gas of one source."""

    def __init__(self, source: GasSource, prices: PriceSource, measuring: Measuring) -> None:
        self.source, self._prices, self._measuring = source, prices, measuring

    async def estimate(
        self,
        call: CallObject,
        stateOverride: EstimateOption | None = None,  # noqa: N803 the name in JSON-RPC
        overrides: EstimateOption | None = None,
        options: EstimateOption | None = None,
    ) -> Estimate:
        """Return the gas limit, the base fee and the priority fee that pays for L1."""
        asked = estimate_options(stateOverride, overrides, options)
        check_rollup_call(call, self.source.limits)
        gas = await self.source.gas(call, asked)
        prices = self._prices.now if asked.blocks is None else self._prices.upper_bound(asked.blocks)
        work = partial(
            self._measuring.priced, call, gas.limit, form=prices.form, nonce=gas.nonce,
            margin=prices.preset.estimate_margin, chain_id=gas.chain_id,
        )  # fmt: skip
        is_long = len(call.data) > LONG or bool(call.access_list)  # some codecs may take seconds
        found = await asyncio.to_thread(work) if is_long else work()
        return Estimate(hex(found.gas_limit), hex(found.base_fee), hex(found.priority_fee))
