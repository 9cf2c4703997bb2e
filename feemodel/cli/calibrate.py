"""`feemodel calibrate`: the smallest margin for which the probability of a loss stays below a bound."""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from feemodel.checks import share
from feemodel.cli.backtest import Hours, Kind, Scenario, Traffic, read_experiment, read_history
from feemodel.cli.output import TABLES, Answer, Table
from feemodel.cli.parameters import (
    FLAT,
    HOUR,
    FileOptions,
    LossProbability,
    Paths,
    Sizing,
    Workers,
    default_of,
    one_of,
    real,
    whole,
)
from feemodel.cli.verb import verb
from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import WEI_PER_GWEI
from feemodel.simulation.calibrate import calibrate

if TYPE_CHECKING:
    from feemodel.simulation.calibrate import Calibration

CURVE_POINTS = 201
LOSING_PATHS = 10  # number of paths that have a loss at the margin, unless the number of paths is given


@dataclass(frozen=True)
class Drawn(Scenario):
    """L1 fees of a calibration, which needs many paths."""

    scenario: Kind = "bootstrap"
    paths: Paths | None = None  # type: ignore[assignment]
    hours: Hours = 24.0


@verb(out=TABLES, what="the loss curve")
def command(
    *,
    loss_probability: LossProbability = 0.05,
    confidence: Annotated[float, real("confidence level of the interval of the margin")]
    = default_of(calibrate, "confidence"),
    vary: Annotated[str, one_of("margin to find", ("estimate_margin", "margin"))] = default_of(calibrate, "vary"),
    counted: Annotated[str, one_of("fees that pay for posting", ("data_fees", "total_fees"))]
    = default_of(calibrate, "counted"),
    highest: Annotated[float, real("maximum margin of the search")] = default_of(calibrate, "highest"),
    histories: Annotated[int | None, whole("also calibrate on this many bootstrapped histories", minimum=1)] = None,
    workers: Workers = None,
    scenario: Annotated[Drawn, FLAT] = Drawn(),
    traffic: Annotated[Traffic, FLAT] = Traffic(),
    files: Annotated[FileOptions, FLAT] = FileOptions(),
    sizing: Annotated[Sizing, FLAT] = Sizing(),
) -> Answer:  # fmt: skip
    """Find the smallest margin that keeps the probability of a loss below a bound.

    By default, the number of paths is 10 / probability of a loss.
    """
    from feemodel.simulation.closed_loop.demand import Demand
    from feemodel.simulation.scenarios import duration

    if scenario.scenario == "history":
        reason = "expected bootstrap or demand, because history has only one path"
        raise InvalidInput("scenario", reason, scenario.scenario)
    if histories is not None and scenario.scenario != "bootstrap":
        raise InvalidInput("histories", "expected only with --scenario bootstrap", histories)
    bound = share("loss_probability", loss_probability)
    if scenario.paths is None:
        scenario = replace(scenario, paths=math.ceil(LOSING_PATHS / bound))
    made = read_experiment(scenario, traffic, files, sizing)
    terms: dict[str, Any] = {
        "loss_probability": loss_probability, "confidence": confidence, "vary": vary, "counted": counted,
        "highest": highest, "workers": workers, "progress": True,
    }  # fmt: skip
    found = calibrate(**made, **terms)
    drawn = None if histories is None else _drawn_histories(histories, scenario, traffic, made, terms)
    hours, source = duration(made["l1_fees"]) / HOUR, made["l1_fees"].attrs["source"]
    curve = _loss_curve(found)
    data = {name: value for name, value in found._asdict().items() if name != "break_even"}
    data |= {"vary": vary, "counted": counted, "l1_fees": source, "hours": hours}
    notes = [found.reason[0].upper() + found.reason[1:] + "."] if found.reason else []
    if drawn is not None:
        ends = f"{drawn['low']:.3f} to {drawn['high']:.3f}"
        notes.append(f"{histories} bootstrapped histories: {found.confidence:.0%} of their margins are from {ends}.")
    times = Demand(rate=made["arrival_rate"]).resampling
    revenue = "all" if counted == "total_fees" else "the part that depends on size"
    notes += [f"L1 fees: {source}.", f"Fees counted: {revenue}. {times[0].upper()}{times[1:]}."]
    low, high = (f"{end:.3f}" if end is not None else "?" for end in (found.low, found.high))
    rows = [] if found.margin is None else [(vary, f"{found.margin:.3f}", low, high, f"{found.losing:,}")]
    title = f"P(loss) at most {found.loss_probability:.2%} over {found.paths:,} paths of {hours:g} h"
    title = f"Assumed: {_assumed(made, scenario)}.\n{title}"
    columns = ("margin", "value", f"{found.confidence:.0%} from", "to", "paths with a loss")
    return Answer(
        data | {"loss_curve": curve, "histories": drawn}, [Table(title, columns, rows)], notes, file=curve,
        code=0 if found.margin is not None else 1,
    )  # fmt: skip


def _assumed(made: dict[str, Any], scenario: Scenario) -> str:
    """Return what the margin depends on most, as text."""
    rule, posting = made["rule"], made["posting"]
    shared = "no sharing" if posting.stream_ratio == 1.0 else f"stream {posting.stream_ratio:g} of the sizes"
    bounded = "no bounds" if rule.lower_bound is rule.upper_bound is None else "bounds"
    drawn = f", blocks of {scenario.block_hours:g} h" if scenario.scenario == "bootstrap" else ""
    return f"{shared}, no finalization, tip {posting.submission.tip / WEI_PER_GWEI:g} gwei, {bounded}{drawn}"


def _drawn_histories(
    histories: int, scenario: Scenario, traffic: Traffic, made: dict[str, Any], terms: dict[str, Any]
) -> dict[str, Any]:
    from feemodel.simulation.calibrate import calibrate_histories

    assert scenario.hours is not None  # it has a default
    found = calibrate_histories(
        **{name: value for name, value in made.items() if name != "l1_fees"}, **terms,
        history=read_history(scenario, traffic), histories=histories, paths=scenario.paths,
        horizon=scenario.hours * HOUR, block_seconds=[scenario.block_hours * HOUR, 3 * scenario.block_hours * HOUR],
    )  # fmt: skip
    blocks = [
        {"block_hours": float(one["block_seconds"]) / HOUR}
        | {name: float(one[name]) for name in ("margin", "low", "high")}
        for one in (found.isel(block_seconds=index) for index in range(found.sizes["block_seconds"]))
    ]
    return {"histories": histories, "low": found.attrs["low"], "high": found.attrs["high"], "blocks": blocks}


def _loss_curve(found: "Calibration") -> list[dict[str, float]]:
    """Return the loss curve at the break-even margins of at most `CURVE_POINTS` paths."""
    import numpy as np

    curve = found.loss_curve()
    if curve.sizes["margin"] > CURVE_POINTS:
        curve = curve.isel(margin=np.linspace(0, curve.sizes["margin"] - 1, CURVE_POINTS).round().astype(int))
    columns = {name: curve[name].values.tolist() for name in ("margin", "loss_probability", "low", "high")}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
