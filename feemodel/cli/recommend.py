"""`feemodel recommend`: fee parameters of a chain from a forecast of L1 fees."""

from dataclasses import asdict, replace
from typing import Annotated, Any, get_args

from feemodel.cli.output import TABLES, Answer, Table
from feemodel.cli.parameters import FLAT, HOUR, History, LossProbability, Paths, Seed, default_of, one_of, real, whole
from feemodel.cli.verb import verb
from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import WEI_PER_GWEI
from feemodel.progress import reporting
from feemodel.simulation.forecast.recommend import SUBMISSIONS, Family, recommend
from feemodel.simulation.surfaces import Submission

INTERVAL = default_of(recommend, "interval")  # time between submissions [s]


@verb(out=TABLES, what="the parameters")
def command(
    family: Annotated[Any, one_of("family of the chain's fee rule", get_args(Family))],
    /,
    *,
    loss_probability: LossProbability = default_of(recommend, "loss_probability"),
    hold: Annotated[float, real("time until parameters are set again", "s", above=0)] = default_of(recommend, "hold"),
    gas: Annotated[int | None, whole("L1 execution gas of a submission (default: the family's)", "gas")] = None,
    l1: Annotated[History, FLAT] = History(),
    paths: Paths = default_of(recommend, "paths"),
    seed: Seed = 1,
) -> Answer:  # fmt: skip
    """Recommend a chain's fee parameters for a probability of a loss, from a forecast."""
    if gas is None and family not in SUBMISSIONS:
        raise InvalidInput("--gas", f"expected a value, because no source gives that of {family}", gas)
    with reporting(True, None, "drawing paths"):
        found = recommend(
            l1.read(), family=family, loss_probability=loss_probability, hold=hold,
            submission=None if gas is None else replace(SUBMISSIONS.get(family, Submission()), execution_gas=gas),
            paths=paths, rng=seed,
        )  # fmt: skip
    rows = [
        {"parameter": name, "unit": one.unit, "value": one.value, "low": one.low, "high": one.high}
        for name, one in found.parameters.items()
    ]
    table = Table(f"Recommended for {found.family}, with 90 % intervals", rows)
    low, middle, high = (cost / WEI_PER_GWEI for cost in found.cost_per_byte)
    # "at least", if the loss probability is still below the target when the paths end
    at_least = "at least " if found.valid_for >= 2.0 * found.hold else ""
    notes = [
        f"Submission: {found.submission.execution_gas:,} gas, one blob, {found.submission.capacity:,} bytes, "
        f"every {INTERVAL / 60:g} min.",
        "Factor on the chain's rule: {:.3f}, from {:.3f} to {:.3f}.".format(found.factor, *found.factor_interval),
        f"Expected margin: {found.expected_margin:.1%}. "
        f"Loss probability over {found.hold / HOUR:g} h: {found.loss_probability:.1%}.",
        f"Cost of a byte [gwei]: median {middle:.4g}; 90 % of paths from {low:.4g} to {high:.4g}.",
        f"Valid for {at_least}{found.valid_for / HOUR:.1f} h, until {found.valid_until}.",
    ]
    return Answer(asdict(found), [table], notes)
