"""Fee rules of rollups: the fee of a transaction on each chain, today or on a given date.

rule : the rule of one chain at a date
rules_at : the rules of all chains, or of some, at a date
chains : the chains of the package, with dated parameters
read_chains : chains from files of the user
measured_sizes : the transaction sizes that the rules need
comparison : total fees of a set of transactions under each rule
compare : the fee of each transaction under each rule, as a table
optimism, arbitrum, scroll, zksync, zksync_os, taiko, mantle, starknet : fee formulas of a chain, with the results of
    the chain's nodes
arbitrum_l1_pricing : Arbitrum's price of L1 data
arbitrum_l2_pricing : Arbitrum's L2 base fee
max_send : the largest value that an account can send with a call that is included some blocks later
factors : the common form of all rules
rules : the rules of all chains

>>> from feemodel import rollups
>>> rollups.rule("op-mainnet", at="2024-06-14").name
'op-mainnet/ecotone'
"""

from typing import TYPE_CHECKING

from feemodel._lazy import lazy_names

if TYPE_CHECKING:
    from feemodel.rollups._chain_files import read_chains as read_chains
    from feemodel.rollups.rules import rule as rule
    from feemodel.rollups.rules import rules_at as rules_at
    from feemodel.rollups.sending import Now as Now
    from feemodel.rollups.sending import max_send as max_send
    from feemodel.rollups.tables import compare as compare
    from feemodel.rollups.tables import comparison as comparison
    from feemodel.rollups.tables import measured_sizes as measured_sizes

__getattr__, __dir__ = lazy_names(__name__)
