"""Figures of fees and of the rollups' rules, drawn on Matplotlib `Axes` from a Dataset, a table or arrays.

The functions only draw results and do not compute fees.
"""

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps, rcParams
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.dates import AutoDateLocator, DateFormatter
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from feemodel.checks import instance
from feemodel.ethereum._quantities import WEI_PER_GWEI

if TYPE_CHECKING:
    import xarray

# Colours of Okabe and Ito, which colour-blind readers can distinguish.
BLUE, ORANGE, GREEN, VERMILION, PURPLE, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#555555"
COLOURS = (BLUE, ORANGE, GREEN, VERMILION, PURPLE)
RATIO_STEPS = tuple(float(f"{step}e{power}") for power in range(-6, 12) for step in (1, 2, 5))  # contour levels


def plot_recovery(
    surface: "xarray.Dataset",
    ax: Axes | None = None,
    *,
    margin: float,
    observed: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None,
) -> Axes:
    """Plot the share of posting costs that revenue covers, over L1 base fee and blob base fee (log axes).

    Parameters
    ----------
    surface : Dataset with `recovery` (margin, base_fee, blob_base_fee), revenue / cost of posting [1].
    ax : axes to draw on; `None` makes a new figure.
    margin : margin for which the colours show the recovery [1]. The break-even line is drawn for every margin of
        `surface`.
    observed : observed L1 base fees and blob base fees, each of shape (n,), drawn as dots [wei / gas].

    Returns
    -------
    The axes.

    Raises
    ------
    InvalidInput : `ax` is not an `Axes`.

    >>> import xarray
    >>> from matplotlib.figure import Figure
    >>> coordinates = {"margin": [1.0], "base_fee": [1e9, 1e10], "blob_base_fee": [1e9, 1e10]}
    >>> surface = xarray.Dataset({"recovery": ((*coordinates,), [[[2.0, 1.0], [1.0, 0.5]]])}, coordinates)
    >>> plot_recovery(surface, Figure().subplots(), margin=1.0).get_xlim()
    (np.float64(1.0), np.float64(10.0))
    """
    ax = axes_or_new(ax)
    x, y = surface["base_fee"].values / WEI_PER_GWEI, surface["blob_base_fee"].values / WEI_PER_GWEI
    _filled(ax, x, y, surface["recovery"].sel(margin=margin).values.T, f"fees / posting cost, margin {margin:g}")
    ink = rcParams["text.color"]
    if observed is not None:
        base_fee, blob_base_fee = (fees / WEI_PER_GWEI for fees in observed)
        ax.plot(base_fee, blob_base_fee, ".", color=ink, markersize=1.6, alpha=0.35, label="ten-minute means on L1",
                rasterized=True)  # fmt: skip
    for line, factor in zip(cycle((":", "-", "--", "-.")), surface["margin"].values, strict=False):
        values = surface["recovery"].sel(margin=factor).values.T
        ax.contour(x, y, values, levels=[1.0], colors=ink, linestyles=line, linewidths=1.3)
        ax.plot([], [], color=ink, linestyle=line, linewidth=1.3, label=f"break-even at margin {factor:g}")
    ax.set(xlabel="L1 base fee [gwei per gas]", ylabel="blob base fee [gwei per gas]")
    ax.set(xscale="log", yscale="log", xlim=(x.min(), x.max()), ylim=(y.min(), y.max()))
    for axis in (ax.xaxis, ax.yaxis):
        log_ticks(axis, span=1e4)
    return finished(ax, grid="", loc="center left", framealpha=0.9)


def plot_comparison(rows: "Sequence[tuple[str, float, float]] | xarray.Dataset", ax: Axes | None = None) -> Axes:
    """Plot the fee under each rule, with its L1 part and its L2 part (log axis). The lowest fee is at the top.

    Parameters
    ----------
    rows : name, L1 part [wei] and L2 part [wei] of the fee for each rule; or the result of `feemodel.rollups.compare`,
        whose mean over transactions and time is drawn in ETH, without chains that have no fee. If a part of the
        fee is 0, no dot is drawn for the part, because the axis is logarithmic.
    ax : axes to draw on; `None` makes a new figure.

    Returns
    -------
    The axes.

    Raises
    ------
    InvalidInput : `ax` is not an `Axes`.

    >>> from matplotlib.figure import Figure
    >>> ax = plot_comparison([("expensive", 3e9, 4e9), ("cheap", 1e9, 1e9)], Figure().subplots())
    >>> ax.get_lines()[0].get_xdata().tolist()  # totals [gwei]
    [2.0, 7.0]
    """
    ax = axes_or_new(ax)
    named = rows if isinstance(rows, Sequence) else _mean_fees(rows)
    ordered = sorted(named, key=lambda row: row[1] + row[2])
    position = np.arange(len(ordered))
    total = np.array([l1 + l2 for _, l1, l2 in ordered]) / WEI_PER_GWEI
    parts = np.array([[l1, l2] for _, l1, l2 in ordered], dtype=float) / WEI_PER_GWEI
    parts[parts <= 0.0] = np.nan
    ax.hlines(position, np.fmin(np.nanmin(parts, axis=1), total), total, color="#cccccc", linewidth=1.5, zorder=1)
    ax.plot(total, position, "|", color=rcParams["text.color"], markersize=14, markeredgewidth=2, label="total")
    for column, colour, marker, label in ((0, BLUE, "o", "L1 part (data)"), (1, ORANGE, "D", "L2 part (execution)")):
        ax.plot(parts[:, column], position, marker, color=colour, markersize=6, label=label)
    for y, value in zip(position, total, strict=True):
        shown = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
        ax.annotate(shown, (value, y), (7, 0), textcoords="offset points", va="center", fontsize=8)
    ax.set(xscale="log", xlabel="fee [gwei]", xlim=(np.nanmin(parts) / 2, total.max() * 4))
    ax.set_yticks(position, [name for name, _, _ in ordered])
    ax.set_ylim(len(ordered) - 0.5, -0.5)
    log_ticks(ax.xaxis)
    return finished(ax, grid="x", loc="upper left", bbox_to_anchor=(1.01, 1))


def _mean_fees(fees: "xarray.Dataset") -> list[tuple[str, float, float]]:
    """Return the name of each chain with a fee, and the mean parts of its fee in wei of ETH."""
    parts = [(fees[part].mean(("transaction", "time")) / fees["token_per_eth"]).values for part in ("l1_fee", "l2_fee")]
    rows = zip(fees["chain"].values.tolist(), *parts, strict=True)
    return [(name, float(l1), float(l2)) for name, l1, l2 in rows if np.isfinite(l1 + l2)]


def axes_or_new(ax: Axes | None) -> Axes:
    """Return the given axes, or the axes of a new figure.

    Raises
    ------
    InvalidInput : `ax` is neither `None` nor an `Axes`.
    """
    if ax is None:
        from matplotlib import pyplot

        return pyplot.subplots(layout="constrained")[1]
    return instance("ax", ax, Axes)  # type: ignore[no-any-return]


def time_axis(ax: Axes, dated: bool) -> None:
    """Label the horizontal axis with dates and their years, with hours if it is shorter than four days, or as days."""
    if not dated:
        ax.set_xlabel("days")
        return
    form = "%d %b\n%Y" if np.ptp(ax.get_xlim()) > 4 else "%d %b\n%H:%M"
    ax.xaxis.set_major_locator(AutoDateLocator())  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_formatter(DateFormatter(form))  # type: ignore[no-untyped-call]


def finished(ax: Axes, *, grid: str = "both", **legend: Any) -> Axes:
    """Add a light grid along the axes `grid` ("both", "x", "y" or "") and a small legend; return the axes."""
    ax.grid(visible=False)
    if grid:
        ax.grid(axis=grid, color="0.9")  # type: ignore[arg-type]  # "both", "x" or "y", as Matplotlib expects
    ax.legend(**({"fontsize": 8} | legend))
    return ax


def _filled(ax: Axes, x: NDArray[Any], y: NDArray[Any], values: NDArray[Any], label: str) -> None:
    """Fill the contours of a ratio, in red below 1 and in blue at 1 and above, and add a colour bar."""
    low, high = np.searchsorted(RATIO_STEPS, (values.min(), values.max()), side="right")
    steps = RATIO_STEPS[max(low - 1, 0) : high + 1]
    above = sum(step >= 1.0 for step in steps[:-1])
    below = len(steps) - 1 - above
    red, blue = colormaps["Reds"](np.linspace(0.6, 0.15, below)), colormaps["Blues"](np.linspace(0.06, 0.55, above))
    image = ax.contourf(x, y, np.clip(values, steps[0], steps[-1]), levels=steps, colors=[*red, *blue])
    bar = ax.figure.colorbar(image, ax=ax, ticks=steps)
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{_plain(value)}×"))
    bar.ax.minorticks_off()
    bar.set_label(label)


def log_ticks(axis: Axis, formatter: Callable[[float, object], str] | None = None, *, span: float = 200) -> None:
    """Set ticks at powers of ten.

    If the axis' maximum / minimum is below `span`, also set ticks at 2 and 5 times powers of ten.
    """
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low < span else (1,), numticks=7))
    axis.set_major_formatter(FuncFormatter(formatter or _plain))
    axis.set_minor_formatter(NullFormatter())


def _plain(value: float, _: object = None) -> str:
    return f"{value:,.0f}" if value >= 10 or value == round(value) else f"{value:g}"
