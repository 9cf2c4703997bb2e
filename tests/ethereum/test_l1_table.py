"""A table of L1 fees has the same names, times and index for everything that takes one."""

import numpy as np
import pandas as pd
import pytest

from feemodel import forecast
from feemodel.errors import InvalidInput
from feemodel.ethereum.l1_table import L1_NAMES, l1_table
from feemodel.io import read_l1_fees
from feemodel.rollups import compare
from feemodel.simulation.scenarios import replay

STEPS = 7 * 144
SECONDS = 1_767_744_000 + 600 * np.arange(STEPS)
TIMES = pd.to_datetime(SECONDS, unit="s", utc=True)
FEES = {"base_fee": np.linspace(7e7, 9e7, STEPS).astype(np.int64), "blob_base_fee": np.full(STEPS, 4_000_000)}
PLAIN = pd.DataFrame({"timestamp": SECONDS, **FEES})
SAME = {
    "datetimes": pd.DataFrame({"timestamp": TIMES, **FEES}),
    "an index of datetimes": pd.DataFrame(FEES, index=TIMES),
    "an index without a zone": pd.DataFrame(FEES, index=TIMES.tz_localize(None)),
    "names of Dune": pd.DataFrame(FEES).rename(columns={"base_fee": "base_fee_per_gas"}).assign(block_time=TIMES),
    "names of a node": PLAIN.rename(columns={"base_fee": "baseFeePerGas", "blob_base_fee": "baseFeePerBlobGas"}),
    "text": {"time": [time.isoformat() for time in TIMES], **FEES},
    "text of Dune": {"time": [f"{time:%Y-%m-%d %H:%M:%S}.000 UTC" for time in TIMES], **FEES},
    "seconds named time": {"time": SECONDS, **FEES},
}  # fmt: skip
EVERY = pytest.mark.parametrize("table", SAME.values(), ids=SAME)


@EVERY
def test_a_history_is_the_same_under_every_name_and_kind_of_time(table):
    assert replay(table, source="s").identical(replay(PLAIN, source="s"))


@EVERY
def test_a_comparison_is_the_same(table):
    transfer = {"gas": [21_000], "linea_size": [128]}
    found, expected = (compare(transfer, one, rules=["linea"]) for one in (table, PLAIN))

    assert found.identical(expected)


@pytest.mark.parametrize("kind", ["an index of datetimes", "names of Dune"])
def test_a_forecast_is_the_same(kind):
    options = {"horizons": ["1h"], "method": "persistence", "paths": 0}
    found, expected = (forecast(one, **options) for one in (SAME[kind], PLAIN))

    assert found.drop_attrs().identical(expected.drop_attrs())


@pytest.mark.parametrize("name", [name for names in L1_NAMES.values() for name in names if name != "blob_count"])
def test_a_file_and_a_table_know_the_same_names(tmp_path, name):
    (ours,) = (ours for ours, names in L1_NAMES.items() if name in names)
    values = {"timestamp": 1_767_744_000, "base_fee": 10**9, "gas_used": 1, "gas_limit": 4, "excess_blob_gas": 0}
    row = {name if key == ours else key: value for key, value in (values | {ours: values.get(ours, 1)}).items()}
    (tmp_path / "fees.csv").write_text(f"{','.join(row)}\n{','.join(map(str, row.values()))}\n")
    kept = {"columns": {"tip": f"{name}:wei"}} if ours == "tip" else {}
    kept = {"columns": {"blob_base_fee": f"{name}:wei"}} if ours == "blob_base_fee" else kept

    assert read_l1_fees(tmp_path / "fees.csv", **kept)[ours].notna().all()
    assert l1_table("l1_fees", {key: [value] for key, value in row.items()})[ours] == [row[name]]


def test_a_number_of_blobs_is_blob_gas():
    assert l1_table("l1_fees", {"blob_count": [0, 6]})["blob_gas_used"].tolist() == [0, 786_432]


@pytest.mark.parametrize(
    ("table", "named"),
    [
        ({"timestamp": [0], "time": [0], "base_fee": [7e7]}, "expected one column of timestamp, got .*time"),
        ({"base_fee": [7e7]}, "expected a column timestamp of seconds or datetimes, or an index of datetimes"),
        ({"timestamp": ["soon"], "base_fee": [7e7]}, "timestamp: expected seconds or datetimes"),
        ({"timestamp": [0]}, "expected a column base_fee"),
        (5, "table: expected a table"),
    ],
)
def test_what_is_wrong_with_a_table_is_named(table, named):
    with pytest.raises(InvalidInput, match=named):
        replay(table)
