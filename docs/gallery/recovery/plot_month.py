"""
A month of fees against a month of posting
==========================================

The size part of the fees of real transactions, at 1.45 a second, and the cost of posting them, each day of a month of
L1 fees, under Linea's published bounds and a margin of 1.2. The bounds hold the price down when L1 is expensive.
"""

import matplotlib.pyplot as plt
import numpy as np

import feemodel
from feemodel.io import read_shipped_l1_fees, read_shipped_transactions
from feemodel.simulation import Demand, scenarios
from feemodel.simulation.surfaces import Workload

plt.style.use("feemodel.plots.style")
table = read_shipped_transactions().dropna(subset=["gas_used"])
workload = Workload("real transactions", table["zstd"].to_numpy(np.int64), table["gas_used"].to_numpy(np.int64))
month = scenarios.replay(read_shipped_l1_fees(), source="Ethereum, 2026-01-07 to 2026-02-06")
demand = Demand(rate=1.45, workload=workload)
result = feemodel.simulate(month, feemodel.PricingRule(), demand=demand, days="utc", rng=1)
days = result.isel(path=0, day=result.covered == 1.0)  # whole days
fees, cost = days.data_fees / 1e15, days.accrued_data_cost / 1e15  # thousandths of an ETH
lost, gain = cost > fees, fees - cost
assert (int(lost.sum()), lost.size) == (2, 29)
assert gain.sum() < 0
fig, ax = plt.subplots()
ax.bar(days.date, cost, color=np.where(lost, "#D55E00", "#bbbbbb"), label="cost of posting")
ax.plot(days.date, fees, "o-", markersize=4, label="fees for the size")
ax.set(ylabel="thousandths of an ETH a day", title="Twenty-seven days of gain do not pay for two of loss")
ax.grid(visible=False, axis="x")
ax.legend(loc="upper left")
fig.supxlabel("Transactions: Linea, 2023-07 to 2026-01. L1 fees: Ethereum, 2026-01-07 to 2026-02-06", x=1, ha="right")
