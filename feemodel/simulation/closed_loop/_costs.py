"""Operator's costs of finalization, proving and overhead."""

from dataclasses import dataclass

from feemodel.checks import check_fields, check_plausible
from feemodel.errors import InvalidInput
from feemodel.ethereum._fee_units import IN_WEI, IN_WEI_OF_ETH, MIN_AMOUNT
from feemodel.simulation.closed_loop._accounts import CostTerms

MONTH = 30 * 86_400.0  # seconds


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Operator's costs of finalization, proving and overhead; all costs are 0 by default.

    In January 2026, Linea's finalizations used 66,000 to 67,000 gas per posted blob, about as much gas as Linea's
    submissions.

    >>> Costs(finalization_gas=66_500, finalize_blobs=1).finalizes
    True
    """

    finalization_gas: float = 0.0  #: L1 gas of a finalization, including verification of the proof [gas]
    finalization_gas_per_blob: float = 0.0  #: additional L1 gas per finalized blob [gas]
    finalize_blobs: int | None = None  #: number of posted blobs between finalizations
    finalize_seconds: float | None = None  #: time between finalizations, instead of `finalize_blobs` [s]
    proving_per_gas: float = 0.0  #: cost of proving per L2 gas [wei / gas]
    proving_per_byte: float = 0.0  #: cost of proving per byte of data [wei / byte]
    overhead_per_month: float = 0.0  #: overhead cost per 30 days [wei]

    def __post_init__(self) -> None:
        check_fields(self, above_zero=("finalize_blobs", "finalize_seconds"))
        check_plausible("finalize_seconds", self.finalize_seconds, "in seconds; 6 h = 21,600", lowest=60.0)
        check_plausible("overhead_per_month", self.overhead_per_month, IN_WEI_OF_ETH, lowest=MIN_AMOUNT)
        for name in ("proving_per_gas", "proving_per_byte"):
            check_plausible(name, getattr(self, name), IN_WEI, lowest=1.0)
        if self.finalizes and (self.finalize_blobs is None) == (self.finalize_seconds is None):
            reason = "expected either finalize_blobs or finalize_seconds, because there is finalization gas"
            raise InvalidInput("finalize_blobs", reason, self.finalize_blobs)

    @property
    def finalizes(self) -> bool:
        """Whether finalizations use L1 gas."""
        return bool(self.finalization_gas or self.finalization_gas_per_blob)

    def terms(self, step: float) -> CostTerms:
        """Convert the costs to the types that the compiled loop requires; `step` is the length of a step [s]."""
        return CostTerms(
            finalizes=self.finalizes,
            finalization_gas=float(self.finalization_gas),
            finalization_gas_per_blob=float(self.finalization_gas_per_blob),
            finalize_blobs=float(self.finalize_blobs or 0),
            finalize_seconds=float(self.finalize_seconds or 0.0),
            proving_per_gas=float(self.proving_per_gas),
            proving_per_byte=float(self.proving_per_byte),
            overhead=float(self.overhead_per_month * step / MONTH),
        )
