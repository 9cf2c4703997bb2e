"""What estimates are priced with: from the settings, from the newest block's pricing record, or from L1 fees."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from feemodel.errors import InvalidInput, UpstreamError
from feemodel.ethereum.fee_market import BASE_FEE_CHANGE_DENOMINATOR, TRANSACTION_GAS
from feemodel.ethereum.quantities import to_quantity
from feemodel.linea.coordinator import average_fees, sample_gas_price
from feemodel.linea.extra_data import PricingRecord, recorded_cost
from feemodel.linea.from_l1 import recorded_variable_cost
from feemodel.linea.parameters import COORDINATOR, NODE, LineaPreset, linea_preset
from feemodel.linea.pricing_forms import CostPerByte, Form, VerificationCost, form_of
from feemodel.server.node import ChainId, Head, Node, Polled
from feemodel.server.settings import Settings

if TYPE_CHECKING:
    from feemodel.io.l1_fees import FeeHistory


@dataclass(frozen=True, slots=True)
class Prices:
    """What an estimate is computed from."""

    form: Form
    preset: LineaPreset  #: with the margins of the stages, and the announced gas price
    timestamp: int = 0  #: of the block that they come from, where they come from L1 fees, Unix time [s]


class Pricing:
    """The prices now, and where they come from.

    Parameters
    ----------
    source : "configured", "record" or "l1".
    costs : the prices but for the chain's base fee; raises `UpstreamError` where they cannot be known.
    polled : gives what they come from, where that is looked up again and again.
    least_base_fee : the next base fee of the chain that is served, 0 where the settings fix another [wei / gas];
        likewise. `None` where no chain is served.
    base_fee_is_fixed : whether the settings fix the base fee.
    """

    def __init__(
        self,
        source: str,
        costs: Callable[[], Prices],
        polled: Callable[[], Polled[Any]] | None = None,
        least_base_fee: Callable[[], int] | None = None,
        *,
        base_fee_is_fixed: bool = False,
    ) -> None:
        self._base_fee_is_fixed = base_fee_is_fixed
        self.source, self._costs, self._polled, self._least_base_fee = source, costs, polled, least_base_fee

    @property
    def polled(self) -> Polled[Any] | None:
        """What the prices come from now; `None` where that does not age."""
        return None if self._polled is None else self._polled()

    def current(self) -> Prices:
        """The prices, with the larger of their own base fee and the chain's.

        Raises `UpstreamError` where one of them cannot be known, or where they make no fee together.
        """
        prices = self._costs()
        base_fee = 0 if self._least_base_fee is None else self._least_base_fee()
        return prices if base_fee <= prices.form.base_fee else _on_base_fee(prices, base_fee)

    def upper_bound(self, blocks: int) -> Prices:
        """Prices that are enough for the next blocks, however far the rules let them move.

        The base fee rises in each block by EIP-1559's eighth, or by 1 wei where that is more; one that the settings fix
        stays, and so do configured costs. A variable cost that follows L1 fees or a node's blocks may become the most
        that the coordinator announces with any update, 1,000,000,001 wei a byte in whole kwei; a price ratio that
        follows L1 fees has no bound.

        Parameters
        ----------
        blocks : for how many blocks the fee must be enough; 1 is the next one.

        Raises `InvalidInput` where the prices have no upper bound, `UpstreamError` as `current` does.
        """
        prices = self.current()
        form = prices.form
        if self._polled is not None and isinstance(form, CostPerByte):
            most = recorded_cost(COORDINATOR.upper_bound)
            form = replace(form, variable_cost=max(form.variable_cost, int(most)))
        elif self._polled is not None:
            raise InvalidInput(
                "blocks", "expected costs with an upper bound: a price ratio of L1 fees has none", blocks
            )
        base_fee = form.base_fee
        if not self._base_fee_is_fixed:
            for _ in range(blocks - 1):
                base_fee += max(base_fee // BASE_FEE_CHANGE_DENOMINATOR, 1)
        return _on_base_fee(Prices(form, prices.preset), base_fee)

    def describe(self) -> dict[str, Any]:
        """Source, ages and costs, as `feemodel_pricing` answers."""
        prices, polled = self.current(), self.polled
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


def rounded(age: float | None) -> float | None:
    """An age as answers have it [s].

    >>> rounded(1.23456), rounded(None)
    (1.235, None)
    """
    return None if age is None else round(age, 3)


def suggested_tip(prices: Prices) -> int:
    """The priority fee that is announced to wallets which do not ask for an estimate [wei / gas].

    It is the announced gas price less the 7 wei of base fee that it holds on Linea, and at least what block building
    asks of the sample transaction: a wallet must not be given a price that these refuse.

    >>> suggested_tip(configured_prices(Settings()))
    41903993
    """
    announced = prices.preset.eth_gas_price - NODE.base_fee
    return max(announced, _sample_fee(prices, prices.preset.selection_margin))


def reward(prices: Prices) -> int:
    """The tip that a fee history shows, which some wallets sign as it is [wei / gas].

    It is `suggested_tip`, and at least what an estimate asks of the sample transaction of 125 compressed bytes and
    21,000 gas. Of the 2,282 real transactions in `data/linea_transactions.csv` more than nine in ten have fewer bytes
    for their gas, so it is more than an estimate asks of the median one.

    >>> reward(configured_prices(Settings()))  # trunc(1.2 · (1e9 · 125 div 21,000 + 3e7))
    43142856
    """
    return max(suggested_tip(prices), _sample_fee(prices, prices.preset.estimate_margin))


def _sample_fee(prices: Prices, margin: float) -> int:
    return int(prices.form.parts(COORDINATOR.sample_compressed_size, COORDINATOR.sample_gas, margin).total)


def configured_prices(settings: Settings) -> Prices:
    """The prices that the settings name, the preset's where they name none.

    >>> configured_prices(Settings(variable_cost=5)).form
    CostPerByte(variable_cost=5, fixed_cost=30000000, base_fee=7)
    """
    return _prices(settings, linea_preset(settings.preset))


def recorded_prices(settings: Settings, extra_data: bytes) -> Prices:
    """The prices of a block's pricing record; settings that name a cost go before it.

    Raises `InvalidInput` for a block without a record.
    """
    record = PricingRecord.from_bytes(extra_data)
    return _prices(settings, replace(linea_preset(settings.preset), **asdict(record)))


def l1_prices(settings: Settings, history: "FeeHistory") -> Prices:
    """The prices that L1 fees give, averaged over the blocks of a fee history by how full they were.

    The variable cost is what a block's pricing record would hold of it; in the verification-cost form the L1 gas price
    makes the price ratio. Raises `InvalidInput` for a history of no block.
    """
    if not history.gas_used_ratios:
        raise InvalidInput("the fee history", "expected at least one block", history.oldest_block)
    if any(history.blob_base_fees) and not history.blob_gas_used_ratios:
        raise InvalidInput("blobGasUsedRatio", "expected it with baseFeePerBlobGas, whose average it weighs", None)
    tips = [row[0] for row in history.rewards if row] or [0] * len(history.gas_used_ratios)
    fees = average_fees(
        history.base_fees, tips, history.gas_used_ratios, history.blob_base_fees, history.blob_gas_used_ratios
    )
    preset = linea_preset(settings.preset)
    fixed_cost = preset.fixed_cost if settings.fixed_cost is None else settings.fixed_cost
    variable_cost = recorded_variable_cost(
        fees.base_fee, fees.blob_base_fee, tip=fees.priority_fee, cost_margin=settings.l1_margin
    )
    announced = int(sample_gas_price(variable_cost, fixed_cost=fixed_cost))
    preset = replace(preset, variable_cost=variable_cost, eth_gas_price=announced)
    prices = _prices(settings, preset)
    if isinstance(prices.form, VerificationCost) and settings.gas_price_ratio is None and prices.form.min_gas_price:
        ratio = (fees.base_fee + fees.priority_fee) / prices.form.min_gas_price
        return Prices(replace(prices.form, gas_price_ratio=ratio), prices.preset)
    return prices


async def fetch_l1_prices(settings: Settings, node: Node, chain: ChainId) -> Prices:
    """Return the prices that an L1 node's newest blocks give, with the time of the newest of them.

    Raises `UpstreamError` where the node serves another chain than before.
    """
    from feemodel.io.l1_fees import parse_fee_history  # and with it pandas, which only this source needs

    asked = [to_quantity(settings.l1_blocks), "latest", [settings.l1_percentile]]
    chain_id, answer = map(node.own, await node.outcomes([("eth_chainId", []), ("eth_feeHistory", asked)]))
    chain.check(chain_id)
    history = parse_fee_history(answer)
    prices = l1_prices(settings, history)
    newest = history.oldest_block + len(history.gas_used_ratios) - 1
    (block,) = await node.outcomes([("eth_getBlockByNumber", [to_quantity(newest), False])])
    head = Head.parse(node.own(block))
    if head.number != newest:
        raise UpstreamError(f"the node: asked for block {newest}, it answered with {head.number}")
    return replace(prices, timestamp=head.timestamp)


def _on_base_fee(prices: Prices, base_fee: int) -> Prices:
    form = replace(prices.form, base_fee=base_fee)  # type: ignore[type-var]
    try:
        form.parts(1, TRANSACTION_GAS, prices.preset.estimate_margin)
    except InvalidInput as error:
        raise UpstreamError(f"no fee at the chain's next base fee, {base_fee:,} wei: {error}") from None
    return Prices(form, replace(prices.preset, base_fee=base_fee))


def _prices(settings: Settings, preset: LineaPreset) -> Prices:
    form = form_of(settings.pricing, preset)
    names = {field.name for field in fields(form)}  # type: ignore[arg-type]
    named = {name: value for name in names if (value := getattr(settings, name, None)) is not None}
    form = replace(form, **named)  # type: ignore[type-var]
    if settings.margin is not None:
        preset = replace(preset, estimate_margin=settings.margin)
    if isinstance(form, CostPerByte):
        preset = replace(preset, variable_cost=form.variable_cost, fixed_cost=form.fixed_cost)
    form.parts(1, TRANSACTION_GAS, preset.estimate_margin)  # refuse such costs now, not at every call
    return Prices(form, replace(preset, base_fee=form.base_fee))


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
