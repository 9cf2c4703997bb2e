"""
Published: filling L1's blob space
==================================

arXiv 2509.17126, Figure 5a: the number of blocks for which a budget can fill every blob of L1. The published model
starts at a blob base fee of 1 wei and multiplies it by 1.15 per block. The protocol's rule multiplies it by 1.082. If
the attack starts at the fees of January 2026, the budget is used up sooner.
"""

import matplotlib.pyplot as plt
import numpy as np

from feemodel.simulation.attacks.saturation import L1State, published_saturation, saturate

budgets = np.geomspace(0.1, 1_000, 41)
january = L1State(base_fee=69_000_000, blob_base_fee=4_000_000)
assert [published_saturation(ether * 1e18) for ether in (1, 10, 100)] == [182, 199, 215]

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(budgets, [published_saturation(ether * 1e18) for ether in budgets], label="published, from 1 wei")
for label, state in (("protocol (BPO2) from 1 wei", L1State()), ("protocol, from January 2026's fees", january)):
    ax.plot(budgets, [saturate(int(ether * 1e18), state).blocks for ether in budgets], label=label)
ax.plot([1, 10, 100], [182, 199, 215], "o", color="black", label="printed in Figure 5a")
ax.set(xscale="log", xlabel="budget [ETH]", ylabel="full blocks of blobs", ylim=(0, None))
ax.grid(alpha=0.25)
ax.legend()
