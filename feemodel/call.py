"""The call object that `eth_call` and `rollup_estimateGas` take, read and checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from feemodel.checks import MAPPINGS, whole_scalar
from feemodel.errors import InvalidInput
from feemodel.units import from_hex, from_quantity, to_hex

AccessList: TypeAlias = tuple[tuple[bytes, tuple[bytes, ...]], ...]

_QUANTITIES = {  # the name on the wire, and ours
    "gas": "gas",
    "gasPrice": "gas_price",
    "maxFeePerGas": "max_fee",
    "maxPriorityFeePerGas": "max_priority_fee",
    "maxFeePerBlobGas": "max_fee_per_blob_gas",
    "value": "value",
    "nonce": "nonce",
    "chainId": "chain_id",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What `eth_call` and `rollup_estimateGas` take; every field may be absent."""

    sender: bytes | None = None  #: `from`, 20 bytes
    to: bytes | None = None
    gas: int | None = None
    gas_price: int | None = None
    max_fee: int | None = None
    max_priority_fee: int | None = None
    max_fee_per_blob_gas: int | None = None
    value: int | None = None
    nonce: int | None = None
    chain_id: int | None = None
    data: bytes = b""
    access_list: AccessList | None = None


def parse_call(call: Mapping[str, Any]) -> Call:
    """A JSON-RPC call object, checked: hexadecimal text, or ints and bytes from Python.

    Parameters
    ----------
    call : `from`, `to`, `gas`, `gasPrice`, `maxFeePerGas`, `maxPriorityFeePerGas`, `maxFeePerBlobGas`, `value`,
        `nonce`, `chainId`, `data` or `input` (both must agree), `accessList`; others are ignored, as nodes do.

    Raises
    ------
    InvalidInput : a field that cannot be read, named as `call.<field>`.

    >>> parse_call({"to": "0x" + "11" * 20, "value": "0x1", "input": "0xa9059cbb"}).data.hex()
    'a9059cbb'
    """
    if not isinstance(call, MAPPINGS):
        raise InvalidInput("call", "expected an object with the fields of a call", call)
    data = _data(call)
    if call.get("gasPrice") is not None and (call.get("maxFeePerGas") or call.get("maxPriorityFeePerGas")):
        raise InvalidInput("call.gasPrice", "expected either gasPrice or maxFeePerGas", call["gasPrice"])
    sender, to = _address("call.from", call.get("from")), _address("call.to", call.get("to"))
    quantities = {
        _QUANTITIES[field]: as_integer(f"call.{field}", value)
        for field, value in call.items()
        if field in _QUANTITIES and value is not None
    }
    return Call(sender=sender, to=to, data=data, access_list=_access_list(call.get("accessList")), **quantities)


def _data(call: Mapping[str, Any]) -> bytes:
    data, input_ = call.get("data"), call.get("input")
    if input_ is None:
        return b"" if data is None else as_bytes("call.data", data)
    found = as_bytes("call.input", input_)
    if data is not None and as_bytes("call.data", data) != found:
        raise InvalidInput("call.input", "expected the same bytes as in call.data", to_hex(found))
    return found


def as_bytes(name: str, value: Any) -> bytes:
    """Bytes from Python, or hexadecimal text."""
    return bytes(value) if isinstance(value, (bytes, bytearray, memoryview)) else from_hex(value, name)


def as_integer(name: str, value: Any) -> int:
    """An integer of at least 0 from Python, or a hexadecimal quantity."""
    if isinstance(value, str):
        return from_quantity(value, name)
    if isinstance(value, (list, tuple, Mapping)):  # never an array made of it: a long text makes each of its cells long
        raise InvalidInput(name, 'expected an integer or a quantity such as "0x5208"', value)
    return whole_scalar(name, value)


def _address(name: str, value: Any) -> bytes | None:
    if value is None:
        return None
    address = as_bytes(name, value)
    if name == "call.to" and not address:  # "0x": some clients write a contract creation so
        return None
    if len(address) != 20:
        raise InvalidInput(name, f"expected an address of 20 bytes, counted {len(address)}", value)
    return address


def _access_list(entries: Any) -> AccessList | None:
    if entries is None:
        return None
    if not isinstance(entries, (list, tuple)):
        raise InvalidInput("call.accessList", "expected a list", entries)
    found = []
    for i, entry in enumerate(entries):
        name = f"call.accessList[{i}]"
        if not isinstance(entry, Mapping) or "address" not in entry:
            raise InvalidInput(name, "expected an object with address and storageKeys", entry)
        keys = entry.get("storageKeys") or []
        if not isinstance(keys, (list, tuple)):
            raise InvalidInput(f"{name}.storageKeys", "expected a list", keys)
        slots = tuple(as_bytes(f"{name}.storageKeys[{j}]", key) for j, key in enumerate(keys))
        for j, slot in enumerate(slots):
            if len(slot) != 32:
                raise InvalidInput(f"{name}.storageKeys[{j}]", f"expected 32 bytes, counted {len(slot)}", keys[j])
        address = _address(f"{name}.address", entry["address"])
        if address is None:
            raise InvalidInput(f"{name}.address", "expected an address of 20 bytes", None)
        found.append((address, slots))
    return tuple(found)
