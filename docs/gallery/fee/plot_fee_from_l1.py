"""
From L1 fees to the priority fee
================================

A sweep over two inputs. Each step computes the pricing record from L1's base fee, and the priority fee from the record.
"""

import matplotlib.pyplot as plt
import numpy as np

import feemodel

plt.style.use("feemodel.plots.style")
samples = feemodel.grid(
    base_fee=[2e8, 1e9, 5e9, 2e10], margin=np.linspace(0.8, 2.0, 25), blob_base_fee=4e6, compressed_size=128, gas=21_000
)
fees = feemodel.sweep(feemodel.priority_fee_from_l1, samples)
fig, ax = plt.subplots()
for base_fee, row in fees.priority_fee_from_l1.groupby("base_fee"):
    ax.plot(row.margin, row.squeeze() / 1e9, label=f"L1 base fee {base_fee / 1e9:g} gwei")
low, high = fees.priority_fee_from_l1.sel(margin=1.2, method="nearest").squeeze().values[[0, -1]]
assert 70 < high / low < 100
title = f"At a hundred times the base fee, a transfer pays {high / low:.0f} times as much"
ax.set(yscale="log", ylim=(4e-4, 0.6), xlabel="margin", ylabel="priority fee [gwei per gas]", title=title)
ax.legend(ncols=2, loc="upper left")
fig.supxlabel("Rule: Linea, cost per byte; blob base fee 0.004 gwei, no tip", x=1, ha="right")
