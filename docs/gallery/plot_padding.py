"""
Which padding is enough
=======================

A wallet multiplies the current fee of a transfer by a factor, so that the amount still covers the fee 1, 5, 20 or 100
blocks later. The figure shows the upper bound of this factor, which is always enough, and its 99 % quantile over the
month of L1 fees in the package. Wallets add a constant 10 %, 20 %, 25 % or 70 %. If no source gives a chain's current
parameters, the last published values are used.
"""

import contextlib

import matplotlib.pyplot as plt

from feemodel.errors import UnknownParameter
from feemodel.io.shipped import read_shipped_l1_fees
from feemodel.plots import plot_padding
from feemodel.rollups import padding_table, rule, rules_at
from feemodel.rollups.chains import chain

ASSUMED = {
    "mantle": {"token_ratio": 3_114, "base_fee_scalar": 5_227, "blob_base_fee_scalar": 1_014_213,
               "operator_fee_scalar": 0, "operator_fee_constant": 0, "l2_gas_price": 20 * 10**6},
    "celo": {"l2_gas_price": 25 * 10**9},
    "starknet": {"eth_to_fri_rate": 30_000 * 10**18},
}  # fmt: skip
fees = read_shipped_l1_fees()[["base_fee", "blob_base_fee"]].round().astype("int64")
known, without = rules_at()
names = [*(one.chain for one in known), "unichain", "mode", "lisk", "world-chain", *ASSUMED]
parameters = {}
for name in without.keys() & names:
    entries = chain(name).at().entries.items()
    last = {field: one.last.value for field, one in entries if one.status == "unknown" and one.last is not None}
    with contextlib.suppress(UnknownParameter):
        rule(name, parameters=last | ASSUMED.get(name, {}))
        parameters[name] = last | ASSUMED.get(name, {})
table = padding_table(fees, chains={name: chain(name) for name in names}, parameters=parameters)
for factor in ("1.1", "1.2", "1.25", "1.7"):
    print(f"{factor} is not enough in {table[f'fails_{factor}'].mean():.2%} of cases, and reserves "
          f"{table[f'excess_{factor}'].mean():.0%} of the fee more than needed")  # fmt: skip
fig, ax = plt.subplots(figsize=(9, 13), layout="constrained")
plot_padding(table, ax)
ax.set_xlim(0.95, 30)  # some bounds of Arbitrum, Scroll, Taiko and ZKsync OS are larger and not shown
ax.set_xticks([1, 2, 5, 10, 20])
