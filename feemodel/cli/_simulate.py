"""`feemodel simulate`: simulate a rollup in a closed loop with L1, users and operator. Defaults are the baseline's."""

import argparse
import math
import warnings
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from feemodel.cli._backtest import HOUR, l1_history
from feemodel.cli._options import (
    above_0,
    add_executor,
    add_l1,
    add_resume,
    check_known,
    checked_resume,
    count,
    default_of,
    number,
    whole_from_0,
)
from feemodel.cli._output import FIGURES, add_out, checked_out, print_json, print_table
from feemodel.cli._subjects import read_columns
from feemodel.errors import InvalidInput
from feemodel.io._documents import read_toml
from feemodel.simulation.closed_loop._choices import POSTINGS, PRICINGS, WITH_SLA

if TYPE_CHECKING:
    import xarray


FIT = "fit"
SLA_HOURS = 16.0

#: For each measure in the output: the key in the JSON object, the variable of the result, and the label.
MEASURES = (
    ("recovery", "recovery", "data fees / posting cost"),
    ("totalRecovery", "total_recovery", "all fees / all costs"),
    ("underRecoveryDays", "under_recovery_days", "days with data fees below accrued cost"),
    ("underRecoveryProbability", "under_recovery_probability", "days with data fees below accrued cost / whole days"),
    ("volatility", "volatility", "volatility of hourly mean prices"),
    ("p99OverMedian", "p99_over_median", "99th percentile / median of the price"),
    ("overcharge", "overcharge", "overcharge / posting cost"),
    ("undercharge", "undercharge", "undercharge / posting cost"),
    ("drawdownDays", "drawdown_days", "maximum drawdown / mean cost of a day"),
    ("lostDemand", "lost_demand", "lost demand"),
    ("breakEvenLevel", "break_even_level", "break-even level"),
    ("meanWaitHours", "mean_wait", "mean waiting time of a byte [h]"),
    ("meanPriceWei", "mean_price", "mean data price [wei / byte]"),
    ("dataCostWei", "data_cost", "posting cost [wei]"),
    ("totalCostWei", "total_cost", "all costs [wei]"),
)


class SimulationArguments(NamedTuple):
    """Arguments of a simulation, from the options and the file."""

    l1_fees: Any
    pricing: Any
    posting: Any
    demand: Any
    costs: Any


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "spec",
        metavar="SPEC.toml",
        nargs="?",
        help="file that describes an experiment; options override values of the file",
    )
    _add_experiment(parser)
    add_out(parser, "FILE", "write all results to a .nc file")
    parser.add_argument("--figure", metavar="FILE", help="draw the first path to a .png, .svg or .pdf file")
    add_executor(parser)
    add_resume(parser, "paths")
    parser.epilog = _EPILOG


_EPILOG = """The defaults are the baseline: 1.45 transactions of 119.42 bytes per second, without randomness.
A submission has one blob of 130,048 bytes, 65,250 gas and a tip of 0.1 gwei, and is posted as soon as the blob is full.
Users pay only for data.

saving and meanDelayHours refer to another schedule, in which a submission is due every 751 s from the eighth day on.
saving is the share of the cost of posting at once that waiting saves; it is negative if waiting costs more."""


def _defaults() -> dict[str, Any]:
    """Return the default values of the options; an option that the Python API also has takes the API's default."""
    from feemodel.simulation.closed_loop._costs import Costs
    from feemodel.simulation.closed_loop.baseline import baseline_posting
    from feemodel.simulation.closed_loop.demand import Demand
    from feemodel.simulation.closed_loop.paths import Bootstrap
    from feemodel.simulation.closed_loop.simulator import simulate

    demand = Demand()
    return {
        "pricing": "linea", "level": 1.0, "posting": "fill", "tip": default_of(baseline_posting, "tip"),
        "elasticity": demand.elasticity, "arrival_rate": demand.rate, "poisson": demand.poisson,
        "step": default_of(simulate, "step"), "seed": default_of(simulate, "rng"), "paths": 1,
        "block_hours": Bootstrap(paths=1).block_seconds / HOUR, "finalization_gas": Costs().finalization_gas,
    }  # fmt: skip


def _add_experiment(parser: argparse.ArgumentParser) -> None:
    from feemodel.simulation.closed_loop.baseline import baseline_pricing

    own, blocks = _defaults(), default_of(baseline_pricing, "window_blocks")
    group = parser.add_argument_group("experiment")
    group.add_argument("--pricing", choices=PRICINGS, help=f"pricing policy (default: {own['pricing']})")
    group.add_argument(
        "--window",
        type=count,
        metavar="BLOCKS",
        help=f"number of blocks over which Linea averages L1 fees (default: {blocks})",
    )
    group.add_argument("--level", type=_level, metavar="X|fit",
                       help="factor on the price; fit is the factor that recovers the costs at elasticity 0"
                       " (default: 1)")  # fmt: skip
    group.add_argument("--elasticity", type=_at_least_0, metavar="E",
                       help=f"price elasticity of demand (default: {own['elasticity']:g})")  # fmt: skip
    group.add_argument("--posting", choices=POSTINGS, help=f"posting policy (default: {own['posting']})")
    group.add_argument("--sla", type=above_0, metavar="HOURS", help="target delay of price-cap;"
                       " maximum wait of deadline and clairvoyant (default: 16)")  # fmt: skip
    group.add_argument("--delay-cost", type=_at_least_0, metavar="SHARE", help="cost of an hour of waiting / median"
                       " cost of a submission with clairvoyant (default: 0)")  # fmt: skip
    group.add_argument("--tip", choices=("paid", "constant"),
                       help="tip of price-cap: paid (what the cap leaves above the L1 base fee), or constant (0.1 gwei)"
                       f" (default: {own['tip']})")  # fmt: skip
    add_l1(group, "L1 fees (default: ten-minute means of the month in the package)")
    group.add_argument("--step", type=above_0, metavar="SECONDS", help=f"length of a step (default: {own['step']:g})")
    group.add_argument(
        "--paths", type=count, help="number of paths; several paths are drawn by a block bootstrap (default: 1)"
    )
    group.add_argument("--block-hours", type=above_0,
                       help=f"mean length of the bootstrap blocks (default: {own['block_hours']:g})")  # fmt: skip
    group.add_argument("--arrival-rate", type=above_0, metavar="PER_SECOND",
                       help=f"transactions per second (default: {own['arrival_rate']:g})")  # fmt: skip
    group.add_argument(
        "--poisson",
        action="store_true",
        default=None,
        help="draw the number of arrivals at random (default: their mean)",
    )
    group.add_argument("--finalization-gas", type=_at_least_0, metavar="GAS",
                       help="L1 gas of finalization per blob, about 66500 on Linea"
                       f" (default: {own['finalization_gas']:g})")  # fmt: skip
    group.add_argument("--seed", type=whole_from_0, help=f"seed of the random numbers (default: {own['seed']})")


def run(options: argparse.Namespace) -> int:
    from feemodel.io._datasets import write_dataset
    from feemodel.simulation.closed_loop.finality import price_of_finality
    from feemodel.simulation.closed_loop.paths import Bootstrap
    from feemodel.simulation.closed_loop.simulator import simulate

    tables = _merged(options)
    out, figure = checked_out(options, (".nc",)), checked_out(options, FIGURES, option="--figure")
    finished = checked_resume(options)
    made = read_experiment(options, tables)
    if options.block_hours is not None and options.paths == 1 and "block_hours" in options.given:
        raise InvalidInput("--block-hours", "expected only with --paths above 1", options.block_hours)
    drawn = Bootstrap(paths=options.paths, block_seconds=options.block_hours * HOUR) if options.paths > 1 else None
    l1_fees = made.l1_fees if drawn is None else _on_steps(made.l1_fees, options.step)
    found = simulate(
        l1_fees, made.pricing, made.posting, made.demand, made.costs, step=options.step, bootstrap=drawn,
        record=1 if figure is not None else 0, rng=options.seed, executor=options.dask or options.executor,
        workers=options.workers, finished=finished,
        progress=not options.json,
    )  # fmt: skip
    if options.pricing == "fixed" and "price" not in tables.get("pricing-fields", {}):
        said = f"fitted: {made.pricing.price:,.6g} wei / byte, at which this history breaks even at elasticity 0"
        found = found.assign_attrs(price=said)
    finality = None
    if made.posting.kind in ("price-cap", "clairvoyant"):
        finality = price_of_finality(made.l1_fees, made.posting, step=options.step)
    if out is not None:
        write_dataset(found, out, overwrite=options.overwrite)
    if figure is not None:
        _draw(found, figure)
    _say(options, found, finality, made)
    return 0


def read_experiment(options: argparse.Namespace, tables: dict[str, Any]) -> SimulationArguments:
    """Return the arguments of the simulation from the options and from the tables of a file."""
    from feemodel.simulation.closed_loop._costs import Costs
    from feemodel.simulation.closed_loop.baseline import (
        baseline_posting,
        baseline_pricing,
        break_even,
        fitted,
        unweighted,
    )
    from feemodel.simulation.closed_loop.demand import Demand
    from feemodel.simulation.posting import Posting

    if options.window is not None and not options.pricing.startswith("linea"):
        raise InvalidInput("--window", "expected only with --pricing linea or linea-unbounded", options.window)
    if options.sla is not None and options.posting not in WITH_SLA:
        raise InvalidInput("--sla", f"expected only with --posting {', '.join(WITH_SLA)}", options.sla)
    if options.tip == "constant" and options.posting != "price-cap":
        warnings.warn("--tip constant has no effect: only --posting price-cap pays a tip of its own", stacklevel=2)
    sla = (SLA_HOURS if options.sla is None else options.sla) * HOUR
    posting = baseline_posting(options.posting, sla=sla, tip=options.tip)
    if options.delay_cost is not None:
        if options.posting != "clairvoyant":
            raise InvalidInput("--delay-cost", "expected only with --posting clairvoyant", options.delay_cost)
        posting = replace(posting, delay_cost=options.delay_cost)
    posting = with_fields("posting-fields", posting, tables.get("posting-fields", {}))
    demand = with_fields("demand", Demand(rate=options.arrival_rate, poisson=options.poisson), tables.get("demand", {}))
    costs = Costs()
    if options.finalization_gas:
        costs = Costs(finalization_gas=options.finalization_gas, finalize_blobs=1)
    costs = with_fields("costs", costs, tables.get("costs", {}))
    l1_fees = unweighted(l1_history(options.l1, read_columns(options.l1_columns, "--l1-columns")))
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
    return SimulationArguments(l1_fees, pricing, posting, answering, costs)


def _merged(options: argparse.Namespace) -> dict[str, Any]:
    """Set missing options to the values in the TOML file, or else to the defaults. Return the tables of the file."""
    parser = argparse.ArgumentParser(add_help=False)
    _add_experiment(parser)
    known = {action.dest.replace("_", "-"): action for action in parser._actions if action.dest != "l1_columns"}
    said = {} if options.spec is None else read_toml(options.spec)
    spec = {name: _value(name, value, known) for name, value in said.items()}
    if "l1" in spec and options.l1 is None:
        spec["l1"] = str(Path(options.spec).parent / spec["l1"])
    options.given, own = set(), _defaults()
    for action in known.values():
        name = action.dest
        if getattr(options, name) is None:
            setattr(options, name, spec.get(name.replace("_", "-"), own.get(name)))
            if name.replace("_", "-") not in spec:
                continue
        options.given.add(name)
    if options.dask is not None:
        options.executor = options.dask
    return {name: spec[name] for name in TABLES if name in spec}


def _on_steps(l1_fees: "xarray.Dataset", step: float) -> "xarray.Dataset":
    """Return a history with one row per step, for a bootstrap."""
    import numpy as np

    from feemodel.simulation.closed_loop._l1_steps import rows_by_step
    from feemodel.simulation.scenarios import scenario

    rows = rows_by_step(l1_fees["elapsed"].to_numpy(), step)
    columns = {str(name): l1_fees[name].to_numpy()[:, rows] for name in l1_fees.data_vars}
    held = scenario(columns, step * np.arange(len(rows)), source=l1_fees.attrs["source"])
    return held.assign_attrs(l1_fees.attrs)


def _say(options: argparse.Namespace, found: "xarray.Dataset", finality: Any, made: SimulationArguments) -> None:
    saving = 0.0 if finality is None else float(finality["saving"])
    delay = 0.0 if finality is None else float(finality["mean_delay"]) / HOUR
    level = float(getattr(made.pricing, "level", 1.0))
    if options.json:
        answer: dict[str, Any] = {"pricing": options.pricing, "posting": made.posting.kind, "level": level,
                                  "elasticity": made.demand.elasticity, "paths": found.sizes["path"],
                                  "wholeDays": float(found["whole_days"][0])}  # fmt: skip
        for key, variable, _ in MEASURES:
            answer[key] = _finite(_scaled(variable, float(found[variable].mean())))
        answer |= {"saving": saving, "meanDelayHours": delay}
        if found.sizes["path"] > 1:
            answer["quantiles"] = {key: _quantiles(found, variable) for key, variable, _ in MEASURES}
        print_json(answer | {"assumed": found.attrs})
        return
    rows = []
    for _, variable, label in MEASURES:
        values = [_scaled(variable, float(found[variable].mean()))]
        if found.sizes["path"] > 1:
            values += [value for value in _quantiles(found, variable).values() if value is not None]
        rows.append((label, *(f"{value:,.4g}" if abs(value) < 1e4 else f"{value:.4e}" for value in values)))
    columns = ("", "value") if found.sizes["path"] == 1 else ("", "mean", "p5", "median", "p95")
    blank = [""] * (len(columns) - 2)
    if finality is not None:
        rows += [
            ("share of cost saved by waiting", f"{saving:.4f}", *blank),
            ("mean delay [h]", f"{delay:.3f}", *blank),
        ]
    days, paths = float(found["covered"].sum()), found.sizes["path"]
    title = f"{options.pricing}, {made.posting.kind}, elasticity {made.demand.elasticity:g}, level {level:.6g}: "
    print_table(f"{title}{paths:,} path{'s' * (paths > 1)} of {days:,.2f} days", columns, rows)
    for name in ("l1_fees", "l1_fees_assumed", "tips", "bootstrap", "not_counted"):
        print(f"{name.replace('_', ' ')}: {found.attrs[name]}")
    if "price" in found.attrs:
        print(f"price: {found.attrs['price']}")


def _quantiles(found: "xarray.Dataset", variable: str) -> dict[str, float | None]:
    values = found[variable]
    levels = (("p5", 0.05), ("median", 0.5), ("p95", 0.95))
    return {name: _finite(_scaled(variable, float(values.quantile(level)))) for name, level in levels}


def _scaled(variable: str, value: float) -> float:
    return value / HOUR if variable == "mean_wait" else value


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _draw(found: "xarray.Dataset", path: Path) -> None:
    from matplotlib.figure import Figure

    from feemodel.plots._simulation import plot_path

    figure = Figure(figsize=(9, 9), layout="constrained")
    plot_path(found, figure.subplots(4, 1, sharex=True))
    figure.savefig(path, dpi=120)


def _level(text: str) -> float | str:
    if text == FIT:
        return FIT
    try:
        return above_0(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"expected a number above 0 or {FIT}, got {text!r}") from None


def _at_least_0(text: str) -> float:
    found = number(text)
    if found < 0.0:
        raise argparse.ArgumentTypeError(f"expected a number of at least 0, got {text}")
    return found


TABLES = ("pricing-fields", "posting-fields", "demand", "costs")
Record = TypeVar("Record")


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


def _value(name: str, value: Any, options: Mapping[str, argparse.Action]) -> Any:
    """Parse a value of the simulation file; a table is returned unchanged, other values are parsed like an option.

    Raises `InvalidInput` for an unknown key, and for a value that the option does not accept.
    """
    if name in TABLES:
        if not isinstance(value, dict):
            raise InvalidInput(name, f"expected a table [{name}]", value)
        return value
    check_known("the simulation file", name, [*options, *TABLES])
    action = options[name]
    if isinstance(value, bool):
        if action.nargs != 0:
            raise InvalidInput(name, "expected a number or text", value)
        return value
    if isinstance(value, (dict, list)) or action.nargs == 0:
        raise InvalidInput(name, "expected true or false" if action.nargs == 0 else "expected one value", value)
    try:
        found = action.type(str(value)) if callable(action.type) else str(value)
    except argparse.ArgumentTypeError as error:
        reason, _, _ = str(error).partition(", got ")  # remove the value, because `InvalidInput` appends it
        raise InvalidInput(name, reason, value) from None
    if action.choices is not None:
        check_known(name, found, [*action.choices])
    return found
