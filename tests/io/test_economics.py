"""Tables of growthepie and of rollup_economics: their names for ours, and back."""

import pandas as pd
import pytest

from feemodel.errors import InvalidInput
from feemodel.io._economics import (
    COLUMNS,
    parse_growthepie,
    parse_rollup_economics,
    to_growthepie,
    to_rollup_economics,
)

DUNE = pd.DataFrame(
    {"day": ["2026-01-08", "2026-01-09"], "name": ["linea", "linea"], "data_fee_native": [0.5, 0.0],
     "verification_fee_native": [1.0, 2.0], "blob_fee_native": [0.25, 0.125], "l1_fee_native": [1.75, 2.125],
     "calldata_gas_used": [7, 8]}
)  # fmt: skip
ROWS = [
    {"metric_key": key, "origin_key": "base", "date": "2024-03-14", "value": value}
    for key, value in (("fees_paid_eth", 57.0), ("costs_l1_eth", 1.0), ("costs_blobs_eth", 0.5),
                       ("costs_total_eth", 1.5), ("rent_paid_eth", 1.5), ("txcount", 1_181_906))
]  # fmt: skip


def test_rollup_economics_comes_back_as_it_was():
    ours = parse_rollup_economics(DUNE)

    assert ours.columns.tolist() == list(COLUMNS)
    assert ours["l1_execution_fee"].tolist() == [1.5, 2.0]
    back = to_rollup_economics(ours)
    for name in DUNE.columns.drop("calldata_gas_used"):
        assert back[name].tolist() == DUNE[name].tolist()
    assert back["l2_rev"].isna().all()


def test_growthepie_comes_back_as_it_was():
    ours = parse_growthepie(ROWS)

    assert ours[["fees_paid", "l1_execution_fee", "blob_fee", "l1_fee"]].values.tolist() == [[57.0, 1.0, 0.5, 1.5]]
    assert ours[["data_fee", "verification_fee"]].isna().all(axis=None)
    assert to_growthepie(ours) == ROWS[:5]


def test_one_publisher_s_table_under_the_names_of_the_other():
    rows = to_growthepie(parse_rollup_economics(DUNE))

    assert parse_growthepie(rows)["l1_fee"].tolist() == DUNE["l1_fee_native"].tolist()
    metrics = {row["metric_key"] for row in rows}
    assert metrics == {"costs_l1_eth", "costs_blobs_eth", "costs_total_eth", "rent_paid_eth"}


@pytest.mark.parametrize(("call", "message"), [
    (lambda: parse_rollup_economics(DUNE.drop(columns="name")), "table: expected columns of day, name"),
    (lambda: parse_rollup_economics(DUNE[["day", "name"]]), "table: expected columns of day, name"),
    (lambda: parse_rollup_economics(DUNE.assign(l1_fee_native=3.0)), "row 0: the L1 fee is not the sum of its parts"),
    (lambda: parse_rollup_economics(DUNE.assign(day="2026-01-08")), "row 1: duplicate row of this chain and day"),
    (lambda: parse_rollup_economics(DUNE.assign(blob_fee_native=-1.0)), "row 0: expected amounts of at least 0"),
    (lambda: parse_rollup_economics(DUNE.assign(day="soon")), "table: expected days and amounts"),
    (lambda: parse_rollup_economics(DUNE.assign(name=None)), "row 0: expected a day and a chain"),
    (lambda: parse_rollup_economics(DUNE.assign(data_fee_native="much")), "table: expected days and amounts"),
    (lambda: parse_growthepie(ROWS + ROWS[:1]), "row 6: duplicate metric of this chain and day"),
    (lambda: parse_growthepie([{"metric_key": "daa"}]), "rows: expected the columns origin_key, date, value"),
    (lambda: parse_growthepie(5), "rows: expected rows of metric_key"),
])  # fmt: skip
def test_a_wrong_row_is_named(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
