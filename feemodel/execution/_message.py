"""Messages that an engine executes, and the parser of calls with authorizations and blobs."""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from feemodel.checks import UINT64_MAX, UINT256_MAX, sequence
from feemodel.errors import InvalidInput
from feemodel.ethereum._call import (
    AccessList,
    Call,
    as_bytes,
    as_mapping,
    is_missing,
    parse_call,
)
from feemodel.ethereum._quantities import to_hex, to_quantity
from feemodel.ethereum._transaction import (
    ACCESS_LIST_ADDRESS_GAS,
    ACCESS_LIST_KEY_GAS,
    AUTHORIZATION_GAS,
    CREATION_GAS,
    INIT_CODE_WORD_GAS,
    ZERO_ADDRESS,
    Authorization,
    read_authorizations,
)
from feemodel.ethereum._transaction_fields import FIELD_NAMES
from feemodel.ethereum.fee_market import NONZERO_BYTE_GAS, TRANSACTION_GAS, ZERO_BYTE_GAS
from feemodel.execution._forks import Fork

BLOB_VERSION = 0x01  # VERSIONED_HASH_VERSION_KZG, EIP-4844
NONZERO_GAS_BEFORE_ISTANBUL = 68  # gas per nonzero byte of calldata; since EIP-2028 it is 16
_BLOB_HASHES = (*FIELD_NAMES["blob_versioned_hashes"], "blob_versioned_hashes")

_NUMBERS = {  # field of a call → its JSON-RPC name, and the maximum in a transaction
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
    """A call with its authorizations and its blob hashes."""

    call: Call
    authorizations: tuple[Authorization, ...] = ()
    blob_hashes: tuple[bytes, ...] = ()


class Message(NamedTuple):
    """A message that an engine executes: the fields of a transaction, without its gas limit."""

    sender: bytes = ZERO_ADDRESS
    to: bytes | None = None  #: `None` creates a contract
    value: int = 0  #: [wei]
    data: bytes = b""
    gas_price: int = 0  #: the value of GASPRICE, and the price that the sender pays in advance [wei / gas]
    base_fee: int = 0  #: the value of BASEFEE [wei / gas]
    access_list: AccessList = ()
    authorizations: tuple[Authorization, ...] = ()
    blob_hashes: tuple[bytes, ...] = ()
    pays: bool = True  #: whether the cost of the gas limit is deducted from the sender's balance
    pays_for_blobs: bool = False  #: whether the sender also pays for blobs; in a call, only with a maxFeePerBlobGas


def intrinsic_gas(message: Message, fork: Fork) -> int:
    """Return the gas charged before the first instruction of a message, without the calldata floor [gas].

    Source: EIP-2, EIP-2028, EIP-2930, EIP-3860, EIP-7702.

    >>> from feemodel.execution._forks import fork_named
    >>> intrinsic_gas(Message(to=bytes(20), data=bytes(3) + b"abc"), fork_named("osaka"))
    21060
    """
    zeros = message.data.count(0)
    byte_gas = NONZERO_BYTE_GAS if fork.sstore_sentry else NONZERO_GAS_BEFORE_ISTANBUL  # Istanbul introduced both rules
    gas = TRANSACTION_GAS + ZERO_BYTE_GAS * zeros + byte_gas * (len(message.data) - zeros)
    if message.to is None and fork.name != "frontier":
        gas += CREATION_GAS
        if fork.max_init_code is not None:
            gas += INIT_CODE_WORD_GAS * -(-len(message.data) // 32)
    keys = sum(len(slots) for _, slots in message.access_list)
    gas += ACCESS_LIST_ADDRESS_GAS * len(message.access_list) + ACCESS_LIST_KEY_GAS * keys
    return gas + AUTHORIZATION_GAS * len(message.authorizations)


def parse_request(call: Request | Call | Mapping[str, Any]) -> Request:
    """Parse and check a JSON-RPC call object.

    Parameters
    ----------
    call : an object with the fields of `feemodel.ethereum.parse_call`, `authorizationList` and
        `blobVersionedHashes`; or a parsed call.

    Returns
    -------
    Request : the parsed call, its authorizations and its blob hashes.

    Raises
    ------
    InvalidInput : a field, named as `call.<field>`, is not valid in a call or in a transaction.

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
    authorizations, blob_hashes = (
        read_authorizations(parsed.authorization_list),
        read_blob_hashes(() if hashes is None else hashes),
    )
    if parsed.to is None and (authorizations or blob_hashes):
        raise InvalidInput("call.to", "expected an address, because the call has authorizations or blobs", None)
    return Request(call=parsed, authorizations=authorizations, blob_hashes=blob_hashes)


def _given(call: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """Return the value of a field with several names; `parse_call` has checked that no two values differ."""
    for name in names:
        value = call.get(name)
        if value is not None and not is_missing(value):
            return value
    return None


def _check_numbers(call: Call) -> None:
    for value, (wire, maximum) in zip(_numbers(call), _NUMBERS.values(), strict=True):
        if value is not None and value > maximum:
            reason = f"expected a number below 2**{maximum.bit_length()}"
            # Show the value in hexadecimal, because Python does not convert very large integers to decimal text.
            raise InvalidInput(f"call.{wire}", reason, to_quantity(value))


def read_blob_hashes(hashes: Any, name: str = "call.blobVersionedHashes") -> tuple[bytes, ...]:
    """Return versioned hashes of blobs, EIP-4844; raises `InvalidInput`, naming the index, if a hash is not valid.

    >>> read_blob_hashes(["0x01" + "00" * 31])[0][0]
    1
    """
    found = tuple(as_bytes(f"{name}[{index}]", value, size=32) for index, value in enumerate(sequence(name, hashes)))
    for index, one in enumerate(found):
        if one[0] != BLOB_VERSION:
            raise InvalidInput(f"{name}[{index}]", "expected a versioned hash that starts with 0x01", to_hex(one))
    return found
