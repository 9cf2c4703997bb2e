"""
A margin for your transactions at a chosen risk
===============================================

You have a file of transactions and want to find **the margin at which the fees of at most five percent of days are
below the cost of posting**. This tutorial has seven steps, each with a figure.
"""

# %%
# 1. Read the transactions
# ------------------------
#
# ``feemodel.io.read_transactions("mine.csv")`` reads CSV, Parquet and JSON files of cryo, ethereum-etl, Dune and nodes.
# This tutorial uses real Linea transactions that come with the package.

import matplotlib.pyplot as plt
import numpy as np

import feemodel
from feemodel.io import read_shipped_l1_fees, read_shipped_transactions

plt.style.use("feemodel.plots.style")
table = read_shipped_transactions().dropna(subset=["gas_used"])
gas = table["gas_used"].to_numpy(np.int64)

fig, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
ax.hist(gas, bins=np.geomspace(21_000, gas.max(), 50))
ax.set(xscale="log", xlabel="gas used", ylabel="transactions")
ax.set_title(f"The gas of {len(table):,} transactions of Linea, 2023-07 to 2026-01")

# %%
# 2. Measure the compressed sizes
# -------------------------------
#
# The fee depends on the compressed size. For a table with calldata, ``feemodel.fee_sizes(table)`` measures the sizes.
# The table in the package already contains the sizes under several codecs.

sizes = table["zstd"].to_numpy(np.int64)

fig, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
for codec in ("zstd", "lzss"):
    ordered = np.sort(table[codec].to_numpy(np.int64))
    ax.plot(ordered, np.linspace(0, 1, len(ordered)), label=codec)
ax.set(xscale="log", xlabel="compressed size [byte]", ylabel="share of transactions")
ax.set_title("LZSS compresses most transactions further")
assert (table["lzss"] < table["zstd"]).mean() > 0.5
ax.legend()

# %%
# 3. Compute the fee
# ------------------
#
# The variable cost is the cost of a compressed byte on L1. The fixed cost is charged for every unit of gas. These are
# the costs of Linea mainnet in January 2026.

fees = feemodel.priority_fee(sizes, gas, variable_cost=1_000_000_000, fixed_cost=30_000_000, margin=1.2)

fig, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
ax.scatter(gas, fees / 1e9, s=4)
ax.set(xscale="log", xlabel="gas used", ylabel="priority fee [gwei per gas]")
ax.set_title("Small transactions pay more per gas")

# %%
# 4. Look at L1
# -------------
#
# The cost of posting depends on L1's base fee and blob base fee. The figure shows thirty days of both.

history = read_shipped_l1_fees()

fig, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
ax.plot(history["time"], history["base_fee"] / 1e9, label="base fee")
ax.plot(history["time"], history["blob_base_fee"] / 1e9, label="blob base fee")
ax.set(yscale="log", ylabel="fee [gwei per gas]", title="Both L1 fees rose a hundredfold for an hour or more")
for fee in ("base_fee", "blob_base_fee"):
    assert (history[fee] > 100 * history[fee].median()).sum() > 6  # means of ten minutes
ax.legend()


# %%
# 5. Backtest a rule
# ------------------
#
# A pricing rule announces costs that depend on L1 fees. Users pay fees at these costs, and the rollup posts the bytes
# in blobs. Only the part of the fees for the size (``data_fees``) is counted here, because the fixed cost pays for
# other expenses. Set your own gas and tip in the rule, ``PricingRule(execution_gas=…, tip=…)``, which announces prices
# from them. The posting takes them from ``rule.submission`` and pays them. Three blobs in one submission are
# ``blob_gas=3 * 131_072, bytes_per_submission=3 * 131_072`` in the rule, and nothing in the posting.

from feemodel.linea.parameters import MEASURED_STREAM_RATIO
from feemodel.plots import plot_recovery_over_time
from feemodel.simulation import scenarios
from feemodel.simulation.surfaces import Workload

workload = Workload("my transactions", sizes, gas)
l1_fees = scenarios.replay(history, source="Ethereum, 2026-01-07 to 2026-02-06")
rule = feemodel.PricingRule(lower_bound=None, upper_bound=None)
posting = feemodel.Posting(submission=rule.submission, stream_ratio=MEASURED_STREAM_RATIO)
month = feemodel.backtest(workload, l1_fees, rule, posting, arrival_rate=1.45, rng=1)

fig, ax = plt.subplots(figsize=(8, 2.9), layout="constrained")
plot_recovery_over_time(month, ax)
print(f"the size part of the fees is {month.recovery.item():.2f} times what posting cost")

# %%
# 6. Draw many days
# -----------------
#
# One month is only one history. A bootstrap draws pieces of it at random to make many possible days. The pieces are
# a day long on average, because L1 fees stay correlated for hours.

days = scenarios.bootstrap(l1_fees, paths=200, block_seconds=86_400, horizon=86_400, rng=7)

fig, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
ax.hist(days["base_fee"].mean("step") / 1e9, bins=30)
ax.set(xlabel="mean base fee of a day [gwei per gas]", ylabel="days", title="200 days drawn from the month")

# %%
# 7. Find the margin
# ------------------
#
# ``calibrate`` finds the smallest margin at which at most five percent of the days make a loss, with a confidence
# interval. The interval includes the uncertainty from the random choice of 200 days. It does not include the risk that
# next month differs from this one. The margin also depends on what steps 5 and 6 assume: no bounds, a shared stream, no
# finalization, blocks of a day. ``feemodel.simulation.margins`` computes it under each combination of assumptions, of
# which this is one.

found = feemodel.calibrate(workload, days, rule, posting, loss_probability=0.05, arrival_rate=1.45, rng=7)
margins = np.linspace(0.5 * found.margin, 1.5 * found.margin, 7)
recovery = []
for margin in margins:
    tried = feemodel.PricingRule(lower_bound=None, upper_bound=None, estimate_margin=margin)
    result = feemodel.backtest(workload, days, tried, posting, arrival_rate=1.45, rng=7)
    recovery.append(float((result.recovery < 1).mean()))

fig, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
ax.plot(margins, 100 * np.array(recovery), marker="o")
ax.axhline(5, color="grey", linewidth=1)
ax.axvspan(found.low, found.high, alpha=0.2, label="95 % interval")
ax.axvline(found.margin, color="black", linewidth=1, label=f"margin {found.margin:.2f}")
ax.set(xlabel="margin", ylabel="days at a loss [%]")
ax.set_title(f"A margin of {found.margin:.2f} holds losses to 5 % of days")
ax.legend()
print(f"margin {found.margin:.3f} ({found.low:.3f} to {found.high:.3f})")

# %%
# To use your own numbers, change the file in step 1, the rule and posting in step 5, and the bound in step 7. The
# command ``feemodel calibrate --transactions mine.csv --no-bounds --stream-ratio 0.52`` does the same in a shell, on
# its own draw of days, for one blob of 65,250 gas. ``found.loss_curve().to_netcdf("margin.nc")`` saves the margin and
# how it was found.
