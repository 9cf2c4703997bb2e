"""
A month of Ethereum's fees
==========================

The base fee and the blob base fee move together. Since December 2025 (EIP-7918), the blob base fee does not fall while
it is below a sixteenth of the base fee. In this month, it stayed just below that reserve price.
"""

import matplotlib.pyplot as plt

from feemodel.io import read_shipped_l1_fees

plt.style.use("feemodel.plots.style")
fees = read_shipped_l1_fees().set_index("time")[["base_fee", "blob_base_fee"]] / 1e9
fig, ax = plt.subplots()
for name, values in fees.resample("3h").median().items():
    ax.plot(values.index, values, label=name.replace("_", " "))
ratio = fees.base_fee.median() / fees.blob_base_fee.median()
assert 16 < ratio < 19  # the reserve price of EIP-7918 is a sixteenth
ax.set(yscale="log", ylabel="gwei per gas, 3-hour medians", title=f"Blob gas cost a {ratio:.0f}th of gas all month")
ax.legend()
fig.supxlabel("Ethereum, 2026-01-07 to 2026-02-06", x=1, ha="right")
