"""A simulated block as `eth_simulateV1` answers it: its header, its transactions, and of each call what it came to.

Logs say where they are in the block; payments are among them and count, but they are in no receipt and no bloom filter.

Source: ethereum/go-ethereum, internal/ethapi/simulate.go, transaction_args.go `ToTransaction` (2026); EIP-2718.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ethereum_rlp import rlp

from feemodel.ethereum.call import ACCESS_LIST, BLOB, LEGACY, SET_CODE
from feemodel.ethereum.hashes import keccak256
from feemodel.ethereum.quantities import from_hex, minimal_bytes, to_hex, to_quantity
from feemodel.ethereum.trie import (
    BLOOM_BYTES,
    EMPTY_REQUESTS,
    EMPTY_TRIE,
    EMPTY_UNCLES,
    logs_bloom,
    ordered_trie_root,
)
from feemodel.execution.access_list import list_reply
from feemodel.execution.failures import REVERTED, failure
from feemodel.execution.forks import Fork, since
from feemodel.execution.message import encoded_transaction, fee_cap, tip_cap, transaction_type
from feemodel.execution.next_block import Executed, Simulated
from feemodel.execution.outcome import Log, Status
from feemodel.execution.state import Block

VM_ERROR = -32_015  # of a call that halted


def simulated_blocks(simulated: Sequence[Simulated]) -> list[dict[str, Any]]:
    """The blocks on the wire, each the parent of the next one; no state root is known.

    >>> from feemodel.execution.next_block import simulate
    >>> from feemodel.execution.state import CallState
    >>> first, second = simulated_blocks(simulate({"blockStateCalls": [{}, {}]}, CallState(accounts={})))
    >>> second["number"], second["parentHash"] == first["hash"]
    ('0x3', True)
    """
    found: list[dict[str, Any]] = []
    for one in simulated:
        parent = from_hex(found[-1]["hash"]) if found else one.parent_hash
        found.append(simulated_block(replace(one, parent_hash=parent)))
    return found


def simulated_block(simulated: Simulated, *, state_root: bytes | None = None) -> dict[str, Any]:
    """The block on the wire.

    Parameters
    ----------
    simulated : see `feemodel.execution.next_block.simulate`.
    state_root : of the state after it; unless it is known the answer has `null`, and its hash is that of a header with
        zeros in its place.

    >>> from feemodel.execution.next_block import simulate
    >>> from feemodel.execution.state import CallState
    >>> block = simulated_block(simulate({"blockStateCalls": [{}]}, CallState(accounts={}))[0])
    >>> block["number"], block["stateRoot"], block["calls"]
    ('0x2', None, [])
    """
    encoded = [encoded_transaction(call.request) for call in simulated.calls]
    block = simulated.call_state.block
    header = header_fields(
        block,
        simulated.call_state.fork,
        parent_hash=simulated.parent_hash,
        state_root=state_root,
        transactions_root=ordered_trie_root(encoded),
        receipts_root=ordered_trie_root(_receipts(simulated.calls)),
        bloom=_bloom(log for call in simulated.calls for log in _code_logs(call)),
        gas_used=simulated.gas_used,
        blob_gas_used=simulated.blob_gas_used,
    )
    has_withdrawals = "withdrawalsRoot" in header
    body = sum(len(item if item[0] >= 0xC0 else rlp.encode(item)) for item in encoded)
    encoded_header = encode_header(header)
    size = len(encoded_header) + _list_size(body) + 1 + has_withdrawals
    block_hash = keccak256(encoded_header)
    hashes = [keccak256(item) for item in encoded]
    place = {
        "blockHash": to_hex(block_hash), "blockNumber": to_quantity(block.number),
        "blockTimestamp": to_quantity(block.timestamp),
    }  # fmt: skip
    transactions = [
        _full(call, simulated, {**place, "hash": to_hex(found), "transactionIndex": to_quantity(index)})
        if simulated.full_transactions
        else to_hex(found)
        for index, (call, found) in enumerate(zip(simulated.calls, hashes, strict=True))
    ]
    unknown = {"parentHash": simulated.parent_hash, "stateRoot": state_root}
    return {
        **header_reply(header),
        **{name: None for name, value in unknown.items() if value is None},
        "hash": to_hex(block_hash),
        "size": to_quantity(_list_size(size)),
        "transactions": transactions,
        "uncles": [],
        **({"withdrawals": []} if has_withdrawals else {}),
        "calls": _calls(simulated.calls, hashes, place),
    }


def _list_size(payload: int) -> int:
    """Bytes of a list in RLP whose items take this many."""
    return payload + (1 if payload < 56 else 1 + len(minimal_bytes(payload)))


def header_fields(
    block: Block,
    fork: Fork,
    *,
    parent_hash: bytes | None,
    state_root: bytes | None,
    transactions_root: bytes = EMPTY_TRIE,
    receipts_root: bytes = EMPTY_TRIE,
    bloom: bytes = bytes(BLOOM_BYTES),
    gas_used: int = 0,
    blob_gas_used: int = 0,
    extra_data: bytes = b"",
) -> dict[str, bytes | int]:
    """The fields of a header that the rules have, in the order of RLP; zeros where a hash is not known."""
    cancun, prague = since("cancun", fork), since("prague", fork)
    fields: dict[str, bytes | int | None] = {
        "parentHash": parent_hash or bytes(32),
        "sha3Uncles": EMPTY_UNCLES,
        "miner": block.coinbase,
        "stateRoot": state_root or bytes(32),
        "transactionsRoot": transactions_root,
        "receiptsRoot": receipts_root,
        "logsBloom": bloom,
        "difficulty": block.difficulty,
        "number": block.number,
        "gasLimit": block.gas_limit,
        "gasUsed": gas_used,
        "timestamp": block.timestamp,
        "extraData": extra_data,
        "mixHash": block.prev_randao,
        "nonce": bytes(8),
        "baseFeePerGas": block.base_fee,
        "withdrawalsRoot": EMPTY_TRIE if since("shanghai", fork) else None,
        "blobGasUsed": blob_gas_used if cancun else None,
        "excessBlobGas": block.excess_blob_gas if cancun else None,
        "parentBeaconBlockRoot": bytes(32) if cancun else None,
        "requestsHash": EMPTY_REQUESTS if prague else None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def encode_header(fields: Mapping[str, bytes | int]) -> bytes:
    """A header in RLP, whose Keccak-256 is the block's hash."""
    return rlp.encode([minimal_bytes(value) if isinstance(value, int) else value for value in fields.values()])


def header_reply(fields: Mapping[str, bytes | int]) -> dict[str, Any]:
    """A header as JSON-RPC has it."""
    return {name: to_hex(value) if isinstance(value, bytes) else to_quantity(value) for name, value in fields.items()}


def _calls(calls: Sequence[Executed], hashes: Sequence[bytes], place: dict[str, str]) -> list[dict[str, Any]]:
    """What each call came to; its logs are counted through the block."""
    found, count = [], 0
    for index, call in enumerate(calls):
        where = {
            **place, "transactionHash": to_hex(hashes[index]), "transactionIndex": to_quantity(index),
        }  # fmt: skip
        logs = [_log(log, where, count + number) for number, log in enumerate(call.logs)]
        count += len(logs)
        found.append(_call(call, logs))
    return found


def _call(call: Executed, logs: list[dict[str, Any]]) -> dict[str, Any]:
    outcome = call.outcome
    answer: dict[str, Any] = {
        "returnData": to_hex(outcome.output if outcome.succeeded else b""),
        "logs": logs,
        "gasUsed": to_quantity(outcome.charged),
        "maxUsedGas": to_quantity(outcome.peak),
        "status": to_quantity(int(outcome.succeeded)),
    }
    if outcome.succeeded:
        return answer
    failed = failure(outcome, call.request.call.gas or 0, estimating=False)
    if outcome.status is Status.REVERT:
        return {**answer, "error": {"message": failed.message, "code": REVERTED, "data": failed.data}}
    capped = " (gas limit was capped by the RPC server's global gas cap)" if call.is_capped else ""
    return {**answer, "error": {"message": failed.message + capped, "code": VM_ERROR}}


def _log(log: Log, where: dict[str, str], index: int) -> dict[str, Any]:
    return {
        "address": to_hex(log.address), "topics": list(map(to_hex, log.topics)), "data": to_hex(log.data), **where,
        "logIndex": to_quantity(index), "removed": False,
    }  # fmt: skip


def _code_logs(call: Executed) -> list[Log]:
    return [log for log in call.logs if not log.is_transfer]


def _bloom(logs: Iterable[Log]) -> bytes:
    return logs_bloom((log.address, log.topics) for log in logs)


def _receipts(calls: Sequence[Executed]) -> list[bytes]:
    found, used = [], 0
    for call in calls:
        used += call.outcome.charged
        logs = _code_logs(call)
        items: list[Any] = [
            minimal_bytes(int(call.outcome.succeeded)), minimal_bytes(used), _bloom(logs),
            [[log.address, list(log.topics), log.data] for log in logs],
        ]  # fmt: skip
        kind, encoded = transaction_type(call.request), rlp.encode(items)
        found.append(encoded if kind == LEGACY else bytes([kind]) + encoded)
    return found


def _full(call: Executed, simulated: Simulated, place: dict[str, Any]) -> dict[str, Any]:
    """A call as a transaction of the block."""
    request, asked, kind = call.request, call.request.call, transaction_type(call.request)
    answer = {
        **place,
        "from": to_hex(call.message.sender),
        "gas": to_quantity(asked.gas or 0),
        "gasPrice": to_quantity(call.message.gas_price),
        "input": to_hex(asked.data),
        "nonce": to_quantity(asked.nonce or 0),
        "to": None if asked.to is None else to_hex(asked.to),
        "value": to_quantity(asked.value or 0),
        "type": to_quantity(kind),
        **dict.fromkeys(("v", "r", "s"), "0x0"),
    }
    if kind == LEGACY:
        return answer
    answer |= {
        "yParity": "0x0",
        "chainId": to_quantity(asked.chain_id or 0),
        "accessList": list_reply(asked.access_list or ()),
    }
    if kind == ACCESS_LIST:
        return answer
    answer |= {"maxFeePerGas": to_quantity(fee_cap(asked)), "maxPriorityFeePerGas": to_quantity(tip_cap(asked))}
    if kind == BLOB:
        answer["maxFeePerBlobGas"] = to_quantity(asked.max_fee_per_blob_gas or 0)
        answer["blobVersionedHashes"] = list(map(to_hex, request.blob_hashes))
    elif kind == SET_CODE:
        answer["authorizationList"] = [
            {
                "chainId": to_quantity(entry.chain_id), "address": to_hex(entry.address),
                "nonce": to_quantity(entry.nonce), "yParity": to_quantity(entry.y_parity),
                "r": to_quantity(entry.r), "s": to_quantity(entry.s),
            }
            for entry in request.authorizations
        ]  # fmt: skip
    return answer
