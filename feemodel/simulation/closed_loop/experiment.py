"""A simulation as a function of its numbers, for `feemodel.sweep` and sensitivity indices: scalars in, numbers out."""

from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import xarray as xr

from feemodel.checks import RealArray, choice, instance, sequence
from feemodel.errors import InvalidInput
from feemodel.simulation.closed_loop.costs import Costs
from feemodel.simulation.closed_loop.demand import Demand
from feemodel.simulation.closed_loop.paths import path_job
from feemodel.simulation.closed_loop.policies import Pricing
from feemodel.simulation.closed_loop.results import OF_PATH
from feemodel.simulation.posting import Posting

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
            if part not in PARTS or term not in {one.name for one in fields(getattr(self, part))}:
                raise InvalidInput("inputs", "expected a field as part_field, such as demand_elasticity", name)
            held, number = getattr(getattr(self, part), term), value.item()
            # A drawn input is a double; a field that counts takes it where it is whole.
            whole = isinstance(held, int) and not isinstance(held, bool) and float(number).is_integer()
            changed[part][term] = int(number) if whole else number
        made = {part: replace(getattr(self, part), **given) for part, given in changed.items()}
        return path_job(self.l1_fees, **made, step=self.step, rng=self.rng)(0).summary
