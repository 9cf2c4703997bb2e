"""Parsing and checks of the call object of `eth_call` and `rollup_estimateGas`."""

import re
from binascii import unhexlify
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from feemodel.checks import MAPPINGS, UINT64_MAX, UINT256_MAX, sequence
from feemodel.errors import InvalidInput
from feemodel.ethereum._hashes import Authorization, Signature
from feemodel.ethereum._quantities import address_bytes, as_bytes, from_quantity, known_fields, to_hex
from feemodel.ethereum._transaction import ACCESS_LIST, BLOB, DYNAMIC_FEE, LEGACY, SET_CODE, AccessList, Transaction
from feemodel.ethereum._transaction_fields import (
    FIELD_OF,
    IGNORED_NAMES,
    SENT_FIELDS,
    SIDECAR_NAMES,
    TYPE_NAMES,
    unknown_field,
)
from feemodel.quantities import WHOLE

Schema: TypeAlias = dict[str, Any]

MAX_TYPE = 0xFF  #: rollups have types of their own: deposits 0x7e, Arbitrum's 0x64 to 0x6a, ZKsync's 0x71 and 0xff
_ACCESS_ENTRY = {"address", "storageKeys", "storage_keys"}
_AUTHORIZATION_NAMES = ("chainId", "address", "nonce", "yParity", "v", "r", "s")
MAX_AUTHORIZATIONS = 10_000
BLOB_VERSION = 0x01  # VERSIONED_HASH_VERSION_KZG, EIP-4844


def parse_call(call: Mapping[str, Any], *, sent: bool | None = None, strict: bool = True) -> Transaction:
    """Parse a call object, or a transaction that was sent, from JSON-RPC or from a row of a table.

    Parameters
    ----------
    call : mapping or pandas row, from field names to values. The names of JSON-RPC and of common extractors are
        accepted. Values are hexadecimal text, ints or bytes; a missing value counts as absent.
    sent : whether `call` is a transaction that was sent. `None` means: if `call` has a hash, a position in a block or a
        signature, it is treated as a transaction that was sent.
    strict : whether a name that is not known is an error. If false, only the fields that nodes read in a call are read,
        under their names in JSON-RPC, and others are ignored, as by nodes.

    Returns
    -------
    Transaction without a type; `sent_type` is the type of a transaction that was sent.

    Raises
    ------
    InvalidInput : a field is unknown, cannot be read, contradicts another field, or is missing in a transaction that
        was sent. The error names the field as `call.<field>`.

    Notes
    -----
    If a transaction that was sent is of type 2 or above, `gasPrice` is the price that the transaction paid. The type of
    a call must agree with the other fields, but is otherwise ignored, as in nodes.

    >>> parse_call({"to": "0x" + "11" * 20, "value": "0x1", "input": "0xa9059cbb"}).data.hex()
    'a9059cbb'
    >>> parse_call({"to": "0x" + "11" * 20, "valeu": "0x1"})
    Traceback (most recent call last):
    feemodel.errors.InvalidInput: call.valeu: unknown field, did you mean value?, got '0x1'
    """
    fields, names = _read_fields(call if type(call) is dict else as_mapping(call), strict=strict)
    if sent is None:
        sent = not SENT_FIELDS.isdisjoint(names)
    kind = LEGACY
    if sent or "transaction_type" in fields:
        kind = _checked_type(fields, names, sent=sent)
    if sent:
        _check_whole_transaction(fields, names, kind)
    elif "gas_price" in fields and ("max_fee_per_gas" in fields or "max_priority_fee_per_gas" in fields):
        name = names["gas_price"]
        raise InvalidInput(f"call.{name}", "expected either gasPrice or maxFeePerGas", as_mapping(call)[name])
    authorizations, blob_hashes = fields.get("authorization_list", ()), fields.get("blob_versioned_hashes", ())
    if fields.get("to_address") is None and (authorizations or blob_hashes):
        raise InvalidInput("call.to", "expected an address with authorizations or blobs", None)
    return Transaction(
        type=None,
        sent_type=kind if sent else None,
        from_address=fields.get("from_address"),
        to=fields.get("to_address"),
        gas_limit=fields.get("gas_limit"),
        gas_price=fields.get("gas_price"),
        max_fee=fields.get("max_fee_per_gas"),
        max_priority_fee=fields.get("max_priority_fee_per_gas"),
        max_fee_per_blob_gas=fields.get("max_fee_per_blob_gas"),
        value=fields.get("value", 0),
        nonce=fields.get("nonce"),
        chain_id=fields.get("chain_id"),
        data=fields.get("input", b""),
        access_list=fields.get("access_list"),
        authorizations=authorizations,
        blob_hashes=blob_hashes,
        signature=_signature(fields) if sent else None,
    )


class Kind:
    """A kind of JSON value: its JSON schema, and its parser, whose errors name the place in the value."""

    def __init__(self, read: Callable[[Any], Any], schema: Schema) -> None:
        self.read, self.schema, title = read, schema, schema.get("title", "")
        self.number = re.compile(schema["pattern"]) if title == "quantity" else None
        self.is_data, self.size = title in _SIZES, _SIZES.get(title)


def decoded(kind: Any, value: Any) -> Any:
    """Convert a JSON value: hexadecimal text of the schema's form directly, any other value with the parser.

    msgspec calls this function. With the parsers alone, parsing takes twice as long.
    """
    if type(value) is str:
        if kind.number is not None:
            if kind.number.fullmatch(value):
                return int(value, 16)
        elif kind.is_data and value[:2] == "0x":
            try:
                data = unhexlify(value[2:])
            except ValueError:
                return kind.read(value)
            if kind.size is None or len(data) == kind.size:
                return data
    return kind.read(value)


def as_mapping(row: Any) -> Mapping[str, Any]:
    """Return a pandas row or a named tuple as a mapping, with `None` for NaN; a mapping is returned unchanged."""
    if isinstance(row, MAPPINGS):
        return row
    if hasattr(row, "_asdict"):
        row = row._asdict()
        row.pop("Index", None)  # a field that pandas' `itertuples` adds
    elif hasattr(row, "to_dict") and getattr(row, "ndim", 0) == 1:
        row = row.to_dict()
    else:
        raise InvalidInput("call", "expected an object with the fields of a call", row)
    return {name: None if isinstance(value, float) and value != value else value for name, value in row.items()}


def is_missing(value: Any) -> bool:
    """Return whether a value is `None`, `pandas.NA` or `pandas.NaT`."""
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _read_fields(call: Mapping[str, Any], *, strict: bool) -> tuple[dict[str, Any], dict[str, str]]:
    """Return two dicts: field → parsed value, and field → name in `call`. Fields without a value are left out."""
    fields: dict[str, Any] = {}
    names: dict[str, str] = {}
    table = _FIELDS if strict else _CALL
    for name, value in call.items():
        known = table.get(name)
        if known is None:
            if strict:
                _check_ignored(name, value, call)
            continue
        field, kind = known
        if type(value) is not str and is_missing(value):
            if field not in fields:
                names[field] = name
            continue
        if strict and field == "transaction_type" and value == "transaction":  # in ethereum-etl streams
            continue
        try:
            found = decoded(kind, value)
        except InvalidInput as error:
            raise InvalidInput(f"call.{name}{error.name}", error.reason, error.value) from None
        if field in fields and fields[field] != found:
            what = "the same bytes" if isinstance(found, bytes) else "the same value"
            raise InvalidInput(f"call.{name}", f"expected {what} as in call.{names[field]}", value)
        names[field], fields[field] = name, found
    return fields, names


def _check_ignored(name: Any, value: Any, call: Mapping[str, Any]) -> None:
    if not isinstance(name, str):
        raise InvalidInput("call", "expected text as the name of each field", name)
    if name in SIDECAR_NAMES:
        if value is not None and not call.get("blobVersionedHashes"):
            raise InvalidInput(f"call.{name}", "expected only together with blobVersionedHashes", value)
    elif name not in IGNORED_NAMES:
        raise unknown_field(name, value)


def read_type(name: str, value: Any, *, maximum: int = SET_CODE) -> int:
    """Parse the type of a transaction: a quantity, or a name such as "eip1559" or "DynamicFee"."""
    kind = TYPE_NAMES.get(value.lower().replace("_", "")) if isinstance(value, str) else None
    if kind is None:
        kind = as_integer(name, value)
    if kind > maximum:
        raise InvalidInput(name, f"expected a type from 0 to {maximum}", value)
    return kind


def _made_type(fields: Mapping[str, Any]) -> int:
    """Return the transaction type that the fields of a call imply."""
    if fields.get("authorization_list"):
        return SET_CODE
    if fields.get("blob_versioned_hashes") or "max_fee_per_blob_gas" in fields:
        return BLOB
    if "max_fee_per_gas" in fields or "max_priority_fee_per_gas" in fields:
        return DYNAMIC_FEE
    return ACCESS_LIST if "access_list" in fields else LEGACY


def _checked_type(fields: Mapping[str, Any], names: Mapping[str, str], *, sent: bool) -> int:
    """Return the transaction type; raises `InvalidInput` if the given type contradicts the other fields.

    A call may lack fields of its type, because callers may leave out the fees, and export tools may omit lists.
    """
    made = _made_type(fields)
    given: int | None = fields.get("transaction_type")
    if given is None:
        return made
    if given == LEGACY and made == ACCESS_LIST and not fields["access_list"]:
        return LEGACY  # some nodes write an empty access list in a legacy transaction
    is_equal = fields.get("max_fee_per_gas") in (0, fields.get("gas_price"))
    if given <= ACCESS_LIST and made == DYNAMIC_FEE and sent and is_equal:
        return given  # in transactions of types 0 and 1, some nodes set maxFeePerGas to 0 or to the gas price
    name = f"call.{names['transaction_type']}"
    if made > given:
        raise InvalidInput(name, f"expected at least {made}, because of the other fields", given)
    # In a transaction that was sent, `gasPrice` is the price paid, so it says nothing about the type.
    if given >= DYNAMIC_FEE and not sent and "gas_price" in fields:
        raise InvalidInput(name, "expected maxFeePerGas instead of gasPrice in a transaction of type 2", given)
    return given


def _check_whole_transaction(fields: Mapping[str, Any], names: Mapping[str, str], kind: int) -> None:
    prices = ("gas_price",) if kind <= ACCESS_LIST else ("max_fee_per_gas", "max_priority_fee_per_gas")
    for field in ("nonce", "value", "input", "gas_limit", *prices):
        if field not in fields:
            reason = f"expected a value: a transaction of type {kind} that was sent has one"
            raise InvalidInput(f"call.{names.get(field, field)}", reason, None)
    if "to_address" not in names:
        raise InvalidInput("call.to", "expected an address, or null for a contract creation", None)
    if "from_address" not in fields and _signature(fields) is None:
        raise InvalidInput("call.from", "expected a sender, or the fields of a signature", None)


def _signature(fields: Mapping[str, Any]) -> Signature | None:
    parity = fields.get("v", fields.get("y_parity"))
    if parity is None or "r" not in fields or "s" not in fields:
        return None
    return Signature(v=parity, r=fields["r"], s=fields["s"])


def as_integer(name: str, value: Any, *, maximum: int | None = None) -> int:
    """Read a Python integer or a hexadecimal quantity, from 0 to `maximum`, which is 2**n - 1."""
    if isinstance(value, (list, tuple, Mapping)):  # NumPy would make each item as large as the longest
        raise InvalidInput(name, 'expected an integer or a quantity such as "0x5208"', value)
    number = from_quantity(value, name) if isinstance(value, str) else WHOLE.check_one(name, value)
    if maximum is not None and number > maximum:
        raise InvalidInput(name, f"expected a number below 2**{maximum.bit_length()}", value)
    return number


def _target(value: Any) -> bytes | None:
    """Return the address of a call's target; `None` for no bytes, by which some clients mean a contract creation."""
    return address_bytes(value, "") if as_bytes("", value) else None


def read_access_list(name: str, entries: Any) -> AccessList:
    """Parse an access list of JSON-RPC objects or of pairs (address, storage keys)."""
    return tuple(_access(entry, f"{name}[{index}]") for index, entry in enumerate(_listed(name, entries)))


def _access(entry: Any, name: str) -> tuple[bytes, tuple[bytes, ...]]:
    if isinstance(entry, tuple) and len(entry) == 2:
        entry = dict(zip(("address", "storageKeys"), entry, strict=True))
    if not isinstance(entry, Mapping) or "address" not in entry or not entry.keys() <= _ACCESS_ENTRY:
        raise InvalidInput(name, "expected an object with only address and storageKeys", entry)
    keys = entry.get("storageKeys", entry.get("storage_keys"))
    listed = enumerate(_listed(f"{name}.storageKeys", [] if keys is None else keys))
    slots = tuple(as_bytes(f"{name}.storageKeys[{index}]", key, size=32) for index, key in listed)
    return address_bytes(entry["address"], f"{name}.address"), slots


def read_authorizations(name: str, entries: Any) -> tuple[Authorization, ...]:
    """Parse an authorization list of JSON-RPC objects; `v` is used if there is no `yParity`."""
    listed = _listed(name, entries)
    if len(listed) > MAX_AUTHORIZATIONS:
        raise InvalidInput(name, f"expected a list of at most {MAX_AUTHORIZATIONS:,}", listed)
    return tuple(_authorization(entry, f"{name}[{index}]") for index, entry in enumerate(listed))


def _authorization(entry: Any, name: str) -> Authorization:
    known_fields(name, entry, _AUTHORIZATION_NAMES)
    parity = "yParity" if entry.get("yParity") is not None else "v"
    return Authorization(
        chain_id=as_integer(f"{name}.chainId", entry.get("chainId"), maximum=UINT256_MAX),
        address=as_bytes(f"{name}.address", entry.get("address"), size=20),
        nonce=as_integer(f"{name}.nonce", entry.get("nonce"), maximum=UINT64_MAX),
        y_parity=as_integer(f"{name}.{parity}", entry.get(parity), maximum=255),
        r=as_integer(f"{name}.r", entry.get("r"), maximum=UINT256_MAX),
        s=as_integer(f"{name}.s", entry.get("s"), maximum=UINT256_MAX),
    )


def read_blob_hashes(name: str, hashes: Any) -> tuple[bytes, ...]:
    """Return versioned hashes of blobs, EIP-4844; raises `InvalidInput`, naming the index, if a hash is not valid."""
    found = tuple(as_bytes(f"{name}[{index}]", one, size=32) for index, one in enumerate(_listed(name, hashes)))
    for index, one in enumerate(found):
        if one[0] != BLOB_VERSION:
            raise InvalidInput(f"{name}[{index}]", "expected a versioned hash that starts with 0x01", to_hex(one))
    return found


def _listed(name: str, entries: Any) -> tuple[Any, ...]:
    return sequence(name, entries.tolist() if hasattr(entries, "tolist") else entries)  # arrays of lists in Parquet


def _strict(value: Any) -> bool:
    if value is not True:
        raise InvalidInput("", "expected true: estimates are bounded by the sender's balance", value)
    return True


QUANTITY: Schema = {"type": "string", "pattern": "^0x(0|[1-9a-fA-F][0-9a-fA-F]*)$", "title": "quantity"}
UINT64, UINT256 = ({**QUANTITY, "pattern": f"^0x(0|[1-9a-fA-F][0-9a-fA-F]{{0,{digits - 1}}})$"} for digits in (16, 64))
DATA: Schema = {"type": "string", "pattern": "^0x([0-9a-fA-F]{2})*$", "title": "data"}
ADDRESS: Schema = {"type": "string", "pattern": "^0x[0-9a-fA-F]{40}$", "title": "address"}
HASH: Schema = {"type": "string", "pattern": "^0x[0-9a-fA-F]{64}$", "title": "32 bytes"}
_HASHES: Schema = {"type": "array", "items": HASH}
_ACCESS: Schema = {
    "type": "object",
    "properties": {"address": ADDRESS, "storageKeys": _HASHES},
    "required": ["address"],
    "additionalProperties": False,
}
_AUTHORIZED = {"chainId": UINT256, "address": ADDRESS, "nonce": UINT64, "yParity": QUANTITY, "r": UINT256, "s": UINT256}
_AUTHORIZATION: Schema = {"type": "object", "properties": _AUTHORIZED, "required": [*_AUTHORIZED]}
_TYPE: Schema = {"type": "string", "title": "type", "pattern": "^0x[0-4]$"}
_SIZES = {"data": None, "address": 20, "32 bytes": 32}  # schema title → size of values [byte]
_uint64, _uint256 = (
    Kind(partial(as_integer, "", maximum=maximum), schema)
    for maximum, schema in ((UINT64_MAX, UINT64), (UINT256_MAX, UINT256))
)
_data = Kind(partial(as_bytes, ""), DATA)
_accesses = Kind(partial(read_access_list, ""), {"type": "array", "items": _ACCESS})
_authorizations = Kind(partial(read_authorizations, ""), {"type": "array", "items": _AUTHORIZATION})
#: Name in a JSON-RPC call → field, and kind of its value.
_CALL: dict[str, tuple[str, Kind]] = {
    "from": ("from_address", Kind(partial(address_bytes, name=""), ADDRESS)),
    "to": ("to_address", Kind(_target, ADDRESS)),
    "gas": ("gas_limit", _uint64),
    "gasPrice": ("gas_price", _uint256),
    "maxFeePerGas": ("max_fee_per_gas", _uint256),
    "maxPriorityFeePerGas": ("max_priority_fee_per_gas", _uint256),
    "maxFeePerBlobGas": ("max_fee_per_blob_gas", _uint256),
    "value": ("value", _uint256),
    "nonce": ("nonce", _uint64),
    "chainId": ("chain_id", _uint64),
    "data": ("input", _data),
    "input": ("input", _data),
    "accessList": ("access_list", _accesses),
    "authorizationList": ("authorization_list", _authorizations),
    "blobVersionedHashes": ("blob_versioned_hashes", Kind(partial(read_blob_hashes, ""), _HASHES)),
    "type": ("transaction_type", Kind(partial(read_type, ""), _TYPE)),
    "strict": ("strict", Kind(_strict, {"const": True})),  # Besu's: whether the sender's balance limits an estimate
}
CALL: Schema = {  # other fields are ignored, as by nodes
    "title": "call",
    "type": "object",
    "properties": {name: {"anyOf": [kind.schema, {"type": "null"}]} for name, (_, kind) in _CALL.items()},
}
#: Field that affects the transaction → kind of its value.
KINDS = dict(_CALL.values()) | dict.fromkeys(("v", "y_parity", "r", "s"), _uint256)
#: As `_CALL`, for every known name. The values of fields that do not affect the transaction are not parsed.
_FIELDS = _CALL | {name: (field, KINDS.get(field, Kind(lambda value: value, {}))) for name, field in FIELD_OF.items()}
