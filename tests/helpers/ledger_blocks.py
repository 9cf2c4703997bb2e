"""Blocks for the tests of the ledger, from a plain dictionary of the state before and after."""

from types import MappingProxyType

from feemodel.ethereum._hashes import keccak256
from feemodel.ledger.blocks import AccountChange, AccountFields, BlockChanges, SlotChange
from feemodel.ledger.scheme import EMPTY_KECCAK

CODE = bytes.fromhex("600160020300")
CODE_KECCAK = keccak256(CODE)


def address(number):
    return number.to_bytes(20)


def slot(number):
    return number.to_bytes(32)


def fields(nonce=0, balance=0, code=b""):
    return AccountFields(nonce, balance, keccak256(code) if code else EMPTY_KECCAK)


def block_hash(number):
    return keccak256(f"block {number}".encode())


def block(number, *accounts, **options):
    """A block with a hash of its own that follows the one before."""
    hashes = {"hash": block_hash(number), "parent_hash": block_hash(number - 1)}
    return BlockChanges(number, accounts, **(hashes | options))


def change(number, before, after, *, storage=(), **options):
    """A change of account `number`; slots as (number, before, after)."""
    slots = tuple(SlotChange(slot(place), old, new) for place, old, new in storage)
    return AccountChange(address(number), before, after, storage=slots, **options)


def allocated(place, nonce=0, balance=0, code=b"", storage=MappingProxyType({})):
    """An account of a genesis; slots by their 32 bytes."""
    slots = tuple(SlotChange(slot, 0, value) for slot, value in storage.items())
    return AccountChange(place, after=fields(nonce, balance, code), code=code or None, storage=slots)


def touch(number, *storage):
    """A change of slots alone."""
    return change(number, None, None, storage=storage, same=True)
