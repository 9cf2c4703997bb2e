"""Figure of an attack."""

from collections.abc import Mapping
from itertools import cycle

import xarray
from matplotlib.axes import Axes

from feemodel.ethereum._quantities import WEI_PER_ETH, WEI_PER_GWEI
from feemodel.plots._figures import COLOURS, GREY, axes_or_new, finished, log_ticks

FEE_NAMES = {"base_fee": "L1 base fee [gwei per gas]", "blob_base_fee": "blob base fee [gwei per gas]"}
ATTACK_NAMES = {
    "paid": "paid by the attacker",
    "data": "data fees of the attacker",
    "posting": "posting costs of the operator",
}


def plot_attack(runs: Mapping[str, xarray.Dataset], ax: Axes | None = None, *, variable: str = "paid") -> Axes:
    """Plot the cumulative cost in ETH, or a fee in gwei, over L1 blocks, with one line per attack (log axis).

    Parameters
    ----------
    runs : mapping from the label of a line to a result of `models.denial`, with costs [wei] and
        fees [wei / gas] of each block.
    ax : axes to draw on; `None` makes a new figure.
    variable : "paid", "data" or "posting" for a cumulative cost; "base_fee" or "blob_base_fee" for a fee.

    Returns
    -------
    The axes.

    Raises
    ------
    InvalidInput : `ax` is not an `Axes`.

    >>> import xarray
    >>> from matplotlib.figure import Figure
    >>> run = xarray.Dataset({"paid": ("block", [1e18, 2e18])}, {"block": [1, 2]})
    >>> plot_attack({"fill blobs": run}, Figure().subplots()).get_lines()[0].get_ydata().tolist()  # [ETH]
    [1.0, 3.0]
    """
    ax = axes_or_new(ax)
    is_fee = variable in FEE_NAMES
    for (label, run), colour in zip(runs.items(), cycle((*COLOURS, GREY, "black")), strict=False):
        values = run[variable]
        drawn = values / WEI_PER_GWEI if is_fee else values.cumsum("block") / WEI_PER_ETH
        ax.plot(run["block"], drawn, color=colour, label=label)
    ax.set(yscale="log", xlabel="L1 blocks since the attack began", xlim=(0, None))
    ax.set_ylabel(FEE_NAMES[variable] if is_fee else f"{ATTACK_NAMES[variable]} so far [ETH]")
    log_ticks(ax.yaxis)
    return finished(ax)
