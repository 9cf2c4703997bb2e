"""
What to charge for the next day
===============================

Linea's parameters for a loss on 5 % of days, from the end of the shipped month: the price of a byte over the
distribution of what posting it costs, and the probability that fees so far do not pay for posting. The coordinator
averages L1 over 12,000 s, so the price rises after the cost.
"""

import matplotlib.pyplot as plt

import feemodel
from feemodel.io import read_shipped_l1_fees
from feemodel.plots import plot_loss_probability, plot_recommended_price

found = feemodel.recommend(read_shipped_l1_fees(), family="linea", loss_probability=0.05, paths=500, rng=1)
fig, (above, below) = plt.subplots(2, figsize=(8, 6), sharex=True, height_ratios=(2, 1), layout="constrained")
plot_recommended_price(found.outlook, above)
plot_loss_probability(found.outlook, below, hold=found.hold, valid_for=found.valid_for, target=0.05)
