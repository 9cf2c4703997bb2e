"""One path of a closed loop by its number: the checked arguments of `simulate`, and what a worker does with them."""

import json
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import cached_property
from typing import Any, TypeVar

import numba
import numpy as np
import xarray as xr
from numpy.random import SeedSequence
from numpy.typing import NDArray

from feemodel import __version__
from feemodel.checks import (
    RealArray,
    above_zero,
    check_fields,
    check_limit,
    check_plausible,
    choice,
    instance,
    real_scalar,
    whole_scalar,
)
from feemodel.errors import InvalidInput
from feemodel.ethereum.fee_units import IN_WEI_OF_ETH, LEAST_AMOUNT
from feemodel.ethereum.quantities import WEI_PER_GWEI
from feemodel.linea import price_cap
from feemodel.simulation.announced import PricingRule
from feemodel.simulation.axes import stream_of
from feemodel.simulation.closed_loop import loop, policy_kernels
from feemodel.simulation.closed_loop import observations as seen_at
from feemodel.simulation.closed_loop.costs import Costs
from feemodel.simulation.closed_loop.demand import Demand
from feemodel.simulation.closed_loop.l1_steps import (
    cheapest_step,
    first_second,
    held_rows,
    posting_terms,
    price_percentiles,
)
from feemodel.simulation.closed_loop.observations import Setting
from feemodel.simulation.closed_loop.parameters import OPTIONAL, described
from feemodel.simulation.closed_loop.policies import MOST_LAG, LineaPricing, Pricing
from feemodel.simulation.closed_loop.results import OF_PATH, PathResult, summarized
from feemodel.simulation.fingerprint import description, package_source
from feemodel.simulation.l1_columns import FEES, RATIOS, TIP
from feemodel.simulation.posting import Posting
from feemodel.simulation.resume import Layout
from feemodel.simulation.scenarios import (
    IN_SECONDS,
    LEAST_SECONDS,
    Rng,
    check_block_seconds,
    check_scenario,
    drawn_rows,
    generator_of,
)

DAY = 86_400.0  # seconds
MOST_STEPS = 1 << 27  # of a path: 1 GiB a series
MOST_SUBMISSIONS = 100_000_000  # on a path
MOST_PATHS = 10_000_000
LONGEST_WAIT = 1 << 15  # steps that the distribution of waits distinguishes
DAYS = ("elapsed", "utc")
LONGEST_ERROR = 200  # characters: those of a compiler have pages
ALIKE = 0.75  # how similar a name is that was probably meant as one of them, by `difflib`

Checked = TypeVar("Checked")


@dataclass(frozen=True, kw_only=True)
class Bootstrap:
    """Paths drawn from a history of L1 fees one by one, as `feemodel.simulation.scenarios.bootstrap` draws them.

    A path is drawn where it is simulated, so memory does not grow with the number of paths.
    """

    paths: int
    block_seconds: float = DAY  #: [s]
    horizon: float | None = None  #: of a path; the history's own unless given [s]
    method: str = "stationary"

    def __post_init__(self) -> None:
        check_fields(self, above_zero=("paths",))
        check_limit(self.paths, "paths", MOST_PATHS)
        check_plausible("horizon", self.horizon, IN_SECONDS, least=LEAST_SECONDS)
        choice("method", self.method, ("stationary", "circular"))


def path_job(
    l1_fees: xr.Dataset,
    pricing: Pricing | PricingRule,
    posting: Posting | None = None,
    demand: Demand | None = None,
    costs: Costs | None = None,
    *,
    step: float = 12.0,
    bootstrap: Bootstrap | None = None,
    days: str = "elapsed",
    record: int = 0,
    rng: Rng = 1,
) -> "PathJob":
    """The checked arguments of `simulate` as what computes a path by its number.

    >>> from feemodel.simulation.scenarios import replay
    >>> rows = {"timestamp": [0, 12], "base_fee": [7e7] * 2, "blob_base_fee": [4e6] * 2}
    >>> path_job(replay(rows, source="by hand"), PricingRule()).steps
    2
    """
    check_scenario("l1_fees", l1_fees)
    above_zero("step", step, unit="s")
    if abs(DAY / step - round(DAY / step)) > 1e-9:
        raise InvalidInput("step", "expected a whole number of steps in a day", step)
    if bootstrap is not None and instance("bootstrap", bootstrap, Bootstrap) and l1_fees.sizes["path"] != 1:
        raise InvalidInput("l1_fees", "expected one path to draw from", l1_fees.sizes["path"])
    if bootstrap is not None:
        check_block_seconds(bootstrap.block_seconds, step)
    if posting is not None and instance("posting", posting, Posting).stream_ratio != 1.0:
        reason = "expected 1: bytes_per_transaction of the demand is counted in the shared stream already"
        raise InvalidInput("posting.stream_ratio", reason, posting.stream_ratio)
    choice("days", days, DAYS)
    if days == "utc" and "time" not in l1_fees.coords:
        raise InvalidInput("days", "expected elapsed: the scenario has no dates", days)
    job = PathJob(
        l1_fees=l1_fees,
        pricing=checked_pricing(pricing),
        posting=Posting() if posting is None else _itself("posting", posting, Posting),
        demand=Demand() if demand is None else _itself("demand", demand, Demand),
        costs=Costs() if costs is None else _itself("costs", costs, Costs),
        step=float(step),
        bootstrap=bootstrap,
        days=days,
        record=whole_scalar("record", record),
        seed=_seed_sequence(rng),
    )
    if not 1 <= job.steps <= MOST_STEPS:
        raise InvalidInput("l1_fees", f"expected from 1 to {MOST_STEPS:,} steps of {step:g} s", job.steps)
    most = job.demand.rate * job.demand.bytes_per_transaction * job.steps * job.step / job.posting.submission.capacity
    check_limit(most, "submissions on a path", MOST_SUBMISSIONS)
    if job.record > job.paths:
        raise InvalidInput("record", f"expected at most the {job.paths:,} paths", job.record)
    check_first_step(job.pricing, job.setting, job.l1_fees)
    return job


def _itself(name: str, value: Any, kind: type[Checked]) -> Checked:
    """A value of that class and of no other: a subclass could give the compiled loop numbers that nobody checked."""
    if type(value) is not kind:
        raise InvalidInput(name, f"expected a {kind.__name__}", value)
    return value


def checked_pricing(pricing: Any) -> Pricing:
    """A policy, the user's own or a built-in one; a `PricingRule` becomes `LineaPricing`.

    Raises `InvalidInput` for what lacks a function, for a level, lag or target balance that is not a number in its
    range, and for an attribute that is nearly named as one of them.

    >>> checked_pricing(PricingRule(window=600.0)).window
    600.0
    """
    if isinstance(pricing, PricingRule) and not isinstance(pricing, LineaPricing):
        return LineaPricing(**{field.name: getattr(pricing, field.name) for field in fields(pricing)})
    for name in ("start", "announce", "settle"):
        if isinstance(pricing, type) or not callable(getattr(pricing, name, None)):
            raise InvalidInput("pricing", "expected a policy with start, announce and settle", pricing)
    for name in ("level", "target_balance"):
        real_scalar(f"pricing.{name}", getattr(pricing, name, 0.0))
    balance = getattr(pricing, "target_balance", 0.0)
    check_plausible("pricing.target_balance", balance, IN_WEI_OF_ETH, least=LEAST_AMOUNT)
    for name in ("l1_lag", "balance_lag"):
        whole_scalar(f"pricing.{name}", getattr(pricing, name, 0), maximum=MOST_LAG)
    if not _starts_as_built_in(pricing):
        _check_names(pricing)
        if pricing.announce is policy_kernels.announce or pricing.settle is policy_kernels.settle:
            reason = "expected announce and settle of its own, next to a start of its own"
            raise InvalidInput("pricing", reason, pricing)
    return pricing  # type: ignore[no-any-return]


def _starts_as_built_in(pricing: Any) -> bool:
    """Whether the state that a policy starts with is made by this package, whose compiled rules trust it."""
    makers = [getattr(type(pricing), name, None) for name in ("start", "data_rule", "execution_state")]
    return all(getattr(one, "__module__", "").startswith(f"{__package__}.") for one in makers if one is not None)


def _check_names(pricing: Any) -> None:
    for name in dir(pricing):
        if name.startswith("_") or name in OPTIONAL or name in ("start", "announce", "settle"):
            continue
        if meant := get_close_matches(name, [one for one in OPTIONAL if not hasattr(pricing, one)], 1, ALIKE):
            raise InvalidInput(f"pricing.{name}", f"expected another name: did you mean {meant[0]}?", name)


def check_first_step(pricing: Pricing, setting: Setting, l1_fees: xr.Dataset) -> None:
    """Try a policy of the user's own on the first step, in Python, where an index outside of an array is an error.

    Raises `InvalidInput` for a state that is not an array of numbers in one dimension, and for what the three
    functions raise.
    """
    state = started(pricing, setting)
    if _starts_as_built_in(pricing):
        return
    seen, settled, price = np.zeros(seen_at.SEEN), np.zeros(seen_at.SETTLED), np.zeros(seen_at.PRICES)
    seen[seen_at.BASE_FEE], seen[seen_at.BLOB_BASE_FEE] = (float(l1_fees[name][0, 0]) for name in FEES)
    seen[seen_at.GAS_USED_RATIO] = seen[seen_at.BLOB_GAS_USED_RATIO] = 1.0
    settled[seen_at.POSTED_BYTES], settled[seen_at.POSTED_COST] = 1e5, 1e13
    for name, arrays in (("announce", (state, seen, price)), ("settle", (state, settled))):
        tried = getattr(pricing, name)
        try:
            with np.errstate(all="ignore"):
                getattr(tried, "py_func", tried)(*arrays)
        except Exception as error:  # whatever the user's function raises
            reason = f"expected a function of the arrays that runs in the first step, it raises {error!r}"
            raise InvalidInput(f"pricing.{name}", reason, tried) from error


def started(pricing: Pricing, setting: Setting) -> RealArray:
    """The state of a policy at the start of a path, as an array of its own.

    >>> from feemodel.simulation.closed_loop.policies import Fixed
    >>> started(Fixed(price=7e6), Setting(12.0, 119.42, 165_000.0, 0.0, False))[2].item()
    7000000.0
    """
    try:
        state = np.asarray(pricing.start(setting))
    except InvalidInput:
        raise
    except Exception as error:  # whatever the user's function raises, or returns
        raise InvalidInput("pricing.start", f"expected an array of numbers, it raises {error!r}", pricing) from error
    if state.ndim != 1 or state.dtype.kind not in "iuf" or np.isnan(state).any():
        raise InvalidInput("pricing.start", "expected an array of numbers in one dimension", state)
    return np.array(state, dtype=np.float64)


@dataclass(frozen=True, eq=False, kw_only=True)
class PathJob:
    """What simulates a path by its number; workers are sent this."""

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
        """The scenario's row in each step of its own time."""
        return held_rows(self.l1_fees["elapsed"].to_numpy(), self.step)

    @property
    def steps(self) -> int:
        """Steps of a path."""
        if self.bootstrap is None or self.bootstrap.horizon is None:
            return len(self.rows)
        return round(self.bootstrap.horizon / self.step)

    @property
    def paths(self) -> int:
        """Number of paths."""
        return int(self.l1_fees.sizes["path"]) if self.bootstrap is None else self.bootstrap.paths

    @property
    def day_steps(self) -> int:
        """Steps of a day."""
        return round(DAY / self.step)

    @property
    def start_time(self) -> float | None:
        """Time of the first step, since 1970, where the scenario has dates [s]."""
        return first_second(self.l1_fees)

    @property
    def day_offset(self) -> int:
        """Steps of the first day before the path begins."""
        return 0 if self.days == "elapsed" else int((self.start_time or 0.0) % DAY // self.step)

    @property
    def setting(self) -> Setting:
        """What the policy may know."""
        target = float(getattr(self.pricing, "target_balance", 0.0))
        demand, tips_known = self.demand, TIP in self.l1_fees
        return Setting(self.step, demand.bytes_per_transaction, demand.gas_per_transaction, target, tips_known)

    def columns(self, path: int) -> dict[str, RealArray]:
        """L1 fees of a path, step by step; what the scenario lacks as one value."""
        row = 0 if self.bootstrap is not None else path
        names = [str(name) for name in self.l1_fees.data_vars]
        held = {name: np.asarray(self.l1_fees[name].to_numpy()[row], dtype=np.float64)[self.rows] for name in names}
        if self.bootstrap is not None:
            length = max(1, round(self.bootstrap.block_seconds / self.step))
            index = drawn_rows(stream_of(self.seed, path), len(self.rows), self.steps, length, self.bootstrap.method)
            held = {name: values[index] for name, values in held.items()}
        held.setdefault(TIP, np.array([float(self.posting.submission.tip)]))
        for name in RATIOS:
            held.setdefault(name, np.ones(1))
        return {name: np.ascontiguousarray(values) for name, values in held.items()}

    @cached_property
    def typical_base_fee(self) -> float:
        """The median that demand's correlation with L1 is relative to [wei / gas]."""
        return float(np.median(self.l1_fees["base_fee"].to_numpy()))

    def __call__(self, path: int) -> PathResult:
        """Simulate one path."""
        columns, count = self.columns(path), self.steps
        demand, day_steps, offset = self.demand, self.day_steps, self.day_offset
        start_time = self.start_time or 0.0
        activity = np.ones(1)
        if demand.l1_correlation or demand.cycle is not None:
            times = np.asarray(start_time + self.step * np.arange(count), dtype=np.float64)
            activity = demand.activity(columns["base_fee"], self.typical_base_fee, times)
            activity = np.broadcast_to(activity, count).copy() if activity.size == 1 else activity
        caps, best = self._looked_ahead(columns)
        prices, arrived = np.empty(count), np.empty(count)
        days = np.zeros(((count + offset - 1) // day_steps + 1, loop.COLUMNS))
        days[:, loop.LEAST_BALANCE] = np.inf
        waits, accounts = np.zeros(min(count, LONGEST_WAIT)), np.zeros(loop.ACCOUNTS)
        accounts[loop.BALANCE] = self.setting.target_balance
        series = np.empty((loop.RECORDED, count if path < self.record else 0))
        factors = np.array(price_cap.TIME_OF_DAY_MULTIPLIERS) if self.posting.cap.time_of_day else np.ones(168)
        state = started(self.pricing, self.setting)
        self._run(
            path,
            state,
            (columns["base_fee"], columns["blob_base_fee"], columns[TIP], *(columns[name] for name in RATIOS)),
            activity,
            np.array([start_time, self.step, day_steps, offset]),
            np.array([float(getattr(self.pricing, name, 0)) for name in ("l1_lag", "balance_lag")]),
            float(getattr(self.pricing, "level", 1.0)),
            demand.terms(),
            posting_terms(self.posting),
            self.costs.terms(self.step),
            caps,
            factors,
            best,
            stream_of(self.seed, path, 1),
            prices,
            arrived,
            days,
            waits,
            series,
            accounts,
        )
        if accounts[loop.REFUSED] > 0.0:
            step, announced = int(accounts[loop.REFUSED]) - 1, accounts[loop.REFUSED_PRICES : loop.ACCOUNTS].tolist()
            reason = f"expected finite prices of at least 0, in step {step:,} of path {path:,}"
            raise InvalidInput("pricing", reason, announced)
        summary = summarized(days, prices, waits, accounts, step=self.step, day_steps=day_steps)
        return PathResult(days, summary, series if path < self.record else None)

    def _run(self, path: int, *arguments: Any) -> None:
        try:
            self._runner()(*arguments)
        except Exception as error:
            if _starts_as_built_in(self.pricing):
                raise
            reason = f"expected functions that run on path {path:,}, they raise {repr(error)[:LONGEST_ERROR]}"
            raise InvalidInput("pricing", reason, self.pricing) from error

    def _runner(self) -> Callable[..., None]:
        announce, settle = self.pricing.announce, self.pricing.settle
        if announce is policy_kernels.announce and settle is policy_kernels.settle:
            return loop.run_built_in
        if hasattr(announce, "py_func") and hasattr(settle, "py_func"):
            return lambda *arguments: loop.run_loop(announce, settle, *arguments)
        slowly: Any = loop.run_loop
        return lambda *arguments: slowly.py_func(announce, settle, *arguments)

    def _looked_ahead(self, columns: dict[str, RealArray]) -> tuple[RealArray, Any]:
        """Percentiles of the price cap, and the cheapest steps of the clairvoyant; of no length where not needed."""
        posting = self.posting
        caps, best = np.empty((2, 0)), np.empty(0, dtype=np.int64)
        if posting.kind == "price-cap":
            caps = price_percentiles(columns["base_fee"], columns["blob_base_fee"], posting, self.step)
        if posting.kind == "clairvoyant":
            cost = posting.submission.cost(columns["base_fee"], columns[TIP], columns["blob_base_fee"])
            best = cheapest_step(cost, round((posting.deadline or 0.0) / self.step))
        return caps, best

    @cached_property
    def attributes(self) -> dict[str, Any]:
        """Inputs and assumptions of the result."""
        l1_fees, tip = self.l1_fees, self.posting.submission.tip / WEI_PER_GWEI
        return {
            "l1_fees": str(l1_fees.attrs["source"]),
            "l1_fees_assumed": str(l1_fees.attrs.get("assumed", "nothing")),
            **{name: described(getattr(self, name)) for name in ("pricing", "posting", "demand", "costs")},
            "bootstrap": "none" if self.bootstrap is None else described(self.bootstrap),
            "step": self.step,
            "days": self.days,
            "tips": "of the series" if TIP in l1_fees else f"assumed: {tip:g} gwei / gas",
            "seed": f"{self.seed.entropy}, spawn key {self.seed.spawn_key}",
            "versions": f"feemodel {__version__}, Python {platform.python_version()}, "
            f"numpy {np.__version__}, numba {numba.__version__}",
            "not_counted": self.not_counted,
        }

    @property
    def not_counted(self) -> str:
        """Cost lines that are 0 by assumption."""
        costs = self.costs
        lines = {
            "finalization": costs.finalizes,
            "proving": bool(costs.proving_per_gas or costs.proving_per_byte),
            "overhead": bool(costs.overhead_per_month),
        }
        return ", ".join(name for name, counted in lines.items() if not counted) or "nothing"

    def layout(self, path: int) -> Layout:
        """Types and shapes of the arrays that are stored of a path."""
        days = (self.steps + self.day_offset - 1) // self.day_steps + 1
        real = np.dtype(np.float64)
        found: Layout = {"days": (real, (days, loop.COLUMNS)), "summary": (real, (len(OF_PATH),))}
        return found if path >= self.record else {**found, "series": (real, (loop.RECORDED, self.steps))}

    def to_arrays(self, part: PathResult) -> dict[str, NDArray[Any]]:
        """The arrays of a path: its days, its statistics in the order of `OF_PATH`, its series where it has them."""
        found = {"days": part.days, "summary": np.array([part.summary[name] for name in OF_PATH], dtype=np.float64)}
        return found if part.series is None else found | {"series": part.series}

    def from_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> PathResult:
        """The path that has these arrays."""
        summary = dict(zip(OF_PATH, arrays["summary"].tolist(), strict=True))
        return PathResult(arrays["days"], summary, arrays.get("series"))

    @property
    def description(self) -> str:
        """All that decides the result, as JSON."""
        told = description(
            l1_fees=self.l1_fees, pricing=self.pricing, start=started(self.pricing, self.setting),
            read={name: getattr(self.pricing, name, None) for name in OPTIONAL},
            posting=self.posting, demand=self.demand, costs=self.costs, step=self.step, bootstrap=self.bootstrap,
            days=self.days, record=self.record, seed=self.seed, versions=self.attributes["versions"],
            package=package_source("feemodel.simulation.closed_loop.simulator"),
        )  # fmt: skip
        return json.dumps(told)


def _seed_sequence(rng: Rng) -> SeedSequence:
    sequence = generator_of(rng).bit_generator.seed_seq
    if not isinstance(sequence, SeedSequence):
        raise InvalidInput("rng", "expected a generator that can spawn streams", rng)
    return sequence
