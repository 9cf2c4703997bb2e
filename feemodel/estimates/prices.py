"""Prices of a node: costs, margins, and the priority fees suggested to wallets."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from feemodel.errors import InvalidInput, UpstreamError
from feemodel.ethereum.fee_market import TRANSACTION_GAS
from feemodel.linea.extra_data import PricingRecord
from feemodel.linea.parameters import COORDINATOR, NODE, LineaPreset
from feemodel.linea.pricing_forms import CostPerByte, Form, VerificationCost, form_of

#: Names of the costs of both forms.
COSTS = dict.fromkeys(field.name for form in (CostPerByte, VerificationCost) for field in fields(form))


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices from which an estimate is computed."""

    form: Form
    preset: LineaPreset  #: preset with the margins and the announced gas price
    timestamp: int = 0  #: Unix time of the L1 block from which the prices are computed; 0 for fixed prices [s]
    l1_fees: Mapping[str, int] = field(default_factory=dict)  #: newest L1 fees, by name [wei / gas]

    def on_base_fee(self, base_fee: int) -> "Prices":
        """Return a copy with another base fee [wei / gas]; raises `UpstreamError` if no valid fee results."""
        form = replace(self.form, base_fee=base_fee)
        try:
            form.parts(1, TRANSACTION_GAS, self.preset.estimate_margin)
        except InvalidInput as error:
            raise UpstreamError(f"no fee can be computed at the next base fee, {base_fee:,} wei: {error}") from None
        return Prices(form, replace(self.preset, base_fee=base_fee), self.timestamp)


def prices_of(
    pricing: str,
    preset: LineaPreset,
    costs: Mapping[str, Any],
    margin: float | None = None,
    *,
    record: bytes | None = None,
) -> Prices:
    """Return the prices of a preset, with the costs of a block's pricing record, and then those in `costs`, replaced.

    In `costs`, values of `None` and names that are no cost are ignored. Raises `InvalidInput` for costs of the other
    form or that give no valid fee, and for extra data without a record.

    >>> from feemodel.linea.parameters import linea_preset
    >>> prices_of("cost-per-byte", linea_preset("linea-mainnet-2026-01"), {"variable_cost": 5}).form
    CostPerByte(variable_cost=5, fixed_cost=30000000, base_fee=7)
    """
    if record is not None:
        preset = replace(preset, **asdict(PricingRecord.from_bytes(record)))
    form = form_of(pricing, preset)
    names = {field.name for field in fields(form)}
    given = {name: costs[name] for name in COSTS if costs.get(name) is not None}
    for name in given.keys() - names:
        raise InvalidInput(name, f"expected only with another form than {pricing}", given[name])
    form = replace(form, **given)
    if margin is not None:
        preset = replace(preset, estimate_margin=margin)
    if isinstance(form, CostPerByte):
        preset = replace(preset, variable_cost=form.variable_cost, fixed_cost=form.fixed_cost)
    form.parts(1, TRANSACTION_GAS, preset.estimate_margin)  # raises an error for costs that give no valid fee
    return Prices(form, replace(preset, base_fee=form.base_fee))


def suggested_tip(prices: Prices) -> int:
    """Return the priority fee suggested to wallets that do not use an estimate [wei / gas].

    The fee is the announced gas price minus Linea's base fee of 7 wei, or the fee that block building requires for the
    sample transaction if that fee is higher. Block building rejects transactions that offer less than the required fee.

    >>> from feemodel.linea.parameters import linea_preset
    >>> suggested_tip(prices_of("cost-per-byte", linea_preset("linea-mainnet-2026-01"), {}))
    41903993
    """
    announced = prices.preset.eth_gas_price - NODE.base_fee
    return max(announced, _sample_fee(prices, prices.preset.selection_margin))


def reward(prices: Prices, size: int = COORDINATOR.sample_compressed_size) -> int:
    """Return the priority fee in the node's fee history; some wallets offer exactly this fee [wei / gas].

    The fee is the maximum of `suggested_tip` and the fee estimated for a transaction of `size` compressed bytes and
    21,000 gas. More than 90 % of the 2,282 real transactions in `data/linea_transactions.csv` have fewer bytes per gas
    than 125 / 21,000.

    >>> from feemodel.linea.parameters import linea_preset
    >>> reward(prices_of("cost-per-byte", linea_preset("linea-mainnet-2026-01"), {}))  # trunc(1.2 · (5,952,380 + 3e7))
    43142856
    """
    return max(suggested_tip(prices), _sample_fee(prices, prices.preset.estimate_margin, size))


def _sample_fee(prices: Prices, margin: float, size: int = COORDINATOR.sample_compressed_size) -> int:
    return int(prices.form.parts(size, COORDINATOR.sample_gas, margin).total)
