"""
The optimal step of a fee rule
==============================

A fee rule changes the logarithm of the fee after each block. With large steps, the fee follows persistent shifts of
demand quickly, but also follows the noise of single blocks (Crapis, Moallemi and Wang, arXiv 2309.12735). If demand is
a random walk observed with noise, the optimal step is the gain of the Kalman filter. Demand for blobs is persistent
(the variance of its shifts is 10⁻⁵ of that of the noise). In this case, the loss hardly changes around the optimal
step.
"""

import matplotlib.pyplot as plt
import numpy as np


def loss(k, ratio):
    """Return the mean squared deviation of usage from its target, divided by the variance of the noise."""
    return 1 + (ratio + k**2) / (2 * k - k**2)


fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
factors = np.logspace(-1.5, 1.5, 200)
for power in (-5, -3, -1):
    ratio = 10.0**power
    gain = (np.sqrt(ratio**2 + 4 * ratio) - ratio) / 2
    inside = factors[factors * gain < 1.5]
    label = f"variance of a shift over that of the noise $10^{{{power}}}$"
    ax.plot(inside, loss(inside * gain, ratio) / loss(gain, ratio), label=label)
ax.set(xscale="log", ylim=(0.98, 1.6), xlabel="step over the optimal step", ylabel="loss over the minimum loss")
ax.grid(alpha=0.25)
ax.legend(fontsize=8)
