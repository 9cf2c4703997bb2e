"""`feemodel backtest`: fees and posting costs on real or simulated L1 fees."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from feemodel.cli.output import DATASETS, Answer
from feemodel.cli.parameters import FLAT, HOUR, ArrivalRate, Columns, Seed, Sizing, number, real, text, whole
from feemodel.cli.paths import Scenario, result
from feemodel.cli.subjects import read_workload, shipped_workload
from feemodel.cli.verb import verb
from feemodel.linea.parameters import COORDINATOR
from feemodel.quantities import FixedCost
from feemodel.simulation.announced import PricingRule
from feemodel.simulation.backtest import backtest
from feemodel.simulation.closed_loop.demand import Demand
from feemodel.simulation.posting import Posting
from feemodel.simulation.surfaces import Submission

if TYPE_CHECKING:
    import xarray

RULE = PricingRule()
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
    deadline: Annotated[float | None, real("maximum wait of bytes (default: until the blob is full)", "s", above=0)] = (
        None
    )
    stream_ratio: Annotated[float, real("size of posted data / sum of single sizes; about 0.52", above=0)] = 1.0

    def read(self, scenario: Scenario, sizing: Sizing) -> "tuple[xarray.Dataset, dict[str, Any]]":
        """Return the history of L1 fees, and the other arguments of `backtest` and `calibrate` by name."""
        history = scenario.read()
        if self.tip is not None:  # the option takes precedence over tips in the file
            history = history.drop_vars("tip", errors="ignore")
        submission = Submission() if self.tip is None else Submission(tip=self.tip)
        rule = PricingRule(**{name: getattr(self, name) for name in OF_RULE}, tip=float(submission.tip))
        posting = Posting(submission=submission, deadline=self.deadline, stream_ratio=self.stream_ratio)
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
    """Compute fees and posting costs on real or simulated L1 fees."""
    from feemodel.simulation.scenarios import duration

    history, made = traffic.read(scenario, sizing)
    fees = scenario.l1_fees(history, traffic.seed)
    found = backtest(l1_fees=fees, **made, record=0, progress=True)
    daily = found[[name for name in found.data_vars if found[name].dims == ("path", "day")]]
    data = {"hours": duration(fees) / HOUR, "paths": found.sizes["path"]}
    data["transactions"] = int(found["transactions"].sum())
    title = "{transactions:,} transactions, paths: {paths:,}, hours: {hours:,.6g}".format(**data)
    return result(found, title, data, file=daily)
