"""
One transfer under every rollup's rule
======================================

The same transaction, the same L1 fees: what each rollup charges today for data (L1) and for execution (L2).
"""

import matplotlib.pyplot as plt
import pandas as pd

from feemodel.io.shipped import shipped_path
from feemodel.plots import plot_comparison
from feemodel.rollups import compare

transactions = pd.read_csv(shipped_path("rollup_transactions.csv")).assign(pubdata=200).head(1)
names = ["linea", "op-mainnet/karst", "base/jovian", "arbitrum-one", "scroll/galileo-v2", "zksync-era", "taiko"]
cube = compare(transactions, {"base_fee": [1_000_000_000], "blob_base_fee": [4_000_000]}, names).squeeze()
fig, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
plot_comparison([*zip(names, cube.l1_fee.values.tolist(), cube.l2_fee.values.tolist(), strict=True)], ax)
ax.set_title("L1 base fee 1 gwei, blob base fee 0.004 gwei")
