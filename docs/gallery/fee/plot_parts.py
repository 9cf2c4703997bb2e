"""
What a fee is made of
=====================

The fee is the sum of three parts, in wei per gas: the fixed cost, the cost of the compressed size, and the margin.
"""

import matplotlib.pyplot as plt
import numpy as np

import feemodel

plt.style.use("feemodel.plots.style")
kinds = {"transfer": (74, 21_000), "token transfer": (110, 46_000), "swap": (224, 168_595), "creation": (2_656, 10**6)}
size, gas = np.array(list(kinds.values())).T
parts = feemodel.breakdown(size, gas, variable_cost=1_000_000_000, fixed_cost=30_000_000, margin=1.2)
fig, ax = plt.subplots()
left = np.zeros(len(kinds))
for name in ("fixed", "size", "margin"):
    height = np.broadcast_to(getattr(parts, name), left.shape) / 1e6
    ax.barh(list(kinds), height, left=left, label=name)
    left += height
share = parts.fixed / 1e6 / left
assert 0.7 < share.min() < share.max() < 0.85
ax.set(xlabel="million wei per gas", title=f"The fixed cost is {share.min():.0%} to {share.max():.0%} of the fee")
ax.legend(loc="upper left", bbox_to_anchor=(1, 1))
fig.supxlabel("Prices: Linea mainnet, January 2026", x=1, ha="right")
