"""Transactions from the rows of a table, such as a table that `feemodel.io` has read.

A table has one column for each field. The column's name is one of the names that
`feemodel.ethereum._transaction_fields` lists for the field.
Alternatively, a table has the column `raw` (the signed encoding) or `sender_and_unsigned_transaction`. Other columns
are ignored. A column whose name is a misspelt field name is refused.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from feemodel.errors import InvalidInput
from feemodel.ethereum._call import KINDS, as_integer, is_missing, parse_call
from feemodel.ethereum._quantities import as_bytes
from feemodel.ethereum._transaction import (
    LEGACY,
    LINEA_CHAIN_ID,
    Transaction,
    check_published,
    fill,
    parse_sender_unsigned,
    parse_transaction,
)
from feemodel.ethereum._transaction_fields import FIELD_OF, IGNORED_NAMES, misspelt

if TYPE_CHECKING:
    import pandas as pd

RAW, UNSIGNED = "raw", "sender_and_unsigned_transaction"
_NEEDED = ("nonce", "from_address", "to_address", "value", "input", "gas_limit")


def is_table(value: Any) -> bool:
    """Return whether a value is a pandas DataFrame, without importing pandas."""
    return hasattr(value, "itertuples") and hasattr(value, "columns")


def as_table(value: Any) -> Any:
    """Return a table of polars, DuckDB or Arrow as a pandas DataFrame; any other value is returned unchanged."""
    if is_table(value) or not (hasattr(value, "__arrow_c_stream__") and hasattr(value, "columns")):
        return value
    import pandas as pd
    import pyarrow as pa

    try:
        return pa.table(value).to_pandas(types_mapper=pd.ArrowDtype)
    except pa.ArrowInvalid:  # Arrow lacks the 128-bit integers of polars
        return pd.DataFrame(value.to_dict(as_series=False), dtype=object)


def is_transaction_table(value: Any) -> bool:
    """Return whether a value is a table of transactions, and not a table of sizes."""
    value = as_table(value)
    return is_table(value) and ({RAW, UNSIGNED} & {*value.columns} != set() or "input" in columns_of(value))


def transactions_of(
    table: "pd.DataFrame", *, chain_id: int = LINEA_CHAIN_ID, set_code: bool = False
) -> list[Transaction]:
    """Return the transactions of a table, in the order of its rows; without signatures if the table has none.

    Transactions of type 4 are accepted with `set_code`, for rollups that price them. Errors name the column and the
    row, counted from 1.
    """
    table = as_table(table)
    if not is_table(table):
        raise InvalidInput("table", "expected a DataFrame of transactions", table)
    if {RAW, UNSIGNED} & {*table.columns}:
        rows = _raw_rows(table, set_code)
    else:
        rows = (_field_row(row, chain_id, set_code) for row in rows_of(table))
    found = []
    for row in range(1, len(table) + 1):
        try:
            found.append(next(rows))
        except InvalidInput as error:
            name = f"row {row}: {error.name.removeprefix('call.')}"
            raise InvalidInput(name, error.reason, error.value) from None
    return found


def assumptions(table: "pd.DataFrame", sent: list[Transaction], *, chain_id: int = LINEA_CHAIN_ID) -> list[str]:
    """Return the assumptions made about columns that are missing in a table, one phrase for each."""
    columns = columns_of(table)
    if not sent or {RAW, UNSIGNED} & {*table.columns}:
        return []

    def unknown(name: str) -> bool:
        return name not in columns or bool(table[columns[name]].isna().all())

    kinds = {one.type for one in sent}
    found = []
    if "chain_id" not in columns or table[columns["chain_id"]].isna().any():
        found.append(f"chain id {chain_id} where none is given")
    if kinds - {LEGACY} and unknown("access_list"):
        found.append("empty access lists")
    if LEGACY in kinds and any(one.type == LEGACY and not one.signature for one in sent):
        found.append("legacy transactions protected by EIP-155")
    return found


def is_known(table: "pd.DataFrame", name: str) -> list[bool]:
    """Return one bool for each row of a table: whether the row has a value for the field."""
    columns = columns_of(table)
    return [False] * len(table) if name not in columns else table[columns[name]].notna().tolist()


def known_column(table: "pd.DataFrame", name: str, *, partly: bool = False) -> list[int] | None:
    """Return a column of whole numbers by the name of its field; `None` if the table lacks the column.

    If only some values are missing: `InvalidInput`, or `None` with `partly`.
    """
    columns = columns_of(table)
    if name not in columns or bool((missing := table[columns[name]].isna()).all()):
        return None
    if missing.any():
        if partly:
            return None
        row = int(missing.to_numpy().argmax()) + 1
        raise InvalidInput(
            f"row {row}: {columns[name]}", f"expected a value in every row, {int(missing.sum()):,} are missing", None
        )
    return [
        as_integer(f"row {row}: {columns[name]}", value) for row, value in enumerate(table[columns[name]].tolist(), 1)
    ]


def columns_of(table: "pd.DataFrame") -> dict[str, Any]:
    """Return a mapping from fields to columns of the table. A field's own name has priority over other names."""
    found: dict[str, Any] = {}
    if not table.columns.is_unique:
        raise InvalidInput("table", "expected unique column names", table.columns[table.columns.duplicated()][0])
    for name in table.columns:
        field = FIELD_OF.get(name) if isinstance(name, str) else None
        if field is not None and (field not in found or name == field):
            found[field] = name
    return found


def _raw_rows(table: "pd.DataFrame", set_code: bool) -> Iterator[Transaction]:
    none = [None] * len(table)
    raw, unsigned, senders = (
        table[name].tolist() if name in table.columns else none for name in (RAW, UNSIGNED, "sender")
    )
    return (raw_row(*row, set_code=set_code) for row in zip(raw, unsigned, senders, strict=True))


def raw_row(raw: Any, unsigned: Any = None, sender: Any = None, *, set_code: bool = False) -> Transaction:
    """Return a transaction from its signed encoding and sender, or from its "sender_unsigned" encoding."""
    if not is_missing(raw):
        known, found = None if is_missing(sender) else as_bytes("sender", sender), parse_transaction(raw)
    elif is_missing(unsigned):
        raise InvalidInput(RAW, f"expected an encoded transaction in this column or in {UNSIGNED}", None)
    else:
        known, found = parse_sender_unsigned(unsigned)
    if not set_code:
        check_published(found)
    return replace(found, from_address=known)


def rows_of(table: "pd.DataFrame") -> Iterator[dict[str, Any]]:
    """Yield a dict of call fields for each row."""
    columns = columns_of(table)
    _check_names(table, columns)
    if missing := [name for name in _NEEDED if name not in columns]:
        raise InvalidInput("transactions", f"expected the columns {', '.join(missing)} too", [*table.columns])
    names = [name for name in columns if name in KINDS]
    cells = (table[columns[name]].tolist() for name in names)
    return (dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True))


def _check_names(table: "pd.DataFrame", columns: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` for a column whose name is probably the misspelt name of an absent field."""
    absent = [name for name, field in FIELD_OF.items() if field not in columns]
    others = [name for name in table.columns if isinstance(name, str) and name not in {*FIELD_OF, *IGNORED_NAMES}]
    for name in others:
        if (meant := misspelt(name, absent)) is not None:
            raise InvalidInput("table", f"unknown column, did you mean {meant}?", name)


def _field_row(row: Mapping[str, Any], chain_id: int, set_code: bool) -> Transaction:
    given = {name: None if isinstance(value, float) and value != value else value for name, value in row.items()}
    call = parse_call(given, sent=True)
    return fill(call, gas=call.gas_limit or 0, chain_id=chain_id, set_code=set_code)
