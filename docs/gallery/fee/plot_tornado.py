"""
Each input on its own
=====================

The priority fee of a transfer at both ends of the range of one input. All other inputs keep their values of January
2026.
"""

import matplotlib.pyplot as plt
import xarray as xr

import feemodel
from feemodel.plots import plot_tornado

plt.style.use("feemodel.plots.style")
usual = dict(base_fee=69e6, blob_base_fee=4e6, cost_margin=1.2, compressed_size=128, gas=21_000, margin=1.2)
ranges = dict(base_fee=(2e7, 3e10), blob_base_fee=(1e6, 2e9), cost_margin=(0.8, 1.5), compressed_size=(50, 1_000))


def fee(**changed):
    return feemodel.priority_fee_from_l1(**(usual | changed)) / 1e9


ends = [[fee(**{name: within[end]}) for name, within in ranges.items()] for end in (0, 1)]
units = [(1e9, " gwei"), (1e9, " gwei"), (1, ""), (1, " bytes")]
words = [
    [f"{within[end] / scale:,g}{unit}" for within, (scale, unit) in zip(ranges.values(), units, strict=True)]
    for end in (0, 1)
]
columns = {"at_low": ends[0], "at_high": ends[1], "low": words[0], "high": words[1]}
swings = xr.Dataset(
    {name: ("input", values) for name, values in columns.items()},
    {"input": [name.replace("_", " ") for name in ranges]},
    {"base": fee()},
)
moved = {name: high / low for name, low, high in zip(ranges, *ends, strict=True)}
assert moved["base_fee"] > 1_000 > 2 > moved["cost_margin"]
fig, ax = plt.subplots()
plot_tornado(swings, ax, label="priority fee at 21,000 gas [gwei per gas]", logarithmic=True)
_ = ax.set_title(
    f"The base fee moves the fee {moved['base_fee']:,.0f}-fold, the cost margin {moved['cost_margin']:.1f}-fold"
)
fig.supxlabel("Base values: Linea mainnet and Ethereum, January 2026", x=1, ha="right")
