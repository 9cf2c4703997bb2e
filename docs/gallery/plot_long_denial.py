"""
Published: ten hours of denial of service
=========================================

arXiv 2509.17126, Figure 11a: the attacker's spending over ten hours, if each rollup reads L1's blob base fee only every
20 blocks. The totals are equal to the published ones in all printed digits.
"""

import matplotlib.pyplot as plt

from feemodel.plots import plot_attack
from feemodel.simulation.attacks.denial import PUBLISHED, published_denial

runs = {victim.name: published_denial(victim, 3_000, update_blocks=20) for victim in PUBLISHED}
totals = {name: float(run.paid.sum()) / 1e18 for name, run in runs.items()}
assert [round(total, 3) for total in totals.values()] == [89.678, 27.514, 17.124, 112.986, 8.334, 39.66, 8.748]

fig, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
plot_attack({f"{name}: {total:.1f} ETH": runs[name] for name, total in totals.items()}, ax)
ax.set_title("Filling a rollup's blocks for ten hours, published model")
