"""Parts shared by every EVM chain: quantities, calls, transactions, hashes, and the fee market of L1.

next_base_fee, blob_base_fee, next_excess_blob_gas : EIP-1559, EIP-4844 and later EIPs
calldata_gas, calldata_floor_gas, intrinsic_gas : gas charged before execution
parse_call, parse_transaction, Transaction : calls and transactions
to_quantity, from_quantity, to_hex, from_hex : numbers and bytes of JSON-RPC

>>> from feemodel import ethereum
>>> ethereum.blob_base_fee(2_314_058, 1_710_338_135)
2
"""

from typing import TYPE_CHECKING

from feemodel._lazy import lazy_names

if TYPE_CHECKING:
    from feemodel.ethereum._call import parse_call as parse_call
    from feemodel.ethereum._hashes import Signature as Signature
    from feemodel.ethereum._hashes import keccak256 as keccak256
    from feemodel.ethereum._quantities import from_hex as from_hex
    from feemodel.ethereum._quantities import from_quantity as from_quantity
    from feemodel.ethereum._quantities import to_hex as to_hex
    from feemodel.ethereum._quantities import to_quantity as to_quantity
    from feemodel.ethereum._transaction import Transaction as Transaction
    from feemodel.ethereum._transaction import fill as fill
    from feemodel.ethereum._transaction import intrinsic_gas as intrinsic_gas
    from feemodel.ethereum._transaction import parse_sender_unsigned as parse_sender_unsigned
    from feemodel.ethereum._transaction import parse_transaction as parse_transaction
    from feemodel.ethereum.fee_market import BlobRules as BlobRules
    from feemodel.ethereum.fee_market import Schedule as Schedule
    from feemodel.ethereum.fee_market import blob_base_fee as blob_base_fee
    from feemodel.ethereum.fee_market import calldata_floor_gas as calldata_floor_gas
    from feemodel.ethereum.fee_market import calldata_gas as calldata_gas
    from feemodel.ethereum.fee_market import excess_branches as excess_branches
    from feemodel.ethereum.fee_market import fake_exponential as fake_exponential
    from feemodel.ethereum.fee_market import next_base_fee as next_base_fee
    from feemodel.ethereum.fee_market import next_excess_blob_gas as next_excess_blob_gas
    from feemodel.ethereum.fee_market import reserve_binds as reserve_binds

__getattr__, __dir__ = lazy_names(__name__)
