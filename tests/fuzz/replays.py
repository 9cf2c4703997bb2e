"""Captures of real blocks."""

import json
from typing import Any

from feemodel.errors import InvalidInput
from feemodel.estimates._replay import state_before
from feemodel.ethereum._quantities import to_hex
from feemodel.io._replay import Replay, ReplayState, ReplayTransaction, parse_replay
from tests.fuzz.mutators import mutated_json
from tests.fuzz.target import Target, check, check_equal

TYPES = ("FRONTIER", "ACCESS_LIST", "EIP1559", "BLOB", "DELEGATE_CODE")
SENDER, TARGET = "0x" + "11" * 20, "0x" + "ab" * 20


def _check_replay(data: bytes, replay: Replay) -> None:
    """A capture is the same when it is written out and read again; its addresses and words have their sizes."""
    _check_sizes(replay)
    check_equal(replay, parse_replay(json.dumps(_document(replay)).encode()), "the capture written again")
    for block in replay.blocks:
        for place in range(len(block.transactions)):
            try:
                call_state = state_before(replay, (block.number, place))
            except InvalidInput as error:
                check_equal("fork", error.name, "what may be unknown in a capture that was read")
                return
            check(all(len(address) == 20 for address in call_state.accounts), "an address of the state")


def _check_sizes(replay: Replay) -> None:
    transactions = [transaction for block in replay.blocks for transaction in block.transactions]
    for state in (replay.state, *(transaction.state for transaction in transactions)):
        check(all(len(address) == 20 for address, *_ in (*state.accounts, *state.slots)), "an address")
        check(all(balance < 2**256 and nonce < 2**64 for _, balance, nonce, _ in state.accounts), "balance or nonce")
        check(all(key < 2**256 and value < 2**256 for _, key, value in state.slots), "a slot")
    for transaction in transactions:
        check(len(transaction.sender) == 20 and len(transaction.to or bytes(20)) == 20, "sender or receiver")
        check(transaction.value < 2**256 and transaction.nonce < 2**64, "value or nonce")
    for block in replay.blocks:
        check(len(block.coinbase) == 20 and len(block.prev_randao) == 32, "coinbase or randomness")
        check(len(block.parent_hash) == 32, "the hash of the parent")
        check(block.number < 2**64 and max(block.base_fee, block.difficulty) < 2**256, "number or base fee")
        check(max(block.timestamp, block.gas_limit, replay.chain_id) < 2**64, "time, gas limit or chain id")
    check(all(len(digest) == 32 for digest in replay.block_hashes.values()), "the hash of a block")


def _document(replay: Replay) -> dict[str, Any]:
    return {
        **({"fork": replay.fork} if replay.names_fork else {}),
        **_state(replay.state),
        "blobBaseFees": {
            str(block.number): list(block.blob_base_fee.to_bytes(32, "big"))
            for block in replay.blocks
            if block.blob_base_fee is not None
        },
        "blockHashes": [
            {"blockNumber": number, "blockHash": to_hex(digest)} for number, digest in replay.block_hashes.items()
        ],
        "blocks": [
            {
                "header": {
                    "number": block.number,
                    "parentHash": to_hex(block.parent_hash),
                    "timestamp": _word(block.timestamp),
                    "gasLimit": _word(block.gas_limit),
                    "baseFee": {"value": _word(block.base_fee)},
                    "coinbase": to_hex(block.coinbase),
                    "mixHashOrPrevRandao": to_hex(block.prev_randao),
                    "difficulty": _word(block.difficulty),
                    "extraData": to_hex(block.extra_data),
                },
                "txs": [_transaction(transaction, replay.chain_id) for transaction in block.transactions],
            }
            for block in replay.blocks
        ],
    }


def _transaction(transaction: ReplayTransaction, chain_id: int) -> dict[str, Any]:
    optional = {
        "to": None if transaction.to is None else to_hex(transaction.to),
        "gasPrice": _optional(transaction.gas_price),
        "maxFeePerGas": _optional(transaction.max_fee),
        "maxPriorityFeePerGas": _optional(transaction.max_priority_fee),
        "maxFeePerBlobGas": _optional(transaction.max_fee_per_blob_gas),
        "accessList": _access_list(transaction),
    }
    outcome = {"status": transaction.succeeded, "gasUsed": _word(transaction.gas_used)}
    return {
        "sender": to_hex(transaction.sender),
        "nonce": _word(transaction.nonce),
        "value": _word(transaction.value),
        "payload": to_hex(transaction.data),
        "gasLimit": _word(transaction.gas_limit),
        "type": TYPES[transaction.type],
        "chainId": _word(chain_id),
        "authorizationList": [
            {
                "chainId": _word(chain),
                "address": to_hex(address),
                "nonce": _word(nonce),
                "yParity": _word(parity),
                "r": _word(r),
                "s": _word(s),
            }
            for chain, address, nonce, parity, r, s in transaction.authorizations
        ],
        "blobVersionedHashes": [to_hex(blob) for blob in transaction.blob_hashes],
        **{name: {} if value is None else {"value": value} for name, value in optional.items()},
        **dict(zip("vrs", (f"{number:x}" for number in transaction.signature), strict=True)),
        "outcome": outcome
        | {"output": to_hex(transaction.output)}
        | _state(transaction.state)
        | {"selfDestructs": [to_hex(address) for address in transaction.self_destructs]},
    }


def _access_list(transaction: ReplayTransaction) -> list[Any] | None:
    if transaction.access_list is None:
        return None
    return [
        {"address": to_hex(address), "storageKeys": [to_hex(key) for key in keys]}
        for address, keys in transaction.access_list
    ]


def _state(state: ReplayState) -> dict[str, Any]:
    return {
        "accounts": [
            {"address": to_hex(address), "balance": _word(balance), "nonce": _word(nonce), "code": to_hex(code)}
            for address, balance, nonce, code in state.accounts
        ],
        "storage": [
            {"address": to_hex(address), "key": _word(key), "value": _word(value)}
            for address, key, value in state.slots
        ],
    }


def _word(number: int) -> str:
    return f"0x{number:064x}"


def _optional(number: int | None) -> str | None:
    return None if number is None else _word(number)


def _seeds() -> list[bytes]:
    slot = {"address": TARGET, "key": _word(0), "value": _word(6)}
    outcome = {"status": True, "gasUsed": 21_000, "output": "0x", "accounts": [], "storage": [slot], "logs": []}
    transaction = {
        "sender": SENDER, "to": {"value": TARGET}, "nonce": 0, "value": _word(0), "payload": "0x", "gasLimit": 100_000,
        "gasPrice": {"value": _word(60_000_000)}, "maxFeePerGas": {}, "maxPriorityFeePerGas": {}, "chainId": 59_144,
        "accessList": {"value": []}, "type": "FRONTIER", "r": "1", "s": "1", "v": "1ce34",
        "outcome": outcome | {"selfDestructs": []},
    }  # fmt: skip
    created = transaction | {
        "to": {}, "nonce": 1, "payload": "0x60fe60005360016000f3", "gasPrice": {}, "maxFeePerGas": {"value": _word(9)},
        "maxPriorityFeePerGas": {"value": _word(1)}, "outcome": outcome | {"output": "0xfe", "status": False},
        "type": "EIP1559", "accessList": {"value": [{"address": TARGET, "storageKeys": [_word(1)]}]},
    }  # fmt: skip
    header = {
        "number": 10, "parentHash": _word(4), "timestamp": 20, "gasLimit": 30_000_000, "baseFee": {"value": _word(7)},
        "coinbase": "0x" + "00" * 20, "mixHashOrPrevRandao": _word(5), "difficulty": _word(0), "extraData": "0x01",
    }  # fmt: skip
    document = {
        "fork": "OSAKA",
        "accounts": [
            {"address": SENDER, "balance": _word(10**18), "nonce": 0, "code": "0x"},
            {"address": TARGET, "balance": _word(0), "nonce": 1, "code": "0x5f5460010180"},
        ],
        "storage": [slot],
        "blockHashes": [{"blockNumber": 9, "blockHash": _word(1)}],
        "blobBaseFees": {"10": [1]},
        "blocks": [{"header": header, "txs": [transaction, created]}],
    }
    old = {name: value for name, value in document.items() if name != "fork"}
    old["blocks"] = [{"header": header, "txs": [created]}]
    return [*(json.dumps(capture).encode() for capture in (document, old)), json.dumps(json.dumps(old)).encode()]


TARGETS = {"replay": Target(parse_replay, (InvalidInput,), _check_replay, _seeds, mutated_json)}
