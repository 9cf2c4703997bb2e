"""A simulated block as `eth_simulateV1` answers it: its header, its transactions, and of each call what it came to.

Logs say where they are in the block; payments are among them and count, but they are in no receipt and no bloom filter.

Source: ethereum/go-ethereum, internal/ethapi/simulate.go, transaction_args.go `ToTransaction` (2026); EIP-2718.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ethereum_rlp import rlp

from feemodel.ethereum.call import BLOB, DYNAMIC_FEE, LEGACY, SET_CODE
from feemodel.ethereum.hashes import keccak256
from feemodel.ethereum.quantities import from_hex, to_hex, to_quantity
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
from feemodel.execution.forks import since
from feemodel.execution.message import Authorization, Request
from feemodel.execution.next_block import Executed, Simulated, effective_price, fees
from feemodel.execution.outcome import Log, Status

VM_ERROR = -32_015  # of a call that halted
_NONCE = bytes(8)


class _Header(NamedTuple):
    """Fields of a header in their order; `None` where the rules have none."""

    parent_hash: bytes
    uncles: bytes
    coinbase: bytes
    state_root: bytes
    transactions_root: bytes
    receipts_root: bytes
    bloom: bytes
    difficulty: int
    number: int
    gas_limit: int
    gas_used: int
    timestamp: int
    extra_data: bytes
    mix_hash: bytes
    nonce: bytes
    base_fee: int
    withdrawals_root: bytes | None
    blob_gas_used: int | None
    excess_blob_gas: int | None
    beacon_root: bytes | None
    requests_hash: bytes | None

    def items(self) -> list[bytes]:
        """What RLP encodes."""
        return [_minimal(value) if isinstance(value, int) else value for value in self if value is not None]


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
    encoded = [_transaction(call.request) for call in simulated.calls]
    header = _header(simulated, state_root, encoded)
    has_withdrawals = header.withdrawals_root is not None
    listed = [item if item[0] >= 0xC0 else rlp.encode(item) for item in encoded]
    body = b"".join(listed)
    encoded_header = rlp.encode(header.items())
    size = len(encoded_header) + _list_size(len(body)) + 1 + has_withdrawals
    block_hash = keccak256(encoded_header)
    hashes = [keccak256(item) for item in encoded]
    place = {
        "blockHash": to_hex(block_hash), "blockNumber": to_quantity(header.number),
        "blockTimestamp": to_quantity(header.timestamp),
    }  # fmt: skip
    transactions = [
        _full(call, simulated, {**place, "hash": to_hex(found), "transactionIndex": to_quantity(index)})
        if simulated.full_transactions
        else to_hex(found)
        for index, (call, found) in enumerate(zip(simulated.calls, hashes, strict=True))
    ]
    return {
        **_header_reply(header, simulated.parent_hash, state_root),
        "hash": to_hex(block_hash),
        "size": to_quantity(_list_size(size)),
        "transactions": transactions,
        "uncles": [],
        **({"withdrawals": []} if has_withdrawals else {}),
        "calls": _calls(simulated.calls, hashes, place),
    }


def _list_size(payload: int) -> int:
    """Bytes of a list in RLP whose items take this many."""
    return payload + (1 if payload < 56 else 1 + len(_minimal(payload)))


def _header(simulated: Simulated, state_root: bytes | None, encoded: Sequence[bytes]) -> _Header:
    block, fork = simulated.call_state.block, simulated.call_state.fork
    logged = [log for call in simulated.calls for log in _code_logs(call)]
    cancun, prague = since("cancun", fork), since("prague", fork)
    return _Header(
        parent_hash=simulated.parent_hash or bytes(32),
        uncles=EMPTY_UNCLES,
        coinbase=block.coinbase,
        state_root=state_root or bytes(32),
        transactions_root=ordered_trie_root(encoded),
        receipts_root=ordered_trie_root(_receipts(simulated.calls)),
        bloom=_bloom(logged),
        difficulty=block.difficulty,
        number=block.number,
        gas_limit=block.gas_limit,
        gas_used=simulated.gas_used,
        timestamp=block.timestamp,
        extra_data=b"",
        mix_hash=block.prev_randao,
        nonce=_NONCE,
        base_fee=block.base_fee,
        withdrawals_root=EMPTY_TRIE if since("shanghai", fork) else None,
        blob_gas_used=simulated.blob_gas_used if cancun else None,
        excess_blob_gas=simulated.excess_blob_gas if cancun else None,
        beacon_root=bytes(32) if cancun else None,
        requests_hash=EMPTY_REQUESTS if prague else None,
    )


def _header_reply(header: _Header, parent_hash: bytes | None, state_root: bytes | None) -> dict[str, Any]:
    """The header on the wire; what is not known is `null`, what the rules do not have is absent."""
    fields: dict[str, bytes | int | None] = {
        "number": header.number,
        "stateRoot": header.state_root,
        "timestamp": header.timestamp,
        "gasLimit": header.gas_limit,
        "gasUsed": header.gas_used,
        "baseFeePerGas": header.base_fee,
        "blobGasUsed": header.blob_gas_used,
        "excessBlobGas": header.excess_blob_gas,
        "extraData": header.extra_data,
        "miner": header.coinbase,
        "mixHash": header.mix_hash,
        "difficulty": header.difficulty,
        "nonce": header.nonce,
        "sha3Uncles": header.uncles,
        "transactionsRoot": header.transactions_root,
        "receiptsRoot": header.receipts_root,
        "withdrawalsRoot": header.withdrawals_root,
        "parentBeaconBlockRoot": header.beacon_root,
        "requestsHash": header.requests_hash,
        "logsBloom": header.bloom,
    }
    unknown = {"parentHash": parent_hash, "stateRoot": state_root}
    known = {name: _shown(value) for name, value in fields.items() if value is not None}
    return known | {name: None if value is None else to_hex(value) for name, value in unknown.items()}


def _shown(value: bytes | int) -> str:
    return to_hex(value) if isinstance(value, bytes) else to_quantity(value)


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
    return {**answer, "error": {"message": failed.message, "code": VM_ERROR}}


def _log(log: Log, where: dict[str, str], index: int) -> dict[str, Any]:
    return {
        "address": to_hex(log.address), "topics": list(map(to_hex, log.topics)), "data": to_hex(log.data), **where,
        "logIndex": to_quantity(index), "removed": False,
    }  # fmt: skip


def _code_logs(call: Executed) -> list[Log]:
    return [log for log in call.logs if not log.is_transfer]


def _bloom(logs: Sequence[Log]) -> bytes:
    return logs_bloom((log.address, log.topics) for log in logs) if logs else bytes(BLOOM_BYTES)


def _receipts(calls: Sequence[Executed]) -> list[bytes]:
    found, used = [], 0
    for call in calls:
        used += call.outcome.charged
        logs = _code_logs(call)
        items: list[Any] = [
            _minimal(int(call.outcome.succeeded)), _minimal(used), _bloom(logs),
            [[log.address, list(log.topics), log.data] for log in logs],
        ]  # fmt: skip
        found.append(_typed(_kind(call.request), rlp.encode(items)))
    return found


def _kind(request: Request) -> int:
    """The type that geth gives a call: of the dynamic fee, unless it says otherwise."""
    if request.call.gas_price is not None:
        return LEGACY
    if request.authorizations:
        return SET_CODE
    return BLOB if request.blob_hashes else DYNAMIC_FEE


def _typed(kind: int, encoded: bytes) -> bytes:
    return encoded if kind == LEGACY else bytes([kind]) + encoded


def _transaction(request: Request) -> bytes:
    """The call as a transaction whose signature is zeros, EIP-2718."""
    call, kind = request.call, _kind(request)
    target, value = call.to or b"", _minimal(call.value or 0)
    nonce, gas = _minimal(call.nonce or 0), _minimal(call.gas or 0)
    if kind == LEGACY:
        return rlp.encode([nonce, _minimal(call.gas_price or 0), gas, target, value, call.data, b"", b"", b""])
    cap, tip = fees(request)
    items: list[Any] = [
        _minimal(call.chain_id or 0), nonce, _minimal(tip), _minimal(cap), gas, target, value, call.data,
        [[address, list(keys)] for address, keys in call.access_list or ()],
    ]  # fmt: skip
    if kind == BLOB:
        items += [_minimal(call.max_fee_per_blob_gas or 0), list(request.blob_hashes)]
    elif kind == SET_CODE:
        items.append([_authorization(entry) for entry in request.authorizations])
    return _typed(kind, rlp.encode([*items, b"", b"", b""]))


def _authorization(entry: Authorization) -> list[bytes]:
    numbers = (entry.nonce, entry.y_parity, entry.r, entry.s)
    return [_minimal(entry.chain_id), entry.address, *map(_minimal, numbers)]


def _full(call: Executed, simulated: Simulated, place: dict[str, Any]) -> dict[str, Any]:
    """A call as a transaction of the block."""
    request, asked, kind = call.request, call.request.call, _kind(call.request)
    answer = {
        **place,
        "from": to_hex(call.message.sender),
        "gas": to_quantity(asked.gas or 0),
        "gasPrice": to_quantity(effective_price(request, simulated.call_state.block.base_fee)),
        "input": to_hex(asked.data),
        "nonce": to_quantity(asked.nonce or 0),
        "to": None if asked.to is None else to_hex(asked.to),
        "value": to_quantity(asked.value or 0),
        "type": to_quantity(kind),
        **dict.fromkeys(("v", "r", "s"), "0x0"),
    }
    if kind == LEGACY:
        return answer
    cap, tip = fees(request)
    answer |= {
        "maxFeePerGas": to_quantity(cap), "maxPriorityFeePerGas": to_quantity(tip), "yParity": "0x0",
        "chainId": to_quantity(asked.chain_id or 0), "accessList": list_reply(asked.access_list or ()),
    }  # fmt: skip
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


def _minimal(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8)
