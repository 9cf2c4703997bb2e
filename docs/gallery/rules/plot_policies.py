"""
Pricing rules in a closed loop
==============================

Data fees divided by the cost of posting, for each day of a month, under four rules for the price of a byte. Linea's
rule without bounds stays near 1. A fixed price gains on days with low fees and loses on days with high fees.
The rule of the OP Stack does not include the tip.
"""

import matplotlib.pyplot as plt

from feemodel.io import read_shipped_l1_fees
from feemodel.simulation import Demand, Posting, baseline_pricing, break_even, simulate
from feemodel.simulation.scenarios import replay

plt.style.use("feemodel.plots.style")
history = replay(read_shipped_l1_fees(), source="Ethereum, 2026-01-07 to 2026-02-06")
even = break_even(history, Posting(), Demand())
fig, ax = plt.subplots()
worst = {}
for kind in ("fixed", "linea", "linea-unbounded", "op-stack"):
    month = simulate(history, baseline_pricing(kind, even), Posting(), Demand(), days="utc").isel(path=0)
    recovered = month.data_fees / month.accrued_data_cost
    worst[kind] = float(recovered.min())
    ax.plot(month.date, recovered, "o-", markersize=3, label=kind)
ax.axhline(1, color="black", linewidth=0.8)
assert worst["linea-unbounded"] > 0.9 > 0.5 > max(worst[kind] for kind in ("fixed", "linea", "op-stack"))
title = "Only the rule without bounds stays near its cost"
ax.set(yscale="log", ylabel="data fees / accrued cost, each UTC day", title=title)
ax.set_yticks([0.1, 0.2, 0.5, 1, 2], ["0.1", "0.2", "0.5", "1", "2"])
ax.legend()
fig.supxlabel("L1 fees: Ethereum, 2026-01-07 to 2026-02-06", x=1, ha="right")
