"""Tips of blocks: from the transactions in files of xatu, cryo and one's own, and from a node that runs."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feemodel.errors import InvalidInput, UnreadableFile
from feemodel.io import add_tips, fetch_blocks, read_blocks, read_l1_fees
from feemodel.io.blocks import percentile_tips
from feemodel.simulation.scenarios import replay
from tests.helpers import anvil

FIRST, START = 24_183_321, 1_767_795_167
TEXT_66, TEXT_42 = pa.binary(66), pa.binary(42)
CLIENT = {
    "name": pa.string(), "id": pa.string(), "version": pa.string(), "implementation": pa.string(), "os": pa.string(),
    "geo_city": pa.string(), "geo_country": pa.string(), "geo_country_code": pa.string(),
    "geo_continent_code": pa.string(), "ip": pa.binary(16), "geo_longitude": pa.float64(), "geo_latitude": pa.float64(),
    "geo_autonomous_system_number": pa.uint32(), "geo_autonomous_system_organization": pa.string(),
}  # fmt: skip
CONSENSUS = ("version", "version_major", "version_minor", "version_patch", "implementation")
#: ethpandaops/xatu-data at 00014e9, schema/canonical_beacon_.md, in the Parquet types that ClickHouse writes.
BEACON_BLOCK = pa.schema(
    {
        "updated_date_time": pa.uint32(), "slot": pa.uint32(), "slot_start_date_time": pa.uint32(),
        "epoch": pa.uint32(), "epoch_start_date_time": pa.uint32(), "block_root": TEXT_66,
        "block_version": pa.string(), "block_total_bytes": pa.uint32(), "block_total_bytes_compressed": pa.uint32(),
        "parent_root": TEXT_66, "state_root": TEXT_66, "proposer_index": pa.uint32(), "eth1_data_block_hash": TEXT_66,
        "eth1_data_deposit_root": TEXT_66, "execution_payload_block_hash": TEXT_66,
        "execution_payload_block_number": pa.uint32(), "execution_payload_fee_recipient": pa.string(),
        "execution_payload_base_fee_per_gas": pa.binary(16), "execution_payload_blob_gas_used": pa.uint64(),
        "execution_payload_excess_blob_gas": pa.uint64(), "execution_payload_gas_limit": pa.uint64(),
        "execution_payload_gas_used": pa.uint64(), "execution_payload_state_root": TEXT_66,
        "execution_payload_parent_hash": TEXT_66, "execution_payload_transactions_count": pa.uint32(),
        "execution_payload_transactions_total_bytes": pa.uint32(),
        "execution_payload_transactions_total_bytes_compressed": pa.uint32(),
        **{f"meta_client_{name}": kind for name, kind in CLIENT.items()},
        "meta_network_id": pa.int32(), "meta_network_name": pa.string(),
        **{f"meta_consensus_{name}": pa.string() for name in CONSENSUS},
        "meta_labels": pa.map_(pa.string(), pa.string()),
    }
)  # fmt: skip
#: The same at 00838fa, schema/canonical_execution_.md.
EXECUTION_BLOCK = pa.schema(
    {
        "updated_date_time": pa.uint32(), "block_date_time": pa.timestamp("ms", "UTC"), "block_number": pa.uint64(),
        "block_hash": TEXT_66, "author": pa.string(), "gas_used": pa.uint64(), "gas_limit": pa.uint64(),
        "extra_data": pa.string(), "extra_data_string": pa.string(), "base_fee_per_gas": pa.uint64(),
        "meta_network_name": pa.string(),
    }
)  # fmt: skip
EXECUTION_TRANSACTION = pa.schema(
    {
        "updated_date_time": pa.uint32(), "block_number": pa.uint64(), "transaction_index": pa.uint64(),
        "transaction_hash": TEXT_66, "nonce": pa.uint64(), "from_address": pa.string(), "to_address": pa.string(),
        "value": pa.binary(32), "input": pa.string(), "gas_limit": pa.uint64(), "gas_used": pa.uint64(),
        "gas_price": pa.binary(16), "transaction_type": pa.uint8(), "max_priority_fee_per_gas": pa.uint64(),
        "max_fee_per_gas": pa.uint64(), "success": pa.bool_(), "n_input_bytes": pa.uint32(),
        "n_input_zero_bytes": pa.uint32(), "n_input_nonzero_bytes": pa.uint32(), "meta_network_name": pa.string(),
    }
)  # fmt: skip


def xatu(path: Path, schema: pa.Schema, rows: list[dict[str, Any]], **other: pa.DataType) -> Path:
    """A Parquet file of a table of xatu; columns that a row does not say are null, `other` types replace its own."""
    fields = [field.with_type(other.get(field.name, field.type)) for field in schema]
    pq.write_table(pa.Table.from_pylist(rows, pa.schema(fields)), path)
    return path


def wide(number: int, size: int = 16) -> bytes:
    return number.to_bytes(size, "little")


def beacon_rows(gas: tuple[int, ...], base_fee: int = 248_255_237) -> list[dict[str, Any]]:
    return [
        {
            "slot": 13_405_931 + index, "slot_start_date_time": START + 12 * index, "block_version": "fulu",
            "block_root": b"0x" + b"ab" * 32, "meta_network_name": "mainnet", "meta_labels": [("ethpandaops", "x")],
            "execution_payload_block_number": FIRST + index, "execution_payload_base_fee_per_gas": wide(base_fee),
            "execution_payload_gas_used": used, "execution_payload_gas_limit": 60_000_000,
            "execution_payload_blob_gas_used": 131_072 * index, "execution_payload_excess_blob_gas": 191_975_938,
        }
        for index, used in enumerate(gas)
    ]  # fmt: skip


def paid(block: int, gas_used: int, gas_price: int) -> dict[str, Any]:
    return {
        "block_number": block, "gas_used": gas_used, "gas_price": wide(gas_price), "value": wide(10**18, 32),
        "transaction_hash": b"0x" + b"cd" * 32, "transaction_type": 2, "success": True,
    }  # fmt: skip


def test_a_day_of_beacon_blocks_of_xatu_is_a_table_of_l1_fees(tmp_path: Path) -> None:
    table = read_l1_fees(xatu(tmp_path / "24.parquet", BEACON_BLOCK, beacon_rows((100_000, 0))))

    assert table["block_number"].to_list() == [FIRST, FIRST + 1]
    assert table["timestamp"].to_list() == [START, START + 12]
    assert table["base_fee"].to_list() == [248_255_237] * 2
    assert table["excess_blob_gas"].to_list() == [191_975_938] * 2
    assert table["blob_gas_used"].to_list() == [0, 131_072]
    assert table["gas_used_ratio"].to_list() == [100_000 / 60_000_000, 0.0]
    # The blob base fee of this block in the sample of mainnet's fees.
    assert int(replay(table, source="xatu")["blob_base_fee"][0, 0]) == 13_656_492


def test_times_of_xatu_may_be_time_stamps(tmp_path: Path) -> None:
    rows = beacon_rows((1, 2))
    for row in rows:
        row["slot_start_date_time"] = datetime.fromtimestamp(row["slot_start_date_time"], UTC)
    stamp = pa.timestamp("ms", "UTC")

    assert read_l1_fees(xatu(tmp_path / "24.parquet", BEACON_BLOCK, rows, slot_start_date_time=stamp))[
        "timestamp"
    ].to_list() == [START, START + 12]


def test_execution_blocks_of_xatu_are_a_table_without_blobs(tmp_path: Path) -> None:
    row = {
        "block_date_time": datetime.fromtimestamp(START, UTC), "block_number": FIRST, "gas_used": 30_000_000,
        "block_hash": b"0x" + b"ab" * 32, "gas_limit": 60_000_000, "base_fee_per_gas": 248_255_237,
    }  # fmt: skip
    table = read_l1_fees(xatu(tmp_path / "24183000.parquet", EXECUTION_BLOCK, [row]))

    known = ["block_number", "timestamp", "base_fee", "gas_used_ratio"]
    assert table[known].to_numpy().tolist() == [[FIRST, START, 248_255_237, 0.5]]
    assert table[["excess_blob_gas", "blob_base_fee", "tip"]].isna().all(axis=None)


def test_wide_integers_beyond_64_bits_are_refused_by_row(tmp_path: Path) -> None:
    rows = beacon_rows((1, 2))
    rows[1]["execution_payload_base_fee_per_gas"] = wide(2**63)
    with pytest.raises(UnreadableFile, match=r"row 2: execution_payload_base_fee_per_gas: .* got 922337203685"):
        read_l1_fees(xatu(tmp_path / "24.parquet", BEACON_BLOCK, rows))
    narrow = pa.binary(8)
    rows = [row | {"execution_payload_base_fee_per_gas": bytes(8)} for row in rows]
    with pytest.raises(UnreadableFile, match="row 1: execution_payload_base_fee_per_gas: expected a number"):
        read_l1_fees(xatu(tmp_path / "25.parquet", BEACON_BLOCK, rows, execution_payload_base_fee_per_gas=narrow))


def test_tips_of_xatu(tmp_path: Path) -> None:
    fees = read_l1_fees(xatu(tmp_path / "24.parquet", BEACON_BLOCK, beacon_rows((100_000, 0, 21_000), base_fee=10**8)))
    # Two files, as the tables are cut every 1,000 blocks; the second one has a block of the next day, too.
    parts = [
        xatu(tmp_path / "1.parquet", EXECUTION_TRANSACTION, [
            paid(FIRST, 79_000, 10**8 + 5_000_000_000), paid(FIRST, 21_000, 10**8 + 3_000_000),
        ]),
        xatu(tmp_path / "2.parquet", EXECUTION_TRANSACTION, [
            paid(FIRST + 2, 21_000, 10**8 + 7_000_000), paid(FIRST + 3, 50_000, 10**8),
        ]),
    ]  # fmt: skip
    tips = {at: add_tips(fees, parts, percentile=at)["tip"].to_list() for at in (0, 21, 22, 100)}

    assert tips == {
        0: [3_000_000, 0, 7_000_000], 21: [3_000_000, 0, 7_000_000],
        22: [5_000_000_000, 0, 7_000_000], 100: [5_000_000_000, 0, 7_000_000],
    }  # fmt: skip
    assert replay(add_tips(fees, parts, percentile=21), source="xatu")["tip"].to_numpy().tolist() == [[3e6, 0.0, 7e6]]


def test_the_table_with_tips_is_written_and_read_as_it_is(tmp_path: Path) -> None:
    fees = read_l1_fees(xatu(tmp_path / "24.parquet", BEACON_BLOCK, beacon_rows((21_000,))))
    part = xatu(tmp_path / "1.parquet", EXECUTION_TRANSACTION, [paid(FIRST, 21_000, 10**9)])
    table = add_tips(fees, part, percentile=50)
    table.to_parquet(tmp_path / "l1.parquet")

    pd.testing.assert_frame_equal(read_l1_fees(tmp_path / "l1.parquet"), table)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([paid(FIRST, 20_999, 10**9)], f"expected transactions of 21,000 gas in block {FIRST}.*, got 20999"),
        ([paid(FIRST + 1, 21_000, 10**9)], f"expected transactions of 21,000 gas in block {FIRST}.*, got 0"),
        ([paid(FIRST, 21_000, 10**8)], f"at least the base fee of block {FIRST}, 248255237 wei, got 100000000"),
    ],
    ids=["gas missing", "block missing", "below the base fee"],
)
def test_transactions_that_are_not_those_of_the_blocks_are_refused(
    tmp_path: Path, rows: list[dict[str, Any]], message: str
) -> None:
    fees = read_l1_fees(xatu(tmp_path / "24.parquet", BEACON_BLOCK, beacon_rows((21_000,))))
    part = xatu(tmp_path / "1.parquet", EXECUTION_TRANSACTION, rows)
    with pytest.raises(InvalidInput, match=message):
        add_tips(fees, part, percentile=50)


def test_a_table_that_cannot_have_tips_is_refused(tmp_path: Path) -> None:
    part = xatu(tmp_path / "1.parquet", EXECUTION_TRANSACTION, [paid(FIRST, 21_000, 10**9)])
    fees = read_l1_fees(xatu(tmp_path / "24.parquet", BEACON_BLOCK, beacon_rows((21_000,))))
    for table, message in (
        (fees.drop(columns="gas_used"), "expected a table with block_number, base_fee, gas_used"),
        (fees.assign(base_fee=[248_255_237.5]), r"l1_fees\.base_fee\[0\]: expected an integer"),
        (fees.assign(tip=[5]), "expected a table without tips"),
        (fees.assign(gas_used=pd.array([pd.NA], "Int64")), "expected a table with"),
        (pd.concat([fees, fees]), "expected increasing block numbers"),
    ):
        with pytest.raises(InvalidInput, match=message):
            add_tips(table, part, percentile=50)
    for percentile in (-1, 100.5, float("nan")):
        with pytest.raises(InvalidInput, match="percentile"):
            add_tips(fees, part, percentile=percentile)
    with pytest.raises(InvalidInput, match="expected at least one file"):
        add_tips(fees, [], percentile=50)


def by_walking(transactions: list[tuple[int, int]], percentile: float) -> int:
    """The tip at a percentile of the gas, by walking up the transactions as a node does."""
    ordered = sorted(transactions)
    threshold = int(float(sum(gas for _, gas in ordered)) * percentile / 100)
    place, reached = 0, ordered[0][1]
    while reached < threshold and place < len(ordered) - 1:
        place += 1
        reached += ordered[place][1]
    return ordered[place][0]


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9), st.integers(21_000, 60_000_000)), min_size=1, max_size=30),
    st.one_of(st.sampled_from([0.0, 100.0]), st.floats(0, 100)),
)
def test_percentiles_are_those_of_a_walk_over_each_block(rows: list[tuple[int, int, int]], percentile: float) -> None:
    block, tip, gas = (np.array(column) for column in zip(*rows, strict=True))
    numbers, tips = percentile_tips(block, tip, gas, percentile)

    expected = {number: by_walking([(t, g) for b, t, g in rows if b == number], percentile) for number in set(block)}
    assert dict(zip(numbers.tolist(), tips.tolist(), strict=True)) == expected


@pytest.fixture(scope="module")
def peer() -> Iterator[anvil.Node]:
    if not anvil.binary().exists():
        if anvil.needed():
            pytest.fail(f"{anvil.binary()}: not there; scripts/install-peers puts it there")
        pytest.skip("needs anvil: scripts/install-peers puts it into tests/peers/")
    with anvil.running(None, base_fee=1_000_000_000) as node:
        yield node


def test_a_node_that_runs_says_the_tips_that_were_paid(peer: anvil.Node, tmp_path: Path) -> None:
    sender, receiver = peer.ask("eth_accounts")["result"][:2]
    peer.ask("evm_increaseTime", 12)
    peer.ask("evm_mine")
    assert peer.ask("evm_setAutomine", False)["result"] is None
    for tips in ((1, 2, 3), (5,), (), (7, 9)):  # gwei
        for tip in tips:
            call = {"from": sender, "to": receiver, "value": "0x1", "maxPriorityFeePerGas": hex(tip * 10**9)}
            assert "result" in peer.ask("eth_sendTransaction", call | {"maxFeePerGas": hex(10**12)})
        peer.ask("evm_increaseTime", 12)
        peer.ask("evm_mine")
    out, end = tmp_path / "l1.parquet", int(peer.ask("eth_blockNumber")["result"], 16) + 1
    fetch_blocks(peer.url, range(end), out, tip_percentile=50, calls_per_request=4, progress=False)
    table = read_l1_fees(out)

    assert table["tip"].to_list() == [0, 0, *(gwei * 10**9 for gwei in (2, 5, 0, 7))]
    assert table["blob_base_fee"].to_list() == [1] * end
    assert replay(table, source="anvil")["tip"].to_numpy().tolist() == [[float(tip) for tip in table["tip"]]]
    # The same tips from the receipts, as files of transactions have them.
    rows = []
    for number in range(end):
        for receipt in peer.ask("eth_getBlockReceipts", hex(number))["result"]:
            price = int(receipt["effectiveGasPrice"], 16)
            rows.append({"block_number": number, "gas_used": int(receipt["gasUsed"], 16), "gas_price": price})
    pd.DataFrame(rows).to_parquet(tmp_path / "transactions.parquet")
    again = add_tips(table.drop(columns="tip"), tmp_path / "transactions.parquet", percentile=50)
    assert again["tip"].to_list() == table["tip"].to_list()
    assert read_blocks(out)["tip"].to_list() == table["tip"].to_list()
