"""
The same transfers on four days
===============================

The figure shows the fees of the same transfers under the rules of each chain on four days: before blobs, after blobs,
after Pectra, and after the reserve price. The L1 fees are round numbers that are typical of those days.
"""

import matplotlib.pyplot as plt
import pandas as pd

from feemodel import rollups
from feemodel.io.shipped import shipped_path
from feemodel.plots import plot_days

transactions = pd.read_csv(shipped_path("rollup_transactions.csv")).assign(pubdata=200).head(100)
days = pd.DataFrame(
    [("2024-03-20", 30 * 10**9, 10**9), ("2024-12-05", 25 * 10**9, 10 * 10**9), ("2025-06-01", 2 * 10**9, 1),
     ("2026-01-25", 69_000_000, 4_000_000)],
    columns=["day", "base_fee", "blob_base_fee"],
).assign(source="assumed")  # fmt: skip
fig, ax = plt.subplots(figsize=(9, 4.8), layout="constrained")
plot_days(rollups.compare_days(transactions, days), ax, transactions=len(transactions))
