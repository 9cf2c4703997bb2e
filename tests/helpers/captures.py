"""Read captures of real blocks and of the state that the blocks access, as recorded by Linea's tracer for tests.

    {"fork": "OSAKA", "accounts": […], "storage": […], "blockHashes": […], "blocks": [{"header": {…}, "txs": […]}]}

`accounts` and `storage` contain the values before the first block. The `outcome` of each transaction lists the
accounts and slots that the transaction accessed, with their values after the transaction, but before self-destructed
accounts are removed. Some captures are JSON text inside a JSON string, and some have bytes and numbers as fields of
Java objects, see `java_bytes`. Fields that execution does not need are ignored.

Source: Consensys/linea-monorepo at cb180134 (2026-06-12), tracer, replay captures and `blockcapture/snapshots`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from feemodel.errors import InvalidInput
from feemodel.ethereum._hashes import Authorization, Signature
from feemodel.ethereum._transaction import Transaction
from feemodel.io.files import PathLike, contents, reading

#: An account is (address, balance, nonce, code). A storage slot is (address, slot, value).
StoredAccount: TypeAlias = tuple[bytes, int, int, bytes]
StoredSlot: TypeAlias = tuple[bytes, int, int]

_TYPES = {"FRONTIER": 0, "ACCESS_LIST": 1, "EIP1559": 2, "BLOB": 3, "DELEGATE_CODE": 4, "SET_CODE": 4}
_DYNAMIC_FEE, _DYNAMIC_FEES = 2, {"max_fee": "maxFeePerGas", "max_priority_fee": "maxPriorityFeePerGas"}
_AUTHORIZATIONS = ("authorizationList", "codeDelegations", "codeDelegationList")
_BLOB_HASHES = ("blobVersionedHashes", "versionedHashes")
_PROTECTED_V = 35  # EIP-155: if v is below 35, a legacy signature has no chain id, even if `chainId` is set

#: Fork of captures that do not name a fork.
DEFAULT_FORK = "osaka"
#: Chain id of captures in which no transaction has a chain id.
DEFAULT_CHAIN_ID = 59_144


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayState:
    """Values of accounts and storage slots, before the first block or after a transaction."""

    accounts: tuple[StoredAccount, ...]
    slots: tuple[StoredSlot, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayTransaction:
    """Transaction of a captured block, with its outcome."""

    sent: Transaction  #: with its type in `sent_type`
    succeeded: bool
    gas_used: int  #: gas used before refunds; some recorders include the calldata floor of EIP-7623 [gas]
    output: bytes
    state: ReplayState  #: accessed accounts and slots, with their values after the transaction
    self_destructs: tuple[bytes, ...]  #: accounts that the transaction destroyed


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayBlock:
    """Captured block."""

    number: int
    parent_hash: bytes
    timestamp: int
    gas_limit: int
    base_fee: int  #: [wei / gas]
    coinbase: bytes
    prev_randao: bytes
    difficulty: int
    extra_data: bytes
    blob_base_fee: int | None  #: result of the opcode BLOBBASEFEE, if recorded [wei / blob gas]
    transactions: tuple[ReplayTransaction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Captured blocks, with the state before the first block."""

    fork: str  #: fork in lower case; `DEFAULT_FORK` if the capture names none
    names_fork: bool  #: whether the capture names its fork
    chain_id: int
    state: ReplayState
    block_hashes: Mapping[int, bytes]
    blocks: tuple[ReplayBlock, ...]


def read_replay(path: PathLike) -> Replay:
    """Read the capture in a JSON file, plain or gzipped; an error names the file."""
    with reading(path):
        return parse_replay(contents(path))


def parse_replay(text: bytes | str) -> Replay:
    """Parse a capture.

    >>> header = {
    ...     "number": 7, "parentHash": "0x" + "11" * 32, "timestamp": 100, "gasLimit": 30_000_000, "baseFee": "0x7",
    ...     "coinbase": "0x" + "22" * 20, "mixHashOrPrevRandao": "0x" + "33" * 32, "difficulty": 0, "extraData": "0x",
    ... }
    >>> capture = {"accounts": [], "storage": [], "blocks": [{"header": header, "txs": []}]}
    >>> block = parse_replay(json.dumps(capture)).blocks[0]
    >>> block.number, block.base_fee
    (7, 7)
    >>> parse_replay("{}")
    Traceback (most recent call last):
    feemodel.errors.InvalidInput: capture: expected the blocks of a capture, got KeyError('blocks')
    """
    try:
        document = json.loads(text)
        return _replay(json.loads(document) if isinstance(document, str) else document)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidInput("capture", "expected the blocks of a capture", error) from error


def _replay(document: dict[str, Any]) -> Replay:
    fork, blocks = _get(document, "fork"), _get(document, "blocks")
    if not blocks:
        raise KeyError("blocks")
    transactions = [entry for block in blocks for entry in block["txs"]]
    chain_ids = {
        _number(entry["chainId"]) for entry in transactions if _type(entry) or _hex(entry["v"]) >= _PROTECTED_V
    }
    return Replay(
        fork=DEFAULT_FORK if fork is None else fork.lower(),
        names_fork=fork is not None,
        chain_id=chain_ids.pop() if chain_ids else DEFAULT_CHAIN_ID,
        state=_state(document),
        block_hashes={
            _number(entry["blockNumber"]): java_bytes(entry["blockHash"]) for entry in _list(document, "blockHashes")
        },
        blocks=tuple(_block(entry, _get(document, "blobBaseFees") or {}) for entry in blocks),
    )


def _get(entry: dict[str, Any], name: str) -> Any:
    """A field; an optional field is encoded as `{"value": …}`, or as `{}` if it is absent."""
    value = entry.get(name)
    return value.get("value") if isinstance(value, dict) and value.keys() <= {"value"} else value


def _list(entry: dict[str, Any], name: str) -> list[Any]:
    return _get(entry, name) or []


def java_bytes(value: Any) -> bytes:
    """Bytes as hexadecimal text, or as a Java program wrote the private fields of objects.

    | class                                       | as JSON                                                         |
    |---------------------------------------------|-----------------------------------------------------------------|
    | byte[]                                      | [7, -24], signed or unsigned                                    |
    | Tuweni ArrayWrappingBytes, and slices of it | {"bytes": [0, 7, 0], "offset": 1, "length": 1}; may be nested   |
    | Tuweni ConcatenatedBytes                    | {"values": [bytes, bytes], "size": 2}                           |
    | Tuweni ConstantBytes32Value                 | {"value": 0, "size": 32}                                        |
    | Tuweni ByteBufferWrappingBytes              | {"byteBuffer": {"hb": [7], "offset": 0}, "offset": 0}           |
    | Tuweni UInt256                              | {"ints": [0, 0, 0, 0, 0, 0, 0, 7]}, big-endian, signed          |
    | Besu Address, Hash; Wei, Difficulty         | {"delegate": bytes}; {"value": bytes}                           |
    | java.math.BigInteger                        | {"signum": 1, "mag": [7]}, big-endian, signed                   |

    Sources: Consensys/tuweni 2.7, bytes and units; OpenJDK 21, java.math.BigInteger.

    >>> java_bytes({"bytes": [0, 3, -24], "offset": 1, "length": 2}).hex()
    '03e8'
    """
    match value:
        case str():
            return bytes.fromhex(value.removeprefix("0x"))
        case list():
            return bytes(octet % 256 for octet in value)
        case {"bytes": inner}:
            return _slice(java_bytes(inner), value)
        case {"byteBuffer": {"hb": inner, **buffer}}:
            return _slice(java_bytes(inner)[buffer.get("offset", 0) :], value)
        case {"values": list(parts)}:
            return b"".join(map(java_bytes, parts))
        case {"value": int(constant), "size": int(size)}:
            return bytes([constant % 256]) * size
        case {"delegate": inner} | {"value": inner}:
            return java_bytes(inner)
        case {"ints": list(words)} | {"mag": list(words)}:
            return b"".join((word % 2**32).to_bytes(4) for word in words)
    raise TypeError(f"expected bytes, got {value!r:.100}")


def _slice(data: bytes, fields: dict[str, Any]) -> bytes:
    start = fields.get("offset", 0)
    return data[start : start + fields.get("length", len(data))]


def _number(value: Any) -> int:
    """A JSON integer, hexadecimal digits with leading zeros, or bytes of a Java object."""
    if isinstance(value, int):
        return value
    return int(value, 16) if isinstance(value, str) else int.from_bytes(java_bytes(value))


def _hex(value: Any) -> int:
    """Hexadecimal digits, usually without 0x, or bytes of a Java object."""
    return _number(str(value) if isinstance(value, int) else value)


def _optional(entry: dict[str, Any], name: str) -> int | None:
    value = _get(entry, name)
    return None if value is None else _number(value)


def _state(entry: dict[str, Any]) -> ReplayState:
    accounts: dict[bytes, StoredAccount] = {}
    slots: dict[tuple[bytes, int], int] = {}
    for one in entry["accounts"]:
        address = java_bytes(one["address"])
        balance, nonce = (_number(_get(one, name)) for name in ("balance", "nonce"))
        held = (address, balance, nonce, java_bytes(one["code"]))
        if accounts.setdefault(address, held) != held:
            raise ValueError(f"other fields in a copy of the account 0x{address.hex()}")
    for one in entry["storage"]:
        key, value = (_number(_get(one, name)) for name in ("key", "value"))
        if slots.setdefault((java_bytes(one["address"]), key), value) != value:
            raise ValueError(f"another value in a copy of the slot {key:#x} of {one['address']}")
    return ReplayState(
        accounts=tuple(accounts.values()),
        slots=tuple((address, key, value) for (address, key), value in slots.items()),
    )


def _block(entry: dict[str, Any], blob_base_fees: dict[str, Any]) -> ReplayBlock:
    header = entry["header"]
    number = _number(_get(header, "number"))
    return ReplayBlock(
        number=number,
        parent_hash=java_bytes(header["parentHash"]),
        timestamp=_number(_get(header, "timestamp")),
        gas_limit=_number(_get(header, "gasLimit")),
        base_fee=_optional(header, "baseFee") or 0,  # no base fee before London
        coinbase=java_bytes(header["coinbase"]),
        prev_randao=java_bytes(header["mixHashOrPrevRandao"]),
        difficulty=_number(_get(header, "difficulty")),
        extra_data=java_bytes(header["extraData"]),
        blob_base_fee=_optional(blob_base_fees, str(number)),
        transactions=tuple(map(_transaction, entry["txs"])),
    )


def _transaction(entry: dict[str, Any]) -> ReplayTransaction:
    outcome, kind, to = entry["outcome"], _type(entry), _get(entry, "to")
    priced = {"gas_price": "gasPrice"} if kind < _DYNAMIC_FEE else _DYNAMIC_FEES
    sent = Transaction(
        type=None, sent_type=kind, from_address=java_bytes(entry["sender"]), to=None if to is None else java_bytes(to),
        nonce=_number(_get(entry, "nonce")), value=_number(_get(entry, "value")), data=java_bytes(entry["payload"]),
        gas_limit=_number(_get(entry, "gasLimit")), access_list=tuple(_access_list(entry)) or None,
        authorizations=tuple(_authorizations(entry)),
        blob_hashes=tuple(java_bytes(one) for name in _BLOB_HASHES for one in _list(entry, name)),
        signature=Signature(v=_hex(entry["v"]), r=_hex(entry["r"]), s=_hex(entry["s"])),
        **{name: _number(_get(entry, written)) for name, written in priced.items()},
    )  # fmt: skip
    return ReplayTransaction(
        sent=sent,
        succeeded=outcome["status"],
        gas_used=_number(outcome["gasUsed"]),
        output=java_bytes(outcome["output"]),
        state=_state(outcome),
        self_destructs=tuple(map(java_bytes, _list(outcome, "selfDestructs"))),
    )


def _type(entry: dict[str, Any]) -> int:
    name = _get(entry, "type")
    return _TYPES[name or ("FRONTIER" if _get(entry, "gasPrice") is not None else "EIP1559")]


def _access_list(entry: dict[str, Any]) -> Iterator[tuple[bytes, tuple[bytes, ...]]]:
    for one in _list(entry, "accessList"):
        yield java_bytes(one["address"]), tuple(map(java_bytes, _list(one, "storageKeys")))


def _authorizations(entry: dict[str, Any]) -> Iterator[Authorization]:
    for one in (one for name in _AUTHORIZATIONS for one in _list(entry, name)):
        parity = _optional(one, "yParity")
        yield Authorization(
            _number(_get(one, "chainId")), java_bytes(one["address"]), _number(_get(one, "nonce")),
            _number(one["v"]) if parity is None else parity, _number(_get(one, "r")), _number(_get(one, "s")),
        )  # fmt: skip
