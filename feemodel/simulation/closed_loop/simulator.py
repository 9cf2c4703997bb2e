"""Simulate a rollup in a closed loop, once or for many values of its parameters."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from feemodel.checks import RealArray, choice, sequence
from feemodel.errors import InvalidInput
from feemodel.progress import Progress, reporting
from feemodel.simulation.announced import PricingRule
from feemodel.simulation.closed_loop._pricing import with_fields
from feemodel.simulation.closed_loop._results import PATH_VARIABLES, dataset
from feemodel.simulation.closed_loop.demand import Demand
from feemodel.simulation.closed_loop.paths import Bootstrap, PathJob, path_job
from feemodel.simulation.policies.base import Pricing
from feemodel.simulation.posting import Costs, Posting
from feemodel.simulation.run import Where, in_order
from feemodel.simulation.scenarios import Rng


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
    progress: "Progress" = None,
) -> xr.Dataset:
    """Simulate a rollup in a closed loop: its prices, the demand of its users, and the postings of its operator.

    Parameters
    ----------
    l1_fees : scenario of `feemodel.simulation.scenarios`. If the time between rows is longer than a step, each row
        applies until the next row starts, and the last row only marks the end of the scenario; for real transactions,
        the last row lasts as long as the median row.
    pricing : policy of `feemodel.simulation.policies`, a `PricingRule`, or your own policy, see `Pricing`.
    posting : rule for when data is posted; `None` means that each blob is posted when it is full. `stream_ratio` must
        be 1 unless the demand has a workload, because `demand.bytes_per_transaction` is already the size in the shared
        stream.
    demand : demand for transactions; `None` means the defaults of `Demand`.
    costs : costs of finalization, proving and overhead; `None` means no such costs.
    step : length of a step [s].
    bootstrap : settings for drawing paths from `l1_fees`; `None` means to use the paths in `l1_fees`.
    days : "elapsed": a day is 24 hours, and the first day starts with the first step. "utc": a day is from midnight to
        midnight UTC, and the first and last day may be partial.
    record : number of paths for which the result contains the values in each step.
    rng : seed, SeedSequence or Generator; each path has its own random stream.
    executor : any `concurrent.futures.Executor`, or a `dask.distributed.Client`; `None` means threads.
    workers : number of threads or processes; the result does not depend on this number.
    progress : `True` for a progress bar, or a function that is called with the number of newly finished paths.

    Returns
    -------
    Dataset. Variables over `path` and `day`: fees, cash costs by category and accrued costs [wei], transactions, bytes,
    submissions and prices. Variables over `path`: statistics, such as `recovery`. Variables over `recorded_path`
    and `step`: values in each step. The attribute `long_name` of a variable says what it is.

    Raises
    ------
    InvalidInput : an argument has the wrong type, the scenario is shorter than a step, or the policy lacks a required
        function.
    LimitExceeded : the steps or paths do not fit in memory.

    At 1,000 wei per byte, users pay 119.42 · 1,000 · 1.45 · 12 wei per step:

    >>> from feemodel.simulation.scenarios import replay
    >>> from feemodel.simulation.policies.fixed import Fixed
    >>> fees = replay({"timestamp": [0, 12, 24], "base_fee": [7e7] * 3, "blob_base_fee": [4e6] * 3}, source="by hand")
    >>> round(simulate(fees, Fixed(price=1_000.0)).data_fees.sum().item() / 3)
    2077908
    """
    job = path_job(
        l1_fees, pricing, posting, demand, costs, step=step, bootstrap=bootstrap, days=days, record=record, rng=rng
    )
    results: list[Mapping[str, NDArray[Any]]] = []
    with (
        reporting(progress, job.paths, "paths") as advance,
        closing(in_order(job, range(job.paths), executor=executor, workers=workers)) as found,
    ):
        for arrays in found:
            results.append(arrays)
            advance(1)
    made = dataset(results, day_steps=job.day_steps, step=job.step)
    if job.start_time is not None:
        first = np.datetime64(round(job.start_time), "s").astype("datetime64[D]" if days == "utc" else "datetime64[s]")
        dates = first.astype("datetime64[ns]") + np.arange(made.sizes["day"]) * np.timedelta64(86_400, "s")
        made = made.assign_coords(date=("day", dates, {"long_name": "start of the day, UTC"}))
    return made.assign_attrs(job.attributes)


PARTS = ("pricing", "posting", "demand", "costs")


@dataclass(frozen=True, eq=False, kw_only=True)
class Experiment:
    """Callable that simulates one path for each combination of parameters.

    The name of an input consists of an argument and a field: `demand_elasticity` sets `demand.elasticity`. If inputs
    are arrays, they are broadcast, and one path is simulated for each element. For a field that requires an integer,
    values such as 2.0 are converted to `int`. The outputs are names of results of `simulate` with one value a path.

    Raises `InvalidInput` if an input is not a field, if an output is not a statistic, or if the value of an input is
    not valid for the field.

    >>> from feemodel.simulation.policies.fixed import Fixed
    >>> from feemodel.simulation.scenarios import replay
    >>> rows = {"timestamp": [0, 86_400], "base_fee": [7e7] * 2, "blob_base_fee": [4e6] * 2}
    >>> run = Experiment(l1_fees=replay(rows, source="by hand"), pricing=Fixed(price=1e8))
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
    chunk: ClassVar[int] = 16  #: evaluations in a piece of a sweep

    def __post_init__(self) -> None:
        for name in sequence("outputs", self.outputs):
            choice("outputs", name, tuple(PATH_VARIABLES))
        self._job()

    def _job(self, **changed: Any) -> PathJob:
        made = {part: getattr(self, part) for part in PARTS} | changed
        return path_job(self.l1_fees, **made, step=self.step, rng=self.rng)

    @property
    def units(self) -> dict[str, str]:
        """Units of the outputs."""
        return {name: PATH_VARIABLES[name][0] for name in self.outputs}

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes of the result of a sweep: the policy, the demand, the L1 fees, the seed and the other inputs."""
        return self._job().attributes

    def __call__(self, **inputs: Any) -> dict[str, RealArray]:
        """Return the outputs, with one value for each element of the broadcast inputs."""
        names = [*inputs]
        try:
            columns = np.broadcast_arrays(*(np.asarray(inputs[name]) for name in names))
        except ValueError as error:
            raise InvalidInput("inputs", f"expected arrays that broadcast: {error}", names) from None
        shape = columns[0].shape if columns else ()
        found = {name: np.empty(shape) for name in self.outputs}
        for index in np.ndindex(shape):
            summary = self._simulated({name: column[index] for name, column in zip(names, columns, strict=True)})
            for name in self.outputs:
                found[name][index] = summary[name]
        return found

    def _simulated(self, values: dict[str, Any]) -> dict[str, float]:
        changed: dict[str, dict[str, Any]] = {part: {} for part in PARTS}
        for name, value in values.items():
            part, _, term = name.partition("_")
            record = getattr(self, part) if part in PARTS else None
            if not is_dataclass(record) or term not in [one.name for one in fields(record)]:
                raise InvalidInput("inputs", "expected an argument and its field, such as demand_elasticity", name)
            held, number = getattr(getattr(self, part), term), value.item()
            # Samplers draw doubles. Convert values such as 2.0 to int for fields that require integers.
            whole = isinstance(held, int) and not isinstance(held, bool) and float(number).is_integer()
            changed[part][term] = int(number) if whole else number
        made = {part: with_fields(getattr(self, part), given) for part, given in changed.items() if given}
        summary = self._job(**made)(0)["summary"]
        return dict(zip(PATH_VARIABLES, summary.tolist(), strict=True))
