"""Recognise the columns of extractors such as cryo by their names: one list of names for files, tables and nodes.

A column may have any of the names in `NAMES`, so a file may mix the names of several sources. A cryo file needs
`value_string` or `value_binary`, because `value_f64` is not exact.

Sources: paradigmxyz/cryo at 559b654 (2025-01-08), crates/freeze/src/datasets; blockchain-etl/ethereum-etl at 9e51c3b
(2024-03), ethereumetl/jobs/exporters; ethpandaops/xatu-data at 00014e9, schema/canonical_beacon_.md and at 00838fa,
schema/canonical_execution_.md. The Parquet files of xatu are written by ClickHouse. In Parquet files of xatu, a date is
a number of seconds or a timestamp, and a 128-bit integer is 16 bytes in little-endian order
(clickhouse.com/docs/interfaces/formats/Parquet, read in November 2026).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, NamedTuple

import pandas as pd

from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.ethereum._transaction_fields import FIELD_NAMES, IGNORED_NAMES, SIDECAR_NAMES, misspelt
from feemodel.ethereum.fee_market import GAS_PER_BLOB
from feemodel.ethereum.l1_table import L1_NAMES
from feemodel.io.files import Container, PathLike, column_names, container_of, contents, json_objects, read_columns
from feemodel.io.tables import Column, Schema, make_table
from feemodel.io.values import NO_VALUE, ONE, array_of, cell, column

#: Names that neither a transaction nor a table of L1 fees has, and names that take precedence.
_OTHER_NAMES = {
    "block_number": ("block",),
    "block_hash": ("hash",),
    "parent_hash": ("parentHash",),
    "extra_data": ("extraData",),
    "base_fee_per_gas": L1_NAMES["base_fee"],
    "value": ("value_string", "value_binary", "value"),
}
#: Column → its names in files, preferred name first.
NAMES = {
    ours: tuple(
        dict.fromkeys(
            (*(_OTHER_NAMES[ours] if ours == "value" else (ours,)), *FIELD_NAMES.get(ours, ()), *L1_NAMES.get(ours, ()),
             *_OTHER_NAMES.get(ours, ()))
        )
    )
    for ours in (*L1_NAMES, *FIELD_NAMES, *_OTHER_NAMES)
}  # fmt: skip
#: Known names of columns that are not read; they are no misspellings.
_NOT_READ = {"blocks", *IGNORED_NAMES, *SIDECAR_NAMES, *(name for names in NAMES.values() for name in names)}
UNITS = {
    "wei": Fraction(1), "kwei": Fraction(10**3), "gwei": Fraction(10**9), "eth": Fraction(10**18),
    "s": Fraction(1), "ms": Fraction(1, 1000),
}  # fmt: skip
#: Columns that a file may contain several times under different names; the first name found is used.
FIRST_COUNTS = ("value", "transaction_type", "blob_gas_used")
#: Column name in the file → factor that converts the unit implied by the name to the unit of the table.
COUNTED_BY = {"blob_count": Fraction(GAS_PER_BLOB)}


class Source(NamedTuple):
    """Column of a file from which a column of the table is read."""

    name: str
    scale: Fraction  #: factor from the unit of the file to the unit of the table


def names_of(schema: Schema, ours: str) -> tuple[str, ...]:
    """Return the names that a column of the table may have in a file, except names of other columns of the table."""
    own = {column.name for column in schema.columns} - {ours}
    return tuple(name for name in NAMES.get(ours, (ours,)) if name not in own)


def missing(schema: Schema, found: Sequence[str], given: Mapping[str, Any]) -> list[str]:
    """Return the required columns that a file lacks. `given`: columns for which the caller gave the name."""
    needed = [column.name for column in schema.columns if column.presence != "optional" and column.name not in given]
    names = {ours: names_of(schema, ours) for ours in needed}
    return [" or ".join(theirs) for theirs in names.values() if not any(name in found for name in theirs)]


def parse_columns(given: Mapping[str, str] | None, schema: Schema) -> dict[str, Source]:
    """Parse a mapping from columns of the table to column names of the file.

    A name may end in `:UNIT` (wei, kwei, gwei, eth, s or ms) if the file does not use the unit of the table.

    >>> from feemodel.io.tables import L1_FEES
    >>> parse_columns({"base_fee": "fee:gwei"}, L1_FEES)["base_fee"].scale
    Fraction(1000000000, 1)
    """
    chosen = {}
    known = {column.name: column for column in schema.columns}
    aliases = {theirs: ours for ours in known for theirs in names_of(schema, ours)}
    for name, theirs in (given or {}).items():
        ours = name if name in known else aliases.get(name, name)
        if ours not in known:
            close = get_close_matches(name, known, 1)
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
            raise InvalidInput(
                f"columns[{name}]",
                f"{unit} is not a unit of this column, whose values are in {column.unit or 'no unit'}",
                theirs,
            )
        chosen[ours] = Source(source, UNITS[unit])
    return chosen


def sources(
    found: Sequence[str], schema: Schema, given: Mapping[str, Source], values: Mapping[str, Any] | None = None
) -> dict[str, Source]:
    """Return the column of the file from which each column of the table is read.

    Columns of the table that are not in the file are left out of the result.

    Raises `InvalidInput` if several columns of the file match one column of the table. If the values of a single row
    are given as `values`, several columns may match, provided that their values are equal.
    """
    for ours, source in given.items():
        if source.name not in found:
            raise InvalidInput(
                f"columns[{ours}]", f"expected one of the columns of the file, {', '.join(found)}", source.name
            )
    taken = {source.name for source in given.values()}
    chosen = dict(given)
    for one in schema.columns:
        names = [name for name in names_of(schema, one.name) if name in found and name not in taken]
        if one.name in given or not names:
            continue
        if values is not None:
            names = [name for name in names if values.get(name) is not None] or names
            names = [name for name in names if name == names[0] or values.get(name) != values.get(names[0])]
        if len(names) > 1 and one.name not in FIRST_COUNTS:
            advice = f"select one with columns {one.name}=NAME"
            raise InvalidInput(one.name, f"the file has several such columns; {advice}", names)
        chosen[one.name] = Source(names[0], COUNTED_BY.get(names[0], ONE))
    return chosen


def check_spelling(found: Iterable[str], schema: Schema, read: Mapping[str, Source]) -> None:
    """Raise `InvalidInput` for a name that is probably a misspelling of a column that the file lacks."""
    taken = {source.name for source in read.values()} | {column.name for column in schema.columns} | _NOT_READ
    absent = {
        name: column.name
        for column in schema.columns
        if column.name not in read
        for name in names_of(schema, column.name)
    }
    for name in found:
        if name not in taken and (meant := misspelt(name, absent)) is not None:
            ours = absent[meant]
            advice = f"({schema.option} {ours}=NAME, or columns={{{ours!r}: NAME}})"
            raise InvalidInput("columns", f"unknown column, did you mean {meant}? {advice}", name)


def read_table(path: PathLike, schema: Schema, columns: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Read a Parquet, CSV or JSON file; the attribute `names_in_file` has the names of the columns found."""
    container = container_of(path)
    if container == "json":
        return table_of_objects(json_objects(contents(path)), schema, columns)
    if container == "lines":
        raise UnreadableFile(f"{path}: expected Parquet, CSV or JSON, not lines of hexadecimal data")
    read, table = _read(path, container, schema, columns)
    return _made(schema, read, table)


def read_each_row(
    path: PathLike, container: Container, schema: Schema, columns: Mapping[str, str] | None = None
) -> Iterator[tuple[int, pd.DataFrame | InvalidInput]]:
    """Yield the readable rows of a Parquet or CSV file as tables, and an error for each row that cannot be read.

    Each item is a pair of a row number, counted from 1, and the table that starts with this row or the error for this
    row.
    """
    read, table = _read(path, container, schema, columns)
    pieces = [(1, table)] if table.num_rows else []
    while pieces:
        first, piece = pieces.pop()
        try:
            yield first, _made(schema, read, piece)
        except InvalidInput as error:
            half = piece.num_rows // 2
            if half:
                pieces += [(first + half, piece.slice(half)), (first, piece.slice(0, half))]
            else:
                yield first, InvalidInput(error.name.removeprefix("row 1: "), error.reason, error.value)


def _read(
    path: PathLike, container: Container, schema: Schema, columns: Mapping[str, str] | None
) -> tuple[dict[str, Source], Any]:
    """Return the source of each column, and the content of the file."""
    found, given = column_names(path, container), parse_columns(columns, schema)
    if lacking := missing(schema, found, given):
        advice = f"({schema.option} FIELD=NAME, or columns={{FIELD: NAME}}, if a column has another name)"
        needs = f"{schema.name} also need {', '.join(lacking)} {advice}"
        raise UnreadableFile(f"{path}: has the columns {', '.join(found)}; {needs}")
    read = sources(found, schema, given)
    wanted = list(dict.fromkeys(source.name for source in read.values()))
    if twice := [name for name in wanted if found.count(name) > 1]:
        raise UnreadableFile(f"{path}: has the column {twice[0]} twice")
    check_spelling(found, schema, read)
    return read, read_columns(path, container, wanted)


def _made(schema: Schema, read: Mapping[str, Source], table: Any) -> pd.DataFrame:
    arrays: dict[str, Any] = {
        one.name: column(one.kind, table.column(source.name), source.name, source.scale)
        for one in schema.columns
        if (source := read.get(one.name)) is not None
    }
    made = make_table(schema.columns, arrays, table.num_rows)
    made.attrs["names_in_file"] = {ours: source.name for ours, source in read.items()}
    return made


def table_of_objects(
    rows: Iterable[tuple[str, Mapping[str, Any]]], schema: Schema, columns: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Convert JSON objects, each with its position, to a table.

    A field of an object may have any of the names in `NAMES`.
    """
    rows, given = list(rows), parse_columns(columns, schema)
    found = list(dict.fromkeys(name for _, row in rows for name in row))
    read = sources(found, schema, given, {})  # raises an error for a name in `columns` that is in no row
    arrays = arrays_of_rows(schema, [cells_of(schema, *row, given) for row in rows])
    made = make_table(schema.columns, arrays, len(rows), lambda number: rows[number - 1][0])
    check_spelling(found, schema, read)
    made.attrs["names_in_file"] = {ours: source.name for ours, source in read.items()}
    return made


def cells_of(
    schema: Schema, position: str, row: Mapping[str, Any], given: Mapping[str, Source] | None = None
) -> dict[str, Any]:
    """Return the values of a JSON object by column; missing values are `None`. Errors name the position."""
    mine = {ours: source for ours, source in (given or {}).items() if source.name in row}
    try:
        read = sources([*row], schema, mine, row)
    except InvalidInput as error:
        raise InvalidInput(f"{position}: {error.name}", error.reason, error.value) from None
    return {one.name: _cell(one, position, row, read.get(one.name)) for one in schema.columns}


def _cell(one: Column, position: str, row: Mapping[str, Any], source: Source | None) -> Any:
    value = None if source is None else row[source.name]
    if value is None or (isinstance(value, str) and one.kind != "text" and value in NO_VALUE):
        if one.presence == "always" or (one.presence == "nullable" and source is None):
            raise InvalidInput(f"{position}: {one.name if source is None else source.name}", "expected a value")
        return None
    assert source is not None
    return cell(one.kind, value, f"{position}: {source.name}", source.scale)


def arrays_of_rows(schema: Schema, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one array per column from rows of `cells_of`."""
    return {one.name: array_of(one.kind, [row[one.name] for row in rows]) for one in schema.columns}
