"""Annotated types of the fields of states and messages, and their checks.

Callers can build states and messages without the JSON-RPC parsers, so an engine names the field that it cannot take.
"""

from collections.abc import Mapping
from functools import cache
from types import UnionType
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin, get_type_hints

from feemodel.checks import MAPPINGS
from feemodel.errors import InvalidInput
from feemodel.ethereum._quantities import to_hex

MAX_GAS = 2**29 - 1  #: largest gas limit of an execution, which also bounds its memory [gas]
MAX_BYTES = 64 * 2**20  #: maximum length of calldata and of code [byte]

# A number with its bits, or bytes with their length.
Gas: TypeAlias = Annotated[int, MAX_GAS.bit_length()]
Uint8: TypeAlias = Annotated[int, 8]
Uint64: TypeAlias = Annotated[int, 64]
Uint128: TypeAlias = Annotated[int, 128]
Uint256: TypeAlias = Annotated[int, 256]
Address: TypeAlias = Annotated[bytes, 20]
Word: TypeAlias = Annotated[bytes, 32]
Data: TypeAlias = Annotated[bytes, None]


def check(name: str, value: Any, kind: Any) -> None:
    """Raise `InvalidInput`, naming the field, if a value does not fit an annotation, or a record of annotations.

    >>> check("value", 2**256, Uint256)
    Traceback (most recent call last):
    feemodel.errors.InvalidInput: value: expected an integer from 0 to 2**256 - 1, got 1157920892373161954235709850...
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated and parts[0] is int:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2 ** parts[1]:
            raise InvalidInput(name, f"expected an integer from 0 to 2**{parts[1]} - 1", value)
    elif origin is Annotated and parts[0] is bytes:
        if not isinstance(value, bytes) or (parts[1] is not None and len(value) != parts[1]):
            raise InvalidInput(name, f"expected {'' if parts[1] is None else f'{parts[1]} '}bytes", value)
        if len(value) > MAX_BYTES:
            raise InvalidInput(name, f"expected at most {MAX_BYTES:,} bytes", len(value))
    elif origin is Annotated:
        check(name, value, parts[1])
    elif origin is Mapping:
        if not isinstance(value, MAPPINGS):
            raise InvalidInput(name, "expected a mapping", value)
        for key, item in value.items():
            check(name, key, parts[0])
            check(f"{name}[{to_hex(key) if isinstance(key, bytes) else key}]", item, parts[1])
    elif origin is tuple:
        if not isinstance(value, (list, tuple)) or (parts[-1] is not ... and len(value) != len(parts)):
            raise InvalidInput(name, "expected a tuple" if parts[-1] is ... else f"expected {len(parts)} fields", value)
        for index, item in enumerate(value):
            check(f"{name}[{index}]", item, parts[0] if parts[-1] is ... else parts[index])
    elif origin in (Union, UnionType):
        if value is not None:
            check(name, value, parts[0])
    elif not isinstance(value, kind):
        raise InvalidInput(name, f"expected {kind.__name__}", value)
    else:
        for field, annotation in _annotations(kind).items():
            check(f"{name}.{field}", getattr(value, field), annotation)


@cache
def _annotations(record: type) -> dict[str, Any]:
    return get_type_hints(record, include_extras=True)
