"""
Many weeks from one month
=========================

A block bootstrap draws pieces of L1 fees with replacement, each a day long on average. Each base fee stays paired with
the blob base fee of the same time. The risk of a margin is computed from these paths. An expensive week and a cheap
week are the 95 % and the 5 % quantile of the mean base fee.
"""

import matplotlib.pyplot as plt

from feemodel.io import read_shipped_l1_fees
from feemodel.plots import plot_fee_fan
from feemodel.simulation import scenarios

plt.style.use("feemodel.plots.style")
history = scenarios.replay(read_shipped_l1_fees(), source="Ethereum, 2026-01-07 to 2026-02-06")
drawn = scenarios.bootstrap(history, paths=300, block_seconds=86_400, horizon=7 * 86_400, rng=3)
cheap, dear = drawn["base_fee"].mean("step").quantile([0.05, 0.95]).to_numpy()
assert dear > 2 * cheap
fig, ax = plt.subplots()
plot_fee_fan(drawn, ax, history=history.isel(step=history.elapsed.values < 7 * 86_400))
fig.suptitle(f"An expensive week costs {dear / cheap:.0f} times as much as a cheap one")
