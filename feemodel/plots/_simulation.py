"""Figures of simulation results. The functions draw a Dataset on Matplotlib `Axes` and do not compute fees."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter
from numpy.typing import NDArray

from feemodel.checks import instance
from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import WEI_PER_ETH, WEI_PER_GWEI
from feemodel.ethereum.fee_market import USABLE_BLOB_BYTES
from feemodel.plots._figures import BLUE, GREY, ORANGE, VERMILION, axes_or_new, finished, log_ticks, time_axis

if TYPE_CHECKING:
    import xarray


HOUR, DAY = 3_600.0, 86_400.0  # seconds
RATIOS = 10.0 ** np.linspace(-3.0, 3.0, 121)  # edges of the bins of fee / cost; 1 is an edge
BANDS = ((0.05, 0.95, 0.2), (0.25, 0.75, 0.35))  # lower quantile, upper quantile and opacity of each band
FEE_NAMES = {"base_fee": "L1 base fee [gwei per gas]", "blob_base_fee": "blob base fee [gwei per gas]"}


def plot_recovery_over_time(result: "xarray.Dataset", ax: Axes | None = None, **line: Any) -> Axes:
    """Plot data fees / posting cost for each hour, and for the 24 hours up to the end of each hour (log axis).

    The cost of an hour is the cost of posting the bytes that arrived in it.

    Parameters
    ----------
    result : result of `feemodel.backtest` or `feemodel.simulate` with recorded paths. For several recorded paths, the
        plot shows the median of their 24-hour ratios, and the range between the 5 % and 95 % quantiles of their hourly
        ratios.
    ax : axes to draw on; `None` makes a new figure.
    line : keyword arguments of `Axes.plot` for the line of 24 hours, such as `color` and `label` if two results share
        the axes.

    Returns
    -------
    The axes.

    Raises
    ------
    InvalidInput : `ax` is not an `Axes`, or the result has no recorded path.

    >>> import xarray
    >>> from matplotlib.figure import Figure
    >>> series = {"data_fees_in_step": [[3.0, 1.0]], "data_cost_of_step": [[2.0, 2.0]]}
    >>> result = xarray.Dataset(
    ...     {name: (("recorded_path", "step"), values) for name, values in series.items()},
    ...     {"elapsed": ("step", [0.0, 3600.0])},
    ... )
    >>> [line.get_ydata().tolist() for line in plot_recovery_over_time(result, Figure().subplots()).get_lines()[:2]]
    [[1.5, 0.5], [1.5, 1.0]]
    """
    ax = axes_or_new(ax)
    dated = "date" in result.coords
    hours = _recorded(result).groupby((result["elapsed"] // HOUR).rename("hour")).sum().transpose(..., "hour")
    ends = (hours["hour"].to_numpy() + 1) * HOUR
    days = result["date"].to_numpy()[0] + (ends * 1e9).astype("timedelta64[ns]") if dated else ends / DAY
    hourly, daily = (
        (sums["data_fees_in_step"] / sums["data_cost_of_step"].where(sums["data_cost_of_step"] > 0.0)).to_numpy()
        for sums in (hours, hours.rolling(hour=24, min_periods=1).sum())
    )
    if len(hourly) == 1:
        ax.plot(days, hourly[0], color=GREY, linewidth=0.6, alpha=0.7, label="each hour")
        shade = dict[str, Any](color=VERMILION, alpha=0.35, linewidth=0, label="below cost")
        ax.fill_between(days, hourly[0], 1.0, where=hourly[0] < 1.0, **shade)
        daily, label = daily[0], "last 24 hours"
    else:
        low, high = np.nanquantile(hourly, (0.05, 0.95), axis=0)
        ax.fill_between(days, low, high, color=GREY, alpha=0.3, linewidth=0, label="5 to 95 % of paths, each hour")
        daily, label = np.nanmedian(daily, axis=0), "median path, last 24 hours"
    ax.plot(days, daily, **(dict[str, Any](color=BLUE, linewidth=1.8, label=label) | line))
    ax.axhline(1.0, color=rcParams["text.color"], linewidth=0.8)
    ax.set(yscale="log", ylabel="data fees / posting cost", xlim=(days[0] if dated else 0, days[-1]))
    time_axis(ax, dated)
    log_ticks(ax.yaxis, _multiple)
    ax.set_ylim(bottom=ax.get_ylim()[0] / 2)  # room for the legend
    return _with_source(finished(ax, ncols=3, loc="lower left"), result)


def plot_charges(result: "xarray.Dataset", ax: Axes | None = None) -> Axes:
    """Plot a histogram of data fee / cost of the bytes, over the transactions of the recorded paths.

    Each transaction has the ratio of its step. Ratios below 1 are highlighted.

    Parameters
    ----------
    result : result of `feemodel.backtest` or `feemodel.simulate` with recorded paths.
    ax : axes to draw on; `None` makes a new figure.

    Returns
    -------
    The axes.

    Raises
    ------
    InvalidInput : `ax` is not an `Axes`, or the result has no recorded path.

    >>> import xarray
    >>> from matplotlib.figure import Figure
    >>> series = {"data_fees_in_step": [[1.0, 6.0]], "data_cost_of_step": [[2.0, 2.0]],
    ...           "transactions_in_step": [[1.0, 3.0]]}
    >>> result = xarray.Dataset(
    ...     {name: (("recorded_path", "step"), values) for name, values in series.items()},
    ...     {"elapsed": ("step", [0.0, 12.0])},
    ... )
    >>> plot_charges(result, Figure().subplots()).get_title()
    '25.00% of transactions pay less than the cost of their bytes'
    """
    ax = axes_or_new(ax)
    income, cost, count = (values.to_numpy() for values in _recorded(result, "transactions_in_step").values())
    paid = cost > 0.0
    ratio, weight = income[paid] / cost[paid], count[paid] / count[paid].sum()
    share, edges = np.histogram(ratio.clip(RATIOS[0], RATIOS[-1]), RATIOS, weights=weight)
    colour = np.where(edges[1:] <= 1.0, VERMILION, BLUE)
    ax.bar(edges[:-1], share, width=np.diff(edges), align="edge", color=colour, edgecolor="white", linewidth=0.3)
    ax.axvline(1.0, color=rcParams["text.color"], linewidth=0.8)
    ax.set_title(f"{weight[ratio < 1.0].sum():.2%} of transactions pay less than the cost of their bytes", fontsize=10)
    ax.set(xscale="log", xlabel="data fee / cost of the bytes", ylabel="share of transactions")
    seen = np.flatnonzero(share > 1e-4)
    ax.set_xlim(edges[max(seen[0] - 1, 0)], edges[min(seen[-1] + 2, len(share))])
    log_ticks(ax.xaxis, _multiple)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.grid(color="0.9")
    return _with_source(ax, result)


def _recorded(result: "xarray.Dataset", *names: str) -> "xarray.Dataset":
    """Return data fees, costs and other series of the recorded paths of a result."""
    if "data_cost_of_step" not in result:
        raise InvalidInput("result", "expected a result with a recorded path: record=1", list(map(str, result)))
    return result[["data_fees_in_step", "data_cost_of_step", *names]]


def plot_fee_fan(
    scenario: "xarray.Dataset",
    ax: Axes | None = None,
    *,
    fee: str = "base_fee",
    history: "xarray.Dataset | None" = None,
    **line: Any,
) -> Axes:
    """Plot quantile bands of an L1 fee over the paths of a scenario or a forecast, with the median and one path.

    The fees' axis is logarithmic.

    Parameters
    ----------
    scenario : scenario of `feemodel.simulation.scenarios`, or result of `feemodel.forecast`; fees of each path over
        `step` or `time` [wei / gas].
    ax : axes to draw on; `None` makes a new figure.
    fee : fee to plot, "base_fee" or "blob_base_fee".
    history : scenario of observed fees, whose first path is drawn over the bands. If a forecast extends from time `a`
        to `b`, the fees from `a - (b - a)` to `b` are drawn.
    line : keyword arguments of `Axes.plot` for the line of the median.

    Returns
    -------
    The axes.

    Raises
    ------
    InvalidInput : `ax` is not an `Axes`.

    >>> import xarray
    >>> from matplotlib.figure import Figure
    >>> fees = [[1e9, 2e9], [3e9, 4e9]]
    >>> scenario = xarray.Dataset({"base_fee": (("path", "step"), fees)}, {"elapsed": ("step", [0.0, 86_400.0])})
    >>> plot_fee_fan(scenario, Figure().subplots()).get_lines()[0].get_xydata().tolist()  # [day], [gwei / gas]
    [[0.0, 2.0], [1.0, 3.0]]
    """
    ax = axes_or_new(ax)
    dated = "time" in scenario.coords
    times = _times(scenario, dated)
    first = times[0]
    values = scenario[fee].to_numpy() / WEI_PER_GWEI
    for low, high, alpha in BANDS:
        edges = np.quantile(values, (low, high), axis=0)
        ax.fill_between(times, *edges, color=BLUE, alpha=alpha, linewidth=0, label=f"{low:.0%} to {high:.0%} of paths")
    ax.plot(times, np.median(values, axis=0), **(dict[str, Any](color=BLUE, linewidth=1.6, label="median") | line))
    ax.plot(times, values[0], color=GREY, linewidth=0.6, label="one path")
    if history is not None:
        when, seen = _times(history, dated), history[fee].to_numpy()[0] / WEI_PER_GWEI
        first = max(first - (times[-1] - first), when[0])
        shown = (when >= first) & (when <= times[-1])
        ax.plot(when[shown], seen[shown], color=ORANGE, linewidth=1.0, label="observed")
    if first < times[0]:
        ax.axvline(times[0], color=rcParams["text.color"], linewidth=0.6)
    ax.set(yscale="log", ylabel=FEE_NAMES[fee], xlim=(first, times[-1]))
    time_axis(ax, dated)
    log_ticks(ax.yaxis)
    # The legend is above the axes because the bands fill the axes.
    return _with_source(finished(ax, ncols=3, loc="lower left", bbox_to_anchor=(0, 1), frameon=False), scenario)


def _times(table: "xarray.Dataset", dated: bool) -> NDArray[Any]:
    """Return the dates of a table, or its times in days."""
    return table["time"].to_numpy() if dated else table["elapsed"].to_numpy() / DAY


def plot_tornado(swings: "xarray.Dataset", ax: Axes | None = None, *, label: str, logarithmic: bool = False) -> Axes:
    """Plot how much a result changes if only one input changes (tornado chart).

    The input that changes the result most is at the top.

    Parameters
    ----------
    swings : Dataset with the dimension `input` and four variables. `low` and `high` are the ends of an input's range,
        as text. `at_low` is the result with the input at `low`, and `at_high` is the result with the input at `high`.
        The attribute `base` is the result with all inputs at their base values.
    ax : axes to draw on; `None` makes a new figure.
    label : label of the result, with its unit.
    logarithmic : whether the result's axis is logarithmic.

    Returns
    -------
    The axes.

    Raises
    ------
    InvalidInput : `ax` is not an `Axes`.

    >>> import xarray
    >>> from matplotlib.figure import Figure
    >>> swings = xarray.Dataset(
    ...     {"at_low": ("input", [0.9, 0.5]), "at_high": ("input", [1.1, 2.0]),
    ...      "low": ("input", ["1", "10"]), "high": ("input", ["2", "40"])},
    ...     {"input": ["margin", "gas"]}, {"base": 1.0},
    ... )
    >>> ax = plot_tornado(swings, Figure().subplots(), label="recovery")
    >>> [text.get_text() for text in ax.get_yticklabels()]  # from the bottom up
    ['margin', 'gas']
    """
    ax = axes_or_new(ax)
    base = float(swings.attrs["base"])
    at_low, at_high = swings["at_low"].to_numpy(), swings["at_high"].to_numpy()
    size = np.abs(np.log(at_high / at_low) if logarithmic else at_high - at_low)
    ordered = swings.isel(input=np.argsort(size))
    positions = np.arange(ordered.sizes["input"])
    for end, colour in (("low", ORANGE), ("high", BLUE)):
        other = "high" if end == "low" else "low"
        values, others = ordered[f"at_{end}"].to_numpy(), ordered[f"at_{other}"].to_numpy()
        ax.barh(positions, values - base, left=base, height=0.6, color=colour, label=f"{end} end of the input's range")
        right = (values > others) | ((values == others) & (end == "high"))  # label at the right end of the bar
        for position, value, side, text in zip(positions, values, right, ordered[end].to_numpy(), strict=True):
            at, offset = (max(value, base), 4) if side else (min(value, base), -4)
            ax.annotate(
                str(text), (at, position), (offset, 0), textcoords="offset points",
                ha="left" if side else "right", va="center", fontsize=7,
            )  # fmt: skip
    ax.axvline(base, color=rcParams["text.color"], linewidth=0.8)
    ax.set(xscale="log" if logarithmic else "linear", xlabel=label, yticks=positions)
    ax.set_yticklabels(ordered["input"].to_numpy())
    ax.margins(x=0.18)
    if logarithmic:
        log_ticks(ax.xaxis)
    return _with_source(finished(ax, grid="x", loc="lower right"), swings)


def plot_margins(found: "xarray.Dataset", ax: Axes | None = None) -> Axes:
    """Plot the margin under each combination of assumptions, with its interval (log axis).

    Parameters
    ----------
    found : result of `feemodel.simulation.margins`.
    ax : axes to draw on; `None` makes a new figure.

    Returns
    -------
    The axes.

    >>> import xarray
    >>> from matplotlib.figure import Figure
    >>> found = xarray.Dataset(
    ...     {name: (("bounds", "tip"), [[value]]) for name, value in (("margin", 1.2), ("low", 1.1), ("high", 1.4))},
    ...     {"bounds": [True], "tip": [1e8]},
    ... )
    >>> [label.get_text() for label in plot_margins(found, Figure().subplots()).get_yticklabels()]
    ['with bounds']
    """
    ax = axes_or_new(ax)
    several = [str(name) for name in found["margin"].dims if found.sizes[name] > 1 or name == "bounds"]
    rows = found.stack(combination=[str(name) for name in found["margin"].dims])
    labels = [
        ", ".join(
            _ASSUMED[name](value) for name, value in zip(found["margin"].dims, values, strict=True) if name in several
        )
        for values in rows["combination"].to_numpy()
    ]
    margin, low, high = (rows[name].to_numpy() for name in ("margin", "low", "high"))
    places = np.arange(len(labels))
    ax.errorbar(margin, places, xerr=[margin - low, np.nan_to_num(high - margin)], fmt="o", color=BLUE, markersize=4,
                label="margin and its interval")  # fmt: skip
    ax.axvline(1.0, color=rcParams["text.color"], linewidth=0.8)
    ax.set_yticks(places, labels)
    ax.set(xscale="log", xlabel="margin of the estimate")
    ax.invert_yaxis()
    log_ticks(ax.xaxis)
    return _with_source(finished(ax, grid="x"), found)


_ASSUMED: dict[str, Callable[[float], str]] = {
    "bounds": lambda value: "with bounds" if value else "without bounds",
    "stream_ratio": lambda value: "no sharing" if value == 1.0 else f"stream {value:.2f}",
    "finalization_gas": lambda value: f"finalization {value:,.0f} gas" if value else "no finalization",
    "tip": lambda value: f"tip {value / WEI_PER_GWEI:g} gwei",
    "block_seconds": lambda value: f"blocks of {value / 3_600:g} h",
    "horizon": lambda value: f"{value / 3_600:g} h",
}


def _with_source(ax: Axes, result: "xarray.Dataset") -> Axes:
    """Write the source of the L1 fees in the lower right corner."""
    if source := result.attrs.get("l1_fees", result.attrs.get("source")):
        ax.figure.supxlabel(f"L1 fees: {source}", x=1, ha="right", fontsize=8)
    return ax


def _multiple(value: float, _: object = None) -> str:
    return f"{value:g}×"


MAX_POINTS = 4_000  # maximum number of points of a line


def plot_path(result: "xarray.Dataset", axes: Sequence[Axes] | None = None) -> list[Axes]:
    """Plot one recorded path over time: data price, backlog, balance, and data fees / accrued cost of each day.

    Parameters
    ----------
    result : result of `feemodel.simulate` with `record` of at least 1; the first recorded path is drawn.
    axes : four axes to draw on; `None` makes a new figure with four axes, one below the other.

    Returns
    -------
    The four axes.

    Raises
    ------
    InvalidInput : `axes` is not a sequence of four `Axes`.

    >>> from matplotlib.figure import Figure
    >>> from feemodel.simulation import Fixed, simulate
    >>> from feemodel.simulation.scenarios import replay
    >>> table = {"timestamp": [0, 12, 24], "base_fee": [7e7] * 3, "blob_base_fee": [4e6] * 3}
    >>> result = simulate(replay(table, source="by hand"), Fixed(price=1e9), record=1)
    >>> axes = plot_path(result, Figure().subplots(4))
    >>> sorted(set(axes[0].get_lines()[0].get_ydata().tolist()))  # data price [gwei / byte]
    [1.0]
    """
    if axes is None:
        from matplotlib import pyplot

        axes = pyplot.subplots(4, 1, sharex=True, figsize=(8, 8), layout="constrained")[1]
    axes = [instance("axes", ax, Axes) for ax in np.ravel(np.asarray(axes, dtype=object))]
    if len(axes) != 4:
        raise InvalidInput("axes", "expected four axes", len(axes))
    days = result["elapsed"].to_numpy() / DAY
    thin = slice(None, None, max(1, len(days) // MAX_POINTS))
    price = result["price"].to_numpy()[0] / WEI_PER_GWEI
    axes[0].plot(days[thin], price[thin], color=BLUE, linewidth=0.9)
    axes[0].set(ylabel="data price\n[gwei per byte]", yscale="log" if (price > 0.0).all() else "linear")
    if axes[0].get_yscale() == "log":
        log_ticks(axes[0].yaxis)
    backlog = result["backlog"].to_numpy()[0] / USABLE_BLOB_BYTES
    hours = np.flatnonzero(np.diff(result["elapsed"].to_numpy() // HOUR, prepend=-1.0))
    axes[1].plot(days[hours], np.maximum.reduceat(backlog, hours), color=GREY, linewidth=1.8)
    axes[1].set(ylabel="largest backlog\nof each hour [blobs]", ylim=(0.0, max(1.5, 1.1 * backlog.max())))
    axes[2].plot(days[thin], result["balance"].to_numpy()[0, thin] / WEI_PER_ETH, color=ORANGE, linewidth=0.9)
    axes[2].set_ylabel("balance [ETH]")
    fees, cost = result["data_fees"].to_numpy()[0], result["accrued_data_cost"].to_numpy()[0]
    recovery = fees / np.where(cost > 0.0, cost, np.nan)
    axes[3].bar(np.arange(len(recovery)) + 0.5, recovery, width=0.9, color=np.where(recovery < 1.0, VERMILION, BLUE))
    axes[3].axhline(1.0, color=rcParams["text.color"], linewidth=0.8)
    axes[3].set(ylabel="data fees /\naccrued cost, by day", xlabel="days", xlim=(0.0, days[-1]))
    _with_source(axes[-1], result)
    return axes
