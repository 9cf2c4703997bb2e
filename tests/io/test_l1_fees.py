"""L1 fees from files, and from the answer of `eth_feeHistory`."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.io import FeeHistory, parse_fee_history, read_l1_fees
from feemodel.io.tables import L1_FEES
from tests.conftest import ROOT

#: Files of cryo, ethereum-etl and a node, made of facts of Ethereum mainnet and Görli.
EXTRACTS = ROOT / "tests" / "data" / "extracts"

# Ethereum mainnet, 2026-01-07.
FEES = """\
block_number,timestamp,base_fee_per_gas,excess_blob_gas,blob_gas_used,blob_base_fee
24183331,1767795287,260247136,193024512,786432,14938687
24183321,1767795167,248255237,191975938,655360,13656492
"""


def check_columns(table: pd.DataFrame) -> None:
    assert list(table) == [column.name for column in L1_FEES.columns]
    assert [table[column.name].dtype for column in L1_FEES.columns] == [column.dtype for column in L1_FEES.columns]


def test_fees_as_csv(tmp_path: Path) -> None:
    path = tmp_path / "fees.csv"
    path.write_text(FEES)
    table = read_l1_fees(path)
    check_columns(table)
    assert table.to_numpy().tolist() == [
        [24183321, 1767795167, 248255237, 191975938, 655360, 13656492, *[pd.NA] * 5],
        [24183331, 1767795287, 260247136, 193024512, 786432, 14938687, *[pd.NA] * 5],
    ]


def test_own_table_written_and_read_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "fees.csv").write_text(FEES)
    table = read_l1_fees(tmp_path / "fees.csv")
    table.to_csv(tmp_path / "again.csv", index=False)
    table.to_parquet(tmp_path / "again.parquet")
    pd.testing.assert_frame_equal(read_l1_fees(tmp_path / "again.csv"), table)
    pd.testing.assert_frame_equal(read_l1_fees(tmp_path / "again.parquet"), table)


def test_whole_columns_in_another_unit_are_read_up_to_64_bits(tmp_path: Path) -> None:
    path, largest = tmp_path / "fees.parquet", (2**63 - 1) // 131_072
    rows = {"timestamp": [12, 24, 36], "excess_blob_gas": [0, 0, 0]}
    pq.write_table(pa.table(rows | {"blob_count": [1, 2, largest]}), path)
    assert read_l1_fees(path)["blob_gas_used"].to_list() == [131_072, 262_144, largest * 131_072]
    pq.write_table(pa.table(rows | {"blob_count": [1, 2, largest + 1]}), path)
    with pytest.raises(UnreadableFile, match=rf"row 3: blob_count: .* 2\*\*63 - 1, got {largest + 1}"):
        read_l1_fees(path)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([{"blob_count": 3, "blob_gas_used": 393216}, {"blobGasUsed": "0x20000"}], [393216, 131072]),
        ([{"blob_count": 3}, {"blob_gas_used": 131072}], [393216, 131072]),
    ],
)
def test_blob_counts_of_json_become_blob_gas(tmp_path: Path, rows: list[dict[str, Any]], expected: list[int]) -> None:
    path = tmp_path / "blobs.json"
    path.write_text(json.dumps([{"timestamp": 12 * at, "base_fee": 7_000_000, **row} for at, row in enumerate(rows)]))
    assert read_l1_fees(path)["blob_gas_used"].to_list() == expected


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("blob_count", 1.3, "row 1: blob_count: expected a whole number, got 1.3"),
        ("time_ms", 1500, "row 1: time_ms: expected a whole number of seconds, got 1500"),
    ],
)
def test_what_is_not_whole_in_our_unit_is_refused(tmp_path: Path, column: str, value: float, message: str) -> None:
    path = tmp_path / "fees.json"
    path.write_text(json.dumps([{"time_ms": 12_000, "base_fee": 7, column: value}]))
    with pytest.raises(UnreadableFile, match=message):
        read_l1_fees(path, columns={"timestamp": "time_ms:ms"})


def test_blocks_of_every_extractor_are_l1_fees() -> None:
    cryo = read_l1_fees(EXTRACTS / "blocks.cryo.parquet")
    check_columns(cryo)
    assert cryo["base_fee"].to_list() == [80869370967, 77334732501]
    known = ["gas_limit", "gas_used_ratio"]  # to all but cryo
    for name in ("blocks.node.json", "blocks.etl.csv"):
        table = read_l1_fees(EXTRACTS / name)
        assert table["gas_limit"].to_list() == [30_000_000] * 2
        pd.testing.assert_frame_equal(table.drop(columns=known), cryo.drop(columns=known))
    assert read_l1_fees(EXTRACTS / "blocks_with_blobs.etl.csv")["blob_gas_used"].to_list() == [131072, 131072]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (FEES + FEES.splitlines()[1] + "\n", "block_number: expected unique rows, got 24183331"),
        (
            FEES.replace("248255237", "0.248"),
            r"row 2: base_fee_per_gas: expected from 1,000 wei .* use base_fee=base_fee_per_gas:gwei, .*, got 0\.2",
        ),
        ("block_number,timestamp\n1,2\n", "expected rows with base_fee, blob_base_fee or excess_blob_gas"),
    ],
)
def test_wrong_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "fees.csv"
    path.write_text(text)
    with pytest.raises(UnreadableFile, match=rf"fees\.csv: .*{message}"):
        read_l1_fees(path)


def test_shared_five_million_blocks(full_inputs: Path) -> None:
    table = read_l1_fees(full_inputs / "data" / "l1_blobs_19426587_24465653.parquet")
    assert len(table) == 5_039_067
    assert (np.diff(table["block_number"]) == 1).all()
    assert int(table["blob_gas_used"].max()) == 131_072 * 21
    assert table["blob_base_fee"].isna().all()


HISTORY: dict[str, Any] = {
    "oldestBlock": "0x171d5d9",
    "baseFeePerGas": ["0x64", "0x6e", "0x78"],
    "gasUsedRatio": [0.25, 1],
    "baseFeePerBlobGas": ["0xc8", "0xd2", "0xdc"],
    "blobGasUsedRatio": [0.5, 0],
    "reward": [["0x3e8", "0x7d0"], ["0x44c", "0x898"]],
}


@pytest.mark.parametrize(
    "answer",
    [
        HISTORY,
        json.dumps(HISTORY).encode(),
        {"jsonrpc": "2.0", "id": 1, "result": HISTORY},
        json.dumps({"jsonrpc": "2.0", "id": 1, "result": HISTORY}),
    ],
    ids=["object", "bytes", "response", "response text"],
)
def test_fee_history(answer: Any) -> None:
    assert parse_fee_history(answer) == FeeHistory(
        oldest_block=24237529,
        base_fees=(100, 110, 120),
        gas_used_ratios=(0.25, 1.0),
        blob_base_fees=(200, 210, 220),
        blob_gas_used_ratios=(0.5, 0.0),
        rewards=((1000, 2000), (1100, 2200)),
    )


@pytest.mark.parametrize("absent", [{"reward": None}, {"reward": []}])
def test_fee_history_without_percentiles_and_blobs(absent: dict[str, Any]) -> None:
    old = {name: HISTORY[name] for name in ("oldestBlock", "baseFeePerGas", "gasUsedRatio")}
    history = parse_fee_history({**old, **absent})
    assert (history.rewards, history.blob_base_fees, history.blob_gas_used_ratios) == ((), (), ())


def test_blob_base_fees_are_kept_without_their_ratios() -> None:
    history = parse_fee_history(
        {name: value for name, value in HISTORY.items() if name not in ("blobGasUsedRatio", "reward")}
    )

    assert (history.blob_base_fees, history.blob_gas_used_ratios) == ((200, 210, 220), ())
    assert history.as_table()["blob_base_fee"] == [200, 210]
    assert "blob_gas_used_ratio" not in history.as_table()


def test_blob_base_fees_of_0_say_that_there_are_no_blobs() -> None:
    before = {"baseFeePerBlobGas": ["0x0", "0x0", "0x1"], "blobGasUsedRatio": [0, 0]}  # geth, up to Cancun
    history = parse_fee_history(HISTORY | before | {"reward": None})

    assert history.blob_base_fees == (0, 0, 1)
    assert not {"blob_base_fee", "blob_gas_used_ratio"} & history.as_table().keys()


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        (pa.date32(), [date(2024, 4, 1), date(2024, 4, 2)], [1711929600, 1712016000]),
        (pa.date64(), [date(2024, 4, 1), date(2024, 4, 2)], [1711929600, 1712016000]),
        (pa.string_view(), ["2024-04-01", "2024-04-02 00:00:00+00"], [1711929600, 1712016000]),
        (pa.timestamp("ns", "Europe/Berlin"), [1711929600 * 10**9, 1712016000 * 10**9], [1711929600, 1712016000]),
        (pa.decimal128(38, 0), [1711929600, 1712016000], [1711929600, 1712016000]),
    ],
    ids=str,
)
def test_times_of_every_type_of_parquet(tmp_path: Path, kind: pa.DataType, values: list[Any], expected: Any) -> None:
    pq.write_table(pa.table({"timestamp": pa.array(values, kind), "base_fee": [7_000, 8_000]}), tmp_path / "fees")

    assert read_l1_fees(tmp_path / "fees")["timestamp"].tolist() == expected


def test_text_of_java_and_of_r(tmp_path: Path) -> None:
    (tmp_path / "fees.csv").write_text("block_number,timestamp,base_fee\nNA,100,7.0E9\nNA,112,8.25E+09\n")
    read = read_l1_fees(tmp_path / "fees.csv")

    assert (read["base_fee"].tolist(), read["block_number"].isna().all()) == ([7_000_000_000, 8_250_000_000], True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"oldestBlock": None}, "oldestBlock: expected an integer, got None"),
        ({"baseFeePerGas": None}, "baseFeePerGas: expected a list"),
        ({"baseFeePerBlobGas": [hex(2**63)] * 3}, r"baseFeePerBlobGas\[0\]: expected a number below 2\*\*63"),
        ({"baseFeePerGas": ["0x64", "0x6e"]}, "baseFeePerGas: expected 3 values, because of .* gasUsedRatio, not 2"),
        ({"baseFeePerGas": ["0x64", "1e3", "0x1"]}, r"baseFeePerGas\[1\]: expected a quantity.*got '1e3'"),
        ({"gasUsedRatio": [0.5, -0.1]}, r"gasUsedRatio\[1\]: expected a ratio of at least 0, got -0\.1"),
        ({"gasUsedRatio": [float("nan"), 1]}, r"gasUsedRatio\[0\]: expected a ratio of at least 0, got nan"),
        ({"gasUsedRatio": ["0.5", 1]}, r"gasUsedRatio\[0\]: expected a ratio"),
        ({"blobGasUsedRatio": [0.5]}, "blobGasUsedRatio: expected 2 values"),
        ({"baseFeePerBlobGas": ["0x1"]}, "baseFeePerBlobGas: expected 3 values"),
        ({"reward": [["0x1"], ["0x1", "0x2"]]}, r"reward\[0\]: expected 2 values"),
        ({"reward": [["0x1"], None]}, r"reward\[1\]: expected a list, got None"),
    ],
)
def test_fee_history_that_does_not_fit_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse_fee_history({**HISTORY, **change})


@pytest.mark.parametrize("answer", ["[]", "5", {"result": None}, {"result": []}, "{"])
def test_answer_that_is_no_fee_history_is_refused(answer: Any) -> None:
    with pytest.raises(InvalidInput, match="the fee history: "):
        parse_fee_history(answer)
