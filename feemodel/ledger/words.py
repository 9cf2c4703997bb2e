"""Addresses, slots and hashes as callers write them: hexadecimal text or bytes in, bytes out."""

from feemodel.errors import InvalidInput
from feemodel.ethereum.quantities import from_hex, to_quantity

ADDRESS_SIZE = 20
WORD_SIZE = 32


def address_bytes(address: str | bytes, name: str = "address") -> bytes:
    """An address of exactly 20 bytes.

    >>> address_bytes("0x508Ca82Df566dCD1B0DE8296e70a96332cD644ec").hex()
    '508ca82df566dcd1b0de8296e70a96332cd644ec'
    """
    return _sized(address, ADDRESS_SIZE, name)


def hash_bytes(value: str | bytes, name: str) -> bytes:
    """A hash of exactly 32 bytes."""
    return _sized(value, WORD_SIZE, name)


def slot_bytes(slot: str | bytes | int, name: str = "storageKeys") -> bytes:
    """A storage key or value; a short one is padded with zeros on the left.

    >>> slot_bytes("0x1") == slot_bytes(1) == slot_bytes("0x" + 63 * "0" + "1")
    True
    """
    expected = "expected hexadecimal of 1 to 32 bytes"
    if isinstance(slot, int) and not isinstance(slot, bool) and 0 <= slot < 1 << 8 * WORD_SIZE:
        slot = to_quantity(slot)
    if isinstance(slot, bytes):
        data = slot
    else:
        if not isinstance(slot, str) or not slot.startswith("0x") or len(slot) == 2:
            raise InvalidInput(name, expected, slot)
        data = from_hex(slot if len(slot) % 2 == 0 else "0x0" + slot[2:], name)
    if len(data) > WORD_SIZE:
        raise InvalidInput(name, expected, slot)
    return data.rjust(WORD_SIZE, b"\0")


def _sized(value: str | bytes, size: int, name: str) -> bytes:
    data = value if isinstance(value, bytes) else from_hex(value, name)
    if len(data) != size:
        raise InvalidInput(name, f"expected {size} bytes", value)
    return data
