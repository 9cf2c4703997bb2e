"""
How fast Ethereum's base fee rises
==================================

Under EIP-1559, a full block raises the base fee by an eighth, and an empty block lowers it by an eighth.
"""

import matplotlib.pyplot as plt

from feemodel.ethereum.fee_market import next_base_fee

plt.style.use("feemodel.plots.style")
LIMIT = 60_000_000
fig, ax = plt.subplots()
for share in (0.0, 0.25, 0.5, 0.75, 1.0):
    path = [1_000_000_000]
    for _ in range(50):
        path.append(next_base_fee(path[-1], gas_used=int(share * LIMIT), gas_limit=LIMIT))
    ax.plot([fee / 1e9 for fee in path], label=f"blocks {share:.0%} full")
assert 355 < path[-1] / path[0] < 365
title = f"Fifty full blocks raise the base fee {path[-1] / path[0]:.0f}-fold"
ax.set(yscale="log", xlabel="blocks", ylabel="base fee [gwei per gas]", title=title)
ax.legend(reverse=True)
fig.supxlabel("Rule: EIP-1559", x=1, ha="right")
