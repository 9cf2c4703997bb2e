"""The blocks that a parameter of JSON-RPC names: by number, by tag or by hash."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from feemodel.errors import InvalidInput
from feemodel.ethereum.quantities import as_bytes, from_block

TAGS = ("latest", "pending", "safe", "finalized", "earliest")
EIP_1898_FIELDS = frozenset(("blockNumber", "blockHash", "requireCanonical"))
_HASH_DIGITS = len("0x") + 2 * 32


class BlockId(NamedTuple):
    """A block as a parameter names it: one of number, tag and hash."""

    given: Any  #: as it was sent
    number: int | None = None
    tag: str | None = None
    hash: bytes | None = None


def read_block(value: Any) -> BlockId:
    """Return the block that a parameter names; raises `InvalidInput`.

    Parameters
    ----------
    value : a quantity, a number, a tag, a hash of 32 bytes in hexadecimal, or an object of EIP-1898.

    Source: EIP-1898.

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
    if isinstance(value, str) and len(value) == _HASH_DIGITS:  # as web3.py sends a hash
        return BlockId(given, hash=as_bytes("block", value, size=32))
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:  # as web3.py sends a number
        return BlockId(given, number=value)
    return BlockId(given, number=from_block(value, TAGS))
