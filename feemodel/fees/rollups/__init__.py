"""The fee rules of other rollups: an upgrade is a row of parameters, a formula a function.

optimism, arbitrum, scroll, zksync, taiko, polygon_zkevm : a chain's formulas, as its nodes compute them
arbitrum_pricing : Arbitrum's L1 pricing controller as a pure state transition
upgrades : rows of parameters found by name or by time
presets : real parameters of chains, each with source and date
rule, rules : one form for all of them, factors of the transaction and of the moment
kernels : sums of that form over millions of transactions at thousands of moments, compiled
"""

from feemodel.lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, {})
