"""Figures of a simulated rollup: a Dataset of `feemodel.simulate` in, axes out. Nothing here computes a fee."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from feemodel.checks import instance
from feemodel.errors import InvalidInput
from feemodel.ethereum.fee_market import USABLE_BLOB_BYTES
from feemodel.ethereum.quantities import WEI_PER_ETH, WEI_PER_GWEI
from feemodel.plots.figures import BLUE, GREY, ORANGE, VERMILION

if TYPE_CHECKING:
    import xarray

DAY = 86_400.0  # seconds
MOST_POINTS = 4_000  # of a line


def plot_path(result: "xarray.Dataset", axes: Sequence[Axes] | None = None) -> list[Axes]:
    """A recorded path along time: data price, backlog, balance, and each day's recovery.

    Parameters
    ----------
    result : of `feemodel.simulate` with `record` of at least 1; the first recorded path is drawn.
    axes : four, to draw on; those of a new figure, one below the other, unless given.

    Raises `InvalidInput` for other than four axes.
    """
    axes = _four(axes)
    days = result["elapsed"].to_numpy() / DAY
    thin = slice(None, None, max(1, len(days) // MOST_POINTS))
    price = result["price"].to_numpy()[0] / WEI_PER_GWEI
    axes[0].plot(days[thin], price[thin], color=BLUE, linewidth=0.9)
    axes[0].set(ylabel="data price\n[gwei per byte]", yscale="log" if (price > 0.0).all() else "linear")
    backlog = result["backlog"].to_numpy()[0] / USABLE_BLOB_BYTES
    axes[1].plot(days[thin], backlog[thin], color=GREY, linewidth=0.7)
    axes[1].set_ylabel("backlog [blobs]")
    balance = result["balance"].to_numpy()[0] / WEI_PER_ETH
    axes[2].plot(days[thin], balance[thin], color=ORANGE, linewidth=0.9)
    axes[2].set_ylabel("balance [ETH]")
    fees, cost = result["data_fees"].to_numpy()[0], result["accrued_data_cost"].to_numpy()[0]
    recovery = fees / np.where(cost > 0.0, cost, np.nan)
    middle = np.arange(len(recovery)) + 0.5
    axes[3].bar(middle, recovery, width=0.9, color=np.where(recovery < 1.0, VERMILION, BLUE))
    axes[3].axhline(1.0, color="black", linewidth=0.8)
    axes[3].set(ylabel="data fees over\naccrued cost, by day", xlabel="days", xlim=(0.0, days[-1]))
    for ax in axes:
        ax.grid(alpha=0.25)
    return axes


def _four(axes: Sequence[Axes] | None) -> list[Axes]:
    if axes is None:
        from matplotlib import pyplot

        return list(pyplot.subplots(4, 1, sharex=True, figsize=(8, 8), layout="constrained")[1])
    given = [instance("axes", ax, Axes) for ax in np.ravel(np.asarray(axes, dtype=object))]
    if len(given) != 4:
        raise InvalidInput("axes", "expected four", len(given))
    return given
