"""
The next day of L1 fees
=======================

A forecast from the 20th day of the month in the package, and the fees that followed. The bands contain 50 % and 90 %
of a thousand sample paths. Each path follows the rules of the protocol block by block.
"""

import matplotlib.pyplot as plt

import feemodel
from feemodel.io import read_shipped_l1_fees
from feemodel.plots import plot_forecast
from feemodel.simulation import scenarios

history = scenarios.replay(read_shipped_l1_fees(), source="Ethereum, 2026-01-07 to 2026-02-06")
found = feemodel.forecast(history.isel(step=slice(20 * 144)), horizons=["24h"], paths=1_000, rng=1)
fig, axes = plt.subplots(2, figsize=(8, 7), layout="constrained")
for ax, fee in zip(axes, ("base_fee", "blob_base_fee"), strict=True):
    plot_forecast(found, ax, fee=fee, history=history)
