"""
A month of Ethereum's fees
==========================

Base fee and blob base fee move together: since December 2025 (EIP-7918) a blob costs at least a share of the base
fee, and in this month blobs were at that floor.
"""

import matplotlib.pyplot as plt

from feemodel.io import read_shipped_l1_fees

fees = read_shipped_l1_fees().set_index("time")[["base_fee", "blob_base_fee"]] / 1e9
fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
for name, values in fees.resample("3h").median().items():
    ax.plot(values.index, values, label=name.replace("_", " "))
ax.set(yscale="log", ylabel="gwei per gas, 3-hour medians")
ax.tick_params(axis="x", rotation=30)
ax.legend()
