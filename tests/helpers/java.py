"""Parse bytes and numbers from JSON in which a Java program wrote the private fields of objects.

| class                                       | as JSON                                                             |
|---------------------------------------------|---------------------------------------------------------------------|
| byte[]                                      | [7, -24], signed or unsigned                                        |
| Tuweni ArrayWrappingBytes, and slices of it | {"bytes": [0, 7, 0], "offset": 1, "length": 1}; may be nested       |
| Tuweni ConcatenatedBytes                    | {"values": [bytes, bytes], "size": 2}                               |
| Tuweni ConstantBytes32Value                 | {"value": 0, "size": 32}                                            |
| Tuweni ByteBufferWrappingBytes              | {"byteBuffer": {"hb": [7], "offset": 0}, "offset": 0, "length": 1}  |
| Tuweni UInt256                              | {"ints": [0, 0, 0, 0, 0, 0, 0, 7]}, big-endian, signed              |
| Besu Address, Hash; Wei, Difficulty         | {"delegate": bytes}; {"value": bytes}                               |
| java.math.BigInteger                        | {"signum": 1, "mag": [7]}, big-endian, signed                       |

The fields `hashCode` and `hash`, in which Java caches hash codes, are ignored. Sources: Consensys/tuweni 2.7, bytes and
units; OpenJDK 21, java.math.BigInteger.
"""

from collections.abc import Mapping
from typing import Any

from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import from_hex

MAX_NESTED = 16  # maximum depth of nested slices
INT32 = 4  # bytes
WORD = 32  # bytes
CACHED = frozenset({"hashCode", "hash"})


def java_bytes(value: Any, name: str) -> bytes:
    """Return the bytes of a list or an object that Java serialized.

    Raises `InvalidInput`, which names the field, if the value is not in a form in which Java serializes bytes, if an
    offset or a length exceeds the number of bytes, or if a number is out of range for its type.

    >>> java_bytes({"bytes": [0, 3, -24], "offset": 1, "length": 2}, "fee").hex()
    '03e8'
    """
    return _read(value, name, MAX_NESTED)


def _read(value: Any, name: str, depth: int) -> bytes:
    if depth == 0:
        raise InvalidInput(name, f"expected bytes nested at most {MAX_NESTED} times", value)
    if isinstance(value, list):
        return bytes(_integer(octet, f"{name}[{index}]", 8) for index, octet in enumerate(value))
    if isinstance(value, str):  # an inner object written as hexadecimal text
        return bytes(from_hex(value, name))
    fields = {field: held for field, held in value.items() if field not in CACHED} if isinstance(value, dict) else {}
    match fields:
        case {"bytes": inner, **more} if more.keys() <= {"offset", "length", "size"}:
            return _slice(_read(inner, f"{name}.bytes", depth - 1), more, name)
        case {"byteBuffer": {"hb": inner, **buffer}, **more} if more.keys() <= {"offset", "length", "size"}:
            position = f"{name}.byteBuffer"
            held = _slice(_read(inner, f"{position}.hb", depth - 1), {"offset": buffer.get("offset", 0)}, position)
            return _slice(held, more, name)
        case {"values": list(parts), **more} if more.keys() <= {"size"}:
            joined = b"".join(_read(part, f"{name}.values[{index}]", depth - 1) for index, part in enumerate(parts))
            if more and more["size"] != len(joined):
                raise InvalidInput(
                    f"{name}.size", f"expected {len(joined):,}, the number of bytes of the values", more["size"]
                )
            return joined
        case {"value": int(constant), "size": size, **more} if not more:
            count = _count(size, f"{name}.size")
            if count > WORD:
                raise InvalidInput(f"{name}.size", f"expected at most {WORD}", size)
            return bytes([_integer(constant, f"{name}.value", 8)]) * count
        case {"delegate": inner, **more} | {"value": inner, **more} if not more:
            return _read(inner, name, depth - 1)
        case {"ints": list(words), **more} if not more:
            if len(words) != WORD // INT32:
                raise InvalidInput(f"{name}.ints", f"expected {WORD // INT32} numbers", words)
            return _words(words, f"{name}.ints")
        case {"signum": sign, "mag": list(words)}:
            if type(sign) is not int or sign != bool(words):
                raise InvalidInput(f"{name}.signum", "expected 1, or 0 if mag is empty", sign)
            return _words(words, f"{name}.mag")
    raise InvalidInput(name, "expected bytes, as a list of numbers or a Java object", value)


def _slice(held: bytes, fields: Mapping[str, Any], name: str) -> bytes:
    offset = _count(fields.get("offset", 0), f"{name}.offset")
    if offset > len(held):
        raise InvalidInput(f"{name}.offset", f"expected at most {len(held):,}, the number of bytes", offset)
    lengths = [_count(fields[field], f"{name}.{field}") for field in ("length", "size") if field in fields]
    length = lengths[0] if lengths else len(held) - offset
    if any(one != length for one in lengths):
        raise InvalidInput(f"{name}.size", f"expected {length:,}, the value of length", fields["size"])
    if length > len(held) - offset:
        reason = f"expected at most {len(held) - offset:,}, the number of bytes from the offset on"
        raise InvalidInput(f"{name}.length", reason, length)
    return held[offset : offset + length]


def _words(words: list[Any], name: str) -> bytes:
    numbers = (_integer(word, f"{name}[{index}]", 8 * INT32) for index, word in enumerate(words))
    return b"".join(number.to_bytes(INT32, "big") for number in numbers)


def _integer(value: Any, name: str, bits: int) -> int:
    """Convert an integer of `bits` bits to unsigned. Java may have written the integer as signed or unsigned."""
    if type(value) is not int or not -(1 << (bits - 1)) <= value < 1 << bits:
        raise InvalidInput(name, f"expected a whole number of {bits} bits", value)
    return value % (1 << bits)


def _count(value: Any, name: str) -> int:
    if type(value) is not int or value < 0:
        raise InvalidInput(name, "expected a whole number of at least 0", value)
    return value
