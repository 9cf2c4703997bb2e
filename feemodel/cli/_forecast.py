"""`feemodel forecast`: the distribution of future L1 fees."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from feemodel.cli._backtest import l1_history
from feemodel.cli._options import add_l1, count, default_of, whole_from_0
from feemodel.cli._output import add_figure, checked_out, length_text, print_json, print_table
from feemodel.cli._subjects import read_columns
from feemodel.ethereum._quantities import WEI_PER_ETH, WEI_PER_GWEI

if TYPE_CHECKING:
    import xarray

FEES = ("base_fee", "blob_base_fee")
VARIABLES = {
    "base_fee": ("L1 base fee", "gwei / gas", WEI_PER_GWEI),
    "blob_base_fee": ("blob base fee", "gwei / gas", WEI_PER_GWEI),
    "cost": ("cost of a submission of one blob", "ETH", WEI_PER_ETH),
}
METHODS = ("auto", "climatology", "persistence", "seasonal", "blend")
HORIZONS = ("10min", "1h", "6h", "24h")
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def add_forecast(parser: argparse.ArgumentParser, function: Callable[..., Any]) -> None:
    """Add the options of a forecast; `read_l1` evaluates the options for L1 fees."""
    add_l1(parser, "L1 fees up to now (default: the month in the package)")
    paths = default_of(function, "paths")
    parser.add_argument("--paths", type=count, default=paths, help="number of sample paths")
    parser.add_argument("--seed", type=whole_from_0, default=1, help="seed of the random numbers")


def read_l1(options: argparse.Namespace) -> "xarray.Dataset":
    """Return the history of L1 fees that the options name."""
    return l1_history(options.l1, read_columns(options.l1_columns, "--l1-columns"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from feemodel.simulation.forecast.distribution import forecast

    parser.add_argument("--horizon", action="append", metavar="LENGTH", help="time ahead of the newest row, a"
                        " multiple of ten minutes up to 7d, such as 6h; may be repeated (default: 10min, 1h,"
                        " 6h, 24h)")  # fmt: skip
    method = default_of(forecast, "method")
    parser.add_argument("--method", choices=METHODS, default=method, help="forecasting method")
    add_forecast(parser, forecast)
    add_figure(parser, "draw a fan chart")
    parser.add_argument("--fee", choices=FEES, default="base_fee", help="fee in the figure")


def run(options: argparse.Namespace) -> int:
    from feemodel.simulation.forecast.distribution import forecast

    figure = checked_out(options, (".png", ".svg", ".pdf"), option="--figure")
    history = read_l1(options)
    horizons = tuple(options.horizon or HORIZONS)
    found = forecast(history, horizons=horizons, method=options.method, paths=options.paths, rng=options.seed)
    if figure is not None:
        _draw(figure, found, history, options.fee)
    if options.json:
        print_json(_answer(found))
        return 0
    for name, (meaning, unit, scale) in VARIABLES.items():
        rows = [
            (length_text(float(row.horizon)), *(f"{value:#.4g}" for value in row.to_numpy() / scale))
            for row in found[f"{name}_quantile"]
        ]
        print_table(f"{meaning} [{unit}]", ("ahead", *(f"{quantile:.0%}" for quantile in QUANTILES)), rows)
    print(f"Method: {found.attrs['method']}. Newest row: {found.attrs['origin']}.")
    if found.attrs["assumed"] != "nothing":
        print(f"Assumed: {found.attrs['assumed']}.")
    return 0


def _answer(found: "xarray.Dataset") -> dict[str, Any]:
    quantiles = found["quantile"].to_numpy().tolist()
    horizons = {}
    for row in range(found.sizes["horizon"]):
        one = found.isel(horizon=row)
        horizons[length_text(float(one.horizon))] = {
            key: dict(zip((f"q{round(100 * q):02}" for q in quantiles), one[name].to_numpy().tolist(), strict=True))
            for key, name in (("baseFee", "base_fee_quantile"), ("blobBaseFee", "blob_base_fee_quantile"),
                              ("submissionCost", "cost_quantile"))
        }  # fmt: skip
    return {name: found.attrs[name] for name in ("origin", "method", "source", "assumed")} | {"horizons": horizons}


def _draw(path: Path, found: "xarray.Dataset", history: "xarray.Dataset", fee: str) -> None:
    from matplotlib.figure import Figure

    from feemodel.plots._forecast import plot_forecast

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    plot_forecast(found, figure.subplots(), fee=fee, history=history)
    figure.savefig(path, dpi=120)
