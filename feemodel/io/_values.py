"""Parse values of files and nodes: a single JSON value (`cell`) or a whole Arrow column (`column`).

Integers are hexadecimal quantities, JSON integers or decimal digits. Bytes are `0x` and hexadecimal digits, or binary.
Times are seconds since 1970, or a date and time (UTC if there is no time zone). Nothing is rounded: where an integer is
required, a number with a fraction and a double that may have lost digits are refused. An invalid value raises
`InvalidInput` with the name that the caller gave, such as "row 3: gas".
"""

import math
import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from feemodel.checks import INT64_MAX, UINT256_MAX, sequence, text
from feemodel.errors import InvalidInput
from feemodel.ethereum._call import MAX_TYPE, read_access_list, read_type
from feemodel.ethereum._quantities import from_hex, from_number, from_quantity
from feemodel.io._documents import parse_json

#: Kinds of values, for example: `whole` is an integer below 2**63, `amount` is an integer below 2**256, `fee` is an
#: amount of wei that may have a fraction, `real` is a double, and `time` is a number of seconds.
Kind: TypeAlias = Literal["whole", "amount", "fee", "real", "time", "type", "accesses", "list", "data", "flag", "text"]

Arrow: TypeAlias = pa.Array | pa.ChunkedArray

WORD = 32  # size of a 256-bit number [byte]
WIDE = (16, 32)  # sizes of ClickHouse's wide integers [byte]
EXACT_DOUBLE = 2**53  # doubles represent every integer up to this value
EXACT_SHORT = {pa.float32(): 2**24, pa.float16(): 2**11}  # type → value up to which the type represents every integer
LATEST = 2**34  # maximum time [s], in the year 2514; a larger number is probably in another unit
ONE = Fraction(1)

#: Missing values in text files of pandas, R, Dune, Spark and PostgreSQL.
NO_VALUE = ("", "<nil>", "<NA>", "NA", "null", "NULL", "None", "nan", "NaN", "\\N")


def cell(kind: Kind, value: Any, name: str, scale: Fraction = ONE, *, decimal: bool = False) -> Any:
    """Return a value of a JSON object as a Python int, float, bytes, bool or str.

    `scale` = unit of the value / unit of the table. An integer in text is a hexadecimal quantity; if `decimal` is set,
    decimal digits are accepted too.

    >>> cell("whole", "0x5208", "gas_used")
    21000
    """
    match kind:
        case "whole" | "amount" if scale == ONE:
            return _integer(value, name, INT64_MAX if kind == "whole" else UINT256_MAX, decimal=decimal)
        case "type":
            kind_of = from_number(value, name, maximum=MAX_TYPE) if _is_decimal(value) else value
            return read_type(kind_of, name, maximum=MAX_TYPE)
        case "accesses":
            return read_access_list(value, name)
        case "list":
            return sequence(name, value)
        case "data":
            return from_hex(value, name)
        case "flag":
            return _flag(value, name)
        case "text":
            return text(name, value)
        case _:
            return _of_column(kind, value, name, scale=scale)


def column(kind: Kind, array: Arrow, name: str, scale: Fraction = ONE) -> Arrow | NDArray[np.object_]:
    """Convert an Arrow column of a Parquet file, or of a CSV file (as text), to the Arrow type of `kind`.

    Empty strings and `NO_VALUE` are missing values. Amounts and access lists become a NumPy array of objects.
    """
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if pa.types.is_string_view(array.type) or pa.types.is_binary_view(array.type):
        array = array.cast(pa.large_string() if pa.types.is_string_view(array.type) else pa.large_binary())
    if kind in ("whole", "fee", "amount") and pa.types.is_fixed_size_binary(array.type):
        array = _wide_integers(array, name)
    if _is_text(array):
        array = pc.if_else(pc.is_in(array, pa.array(NO_VALUE, array.type)), None, array)
    elif pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_nan(array), None, array)  # pandas writes missing numbers as NaN
        if (maximum := EXACT_SHORT.get(array.type)) is not None and kind not in ("fee", "real"):
            reason = f"expected an integer, not a {array.type} above {maximum:,}, which may have lost digits"
            _refuse(array, pc.greater(array.cast(pa.float64()), float(maximum)), name, reason)
    match kind:
        case "whole" if scale == ONE:
            return _whole_column(array, name)
        case "time" | "type" | "fee" if scale == ONE and _is_plain(array):
            whole = _whole_column(array, name)
            maximum = {"time": LATEST - 1, "type": MAX_TYPE, "fee": INT64_MAX}[kind]
            if (row := _first(whole, pc.greater(whole, maximum))) is not None:
                cell(kind, whole[row].as_py(), f"row {row + 1}: {name}")  # raises an error with the reason
            return whole
        case "whole" | "fee" if scale.denominator == 1 and _is_plain(array):
            whole, factor = _whole_column(array, name), scale.numerator
            if (row := _first(whole, pc.greater(whole, INT64_MAX // factor))) is not None:
                _of_column(
                    kind, whole[row].as_py(), f"row {row + 1}: {name}", scale=scale
                )  # raises an error with the reason
            return pc.multiply(whole, factor)
        case "whole" | "time" | "type":
            return pa.array(_each(array, name, partial(_of_column, kind, scale=scale)), pa.int64())
        case "fee" | "real":
            return fees(_each(array, name, partial(_of_column, kind, scale=scale)), whole=kind == "fee")
        case "amount" | "accesses" | "list":
            return objects(_each(array, name, partial(_of_column, kind, scale=scale)))
        case "data":
            return _data_column(array, name)
        case "flag":
            return _flag_column(array, name)
        case "text":
            return array.cast(pa.string())


def _of_column(kind: Kind, value: Any, name: str, *, scale: Fraction) -> Any:
    """Convert a value of an Arrow column of any type."""
    if kind == "time":
        return _seconds(value, name, scale)
    if kind == "accesses":
        return read_access_list(_json_list(value, name), name)
    if kind == "list":  # ethereum-etl writes a list in CSV as text with separators
        joined = isinstance(value, str) and not value.startswith("[")
        return sequence(name, value.replace(";", ",").split(",") if joined else _json_list(value, name))
    if kind == "amount" and isinstance(value, bytes):
        if len(value) > WORD:
            raise InvalidInput(name, "expected at most 32 bytes", value)
        value = int.from_bytes(value, "big")
    if kind == "type":
        return cell("type", value if isinstance(value, str) and not value.isdecimal() else int(_scaled(
            value, name, ONE, "whole")), name)  # fmt: skip
    if kind == "real":
        return float(_number(value, name))
    return _scaled(value, name, scale, kind)


def _json_list(value: Any, name: str) -> Any:
    return parse_json(value, name) if isinstance(value, str) else value


def _each(array: Any, name: str, read: Callable[[Any, str], Any]) -> list[Any]:
    return [
        None if value is None else read(value, f"row {row}: {name}") for row, value in enumerate(array.to_pylist(), 1)
    ]


# kind of value → error message for a value that is not whole after the conversion of its unit
_WHOLE = {"amount": "expected a whole number of wei", "time": "expected whole seconds"}


def _scaled(value: Any, name: str, scale: Fraction, kind: Kind) -> int | float:
    """Convert a number to the unit of the table without rounding; a fee may have a fraction of a wei."""
    exact = _number(value, name, whole=kind != "fee" and scale == ONE) * scale
    maximum = UINT256_MAX if kind == "amount" else INT64_MAX
    if exact > maximum:
        reason = (
            "expected a whole amount below 2**256" if kind == "amount" else "expected a number of at most 2**63 - 1"
        )
        raise InvalidInput(name, reason, value)
    if exact.denominator == 1:
        if isinstance(value, float) and kind != "fee" and abs(value) > EXACT_DOUBLE:
            raise InvalidInput(name, "expected an integer, not a double above 2**53, which may have lost digits", value)
        return exact.numerator
    if kind != "fee":
        raise InvalidInput(name, _WHOLE.get(kind if scale != ONE else "whole", "expected a whole number"), value)
    return float(exact)


def _number(value: Any, name: str, *, whole: bool = False) -> Fraction:
    """Convert an integer, a finite double (by its shortest decimal form) or text to a fraction of at least 0."""
    if isinstance(value, str) and value[:2] in ("0x", "0X"):
        return Fraction(from_number(value, name, maximum=UINT256_MAX))
    found: Decimal | None = None
    if isinstance(value, str):
        found = Decimal(value) if (_REAL if whole else _DOUBLE).match(value) else None
    elif isinstance(value, float):
        found = Decimal(repr(value)) if math.isfinite(value) else None
    elif isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        found = Decimal(value)
    if found is None or not found.is_finite() or found < 0:
        raise InvalidInput(name, "expected a whole number" if whole else "expected a number of at least 0", value)
    return Fraction(found)


_REAL = re.compile(r"(0|[1-9][0-9]{0,77})(\.[0-9]{1,40})?\Z")  # 2**256 - 1 has 78 digits


# A double as text: Python writes the exponent with "e", and Java with "E".
_DOUBLE = re.compile(r"(0|[1-9][0-9]{0,77})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,2})?\Z")


def _seconds(value: Any, name: str, scale: Fraction) -> int:
    if isinstance(value, str) and value[:2].lower() != "0x" and not _REAL.match(value):
        try:
            value = datetime.fromisoformat(value.removesuffix(" UTC").removesuffix(" utc"))
        except ValueError:
            raise InvalidInput(name, "expected seconds since 1970, or a date and a time", value) from None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        if moment.microsecond or getattr(value, "nanosecond", 0):
            raise InvalidInput(name, "expected whole seconds", str(value))
        value, scale = int(moment.timestamp()), ONE
    seconds = int(_scaled(value, name, scale, "time"))
    if seconds >= LATEST:
        raise InvalidInput(
            name, "expected seconds since 1970 (for milliseconds, append :ms to the name of the column)", value
        )
    return seconds


def _flag(value: Any, name: str) -> bool:
    known = {1: True, 0: False, "0x1": True, "0x0": False, "1": True, "0": False, "true": True, "false": False}
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, str)) and value in known:
        return known[value]
    raise InvalidInput(name, "expected true or false", value)


def fees(values: Sequence[Any], *, whole: bool) -> pa.Array:
    """Return fees as an int64 array if `whole` is true and all fees are integers, and as doubles otherwise."""
    if whole and all(value is None or isinstance(value, int) for value in values):
        return pa.array(values, pa.int64())
    return pa.array([None if value is None else float(value) for value in values], pa.float64())


def objects(values: Sequence[Any]) -> NDArray[np.object_]:
    """Return an object array of the values."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _is_decimal(value: Any) -> bool:
    return isinstance(value, str) and value.isascii() and value.isdecimal()


def _integer(value: Any, name: str, maximum: int, *, decimal: bool) -> int:
    if isinstance(value, str) and not (decimal and _is_decimal(value)):
        number = from_quantity(value, name)
        if number > maximum:
            raise InvalidInput(name, f"expected a number from 0 to 2**{maximum.bit_length()} - 1", value)
        return number
    return from_number(value, name, maximum=maximum)


def _wide_integers(array: Arrow, name: str) -> Arrow:
    """Convert ClickHouse's unsigned integers of 128 and 256 bits (little-endian bytes) to decimal digits."""
    if array.type.byte_width not in WIDE:
        raise InvalidInput(name, "expected numbers, or integers of 16 or 32 bytes", str(array.type))
    digits = [None if value is None else str(int.from_bytes(value, "little")) for value in array.to_pylist()]
    return pa.array(digits, pa.string())


def _whole_column(array: Arrow, name: str) -> Arrow:
    if _is_text(array) and _is_plain(array):
        return array.cast(pa.int64())
    if _is_text(array) or pa.types.is_floating(array.type) or pa.types.is_decimal(array.type):
        return pa.array(_each(array, name, partial(_of_column, "whole", scale=ONE)), pa.int64())
    if not (pa.types.is_integer(array.type) or pa.types.is_null(array.type)):
        raise InvalidInput(name, "expected a column of whole numbers", str(array.type))
    if pa.types.is_uint64(array.type):
        _refuse(
            array, pc.greater(array, pa.scalar(INT64_MAX, pa.uint64())), name, "expected a number of at most 2**63 - 1"
        )
    array = array.cast(pa.int64())
    _refuse(array, pc.less(array, 0), name, "expected a number of at least 0")
    return array


def _is_plain(array: Any) -> bool:
    """Return whether all values are integers, or text of decimal integers, that fit into 64 bits."""
    if _is_text(array):
        return bool(pc.all(pc.fill_null(pc.match_substring_regex(array, "^(0|[1-9][0-9]{0,17})$"), True)).as_py())
    return bool(pa.types.is_integer(array.type))


def _data_column(array: Arrow, name: str) -> Arrow:
    if _is_text(array):
        wrong = _first(array, pc.invert(pc.match_substring_regex(array, "^0x([0-9a-fA-F]{2})*$")))
        if wrong is not None:
            from_hex(array[wrong].as_py(), f"row {wrong + 1}: {name}")  # raises an error with the reason
        return pa.array([None if text is None else bytes.fromhex(text[2:]) for text in array.to_pylist()], pa.binary())
    binary = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_null)
    if not any(is_type(array.type) for is_type in binary):
        raise InvalidInput(name, "expected a column of bytes or hexadecimal text", str(array.type))
    return array.cast(pa.binary())


def _flag_column(array: Arrow, name: str) -> Arrow:
    if _is_text(array):
        array = pc.utf8_lower(array)
        known = pa.array(["0", "1", "0x0", "0x1", "false", "true"], array.type)
        _refuse(array, pc.invert(pc.is_in(array, known, skip_nulls=True)), name, "expected true, false, 1 or 0")
        return pc.if_else(array.is_null(), None, pc.is_in(array, pa.array(["1", "0x1", "true"], array.type)))
    # pandas writes booleans as doubles if values are missing.
    if pa.types.is_floating(array.type) or pa.types.is_decimal(array.type):
        array = _whole_column(array, name)
    if pa.types.is_integer(array.type):
        return _flag_column(array.cast(pa.string()), name)
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
