"""
Ten minutes of full blocks
==========================

Linea raises the variable cost while blocks are full of calldata. The variable cost rises by up to 1/32 per block, until
it reaches the maximum value of the pricing record.
"""

import matplotlib.pyplot as plt
import numpy as np

from feemodel.simulation.demand import pressure_path

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for share in (0.5, 0.6, 0.75, 1.0):
    path = pressure_path(np.full(300, int(share * 109_000)), variable_cost=1e9)["variable_cost"]
    ax.plot(np.arange(300) * 2 / 60, path / 1e9, label=f"blocks {share:.0%} full")
ax.set(yscale="log", xlabel="minutes", ylabel="variable cost [gwei per byte]")
ax.legend()
