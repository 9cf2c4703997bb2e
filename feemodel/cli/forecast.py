"""`feemodel forecast`: the distribution of future L1 fees."""

from typing import TYPE_CHECKING, Annotated, Any, get_args

from feemodel.cli.output import DATASETS, Answer, Table
from feemodel.cli.parameters import FLAT, History, Paths, Seed, default_of, one_of, text
from feemodel.cli.verb import verb
from feemodel.ethereum._quantities import WEI_PER_ETH, WEI_PER_GWEI
from feemodel.progress import reporting
from feemodel.simulation.forecast.distribution import HORIZONS, forecast
from feemodel.simulation.forecast.methods import Method

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Variable of the forecast → its key in JSON, and its name, unit and size of the unit in a table.
VARIABLES = {
    "base_fee_quantile": ("baseFeeWei", "L1 base fee", "gwei / gas", WEI_PER_GWEI),
    "blob_base_fee_quantile": ("blobBaseFeeWei", "blob base fee", "gwei / gas", WEI_PER_GWEI),
    "cost_quantile": ("submissionCostWei", "cost of a submission of one blob", "ETH", WEI_PER_ETH),
}


@verb(out=DATASETS, figure=True, what="the quantiles")
def command(
    *,
    horizon: Annotated[
        list[str], text("time ahead, a multiple of ten minutes up to 7d; may be repeated (default: 10min 1h 6h 24h)")
    ] = (),  # type: ignore[assignment]
    method: Annotated[Any, one_of("method", get_args(Method))] = default_of(forecast, "method"),
    l1: Annotated[History, FLAT] = History(),
    paths: Paths = default_of(forecast, "paths"),
    seed: Seed = 1,
) -> Answer:
    """Forecast the distribution of L1 fees: quantiles, and a fan chart of each fee."""
    history = l1.read()
    with reporting(True, None, "drawing paths"):
        found = forecast(history, horizons=tuple(horizon or HORIZONS), method=method, paths=paths, rng=seed)
    levels = [f"q{round(100 * level):02}" for level in found["quantile"].to_numpy().tolist()]
    tables: list[Table] = []
    horizons: dict[str, dict[str, dict[str, float]]] = {}
    for name, (key, meaning, unit, scale) in VARIABLES.items():
        tables.append(Table(f"{meaning} [{unit}]", []))
        for row in found[name]:
            ahead, values = _length(float(row.horizon)), dict(zip(levels, row.to_numpy().tolist(), strict=True))
            horizons.setdefault(ahead, {})[key] = values
            tables[-1].rows.append({"ahead": ahead} | {level: value / scale for level, value in values.items()})
    data = {name: found.attrs[name] for name in ("origin", "method", "source", "assumed")} | {"horizons": horizons}
    notes = ["Method: {method}. Newest row: {origin}. Assumed: {assumed}.".format(**found.attrs)]

    def draw(figure: "Figure") -> None:
        from feemodel.plots import plot_fee_fan

        for axes, fee in zip(figure.subplots(2, sharex=True), ("base_fee", "blob_base_fee"), strict=True):
            plot_fee_fan(found, axes, fee=fee, history=history)
        low, high = found["base_fee"].isel(step=-1).quantile([0.05, 0.95]).to_numpy() / WEI_PER_GWEI
        figure.suptitle(f"At the end, the base fee is {low:.2g} to {high:.2g} gwei on 90 % of paths")

    return Answer(data, tables, notes, file=found[[*VARIABLES]], figure=draw, size=(8, 7.5))


def _length(seconds: float) -> str:
    """Format a duration of whole minutes as `--horizon` accepts it."""
    minutes = round(seconds / 60)
    return f"{minutes}min" if minutes % 60 else f"{minutes // 60}h"
