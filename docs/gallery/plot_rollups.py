"""
One transfer under every rollup's rule
======================================

The same transaction, the same L1 fees: what each rollup charges today for data and for gas.
"""

import matplotlib.pyplot as plt
import pandas as pd

from feemodel.io.shipped import shipped_path
from feemodel.rollups.tables import compare

transactions = pd.read_csv(shipped_path("rollup_transactions.csv")).assign(pubdata=200).head(1)
names = ["linea", "op-mainnet/jovian", "base/jovian", "arbitrum-one", "scroll/galileo-v2", "zksync-era", "taiko"]
cube = compare(transactions, {"base_fee": [1_000_000_000], "blob_base_fee": [4_000_000]}, names)
l1 = cube.l1_fee.squeeze().to_pandas() / 1e9
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.barh(l1.index, l1)
ax.set(xscale="symlog", xlabel="L1 part of the fee [gwei]", title="L1 base fee 1 gwei, blob base fee 0.004 gwei")
