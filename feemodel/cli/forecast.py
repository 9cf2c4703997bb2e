"""Commands for forecasts: `forecast` gives the distribution of L1 fees, and `recommend` fee parameters."""

from dataclasses import asdict, replace
from typing import Annotated, Any, get_args

from feemodel import plots
from feemodel.cli.output import DATASETS, HOUR, TABLES, Answer, Table
from feemodel.cli.parameters import FLAT, History, LossProbability, Paths, Seed, default_of, one_of, real, text, whole
from feemodel.cli.verb import verb
from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import WEI_PER_ETH, WEI_PER_GWEI
from feemodel.progress import reporting
from feemodel.simulation.forecast.distribution import HORIZONS, forecast
from feemodel.simulation.forecast.methods import Method
from feemodel.simulation.forecast.recommend import HOLD, INTERVAL, SUBMISSIONS, Family
from feemodel.simulation.forecast.recommend import recommend as recommendation
from feemodel.simulation.surfaces import Submission

#: Variable of the forecast → key in JSON, and name, unit and size of the unit in a table.
VARIABLES = {
    "base_fee_quantile": ("baseFeeWei", "L1 base fee", "gwei / gas", WEI_PER_GWEI),
    "blob_base_fee_quantile": ("blobBaseFeeWei", "blob base fee", "gwei / gas", WEI_PER_GWEI),
    "cost_quantile": ("submissionCostWei", "cost of a submission of one blob", "ETH", WEI_PER_ETH),
}


@verb(out=DATASETS, figure=True, what="the quantiles")
def command(
    *,
    horizon: Annotated[list[str], text("time ahead, up to 7d; may be repeated (default: 10min 1h 6h 24h)")] = (),  # type: ignore[assignment]
    method: Annotated[Any, one_of("method", get_args(Method))] = default_of(forecast, "method"),
    l1: Annotated[History, FLAT] = History(),
    paths: Paths = default_of(forecast, "paths"),
    seed: Seed = 1,
) -> Answer:
    history = l1.read()
    with reporting(True, None, "drawing paths"):
        found = forecast(history, horizons=tuple(horizon or HORIZONS), method=method, paths=paths, rng=seed)
    levels = [f"q{round(100 * level):02}" for level in found["quantile"].to_numpy().tolist()]
    tables: list[Table] = []
    horizons: dict[str, dict[str, dict[str, float]]] = {}
    for name, (key, meaning, unit, scale) in VARIABLES.items():
        tables.append(Table(f"{meaning} [{unit}]", []))
        for row in found[name]:
            minutes = round(float(row.horizon) / 60)
            ahead = f"{minutes}min" if minutes % 60 else f"{minutes // 60}h"
            values = dict(zip(levels, row.to_numpy().tolist(), strict=True))
            horizons.setdefault(ahead, {})[key] = values
            tables[-1].rows.append({"ahead": ahead} | {level: value / scale for level, value in values.items()})
    data = {name: found.attrs[name] for name in ("origin", "method", "source", "assumed")} | {"horizons": horizons}
    notes = ["Method: {method}. Newest row: {origin}. Assumed: {assumed}.".format(**found.attrs)]

    def draw(figure: Any) -> None:
        for axes, fee in zip(figure.subplots(2, sharex=True), ("base_fee", "blob_base_fee"), strict=True):
            plots.plot_fee_fan(found, axes, fee=fee, history=history)
        axes.get_legend().remove()  # the same as above
        low, high = found["base_fee"].isel(step=-1).quantile([0.05, 0.95]).to_numpy() / WEI_PER_GWEI
        figure.suptitle(f"In {ahead}, the base fee is {low:.2g} to {high:.2g} gwei on 90 % of paths")

    return Answer(data, tables, notes, file=found[[*VARIABLES]], figure=draw, size=(8, 7.5))


@verb(out=TABLES, what="the parameters")
def recommend(
    family: Annotated[Any, one_of("family of the chain's fee rule", get_args(Family))],
    /,
    *,
    loss_probability: LossProbability = default_of(recommendation, "loss_probability"),
    hold: Annotated[float, real("time until parameters are set again", "s", above=0)] = HOLD,
    execution_gas: Annotated[int | None, whole("L1 execution gas of a submission (default: its own)", "gas")] = None,
    l1: Annotated[History, FLAT] = History(),
    paths: Paths = default_of(recommendation, "paths"),
    seed: Seed = 1,
) -> Answer:  # fmt: skip
    if execution_gas is None and family not in SUBMISSIONS:
        raise InvalidInput("--execution-gas", f"expected a value, because no source gives that of {family}", None)
    own = SUBMISSIONS.get(family, Submission())
    submission = None if execution_gas is None else replace(own, execution_gas=execution_gas)
    with reporting(True, None, "drawing paths"):
        found = recommendation(
            l1.read(), family=family, loss_probability=loss_probability, hold=hold, submission=submission, paths=paths,
            rng=seed,
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
