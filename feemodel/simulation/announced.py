"""Variable cost that a rollup announces: the cost at averaged L1 fees, limited to bounds and truncated."""

from __future__ import annotations  # so that `help` shows the names of quantities

from dataclasses import dataclass
from typing import Annotated

from feemodel.arguments import check_fields
from feemodel.checks import INT64_MAX
from feemodel.errors import InvalidInput
from feemodel.ethereum.fee_market import GAS_PER_BLOB, USABLE_BLOB_BYTES
from feemodel.linea.parameters import ASSUMED_L1_TIP, COORDINATOR, NODE
from feemodel.quantities import Quantity
from feemodel.simulation.quantities import IN_WEI, BytePrice, CountAboveZero, Price, WholeBytes, WholeGas
from feemodel.simulation.surfaces import Submission

YEAR = 31_557_600  # seconds
MAX_MARGIN = 50  # maximum margin; a larger number is probably a percentage, not a factor
MarginFactor = Annotated[float, Quantity("1", double=True, maximum=MAX_MARGIN, hint="a factor; 20 % more = 1.2")]
Period = Annotated[float, Quantity("s", double=True, above_zero=True, maximum=YEAR)]
Window = Annotated[
    float, Quantity("s", double=True, above_zero=True, lowest=12, maximum=YEAR, hint="in seconds; 1 h = 3,600")
]
BaseFee = Annotated[int, Quantity("wei / gas", maximum=INT64_MAX)]
FixedCost = Annotated[int, Quantity("wei / gas", lowest=1_000, maximum=INT64_MAX, hint=IN_WEI)]


@dataclass(frozen=True, slots=True)
class CalldataPressure:
    """Rule that raises the variable cost after blocks with much calldata, and lowers it after blocks with little."""

    max_block_calldata: WholeBytes = COORDINATOR.max_block_calldata  #: maximum calldata of a block
    block_count: int = COORDINATOR.calldata_blocks  #: number of recent blocks whose calldata is summed
    denominator: CountAboveZero = COORDINATOR.calldata_fee_denominator  #: d in the growth factor 1 + pressure / d

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PricingRule:
    """Parameters of the announced costs, which are computed from L1 fees, and of the fees that users pay.

    The defaults are those of `feemodel.linea.parameters`. The bounds that Linea uses in production are not published.

    >>> PricingRule(pressure=CalldataPressure()).estimate_margin
    1.2
    """

    margin: MarginFactor = COORDINATOR.margin  #: factor by which L1 costs are multiplied in the variable cost
    estimate_margin: MarginFactor = NODE.estimate_margin  #: fee that users pay / required fee
    fixed_cost: FixedCost = NODE.fixed_cost  #: announced fixed cost
    base_fee: BaseFee = NODE.base_fee  #: base fee of the rollup
    lower_bound: BytePrice | None = COORDINATOR.lower_bound  #: minimum of the variable cost
    upper_bound: BytePrice | None = COORDINATOR.upper_bound  #: maximum of the variable cost
    update_interval: Period = COORDINATOR.update_interval  #: time between two updates of the announced costs
    window: Window = COORDINATOR.window  #: averaging window of L1 fees
    execution_gas: WholeGas = COORDINATOR.execution_gas  #: assumed execution gas of a submission
    blob_gas: WholeGas = COORDINATOR.blob_gas  #: assumed blob gas of a submission
    bytes_per_submission: WholeBytes = COORDINATOR.bytes_per_submission  #: bytes that share a submission's cost
    tip: Price = ASSUMED_L1_TIP  #: assumed L1 priority fee, if the scenario has no tips
    pressure: CalldataPressure | None = None  #: calldata pressure at every update; `None` means no calldata pressure

    def __post_init__(self) -> None:
        check_fields(self)
        if self.lower_bound is not None and self.upper_bound is not None and self.lower_bound > self.upper_bound:
            reason = f"expected at least the lower bound, {self.lower_bound:,}"
            raise InvalidInput("upper_bound", reason, self.upper_bound)

    @property
    def submission(self) -> Submission:
        """The submission whose cost the rule announces, for a `Posting` that pays the same gas and tip for full blobs.

        >>> PricingRule(execution_gas=100_000, tip=2 * 10**9).submission
        Submission(execution_gas=100000, blob_gas=131072, capacity=130048, tip=2000000000.0)
        """
        capacity = self.blob_gas * USABLE_BLOB_BYTES // GAS_PER_BLOB
        return Submission(execution_gas=self.execution_gas, blob_gas=self.blob_gas, capacity=capacity, tip=self.tip)
