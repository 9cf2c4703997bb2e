"""Read captures of real blocks and of the state that the blocks access, as recorded by Linea's tracer for tests.

    {"fork": "OSAKA", "accounts": […], "storage": […], "blockHashes": […], "blocks": [{"header": {…}, "txs": […]}]}

`accounts` and `storage` contain the values before the first block. The `outcome` of each transaction lists the
accounts and slots that the transaction accessed, with their values after the transaction, but before self-destructed
accounts are removed. Some captures are JSON text inside a JSON string, and some have bytes and numbers as fields of
Java objects, see `tests.helpers.java`. Fields that execution does not need are ignored.

Source: Consensys/linea-monorepo at cb180134 (2026-06-12), tracer, replay captures and `blockcapture/snapshots`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from feemodel.checks import INT64_MAX, UINT256_MAX, choice, flag, sequence
from feemodel.errors import InvalidInput
from feemodel.ethereum._hashes import Authorization, Signature
from feemodel.io.files import PathLike, contents, encoded, parse_json, reading
from feemodel.io.values import WORD, cell
from tests.helpers.java import java_bytes

#: An account is (address, balance, nonce, code). A storage slot is (address, slot, value).
StoredAccount: TypeAlias = tuple[bytes, int, int, bytes]
StoredSlot: TypeAlias = tuple[bytes, int, int]

ADDRESS = 20  # bytes

_DIGITS = re.compile(r"(?:0x)?[0-9a-f]{1,64}\Z")
_QUANTITY = re.compile(r"0x[0-9a-fA-F]+\Z")  # leading zeros are valid
_TYPES = {"FRONTIER": 0, "ACCESS_LIST": 1, "EIP1559": 2, "BLOB": 3, "DELEGATE_CODE": 4, "SET_CODE": 4}
_DYNAMIC_FEE = 2
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

    type: int  #: 0 to 4
    sender: bytes
    to: bytes | None
    nonce: int
    value: int  #: [wei]
    data: bytes
    gas_limit: int
    gas_price: int | None  #: [wei / gas]; `None` in a dynamic-fee transaction
    max_fee: int | None
    max_priority_fee: int | None
    max_fee_per_blob_gas: int | None  #: [wei / blob gas]
    access_list: tuple[tuple[bytes, tuple[bytes, ...]], ...] | None
    authorizations: tuple[Authorization, ...]
    blob_hashes: tuple[bytes, ...]
    signature: Signature
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
    """Read the capture in a JSON file.

    Parameters
    ----------
    path : plain or gzipped JSON.

    Returns
    -------
    The captured blocks, and the state before the first captured block.

    Raises
    ------
    UnreadableFile : a missing file, invalid JSON, or a missing or invalid field; the message names the file and the
        field.

    >>> read_replay("no such file.json")
    Traceback (most recent call last):
    feemodel.errors.UnreadableFile: no such file.json: no such file
    """
    with reading(path):
        return parse_replay(contents(path))


def parse_replay(text: bytes | str) -> Replay:
    """Parse a capture.

    Parameters
    ----------
    text : JSON, or JSON text inside a JSON string.

    Returns
    -------
    The captured blocks, and the state before the first captured block.

    Raises
    ------
    InvalidInput : invalid JSON, a missing or invalid field, no blocks, or transactions of several chains; the message
        names the field.

    >>> import json
    >>> header = {
    ...     "number": 7, "parentHash": "0x" + "11" * 32, "timestamp": 100, "gasLimit": 30_000_000, "baseFee": "0x7",
    ...     "coinbase": "0x" + "22" * 20, "mixHashOrPrevRandao": "0x" + "33" * 32, "difficulty": 0, "extraData": "0x",
    ... }
    >>> capture = {"accounts": [], "storage": [], "blocks": [{"header": header, "txs": []}]}
    >>> block = parse_replay(json.dumps(capture)).blocks[0]
    >>> block.number, block.base_fee
    (7, 7)
    """
    value = parse_json(encoded("text", text), "the document")
    if isinstance(value, str):
        value = parse_json(value, "the document in the string")
    document = _Object(value, "the document")
    if not document.objects("blocks"):
        raise InvalidInput("the document.blocks", "expected at least one block", [])
    fork = document.get("fork")
    blob_base_fees = None if document.get("blobBaseFees") is None else document.object("blobBaseFees")
    return Replay(
        fork=DEFAULT_FORK if fork is None else cell("text", fork, "fork").lower(),
        names_fork=fork is not None,
        chain_id=_chain_id(document),
        state=_state(document),
        block_hashes={
            entry.whole("blockNumber"): entry.data("blockHash", WORD)
            for entry in document.optional_objects("blockHashes")
        },
        blocks=tuple(_block(entry, blob_base_fees) for entry in document.objects("blocks")),
    )


def _chain_id(document: "_Object") -> int:
    """Return the chain id of the transactions."""
    transactions = [entry for block in document.objects("blocks") for entry in block.objects("txs")]
    protected = (entry for entry in transactions if _type(entry) or entry.bare_hex("v") >= _PROTECTED_V)
    chain_ids = {entry.whole("chainId") for entry in protected}
    if len(chain_ids) > 1:
        raise InvalidInput("the document", "expected transactions of one chain", sorted(chain_ids))
    return chain_ids.pop() if chain_ids else DEFAULT_CHAIN_ID


class _Object:
    """JSON object with its path in the file, for error messages."""

    def __init__(self, value: Any, position: str) -> None:
        if not isinstance(value, dict):
            raise InvalidInput(position, "expected an object", value)
        self._value, self.position = value, position

    def get(self, name: str) -> Any:
        """Return a field; an optional field is encoded as `{"value": …}`, or as `{}` if it is absent."""
        value = self._value.get(name)
        return value.get("value") if isinstance(value, dict) and value.keys() <= {"value"} else value

    def object(self, name: str) -> "_Object":
        return _Object(self.get(name), f"{self.position}.{name}")

    def objects(self, name: str) -> "list[_Object]":
        path = f"{self.position}.{name}"
        return [_Object(entry, f"{path}[{index}]") for index, entry in enumerate(sequence(path, self.get(name)))]

    def optional_objects(self, name: str) -> "list[_Object]":
        return [] if self.get(name) is None else self.objects(name)

    def data_list(self, name: str, size: int) -> list[bytes]:
        """Return a field's list of byte strings of the given size; an absent field is an empty list."""
        path, entries = f"{self.position}.{name}", self.get(name)
        listed = () if entries is None else sequence(path, entries)
        return [_data(entry, f"{path}[{index}]", size) for index, entry in enumerate(listed)]

    def data(self, name: str, size: int | None = None) -> bytes:
        """Return a field as bytes; raise `InvalidInput` if `size` is given and differs from the number of bytes."""
        return _data(self.get(name), f"{self.position}.{name}", size)

    def address(self, name: str) -> bytes:
        return self.data(name, ADDRESS)

    def whole(self, name: str, maximum: int = INT64_MAX) -> int:
        """Return an integer: a JSON integer, hexadecimal digits with leading zeros, or bytes of a Java object."""
        value = self.get(name)
        if isinstance(value, (list, dict)):
            number = int.from_bytes(java_bytes(value, f"{self.position}.{name}"), "big")
        elif not isinstance(value, str):
            number = int(cell("amount", value, f"{self.position}.{name}"))
        elif _QUANTITY.match(value):
            number = int(value, 16)
        else:
            reason = "expected a whole number or 0x and hexadecimal digits"
            raise InvalidInput(f"{self.position}.{name}", reason, value)
        if number > maximum:
            reason = f"expected a number below 2**{maximum.bit_length()}"
            raise InvalidInput(f"{self.position}.{name}", reason, value)
        return number

    def amount(self, name: str) -> int:
        """Return an integer of up to 256 bits."""
        return self.whole(name, UINT256_MAX)

    def bare_hex(self, name: str) -> int:
        """Return an integer from hexadecimal digits, usually without 0x, or from bytes of a Java object."""
        value = self.get(name)
        if isinstance(value, (list, dict)):
            return self.amount(name)
        if not isinstance(value, str) or not _DIGITS.match(value):
            raise InvalidInput(f"{self.position}.{name}", "expected up to 64 hexadecimal digits", value)
        return int(value, 16)

    def optional_amount(self, name: str) -> int | None:
        return None if self.get(name) is None else self.amount(name)


def _data(value: Any, position: str, size: int | None) -> bytes:
    data = java_bytes(value, position) if isinstance(value, (list, dict)) else bytes(cell("data", value, position))
    if size is not None and len(data) != size:
        raise InvalidInput(position, f"expected {size} bytes, counted {len(data):,}", value)
    return data


def _state(entry: _Object) -> ReplayState:
    accounts: dict[bytes, StoredAccount] = {}
    slots: dict[tuple[bytes, int], int] = {}
    for account in entry.objects("accounts"):
        address = account.address("address")
        held = (address, account.amount("balance"), account.whole("nonce"), account.data("code"))
        if accounts.setdefault(address, held) != held:
            raise InvalidInput(
                account.position, "expected the same fields in every copy of the account", "0x" + address.hex()
            )
    for slot in entry.objects("storage"):
        address, key, value = slot.address("address"), slot.amount("key"), slot.amount("value")
        if slots.setdefault((address, key), value) != value:
            name = f"0x{address.hex()}, key {key:#x}"
            raise InvalidInput(slot.position, "expected the same value in every copy of the slot", name)
    return ReplayState(
        accounts=tuple(accounts.values()),
        slots=tuple((address, key, value) for (address, key), value in slots.items()),
    )


def _block(entry: _Object, blob_base_fees: "_Object | None") -> ReplayBlock:
    header = entry.object("header")
    number = header.whole("number")
    return ReplayBlock(
        number=number,
        parent_hash=header.data("parentHash", WORD),
        timestamp=header.whole("timestamp"),
        gas_limit=header.whole("gasLimit"),
        base_fee=header.optional_amount("baseFee") or 0,  # no base fee before London
        coinbase=header.address("coinbase"),
        prev_randao=header.data("mixHashOrPrevRandao", WORD),
        difficulty=header.amount("difficulty"),
        extra_data=header.data("extraData"),
        blob_base_fee=None if blob_base_fees is None else blob_base_fees.optional_amount(str(number)),
        transactions=tuple(_transaction(transaction) for transaction in entry.objects("txs")),
    )


def _transaction(entry: _Object) -> ReplayTransaction:
    outcome = entry.object("outcome")
    kind = _type(entry)
    priced = ("gasPrice",) if kind < _DYNAMIC_FEE else ("maxFeePerGas", "maxPriorityFeePerGas")
    prices = {name: entry.amount(name) for name in priced}
    return ReplayTransaction(
        type=kind,
        sender=entry.address("sender"),
        to=None if entry.get("to") is None else entry.address("to"),
        nonce=entry.whole("nonce"),
        value=entry.amount("value"),
        data=entry.data("payload"),
        gas_limit=entry.whole("gasLimit"),
        gas_price=prices.get("gasPrice"),
        max_fee=prices.get("maxFeePerGas"),
        max_priority_fee=prices.get("maxPriorityFeePerGas"),
        max_fee_per_blob_gas=entry.optional_amount("maxFeePerBlobGas"),
        access_list=_access_list(entry),
        authorizations=_authorizations(entry),
        blob_hashes=tuple(hash for name in _BLOB_HASHES for hash in entry.data_list(name, WORD)),
        signature=Signature(v=entry.bare_hex("v"), r=entry.bare_hex("r"), s=entry.bare_hex("s")),
        succeeded=flag(f"{outcome.position}.status", outcome.get("status")),
        gas_used=outcome.whole("gasUsed"),
        output=outcome.data("output"),
        state=_state(outcome),
        self_destructs=tuple(outcome.data_list("selfDestructs", ADDRESS)),
    )


def _type(entry: _Object) -> int:
    name = entry.get("type")
    if name is None:
        return _TYPES["FRONTIER" if entry.get("gasPrice") is not None else "EIP1559"]
    return _TYPES[choice(f"{entry.position}.type", name, _TYPES)]


def _access_list(entry: _Object) -> tuple[tuple[bytes, tuple[bytes, ...]], ...] | None:
    if entry.get("accessList") is None:
        return None
    return tuple(
        (listed.address("address"), tuple(listed.data_list("storageKeys", WORD)))
        for listed in entry.objects("accessList")
    )


def _authorizations(entry: _Object) -> tuple[Authorization, ...]:
    return tuple(
        Authorization(
            listed.amount("chainId"), listed.address("address"), listed.amount("nonce"),
            listed.whole("v" if listed.get("yParity") is None else "yParity"), listed.amount("r"), listed.amount("s"),
        )
        for name in _AUTHORIZATIONS
        for listed in entry.optional_objects(name)
    )  # fmt: skip
