"""Files of every kind: how each is recognised, and what does not fit is named by row, column and value."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from feemodel.errors import UnreadableFile
from feemodel.io import read_l1_fees, read_transactions
from tests.io.test_l1_fees import EXTRACTS

FIRST, SECOND = json.loads((EXTRACTS / "blocks.node.json").read_text())


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([FIRST, SECOND]),
        json.dumps([FIRST, SECOND], indent=2),
        json.dumps(FIRST) + "\n" + json.dumps(SECOND),
        "\n" + json.dumps(FIRST) + "\n\n" + json.dumps(SECOND) + "\n",
        json.dumps([{"jsonrpc": "2.0", "id": 1, "result": block} for block in (FIRST, SECOND)]),
        "".join(json.dumps({"jsonrpc": "2.0", "id": 1, "result": block}) + "\n" for block in (FIRST, SECOND)),
        json.dumps([FIRST]) + "\n" + json.dumps({"result": SECOND}) + "\n",
        "\ufeff" + json.dumps([SECOND, FIRST]),
    ],
    ids=["list", "indented", "lines", "empty lines", "batch", "responses", "mixed", "byte order mark"],
)
@pytest.mark.parametrize("packed", [False, True])
def test_json_of_a_node(tmp_path: Path, text: str, packed: bool) -> None:
    path = tmp_path / "blocks"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    table = read_l1_fees(path)
    assert table["block_number"].to_list() == [17173049, 17173050]
    assert table["timestamp"].to_list() == [1683029999, 1683030011]
    assert table["base_fee"].to_list() == [80869370967, 77334732501]


def test_missing_empty_and_other_files_are_named_so(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "empty.gz").write_bytes(gzip.compress(b""))
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"[]")[:-4])
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    (tmp_path / "semicolons.csv").write_text("number;base_fee\n1;2\n")
    (tmp_path / "wide.csv").write_text("a," + "b" * 200_000 + "\n1,2\n")
    (tmp_path / "lacking.csv").write_text("block_number,day,gas_used\n1,2,3\n")
    for name, message in {
        "missing": "no such file",
        "wide.csv": "field larger than field limit",
        "lacking.csv": r"L1 fees lack timestamp .*got 'block_number, day, gas_used'",
        "empty": "the file is empty",
        "empty.gz": "the file is empty",
        "cut.gz": "damaged gzip data",
        ".": "a folder, not a file",
        "picture.png": r"neither Parquet nor CSV with commas nor JSON; it begins with b'\\x89PNG",
        "semicolons.csv": "neither Parquet nor CSV with commas nor JSON",
    }.items():
        with pytest.raises(UnreadableFile, match=message):
            read_l1_fees(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"number": "0x1", "timestamp": "0x2"', r"the document: not JSON at line 1 column 37 \(Expecting"),
        ('[{"number": 1},\n{"number"', r"the document: not JSON at line 2 column 10"),
        ("[1, 2]", "row 1: expected an object, got 1"),
        ('{"number": "0x1", "hash": "0x2"}', "L1 fees lack timestamp or"),
        ('{"id": 1, "result": null}', "the node does not have this block"),
        ('{"id": 1, "error": {"code": -32000, "message": "busy"}}', "not an error.*busy"),
        ('{"number": "0x1", "timestamp": 1.5, "gasUsed": "0x3"}', "timestamp: expected a whole number, got 1.5"),
        ('{"number": "0x1", "timestamp": true, "gasUsed": "0x3"}', "timestamp: expected a whole number, got True"),
        ('{"number": "0x1", "timestamp": null, "gasUsed": "0x3"}', "timestamp: expected a value, got None"),
        ('{"number": "0x8000000000000000", "timestamp": 2, "gasUsed": 3}', r"number: expected .*2\*\*63 - 1"),
    ],
)
def test_json_that_does_not_fit_is_refused_with_place_and_value(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "blocks.json"
    path.write_text(text)
    with pytest.raises(UnreadableFile, match=rf"blocks\.json: .*{message}"):
        read_l1_fees(path)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("gas_used", "9.5", "row 2: gas_used: expected a whole number, got '9.5'"),
        ("gas_used", "010", "row 2: gas_used: expected a whole number, got '010'"),
        ("gas_used", "9223372036854775808", r"row 2: gas_used: expected a number of at most 2\*\*63 - 1"),
        ("timestamp", "", "row 2: timestamp: expected a value"),
    ],
)
def test_csv_value_that_does_not_fit_is_refused(tmp_path: Path, column: str, value: str, message: str) -> None:
    path = tmp_path / "blocks.csv"
    header, first, second = (EXTRACTS / "blocks.etl.csv").read_text().splitlines()
    fields = second.split(",")
    fields[header.split(",").index(column)] = value
    path.write_text("\n".join([header, first, ",".join(fields), ""]))
    with pytest.raises(UnreadableFile, match=rf"blocks\.csv: {message}"):
        read_l1_fees(path)


@pytest.mark.parametrize(
    ("column", "array", "message"),
    [
        ("gas_used", pa.array([1.0, 2.5]), r"row 2: gas_used: expected a whole number, got 2\.5"),
        ("gas_used", pa.array([1, 2**63], pa.uint64()), r"row 2: gas_used: expected a number of at most 2\*\*63 - 1"),
        ("gas_used", pa.array([1, -1], pa.int32()), "row 2: gas_used: expected a whole number, got -1"),
    ],
)
def test_parquet_column_that_does_not_fit_is_refused(tmp_path: Path, column: str, array: Any, message: str) -> None:
    table = pq.read_table(EXTRACTS / "blocks.cryo.parquet")
    pq.write_table(table.set_column(table.column_names.index(column), column, array), tmp_path / "blocks")
    with pytest.raises(UnreadableFile, match=message):
        read_l1_fees(tmp_path / "blocks")


def test_column_that_stands_there_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "blocks.csv"
    path.write_text("block_number,timestamp,gas_used,gas_used\n1,2,3,4\n")
    with pytest.raises(UnreadableFile, match="has the column gas_used twice"):
        read_l1_fees(path)


@pytest.mark.parametrize("read", [read_l1_fees, read_transactions])
def test_a_table_from_a_pipe_is_refused_before_it_is_opened(tmp_path: Path, read: Any) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)  # to open it would wait for a writer

    with pytest.raises(UnreadableFile, match="a pipe or a device"):
        read(path)


def test_the_text_of_a_parquet_file_is_read_in_each_of_its_types(tmp_path: Path) -> None:
    path = tmp_path / "blocks.parquet"
    numbers = {"timestamp": [1, 2]}
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        pq.write_table(pa.table({**numbers, "base_fee": pa.array(["0xfffff", "7000000"], kind)}), path)
        assert read_l1_fees(path)["base_fee"].to_list() == [0xFFFFF, 7_000_000]
