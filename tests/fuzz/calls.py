"""Call objects and state overrides, as a server takes them from JSON."""

import json
from typing import Any

from feemodel.errors import InvalidInput
from feemodel.ethereum._call import Call, parse_call
from feemodel.ethereum._quantities import to_hex
from feemodel.ethereum._transaction import parse_sender_unsigned
from feemodel.execution._clients import message_of
from feemodel.execution._state import Account, CallState, Override, parse_overrides
from feemodel.io.files import parse_json
from feemodel.linea._measure import fee_transaction
from tests.fuzz.mutators import mutated_json
from tests.fuzz.target import Target, check, check_equal

ADDRESS, OTHER = "0x" + "11" * 20, "0x" + "22" * 20
WORD, OTHER_WORD = "0x" + "33" * 32, "0x" + "Ab" * 32
AUTHORIZATION = {"chainId": "0x1", "address": OTHER, "nonce": "0x0", "yParity": "0x1", "r": "0x2", "s": "0x3"}
NUMBERS = {  # on the wire → of a call
    "gas": "gas", "gasPrice": "gas_price", "maxFeePerGas": "max_fee", "maxPriorityFeePerGas": "max_priority_fee",
    "maxFeePerBlobGas": "max_fee_per_blob_gas", "value": "value", "nonce": "nonce", "chainId": "chain_id",
}  # fmt: skip
BASE = CallState(accounts={b"\x11" * 20: Account(balance=5, nonce=1, code=b"\1", storage={1: 2, 2: 3})})


def _call(data: bytes) -> Call:
    return parse_call(parse_json(data, "call"))


def _check_call(data: bytes, call: Call) -> None:
    """A call is the same when it is written out and read again; what a node measures of it can be read again."""
    check_equal(call, parse_call(_wire(call)), "the call written out")
    message = message_of(call)
    check_equal((call.to, call.data), (message.to, message.data), "the message")
    measured = fee_transaction(call, gas=call.gas or 1)
    sender, transaction = parse_sender_unsigned(measured)
    check_equal(call.sender or bytes(20), sender, "the measured sender")
    check_equal((call.value or 0, call.data), (transaction.value, transaction.data), "the measured transaction")


def _wire(call: Call) -> dict[str, Any]:
    wire: dict[str, Any] = {"data": to_hex(call.data)}
    for name, address in (("from", call.sender), ("to", call.to)):
        if address is not None:
            wire[name] = to_hex(address)
    for name, attribute in NUMBERS.items():
        if getattr(call, attribute) is not None:
            wire[name] = hex(getattr(call, attribute))
    if call.access_list is not None:
        wire["accessList"] = [
            {"address": to_hex(address), "storageKeys": list(map(to_hex, keys))} for address, keys in call.access_list
        ]
    if call.authorizations:
        wire["authorizationList"] = [
            {
                "chainId": hex(one.chain_id), "address": to_hex(one.address), "nonce": hex(one.nonce),
                "yParity": hex(one.y_parity), "r": hex(one.r), "s": hex(one.s),
            }
            for one in call.authorizations
        ]  # fmt: skip
    if call.blob_hashes:
        wire["blobVersionedHashes"] = list(map(to_hex, call.blob_hashes))
    return wire


def _call_seeds() -> list[bytes]:
    listed = [{"address": ADDRESS, "storageKeys": [WORD, OTHER_WORD]}, {"address": OTHER, "storageKeys": None}]
    calls: list[dict[str, Any]] = [
        {"from": ADDRESS, "to": OTHER, "value": "0x1", "gas": "0x5208", "gasPrice": "0x7", "nonce": "0x0"},
        {"to": "0x", "input": "0x6001", "data": "0x6001", "maxFeePerGas": "0x9", "maxPriorityFeePerGas": "0x1"},
        {"from": None, "to": ADDRESS, "data": "0xa9059cbb" + "00" * 64, "chainId": "0xe708", "accessList": listed},
        {"to": ADDRESS, "authorizationList": [AUTHORIZATION], "blobVersionedHashes": ["0x01" + WORD[4:]]},
        {"to": ADDRESS, "maxFeePerBlobGas": "0x1", "value": 5, "gas": 30_000_000},
    ]
    return [json.dumps(call).encode() for call in calls]


def _overrides(data: bytes) -> tuple[Any, dict[bytes, Override]]:
    given = parse_json(data, "overrides")
    return given, parse_overrides(given)


def _check_overrides(data: bytes, answer: tuple[Any, dict[bytes, Override]]) -> None:
    """Overrides are the same when they are written out and read again, and an account then has what they say."""
    overrides, parsed = answer
    written = {to_hex(address): _override(override) for address, override in parsed.items()}
    check_equal(parsed, parse_overrides(written), "the overrides written out")
    check_equal(len(overrides or {}), len(parsed), "the number of overrides")
    before = {address: BASE.account(address) for address in parsed}
    call_state = BASE.overridden(overrides)
    for address, override in parsed.items():
        account, old = call_state.account(address), before[address]
        check_equal(old.balance if override.balance is None else override.balance, account.balance, "the balance")
        check_equal(old.nonce if override.nonce is None else override.nonce, account.nonce, "the nonce")
        check_equal(old.code if override.code is None else override.code, account.code, "the code")
        expected = {**(old.storage if override.state is None else override.state), **(override.state_diff or {})}
        check_equal(expected, dict(account.storage), "the storage")
        check_equal(old, BASE.account(address), "the account in the state that was overridden")
    _check_slots(overrides or {})


def _override(override: Override) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name in ("balance", "nonce"):
        if getattr(override, name) is not None:
            fields[name] = hex(getattr(override, name))
    if override.code is not None:
        fields["code"] = to_hex(override.code)
    for name, slots in (("state", override.state), ("stateDiff", override.state_diff)):
        if slots is not None:
            fields[name] = {f"0x{slot:064x}": f"0x{value:064x}" for slot, value in slots.items()}
    return fields


def _check_slots(overrides: dict[str, Any]) -> None:
    """No slot may be named twice, in lower case and in capitals: one of its values would be lost."""
    for fields in overrides.values():
        for name in ("state", "stateDiff"):
            slots = fields.get(name) or {}
            check(len({int(slot, 16) for slot in slots}) == len(slots), "a slot with two values")


def _overrides_seeds() -> list[bytes]:
    overrides: list[Any] = [
        {ADDRESS: {"balance": "0x64", "nonce": "0x5", "code": "0x6001", "stateDiff": {WORD: OTHER_WORD}}},
        {OTHER: {"state": {OTHER_WORD: WORD, WORD: WORD}, "balance": None}, ADDRESS: {}},
        {ADDRESS: {"stateDiff": {"0x" + "00" * 31 + "01": "0x" + "00" * 32}, "nonce": "0xffffffffffffffff"}},
        None,
        {},
    ]
    return [json.dumps(override).encode() for override in overrides]


TARGETS = {
    "call": Target(_call, (InvalidInput,), _check_call, _call_seeds, mutated_json),
    "overrides": Target(_overrides, (InvalidInput,), _check_overrides, _overrides_seeds, mutated_json),
}
