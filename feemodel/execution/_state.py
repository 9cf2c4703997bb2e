"""State on which a call is executed (accounts and block), and overrides of this state for a single call.

States are immutable. Applying an override returns a new state that shares the unchanged accounts, so the original state
need not be restored after a call.
"""

from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Self, TypeAlias

from feemodel.checks import MAPPINGS, UINT64_MAX, UINT256_MAX, known_fields
from feemodel.errors import InvalidInput
from feemodel.ethereum._call import as_integer
from feemodel.ethereum._quantities import address_bytes, as_bytes
from feemodel.ethereum.fee_market import LOWEST_BASE_FEE, MIN_BLOB_BASE_FEE, fake_exponential
from feemodel.execution._forks import DEFAULT_FORK, FORKS, Fork

MAX_EXPONENT = 177  # maximum exponent in the formula of the blob base fee: e**177 < 2**256 < e**178


@dataclass(frozen=True, slots=True)
class Account:
    """An account. A slot that is not in `storage` has the value zero."""

    balance: int = 0  #: [wei]
    nonce: int = 0
    code: bytes = b""
    storage: Mapping[int, int] = field(default_factory=dict)


EMPTY = Account()
SLOT_BYTES = 64  # size of a storage slot's key and value


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Fields of a block that contracts can read."""

    number: int = 1
    timestamp: int = 1
    gas_limit: int = 2_000_000_000
    base_fee: int = LOWEST_BASE_FEE  #: [wei / gas]
    coinbase: bytes = bytes(20)
    prev_randao: bytes = bytes(32)
    difficulty: int = 0  #: value of DIFFICULTY before the Merge, and on chains without the Merge
    excess_blob_gas: int = 0
    blob_base_fee: int | None = None  #: value of BLOBBASEFEE; if `None`, computed from `excess_blob_gas` [wei / gas]
    hashes: Mapping[int, bytes] = field(default_factory=dict)  #: block number → hash, for BLOCKHASH


@dataclass(frozen=True, slots=True, kw_only=True)
class CallState:
    """Accounts by address, the block, and the rules of execution.

    Do not modify `accounts` after creating a state: engines cache the accounts.

    >>> holder = bytes.fromhex("11" * 20)
    >>> call_state = CallState(accounts={holder: Account(balance=5)})
    >>> richer = call_state.overridden({holder: {"balance": "0x64"}})
    >>> richer.account(holder).balance, call_state.account(holder).balance
    (100, 5)
    """

    accounts: Mapping[bytes, Account]
    block: Block = Block()
    chain_id: int = 1337
    fork: Fork = FORKS[DEFAULT_FORK]
    changes: Mapping[bytes, Account] = field(default_factory=dict)  #: accounts that an override has replaced

    def account(self, address: bytes) -> Account:
        """Return the account at an address, or an empty account if the state has no account there."""
        return self.changes.get(address) or self.accounts.get(address) or EMPTY

    def overridden(self, overrides: Mapping[Any, Any] | None) -> Self:
        """Return a copy with a state override applied, see `parse_overrides`."""
        return self.with_overrides(parse_overrides(overrides))

    def with_overrides(self, overrides: "Mapping[bytes, Override]") -> Self:
        """Return a copy with a parsed state override applied."""
        if not overrides:
            return self
        changed = {address: override.applied_to(self.account(address)) for address, override in overrides.items()}
        return replace(self, changes={**self.changes, **changed})

    def overridden_bytes(self) -> int:
        """Return the size of the code and storage slots that overrides replace [byte]; a slot counts as 64 bytes."""
        size = 0
        for address, account in self.changes.items():
            before, storage = self.accounts.get(address, EMPTY), account.storage
            if account.code != before.code:
                size += len(account.code)
            if storage is not before.storage:
                written = storage.maps[0] if isinstance(storage, ChainMap) else storage
                size += SLOT_BYTES * max(len(written), 1)
        return size

    def in_block(self, overrides: Mapping[Any, Any] | None) -> Self:
        """Return a copy with a block override applied, see `parse_block_overrides`."""
        changed = parse_block_overrides(overrides, self.fork)
        return replace(self, block=replace(self.block, **changed)) if changed else self

    def same_base(self, other: "CallState | None") -> bool:
        """Return whether two states differ only in overrides of accounts and of the block."""
        return (
            other is not None
            and self.accounts is other.accounts
            and (self.chain_id, self.fork, self.block.hashes) == (other.chain_id, other.fork, other.block.hashes)
        )


def blob_base_fee(call_state: CallState) -> int:
    """Return the blob base fee in a state's block [wei / gas]; raises `InvalidInput` for a fork before Cancun.

    >>> blob_base_fee(CallState(accounts={}))
    1
    """
    if call_state.fork.blob_update_fraction is None:
        raise InvalidInput("fork", "expected Cancun or later for blobs", call_state.fork.name)
    block = call_state.block
    if block.blob_base_fee is not None:
        return block.blob_base_fee
    fraction = call_state.fork.blob_update_fraction
    if not 0 <= block.excess_blob_gas <= MAX_EXPONENT * fraction:
        reason = f"expected a number from 0 to {MAX_EXPONENT * fraction:,}, so that the blob base fee fits 256 bits"
        raise InvalidInput("block.excess_blob_gas", reason, block.excess_blob_gas)
    return int(fake_exponential.core(MIN_BLOB_BASE_FEE, block.excess_blob_gas, fraction))


def parse_block_overrides(overrides: Mapping[Any, Any] | None, fork: Fork) -> dict[str, Any]:
    """Parse and check a JSON-RPC block override.

    Parameters
    ----------
    overrides : an object with any of `number`, `time`, `gasLimit`, `baseFeePerGas`, `difficulty`, `feeRecipient`,
        `prevRandao` and `blobBaseFee`. A field that is `null` counts as absent.
    fork : the rules of the block; `blobBaseFee` needs Cancun or later.

    Returns
    -------
    dict : field of `Block` → value.

    Raises
    ------
    InvalidInput : a field is unknown or not valid; the message names the field as `blockOverrides.<field>`.

    >>> parse_block_overrides({"time": "0x5"}, FORKS["osaka"])
    {'timestamp': 5}
    """
    changed = {} if overrides is None else _read_fields("blockOverrides", overrides, _BLOCK_FIELDS)
    if "blob_base_fee" in changed and fork.blob_update_fraction is None:
        price = changed["blob_base_fee"]
        raise InvalidInput("blockOverrides.blobBaseFee", "not valid under rules without blobs", price)
    return changed


class Override(NamedTuple):
    """Override of one account; fields that are `None` keep the account's value."""

    balance: int | None = None
    nonce: int | None = None
    code: bytes | None = None
    state: Mapping[int, int] | None = None  #: slots that replace the whole storage
    state_diff: Mapping[int, int] | None = None  #: slots whose values are replaced

    def applied_to(self, account: Account) -> Account:
        """Return the account with this override applied."""
        balance, nonce, code, storage, slots = self
        if storage is None:
            storage = account.storage
        return Account(
            account.balance if balance is None else balance,
            account.nonce if nonce is None else nonce,
            account.code if code is None else code,
            ChainMap(slots, storage) if slots else storage,  # type: ignore[arg-type]  # never written to
        )


def parse_overrides(overrides: Mapping[Any, Any] | None) -> dict[bytes, Override]:
    """Parse and check a JSON-RPC state override.

    Parameters
    ----------
    overrides : address → object with any of `balance` [wei], `nonce`, `code`, and `state` (the whole storage) or
        `stateDiff` (single slots). Values are hexadecimal text, ints or bytes. A field that is `null` counts as absent.

    Returns
    -------
    dict : address (20 bytes) → `Override`.

    Raises
    ------
    InvalidInput : a field is unknown or not valid; the message names the field as `overrides.<address>.<field>`.

    >>> parse_overrides({"0x" + "11" * 20: {"nonce": "0x5"}}).popitem()[1].nonce
    5
    """
    if overrides is None:
        return {}
    if not isinstance(overrides, MAPPINGS):
        raise InvalidInput("overrides", "expected an object of addresses", overrides)
    parsed = {}
    for key, fields in overrides.items():
        shown = key if isinstance(key, str) else f"0x{bytes(key).hex()}" if isinstance(key, bytes) else repr(key)
        name = f"overrides.{shown}"
        address = address_bytes(key, name)
        if address in parsed:
            raise InvalidInput(name, "expected each address only once", key)
        given = _read_fields(name, fields, _FIELDS)
        if "state" in given and "state_diff" in given:
            raise InvalidInput(f"{name}.stateDiff", "expected either state or stateDiff", fields["stateDiff"])
        parsed[address] = Override(**given)
    return parsed


def _read_fields(name: str, fields: Any, known: "Mapping[str, _Field]") -> dict[str, Any]:
    """Return a dict from Python name to parsed value, for all fields that are not `null`."""
    given: dict[str, Any] = {}
    for key, value in known_fields(name, fields, known).items():
        if value is not None:
            ours, read = known[key]
            given[ours] = read(f"{name}.{key}", value)
    return given


def _slots(name: str, slots: Any) -> dict[int, int]:
    if not isinstance(slots, MAPPINGS):
        raise InvalidInput(name, "expected an object of slots", slots)
    parsed: dict[int, int] = {}
    for key, value in slots.items():
        where = f"{name}.{key}"
        slot = _word(where, key)
        if slot in parsed:  # the slot is given twice, in upper and in lower case
            raise InvalidInput(where, "expected each slot only once", value)
        parsed[slot] = _word(where, value)
    return parsed


def _word(name: str, value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= UINT256_MAX:
        return value
    return int.from_bytes(as_bytes(name, value, size=32))


_Field: TypeAlias = tuple[str, Callable[[str, Any], Any]]  # (attribute name, parser of the value)
_uint64, _uint256 = partial(as_integer, maximum=UINT64_MAX), partial(as_integer, maximum=UINT256_MAX)
_FIELDS: dict[str, _Field] = {
    "balance": ("balance", _uint256),
    "nonce": ("nonce", _uint64),
    "code": ("code", as_bytes),
    "state": ("state", _slots),
    "stateDiff": ("state_diff", _slots),
}
_BLOCK_FIELDS: dict[str, _Field] = {  # geth's names
    "number": ("number", _uint64),
    "time": ("timestamp", _uint64),
    "gasLimit": ("gas_limit", _uint64),
    "baseFeePerGas": ("base_fee", _uint64),
    "difficulty": ("difficulty", _uint256),
    "feeRecipient": ("coinbase", partial(as_bytes, size=20)),
    "prevRandao": ("prev_randao", partial(as_bytes, size=32)),
    "blobBaseFee": ("blob_base_fee", _uint256),
}
