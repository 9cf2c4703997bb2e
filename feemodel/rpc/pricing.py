"""What estimates are priced with: from the settings, from the newest block's pricing record, or from L1 fees."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from feemodel.config import Settings
from feemodel.errors import InvalidInput
from feemodel.fees.forms import CostPerByte, Form, VerificationCost, form_of
from feemodel.fees.from_l1 import recorded_variable_cost
from feemodel.fees.presets import LineaPreset, linea_preset
from feemodel.fees.pricing import average_fees, sample_gas_price
from feemodel.fees.record import PricingRecord
from feemodel.io.node import Node
from feemodel.rpc.polled import Polled
from feemodel.transaction import BASE_GAS
from feemodel.units import to_quantity

if TYPE_CHECKING:
    from feemodel.io.l1_fees import FeeHistory


@dataclass(frozen=True, slots=True)
class Prices:
    """What an estimate is computed from at one moment."""

    form: Form
    preset: LineaPreset  #: with the margins of the stages, and the announced gas price


class Pricing:
    """The prices now, and where they come from.

    Parameters
    ----------
    source : "configured", "record" or "l1".
    current : the prices; raises `UpstreamError` where they cannot be known.
    polled : what they come from, where that is looked up again and again.
    """

    def __init__(self, source: str, current: Callable[[], Prices], polled: Polled[Any] | None = None) -> None:
        self.source, self.current, self.polled = source, current, polled

    @property
    def age(self) -> float | None:
        """Of what the prices come from [s]; `None` where that does not age."""
        return None if self.polled is None else self.polled.age

    def describe(self) -> dict[str, Any]:
        """Source, age and costs, as `feemodel_pricing` answers."""
        age, prices = self.age, self.current()
        costs = {field.name: getattr(prices.form, field.name) for field in fields(prices.form)}  # type: ignore[arg-type]
        return {
            "source": self.source,
            "ageSeconds": None if age is None else round(age, 3),
            "pricing": prices.form.name,
            "margin": prices.preset.estimate_margin,
            **{_camel(name): to_quantity(cost) if isinstance(cost, int) else cost for name, cost in costs.items()},
            "gasPrice": to_quantity(prices.preset.eth_gas_price),
        }


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
    preset = replace(
        linea_preset(settings.preset),
        fixed_cost=int(record.fixed_cost),
        variable_cost=int(record.variable_cost),
        eth_gas_price=int(record.eth_gas_price),
    )
    return _prices(settings, preset)


def l1_prices(settings: Settings, history: "FeeHistory") -> Prices:
    """The prices that L1 fees give, averaged over the blocks of a fee history by how full they were.

    The variable cost is what a block's pricing record would hold of it; in the verification-cost form the L1 gas price
    makes the price ratio. Raises `InvalidInput` for a history of no block.
    """
    if not history.gas_used_ratios:
        raise InvalidInput("the fee history", "expected at least one block", history.oldest_block)
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


def fetch_l1_prices(settings: Settings, node: Node) -> Prices:
    """The prices that an L1 node's newest blocks give."""
    from feemodel.io.l1_fees import parse_fee_history  # and with it pandas, which only this source needs

    asked = [to_quantity(settings.l1_blocks), "latest", [settings.l1_percentile]]
    return l1_prices(settings, parse_fee_history(node.call("eth_feeHistory", asked)))


def _prices(settings: Settings, preset: LineaPreset) -> Prices:
    form = form_of(settings.pricing, preset)
    names = {field.name for field in fields(form)}  # type: ignore[arg-type]
    named = {name: value for name in names if (value := getattr(settings, name, None)) is not None}
    form = replace(form, **named)  # type: ignore[type-var]
    if settings.margin is not None:
        preset = replace(preset, estimate_margin=settings.margin)
    if isinstance(form, CostPerByte):
        preset = replace(preset, variable_cost=form.variable_cost, fixed_cost=form.fixed_cost)
    form.parts(1, BASE_GAS, preset.estimate_margin)  # costs that no fee comes of are told now, not to every caller
    return Prices(form, replace(preset, base_fee=form.base_fee))


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
