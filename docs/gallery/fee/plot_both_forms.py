"""
The two published forms side by side
====================================

The fee in the verification-cost form (2024) is a multiple of the minimum gas price. The cost-per-byte form adds a fixed
cost.
"""

import matplotlib.pyplot as plt
import numpy as np

import feemodel

plt.style.use("feemodel.plots.style")
size = np.arange(20, 1_000)
verification = feemodel.verification_priority_fee(size, 100_000, min_gas_price=41_904_000, margin=1.2)
per_byte = feemodel.priority_fee(size, 100_000, variable_cost=1_000_000_000, fixed_cost=30_000_000, margin=1.2)
fig, ax = plt.subplots()
ax.plot(size, verification / 1e9, label="verification cost, minimum gas price 0.042 gwei")
ax.plot(size, per_byte / 1e9, label="cost per byte, January 2026")
assert 2.0 < verification[-1] / per_byte[-1] < 2.2
title = f"A thousand bytes paid {verification[-1] / per_byte[-1]:.1f} times as much in the form of 2024"
ax.set(xlabel="compressed size [byte]", ylabel="priority fee at 100,000 gas [gwei per gas]", title=title)
ax.legend()
fig.supxlabel("Prices: Linea mainnet, 2024 and January 2026", x=1, ha="right")
