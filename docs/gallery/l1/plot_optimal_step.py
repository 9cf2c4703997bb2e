"""
The optimal step of a fee rule
==============================

A fee rule changes the logarithm of the fee after each block. With large steps, the fee follows persistent shifts of
demand quickly, but also follows the noise of single blocks (Crapis, Moallemi and Wang, arXiv 2309.12735). If demand is
a random walk observed with noise, the optimal step is the gain of the Kalman filter. For blobs, the variance of the
shifts is 10⁻⁵ of the variance of the noise. In this case, the loss hardly changes around the optimal
step.
"""

import matplotlib.pyplot as plt
import numpy as np

plt.style.use("feemodel.plots.style")


def loss(k, ratio):
    """Return the mean squared deviation of usage from its target, divided by the variance of the noise."""
    return 1 + (ratio + k**2) / (2 * k - k**2)


fig, ax = plt.subplots()
factors = np.logspace(-1.5, 1.5, 200)
for power in (-5, -3, -1):
    ratio = 10.0**power
    gain = (np.sqrt(ratio**2 + 4 * ratio) - ratio) / 2
    inside = factors[factors * gain < 1.5]
    label = f"shifts / noise $10^{{{power}}}$"
    ax.plot(inside, loss(inside * gain, ratio) / loss(gain, ratio), label=label)
best = (np.sqrt(1e-10 + 4e-5) - 1e-5) / 2
costs = loss(10 * best, 1e-5) / loss(best, 1e-5) - 1
assert 0.01 < costs < 0.02
title = f"For blobs, a step ten times too large costs {costs:.1%}"
ax.set(xscale="log", ylim=(0.98, 1.6), xlabel="step / optimal step", ylabel="loss / minimum loss", title=title)
ax.legend(title="variance of demand", loc="upper center", bbox_to_anchor=(0.48, 1))
fig.supxlabel("Model: Crapis, Moallemi and Wang, arXiv 2309.12735", x=1, ha="right")
