"""Units, and the hexadecimal quantities of Ethereum JSON-RPC."""

import re

from feemodel.errors import InvalidInput

WEI_PER_KWEI = 1_000
WEI_PER_GWEI = 1_000_000_000
WEI_PER_ETH = 1_000_000_000_000_000_000

_QUANTITY = re.compile(r"0x(0|[1-9a-fA-F][0-9a-fA-F]*)\Z")


def to_quantity(value: int) -> str:
    """An integer as a minimal hexadecimal quantity.

    >>> to_quantity(43_314_285)
    '0x294ec6d'
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidInput("quantity", "expected an int of at least 0", value)
    return hex(value)


def from_quantity(text: str, name: str = "quantity") -> int:
    """A hexadecimal quantity as an integer; leading zeros are refused, as the JSON-RPC specification has it.

    >>> from_quantity("0x5208")
    21000
    """
    if not isinstance(text, str) or not _QUANTITY.match(text):
        raise InvalidInput(name, 'expected a quantity such as "0x5208"', text)
    return int(text, 16)


def from_hex(text: str, name: str = "data") -> bytes:
    """Hexadecimal data as bytes: `0x`, then an even number of digits.

    >>> from_hex("0xa9059cbb").hex()
    'a9059cbb'
    """
    if not isinstance(text, str) or not text.startswith("0x"):
        raise InvalidInput(name, "expected hexadecimal data that starts with 0x", text)
    if len(text) % 2:
        raise InvalidInput(name, f"expected an even number of hexadecimal digits, counted {len(text) - 2:,}", text)
    try:
        data = bytes.fromhex(text[2:])
    except ValueError:
        raise InvalidInput(name, "expected hexadecimal digits after 0x", text) from None
    if len(data) * 2 != len(text) - 2:  # bytes.fromhex skips white space
        raise InvalidInput(name, "expected hexadecimal digits after 0x, without white space", text)
    return data


def to_hex(data: bytes) -> str:
    """Bytes as hexadecimal data.

    >>> to_hex(b"\\x01\\x02")
    '0x0102'
    """
    return "0x" + data.hex()
