"""What a block changes: the net difference that it makes to accounts and slots, with the values that stood before.

The sources of blocks (files, trie logs) make these; `blocks` and `genesis` apply them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class AccountFields(NamedTuple):
    """The fields of an account that a state change tells [nonce; wei; 32 bytes]; its roots follow from the rest."""

    nonce: int
    balance: int
    keccak_code_hash: bytes


class SlotChange(NamedTuple):
    """A storage slot [32 bytes] and its values before and after the block; 0 is absence."""

    slot: bytes
    before: int
    after: int


class AccountChange(NamedTuple):
    """One account in one block.

    Parameters
    ----------
    address : [20 bytes]
    before, after : the fields at the ends of the block, `None` where the account does not exist.
    same : the change does not tell the fields: the account exists and they stay; `before` and `after` are `None`.
    cleared : destroyed during the block, even if it exists again after it; its storage starts from nothing.
    code : new code, `None` where the block brings none.
    storage : the slots that changed.
    """

    address: bytes
    before: AccountFields | None = None
    after: AccountFields | None = None
    same: bool = False
    cleared: bool = False
    code: bytes | None = None
    storage: tuple[SlotChange, ...] = ()


class BlockChanges(NamedTuple):
    """A block: its number, its hash and its parent's where the source tells them, its accounts in any order."""

    number: int
    accounts: tuple[AccountChange, ...]
    hash: bytes | None = None
    parent_hash: bytes | None = None


class GenesisAccount(NamedTuple):
    """An account of the genesis allocation: nonce, balance [wei], code, the values of its slots [32 bytes]."""

    address: bytes
    nonce: int = 0
    balance: int = 0
    code: bytes = b""
    storage: Mapping[bytes, int] = MappingProxyType({})
