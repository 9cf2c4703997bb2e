"""
Many months from one
====================

A block bootstrap draws whole days of L1 fees with replacement. Each base fee stays paired with the blob base fee of the
same time. The risk of a margin is computed from this distribution of paths.
"""

import matplotlib.pyplot as plt

from feemodel.io import read_shipped_l1_fees
from feemodel.plots import plot_fee_fan
from feemodel.simulation import scenarios

history = scenarios.replay(read_shipped_l1_fees(), source="Ethereum, 2026-01-07 to 2026-02-06")
drawn = scenarios.bootstrap(history, paths=300, block_seconds=86_400, horizon=7 * 86_400, rng=3)
fig, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
plot_fee_fan(drawn, ax, history=scenarios.beginning(history, 7 * 86_400))
fig.suptitle("300 weeks drawn from a month, in blocks of a day on average")
