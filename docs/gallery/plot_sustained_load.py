"""
Arbitrum under sustained load
=============================

The six constraints have windows from 9 seconds to a day. Under a higher load, a constraint with a shorter window sets
the price. Each line shows one hour of constant load.
"""

import matplotlib.pyplot as plt

from feemodel.simulation.attacks.surge import sustained_use

MINIMUM = 20_000_000  # wei per gas, Arbitrum One
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for load in (12e6, 20e6, 30e6, 45e6):
    run = sustained_use(load, 1.0, min_base_fee=MINIMUM)
    ax.plot(run.second / 60, run.base_fee / 1e9, label=f"{load / 1e6:g} million gas per second")
ax.axhline(MINIMUM / 1e9, color="grey", linewidth=1, linestyle=":", label="minimum")
ax.set(yscale="log", xlabel="minutes", ylabel="L2 base fee [gwei per gas]")
ax.grid(alpha=0.25)
ax.legend(fontsize=8)
