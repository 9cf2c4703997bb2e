"""
The margin against the probability of a loss
============================================

For each of 200 resampled days, there is a margin at which fees equal costs. The probability of a loss at a given
margin is the share of days that need a higher margin, shown with its Clopper-Pearson interval. Assumed are no bounds,
no sharing in the stream, no finalization, a tip of 0.1 gwei and blocks of a day: the first row of the
figure "The margin by assumption".
"""

import matplotlib.pyplot as plt
import numpy as np

import feemodel
from feemodel.io import read_shipped_l1_fees, read_shipped_transactions
from feemodel.simulation import scenarios
from feemodel.simulation.surfaces import Workload

plt.style.use("feemodel.plots.style")
table = read_shipped_transactions().dropna(subset=["gas_used"])
workload = Workload("real transactions", table["zstd"].to_numpy(np.int64), table["gas_used"].to_numpy(np.int64))
month = scenarios.replay(read_shipped_l1_fees(), source="Ethereum, 2026-01-07 to 2026-02-06")
days = scenarios.bootstrap(month, paths=200, block_seconds=86_400, horizon=86_400, rng=7)
rule = feemodel.PricingRule(lower_bound=None, upper_bound=None)
found = feemodel.calibrate(workload, days, rule, loss_probability=0.05, arrival_rate=1.45, rng=7)
curve = found.loss_curve()
fig, ax = plt.subplots()
ax.fill_between(curve.margin, 100 * curve.low, 100 * curve.high, alpha=0.25, step="post", label="95 % interval")
ax.step(curve.margin, 100 * curve.loss_probability, where="post", label="days at a loss")
ax.plot([found.margin], [5], "o", color="black", label="the margin that is asked for")
assert 1.1 < found.margin < 1.4
title = f"One day in twenty loses at a margin of {found.margin:.2f}"
ax.set(xlabel="margin", ylabel="days at a loss [%]", ylim=(0, 100), title=title)
ax.legend()
fig.supxlabel("Transactions: Linea, 2023-07 to 2026-01. L1 fees: Ethereum, 2026-01-07 to 2026-02-06", x=1, ha="right")
