"""
What if: the third blob-parameter-only fork
===========================================

The values of EIP-8138, a draft, are not decided. The package contains four candidates in the files
`data/rules/bpo3-*`, which you can use with the option `--rules`. Left: target and maximum number of blobs on mainnet
and in the candidates. Right: number of blocks for which a budget can fill every blob of L1 under each candidate,
starting at the fees of January 2026.
"""

import matplotlib.pyplot as plt
import numpy as np

from feemodel.ethereum.fee_market import MAINNET
from feemodel.io.shipped import shipped_path
from feemodel.rollups import read_rules
from feemodel.simulation.attacks.saturation import L1State, saturate

names = ("bpo3-21-32", "bpo3-22-33", "bpo3-32-48", "bpo3-48-72")
candidates = [read_rules(shipped_path(f"rules/{name}.toml")).schedule.rows[-1] for name in names]
budgets = np.geomspace(0.1, 1_000, 31)
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
rows = [*MAINNET.rows, *candidates]
places = np.arange(len(rows))
left.bar(places, [row.maximum for row in rows], color="#cccccc", label="maximum")
left.bar(places, [row.target for row in rows], width=0.5, label="target")
labels = [*(row.name for row in MAINNET.rows), *(f"{row.target} / {row.maximum}" for row in candidates)]
left.set_xticks(places, labels, rotation=40, ha="right")
left.set(ylabel="blobs per block", title="mainnet's forks and candidates for the next")
left.legend(loc="upper left")
for label, row in zip(["BPO2, today", *labels[-4:]], [MAINNET.rows[-1], *candidates], strict=True):
    january = L1State(rules=row, base_fee=69_000_000, blob_base_fee=4_000_000)
    right.plot(budgets, [saturate(int(ether * 1e18), january).blocks for ether in budgets], label=label)
right.set(xscale="log", xlabel="budget [ETH]", ylabel="full blocks of blobs", ylim=(0, None))
right.grid(alpha=0.25)
right.legend()
