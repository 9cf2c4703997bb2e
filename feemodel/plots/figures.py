"""Figures: a Dataset or a table in, a matplotlib Axes out. Nothing here computes a fee."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import LogNorm
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from feemodel.ethereum.quantities import WEI_PER_GWEI

if TYPE_CHECKING:
    import xarray

# Okabe and Ito's palette: told apart by colour-blind readers too.
BLUE, ORANGE, GREEN, VERMILION, PURPLE, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#555555"
COLOURS = (BLUE, ORANGE, GREEN, VERMILION, PURPLE)


def plot_recovery(
    surface: "xarray.Dataset",
    ax: Axes,
    *,
    margin: float,
    observed: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
) -> Axes:
    """How far revenue covers posting, over L1 base fee and blob base fee, both logarithmic.

    Parameters
    ----------
    surface : `recovery` (margin, base_fee, blob_base_fee), see `recovery_over_l1_fees`.
    margin : which slice is coloured; the line of break-even is drawn for every margin of the surface.
    observed : L1 fees that really were, drawn as dots [wei / gas].
    """
    x, y = surface["base_fee"].values / WEI_PER_GWEI, surface["blob_base_fee"].values / WEI_PER_GWEI
    chosen = surface["recovery"].sel(margin=margin).values.T
    norm = LogNorm(0.1, 10)
    image = ax.pcolormesh(x, y, np.clip(chosen, 0.1, 10), norm=norm, cmap="RdYlBu", shading="gouraud", rasterized=True)
    bar = ax.figure.colorbar(image, ax=ax, extend="both")
    _ticks(bar.ax.yaxis, lambda value, _: f"{value:g}×")
    bar.set_label(f"revenue over posting cost, margin {margin:g}")
    if observed is not None:
        base_fee, blob_base_fee = (fees / WEI_PER_GWEI for fees in observed)
        ax.plot(base_fee, blob_base_fee, ".", color="black", markersize=1.6, alpha=0.35, label="ten-minute means on L1")
    for line, factor in zip((":", "-", "--", "-."), surface["margin"].values, strict=False):
        values = surface["recovery"].sel(margin=factor).values.T
        ax.contour(x, y, values, levels=[1.0], colors="black", linestyles=line, linewidths=1.3)
        ax.plot([], [], color="black", linestyle=line, linewidth=1.3, label=f"break-even at margin {factor:g}")
    _logarithmic(ax, x, y)
    ax.set(xlabel="L1 base fee [gwei per gas]", ylabel="blob base fee [gwei per gas]")
    ax.legend(loc="center left", fontsize=8, framealpha=0.9)
    return ax


def plot_fee_by_size(
    ax: Axes, series: Mapping[str, tuple[NDArray[Any], NDArray[Any]]], *, cost_per_byte: Mapping[str, float]
) -> Axes:
    """What each transaction pays against its compressed size, and what its bytes cost, both logarithmic.

    Parameters
    ----------
    series : label → (compressed size [byte], total fee [wei]), one dot a transaction.
    cost_per_byte : label → cost of a compressed byte [wei / byte], one line each.
    """
    for colour, (label, (size, fee)) in zip(COLOURS, series.items(), strict=False):
        ax.plot(
            size, np.asarray(fee, dtype=float) / WEI_PER_GWEI, ".", color=colour, markersize=3, alpha=0.35, label=label
        )
    sizes = np.concatenate([np.asarray(size) for size, _ in series.values()])
    span = np.array([sizes.min(), sizes.max()], dtype=float)
    for line, (label, cost) in zip(("-", "--", ":"), cost_per_byte.items(), strict=False):
        ax.plot(span, span * cost / WEI_PER_GWEI, line, color=GREY, linewidth=1.5, label=label)
    ax.set(xscale="log", yscale="log", xlabel="compressed size [bytes]", ylabel="total fee of the transaction [gwei]")
    ax.xaxis.set_major_formatter(FuncFormatter(_plain))
    ax.yaxis.set_major_formatter(FuncFormatter(_plain))
    ax.grid(alpha=0.25)
    legend = ax.legend(fontsize=8, loc="upper left", markerscale=3)
    for handle in legend.legend_handles:
        if handle is not None:
            handle.set_alpha(1.0)
    return ax


def plot_verification_surface(surface: "xarray.Dataset", ax: Axes, *, margin: float) -> Axes:
    """The median transaction's fee over verification cost and price ratio, with lines of equal recovery.

    Parameters
    ----------
    surface : see `verification_surface`.
    margin : which slice is drawn.
    """
    chosen = surface.sel(margin=margin)
    x, y = surface["gas_price_ratio"].values, surface["verification_gas_cost"].values / 1e6
    median = chosen["fee_quantile"].sel(quantile=0.5).values / WEI_PER_GWEI
    image = ax.pcolormesh(x, y, median, norm=LogNorm(), cmap="viridis", shading="gouraud", rasterized=True)
    bar = ax.figure.colorbar(image, ax=ax)
    _ticks(bar.ax.yaxis)
    bar.set_label(f"fee of the median transaction [gwei], margin {margin:g}")
    lines = ax.contour(x, y, chosen["recovery"].values, levels=_levels(chosen["recovery"].values), colors="white")
    ax.clabel(lines, fmt=lambda level: f"{level:g}×", fontsize=8)
    _logarithmic(ax, x, y)
    ax.set(xlabel="L1 gas price over L2 gas price", ylabel="verification cost [million L1 gas]")
    return ax


def plot_fee_curves(
    ax: Axes, size: NDArray[Any], curves: Iterable[tuple[str, NDArray[Any], NDArray[Any], NDArray[Any]]]
) -> Axes:
    """Fees per gas against compressed size: for each curve its label, middle, lower and upper edge [wei / gas]."""
    for colour, (label, middle, lower, upper) in zip(COLOURS, curves, strict=False):
        ax.plot(size, middle / WEI_PER_GWEI, color=colour, label=label)
        ax.fill_between(size, lower / WEI_PER_GWEI, upper / WEI_PER_GWEI, color=colour, alpha=0.18, linewidth=0)
    ax.set(xscale="log", yscale="log", xlabel="compressed size [bytes]", ylabel="priority fee [gwei per gas]")
    ax.xaxis.set_major_formatter(FuncFormatter(_plain))
    ax.yaxis.set_major_formatter(FuncFormatter(_plain))
    ax.grid(alpha=0.25)
    ax.legend(fontsize=8, loc="upper left")
    return ax


def plot_distributions(ax: Axes, series: Mapping[str, NDArray[Any]], *, label: str, scale: str = "log") -> Axes:
    """The share of transactions up to each value, one line a series; `scale` is the value axis's, "log" or "linear"."""
    for colour, (name, values) in zip(COLOURS, series.items(), strict=False):
        ordered = np.sort(np.asarray(values))
        ax.step(ordered, np.arange(1, len(ordered) + 1) / len(ordered), where="post", color=colour, label=name)
    ax.set(xscale=scale, xlabel=label, ylabel="share of transactions", ylim=(0, 1))
    ax.xaxis.set_major_formatter(FuncFormatter(_plain))
    ax.grid(alpha=0.25)
    ax.legend(fontsize=8)
    return ax


def plot_comparison(ax: Axes, rows: Sequence[tuple[str, float, float]]) -> Axes:
    """What each rule takes, over a logarithmic axis: its name, its L1 part and its L2 part [wei], cheapest on top."""
    ordered = sorted(rows, key=lambda row: row[1] + row[2])
    names = [name for name, _, _ in ordered]
    total = np.array([l1 + l2 for _, l1, l2 in ordered]) / WEI_PER_GWEI
    place = np.arange(len(ordered))
    ax.barh(place, total, height=0.62, color="#d9d9d9", label="total")
    for offset, colour, part, label in ((-0.15, BLUE, 1, "L1 part"), (0.15, ORANGE, 2, "L2 part")):
        values = np.array([row[part] for row in ordered]) / WEI_PER_GWEI
        ax.barh(place + offset, values, height=0.24, color=colour, label=label)
    for y, value in zip(place, total, strict=True):
        ax.annotate(f" {value:,.0f}" if value >= 100 else f" {value:.3g}", (value, y), va="center", fontsize=8)
    smallest = min(part for row in ordered for part in row[1:] if part > 0) / WEI_PER_GWEI
    ax.set(xscale="log", xlabel="fee [gwei]", xlim=(smallest / 2, total.max() * 4))
    ax.set_yticks(place, names)
    ax.invert_yaxis()
    ax.xaxis.set_major_formatter(FuncFormatter(_plain))
    ax.grid(axis="x", alpha=0.25)
    ax.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1))
    return ax


def _logarithmic(ax: Axes, x: NDArray[Any], y: NDArray[Any]) -> None:
    ax.set(xscale="log", yscale="log", xlim=(x.min(), x.max()), ylim=(y.min(), y.max()))
    _ticks(ax.xaxis)
    _ticks(ax.yaxis)


def _ticks(axis: Axis, formatter: Callable[[float, object], str] | None = None) -> None:
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < 1e4 else (1,), numticks=12))
    axis.set_major_formatter(FuncFormatter(formatter or _plain))
    axis.set_minor_formatter(NullFormatter())


def _levels(values: NDArray[np.float64]) -> Sequence[float]:
    around = np.array([0.5, 0.8, 1, 1.1, 1.2, 1.25, 1.3, 1.5, 2, 3, 5, 10])
    inside = around[(around > values.min()) & (around < values.max())]
    return [float(level) for level in inside]


def _plain(value: float, _: object = None) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"
