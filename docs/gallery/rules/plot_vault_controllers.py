"""
Two controllers of a fee vault
==============================

The balance of a vault of 10 ETH over a month of L1 fees, with the settings of linoscope's simulator for Taiko. The
multiplicative step of EIP-1559 overshoots its target. A proportional controller does not overshoot, but with a gain of
1 its peak fee is higher.
"""

import matplotlib.pyplot as plt

from feemodel.ethereum.fee_market import USABLE_BLOB_BYTES
from feemodel.io import read_shipped_l1_fees
from feemodel.simulation import Demand, Posting, VaultEip1559, VaultPricing, simulate
from feemodel.simulation.scenarios import replay
from feemodel.simulation.surfaces import Submission

ETH, DAY = 1e18, 86_400
history = replay(read_shipped_l1_fees(), source="Ethereum, 2026-01-07 to 2026-02-06")
size = 2 * USABLE_BLOB_BYTES  # bytes per submission, every 120 s
gas_per_byte = 60e6 / size  # L2 gas
posting = Posting(submission=Submission(execution_gas=100_000, tip=10**9), blobs=2)
demand = Demand(rate=size / 120 / Demand().bytes_per_transaction)
least, most = 1e6 * gas_per_byte, 1e9 * gas_per_byte  # 0.001 and 1 gwei per gas
terms = {"target_balance": 10 * ETH, "min_price": least, "max_price": most}
rules = {"EIP-1559, denominator 8": VaultEip1559(price=least, **terms)}
for kp in (0.1, 1.0):
    rules[f"P, Kp {kp:g}"] = VaultPricing(gas_per_byte=0, blob_gas_per_byte=0, kp=kp, **terms)

fig, axes = plt.subplots(2, 1, figsize=(7.5, 6), sharex=True)
short = {}
for name, rule in rules.items():
    run = simulate(history, rule, posting, demand, record=1).isel(path=0, recorded_path=0, step=slice(None, None, 50))
    axes[0].plot(run.elapsed / DAY, run.price / gas_per_byte / 1e6, linewidth=1, label=name)
    short[name] = 10 - float(run.balance.min()) / ETH
    axes[1].plot(run.elapsed / DAY, run.balance / ETH, linewidth=1)
assert min(short, key=short.get) == "P, Kp 1"
axes[0].set(
    ylabel="fee [Mwei per L2 gas]", title=f"A gain of 1 keeps the vault within {short['P, Kp 1']:.2f} ETH of its target"
)
axes[0].legend()
axes[1].axhline(10, color="black", linewidth=0.8)
axes[1].set(xlabel="days since 2026-01-07", ylabel="balance of the vault [ETH]")
fig.supxlabel("L1 fees: Ethereum, 2026-01-07 to 2026-02-06", x=1, ha="right")
