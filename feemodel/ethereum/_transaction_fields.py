"""Names of the fields of calls and transactions in clients and extractors.

The names apply to call objects, rows of tables and columns of files. A call object with a name that is not in these
lists is refused, because a misspelt field would otherwise be treated as absent.

Sources: ethereum/execution-apis, schema GenericTransaction and ReceiptInfo; go-ethereum, TransactionArgs; Besu,
CallParameter; viem 2, formatTransactionRequest; ethers 6, getRpcTransaction and TransactionResponse; web3.py 7; alloy,
TransactionRequest; MetaMask, TransactionParams; Hardhat, CallRequest; paradigmxyz/cryo, datasets/transactions;
ethereum-etl, docs/schema.md and the BigQuery tables made with it; Dune, ethereum.transactions.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

from feemodel.errors import InvalidInput

#: Field name in the tables of this package → other names of the same field. If a file has several names of one field,
#: the first name is used.
FIELD_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "block_number": ("blockNumber",),
    "block_hash": ("blockHash",),
    "transaction_index": ("transactionIndex", "index"),
    "transaction_hash": ("hash", "transactionHash", "tx_hash"),
    "timestamp": ("block_timestamp", "block_time", "blockTimestamp", "timeStamp"),
    "transaction_type": ("type", "transactionType", "tx_type", "typeHex"),
    "chain_id": ("chainId",),
    "nonce": (),
    "from_address": ("from", "sender"),
    "to_address": ("to",),
    "value": ("value_string", "value_binary", "value_d128", "value_str"),
    "input": ("data", "calldata"),
    "gas_limit": ("gas", "gasLimit"),
    "gas_price": ("gasPrice",),
    "max_fee_per_gas": ("maxFeePerGas",),
    "max_priority_fee_per_gas": ("maxPriorityFeePerGas",),
    "max_fee_per_blob_gas": ("maxFeePerBlobGas",),
    "access_list": ("accessList",),
    "authorization_list": ("authorizationList",),
    "blob_versioned_hashes": ("blobVersionedHashes", "blobHashes"),
    "v": (),
    "y_parity": ("yParity",),
    "r": (),
    "s": (),
    "gas_used": ("gasUsed", "receipt_gas_used"),
    "effective_gas_price": ("effectiveGasPrice", "receipt_effective_gas_price"),
    "success": ("status", "receipt_status"),
}

#: Fields that a sent transaction has but a call lacks: block, index, hash and signature.
SENT_FIELDS: Final = frozenset(
    ("block_number", "block_hash", "transaction_index", "transaction_hash", "v", "y_parity", "r", "s")
)

#: Known names that affect neither the transaction nor its measured bytes.
IGNORED_NAMES: Final = frozenset(
    """
    estimateSuggested estimateUsed estimateGasError
    block_date blockDate block_slot block_extra_data base_fee_per_gas baseFeePerGas priority_fee_per_gas source size
    n_input_bytes n_input_zero_bytes n_input_nonzero_bytes n_rlp_bytes value_f64 value_f32 value_float
    creates publicKey standardV condition provider confirmations networkV
    contractAddress contract_address receipt_contract_address cumulativeGasUsed cumulative_gas_used
    receipt_cumulative_gas_used receipt_root root logs logsBloom blobGasUsed blobGasPrice blob_gas_used blob_gas_price
    receipt_blob_gas_used receipt_blob_gas_price
    l1Fee l1GasUsed l1GasPrice l1FeeScalar l1BlobBaseFee l1BaseFeeScalar l1BlobBaseFeeScalar l1BlockNumber gasUsedForL1
    l1_fee l1_gas_used l1_gas_price l1_fee_scalar l1_blob_base_fee l1_base_fee_scalar l1_blob_base_fee_scalar
    l1_block_number l1_timestamp l1_tx_origin
    receipt_l1_fee receipt_l1_gas_used receipt_l1_gas_price receipt_l1_fee_scalar
    operatorFeeScalar operatorFeeConstant daFootprintGasScalar
    fixed_cost_kwei variable_cost_kwei eth_gas_price_kwei linea_lzss_size linea_packed_size l2_block_index
    """.split()  # noqa: SIM905 easier to read than a list
)

#: Names of fields that contain the blobs themselves; a transaction contains only the hashes of its blobs.
SIDECAR_NAMES: Final = frozenset(("blobs", "commitments", "proofs", "sidecar", "sidecars", "cellProofs", "kzg"))

#: Name of a transaction type in libraries and databases → type.
TYPE_NAMES: Final = {
    name: kind
    for kind, names in enumerate(
        ("legacy", "accesslist eip2930", "dynamicfee eip1559", "blob eip4844", "setcode eip7702")
    )
    for name in names.split()
}

FIELD_OF: Final = {name: field for field, others in FIELD_NAMES.items() for name in (field, *others)}
MISSPELT = 0.85  # minimum similarity at which one name counts as a misspelling of another
_SHOWN = 60  # maximum number of characters of a name in an error message


def misspelt(name: str, absent: Iterable[str], similarity: float = MISSPELT) -> str | None:
    """Return the name in `absent` of which `name` is probably a misspelling, or `None` if no name is similar."""
    by_letters = {_letters(one): one for one in absent}
    close = get_close_matches(_letters(name[:_SHOWN]), by_letters, 1, similarity)
    return by_letters[close[0]] if close else None


def _letters(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")


def unknown_field(name: str, value: object) -> InvalidInput:
    """Return the error for an unknown field name of a call, with the field that is probably meant."""
    shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"
    meant = misspelt(name, ("strict", *IGNORED_NAMES, *SIDECAR_NAMES, *FIELD_OF), 0.7)
    hint = "unknown field" if meant is None else f"unknown field, did you mean {meant}?"
    return InvalidInput(f"call.{shown}", hint, value)
