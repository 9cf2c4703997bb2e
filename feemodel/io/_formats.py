"""File formats of data extractors such as cryo, and their column names. Formats are recognised by column names.

A transaction field may have any of the names that `feemodel.ethereum._transaction_fields` lists for it. A file may mix
the column names of several sources.

Sources: paradigmxyz/cryo at 559b654 (2025-01-08), crates/freeze/src/datasets; blockchain-etl/ethereum-etl at 9e51c3b
(2024-03), ethereumetl/jobs/exporters; ethpandaops/xatu-data at 00014e9, schema/canonical_beacon_.md and at 00838fa,
schema/canonical_execution_.md. The Parquet files of xatu are written by ClickHouse. In Parquet files of xatu, a date is
a number of seconds or a timestamp, and a 128-bit integer is 16 bytes in little-endian order
(clickhouse.com/docs/interfaces/formats/Parquet, read in November 2026).
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

import pandas as pd

from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.ethereum._transaction_fields import FIELD_NAMES, FIELD_OF, IGNORED_NAMES, SIDECAR_NAMES, misspelt
from feemodel.ethereum.fee_market import GAS_PER_BLOB
from feemodel.ethereum.l1_table import L1_NAMES
from feemodel.io._files import Container, PathLike, column_names, json_items, read_columns
from feemodel.io._tables import (
    BLOCKS,
    L1_FEES,
    PRICED,
    RAW_TRANSACTIONS,
    RECEIPTS,
    TRANSACTIONS,
    Columns,
    cells_of_row,
    make_table,
    table_of_cells,
)
from feemodel.io._values import ONE
from feemodel.io._values import column as convert

EXACT_VALUES = ("value_string", "value_binary", "value")  # names of cryo's columns with exact values
LOSSY_VALUES = ("value_f64", "value_f32", "value_float")


@dataclass(frozen=True, slots=True)
class Format:
    """File format: the columns of the table that is read, and the names of these columns in the file."""

    name: str
    reader: str  #: name of the function that reads this format
    columns: Columns
    #: column → names in the file, preferred name first
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    needs: tuple[str, ...] = ()  #: columns that this format requires although they are optional in the table
    ignored: frozenset[str] = IGNORED_NAMES  #: known columns that are ignored
    option: str = "--columns"  #: command-line option that gives the names of columns

    def source_names(self, column: str) -> tuple[str, ...]:
        """Return the names that a column of the table may have in the file."""
        return self.names.get(column, (column,))

    def missing(self, found: Sequence[str], given: Mapping[str, Any] = MappingProxyType({})) -> list[str]:
        """Return the required columns that a file lacks. `given`: columns for which the caller gave the name."""
        needed = [column.name for column in self.columns if column.presence != "optional"]
        return [
            " or ".join(self.source_names(column))
            for column in (*needed, *self.needs)
            if column not in given and not any(name in found for name in self.source_names(column))
        ]


#: Fields of a block's header, and columns that extractors add.
HEADER_NAMES = frozenset(
    """
    number hash block_hash parent_hash author miner nonce mix_hash sha3_uncles uncles_hash logs_bloom state_root
    transactions_root receipts_root withdrawals_root withdrawals parent_beacon_block_root requests_hash difficulty
    total_difficulty size extra_data chain_id transaction_count timestamp gas_used gas_limit base_fee_per_gas
    blob_gas_used excess_blob_gas block_number date time
    """.split()  # noqa: SIM905 one string is easier to read than a list
)
CRYO_BLOCKS = Format("blocks of cryo or `feemodel fetch`", "read_blocks", BLOCKS, ignored=HEADER_NAMES)
ETL_BLOCKS = Format(
    "blocks of ethereum-etl", "read_blocks", BLOCKS, {"block_number": ("number",), "block_hash": ("hash",)},
    ignored=HEADER_NAMES,
)  # fmt: skip
TRANSACTION_FILES = Format(
    "transactions",
    "read_transactions",
    TRANSACTIONS,
    {name: (name, *FIELD_NAMES[name]) for name in (column.name for column in TRANSACTIONS)}
    | {"value": tuple(dict.fromkeys((*EXACT_VALUES, *FIELD_NAMES["value"])))},
    ignored=IGNORED_NAMES | SIDECAR_NAMES | {"strict", "block_hash", "blockHash", "item_id", "item_timestamp"},
)
RAW_FILES = Format(
    "raw transactions", "read_transactions", RAW_TRANSACTIONS, {"block_number": ("block_number", "block")}, ("raw",),
    IGNORED_NAMES | FIELD_OF.keys(),
)  # fmt: skip
RAW_UNSIGNED_FILES = replace(RAW_FILES, needs=("sender_and_unsigned_transaction",))
RECEIPT_FILES = Format(
    "receipts of ethereum-etl or of a node", "read_transactions(receipts=)", RECEIPTS,
    {
        "transaction_hash": ("transaction_hash", "transactionHash"), "gas_used": ("gas_used", "gasUsed"),
        "effective_gas_price": ("effective_gas_price", "effectiveGasPrice"), "success": ("status",),
    },
    ignored=IGNORED_NAMES | FIELD_OF.keys(),
)  # fmt: skip
#: Columns of xatu that are not needed for fees.
XATU_NAMES = frozenset(
    """
    updated_date_time slot epoch epoch_start_date_time block_root block_version block_total_bytes
    block_total_bytes_compressed parent_root state_root proposer_index eth1_data_block_hash eth1_data_deposit_root
    execution_payload_block_hash execution_payload_fee_recipient execution_payload_state_root
    execution_payload_parent_hash execution_payload_transactions_count execution_payload_transactions_total_bytes
    execution_payload_transactions_total_bytes_compressed extra_data_string
    meta_client_name meta_client_id meta_client_version meta_client_implementation meta_client_os meta_client_ip
    meta_client_geo_city meta_client_geo_country meta_client_geo_country_code meta_client_geo_continent_code
    meta_client_geo_longitude meta_client_geo_latitude meta_client_geo_autonomous_system_number
    meta_client_geo_autonomous_system_organization meta_network_id meta_network_name meta_consensus_version
    meta_consensus_version_major meta_consensus_version_minor meta_consensus_version_patch
    meta_consensus_implementation meta_labels
    """.split()  # noqa: SIM905 one string is easier to read than a list
)
L1_FEE_FILES = Format(
    "L1 fees",
    "read_l1_fees",
    L1_FEES,
    L1_NAMES,
    ignored=HEADER_NAMES | XATU_NAMES | {"blocks"},  # "blocks" is the number of blocks that a mean covers
    option="--l1-columns",
)  # fmt: skip
PRICED_FILES = Format(
    "transactions with their gas and price",
    "add_tips",
    PRICED,
    {
        "block_number": ("block_number", "blockNumber"),
        "gas_used": ("gas_used", "gasUsed", "receipt_gas_used"),
        "gas_price": ("gas_price", "gasPrice"),
        "effective_gas_price": ("effective_gas_price", "effectiveGasPrice", "receipt_effective_gas_price"),
    },
    ignored=IGNORED_NAMES | FIELD_OF.keys() | XATU_NAMES | {"block_hash", "block_timestamp"},
)

#: Fee columns; a table of L1 fees must have at least one of these columns.
_FEES_OF_L1 = tuple(
    name for ours in ("base_fee", "blob_base_fee", "excess_blob_gas") for name in L1_FEE_FILES.names[ours]
)

#: Names of columns that transactions have and blocks lack.
_PRICE_NAMES = frozenset(name for field in ("gas_price", "max_fee_per_gas") for name in (field, *FIELD_NAMES[field]))

ALL = (CRYO_BLOCKS, ETL_BLOCKS, TRANSACTION_FILES, L1_FEE_FILES)
UNITS = {
    "wei": Fraction(1), "kwei": Fraction(10**3), "gwei": Fraction(10**9), "eth": Fraction(10**18),
    "s": Fraction(1), "ms": Fraction(1, 1000),
}  # fmt: skip


SHOWN = 12  # maximum number of column names in a message

#: Columns that a file may contain several times under different names; the first name found is used.
FIRST_COUNTS = ("value", "transaction_type", "blob_gas_used")


#: Column name in the file → factor that converts the unit implied by the name to the unit of the table.
COUNTED_BY = {"blob_count": Fraction(GAS_PER_BLOB)}


class Source(NamedTuple):
    """Column of a file from which a column of the table is read."""

    name: str
    scale: Fraction  #: factor from the unit of the file to the unit of the table

    @classmethod
    def named(cls, name: str) -> "Source":
        """Return a `Source` with the given column name, and with the scale of the unit that the name implies."""
        return cls(name, COUNTED_BY.get(name, ONE))


def parse_columns(given: Mapping[str, str] | None, form: Format) -> dict[str, Source]:
    """Parse a mapping from columns of the table to column names of the file.

    A name may end in `:UNIT` (wei, kwei, gwei, eth, s or ms) if the file does not use the unit of the table.

    >>> parse_columns({"base_fee": "fee:gwei"}, L1_FEE_FILES)["base_fee"].scale
    Fraction(1000000000, 1)
    """
    chosen = {}
    known = {column.name: column for column in form.columns}
    aliases = {alias: ours for ours, names in form.names.items() for alias in names}
    for name, theirs in (given or {}).items():
        ours = name if name in known else aliases.get(name, name)
        if ours not in known:
            close = get_close_matches(name, known, 1)
            hint = f"did you mean {close[0]}?" if close else f"expected one of {', '.join(known)}"
            raise InvalidInput("columns", f"unknown column of {form.name}, {hint}", name)
        if ours in chosen:
            raise InvalidInput("columns", "expected each column only once", name)
        if not isinstance(theirs, str) or not theirs:
            raise InvalidInput(f"columns[{name}]", "expected the name of a column of the file", theirs)
        source, _, unit = theirs.rpartition(":")
        if not source or unit not in UNITS:
            chosen[ours] = Source.named(theirs)
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
    found: Sequence[str], form: Format, given: Mapping[str, Source], values: Mapping[str, Any] | None = None
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
    for column in form.columns:
        names = [name for name in form.source_names(column.name) if name in found and name not in taken]
        if column.name in given or not names:
            continue
        if values is not None:
            names = [name for name in names if values.get(name) is not None] or names
            names = [name for name in names if name == names[0] or values.get(name) != values.get(names[0])]
        if len(names) > 1 and column.name not in FIRST_COUNTS:
            advice = f"select one with columns {column.name}=NAME"
            raise InvalidInput(column.name, f"the file has several such columns; {advice}", names)
        chosen[column.name] = Source.named(names[0])
    return chosen


def say_unread(position: str, found: Sequence[str], form: Format, read: Mapping[str, Source]) -> None:
    """Warn about columns that are in a file but will not be read.

    Raises `InvalidInput` for a name that is probably a misspelling of a column that the file lacks.
    """
    known = {name: column.name for column in form.columns for name in form.source_names(column.name)}
    taken = {source.name for source in read.values()}
    unread = [name for name in found if name not in known and name not in taken and name not in form.ignored]
    absent = [name for name, ours in known.items() if ours not in read]
    for name in unread:
        if (meant := misspelt(name, absent)) is not None:
            ours = known[meant]
            advice = f"unknown column, did you mean {meant}? ({form.option} {ours}=NAME, or columns={{{ours!r}: NAME}})"
            raise InvalidInput("columns", advice, name)
    if unread:
        shown = ", ".join(unread[:SHOWN]) + (f" and {len(unread) - SHOWN:,} more" if len(unread) > SHOWN else "")
        warnings.warn(f"{position}: columns that were ignored: {shown}", stacklevel=2)


def read_format(
    path: PathLike, container: Container, formats: Sequence[Format], columns: Mapping[str, str] | None = None
) -> tuple[Format, pd.DataFrame]:
    """Read a Parquet or CSV file in the first of the formats that matches the columns of the file.

    The attribute `not_in_file` of the table lists the columns that the file does not have.
    """
    chosen, read, table = _read_table(path, container, formats, columns)
    made = _made(chosen, read, table)
    made.attrs["not_in_file"] = [column.name for column in chosen.columns if column.name not in read]
    made.attrs["names_in_file"] = {ours: source.name for ours, source in read.items()}
    return chosen, made


def read_each_row(
    path: PathLike, container: Container, formats: Sequence[Format], columns: Mapping[str, str] | None = None
) -> Iterator[tuple[int, pd.DataFrame | InvalidInput]]:
    """Yield the readable rows of a Parquet or CSV file as tables, and an error for each row that cannot be read.

    Each item is a pair of a row number, counted from 1, and the table that starts with this row or the error for this
    row.
    """
    chosen, read, table = _read_table(path, container, formats, columns)
    pieces = [(1, table)] if table.num_rows else []
    while pieces:
        first, piece = pieces.pop()
        try:
            yield first, _made(chosen, read, piece)
        except InvalidInput as error:
            half = piece.num_rows // 2
            if half:
                pieces += [(first + half, piece.slice(half)), (first, piece.slice(0, half))]
            else:
                yield first, InvalidInput(error.name.removeprefix("row 1: "), error.reason, error.value)


def _read_table(
    path: PathLike, container: Container, formats: Sequence[Format], columns: Mapping[str, str] | None
) -> tuple[Format, dict[str, Source], Any]:
    """Return the first format that matches a file, the source of each column, and the content of the file."""
    found = column_names(path, container)
    given = {form.name: parse_columns(columns, form) for form in formats}
    chosen = next((form for form in formats if not form.missing(found, given[form.name])), None)
    if chosen is None:
        raise UnreadableFile(f"{path}: has the columns {', '.join(found)}; {_explanation(found, formats)}")
    read = sources(found, chosen, given[chosen.name])
    wanted = list(dict.fromkeys(source.name for source in read.values()))
    if twice := [name for name in wanted if found.count(name) > 1]:
        raise UnreadableFile(f"{path}: has the column {twice[0]} twice")
    say_unread(str(path), found, chosen, read)
    table = read_columns(path, container, wanted)
    return chosen, read, table


def _made(form: Format, read: Mapping[str, Source], table: Any) -> pd.DataFrame:
    arrays: dict[str, Any] = {
        column.name: convert(column.kind, table.column(source.name), source.name, source.scale)
        for column in form.columns
        if (source := read.get(column.name)) is not None
    }
    return make_table(form.columns, arrays, table.num_rows)


def rows_of_json(data: bytes | str) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the objects of a JSON list, of JSON Lines, or of a Dune query's response, each with its position."""
    rows = list(json_items(data, "row", "row 1", inside=_rows_of_dune))
    for position, row in rows:
        if not isinstance(row, Mapping):
            raise InvalidInput(position, "expected an object", row)
    return rows


def _rows_of_dune(document: Any) -> Any:
    """Return the rows in the response of a Dune query or of a node; return any other document unchanged."""
    result = document.get("result") if isinstance(document, Mapping) else None
    if isinstance(result, list):
        return result
    return result["rows"] if isinstance(result, Mapping) and "rows" in result else document


def table_of_objects(
    rows: Sequence[tuple[str, Mapping[str, Any]]],
    form: Format,
    columns: Mapping[str, str] | None,
    *,
    decimal: bool = True,
) -> pd.DataFrame:
    """Convert JSON objects, each with its position, to a table.

    A field of an object may have any of the names that `form` lists for its column.

    `decimal` : whether integers in text may be decimal; a node writes only hexadecimal integers.
    """
    given = parse_columns(columns, form)
    found = list(dict.fromkeys(name for _, row in rows for name in row))
    sources(found, form, given, {})  # raises an error for a name in `columns` that is in no row
    missing_name = {name: form.source_names(name)[0] for name in (column.name for column in form.columns)}

    def cells() -> Iterator[list[Any]]:
        for position, row in rows:
            mine = {ours: source for ours, source in given.items() if source.name in row}
            try:
                read = sources([*row], form, mine, row)
            except InvalidInput as error:
                raise InvalidInput(f"{position}: {error.name}", error.reason, error.value) from None
            names = missing_name | {ours: source.name for ours, source in read.items()}
            scales = {ours: source.scale for ours, source in read.items()}
            yield cells_of_row(form.columns, position, row, names, scales, decimal=decimal)

    made = table_of_cells(form.columns, cells())
    read = sources(found, form, given, {})
    say_unread("the rows", found, form, read)
    made.attrs["not_in_file"] = [column.name for column in form.columns if column.name not in read]
    made.attrs["names_in_file"] = {ours: source.name for ours, source in read.items()}
    return made


def _explanation(found: Sequence[str], formats: Sequence[Format]) -> str:
    other = next((candidate for candidate in ALL if not candidate.missing(found)), None)
    if other in (CRYO_BLOCKS, ETL_BLOCKS) and not _PRICE_NAMES.isdisjoint(found):
        other = None  # rows of transactions, which can have all columns of blocks
    if other is not None and (other is not L1_FEE_FILES or any(name in found for name in _FEES_OF_L1)):
        return f"these are {other.name}, which {other.reader} reads"
    if {"Txhash", "Transaction Hash"} & {*found}:
        return "an export of Etherscan, which has no calldata: read the transactions from a node, Dune or cryo"
    lossy = next((name for name in LOSSY_VALUES if name in found), None)
    if lossy is not None and any(not candidate.missing([*found, "value"]) for candidate in formats):
        return (
            f"{lossy} has lost the last digits of the amounts, and none of {', '.join(EXACT_VALUES)} is there; "
            "run cryo with --u256-types string"
        )
    return (
        "; ".join(f"{candidate.name} also need {', '.join(candidate.missing(found))}" for candidate in formats)
        + f" ({formats[0].option} FIELD=NAME, or columns={{FIELD: NAME}}, if a column has another name)"
    )
