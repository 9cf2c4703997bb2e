"""Check the arguments of `simulate`, and simulate one path at a time."""

import platform
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, NamedTuple

import numba
import numpy as np
import xarray as xr
from numpy.random import SeedSequence
from numpy.typing import NDArray

from feemodel import __version__
from feemodel.arguments import check_fields, checked
from feemodel.checks import RealArray, check_limit
from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import WEI_PER_GWEI
from feemodel.simulation._l1_columns import RATIOS, TIP
from feemodel.simulation._metadata import seed_text
from feemodel.simulation.announced import PricingRule
from feemodel.simulation.closed_loop._accounts import (
    ACCOUNTS,
    DAY,
    L1,
    SERIES,
    Arrivals,
    Clock,
    Found,
    Path,
    PolicyTerms,
    Rounding,
)
from feemodel.simulation.closed_loop._l1_steps import first_second, posting_caps, posting_terms, rows_by_step, with_end
from feemodel.simulation.closed_loop._pricing import (
    check_first_step,
    checked_pricing,
    described,
    has_own_loop,
    runner,
    started,
)
from feemodel.simulation.closed_loop._results import PATH_VARIABLES, summarized
from feemodel.simulation.closed_loop.demand import Demand
from feemodel.simulation.closed_loop.observations import PRICE, SEEN, SETTLED, Setting, empty_record, records
from feemodel.simulation.draws import seed_sequence, stream_of
from feemodel.simulation.policies.base import Pricing
from feemodel.simulation.posting import Costs, Posting
from feemodel.simulation.quantities import CountAboveZero, Duration, DurationAboveZero, Horizon
from feemodel.simulation.scenarios import Rng, Scenario, check_block_seconds, drawn_rows
from feemodel.simulation.surfaces import Submission

DAY_SECONDS = 86_400.0
MAX_STEPS = 1 << 27  # maximum number of steps of a path; a series with this many steps takes 1 GiB
MAX_SUBMISSIONS = 100_000_000  # maximum number of submissions of a path
MAX_PATHS = 10_000_000
LONGEST_WAIT = 1 << 15  # maximum number of elements in `Found.waits`; the last element includes longer waits
NOT_ROUNDED = Rounding(whole=False, margin=1.0, fixed_cost=0, base_fee=0)
LONGEST_ERROR = 200  # maximum number of characters of an error message of the compiler


@dataclass(frozen=True, kw_only=True)
class Bootstrap:
    """Settings of a block bootstrap of L1 fees, as in `feemodel.simulation.scenarios.bootstrap`.

    Each worker draws the L1 fees of the paths that it simulates, so the fees of all paths are never in memory at the
    same time.
    """

    paths: CountAboveZero  #: number of paths
    block_seconds: Duration = DAY_SECONDS  #: mean length of a bootstrap block
    horizon: Horizon | None = None  #: length of a path; `None` means the length of the history

    def __post_init__(self) -> None:
        check_fields(self)
        check_limit(self.paths, "paths", MAX_PATHS)


@checked
def path_job(
    l1_fees: Scenario,
    pricing: Pricing | PricingRule,
    posting: Posting | None = None,
    demand: Demand | None = None,
    costs: Costs | None = None,
    *,
    step: DurationAboveZero = 12.0,
    bootstrap: Bootstrap | None = None,
    days: Annotated[str, ("elapsed", "utc")] = "elapsed",
    record: int = 0,
    rng: Rng = 1,
) -> "PathJob":
    """Check the arguments of `simulate`, and return a callable that simulates one path, given the number of the path.

    >>> from feemodel.simulation.scenarios import replay
    >>> rows = {"timestamp": [0, 12], "base_fee": [7e7] * 2, "blob_base_fee": [4e6] * 2}
    >>> path_job(replay(rows, source="by hand"), PricingRule()).steps
    2
    """
    if abs(DAY_SECONDS / step - round(DAY_SECONDS / step)) > 1e-9:
        raise InvalidInput("step", "expected a whole number of steps in a day", step)
    if bootstrap is not None and l1_fees.sizes["path"] != 1:
        raise InvalidInput("l1_fees", "expected a history of one path, for the bootstrap", l1_fees.sizes["path"])
    if bootstrap is not None:
        check_block_seconds(bootstrap.block_seconds, step)
    workload = None if demand is None else demand.workload
    if workload is not None and bootstrap is None:
        l1_fees = with_end(l1_fees, step)
    posting = posting or Posting(submission=getattr(pricing, "submission", Submission()))
    if posting.stream_ratio != 1.0 and workload is None:
        reason = "expected 1, because bytes_per_transaction of the demand is the size in the shared stream"
        raise InvalidInput("posting.stream_ratio", reason, posting.stream_ratio)
    if workload is not None and workload.calldata is None and getattr(pricing, "pressure", None) is not None:
        reason = "expected the calldata of each transaction, because the rule has calldata pressure"
        raise InvalidInput("workload.calldata", reason, None)
    if days == "utc" and "time" not in l1_fees.coords:
        raise InvalidInput("days", "expected elapsed, because the scenario has no dates", days)
    job = PathJob(
        l1_fees=l1_fees,
        pricing=checked_pricing(pricing),
        posting=posting,
        demand=demand or Demand(),
        costs=costs or Costs(),
        step=step,
        bootstrap=bootstrap,
        days=days,
        record=record,
        seed=seed_sequence(rng),
    )
    if not 1 <= job.steps <= MAX_STEPS:
        raise InvalidInput("l1_fees", f"expected from 1 to {MAX_STEPS:,} steps of {step:g} s", job.steps)
    size = job.demand.rate * job.demand.bytes_per_transaction * job.steps * job.step
    submissions = size / job.posting.submission.capacity
    check_limit(submissions, "submissions on a path", MAX_SUBMISSIONS)
    if job.record > job.paths:
        raise InvalidInput("record", f"expected at most {job.paths:,}, the number of paths", job.record)
    check_first_step(job.pricing, job.setting, job.l1_fees)
    return job


class Drawn(NamedTuple):
    """What happens on a path whatever the prices are."""

    l1: L1
    activity: RealArray  #: factor on demand in each step, or one for all steps [1]
    arrivals: Arrivals
    rng: np.random.Generator  #: random stream of the path's demand, after the draw of the arrivals


@dataclass(frozen=True, eq=False, kw_only=True)
class PathJob:
    """Callable that simulates one path, given the number of the path. Each worker receives a copy of the callable."""

    l1_fees: xr.Dataset
    pricing: Pricing
    posting: Posting
    demand: Demand
    costs: Costs
    step: float
    bootstrap: Bootstrap | None
    days: str
    record: int
    seed: SeedSequence

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """For each step, the index of the scenario row that applies."""
        return rows_by_step(self.l1_fees["elapsed"].to_numpy(), self.step)

    @property
    def steps(self) -> int:
        """Number of steps of a path."""
        if self.bootstrap is None or self.bootstrap.horizon is None:
            return len(self.rows)
        return round(self.bootstrap.horizon / self.step)

    @property
    def paths(self) -> int:
        """Number of paths."""
        return int(self.l1_fees.sizes["path"]) if self.bootstrap is None else self.bootstrap.paths

    @property
    def day_steps(self) -> int:
        """Number of steps in a day."""
        return round(DAY_SECONDS / self.step)

    @property
    def start_time(self) -> float | None:
        """Unix time of the first step, or `None` if the scenario has no dates [s]."""
        return first_second(self.l1_fees)

    @property
    def day_offset(self) -> int:
        """Number of steps from the start of the first day to the start of the path."""
        return 0 if self.days == "elapsed" else int((self.start_time or 0.0) % DAY_SECONDS // self.step)

    @property
    def setting(self) -> Setting:
        """Properties of the simulation that are passed to the policy's `start` function."""
        target = float(getattr(self.pricing, "target_balance", 0.0))
        demand, tips_known = self.demand, TIP in self.l1_fees
        return Setting(self.step, demand.bytes_per_transaction, demand.gas_per_transaction, target, tips_known)

    def columns(self, path: int) -> dict[str, RealArray]:
        """Return, for each column of L1 fees, an array with the values of a path in each step.

        For a column that the scenario does not have, the array contains one element, the default value for all steps.
        """
        row = 0 if self.bootstrap is not None else path
        names = [str(name) for name in self.l1_fees.data_vars]
        held = {name: np.asarray(self.l1_fees[name].to_numpy()[row], dtype=np.float64)[self.rows] for name in names}
        if self.bootstrap is not None:
            length = max(1, round(self.bootstrap.block_seconds / self.step))
            index = drawn_rows(stream_of(self.seed, path), len(self.rows), self.steps, length)
            held = {name: values[index] for name, values in held.items()}
        held.setdefault(TIP, np.array([self.posting.submission.tip]))
        for name in RATIOS:
            held.setdefault(name, np.ones(1))
        return {name: np.ascontiguousarray(values) for name, values in held.items()}

    @cached_property
    def typical_base_fee(self) -> float:
        """Median L1 base fee, at which `Demand.l1_correlation` has no effect [wei / gas]."""
        return float(np.median(self.l1_fees["base_fee"].to_numpy()))

    def __call__(self, path: int) -> dict[str, NDArray[Any]]:
        """Simulate one path; return its days, its statistics in the order of `PATH_VARIABLES`, and its series."""
        accounts, found = self.ended(path, self.drawn(path))
        days, series = found.days.view(DAY), found.series.view(SERIES)
        summary = summarized(days, found.prices, found.waits, accounts, step=self.step, day_steps=self.day_steps)
        arrays: dict[str, NDArray[Any]] = {
            "days": days,
            "summary": np.array([summary[name] for name in PATH_VARIABLES]),
        }
        return arrays | {"series": series} if path < self.record else arrays

    def ended(self, path: int, drawn: Drawn) -> tuple[Any, Found]:
        """Run the loop on a path; return the accounts and the results at its end."""
        arguments = self._path(path, drawn)
        state = started(self.pricing, self.setting)
        try:
            runner(self.pricing)(state, arguments, drawn.rng)
        except Exception as error:
            if has_own_loop(self.pricing):
                raise
            reason = f"a function raises an error on path {path:,}: {repr(error)[:LONGEST_ERROR]}"
            raise InvalidInput("pricing", reason, self.pricing) from error
        if refused := arguments.accounts.refused:
            reason = f"expected finite prices of at least 0, in step {refused - 1:,} of path {path:,}"
            raise InvalidInput("pricing", reason, list(arguments.price.tolist()))
        return arguments.accounts, arguments.found

    def drawn(self, path: int) -> Drawn:
        """Draw what does not depend on prices on a path."""
        columns, count, demand = self.columns(path), self.steps, self.demand
        activity = np.ones(1)
        if demand.l1_correlation or demand.cycle is not None:
            times = np.asarray((self.start_time or 0.0) + self.step * np.arange(count), dtype=np.float64)
            activity = demand.activity(columns["base_fee"], self.typical_base_fee, times)
            activity = np.broadcast_to(activity, count).copy() if activity.size == 1 else activity
        rng = stream_of(self.seed, path, 1)
        l1 = L1(columns["base_fee"], columns["blob_base_fee"], columns[TIP], *(columns[name] for name in RATIOS))
        return Drawn(l1, activity, demand.arrivals(activity, count, self.step, rng), rng)

    def _path(self, path: int, drawn: Drawn) -> Path:
        """Return the inputs of the compiled loop for a path, and empty records for the results of the loop."""
        l1, demand, count, day_steps, offset = drawn.l1, self.demand, self.steps, self.day_steps, self.day_offset
        days = records((count + offset - 1) // day_steps + 1, DAY)
        days["min_balance"] = np.inf
        series = records(count if path < self.record else 0, SERIES)
        accounts = empty_record(ACCOUNTS)
        accounts.balance = accounts.peak = self.setting.target_balance
        accounts.steps_left_in_day = day_steps - offset
        costs = self.costs.terms(self.step)
        accounts.next_finalization = costs.finalize_seconds
        return Path(
            l1=l1,
            activity=drawn.activity,
            clock=Clock(float(self.start_time or 0.0), self.step, day_steps, offset),
            policy=PolicyTerms(float(getattr(self.pricing, "level", 1.0)), int(getattr(self.pricing, "l1_lag", 0))),
            demand=demand.terms(),
            arrivals=drawn.arrivals,
            rounding=getattr(self.pricing, "rounding", NOT_ROUNDED),
            posting=posting_terms(self.posting),
            costs=costs,
            caps=posting_caps(l1.base_fee, l1.blob_base_fee, self.posting, self.step),
            balances=np.full(int(getattr(self.pricing, "balance_lag", 0)) + 1, accounts.balance),
            charges=np.empty(demand.lag + 1),
            seen=empty_record(SEEN),
            price=empty_record(PRICE),
            settled=empty_record(SETTLED),
            accounts=accounts,
            found=Found(np.empty(count), np.empty(count), days, np.zeros(min(count, LONGEST_WAIT)), series),
        )

    @cached_property
    def attributes(self) -> dict[str, Any]:
        """Attributes of the result Dataset: the inputs and assumptions of the simulation."""
        l1_fees, tip = self.l1_fees, self.posting.submission.tip / WEI_PER_GWEI
        lacking = [name for name in RATIOS if name not in l1_fees]
        return {
            "l1_fees": str(l1_fees.attrs["source"]),
            "l1_fees_assumed": str(l1_fees.attrs.get("assumed", "nothing")),
            **{name: described(getattr(self, name)) for name in ("pricing", "posting", "costs")},
            "demand": described(replace(self.demand, workload=None)),
            **self._of_workload,
            "bootstrap": "none" if self.bootstrap is None else described(self.bootstrap),
            "step": self.step,
            "days": self.days,
            "usage_ratios": f"assumed: equal weights, without {' and '.join(lacking)}" if lacking else "of the series",
            "tips": "of the series" if TIP in l1_fees else f"assumed: {tip:g} gwei / gas",
            "seed": seed_text(self.seed),
            "versions": f"feemodel {__version__}, Python {platform.python_version()}, "
            f"numpy {np.__version__}, numba {numba.__version__}",
            "not_counted": self.not_counted,
        }

    @property
    def _of_workload(self) -> dict[str, str]:
        workload = self.demand.workload
        return {} if workload is None else {"workload": workload.name, "resampling": self.demand.resampling}

    @property
    def not_counted(self) -> str:
        """Text that lists the costs assumed to be 0."""
        costs = self.costs
        lines = {
            "finalization": costs.finalizes,
            "proving": bool(costs.proving_per_gas or costs.proving_per_byte),
            "overhead": bool(costs.overhead_per_month),
        }
        return ", ".join(name for name, counted in lines.items() if not counted) or "nothing"
