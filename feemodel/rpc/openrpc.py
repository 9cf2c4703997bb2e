"""The description of the methods at `/openrpc.json`, after the OpenRPC specification 1.3.2, and the table of errors."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import msgspec

import feemodel
from feemodel.rpc.parameters import MAX_BLOCKS, TAGS

Schema: TypeAlias = dict[str, Any]


def _object(properties: Schema, required: str = "", *, closed: bool = False, **more: Any) -> Schema:
    """An object of these properties, and no others where it is closed; the names of required ones with spaces."""
    schema = {"type": "object", "properties": properties, **more}
    if required:
        schema["required"] = required.split()
    return schema | {"additionalProperties": False} if closed else schema


def _each(names: str, schema: Schema) -> Schema:
    """Properties of one schema, by their names with spaces."""
    return dict.fromkeys(names.split(), schema)


def _array(items: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": items, **more}


def _or_null(schema: Schema) -> Schema:
    return {"oneOf": [schema, {"type": "null"}]}


QUANTITY = {"type": "string", "pattern": "^0x(0|[1-9a-f][0-9a-f]*)$", "title": "quantity"}
DATA = {"type": "string", "pattern": "^0x([0-9a-fA-F]{2})*$", "title": "data"}
ADDRESS = {"type": "string", "pattern": "^0x[0-9a-fA-F]{40}$", "title": "address"}
WORD = {"type": "string", "pattern": "^0x[0-9a-fA-F]{1,64}$", "title": "word of up to 32 bytes"}
HASH = {"type": "string", "pattern": "^0x[0-9a-fA-F]{64}$", "title": "32 bytes"}
OBJECT = {"type": "object"}
_BOOLEAN, _TEXT, _NUMBER = {"type": "boolean"}, {"type": "string"}, {"type": "number"}
_COUNT = {"type": "integer", "minimum": 0}
TAG = {"enum": list(TAGS), "title": "tag"}
FINAL_BLOCK = {"title": "block", "oneOf": [QUANTITY, TAG]}
_EIP_1898 = _object(
    {"blockNumber": {"oneOf": [QUANTITY, TAG]}, "blockHash": HASH, "requireCanonical": _BOOLEAN},
    closed=True,
    title="EIP-1898",
    anyOf=[{"required": ["blockNumber"]}, {"required": ["blockHash"]}],
)
BLOCK = {"title": "block", "oneOf": [QUANTITY, TAG, _EIP_1898]}
CALL = _object(
    {
        **_each("from to", ADDRESS),
        **_each("gas gasPrice maxFeePerGas maxPriorityFeePerGas maxFeePerBlobGas value nonce chainId type", QUANTITY),
        **_each("data input", DATA),
        **_each("accessList authorizationList blobVersionedHashes", {"type": "array"}),
    },
    title="call",
)
_SLOTS = {"type": "object", "additionalProperties": HASH, "propertyNames": {"pattern": HASH["pattern"]}}
OVERRIDES = {
    "title": "state override",
    "type": "object",
    "additionalProperties": _object(
        {**_each("balance nonce", QUANTITY), "code": DATA, **_each("state stateDiff", _SLOTS)},
        closed=True,
    )
    | {"not": {"required": ["state", "stateDiff"]}},
    "propertyNames": {"pattern": ADDRESS["pattern"]},
}
BLOCK_OVERRIDES = _object(
    {
        **_each("number time gasLimit baseFeePerGas difficulty blobBaseFee", QUANTITY),
        "feeRecipient": ADDRESS,
        "prevRandao": HASH,
    },
    closed=True,
    title="block override",
)
_BLOCK_RESULT = _object(
    {
        **_each("number timestamp gasLimit gasUsed baseFeePerGas size", QUANTITY),
        **_each("hash stateRoot", _or_null(HASH)),
        "parentHash": HASH,
        "extraData": DATA,
        "miner": ADDRESS,
        "transactions": {"type": "array", "maxItems": 0},
    },
    "number hash parentHash timestamp gasLimit baseFeePerGas extraData transactions",
    type=["object", "null"],
)
_HISTORY = _object(
    {
        "oldestBlock": QUANTITY,
        **_each("baseFeePerGas baseFeePerBlobGas", _array(QUANTITY)),
        **_each("gasUsedRatio blobGasUsedRatio", _array(_NUMBER)),
        "reward": _array(_array(QUANTITY)),
    },
    "oldestBlock baseFeePerGas gasUsedRatio",
)
_PRICING = _object(
    {
        "source": {"enum": ["configured", "record", "l1"]},
        "pricing": {"enum": ["cost-per-byte", "verification-cost"]},
        **_each("ageSeconds pollAgeSeconds", {"type": ["number", "null"]}),
        **_each("margin gasPriceRatio", _NUMBER),
        **_each("variableCost fixedCost minGasPrice baseFee gasPrice", QUANTITY),
    },
    "source ageSeconds pollAgeSeconds pricing margin baseFee gasPrice",
)
_MOMENT = _object(
    {
        **_each("l1BaseFee blobBaseFee gas", QUANTITY),
        "overrides": OVERRIDES,
        "pubdata": _COUNT,
        "at": _TEXT,
        "rules": {"oneOf": [{"const": "all"}, _array(_TEXT, minItems=1)]},
    },
    closed=True,
)
_RULE = _object(
    {
        **_each("rule source date error", _TEXT),
        **_each("dataFee executionFee priorityFee l1Fee l2Fee total", QUANTITY),
        **_each("perByte ratio", _NUMBER),
    },
    "rule source date",
    closed=True,
)
_COMPARED = _object(
    {
        **_each("gas l1BaseFee blobBaseFee", QUANTITY),
        **_each("signedBytes pubdata", {"type": "integer"}),
        **_each("reference at", _TEXT),
        "without": {"type": "object", "additionalProperties": _TEXT},
        "rules": _array(_RULE),
    },
    "gas signedBytes l1BaseFee blobBaseFee pubdata reference rules",
    closed=True,
)
_SEND = _object(
    {
        **_each("gas baseFee l1BaseFee blobBaseFee pricePerUnit maxPriorityFeePerGas maxFeePerGas", QUANTITY),
        "blocksAhead": {"type": "integer", "minimum": 0, "maximum": 1_000},
        "at": _TEXT,
    },
    "gas baseFee",
    closed=True,
)
_SENDABLE = _object(
    {
        "chain": _TEXT,
        "maxValue": _or_null(QUANTITY),
        **_each("held gasLimit maxFeePerGas l1Fee operatorFee", QUANTITY),
    },
    "chain maxValue held gasLimit maxFeePerGas l1Fee operatorFee",
    closed=True,
)


EXAMPLE = "on the development chain"


class Failure(NamedTuple):
    """One row of the table of errors."""

    code: int
    message: str
    when: str


#: What may be answered in place of a result; docs/guide/server.md has the same table.
FAILURES = (
    Failure(3, "execution reverted[: reason]", "the call reverts; data has the raw bytes, Error and Panic are decoded"),
    Failure(-32000, "a node's words", "funds, gas required exceeds allowance (N), a halt, a nonce or block unknown"),
    Failure(-32002, "what failed", "a node that is asked cannot be reached, or costs are too old"),
    Failure(-32004, "Upfront cost exceeds account balance", "the sender cannot pay for any gas limit, rollup methods"),
    Failure(-32005, "the limit and its value", "gas, time, override size, calls that wait"),
    Failure(-32600, "Invalid Request, or the block", "not a request; a batch too long; a block that is not final"),
    Failure(-32601, "Method not found, or what would answer it", "any other method; one that needs a node"),
    Failure(-32602, "the field and its value", "a parameter that cannot be read; too many storage keys"),
    Failure(-32603, "Internal error", "the unforeseen; data has the id under which the log has it"),
    Failure(-32700, "Parse error", "not JSON"),
    Failure(-38010, "nonce too low", "eth_simulateV1 with validation"),
    Failure(-38011, "nonce too high", "eth_simulateV1 with validation"),
    Failure(-38012, "max fee per gas less than block base fee", "eth_simulateV1"),
    Failure(-38013, "intrinsic gas too low", "eth_simulateV1: the gas of a call, or what is left for it"),
    Failure(-38014, "insufficient funds for gas * price + value", "eth_simulateV1"),
    Failure(-38015, "block gas limit reached", "eth_simulateV1"),
    Failure(-38020, "block numbers must be in order", "eth_simulateV1"),
    Failure(-38021, "block timestamps must be in order", "eth_simulateV1"),
    Failure(-38025, "max initcode size exceeded", "eth_simulateV1"),
    Failure(-38026, "the limit and its value", "eth_simulateV1: more than 256 blocks or 1,000 calls"),
)


class Described(NamedTuple):
    """One method: what it answers, its parameters, its result."""

    summary: str
    parameters: tuple[tuple[str, Mapping[str, Any], bool], ...]  #: name, schema, required
    result: Mapping[str, Any]


_OPTIONS = _object(
    {"blocks": {"oneOf": [{"type": "integer", "minimum": 1, "maximum": MAX_BLOCKS}, QUANTITY]}, "details": _BOOLEAN},
    closed=True,
    title="options (blocks, details)",
    minProperties=1,
)
_AT = ("block", BLOCK, False)
_ACCESS_LIST = _array(_object({"address": ADDRESS, "storageKeys": _array(HASH)}, "address storageKeys"))
_SIMULATED_STEP = _object({"blockOverrides": OBJECT, "stateOverrides": OVERRIDES, "calls": _array(CALL)})
_SIMULATION = _object(
    {
        "blockStateCalls": _array(_SIMULATED_STEP),
        **_each("traceTransfers validation returnFullTransactions", _BOOLEAN),
    },
    "blockStateCalls",
    title="simulation",
)
_LOG = _object(
    {
        "address": ADDRESS,
        "topics": _array(HASH, maxItems=4),
        "data": DATA,
        **_each("blockNumber transactionIndex logIndex blockTimestamp", QUANTITY),
        **_each("blockHash transactionHash", HASH),
        "removed": {"const": False},
    },
    "address topics data blockNumber blockHash transactionHash logIndex removed",
)
_SIMULATED_CALL = _object(
    {
        "returnData": DATA,
        "logs": _array(_LOG),
        "status": {"enum": ["0x0", "0x1"]},
        **_each("gasUsed maxUsedGas", QUANTITY),
        "error": _object({"message": _TEXT, "code": {"type": "integer"}, "data": DATA}, "message code"),
    },
    "returnData logs gasUsed status",
)
_SIMULATED = _object(
    {
        **_each("number timestamp gasLimit gasUsed baseFeePerGas size", QUANTITY),
        **_each("hash transactionsRoot receiptsRoot", HASH),
        **_each("stateRoot parentHash", _or_null(HASH)),
        "miner": ADDRESS,
        "transactions": _array({"oneOf": [HASH, OBJECT]}),
        "calls": _array(_SIMULATED_CALL),
    },
    "number hash parentHash timestamp gasLimit gasUsed transactions calls",
)
_NULL = {"type": "null"}
_GAS = _object(
    {
        **_each("used intrinsic base calldata creation accessList authorizations execution refund floor", QUANTITY),
        "contracts": _array(_object({"address": ADDRESS, "gas": QUANTITY})),
    }
)
_DETAILS = _object(
    {"gas": _GAS, "accessList": _ACCESS_LIST, "gasUsedWithAccessList": QUANTITY},
    "gas",
    title="gas by part and the access list, where options.details is true",
)
_CALLED = (
    ("call", CALL, True), _AT, ("overrides", OVERRIDES, False), ("blockOverrides", BLOCK_OVERRIDES, False),
)  # fmt: skip
_SUBJECT = ("subject", {"oneOf": [CALL, DATA]}, True)
METHODS = {
    "estimateGas": Described(
        "Gas limit, base fee and the priority fee that pays for L1",
        (
            ("call", CALL, True),
            ("stateOverride", {"anyOf": [OVERRIDES, BLOCK, _OPTIONS, _NULL]}, False),
            ("overrides", {"anyOf": [OVERRIDES, _OPTIONS, _NULL]}, False),
            ("options", {"anyOf": [_OPTIONS, _NULL]}, False),
        ),
        _object(
            {**_each("gasLimit baseFeePerGas priorityFeePerGas", QUANTITY), "details": _DETAILS},
            "gasLimit baseFeePerGas priorityFeePerGas",
        ),
    ),
    "getProof": Described(
        "Merkle proofs of an account and its slots at a final block",
        (("address", ADDRESS, True), ("storageKeys", _array(WORD), True), ("block", FINAL_BLOCK, True)),
        _object({"accountProof": OBJECT, "storageProofs": _array(OBJECT)}, "accountProof storageProofs"),
    ),
    "eth_chainId": Described("The chain's id", (), QUANTITY),
    "eth_blockNumber": Described("The newest block's number", (), QUANTITY),
    "eth_getBlockByNumber": Described(
        "A block's header", (("block", BLOCK, True), ("full", _BOOLEAN, False)), _BLOCK_RESULT
    ),
    "eth_getTransactionCount": Described("An account's nonce", (("address", ADDRESS, True), _AT), QUANTITY),
    "eth_getBalance": Described("An account's balance in wei", (("address", ADDRESS, True), _AT), QUANTITY),
    "eth_getCode": Described("An account's code", (("address", ADDRESS, True), _AT), DATA),
    "eth_call": Described("What a call returns", _CALLED, DATA),
    "eth_estimateGas": Described("The gas limit that a call needs", _CALLED, QUANTITY),
    "eth_createAccessList": Described(
        "The accounts and slots that a call touches, and its gas with them listed",
        (("call", CALL, True), _AT, ("overrides", OVERRIDES, False)),
        _object({"accessList": _ACCESS_LIST, "gasUsed": QUANTITY, "error": _TEXT}, "accessList gasUsed"),
    ),
    "eth_simulateV1": Described(
        "Calls of blocks that are not there, each on what the last one left", (("simulation", _SIMULATION, True), _AT),
        _array(_SIMULATED),
    ),
    "eth_gasPrice": Described("The gas price that the rollup announces", (), QUANTITY),
    "eth_maxPriorityFeePerGas": Described("What of it is priority fee", (), QUANTITY),
    "eth_feeHistory": Described(
        "Base fees of past blocks",
        (("blockCount", QUANTITY, True), ("newestBlock", BLOCK, True), ("rewardPercentiles", _array(_NUMBER), False)),
        _HISTORY,
    ),
    "net_version": Described("The chain's id, decimal", (), _TEXT),
    "rpc.discover": Described("This description", (), OBJECT),
    "web3_clientVersion": Described("Name and version", (), _TEXT),
    "feemodel_pricing": Described(
        "What estimates are priced with now, where it comes from, how old it is", (), _PRICING
    ),
    "feemodel_presets": Described("Real chains and real days", (), OBJECT),
    "feemodel_fee": Described(
        "One fee in its parts, and what it recovers of its L1 cost", (("point", OBJECT, True),), OBJECT
    ),
    "feemodel_curve": Described("The same along one axis", (("curve", OBJECT, True),), OBJECT),
    "feemodel_history": Described(
        "The same over time: hour by hour along L1 fees that ship, or minute by minute along the server's own prices",
        (("history", OBJECT, True),), OBJECT,
    ),
    "feemodel_film": Described(
        "A month of a pricing policy in a closed loop, hour by hour: price, backlog, balance, recovery",
        (("choices", OBJECT, True),), OBJECT,
    ),
    "feemodel_explain": Described(
        "A call, a signed transaction or its hash: size, gas, every part of the fee, wallets, accepted or pending",
        (_SUBJECT, ("options", OBJECT, False)), OBJECT,
    ),
    "feemodel_compare": Described(
        "The same under every rollup's fee rule, today's or (moment.at) that of a day",
        (_SUBJECT, ("moment", _MOMENT, True)), _COMPARED,
    ),
    "feemodel_maxSend": Described(
        "The largest value that a balance can send on a rollup, some blocks ahead",
        (("chain", _TEXT, True), ("balance", QUANTITY, True), ("call", CALL, True), ("options", _SEND, True)),
        _SENDABLE,
    ),
}  # fmt: skip


_HASH = ("hash", HASH, True)
_BLOCK = ("block", BLOCK, True)
_INDEX = ("index", QUANTITY, True)
_FILTER = ("filter", OBJECT, True)
_IDENTITY = ("id", QUANTITY, True)
_NULLABLE = {"type": ["object", "null"]}
_COUNTED = _or_null(QUANTITY)
_LIST = {"type": ["array", "null"]}
#: What a node answers.
METHODS |= {
    "eth_accounts": Described("The accounts that the server signs for: none", (), {"type": "array", "maxItems": 0}),
    "eth_blobBaseFee": Described("The base fee of the next block's blob gas", (), QUANTITY),
    "eth_getBlockByHash": Described("A block", (_HASH, ("full", _BOOLEAN, False)), _NULLABLE),
    "eth_getBlockReceipts": Described("The receipts of a block", (_BLOCK,), _LIST),
    "eth_getBlockTransactionCountByHash": Described("How many transactions a block has", (_HASH,), _COUNTED),
    "eth_getBlockTransactionCountByNumber": Described("How many transactions a block has", (_BLOCK,), _COUNTED),
    "eth_getFilterChanges": Described("What is new for a filter", (_IDENTITY,), {"type": "array"}),
    "eth_getFilterLogs": Described("The logs of a filter", (_IDENTITY,), {"type": "array"}),
    "eth_getLogs": Described("Logs", (_FILTER,), {"type": "array"}),
    "eth_getRawTransactionByHash": Described("A signed transaction", (_HASH,), _or_null(DATA)),
    "eth_getStorageAt": Described("A slot", (("address", ADDRESS, True), ("slot", WORD, True), _AT), DATA),
    "eth_getTransactionByBlockHashAndIndex": Described("A transaction", (_HASH, _INDEX), _NULLABLE),
    "eth_getTransactionByBlockNumberAndIndex": Described("A transaction", (_BLOCK, _INDEX), _NULLABLE),
    "eth_getTransactionByHash": Described("A transaction", (_HASH,), _NULLABLE),
    "eth_getTransactionReceipt": Described("A transaction's receipt", (_HASH,), _NULLABLE),
    "eth_getUncleByBlockHashAndIndex": Described("An uncle", (_HASH, _INDEX), _NULLABLE),
    "eth_getUncleByBlockNumberAndIndex": Described("An uncle", (_BLOCK, _INDEX), _NULLABLE),
    "eth_getUncleCountByBlockHash": Described("How many uncles a block has", (_HASH,), _COUNTED),
    "eth_getUncleCountByBlockNumber": Described("How many uncles a block has", (_BLOCK,), _COUNTED),
    "eth_newBlockFilter": Described("A filter for new blocks", (), QUANTITY),
    "eth_newFilter": Described("A filter for logs", (_FILTER,), QUANTITY),
    "eth_newPendingTransactionFilter": Described("A filter for new transactions", (), QUANTITY),
    "eth_sendRawTransaction": Described("Send a signed transaction", (("transaction", DATA, True),), HASH),
    "eth_syncing": Described("Whether the node is still synchronizing", (), {"type": ["boolean", "object"]}),
    "eth_uninstallFilter": Described("Remove a filter", (_IDENTITY,), _BOOLEAN),
    "net_listening": Described("Whether the node accepts peers", (), _BOOLEAN),
    "net_peerCount": Described("How many peers the node has", (), QUANTITY),
    "web3_sha3": Described("Keccak-256", (("data", DATA, True),), HASH),
}  # fmt: skip
_UNKNOWN = Described("Passed on to the node", (), {})


def document(methods: Mapping[str, Callable[..., Any]]) -> bytes:
    """The OpenRPC document of the methods that a server has, JSON.

    >>> msgspec.json.decode(document({"eth_chainId": print}))["methods"][0]["name"]
    'eth_chainId'
    """
    errors = [{"code": row.code, "message": row.message, "data": row.when} for row in FAILURES]
    names = [f"error{abs(row.code)}" for row in FAILURES]
    described = {
        "openrpc": "1.3.2",
        "info": {
            "title": "feemodel",
            "version": feemodel.__version__,
            "description": "What a rollup transaction must pay for L1, and proofs of the rollup's state.",
            "license": {"name": "Apache-2.0"},
        },
        "methods": [_method(name, names) for name in sorted(methods)],
        "components": {"errors": dict(zip(names, errors, strict=True))},
    }
    return msgspec.json.encode(described)


def _method(name: str, errors: list[str]) -> dict[str, Any]:
    key = name if name in METHODS else name.rpartition("_")[2]  # the two methods have any prefix
    described = METHODS.get(key, _UNKNOWN)
    return {
        "name": name,
        "summary": described.summary,
        "paramStructure": "either" if name.startswith("feemodel_") else "by-position",
        "params": [
            {"name": parameter, "required": required, "schema": schema}
            for parameter, schema, required in described.parameters
        ],
        "result": {"name": "result", "schema": described.result},
        "errors": [{"$ref": f"#/components/errors/{error}"} for error in errors],
        **_example(name, key, described),
    }


class _Example(msgspec.Struct):
    """What a method is called with and what it answers, as `examples.json` has it."""

    params: list[msgspec.Raw]
    result: msgspec.Raw


@cache
def _examples() -> dict[str, _Example]:
    return msgspec.json.decode(Path(__file__).with_name("examples.json").read_bytes(), type=dict[str, _Example])


def _example(name: str, key: str, described: Described) -> dict[str, Any]:
    if name == "rpc.discover":  # whose result holds this example
        params: list[dict[str, Any]] = []
        result: dict[str, Any] = {"externalValue": "/openrpc.json"}
    elif (found := _examples().get(key)) is not None:
        names = (parameter for parameter, _, _ in described.parameters)
        params = [{"name": parameter, "value": value} for parameter, value in zip(names, found.params, strict=False)]
        result = {"value": found.result}
    else:
        return {}
    return {"examples": [{"name": EXAMPLE, "params": params, "result": {"name": "result", **result}}]}
