"""Prices for estimates: from the settings, from the pricing record of the newest block, or from L1 fees."""

from dataclasses import asdict, replace
from functools import partial
from typing import Any

import msgspec

from feemodel.errors import InvalidInput, UpstreamError
from feemodel.estimates.chain import ChainState
from feemodel.estimates.json_types import in_hex
from feemodel.estimates.prices import Prices, prices_of, suggested_tip
from feemodel.ethereum._quantities import camel, to_quantity
from feemodel.io.fee_history import FeeHistory, parse_fee_history
from feemodel.io.node import AsyncNode, Call
from feemodel.io.polled import ChainId, Head, Polled
from feemodel.linea.coordinator import average_fees, sample_gas_price
from feemodel.linea.from_l1 import recorded_variable_cost
from feemodel.linea.parameters import linea_preset
from feemodel.linea.pricing_forms import VerificationCost
from feemodel.server.node import CHAIN_ID, NEWEST_BLOCK, opened_node
from feemodel.server.settings import Settings

L1_FEES: Call = ("eth_feeHistory", [to_quantity(50), "latest", [15.0]])  # 50 blocks, 15th percentile of their tips


class CurrentPrices:
    """Current prices: of the settings, of the newest block's pricing record, or of L1, as the settings say.

    Raises `InvalidInput` for prices of the settings that do not give a valid fee.
    """

    def __init__(
        self, settings: Settings, chain: ChainState | None, head: Polled[Head] | None, l1: Polled[Prices] | None
    ) -> None:
        self.settings, self._chain, self._head, self._l1 = settings, chain, head, l1
        is_announced = settings.costs == "record"
        self.polled: Polled[Any] | None = head if is_announced else l1  #: what the costs depend on
        if is_announced and head is None and chain is None:
            raise InvalidInput("costs", "expected a chain whose newest block has a pricing record", "record")
        record = chain.extra_data if is_announced and chain is not None else None
        self._fixed = configured_prices(settings, record)

    @property
    def now(self) -> Prices:
        """Current prices, whose base fee is the maximum of the source's base fee and the chain's next base fee.

        Raises `UpstreamError` if a price is not available, or if the prices do not give a valid fee.
        """
        prices = self._fixed if self._l1 is None else self._l1.value
        # An estimate needs a recent state, whatever its prices are: `value` raises an error if the block is too old.
        newest = None if self._head is None else self._head.value
        if newest is not None and self.settings.costs == "record":
            try:
                prices = configured_prices(self.settings, newest.extra_data())
            except InvalidInput as error:  # the cause is the node's block, not the caller's request
                raise UpstreamError(f"the newest block has no pricing record: {error}") from None
        if self.settings.base_fee is not None:
            return prices
        own = 0 if self._chain is None else self._chain.next_base_fee
        base_fee = own if newest is None else newest.next_base_fee()
        return prices if base_fee <= prices.form.base_fee else prices.on_base_fee(base_fee)

    def describe(self) -> dict[str, Any]:
        """Return the source, the age and the parameters of the prices, and the suggested gas price."""
        prices, polled = self.now, self.polled
        costs = {camel(name): cost for name, cost in asdict(prices.form).items()}
        return {
            "source": self.settings.costs,
            "ageSeconds": None if polled is None else polled.age,
            "pollAgeSeconds": None if polled is None else polled.poll_age,
            "pricing": prices.form.name,
            "margin": prices.preset.estimate_margin,
            **in_hex(costs),
            "gasPrice": to_quantity(prices.form.base_fee + suggested_tip(prices)),
        }


def configured_prices(settings: Settings, record: bytes | None = None) -> Prices:
    """Return the prices in the settings; missing prices are taken from a pricing record or the preset.

    >>> configured_prices(Settings(variable_cost=5)).form
    CostPerByte(variable_cost=5, fixed_cost=30000000, base_fee=7)
    """
    preset, costs = linea_preset(settings.preset), msgspec.structs.asdict(settings)
    return prices_of(settings.pricing, preset, costs, settings.margin, record=record)


def polled_l1_prices(settings: Settings, url: str) -> Polled[Prices]:
    """Return prices that are computed again and again from the newest fees of an L1 node."""
    node = opened_node(settings, url, "the L1 node")
    fetch = partial(_fetch_l1_prices, settings, node, ChainId(called="the L1 node"))
    return Polled("L1 fees", fetch, node=node, every=settings.poll_seconds, max_age=settings.max_age)


async def _fetch_l1_prices(settings: Settings, node: AsyncNode, chain: ChainId) -> Prices:
    chain_id, newest, answer = map(node.own, await node.outcomes([CHAIN_ID, NEWEST_BLOCK, L1_FEES]))
    chain.check(chain_id)
    try:
        history = parse_fee_history(answer)
    except InvalidInput as error:
        raise UpstreamError(f"the L1 node: eth_feeHistory: {error}") from None
    newest_fees = history.base_fees[-1], *history.blob_base_fees[-1:]
    l1_fees = dict(zip(("base_fee", "blob_base_fee"), newest_fees, strict=False))
    return replace(l1_prices(history, settings), timestamp=Head.parse(newest).timestamp, l1_fees=l1_fees)


def l1_prices(history: FeeHistory, settings: Settings) -> Prices:
    """Return prices computed from averages of L1 fees over the blocks of a fee history, weighted by gas used.

    The variable cost is rounded as in a block's pricing record. In the verification-cost form, the ratio of the gas
    prices of L1 and L2 is computed from the L1 gas price. Raises `InvalidInput` for a history without blocks.
    """
    if not history.gas_used_ratios:
        raise InvalidInput("the fee history", "expected at least one block", history.oldest_block)
    tips = [row[0] for row in history.rewards if row] or [0] * len(history.gas_used_ratios)
    fees = average_fees(
        history.base_fees, tips, history.gas_used_ratios, history.blob_base_fees, history.blob_gas_used_ratios
    )
    preset = linea_preset(settings.preset)
    fixed_cost = preset.fixed_cost if settings.fixed_cost is None else settings.fixed_cost
    variable_cost = recorded_variable_cost(fees.base_fee, fees.blob_base_fee, tip=fees.priority_fee)
    announced = int(sample_gas_price(variable_cost, fixed_cost=fixed_cost))
    preset = replace(preset, variable_cost=variable_cost, eth_gas_price=announced)
    prices = prices_of(settings.pricing, preset, msgspec.structs.asdict(settings), settings.margin)
    if isinstance(prices.form, VerificationCost) and settings.gas_price_ratio is None and prices.form.min_gas_price:
        ratio = (fees.base_fee + fees.priority_fee) / prices.form.min_gas_price
        return Prices(replace(prices.form, gas_price_ratio=ratio), prices.preset)
    return prices
