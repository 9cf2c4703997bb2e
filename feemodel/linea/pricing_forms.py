"""Objects for the two published forms of the fee; the formulas are in `feemodel.linea.priority`."""

from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from feemodel.checks import INT64_MAX, choice, whole
from feemodel.errors import Int64Overflow
from feemodel.exact import NO_ROOM, require
from feemodel.linea.parameters import NODE, VERIFICATION, LineaPreset
from feemodel.linea.priority import Breakdown, breakdown, priority_fee, verification_breakdown


@dataclass(frozen=True, slots=True)
class CostPerByte:
    """The cost-per-byte form, which nodes have used since May 2024.

    >>> CostPerByte(variable_cost=1_000_000_000, fixed_cost=30_000_000).parts(128, 21_000, 1.2).total
    43314285
    """

    name: ClassVar[str] = "cost-per-byte"

    variable_cost: int  #: [wei / byte]
    fixed_cost: int = 0  #: [wei / gas]
    base_fee: int = NODE.base_fee  #: [wei / gas]

    def __post_init__(self) -> None:
        for name in ("fixed_cost", "variable_cost"):
            object.__setattr__(self, name, whole(name, getattr(self, name), unit="wei"))  # arrays along a curve

    def parts(self, compressed_size: Any, gas: Any, margin: Any) -> Breakdown:
        """Return the parts of the priority fee, see `feemodel.breakdown`."""
        costs = {"variable_cost": self.variable_cost, "fixed_cost": self.fixed_cost}
        parts: Breakdown = breakdown(compressed_size, gas, **costs, margin=margin)
        return parts

    def fee(self, compressed_size: int, gas: int, margin: float) -> int:
        """Return the priority fee of one transaction [wei / gas]; the arguments are not checked."""
        costs = {"variable_cost": self.variable_cost, "fixed_cost": self.fixed_cost}
        return int(priority_fee.core(compressed_size, gas, **costs, margin=margin))

    def required_price(self, fee: Any) -> Any:
        """Return the price that a transaction must offer: the priority fee plus the base fee [wei / gas]."""
        if not isinstance(fee, int):
            require("base_fee + priority fee", NO_ROOM, fee, fee <= INT64_MAX - self.base_fee, Int64Overflow)
        return self.base_fee + fee


@dataclass(frozen=True, slots=True)
class VerificationCost:
    """The verification-cost form, used before May 2024: L1 verification cost and capacity, price ratio, minimum price.

    >>> VerificationCost(min_gas_price=100_000_000).parts(128, 21_000, 1.2).total
    146285714
    """

    name: ClassVar[str] = "verification-cost"

    min_gas_price: int  #: [wei / gas]
    verification_gas_cost: int = VERIFICATION.gas_cost  #: [gas]
    verification_capacity: int = VERIFICATION.capacity  #: [byte]
    gas_price_ratio: float = VERIFICATION.gas_price_ratio  #: [1]
    adjustment: int = 0  #: [wei / gas]
    base_fee: int = NODE.base_fee  #: [wei / gas]

    def parts(self, compressed_size: Any, gas: Any, margin: Any) -> Breakdown:
        """Return the parts of the priority fee, see `feemodel.verification_breakdown`."""
        parts: Breakdown = verification_breakdown(
            compressed_size,
            gas,
            min_gas_price=self.min_gas_price,
            base_fee=self.base_fee,
            verification_gas_cost=self.verification_gas_cost,
            verification_capacity=self.verification_capacity,
            gas_price_ratio=self.gas_price_ratio,
            margin=margin,
            adjustment=self.adjustment,
        )
        return parts

    def fee(self, compressed_size: int, gas: int, margin: float) -> int:
        """Return the priority fee of one transaction [wei / gas]."""
        return int(self.parts(compressed_size, gas, margin).total)

    def required_price(self, fee: Any) -> Any:
        """Return the price that a transaction must offer [wei / gas].

        The price is the priority fee alone, because nodes before May 2024 did not add the base fee.
        """
        return fee

    @property
    def cost_per_byte(self) -> float:
        """Cost of verifying one byte on L1, which a fee with a margin of 1 recovers [wei / byte]."""
        l1_gas_price = self.gas_price_ratio * self.min_gas_price
        return l1_gas_price * self.verification_gas_cost / self.verification_capacity


#: All inputs of a fee formula except the size, the gas and the margin.
Form: TypeAlias = CostPerByte | VerificationCost


def form_of(name: str, preset: LineaPreset) -> Form:
    """Return a pricing form with a preset's costs.

    Parameters
    ----------
    name : "cost-per-byte" or "verification-cost".
    preset : set of costs that a node uses. The verification-cost form uses the announced gas price as the minimum gas
        price, as Linea's nodes have done since 2024.

    Returns
    -------
    CostPerByte or VerificationCost.

    Raises
    ------
    InvalidInput : an unknown name.

    >>> from feemodel.linea.parameters import linea_preset
    >>> form_of("cost-per-byte", linea_preset())
    CostPerByte(variable_cost=1000000000, fixed_cost=30000000, base_fee=7)
    """
    if choice("pricing", name, (CostPerByte.name, VerificationCost.name)) == CostPerByte.name:
        return CostPerByte(preset.variable_cost, preset.fixed_cost, preset.base_fee)
    return VerificationCost(min_gas_price=preset.eth_gas_price, base_fee=preset.base_fee)
