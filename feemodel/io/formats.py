"""Recognise the columns of extractors such as cryo by their names: one list of names for files, tables and nodes.

A column may have any of the names in `NAMES`, so a file may mix the names of several sources. A cryo file needs
`value_string` or `value_binary`, because `value_f64` is not exact.

Sources: paradigmxyz/cryo at 559b654 (2025-01-08), crates/freeze/src/datasets; blockchain-etl/ethereum-etl at 9e51c3b
(2024-03), ethereumetl/jobs/exporters; ethpandaops/xatu-data at 00014e9, schema/canonical_beacon_.md and at 00838fa,
schema/canonical_execution_.md. The Parquet files of xatu are written by ClickHouse. In Parquet files of xatu, a date is
a number of seconds or a timestamp, and a 128-bit integer is 16 bytes in little-endian order
(clickhouse.com/docs/interfaces/formats/Parquet, read in November 2026).
"""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from fractions import Fraction
from types import NoneType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.ethereum._transaction_fields import FIELD_NAMES, IGNORED_NAMES, SIDECAR_NAMES, misspelt
from feemodel.ethereum.fee_market import GAS_PER_BLOB
from feemodel.ethereum.l1_table import L1_NAMES
from feemodel.io.files import PathLike, column_names, container_of, contents, json_objects, read_columns
from feemodel.io.tables import Column, Schema, make_table
from feemodel.io.values import ONE, array_of, column

#: Further names of columns in files.
_OTHER_NAMES = {
    "block_number": ("block",),
    "block_hash": ("hash",),
    "parent_hash": ("parentHash",),
    "extra_data": ("extraData",),
    "base_fee_per_gas": L1_NAMES["base_fee"],
}
#: Column → its names in files, preferred name first.
NAMES = {
    ours: tuple(dict.fromkeys((ours, *FIELD_NAMES.get(ours, ()), *L1_NAMES.get(ours, ()), *_OTHER_NAMES.get(ours, ()))))
    for ours in (*L1_NAMES, *FIELD_NAMES, *_OTHER_NAMES)
}
#: Known names of columns that are not read; they are no misspellings.
_NOT_READ = {"blocks", *IGNORED_NAMES, *SIDECAR_NAMES, *(name for names in NAMES.values() for name in names)}
UNITS = {
    "wei": Fraction(1), "kwei": Fraction(10**3), "gwei": Fraction(10**9), "eth": Fraction(10**18),
    "s": Fraction(1), "ms": Fraction(1, 1000),
}  # fmt: skip
#: Column whose later names in a file may contradict the first: ethereum-etl's `type` is something else.
FIRST_COUNTS = "transaction_type"
#: Column name in the file → factor that converts the unit implied by the name to the unit of the table.
COUNTED_BY = {"blob_count": Fraction(GAS_PER_BLOB)}


class Source(NamedTuple):
    """Column of a file from which a column of the table is read."""

    name: str
    scale: Fraction  #: factor from the unit of the file to the unit of the table
    unit: str = ""  #: unit that the caller gave


def names_of(schema: Schema, ours: str) -> tuple[str, ...]:
    """Return the names that a column of the table may have in a file, except names of other columns of the table."""
    own = {column.name for column in schema.columns} - {ours}
    return tuple(name for name in NAMES.get(ours, (ours,)) if name not in own)


def parse_columns(given: Mapping[str, str] | None, schema: Schema) -> dict[str, Source]:
    """Parse a mapping from columns of the table to column names of the file.

    A name may end in `:UNIT` (wei, kwei, gwei, eth, s or ms) if the file does not use the unit of the table.

    >>> from feemodel.io.tables import L1_FEES
    >>> parse_columns({"base_fee": "fee:gwei"}, L1_FEES)["base_fee"].scale
    Fraction(1000000000, 1)
    """
    if not isinstance(given, (Mapping, NoneType)):
        raise InvalidInput("columns", "expected a mapping from columns of the table to names of the file", given)
    chosen = {}
    known = {column.name: column for column in schema.columns}
    aliases = {theirs: ours for ours in known for theirs in names_of(schema, ours)}
    for name, theirs in (given or {}).items():
        ours = name if name in known else aliases.get(name, name)
        if ours not in known:
            close = get_close_matches(str(name), known, 1)
            hint = f"did you mean {close[0]}?" if close else f"expected one of {', '.join(known)}"
            raise InvalidInput("columns", f"unknown column of {schema.name}, {hint}", name)
        if ours in chosen:
            raise InvalidInput("columns", "expected each column only once", name)
        if not isinstance(theirs, str) or not theirs:
            raise InvalidInput(f"columns[{name}]", "expected the name of a column of the file", theirs)
        source, _, unit = theirs.rpartition(":")
        if not source or unit not in UNITS:
            chosen[ours] = Source(theirs, COUNTED_BY.get(theirs, ONE))
            continue
        column = known[ours]
        fits = column.kind == "time" if unit in ("s", "ms") else "wei" in column.unit
        if not fits:
            reason = f"{unit} is not a unit of this column, whose values are in {column.unit or 'no unit'}"
            raise InvalidInput(f"columns[{name}]", reason, theirs)
        chosen[ours] = Source(source, UNITS[unit], unit)
    return chosen


def check_spelling(found: Iterable[str], schema: Schema, read: Mapping[str, Sequence[Source]]) -> None:
    """Raise `InvalidInput` for a name that is probably a misspelling of a column that the file lacks."""
    taken = {source.name for named in read.values() for source in named} | _NOT_READ
    lacking = [column.name for column in schema.columns if column.name not in read]
    absent = {name: ours for ours in lacking for name in names_of(schema, ours)}
    for name in found:
        if name not in taken and (meant := misspelt(name, absent)) is not None:
            ours = absent[meant]
            advice = f"({schema.option} {ours}=NAME, or columns={{{ours!r}: NAME}})"
            raise InvalidInput("columns", f"unknown column, did you mean {meant}? {advice}", name)


def read_table(path: PathLike, schema: Schema, columns: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Read a Parquet, CSV or JSON file; the attributes `name` and `unit` say how each column is called there."""
    container = container_of(path)
    if container == "json":
        return table_of_objects(json_objects(contents(path)), schema, columns)
    found = column_names(path, container)
    read = _columns_of(found, schema, columns)
    wanted = list(dict.fromkeys(source.name for named in read.values() for source in named))
    if twice := [name for name in wanted if found.count(name) > 1]:
        raise UnreadableFile(f"{path}: has the column {twice[0]} twice")
    table = read_columns(path, container, wanted)
    return _table(schema, read, table, table.num_rows)


def table_of_frame(frame: pd.DataFrame, schema: Schema, columns: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Convert a DataFrame with the names of one source to a table."""
    read = _columns_of([*frame.columns], schema, columns)
    return _table(schema, read, {name: frame[name].tolist() for name in frame}, len(frame))


def table_of_objects(
    rows: Sequence[Mapping[str, Any]], schema: Schema, columns: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Convert JSON objects to a table; each object has the names of one source. Errors count rows from 1."""
    if not rows:
        return make_table(schema.columns, {}, 0)
    read = _columns_of([*dict.fromkeys(name for row in rows for name in row)], schema, columns)
    for one in schema.columns:
        if one.presence == "nullable":  # may be null, but not absent
            names = {source.name for source in read[one.name]}
            for number, row in enumerate(rows, 1):
                if names.isdisjoint(row):
                    raise InvalidInput(f"row {number}: {one.name}", "expected a value, or null")
    values = {source.name: [row.get(source.name) for row in rows] for named in read.values() for source in named}
    return _table(schema, read, values, len(rows))


def _columns_of(found: Sequence[str], schema: Schema, columns: Mapping[str, str] | None) -> dict[str, list[Source]]:
    """Return, for each column of a table that a file has, the file's columns to read.

    Raises `InvalidInput` for missing and misspelt columns.
    """
    given = parse_columns(columns, schema)
    for ours, source in given.items():
        if source.name not in found:
            reason = f"expected one of the columns of the file, {', '.join(found)}"
            raise InvalidInput(f"columns[{ours}]", reason, source.name)
    taken = {source.name for source in given.values()}
    read = {ours: [source] for ours, source in given.items()}
    for one in schema.columns:
        names = [name for name in names_of(schema, one.name) if name in found and name not in taken]
        if names and one.name not in given:
            read[one.name] = [Source(name, COUNTED_BY.get(name, ONE)) for name in names]
    if missing := [one.name for one in schema.columns if one.presence != "optional" and one.name not in read]:
        lacking = [" or ".join(names_of(schema, ours)[:2]) for ours in missing]
        if schema.prices and read.keys().isdisjoint(schema.prices):
            lacking.append(" or ".join(schema.prices))
        advice = f"{schema.option} {missing[0]}=NAME, or columns={{{missing[0]!r}: NAME}}"
        reason = f"{schema.name} lack {', '.join(lacking)} (for a column with another name: {advice})"
        raise InvalidInput("columns", reason, ", ".join(found))
    check_spelling(found, schema, read)
    return read


def _table(schema: Schema, read: Mapping[str, list[Source]], values: Any, rows: int) -> pd.DataFrame:
    """Return a table from the columns of a file: arrays of Arrow, or lists."""
    arrays = {one.name: _array(one, read[one.name], values) for one in schema.columns if one.name in read}
    made = make_table(schema.columns, arrays, rows)
    made.attrs |= {name: {ours: getattr(named[0], name) for ours, named in read.items()} for name in ("name", "unit")}
    return made


def _array(one: Column, named: Sequence[Source], values: Any) -> Any:
    """Return a column of the table. If a file has several such columns, their values must be equal or missing."""
    first, *others = named
    array = column(one.kind, values[first.name], first.name, first.scale)
    for other in others:
        merged = _listed(array)
        if one.name == FIRST_COUNTS and None not in merged:
            break
        for row, value in enumerate(_listed(column(one.kind, values[other.name], other.name, other.scale))):
            if merged[row] is None:
                merged[row] = value
            elif value is not None and value != merged[row] and one.name != FIRST_COUNTS:
                advice = f"select one with columns {one.name}=NAME"
                reason = f"the file has several such columns with other values; {advice}"
                raise InvalidInput(f"row {row + 1}: {one.name}", reason, [source.name for source in named])
        array = array_of(one.kind, merged)
    return array


def _listed(array: Any) -> list[Any]:
    return [*array] if isinstance(array, np.ndarray) else [*array.to_pylist()]
