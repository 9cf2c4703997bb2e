"""Daily revenue and L1 costs of rollups, under the column names of growthepie and of Dune's rollup_economics.

| here [ETH]       | rollup_economics          | growthepie (`metric_key`)                       |
|------------------|---------------------------|-------------------------------------------------|
| fees_paid        | (table l2_revenue) l2_rev | fees_paid_eth                                   |
| data_fee         | data_fee_native           | } costs_l1_eth is their sum                     |
| verification_fee | verification_fee_native   | }                                               |
| blob_fee         | blob_fee_native           | costs_blobs_eth                                 |
| l1_fee           | l1_fee_native             | costs_total_eth, and rent_paid_eth              |

`l1_execution_fee` is data_fee + verification_fee. The rows of growthepie contain only `l1_execution_fee`, so
`data_fee` and `verification_fee` are missing in tables parsed from these rows.

Sources: docs.dune.com/data-catalog/curated/rollup-economics/l1_fees; duneanalytics/spellbook at 256fa10,
rollup_economics_ethereum_l1_fees.sql; docs.growthepie.xyz/api (fundamentals_full.json).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from feemodel.checks import check_table, instance
from feemodel.errors import InvalidInput

COLUMNS = ("day", "chain", "fees_paid", "data_fee", "verification_fee", "l1_execution_fee", "blob_fee", "l1_fee")
AMOUNTS = COLUMNS[2:]
ROLLUP_ECONOMICS = {
    "day": "day", "name": "chain", "l2_rev": "fees_paid", "data_fee_native": "data_fee",
    "verification_fee_native": "verification_fee", "blob_fee_native": "blob_fee", "l1_fee_native": "l1_fee",
}  # fmt: skip
GROWTHEPIE = {
    "fees_paid_eth": "fees_paid", "costs_l1_eth": "l1_execution_fee", "costs_blobs_eth": "blob_fee",
    "costs_total_eth": "l1_fee", "rent_paid_eth": "l1_fee",
}  # fmt: skip
TOLERANCE = 1e-9  # relative tolerance of total == sum of parts, because both sources publish doubles


def parse_rollup_economics(table: pd.DataFrame) -> pd.DataFrame:
    """Parse a table of Dune's rollup_economics; columns in USD and gas are ignored.

    Parameters
    ----------
    table : rows with `day`, `name` and at least one column of amounts, such as `l1_fee_native` [ETH].

    Returns
    -------
    Table with the columns `COLUMNS`, one row per chain and day; amounts in ETH, missing where unknown.

    Raises
    ------
    InvalidInput : missing columns, a day that occurs twice for a chain, an amount below 0 or not finite, or a total
        that is not the sum of its parts; the message names the row.

    >>> row = {"day": "2026-01-08", "name": "linea", "data_fee_native": 0.5, "verification_fee_native": 1.0,
    ...        "blob_fee_native": 0.25, "l1_fee_native": 1.75}
    >>> parse_rollup_economics(pd.DataFrame([row]))[["l1_execution_fee", "l1_fee"]].values.tolist()
    [[1.5, 1.75]]
    """
    instance("table", table, pd.DataFrame)
    missing = [name for name in ("day", "name") if name not in table]
    if missing or not set(ROLLUP_ECONOMICS) & set(table) - {"day", "name"}:
        raise InvalidInput("table", f"expected columns of {', '.join(ROLLUP_ECONOMICS)}", [*table])
    found = table[[name for name in ROLLUP_ECONOMICS if name in table]].rename(columns=ROLLUP_ECONOMICS)
    return _checked(found)


def parse_growthepie(rows: pd.DataFrame | Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Parse rows of growthepie's fundamentals; metrics other than costs and revenue in ETH are ignored.

    Parameters
    ----------
    rows : rows with `metric_key`, `origin_key`, `date` and `value` [ETH].

    Returns
    -------
    Table with the columns `COLUMNS`, one row per chain and day; amounts in ETH, missing where unknown.

    Raises
    ------
    InvalidInput : missing columns, a metric that occurs twice for a chain and day, an amount below 0 or not finite, or
        a total that is not the sum of its parts; the message names the row.

    >>> rows = [{"metric_key": key, "origin_key": "base", "date": "2024-03-14", "value": value}
    ...         for key, value in (("fees_paid_eth", 57.0), ("rent_paid_eth", 1.5), ("txcount", 9))]
    >>> parse_growthepie(rows)[["chain", "fees_paid", "l1_fee"]].values.tolist()
    [['base', 57.0, 1.5]]
    """
    try:
        table = pd.DataFrame(rows)
    except (TypeError, ValueError):
        raise InvalidInput("rows", "expected rows of metric_key, origin_key, date, value", rows) from None
    check_table("rows", table, ("metric_key", "origin_key", "date", "value"))
    kept = table[table["metric_key"].isin(GROWTHEPIE)]
    twice = kept.duplicated(["metric_key", "origin_key", "date"])
    if twice.any():
        raise InvalidInput("rows", f"row {kept.index[twice][0]}: duplicate metric of this chain and day",
                           kept[twice].iloc[0].to_dict())  # fmt: skip
    wide = kept.pivot(index=["date", "origin_key"], columns="metric_key", values="value")
    if {"rent_paid_eth", "costs_total_eth"} <= set(wide):
        wide["costs_total_eth"] = wide["costs_total_eth"].fillna(wide["rent_paid_eth"])
        wide = wide.drop(columns="rent_paid_eth")
    found = wide.rename(columns=GROWTHEPIE).reset_index().rename(columns={"date": "day", "origin_key": "chain"})
    return _checked(found)


def to_rollup_economics(table: pd.DataFrame) -> pd.DataFrame:
    """Convert a table to the column names of Dune's rollup_economics.

    Parameters
    ----------
    table : table with columns of `COLUMNS` [ETH].

    Returns
    -------
    Table with the rows of `table` [ETH]. Amounts that are missing in `table` are also missing in the result.

    Raises
    ------
    InvalidInput : a row without day or chain, a day that occurs twice for a chain, an amount below 0 or not finite, or
        a total that is not the sum of its parts.

    >>> table = parse_growthepie([{"metric_key": "costs_blobs_eth", "origin_key": "base", "date": "2024-03-14",
    ...                            "value": 1.5}])
    >>> to_rollup_economics(table)["blob_fee_native"].tolist()
    [1.5]
    """
    ours = _checked(table)
    return ours[list(ROLLUP_ECONOMICS.values())].set_axis(list(ROLLUP_ECONOMICS), axis=1)


def to_growthepie(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Convert a table to growthepie's rows, one row for each known amount.

    Parameters
    ----------
    table : table with columns of `COLUMNS` [ETH].

    Returns
    -------
    Rows with `metric_key`, `origin_key`, `date` and `value` [ETH].

    Raises
    ------
    InvalidInput : a row without day or chain, a day that occurs twice for a chain, an amount below 0 or not finite, or
        a total that is not the sum of its parts.

    >>> row = {"day": "2026-01-08", "name": "linea", "data_fee_native": 0.5, "verification_fee_native": 1.0}
    >>> to_growthepie(parse_rollup_economics(pd.DataFrame([row])))
    [{'metric_key': 'costs_l1_eth', 'origin_key': 'linea', 'date': '2026-01-08', 'value': 1.5}]
    """
    ours = _checked(table)
    return [
        {"metric_key": key, "origin_key": row["chain"], "date": row["day"], "value": float(row[own])}
        for row in ours.to_dict("records")
        for key, own in GROWTHEPIE.items()
        if not pd.isna(row[own])
    ]


def _checked(table: pd.DataFrame) -> pd.DataFrame:
    found = table.reindex(columns=list(COLUMNS)).reset_index(drop=True)
    try:
        found["day"] = pd.to_datetime(found["day"], utc=True, format="ISO8601").dt.strftime("%Y-%m-%d")
        amounts = found[list(AMOUNTS)].astype(float)
    except (TypeError, ValueError) as error:
        raise InvalidInput("table", f"expected days and amounts ({error})", [*table]) from None
    parts = amounts["data_fee"] + amounts["verification_fee"]
    amounts["l1_execution_fee"] = amounts["l1_execution_fee"].fillna(parts)
    total = amounts["l1_execution_fee"] + amounts["blob_fee"]
    off = ((amounts["l1_fee"] - total).abs() > TOLERANCE * total.abs()) & total.notna() & amounts["l1_fee"].notna()
    for wrong, reason in (
        (found["day"].isna() | found["chain"].isna(), "expected a day and a chain"),
        (found.duplicated(["day", "chain"]), "duplicate row of this chain and day"),
        ((amounts < 0).any(axis=1) | amounts.isin([float("inf")]).any(axis=1), "expected amounts of at least 0"),
        (off, "the L1 fee is not the sum of its parts"),
    ):
        if wrong.any():
            index = int(wrong.to_numpy().argmax())
            raise InvalidInput("table", f"row {index}: {reason}", table.iloc[index].to_dict())
    amounts["l1_fee"] = amounts["l1_fee"].fillna(total)
    return pd.concat([found[["day", "chain"]], amounts], axis=1)
