"""
The next day of L1 fees
=======================

A forecast from the 20th day of the month in the package, and the fees that followed. The bands contain 50 % and 90 %
of a thousand sample paths.
"""

import matplotlib.pyplot as plt

import feemodel
from feemodel.io import read_shipped_l1_fees
from feemodel.plots import plot_fee_fan
from feemodel.simulation import scenarios

plt.style.use("feemodel.plots.style")
history = scenarios.replay(read_shipped_l1_fees(), source="Ethereum, 2026-01-07 to 2026-02-06")
found = feemodel.forecast(history.isel(step=slice(20 * 144)), horizons=["24h"], paths=1_000, rng=1)
fig, axes = plt.subplots(2, figsize=(8, 7), layout="constrained")
seen = history["base_fee"].isel(path=0, step=slice(20 * 144, 21 * 144)).to_numpy()
low, high = found["base_fee"].isel(step=slice(1, 145)).quantile([0.05, 0.95], "path").to_numpy()
inside = ((low <= seen) & (seen <= high)).mean()
assert inside > 0.85
fig.suptitle(f"{inside:.0%} of the next day's base fees lie in the 90 % band")
for ax, fee in zip(axes, ("base_fee", "blob_base_fee"), strict=True):
    plot_fee_fan(found, ax, fee=fee, history=history)
axes[1].get_legend().remove()  # the same as above
