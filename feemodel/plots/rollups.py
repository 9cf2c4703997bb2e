"""Figures of the rollups' rules: a table or a path in, a Matplotlib `Axes` out. Nothing here computes a fee."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from feemodel.ethereum.quantities import WEI_PER_GWEI
from feemodel.plots.figures import COLOURS, GREY, ORANGE, finished, given_or_new, log_ticks

if TYPE_CHECKING:
    import pandas as pd


def plot_surge(paths: Mapping[str, NDArray[np.int64]], ax: Axes | None = None) -> Axes:
    """The base fee after each second [wei / gas], one line a rule, logarithmic; its peak is marked with the time."""
    ax = given_or_new(ax)
    for colour, (label, path) in zip(cycle(COLOURS), paths.items(), strict=False):
        fees = path / WEI_PER_GWEI
        ax.plot(np.arange(1, len(fees) + 1), fees, color=colour, linewidth=1.6, label=label)
        second, peak = int(fees.argmax()) + 1, float(fees.max())
        ax.plot([second], [peak], "o", color=colour, markersize=5)
        ax.annotate(
            f"{peak:.3g} gwei after {second} s", (second, peak), (4, 6), textcoords="offset points", fontsize=8,
            color=colour,
        )  # fmt: skip
    ax.set(yscale="log", xlabel="time [s]", ylabel="L2 base fee [gwei per gas]")
    low, high = ax.get_ylim()
    ax.set_ylim(low, high * 1.6)
    log_ticks(ax.yaxis, span=100)
    return finished(ax, loc="upper left")


def plot_days(table: "pd.DataFrame", ax: Axes | None = None, *, transactions: int) -> Axes:
    """The mean fee of a transaction for each chain and day, logarithmic: a dot for the total, a dash for its data fee.

    Parameters
    ----------
    table : of `feemodel.rollups.compare_days`.
    ax : to draw on; a new figure's unless given.
    transactions : by which its fees are divided.
    """
    ax = given_or_new(ax)
    chains, days = list(dict.fromkeys(table["chain"])), list(dict.fromkeys(table["day"]))
    width = 0.8 / len(days)
    for place, (day, colour) in enumerate(zip(days, cycle(COLOURS), strict=False)):
        rows = table[(table["day"] == day) & (table["without"] == "")].set_index("chain")
        x = np.array([chains.index(name) for name in rows.index]) + (place - (len(days) - 1) / 2) * width
        total, data = (rows[part].astype(float) / transactions / WEI_PER_GWEI for part in ("total", "data_fee"))
        first = rows.iloc[0]
        label = f"{day}: L1 base fee {first['base_fee'] / WEI_PER_GWEI:.3g} gwei ({first['source']})"
        ax.vlines(x, data.where(data > 0, total), total, color=colour, alpha=0.4, linewidth=1.5)
        ax.plot(x, total, "o", color=colour, markersize=7, label=label)
        ax.plot(x, data.where(data > 0), "_", color=colour, markersize=11, markeredgewidth=2.5)
    ax.plot([], [], "_", color=GREY, markersize=11, markeredgewidth=2.5, label="data fee, the part of it for L1")
    ax.set(yscale="log", ylabel="mean fee of a transaction [gwei]", xlim=(-0.6, len(chains) - 0.4))
    low, high = ax.get_ylim()
    ax.set_ylim(low / 3, high**1.25 / low**0.25)  # room for the legend
    log_ticks(ax.yaxis, span=100)
    ax.set_xticks(range(len(chains)), chains)
    return finished(ax, grid="y", fontsize=7, loc="upper left")


def plot_posting(rows: Sequence[tuple[str, int, int]], ax: Axes | None = None) -> Axes:
    """L1 gas of posting, today and under a draft, as dots, and the change: label, gas today, gas then, logarithmic."""
    ax = given_or_new(ax)
    places = np.arange(len(rows))
    ax.hlines(places, [min(row[1:]) for row in rows], [max(row[1:]) for row in rows], color="#cccccc", zorder=1)
    for column, colour, marker, label in ((1, GREY, "o", "today"), (2, ORANGE, "D", "draft")):
        ax.plot([row[column] for row in rows], places, marker, color=colour, markersize=7, label=label)
    for place, (_, today, draft) in zip(places, rows, strict=True):
        change = f"{draft / today - 1:+.0%}"
        ax.annotate(change, (max(today, draft), place), (8, 0), textcoords="offset points", va="center", fontsize=8)
    ax.set(xscale="log", xlabel="execution gas on L1", ylim=(-0.6, len(rows) - 0.4))
    low, high = ax.get_xlim()
    ax.set_xlim(low / 1.5, high * 2)
    log_ticks(ax.xaxis, span=100)
    ax.set_yticks(places, [row[0] for row in rows])
    ax.invert_yaxis()
    return finished(ax, grid="x", loc="upper right")
