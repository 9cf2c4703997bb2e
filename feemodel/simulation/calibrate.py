"""Find the smallest margin that keeps the probability of a loss below a limit, with a confidence interval."""

from __future__ import annotations  # so that `help` shows the names of quantities

import math
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr

from feemodel.arguments import checked
from feemodel.checks import check_limit
from feemodel.errors import InvalidInput
from feemodel.progress import Progress, reporting
from feemodel.quantities import REAL, Probability
from feemodel.simulation._metadata import described_dataset
from feemodel.simulation.announced import MAX_MARGIN, PricingRule
from feemodel.simulation.closed_loop._accounts import DATA_LINES
from feemodel.simulation.closed_loop.demand import Demand
from feemodel.simulation.closed_loop.paths import PathJob, path_job
from feemodel.simulation.posting import Posting
from feemodel.simulation.quantities import DurationAboveZero, Rate
from feemodel.simulation.run import Where, in_order
from feemodel.simulation.scenarios import Rng, Scenario
from feemodel.simulation.surfaces import Workload

MAX_PATHS = 1 << 24
TOLERANCE = 1e-3  # maximum amount by which a break-even margin is too large [1]


class Calibration(NamedTuple):
    """Result of a calibration; `margin` or `high` is `None` if no margin is large enough."""

    margin: float | None  #: smallest margin at which at most `loss_probability` of the paths have a loss [1]
    low: float | None  #: lower end of the margin's confidence interval [1]
    high: float | None  #: upper end of the margin's confidence interval [1]
    loss_probability: float  #: maximum probability of a loss [1]
    confidence: float  #: confidence level of the interval [1]
    paths: int  #: number of paths
    losing: int  #: number of paths with a loss at `margin`, or at the largest margin that was tried
    reason: str  #: reason why `margin` or `high` is `None`; empty if neither is `None`
    break_even: tuple[float, ...]  #: break-even margin of each path; infinite if there is none [1]

    def __repr__(self) -> str:
        """Return the fields as text, with the number and the range of the break-even margins in place of all of them.

        >>> print(Calibration(None, None, None, 0.1, 0.95, 4, 0, "", (0.5, 1.0, 1.5, 2.0)))
        Calibration(margin=None, low=None, high=None, loss_probability=0.1, confidence=0.95,
            paths=4, losing=0, reason='', break_even=<4 margins from 0.5 to 2>)
        """
        margins = f"<{self.paths:,} margins from {min(self.break_even):.4g} to {max(self.break_even):.4g}>"
        text = [f"{name}={value!r}" for name, value in self._asdict().items()]
        return f"Calibration({', '.join(text[:5])},\n    {', '.join(text[5:-1])}, break_even={margins})"

    def loss_curve(self) -> xr.Dataset:
        """Return the share of paths with a loss at each break-even margin, with a Clopper-Pearson confidence interval.

        Returns
        -------
        Dataset over `margin`: `loss_probability`, the share of paths with a loss; `low` and `high`, the ends of the
        interval [1].

        >>> found = Calibration(None, None, None, 0.1, 0.95, 4, 0, "", (0.5, 1.0, 1.5, 2.0))
        >>> found.loss_curve().loss_probability.values.tolist()
        [0.75, 0.5, 0.25, 0.0]
        """
        from scipy.stats import beta

        known = np.sort(self.break_even)
        given = np.unique(known[np.isfinite(known)])
        losing, paths = len(known) - np.searchsorted(known, given, side="right"), len(known)
        tail = (1.0 - self.confidence) / 2.0
        low = np.where(losing > 0, beta.ppf(tail, np.maximum(losing, 1), paths - losing + 1), 0.0)
        high = np.where(losing < paths, beta.ppf(1.0 - tail, losing + 1, np.maximum(paths - losing, 1)), 1.0)
        columns = {"loss_probability": losing / paths, "low": low, "high": high}
        return described_dataset(
            {name: ("margin", values, "1") for name, values in columns.items()},
            {"margin": ("margin", given, "1")},
            {name: value for name, value in self._asdict().items() if name != "break_even" and value is not None},
        )


@dataclass(frozen=True, eq=False)
class _BreakEven:
    """Function that takes the number of a path and returns its break-even margin; workers call it."""

    job: PathJob
    vary: str

    def __call__(self, path: int) -> float:
        """Return the smallest margin without a loss, at most `TOLERANCE` too large; infinite if there is none."""
        from scipy.optimize import brentq

        drawn = self.job.drawn(path)

        @cache
        def surplus(margin: float) -> float:
            job = replace(self.job, pricing=replace(self.job.pricing, **{self.vary: margin}))  # type: ignore[type-var]
            days = job.ended(path, drawn)[1].days
            return float(days["data_fees"].sum() - sum(days[line].sum() for line in DATA_LINES))

        if surplus(0.0) >= 0.0:
            return 0.0
        low, high = 0.0, 1.0
        while surplus(high) < 0.0:
            if high == MAX_MARGIN:
                return math.inf
            low, high = high, min(2.0 * high, MAX_MARGIN)
        # The root is wrong by at most half the tolerance; the surplus at the returned margin is not negative.
        return min(high, float(brentq(surplus, low, high, xtol=TOLERANCE / 2.0)) + TOLERANCE / 2.0)


@checked
def calibrate(
    workload: Workload | Any,
    l1_fees: Scenario,
    rule: PricingRule | None = None,
    posting: Posting | None = None,
    *,
    loss_probability: Probability,
    arrival_rate: Rate,
    rng: Rng,
    vary: Literal["estimate_margin", "margin"] = "estimate_margin",
    confidence: Probability = 0.95,
    step: DurationAboveZero = 12.0,
    executor: Where = None,
    workers: int | None = None,
    progress: Progress = None,
) -> Calibration:
    """Find the smallest margin with which the share of L1 fee paths that have a loss is at most `loss_probability`.

    A path has a loss if the part of the fees that depends on size is below the posting cost of the path. Each path is a
    `backtest`, with the same transactions at all margins; Brent's method finds its break-even margin. The confidence
    interval covers the random error from drawing paths, but not the risk that future L1 fees differ from the history.

    Parameters
    ----------
    workload : sizes [byte] and gas [gas] of transactions, or a table of `feemodel.io.read_transactions`.
    l1_fees : scenario of `feemodel.simulation.scenarios`, with several paths.
    rule : pricing rule: how costs are announced; `None` means the published defaults.
    posting : posting policy: when and how bytes are posted to L1; `None` means that full blobs are posted.
    loss_probability : maximum probability of a loss, between 0 and 1 [1].
    arrival_rate : mean number of transactions per second [1 / s].
    rng : seed, `SeedSequence` or `Generator`.
    vary : which margin of the rule is calibrated, "margin" or "estimate_margin".
    confidence : confidence level of the interval, between 0 and 1 [1].
    step : length of a step of the simulation [s].
    executor : any `concurrent.futures.Executor`, or a `dask.distributed.Client`; `None` means threads.
    workers : number of threads or processes; the result does not depend on this number.
    progress : `True` for a progress bar, or a function that is called for each path.

    Returns
    -------
    The margin and its confidence interval [1], or the reason why no margin up to 50 is large enough. A margin is at
    most 0.001 too large, and never too small.

    Raises
    ------
    InvalidInput : an invalid argument, a workload without transactions, or a scenario shorter than a step.
    LimitExceeded : more than 16,777,216 paths, or more than 268,435,456 transactions on a path.

    Four paths are too few to prove that the loss probability is below 10 %. At least 36 paths without a loss are
    needed: with a loss probability of 10 %, n paths have no loss with a probability of 0.9**n, which is below 2.5 %
    from n = 36 on:

    >>> from feemodel.simulation.scenarios import bootstrap, replay
    >>> fees = replay({"timestamp": [0, 600], "base_fee": [7e7, 7e7], "blob_base_fee": [4e6, 4e6]}, source="by hand")
    >>> transfers = Workload("transfers", np.array([128]), np.array([21_000]))
    >>> drawn = bootstrap(fees, paths=4, block_seconds=600, rng=1)
    >>> found = calibrate(transfers, drawn, loss_probability=0.1, arrival_rate=1.0, rng=1)
    >>> found.high, found.reason
    (None, 'the interval has no upper end: 4 paths are too few, at least 36 are required')
    """
    given = Workload.from_transactions(workload) if not isinstance(workload, Workload) else workload
    demand = Demand(rate=arrival_rate, workload=given)
    job = path_job(l1_fees, rule or PricingRule(), posting, demand, step=step, rng=rng)
    check_limit(job.paths, "paths", MAX_PATHS)
    search = _BreakEven(job, vary)
    with (
        reporting(progress, job.paths, "paths") as advance,
        closing(in_order(search, range(job.paths), executor=executor, workers=workers)) as pieces,
    ):
        break_even = []
        for margin in pieces:
            break_even.append(margin)
            advance(1)
    return calibration(break_even, loss_probability=loss_probability, confidence=confidence)


@checked
def calibration(
    break_even: Sequence[Any], *, loss_probability: Probability, confidence: Probability = 0.95
) -> Calibration:
    """Return the smallest margin that limits the share of losses, from the break-even margins of independent paths.

    If `k` of `n` paths have a loss at a margin, the estimated loss probability at this margin is k / n, with a
    Clopper-Pearson confidence interval. In the result, `margin` is the smallest margin at which k / n is at most
    `loss_probability`; `low` is the smallest margin at which the lower end of the interval is at most
    `loss_probability`; and `high` is the smallest margin at which the upper end is at most `loss_probability`.

    Path p breaks even at a margin of 1 + p / 1,000, so 90 % of the 1,000 paths break even at margins up to 1.9:

    >>> found = calibration([1 + path / 1_000 for path in range(1_000)], loss_probability=0.1)
    >>> round(found.margin, 2), round(found.low, 2), round(found.high, 2), found.losing
    (1.9, 1.88, 1.92, 100)
    """
    margins = [
        one if isinstance(one, float) and one == math.inf else REAL.check_one("break_even", one) for one in break_even
    ]
    if not margins:
        raise InvalidInput("break_even", "expected at least one margin", break_even)
    paths, falling = len(margins), np.append(np.sort(margins)[::-1], 0.0)
    fewest, allowed, unproven = _allowed_losses(paths, loss_probability, confidence)
    margin, low, high = (
        float(falling[losses]) if losses >= 0 and np.isfinite(falling[losses]) else None
        for losses in (allowed, unproven, fewest)
    )
    losing, reason = int((falling[:paths] > (MAX_MARGIN if margin is None else margin)).sum()), ""
    if margin is None:
        losses = f"{losing} of {paths} paths have a loss, and {allowed} are allowed"
        reason = f"no margin up to {MAX_MARGIN:g} suffices: at {MAX_MARGIN:g}, {losses}"
    elif fewest < 0:
        needed = int(np.ceil(np.log((1 - confidence) / 2) / np.log1p(-loss_probability)))
        reason = f"the interval has no upper end: {paths} paths are too few, at least {needed} are required"
    elif high is None:
        reason = f"the interval has no upper end up to a margin of {MAX_MARGIN:g}"
    return Calibration(margin, low, high, loss_probability, confidence, paths, losing, reason, tuple(margins))


def _allowed_losses(paths: int, bound: float, confidence: float) -> tuple[int, int, int]:
    """Return how many paths may have a loss at the margins `high`, `margin` and `low`.

    If k of n paths have a loss, the loss probability has the Clopper-Pearson interval of k / n. The first result is the
    largest number of losses k at which the upper end of the interval is at most `bound`, or −1 if there are too few
    paths. The second result is the largest number of losses k at which k / n is at most `bound`. The third result is
    the largest number of losses k at which the lower end of the interval is at most `bound`.
    """
    from scipy.stats import binom

    tail, counts = (1 - confidence) / 2, np.arange(paths + 1)
    proven = int((binom.cdf(counts, paths, bound) <= tail).sum()) - 1
    not_disproven = int((binom.sf(counts - 1, paths, bound) > tail).sum()) - 1
    return proven, int((counts / paths <= bound).sum()) - 1, not_disproven
