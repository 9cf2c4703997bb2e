"""`feemodel calibrate`: the smallest margin that keeps the probability of a loss below a bound."""

import argparse

from feemodel.cli.backtest import HOUR, add_experiment, read_experiment
from feemodel.cli.options import number
from feemodel.cli.output import print_json
from feemodel.errors import InvalidInput

PATHS, HOURS = 200, 24.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--loss-probability", type=number, default=0.05, help="over a path, the bound (%(default)s)")
    parser.add_argument("--confidence", type=number, default=0.95, help="of the interval (%(default)s)")
    parser.add_argument(
        "--vary", default="estimate_margin", choices=("estimate_margin", "margin"), help="(%(default)s)"
    )
    parser.add_argument("--counted", default="size_revenue", choices=("size_revenue", "revenue"), help="what pays for"
                        " posting: what the size adds to fees, or all of them (%(default)s)")  # fmt: skip
    parser.add_argument("--highest", type=number, default=100.0, help="margin that is tried (%(default)s)")
    add_experiment(parser, scenario="bootstrap", paths=PATHS, hours=HOURS)


def run(options: argparse.Namespace) -> int:
    from feemodel.simulation.calibrate import calibrate
    from feemodel.simulation.scenarios import duration

    if options.scenario == "history":
        raise InvalidInput("--scenario", "expected bootstrap or demand: history has one path", options.scenario)
    made = read_experiment(options)
    found = calibrate(
        made.workload,
        made.l1_fees,
        made.rule,
        made.posting,
        loss_probability=options.loss_probability,
        confidence=options.confidence,
        vary=options.vary,
        counted=options.counted,
        highest=options.highest,
        arrival_rate=made.arrival_rate,
        calldata=made.calldata,
        rng=made.rng,
        progress=not options.json,
    )
    hours = duration(made.l1_fees) / HOUR
    if options.json:
        source = made.l1_fees.attrs["source"]
        print_json(
            found._asdict() | {"vary": options.vary, "counted": options.counted, "l1_fees": source, "hours": hours}
        )
    else:
        bound, size = f"{found.loss_probability:.2%}", f"{found.paths:,} paths of {hours:g} h"
        if found.margin is not None:
            low, high = (f"{end:.3f}" if end is not None else "?" for end in (found.low, found.high))
            print(
                f"{options.vary} {found.margin:.3f} keeps P(loss) at or below {bound}: {found.losing} of {size} lose;"
            )
            print(f"{found.confidence:.0%} interval {low} to {high}.")
        if found.reason:
            print(found.reason[0].upper() + found.reason[1:] + ".")
        print(f"L1 fees: {made.l1_fees.attrs['source']}. Counted: {options.counted}.")
        print(f"Transactions of another time, drawn onto L1 time at {made.arrival_rate:g} a second.")
    return 0 if found.margin is not None else 1
