"""Read and check the TOML files that describe chains. Error messages state the file and the line.

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

A file for `feemodel.rollups.read_chains` can have rows of several chains, in tables such as `[[linea.rows]]`.
"""

import re
import tomllib
from collections.abc import Mapping
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from feemodel.errors import InvalidInput, UnreadableFile, unreadable
from feemodel.rollups.chains import UNKNOWN, Chain, Row, check_parameter, schema, timestamp

FIELDS = {"id": int, "family": str, "token": str, "checked": date, "note": str,
          "without_set_code": str, "confirmed": dict, "rows": list}  # fmt: skip
ROW_FIELDS = {"since": (str, date), "source": str, "checked": date, "note": str, "assumed": list, "unknown": list,
              "keeps": list}  # fmt: skip


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
    UnreadableFile : the folder has no TOML files, or a file is not valid; the error names the file and the line.
    """
    files = sorted(Path(folder).glob("*.toml"))
    if not files:
        raise UnreadableFile(f"{folder}: expected a folder with a .toml file for each chain")
    return {path.stem: read_chain(path) for path in files}


def read_chain(path: Path) -> Chain:
    """Read a chain from its file; raises `UnreadableFile`, which names the line, if the file is not valid."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise unreadable(path, error) from None
    except UnicodeDecodeError:
        raise UnreadableFile(f"{path}: expected UTF-8 text") from None
    return ChainFile(str(path), text).chain(path.stem)


class ChainFile:
    """Parsed TOML file that describes a chain or user-defined rules. Error messages state the file and the line.

    Parameters
    ----------
    path : path of the file, used in error messages.
    text : TOML text of the file.

    Raises `UnreadableFile` for text that is not TOML.
    """

    def __init__(self, path: str, text: str) -> None:
        self.path, self.lines = path, text.splitlines()
        try:
            self.found = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            line = re.search(r"line (\d+)", str(error))
            raise UnreadableFile(f"{path}, line {line[1] if line else text.count(chr(10)) + 1}: {error}") from None

    def chain(self, name: str) -> Chain:
        """Return the chain that the file describes."""
        found = self.found
        self.check_fields(found, FIELDS, ("family", "token", "rows"), "", 0)
        rows = self.rows("rows", found["rows"])
        if rows[-1].timestamp is None:
            self.fail("since", "expected a date in the last row", "rows", len(rows) - 1)
        confirmed = found.get("confirmed", {})
        for parameter, day in confirmed.items():
            if parameter not in schema():
                self.fail(parameter, "not a parameter of schema.toml", "confirmed", 0)
            if not isinstance(day, date):
                self.fail(parameter, f"expected a day such as 2026-08-20, got {day!r}", "confirmed", 0)
        return Chain(
            name=name, family=found["family"], token=found["token"], rows=rows, chain_id=found.get("id"),
            note=found.get("note", ""), without_set_code=found.get("without_set_code", ""),
            confirmed=MappingProxyType({parameter: _iso(day) for parameter, day in confirmed.items()}),
        )  # fmt: skip

    def rows(self, table: str, given: list[Any]) -> tuple[Row, ...]:
        """Check that the rows of a table are valid and in order of time, and return the rows."""
        if not given:
            self.fail(table.partition(".")[0], f"expected at least one table [[{table}]]", "", 0)
        for row in given:
            if not isinstance(row, dict):
                self.fail(table.partition(".")[0], f"expected tables [[{table}]], got {row!r}", "", 0)
        rows = tuple(self.row(table, index, row) for index, row in enumerate(given))
        times = [(index, row.timestamp) for index, row in enumerate(rows) if row.timestamp is not None]
        for (_, before), (index, time) in pairwise(times):
            if before > time:
                self.fail("since", "expected rows ordered by time", table, index)
        return rows

    def row(self, table: str, index: int, row: Mapping[str, Any]) -> Row:
        """Check that one row of a table is valid, and return the row."""
        own = {field: value for field, value in row.items() if field in ROW_FIELDS}
        self.check_fields(own, ROW_FIELDS, ("since", "source"), table, index)
        checked = own.get("checked", self.found.get("checked"))
        if checked is None:
            self.fail("checked", "expected a day in this row, or one for the whole file", table, index)
        since = _iso(own["since"])
        if since != UNKNOWN:
            try:
                timestamp("since", since)
            except InvalidInput:
                self.fail("since", f'expected a time, a day or "unknown", got {since!r}', table, index)
        values = {field: value for field, value in row.items() if field not in ROW_FIELDS}
        for parameter, value in values.items():
            try:
                check_parameter(parameter, value)
            except InvalidInput as error:
                reason = str(error) if parameter in schema() else "not a parameter of schema.toml"
                self.fail(parameter, reason.removeprefix(f"{parameter}: "), table, index)
        lists = {field: tuple(own.get(field, ())) for field in ("assumed", "unknown", "keeps")}
        for field, names in lists.items():
            for parameter in names:
                if parameter not in schema():
                    self.fail(field, f"{parameter!r} is not a parameter of schema.toml", table, index)
                if (field == "assumed") != (parameter in values):
                    where = "a value" if field == "assumed" else "no value"
                    self.fail(field, f"expected {where} for {parameter} in the same row", table, index)
        return Row(
            since=since, values=MappingProxyType(values), source=own["source"], checked=_iso(checked),
            note=own.get("note", ""), **lists,
        )  # fmt: skip

    def check_fields(
        self, found: Mapping[str, Any], known: Mapping[str, Any], needed: tuple[str, ...], table: str, index: int
    ) -> None:
        """Raise `UnreadableFile` for fields that are unknown, missing or of a wrong type."""
        for name, value in found.items():
            if name not in known:
                self.fail(name, f"expected one of {', '.join(known)}", table, index)
            if not isinstance(value, known[name]) or isinstance(value, bool):
                kinds = known[name] if isinstance(known[name], tuple) else (known[name],)
                expected = " or ".join({int: "an integer", str: "text", date: "a day", dict: "a table",
                                        list: "a list"}[kind] for kind in kinds)  # fmt: skip
                self.fail(name, f"expected {expected}, got {value!r}", table, index)
        for name in needed:
            if name not in found:
                self.fail(name, "expected a value", table, index)

    def fail(self, name: str, reason: str, table: str, index: int) -> NoReturn:
        """Raise `UnreadableFile` with the line number of a field, or of the table if the field is missing."""
        raise UnreadableFile(f"{self.path}, line {self.line(name, table, index)}: {name}: {reason}")

    def line(self, name: str, table: str, index: int) -> int:
        """Return the line number of a field in the table `table` with this index; a `table` of "" is the top level."""
        header, count, inside = 1, -1, table == ""
        for number, line in enumerate(self.lines, 1):
            text = line.strip()
            if text.startswith("["):
                if table == "" and text.strip("[] ").partition(".")[0] == name:
                    return number
                inside = text.strip("[] ") == table
                count += inside
                inside = inside and count == index
                header = number if inside else header
            elif inside and re.match(rf"[\"']?{re.escape(name)}[\"']?\s*=", text):
                return number
        return header


def _iso(day: Any) -> str:
    """Return a TOML date or time as ISO 8601 text in UTC, without a time zone."""
    if isinstance(day, datetime):
        return (day.astimezone(UTC) if day.tzinfo else day).strftime("%Y-%m-%dT%H:%M:%S")
    return str(day)
