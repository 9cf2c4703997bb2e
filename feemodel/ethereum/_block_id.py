"""Block parameters of JSON-RPC: a number, a tag or a hash."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import as_bytes, from_quantity

TAGS = ("latest", "pending", "safe", "finalized", "earliest")
EIP_1898_FIELDS = frozenset(("blockNumber", "blockHash", "requireCanonical"))
_HASH_DIGITS = len("0x") + 2 * 32


class BlockId(NamedTuple):
    """Block parameter; exactly one of number, tag and hash is set."""

    given: Any  #: the value as received
    number: int | None = None
    tag: str | None = None
    hash: bytes | None = None


def read_block(value: Any) -> BlockId:
    """Parse a quantity, a number, a tag, a hash of 32 bytes in hexadecimal, or an object of EIP-1898.

    >>> read_block("0x5").number, read_block("latest").tag, read_block({"blockHash": "0x" + "11" * 32}).hash[:1]
    (5, 'latest', b'\\x11')
    """
    given = value
    if isinstance(value, Mapping) and value and value.keys() <= EIP_1898_FIELDS:
        hashed, value = value.get("blockHash"), value.get("blockNumber")
        if hashed is not None and value is not None:
            raise InvalidInput("block", "expected either blockHash or blockNumber", given)
        if hashed is not None:
            return BlockId(given, hash=as_bytes("block.blockHash", hashed, size=32))
    if isinstance(value, str) and value in TAGS:
        return BlockId(given, tag=value)
    if isinstance(value, str) and len(value) == _HASH_DIGITS:  # the format of a hash in web3.py
        return BlockId(given, hash=as_bytes("block", value, size=32))
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:  # the format of a number in web3.py
        return BlockId(given, number=value)
    try:
        return BlockId(given, number=from_quantity(value))
    except InvalidInput:
        raise InvalidInput("block", f'expected a quantity such as "0x5", or one of {", ".join(TAGS)}', value) from None
