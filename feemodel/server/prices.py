"""What estimates are priced with: from the settings, from the newest block's pricing record, or from L1 fees."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, fields, replace
from typing import Any

from feemodel.errors import UpstreamError
from feemodel.estimates.prices import Prices, l1_prices, prices_of, suggested_tip
from feemodel.ethereum.quantities import to_quantity
from feemodel.io.async_node import AsyncNode
from feemodel.io.polled import ChainId, Head, Polled
from feemodel.linea.extra_data import PricingRecord
from feemodel.linea.parameters import linea_preset
from feemodel.server.settings import Settings

COSTS = (
    "base_fee", "variable_cost", "fixed_cost", "min_gas_price", "verification_gas_cost", "verification_capacity",
    "gas_price_ratio",
)  # fmt: skip


class Pricing(ABC):
    """The prices now, and where they come from.

    Parameters
    ----------
    source : "configured", "record" or "l1".
    polled : what they come from, where that is polled.
    base_fee_is_fixed : whether the settings fix the base fee.
    """

    def __init__(self, source: str, polled: Polled[Any] | None, *, base_fee_is_fixed: bool) -> None:
        self.source, self.polled, self._base_fee_is_fixed = source, polled, base_fee_is_fixed

    @property
    @abstractmethod
    def now(self) -> Prices:
        """The prices, with the larger of their own base fee and the chain's.

        Raises `UpstreamError` where one of them cannot be known, or where they make no fee together.
        """

    def upper_bound(self, blocks: int) -> Prices:
        """Return prices that are enough for the next blocks, see `feemodel.estimates.prices.Prices.upper_bound`."""
        costs_follow = self.polled is not None
        return self.now.upper_bound(blocks, base_fee_is_fixed=self._base_fee_is_fixed, costs_follow=costs_follow)

    def describe(self) -> dict[str, Any]:
        """Return source, ages and costs."""
        prices, polled = self.now, self.polled
        costs = {field.name: getattr(prices.form, field.name) for field in fields(prices.form)}  # type: ignore[arg-type]
        return {
            "source": self.source,
            "ageSeconds": None if polled is None else rounded(polled.age),
            "pollAgeSeconds": None if polled is None else rounded(polled.poll_age),
            "pricing": prices.form.name,
            "margin": prices.preset.estimate_margin,
            **{_camel(name): to_quantity(cost) if isinstance(cost, int) else cost for name, cost in costs.items()},
            "gasPrice": to_quantity(prices.form.base_fee + suggested_tip(prices)),
        }


class FixedPricing(Pricing):
    """Prices that stay, which are computed and checked once.

    Parameters
    ----------
    source, base_fee_is_fixed : as of `Pricing`.
    costs : the prices without the chain's base fee.
    least_base_fee : the next base fee of the chain that is served, 0 where the settings fix another [wei / gas].

    Raises `UpstreamError` for prices that make no fee at the chain's base fee.
    """

    __slots__ = ("now",)
    now: Prices

    def __init__(self, source: str, costs: Prices, least_base_fee: int = 0, *, base_fee_is_fixed: bool = False) -> None:
        super().__init__(source, None, base_fee_is_fixed=base_fee_is_fixed)
        self.now = _on_chain(costs, least_base_fee)


class PolledPricing(Pricing):
    """Prices that follow a node.

    Parameters
    ----------
    source, polled, base_fee_is_fixed : as of `Pricing`.
    costs : returns the prices without the chain's base fee; raises `UpstreamError` where they cannot be known.
    least_base_fee : returns the next base fee of the chain that is served, 0 where the settings fix another
        [wei / gas].
    """

    def __init__(
        self,
        source: str,
        costs: Callable[[], Prices],
        polled: Polled[Any] | None,
        least_base_fee: Callable[[], int],
        *,
        base_fee_is_fixed: bool,
    ) -> None:
        super().__init__(source, polled, base_fee_is_fixed=base_fee_is_fixed)
        self._costs, self._least_base_fee = costs, least_base_fee

    @property
    def now(self) -> Prices:
        """The prices, with the larger of their own base fee and the chain's; raises as `Pricing.now`."""
        return _on_chain(self._costs(), self._least_base_fee())


def _on_chain(prices: Prices, base_fee: int) -> Prices:
    return prices if base_fee <= prices.form.base_fee else prices.on_base_fee(base_fee)


def rounded(age: float | None) -> float | None:
    """Return an age as answers have it [s].

    >>> rounded(1.23456), rounded(None)
    (1.235, None)
    """
    return None if age is None else round(age, 3)


def configured_prices(settings: Settings) -> Prices:
    """Return the prices that the settings name, the preset's where they name none.

    >>> configured_prices(Settings(variable_cost=5)).form
    CostPerByte(variable_cost=5, fixed_cost=30000000, base_fee=7)
    """
    return prices_of(settings.pricing, linea_preset(settings.preset), _costs(settings), settings.margin)


def recorded_prices(settings: Settings, extra_data: bytes) -> Prices:
    """Return the prices of a block's pricing record; settings that name a cost take precedence.

    Raises `InvalidInput` for a block without a record.
    """
    preset = replace(linea_preset(settings.preset), **asdict(PricingRecord.from_bytes(extra_data)))
    return prices_of(settings.pricing, preset, _costs(settings), settings.margin)


async def fetch_l1_prices(settings: Settings, node: AsyncNode, chain: ChainId) -> Prices:
    """Return the prices that an L1 node's newest blocks give, with the time of the newest of them.

    Raises `UpstreamError` where the node serves another chain than before.
    """
    from feemodel.io.l1_fees import parse_fee_history  # and with it pandas, which only this source needs

    asked = [to_quantity(settings.l1_blocks), "latest", [settings.l1_percentile]]
    chain_id, answer = map(node.own, await node.outcomes([("eth_chainId", []), ("eth_feeHistory", asked)]))
    chain.check(chain_id)
    history = parse_fee_history(answer)
    prices = l1_prices(
        history, settings.pricing, linea_preset(settings.preset), _costs(settings), margin=settings.margin,
        l1_margin=settings.l1_margin,
    )  # fmt: skip
    newest = history.oldest_block + len(history.gas_used_ratios) - 1
    (block,) = await node.outcomes([("eth_getBlockByNumber", [to_quantity(newest), False])])
    head = Head.parse(node.own(block))
    if head.number != newest:
        raise UpstreamError(f"the node: asked for block {newest}, it answered with {head.number}")
    return replace(prices, timestamp=head.timestamp)


def _costs(settings: Settings) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in COSTS}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
