"""
Real transactions under four codecs
===================================

The compressed size depends on the codec. Linea's production LZSS uses a dictionary of common calldata.
"""

import matplotlib.pyplot as plt
import numpy as np

from feemodel.io import read_shipped_transactions

plt.style.use("feemodel.plots.style")
table = read_shipped_transactions()
codecs = ["zstd", "brotli", "fastlz", "lzss"]
ratios = [table[codec].to_numpy(float) / table["measured_bytes"].to_numpy(float) for codec in codecs]
fig, ax = plt.subplots()
ax.boxplot(ratios, tick_labels=codecs, showfliers=False, whis=(5, 95))
ax.axhline(1, color="grey", linewidth=1, linestyle=":")
halved, hardly = np.median(ratios[4]), np.median(ratios[1])
assert halved < 0.5 < 0.9 < hardly
ax.set(
    ylabel="compressed / original: quartiles, 5 and 95 %",
    title=f"LZSS leaves {halved:.0%} of the median transaction, brotli {hardly:.0%}",
)
fig.supxlabel("Transactions: Linea, 2023-07 to 2026-01", x=1, ha="right")
