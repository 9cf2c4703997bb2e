"""Prices for estimates: from the settings, from the pricing record of the newest block, or from L1 fees."""

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import msgspec

from feemodel.errors import InvalidInput, UpstreamError
from feemodel.estimates.chain import ChainState
from feemodel.estimates.prices import Prices, prices_of, suggested_tip
from feemodel.ethereum._quantities import to_quantity
from feemodel.io.fee_history import FeeHistory, parse_fee_history
from feemodel.io.node import AsyncNode
from feemodel.io.polled import ChainId, Head, Polled
from feemodel.linea.coordinator import average_fees, sample_gas_price
from feemodel.linea.from_l1 import recorded_variable_cost
from feemodel.linea.parameters import linea_preset
from feemodel.linea.pricing_forms import VerificationCost
from feemodel.server.settings import Settings

L1_BLOCKS = 50  # number of L1 blocks over which fees are averaged
L1_PERCENTILE = 15.0  # percentile of the L1 tips of a block [%]


class CurrentPrices:
    """Current prices and their source.

    Parameters
    ----------
    settings : settings that select the source of the prices, and may contain a fixed base fee.
    costs : function that returns the prices without the chain's base fee; raises `UpstreamError` if the prices are not
        available.
    min_base_fee : function that returns the next base fee of the served chain, or 0 if the settings fix the base fee
        [wei / gas].
    polled : polled value from which the costs are computed; `None` if the costs do not depend on a polled value.
    """

    def __init__(
        self,
        settings: Settings,
        costs: Callable[[], Prices],
        min_base_fee: Callable[[], int],
        polled: Polled[Any] | None = None,
    ) -> None:
        self.source, self._costs, self._min_base_fee, self.polled = settings.costs, costs, min_base_fee, polled

    @property
    def now(self) -> Prices:
        """Current prices, whose base fee is the maximum of the source's base fee and the chain's next base fee.

        Raises `UpstreamError` if a price is not available, or if the prices do not give a valid fee.
        """
        prices, base_fee = self._costs(), self._min_base_fee()
        return prices if base_fee <= prices.form.base_fee else prices.on_base_fee(base_fee)

    def describe(self) -> dict[str, Any]:
        """Return the source, the age and the parameters of the prices, and the suggested gas price."""
        prices, polled = self.now, self.polled
        age, poll_age = (None, None) if polled is None else (polled.age, polled.poll_age)
        costs: dict[str, Any] = asdict(prices.form)
        return {
            "source": self.source,
            "ageSeconds": None if age is None else round(age, 3),
            "pollAgeSeconds": None if poll_age is None else round(poll_age, 3),
            "pricing": prices.form.name,
            "margin": prices.preset.estimate_margin,
            **{_camel(name): to_quantity(cost) if isinstance(cost, int) else cost for name, cost in costs.items()},
            "gasPrice": to_quantity(prices.form.base_fee + suggested_tip(prices)),
        }


class FixedPrices(CurrentPrices):
    """Constant prices, which are computed and checked once; parameters and errors as in `Pricing`."""

    __slots__ = ("now",)
    now: Prices

    def __init__(self, settings: Settings, costs: Callable[[], Prices], min_base_fee: Callable[[], int]) -> None:
        super().__init__(settings, costs, min_base_fee)
        self.now = super().now


def pricing_of(
    settings: Settings, chain: ChainState | None, head: Polled[Head] | None, fees: Polled[Prices] | None
) -> CurrentPrices:
    """Return the pricing that the settings select, with the base fee of the served chain.

    Parameters
    ----------
    chain : the server's own chain; `None` if the server has none.
    head : newest block of the node; `None` without a node.
    fees : prices computed from L1 fees, if the setting `costs` is "l1".

    Raises `InvalidInput` or `UpstreamError` for constant prices that do not give a valid fee.
    """
    is_fixed = settings.base_fee is not None

    def min_base_fee() -> int:
        if head is None:
            return 0 if chain is None or is_fixed else chain.next_base_fee
        newest = head.value  # raises an error if the block is too old, because estimates of gas need a recent state
        return 0 if is_fixed else newest.next_base_fee()

    if fees is not None:
        return CurrentPrices(settings, lambda: fees.value, min_base_fee, fees)
    if settings.costs == "record" and head is not None:
        return CurrentPrices(settings, partial(_announced_prices, settings, head), min_base_fee, head)
    if settings.costs == "configured":
        costs = configured_prices(settings)
    elif chain is not None:
        costs = configured_prices(settings, chain.extra_data)
    else:
        raise InvalidInput("costs", "expected a chain whose newest block has a pricing record", "record")
    kind = FixedPrices if head is None else CurrentPrices
    return kind(settings, lambda: costs, min_base_fee)


def configured_prices(settings: Settings, record: bytes | None = None) -> Prices:
    """Return the prices in the settings; missing prices are taken from a pricing record or the preset.

    >>> configured_prices(Settings(variable_cost=5)).form
    CostPerByte(variable_cost=5, fixed_cost=30000000, base_fee=7)
    """
    preset, costs = linea_preset(settings.preset), msgspec.structs.asdict(settings)
    return prices_of(settings.pricing, preset, costs, settings.margin, record=record)


def _announced_prices(settings: Settings, head: Polled[Head]) -> Prices:
    """Return the prices in the pricing record of a node's newest block; without a record, raises `UpstreamError`."""
    try:
        return configured_prices(settings, head.value.extra_data())
    except InvalidInput as error:  # the cause is the node's block, not the caller's request
        raise UpstreamError(f"the newest block has no pricing record: {error}") from None


async def fetch_l1_prices(settings: Settings, node: AsyncNode, chain: ChainId) -> Prices:
    """Return prices computed from the fees of an L1 node's newest blocks, with the time of the newest block.

    Raises `UpstreamError` if the node serves another chain than before.
    """
    history, timestamp = await fetch_fee_history(node, chain)
    newest = {"base_fee": history.base_fees[-1]}
    if history.blob_base_fees:
        newest["blob_base_fee"] = history.blob_base_fees[-1]
    return replace(l1_prices(history, settings), timestamp=timestamp, l1_fees=newest)


def l1_prices(history: FeeHistory, settings: Settings) -> Prices:
    """Return prices computed from averages of L1 fees over the blocks of a fee history, weighted by gas used.

    The variable cost is rounded as in a block's pricing record. In the verification-cost form, the ratio of the gas
    prices of L1 and L2 is computed from the L1 gas price. Raises `InvalidInput` for a history without blocks.
    """
    if not history.gas_used_ratios:
        raise InvalidInput("the fee history", "expected at least one block", history.oldest_block)
    if any(history.blob_base_fees) and not history.blob_gas_used_ratios:
        reason = "expected if baseFeePerBlobGas is given, because the ratios are the weights of the blob base fees"
        raise InvalidInput("blobGasUsedRatio", reason, None)
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


async def fetch_fee_history(node: AsyncNode, chain: ChainId) -> tuple[FeeHistory, int]:
    """Return the fee history of an L1 node's newest blocks, and the Unix time of the newest block [s].

    Raises `UpstreamError` if the node has another chain id than `chain`, or returns a block that was not requested.
    """
    asked = [to_quantity(L1_BLOCKS), "latest", [L1_PERCENTILE]]
    chain_id, answer = map(node.own, await node.outcomes([("eth_chainId", []), ("eth_feeHistory", asked)]))
    chain.check(chain_id)
    try:
        history = parse_fee_history(answer)
    except InvalidInput as error:
        raise UpstreamError(f"the L1 node: eth_feeHistory: {error}") from None
    newest = history.oldest_block + len(history.gas_used_ratios) - 1
    head = Head.parse(node.own(await node.outcome("eth_getBlockByNumber", [to_quantity(newest), False])))
    if head.number != newest:
        raise UpstreamError(f"the L1 node: expected block {newest}, it returned block {head.number}")
    return history, head.timestamp


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
