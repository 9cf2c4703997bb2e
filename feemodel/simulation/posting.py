"""Policies that determine when compressed bytes are posted to L1, the costs of posting, and other costs.

A policy can wait for full blobs, post at a deadline, or wait for low fees.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from feemodel._records import compared_by_value, printed_as_table
from feemodel.checks import (
    RealArray,
    above_zero,
    check_fields,
    check_limit,
    check_plausible,
    choice,
    instance,
    raise_first,
    real,
)
from feemodel.errors import InvalidInput
from feemodel.ethereum._fee_units import IN_WEI, IN_WEI_OF_ETH, MIN_AMOUNT, MIN_PRICE
from feemodel.linea import _price_cap as price_cap
from feemodel.simulation.closed_loop._accounts import CostTerms
from feemodel.simulation.scenarios import check_scenario, step_starts, tips_of
from feemodel.simulation.surfaces import Submission

MONTH = 30 * 86_400.0  # seconds
MAX_SUBMISSIONS = 1 << 26  # maximum number of submissions of a path, which need about 2 GB
MAX_BLOBS = 72  # maximum number of blobs of a submission; an L1 block cannot contain more
KINDS = ("fill", "deadline", "price-cap", "blob-or-calldata", "alternative-layer", "clairvoyant")
WITH_DEADLINE = ("deadline", "clairvoyant")  # kinds that have a deadline
TIP_KINDS = ("paid", "constant")


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceCap:
    """Parameters of Linea's price cap for submissions; `feemodel.linea._price_cap` has the formulas."""

    target_delay: float = price_cap.TARGET_DELAY  #: waiting time after which the multiplier is 1 + adjustment [s]
    adjustment: float = price_cap.ADJUSTMENT  #: increase of the multiplier after `target_delay` [1]
    tip_cap: float = price_cap.TIP  #: cap on the tip at a waiting time of 0; if 0, the caps include no tip [wei / gas]
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

    The `kind` determines when data is submitted. `backtest` supports only the kinds "fill" and "deadline".

    - "fill": when blobs are full;
    - "deadline": when blobs are full, or when the waiting time of the first byte reaches the deadline;
    - "price-cap": when blobs are full and the price cap covers L1 fees;
    - "blob-or-calldata": when blobs are full, as blobs or calldata, whichever is cheaper;
    - "alternative-layer": when blobs are full, to another data availability layer;
    - "clairvoyant": in the cheapest block between the time when blobs are full and the deadline. The policy knows all
      future fees, so its cost is a lower bound for real policies.

    >>> Posting(deadline=3_600.0, stream_ratio=0.52).submission.capacity
    130048
    >>> Posting(deadline=3_600.0).kind
    'deadline'
    """

    submission: Submission = field(default_factory=Submission)
    #: Maximum waiting time of a byte [s]. For "clairvoyant", the waiting time starts when the submission is full.
    deadline: float | None = None
    #: (Cost of an hour of waiting) / (median cost of a submission), for "clairvoyant" [1 / h].
    delay_cost: float = 0.0
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
        check_plausible("deadline", self.deadline, "in seconds; 16 h = 57,600", lowest=60.0)
        check_plausible("delay_cost", self.delay_cost, "a factor per hour; 30 % = 0.3", highest=10.0)
        check_plausible("stream_ratio", self.stream_ratio, "a factor; 52 % = 0.52", highest=10.0)
        check_plausible("layer_cost_per_mib", self.layer_cost_per_mib, IN_WEI, lowest=MIN_PRICE)
        if choice("kind", self.kind, KINDS) == "fill" and self.deadline is not None:
            object.__setattr__(self, "kind", "deadline")
        if (self.deadline is None) == (self.kind in WITH_DEADLINE):
            expected = "a deadline" if self.deadline is None else "no deadline"
            raise InvalidInput("deadline", f"expected {expected} with kind {self.kind}", self.deadline)
        if self.blobs > 1 and self.kind == "clairvoyant":
            raise InvalidInput("blobs", "expected 1 with kind clairvoyant", self.blobs)
        if self.delay_cost and self.kind != "clairvoyant":
            raise InvalidInput("delay_cost", "expected 0 unless kind is clairvoyant", self.delay_cost)
        instance("cap", self.cap, PriceCap)


@compared_by_value
@printed_as_table
class Posted(NamedTuple):
    """Submissions, in order of time."""

    time: RealArray  #: time of each submission [s]
    end: RealArray  #: length of the stream at the end of each submission [byte]
    cost: RealArray  #: cost of each submission [wei]

    def cost_up_to(self, byte: RealArray) -> RealArray:
        """Return the cost of the first n bytes of the stream, for each n in `byte` [wei].

        The cost of a submission is divided equally among its bytes.

        >>> Posted(np.array([60.0, 90.0]), np.array([100.0, 150.0]), np.array([5.0, 10.0])).cost_up_to(np.array([125]))
        array([10.])
        """
        return np.asarray(np.interp(byte, np.append(0.0, self.end), np.append(0.0, np.cumsum(self.cost))))


def post(stream: RealArray, tick: float, posting: Posting, l1_fees: xr.Dataset) -> Posted:
    """Compute the submissions that post a stream of compressed bytes to L1.

    A submission is made when its blobs are full, or when its first byte has waited until the deadline. The remaining
    bytes are posted at the end of the stream, at the cost of a full submission.

    Parameters
    ----------
    stream : cumulative number of bytes at the end of each tick, of shape (ticks,) [byte].
    tick : length of a tick, in which bytes arrive at a constant rate [s].
    posting : posting policy, of kind "fill" or "deadline".
    l1_fees : scenario of one path, with the L1 fees at which submissions are posted.

    Returns
    -------
    Posted : for each submission, the time, the length of the stream at the end of the submission, and the cost.

    Raises
    ------
    InvalidInput : a deadline shorter than a tick, or a stream that decreases or is empty.

    Data for one and a half blobs arrives in three minutes. The first blob is full and posted after two minutes, and the
    remaining data is posted at the end, after three minutes:

    >>> from feemodel.simulation.scenarios import replay
    >>> fees = replay({"timestamp": [0, 90], "base_fee": [7e7, 7e7], "blob_base_fee": [4e6, 4e6]}, source="by hand")
    >>> posted = post(np.array([65_024.0, 130_048.0, 195_072.0]), 60.0, Posting(), fees)
    >>> posted.time.tolist(), posted.end.tolist(), posted.cost.tolist()
    ([120.0, 180.0], [130048.0, 195072.0], [11616788000000.0, 11616788000000.0])
    """
    instance("posting", posting, Posting)
    if posting.kind not in ("fill", "deadline") or posting.blobs > 1:
        kind = f"kind {posting.kind}, {posting.blobs} blobs"
        raise InvalidInput(
            "posting", "expected kind fill or deadline with one blob (simulate supports all kinds)", kind
        )
    check_scenario("l1_fees", l1_fees)
    tick = above_zero("tick", tick, unit="s")
    stream = np.asarray(real("stream", stream, unit="bytes"))
    if stream.ndim != 1 or not stream.size or stream[-1] == 0.0:
        raise InvalidInput("stream", "expected one number per tick, the last above 0", stream.shape)
    if (falls := np.diff(stream) < 0.0).any():
        raise_first("stream", "expected cumulative sums, which do not decrease", stream[1:], falls)
    if posting.deadline is not None and posting.deadline < tick:
        raise InvalidInput("deadline", f"expected at least one tick, {tick:g} s", posting.deadline)
    check_limit(stream[-1] / posting.submission.capacity, "submissions", MAX_SUBMISSIONS)
    edges = np.linspace(0.0, len(stream) * tick, len(stream) + 1)
    arrived = np.append(0.0, stream)
    times, ends = _filled(edges, arrived, posting) if posting.deadline is None else _dated(edges, arrived, posting)
    step = np.searchsorted(step_starts(l1_fees), times, side="right") - 1
    base_fee, blob_base_fee = (l1_fees[name].to_numpy()[0][step] for name in ("base_fee", "blob_base_fee"))
    tip = tips_of(l1_fees, posting.submission.tip)[0][step]
    return Posted(times, ends, posting.submission.cost(base_fee, tip, blob_base_fee))


def _filled(edges: RealArray, arrived: RealArray, posting: Posting) -> tuple[RealArray, RealArray]:
    capacity, total = posting.submission.capacity, arrived[-1]
    ends = np.asarray(capacity * np.arange(1.0, total // capacity + 1))
    times = _reached(edges, arrived, ends)
    if ends.size * capacity < total:
        times, ends = np.append(times, edges[-1]), np.append(ends, total)
    return times, ends


def _dated(edges: RealArray, arrived: RealArray, posting: Posting) -> tuple[RealArray, RealArray]:
    deadline, capacity, total = posting.deadline or 0.0, posting.submission.capacity, arrived[-1]
    times, ends, start = [], [], 0.0
    while start < total:
        # A submission is due when its first byte has waited for `deadline` seconds.
        due = float(_within(edges, arrived, np.searchsorted(arrived, start, side="right"), start)) + deadline
        end = start + capacity
        time = float(_reached(edges, arrived, np.array([end]))[0]) if end <= total else np.inf
        if time > due or time == np.inf:
            time = min(due, float(edges[-1]))
            end = float(np.interp(time, edges, arrived))
        times.append(time)
        ends.append(end)
        start = end
    return np.array(times), np.array(ends)


def _reached(edges: RealArray, arrived: RealArray, byte: RealArray) -> RealArray:
    """Return the time at which the stream first reaches a given length [s]."""
    after = np.searchsorted(arrived, byte, side="left")
    return _within(edges, arrived, after, byte)


def _within(edges: RealArray, arrived: RealArray, after: Any, byte: Any) -> RealArray:
    before = after - 1
    share = (byte - arrived[before]) / (arrived[after] - arrived[before])
    return np.asarray(edges[before] + share * (edges[after] - edges[before]))


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
