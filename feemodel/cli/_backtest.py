"""`feemodel backtest`: fees and posting costs on real or simulated L1 fees."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from feemodel.cli._options import (
    above_0,
    add_codec,
    add_l1,
    count,
    number,
    read_codec,
    whole_from_0,
)
from feemodel.cli._output import add_out, checked_out, print_json, print_table
from feemodel.cli._subjects import FILE_HELP, add_transaction_file, read_columns, read_transaction_file
from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.ethereum._quantities import WEI_PER_ETH

if TYPE_CHECKING:
    import xarray

    from feemodel.simulation._reduce import Over
    from feemodel.simulation.surfaces import Workload

SCENARIOS = ("history", "bootstrap", "demand")
HOUR = 3_600  # seconds
BLOCK_HOURS = 24.0  # length of the blocks of the block bootstrap; blocks of one day preserve most of the daily cycle
IN_WEI = ("total_revenue", "total_cost", "max_drawdown")
MEASURES = ("recovery", "size_recovery", "unprofitable_share", *IN_WEI)
OF_RULE = (
    "margin", "estimate_margin", "fixed_cost", "lower_bound", "upper_bound", "update_interval", "window",
    "usage_exponent",
)  # fmt: skip


class BacktestArguments(NamedTuple):
    """Arguments of `feemodel.backtest` and `feemodel.calibrate`, in fields with the names of the parameters."""

    workload: Any
    l1_fees: Any
    rule: Any
    posting: Any
    arrival_rate: float
    calldata: Any  #: calldata of each transaction, if calldata pressure is enabled
    rng: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_experiment(parser, scenario="history", paths=1, hours=None)
    add_statistics(parser)
    add_out(parser, "FILE", "write the results of every hour of every path to a .csv, .parquet or .nc file")


def add_statistics(parser: argparse.ArgumentParser) -> None:
    """Add the options for statistics over paths."""
    asked = parser.add_argument_group("statistics over paths")
    for name, text in (
        ("quantile", "quantile of every measure, from 0 to 1"),
        ("cvar-lower", "mean of the lowest values of every measure; SHARE is the share of the values in this mean"),
        ("cvar-upper", "mean of the highest values of every measure; SHARE is the share of the values in this mean"),
    ):
        asked.add_argument(f"--{name}", type=number, action="append", default=[], metavar="SHARE",
                           help=f"{text}; may be repeated")  # fmt: skip
    asked.add_argument("--below", type=number, action="append", default=[], metavar="VALUE",
                       help="share of paths with a recovery below VALUE; may be repeated")  # fmt: skip


def read_statistics(options: argparse.Namespace) -> "Over | None":
    """Return the requested statistics, checked before the computation starts."""
    from feemodel.simulation._reduce import over

    levels = {name: getattr(options, name) for name in ("quantile", "below", "cvar_lower", "cvar_upper")}
    return over("path", statistics=["mean"], **levels) if any(levels.values()) else None


def _statistics(found: "xarray.Dataset", wanted: "Over") -> dict[str, dict[str, dict[str, float]]]:
    """Return the value of each statistic as `{measure: {statistic: {level: value}}}`."""
    from feemodel.simulation._summarize import summarize

    summary = summarize(found[list(MEASURES)], wanted)
    answer: dict[str, dict[str, dict[str, float]]] = {}
    for measure in MEASURES:
        for name, levels in wanted.levels.items():
            if levels and (name != "below" or measure.endswith("recovery")):
                values = summary[f"{measure}_{name}"].values.tolist()
                given = {f"{level:g}": value for level, value in zip(levels, values, strict=True)}
                answer.setdefault(_camel(measure), {})[_camel(name)] = given
    return answer


def add_experiment(parser: argparse.ArgumentParser, *, scenario: str, paths: int, hours: float | None) -> None:
    """Add the options of an experiment; `scenario`, `paths` and `hours` are defaults of three of the options."""
    from feemodel.simulation.announced import PricingRule
    from feemodel.simulation.closed_loop.demand import Demand

    exponent = PricingRule().usage_exponent
    l1 = parser.add_argument_group("L1 fees")
    add_l1(l1, "L1 base fees and blob base fees (default: the month in the package)")
    l1.add_argument("--scenario", default=scenario, choices=SCENARIOS, help="the history itself, a block"
                    " bootstrap of the history, or a simulation of L1 whose demand is calibrated on the"
                    " history")  # fmt: skip
    l1.add_argument("--paths", type=count, default=paths, help="number of paths with --scenario bootstrap or demand")
    whole = "" if hours is not None else ", rounded up to a whole step (default: the whole history)"
    l1.add_argument("--hours", type=above_0, default=hours, help=f"length of a path{whole}")
    l1.add_argument(
        "--block-hours", type=above_0, default=BLOCK_HOURS, help="mean length of the blocks with --scenario bootstrap"
    )
    l1.add_argument(
        "--tip", type=whole_from_0, metavar="WEI", help="L1 tip (default: the tips of the file, or 100000000)"
    )
    l1.add_argument("--usage-exponent", type=number, default=exponent, help="assumed exponent:"
                    " averages of L1 fees weight each block by its fee to this power")  # fmt: skip
    traffic = parser.add_argument_group("transactions, drawn at random over the time of the L1 fees")
    traffic.add_argument(
        "--transactions",
        metavar="FILE",
        help=f"{FILE_HELP}; or a table with gas_used, calldata_bytes and the column of --size",
    )
    add_transaction_file(traffic)
    add_codec(parser)
    traffic.add_argument("--size", default="zstd", metavar="COLUMN", help="column with the compressed size")
    traffic.add_argument(
        "--arrival-rate", type=above_0, default=Demand().rate, metavar="PER_SECOND", help="transactions per second"
    )
    traffic.add_argument("--seed", type=whole_from_0, default=1, help="seed of the random numbers")
    _add_rule(parser)


def _add_rule(parser: argparse.ArgumentParser) -> None:
    from feemodel.simulation.announced import PricingRule

    default = PricingRule()
    rule = parser.add_argument_group("pricing and posting")
    for name, unit, text in (
        ("margin", None, "factor on the variable cost"),
        ("estimate-margin", None, "factor on the fees that users pay"),
        ("update-interval", "SECONDS", "time between announced costs"),
        ("window", "SECONDS", "time over which L1 fees are averaged"),
    ):
        value = getattr(default, name.replace("-", "_"))
        rule.add_argument(f"--{name}", type=number, default=value, metavar=unit, help=text)
    rule.add_argument(
        "--fixed-cost", type=whole_from_0, default=default.fixed_cost, metavar="WEI", help="announced fixed cost"
    )
    for side in ("lower", "upper"):
        text = f"{side} bound of the variable cost, or none"
        rule.add_argument(
            f"--{side}-bound", type=_bound, default=getattr(default, f"{side}_bound"), metavar="WEI", help=text
        )
    rule.add_argument(
        "--calldata-pressure",
        action="store_true",
        help="raise the variable cost after blocks that are full of calldata",
    )
    rule.add_argument(
        "--deadline",
        type=above_0,
        metavar="SECONDS",
        help="maximum time that bytes wait to be posted (default: until the blob is full)",
    )
    rule.add_argument("--stream-ratio", type=above_0, default=1.0, help="size of the posted data / sum of the sizes of"
                      " transactions compressed one by one; about 0.52 in a real blob")  # fmt: skip


def read_experiment(options: argparse.Namespace) -> BacktestArguments:
    """Read the files, draw the paths, and return the experiment that the options describe."""
    from feemodel.simulation.announced import CalldataPressure, PricingRule
    from feemodel.simulation.posting import Posting
    from feemodel.simulation.surfaces import Submission

    tip = Submission().tip if options.tip is None else options.tip
    workload = _read_workload(options)
    if options.calldata_pressure and workload.calldata is None:
        reason = "expected a column calldata_bytes, which --calldata-pressure needs"
        raise InvalidInput("--transactions", reason, options.transactions)
    pressure, calldata = (CalldataPressure(), workload.calldata) if options.calldata_pressure else (None, None)
    rule = PricingRule(**{name: getattr(options, name) for name in OF_RULE}, tip=float(tip), pressure=pressure)
    submission = Submission(tip=tip)
    posting = Posting(submission=submission, deadline=options.deadline, stream_ratio=options.stream_ratio)
    l1_fees = _scenario(options)
    return BacktestArguments(workload, l1_fees, rule, posting, options.arrival_rate, calldata, options.seed)


def run(options: argparse.Namespace) -> int:
    from feemodel.io._datasets import DATASET_SUFFIXES, write_dataset
    from feemodel.simulation._backtest import backtest
    from feemodel.simulation.scenarios import duration

    out, wanted = checked_out(options, DATASET_SUFFIXES), read_statistics(options)
    made = read_experiment(options)
    found = backtest(**made._asdict(), progress=not options.json)
    if out is not None:
        hourly = [name for name in found.data_vars if found[name].dims == ("path", "hour")]
        write_dataset(found[hourly], out, overwrite=options.overwrite)
    hours = duration(made.l1_fees) / HOUR
    quantiles = {name: _over_paths(found[name].to_numpy()) for name in MEASURES}
    statistics = _statistics(found, wanted) if wanted is not None else {}
    if options.json:
        asked = {"statistics": statistics} if statistics else {}
        counts = {"paths": found.sizes["path"], "hours": hours, "transactions": int(found["transactions"].sum())}
        print_json(
            counts | {_camel(name): values for name, values in quantiles.items()} | asked | {"assumed": found.attrs}
        )
        return 0
    rows = [(_LABELS[name], *(_shown(name, value) for value in values.values())) for name, values in quantiles.items()]
    paths, transactions = found.sizes["path"], int(found["transactions"].sum())
    title = f"{transactions:,} transactions on {paths:,} path{'s' * (paths > 1)} of {hours:,.6g} h"
    print_table(title, ("", *next(iter(quantiles.values()))), rows)
    if statistics:
        _print_statistics(statistics)
    for name in ("workload", "l1_fees", "l1_fees_assumed", "resampling", "tips", "usage_ratios", "not_counted"):
        print(f"{name.replace('_', ' ')}: {found.attrs[name]}")
    return 0


def _print_statistics(statistics: dict[str, dict[str, dict[str, float]]]) -> None:
    columns = [(kind, level) for kind, levels in statistics["recovery"].items() for level in levels]

    def cell(name: str, kind: str, level: str) -> str:
        value = statistics[_camel(name)].get(kind, {}).get(level)
        if value is None:
            return ""
        return f"{value:.2%}" if kind == "below" else _shown(name, value)

    rows = [
        (_LABELS[name], *(cell(name, *column) for column in columns)) for name in MEASURES if _camel(name) in statistics
    ]
    heads = [f"{_STATISTIC_LABELS[kind]} {level}" for kind, level in columns]
    print_table("Statistics over paths", ("", *heads), rows)


_STATISTIC_LABELS = {
    "quantile": "quantile", "below": "share below", "cvarLower": "mean of lowest", "cvarUpper": "mean of highest",
}  # fmt: skip
_LABELS = {
    "recovery": "revenue / posting cost",
    "size_recovery": "size part of fees / posting cost",
    "unprofitable_share": "share of transactions below their cost",
    "total_revenue": "revenue [ETH]",
    "total_cost": "posting cost [ETH]",
    "max_drawdown": "maximum drawdown [ETH]",
}


def _read_workload(options: argparse.Namespace) -> "Workload":
    """Return the transactions in the package, or transactions from a file with compressed sizes or payloads."""
    import numpy as np

    from feemodel.io.shipped import read_shipped_transactions
    from feemodel.simulation.surfaces import Workload

    path, size = options.transactions, options.size
    if path is None:
        table = read_shipped_transactions()
        if size not in table:
            raise InvalidInput("--size", f"expected one of the columns {', '.join(map(str, table))}", size)
        known = table.dropna(subset=[size, "gas_used"])
        sizes, gas, calldata = (known[name].to_numpy(np.int64) for name in (size, "gas_used", "calldata_bytes"))
        return Workload(
            f"{len(known):,} of {len(table):,} real Linea transactions in the package, those with gas used",
            sizes,
            gas,
            known["timestamp"].to_numpy(np.int64),
            calldata,
        )
    from feemodel.io._transactions import read_measured

    columns = read_columns(options.columns)
    measured = read_measured(path, size, columns=columns)
    if measured is not None:
        return Workload(**measured)
    read = read_transaction_file(path, options.columns, options.chain_id).with_gas_used()
    workload = Workload.from_transactions(
        read.table, codec=read_codec(options), packed=options.packed, name=Path(path).name, chain_id=options.chain_id
    )
    left_out = [text for text in read.said if text.startswith("left out")]
    return replace(workload, name="; ".join([workload.name, *left_out]))


def _scenario(options: argparse.Namespace) -> "xarray.Dataset":
    from feemodel.simulation import l1_demand, scenarios

    if options.scenario != "bootstrap" and options.block_hours != BLOCK_HOURS:
        raise InvalidInput("--block-hours", "expected only with --scenario bootstrap", options.block_hours)
    history = read_history(options)
    horizon = None if options.hours is None else options.hours * HOUR
    if options.scenario == "history":
        if options.paths != 1:
            raise InvalidInput("--paths", "expected 1 with --scenario history", options.paths)
        return history if horizon is None else _beginning(history, options.hours)
    if options.scenario == "bootstrap":
        block = options.block_hours * HOUR
        return scenarios.bootstrap(history, paths=options.paths, block_seconds=block, horizon=horizon, rng=options.seed)
    begin = int(history["time"].to_numpy()[0].astype("datetime64[s]").astype(int))
    model = l1_demand.fit(history)
    return l1_demand.simulate(
        model,
        paths=options.paths,
        horizon=horizon or scenarios.duration(history),
        timestamp=begin,
        blocks_per_step=5,
        rng=options.seed,
    )


def read_history(options: argparse.Namespace) -> "xarray.Dataset":
    """Return the history of L1 fees that the options name, without drawing paths."""
    history = l1_history(options.l1, read_columns(options.l1_columns, "--l1-columns"))
    # The option --tip takes precedence over tips in the file.
    return history if options.tip is None else history.drop_vars("tip", errors="ignore")


def _beginning(history: "xarray.Dataset", hours: float) -> "xarray.Dataset":
    from feemodel.simulation import scenarios

    held = scenarios.duration(history)
    if hours * HOUR > held:
        first, last = (str(time)[:16] for time in history["time"].to_numpy()[[0, -1]])
        reason = f"expected at most the {held / HOUR:,.6g} h of the history, from {first} to {last}"
        raise InvalidInput("--hours", reason, hours)
    step = scenarios.step_seconds(history)
    if hours * HOUR <= step:
        raise InvalidInput("--hours", f"expected more than one step of the history, {step / HOUR:.3g} h", hours)
    return scenarios.beginning(history, hours * HOUR)


def l1_history(path: str | None, columns: dict[str, str] | None = None) -> "xarray.Dataset":
    from feemodel.io import read_l1_fees, read_shipped_l1_fees
    from feemodel.simulation.scenarios import replay, step_seconds

    if path is None:
        return replay(read_shipped_l1_fees(), source="Ethereum mainnet, 2026-01-07 to 02-06, means of ten minutes")
    table = read_l1_fees(path, columns=columns)
    try:
        history = replay(table, source=Path(path).name)
        step_seconds(history)  # raises an error for a history with fewer than two steps
        return history
    except InvalidInput as error:
        raise UnreadableFile(f"{path}: {error}") from None


def _over_paths(values: Any) -> dict[str, float]:
    import numpy as np

    if len(values) == 1:
        return {"value": float(values[0])}
    return {name: float(np.quantile(values, q)) for name, q in (("p5", 0.05), ("median", 0.5), ("p95", 0.95))}


def _shown(name: str, value: float) -> str:
    if name == "unprofitable_share":
        return f"{value:.2%}"
    return f"{value / WEI_PER_ETH:,.4f}" if name in IN_WEI else f"{value:,.3f}×"


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others) + ("Wei" if name in IN_WEI else "")


def _bound(text: str) -> float | None:
    return None if text == "none" else number(str(whole_from_0(text)))
