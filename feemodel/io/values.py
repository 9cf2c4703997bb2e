"""Convert the values of files and nodes: one function for a value, and one for a column of a table.

Integers are JSON integers, decimal digits, or hexadecimal digits after 0x. Bytes are hexadecimal digits after 0x, or
binary. Times are seconds since 1970, or a date and time (UTC if there is no time zone). Nothing is rounded: where an
integer is required, a number with a fraction and a double that may have lost digits are refused. An invalid value
raises `InvalidInput` with the name that the caller gave, such as "row 3: gas".
"""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from feemodel.checks import INT64_MAX, UINT256_MAX, sequence
from feemodel.errors import InvalidInput
from feemodel.ethereum._call import MAX_TYPE, is_missing, read_type
from feemodel.ethereum._quantities import as_bytes, from_number
from feemodel.io.files import NO_VALUE, parse_json

#: Kinds of values: `whole` is an integer below 2**63, `amount` is an integer below 2**256, `fee` is an amount of wei
#: that may have a fraction, `real` is a double, and `time` is a number of seconds.
Kind: TypeAlias = Literal["whole", "amount", "fee", "real", "time", "type", "list", "data"]
Arrow: TypeAlias = pa.Array | pa.ChunkedArray

ARROW_TYPES = {"whole": pa.int64(), "time": pa.int64(), "type": pa.int64(), "real": pa.float64(), "data": pa.binary()}
OBJECTS = ("amount", "list")  # kinds of columns that hold Python objects
WORD = 32  # size of a 256-bit number [byte]
EXACT_DOUBLE = 2**53  # doubles represent every integer up to this value
LATEST = 2**34  # maximum time [s], in the year 2514; a larger number is probably in another unit
LARGEST = {"time": LATEST - 1, "type": MAX_TYPE, "whole": INT64_MAX, "fee": INT64_MAX}
ONE = Fraction(1)
# A double as text: Python writes the exponent with "e", and Java with "E".
_NUMBER = re.compile(r"(0|[1-9][0-9]{0,999})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,2})?\Z")
_PLAIN = "^(0|[1-9][0-9]{0,17})$"


def cell(kind: Kind, value: Any, name: str, scale: Fraction = ONE) -> Any:
    """Return one value as a Python int, float, bytes or list; `scale` = its unit / unit of the table.

    >>> cell("whole", "0x5208", "gas_used"), cell("fee", "1.5", "base_fee", Fraction(10**9))
    (21000, 1500000000)
    """
    match kind:
        case "data":
            return as_bytes(name, value)
        case "real":
            return float(_exact(value, name))
        case "time":
            return _seconds(value, name, scale)
        case "type":
            is_number = not isinstance(value, str) or value.isdecimal()
            return read_type(name, _number("whole", value, name, ONE) if is_number else value, maximum=MAX_TYPE)
        case "list":
            return sequence(name, parse_json(value, name) if isinstance(value, str) else value)
        case _:
            return _number(kind, value, name, scale)


def column(kind: Kind, values: Arrow | Sequence[Any], name: str, scale: Fraction = ONE) -> Arrow | NDArray[np.object_]:
    """Convert a column of a Parquet file, a CSV file (as text) or JSON to the Arrow type of `kind`, or to objects."""
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        if (ready := _without_python(kind, values, scale)) is not None:
            return ready
        # ClickHouse writes unsigned integers of 128 and 256 bits in little-endian order.
        is_little = kind in ("whole", "fee", "amount") and values.type in (pa.binary(16), pa.binary(WORD))
        values = values.to_pylist()
        if is_little:
            values = [None if value is None else int.from_bytes(value, "little") for value in values]
    read = [
        None
        if is_missing(value) or (isinstance(value, (str, float)) and str(value) in NO_VALUE)
        else cell(kind, value, f"row {row}: {name}", scale)
        for row, value in enumerate(values, 1)
    ]
    return array_of(kind, read)


def _without_python(kind: Kind, array: Arrow, scale: Fraction) -> Arrow | None:
    """Return a column that is converted at once, or `None` if this is not possible."""
    kinds, is_integer = pa.types, pa.types.is_integer(array.type)
    if kind == "data" and (kinds.is_binary(array.type) or kinds.is_large_binary(array.type)):
        return array.cast(pa.binary())
    if kinds.is_null(array.type) and kind in ARROW_TYPES:
        return array.cast(ARROW_TYPES[kind])
    is_plain = kinds.is_string(array.type) and pc.all(pc.match_substring_regex(array, _PLAIN)).as_py()
    if kind not in LARGEST or scale.denominator != 1 or not (is_integer or is_plain):
        return None
    try:
        whole = array.cast(pa.int64())
    except pa.ArrowInvalid:  # an unsigned number above 2**63 - 1
        return None
    ends = pc.min_max(whole)
    if (ends["max"].as_py() or 0) > LARGEST[kind] // scale.numerator or (ends["min"].as_py() or 0) < 0:
        return None
    return whole if scale == ONE else pc.multiply(whole, scale.numerator)


def array_of(kind: Kind, values: Sequence[Any]) -> pa.Array | NDArray[np.object_]:
    """Return an array of results of `cell`; fees are int64 if all of them are whole, and doubles otherwise."""
    if kind in OBJECTS:
        return np.fromiter(values, dtype=object, count=len(values))
    if kind != "fee":
        return pa.array(values, ARROW_TYPES[kind])
    if all(value is None or isinstance(value, int) for value in values):
        return pa.array(values, pa.int64())
    return pa.array([None if value is None else float(value) for value in values], pa.float64())


def _number(kind: Kind, value: Any, name: str, scale: Fraction) -> int | float:
    """Convert a number to the unit of the table without rounding; a fee may have a fraction of a wei."""
    largest = UINT256_MAX if kind == "amount" else INT64_MAX
    if type(value) is int and scale == ONE and 0 <= value <= largest:
        return value
    if kind == "amount" and isinstance(value, bytes) and len(value) <= WORD:
        value = int.from_bytes(value, "big")
    exact = _exact(value, name, whole=kind != "fee" and scale == ONE) * scale
    if exact > largest:
        limit = "a whole amount below 2**256" if kind == "amount" else "a number of at most 2**63 - 1"
        raise InvalidInput(name, f"expected {limit}", value)
    if exact.denominator == 1:
        if isinstance(value, float) and kind != "fee" and abs(value) > EXACT_DOUBLE:
            raise InvalidInput(name, "expected an integer, not a double above 2**53, which may have lost digits", value)
        return exact.numerator
    if kind != "fee":
        unit = {"amount": " of wei", "time": " of seconds"}.get(kind, "") if scale != ONE else ""
        raise InvalidInput(name, f"expected a whole number{unit}", value)
    return float(exact)


def _exact(value: Any, name: str, *, whole: bool = False) -> Fraction:
    """Convert an integer, a finite double (by its shortest decimal form) or text to a fraction of at least 0."""
    if isinstance(value, str) and value[:2] in ("0x", "0X"):
        return Fraction(from_number(value, name, maximum=UINT256_MAX))
    number: Decimal | None = None
    if isinstance(value, str):
        digits = _NUMBER.match(value)
        number = Decimal(value) if digits and not (whole and digits[3]) else None
    elif isinstance(value, (int, float, np.integer, Decimal)) and not isinstance(value, bool):
        number = Decimal(value if isinstance(value, int) else str(value))
    if number is None or not number.is_finite() or number < 0:
        raise InvalidInput(name, "expected a whole number" if whole else "expected a number of at least 0", value)
    return Fraction(number)


def _seconds(value: Any, name: str, scale: Fraction) -> int:
    if isinstance(value, str) and value[:2].lower() != "0x" and not _NUMBER.match(value):
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
    seconds = int(_number("time", value, name, scale))
    if seconds >= LATEST:
        advice = "for milliseconds, append :ms to the name of the column"
        raise InvalidInput(name, f"expected seconds since 1970 ({advice})", value)
    return seconds
