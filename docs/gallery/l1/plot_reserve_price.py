"""
The reserve price of blobs
==========================

Under EIP-7918 (since December 2025), the excess blob gas does not fall while the blob base fee is below a sixteenth of
the base fee. The histogram shows the blob base fee as a multiple of that sixteenth, in a month of ten-minute means.
"""

import matplotlib.pyplot as plt
import numpy as np

from feemodel.io import read_shipped_l1_fees

plt.style.use("feemodel.plots.style")
fees = read_shipped_l1_fees()
multiple = 16 * fees["blob_base_fee"] / fees["base_fee"]
share = float((multiple <= 1).mean())
assert 0.95 < share < 1
fig, ax = plt.subplots()
ax.hist(multiple, bins=np.linspace(0.6, 1.2, 61), weights=np.full(len(multiple), 100 / len(multiple)))
ax.axvline(1, color="black", linewidth=1)
ax.set(
    xlabel="blob base fee / (base fee / 16)", ylabel="share of ten-minute means [%]",
    title=f"Demand for blobs was below their reserve price {share:.0%} of the month",
)  # fmt: skip
fig.supxlabel("Ethereum, 2026-01-07 to 2026-02-06, means of ten minutes", x=1, ha="right")
