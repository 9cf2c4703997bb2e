"""State on which a call is executed (accounts and block), and overrides of this state for a single call.

States are immutable. Applying an override returns a new state that shares the unchanged accounts, so the original state
need not be restored after a call.
"""

from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Self, TypeAlias

from feemodel.checks import MAPPINGS, UINT64_MAX, UINT256_MAX
from feemodel.errors import InvalidInput
from feemodel.ethereum._call import as_integer
from feemodel.ethereum._quantities import address_bytes, as_bytes, known_fields
from feemodel.ethereum.fee_market import LOWEST_BASE_FEE, MIN_BLOB_BASE_FEE, fake_exponential
from feemodel.execution._fields import Address, Data, Uint64, Uint256, Word
from feemodel.execution._forks import DEFAULT_FORK, FORKS, Fork

MAX_EXPONENT = 88  # maximum exponent in the formula of the blob base fee: e**88 < 2**128 < e**89


@dataclass(frozen=True, slots=True)
class Account:
    """An account. A slot that is not in `storage` has the value zero."""

    balance: Uint256 = 0  #: [wei]
    nonce: Uint64 = 0
    code: Data = b""
    storage: Mapping[Uint256, Uint256] = field(default_factory=dict)


EMPTY = Account()
SLOT_BYTES = 64  # size of a storage slot's key and value


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Fields of a block that contracts can read."""

    number: Uint64 = 1
    timestamp: Uint64 = 1
    gas_limit: Uint64 = 2_000_000_000
    base_fee: Uint64 = LOWEST_BASE_FEE  #: [wei / gas]
    coinbase: Address = bytes(20)
    prev_randao: Word = bytes(32)
    difficulty: Uint256 = 0  #: value of DIFFICULTY before the Merge, and on chains without the Merge
    excess_blob_gas: Uint64 = 0
    hashes: Mapping[Uint64, Word] = field(default_factory=dict)  #: block number → hash, for BLOCKHASH


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

    accounts: Mapping[Address, Account]
    block: Block = Block()
    chain_id: Uint64 = 1337
    fork: Fork = FORKS[DEFAULT_FORK]
    overrides: "Mapping[Address, Override]" = field(default_factory=dict)  #: account overrides for a single call
    base: Mapping[Address, Account] | None = None  #: if there are overrides: the accounts without them

    def account(self, address: bytes) -> Account:
        """Return the account at an address, or an empty account if the state has no account there."""
        return self.accounts.get(address) or EMPTY

    def overridden(self, overrides: Mapping[Any, Any] | None) -> Self:
        """Return a copy with a state override applied, see `parse_overrides`."""
        return self.with_overrides(parse_overrides(overrides))

    def with_overrides(self, overrides: "Mapping[bytes, Override]") -> Self:
        """Return a copy with a parsed state override applied."""
        if not overrides:
            return self
        changed = {address: override.applied_to(self.account(address)) for address, override in overrides.items()}
        accounts: Mapping[bytes, Account] = ChainMap(changed, self.accounts)  # type: ignore[arg-type]  # only read
        return replace(self, accounts=accounts, overrides=overrides, base=self.accounts)

    def same_base(self, other: "CallState") -> bool:
        """Return whether two states differ at most in overrides and in block fields other than `hashes`."""
        ours, theirs = (one.accounts if one.base is None else one.base for one in (self, other))
        return ours is theirs and (self.chain_id, self.fork, self.block.hashes) == (
            other.chain_id, other.fork, other.block.hashes,
        )  # fmt: skip


def blob_base_fee(call_state: CallState) -> int:
    """Return the blob base fee in a state's block [wei / gas]; raises `InvalidInput` for a fork before Cancun.

    >>> blob_base_fee(CallState(accounts={}))
    1
    """
    if call_state.fork.blob_update_fraction is None:
        raise InvalidInput("fork", "expected Cancun or later for blobs", call_state.fork.name)
    block = call_state.block
    fraction = call_state.fork.blob_update_fraction
    if not 0 <= block.excess_blob_gas <= MAX_EXPONENT * fraction:
        reason = f"expected a number from 0 to {MAX_EXPONENT * fraction:,}, so that the blob base fee fits 128 bits"
        raise InvalidInput("block.excess_blob_gas", reason, block.excess_blob_gas)
    return int(fake_exponential.core(MIN_BLOB_BASE_FEE, block.excess_blob_gas, fraction))


class Override(NamedTuple):
    """Override of one account; fields that are `None` keep the account's value."""

    balance: Uint256 | None = None
    nonce: Uint64 | None = None
    code: Data | None = None
    state: Mapping[Uint256, Uint256] | None = None  #: slots that replace the whole storage
    state_diff: Mapping[Uint256, Uint256] | None = None  #: slots whose values are replaced

    @property
    def slots(self) -> Mapping[int, int]:
        """The slots that are given, whether or not they replace the whole storage."""
        return (self.state_diff or {}) if self.state is None else self.state

    @property
    def size(self) -> int:
        """Size of the code and of the slots that are given; a slot counts as 64 bytes [byte]."""
        return len(self.code or b"") + SLOT_BYTES * len(self.slots)

    def applied_to(self, account: Account) -> Account:
        """Return the account with this override applied."""
        storage = account.storage if self.state is None else self.state
        return Account(
            balance=account.balance if self.balance is None else self.balance,
            nonce=account.nonce if self.nonce is None else self.nonce,
            code=account.code if self.code is None else self.code,
            storage=ChainMap(self.state_diff, storage) if self.state_diff else storage,  # type: ignore[arg-type]  # only read
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
        given: dict[str, Any] = {}
        for field_name, value in known_fields(name, fields, _FIELDS).items():
            if value is not None:
                ours, read = _FIELDS[field_name]
                given[ours] = read(f"{name}.{field_name}", value)
        if "state" in given and "state_diff" in given:
            raise InvalidInput(f"{name}.stateDiff", "expected either state or stateDiff", fields["stateDiff"])
        parsed[address] = Override(**given)
    return parsed


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
