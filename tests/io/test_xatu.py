"""L1 fees from public files of xatu, and tips from a node that runs."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from feemodel.errors import UnreadableFile
from feemodel.io import Node, get_blocks, read_l1_fees
from feemodel.simulation.scenarios import replay
from tests.helpers import anvil
from tests.io.test_l1_fees import EXTRACTS

FIRST, START = 24_183_321, 1_767_795_167
#: Tables of ethpandaops/xatu-data at 00014e9, canonical_beacon_block, and at 00838fa, canonical_execution_block, in the
#: Parquet types that ClickHouse writes.
BEACON, EXECUTION = EXTRACTS / "beacon_blocks.xatu.parquet", EXTRACTS / "execution_blocks.xatu.parquet"
BASE_FEE = "execution_payload_base_fee_per_gas"


def beacon(path: Path, name: str, column: pa.Array) -> Path:
    """The file of beacon blocks with one column replaced."""
    table = pq.read_table(BEACON)
    pq.write_table(table.set_column(table.column_names.index(name), name, column), path)
    return path


def test_a_day_of_beacon_blocks_of_xatu_is_a_table_of_l1_fees() -> None:
    table = read_l1_fees(BEACON)

    assert table["block_number"].to_list() == [FIRST, FIRST + 1]
    assert table["timestamp"].to_list() == [START, START + 12]
    assert table["base_fee"].to_list() == [248_255_237] * 2
    assert table["excess_blob_gas"].to_list() == [191_975_938] * 2
    assert table["blob_gas_used"].to_list() == [0, 131_072]
    replayed = replay(table, source="xatu")
    assert replayed["gas_used_ratio"].values.tolist() == [[100_000 / 60_000_000, 0.0]]
    # The blob base fee of this block in the sample of mainnet's fees.
    assert int(replayed["blob_base_fee"][0, 0]) == 13_656_492


def test_execution_blocks_of_xatu_are_a_table_without_blobs() -> None:
    table = read_l1_fees(EXECUTION)

    known = ["block_number", "timestamp", "base_fee", "gas_used"]
    assert table[known].to_numpy().tolist() == [[FIRST, START, 248_255_237, 30_000_000]]
    assert table[["excess_blob_gas", "blob_base_fee", "tip"]].isna().all(axis=None)


def test_wide_integers_beyond_64_bits_are_refused_by_row(tmp_path: Path) -> None:
    wide = pa.array([number.to_bytes(16, "little") for number in (1, 2**63)], pa.binary(16))
    with pytest.raises(UnreadableFile, match=rf"row 2: {BASE_FEE}: .* got 922337203685"):
        read_l1_fees(beacon(tmp_path / "24.parquet", BASE_FEE, wide))
    with pytest.raises(UnreadableFile, match=f"row 1: {BASE_FEE}: expected a number"):
        read_l1_fees(beacon(tmp_path / "25.parquet", BASE_FEE, pa.array([bytes(8)] * 2, pa.binary(8))))


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
