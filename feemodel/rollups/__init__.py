"""The fee rules of rollups: what each charges for the same transaction, today and on any date.

rule, rules_at : a chain's rule by name and date; those of all chains
chains, read_chains, chains_table : chains as dated rows from files, one's own files, every row as a table
read_rules : rules of one's own, such as a blob schedule, from a file on top of those of the chains
measured_sizes, comparison : every size of transactions that a rule reads; the fees of each rule
sizes_table, compare, compare_sums, compare_days : the same as tables, at many L1 fees, on many days
optimism, arbitrum, scroll, zksync, zksync_os, taiko, polygon_zkevm, mantle, celo, starknet, base : a chain's formulas,
    as its nodes compute them
padding_table : by which factor the fee of now covers a later one
rigid : rules as RIP-7993 declares gas markets
preverification_gas : what bundlers of ERC-4337 ask; erc4337 has their formulas, user_operation the bytes they measure
arbitrum_node : what its node says that a call pays for its bytes
arbitrum_l1_pricing, arbitrum_l2_pricing : Arbitrum's price of L1 data, its L2 base fee
optimism_operator : what the operator of an OP Stack chain sets
max_send : the largest value that a balance can send, some blocks ahead; balance has its formulas
factors, rules, kernels : one form for all rules, and their sums over millions of transactions

>>> from feemodel import rollups
>>> rollups.rule("op-mainnet", at="2024-06-14").name
'op-mainnet/ecotone'
"""

from typing import TYPE_CHECKING

from feemodel.lazy import lazy_names

if TYPE_CHECKING:
    from feemodel.rollups.chain_files import read_chains as read_chains
    from feemodel.rollups.erc4337 import preverification_gas as preverification_gas
    from feemodel.rollups.padding import padding_table as padding_table
    from feemodel.rollups.rules import rule as rule
    from feemodel.rollups.rules import rules_at as rules_at
    from feemodel.rollups.sending import Now as Now
    from feemodel.rollups.sending import max_send as max_send
    from feemodel.rollups.tables import chains_table as chains_table
    from feemodel.rollups.tables import compare as compare
    from feemodel.rollups.tables import compare_days as compare_days
    from feemodel.rollups.tables import compare_sums as compare_sums
    from feemodel.rollups.tables import comparison as comparison
    from feemodel.rollups.tables import measured_sizes as measured_sizes
    from feemodel.rollups.tables import sizes_table as sizes_table
    from feemodel.rollups.what_if import WhatIf as WhatIf
    from feemodel.rollups.what_if import read_rules as read_rules

__getattr__, __dir__ = lazy_names(__name__)
