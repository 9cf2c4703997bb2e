"""
One transfer under every chain's rule
=====================================

The fee of one transaction on each chain, for data (L1) and for execution (L2), at the same L1 fees. If no
source gives a chain's current parameters, the last published values are used, and the label gives their month. The
base fee of L1 is 1 gwei, its blob base fee 0.004 gwei; the exchange rates of Starknet's and Mantle's tokens
and the gas of a Starknet transfer are assumed.
"""

import contextlib

import matplotlib.pyplot as plt
import pandas as pd

from feemodel.errors import UnknownParameter
from feemodel.io.shipped import shipped_path
from feemodel.plots import plot_comparison
from feemodel.rollups import rule, rules_at
from feemodel.rollups.chains import chain

plt.style.use("feemodel.plots.style")
ASSUMED = {
    "mantle": {"token_ratio": 3_114, "base_fee_scalar": 5_227, "blob_base_fee_scalar": 1_014_213,
               "operator_fee_scalar": 0, "operator_fee_constant": 0, "l2_gas_price": 20 * 10**6},
    "starknet": {"eth_to_fri_rate": 30_000 * 10**18},
}  # fmt: skip
transfer = pd.read_csv(shipped_path("rollup_transactions.csv")).iloc[0].to_dict()
transfer |= {"pubdata": 200, "l1_data_gas": 256, "l2_gas": 1_100_000}
known, without = rules_at()
rows = {one.name: one for one in known}
for name in without:
    entries = chain(name).at().entries.items()
    last = {field: one.last for field, one in entries if one.status == "unknown" and one.last is not None}
    given = {field: one.value for field, one in last.items()} | ASSUMED.get(name, {})
    with contextlib.suppress(UnknownParameter):
        one = rule(name, parameters=given)
        scalars = last.get("base_fee_scalar")
        rows[f"{name}, " + ("assumed" if name in ASSUMED or scalars is None else scalars.since[:7])] = one

fees = []
for label, one in rows.items():
    paid = one.fees(transfer, base_fee=1_000_000_000, blob_base_fee=4_000_000)
    rate = one.parameters.token_per_eth
    if rate is not None:
        fees.append((label, paid.l1 / rate, paid.l2 / rate))
drawn = {label.partition(",")[0] for label, *_ in fees}
print("not shown, parameters or exchange rate unknown:", ", ".join(name for name in without if name not in drawn))
fig, ax = plt.subplots(figsize=(9, 7.5), layout="constrained")
plot_comparison(fees, ax)
ax.set_xlim(right=40_000)
totals = [(l1 + l2) / 1e9 for _, l1, l2 in fees]
assert max(totals) > 5_000 * min(totals)
ax.set_title(f"The same transfer costs {min(totals):.1f} to {max(totals):,.0f} gwei")
fig.supxlabel(
    "L1 base fee 1 gwei, blob base fee 0.004 gwei; newest parameters, or those of the month shown", x=1, ha="right"
)
