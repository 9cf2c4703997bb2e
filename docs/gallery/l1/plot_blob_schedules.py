"""
Ethereum's blob schedules
=========================

Target and maximum number of blobs per block after each upgrade (EIP-4844, EIP-7691 and the blob-parameter-only forks of
EIP-7892). The package reads these values from dated rows.
"""

from datetime import UTC, datetime

import matplotlib.pyplot as plt

from feemodel.ethereum.fee_market import MAINNET

plt.style.use("feemodel.plots.style")
rows = [row for row in MAINNET.rows if row.timestamp > 0]
dates = [datetime.fromtimestamp(row.timestamp, UTC) for row in rows] + [datetime(2026, 1, 31, tzinfo=UTC)]
fig, ax = plt.subplots()
for name in ("maximum", "target"):
    ax.step(dates, [getattr(row, name) for row in rows] + [getattr(rows[-1], name)], where="post", label=name)
for row, date in zip(rows, dates, strict=False):
    left = row.name in ("Osaka", "BPO1", "BPO2")  # the next upgrade, or the end, follows within weeks
    ax.annotate(
        row.name, (date, row.maximum), (-3 if left else 2, 4), textcoords="offset points", fontsize=8,
        ha="right" if left else "left",
    )  # fmt: skip
assert (rows[0].maximum, rows[-1].maximum, (dates[-2] - dates[0]).days // 30) == (6, 21, 22)
ax.set(ylabel="blobs per block", ylim=(0, 27), title="In 22 months, the maximum rose from 6 to 21 blobs")
ax.legend(loc="upper left")
fig.supxlabel("Rows: EIP-4844, EIP-7691 and EIP-7892, as of January 2026", x=1, ha="right")
