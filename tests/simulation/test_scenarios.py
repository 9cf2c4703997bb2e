"""L1 scenarios: replays and block bootstraps."""

from datetime import datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest

from feemodel.errors import InvalidInput
from feemodel.ethereum.fee_market import GAS_PER_BLOB
from feemodel.io import read_shipped_l1_fees
from feemodel.simulation.scenarios import bootstrap, check_scenario, duration, replay, step_seconds

JANUARY_2026 = 1_767_795_000  # seconds; BPO2 rules
DAY = 86_400  # seconds


def test_a_replay_is_the_history(month):
    table = read_shipped_l1_fees()

    assert month["base_fee"].to_numpy()[0].tolist() == table["base_fee"].to_list()
    assert month["blob_base_fee"].to_numpy()[0].tolist() == table["blob_base_fee"].to_list()
    assert (step_seconds(month), duration(month)) == (600.0, 4341 * 600.0)
    assert month["base_fee"].attrs["units"] == "wei / gas"
    assert month.attrs["source"] == "the shipped month"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"base_fee": [1.0, 0.0]}, r"base_fee\[1\]: expected fees above 0, got 0.0"),
        ({"blob_base_fee": [1.0, np.nan]}, r"blob_base_fee\[1\]: expected a finite number of wei, got nan"),
        ({"timestamp": [12, 12]}, r"timestamp\[1\]: expected increasing times without duplicates; .* at 12, got 12.0"),
        ({"base_fee": [1.0]}, "expected columns of equal length"),
        ({"base_fee": [[1.0, 2.0]]}, "expected a column of numbers"),
        ({"base_fee": np.ma.masked_array([1.0, 2.0], [True, False])}, "base_fee: .* without a mask"),
        (
            {"base_fee": pd.Series([1.0, 2.0]), "blob_base_fee": pd.Series([1.0, 2.0], [1, 0])},
            "base_fee, blob_base_fee: expected Series with equal indexes, got 'blob_base_fee'",
        ),
    ],
)
def test_a_table_that_is_no_history_is_refused(change, message):
    table = {"timestamp": [0, 12], "base_fee": [1.0, 2.0], "blob_base_fee": [1.0, 2.0]} | change
    with pytest.raises(InvalidInput, match=message):
        replay(table, source="wrong")


def test_stationary_blocks_have_the_mean_length_asked_for():
    times = np.arange(500) * 600
    numbered = replay({"timestamp": times, "base_fee": np.arange(1_001, 1_501), "blob_base_fee": np.ones(500)})
    drawn = bootstrap(numbered, paths=400, block_seconds=36 * 600, rng=1)
    begins = (np.diff(drawn["base_fee"].to_numpy(), axis=1) - 1) % 500 != 0

    assert begins.mean() == pytest.approx(1 / 36 * (1 - 1 / 500), rel=0.05)


def test_more_paths_leave_the_first_ones_as_they_are(month):
    few, many = (bootstrap(month, paths=n, block_seconds=DAY, horizon=DAY, rng=5) for n in (2, 4))
    assert few["base_fee"].equals(many["base_fee"].isel(path=[0, 1]))


def test_a_horizon_is_the_length_of_a_path(month):
    drawn = bootstrap(month, paths=1, block_seconds=DAY, horizon=7 * DAY, rng=1)

    assert duration(drawn) == 7 * DAY
    assert drawn.attrs["source"] == "stationary block bootstrap of the shipped month"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"block_seconds": 10**8}, "expected a number from"),
        ({"paths": 0}, "paths"),
    ],
)
def test_a_bootstrap_that_cannot_be_is_refused(month, change, message):
    with pytest.raises(InvalidInput, match=message):
        bootstrap(month, **{"paths": 1, "block_seconds": DAY, "rng": 1} | change)


def test_a_bootstrap_needs_one_path(month):
    many = bootstrap(month, paths=2, block_seconds=DAY, rng=1)
    with pytest.raises(InvalidInput, match="expected a history of one path, got 2"):
        bootstrap(many, paths=1, block_seconds=DAY, rng=1)


@pytest.mark.parametrize("column", ["tip", "gas_used_ratio", "blob_gas_used_ratio"])
def test_tips_and_usage_ratios_of_a_scenario_are_checked_as_its_fees_are(column):
    rows = {"timestamp": [0, 12], "base_fee": [7e7] * 2, "blob_base_fee": [4e6] * 2, column: [0.5, 0.6]}
    known = replay(rows, source="by hand", unit="wei")

    check_scenario("l1_fees", known)
    assert known[column].values.tolist() == [[0.5, 0.6]]
    broken = known.assign({column: known[column] * np.nan})
    with pytest.raises(InvalidInput, match=rf"l1_fees\.{column}.*expected a finite number"):
        check_scenario("l1_fees", broken)


HOURS = {"base_fee": [7e7, 8e7], "blob_base_fee": [4e6, 4e6]}
EAST = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    "times",
    [
        ["2026-01-01T02:00:00+02:00", "2026-01-01T01:00:00Z"],
        [datetime(2026, 1, 1, 2, tzinfo=EAST), datetime(2026, 1, 1, 3, tzinfo=EAST)],
        pd.DatetimeIndex(["2026-01-01T00:00Z", "2026-01-01T01:00Z"]).tz_convert("Asia/Tokyo"),
        pd.Series([datetime(2026, 1, 1, 2, tzinfo=EAST), datetime(2026, 1, 1, 3, tzinfo=EAST)]),
        np.array(["2026-01-01T00", "2026-01-01T01"], dtype="datetime64[h]"),
    ],
)
def test_times_of_any_zone_are_read_as_utc(times):
    found = replay(HOURS | {"time": times}, source="by hand")

    assert found.time.values.tolist() == [1_767_225_600 * 10**9, 1_767_229_200 * 10**9]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"base_fee": ["1_000", "7"]}, r"base_fee: expected a column of numbers \(not <U5\)"),
        ({"base_fee": pd.Series(["7", 8], dtype=object)}, r"base_fee: expected a column of numbers \(not text\)"),
        ({"base_fee": [True, True]}, r"base_fee: expected a column of numbers \(not bool\)"),
        ({"gas_used_ratio": [50.0, 99.5]}, r"gas_used_ratio\[0\]: expected at most 1, a share of the limit, got 50"),
        ({"gas_used": [5, 31], "gas_limit": [30, 30]}, r"gas_used\[1\]: expected at most the gas limit"),
        (
            {"gas_used": [0, 0], "gas_limit": [30, 0]},
            r"gas_used\[1\]: expected at most the gas limit, and a gas limit above",
        ),
        ({"blob_base_fee": None, "excess_blob_gas": [0.5, 1.0]}, r"excess_blob_gas\[0\]: expected whole numbers"),
        ({"timestamp": ["01/02/2026", "02/02/2026"]}, "timestamp: expected seconds or datetimes"),
        ({"timestamp": [pd.NaT, datetime(2026, 1, 2)]}, "row 1: timestamp: expected a time"),
        ({"timestamp": None, "slot": ["a", "b"]}, r"slot\[0\]: expected a finite number"),
        (
            {"timestamp": None, "slot": [3, 1]},
            r"slot\[1\]: expected increasing times without duplicates; .* at 36, got 12.0",
        ),
        (
            {"timestamp": [1_700_000_000_000, 1_700_000_012_000]},
            r"timestamp\[0\]: expected seconds.* \(not milliseconds\)",
        ),
    ],
)
def test_a_column_that_would_be_guessed_at_is_refused(change, message):
    given = HOURS | {"timestamp": [1_800_000_000, 1_800_000_012]} | change
    table = {name: column for name, column in given.items() if column is not None}
    with pytest.raises(InvalidInput, match=message):
        replay(table, source="wrong")


def test_a_column_that_stands_twice_is_refused():
    table = pd.DataFrame([[0, 1, 2], [12, 1, 2]], columns=["timestamp", "base_fee", "base_fee"])
    with pytest.raises(InvalidInput, match="table: expected unique column names, got 'base_fee'"):
        replay(table, source="wrong")


def test_units_of_another_scale_are_refused_and_the_order_of_the_dimensions_is_said(month):
    gwei = (month["base_fee"] / 1e9).assign_attrs(units="gwei / gas")
    with pytest.raises(InvalidInput, match=r"l1_fees.base_fee: expected wei / gas in .* got 'gwei / gas'"):
        check_scenario("l1_fees", month.assign(base_fee=gwei))
    with pytest.raises(InvalidInput, match=r"table.base_fee: expected wei / gas"):
        replay(month.isel(path=0).assign(base_fee=gwei[0]))
    with pytest.raises(InvalidInput, match=r"dimensions path and step, in this order, got .'step', 'path'"):
        check_scenario("l1_fees", month.transpose("step", "path"))
    check_scenario("l1_fees", month.drop_attrs().assign_attrs(source="no units"))


def test_more_blob_gas_than_a_block_has_is_refused():
    rows = {"timestamp": [JANUARY_2026, JANUARY_2026 + 12], "base_fee": [7e7, 7e7], "blob_base_fee": [1, 1]}
    with pytest.raises(InvalidInput, match=r"blob_gas_used\[1\]: expected at most the blob gas of a full block"):
        replay(rows | {"blob_gas_used": [21 * GAS_PER_BLOB, 22 * GAS_PER_BLOB]})
