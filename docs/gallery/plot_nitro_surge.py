"""
Published: a surge on Arbitrum's two gas prices
===============================================

This figure uses the defaults of OffchainLabs/nitro's ``cmd/l2pricing-simulator`` (2026-04), in which demand rises to
200 million gas per second and falls again. Under the legacy rule, the price peaks at second 45, at 9.11
times the minimum. Under the six constraints, it peaks at second 39, at 3.64 times the minimum.
"""

import matplotlib.pyplot as plt

from feemodel.plots import plot_surge
from feemodel.simulation.attacks.surge import surge_prices

found = surge_prices()
peaks = found.base_fee.max("second") / 1e9
assert peaks.round(4).values.tolist() == [9.1115, 3.6423]

fig, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
names = {"legacy": "legacy rule, one speed limit", "constraints": "six constraints, since 2026-01-08"}
plot_surge({said: found.base_fee.sel(rule=rule).values for rule, said in names.items()}, ax)
ax.set_title("nitro's own simulation, second by second")
