"""Variable cost that a rollup announces: the cost at averaged L1 fees, limited to bounds and truncated."""

from dataclasses import dataclass

from feemodel.checks import INT64_MAX, check_fields, check_plausible
from feemodel.errors import InvalidInput
from feemodel.ethereum._fee_units import IN_WEI, MIN_PRICE
from feemodel.ethereum.fee_market import GAS_PER_BLOB, USABLE_BLOB_BYTES
from feemodel.linea.parameters import ASSUMED_L1_TIP, COORDINATOR, NODE
from feemodel.simulation.surfaces import Submission

YEAR = 31_557_600.0  # seconds
MAX_MARGIN = 50.0  # maximum margin; a larger number is probably a percentage, not a factor


@dataclass(frozen=True, slots=True)
class CalldataPressure:
    """Rule that raises the variable cost after blocks with much calldata, and lowers it after blocks with little."""

    max_block_calldata: int = COORDINATOR.max_block_calldata  #: maximum calldata of a block [byte]
    block_count: int = COORDINATOR.calldata_blocks  #: number of recent blocks whose calldata is summed
    denominator: int = COORDINATOR.calldata_fee_denominator  #: d in the growth factor 1 + pressure / d [1]

    def __post_init__(self) -> None:
        check_fields(self, above_zero=("max_block_calldata", "denominator"))


@dataclass(frozen=True, slots=True, kw_only=True)
class PricingRule:
    """Parameters of the announced costs, which are computed from L1 fees, and of the fees that users pay.

    The defaults are those of `feemodel.linea.parameters`. The bounds that Linea uses in production are not published.

    >>> PricingRule(pressure=CalldataPressure()).estimate_margin
    1.2
    """

    margin: float = COORDINATOR.margin  #: factor by which L1 costs are multiplied in the variable cost [1]
    estimate_margin: float = NODE.estimate_margin  #: fee that users pay / required fee [1]
    fixed_cost: int = NODE.fixed_cost  #: announced fixed cost [wei / gas]
    base_fee: int = NODE.base_fee  #: base fee of the rollup [wei / gas]
    lower_bound: float | None = COORDINATOR.lower_bound  #: minimum of the variable cost [wei / byte]
    upper_bound: float | None = COORDINATOR.upper_bound  #: maximum of the variable cost [wei / byte]
    update_interval: float = COORDINATOR.update_interval  #: time between two updates of the announced costs [s]
    window: float = COORDINATOR.window  #: averaging window of L1 fees [s]
    execution_gas: int = COORDINATOR.execution_gas  #: assumed execution gas of a submission [gas]
    blob_gas: int = COORDINATOR.blob_gas  #: assumed blob gas of a submission [gas]
    bytes_per_submission: int = COORDINATOR.bytes_per_submission  #: bytes that share the cost of a submission [byte]
    tip: float = ASSUMED_L1_TIP  #: assumed L1 priority fee, if the scenario has no tips [wei / gas]
    pressure: CalldataPressure | None = None  #: calldata pressure at every update; `None` means no calldata pressure

    def __post_init__(self) -> None:
        positive = ("update_interval", "window", "bytes_per_submission")
        maximum = {"update_interval": YEAR, "window": YEAR, "fixed_cost": INT64_MAX, "base_fee": INT64_MAX}
        check_fields(self, above_zero=positive, maximum=maximum)
        for name in ("margin", "estimate_margin"):
            check_plausible(name, getattr(self, name), "a factor; 20 % more = 1.2", highest=MAX_MARGIN)
        check_plausible("window", self.window, "in seconds; 1 h = 3,600", lowest=12.0)
        check_plausible("fixed_cost", self.fixed_cost, IN_WEI, lowest=MIN_PRICE)
        for name in ("tip", "lower_bound", "upper_bound"):
            check_plausible(name, getattr(self, name), IN_WEI, lowest=MIN_PRICE)
        if self.lower_bound is not None and self.upper_bound is not None and self.lower_bound > self.upper_bound:
            reason = f"expected at least the lower bound, {self.lower_bound:,}"
            raise InvalidInput("upper_bound", reason, self.upper_bound)
        if self.pressure is not None and not isinstance(self.pressure, CalldataPressure):
            raise InvalidInput("pressure", "expected a CalldataPressure or None", self.pressure)

    @property
    def submission(self) -> Submission:
        """The submission whose cost the rule announces, for a `Posting` that pays the same gas and tip for full blobs.

        >>> PricingRule(execution_gas=100_000, tip=2 * 10**9).submission
        Submission(execution_gas=100000, blob_gas=131072, capacity=130048, tip=2000000000)
        """
        capacity = self.blob_gas * USABLE_BLOB_BYTES // GAS_PER_BLOB
        return Submission(execution_gas=self.execution_gas, blob_gas=self.blob_gas, capacity=capacity, tip=self.tip)
