"""
The priority fee over gas, for three sizes
==========================================

The cost of a transaction's bytes does not depend on its gas. A transaction with more gas spreads this cost over more
units of gas.
"""

import matplotlib.pyplot as plt
import numpy as np

import feemodel

plt.style.use("feemodel.plots.style")
gas = np.geomspace(21_000, 2_000_000, 200).astype(np.int64)
fig, ax = plt.subplots()
fees = {}
for size in (64, 128, 512):
    fees[size] = fee = feemodel.priority_fee(size, gas, variable_cost=1_000_000_000, fixed_cost=30_000_000, margin=1.2)
    ax.plot(gas, fee / 1e9, label=f"{size} bytes")
ax.axhline(1.2 * 0.03, color="grey", linewidth=1, linestyle=":", label="the fixed cost alone")
more = fees[512] / fees[64] - 1
assert more[0] > 0.6
assert more[-1] < 0.01
title = f"512 bytes pay {more[0]:.0%} more than 64 at 21,000 gas, {more[-1]:.1%} at 2 million"
ax.set(xscale="log", yscale="log", xlabel="gas", ylabel="priority fee [gwei per gas]", title=title)
for axis in (ax.xaxis, ax.yaxis):
    axis.set_major_formatter("{x:,g}" if axis is ax.yaxis else "{x:,.0f}")
    axis.set_minor_formatter("")
ax.set_yticks([0.04, 0.05, 0.06])
ax.legend()
fig.supxlabel("Prices: Linea mainnet, January 2026", x=1, ha="right")
