"""Example calldata for a function, made from a signature such as "transfer(address,uint256)".

The arguments have about the same size and share of zero bytes as real arguments, so that the compressed size is close
to that of real calldata. An address is 20 pseudorandom bytes, a number of more than 8 bytes has 8 nonzero bytes, and a
list has one item.

Source: Contract ABI Specification, Solidity 0.8 (2024).
"""

import re
from dataclasses import dataclass

from feemodel.errors import InvalidInput
from feemodel.ethereum._hashes import keccak256

WORD = 32  # bytes
NUMBER_BYTES = 8  # nonzero bytes in a number of more than 8 bytes, because most amounts are below 2**64
TEXT_BYTES = 32  # length of a value of type `bytes` or `string`
MAX_VALUES = 4_096  # maximum number of values in one call
MAX_NESTED = 8  # maximum depth of nested arrays and tuples

_SIGNATURE = re.compile(r"([A-Za-z_$][\w$]*)\((.*)\)\Z", re.ASCII)
_ARRAY = re.compile(r"(.+)\[(\d*)\]\Z", re.DOTALL)
_SIZED = re.compile(r"(u?int|bytes)(\d+)\Z")


@dataclass(frozen=True)
class _Encoded:
    """Encoded value, with a flag for dynamic types. In a tuple, dynamic values follow the heads."""

    data: bytes
    is_dynamic: bool


def selector(signature: str) -> bytes:
    """Return the selector of a function: the first four bytes of its calldata.

    >>> selector("transfer(address,uint256)").hex()
    'a9059cbb'
    """
    return keccak256(signature.encode())[:4]


def example_calldata(signature: str) -> bytes:
    """Return calldata of a function with example arguments; the same signature always gives the same bytes.

    Parameters
    ----------
    signature : name and types, as in "transfer(address,uint256)".

    Returns
    -------
    bytes.

    Raises
    ------
    InvalidInput : a signature or type that is not valid.

    >>> data = example_calldata("transfer(address,uint256)")
    >>> len(data), data[4:16] == bytes(12), data.count(0)
    (68, True, 36)
    """
    found = _SIGNATURE.match(signature)
    if found is None:
        raise InvalidInput("signature", "expected a function such as transfer(address,uint256)", signature)
    arguments = _Arguments(signature)
    return selector(signature) + _joined([arguments.encoded(one) for one in _split(found[2], signature)])


class _Arguments:
    """Encoder of example values for the types of one signature."""

    def __init__(self, signature: str) -> None:
        self._signature, self._seed, self._values = signature, keccak256(signature.encode()), 0

    def encoded(self, kind: str, depth: int = 0) -> _Encoded:
        """Return an encoded example value of a type."""
        self._values += 1
        if depth > MAX_NESTED or self._values > MAX_VALUES:
            raise self._invalid(kind)
        if (array := _ARRAY.match(kind)) is not None:
            return self._array(array[1], array[2], depth)
        if kind.startswith("(") and kind.endswith(")"):
            parts = [self.encoded(one, depth + 1) for one in _split(kind[1:-1], self._signature)]
            return _Encoded(_joined(parts), any(part.is_dynamic for part in parts))
        if kind in ("bytes", "string"):
            text = self._bytes(TEXT_BYTES) if kind == "bytes" else self._bytes(TEXT_BYTES // 2).hex().encode()
            return _Encoded(TEXT_BYTES.to_bytes(WORD) + text, True)
        if kind == "bool":
            return _Encoded((1).to_bytes(WORD), False)
        if kind in ("address", "function"):
            data = self._bytes(20 if kind == "address" else 24)
            return _Encoded(data.rjust(WORD, b"\0") if kind == "address" else data.ljust(WORD, b"\0"), False)
        return _Encoded(self._word(kind), False)

    def _word(self, kind: str) -> bytes:
        found = _SIZED.match({"uint": "uint256", "int": "int256"}.get(kind, kind))
        size = 0 if found is None else int(found[2])
        if found is not None and found[1] == "bytes" and 1 <= size <= WORD:
            return self._bytes(size).ljust(WORD, b"\0")
        if found is None or found[1] == "bytes" or size % 8 or not 8 <= size <= 256:
            raise self._invalid(kind)
        number = bytearray(self._bytes(min(NUMBER_BYTES, size // 8)))
        number[0] &= 0x7F  # clear the sign bit of a signed number
        return bytes(number).rjust(WORD, b"\0")

    def _array(self, kind: str, length: str, depth: int) -> _Encoded:
        if len(length) > 4 or (length and int(length) > MAX_VALUES):
            raise self._invalid(f"{kind}[{length}]")
        items = [self.encoded(kind, depth + 1) for _ in range(int(length) if length else 1)]
        if not length:
            return _Encoded(len(items).to_bytes(WORD) + _joined(items), True)
        return _Encoded(_joined(items), any(item.is_dynamic for item in items))

    def _bytes(self, count: int) -> bytes:
        """Return the next pseudorandom bytes, without zero bytes."""
        self._seed = keccak256(self._seed)
        return bytes(byte or 1 for byte in self._seed[:count])

    def _invalid(self, kind: str) -> InvalidInput:
        return InvalidInput("signature", f"expected a type of the contract ABI in {self._signature}", kind)


def _split(types: str, signature: str) -> list[str]:
    """Split a list of types at the commas that are outside parentheses."""
    parts, depth, start = [], 0, 0
    for index, sign in enumerate(types):
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            break
        if sign == "," and depth == 0:
            parts.append(types[start:index])
            start = index + 1
    parts.append(types[start:])
    if depth or (types and not all(parts)):
        raise InvalidInput("signature", "expected types between commas and matching parentheses", signature)
    return parts if types else []


def _joined(values: list[_Encoded]) -> bytes:
    """Encode a tuple: first the heads, with offsets in place of dynamic values, then the dynamic values."""
    size = sum(WORD if value.is_dynamic else len(value.data) for value in values)
    heads, tail = b"", b""
    for value in values:
        heads += (size + len(tail)).to_bytes(WORD) if value.is_dynamic else value.data
        tail += value.data if value.is_dynamic else b""
    return heads + tail
