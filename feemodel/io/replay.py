"""Real blocks with the state that they touch, as the tracer of Linea's nodes keeps them for tests.

    {"fork": "OSAKA", "accounts": […], "storage": […], "blockHashes": […], "blocks": [{"header": {…}, "txs": […]}]}

Accounts and slots are those before the first block; every transaction's `outcome` lists them after it.

Source: Consensys/linea-monorepo at cb180134 (2026-06-12), tracer, replay captures.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

from feemodel.errors import InvalidInput
from feemodel.io.files import PathLike, opened, parse_json, reading
from feemodel.io.values import INT64_MAX, UINT256_MAX, WORD, cell

#: An address or none, its balance, nonce and code; then slots as (address, slot, value).
StoredAccount: TypeAlias = tuple[bytes, int, int, bytes]
StoredSlot: TypeAlias = tuple[bytes, int, int]

ADDRESS = 20  # bytes

_DIGITS = re.compile(r"[0-9a-f]{1,64}\Z")

#: Captures without a fork are of the years in which the chain ran by these rules.
OLD_FORK = "OSAKA"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayState:
    """Accounts and slots, all before the first block or those that a transaction touched, after it."""

    accounts: tuple[StoredAccount, ...]
    slots: tuple[StoredSlot, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayTransaction:
    """A transaction of a captured block and what it came to."""

    sender: bytes
    to: bytes | None
    nonce: int
    value: int  #: [wei]
    data: bytes
    gas_limit: int
    gas_price: int | None  #: [wei / gas]; `None` in a dynamic-fee transaction
    max_fee: int | None
    max_priority_fee: int | None
    signature: tuple[int, int, int]  #: v, r, s
    succeeded: bool
    gas_used: int  #: before refunds, without the calldata floor [gas]
    output: bytes
    state: ReplayState  #: what it left


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayBlock:
    """A captured block."""

    number: int
    parent_hash: bytes
    timestamp: int
    gas_limit: int
    base_fee: int  #: [wei / gas]
    coinbase: bytes
    prev_randao: bytes
    difficulty: int
    extra_data: bytes
    transactions: tuple[ReplayTransaction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Blocks and the state before the first of them."""

    fork: str  #: in lower case
    chain_id: int
    state: ReplayState
    block_hashes: Mapping[int, bytes]
    blocks: tuple[ReplayBlock, ...]

    def world(self, *, before: tuple[int, int]) -> Any:
        """The state just before a transaction, as a `feemodel.execution.World`.

        Parameters
        ----------
        before : block number, and index in the block.
        """
        # By its name: reading files stands below execution, which needs libraries that reading does without.
        return import_module("feemodel.execution.replay").world_before(self, before)


def read_replay(path: PathLike) -> Replay:
    """The blocks of a capture, plain or gzipped JSON.

    Raises `UnreadableFile` that names the file, the place and the value.
    """
    with reading(path), opened(path) as file:
        return parse_replay(file.read())


def parse_replay(text: bytes) -> Replay:
    """The blocks of a capture; raises `InvalidInput` that names the place and the value."""
    document = _Object(parse_json(text, "the document"), "the document")
    blocks = tuple(_block(entry) for entry in document.objects("blocks"))
    chain_ids = {
        entry.whole("chainId")
        for block in document.objects("blocks")
        for entry in block.objects("txs")
        if entry.get("chainId") is not None
    }
    if len(chain_ids) != 1:
        raise InvalidInput("the document", "expected transactions of one chain", sorted(chain_ids))
    return Replay(
        fork=(OLD_FORK if document.get("fork") is None else cell("text", document.get("fork"), "fork")).lower(),
        chain_id=chain_ids.pop(),
        state=_state(document),
        block_hashes={
            entry.whole("blockNumber"): entry.data("blockHash", WORD) for entry in document.objects("blockHashes")
        },
        blocks=blocks,
    )


class _Object:
    """A JSON object and where it stands, for messages."""

    def __init__(self, value: Any, place: str) -> None:
        if not isinstance(value, dict):
            raise InvalidInput(place, "expected an object", value)
        self._value, self.place = value, place

    def get(self, name: str) -> Any:
        """A field; an optional one is wrapped as `{"value": …}`, or `{}` where it is absent."""
        value = self._value.get(name)
        return value.get("value") if isinstance(value, dict) and value.keys() <= {"value"} else value

    def object(self, name: str) -> "_Object":
        return _Object(self.get(name), f"{self.place}.{name}")

    def objects(self, name: str) -> "list[_Object]":
        entries = self.get(name)
        if not isinstance(entries, list):
            raise InvalidInput(f"{self.place}.{name}", "expected a list", entries)
        return [_Object(entry, f"{self.place}.{name}[{place}]") for place, entry in enumerate(entries)]

    def data(self, name: str, size: int | None = None) -> bytes:
        """Bytes, as many as `size` says."""
        data = bytes(cell("data", self.get(name), f"{self.place}.{name}"))
        if size is not None and len(data) != size:
            raise InvalidInput(f"{self.place}.{name}", f"expected {size} bytes, counted {len(data):,}", self.get(name))
        return data

    def address(self, name: str) -> bytes:
        return self.data(name, ADDRESS)

    def whole(self, name: str, maximum: int = INT64_MAX) -> int:
        """An integer: of JSON, or hexadecimal with leading zeros."""
        value = self.get(name)
        if not isinstance(value, str):
            return int(cell("whole", value, f"{self.place}.{name}"))
        number = int.from_bytes(self.data(name), "big")
        if number > maximum:
            reason = f"expected a number below 2**{maximum.bit_length()}"
            raise InvalidInput(f"{self.place}.{name}", reason, value)
        return number

    def amount(self, name: str) -> int:
        """An integer of up to 256 bits."""
        return self.whole(name, UINT256_MAX)

    def bare_hex(self, name: str) -> int:
        """An integer in hexadecimal digits without a prefix."""
        value = self.get(name)
        if not isinstance(value, str) or not _DIGITS.match(value):
            raise InvalidInput(f"{self.place}.{name}", "expected up to 64 hexadecimal digits", value)
        return int(value, 16)

    def optional_amount(self, name: str) -> int | None:
        return None if self.get(name) is None else self.amount(name)


def _state(entry: _Object) -> ReplayState:
    accounts = tuple(
        (account.address("address"), account.amount("balance"), account.whole("nonce"), account.data("code"))
        for account in entry.objects("accounts")
    )
    slots = tuple(
        (slot.address("address"), slot.amount("key"), slot.amount("value")) for slot in entry.objects("storage")
    )
    return ReplayState(accounts=accounts, slots=slots)


def _block(entry: _Object) -> ReplayBlock:
    header = entry.object("header")
    return ReplayBlock(
        number=header.whole("number"),
        parent_hash=header.data("parentHash", WORD),
        timestamp=header.whole("timestamp"),
        gas_limit=header.whole("gasLimit"),
        base_fee=header.amount("baseFee"),
        coinbase=header.address("coinbase"),
        prev_randao=header.data("mixHashOrPrevRandao", WORD),
        difficulty=header.amount("difficulty"),
        extra_data=header.data("extraData"),
        transactions=tuple(_transaction(transaction) for transaction in entry.objects("txs")),
    )


def _transaction(entry: _Object) -> ReplayTransaction:
    outcome = entry.object("outcome")
    for name, where in (("accessList", entry), ("selfDestructs", outcome)):
        if where.get(name):  # no published capture has one
            raise InvalidInput(f"{where.place}.{name}", "expected none", where.get(name))
    return ReplayTransaction(
        sender=entry.address("sender"),
        to=None if entry.get("to") is None else entry.address("to"),
        nonce=entry.whole("nonce"),
        value=entry.amount("value"),
        data=entry.data("payload"),
        gas_limit=entry.whole("gasLimit"),
        gas_price=entry.optional_amount("gasPrice"),
        max_fee=entry.optional_amount("maxFeePerGas"),
        max_priority_fee=entry.optional_amount("maxPriorityFeePerGas"),
        signature=(entry.bare_hex("v"), entry.bare_hex("r"), entry.bare_hex("s")),
        succeeded=bool(cell("flag", outcome.get("status"), f"{outcome.place}.status")),
        gas_used=outcome.whole("gasUsed"),
        output=outcome.data("output"),
        state=_state(outcome),
    )
