"""Prices of a node: costs, margins, and the priority fees suggested to wallets."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from feemodel.errors import InvalidInput, UpstreamError
from feemodel.ethereum.fee_market import ELASTICITY, TRANSACTION_GAS, next_base_fee
from feemodel.linea.coordinator import average_fees, sample_gas_price
from feemodel.linea.extra_data import PricingRecord, recorded_cost
from feemodel.linea.from_l1 import recorded_variable_cost
from feemodel.linea.parameters import COORDINATOR, NODE, LineaPreset
from feemodel.linea.pricing_forms import CostPerByte, Form, VerificationCost, form_of

if TYPE_CHECKING:
    from feemodel.io.fee_history import FeeHistory


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices from which an estimate is computed."""

    form: Form
    preset: LineaPreset  #: preset with the margins and the announced gas price
    timestamp: int = 0  #: Unix time of the L1 block from which the prices are computed; 0 for fixed prices [s]
    l1_fees: Mapping[str, int] = field(default_factory=dict)  #: newest L1 fees, by name [wei / gas]

    def on_base_fee(self, base_fee: int) -> "Prices":
        """Return a copy with another base fee [wei / gas]; raises `UpstreamError` if no valid fee results."""
        form = replace(self.form, base_fee=base_fee)  # type: ignore[type-var]
        try:
            form.parts(1, TRANSACTION_GAS, self.preset.estimate_margin)
        except InvalidInput as error:
            raise UpstreamError(f"no fee can be computed at the next base fee, {base_fee:,} wei: {error}") from None
        return Prices(form, replace(self.preset, base_fee=base_fee), self.timestamp)

    def upper_bound(self, blocks: int, *, base_fee_is_fixed: bool, costs_follow: bool) -> "Prices":
        """Return an upper bound of the prices over the next blocks.

        The base fee rises in each block by an eighth (EIP-1559), at least by 1 wei. If the variable cost follows L1
        fees, its upper bound is the coordinator's maximum of 1,000,000,001 wei per byte, rounded to whole kwei.

        Parameters
        ----------
        blocks : number of coming blocks for which the bound holds; 1 for the next block only.
        base_fee_is_fixed : whether the base fee is constant.
        costs_follow : whether the costs change with L1 fees or with the blocks of a node.

        Raises `InvalidInput` if the price ratio follows L1 fees, because the ratio has no upper bound.
        """
        form = self.form
        if costs_follow and isinstance(form, CostPerByte):
            form = replace(form, variable_cost=max(form.variable_cost, int(recorded_cost(COORDINATOR.upper_bound))))
        elif costs_follow:
            expected = "not valid with a gas price ratio computed from L1 fees, because this ratio has no upper bound"
            raise InvalidInput("blocks", expected, blocks)
        base_fee = form.base_fee
        for _ in range(0 if base_fee_is_fixed else blocks - 1):
            base_fee = next_base_fee(base_fee, ELASTICITY, ELASTICITY)  # after a full block
        return Prices(form, self.preset).on_base_fee(base_fee)


def prices_of(
    pricing: str,
    preset: LineaPreset,
    costs: Mapping[str, Any],
    margin: float | None = None,
    *,
    record: bytes | None = None,
) -> Prices:
    """Return the prices of a preset, with some of the costs replaced.

    Parameters
    ----------
    pricing : "cost-per-byte" or "verification-cost".
    preset : preset with the margins, and with the costs that `costs` does not replace.
    costs : cost for each field of a pricing form; values of `None` and fields that `pricing` does not use are ignored.
    margin : margin of estimates; `None` for the preset's margin [1].
    record : extra data of a block, whose pricing record replaces the preset's costs; `None` keeps the preset's costs.

    Raises `InvalidInput` for costs that give no valid fee, and for extra data without a pricing record.

    >>> from feemodel.linea.parameters import linea_preset
    >>> prices_of("cost-per-byte", linea_preset("linea-mainnet-2026-01"), {"variable_cost": 5}).form
    CostPerByte(variable_cost=5, fixed_cost=30000000, base_fee=7)
    """
    if record is not None:
        preset = replace(preset, **asdict(PricingRecord.from_bytes(record)))
    form = form_of(pricing, preset)
    names = {field.name for field in fields(form)}  # type: ignore[arg-type]
    form = replace(form, **{name: cost for name, cost in costs.items() if name in names and cost is not None})  # type: ignore[type-var]
    if margin is not None:
        preset = replace(preset, estimate_margin=margin)
    if isinstance(form, CostPerByte):
        preset = replace(preset, variable_cost=form.variable_cost, fixed_cost=form.fixed_cost)
    form.parts(1, TRANSACTION_GAS, preset.estimate_margin)  # raises an error for costs that give no valid fee
    return Prices(form, replace(preset, base_fee=form.base_fee))


def l1_prices(
    history: "FeeHistory",
    pricing: str,
    preset: LineaPreset,
    costs: Mapping[str, Any],
    *,
    margin: float | None = None,
) -> Prices:
    """Return prices computed from averages of L1 fees over the blocks of a fee history, weighted by gas used.

    The variable cost is rounded as in a block's pricing record. In the verification-cost form, the ratio of the gas
    prices of L1 and L2 is computed from the L1 gas price.

    Parameters
    ----------
    history : L1 fees of the blocks over which the averages are taken.
    pricing : "cost-per-byte" or "verification-cost".
    preset : preset with the margins, and with the costs that `costs` does not replace.
    costs : cost for each field of a pricing form; values of `None` and fields that `pricing` does not use are ignored.
    margin : margin of estimates; `None` for the preset's margin [1].

    Raises `InvalidInput` for a history without blocks.
    """
    if not history.gas_used_ratios:
        raise InvalidInput("the fee history", "expected at least one block", history.oldest_block)
    if any(history.blob_base_fees) and not history.blob_gas_used_ratios:
        raise InvalidInput(
            "blobGasUsedRatio",
            "expected if baseFeePerBlobGas is given, because the ratios are the weights of the blob base fees",
            None,
        )
    tips = [row[0] for row in history.rewards if row] or [0] * len(history.gas_used_ratios)
    fees = average_fees(
        history.base_fees, tips, history.gas_used_ratios, history.blob_base_fees, history.blob_gas_used_ratios
    )
    fixed_cost = preset.fixed_cost if costs.get("fixed_cost") is None else costs["fixed_cost"]
    variable_cost = recorded_variable_cost(fees.base_fee, fees.blob_base_fee, tip=fees.priority_fee)
    announced = int(sample_gas_price(variable_cost, fixed_cost=fixed_cost))
    preset = replace(preset, variable_cost=variable_cost, eth_gas_price=announced)
    prices = prices_of(pricing, preset, costs, margin)
    if isinstance(prices.form, VerificationCost) and costs.get("gas_price_ratio") is None and prices.form.min_gas_price:
        ratio = (fees.base_fee + fees.priority_fee) / prices.form.min_gas_price
        return Prices(replace(prices.form, gas_price_ratio=ratio), prices.preset)
    return prices


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
    than 125 bytes and 21,000 gas.

    >>> from feemodel.linea.parameters import linea_preset
    >>> reward(prices_of("cost-per-byte", linea_preset("linea-mainnet-2026-01"), {}))  # trunc(1.2 · (5,952,380 + 3e7))
    43142856
    """
    return max(suggested_tip(prices), _sample_fee(prices, prices.preset.estimate_margin, size))


def _sample_fee(prices: Prices, margin: float, size: int = COORDINATOR.sample_compressed_size) -> int:
    return int(prices.form.parts(size, COORDINATOR.sample_gas, margin).total)
