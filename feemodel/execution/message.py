"""The message that an engine executes: a call with its price decided, and what a node refuses before executing it."""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from ethereum_rlp import rlp

from feemodel.checks import UINT64_MAX, UINT256_MAX, sequence
from feemodel.errors import InvalidInput
from feemodel.ethereum.call import (
    ACCESS_LIST,
    BLOB,
    DYNAMIC_FEE,
    LEGACY,
    SET_CODE,
    AccessList,
    Call,
    as_bytes,
    as_mapping,
    is_missing,
    parse_call,
)
from feemodel.ethereum.quantities import minimal_bytes, to_hex, to_quantity
from feemodel.ethereum.transaction import ZERO_ADDRESS, Authorization, read_authorizations
from feemodel.ethereum.transaction_fields import FIELD_NAMES

BLOB_VERSION = 0x01  # VERSIONED_HASH_VERSION_KZG, EIP-4844
_BLOB_HASHES = (*FIELD_NAMES["blob_versioned_hashes"], "blob_versioned_hashes")

_NUMBERS = {  # fields of a call: their names on the wire, and the largest value that a transaction can carry
    "gas": ("gas", UINT64_MAX),
    "nonce": ("nonce", UINT64_MAX),
    "chain_id": ("chainId", UINT64_MAX),
    "value": ("value", UINT256_MAX),
    "gas_price": ("gasPrice", UINT256_MAX),
    "max_fee": ("maxFeePerGas", UINT256_MAX),
    "max_priority_fee": ("maxPriorityFeePerGas", UINT256_MAX),
    "max_fee_per_blob_gas": ("maxFeePerBlobGas", UINT256_MAX),
}
_numbers = attrgetter(*_NUMBERS)


class Request(NamedTuple):
    """A call with the two lists that only some transactions carry."""

    call: Call
    authorizations: tuple[Authorization, ...] = ()
    blob_hashes: tuple[bytes, ...] = ()


class Message(NamedTuple):
    """What an engine executes, all of a transaction but its gas limit."""

    sender: bytes = ZERO_ADDRESS
    to: bytes | None = None  #: `None` creates a contract
    value: int = 0  #: [wei]
    data: bytes = b""
    gas_price: int = 0  #: what GASPRICE answers, and what the sender pays in advance [wei / gas]
    base_fee: int = 0  #: what BASEFEE answers [wei / gas]
    access_list: AccessList = ()
    authorizations: tuple[Authorization, ...] = ()
    blob_hashes: tuple[bytes, ...] = ()
    pays: bool = True  #: whether the sender's balance is reduced by what the gas limit costs
    pays_for_blobs: bool = False  #: and by what the blobs cost; not for a caller who names no price for them


def parse_request(call: Request | Call | Mapping[str, Any]) -> Request:
    """A JSON-RPC call object, checked.

    Parameters
    ----------
    call : the fields of `feemodel.ethereum.call.parse_call`, also `authorizationList` and `blobVersionedHashes`; or one
        that is parsed.

    Raises
    ------
    InvalidInput : a field that cannot be read, or that no transaction could carry, named as `call.<field>`.

    >>> parse_request({"to": "0x" + "11" * 20, "blobVersionedHashes": ["0x01" + "00" * 31]}).blob_hashes[0][0]
    1
    """
    if isinstance(call, Request):
        return call
    parsed = call if isinstance(call, Call) else parse_call(call)
    if max(filter(None, _numbers(parsed)), default=0) > UINT64_MAX:
        _check_numbers(parsed)
    if isinstance(call, Call):
        return Request(call=call)
    fields = as_mapping(call)
    hashes = _given(fields, _BLOB_HASHES)
    if not parsed.authorizations and hashes is None:
        return Request(parsed)
    authorizations, blob_hashes = read_authorizations(parsed.authorization_list), _blob_hashes(hashes)
    if parsed.to is None and (authorizations or blob_hashes):
        raise InvalidInput("call.to", "expected an address beside authorizations or blobs", None)
    return Request(call=parsed, authorizations=authorizations, blob_hashes=blob_hashes)


def _given(call: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """A field under any of its names; where there are several, `parse_call` has held them equal."""
    for name in names:
        value = call.get(name)
        if value is not None and not is_missing(value):
            return value
    return None


def _check_numbers(call: Call) -> None:
    for value, (wire, maximum) in zip(_numbers(call), _NUMBERS.values(), strict=True):
        if value is not None and value > maximum:
            reason = f"expected a number below 2**{maximum.bit_length()}"
            raise InvalidInput(f"call.{wire}", reason, to_quantity(value))  # of any length, unlike its decimal digits


def parse_message(
    call: Request | Call | Mapping[str, Any], *, gas_price: int = 0, base_fee: int = 0, pays: bool | None = None
) -> Message:
    """The message of a call.

    Parameters
    ----------
    call : as in `parse_request`.
    gas_price, base_fee : that it is executed at [wei / gas].
    pays : whether the gas limit is paid for in advance; a sender that is named pays, unless this says otherwise.
    """
    request = call if isinstance(call, Request) else parse_request(call)
    parsed = request.call
    return Message(  # by position: by name it takes twice the time
        parsed.sender or ZERO_ADDRESS, parsed.to, parsed.value or 0, parsed.data, gas_price, base_fee,
        parsed.access_list or (), request.authorizations, request.blob_hashes,
        parsed.sender is not None if pays is None else pays, bool(request.blob_hashes and parsed.max_fee_per_blob_gas),
    )  # fmt: skip


def fee_cap(call: Call) -> int:
    """The most that a call pays for its gas [wei / gas]."""
    return call.gas_price if call.gas_price is not None else call.max_fee or 0


def tip_cap(call: Call) -> int:
    """What of that goes to the block's beneficiary at most [wei / gas]."""
    return call.gas_price if call.gas_price is not None else call.max_priority_fee or 0


def transaction_type(request: Request) -> int:
    """The type that geth gives a call: of the dynamic fee, unless it says otherwise."""
    if request.call.gas_price is not None:
        return LEGACY if request.call.access_list is None else ACCESS_LIST
    if request.authorizations:
        return SET_CODE
    return BLOB if request.blob_hashes else DYNAMIC_FEE


def encoded_transaction(request: Request) -> bytes:
    """The call as a transaction whose signature is zeros, EIP-2718."""
    call, kind = request.call, transaction_type(request)
    gas, target, value = minimal_bytes(call.gas or 0), call.to or b"", minimal_bytes(call.value or 0)
    common = [gas, target, value, call.data]
    if kind == LEGACY:
        return rlp.encode([minimal_bytes(call.nonce or 0), minimal_bytes(call.gas_price or 0), *common, b"", b"", b""])
    prices = (call.gas_price or 0,) if kind == ACCESS_LIST else (tip_cap(call), fee_cap(call))
    numbers = (call.chain_id or 0, call.nonce or 0, *prices)
    listed = [[address, list(keys)] for address, keys in call.access_list or ()]
    items: list[Any] = [*map(minimal_bytes, numbers), *common, listed]
    if kind == BLOB:
        items += [minimal_bytes(call.max_fee_per_blob_gas or 0), list(request.blob_hashes)]
    elif kind == SET_CODE:
        entries = request.authorizations
        items.append([[one if isinstance(one, bytes) else minimal_bytes(one) for one in entry] for entry in entries])
    return bytes([kind]) + rlp.encode([*items, b"", b"", b""])


def _blob_hashes(hashes: Any) -> tuple[bytes, ...]:
    listed = enumerate(sequence("call.blobVersionedHashes", () if hashes is None else hashes))
    found = tuple(as_bytes(f"call.blobVersionedHashes[{place}]", value, size=32) for place, value in listed)
    for place, one in enumerate(found):
        if one[0] != BLOB_VERSION:
            raise InvalidInput(f"call.blobVersionedHashes[{place}]", "expected a hash of version 0x01", to_hex(one))
    return found
