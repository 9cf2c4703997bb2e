"""Checks of an engine's inputs, needed because callers can build states and messages without the JSON-RPC parsers."""

from collections.abc import Mapping
from typing import Any

from feemodel.checks import MAPPINGS, UINT64_MAX, UINT256_MAX, real_scalar
from feemodel.errors import InvalidInput
from feemodel.execution._message import Message
from feemodel.execution._state import Account, Block, CallState

MAX_GAS = 2**32  #: largest gas limit of an execution, which also bounds the memory of an execution [gas]
MAX_BYTES = 64 * 2**20  #: maximum length of calldata and of code [byte]
MAX_SECONDS = 1e9  #: longest time of an execution [s]

_BLOCK_NUMBERS = {
    "number": UINT64_MAX, "timestamp": UINT64_MAX, "gas_limit": UINT64_MAX, "base_fee": UINT256_MAX,
    "difficulty": UINT256_MAX, "excess_blob_gas": UINT64_MAX,
}  # fmt: skip


def check_gas_limit(gas_limit: Any) -> None:
    """Raise `InvalidInput` if a gas limit is out of range.

    >>> check_gas_limit(21_000)
    """
    _number("gas_limit", gas_limit, MAX_GAS)


def check_seconds(name: str, seconds: float) -> float:
    """Return a time limit [s] as a float; raises `InvalidInput` if the limit is not a number in range.

    >>> check_seconds("seconds", 10)
    10.0
    """
    checked = real_scalar(name, seconds)
    if checked > MAX_SECONDS:
        raise InvalidInput(name, f"expected at most {MAX_SECONDS:g} s", seconds)
    return checked


def check_message(message: Message) -> None:
    """Raise `InvalidInput`, naming the field, if a field of a message is not valid in a transaction.

    >>> check_message(Message(to=bytes(20)))
    """
    _bytes("message.sender", message.sender, 20)
    if message.to is not None:
        _bytes("message.to", message.to, 20)
    for name in ("value", "gas_price", "base_fee"):
        _number(f"message.{name}", getattr(message, name), UINT256_MAX)
    _bytes("message.data", message.data)
    for index, listed in enumerate(_listed("message.access_list", message.access_list)):
        name = f"message.access_list[{index}]"
        address, keys = _fields(name, listed, 2)
        _bytes(name, address, 20)
        for key in _listed(name, keys):
            _bytes(name, key, 32)
    for index, entry in enumerate(_listed("message.authorizations", message.authorizations)):
        name = f"message.authorizations[{index}]"
        chain_id, address, nonce, y_parity, r, s = _fields(name, entry, 6)
        _bytes(f"{name}.address", address, 20)
        limits = {"chain_id": (chain_id, UINT256_MAX), "nonce": (nonce, UINT64_MAX), "y_parity": (y_parity, 255)}
        for field, (value, maximum) in {**limits, "r": (r, UINT256_MAX), "s": (s, UINT256_MAX)}.items():
            _number(f"{name}.{field}", value, maximum)
    for index, one in enumerate(_listed("message.blob_hashes", message.blob_hashes)):
        _bytes(f"message.blob_hashes[{index}]", one, 32)
    for name in ("pays", "pays_for_blobs"):
        if not isinstance(getattr(message, name), bool):
            raise InvalidInput(f"message.{name}", "expected True or False", getattr(message, name))


def check_block(block: Block) -> None:
    """Raise `InvalidInput`, naming the field, if a field of a block is not valid in a header.

    >>> check_block(Block())
    """
    for name, maximum in _BLOCK_NUMBERS.items():
        _number(f"block.{name}", getattr(block, name), maximum)
    if block.blob_base_fee is not None:
        _number("block.blob_base_fee", block.blob_base_fee, UINT256_MAX)
    _bytes("block.coinbase", block.coinbase, 20)
    _bytes("block.prev_randao", block.prev_randao, 32)
    for number, value in _mapping("block.hashes", block.hashes).items():
        _number("block.hashes", number, UINT64_MAX)
        _bytes(f"block.hashes[{number}]", value, 32)


def check_accounts(name: str, accounts: Mapping[bytes, Account]) -> None:
    """Raise `InvalidInput`, naming the account and the field, if a field of an account is not valid.

    >>> check_accounts("accounts", {bytes(20): Account(balance=5)})
    """
    for address, account in _mapping(name, accounts).items():
        _bytes(name, address, 20)
        where = f"{name}[0x{address.hex()}]"
        if not isinstance(account, Account):
            raise InvalidInput(where, "expected an Account", account)
        _number(f"{where}.balance", account.balance, UINT256_MAX)
        _number(f"{where}.nonce", account.nonce, UINT64_MAX)
        _bytes(f"{where}.code", account.code)
        for slot, value in _mapping(f"{where}.storage", account.storage).items():
            _number(f"{where}.storage", slot, UINT256_MAX)
            _number(f"{where}.storage[{slot:#x}]", value, UINT256_MAX)


def check_state(call_state: CallState) -> None:
    """Raise `InvalidInput`, naming the field, if a state is not valid.

    >>> check_state(CallState(accounts={}))
    """
    _number("chain_id", call_state.chain_id, UINT64_MAX)
    check_block(call_state.block)
    check_accounts("accounts", call_state.accounts)
    check_accounts("changes", call_state.changes)


def _number(name: str, value: Any, maximum: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= maximum:
        limit = f"2**{maximum.bit_length()} - 1" if maximum.bit_length() >= 64 else f"{maximum:,}"
        raise InvalidInput(name, f"expected an integer from 0 to {limit}", value)


def _bytes(name: str, value: Any, size: int | None = None) -> None:
    if not isinstance(value, bytes) or (size is not None and len(value) != size):
        raise InvalidInput(name, f"expected {'' if size is None else f'{size} '}bytes", value)
    if len(value) > MAX_BYTES:
        raise InvalidInput(name, f"expected at most {MAX_BYTES:,} bytes", len(value))


def _listed(name: str, value: Any) -> Any:
    if not isinstance(value, (list, tuple)):
        raise InvalidInput(name, "expected a tuple", value)
    return value


def _fields(name: str, value: Any, count: int) -> Any:
    if not isinstance(value, (list, tuple)) or len(value) != count:
        raise InvalidInput(name, f"expected a list of {count} fields", value)
    return value


def _mapping(name: str, value: Any) -> Any:
    if not isinstance(value, MAPPINGS):
        raise InvalidInput(name, "expected a mapping", value)
    return value
