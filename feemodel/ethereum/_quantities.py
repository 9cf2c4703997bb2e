"""Units of ether, and conversion of text to numbers and bytes: JSON-RPC quantities, numbers in files, user input."""

import re
from binascii import unhexlify
from collections.abc import Collection, Mapping
from typing import Any

from feemodel.checks import MAPPINGS
from feemodel.errors import InvalidInput

ADDRESS_SIZE = 20
WORD_SIZE = 32
WEI_PER_KWEI = 1_000
WEI_PER_GWEI = 1_000_000_000
WEI_PER_ETH = 1_000_000_000_000_000_000

_QUANTITY = re.compile(r"0x(0|[1-9a-fA-F][0-9a-fA-F]*)\Z")
_DECIMAL = re.compile(r"(0|[1-9][0-9]*)\Z")
_PADDED = re.compile(r"0[xX][0-9a-fA-F]+\Z")
_SLOT = re.compile(r"0x[0-9a-fA-F]{1,64}\Z")
_GROUPED = re.compile(r"[1-9][0-9]{0,2}([_,])[0-9]{3}(\1[0-9]{3})*\Z")
_MAX_DIGITS = 1_200  # maximum number of digits; converting a longer text to int is slow or raises an error


def to_quantity(value: int) -> str:
    """Convert an integer to a JSON-RPC quantity, hexadecimal text without leading zeros.

    Parameters
    ----------
    value : int of at least 0.

    Returns
    -------
    str.

    Raises
    ------
    InvalidInput : a value that is negative or not an int.

    >>> to_quantity(43_314_285)
    '0x294ec6d'
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidInput("quantity", "expected an int of at least 0", value)
    return hex(value)


def from_quantity(text: str, name: str = "quantity") -> int:
    """Convert a JSON-RPC quantity to an integer.

    Parameters
    ----------
    text : hexadecimal digits after 0x.
    name : name of the parameter, for the error.

    Returns
    -------
    int.

    Raises
    ------
    InvalidInput : not a quantity; leading zeros are not valid, as the JSON-RPC specification says.

    >>> from_quantity("0x5208")
    21000
    """
    if not isinstance(text, str) or not _QUANTITY.match(text):
        raise InvalidInput(name, 'expected a quantity such as "0x5208"', text)
    return int(text, 16)


def from_number(value: Any, name: str, *, maximum: int) -> int:
    """Parse a whole number in a file: an integer of JSON, decimal digits, or hexadecimal digits after 0x.

    Decimal numbers that begin with 0 are not valid, because some programs read them as octal. Neither are signs, white
    space, underscores, 0b, 0o, fractions and exponents, although Python accepts some of them.

    >>> from_number("21000", "gas", maximum=2**64 - 1), from_number("0x05208", "gas", maximum=2**64 - 1)
    (21000, 21000)
    """
    number = _whole_of_text(value) if isinstance(value, str) else value
    if isinstance(number, bool) or not isinstance(number, int):
        raise InvalidInput(name, "expected a whole number", value)
    if not 0 <= number <= maximum:
        highest = f"2**{maximum.bit_length()} - 1" if maximum & (maximum + 1) == 0 else f"{maximum:,}"
        raise InvalidInput(name, f"expected a number from 0 to {highest}", value)
    return number


def _whole_of_text(text: str) -> int | None:
    if len(text) > _MAX_DIGITS:
        return None
    if _DECIMAL.match(text):
        return int(text)
    return int(text, 16) if _PADDED.match(text) else None


def from_typed(text: str) -> int | None:
    """Parse a whole number such as 30000000, 30_000_000, 30,000,000 or 0x1c9c380; return `None` for any other text.

    >>> from_typed("30,000,000"), from_typed("-5"), from_typed("3,00"), from_typed(" 7")
    (30000000, -5, None, None)
    """
    digits = text.removeprefix("-")
    number = _whole_of_text(re.sub("[_,]", "", digits) if _GROUPED.match(digits) else digits)
    return None if number is None else -number if text.startswith("-") else number


def from_hex(text: str, name: str = "data") -> bytes:
    """Convert hexadecimal text to bytes.

    Parameters
    ----------
    text : `0x`, then an even number of hexadecimal digits.
    name : name of the parameter, for the error.

    Returns
    -------
    bytes.

    Raises
    ------
    InvalidInput : not hexadecimal, an odd number of digits, or no `0x`.

    >>> from_hex("0xa9059cbb").hex()
    'a9059cbb'
    """
    if not isinstance(text, str) or text[:2] != "0x":
        raise InvalidInput(name, "expected hexadecimal data that starts with 0x", text)
    try:
        return unhexlify(text[2:])
    except ValueError:
        odd = f"expected an even number of hexadecimal digits, counted {len(text) - 2:,}"
        raise InvalidInput(name, odd if len(text) % 2 else "expected hexadecimal digits after 0x", text) from None


def to_hex(data: bytes) -> str:
    """Convert bytes to hexadecimal text.

    Parameters
    ----------
    data : bytes.

    Returns
    -------
    str that begins with `0x`.

    >>> to_hex(b"\\x01\\x02")
    '0x0102'
    """
    return "0x" + data.hex()


def camel(name: str) -> str:
    """Return a name's key in JSON, such as baseFee for base_fee."""
    return re.sub("_(.)", lambda after: after[1].upper(), name)


def as_bytes(name: str, value: Any, *, size: int | None = None, of: str = "") -> bytes:
    """Return bytes from bytes or hexadecimal text, and check the size if a size is given; `of` is for the error."""
    data = from_hex(value, name) if not isinstance(value, (bytes, bytearray, memoryview)) else bytes(value)
    if size is not None and len(data) != size:
        raise InvalidInput(name, f"expected {of}{size} bytes, counted {len(data)}", value)
    return data


def address_bytes(address: str | bytes, name: str = "address") -> bytes:
    """Return an address of exactly 20 bytes, from bytes or hexadecimal text."""
    return as_bytes(name, address, size=ADDRESS_SIZE, of="an address of ")


def hash_bytes(value: str | bytes, name: str) -> bytes:
    """Return a hash of exactly 32 bytes, from bytes or hexadecimal text."""
    return as_bytes(name, value, size=WORD_SIZE)


def slot_bytes(slot: str | bytes | int, name: str = "storageKeys") -> bytes:
    """Return a storage key or value as 32 bytes; shorter input is padded with zeros on the left."""
    if isinstance(slot, int) and not isinstance(slot, bool) and 0 <= slot < 1 << 8 * WORD_SIZE:
        return slot.to_bytes(WORD_SIZE)
    data = unhexlify(slot[2:].rjust(2 * WORD_SIZE, "0")) if isinstance(slot, str) and _SLOT.match(slot) else slot
    if not isinstance(data, bytes) or len(data) > WORD_SIZE:
        raise InvalidInput(name, "expected hexadecimal of 1 to 32 bytes", slot)
    return data.rjust(WORD_SIZE, b"\0")


def known_fields(name: str, value: Any, known: Collection[str]) -> Mapping[str, Any]:
    """Check and return a JSON object; all fields must have known names."""
    if not isinstance(value, MAPPINGS):
        raise InvalidInput(name, f"expected an object of {', '.join(known)}", value)
    for field in value:
        if field not in known:
            raise InvalidInput(f"{name}.{field}", f"expected one of {', '.join(known)}", value[field])
    return value
