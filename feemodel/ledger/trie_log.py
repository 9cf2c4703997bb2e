"""Trie logs: a block's state changes as Besu with the Shomei plug-in serves them, in RLP.

[block hash, block number, account entry …, zkCompare?, timestamp?] with an account entry
[address, code | empty, account | empty, storage | empty]; code = [prior, new, cleared]; account the same with
[nonce, balance, EVM storage root, Keccak code hash] or empty on each side; storage = list of
[Keccak of the slot, prior, new, cleared, slot?].

Source: `TrieLogLayerConverter` of Consensys/shomei at 3f47bed; besu-shomei-plugin 1.0.6.
"""

from itertools import takewhile
from typing import Any, NoReturn

from ethereum_rlp import rlp
from ethereum_rlp.exceptions import RLPException

from feemodel.errors import InvalidInput
from feemodel.ethereum.hashes import keccak256
from feemodel.ethereum.quantities import ADDRESS_SIZE, WORD_SIZE, from_hex, from_quantity, hash_bytes, to_hex
from feemodel.ledger.blocks import AccountChange, AccountFields, BlockChanges, SlotChange

OPTIONAL_ITEMS = 2  # behind the accounts


def parse_trie_log(data: bytes) -> BlockChanges:
    """The changes of one block.

    Raises `InvalidInput` for data that is not a trie log, and for a slot whose number the log does not tell, unless its
    account is gone after the block.
    """
    try:
        items = rlp.decode(data)
    except (RLPException, RecursionError) as error:
        raise InvalidInput("trieLog", f"expected RLP ({error})", to_hex(data)) from None
    if not isinstance(items, list) or len(items) < 2:
        _refuse("expected a list of block hash, block number and accounts", items)
    block_hash, number, *rest = items
    entries = list(takewhile(lambda item: isinstance(item, list), rest))
    if len(rest) - len(entries) > OPTIONAL_ITEMS or any(isinstance(item, list) for item in rest[len(entries) :]):
        _refuse("expected accounts, then at most zkCompare and a timestamp", rest)
    return BlockChanges(
        number=_integer(number),
        accounts=tuple(_account(entry) for entry in entries),
        hash=_sized(block_hash, WORD_SIZE),
    )


def parse_trie_log_element(element: Any) -> BlockChanges:
    """An element of the answer of `shomei_getTrieLogsByRange`; its number and hash must be those of the log."""
    if not isinstance(element, dict) or not {"blockNumber", "blockHash", "trieLog"} <= element.keys():
        raise InvalidInput("trie log", "expected an object with blockNumber, blockHash and trieLog", element)
    block = parse_trie_log(from_hex(element["trieLog"], "trieLog"))
    number = element["blockNumber"]
    is_integer = isinstance(number, int) and not isinstance(number, bool)
    if (number if is_integer else from_quantity(number, "blockNumber")) != block.number:
        raise InvalidInput("blockNumber", f"expected {block.number}, as in the trie log", number)
    if hash_bytes(element["blockHash"], "blockHash") != block.hash:
        raise InvalidInput("blockHash", "expected the hash in the trie log", element["blockHash"])
    return block


def _account(entry: list[Any]) -> AccountChange:
    if len(entry) != 4:
        _refuse("expected account entries of four items", entry)
    address, code, account, storage = entry
    before = after = None
    cleared = False
    if account:
        if not isinstance(account, list) or len(account) != 3:
            _refuse("expected account changes of prior, new, cleared", account)
        before, after, cleared = _fields(account[0]), _fields(account[1]), _flag(account[2])
    gone = bool(account) and (cleared or after is None)
    if storage and not isinstance(storage, list):
        _refuse("expected a list of slot changes", storage)
    slots = [_slot(slot, gone) for slot in storage]
    return AccountChange(
        address=_sized(address, ADDRESS_SIZE),
        before=before,
        after=after,
        same=not account,
        cleared=cleared,
        code=_code(code),
        storage=tuple(slot for slot in slots if slot is not None),
    )


def _fields(side: Any) -> AccountFields | None:
    if not side:
        return None
    if not isinstance(side, list) or len(side) != 4:
        _refuse("expected accounts of nonce, balance, storage root, code hash", side)
    nonce, balance, _, code_hash = side
    return AccountFields(_integer(nonce), _integer(balance), _sized(code_hash, WORD_SIZE))


def _code(code: Any) -> bytes | None:
    if not code:
        return None
    if not isinstance(code, list) or len(code) != 3 or not isinstance(code[1], bytes):
        _refuse("expected code changes of prior, new, cleared", code)
    return code[1] or None


def _slot(entry: Any, account_gone: bool) -> SlotChange | None:
    if not isinstance(entry, list) or len(entry) not in (4, 5):
        _refuse("expected slot changes of hash, prior, new, cleared, slot", entry)
    hashed, before, after = _sized(entry[0], WORD_SIZE), _integer(entry[1]), _integer(entry[2])
    known = entry[4] if len(entry) == 5 else b""
    if not isinstance(known, bytes) or len(known) > WORD_SIZE:
        _refuse("expected a slot of at most 32 bytes", known)
    slot = known.rjust(WORD_SIZE, b"\0")
    if keccak256(slot) == hashed:  # an empty item is slot 0, or a slot that the node does not know
        return SlotChange(slot, before, after)
    if account_gone and not after:
        return None
    raise InvalidInput("trieLog slot", f"expected the number that hashes to {to_hex(hashed)}", to_hex(slot))


def _integer(item: Any) -> int:
    if not isinstance(item, bytes) or len(item) > WORD_SIZE or item.startswith(b"\0"):
        _refuse("expected an integer of at most 32 bytes without leading zeros", item)
    return int.from_bytes(item)


def _flag(item: Any) -> bool:
    if item not in (b"", b"\x01"):
        _refuse("expected a flag, 0 or 1", item)
    return bool(item)


def _sized(item: Any, size: int) -> bytes:
    if not isinstance(item, bytes) or len(item) != size:
        _refuse(f"expected {size} bytes", item)
    return bytes(item)


def _refuse(reason: str, item: Any) -> NoReturn:
    raise InvalidInput("trieLog", reason, item)
