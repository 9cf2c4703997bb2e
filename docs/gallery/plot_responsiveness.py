"""
Six constraints against one
===========================

The growth rate of Arbitrum's base fee under a constant load, to first order, under the legacy rule and under the six
constraints of ArbOS 51 Dia. Above 118 million gas per second, the fee rises faster under the six constraints.
"""

import matplotlib.pyplot as plt
import numpy as np

from feemodel.rollups.arbitrum_l2_pricing import DIA_CONSTRAINTS, PRICING_INERTIA
from feemodel.simulation.attacks.surge import LEGACY_SPEED_LIMIT

loads = np.linspace(8e6, 200e6, 800)
legacy = (loads - LEGACY_SPEED_LIMIT) / (LEGACY_SPEED_LIMIT * PRICING_INERTIA)
six = sum(np.maximum(0, loads - one.target) / (one.target * one.window) for one in DIA_CONSTRAINTS)
crossing = loads[np.argmax(six > legacy)] / 1e6
assert 117 < crossing < 119

fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.plot(loads / 1e6, legacy, label="legacy rule, one constraint")
ax.plot(loads / 1e6, six, label="six constraints, since 2026-01-08")
ax.axvline(crossing, color="black", linewidth=0.8, linestyle=":", label=f"{crossing:.0f} Mgas/s")
for one in DIA_CONSTRAINTS:
    ax.axvline(one.target / 1e6, color="C1", linewidth=0.6, alpha=0.4)
ax.set(yscale="log", ylim=(1e-6, 1), xlabel="load [Mgas/s]", ylabel="growth of the base fee [1/s]")
ax.grid(alpha=0.25)
ax.legend(fontsize=8)
