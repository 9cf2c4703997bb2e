"""Plot the prices and loss probabilities under recommended parameters."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes

from feemodel.ethereum._quantities import WEI_PER_GWEI
from feemodel.plots._figures import BLUE, GREY, ORANGE, axes_or_new, date_axis, finished, log_ticks
from feemodel.plots._simulation import BANDS

if TYPE_CHECKING:
    import xarray


def plot_recommended_price(outlook: "xarray.Dataset", ax: Axes | None = None) -> Axes:
    """Plot the price of a byte under recommended parameters, and the distribution of a byte's posting cost (log axis).

    Parameters
    ----------
    outlook : `outlook` of a result of `feemodel.recommend`, with quantiles of `cost_per_byte` and `price_per_byte` over
        time [wei / byte].
    ax : axes to draw on; `None` makes a new figure.

    Returns
    -------
    The axes.

    Raises
    ------
    InvalidInput : `ax` is not an `Axes`.

    >>> import xarray
    >>> from matplotlib.figure import Figure
    >>> times = np.array(["2026-01-08T00", "2026-01-09T00"], "datetime64[ns]")
    >>> values = np.full((5, 2), 2e9)
    >>> outlook = xarray.Dataset(
    ...     {"cost_per_byte": (("quantile", "time"), values), "price_per_byte": (("quantile", "time"), values * 1.5)},
    ...     {"quantile": [0.05, 0.25, 0.5, 0.75, 0.95], "time": times},
    ... )
    >>> ax = plot_recommended_price(outlook, Figure().subplots())
    >>> [line.get_ydata().tolist() for line in ax.get_lines()[:2]]  # cost and price [gwei / byte]
    [[2.0, 2.0], [3.0, 3.0]]
    """
    ax = axes_or_new(ax)
    times = outlook["time"].to_numpy()
    cost, price = (outlook[name] / WEI_PER_GWEI for name in ("cost_per_byte", "price_per_byte"))
    for low, high, opacity in BANDS:
        edges = (cost.sel(quantile=low), cost.sel(quantile=high))
        ax.fill_between(
            times, *edges, color=BLUE, alpha=opacity, linewidth=0, label=f"cost, {low:.0%} to {high:.0%} of paths"
        )  # fmt: skip
    ax.plot(times, cost.sel(quantile=0.5), color=BLUE, linewidth=1.6, label="cost, median")
    ax.plot(times, price.sel(quantile=0.5), color=ORANGE, linewidth=1.6, label="price, median")
    ax.plot(times, price.sel(quantile=[0.05, 0.95]).T, color=ORANGE, linewidth=0.8, linestyle="--",
            label=["price, 5% and 95% of paths", "_other"])  # fmt: skip
    date_axis(ax)
    ax.set(yscale="log", ylabel="gwei per byte", xlim=(times[0], times[-1]))
    log_ticks(ax.yaxis)
    return finished(ax, ncols=3, loc="lower left", bbox_to_anchor=(0, 1), frameon=False)


def plot_loss_probability(
    outlook: "xarray.Dataset", ax: Axes | None = None, *, hold: float, valid_for: float, target: float | None = None
) -> Axes:
    """Plot the probability, at each time, that the fees so far add up to less than the posting costs so far.

    Parameters
    ----------
    outlook : `outlook` of a result of `feemodel.recommend`, with `loss_probability` [1] and `elapsed` [s] over time.
    ax : axes to draw on; `None` makes a new figure.
    hold : time for which the parameters are planned to be used [s].
    valid_for : time after which the parameters must be set again [s].
    target : target of the loss probability, drawn as a line; `None` means no line [1].

    Returns
    -------
    The axes.

    Raises
    ------
    InvalidInput : `ax` is not an `Axes`.

    >>> import xarray
    >>> from matplotlib.figure import Figure
    >>> times = np.array(["2026-01-08T00", "2026-01-09T00"], "datetime64[ns]")
    >>> outlook = xarray.Dataset(
    ...     {"loss_probability": ("time", [0.0, 0.25])}, {"time": times, "elapsed": ("time", [0.0, 86_400.0])}
    ... )
    >>> ax = plot_loss_probability(outlook, Figure().subplots(), hold=43_200, valid_for=86_400)
    >>> ax.get_lines()[0].get_ydata().tolist()  # [%]
    [0.0, 25.0]
    """
    ax = axes_or_new(ax)
    times, begin = outlook["time"].to_numpy(), outlook["time"].to_numpy()[0]
    ax.plot(times, 100 * outlook["loss_probability"], color=BLUE, linewidth=1.6, label="loss probability so far")
    if target is not None:
        ax.axhline(100 * target, color=ORANGE, linewidth=1.0, label="target")
    elapsed = outlook["elapsed"].to_numpy()
    for seconds, colour, style, label in (
        (hold, GREY, "-", "end of the planned time"), (valid_for, rcParams["text.color"], "--", "valid until"),
    ):  # fmt: skip
        after = np.timedelta64(round((seconds - elapsed[0]) * 1e9), "ns")
        ax.axvline(begin + after, color=colour, linewidth=1.2, linestyle=style, label=label)
    date_axis(ax)
    ax.set(ylabel="loss probability [%]", xlim=(times[0], times[-1]), ylim=(0, None))
    return finished(ax)
