"""A rollup simulated in a closed loop, and the same simulation as a function of its numbers for sweeps."""

import inspect
from contextlib import closing
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Protocol

import numpy as np
import xarray as xr

from feemodel.checks import RealArray, choice, instance, sequence
from feemodel.errors import InvalidInput
from feemodel.progress import Progress, reporting
from feemodel.simulation.announced import PricingRule
from feemodel.simulation.closed_loop.costs import Costs
from feemodel.simulation.closed_loop.demand import Demand
from feemodel.simulation.closed_loop.paths import OPTIONAL, Bootstrap, path_job
from feemodel.simulation.closed_loop.policies import Pricing
from feemodel.simulation.closed_loop.results import OF_PATH, PathResult, dataset
from feemodel.simulation.executors import Selected, Where, in_order
from feemodel.simulation.posting import Posting
from feemodel.simulation.scenarios import Rng


class FinishedPaths(Protocol):
    """Where finished paths are kept, so that an interrupted run goes on; `feemodel.io.PathFolder` is one."""

    def open(self, experiment: str) -> None:
        """Take an experiment's description; raises where another one's paths are kept."""

    def get(self, path: int) -> tuple[RealArray, dict[str, float], RealArray | None] | None:
        """A finished path."""

    def put(self, path: int, finished: tuple[RealArray, dict[str, float], RealArray | None]) -> None:
        """Keep a finished path."""


def simulate(
    l1_fees: xr.Dataset,
    pricing: "Pricing | PricingRule",
    posting: "Posting | None" = None,
    demand: "Demand | None" = None,
    costs: "Costs | None" = None,
    *,
    step: float = 12.0,
    bootstrap: "Bootstrap | None" = None,
    days: str = "elapsed",
    record: int = 0,
    rng: "Rng" = 1,
    executor: "Where" = None,
    workers: int | None = None,
    finished: "FinishedPaths | None" = None,
    progress: "Progress" = None,
) -> xr.Dataset:
    """A rollup in a closed loop with L1, its users and its operator, path by path.

    Parameters
    ----------
    l1_fees : a scenario, see `feemodel.simulation.scenarios`. Rows further apart than a step are held until the next
        one; the last of them only ends the one before.
    pricing : a policy of `feemodel.simulation.closed_loop.policies`, a `PricingRule`, or one's own, see `Pricing`.
    posting : when data leaves; filled blobs unless given. Its `stream_ratio` must be 1: what a transaction takes in the
        shared stream is the demand's `bytes_per_transaction`.
    demand : who sends how much; the defaults of `Demand` unless given.
    costs : besides submissions; none unless given.
    step : [s].
    bootstrap : draw paths from the history `l1_fees` instead of taking its own.
    days : "elapsed": 24 hours from the first step on; "utc": from midnight to midnight, the ends being parts of days.
    record : of how many paths the series over steps are kept.
    rng : seed, SeedSequence or Generator; each path has its own stream.
    executor, workers : as in `feemodel.sweep`; the result is the same to the bit.
    finished : where paths are kept as they come, so that an interrupted run goes on.
    progress : see `feemodel.progress`.

    Returns
    -------
    Dataset over `path` and `day`: fees, cost lines in cash, accrued costs [wei], transactions, bytes, submissions,
    prices; over `path`: statistics, see `feemodel.simulation.closed_loop.results`; over `recorded_path` and `step`
    what is recorded.

    Raises
    ------
    InvalidInput : an argument of another kind, a scenario shorter than a step, a policy without its functions.
    LimitExceeded : more steps or paths than memory should hold.

    At 1,000 wei a byte users pay 119.42 · 1,000 · 1.45 · 12 wei a step:

    >>> from feemodel.simulation.scenarios import replay
    >>> from feemodel.simulation.closed_loop.policies import Fixed
    >>> fees = replay({"timestamp": [0, 12, 24], "base_fee": [7e7] * 3, "blob_base_fee": [4e6] * 3}, source="by hand")
    >>> round(simulate(fees, Fixed(price=1_000.0)).data_fees.sum().item() / 3)
    2077908
    """
    job = path_job(l1_fees, pricing, posting, demand, costs, step=step, bootstrap=bootstrap, days=days,
                   record=record, rng=rng)  # fmt: skip
    if finished is not None:
        if not callable(getattr(finished, "open", None)):
            raise InvalidInput("finished", "expected a store of finished paths, with open, get and put", finished)
        finished.open(job.description)
    results: list[PathResult] = []
    missing = [path for path in range(job.paths) if finished is None or finished.get(path) is None]
    with (
        reporting(progress, job.paths, "paths") as advance,
        closing(in_order(Selected(job, tuple(missing)), len(missing), executor=executor, workers=workers)) as found,
    ):
        for path in range(job.paths):
            kept = None if finished is None else finished.get(path)
            result = next(found) if kept is None else job.checked(path, PathResult(*kept))
            if finished is not None and kept is None:
                finished.put(path, result)
            results.append(result)
            advance(1)
    made = dataset(results, day_steps=job.day_steps, step=job.step, recorded=job.record)
    if job.start_time is not None:
        first = np.datetime64(round(job.start_time), "s").astype("datetime64[D]" if days == "utc" else "datetime64[s]")
        dates = first.astype("datetime64[ns]") + np.arange(made.sizes["day"]) * np.timedelta64(86_400, "s")
        made = made.assign_coords(date=("day", dates, {"long_name": "start of the day, UTC"}))
    return made.assign_attrs(job.attributes)


PARTS = ("pricing", "posting", "demand", "costs")


@dataclass(frozen=True, eq=False, kw_only=True)
class Experiment:
    """A simulation of one path whose fields are inputs: `demand_elasticity` is the field `elasticity` of `demand`.

    Called with arrays that broadcast, it simulates once for each element; whole numbers are given to fields that hold
    whole numbers. Outputs are statistics of a path, see `feemodel.simulation.closed_loop.results`.

    Raises `InvalidInput` for an input that is no field, an output that is no statistic, and what the classes refuse.

    >>> from feemodel.simulation.closed_loop.policies import Fixed
    >>> from feemodel.simulation.scenarios import replay
    >>> rows = {"timestamp": [0, 86_400], "base_fee": [7e7] * 2, "blob_base_fee": [4e6] * 2}
    >>> run = Experiment(l1_fees=replay(rows, source="by hand"), pricing=Fixed(price=1.0))
    >>> found = run(pricing_price=np.array([9e7, 18e7]))["recovery"]
    >>> round(float(found[1] / found[0]), 9)
    2.0
    """

    l1_fees: xr.Dataset
    pricing: Pricing
    posting: Posting = field(default_factory=Posting)
    demand: Demand = field(default_factory=Demand)
    costs: Costs = field(default_factory=Costs)
    outputs: tuple[str, ...] = ("recovery",)
    step: float = 12.0
    rng: int = 1

    def __post_init__(self) -> None:
        for name in sequence("outputs", self.outputs):
            choice("outputs", name, tuple(OF_PATH))
        instance("posting", self.posting, Posting)
        path_job(self.l1_fees, self.pricing, self.posting, self.demand, self.costs, step=self.step, rng=self.rng)

    def __call__(self, **inputs: Any) -> dict[str, RealArray]:
        """The outputs at every element of the inputs."""
        names = [*inputs]
        columns = np.broadcast_arrays(*(np.asarray(inputs[name]) for name in names))
        shape = columns[0].shape if columns else ()
        found = {name: np.empty(shape) for name in self.outputs}
        for place in np.ndindex(shape):
            summary = self._simulated({name: column[place] for name, column in zip(names, columns, strict=True)})
            for name in self.outputs:
                found[name][place] = summary[name]
        return found

    def _simulated(self, values: dict[str, Any]) -> dict[str, float]:
        changed: dict[str, dict[str, Any]] = {part: {} for part in PARTS}
        for name, value in values.items():
            part, _, term = name.partition("_")
            if part not in PARTS or term not in _parameters(getattr(self, part)):
                raise InvalidInput("inputs", "expected a field as part_field, such as demand_elasticity", name)
            held, number = getattr(getattr(self, part), term), value.item()
            # A drawn input is a double; a field that counts takes it where it is whole.
            whole = isinstance(held, int) and not isinstance(held, bool) and float(number).is_integer()
            changed[part][term] = int(number) if whole else number
        made = {part: _with_parameters(getattr(self, part), given) for part, given in changed.items()}
        return path_job(self.l1_fees, **made, step=self.step, rng=self.rng)(0).summary


def _parameters(record: Any) -> tuple[str, ...]:
    """The fields of a dataclass; of another object its constructor's parameters that are its attributes too.

    >>> _parameters(Costs())[0]
    'finalization_gas'
    """
    if is_dataclass(record):
        return tuple(one.name for one in fields(record) if one.init)
    return tuple(name for name in inspect.signature(type(record)).parameters if hasattr(record, name))


def _with_parameters(record: Any, changed: dict[str, Any]) -> Any:
    """An object like another one, made anew with some parameters changed.

    Raises `InvalidInput` where the constructor needs a parameter that is no attribute.

    >>> _with_parameters(Costs(), {"proving_per_byte": 3.0}).proving_per_byte
    3.0
    """
    if is_dataclass(record) and not isinstance(record, type):
        return replace(record, **changed)
    if not changed:
        return record
    for name, one in inspect.signature(type(record)).parameters.items():
        if not hasattr(record, name) and (
            one.default is one.empty or one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        ):
            reason = "expected an attribute of that name, to make the object anew with other parameters"
            raise InvalidInput(f"{type(record).__name__}.{name}", reason, record)
    made = type(record)(**{name: getattr(record, name) for name in _parameters(record)} | changed)
    for name in {*OPTIONAL} & {*getattr(record, "__dict__", {})} - {*_parameters(record)}:
        setattr(made, name, getattr(record, name))  # which was set after the object was made
    return made
