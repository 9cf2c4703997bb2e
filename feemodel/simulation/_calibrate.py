"""Find the smallest margin that keeps the probability of a loss below a limit, with a confidence interval.

The confidence interval of `calibrate` covers only the random error from drawing paths. To show how much the margin
depends on the history of L1 fees, `calibrate_histories` resamples the history in blocks of several lengths, and
calibrates the margin on each resampled history.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import xarray as xr

from feemodel._records import printed_as_table
from feemodel.checks import (
    RealArray,
    WholeArray,
    check_limit,
    choice,
    function,
    instance,
    real,
    real_scalar,
    sequence,
    share,
    whole_scalar,
)
from feemodel.errors import InvalidInput
from feemodel.progress import Progress, reporting
from feemodel.simulation._backtest import backtest, check_workload, draw_traffic, path_ticks, posted_bytes, sums_by_tick
from feemodel.simulation._metadata import described_dataset
from feemodel.simulation.announced import PricingRule, announced_variable_cost
from feemodel.simulation.posting import Posting, post
from feemodel.simulation.recovery import smallest
from feemodel.simulation.run import Where, in_order
from feemodel.simulation.scenarios import Rng, bootstrap, check_scenario, generator_of
from feemodel.simulation.surfaces import Workload

ROUNDING = 1e-9  # relative error of sums of doubles
FINEST = 1e-5  # relative width of a bracket at which the bisection stops


class Bracket(NamedTuple):
    """Bounds of a path's break-even margin: the path has a loss at the margin `loses`, but not at `pays` [1]."""

    loses: float
    pays: float  #: infinite if the path has a loss at every margin that was tried


@dataclass(frozen=True, eq=False)
class _PathBrackets:
    """Function that takes the number of a path and returns the bracket of the path; workers call it.

    A transaction pays trunc(e · (F + A · size // gas)) per gas: e is the margin of the fee estimate, F the fixed cost,
    and A the announced cost in the transaction's tick. Without rounding, the revenue of a path would be
    R = e · (Σ A · size + F · Σ gas). The roundings lower the revenue by at most (e + 1) · Σ gas, so the revenue is
    between R − (e + 1) · Σ gas and R. These bounds give the break-even margin with a relative error of about 5e-5.
    """

    workload: Workload
    l1_fees: xr.Dataset
    rule: PricingRule
    posting: Posting
    arrival_rate: float
    calldata: WholeArray | None
    seeds: tuple[int, ...]
    vary: Literal["estimate_margin", "margin"]
    counted: Literal["revenue", "size_revenue"]
    highest: float

    def __call__(self, path: int) -> Bracket:
        """Return the bounds of the break-even margin of one path."""
        one = self.l1_fees.isel(path=[path])
        ticks = path_ticks(one, self.rule, self.arrival_rate)
        stream = generator_of(self.seeds[path]).spawn(1)[0]
        traffic = draw_traffic(len(self.workload), self.arrival_rate * self.rule.tick, ticks, stream)
        ends = posted_bytes(self.workload, traffic, self.posting)
        cost = float(post(ends[traffic.ends], self.rule.tick, self.posting, one).cost.sum())
        sizes = self.workload.compressed_size[traffic.kind]
        size_by_tick = np.asarray(sums_by_tick(sizes, traffic), np.float64)
        gas = float(self.workload.gas[traffic.kind].sum(dtype=np.float64))
        calldata = None if self.calldata is None else sums_by_tick(self.calldata[traffic.kind], traffic)

        def announced(rule: PricingRule) -> RealArray:
            return np.asarray(announced_variable_cost(one, rule, ticks=ticks, calldata=calldata), np.float64)

        if self.vary == "estimate_margin":
            return self._of_estimate_margin(float(announced(self.rule) @ size_by_tick), gas, cost)

        def size_part(margin: float) -> float:
            return float(announced(self.rule.at_margin("margin", margin)) @ size_by_tick)

        return self._of_cost_margin(size_part, gas, cost)

    def _bounds(self, size_part: float, gas: float, estimate_margin: float) -> tuple[float, float]:
        """Return a lower and an upper bound of the revenue, or of the size revenue, depending on `counted` [wei]."""
        scaled = estimate_margin * size_part
        if self.counted == "revenue":
            scaled += (self.rule.base_fee + estimate_margin * self.rule.fixed_cost) * gas
            upper = scaled
        else:
            upper = scaled + gas  # the subtracted fixed part is rounded down, by less than 1 wei per gas
        lower = scaled - (estimate_margin + 1.0) * gas
        return lower - ROUNDING * scaled, upper + ROUNDING * scaled

    def _of_estimate_margin(self, size_part: float, gas: float, cost: float) -> Bracket:
        def root(bound: int) -> float:
            # Each bound of the fees is linear in the margin. The margin at which a bound equals the cost
            # follows from the values of the bound at two margins.
            first, second = (self._bounds(size_part, gas, at)[bound] for at in (0.0, 1.0))
            slope = second - first
            return max(0.0, (cost - first) / slope) if slope > 0.0 else (0.0 if first >= cost else math.inf)

        return Bracket(root(1), root(0))

    def _of_cost_margin(self, size_part: Callable[[float], float], gas: float, cost: float) -> Bracket:
        def sides(margin: float) -> tuple[bool, bool]:
            """Return whether the path certainly has a loss, and whether it certainly has no loss."""
            lower, upper = self._bounds(size_part(margin), gas, self.rule.estimate_margin)
            return upper < cost, lower >= cost

        low, high = 0.0, min(1.0, self.highest)
        if not sides(low)[0]:
            return Bracket(-math.inf, high if sides(high)[1] else math.inf)
        while sides(high)[0]:
            if high == self.highest:
                return Bracket(high, math.inf)
            low, high = high, min(2.0 * high, self.highest)
        pays = high if sides(high)[1] else math.inf
        while high - low > FINEST * high:
            middle = (low + high) / 2.0
            loses, covers = sides(middle)
            if loses:
                low = middle
            else:
                high = middle
                pays = middle if covers else pays
        return Bracket(low, self._first_paying(sides, high, pays))

    def _first_paying(self, sides: Callable[[float], tuple[bool, bool]], high: float, pays: float) -> float:
        """Return a margin at which the path certainly has no loss, slightly above `high` if possible."""
        step = 2.0 * FINEST
        while (margin := high * (1.0 + step)) < min(pays, self.highest):
            if sides(margin)[1]:
                return margin
            step *= 4.0
        return pays


DAY = 86_400.0  # seconds
MAX_HISTORIES = 10_000  # maximum number of resampled histories
BLOCKS = (DAY, 3 * DAY)  # blocks of one day keep the daily cycle; blocks of three days also keep high-fee periods
MAX_PATHS = 1 << 24


@printed_as_table
class Calibration(NamedTuple):
    """Result of a calibration; `margin` or `high` is `None` if no margin is large enough."""

    margin: float | None  #: smallest margin at which at most `loss_probability` of the paths have a loss [1]
    low: float | None  #: lower end of the margin's confidence interval [1]
    high: float | None  #: upper end of the margin's confidence interval [1]
    loss_probability: float  #: maximum probability of a loss [1]
    confidence: float  #: confidence level of the interval [1]
    paths: int  #: number of paths
    losing: int  #: number of paths with a loss at `margin`, or at the largest margin that was tried
    evaluations: int  #: number of evaluations; an evaluation computes one path at one margin
    reason: str  #: reason why `margin` or `high` is `None`; empty if neither is `None`
    break_even: tuple[float, ...] = ()  #: break-even margin of each path; infinite if there is none [1]

    def loss_curve(self, margins: RealArray | None = None) -> xr.Dataset:
        """Return the share of paths with a loss at each margin, with a Clopper-Pearson confidence interval.

        Parameters
        ----------
        margins : margins, of shape (n,); `None` means the break-even margins of all paths [1].

        Returns
        -------
        Dataset over `margin`: `loss_probability`, the share of paths with a loss; `low` and `high`, the ends of the
        interval [1].

        Raises
        ------
        InvalidInput : the calibration has no break-even margins, because it is a result of `smallest_margin`.

        >>> found = Calibration(None, None, None, 0.1, 0.95, 4, 0, 0, "", (0.5, 1.0, 1.5, 2.0))
        >>> found.loss_curve(np.array([0.4, 1.0, 3.0])).loss_probability.values.tolist()
        [1.0, 0.5, 0.0]
        """
        from scipy.stats import beta

        if not self.break_even:
            raise InvalidInput(
                "break_even", "expected a result of calibrate, with the margins of all paths", self.break_even
            )
        known = np.sort(self.break_even)
        given = np.unique(known[np.isfinite(known)]) if margins is None else np.atleast_1d(real("margins", margins))
        losing, paths = len(known) - np.searchsorted(known, given, side="right"), len(known)
        tail = (1.0 - self.confidence) / 2.0
        low = np.where(losing > 0, beta.ppf(tail, np.maximum(losing, 1), paths - losing + 1), 0.0)
        high = np.where(losing < paths, beta.ppf(1.0 - tail, losing + 1, np.maximum(paths - losing, 1)), 1.0)
        columns = {"loss_probability": losing / paths, "low": low, "high": high}
        return described_dataset(
            {name: ("margin", values, "1") for name, values in columns.items()},
            {"margin": ("margin", given, "1")},
            {"paths": paths, "confidence": self.confidence},
        )


def calibrate(
    workload: Workload,
    l1_fees: xr.Dataset,
    rule: PricingRule | None = None,
    posting: Posting | None = None,
    *,
    loss_probability: float,
    arrival_rate: float,
    rng: Rng,
    vary: Literal["estimate_margin", "margin"] = "estimate_margin",
    counted: Literal["revenue", "size_revenue"] = "size_revenue",
    confidence: float = 0.95,
    highest: float = 100.0,
    tolerance: float = 1e-3,
    calldata: "WholeArray | None" = None,
    executor: "Where" = None,
    workers: int | None = None,
    progress: Progress = None,
) -> Calibration:
    """Find the smallest margin with which the share of L1 fee paths that have a loss is at most `loss_probability`.

    A path has a loss if the sum of the counted fees is below the total posting cost of the path. All margins are
    evaluated with the same transactions and L1 fees. The confidence interval covers the random error from drawing
    paths, but not the risk that future L1 fees differ from the history.

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
    counted : fees that are compared with the cost of posting: "revenue" (all fees) or "size_revenue" (the part that
        depends on size).
    confidence : confidence level of the interval, between 0 and 1 [1].
    highest : largest margin to try [1].
    tolerance : maximum amount by which a margin is too large; margins are never too small [1].
    calldata : calldata length of each transaction of the workload, required if the rule has calldata pressure [byte].
    executor : any `concurrent.futures.Executor`, or a `dask.distributed.Client`; `None` means threads.
    workers : number of threads or processes; the result does not depend on this number.
    progress : `True` for a progress bar, or a function that is called for each path.

    Returns
    -------
    The margin and its confidence interval [1], or the reason why no margin is large enough.

    Raises
    ------
    InvalidInput : an invalid argument, a workload without transactions, or a scenario shorter than a tick.
    LimitExceeded : more than 16,777,216 paths, or more than 268,435,456 transactions or ticks on a path.

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
    chosen = PricingRule() if rule is None else instance("rule", rule, PricingRule)
    for name, value in (("loss_probability", loss_probability), ("confidence", confidence)):
        share(name, value)  # reject invalid values before the long computation
    choice("vary", vary, ("estimate_margin", "margin"))
    choice("counted", counted, ("revenue", "size_revenue"))

    def priced(at: float) -> PricingRule:
        return chosen.at_margin(vary, at)

    check_scenario("l1_fees", l1_fees)
    paths, policy = l1_fees.sizes["path"], Posting() if posting is None else instance("posting", posting, Posting)
    check_limit(paths, "paths", MAX_PATHS)
    seeds = generator_of(rng).integers(2**63, size=paths).tolist()  # one seed for each path, used again at every margin
    given = Workload.from_transactions(workload) if not isinstance(workload, Workload) else workload
    if calldata is None and chosen.pressure is not None:
        calldata = given.calldata
    check_workload(given, calldata)
    job = _PathBrackets(
        given,
        l1_fees,
        chosen,
        policy,
        real_scalar("arrival_rate", arrival_rate),
        None if calldata is None else np.asarray(calldata),
        tuple(seeds),
        vary,
        counted,
        real_scalar("highest", highest),
    )

    def surplus(path: int, margin: float) -> float:
        found = backtest(
            given,
            l1_fees.isel(path=[path]),
            priced(margin),
            policy,
            arrival_rate=arrival_rate,
            calldata=calldata,
            rng=seeds[path],
        )
        return float((found[f"total_{counted}"] - found["total_cost"]).item())

    with (
        reporting(progress, paths, "paths") as advance,
        closing(in_order(job, range(paths), executor=executor, workers=workers)) as pieces,
    ):
        brackets = []
        for bracket in pieces:
            brackets.append(bracket)
            advance(1)
    found = smallest_margin(
        surplus,
        paths,
        loss_probability=loss_probability,
        confidence=confidence,
        highest=highest,
        tolerance=tolerance,
        brackets=brackets,
    )
    break_even = tuple(math.inf if math.isinf(one.pays) else max(0.0, (one.loses + one.pays) / 2) for one in brackets)
    return found._replace(evaluations=found.evaluations + paths, break_even=break_even)


def calibrate_histories(
    workload: Workload,
    history: "xr.Dataset",
    rule: "PricingRule | None" = None,
    posting: "Posting | None" = None,
    *,
    loss_probability: float,
    arrival_rate: float,
    rng: Rng,
    histories: int = 40,
    paths: int = 200,
    horizon: float = DAY,
    block_seconds: "Sequence[float]" = BLOCKS,
    vary: Literal["estimate_margin", "margin"] = "estimate_margin",
    counted: Literal["revenue", "size_revenue"] = "size_revenue",
    confidence: float = 0.95,
    highest: float = 100.0,
    executor: "Where" = None,
    workers: int | None = None,
    progress: Progress = None,
) -> xr.Dataset:
    """Calibrate the margin on a history of L1 fees and on resampled histories, for several block lengths.

    A resampled history is drawn from the history by a circular block bootstrap, and is as long as the history. Paths
    are drawn from each resampled history by another bootstrap, with the block length that resampled the history. The
    margins of the resampled histories differ because the paths are random and because the history is short.

    Parameters
    ----------
    workload : sizes [byte] and gas [gas] of transactions.
    history : scenario of one path.
    rule : pricing rule: how costs are announced; `None` means the published defaults.
    posting : posting policy: when and how bytes are posted to L1; `None` means that full blobs are posted.
    loss_probability : maximum probability of a loss, between 0 and 1 [1].
    arrival_rate : mean number of transactions per second [1 / s].
    rng : seed, SeedSequence or Generator.
    histories : number of resampled histories.
    paths : number of paths drawn from the history, and from each resampled history.
    horizon : length of a path [s].
    block_seconds : lengths of bootstrap blocks; the result has a confidence interval for each length [s].
    vary : which margin of the rule is calibrated, "margin" or "estimate_margin".
    counted : fees that are compared with the cost of posting: "revenue" (all fees) or "size_revenue" (the part that
        depends on size).
    confidence : confidence level of the intervals [1].
    highest : largest margin to try [1].
    executor : any `concurrent.futures.Executor`, or a `dask.distributed.Client`; `None` means threads.
    workers : number of threads or processes; the result does not depend on this number.
    progress : `True` for a progress bar, or a function that is called after each calibration.

    Returns
    -------
    Dataset. Over `block_seconds`: `margin`, the margin on the history itself; `low` and `high`, the ends of the
    confidence interval of the margin from the resampled histories. Over `block_seconds` and `history`: `drawn_margin`,
    the margin on each resampled history; NaN if no margin up to `highest` is large enough. The attributes `low` and
    `high` are the smallest lower end and the largest upper end of the confidence intervals.

    Raises
    ------
    InvalidInput : `block_seconds` is empty, or `calibrate` or `bootstrap` rejects an argument.
    LimitExceeded : more than 10,000 histories, or more paths or transactions than `calibrate` allows.

    >>> from feemodel.simulation.scenarios import replay
    >>> steady = replay({"timestamp": 600 * np.arange(300), "base_fee": np.full(300, 7e7),
    ...                  "blob_base_fee": np.full(300, 4e6)}, source="by hand")
    >>> transfers = Workload("transfers", np.array([128]), np.array([21_000]))
    >>> found = calibrate_histories(transfers, steady, PricingRule(lower_bound=None), loss_probability=0.5,
    ...     arrival_rate=0.5, rng=1, histories=2, paths=4, horizon=7_200.0, block_seconds=[7_200.0])
    >>> dict(found.sizes), bool(abs(found.drawn_margin / found.margin - 1).max() < 0.1)  # constant fees
    ({'block_seconds': 1, 'history': 2}, True)
    """
    check_scenario("history", history)
    count, level = whole_scalar("histories", histories, minimum=2), share("confidence", confidence)
    check_limit(count, "histories", MAX_HISTORIES)
    lengths = [real_scalar("block_seconds", length, unit="s") for length in sequence("block_seconds", block_seconds)]
    if not lengths:
        raise InvalidInput("block_seconds", "expected at least one block length", block_seconds)
    margins = np.empty((len(lengths), 1 + count))
    streams = generator_of(rng).spawn(len(lengths))
    with reporting(progress, margins.size, "calibrations") as advance:
        for index, (length, stream) in enumerate(zip(lengths, streams, strict=True)):
            drawn = bootstrap(history, paths=count, block_seconds=length, method="circular", rng=stream)
            for number in range(1 + count):
                source = history if number == 0 else drawn.isel(path=[number - 1])
                fees = bootstrap(source, paths=paths, block_seconds=length, horizon=horizon, rng=stream)
                found = calibrate(
                    workload,
                    fees,
                    rule,
                    posting,
                    loss_probability=loss_probability,
                    arrival_rate=arrival_rate,
                    rng=stream,
                    vary=vary,
                    counted=counted,
                    highest=highest,
                    executor=executor,
                    workers=workers,
                )
                margins[index, number] = np.nan if found.margin is None else found.margin
                advance(1)
    # If no margin is large enough for a resampled history, the quantiles treat its margin as infinite.
    ordered = np.sort(np.where(np.isnan(margins[:, 1:]), np.inf, margins[:, 1:]), axis=1)
    tail = (1.0 - level) / 2.0
    low, high = (np.quantile(ordered, level_of, axis=1, method="inverted_cdf") for level_of in (tail, 1.0 - tail))
    columns = {"margin": margins[:, 0], "low": low, "high": high}
    attributes = {"low": float(low.min()), "high": float(high.max()), "confidence": level}
    attributes |= {"loss_probability": loss_probability, "paths": paths, "l1_fees": history.attrs["source"]}
    return described_dataset(
        {name: ("block_seconds", values, "1") for name, values in columns.items()}
        | {"drawn_margin": (("block_seconds", "history"), margins[:, 1:], "1")},
        {"block_seconds": ("block_seconds", lengths, "s"), "history": np.arange(count)},
        attributes,
    )


def smallest_margin(
    surplus: Callable[[int, float], float],
    paths: int,
    *,
    loss_probability: float,
    confidence: float = 0.95,
    highest: float = 100.0,
    tolerance: float = 1e-3,
    brackets: Sequence[Bracket] | None = None,
) -> Calibration:
    """Find the smallest margin that limits the share of paths with a loss, and a confidence interval.

    The paths must be independent.

    If `k` of `n` paths have a loss at a margin, the estimated loss probability at this margin is k / n, with a
    Clopper-Pearson confidence interval. In the result, `margin` is the smallest margin at which k / n is at most
    `loss_probability`; `low` is the smallest margin at which the lower end of the interval is at most
    `loss_probability`; and `high` is the smallest margin at which the upper end is at most `loss_probability`.

    Parameters
    ----------
    surplus : function that takes the number of a path and a margin, and returns revenue − cost [wei]. The result must
        not decrease if the margin increases.
    paths : number of paths; the numbers of the paths start at 0.
    loss_probability : maximum probability of a loss, between 0 and 1 [1].
    confidence : confidence level of the interval, between 0 and 1 [1].
    highest : largest margin to try [1].
    tolerance : maximum amount by which a margin is too large; margins are never too small [1].
    brackets : known bounds of each path's break-even margin; a path is evaluated only at margins between the two
        bounds.

    Raises
    ------
    InvalidInput : a number out of range, or a surplus that is not a finite number.
    LimitExceeded : more than 16,777,216 paths.

    Path p breaks even at a margin of 1 + p / 1,000, so 90 % of the 1,000 paths break even at margins below 1.9:

    >>> found = smallest_margin(lambda path, margin: margin - 1 - path / 1_000, 1_000, loss_probability=0.1)
    >>> round(found.margin, 2), round(found.low, 2), round(found.high, 2), found.losing
    (1.9, 1.88, 1.92, 100)
    """
    bound, level = share("loss_probability", loss_probability), share("confidence", confidence)
    count = whole_scalar("paths", paths, minimum=1)
    check_limit(count, "paths", MAX_PATHS)
    function("surplus", surplus)
    step, maximum = real_scalar("tolerance", tolerance), real_scalar("highest", highest)
    if step == 0.0 or maximum < step:
        raise InvalidInput("tolerance", f"expected more than 0 and at most {maximum:g}", tolerance)
    search = _Search(surplus, count, brackets)
    fewest, allowed, unproven = _allowed_losses(count, bound, level)
    margin = smallest(lambda margin: search.losing(margin) <= allowed, maximum, step)
    low = smallest(lambda margin: search.losing(margin) <= unproven, maximum, step)
    high = smallest(lambda margin: search.losing(margin) <= fewest, maximum, step) if fewest >= 0 else None
    losing, reason = search.losing(maximum if margin is None else margin), ""
    if margin is None:
        losses = f"{losing} of {count} paths have a loss, and {allowed} are allowed"
        reason = f"no margin up to {maximum:g} suffices: at {maximum:g}, {losses}"
    elif fewest < 0:
        needed = int(np.ceil(np.log((1 - level) / 2) / np.log1p(-bound)))
        reason = f"the interval has no upper end: {count} paths are too few, at least {needed} are required"
    elif high is None:
        reason = f"the interval has no upper end up to a margin of {maximum:g}"
    return Calibration(margin, low, high, bound, level, count, losing, search.evaluations, reason)


class _Search:
    """Known bounds of each path's break-even margin; a path is evaluated only at margins between its bounds."""

    def __init__(
        self, surplus: Callable[[int, float], float], paths: int, brackets: Sequence[Bracket] | None = None
    ) -> None:
        self.surplus, self.evaluations = surplus, 0
        self.loses_at, self.pays_at = np.full(paths, -np.inf), np.full(paths, np.inf)
        if brackets is not None:
            if len(sequence("brackets", brackets)) != paths:
                raise InvalidInput("brackets", f"expected one bracket for each of {paths:,} paths", len(brackets))
            self.loses_at, self.pays_at = (np.array(ends, dtype=np.float64) for ends in zip(*brackets, strict=True))

    def losing(self, margin: float) -> int:
        """Return the number of paths with a loss at a margin."""
        for path in np.flatnonzero((self.loses_at < margin) & (margin < self.pays_at)).tolist():
            self.evaluations += 1
            surplus = real_scalar("surplus", self.surplus(path, margin), minimum=None)
            (self.loses_at if surplus < 0.0 else self.pays_at)[path] = margin
        return int((self.loses_at >= margin).sum())


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
