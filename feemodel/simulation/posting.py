"""Policies that determine when compressed bytes are posted to L1, the costs of posting, and other costs.

A policy can wait for full blobs, post at a deadline, or wait for low fees.
"""

from dataclasses import dataclass, field
from typing import Annotated

from feemodel.arguments import check_fields
from feemodel.errors import InvalidInput
from feemodel.ethereum.fee_market import GAS_PER_BLOB
from feemodel.linea import _price_cap as price_cap
from feemodel.quantities import ExecutionGas, Quantity, Ratio
from feemodel.simulation.closed_loop._accounts import CostTerms
from feemodel.simulation.quantities import IN_WEI, Amount, CountAboveZero, Delay, Price
from feemodel.simulation.surfaces import Submission

MONTH = 30 * 86_400.0  # seconds
MAX_BLOBS = 72  # maximum number of blobs of a submission; an L1 block cannot contain more
KINDS = ("fill", "deadline", "price-cap", "blob-or-calldata", "alternative-layer")
MebibytePrice = Annotated[float, Quantity("wei / MiB", double=True, lowest=1_000, hint=IN_WEI)]
ProvingPerGas = Annotated[float, Quantity("wei / gas", double=True, lowest=1, hint=IN_WEI)]
ProvingPerByte = Annotated[float, Quantity("wei / byte", double=True, lowest=1, hint=IN_WEI)]
FeeWindow = Annotated[
    float, Quantity("s", double=True, above_zero=True, lowest=600, hint="in seconds; 7 days = 604,800")
]
Share = Annotated[float, Quantity("1", double=True, above_zero=True, maximum=10, hint="a factor; 52 % = 0.52")]


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceCap:
    """Parameters of Linea's price cap for submissions, see `feemodel.linea.dynamic_gas_price_cap`."""

    target_delay: Delay = price_cap.TARGET_DELAY  #: waiting time after which the multiplier is 1 + adjustment
    adjustment: Ratio = price_cap.ADJUSTMENT  #: increase of the multiplier after `target_delay`
    tip_cap: Price = price_cap.TIP  #: cap on the tip at a waiting time of 0; a cap of 0 excludes the tip
    #: "paid": the tip is cap − L1 base fee and grows with the waiting time; "constant": constant tip
    tip: Annotated[str, ("paid", "constant")] = "paid"
    from_first_byte: bool = True  #: `True`: waiting starts with the first byte; `False`: when the submission is full
    time_of_day: bool = True  #: whether the caps are multiplied by a factor for each hour of the week
    coefficient: Share = price_cap.COEFFICIENT  #: L1 fees must be at most this share of the caps
    window: FeeWindow = price_cap.WINDOW  #: time window of the fee percentiles

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Posting:
    """Policy that determines when and how compressed bytes are posted to L1.

    The `kind` determines when data is submitted.

    - "fill": when blobs are full;
    - "deadline": when blobs are full, or when the waiting time of the first byte reaches the deadline;
    - "price-cap": when blobs are full and the price cap covers L1 fees;
    - "blob-or-calldata": when blobs are full, as blobs or calldata, whichever is cheaper;
    - "alternative-layer": when blobs are full, to another data availability layer.

    >>> Posting(deadline=3_600.0, stream_ratio=0.52).submission.capacity
    130048
    >>> Posting(deadline=3_600.0).kind
    'deadline'
    """

    submission: Submission = field(default_factory=Submission)  #: gas, capacity and tip of a submission
    deadline: Delay | None = None  #: maximum waiting time of a byte
    #: size of all transactions compressed together / sum of the sizes of transactions compressed one by one
    stream_ratio: Share = 1.0
    kind: Annotated[str, KINDS] = "fill"
    blobs: Annotated[int, Quantity("1", minimum=1, maximum=MAX_BLOBS)] = 1  #: number of blobs in a submission
    further_blob_gas: ExecutionGas = 0.0  #: execution gas of each additional blob
    cap: PriceCap = field(default_factory=PriceCap)  #: parameters of "price-cap"
    layer_cost_per_mib: MebibytePrice = 0.0  #: price of data on the layer of "alternative-layer"
    #: L1 gas of the transaction that commits to data on the layer of "alternative-layer"
    commitment_gas: ExecutionGas = 21_000.0

    def __post_init__(self) -> None:
        check_fields(self)
        if self.blobs > 1 and self.submission.blob_gas > GAS_PER_BLOB:
            raise InvalidInput("blobs", "expected 1, because the submission has the gas of several blobs", self.blobs)
        if self.kind == "fill" and self.deadline is not None:
            object.__setattr__(self, "kind", "deadline")
        if (self.deadline is None) == (self.kind == "deadline"):
            expected = "a deadline" if self.deadline is None else "no deadline"
            raise InvalidInput("deadline", f"expected {expected} with kind {self.kind}", self.deadline)


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Operator's costs of finalization, proving and overhead; all costs are 0 by default.

    In January 2026, Linea's finalizations used 66,000 to 67,000 gas per posted blob, about as much gas as Linea's
    submissions.

    >>> Costs(finalization_gas=66_500, finalize_blobs=1).finalizes
    True
    """

    finalization_gas: ExecutionGas = 0.0  #: L1 gas of a finalization, including verification of the proof
    finalization_gas_per_blob: ExecutionGas = 0.0  #: additional L1 gas per finalized blob
    finalize_blobs: CountAboveZero | None = None  #: number of posted blobs between finalizations
    finalize_seconds: Delay | None = None  #: time between finalizations, instead of `finalize_blobs`
    proving_per_gas: ProvingPerGas = 0.0  #: cost of proving per L2 gas
    proving_per_byte: ProvingPerByte = 0.0  #: cost of proving per byte of data
    overhead_per_month: Amount = 0.0  #: overhead cost per 30 days

    def __post_init__(self) -> None:
        check_fields(self)
        if self.finalizes and (self.finalize_blobs is None) == (self.finalize_seconds is None):
            reason = "expected either finalize_blobs or finalize_seconds, because there is finalization gas"
            raise InvalidInput("finalize_blobs", reason, self.finalize_blobs)

    @property
    def finalizes(self) -> bool:
        """Whether finalizations use L1 gas."""
        return bool(self.finalization_gas or self.finalization_gas_per_blob)

    def terms(self, step: float) -> CostTerms:
        """Convert the costs to the types that the compiled loop requires; `step` is the length of a step [s]."""
        same = {name: getattr(self, name) for name in CostTerms._fields if hasattr(self, name)}
        never = {"finalize_blobs": float(self.finalize_blobs or 0), "finalize_seconds": self.finalize_seconds or 0.0}
        return CostTerms(**same | never, overhead=self.overhead_per_month * step / MONTH)
