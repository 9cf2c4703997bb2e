"""
Published: delaying finality
============================

arXiv 2509.17126, abstract: an attacker with 10 ETH delays a rollup's finality by filling its blocks. The delay is 1.45
times (Arbitrum) to 2.73 times (Base) as long as if the attacker filled L1's blobs directly. Under the protocol's rules,
with 21 blobs per block, L1 has enough space for the data of most rollups.
"""

import matplotlib.pyplot as plt
import numpy as np

from feemodel.simulation.attacks import denial
from feemodel.simulation.attacks.saturation import L1State

victims = [denial.PUBLISHED_ARBITRUM, *(denial.PUBLISHED[place] for place in (5, 2, 0, 3))]
january = L1State(base_fee=69_000_000, blob_base_fee=4_000_000)
published = [denial.published_finality_delay(victim, 1e19) / denial.PUBLISHED_SATURATION for victim in victims]
found = [denial.finality_delay(victim, 10**19, january) for victim in victims]
assert [round(ratio, 2) for ratio in published] == [1.45, 1.47, 1.48, 1.88, 2.73]

fig, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
rows = np.arange(len(victims))
protocol = [delay.clearing / delay.saturated for delay in found]
for shift, delays, label in ((-0.2, published, "published model"), (0.2, protocol, "by the protocol, BPO2")):
    ax.bar_label(ax.barh(rows + shift, delays, height=0.38, label=label), fmt="%.2f", padding=3, fontsize=8)
ax.axvline(1, color="black", linewidth=0.8)
ax.set(yticks=rows, yticklabels=[victim.name for victim in victims])
ax.set_xlabel("delay relative to filling L1's blobs with the same 10 ETH")
ax.margins(x=0.08)
ax.legend()
