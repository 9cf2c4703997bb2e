"""Compare the savings and the delay of submissions that wait for lower L1 fees."""

from dataclasses import dataclass, field

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from feemodel._compiled import cached_njit
from feemodel.arguments import check_of, checked
from feemodel.checks import RealArray
from feemodel.errors import InvalidInput
from feemodel.quantities import REAL
from feemodel.simulation._metadata import described_dataset
from feemodel.simulation.closed_loop._accounts import SubmissionFees
from feemodel.simulation.closed_loop._l1_steps import first_second, posting_caps, posting_terms, rows_by_step
from feemodel.simulation.closed_loop.loop import capped_tip
from feemodel.simulation.posting import FeeWindow, Posting
from feemodel.simulation.quantities import Delay, DurationAboveZero
from feemodel.simulation.scenarios import check_scenario
from feemodel.simulation.surfaces import Submission

INTERVAL = 751.0  # seconds to fill a blob at 1.45 transactions per second, with 119.42 bytes each
FIRST_DUE = 7 * 86_400.0  # seven days [s], because a price cap computes its percentiles over a window of seven days
HOUR_SECONDS = 3_600.0


@dataclass(frozen=True, kw_only=True)
class Clairvoyant:
    """Posting in the cheapest step between the time when a submission is due and the deadline.

    The policy knows all future fees, so its cost is a lower bound for real policies.
    """

    deadline: float  #: maximum wait [s]
    delay_cost: float = 0.0  #: (cost of an hour of waiting) / (median cost of a submission) [1 / h]
    submission: Submission = field(default_factory=Submission)

    def steps(self, cost: RealArray, step: float) -> NDArray[np.int64]:
        """For each step, return the step in which to post a submission due in it, given each step's cost."""
        waiting = self.delay_cost * float(np.median(cost)) * step / HOUR_SECONDS
        return cheapest_step(cost + waiting * np.arange(len(cost)), round(self.deadline / step))


@checked
def price_of_finality(
    l1_fees: xr.Dataset,
    posting: Posting | Clairvoyant,
    *,
    interval: Delay = INTERVAL,
    first_due: FeeWindow = FIRST_DUE,
    step: DurationAboveZero = 12.0,
) -> xr.Dataset:
    """Compare submissions that wait for lower L1 fees with submissions that are sent when they are due.

    Parameters
    ----------
    l1_fees : scenario with dates, and of one path that is longer than `first_due`.
    posting : posting policy that waits for lower fees: of the kind "price-cap", or a `Clairvoyant`.
    interval : time from when one submission is due until the next submission is due. The first byte of a submission
        arrives when the previous submission is due [s].
    first_due : time at which the first submission is due [s].
    step : time between two checks of the L1 fees [s].

    Returns
    -------
    Dataset over `submission`: `due` and `sent`, times since the start [s]; `delay` [s]; `cost`, `cost_when_due` [wei].
    `cost_when_due` is the cost of the submission if it is sent when due, at the L1 tip of that time. `saving` is 1 −
    (sum of `cost`) / (sum of `cost_when_due`); a negative saving means that waiting costs more [1]. `mean_delay` is the
    mean of `delay` [s]. Submissions that still wait at the end of the scenario are sent at the end.

    Raises
    ------
    InvalidInput : the scenario has several paths, has no dates, or ends before the first submission is due.

    At constant fees, waiting does not make a submission cheaper. In this example, the saving is slightly negative,
    because the tip that the price cap allows rises with the age of the first byte of a submission:

    >>> from feemodel.simulation.scenarios import replay
    >>> rows = {"timestamp": [1767795167, 1767795167 + 700_000], "base_fee": [7e7] * 2, "blob_base_fee": [4e6] * 2}
    >>> found = price_of_finality(replay(rows, source="by hand"), Posting(kind="price-cap"))
    >>> found.sizes["submission"], round(found.saving.item(), 4), found.mean_delay.item()
    (127, -0.002, 0.0)
    """
    columns, start_time = fees_by_step(l1_fees, step, posting.submission.tip)
    base_fee, blob_base_fee, tip = columns
    count = len(base_fee)
    due_times = first_due + interval * np.arange(max(0.0, np.ceil((count * step - first_due) / interval)))
    due = np.ceil(due_times / step - 1e-9).astype(np.int64)
    due_times, due = due_times[due < count], due[due < count]
    if not due.size:
        raise InvalidInput("l1_fees", f"expected more than {first_due:,.0f} s", count * step)
    submission = posting.submission
    at_tip = submission.cost(base_fee, tip, blob_base_fee)
    sent, paid_tip = due.copy(), tip[due]
    if isinstance(posting, Clairvoyant):
        sent = posting.steps(at_tip, step)[due]
        paid_tip = tip[sent]
    elif posting.kind == "price-cap":
        caps, fees = posting_caps(base_fee, blob_base_fee, posting, step), SubmissionFees(base_fee, blob_base_fee, tip)
        since = due_times - (interval if posting.cap.from_first_byte else 0.0)
        sent, paid_tip = _sent_under_caps(due, since, start_time, step, fees, posting_terms(posting), caps)
    cost = submission.cost(base_fee[sent], paid_tip, blob_base_fee[sent])
    delay = np.where(sent > due, sent * step - due_times, 0.0)
    when_due = at_tip[due]
    return described_dataset(
        {
            "due": ("submission", due_times, "s", "when the submission is full"),
            "sent": ("submission", sent * step, "s", "when it is sent"),
            "delay": ("submission", delay, "s", "delay after it is full"),
            "cost": ("submission", cost, "wei", "cost"),
            "cost_when_due": ("submission", when_due, "wei", "cost if sent when it is full"),
            "saving": ((), float(1.0 - cost.sum() / when_due.sum()), "1", "saving as a share of the cost when due"),
            "mean_delay": ((), float(delay.mean()), "s", "mean delay"),
        }
    )


def cheapest_step(costs: RealArray, window: int) -> NDArray[np.int64]:
    """For each step, return the step with the lowest cost among this step and the next `window` steps.

    If several steps have the lowest cost, the last of these steps is returned.

    >>> cheapest_step(np.array([3.0, 1.0, 2.0, 5.0]), 1).tolist()
    [1, 1, 2, 3]
    """
    return np.asarray(_cheapest_step(np.asarray(REAL.check("costs", costs)), check_of(int)("window", window)))


@cached_njit(nogil=True, error_model="numpy")
def _cheapest_step(costs, window):  # type: ignore[no-untyped-def]
    count = costs.size
    best = np.empty(count, dtype=np.int64)
    queue = np.empty(count, dtype=np.int64)  # steps that may be the cheapest, by cost (monotonic queue)
    head, tail = 0, 0
    for k in range(count - 1, -1, -1):
        while tail > head and costs[queue[tail - 1]] > costs[k]:
            tail -= 1
        queue[tail] = k
        tail += 1
        while queue[head] > k + window:
            head += 1
        best[k] = queue[head]
    return best


def fees_by_step(l1_fees: xr.Dataset, step: float, tip: float) -> tuple[tuple[RealArray, RealArray, RealArray], float]:
    """Return the L1 fees in each step of a scenario with one path [wei / gas], and the start of the scenario [s].

    The fees are a tuple of three arrays: base fee, blob base fee and tip.

    >>> from feemodel.simulation.scenarios import replay
    >>> rows = {"timestamp": [60, 72], "base_fee": [7e7, 8e7], "blob_base_fee": [1.0, 2.0]}
    >>> fees_by_step(replay(rows, source="by hand"), 12.0, 5.0)
    ((array([70000000., 80000000.]), array([1., 2.]), array([5., 5.])), 60.0)
    """
    check_scenario("l1_fees", l1_fees)
    if l1_fees.sizes["path"] != 1:
        raise InvalidInput("l1_fees", "expected one path", l1_fees.sizes["path"])
    rows = rows_by_step(l1_fees["elapsed"].to_numpy(), step)
    base_fee, blob_base_fee = (
        l1_fees[name].to_numpy()[0][rows].astype(np.float64) for name in ("base_fee", "blob_base_fee")
    )
    tips = l1_fees["tip"].to_numpy()[0] if "tip" in l1_fees else np.full(l1_fees.sizes["step"], tip)
    return (base_fee, blob_base_fee, tips[rows].astype(np.float64)), first_second(l1_fees) or 0.0


@cached_njit(nogil=True, error_model="numpy")
def _sent_under_caps(due, since, start_time, step, fees, terms, caps):  # type: ignore[no-untyped-def]
    """Return the step in which each submission is sent, and the tip of each submission.

    Submissions are sent in the last step at the latest.
    """
    sent, paid = np.empty(due.size, dtype=np.int64), np.empty(due.size)
    last = fees.base_fee.size - 1
    for i in range(due.size):
        k = due[i]
        found = -1.0
        while True:
            now = SubmissionFees(fees.base_fee[k], fees.blob_base_fee[k], fees.tip[k])
            elapsed = max(k * step - since[i], 0.0)
            found = capped_tip(k, terms, now, caps, elapsed, start_time + k * step, False)
            if found >= 0.0 or k == last:
                break
            k += 1
        sent[i] = k
        paid[i] = found if found >= 0.0 and terms.tip_paid else fees.tip[k]
    return sent, paid
