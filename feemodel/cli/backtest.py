"""Commands for a rollup over time: `backtest`, `calibrate` and `simulate`. The defaults are the baseline's."""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts.config import Dict

from feemodel import plots
from feemodel.cli import parameters
from feemodel.cli.output import DATASETS, HOUR, TABLES, Answer, Table, counted, result
from feemodel.cli.parameters import FLAT, Scenario, Seed, Sizing, default_of, flag, number, one_of, real, text, whole
from feemodel.cli.subjects import read_workload, shipped_workload
from feemodel.cli.verb import verb
from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import WEI_PER_GWEI
from feemodel.ethereum.fee_market import GAS_PER_BLOB, USABLE_BLOB_BYTES
from feemodel.io.files import read_toml
from feemodel.linea.parameters import COORDINATOR
from feemodel.quantities import FixedCost
from feemodel.simulation._l1_columns import RATIOS
from feemodel.simulation.announced import MAX_MARGIN, PricingRule
from feemodel.simulation.backtest import backtest
from feemodel.simulation.calibrate import calibrate as calibration
from feemodel.simulation.closed_loop.baseline import PRICINGS, baseline_pricing, break_even, fitted
from feemodel.simulation.closed_loop.demand import Demand
from feemodel.simulation.closed_loop.simulator import simulate as run
from feemodel.simulation.posting import MAX_BLOBS, Posting, PriceCap
from feemodel.simulation.scenarios import duration

if TYPE_CHECKING:
    import xarray
    from cyclopts import App, ArgumentCollection
    from matplotlib.figure import Figure

RULE = PricingRule()
HOURS = 24.0  # length of a path if none is given
LOSING_PATHS = 10  # expected number of paths with a loss, if the number of paths is not given
OF_RULE = ("margin", "estimate_margin", "fixed_cost", "lower_bound", "upper_bound")


@dataclass(frozen=True)
class Submitted:
    """Submission of a rollup, whose cost is announced and paid."""

    execution_gas: Annotated[int, whole("L1 execution gas of a submission", "gas")] = RULE.execution_gas
    blobs: Annotated[int, whole("number of blobs of a submission", minimum=1, maximum=MAX_BLOBS)] = 1

    def announced(self, bytes_per_blob: int = RULE.bytes_per_submission) -> dict[str, Any]:
        """Return the arguments of a pricing rule by name; `bytes_per_blob` share the announced cost of a blob."""
        blob_gas, size = self.blobs * GAS_PER_BLOB, self.blobs * bytes_per_blob
        return {"execution_gas": self.execution_gas, "blob_gas": blob_gas, "bytes_per_submission": size}


@dataclass(frozen=True)
class Traffic(Submitted, Sizing):
    """Transactions, drawn at random over the time of the L1 fees; their pricing and posting."""

    transactions: Annotated[str | None, text("file of transactions (default: those in the package)", "FILE")] = None
    columns: parameters.Columns = ()  # type: ignore[assignment]
    arrival_rate: parameters.ArrivalRate = Demand().rate
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

    def arguments(self, scenario: Scenario) -> "tuple[xarray.Dataset, dict[str, Any]]":
        """Return the history of L1 fees, and the other arguments of `backtest` and `calibrate` by name."""
        history, given = scenario.read(), self.announced() | {name: getattr(self, name) for name in OF_RULE}
        if self.tip is not None:  # the option takes precedence over tips in the file
            history, given["tip"] = history.drop_vars("tip", errors="ignore"), float(self.tip)
        given |= {"lower_bound": None, "upper_bound": None} if self.no_bounds else {}
        rule = PricingRule(**given)
        posting = Posting(submission=rule.submission, deadline=self.deadline, stream_ratio=self.stream_ratio)
        workload = shipped_workload()
        if self.transactions is not None:
            workload = read_workload(self.transactions, self.read(), self.columns, packed=self.packed)
        made = {"workload": workload, "rule": rule, "posting": posting, "rng": self.seed}
        return history, made | {"arrival_rate": self.arrival_rate}


@verb(out=DATASETS, figure=True, what="every day of every path")
def command(
    *,
    scenario: Annotated[Scenario, FLAT] = Scenario(),
    traffic: Annotated[Traffic, FLAT] = Traffic(),
    picture: Path | None = None,
) -> Answer:
    history, made = traffic.arguments(scenario)
    fees = scenario.l1_fees(history, traffic.seed)
    found = backtest(l1_fees=fees, **made, record=int(picture is not None), progress=True)
    daily = found[[name for name in found.data_vars if found[name].dims == ("path", "day")]]
    data = {"hours": duration(fees) / HOUR, "paths": found.sizes["path"], "transactions": int(found.transactions.sum())}
    title = "{transactions:,} transactions, paths: {paths:,}, hours: {hours:,.6g}".format(**data)

    def draw(figure: "Figure") -> None:
        upper, lower = figure.subplots(2)
        plots.plot_recovery_over_time(found, upper)
        plots.plot_charges(found, lower)

    return result(found, title, data, draw, file=daily, size=(8, 7))


@verb(out=TABLES, figure=True, what="the loss curve")
def calibrate(
    *,
    loss_probability: parameters.LossProbability = 0.05,
    vary: Annotated[Any, one_of("margin to find", ("estimate_margin", "margin"))] = default_of(calibration, "vary"),
    scenario: Annotated[Scenario, FLAT] = Scenario(),
    traffic: Annotated[Traffic, FLAT] = Traffic(),
) -> Answer:
    paths = scenario.paths or math.ceil(LOSING_PATHS / loss_probability)
    scenario = replace(scenario, paths=paths, hours=scenario.hours or HOURS)
    history, made = traffic.arguments(scenario)
    fees = scenario.l1_fees(history, traffic.seed)
    found = calibration(l1_fees=fees, **made, loss_probability=loss_probability, vary=vary, progress=True)
    hours, source = duration(fees) / HOUR, fees.attrs["source"]
    curve = found.loss_curve()
    data = {name: value for name, value in found._asdict().items() if name != "break_even"}
    data |= {"vary": vary, "l1_fees": source, "hours": hours}
    data |= {"loss_curve": curve.to_dataframe().reset_index().to_dict("records")}
    said = [found.reason, f"L1 fees: {source}", Demand(rate=made["arrival_rate"]).resampling]
    notes = [f"{words[0].upper()}{words[1:]}." for words in said if words]
    row = {"margin": vary, "value": found.margin, f"{found.confidence:.0%} from": found.low, "to": found.high,
           "paths with a loss": found.losing}  # fmt: skip
    title = f"Assumed: {_assumed(made, scenario)}.\n"
    title += f"P(loss) at most {found.loss_probability:.2%} over {counted(found.paths, 'path')} of {hours:g} h"

    def draw(figure: "Figure") -> None:
        axes, label = figure.subplots(), f"{found.confidence:.0%} interval"
        axes.fill_between(curve.margin, curve.low, curve.high, alpha=0.25, step="post", label=label)
        axes.step(curve.margin, curve.loss_probability, where="post", label="paths with a loss")
        margin = MAX_MARGIN if found.margin is None else found.margin
        axes.plot([margin], [found.losing / found.paths], "o", color="black", label=f"margin {margin:.4g}")
        axes.set(xlabel=vary.replace("_", " "), ylabel="share of paths", ylim=(0, 1))
        axes.legend()
        figure.suptitle(f"{found.losing} of {found.paths:,} paths lose at a margin of {margin:.4g}")
        figure.supxlabel(f"L1 fees: {source}", x=1, ha="right")

    return Answer(data, [Table(title, [row])], notes, file=curve, figure=draw, code=int(found.margin is None))


def _assumed(made: dict[str, Any], scenario: Scenario) -> str:
    """Return what the margin depends on most, as text."""
    posting, low, high = made["posting"], made["rule"].lower_bound, made["rule"].upper_bound
    shared = "no sharing" if posting.stream_ratio == 1.0 else f"stream {posting.stream_ratio:g} of the sizes"
    bounds = "no bounds" if high is None else f"bounds {low:,.0f} to {high:,.0f} wei / byte"
    paid = f"{posting.submission.execution_gas:,} gas and tip {posting.submission.tip / WEI_PER_GWEI:g} gwei"
    paid += f" for {counted(int(posting.submission.blob_gas // GAS_PER_BLOB), 'blob')}"
    return (
        f"{shared}, no finalization, {paid}, {bounds}, blocks of {scenario.block_hours or parameters.BLOCK_HOURS:g} h"
    )


@dataclass(frozen=True)
class Policies(Submitted):
    """Policies of the operator, and the demand of the users."""

    pricing: Annotated[Any, one_of("pricing policy", PRICINGS)] = "linea"
    fit: Annotated[bool, flag("set the level of the price so that it breaks even at elasticity 0")] = False
    elasticity: Annotated[float, real("price elasticity of demand", least=0)] = Demand().elasticity
    arrival_rate: parameters.ArrivalRate = Demand().rate
    posting: Annotated[str, one_of("posting policy", ("fill", "deadline", "price-cap"))] = "fill"
    sla: Annotated[float | None, real("target of price-cap, or the deadline (default: 16)", "h", above=0)] = None

    def read(self, history: "xarray.Dataset", step: float) -> dict[str, Any]:
        """Return the arguments of `feemodel.simulate` by name."""
        if self.sla is not None and self.posting == "fill":
            raise InvalidInput("sla", "expected only with --posting deadline or price-cap", self.sla)
        sla = (self.sla or 16.0) * HOUR
        full = Posting(submission=PricingRule(**self.announced()).submission)
        deadline = sla if self.posting == "deadline" else None
        posting = replace(full, kind=self.posting, deadline=deadline, cap=PriceCap(target_delay=sla))
        demand = Demand(rate=self.arrival_rate)
        even = break_even(history, full, demand, step=step)
        reference = even.price * demand.bytes_per_transaction
        demand = replace(demand, elasticity=self.elasticity, reference_fee=reference)
        pricing = baseline_pricing(self.pricing, even, step=step)
        if isinstance(pricing, PricingRule):
            pricing = replace(pricing, **self.announced(USABLE_BLOB_BYTES))
        if self.fit:
            pricing = fitted(history, pricing, posting, demand, step=step)
        return {"pricing": pricing, "posting": posting, "demand": demand}


def options_of_file(app: "App", commands: tuple[str, ...], arguments: "ArgumentCollection") -> None:
    """Take the keys of SPEC.toml as options; those on the command line take precedence."""
    for token in arguments["SPEC"].tokens:
        Dict(read_toml(token.value), source=token.value, use_commands_as_keys=False)(app, commands, arguments)


@verb(out=(".nc",), figure=True, what="all results", config=options_of_file)
def simulate(
    spec: parameters.SpecFile | None = None,
    /,
    *,
    policies: Annotated[Policies, FLAT] = Policies(),
    scenario: Annotated[Scenario, FLAT] = Scenario(),
    step: Annotated[float, real("length of a step", "s", above=0)] = default_of(run, "step"),
    seed: Seed = default_of(run, "rng"),
    workers: parameters.Workers = None,
    picture: Path | None = None,
) -> Answer:
    """SPEC.toml has options as keys; options on the command line take precedence.

    More than one path is drawn by a block bootstrap. Users pay only for data.
    The defaults are the baseline: 1.45 transactions of 119.42 bytes per second, without randomness.
    A submission pays a tip of 0.1 gwei, and is posted when its blobs, of 130,048 bytes each, are full.
    """
    history = scenario.read().drop_vars(RATIOS, errors="ignore")  # all blocks have the same weight
    made = policies.read(history, step)
    fees = scenario.l1_fees(history, seed)
    found = run(fees, **made, step=step, record=int(picture is not None), rng=seed, workers=workers, progress=True)
    if policies.pricing == "fixed":
        found.attrs["price"] = f"fitted: {made['pricing'].price:,.6g} wei / byte, which breaks even at elasticity 0"
    data = {"pricing": policies.pricing, "posting": policies.posting, "elasticity": policies.elasticity,
            "level": float(getattr(made["pricing"], "level", 1.0)), "paths": found.sizes["path"],
            "days": float(found["covered"].sum())}  # fmt: skip
    head = "{pricing}, {posting}, elasticity {elasticity:g}, level {level:.6g}, paths: {paths:,}, days: {days:,.2f}"
    return result(
        found, head.format(**data), data, lambda figure: plots.plot_path(found, figure.subplots(4, 1, sharex=True)),
        file=found, size=(9, 9),
    )  # fmt: skip
