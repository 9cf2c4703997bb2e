"""`feemodel recommend`: fee parameters of a chain from a forecast of L1 fees."""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from feemodel.cli._forecast import add_forecast, read_l1
from feemodel.cli._options import above_0, default_of, number
from feemodel.cli._output import add_figure, checked_out, print_json, print_table
from feemodel.ethereum._quantities import WEI_PER_GWEI

if TYPE_CHECKING:
    from feemodel.simulation.forecast._recommend import Recommendation

FAMILIES = ("linea", "op-stack", "scroll", "zksync", "arbitrum")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from feemodel.simulation.forecast._recommend import recommend

    parser.add_argument("family", choices=FAMILIES, help="family of the chain's fee rule")
    target = parser.add_mutually_exclusive_group()
    target.add_argument("--loss-probability", type=number, help="probability that fees do not pay for posting while the"
                        " parameters are unchanged (default: 0.05)")  # fmt: skip
    target.add_argument("--margin", type=number, help="median margin of fees over the cost of posting; 0.2 is 20 %%")
    parser.add_argument(
        "--hold",
        type=above_0,
        default=default_of(recommend, "hold"),
        metavar="SECONDS",
        help="time until the parameters are set again",
    )
    parser.add_argument(
        "--interval",
        type=above_0,
        default=default_of(recommend, "interval"),
        metavar="SECONDS",
        help="time between two submissions, a multiple of two minutes",
    )
    add_forecast(parser, recommend)
    add_figure(parser, "draw the price of a byte, the distribution of its cost, and the loss probability")


def run(options: argparse.Namespace) -> int:
    from feemodel.simulation.forecast._recommend import recommend

    figure = checked_out(options, (".png", ".svg", ".pdf"), option="--figure")
    found = recommend(
        read_l1(options),
        family=options.family,
        loss_probability=options.loss_probability,
        margin=options.margin,
        hold=options.hold,
        interval=options.interval,
        paths=options.paths,
        rng=options.seed,
    )
    if figure is not None:
        wanted = 0.05 if options.loss_probability is None else options.loss_probability
        _draw(figure, found, wanted if options.margin is None else None)
    if options.json:
        print_json({name: value for name, value in asdict(found).items() if name != "outlook"})
        return 0
    rows = [
        (name, f"{one.value:,.4g}" if isinstance(one.value, float) else f"{one.value:,}", one.unit, one.meaning)
        for name, one in found.parameters.items()
    ]
    print_table(f"Recommended for {found.family}", ("parameter", "value", "unit", "meaning"), rows)
    low, middle, high = (cost / WEI_PER_GWEI for cost in found.cost_per_byte)
    print(f"Factor on the chain's rule: {found.factor:.4f}. Expected margin: {found.expected_margin:.1%}.")
    print(f"Loss probability over {found.hold / 3_600:g} h: {found.loss_probability:.1%}.")
    print(f"Cost of a byte [gwei]: median {middle:.4g}; 90 % of paths from {low:.4g} to {high:.4g}.")
    # "at least", if the loss probability is still below the target when the paths end
    at_least = "at least " if found.valid_for >= float(found.outlook["elapsed"][-1]) else ""
    print(f"Valid for {at_least}{found.valid_for / 3_600:.1f} h, until {found.valid_until}.")
    return 0


def _draw(path: Path, found: "Recommendation", target: float | None) -> None:
    from matplotlib.figure import Figure

    from feemodel.plots._forecast import plot_loss_probability, plot_recommended_price

    figure = Figure(figsize=(8, 6), layout="constrained")
    above, below = figure.subplots(2, sharex=True, height_ratios=(2, 1))
    plot_recommended_price(found.outlook, above)
    plot_loss_probability(found.outlook, below, hold=found.hold, valid_for=found.valid_for, target=target)
    figure.savefig(path, dpi=120)
