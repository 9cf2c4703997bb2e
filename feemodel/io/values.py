"""Values as files and nodes spell them, one at a time (`cell`) or a whole Arrow column at once (`column`).

Integers are hexadecimal quantities, JSON integers or decimal digits; bytes are `0x` and hexadecimal digits, or binary.
Nothing is rounded: a floating-point number is refused where a whole one belongs. A value that does not fit raises
`InvalidInput` with the name that the caller gave, which says where it stands.
"""

import re
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from feemodel.errors import InvalidInput
from feemodel.units import from_hex, from_quantity

Kind: TypeAlias = Literal["whole", "amount", "data", "flag", "text"]

INT64_MAX = 2**63 - 1
UINT256_MAX = 2**256 - 1
WORD = 32  # bytes of a 256-bit number

_DIGITS = re.compile(r"[0-9]{1,78}\Z")  # 2**256 - 1 has 78


def cell(kind: Kind, value: Any, name: str) -> Any:
    """One value of a JSON object as a Python int, bytes, bool or str.

    >>> cell("whole", "0x5208", "gas_used")
    21000
    """
    match kind:
        case "whole":
            return _integer(value, name, INT64_MAX)
        case "amount":
            return _integer(value, name, UINT256_MAX)
        case "data":
            return from_hex(value, name)
        case "flag":
            return _of_type(bool, value, name, "expected true or false")
        case "text":
            return _of_type(str, value, name, "expected text")


def column(kind: Kind, array: Any, name: str) -> Any:
    """An Arrow column of a Parquet or CSV file (there all strings) as the Arrow type of its kind.

    Empty strings are missing values. An amount comes as a NumPy array of Python ints.
    """
    if _is_text(array):
        array = pc.if_else(pc.equal(array, ""), None, array)
    match kind:
        case "whole":
            return _whole_column(array, name)
        case "amount":
            return _amount_column(array, name)
        case "data":
            return _data_column(array, name)
        case "flag":
            return _flag_column(array, name)
        case "text":
            return array.cast(pa.string())


def _integer(value: Any, name: str, maximum: int) -> int:
    if isinstance(value, str):
        number = from_quantity(value, name)
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
    else:
        raise InvalidInput(name, "expected a whole number", value)
    if not 0 <= number <= maximum:
        raise InvalidInput(name, f"expected a number from 0 to 2**{(maximum + 1).bit_length() - 1} - 1", value)
    return number


def _of_type(kind: type, value: Any, name: str, expected: str) -> Any:
    if not isinstance(value, kind):
        raise InvalidInput(name, expected, value)
    return value


def _whole_column(array: Any, name: str) -> Any:
    if _is_text(array):
        _refuse(array, pc.invert(pc.match_substring_regex(array, "^[0-9]+$")), name, "expected a whole number")
        array = pc.utf8_ltrim(array, "0")
        digits = pc.utf8_length(array)
        too_large = pc.or_(pc.greater(digits, 19), pc.and_(pc.equal(digits, 19), pc.greater(array, str(INT64_MAX))))
        _refuse(array, too_large, name, "expected a number of at most 2**63 - 1")
        return pc.if_else(pc.equal(digits, 0), "0", array).cast(pa.int64())
    if not (pa.types.is_integer(array.type) or pa.types.is_null(array.type)):
        raise InvalidInput(name, "expected a column of whole numbers", str(array.type))
    if pa.types.is_uint64(array.type):
        _refuse(
            array, pc.greater(array, pa.scalar(INT64_MAX, pa.uint64())), name, "expected a number of at most 2**63 - 1"
        )
    array = array.cast(pa.int64())
    _refuse(array, pc.less(array, 0), name, "expected a number of at least 0")
    return array


def _amount_column(array: Any, name: str) -> Any:
    values = array.to_pylist()
    amounts = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):
        if isinstance(value, bytes) and len(value) <= WORD:
            amounts[row] = int.from_bytes(value, "big")
        elif isinstance(value, int) and value >= 0:
            amounts[row] = value
        elif isinstance(value, str) and _DIGITS.match(value) and int(value) <= UINT256_MAX:
            amounts[row] = int(value)
        elif isinstance(value, str) and re.match(r"0x[0-9a-fA-F]{1,64}\Z", value):
            amounts[row] = int(value, 16)
        else:
            raise InvalidInput(f"row {row + 1}: {name}", "expected a whole amount below 2**256", value)
    return amounts


def _data_column(array: Any, name: str) -> Any:
    if _is_text(array):
        wrong = _first(array, pc.invert(pc.match_substring_regex(array, "^0x([0-9a-fA-F]{2})*$")))
        if wrong is not None:
            from_hex(array[wrong].as_py(), f"row {wrong + 1}: {name}")  # says what is wrong with it
        return pa.array([None if text is None else bytes.fromhex(text[2:]) for text in array.to_pylist()], pa.binary())
    binary = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_null)
    if not any(is_type(array.type) for is_type in binary):
        raise InvalidInput(name, "expected a column of bytes or hexadecimal text", str(array.type))
    return array.cast(pa.binary())


def _flag_column(array: Any, name: str) -> Any:
    if _is_text(array):
        known = pa.array(["0", "1", "false", "true"])
        _refuse(array, pc.invert(pc.is_in(array, known, skip_nulls=True)), name, "expected true, false, 1 or 0")
        return array.cast(pa.bool_())
    if not (pa.types.is_boolean(array.type) or pa.types.is_null(array.type)):
        raise InvalidInput(name, "expected a column of true and false", str(array.type))
    return array.cast(pa.bool_())


def _is_text(array: Any) -> bool:
    return bool(pa.types.is_string(array.type) or pa.types.is_large_string(array.type))


def _refuse(array: Any, bad: Any, name: str, reason: str) -> None:
    row = _first(array, bad)
    if row is not None:
        raise InvalidInput(f"row {row + 1}: {name}", reason, array[row].as_py())


def _first(array: Any, bad: Any) -> int | None:
    bad = pc.and_(pc.fill_null(bad, False), array.is_valid())
    return int(np.argmax(bad.to_numpy())) if pc.any(bad).as_py() else None
