"""
What patience saves
===================

A rollup can save money by waiting to post blobs until L1 fees are low. The figure compares Linea's production price cap
with perfect foresight, for target delays from half an hour to sixteen hours. (arXiv 2212.10337 studies the same
question for Arbitrum; its data is not public.)
"""

import matplotlib.pyplot as plt

from feemodel.io import read_shipped_l1_fees
from feemodel.simulation import Posting, PriceCap, price_of_finality
from feemodel.simulation.scenarios import replay

history = replay(read_shipped_l1_fees(), source="Ethereum, 2026-01-07 to 2026-02-06")
hours, saved = (0.5, 1, 2, 4, 8, 16), {"production price cap": [], "perfect foresight": []}
for hour in hours:
    cap = Posting(kind="price-cap", cap=PriceCap(target_delay=hour * 3_600.0, tip="paid"))
    future = Posting(kind="clairvoyant", deadline=hour * 3_600.0)
    for label, posting in zip(saved, (cap, future), strict=True):
        saved[label].append(100 * float(price_of_finality(history, posting).saving))
fig, ax = plt.subplots()
for label, values in saved.items():
    ax.plot(hours, values, "o-", label=label)
ax.axhline(0, color="black", linewidth=0.8)
waited = saved["production price cap"]
assert waited[0] < 0 < 25 < waited[2] < 35
title = f"Two hours of patience save {waited[2]:.0f} % of posting"
ax.set(xscale="log", xlabel="target delay [h]", ylabel="saving over immediate posting [%]", xticks=hours, title=title)
ax.set_xticklabels([f"{hour:g}" for hour in hours])
ax.legend()
fig.supxlabel("L1 fees: Ethereum, 2026-01-07 to 2026-02-06", x=1, ha="right")
