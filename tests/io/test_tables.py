"""Tables that users bring: every verb and function that takes transactions takes them."""

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import feemodel
from feemodel.cli import main
from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.ethereum._transaction import parse_transaction
from feemodel.ethereum._transaction_table import transactions_of
from feemodel.io import parse_fee_history, read_l1_fees, read_transactions
from feemodel.io.shipped import L1_FEES, shipped_path
from feemodel.linea import fee_sizes
from feemodel.rollups.tables import comparison, measured_sizes
from feemodel.simulation.backtest import backtest
from feemodel.simulation.scenarios import replay
from feemodel.simulation.surfaces import Workload
from tests.conftest import ROOT
from tests.helpers.optional import optional

pl = optional("polars")
#: The same four transactions as each extractor writes them; no name tells what a file is.
FOLDER = ROOT / "tests" / "data" / "tables"
FILES = {path.name: path for path in sorted(FOLDER.iterdir()) if not path.suffix}
SIGNED = ("cryo-signed", "rpc-block", "rpc-list", "raw-csv", "raw-parquet", "raw-lines")
OWN = FOLDER / "own.csv"  # as pandas writes it: names of one's own, gwei, and numbers that became doubles
OWN_COLUMNS = {
    "from": "who", "to": "whom", "value": "wei", "input": "payload", "nonce": "n", "gas_limit": "limit",
    "gas_price": "price:gwei", "max_fee_per_gas": "cap:gwei", "max_priority_fee_per_gas": "bribe:gwei", "type": "kind",
}  # fmt: skip
TRANSACTIONS = [parse_transaction(json.loads(line)["raw"]) for line in FILES["raw-lines"].read_text().splitlines()]
MEASURED = [b"\x22" * 20 + one.unsigned() for one in TRANSACTIONS]
SIZES = [int(size) for size in feemodel.compressed_sizes(MEASURED)]
TIME = 1_690_164_981  # 2023-07-24 02:16:21 UTC


def rows_of(name):
    """The rows of a CSV file as text."""
    with FILES[name].open(newline="") as file:
        return list(csv.DictReader(file))


def write_csv(path, rows):
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def payloads(table, form="sender_unsigned"):
    return [one.measured(form) for one in transactions_of(table)]


@pytest.mark.parametrize("name", FILES)
def test_every_file_holds_the_same_transactions(name):
    table = read_transactions(FILES[name])
    assert payloads(table) == MEASURED
    assert SIZES == feemodel.fee_sizes(table).tolist() == [feemodel.fee_size(row) for row in table.to_dict("records")]
    if name in SIGNED:
        assert [one.network() for one in TRANSACTIONS] == payloads(table, "signed")


def test_every_function_that_takes_transactions_takes_the_table():
    table = read_transactions(FILES["dune-json"])
    workload = Workload.from_transactions(table, codec="brotli", name="mine")
    assert feemodel.compressed_sizes(MEASURED, "brotli").tolist() == workload.compressed_size.tolist()
    sizes = pd.DataFrame(measured_sizes(table))
    assert [len(one.signed()) for one in TRANSACTIONS] == sizes["length"].tolist()
    assert comparison(table, base_fee=10**9, blob_base_fee=1)[0].rule == "linea"
    fees = replay({"timestamp": [0, 1_800], "base_fee": [7e7, 7e7], "blob_base_fee": [4e6, 4e6]}, source="by hand")
    assert backtest(table, fees, arrival_rate=0.1, rng=1).attrs["workload"].startswith("transactions (zstd")


def test_gas_used_and_timestamps_are_kept_where_the_file_has_them():
    dune = Workload.from_transactions(read_transactions(FILES["dune-csv"]))
    assert (dune.gas.tolist(), dune.timestamp.tolist()) == ([50_000, 21_000, 800_000, 55_000], [TIME] * 4)
    etl = Workload.from_transactions(read_transactions(FILES["etl-csv"]))
    assert etl.gas.tolist() == [one.gas_limit for one in TRANSACTIONS]
    assert "gas limits in place of gas used" in etl.name
    assert "chain id 59144 where none is given" in etl.name


def test_own_names_and_units_are_said_by_the_caller():
    frame = pd.read_csv(OWN, dtype={"wei": str})  # nonces above 2**31; fees with gaps are floats
    polars, as_bytes = pl.from_pandas(frame), frame["payload"].map(lambda text: bytearray.fromhex(text[2:]))
    whole = {"wei": frame["wei"].map(int), "n": pd.Series([np.int64(n) for n in frame["n"]], dtype=object)}
    objects = frame.assign(**whole, payload=as_bytes)  # bytes as DuckDB has them
    wide = polars.with_columns(pl.col("wei").cast(pl.Int128), pl.col("n").cast(pl.Int128))  # of integers above 2**64
    for source in (OWN, frame, objects, polars, wide, pa.table(frame)):
        table = read_transactions(source, columns=OWN_COLUMNS)
        assert payloads(table) == payloads(read_transactions(table)) == MEASURED


AUTHORIZATION = {
    "chainId": "0xa", "address": "0x" + "33" * 20, "nonce": "0x0", "yParity": "0x0", "r": "0x1", "s": "0x1"
}  # fmt: skip


@pytest.mark.parametrize("more", [{"blobVersionedHashes": ["0x01" + "22" * 31]}, {"maxFeePerBlobGas": 7},
                                  {"authorizationList": [AUTHORIZATION]}])  # fmt: skip
def test_transactions_of_type_3_and_4_are_known_by_their_fields_where_no_type_is_given(tmp_path, more):
    row = {"from": "0x" + "11" * 20, "to": "0x" + "22" * 20, "nonce": 1, "value": 0, "input": "0x", "gas": 21000,
           "maxFeePerGas": 10, "maxPriorityFeePerGas": 1}  # fmt: skip
    path = tmp_path / "mine.jsonl"
    path.write_text(f"{json.dumps(row)}\n{json.dumps(row | more)}\n")
    table = read_transactions(path)
    with pytest.raises(InvalidInput, match=r"row 2: .*no fee for this type is published"):
        feemodel.fee_sizes(table)


def test_a_column_that_stands_twice_is_refused():
    table = pd.DataFrame(rows_of("etl-csv"))
    with pytest.raises(InvalidInput, match="table: expected unique column names, got 'nonce'"):
        feemodel.fee_sizes(pd.concat([table, table[["nonce"]]], axis=1))


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_misspelt_column_is_refused_with_the_column_that_is_meant(tmp_path, suffix):
    """Without its priority fee the transaction would be taken for another type, and for fewer bytes."""
    path = tmp_path / f"mine.{suffix}"
    row = {"from": "0x" + "11" * 20, "to": "0x" + "22" * 20, "nonce": 1, "value": 0, "input": "0x", "gas": 21000,
           "maxFeePerGas": 10, "maxPriorityFeePerGass": 1}  # fmt: skip
    table = pd.DataFrame([row, row])
    path.write_text(table.to_csv(index=False) if suffix == "csv" else table.to_json(orient="records", lines=True))
    message = "unknown column, did you mean maxPriorityFeePerGas.*got 'maxPriorityFeePerGass'"
    with pytest.raises(UnreadableFile, match=message):
        read_transactions(path)
    with pytest.raises(InvalidInput, match=message):
        feemodel.fee_sizes(table)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (None, r"transactions lack nonce, from_address or from, .*gas_price or max_fee_per_gas .*--columns nonce=NAME"),
        ({**OWN_COLUMNS, "nonce": "m"}, "expected one of the columns of the file, who, whom, .*, got 'm'"),
        ({"nonse": "n"}, "unknown column of transactions, did you mean nonce"),
        ({5: "n"}, "unknown column of transactions, expected one of block_number, .*, got 5"),
        ({**OWN_COLUMNS, "nonce": "n:gwei"}, "gwei is not a unit of"),
        ({**OWN_COLUMNS, "gas_price": "price"}, r"row 1: price: expected a whole number, got '1\.000000007'"),
    ],
)
def test_names_that_do_not_fit_are_said(columns, message):
    with pytest.raises(UnreadableFile, match=message):
        read_transactions(OWN, columns=columns)


@pytest.mark.parametrize("read", [read_l1_fees, read_transactions])
@pytest.mark.parametrize("source", [None, 5, b"mine.csv", {"nonce": [1]}, "a\0b", pl.LazyFrame()])
def test_what_is_neither_a_table_nor_a_name_of_a_file_is_refused(read, source):
    with pytest.raises(InvalidInput, match=r"^path: expected the name of a file, .*, got "):
        read(source)
    with pytest.raises(UnreadableFile, match=r"columns: expected a mapping .*, got 5"):
        read(OWN, columns=5)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("from", "0x1234", "row 2: from_address: expected 20 bytes"),
        ("nonce", "<nil>", "row 2: nonce: expected a value"),
        ("block_time", "yesterday", "row 2: block_time: expected seconds since 1970, or a date and a time"),
        ("block_time", "1690164981000", "row 2: block_time: expected seconds since 1970"),
        ("type", "Magic", "row 2: type: expected a quantity"),
    ],
)
def test_a_bad_cell_is_named_by_row_column_and_value(tmp_path, column, value, message):
    rows = rows_of("dune-csv")
    rows[1][column] = value
    with pytest.raises(UnreadableFile, match=message):
        read_transactions(write_csv(tmp_path / "dune.csv", rows))


def test_a_type_without_its_fees_is_named_by_row(tmp_path):
    rows = rows_of("etl-csv")
    rows[2]["max_fee_per_gas"] = None
    table = read_transactions(write_csv(tmp_path / "etl.csv", rows))
    with pytest.raises(InvalidInput, match="row 3: max_fee_per_gas: expected a value: a transaction of type 2"):
        feemodel.fee_sizes(table)


def test_a_file_with_two_names_of_one_field_asks_which(tmp_path):
    rows = [{**row, "gas_limit": int(row["gas"]) + 1} for row in rows_of("etl-csv")]
    path = write_csv(tmp_path / "both.csv", rows)
    with pytest.raises(UnreadableFile, match=r"gas_limit: the file has several .* columns gas_limit=NAME, got .*'gas'"):
        read_transactions(path)
    assert read_transactions(path, columns={"gas_limit": "gas"})["gas_limit"][0] == TRANSACTIONS[0].gas_limit


def test_milliseconds_are_said(tmp_path):
    rows = [{**row, "block_timestamp": TIME * 1_000} for row in rows_of("etl-csv")]
    path = write_csv(tmp_path / "etl.csv", rows)
    table = read_transactions(path, columns={"timestamp": "block_timestamp:ms"})
    assert table["timestamp"].tolist() == [TIME] * 4


def test_lists_of_a_parquet_file_are_access_lists(tmp_path):
    table = pq.read_table(FILES["cryo-string"])
    lists = [[{"address": b"\x11" * 20, "storage_keys": [b"\x01" * 32]}] if one.type else None for one in TRANSACTIONS]
    pq.write_table(table.append_column("access_list", pa.array(lists)), tmp_path / "with lists")
    read = read_transactions(tmp_path / "with lists")
    expected = TRANSACTIONS[3].unsigned()
    assert len(payloads(read)[3]) > 20 + len(expected) + 52
    assert [*read["access_list"][3]] == lists[3]


def test_views_are_read_as_others(tmp_path):
    table = pq.read_table(FILES["cryo-string"])
    input_ = table["input"].cast(pa.binary_view())
    changed = table.set_column(table.column_names.index("input"), "input", input_)
    pq.write_table(changed, tmp_path / "views")
    read, plain = read_transactions(tmp_path / "views"), read_transactions(FILES["cryo-string"])

    assert read["input"].tolist() == plain["input"].tolist()


def test_amounts_that_are_only_doubles_are_refused(tmp_path):
    table = pq.read_table(FILES["cryo-string"]).drop_columns("value_string")
    pq.write_table(table.append_column("value_f64", pa.array([0.0] * 4)), tmp_path / "doubles")
    with pytest.raises(UnreadableFile, match="transactions lack value or value_string"):
        read_transactions(tmp_path / "doubles")


def run(capsys, *arguments):
    code = main([*map(str, arguments)])
    return code, *capsys.readouterr()


@pytest.mark.parametrize("name", ["dune-json", "raw-lines"])
def test_verbs_take_files_of_tables_and_of_raw_transactions(name, capsys):
    code, out, _ = run(capsys, "compare", FILES[name], "--json")
    assert (code, json.loads(out)["signedBytes"]) == (0, sum(len(one.signed()) for one in TRANSACTIONS))
    code, out, _ = run(capsys, "backtest", "--transactions", FILES[name], "--hours", "1", "--json")
    assert code == 0
    assert json.loads(out)["assumed"]["workload"].startswith(name)


def test_verbs_say_what_is_assumed_and_left_out(capsys, tmp_path):
    rows = rows_of("etl-csv")
    rows += [{**rows[0], "transaction_index": 9 + at, "transaction_type": kind} for at, kind in enumerate((3, 126))]
    code, out, _ = run(capsys, "sizes", write_csv(tmp_path / "etl.csv", rows), "--form", "signed")
    assert code == 0
    assert "assumed: chain id 59144 where none is given" in out
    assert "assumed: empty access lists" in out
    assert "assumed: placeholder signatures of 4 transactions" in out
    assert "left out: 2 of 6 transactions, of type 3 or above, for which no fee is published" in out


def test_verbs_take_own_names(capsys):
    columns = [f"--columns={ours}={theirs}" for ours, theirs in OWN_COLUMNS.items()]
    code, out, _ = run(capsys, "sizes", OWN, *columns, "--json")
    assert (code, json.loads(out)["codecs"][1]["total"]) == (0, sum(SIZES))
    code, _, error = run(capsys, "sizes", OWN, "--columns", "nonce")
    assert (code, "expected FIELD=NAME" in error) == (2, True)


def test_the_shipped_l1_fees_are_read_as_a_file(capsys):
    path = shipped_path(L1_FEES)
    table = read_l1_fees(path)
    assert (len(table), table["base_fee"][0], table["timestamp"][0]) == (4_341, 270_556_984.5, 1_767_795_000)
    code, out, _ = run(capsys, "backtest", "--l1", path, "--hours", "24", "--json")
    other = run(capsys, "backtest", "--hours", "24", "--json")
    assert code == 0
    assert json.loads(out)["recovery"] == json.loads(other[1])["recovery"]


FEES = "block_number,timestamp,base_fee_per_gas,excess_blob_gas,blob_gas_used,gas_used,gas_limit,tip\n" + "".join(
    f"{24183321 + step},{1767795167 + 12 * step},{7 * 10**7 + step},191975938,655360,"
    f"{15 * 10**6 + step},60000000,{10**8 * (step % 3)}\n"
    for step in range(400)
)  # fmt: skip


def test_a_history_uses_what_the_file_has(capsys, tmp_path):
    path = tmp_path / "fees.csv"
    path.write_text(FEES)
    table = read_l1_fees(path)
    assert (table["base_fee"][1], table["gas_used"][1]) == (70_000_001, 15_000_001)
    fees = replay(table, source="file")
    assert fees.gas_used_ratio[0, 0] == 0.25
    assert {*fees.data_vars} == {"base_fee", "blob_base_fee", "gas_used_ratio", "blob_gas_used_ratio", "tip"}
    assert round(float(fees.blob_gas_used_ratio[0, 0]), 4) == round(655_360 / (21 * 131_072), 4)
    code, out, _ = run(capsys, "backtest", "--l1", path, "--json")
    assumed = json.loads(out)["assumed"]
    assert (code, assumed["tips"], assumed["usage_ratios"]) == (0, "of the series", "of the series")
    without = json.loads(run(capsys, "backtest", "--l1", path, "--tip", "0", "--json")[1])
    assert without["assumed"]["tips"].startswith("assumed: 0 gwei")
    assert without["dataCostWei"] != json.loads(out)["dataCostWei"]


def test_a_history_needs_a_time_and_a_base_fee_and_says_what_it_assumes(capsys, tmp_path):
    path = tmp_path / "fees.csv"
    path.write_text(
        "when,fee\n" + "".join(f"2026-01-07 {hour:02}:00:00 UTC,{0.07 + hour / 1000:.3f}\n" for hour in range(24))
    )
    code, out, _ = run(capsys, "backtest", "--l1", path, "--l1-columns", "time=when", "--l1-columns",
                       "base_fee=fee:gwei", "--json")  # fmt: skip
    assumed = json.loads(out)["assumed"]
    assert code == 0
    assert assumed["l1_fees_assumed"] == "blob base fees of base fee / 16, the minimum by EIP-7918"
    assert assumed["usage_ratios"].startswith("assumed")
    code, _, error = run(capsys, "backtest", "--l1", path)
    assert (code, "lack timestamp or block_timestamp" in error) == (3, True)


def test_a_fee_history_is_replayed_with_its_tips_and_ratios():
    answer = {"oldestBlock": "0x10", "baseFeePerGas": ["0x64", "0x6e", "0x78"], "gasUsedRatio": [0.25, 1],
              "baseFeePerBlobGas": ["0xc8", "0xd2", "0xdc"], "blobGasUsedRatio": [0.5, 0],
              "reward": [["0x3"], ["0x4"]]}  # fmt: skip
    fees = replay(parse_fee_history(answer), source="a node")
    assert (fees.tip.values.tolist(), fees.gas_used_ratio.values.tolist()) == ([[3.0, 4.0]], [[0.25, 1.0]])
    assert fees.elapsed.values.tolist() == [0.0, 12.0]
    assert fees.attrs["assumed"] == "blocks 12 s apart"
    several = parse_fee_history({**answer, "reward": [["0x3", "0x5"], ["0x4", "0x6"]]})
    with pytest.raises(InvalidInput, match="expected one percentile, which is the tip, got 2"):
        replay(several, source="a node")


def test_a_missing_fee_is_named_by_its_row():
    table = pd.DataFrame({"timestamp": [0, 12], "base_fee": pd.array([1, pd.NA], "Int64")})
    with pytest.raises(InvalidInput, match="row 2: base_fee: expected a value"):
        replay(table, source="incomplete")


def test_a_table_of_ten_thousand_rows_is_measured_in_its_order(shared: Path):
    raw = read_transactions(shared / "data" / "linea_mainnet_transactions.jsonl.gz")
    assert np.array_equal(feemodel.fee_sizes(raw.iloc[::-1]), feemodel.fee_sizes(raw)[::-1])


def test_an_arrow_table_is_measured_as_the_same_pandas_table():
    """polars and DuckDB hand over their tables by the same protocol."""
    row = {"nonce": 1, "from": "0x" + "11" * 20, "to": "0x" + "22" * 20, "value": "0x5", "input": "0x00ff",
           "gas": 21_000, "gasPrice": 7}  # fmt: skip
    table = pd.DataFrame([row, row | {"nonce": 2, "to": None}])
    arrow = pa.Table.from_pandas(table)

    assert fee_sizes(arrow).tolist() == fee_sizes(table).tolist()
    assert measured_sizes(arrow)["length"].tolist() == measured_sizes(table)["length"].tolist()
