"""Types of JSON parameters and results, which parse and check values.

Each parameter is parsed and checked once, so that methods receive only valid values. The types also provide the JSON
schemas.
"""

import re
from abc import ABCMeta
from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeAlias

import msgspec

from feemodel.checks import UINT64_MAX
from feemodel.errors import InvalidInput
from feemodel.ethereum._block_id import TAGS, BlockId, read_block
from feemodel.ethereum._call import (
    ADDRESS,
    CALL,
    DATA,
    HASH,
    QUANTITY,
    UINT64,
    UINT256,
    Kind,
    Schema,
    as_integer,
    decoded,
    parse_call,
)
from feemodel.ethereum._quantities import address_bytes, to_hex, to_quantity
from feemodel.ethereum._transaction import Transaction
from feemodel.execution._state import Override, parse_overrides

_TAG = {"enum": list(TAGS), "title": "tag"}
_EIP_1898: Schema = {
    "type": "object",
    "title": "EIP-1898",
    "properties": {
        "blockNumber": {"oneOf": [QUANTITY, _TAG]}, "blockHash": HASH, "requireCanonical": {"type": "boolean"},
    },
    "additionalProperties": False,
    "oneOf": [{"required": ["blockNumber"]}, {"required": ["blockHash"]}],
}  # fmt: skip
_BLOCK: Schema = {"title": "block", "anyOf": [QUANTITY, {"type": "integer", "minimum": 0}, _TAG, HASH, _EIP_1898]}
#: A quantity from 1 to 1,024.
_BLOCK_COUNT = {**QUANTITY, "pattern": "^0x(400|[1-3][0-9a-fA-F]{2}|[1-9a-fA-F][0-9a-fA-F]?)$"}
_SLOTS = {"type": "object", "additionalProperties": HASH, "propertyNames": {"pattern": HASH["pattern"]}}
_OVERRIDES: Schema = {
    "title": "state override",
    "type": "object",
    "propertyNames": {"pattern": ADDRESS["pattern"]},
    "additionalProperties": {
        "type": "object",
        "properties": {"balance": UINT256, "nonce": UINT64, "code": DATA, "state": _SLOTS, "stateDiff": _SLOTS},
        "additionalProperties": False,
        "not": {"required": ["state", "stateDiff"]},
    },
}
_OPTIONS: Schema = {
    "title": "options", "type": "object", "properties": {"search": {"const": "intact"}}, "additionalProperties": False,
    "minProperties": 1,
}  # fmt: skip


class StateOverride(msgspec.Struct, frozen=True):
    """A state override, both as received and as parsed."""

    given: Mapping[str, Any]
    accounts: Mapping[bytes, Override]

    @classmethod
    def read(cls, value: Any) -> Self:
        """Parse a state override; raises `InvalidInput` if the value is not valid."""
        return cls(value, parse_overrides(value))


def _wire(read: Callable[[Any], Any], schema: Schema) -> Any:
    """Return a type that msgspec parses with `read`; `isinstance` is true for every value."""
    kind = vars(Kind(read, schema))
    is_instance = staticmethod(lambda kind: True)  # accept values of every class, because `read` checks the value
    return ABCMeta("Wire", (), {**kind, "read": staticmethod(read), "__subclasshook__": is_instance})


if TYPE_CHECKING:
    Address: TypeAlias = bytes
    Uint64: TypeAlias = int
    BlockCount: TypeAlias = int
    CallObject: TypeAlias = Transaction
    Block: TypeAlias = BlockId
    Overrides: TypeAlias = StateOverride
    EstimateOption: TypeAlias = Any
else:
    Address = _wire(address_bytes, ADDRESS)
    Uint64 = _wire(partial(as_integer, "quantity", maximum=UINT64_MAX), UINT64)
    BlockCount = _wire(partial(as_integer, "quantity", maximum=UINT64_MAX), _BLOCK_COUNT)
    CallObject = _wire(partial(parse_call, sent=False, strict=False), CALL)
    Block = _wire(read_block, _BLOCK)
    Overrides = _wire(StateOverride.read, _OVERRIDES)
    EstimateOption = _wire(lambda value: value, {"anyOf": [_OVERRIDES, _BLOCK, _OPTIONS, {"type": "null"}]})


# Types of results.
Quantity: TypeAlias = Annotated[str, msgspec.Meta(title="quantity", pattern=QUANTITY["pattern"])]
HexData: TypeAlias = Annotated[str, msgspec.Meta(title="data", pattern=DATA["pattern"])]


def parse(name: str, value: Any, kind: Any) -> Any:
    """Convert a parameter to a value of its type; raises `InvalidInput` with the name of the field.

    >>> parse("call", {"gas": "0x"}, CallObject)
    Traceback (most recent call last):
    feemodel.errors.InvalidInput: call.gas: expected a quantity such as "0x5208", got '0x'
    """
    try:
        return msgspec.convert(value, kind, dec_hook=decoded)
    except msgspec.ValidationError as error:
        raise _explained(name, value, error) from None


_STEP = re.compile(r"\[(\d+)\]|\.(\w+)")
_AT = re.compile(r"^(?P<reason>.*?)(?: - at `\$(?P<path>.*)`)?$", re.DOTALL)


def _explained(name: str, value: Any, error: msgspec.ValidationError) -> InvalidInput:
    """Return an error that names the field at the path in msgspec's message, and shows the field's value."""
    found: Any = _AT.match(str(error))  # matches every text
    path = found["path"] or ""
    cause = error.__cause__
    if isinstance(cause, InvalidInput):
        if cause.name.startswith("overrides."):
            return cause
        item = cause.name.removeprefix("call") if cause.name.startswith("call.") else ""
        return InvalidInput(name + path + item, cause.reason, cause.value)
    for index, field in _STEP.findall(path):
        value = value[int(index) if index else field]
    reason = found["reason"].partition(", got `")[0]
    return InvalidInput(name + path, reason[:1].lower() + reason[1:], value)


def schemas(kinds: list[Any]) -> tuple[list[Schema], Schema]:
    """Return the JSON schemas of types, and the components to which the schemas refer."""
    found, components = msgspec.json.schema_components(
        kinds, schema_hook=attrgetter("schema"), ref_template="#/components/schemas/{name}"
    )
    return list(found), components


def call_object(call: Transaction) -> dict[str, Any]:
    """Return a parsed call as a JSON-RPC call object for a node."""
    fields = {
        "from": call.from_address, "to": call.to, "gas": call.gas_limit,
        "gasPrice": call.gas_price, "maxFeePerGas": call.max_fee, "maxPriorityFeePerGas": call.max_priority_fee,
        "maxFeePerBlobGas": call.max_fee_per_blob_gas,
        "value": call.value or None, "nonce": call.nonce, "chainId": call.chain_id, "data": call.data or None,
        "blobVersionedHashes": call.blob_hashes or None,
        "accessList": call.access_list and [
            {"address": address, "storageKeys": keys} for address, keys in call.access_list
        ],
        "authorizationList": [
            {"chainId": one.chain_id, "address": one.address, "nonce": one.nonce, "yParity": one.y_parity,
             "r": one.r, "s": one.s} for one in call.authorizations
        ] or None,
    }  # fmt: skip
    found: dict[str, Any] = in_hex({name: value for name, value in fields.items() if value is not None})
    return found


def in_hex(value: Any) -> Any:
    """Return a JSON value with integers and bytes as hexadecimal text, because nodes do not accept JSON integers.

    >>> in_hex({"keys": [5, b"ab", True]})
    {'keys': ['0x5', '0x6162', True]}
    """
    if isinstance(value, bytes):
        return to_hex(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return to_quantity(value)
    if isinstance(value, Mapping):
        return {name: in_hex(part) for name, part in value.items()}
    return [in_hex(part) for part in value] if isinstance(value, list | tuple) else value
