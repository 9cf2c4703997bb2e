"""Transactions of every extractor, unmodified, as one table."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from feemodel.cli.subjects import priced_rows
from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.io import parse_transactions, read_transactions
from feemodel.io.tables import TRANSACTIONS
from tests.io.test_l1_fees import EXTRACTS

CRYO, ETL = EXTRACTS / "transactions.cryo.parquet", EXTRACTS / "transactions.etl.csv"
NODE = EXTRACTS / "block_with_transactions.node.json"


def block() -> dict[str, Any]:
    """The answer of a node to `eth_getBlockByNumber` with whole transactions."""
    return json.loads(NODE.read_text())


def write_etl(path: Path, places: list[int], **changes: Any) -> Path:
    """Rows of ethereum-etl in this order, with values of the last one replaced."""
    table = pd.read_csv(ETL, dtype=str, keep_default_na=False).iloc[places].reset_index(drop=True)
    for name, value in changes.items():
        table.loc[len(table) - 1, name] = value
    table.to_csv(path, index=False)
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


def test_every_extractor_knows_the_facts() -> None:
    cryo, etl, node = map(read_transactions, (CRYO, ETL, NODE))
    for table in (cryo, etl, node, parse_transactions(json.dumps([{"id": 1, "result": block()}], indent=1))):
        check_the_facts(table)
    assert cryo["gas_used"].to_list() == [21000, 21030, 21031]
    assert [table["chain_id"].to_list() for table in (cryo, etl, node)] == [[5] * 3, [pd.NA] * 3, [pd.NA, 5, pd.NA]]
    assert cryo["transaction_type"].to_list() == etl["transaction_type"].to_list() == [0, 2, pd.NA]
    assert cryo["timestamp"].isna().all()
    assert etl["timestamp"].to_list() == node["timestamp"].to_list() == [1678833072] * 3
    assert etl[["gas_used", "effective_gas_price"]].isna().all(axis=None)


def test_rows_are_sorted_and_a_transaction_stands_there_once(tmp_path: Path) -> None:
    check_the_facts(read_transactions(write_etl(tmp_path / "reversed.csv", [2, 1, 0])))
    with pytest.raises(UnreadableFile, match=r"transaction_index: expected unique rows, got \[8656134, 30\]"):
        read_transactions(write_etl(tmp_path / "twice.csv", [0, 1, 2, 1]))


def test_amount_above_64_bits_is_exact(tmp_path: Path) -> None:
    path = write_etl(tmp_path / "t.csv", [0], value=str(2**256 - 1))
    assert read_transactions(path)["value"].to_list() == [2**256 - 1]


@pytest.mark.parametrize("value", ["", "1.5", "-1", "1e18", str(2**256), "0x", "lots"])
def test_amount_that_is_none_is_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(UnreadableFile, match=r"row 2: value: expected a (whole number|value|whole amount)"):
        read_transactions(write_etl(tmp_path / "transactions.csv", [0, 1], value=value))


def test_transaction_without_a_recipient_field_is_refused() -> None:
    """A missing `to` means a contract creation, so it must be said, not left out."""
    incomplete = block()
    del incomplete["transactions"][1]["to"]
    with pytest.raises(InvalidInput, match="row 2: to_address: expected a value, or null"):
        parse_transactions(json.dumps(incomplete))


@pytest.mark.parametrize("kind", [0x7E, 0x6A, 0x71, 0xFF])
def test_blocks_of_rollups_hold_transactions_of_their_own_types(kind: int) -> None:
    first, *others = block()["transactions"]
    own = {**first, "type": hex(kind), "sender": first["from"]}
    table = parse_transactions(json.dumps({**block(), "transactions": [own, *others]}))
    assert table["transaction_type"].to_list() == [kind, 2, 0]
    assert priced_rows(table) == [False, True, True]


def test_two_names_of_one_field_may_say_the_same_alone() -> None:
    first, *_ = block()["transactions"]
    calldata = [{**first, "input": None, "data": "0x01"}, {**first, "data": first["input"], "transactionIndex": "0x5"}]
    assert parse_transactions(json.dumps(calldata))["input"].to_list() == [b"\x01", b""]
    with pytest.raises(InvalidInput, match="row 1: input: the file has several such columns"):
        parse_transactions(json.dumps([{**first, "data": "0x01"}]))


def test_the_list_of_an_account_of_etherscan() -> None:
    row = {"timeStamp": "1678833072", "nonce": "3", "from": "0x" + "11" * 20, "to": "", "value": "0", "input": "0x",
           "gas": "53000", "gasPrice": "7", "isError": "0", "txreceipt_status": "1"}  # fmt: skip
    table = parse_transactions(json.dumps({"status": "1", "message": "OK", "result": [row]}))
    assert (table["timestamp"].to_list(), table["to_address"].to_list()) == ([1678833072], [pd.NA])
