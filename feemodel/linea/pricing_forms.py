"""Objects for the two published forms of the fee; the formulas are in `feemodel.linea.priority`."""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, TypeAlias

from feemodel.checks import choice
from feemodel.linea.parameters import NODE, VERIFICATION, LineaPreset
from feemodel.linea.priority import Breakdown, breakdown, priority_fee, verification_priority_fee
from feemodel.quantities import Quantity


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
            object.__setattr__(self, name, Quantity("wei").check(name, getattr(self, name)))  # an array for a curve

    def parts(self, compressed_size: Any, gas: Any, margin: Any) -> Breakdown:
        """Return the parts of the priority fee, see `feemodel.breakdown`."""
        costs = {"variable_cost": self.variable_cost, "fixed_cost": self.fixed_cost}
        parts: Breakdown = breakdown(compressed_size, gas, **costs, margin=margin)
        return parts

    def fee(self, compressed_size: int, gas: int, margin: float) -> int:
        """Return the priority fee of one transaction [wei / gas]; the arguments are not checked."""
        costs = {"variable_cost": self.variable_cost, "fixed_cost": self.fixed_cost}
        return int(priority_fee.core(compressed_size, gas, **costs, margin=margin))

    def required_price(self, fee: int) -> int:
        """Return the price that a transaction must offer: the priority fee plus the base fee [wei / gas]."""
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
        """Return the parts of the priority fee, see `feemodel.verification_priority_fee`."""
        costs = asdict(self) | {"margin": margin}
        total = verification_priority_fee(compressed_size, gas, **costs)
        costs["base_fee"] = self.min_gas_price  # the fee without the minimum
        fee = verification_priority_fee(compressed_size, gas, **costs)
        size = verification_priority_fee(compressed_size, gas, **costs | {"margin": 1.0, "adjustment": 0})
        return Breakdown(fixed=self.adjustment, size=size, margin=fee - size - self.adjustment, floor=total - fee)

    def fee(self, compressed_size: int, gas: int, margin: float) -> int:
        """Return the priority fee of one transaction [wei / gas]."""
        return int(verification_priority_fee(compressed_size, gas, **asdict(self), margin=margin))

    def required_price(self, fee: int) -> int:
        """Return the priority fee, to which nodes before May 2024 did not add the base fee [wei / gas]."""
        return fee

    @property
    def cost_per_byte(self) -> float:
        """Cost of verifying one byte on L1, which a fee with a margin of 1 recovers [wei / byte]."""
        l1_gas_price = self.gas_price_ratio * self.min_gas_price
        return l1_gas_price * self.verification_gas_cost / self.verification_capacity


#: All inputs of a fee formula except the size, the gas and the margin.
Form: TypeAlias = CostPerByte | VerificationCost


def form_of(name: str, preset: LineaPreset) -> Form:
    """Return the form with this name and a preset's costs; the announced gas price is the minimum gas price.

    >>> from feemodel.linea.parameters import linea_preset
    >>> form_of("cost-per-byte", linea_preset())
    CostPerByte(variable_cost=1000000000, fixed_cost=30000000, base_fee=7)
    """
    if choice("pricing", name, (CostPerByte.name, VerificationCost.name)) == CostPerByte.name:
        return CostPerByte(preset.variable_cost, preset.fixed_cost, preset.base_fee)
    return VerificationCost(min_gas_price=preset.eth_gas_price, base_fee=preset.base_fee)
