"""One check of L1 fees at every entrance: units, gaps, times, empty cells."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from feemodel.errors import FeeModelError, InvalidInput, UnreadableFile
from feemodel.io import FeeHistory, read_l1_fees, read_shipped_l1_fees
from feemodel.simulation.backtest import backtest
from feemodel.simulation.closed_loop.simulator import simulate
from feemodel.simulation.policies.fixed import Fixed
from feemodel.simulation.scenarios import bootstrap, check_scenario, replay, scenario
from feemodel.simulation.surfaces import Workload

WEI = {"base_fee": [70_000_000, 90_000_000], "blob_base_fee": [4_000_000, 1]}
TIMES = [1_770_000_000, 1_770_000_012]
#: What a series in another unit looks like.
SLIPS = {
    "gwei with a fraction": {"base_fee": [0.07, 0.09]},
    "whole gwei": {"base_fee": [30, 90]},
    "whole gwei of 2021, some above 1,000": {"base_fee": [300, 1_800]},
    "gwei with a fraction above 1,000": {"base_fee": [1_000.5, 1_800.25]},
    "ETH": {"base_fee": [7e-11, 9e-11]},
    "wei times 10**9": {"base_fee": [7e16, 9e16]},
    "blob base fee in gwei": {"blob_base_fee": [0.004, 0.001]},
    "blob base fee times 10**10": {"blob_base_fee": [4e16, 1e10]},
    "tip in whole gwei": {"tip": [1, 2]},
    "tip in gwei": {"tip": [0.1, 1.5]},
}


def _csv(columns, path):
    pd.DataFrame({"timestamp": TIMES, **columns}).to_csv(path, index=False)
    return path


def _dataset(columns, unit=None):
    values = {name: np.array([column], dtype=float) for name, column in columns.items()}
    return scenario(values, np.array([0.0, 12.0]), source="by hand", unit=unit)


def _bare(columns):
    """A scenario of the user's own, without the units that ours have."""
    variables = {name: (("path", "step"), [column]) for name, column in columns.items()}
    return xr.Dataset(variables, {"elapsed": ("step", [0.0, 12.0])}, {"source": "own"})


WORKLOAD = Workload("transfers", np.array([128]), np.array([21_000]))
ENTRANCES = {
    "replay": lambda columns, path: replay({"timestamp": TIMES, **columns}),
    "CSV": lambda columns, path: read_l1_fees(_csv(columns, path)),
    "scenario": lambda columns, path: _dataset(columns),
    "simulate": lambda columns, path: simulate(_bare(columns), Fixed(price=1e8)),
    "backtest": lambda columns, path: backtest(WORKLOAD, _bare(columns), arrival_rate=1.0, rng=1),
    "bootstrap": lambda columns, path: bootstrap(_bare(columns), paths=1, block_seconds=12.0, rng=1),
}


@pytest.mark.parametrize("entrance", ENTRANCES)
@pytest.mark.parametrize("slip", SLIPS)
def test_fees_in_another_unit_are_refused_at_every_entrance(tmp_path, entrance, slip):
    (name,) = SLIPS[slip]

    with pytest.raises(FeeModelError, match=f"{name}.*: expected .*(wei|gwei)"):
        ENTRANCES[entrance](WEI | SLIPS[slip], tmp_path / "fees")


@pytest.mark.parametrize("entrance", ENTRANCES)
@pytest.mark.parametrize("fees", [{}, {"tip": [0, 0]}, {"tip": [1, 2_000]}, {"base_fee": [1_000, 10**16]}])
def test_plausible_fees_are_taken_at_every_entrance(tmp_path, entrance, fees):
    assert ENTRANCES[entrance](WEI | fees, tmp_path / "fees") is not None


def test_the_unit_converts_or_takes_the_fees_as_they_are(tmp_path):
    gwei = {"timestamp": TIMES, "base_fee": [0.07, 0.09], "blob_base_fee": [0.004, 0.001], "tip": [0.1, 0.0]}
    found = replay(gwei, unit="gwei")
    assert found.base_fee.values[0].tolist() == [7e7, 9e7]
    assert found.blob_base_fee.values[0].tolist() == [4e6, 1e6]
    assert found.tip.values[0].tolist() == [1e8, 0.0]
    check_scenario("l1_fees", found)

    few = replay({"timestamp": TIMES, "base_fee": [7, 8], "blob_base_fee": [1, 1]}, unit="wei")
    assert few.base_fee.values[0].tolist() == [7.0, 8.0]
    check_scenario("l1_fees", bootstrap(few, paths=1, block_seconds=12.0, rng=1))
    with pytest.raises(InvalidInput, match="unit: expected one of wei, kwei, gwei, eth, got 'szabo'"):
        replay(gwei, unit="szabo")
    with pytest.raises(InvalidInput, match=r"base_fee\[0\]: expected at most 10,000,000 gwei on L1"):
        replay({"timestamp": TIMES, **WEI}, unit="gwei")

    columns = {"base_fee": "base_fee:gwei", "blob_base_fee": "blob_base_fee:gwei", "tip": "tip:gwei"}
    table = read_l1_fees(_csv({name: gwei[name] for name in columns}, tmp_path / "gwei.csv"), columns=columns)
    assert replay(table, source="x").drop_attrs().equals(replay(gwei, source="x", unit="gwei").drop_attrs())


def test_fees_of_a_node_are_in_wei_by_the_protocol(tmp_path):
    assert replay(FeeHistory(1, (7, 7), (0.5,), (), (), ())).base_fee.values[0].tolist() == [7.0]
    block = {"number": "0x1", "timestamp": "0x65", "gasUsed": "0x5208", "baseFeePerGas": "0x7", "transactions": []}
    (tmp_path / "blocks.json").write_text(json.dumps([block, block | {"number": "0x2", "timestamp": "0x71"}]))

    table = read_l1_fees(tmp_path / "blocks.json", columns={"base_fee": "baseFeePerGas:wei"})
    assert replay(table).base_fee.values[0].tolist() == [7.0, 7.0]


def history(gap):
    """Eight days and a bit in steps of ten minutes, with a gap of so many seconds in the middle."""
    times = 1_770_000_000 + 600 * np.arange(1_300)
    times[650:] += gap
    return {
        "timestamp": times,
        "base_fee": 1e8 + 1e7 * np.sin(np.arange(1_300) / 9),
        "blob_base_fee": np.full(1_300, 4e6),
    }


def test_a_gap_of_a_month_is_said_by_every_result():
    found = replay(history(30 * 86_400), source="with a gap")
    said = "1 of more than 1,500 s, the longest of 2,592,600 s, in total 76.90% of the time"

    assert said == found.attrs["gaps"]
    assert f"fees held constant over gaps: {said}" == found.attrs["assumed"]
    assert found.attrs["assumed"] == simulate(found, Fixed(price=1e8), step=600.0).attrs["l1_fees_assumed"]
    assert found.attrs["assumed"] == backtest(WORKLOAD, found, arrival_rate=0.01, rng=1).attrs["l1_fees_assumed"]
    drawn = bootstrap(found, paths=1, block_seconds=86_400.0, rng=1)
    assert f"rows 600 s apart, also over gaps: {said}" == drawn.attrs["assumed"]


def test_without_gaps_nothing_is_said():
    found = replay(history(0), source="without")
    assert (found.attrs["gaps"], found.attrs["assumed"]) == ("none", "nothing")
    assert replay(read_shipped_l1_fees()).attrs["gaps"] == "none"


@pytest.mark.parametrize(("missed", "gaps"), [(0, "none"), (3, "none"), (4, "none"), (5, "1 of more than 60 s")])
def test_some_missed_slots_are_no_gap(missed, gaps):
    times = 12 * np.arange(20)
    times[10:] += 12 * missed
    found = replay({"timestamp": times, "base_fee": np.full(20, 7e7), "blob_base_fee": np.full(20, 4e6)})

    assert found.attrs["gaps"].startswith(gaps)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("timestamp,base_fee\n", "L1 fees: expected at least one row"),
        ("timestamp,base_fee\n12,70000000\n12,80000000\n", "timestamp: expected unique rows, got 12"),
    ],
    ids=["header only", "time twice"],
)
def test_a_table_without_its_times_is_refused(tmp_path, text, message):
    path = tmp_path / "fees.csv"
    path.write_text(text)
    with pytest.raises(UnreadableFile, match=message):
        read_l1_fees(path)


def test_a_column_may_begin_with_its_upgrade(tmp_path):
    path = tmp_path / "fees.csv"
    path.write_text("timestamp,base_fee,blob_base_fee\n24,70000000,1\n12,70000000,\n36,70000000,2\n")

    table = read_l1_fees(path)
    assert table["blob_base_fee"].isna().to_list() == [True, False, False]
    with pytest.raises(InvalidInput, match="row 1: blob_base_fee: expected a value, 1 are missing"):
        replay(table)
