"""Verbs of Linea's fees on L1 fees of the past: `backtest` computes them, `calibrate` finds their margin."""

import math
from dataclasses import dataclass, replace
from typing import Annotated, Any

import xarray

from feemodel.checks import share
from feemodel.cli.output import DATASETS, HOUR, TABLES, Answer, Table, result
from feemodel.cli.parameters import (
    BLOCK_HOURS,
    FLAT,
    ArrivalRate,
    Columns,
    LossProbability,
    Scenario,
    Seed,
    Sizing,
    default_of,
    flag,
    number,
    one_of,
    real,
    text,
    whole,
)
from feemodel.cli.subjects import read_workload, shipped_workload
from feemodel.cli.verb import verb
from feemodel.ethereum._quantities import WEI_PER_GWEI
from feemodel.linea.parameters import COORDINATOR
from feemodel.quantities import FixedCost
from feemodel.simulation.announced import PricingRule
from feemodel.simulation.backtest import backtest
from feemodel.simulation.calibrate import calibrate as calibration
from feemodel.simulation.closed_loop.demand import Demand
from feemodel.simulation.posting import Posting
from feemodel.simulation.scenarios import duration

RULE = PricingRule()
HOURS = 24.0  # length of a path if none is given
LOSING_PATHS = 10  # expected number of paths with a loss, if the number of paths is not given
OF_RULE = ("margin", "estimate_margin", "fixed_cost", "lower_bound", "upper_bound")


@dataclass(frozen=True)
class Traffic:
    """Transactions, drawn at random over the time of the L1 fees; their pricing and posting."""

    transactions: Annotated[str | None, text("file of transactions (default: those in the package)", "FILE")] = None
    columns: Columns = ()  # type: ignore[assignment]
    arrival_rate: ArrivalRate = Demand().rate
    seed: Seed = 1
    tip: Annotated[int | None, whole("L1 tip (default: of the file, or 100000000)", "wei / gas")] = None
    margin: Annotated[float, real("factor on the variable cost")] = RULE.margin
    estimate_margin: Annotated[float, real("factor on the fees that users pay")] = RULE.estimate_margin
    fixed_cost: Annotated[int, number(FixedCost)] = RULE.fixed_cost
    lower_bound: Annotated[float, real("bound of the variable cost", "wei / byte", least=0)] = COORDINATOR.lower_bound
    upper_bound: Annotated[float, real("bound of the variable cost", "wei / byte", least=0)] = COORDINATOR.upper_bound
    no_bounds: Annotated[bool, flag("no bounds of the variable cost")] = False
    deadline: Annotated[float | None, real("maximum wait of a byte (default: none)", "s", above=0)] = None
    stream_ratio: Annotated[float, real("size of posted data / sum of single sizes; about 0.52", above=0)] = 1.0

    def read(self, scenario: Scenario, sizing: Sizing) -> "tuple[xarray.Dataset, dict[str, Any]]":
        """Return the history of L1 fees, and the other arguments of `backtest` and `calibrate` by name."""
        history, given = scenario.read(), {name: getattr(self, name) for name in OF_RULE}
        if self.tip is not None:  # the option takes precedence over tips in the file
            history, given["tip"] = history.drop_vars("tip", errors="ignore"), float(self.tip)
        given |= {"lower_bound": None, "upper_bound": None} if self.no_bounds else {}
        rule = PricingRule(**given)
        posting = Posting(submission=rule.submission, deadline=self.deadline, stream_ratio=self.stream_ratio)
        workload = shipped_workload()
        if self.transactions is not None:
            workload = read_workload(self.transactions, sizing.read(), self.columns, packed=sizing.packed)
        made = {"workload": workload, "rule": rule, "posting": posting, "rng": self.seed}
        return history, made | {"arrival_rate": self.arrival_rate}


@verb(out=DATASETS, what="every day of every path")
def command(
    *,
    scenario: Annotated[Scenario, FLAT] = Scenario(),
    traffic: Annotated[Traffic, FLAT] = Traffic(),
    sizing: Annotated[Sizing, FLAT] = Sizing(),
) -> Answer:
    history, made = traffic.read(scenario, sizing)
    fees = scenario.l1_fees(history, traffic.seed)
    found = backtest(l1_fees=fees, **made, record=0, progress=True)
    daily = found[[name for name in found.data_vars if found[name].dims == ("path", "day")]]
    data = {"hours": duration(fees) / HOUR, "paths": found.sizes["path"]}
    data["transactions"] = int(found["transactions"].sum())
    title = "{transactions:,} transactions, paths: {paths:,}, hours: {hours:,.6g}".format(**data)
    return result(found, title, data, file=daily)


@verb(out=TABLES, what="the loss curve")
def calibrate(
    *,
    loss_probability: LossProbability = 0.05,
    vary: Annotated[Any, one_of("margin to find", ("estimate_margin", "margin"))] = default_of(calibration, "vary"),
    scenario: Annotated[Scenario, FLAT] = Scenario(),
    traffic: Annotated[Traffic, FLAT] = Traffic(),
    sizing: Annotated[Sizing, FLAT] = Sizing(),
) -> Answer:
    """By default, the number of paths is 10 / probability of a loss, and a path has 24 hours."""
    paths = scenario.paths or math.ceil(LOSING_PATHS / share("loss_probability", loss_probability))
    scenario = replace(scenario, paths=paths, hours=scenario.hours or HOURS)
    history, made = traffic.read(scenario, sizing)
    fees = scenario.l1_fees(history, traffic.seed)
    found = calibration(l1_fees=fees, **made, loss_probability=loss_probability, vary=vary, progress=True)
    hours, source = duration(fees) / HOUR, fees.attrs["source"]
    curve = found.loss_curve().to_dataframe().reset_index().to_dict("records")
    data = {name: value for name, value in found._asdict().items() if name != "break_even"}
    data |= {"vary": vary, "l1_fees": source, "hours": hours, "loss_curve": curve}
    said = [found.reason, f"L1 fees: {source}", Demand(rate=made["arrival_rate"]).resampling]
    notes = [f"{words[0].upper()}{words[1:]}." for words in said if words]
    row = {"margin": vary, "value": found.margin, f"{found.confidence:.0%} from": found.low, "to": found.high,
           "paths with a loss": found.losing}  # fmt: skip
    title = f"Assumed: {_assumed(made, scenario)}.\n"
    title += f"P(loss) at most {found.loss_probability:.2%} over {found.paths:,} paths of {hours:g} h"
    return Answer(data, [Table(title, [row])], notes, file=curve, code=0 if found.margin is not None else 1)


def _assumed(made: dict[str, Any], scenario: Scenario) -> str:
    """Return what the margin depends on most, as text."""
    posting, low, high = made["posting"], made["rule"].lower_bound, made["rule"].upper_bound
    shared = "no sharing" if posting.stream_ratio == 1.0 else f"stream {posting.stream_ratio:g} of the sizes"
    bounds = "no bounds" if high is None else f"bounds {low:,.0f} to {high:,.0f} wei / byte"
    paid = f"{posting.submission.execution_gas:,} gas and tip {posting.submission.tip / WEI_PER_GWEI:g} gwei a blob"
    return f"{shared}, no finalization, {paid}, {bounds}, blocks of {scenario.block_hours or BLOCK_HOURS:g} h"
