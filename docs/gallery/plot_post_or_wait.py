"""
Post now or wait
================

Three ways to decide when to post a blob, compared at the same mean delay: Linea's production price cap, optimal
stopping with a forecast of the cost (as in arXiv 2212.10337), and perfect foresight. All pay a tip of 0.1 gwei.
"""

import matplotlib.pyplot as plt

from feemodel.io import read_shipped_l1_fees
from feemodel.simulation import Posting, PriceCap, price_of_finality
from feemodel.simulation.scenarios import replay

history = replay(read_shipped_l1_fees(), source="Ethereum, 2026-01-07 to 2026-02-06")
hours = (2, 4, 8, 16, 32)
shares = (1.2, 0.8, 0.4, 0.25, 0.2, 0.15)  # cost of an hour of waiting, in units of the median cost of a submission
caps = [Posting(kind="price-cap", cap=PriceCap(target_delay=hour * 3_600.0, tip="constant")) for hour in hours]
postings = {
    "perfect foresight": [Posting(kind="clairvoyant", deadline=57_600.0, delay_cost=share) for share in shares],
    "by forecast": [Posting(kind="forecast", deadline=57_600.0, delay_cost=share) for share in shares],
    "production price cap": caps,
}
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for label, rules in postings.items():
    found = [price_of_finality(history, rule) for rule in rules]
    ax.plot([one.mean_delay / 3_600 for one in found], [100 * one.saving for one in found], "o-", label=label)
ax.set(xlabel="mean delay after the blob is full [h]", ylabel="saving over immediate posting [%]", ylim=(0, None))
ax.legend(loc="lower right")
