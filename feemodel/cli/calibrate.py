"""`feemodel calibrate`: the smallest margin for which the probability of a loss stays below a bound."""

import math
from dataclasses import replace
from typing import Annotated, Any

from feemodel.checks import share
from feemodel.cli.backtest import Traffic
from feemodel.cli.output import TABLES, Answer, Table
from feemodel.cli.parameters import FLAT, HOUR, LossProbability, Sizing, default_of, one_of
from feemodel.cli.paths import BLOCK_HOURS, Scenario
from feemodel.cli.verb import verb
from feemodel.ethereum._quantities import WEI_PER_GWEI
from feemodel.simulation.calibrate import calibrate

HOURS = 24.0  # length of a path, unless it is given
LOSING_PATHS = 10  # number of paths that have a loss at the margin, unless the number of paths is given


@verb(out=TABLES, what="the loss curve")
def command(
    *,
    loss_probability: LossProbability = 0.05,
    vary: Annotated[Any, one_of("margin to find", ("estimate_margin", "margin"))] = default_of(calibrate, "vary"),
    scenario: Annotated[Scenario, FLAT] = Scenario(),
    traffic: Annotated[Traffic, FLAT] = Traffic(),
    sizing: Annotated[Sizing, FLAT] = Sizing(),
) -> Answer:
    """Find the smallest margin that keeps the probability of a loss below a bound.

    By default, the number of paths is 10 / probability of a loss, and a path has 24 hours.
    """
    from feemodel.simulation.closed_loop.demand import Demand
    from feemodel.simulation.scenarios import duration

    bound = share("loss_probability", loss_probability)
    paths = scenario.paths or math.ceil(LOSING_PATHS / bound)
    scenario = replace(scenario, paths=paths, hours=scenario.hours or HOURS)
    history, made = traffic.read(scenario, sizing)
    fees = scenario.l1_fees(history, traffic.seed)
    found = calibrate(l1_fees=fees, **made, loss_probability=loss_probability, vary=vary, progress=True)
    hours, source = duration(fees) / HOUR, fees.attrs["source"]
    curve = found.loss_curve().to_dataframe().reset_index().to_dict("records")
    data = {name: value for name, value in found._asdict().items() if name != "break_even"}
    data |= {"vary": vary, "l1_fees": source, "hours": hours, "loss_curve": curve}
    said = [found.reason, f"L1 fees: {source}", Demand(rate=made["arrival_rate"]).resampling]
    notes = [f"{words[0].upper()}{words[1:]}." for words in said if words]
    row = {"margin": vary, "value": found.margin, f"{found.confidence:.0%} from": found.low, "to": found.high,
           "paths with a loss": found.losing}  # fmt: skip
    title = f"P(loss) at most {found.loss_probability:.2%} over {found.paths:,} paths of {hours:g} h"
    title = f"Assumed: {_assumed(made, scenario)}.\n{title}"
    return Answer(data, [Table(title, [row])], notes, file=curve, code=0 if found.margin is not None else 1)


def _assumed(made: dict[str, Any], scenario: Scenario) -> str:
    """Return what the margin depends on most, as text."""
    rule, posting = made["rule"], made["posting"]
    shared = "no sharing" if posting.stream_ratio == 1.0 else f"stream {posting.stream_ratio:g} of the sizes"
    bounds = f"bounds {rule.lower_bound:,.0f} to {rule.upper_bound:,.0f} wei / byte"
    tip = posting.submission.tip / WEI_PER_GWEI
    blocks = scenario.block_hours or BLOCK_HOURS
    return f"{shared}, no finalization, tip {tip:g} gwei, {bounds}, blocks of {blocks:g} h"
