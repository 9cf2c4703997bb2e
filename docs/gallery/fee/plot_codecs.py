"""
Real transactions under four codecs
===================================

The compressed size depends on the codec. Linea's production LZSS uses a dictionary of common calldata.
"""

import matplotlib.pyplot as plt

from feemodel.io import read_shipped_transactions

plt.style.use("feemodel.plots.style")
table = read_shipped_transactions()
codecs = ["zstd", "brotli", "fastlz", "lzss"]
ratios = table[codecs].astype(float).div(table["measured_bytes"].astype(float), axis=0)
fig, ax = plt.subplots()
ax.boxplot(ratios.to_numpy(), tick_labels=codecs, showfliers=False, whis=(5, 95))
ax.axhline(1, color="grey", linewidth=1, linestyle=":")
halved, hardly = ratios["lzss"].median(), ratios["brotli"].median()
assert halved < 0.5 < 0.9 < hardly
ax.set(
    ylabel="compressed / original: quartiles, 5 and 95 %",
    title=f"LZSS leaves {halved:.0%} of the median transaction, brotli {hardly:.0%}",
)
fig.supxlabel("Transactions: Linea, 2023-07 to 2026-01", x=1, ha="right")
