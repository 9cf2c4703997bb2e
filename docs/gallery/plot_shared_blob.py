"""
Calldata or blobs, and a shared blob
====================================

This figure uses the model of Crapis, Felten and Mamageishvili (arXiv 2310.01155). Left: the arrival rate below which
calldata is cheaper than blobs, in units of the cost of delay divided by the price of gas. Prices left of the vertical
line are not possible under EIP-7918. Right: the part of a shared blob that the larger of two rollups pays after Nash
bargaining, 1 + √s − √(1 − s) − s, where s is its share of the data.
"""

import matplotlib.pyplot as plt
import numpy as np

from feemodel.ethereum.fee_market import GAS_PER_BLOB
from feemodel.simulation.blob_or_calldata import calldata_threshold, shared_blob_payment

POSTING_GAS = 65_250
fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
ratio = np.logspace(-9, 1, 200)
threshold = calldata_threshold(POSTING_GAS + GAS_PER_BLOB * ratio, POSTING_GAS, 16, 1.0)
axes[0].plot(ratio, threshold, label="16 gas per byte")
axes[0].axvline(1 / 16, color="black", linewidth=0.8, label="blob base fee = base fee / 16, no tip")
axes[0].set(xscale="log", yscale="log", xlabel="blob base fee over price of gas")
axes[0].set_ylabel("calldata is cheaper below this rate [a / g]")
share = np.linspace(0.5, 1.0, 200)
axes[1].plot(share, shared_blob_payment(share), label="Nash bargaining")
axes[1].plot(share, share, "--", color="grey", label="in proportion")
axes[1].set(xlabel="share of the data of the larger rollup", ylabel="part of the blob that it pays")
for ax in axes:
    ax.grid(alpha=0.25)
    ax.legend(fontsize=8)
