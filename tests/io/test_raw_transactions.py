"""Raw transactions from lines."""

import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from feemodel.errors import UnreadableFile
from feemodel.io import parse_transactions, read_transactions
from feemodel.io.tables import RAW_TRANSACTIONS

# The first transaction of Linea block 41,640, cut short, with what is known of it.
ROW = {
    "block_number": 41640,
    "hash": "0x6d64899594db4fde23aeb00bfb0fb5bd819bd6ad532d5c68adeea6570d853078",
    "type": 2,
    "raw": "0x02f87782e7088255f885012a05f200852e90edd000825208945e971b1e3d22764789442cde789efd2fe8cb8498",
    "gas_limit": 21000,
    "gas_used": 21000,
    "status": True,
    "sender": "0x80c67432656d59144ceff962e8faf8926599bcf8",
    "max_fee_per_gas": 200000000000,
    "base_fee_per_gas": 7,
    "source": "a file",
    "note": "not a column of the table",
}


def lines(*rows: Any) -> bytes:
    return b"\n".join(row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows)


def test_json_lines_keep_the_known_columns() -> None:
    table = parse_transactions(lines(ROW, {"raw": "0xc0", "max_fee_per_gas": None}))
    assert list(table) == [column.name for column in RAW_TRANSACTIONS.columns]
    assert [table[column.name].dtype for column in RAW_TRANSACTIONS.columns] == [
        column.dtype for column in RAW_TRANSACTIONS.columns
    ]
    assert table["raw"].to_list() == [bytes.fromhex(ROW["raw"][2:]), b"\xc0"]
    assert table["block_number"].to_list() == [41640, pd.NA]
    assert table["sender"][0].hex() == "80c67432656d59144ceff962e8faf8926599bcf8"
    assert table["gas_used"].to_list() == [21000, pd.NA]


def test_one_hexadecimal_string_a_line() -> None:
    assert parse_transactions(b"\xef\xbb\xbf0x02f8\n\n0xC0\r\n")["raw"].to_list() == [b"\x02\xf8", b"\xc0"]
    assert parse_transactions('{"signed": "0xc0"}', columns={"raw": "signed"})["raw"].to_list() == [b"\xc0"]


def test_sender_and_unsigned_transaction_is_the_other_payload() -> None:
    table = parse_transactions(lines({"block": 24288348, "sender_and_unsigned_transaction": "0x909f"}))
    assert table["sender_and_unsigned_transaction"].to_list() == [b"\x90\x9f"]
    assert table["block_number"].to_list() == [24288348]
    assert table["raw"].isna().all()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({**ROW, "raw": "0x02f"}, "raw: expected an even number of hexadecimal digits, counted 3, got '0x02f'"),
        ({**ROW, "raw": "02f8"}, "raw: expected hexadecimal data that starts with 0x, got '02f8'"),
        ({**ROW, "sender": "0x80"}, "sender: expected 20 bytes, got '0x80'"),
        (b'{"raw": "0x02', r"not JSON at line 1 column 9 \(Unterminated string"),
        (b"0x02f", "raw: expected an even number of hexadecimal digits, counted 3, got '0x02f'"),
        (b"0x02\xff8", "raw: expected"),
        (b'{"a": ' + b"[" * 100_000, "not JSON"),
    ],
)
def test_wrong_line_is_named_by_file_row_and_value(tmp_path: Path, wrong: Any, message: str) -> None:
    path = tmp_path / "transactions.jsonl"
    path.write_bytes(lines(ROW, b"", wrong, ROW))
    with pytest.raises(UnreadableFile, match=rf"transactions\.jsonl: (line 3|row 2): {message}"):
        read_transactions(path)


@pytest.mark.parametrize(
    ("name", "rows", "payload"),
    [
        ("linea_mainnet_transactions.jsonl.gz", 1193, "raw"),
        ("linea_blob_24288348_24288678.jsonl.gz", 1089, "sender_and_unsigned_transaction"),
        ("op_mainnet_channel_2024-06-14.jsonl.gz", 1766, "raw"),
    ],
)
def test_shared_files_are_read_whole(shared: Path, name: str, rows: int, payload: str) -> None:
    path = shared / "data" / name
    table = read_transactions(path)
    assert len(table) == rows
    with gzip.open(path, "rt") as file:
        given = [json.loads(line) for line in file]
    assert ["0x" + data.hex() for data in table[payload]] == [row[payload] for row in given]
    for column in RAW_TRANSACTIONS.columns:
        if column.kind == "whole" and column.name in given[0]:
            expected = [row.get(column.name) for row in given]
            assert [None if value is pd.NA else value for value in table[column.name]] == expected
