"""Policies that determine when compressed bytes are posted to L1, the costs of posting, and other costs.

A policy can wait for full blobs, post at a deadline, or wait for low fees.
"""

from dataclasses import dataclass, field

from feemodel.checks import check_fields, check_plausible, choice, instance
from feemodel.errors import InvalidInput
from feemodel.ethereum._fee_units import IN_WEI, IN_WEI_OF_ETH, MIN_AMOUNT, MIN_PRICE
from feemodel.ethereum.fee_market import GAS_PER_BLOB
from feemodel.linea import _price_cap as price_cap
from feemodel.simulation.closed_loop._accounts import CostTerms
from feemodel.simulation.surfaces import Submission

MONTH = 30 * 86_400.0  # seconds
MAX_BLOBS = 72  # maximum number of blobs of a submission; an L1 block cannot contain more
KINDS = ("fill", "deadline", "price-cap", "blob-or-calldata", "alternative-layer")
TIP_KINDS = ("paid", "constant")


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceCap:
    """Parameters of Linea's price cap for submissions; `feemodel.linea._price_cap` has the formulas."""

    target_delay: float = price_cap.TARGET_DELAY  #: waiting time after which the multiplier is 1 + adjustment [s]
    adjustment: float = price_cap.ADJUSTMENT  #: increase of the multiplier after `target_delay` [1]
    tip_cap: float = price_cap.TIP  #: cap on the tip at a waiting time of 0; a cap of 0 excludes the tip [wei / gas]
    tip: str = "paid"  #: "paid": the tip is cap − L1 base fee and grows with the waiting time; "constant": constant tip
    from_first_byte: bool = True  #: `True`: waiting starts with the first byte; `False`: when the submission is full
    time_of_day: bool = True  #: whether the caps are multiplied by a factor for each hour of the week
    coefficient: float = price_cap.COEFFICIENT  #: L1 fees must be at most this share of the caps [1]
    window: float = price_cap.WINDOW  #: time window of the fee percentiles [s]

    def __post_init__(self) -> None:
        check_fields(self, above_zero=("coefficient", "target_delay", "window"))
        check_plausible("target_delay", self.target_delay, "in seconds; 16 h = 57,600", lowest=60.0)
        check_plausible("window", self.window, "in seconds; 7 days = 604,800", lowest=600.0)
        check_plausible("coefficient", self.coefficient, "a factor; 90 % = 0.9", highest=10.0)
        check_plausible("tip_cap", self.tip_cap, IN_WEI, lowest=MIN_PRICE)
        choice("tip", self.tip, TIP_KINDS)


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

    submission: Submission = field(default_factory=Submission)
    deadline: float | None = None  #: maximum waiting time of a byte [s]
    #: Size of all transactions compressed together / sum of the sizes of transactions compressed one by one [1].
    stream_ratio: float = 1.0
    kind: str = "fill"
    blobs: int = 1  #: number of blobs in a submission
    further_blob_gas: float = 0.0  #: execution gas of each additional blob [gas]
    cap: PriceCap = field(default_factory=PriceCap)  #: parameters of "price-cap"
    layer_cost_per_mib: float = 0.0  #: price of data on the layer of "alternative-layer" [wei / MiB]
    #: L1 gas of the transaction that commits to data on the layer of "alternative-layer" [gas]
    commitment_gas: float = 21_000.0

    def __post_init__(self) -> None:
        instance("submission", self.submission, Submission)
        check_fields(self, above_zero=("deadline", "stream_ratio", "blobs"), maximum={"blobs": MAX_BLOBS})
        if self.blobs > 1 and self.submission.blob_gas > GAS_PER_BLOB:
            raise InvalidInput("blobs", "expected 1, because the submission has the gas of several blobs", self.blobs)
        check_plausible("deadline", self.deadline, "in seconds; 16 h = 57,600", lowest=60.0)
        check_plausible("stream_ratio", self.stream_ratio, "a factor; 52 % = 0.52", highest=10.0)
        check_plausible("layer_cost_per_mib", self.layer_cost_per_mib, IN_WEI, lowest=MIN_PRICE)
        if choice("kind", self.kind, KINDS) == "fill" and self.deadline is not None:
            object.__setattr__(self, "kind", "deadline")
        if (self.deadline is None) == (self.kind == "deadline"):
            expected = "a deadline" if self.deadline is None else "no deadline"
            raise InvalidInput("deadline", f"expected {expected} with kind {self.kind}", self.deadline)
        instance("cap", self.cap, PriceCap)


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
