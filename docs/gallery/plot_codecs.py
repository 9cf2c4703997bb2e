"""
Real transactions under five codecs
===================================

The compressed size depends on the codec. Linea's production LZSS uses a dictionary of common calldata.
"""

import matplotlib.pyplot as plt
import numpy as np

from feemodel.io import read_shipped_transactions

table = read_shipped_transactions()
codecs = ["zstd", "brotli", "deflate", "fastlz", "lzss"]
ratios = [table[codec].to_numpy(float) / table["measured_bytes"].to_numpy(float) for codec in codecs]
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.boxplot(ratios, tick_labels=codecs, showfliers=False, whis=(5, 95))
ax.axhline(1, color="grey", linewidth=1, linestyle=":")
ax.set(ylabel="compressed over original size", title=f"{len(table):,} transactions: median, quartiles, 5 and 95 %")
assert all(np.median(ratio) < 1.1 for ratio in ratios)
