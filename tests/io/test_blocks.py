"""Blocks of every extractor, unmodified, as one table."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.io import parse_blocks, read_blocks
from feemodel.io.tables import BLOCKS
from tests.helpers import extracts

FIRST, SECOND = map(extracts.rpc_block, extracts.BLOCKS)


def check_the_facts(table: pd.DataFrame) -> None:
    """What every extractor knows of the two mainnet blocks."""
    assert list(table) == [column.name for column in BLOCKS.columns]
    assert [table[column.name].dtype for column in BLOCKS.columns] == [column.dtype for column in BLOCKS.columns]
    assert table["block_number"].to_list() == [17173049, 17173050]
    assert table["timestamp"].to_list() == [1683029999, 1683030011]
    assert table["gas_used"].to_list() == [9755040, 15491478]
    assert table["base_fee_per_gas"].to_list() == [80869370967, 77334732501]
    assert table["extra_data"].to_list() == [b"rsync-builder.xyz", b"beaverbuild.org"]
    assert table["block_hash"][1].hex() == extracts.BLOCK_HASHES[17173050][2:]


@pytest.mark.parametrize("hexadecimal", [False, True])
def test_cryo_parquet(tmp_path: Path, hexadecimal: bool) -> None:
    table = read_blocks(extracts.cryo_blocks(tmp_path / "ethereum__blocks.parquet", hexadecimal=hexadecimal))
    check_the_facts(table)
    absent = ["parent_hash", "gas_limit", "blob_gas_used", "excess_blob_gas", "transaction_count", "size"]
    assert table[absent].isna().all(axis=None)


@pytest.mark.parametrize("blobs", [False, True])
@pytest.mark.parametrize("name", ["blocks.csv", "blocks.csv.gz", "blocks.of.another.name"])
def test_ethereum_etl_csv(tmp_path: Path, name: str, blobs: bool) -> None:
    table = read_blocks(extracts.etl_blocks(tmp_path / name, blobs=blobs))
    check_the_facts(table)
    assert table["parent_hash"][1] == table["block_hash"][0]
    assert table["gas_limit"].to_list() == [30000000, 30000000]
    assert table["transaction_count"].to_list() == [116, 182]
    assert table["size"].to_list() == [40573, 77412]
    if blobs:
        assert table["blob_gas_used"].to_list() == [131072, 131072]
        assert table["excess_blob_gas"].to_list() == [0, 0]
    else:
        assert table[["blob_gas_used", "excess_blob_gas"]].isna().all(axis=None)


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
    table = read_blocks(path)
    check_the_facts(table)
    assert table["transaction_count"].to_list() == [116, 182]
    assert table["parent_hash"][1] == table["block_hash"][0]


def test_one_block_of_json() -> None:
    for text in (json.dumps(FIRST), json.dumps(FIRST, indent=1), json.dumps({"id": 7, "result": FIRST}, indent=4)):
        assert parse_blocks(text.encode())["block_number"].to_list() == [17173049]


def test_block_with_whole_transactions_is_a_block() -> None:
    table = parse_blocks(json.dumps(extracts.rpc_block_with_transactions()).encode())
    assert table["transaction_count"].to_list() == [3]


def test_block_before_london_has_no_base_fee() -> None:
    old = {name: value for name, value in FIRST.items() if name not in ("baseFeePerGas", "transactions", "size")}
    table = parse_blocks(json.dumps(old).encode())
    assert table["base_fee_per_gas"].isna().all()
    assert table["transaction_count"].isna().all()


def test_all_formats_give_the_same_table(tmp_path: Path) -> None:
    etl = read_blocks(extracts.etl_blocks(tmp_path / "blocks.csv"))
    pd.testing.assert_frame_equal(etl, parse_blocks(json.dumps([FIRST, SECOND]).encode()))
    known_to_cryo = ["block_number", "timestamp", "block_hash", "gas_used", "base_fee_per_gas", "extra_data"]
    cryo = read_blocks(extracts.cryo_blocks(tmp_path / "blocks.parquet"))
    pd.testing.assert_frame_equal(cryo[known_to_cryo], etl[known_to_cryo])


def test_complete_column_is_a_plain_array_for_the_formulas(tmp_path: Path) -> None:
    table = read_blocks(extracts.cryo_blocks(tmp_path / "blocks.parquet"))
    assert np.asarray(table["base_fee_per_gas"]).dtype == np.int64


def test_rows_are_sorted_and_gaps_are_kept() -> None:
    far = {**SECOND, "number": hex(17173099)}
    assert parse_blocks(json.dumps([far, FIRST]).encode())["block_number"].to_list() == [17173049, 17173099]


def test_block_that_stands_there_twice_is_refused() -> None:
    with pytest.raises(InvalidInput, match="block_number: expected unique rows, got 17173050"):
        parse_blocks(json.dumps([SECOND, FIRST, SECOND]).encode())


def test_header_without_rows_is_an_empty_table(tmp_path: Path) -> None:
    path = extracts.write_csv(tmp_path / "blocks.csv", extracts.ETL_BLOCK_HEADER, [])
    table = read_blocks(path)
    assert len(table) == 0
    assert [table[column.name].dtype for column in BLOCKS.columns] == [column.dtype for column in BLOCKS.columns]
    assert len(parse_blocks(b"[]")) == 0


def test_missing_empty_and_other_files_are_named_so(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "empty.gz").write_bytes(gzip.compress(b""))
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    (tmp_path / "semicolons.csv").write_text("number;base_fee\n1;2\n")
    (tmp_path / "wide.csv").write_text("a," + "b" * 200_000 + "\n1,2\n")
    (tmp_path / "lacking.csv").write_text("block_number,date,gas_used\n1,2,3\n")
    for name, message in {
        "missing": "no such file",
        "wide.csv": "field larger than field limit",
        "lacking.csv": r"blocks also need timestamp .*got 'block_number, date, gas_used'",
        "empty": "the file is empty",
        "empty.gz": "the file is empty",
        ".": "a folder, not a file",
        "picture.png": r"neither Parquet nor CSV with commas nor JSON; it begins with b'\\x89PNG",
        "semicolons.csv": "neither Parquet nor CSV with commas nor JSON",
    }.items():
        with pytest.raises(UnreadableFile, match=message):
            read_blocks(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"number": "0x1", "timestamp": "0x2"', r"the document: not JSON at line 1 column 37 \(Expecting"),
        ('[{"number": 1},\n{"number"', r"the document: not JSON at line 2 column 10"),
        ("[1, 2]", "row 1: expected an object, got 1"),
        ('{"number": "0x1", "hash": "0x2"}', "blocks also need timestamp or"),
        ('{"id": 1, "result": null}', "the node does not have this block"),
        ('{"id": 1, "error": {"code": -32000, "message": "busy"}}', "not an error.*busy"),
        ('{"number": "0x1", "timestamp": 1.5, "gasUsed": "0x3"}', "timestamp: expected a whole number, got 1.5"),
        ('{"number": "0x1", "timestamp": true, "gasUsed": "0x3"}', "timestamp: expected a whole number, got True"),
        ('{"number": "0x1", "timestamp": null, "gasUsed": "0x3"}', "timestamp: expected a value, got None"),
        ('{"number": -1, "timestamp": 2, "gasUsed": 3}', "number: expected a whole number, got -1"),
        ('{"number": "0x8000000000000000", "timestamp": 2, "gasUsed": 3}', r"number: expected .*2\*\*63 - 1"),
        ('{"number": 1, "timestamp": 2, "gasUsed": 3, "extraData": "0x123"}', "counted 3, got '0x123'"),
        ('{"number": 1, "timestamp": 2, "gasUsed": 3, "hash": "0x12"}', "hash: expected 32 bytes, got '0x12'"),
    ],
)
def test_json_that_does_not_fit_is_refused_with_place_and_value(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "blocks.json"
    path.write_text(text)
    with pytest.raises(UnreadableFile, match=rf"blocks\.json: .*{message}"):
        read_blocks(path)


def test_json_line_that_does_not_fit_is_named_by_its_row() -> None:
    lines = [json.dumps(FIRST), "", json.dumps({**SECOND, "gasUsed": "lots"})]
    with pytest.raises(InvalidInput, match=r"row 2: gasUsed: expected a whole number.*got 'lots'"):
        parse_blocks("\n".join(lines).encode())
    with pytest.raises(InvalidInput, match="line 2: not JSON"):
        parse_blocks((json.dumps(FIRST) + '\n{"number": "0x').encode())


def test_text_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "blocks.json"
    path.write_bytes(b'{"number": "\xff"}')
    with pytest.raises(UnreadableFile, match=r"not JSON \('utf-8' codec can't decode byte 0xff in position 12"):
        read_blocks(path)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("gas_used", "9.5", "row 2: gas_used: expected a whole number, got '9.5'"),
        ("gas_used", "-5", "row 2: gas_used: expected a whole number, got '-5'"),
        ("gas_used", "0b10", "row 2: gas_used: expected a whole number, got '0b10'"),
        ("gas_used", "010", "row 2: gas_used: expected a whole number, got '010'"),
        ("gas_used", "9223372036854775808", r"row 2: gas_used: expected a number of at most 2\*\*63 - 1"),
        ("gas_used", "1" + "0" * 30, r"row 2: gas_used: expected a number of at most 2\*\*63 - 1"),
        ("timestamp", "", "row 2: timestamp: expected a value"),
        ("extra_data", "0x123", "row 2: extra_data: expected an even number of hexadecimal digits, counted 3"),
        ("hash", "0x1234", "row 2: block_hash: expected 32 bytes, got '0x1234'"),
        ("number", "17173049", "block_number: expected unique rows, got 17173049"),
    ],
)
def test_csv_value_that_does_not_fit_is_refused(tmp_path: Path, column: str, value: str, message: str) -> None:
    path = extracts.etl_blocks(tmp_path / "blocks.csv")
    header, first, second = path.read_text().splitlines()
    fields = second.split(",")
    fields[header.split(",").index(column)] = value
    path.write_text("\n".join([header, first, ",".join(fields), ""]))
    with pytest.raises(UnreadableFile, match=rf"blocks\.csv: {message}"):
        read_blocks(path)


def test_largest_integers_are_read(tmp_path: Path) -> None:
    path = tmp_path / "blocks.csv"
    path.write_text("block_number,timestamp,gas_used\n0,0,9223372036854775807\n5,1,0\n")
    table = read_blocks(path)
    assert table[["block_number", "timestamp", "gas_used"]].to_numpy().tolist() == [[0, 0, 2**63 - 1], [5, 1, 0]]


@pytest.mark.parametrize(
    ("column", "array", "message"),
    [
        ("gas_used", pa.array([1.0, 2.5]), r"row 2: gas_used: expected a whole number, got 2\.5"),
        ("gas_used", pa.array([1, 2**63], pa.uint64()), r"row 2: gas_used: expected a number of at most 2\*\*63 - 1"),
        ("gas_used", pa.array([1, -1], pa.int32()), "row 2: gas_used: expected a whole number, got -1"),
        ("gas_used", pa.array([None, 1], pa.uint64()), "row 1: gas_used: expected a value"),
        ("extra_data", pa.array([1, 2]), "extra_data: expected hexadecimal data that starts with 0x, got 1"),
        ("block_hash", pa.array([b"\0" * 32, b"\0" * 31]), "row 2: block_hash: expected 32 bytes"),
    ],
)
def test_parquet_column_that_does_not_fit_is_refused(tmp_path: Path, column: str, array: Any, message: str) -> None:
    path = extracts.cryo_blocks(tmp_path / "blocks.parquet")
    table = pq.read_table(path)
    pq.write_table(table.set_column(table.column_names.index(column), column, array), path)
    with pytest.raises(UnreadableFile, match=message):
        read_blocks(path)


def test_column_that_stands_there_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "blocks.csv"
    path.write_text("block_number,timestamp,gas_used,gas_used\n1,2,3,4\n")
    with pytest.raises(UnreadableFile, match="has the column gas_used twice"):
        read_blocks(path)
