"""Read and check the TOML files that describe chains. Error messages state the file, the row and the parameter.

Format of a file:

    id = 8453                       # chain id of EIP-155, if the chain has one
    family = "op-stack"
    token = "ETH"
    checked = 2026-11-24            # day of the last comparison with the sources; a row may set its own day
    note = "…"                      # optional, as is `without_set_code`

    [confirmed]                     # parameter = last day for which sources confirm the parameter's values
    base_fee_scalar = 2026-08-20

    [[rows]]
    since = 2024-03-14T00:17:53Z    # a time, a day, or "unknown"
    source = "…"
    base_fee_scalar = 1_101         # parameters of `schema.toml`
    unknown = ["gas_limit"]         # parameters without a known value from this date on
    assumed = []                    # parameters of this row whose values are assumptions
    keeps = []                      # parameters that this upgrade does not change, according to its specification
"""

import tomllib
from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType, NoneType
from typing import Any

from feemodel.checks import choice
from feemodel.errors import InvalidInput, UnreadableFile, unreadable
from feemodel.ethereum._quantities import known_fields
from feemodel.rollups.chains import Chain, Row, check_parameter, schema

LISTS = ("assumed", "unknown", "keeps")
TEXTS = ("family", "token", "note", "without_set_code")
FIELDS: Mapping[str, Any] = {"id": int, **dict.fromkeys(TEXTS, str), "checked": date, "confirmed": dict, "rows": list}
OF_ROW = {"since": (str, date), "source": str, "checked": date, "note": str}
ROW_FIELDS: Mapping[str, Any] = {**OF_ROW, **dict.fromkeys(LISTS, list)}
NAMES = {int: "an integer", str: "text", date: "a day", dict: "a table", list: "a list", (str, date): "text or a day"}


def read_chains(folder: str | Path) -> dict[str, Chain]:
    """Read all chains that the TOML files in a folder describe.

    Parameters
    ----------
    folder : folder with one TOML file per chain.

    Returns
    -------
    dict : `Chain` objects by file name, without ".toml".

    Raises
    ------
    UnreadableFile : the folder has no TOML files, or a file is not valid; the error names the file and the place in it.
    """
    files = sorted(Path(folder).glob("*.toml"))
    if not files:
        raise UnreadableFile(f"{folder}: expected a folder with a .toml file for each chain")
    return {path.stem: read_chain(path) for path in files}


def read_chain(path: Path) -> Chain:
    """Read a chain from its file; raises `UnreadableFile`, which names the place, if the file is not valid."""
    try:
        return chain_of(path.stem, tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise unreadable(path, error) from None
    except ValueError as error:  # not UTF-8 text, not TOML, or not a chain
        raise UnreadableFile(f"{path}: {error}") from None


def chain_of(name: str, found: Mapping[str, Any]) -> Chain:
    """Return the chain that the contents of a file describe."""
    known_fields("chain", found, FIELDS)
    _check_fields("", found, FIELDS, ("family", "token", "rows"))
    rows = tuple(_row(f"rows[{index}]", row, found.get("checked")) for index, row in enumerate(found["rows"]))
    if not rows or rows[-1].timestamp is None:
        raise InvalidInput("rows", "expected a last row with a date", None)
    dated = [(index, row.timestamp) for index, row in enumerate(rows) if row.timestamp is not None]
    for (_, before), (index, time) in pairwise(dated):
        if before > time:
            raise InvalidInput(f"rows[{index}].since", "expected rows ordered by time", rows[index].since)
    confirmed = known_fields("confirmed", found.get("confirmed", {}), schema())
    _check_fields("confirmed.", confirmed, dict.fromkeys(confirmed, date))
    days = MappingProxyType({parameter: _iso(day) for parameter, day in confirmed.items()})
    texts = {field: found.get(field, "") for field in TEXTS}
    return Chain(name=name, rows=rows, chain_id=found.get("id"), confirmed=days, **texts)


def _row(place: str, row: Any, checked: date | None) -> Row:
    """Return one row of a file; `checked` is the default of the row's field `checked`."""
    known_fields(place, row, (*ROW_FIELDS, *schema()))
    own = {"checked": checked, **row} if checked else row
    _check_fields(f"{place}.", own, ROW_FIELDS, ("since", "source", "checked"))
    values = {field: value for field, value in row.items() if field not in ROW_FIELDS}
    lists: dict[str, Any] = {field: tuple(own.get(field, ())) for field in LISTS}
    for field, names in lists.items():
        for parameter in names:
            choice(f"{place}.{field}", parameter, schema())
            if (field == "assumed") != (parameter in values):
                where = "a value" if field == "assumed" else "no value"
                raise InvalidInput(f"{place}.{field}", f"expected {where} for it in the same row", parameter)
    try:
        for parameter, value in values.items():
            check_parameter(parameter, value)
        days: dict[str, Any] = {field: _iso(own[field]) for field in ("since", "checked")}
        return Row(values=MappingProxyType(values), source=own["source"], note=own.get("note", ""), **days, **lists)
    except InvalidInput as error:
        raise InvalidInput(f"{place}.{error.name}", error.reason, error.value) from None


def _check_fields(place: str, found: Mapping[str, Any], kinds: Mapping[str, Any], needed: Collection[str] = ()) -> None:
    """Raise `InvalidInput` for fields that are missing or of a wrong type."""
    for field, kind in kinds.items():
        value = found.get(field)
        if (value is None and field in needed) or not isinstance(value, (kind, NoneType)) or isinstance(value, bool):
            raise InvalidInput(f"{place}{field}", f"expected {NAMES[kind]}", value)


def _iso(day: Any) -> str:
    """Return a TOML date or time as ISO 8601 text in UTC, without an offset."""
    if isinstance(day, datetime):
        return (day.astimezone(UTC) if day.tzinfo else day).strftime("%Y-%m-%dT%H:%M:%S")
    return str(day)
