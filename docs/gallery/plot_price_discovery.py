"""
Price discovery from one wei
============================

According to EIP-7918, it takes over an hour of near-full blocks until the blob base fee is back at its equilibrium. In
this figure, near-full blocks have one blob less than the maximum, and the equilibrium is 1 gwei. With the reserve price
of EIP-7918, the fee starts at base fee / 16.
"""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np

from feemodel.simulation.attacks.saturation import L1State, upgrade
from feemodel.simulation.price_discovery import price_discovery

GWEI = 10**9
fig, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
for name in ("Cancun", "Prague", "BPO1", "BPO2"):
    rules = replace(upgrade(name), reserve=False)
    path = price_discovery(10 * GWEI, L1State(rules=rules), blobs=(rules.maximum - 1,))
    minutes = np.argmax(path >= GWEI) / 5
    label = f"{rules.target}/{rules.maximum} from 1 wei: {minutes:.0f} min"
    ax.plot(np.arange(len(path)) / 5, path / GWEI, label=label)
for base_fee, style in ((69_000_000, "--"), (GWEI, ":")):
    l1 = L1State(base_fee=base_fee, blob_base_fee=base_fee // 16)
    path = price_discovery(10 * GWEI, l1, blobs=(20,))
    minutes = np.argmax(path >= GWEI) / 5
    label = f"14/21 from the reserve at {base_fee / GWEI:g} gwei: {minutes:.0f} min"
    ax.plot(np.arange(len(path)) / 5, path / GWEI, style, color="C3", label=label)
ax.axhline(1, color="black", linewidth=0.8)
ax.axvline(60, color="grey", linewidth=0.8, linestyle=":")
ax.set(yscale="log", xlabel="minutes of near-full blocks", ylabel="blob base fee [gwei per gas]")
ax.legend(fontsize=8, title="minutes to 1 gwei", title_fontsize=8)
