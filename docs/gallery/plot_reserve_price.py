"""
The reserve price of blobs
==========================

Under EIP-7918 (since December 2025), the excess blob gas does not fall while the blob base fee is below a sixteenth of
the base fee. The dots show one month of L1 fees. They are on the line ``base fee / 16``, except when demand for blobs
keeps the blob base fee above it.
"""

import matplotlib.pyplot as plt
import numpy as np

from feemodel.io import read_shipped_l1_fees

fees = read_shipped_l1_fees()
base, blob = fees["base_fee"] / 1e9, fees["blob_base_fee"] / 1e9
fig, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
ax.plot(base, blob, ".", markersize=2, alpha=0.4, label="ten-minute means, 2026-01-07 to 02-06")
span = np.array([base.min(), base.max()])
ax.plot(span, span / 16, color="black", linewidth=1, label="base fee / 16")
ax.set(xscale="log", yscale="log", xlabel="base fee [gwei per gas]", ylabel="blob base fee [gwei per gas]")
ax.set_title(f"correlation of the logarithms {np.corrcoef(*np.log([base, blob]))[0, 1]:.3f}", fontsize=10)
ax.legend()
