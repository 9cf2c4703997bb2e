"""Fan charts of forecasts: what was, and the distribution ahead."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

from feemodel.ethereum.quantities import WEI_PER_GWEI
from feemodel.plots.figures import BLUE, GREY, ORANGE, draw_bands, finished, given_or_new, log_ticks
from feemodel.plots.simulation import FEE_NAMES

if TYPE_CHECKING:
    import xarray

BANDS = ((0.05, 0.95, 0.2), (0.25, 0.75, 0.35))  # quantiles, and how dark between them


def plot_forecast(
    found: "xarray.Dataset",
    ax: Axes | None = None,
    *,
    fee: str = "base_fee",
    history: "xarray.Dataset | None" = None,
) -> Axes:
    """Draw the bands of a forecast's sample paths over time, with two of them; logarithmic.

    Parameters
    ----------
    found : of `feemodel.forecast`, with at least two paths.
    ax : to draw on; a new figure's unless given.
    fee : "base_fee" or "blob_base_fee".
    history : a scenario with times; as much of it as the forecast is long is drawn before the origin, and what comes
        after the origin over the bands.
    """
    ax = given_or_new(ax)
    times, values = found["time"].to_numpy(), found[fee].to_numpy() / WEI_PER_GWEI
    draw_bands(ax, times, values, BANDS)
    ax.plot(times, np.median(values, axis=0), color=BLUE, linewidth=1.6, label="median")
    ax.plot(times, values[:2].T, color=GREY, linewidth=0.6, label=["two paths", "_second path"])
    first = times[0]
    if history is not None:
        first = times[0] - (times[-1] - times[0])
        seen = (history["time"].to_numpy() >= first) & (history["time"].to_numpy() <= times[-1])
        before = history.isel(step=seen, path=0)
        ax.plot(before["time"], before[fee] / WEI_PER_GWEI, color=ORANGE, linewidth=1.0, label="what was")
        ax.axvline(times[0], color="black", linewidth=0.6)
    places = AutoDateLocator()  # type: ignore[no-untyped-call]
    ax.xaxis.set_major_locator(places)
    ax.xaxis.set_major_formatter(ConciseDateFormatter(places))  # type: ignore[no-untyped-call]
    ax.set(yscale="log", ylabel=FEE_NAMES[fee], xlim=(first, times[-1]))
    log_ticks(ax.yaxis)
    # Above the axes, which the bands fill.
    return finished(ax, ncols=5, loc="lower left", bbox_to_anchor=(0, 1), frameon=False)
