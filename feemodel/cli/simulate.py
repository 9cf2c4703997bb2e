"""`feemodel simulate`: simulate a rollup in a closed loop with L1, users and operator. Defaults are the baseline's."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from feemodel.cli.measures import LEVELS, key, over_paths, rows_of
from feemodel.cli.output import Answer, Table
from feemodel.cli.parameters import (
    FLAT,
    HOUR,
    ArrivalRate,
    BlockHours,
    History,
    Paths,
    Resume,
    Seed,
    SpecFile,
    Workers,
    check_known,
    default_of,
    flag,
    one_of,
    option,
    real,
    real_number,
    whole,
)
from feemodel.cli.verb import verb
from feemodel.errors import InvalidInput
from feemodel.io.files import read_toml
from feemodel.simulation.closed_loop.baseline import baseline_posting, baseline_pricing
from feemodel.simulation.closed_loop.demand import Demand
from feemodel.simulation.closed_loop.paths import Bootstrap
from feemodel.simulation.closed_loop.simulator import simulate
from feemodel.simulation.policies import POSTINGS, PRICINGS, WITH_SLA
from feemodel.simulation.posting import Costs

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

FIT = "fit"
SLA_HOURS = 16.0
TABLES_OF_FILE = ("pricing-fields", "posting-fields", "demand", "costs")
Record = TypeVar("Record")


def _level(name: str, typed: str) -> float | str:
    found = real_number(typed)
    if typed == FIT:
        return FIT
    if found is None or found <= 0:
        raise InvalidInput(name, f"expected a number above 0 or {FIT}", typed)
    return found


@dataclass(frozen=True)
class Experiment(History):
    """Options of a simulation, which are also the keys of its TOML file."""

    pricing: Annotated[str, one_of("pricing policy", PRICINGS)] = "linea"
    window: Annotated[int | None, whole("blocks over which Linea averages L1 fees", "block", minimum=1)] = None
    level: Annotated[float | str, option(_level, f"factor on the price, or {FIT}: break-even at elasticity 0")] = 1.0
    elasticity: Annotated[float, real("price elasticity of demand", least=0)] = Demand().elasticity
    posting: Annotated[str, one_of("posting policy", POSTINGS)] = "fill"
    sla: Annotated[float | None, real("delay of price-cap; longest wait of others (default: 16)", "h", above=0)] = None
    delay_cost: Annotated[float | None, real("cost of an hour of waiting / median submission", least=0)] = None
    tip: Annotated[str, one_of("tip of price-cap", ("paid", "constant"))] = default_of(baseline_posting, "tip")
    step: Annotated[float, real("length of a step", "s", above=0)] = default_of(simulate, "step")
    paths: Paths = 1
    block_hours: BlockHours | None = None
    arrival_rate: ArrivalRate = Demand().rate
    poisson: Annotated[bool, flag("draw the number of arrivals at random (default: their mean)")] = False
    finalization_gas: Annotated[float, real("L1 gas of finalization per blob, 66500 on Linea", "gas", least=0)] = (
        Costs().finalization_gas
    )
    seed: Seed = default_of(simulate, "rng")


def expanded(words: Sequence[str]) -> list[str]:
    """Return the words of a command; the keys of its TOML file become options, unless the words contain the option."""
    path = next((word for word in words if word.endswith(".toml") and not word.startswith("-")), None)
    if path is None:
        return [*words]
    given = {word.partition("=")[0] for word in words if word.startswith("--")}
    known = [field.name.replace("_", "-") for field in fields(Experiment)]
    added = []
    for name, value in read_toml(path).items():
        check_known("the simulation file", name, [*known, *TABLES_OF_FILE])
        if name in TABLES_OF_FILE and not isinstance(value, dict):
            raise InvalidInput(name, f"expected a table [{name}]", value)
        if name in TABLES_OF_FILE or f"--{name}" in given:
            continue
        if isinstance(value, (dict, list)) or isinstance(value, bool) is not (name == "poisson"):
            expected = "true or false" if name == "poisson" else "one number or text"
            raise InvalidInput(name, f"expected {expected}", value)
        if name == "l1":
            value = Path(path).parent / str(value)
        if value is not False:
            added.append(f"--{name}" if value is True else f"--{name}={value}")
    return [*words, *added]


@verb(out=(".nc",), figure=True, what="all results", expand=expanded)
def command(
    spec: SpecFile | None = None,
    /,
    *,
    experiment: Annotated[Experiment, FLAT] = Experiment(),
    workers: Workers = None,
    resume: Resume = None,
    picture: Path | None = None,
) -> Answer:
    """Simulate a rollup in a closed loop of prices, demand, posting and the operator's balance.

    Options take precedence over the file. More than one path is drawn by a block bootstrap.
    The defaults are the baseline: 1.45 transactions of 119.42 bytes per second, without randomness. A submission has
    one blob of 130,048 bytes, 65,250 gas and a tip of 0.1 gwei, and is posted as soon as the blob is full. Users pay
    only for data. saving and meanDelayHours refer to another schedule, in which a submission is due every 751 s from
    the eighth day on: saving is the share of the cost of posting at once that waiting saves.
    """
    from feemodel.io.results import FinishedFolder
    from feemodel.simulation.closed_loop.finality import price_of_finality

    tables = {} if spec is None else {n: v for n, v in read_toml(spec).items() if n in TABLES_OF_FILE}
    made = read_experiment(experiment, tables)
    if experiment.block_hours is not None and experiment.paths == 1:
        raise InvalidInput("block_hours", "expected only with --paths above 1", experiment.block_hours)
    drawn = None
    if experiment.paths > 1:
        hours = experiment.block_hours
        own: dict[str, Any] = {} if hours is None else {"block_seconds": hours * HOUR}
        drawn = Bootstrap(paths=experiment.paths, **own)
    l1_fees, posting = made["l1_fees"], made["posting"]
    if drawn is not None:
        made["l1_fees"] = _on_steps(l1_fees, experiment.step)
    found = simulate(
        **made, step=experiment.step, bootstrap=drawn, record=1 if picture is not None else 0, rng=experiment.seed,
        workers=workers, finished=None if resume is None else FinishedFolder(resume), progress=True,
    )  # fmt: skip
    if experiment.pricing == "fixed" and "price" not in tables.get("pricing-fields", {}):
        said = f"fitted: {made['pricing'].price:,.6g} wei / byte, at which this history breaks even at elasticity 0"
        found = found.assign_attrs(price=said)
    finality = None
    if posting.kind in ("price-cap", "clairvoyant"):
        finality = price_of_finality(l1_fees, posting, step=experiment.step)
    return _answer(experiment, found, finality, made)


def read_experiment(options: Experiment, tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `simulate` by name, from the options and from the tables of a file."""
    from feemodel.simulation.closed_loop.baseline import break_even, fitted, unweighted
    from feemodel.simulation.posting import Posting

    if options.window is not None and not options.pricing.startswith("linea"):
        raise InvalidInput("window", "expected only with --pricing linea or linea-unbounded", options.window)
    if options.sla is not None and options.posting not in WITH_SLA:
        raise InvalidInput("sla", f"expected only with --posting {', '.join(WITH_SLA)}", options.sla)
    if options.tip == "constant" and options.posting != "price-cap":
        warnings.warn("--tip constant has no effect: only --posting price-cap pays a tip of its own", stacklevel=2)
    sla = (SLA_HOURS if options.sla is None else options.sla) * HOUR
    posting = baseline_posting(options.posting, sla=sla, tip=options.tip)
    if options.delay_cost is not None:
        if options.posting != "clairvoyant":
            raise InvalidInput("delay_cost", "expected only with --posting clairvoyant", options.delay_cost)
        posting = replace(posting, delay_cost=options.delay_cost)
    posting = with_fields("posting-fields", posting, tables.get("posting-fields", {}))
    demand = with_fields("demand", Demand(rate=options.arrival_rate, poisson=options.poisson), tables.get("demand", {}))
    costs = Costs()
    if options.finalization_gas:
        costs = Costs(finalization_gas=options.finalization_gas, finalize_blobs=1)
    costs = with_fields("costs", costs, tables.get("costs", {}))
    l1_fees = unweighted(options.read())
    even = break_even(l1_fees, Posting(submission=posting.submission), demand, step=options.step)
    reference = even.price * demand.bytes_per_transaction
    answering = replace(demand, elasticity=options.elasticity or demand.elasticity,
                        reference_fee=demand.reference_fee or reference)  # fmt: skip
    blocks = default_of(baseline_pricing, "window_blocks") if options.window is None else options.window
    pricing = baseline_pricing(options.pricing, even, window_blocks=blocks, step=options.step)
    pricing = with_fields("pricing-fields", pricing, tables.get("pricing-fields", {}))
    if options.level == FIT:
        pricing = fitted(l1_fees, pricing, posting, answering, step=options.step)
    elif options.level != 1.0:
        pricing = replace(pricing, level=options.level)  # type: ignore[type-var]
    return {"l1_fees": l1_fees, "pricing": pricing, "posting": posting, "demand": answering, "costs": costs}


def _on_steps(l1_fees: "xarray.Dataset", step: float) -> "xarray.Dataset":
    """Return a history with one row per step, for a bootstrap."""
    import numpy as np

    from feemodel.simulation.closed_loop._l1_steps import rows_by_step
    from feemodel.simulation.scenarios import scenario

    rows = rows_by_step(l1_fees["elapsed"].to_numpy(), step)
    columns = {str(name): l1_fees[name].to_numpy()[:, rows] for name in l1_fees.data_vars}
    held = scenario(columns, step * np.arange(len(rows)), source=l1_fees.attrs["source"])
    return held.assign_attrs(l1_fees.attrs)


def _answer(options: Experiment, found: "xarray.Dataset", finality: Any, made: dict[str, Any]) -> Answer:
    saving = 0.0 if finality is None else float(finality["saving"])
    delay = 0.0 if finality is None else float(finality["mean_delay"]) / HOUR
    level = float(getattr(made["pricing"], "level", 1.0))
    posting, demand = made["posting"].kind, made["demand"]
    paths, days = found.sizes["path"], float(found["covered"].sum())
    data: dict[str, Any] = {"pricing": options.pricing, "posting": posting, "level": level,
                            "elasticity": demand.elasticity, "paths": paths,
                            "wholeDays": float(found["whole_days"][0])}  # fmt: skip
    values = over_paths(found)
    columns, rows = ("", *values["recovery"]), rows_of(found, values)
    if paths > 1:
        data["quantiles"] = {key(found, name): {head: each[head] for head in LEVELS} for name, each in values.items()}
    data |= {key(found, name): next(iter(each.values())) for name, each in values.items()}
    data |= {"saving": saving, "meanDelayHours": delay}
    if finality is not None:
        blank = [""] * (len(columns) - 2)
        rows += [
            ("share of cost saved by waiting", f"{saving:.4f}", *blank),
            ("mean delay [h]", f"{delay:.3f}", *blank),
        ]
    title = f"{options.pricing}, {posting}, elasticity {demand.elasticity:g}, level {level:.6g}: "
    title += f"{paths:,} path{'s' * (paths > 1)} of {days:,.2f} days"
    notes = [
        f"{name.replace('_', ' ')}: {found.attrs[name]}"
        for name in ("l1_fees", "l1_fees_assumed", "tips", "bootstrap", "not_counted", "price")
        if name in found.attrs
    ]

    def draw(figure: "Figure") -> None:
        from feemodel.plots import plot_path

        plot_path(found, figure.subplots(4, 1, sharex=True))

    tables = [Table(title, columns, rows)]
    return Answer(data | {"assumed": found.attrs}, tables, notes, file=found, figure=draw, size=(9, 9))


def with_fields(where: str, record: Record, given: Mapping[str, Any]) -> Record:
    """Return a copy of a frozen dataclass with some fields replaced.

    A list is converted to a tuple. If the field is itself a dataclass, its value in the file is a table with the fields
    to replace.

    Raises `InvalidInput` for a field that the dataclass does not have.

    >>> from feemodel.simulation.closed_loop.demand import Demand
    >>> with_fields("demand", Demand(), {"rate": 2.0}).rate
    2.0
    """
    known = [field.name for field in fields(record)]  # type: ignore[arg-type]
    changed = {}
    for name, value in given.items():
        check_known(where, name, known)
        held = getattr(record, name)
        if isinstance(value, dict):
            if not hasattr(held, "__dataclass_fields__"):
                raise InvalidInput(f"{where}.{name}", "expected a number or text", value)
            value = with_fields(f"{where}.{name}", held, value)
        changed[name] = tuple(value) if isinstance(value, list) else value
    try:
        return replace(record, **changed)  # type: ignore[type-var]
    except InvalidInput as error:
        raise InvalidInput(f"{where}.{error.name}", error.reason, error.value) from None
