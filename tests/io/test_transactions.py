"""Transactions of every extractor, unmodified, as one table."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from feemodel.cli.subjects import priced_rows
from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.io import parse_transactions, read_transactions
from feemodel.io.tables import TRANSACTIONS
from tests.helpers import extracts


def write_cryo(path: Path, **changes: Any) -> Path:
    """The transactions of cryo with columns replaced, or left out where the change is `None`."""
    table = extracts.cryo_transactions_table()
    for name, array in changes.items():
        index = table.column_names.index(name)
        table = table.remove_column(index) if array is None else table.set_column(index, name, array)
    pq.write_table(table, path, compression="lz4")
    return path


def check_the_facts(table: pd.DataFrame) -> None:
    """What every extractor knows of the three Görli transactions."""
    assert list(table) == [column.name for column in TRANSACTIONS.columns]
    assert [table[column.name].dtype for column in TRANSACTIONS.columns] == [
        column.dtype for column in TRANSACTIONS.columns
    ]
    assert table["block_number"].to_list() == [8656134] * 3
    assert table["transaction_index"].to_list() == [0, 30, 31]
    assert table["nonce"].to_list() == [161944, 3, 57]
    assert table["value"].to_list() == [50000000000000000, 10074622891699440, 0]
    assert table["input"].map(len).to_list() == [0, 68, 14]
    assert table["gas_limit"].to_list() == [21000, 175851, 5776098]
    assert table["gas_price"].to_list() == [223775454286, 6127714918, 6127714918]
    assert table["max_fee_per_gas"].to_list() == [pd.NA, 10870963324, pd.NA]
    assert table["to_address"][0].hex() == "d1942c9fc28f4c1ec514eb596b2df024798547cc"
    assert table["to_address"].isna().to_list() == [False, False, True]


def test_cryo_parquet(tmp_path: Path) -> None:
    table = read_transactions(write_cryo(tmp_path / "ethereum__transactions.parquet"))
    check_the_facts(table)
    assert table["gas_used"].to_list() == [21000, 21030, 21031]
    assert table["chain_id"].to_list() == [5, 5, 5]
    assert table["transaction_type"].to_list() == [0, 2, pd.NA]
    assert table["timestamp"].isna().all()


def test_ethereum_etl_csv(tmp_path: Path) -> None:
    table = read_transactions(extracts.etl_transactions(tmp_path / "transactions.csv"))
    check_the_facts(table)
    assert table["timestamp"].to_list() == [1678833072] * 3
    assert table["transaction_type"].to_list() == [0, 2, pd.NA]
    assert table[["gas_used", "effective_gas_price", "chain_id"]].isna().all(axis=None)


def test_json_of_a_node(tmp_path: Path) -> None:
    block = extracts.rpc_block_with_transactions()
    for text in (json.dumps(block), json.dumps([{"id": 1, "result": block}], indent=1)):
        path = tmp_path / "blocks.json"
        path.write_text(text)
        table = read_transactions(path)
        check_the_facts(table)
        assert table["timestamp"].to_list() == [1678833072] * 3
        assert table["chain_id"].to_list() == [pd.NA, 5, pd.NA]


def test_rows_are_sorted_by_block_and_index(tmp_path: Path) -> None:
    path = extracts.etl_transactions(tmp_path / "transactions.csv", extracts.TRANSACTIONS[::-1])
    check_the_facts(read_transactions(path))


def test_transaction_that_stands_there_twice_is_refused(tmp_path: Path) -> None:
    path = extracts.etl_transactions(tmp_path / "transactions.csv", [*extracts.TRANSACTIONS, extracts.TRANSACTIONS[1]])
    with pytest.raises(UnreadableFile, match=r"transaction_index: expected unique rows, got \[8656134, 30\]"):
        read_transactions(path)


@pytest.mark.parametrize("kept", ["value_string", "value_binary"])
def test_either_exact_variant_of_the_value_is_enough(tmp_path: Path, kept: str) -> None:
    other = {"value_string": "value_binary", "value_binary": "value_string"}[kept]
    path = write_cryo(tmp_path / "transactions.parquet", **{other: None, "value_f64": None})
    check_the_facts(read_transactions(path))


def test_value_as_hexadecimal_words_is_read(tmp_path: Path) -> None:
    words = pa.array(["0x" + f"{row['value']:064x}" for row in extracts.TRANSACTIONS])
    path = write_cryo(tmp_path / "transactions.parquet", value_binary=words, value_string=None)
    check_the_facts(read_transactions(path))


def test_amount_above_64_bits_is_exact(tmp_path: Path) -> None:
    largest = 2**256 - 1
    rows = [{**extracts.TRANSACTIONS[0], "value": largest}]
    assert read_transactions(extracts.etl_transactions(tmp_path / "t.csv", rows))["value"].to_list() == [largest]


@pytest.mark.parametrize("value", ["", "1.5", "-1", "1e18", str(2**256), "0x", "lots"])
def test_amount_that_is_none_is_refused(tmp_path: Path, value: str) -> None:
    rows = [extracts.TRANSACTIONS[0], {**extracts.TRANSACTIONS[1], "value": value}]
    with pytest.raises(UnreadableFile, match=r"row 2: value: expected a (whole number|value|whole amount)"):
        read_transactions(extracts.etl_transactions(tmp_path / "transactions.csv", rows))


def test_block_with_hashes_only_has_no_transactions_to_read() -> None:
    block = extracts.rpc_block(extracts.BLOCKS[0])
    with pytest.raises(InvalidInput, match="expected full transactions, not hashes"):
        parse_transactions(json.dumps(block).encode())


def test_transaction_without_a_recipient_field_is_refused() -> None:
    """A missing `to` means a contract creation, so it must be said, not left out."""
    block = extracts.rpc_block_with_transactions()
    del block["transactions"][1]["to"]
    with pytest.raises(InvalidInput, match="row 2: to_address: expected a value, or null"):
        parse_transactions(json.dumps(block).encode())


def test_parquet_without_a_recipient_column_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="transactions lack to_address or to"):
        read_transactions(write_cryo(tmp_path / "transactions.parquet", to_address=None))


@pytest.mark.parametrize("kind", [0x7E, 0x6A, 0x71, 0xFF])
def test_blocks_of_rollups_hold_transactions_of_their_own_types(kind: int) -> None:
    block = extracts.rpc_block_with_transactions()
    first, *others = block["transactions"]
    own = {**first, "type": hex(kind), "sender": first["from"]}
    table = parse_transactions(json.dumps({**block, "transactions": [own, *others]}))
    assert table["transaction_type"].to_list() == [kind, 2, 0]
    assert priced_rows(table) == [False, True, True]


def test_two_names_of_one_field_may_say_the_same_alone() -> None:
    first, *_ = extracts.rpc_block_with_transactions()["transactions"]
    calldata = [{**first, "input": None, "data": "0x01"}, {**first, "data": first["input"], "transactionIndex": "0x5"}]
    assert parse_transactions(json.dumps(calldata))["input"].to_list() == [b"\x01", b""]
    with pytest.raises(InvalidInput, match="row 1: input: the file has several such columns"):
        parse_transactions(json.dumps([{**first, "data": "0x01"}]))


def test_answers_to_requests_for_single_transactions() -> None:
    transactions = extracts.rpc_block_with_transactions()["transactions"]
    answers = [{"jsonrpc": "2.0", "id": 1, "result": one} for one in transactions]
    for text in (json.dumps(answers), "\n".join(map(json.dumps, answers))):
        check_the_facts(parse_transactions(text))
