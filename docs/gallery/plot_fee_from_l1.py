"""
From L1 fees to the priority fee
================================

A sweep over two inputs. Each step computes the pricing record from L1's base fee, and the priority fee from the record.
"""

import matplotlib.pyplot as plt
import numpy as np

import feemodel

samples = feemodel.grid(
    base_fee=[2e8, 1e9, 5e9, 2e10], margin=np.linspace(0.8, 2.0, 25), blob_base_fee=4e6, compressed_size=128, gas=21_000
)
fees = feemodel.sweep(feemodel.priority_fee_from_l1, samples)
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for base_fee, row in fees.priority_fee_from_l1.groupby("base_fee"):
    ax.plot(row.margin, row.squeeze() / 1e9, label=f"L1 base fee {base_fee / 1e9:g} gwei")
ax.set(yscale="log", xlabel="margin", ylabel="priority fee [gwei per gas]")
ax.grid(alpha=0.25)
ax.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
