"""
Fees compared with the cost of posting
======================================

For every ten minutes of a week, the data fees divided by the cost of posting the bytes, in a backtest without a
fixed cost, at a margin of 1.2. Each transaction has the ratio of its ten-minute bin. Below 1, transactions pay less
than they cost, and others pay for the difference.
"""

import matplotlib.pyplot as plt
import numpy as np

import feemodel
from feemodel.io import read_shipped_l1_fees, read_shipped_transactions
from feemodel.plots import plot_charges
from feemodel.simulation import scenarios
from feemodel.simulation.surfaces import Workload

plt.style.use("feemodel.plots.style")
table = read_shipped_transactions().dropna(subset=["gas_used"])
workload = Workload("real transactions", table["zstd"].to_numpy(np.int64), table["gas_used"].to_numpy(np.int64))
month = scenarios.replay(read_shipped_l1_fees(), source="Ethereum, 2026-01-07 to 2026-02-06")
rule = feemodel.PricingRule(lower_bound=None, upper_bound=None, fixed_cost=0)
week = feemodel.backtest(workload, month.isel(step=month.elapsed.values < 7 * 86_400), rule, arrival_rate=1.45, rng=1)
fig, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
plot_charges(week, ax)
assert 0.1 < float(ax.get_title("left").partition("%")[0]) / 100 < 0.12
