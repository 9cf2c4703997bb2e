"""Fee rules of rollups: the fee of a transaction on each chain, today or on a given date.

rule, rules_at : the rule of one chain, or of all chains, at a date
chains, read_chains, chains_table : the dated parameters of chains, from the package's files or the user's, as a table
read_rules : user-defined rules, such as a blob schedule, read from a file
measured_sizes, comparison : transaction sizes that the rules need; total fees under each rule
sizes_table, compare : measured sizes and fees as tables
compare_sums, compare_days : sums of fees under many L1 fees, and fees of each day
optimism, arbitrum, scroll, zksync, zksync_os, taiko, polygon_zkevm, mantle, celo, starknet, base : fee formulas of each
    chain, as its nodes compute them
padding_table : factors by which the current fee must be multiplied to cover the fee some blocks later
rigid : export of rules as gas market declarations (RIP-7993)
preverification_gas : preVerificationGas of ERC-4337 bundlers; erc4337 has the formulas, user_operation the encodings
arbitrum_node : gas for L1 data in a gas estimate of an Arbitrum node
arbitrum_l1_pricing, arbitrum_l2_pricing : Arbitrum's price of L1 data, and its L2 base fee
optimism_operator : parameters that the operator of an OP Stack chain sets
max_send : the largest value that an account can send with a call included some blocks later; balance has the formulas
factors, rules, kernels : the common form of all rules, the rules of all chains, and sums over millions of transactions

>>> from feemodel import rollups
>>> rollups.rule("op-mainnet", at="2024-06-14").name
'op-mainnet/ecotone'
"""

from typing import TYPE_CHECKING

from feemodel._lazy import lazy_names

if TYPE_CHECKING:
    from feemodel.rollups._chain_files import read_chains as read_chains
    from feemodel.rollups._sending import Now as Now
    from feemodel.rollups._sending import max_send as max_send
    from feemodel.rollups._what_if import WhatIf as WhatIf
    from feemodel.rollups._what_if import read_rules as read_rules
    from feemodel.rollups.erc4337 import preverification_gas as preverification_gas
    from feemodel.rollups.padding import padding_table as padding_table
    from feemodel.rollups.rules import rule as rule
    from feemodel.rollups.rules import rules_at as rules_at
    from feemodel.rollups.tables import chains_table as chains_table
    from feemodel.rollups.tables import compare as compare
    from feemodel.rollups.tables import compare_days as compare_days
    from feemodel.rollups.tables import compare_sums as compare_sums
    from feemodel.rollups.tables import comparison as comparison
    from feemodel.rollups.tables import measured_sizes as measured_sizes
    from feemodel.rollups.tables import sizes_table as sizes_table

__getattr__, __dir__ = lazy_names(__name__)
