"""`feemodel backtest`: fees and posting costs on real or simulated L1 fees."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from feemodel.cli.measures import key, over_paths, rows_of
from feemodel.cli.output import DATASETS, Answer, Table
from feemodel.cli.parameters import (
    FLAT,
    HOUR,
    ArrivalRate,
    BlockHours,
    FileOptions,
    History,
    Paths,
    Seed,
    Sizing,
    flag,
    number,
    one_of,
    option,
    read_columns,
    real,
    text,
    whole,
    whole_number,
)
from feemodel.cli.subjects import measured_workload, read_transaction_file
from feemodel.cli.verb import verb
from feemodel.errors import InvalidInput
from feemodel.quantities import FixedCost
from feemodel.simulation.announced import CalldataPressure, PricingRule
from feemodel.simulation.closed_loop.demand import Demand

if TYPE_CHECKING:
    import xarray

    from feemodel.simulation.surfaces import Workload

SCENARIOS = ("history", "bootstrap", "demand")
BLOCK_HOURS = 24.0  # length of the blocks of the block bootstrap; blocks of one day preserve most of the daily cycle
RULE = PricingRule()
OF_RULE = ("margin", "estimate_margin", "fixed_cost", "lower_bound", "upper_bound", "update_interval", "window")


def _bound(name: str, typed: str) -> float | None:
    if typed == "none":
        return None
    found = whole_number(typed)
    if found is None or found < 0:
        raise InvalidInput(name, "expected a whole number of at least 0, or none", typed)
    return float(found)


Kind: TypeAlias = Annotated[str, one_of("the history, its block bootstrap, or L1 with fitted demand", SCENARIOS)]
Hours: TypeAlias = Annotated[float | None, real("length of a path", "h", above=0)]


@dataclass(frozen=True)
class Scenario(History):
    """L1 fees of an experiment; the whole history if no hours are given."""

    scenario: Kind = "history"
    paths: Paths = 1
    hours: Hours = None
    block_hours: BlockHours = BLOCK_HOURS


@dataclass(frozen=True)
class Traffic:
    """Transactions, drawn at random over the time of the L1 fees; their pricing and posting."""

    transactions: Annotated[
        str | None, text("file of transactions, or a table with gas_used and the column of --size", "FILE")
    ] = None
    size: Annotated[str, text("column with the compressed size", "COLUMN")] = "zstd"
    arrival_rate: ArrivalRate = Demand().rate
    seed: Seed = 1
    tip: Annotated[int | None, whole("L1 tip (default: of the file, or 100000000)", "wei / gas")] = None
    margin: Annotated[float, real("factor on the variable cost")] = RULE.margin
    estimate_margin: Annotated[float, real("factor on the fees that users pay")] = RULE.estimate_margin
    fixed_cost: Annotated[int, number(FixedCost)] = RULE.fixed_cost
    lower_bound: Annotated[float | None, option(_bound, "bound of the variable cost, or none [wei / byte]")] = (
        RULE.lower_bound
    )
    upper_bound: Annotated[float | None, option(_bound, "bound of the variable cost, or none [wei / byte]")] = (
        RULE.upper_bound
    )
    update_interval: Annotated[float, real("time between announced costs", "s")] = RULE.update_interval
    window: Annotated[float, real("time over which L1 fees are averaged", "s")] = RULE.window
    deadline: Annotated[float | None, real("maximum wait of bytes (default: until the blob is full)", "s", above=0)] = (
        None
    )
    calldata_pressure: Annotated[bool, flag("raise the variable cost after blocks that are full of calldata")] = False
    stream_ratio: Annotated[float, real("size of posted data / sum of single sizes; about 0.52", above=0)] = 1.0


@dataclass(frozen=True)
class Statistics:
    """Statistics over paths."""

    quantile: Annotated[list[float], real("quantile of every measure, from 0 to 1; may be repeated")] = field(
        default_factory=list
    )
    below: Annotated[list[float], real("share of paths with a recovery below this value; may be repeated")] = field(
        default_factory=list
    )

    def of(self, found: "xarray.Dataset") -> dict[str, dict[str, dict[str, Any]]]:
        """Return the value of each statistic as `{measure: {statistic: {level: value}}}`."""
        quantiles = over_paths(found, {f"{level:g}": level for level in self.quantile})
        answer: dict[str, dict[str, dict[str, Any]]] = {name: {"quantile": each} for name, each in quantiles.items()}
        for name in (name for name in answer if name.endswith("recovery")):
            answer[name]["below"] = {f"{level:g}": float((found[name] < level).mean()) for level in self.below}
        return answer


@verb(out=DATASETS, what="every day of every path")
def command(
    *,
    scenario: Annotated[Scenario, FLAT] = Scenario(),
    traffic: Annotated[Traffic, FLAT] = Traffic(),
    files: Annotated[FileOptions, FLAT] = FileOptions(),
    sizing: Annotated[Sizing, FLAT] = Sizing(),
    statistics: Annotated[Statistics, FLAT] = Statistics(),
) -> Answer:
    """Compute fees and posting costs on real or simulated L1 fees."""
    from feemodel.simulation.backtest import backtest
    from feemodel.simulation.scenarios import duration
    from feemodel.simulation.statistics import over

    over("path", quantile=statistics.quantile)  # checks the levels before the computation
    made = read_experiment(scenario, traffic, files, sizing)
    found = backtest(**made, record=0, progress=True)
    daily = found[[name for name in found.data_vars if found[name].dims == ("path", "day")]]
    paths, hours, count = found.sizes["path"], duration(made["l1_fees"]) / HOUR, int(found["transactions"].sum())
    data: dict[str, Any] = {"paths": paths, "hours": hours, "transactions": count}
    values, asked = over_paths(found), statistics.of(found)
    data |= {key(found, name): each for name, each in values.items()}
    if statistics != Statistics():
        data["statistics"] = {
            key(found, name): {kind: levels for kind, levels in each.items() if levels} for name, each in asked.items()
        }
    title = f"{count:,} transactions on {paths:,} path{'s' * (paths > 1)} of {hours:,.6g} h"
    tables = [Table(title, ("", *values["recovery"]), rows_of(found, values))]
    if statistics != Statistics():
        heads = [f"{kind} {level}" for kind, levels in asked["recovery"].items() for level in levels]
        rows = [
            (*row, *(f"{share:.2%}" for share in asked[name].get("below", {}).values()))
            for name, row in zip(
                asked, rows_of(found, {name: each["quantile"] for name, each in asked.items()}), strict=True
            )
        ]
        filled = [(*row, *[""] * (1 + len(heads) - len(row))) for row in rows if len(row) > 1]
        tables.append(Table("Statistics over paths", ("", *heads), filled))
    notes = [
        f"{name.replace('_', ' ')}: {found.attrs[name]}"
        for name in ("workload", "l1_fees", "l1_fees_assumed", "resampling", "tips", "usage_ratios", "not_counted")
    ]
    return Answer(data | {"assumed": found.attrs}, tables, notes, file=daily)


def read_experiment(scenario: Scenario, traffic: Traffic, files: FileOptions, sizing: Sizing) -> dict[str, Any]:
    """Read the files, draw the paths, and return the arguments of `backtest` and `calibrate` by name."""
    from feemodel.simulation.posting import Posting
    from feemodel.simulation.surfaces import Submission

    tip = Submission().tip if traffic.tip is None else traffic.tip
    workload = _read_workload(traffic, files, sizing)
    pressure = None
    if traffic.calldata_pressure:
        if workload.calldata is None:
            reason = "expected a column calldata_bytes, which --calldata-pressure needs"
            raise InvalidInput("transactions", reason, traffic.transactions)
        pressure = CalldataPressure()
    rule = PricingRule(**{name: getattr(traffic, name) for name in OF_RULE}, tip=float(tip), pressure=pressure)
    posting = Posting(
        submission=Submission(tip=tip), deadline=traffic.deadline, stream_ratio=traffic.stream_ratio
    )  # fmt: skip
    return {
        "workload": workload, "l1_fees": _scenario(scenario, traffic), "rule": rule, "posting": posting,
        "arrival_rate": traffic.arrival_rate, "rng": traffic.seed,
    }  # fmt: skip


def read_history(scenario: Scenario, traffic: Traffic) -> "xarray.Dataset":
    """Return the history of L1 fees that the options name, without drawing paths."""
    history = scenario.read()
    # The option --tip takes precedence over tips in the file.
    return history if traffic.tip is None else history.drop_vars("tip", errors="ignore")


def _read_workload(traffic: Traffic, files: FileOptions, sizing: Sizing) -> "Workload":
    """Return the transactions in the package, or transactions from a file with compressed sizes or payloads."""
    from feemodel.simulation.surfaces import Workload

    path = traffic.transactions
    if (measured := measured_workload(path, traffic.size, columns=read_columns(files.columns))) is not None:
        return measured
    assert path is not None  # the package has sizes
    read = read_transaction_file(path, files).with_gas_used()
    workload = Workload.from_transactions(
        read.table, codec=sizing.read(), packed=sizing.packed, name=Path(path).name, chain_id=files.chain_id
    )
    left_out = [said for said in read.said if said.startswith("left out")]
    return replace(workload, name="; ".join([workload.name, *left_out]))


def _scenario(options: Scenario, traffic: Traffic) -> "xarray.Dataset":
    from feemodel.simulation import l1_demand, scenarios

    if options.scenario != "bootstrap" and options.block_hours != BLOCK_HOURS:
        raise InvalidInput("block_hours", "expected only with --scenario bootstrap", options.block_hours)
    history = read_history(options, traffic)
    horizon = None if options.hours is None else options.hours * HOUR
    if options.scenario == "history":
        if options.paths != 1:
            raise InvalidInput("paths", "expected 1 with --scenario history", options.paths)
        try:
            return history if horizon is None else scenarios.beginning(history, horizon)
        except InvalidInput as error:
            raise InvalidInput("hours", error.reason, options.hours) from None
    if options.scenario == "bootstrap":
        block = options.block_hours * HOUR
        return scenarios.bootstrap(
            history, paths=options.paths, block_seconds=block, horizon=horizon, rng=traffic.seed
        )  # fmt: skip
    begin = int(history["time"].to_numpy()[0].astype("datetime64[s]").astype(int))
    return l1_demand.simulate(
        l1_demand.fit(history), paths=options.paths, horizon=horizon or scenarios.duration(history), timestamp=begin,
        blocks_per_step=5, rng=traffic.seed,
    )  # fmt: skip
