"""
The regret of a fee rule
========================

Angeris, Diamandis and Moallemi (AFT 2025) show that the welfare gap between EIP-1559 and the best fixed price is at
most O(1/√T). With the protocol's denominator of 8, the gap stops falling. With a denominator that grows as √T, it
falls as fast as the bound.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize_scalar

from feemodel.ethereum.fee_market import next_base_fee

GWEI, TARGET, LIMIT = 10**9, 30_000_000, 60_000_000
values = GWEI * np.exp(0.5 * np.random.default_rng(1).standard_normal(8_192))  # scale of demand [wei / gas]


def demand(price, value):
    """Return the gas used, at most the gas limit."""
    return np.minimum(2.5 * TARGET * np.exp(-price / value), LIMIT)


def loss(price, value):
    """Return the welfare loss, price times target plus consumer surplus, in units of the target at 1 gwei."""
    surplus = value * demand(price, value) + LIMIT * np.maximum(value * np.log(2.5 * TARGET / LIMIT) - price, 0)
    return (price * TARGET + surplus) / (TARGET * GWEI)


def gap(length, denominator):
    """Return the mean loss minus that of the best fixed price. The first price is 0.2 gwei."""
    prices = np.empty(length)
    price = GWEI // 5
    for t in range(length):
        prices[t] = price
        price = next_base_fee(price, int(demand(price, values[t])), LIMIT, denominator=denominator)
    drawn = values[:length]
    best = minimize_scalar(lambda fixed: loss(fixed, drawn).mean(), bounds=(0, 10 * GWEI), method="bounded")
    return loss(prices, drawn).mean() - best.fun


lengths = np.array([64, 256, 1_024, 4_096, 8_192])
fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.plot(lengths, [gap(length, 8) for length in lengths], "o-", label="denominator 8")
growing = [gap(length, round(8 * np.sqrt(length / 64))) for length in lengths]
ax.plot(lengths, growing, "s--", label="denominator 8 · √(T / 64)")
ax.plot(lengths, growing[0] * np.sqrt(64 / lengths), ":", color="black", label="∝ 1/√T")
ax.set(xscale="log", yscale="log", xlabel="blocks T", ylabel="welfare gap per block [target · 1 gwei]")
ax.grid(alpha=0.25)
ax.legend(fontsize=8)
