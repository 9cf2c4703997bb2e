"""
What to charge for the next day
===============================

Recommended fee parameters of Linea for a loss on 5 % of days, at the end of the month in the package. The figure shows
the price of a byte, the distribution of the cost of posting a byte, and the probability that the fees collected so
far do not pay for posting. The coordinator averages L1 fees over 12,000 s, so the price rises later than the cost.
"""

import matplotlib.pyplot as plt

import feemodel
from feemodel.io import read_shipped_l1_fees
from feemodel.plots import plot_loss_probability, plot_recommended_price

found = feemodel.recommend(read_shipped_l1_fees(), family="linea", loss_probability=0.05, paths=500, rng=1)
fig, (above, below) = plt.subplots(2, figsize=(8, 6), sharex=True, height_ratios=(2, 1), layout="constrained")
assert found.factor_interval[0] > 1
fig.suptitle(f"For a loss on one day in twenty, Linea charges {found.factor:.1f} times the cost of its rule")
plot_recommended_price(found.outlook, above)
plot_loss_probability(found.outlook, below, hold=found.hold, valid_for=found.valid_for, target=0.05)
fig.supxlabel("L1 fees: Ethereum, 2026-01-07 to 2026-02-06", x=1, ha="right")
