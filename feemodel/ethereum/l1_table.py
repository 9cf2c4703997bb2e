"""Tables of L1 fees: one list of column names, for files and for tables in memory."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feemodel.checks import MAPPINGS, as_array, check_indexes
from feemodel.errors import InvalidInput
from feemodel.ethereum.fee_market import GAS_PER_BLOB

_OTHER_NAMES = {  # in files and tables, of nodes, cryo, ethereum-etl, Dune and xatu
    "block_number": "number blockNumber execution_payload_block_number",
    "timestamp": "time block_timestamp block_time blockTimestamp block_date_time slot_start_date_time datetime date",
    "base_fee": "base_fee_per_gas baseFeePerGas execution_payload_base_fee_per_gas",
    "excess_blob_gas": "excessBlobGas execution_payload_excess_blob_gas",
    "blob_gas_used": "blobGasUsed blob_count execution_payload_blob_gas_used",
    "blob_base_fee": "blob_base_fee_per_gas base_fee_per_blob_gas baseFeePerBlobGas",
    "gas_used": "gasUsed execution_payload_gas_used",
    "gas_limit": "gasLimit execution_payload_gas_limit",
    "gas_used_ratio": "gasUsedRatio",
    "blob_gas_used_ratio": "blobGasUsedRatio",
    "tip": "priority_fee priority_fee_per_gas max_priority_fee_per_gas",
}
#: Column of a table of L1 fees → all its names.
L1_NAMES = {name: (name, *others.split()) for name, others in _OTHER_NAMES.items()}


def check_table(name: str, value: Any, columns: Collection[str] = ()) -> None:
    """Raise `InvalidInput` for a value that is not a table, or for a table that lacks one of `columns`."""
    if not isinstance(value, MAPPINGS) and not (hasattr(value, "__len__") and hasattr(value, "columns")):
        raise InvalidInput(name, "expected a table: a mapping from names to columns, or a DataFrame", value)
    if missing := [column for column in columns if column not in value]:
        raise InvalidInput(name, f"expected the columns {', '.join(missing)}", [*value])
    if isinstance(value, MAPPINGS):
        check_indexes(value)


def l1_table(name: str, table: Any) -> dict[str, Any]:
    """Return the non-empty columns of a table of L1 fees, by the names of this package; other columns keep theirs.

    Tables: mappings; tables of pandas, Arrow, Polars; objects with `as_table`. Datetimes, also those of an index, and
    ISO 8601 text are converted to seconds since 1970, in UTC if they have no time zone.

    >>> [*l1_table("l1_fees", {"block_time": ["2026-01-07"], "base_fee_per_gas": [7e7]})]
    ['timestamp', 'base_fee']
    """
    given: Any = table.as_table() if hasattr(table, "as_table") else table
    if hasattr(given, "to_pandas") and not isinstance(given, Mapping):
        given = given.to_pandas()
    check_table(name, given)
    if twice := [column for column in given if hasattr(given[column], "columns")]:
        raise InvalidInput(name, "expected unique column names", twice[0])
    known: dict[str, Any] = {}
    meant = {theirs: ours for ours, names in L1_NAMES.items() for theirs in names}
    for theirs in given:
        column = given[theirs]
        if bool(getattr(column, "size", 0) and hasattr(column, "isna") and column.isna().all()):
            continue
        ours = meant.get(str(theirs), str(theirs))
        if ours in known:
            raise InvalidInput(name, f"expected one column of {ours}", [ours, str(theirs)])
        if np.ma.is_masked(column):
            raise InvalidInput(str(theirs), "expected a value in every row, without a mask", column)
        known[ours] = np.asarray(column) * GAS_PER_BLOB if theirs == "blob_count" else column
    index = getattr(given, "index", None)
    if "timestamp" not in known and getattr(getattr(index, "dtype", None), "kind", "") == "M":
        known["timestamp"] = index
    if "timestamp" in known:
        times = as_array("timestamp", known["timestamp"], "expected seconds or datetimes")
        known["timestamp"] = _seconds(known["timestamp"]) if times.dtype.kind in "MOSU" else known["timestamp"]
    return known


def _seconds(times: Any) -> NDArray[Any]:
    """Return datetimes or ISO 8601 text as seconds since 1970; times without a time zone are in UTC."""
    with_zone = getattr(times, "dt", times)
    values = np.asarray(with_zone.tz_convert(None) if getattr(with_zone, "tz", None) is not None else times)
    if values.dtype.kind != "M":
        if all(isinstance(one, (int, float)) for one in values.flat):
            return values
        values = np.array([_utc(one, row) for row, one in enumerate(values.flat, 1)], dtype="datetime64[ns]")
    if (missing := np.isnat(values)).any():
        raise InvalidInput(f"row {int(missing.argmax()) + 1}: timestamp", "expected a time", "nothing")
    nanoseconds = values.astype("datetime64[ns]").astype(np.int64)
    return np.asarray(nanoseconds / 1e9 if (nanoseconds % 10**9).any() else nanoseconds // 10**9)


def _utc(time: Any, row: int) -> Any:
    if time is None or time != time:
        return np.datetime64("NaT")
    try:
        moment = datetime.fromisoformat(time.removesuffix(" UTC")) if isinstance(time, str) else time
        naive = moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
        return np.datetime64(naive)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"row {row}: timestamp", f"expected seconds or datetimes ({error})", str(time)) from None
