"""L1 fees from public files of xatu, and tips from a node that runs."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from feemodel.errors import UnreadableFile
from feemodel.io import Node, get_blocks, read_l1_fees
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


def xatu(path: Path, schema: pa.Schema, rows: list[dict[str, Any]], **other: pa.DataType) -> Path:
    """A Parquet file of a table of xatu; columns that a row does not say are null, `other` types replace its own."""
    fields = [field.with_type(other.get(field.name, field.type)) for field in schema]
    pq.write_table(pa.Table.from_pylist(rows, pa.schema(fields)), path)
    return path


def wide(number: int) -> bytes:
    return number.to_bytes(16, "little")


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


def test_a_day_of_beacon_blocks_of_xatu_is_a_table_of_l1_fees(tmp_path: Path) -> None:
    table = read_l1_fees(xatu(tmp_path / "24.parquet", BEACON_BLOCK, beacon_rows((100_000, 0))))

    assert table["block_number"].to_list() == [FIRST, FIRST + 1]
    assert table["timestamp"].to_list() == [START, START + 12]
    assert table["base_fee"].to_list() == [248_255_237] * 2
    assert table["excess_blob_gas"].to_list() == [191_975_938] * 2
    assert table["blob_gas_used"].to_list() == [0, 131_072]
    replayed = replay(table, source="xatu")
    assert replayed["gas_used_ratio"].values.tolist() == [[100_000 / 60_000_000, 0.0]]
    # The blob base fee of this block in the sample of mainnet's fees.
    assert int(replayed["blob_base_fee"][0, 0]) == 13_656_492


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

    known = ["block_number", "timestamp", "base_fee", "gas_used"]
    assert table[known].to_numpy().tolist() == [[FIRST, START, 248_255_237, 30_000_000]]
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
    with Node(peer.url) as node:
        get_blocks(node, range(end), tip_percentile=50, calls_per_request=4).to_parquet(out)
    table = read_l1_fees(out)

    assert table["tip"].to_list() == [0, 0, *(gwei * 10**9 for gwei in (2, 5, 0, 7))]
    assert table["blob_base_fee"].to_list() == [1] * end
    assert replay(table, source="anvil")["tip"].to_numpy().tolist() == [[float(tip) for tip in table["tip"]]]
