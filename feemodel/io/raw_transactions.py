"""Raw transactions from JSON Lines, or one hexadecimal string a line."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from feemodel.errors import InvalidInput
from feemodel.io.documents import encoded, parse_json
from feemodel.io.files import BOM, PathLike, opened, reading
from feemodel.io.tables import RAW_TRANSACTIONS, table_of_rows

PAYLOADS = ("raw", "sender_and_unsigned_transaction")

#: Other spellings of a field.
_ALIASES = {"block": "block_number"}


def read_raw_transactions(path: PathLike) -> pd.DataFrame:
    """The transactions of a file of lines as the table `feemodel.io.tables.RAW_TRANSACTIONS`, in the order of the file.

    Parameters
    ----------
    path : text, plain or gzipped, as `parse_raw_transactions` takes it.

    Raises `UnreadableFile` that names the file, the line and the value; nothing is read in part.
    """
    with reading(path), opened(path) as file:
        return parse_raw_transactions(file)


def parse_raw_transactions(lines: Iterable[bytes | str]) -> pd.DataFrame:
    """The transactions of lines as the table `feemodel.io.tables.RAW_TRANSACTIONS`, in their order.

    Parameters
    ----------
    lines : each a JSON object, or the signed encoding in hexadecimal with 0x; empty lines are skipped. An object has
        `raw` (the signed EIP-2718 encoding) or `sender_and_unsigned_transaction`, and any of the other columns of the
        table, integers as JSON integers or hexadecimal quantities; what else it has is left out.

    Raises `InvalidInput` that names the line and the value.

    >>> lines = [b'{"raw": "0x02f87782e708", "gas_used": 21000}', b"0x02f87782e709"]
    >>> parse_raw_transactions(lines)["raw"].to_list()
    [b'\\x02\\xf8w\\x82\\xe7\\x08', b'\\x02\\xf8w\\x82\\xe7\\t']
    """
    table = table_of_rows(RAW_TRANSACTIONS, _rows(lines))
    if table.empty:
        raise InvalidInput("lines", "expected transactions, one a line, found none")
    return table


def _rows(lines: Iterable[bytes | str]) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(lines, (str, bytes, bytearray)) or not isinstance(lines, Iterable):
        raise InvalidInput("lines", "expected lines, such as a list of them", lines)
    for number, line in enumerate(lines, 1):
        if stripped := encoded(f"line {number}", line).removeprefix(BOM if number == 1 else b"").strip():
            yield f"line {number}", _row(stripped, f"line {number}")


def _row(line: bytes, place: str) -> dict[str, Any]:
    if line.startswith(b"0x"):
        return {"raw": line.decode("ascii", errors="replace")}
    if not line.startswith(b"{"):
        raise InvalidInput(place, "expected a JSON object, or hexadecimal data that starts with 0x", line)
    return raw_row(parse_json(line, place), place)


def raw_row(row: Mapping[str, Any], place: str) -> dict[str, Any]:
    """A JSON object as a row of the table; `InvalidInput` where it holds no transaction."""
    row = {_ALIASES.get(name, name): value for name, value in row.items()}
    given = [name for name in PAYLOADS if row.get(name) is not None]
    if not given:
        raise InvalidInput(place, f"expected a field {' or '.join(PAYLOADS)}", sorted(row))
    if "0x" in [row[name] for name in given]:
        raise InvalidInput(place, "expected a transaction of at least one byte", "0x")
    return row
