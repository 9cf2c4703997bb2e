"""`feemodel calibrate`: the smallest margin for which the probability of a loss stays below a bound."""

import argparse
from typing import TYPE_CHECKING, Any

from feemodel.cli._backtest import HOUR, BacktestArguments, add_experiment, read_experiment, read_history
from feemodel.cli._options import add_executor, count, default_of, number
from feemodel.cli._output import print_json
from feemodel.errors import InvalidInput

if TYPE_CHECKING:
    from feemodel.simulation._calibrate import Calibration

PATHS, HOURS = 200, 24.0
CURVE_POINTS = 201


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from feemodel.simulation._calibrate import calibrate

    parser.add_argument(
        "--loss-probability", type=number, default=0.05, help="maximum probability of a loss over a path"
    )
    own = {name: default_of(calibrate, name) for name in ("confidence", "vary", "counted", "highest")}
    parser.add_argument(
        "--confidence", type=number, default=own["confidence"], help="confidence level of the interval of the margin"
    )
    parser.add_argument("--vary", default=own["vary"], choices=("estimate_margin", "margin"), help="the margin to find")
    parser.add_argument("--counted", default=own["counted"], choices=("size_revenue", "revenue"), help="the fees"
                        " that pay for posting: their part for the size, or whole fees")  # fmt: skip
    parser.add_argument("--highest", type=number, default=own["highest"], help="maximum margin of the search")
    parser.add_argument("--histories", type=count, metavar="COUNT", help="also calibrate on COUNT bootstrapped"
                        " histories, for an interval that includes the uncertainty of a short history; once"
                        " with blocks of --block-hours, and once with blocks three times as long")  # fmt: skip
    add_executor(parser, dask=False)
    add_experiment(parser, scenario="bootstrap", paths=PATHS, hours=HOURS)


def run(options: argparse.Namespace) -> int:
    from feemodel.simulation._backtest import resampling
    from feemodel.simulation._calibrate import calibrate
    from feemodel.simulation.scenarios import duration

    if options.scenario == "history":
        raise InvalidInput(
            "--scenario", "expected bootstrap or demand, because history has only one path", options.scenario
        )
    if options.histories is not None and options.scenario != "bootstrap":
        raise InvalidInput("--histories", "expected only with --scenario bootstrap", options.histories)
    made = read_experiment(options)
    terms = {
        "loss_probability": options.loss_probability,
        "confidence": options.confidence,
        "vary": options.vary,
        "counted": options.counted,
        "highest": options.highest,
        "executor": options.executor,
        "workers": options.workers,
        "progress": not options.json,
    }
    found = calibrate(**made._asdict(), **terms)
    drawn = None if options.histories is None else _drawn_histories(options, made, terms)
    hours = duration(made.l1_fees) / HOUR
    if options.json:
        source = made.l1_fees.attrs["source"]
        answer = {name: value for name, value in found._asdict().items() if name != "break_even"}
        answer |= {"vary": options.vary, "counted": options.counted, "l1_fees": source, "hours": hours}
        print_json(answer | {"loss_curve": _loss_curve(found), "histories": drawn})
    else:
        bound, size = f"{found.loss_probability:.2%}", f"{found.paths:,} paths of {hours:g} h"
        if found.margin is not None:
            low, high = (f"{end:.3f}" if end is not None else "?" for end in (found.low, found.high))
            print(
                f"{options.vary} {found.margin:.3f} keeps P(loss) at or below {bound}: "
                f"{found.losing} of {size} have a loss;"
            )
            print(f"{found.confidence:.0%} interval {low} to {high}.")
        if found.reason:
            print(found.reason[0].upper() + found.reason[1:] + ".")
        if drawn is not None:
            count, low, high = drawn["histories"], drawn["low"], drawn["high"]
            print(
                f"{count} bootstrapped histories: "
                f"{found.confidence:.0%} of their margins are from {low:.3f} to {high:.3f}."
            )
        print(f"L1 fees: {made.l1_fees.attrs['source']}.")
        counted = "whole fees" if options.counted == "revenue" else "the size part of fees"
        times = resampling(made.arrival_rate)
        print(f"Revenue counted: {counted}. {times[0].upper()}{times[1:]}.")
    return 0 if found.margin is not None else 1


def _drawn_histories(options: argparse.Namespace, made: BacktestArguments, terms: dict[str, Any]) -> dict[str, Any]:
    from feemodel.simulation._calibrate import calibrate_histories

    found = calibrate_histories(
        made.workload,
        read_history(options),
        made.rule,
        made.posting,
        arrival_rate=made.arrival_rate,
        rng=made.rng,
        histories=options.histories,
        paths=options.paths,
        horizon=options.hours * HOUR,
        block_seconds=[options.block_hours * HOUR, 3 * options.block_hours * HOUR],
        **terms,
    )
    blocks = [
        {"block_hours": float(one["block_seconds"]) / HOUR}
        | {name: float(one[name]) for name in ("margin", "low", "high")}
        for one in (found.isel(block_seconds=index) for index in range(found.sizes["block_seconds"]))
    ]
    return {"histories": options.histories, "low": found.attrs["low"], "high": found.attrs["high"], "blocks": blocks}


def _loss_curve(found: "Calibration") -> list[dict[str, float]]:
    """Return the loss curve at the break-even margins of at most `CURVE_POINTS` paths."""
    import numpy as np

    curve = found.loss_curve()
    if curve.sizes["margin"] > CURVE_POINTS:
        curve = curve.isel(margin=np.linspace(0, curve.sizes["margin"] - 1, CURVE_POINTS).round().astype(int))
    columns = {name: curve[name].values.tolist() for name in ("margin", "loss_probability", "low", "high")}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
