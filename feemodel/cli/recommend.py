"""`feemodel recommend`: fee parameters of a chain from a forecast of L1 fees."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from feemodel.cli.output import TABLES, Answer, Table, shown
from feemodel.cli.parameters import FLAT, HOUR, History, Paths, Seed, default_of, one_of, real
from feemodel.cli.verb import verb
from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import WEI_PER_GWEI
from feemodel.simulation.forecast._recommend import recommend

if TYPE_CHECKING:
    from feemodel.simulation.forecast._recommend import Recommendation

FAMILIES = ("linea", "op-stack", "scroll", "zksync", "arbitrum")


@verb(out=TABLES, figure=True, what="the parameters")
def command(
    family: Annotated[str, one_of("family of the chain's fee rule", FAMILIES)],
    /,
    *,
    loss_probability: Annotated[float | None, real("probability that fees do not pay for posting (default: 0.05)")]
    = None,
    margin: Annotated[float | None, real("instead: median margin of fees over cost; 0.2 is 20 %")] = None,
    hold: Annotated[float, real("time until parameters are set again", "s", above=0)] = default_of(recommend, "hold"),
    interval: Annotated[float, real("time between submissions, a multiple of 120 s", "s", above=0)]
    = default_of(recommend, "interval"),
    l1: Annotated[History, FLAT] = History(),
    paths: Paths = default_of(recommend, "paths"),
    seed: Seed = 1,
) -> Answer:  # fmt: skip
    """Recommend a chain's fee parameters for a probability of a loss or a margin, from a forecast."""
    if loss_probability is not None and margin is not None:
        raise InvalidInput("margin", "expected either --margin or --loss-probability", margin)
    found = recommend(
        l1.read(), family=family, loss_probability=loss_probability, margin=margin, hold=hold, interval=interval,
        paths=paths, rng=seed,
    )  # fmt: skip
    rows = [(name, one.unit, one.meaning, shown(one.value)) for name, one in found.parameters.items()]
    table = Table(f"Recommended for {found.family}", ("parameter", "unit", "meaning", "value"), rows, left=3)
    low, middle, high = (cost / WEI_PER_GWEI for cost in found.cost_per_byte)
    # "at least", if the loss probability is still below the target when the paths end
    at_least = "at least " if found.valid_for >= float(found.outlook["elapsed"][-1]) else ""
    notes = [
        f"Factor on the chain's rule: {found.factor:.4f}. Expected margin: {found.expected_margin:.1%}.",
        f"Loss probability over {found.hold / HOUR:g} h: {found.loss_probability:.1%}.",
        f"Cost of a byte [gwei]: median {middle:.4g}; 90 % of paths from {low:.4g} to {high:.4g}.",
        f"Valid for {at_least}{found.valid_for / HOUR:.1f} h, until {found.valid_until}.",
    ]
    wanted = 0.05 if loss_probability is None else loss_probability
    return Answer(
        {name: value for name, value in asdict(found).items() if name != "outlook"}, [table], notes,
        file=[{"parameter": name, "value": one.value, "unit": one.unit, "meaning": one.meaning}
              for name, one in found.parameters.items()],
        figure=lambda: _draw(found, wanted if margin is None else None),
    )  # fmt: skip


def _draw(found: "Recommendation", target: float | None) -> Any:
    from matplotlib.figure import Figure

    from feemodel.plots import plot_loss_probability, plot_recommended_price

    figure = Figure(figsize=(8, 6), layout="constrained")
    above, below = figure.subplots(2, sharex=True, height_ratios=(2, 1))
    plot_recommended_price(found.outlook, above)
    plot_loss_probability(found.outlook, below, hold=found.hold, valid_for=found.valid_for, target=target)
    return figure
