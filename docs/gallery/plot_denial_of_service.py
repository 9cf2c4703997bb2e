"""
Published: thirty minutes of denial of service
==============================================

arXiv 2509.17126, Figure 4 (Chaliasos and others, 2025): the cost of filling every block of a rollup for half an hour.
In the published model the blob base fee starts at 1 wei and grows by a factor of 1.15 per block. Dots show this model,
reproduced to all printed digits. Diamonds show the same attack under the protocol's rules (EIP-4844, EIP-7918, 21 blobs
per block), starting at the fees of January 2026.
"""

import matplotlib.pyplot as plt

from feemodel.simulation.attacks.denial import PUBLISHED, denial, published_denial
from feemodel.simulation.attacks.saturation import L1State

january = L1State(base_fee=69_000_000, blob_base_fee=4_000_000)
names = [victim.name for victim in PUBLISHED]
published = [float(published_denial(victim, 150).paid.sum()) / 1e18 for victim in PUBLISHED]
protocol = [float(denial(victim, 150, january).paid.sum()) / 1e18 for victim in PUBLISHED]
assert [round(cost, 3) for cost in published] == [4.484, 1.376, 0.856, 5.649, 0.417, 1.983, 0.437]

fig, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
ax.hlines(names, *zip(*map(sorted, zip(published, protocol, strict=True)), strict=True), color="#cccccc", zorder=1)
ax.plot(published, names, "o", markersize=10, label="published model, from 1 wei")
ax.plot(protocol, names, "D", markersize=5, label="by the protocol, from January 2026")
ax.set(xscale="log", xlabel="cost of 150 L1 blocks [ETH]", title="Who is cheap to keep full for thirty minutes")
ax.grid(axis="x", alpha=0.25)
ax.legend()
