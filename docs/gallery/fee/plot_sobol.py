"""
Which input moves the fee most
==============================

Sobol indices: the share of the variance of the variable cost, the price of a byte, that each input explains, alone and
in combination with the others.
"""

import matplotlib.pyplot as plt
import numpy as np

import feemodel

plt.style.use("feemodel.plots.style")


def variable_cost(base_fee, tip, blob_base_fee, cost_margin):
    return feemodel.variable_cost(
        base_fee, tip, blob_base_fee,
        execution_gas=65_250, blob_gas=131_072, bytes_per_submission=131_072, margin=cost_margin,
    )  # fmt: skip


ranges = {"base_fee": (1e8, 2e9), "tip": (0.0, 1e9), "blob_base_fee": (1e6, 5e8), "cost_margin": (0.8, 1.5)}
indices = feemodel.sobol_indices(variable_cost, 4_096, rng=1, **ranges)
indices = indices.sortby("first_order")
names = [name.replace("_", " ") for name in indices["input"].values]
fig, ax = plt.subplots()
ax.barh(np.arange(len(names)) + 0.2, indices.first_order, height=0.4, label="alone")
ax.barh(np.arange(len(names)) - 0.2, indices.total_order, height=0.4, label="with all others")
share = float(indices.first_order.sel(input="base_fee"))
assert 0.45 < share < 0.55
title = f"The base fee alone explains {share:.0%} of the variance"
ax.set(
    yticks=np.arange(len(names)), yticklabels=names, xlabel="share of the variance of the variable cost", title=title
)
ax.legend()
fig.supxlabel("Submission of Linea; ranges around those of January 2026", x=1, ha="right")
