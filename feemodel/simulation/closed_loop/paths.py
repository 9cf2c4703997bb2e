"""One path of a closed loop by its number: the checked arguments of `simulate`, and what a worker does with them."""

import json
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import cached_property, lru_cache
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
from feemodel.simulation.announced import PricingRule
from feemodel.simulation.axes import stream_of
from feemodel.simulation.closed_loop.accounts import (
    ACCOUNTS,
    DAY,
    L1,
    SERIES,
    Clock,
    Found,
    Path,
    PolicyTerms,
)
from feemodel.simulation.closed_loop.costs import Costs
from feemodel.simulation.closed_loop.demand import Demand
from feemodel.simulation.closed_loop.l1_steps import first_second, held_rows, looked_ahead, posting_terms
from feemodel.simulation.closed_loop.loop import run_loop
from feemodel.simulation.closed_loop.observations import (
    PRICE,
    SEEN,
    SETTLED,
    Setting,
    State,
    empty_record,
    records,
)
from feemodel.simulation.closed_loop.parameters import OPTIONAL, described
from feemodel.simulation.closed_loop.results import OF_PATH, PathResult, summarized
from feemodel.simulation.fingerprint import description, package_source
from feemodel.simulation.l1_columns import FEES, RATIOS, TIP
from feemodel.simulation.policies.base import MOST_LAG, Pricing
from feemodel.simulation.policies.execution import (
    OF_POLICY,
    ExecutionPrice,
    ExecutionState,
    FixedExecution,
    execution_state,
)
from feemodel.simulation.policies.fixed import Fixed
from feemodel.simulation.policies.linea import LineaPricing
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

DAY_SECONDS = 86_400.0
MOST_STEPS = 1 << 27  # of a path: 1 GiB a series
MOST_SUBMISSIONS = 100_000_000  # on a path
MOST_PATHS = 10_000_000
LONGEST_WAIT = 1 << 15  # steps that the distribution of waits distinguishes
DAYS = ("elapsed", "utc")
LONGEST_ERROR = 200  # characters: those of a compiler have pages
POLICIES = "feemodel.simulation.policies"
ALIKE = 0.75  # how similar a name is that was probably meant as one of them, by `difflib`

Checked = TypeVar("Checked")


@dataclass(frozen=True, kw_only=True)
class Bootstrap:
    """Paths drawn from a history of L1 fees one by one, as `feemodel.simulation.scenarios.bootstrap` draws them.

    A path is drawn where it is simulated, so memory does not grow with the number of paths.
    """

    paths: int
    block_seconds: float = DAY_SECONDS  #: [s]
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
    if abs(DAY_SECONDS / step - round(DAY_SECONDS / step)) > 1e-9:
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
    """A policy, the user's own or a built-in one; a `PricingRule` becomes `LineaPricing`, an execution price `Fixed`.

    Raises `InvalidInput` for what lacks a function, for a level, lag or target balance that is not a number in its
    range, and for an attribute that is nearly named as one of them.

    >>> checked_pricing(PricingRule(window=600.0)).window
    600.0
    """
    if isinstance(pricing, PricingRule) and not isinstance(pricing, LineaPricing):
        return LineaPricing(**{field.name: getattr(pricing, field.name) for field in fields(pricing)})
    if isinstance(pricing, ExecutionPrice):
        return Fixed(price=0.0, execution=pricing)
    for name in ("start", "announce", "settle"):
        if isinstance(pricing, type) or not callable(getattr(pricing, name, None)):
            raise InvalidInput("pricing", "expected a policy with start, announce and settle", pricing)
    for name in ("level", "target_balance"):
        real_scalar(f"pricing.{name}", getattr(pricing, name, 0.0))
    balance = getattr(pricing, "target_balance", 0.0)
    check_plausible("pricing.target_balance", balance, IN_WEI_OF_ETH, least=LEAST_AMOUNT)
    for name in ("l1_lag", "balance_lag"):
        whole_scalar(f"pricing.{name}", getattr(pricing, name, 0), maximum=MOST_LAG)
    if not _is_built_in(pricing.start):
        _check_names(pricing)
        if any(_is_built_in(getattr(pricing, name)) for name in ("announce", "settle")):
            reason = "expected announce and settle of its own, next to a start of its own"
            raise InvalidInput("pricing", reason, pricing)
    return pricing  # type: ignore[no-any-return]


def _is_built_in(function: Any) -> bool:
    """Whether a policy's function is of this package: a state of somebody else would mislead its compiled rules."""
    return str(getattr(function, "__module__", "")).startswith(f"{POLICIES}.")


def _has_own_loop(pricing: Any) -> bool:
    """Whether a policy is a built-in one as it is, whose module has the loop compiled with its functions."""
    functions = [getattr(pricing, name, None) for name in ("start", "announce", "settle", "run")]
    return all(map(_is_built_in, functions)) and len({one.__module__ for one in functions}) == 1


def _check_names(pricing: Any) -> None:
    for name in dir(pricing):
        if name.startswith("_") or name in OPTIONAL or name in ("start", "announce", "settle"):
            continue
        if meant := get_close_matches(name, [one for one in OPTIONAL if not hasattr(pricing, one)], 1, ALIKE):
            raise InvalidInput(f"pricing.{name}", f"expected another name: did you mean {meant[0]}?", name)


def check_first_step(pricing: Pricing, setting: Setting, l1_fees: xr.Dataset) -> None:
    """Try a policy of the user's own on the first step, in Python, where an index outside of an array is an error.

    Raises `InvalidInput` for a state of another kind, and for what the three functions raise.
    """
    state = started(pricing, setting)
    if _has_own_loop(pricing):
        return
    seen, settled, price = (empty_record(dtype) for dtype in (SEEN, SETTLED, PRICE))
    seen.base_fee, seen.blob_base_fee = (float(l1_fees[name][0, 0]) for name in FEES)
    seen.gas_used_ratio = seen.blob_gas_used_ratio = 1.0
    settled.posted_bytes, settled.posted_cost = 1e5, 1e13
    for name, given in (("announce", (state, seen, price)), ("settle", (state, settled))):
        tried = getattr(pricing, name)
        try:
            with np.errstate(all="ignore"):
                getattr(tried, "py_func", tried)(*given)
        except Exception as error:  # whatever the user's function raises
            reason = f"expected a function of the records that runs in the first step, it raises {error!r}"
            raise InvalidInput(f"pricing.{name}", reason, tried) from error


def started(pricing: Pricing, setting: Setting) -> State:
    """The state of a policy at the start of a path, with memory of its own.

    >>> started(Fixed(price=7e6), Setting(12.0, 119.42, 165_000.0, 0.0, False)).price.item()
    7000000.0
    """
    try:
        state = pricing.start(setting)
        parts = [np.array(part) for part in (state if _is_named_tuple(state) else (state,))]
    except InvalidInput:
        raise
    except Exception as error:  # whatever the user's function raises, or returns
        raise InvalidInput("pricing.start", f"expected an array of numbers, it raises {error!r}", pricing) from error
    for part in parts:
        columns = [part[name] for name in part.dtype.names] if part.dtype.names else [part]
        numbers = all(column.dtype.kind in "iuf" and not np.isnan(column).any() for column in columns)
        if not numbers or part.ndim > 1 or (part.ndim == 0 and not part.dtype.names):
            reason = "expected a policy_state, or an array of numbers in one dimension"
            raise InvalidInput("pricing.start", reason, state)
    made = [_as_records(part) if part.dtype.names else part.astype(np.float64) for part in parts]
    return type(state)(*made) if _is_named_tuple(state) else made[0]


def _is_named_tuple(state: Any) -> bool:
    return isinstance(state, tuple) and hasattr(state, "_fields")


def _as_records(part: NDArray[Any]) -> Any:
    """One record or several, whose fields are attributes in plain Python too."""
    return part.view(np.dtype((np.record, part.dtype)))[()]


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
        return round(DAY_SECONDS / self.step)

    @property
    def start_time(self) -> float | None:
        """Time of the first step, since 1970, where the scenario has dates [s]."""
        return first_second(self.l1_fees)

    @property
    def day_offset(self) -> int:
        """Steps of the first day before the path begins."""
        return 0 if self.days == "elapsed" else int((self.start_time or 0.0) % DAY_SECONDS // self.step)

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
        taken = self._path(path)
        accounts, found = taken.accounts, taken.found
        self._run(path, started(self.pricing, self.setting), taken)
        if accounts.refused:
            reason = f"expected finite prices of at least 0, in step {accounts.refused - 1:,} of path {path:,}"
            raise InvalidInput("pricing", reason, list(taken.price.tolist()))
        days, series = found.days.view(DAY), found.series.view(SERIES)
        summary = summarized(days, found.prices, found.waits, accounts, step=self.step, day_steps=self.day_steps)
        return PathResult(days, summary, series if path < self.record else None)

    def _path(self, path: int) -> Path:
        """All that the compiled loop takes of a path, and the empty records that it fills."""
        columns, count = self.columns(path), self.steps
        demand, day_steps, offset = self.demand, self.day_steps, self.day_offset
        start_time = self.start_time or 0.0
        activity = np.ones(1)
        if demand.l1_correlation or demand.cycle is not None:
            times = np.asarray(start_time + self.step * np.arange(count), dtype=np.float64)
            activity = demand.activity(columns["base_fee"], self.typical_base_fee, times)
            activity = np.broadcast_to(activity, count).copy() if activity.size == 1 else activity
        l1 = L1(columns["base_fee"], columns["blob_base_fee"], columns[TIP], *(columns[name] for name in RATIOS))
        days = records((count + offset - 1) // day_steps + 1, DAY)
        days["least_balance"] = np.inf
        series = records(count if path < self.record else 0, SERIES)
        accounts = empty_record(ACCOUNTS)
        accounts.balance = self.setting.target_balance
        return Path(
            execution=self._execution_state(),
            l1=l1,
            activity=activity,
            clock=Clock(float(start_time), self.step, day_steps, offset),
            policy=PolicyTerms(float(getattr(self.pricing, "level", 1.0)), int(getattr(self.pricing, "l1_lag", 0))),
            demand=demand.terms(),
            posting=posting_terms(self.posting),
            costs=self.costs.terms(self.step),
            caps=looked_ahead(l1.base_fee, l1.blob_base_fee, l1.tip, self.posting, self.step),
            rng=stream_of(self.seed, path, 1),
            balances=np.empty(int(getattr(self.pricing, "balance_lag", 0)) + 1),
            charges=np.empty(demand.lag + 1),
            seen=empty_record(SEEN),
            price=empty_record(PRICE),
            settled=empty_record(SETTLED),
            accounts=accounts,
            found=Found(np.empty(count), np.empty(count), days, np.zeros(min(count, LONGEST_WAIT)), series),
        )

    def _run(self, path: int, state: State, taken: Path) -> None:
        try:
            self._runner()(state, taken)
        except Exception as error:
            if _has_own_loop(self.pricing):
                raise
            reason = f"expected functions that run on path {path:,}, they raise {repr(error)[:LONGEST_ERROR]}"
            raise InvalidInput("pricing", reason, self.pricing) from error

    def _execution_state(self) -> ExecutionState:
        """The state of the built-in price of L2 execution; a policy of the user's own announces one itself."""
        if not _is_built_in(self.pricing.announce):
            return execution_state(OF_POLICY)
        return (getattr(self.pricing, "execution", None) or FixedExecution()).start(self.setting)

    def _runner(self) -> Callable[[State, Path], None]:
        """The loop with the policy: of a built-in one kept on disk, of another one compiled in every process."""
        if _has_own_loop(self.pricing):
            return self.pricing.run  # type: ignore[attr-defined,no-any-return]
        announce, settle = self.pricing.announce, self.pricing.settle
        if hasattr(announce, "py_func") and hasattr(settle, "py_func"):
            return _compiled_loop(announce, settle)
        slowly: Any = run_loop
        return lambda state, path: slowly.py_func(announce, settle, state, path)

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
        found: Layout = {"days": (DAY, (days,)), "summary": (np.dtype(np.float64), (len(OF_PATH),))}
        return found if path >= self.record else {**found, "series": (SERIES, (self.steps,))}

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
            l1_fees=self.l1_fees, pricing=self.pricing, start=_parts(started(self.pricing, self.setting)),
            read={name: getattr(self.pricing, name, None) for name in OPTIONAL},
            posting=self.posting, demand=self.demand, costs=self.costs, step=self.step, bootstrap=self.bootstrap,
            days=self.days, record=self.record, seed=self.seed, versions=self.attributes["versions"],
            package=package_source("feemodel.simulation.closed_loop.simulator"),
        )  # fmt: skip
        return json.dumps(told)


@lru_cache(maxsize=64)
def _compiled_loop(announce: Any, settle: Any) -> Callable[[State, Path], None]:
    """The loop compiled with a policy's functions: as arguments of each call they would take long to recognise."""

    @numba.njit(nogil=True, error_model="numpy")
    def run(state, path):  # type: ignore[no-untyped-def]
        run_loop(announce, settle, state, path)

    compiled: Callable[[State, Path], None] = run
    return compiled


def _parts(state: State) -> list[Any]:
    """A state as arrays: its own, or those of a named tuple."""
    return [np.asarray(part) for part in (state if _is_named_tuple(state) else [state])]


def _seed_sequence(rng: Rng) -> SeedSequence:
    sequence = generator_of(rng).bit_generator.seed_seq
    if not isinstance(sequence, SeedSequence):
        raise InvalidInput("rng", "expected a generator that can spawn streams", rng)
    return sequence
