"""
The margin by assumption
========================

The margin of the estimate with which at most 5 % of days have a loss, for each combination of assumptions: published
bounds of the announced cost, compression in one stream, finalization paid from the same fees, and the block length of
the bootstrap. Lines are 95 % intervals of the random draw of 200 days. The other pages quote margins of this figure.
"""

import matplotlib.pyplot as plt
import numpy as np

from feemodel.io import read_shipped_l1_fees, read_shipped_transactions
from feemodel.plots import plot_margins
from feemodel.simulation import margins, scenarios
from feemodel.simulation.surfaces import Workload

plt.style.use("feemodel.plots.style")
table = read_shipped_transactions().dropna(subset=["gas_used"])
workload = Workload("real transactions", table["zstd"].to_numpy(np.int64), table["gas_used"].to_numpy(np.int64))
month = scenarios.replay(read_shipped_l1_fees(), source="Ethereum, 2026-01-07 to 2026-02-06")
found = margins(workload, month, arrival_rate=1.45, rng=7)
free = found.margin.sel(bounds=False, tip=100_000_000, horizon=86_400)
assert (free.isel(stream_ratio=0) > 1.5 * free.isel(stream_ratio=1)).all(), "sharing nearly halves the margin"
assert (free.isel(finalization_gas=1) > free.isel(finalization_gas=0)).all()

fig, ax = plt.subplots(figsize=(9, 5.5))
plot_margins(found, ax)
fig.suptitle("Compression in one stream nearly halves the margin; finalization raises it")
