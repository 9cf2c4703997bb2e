"""`feemodel earnings` beside numbers worked out by hand."""

import json

import pytest

from feemodel.cli import main
from tests.helpers import node_server

SENDER, RECEIVER = "0x" + "22" * 20, "0x" + "11" * 20
SIZE = 30  # zstd of the sender and the unsigned transaction below, as in the docstring of `fee_sizes`
L1_TIME = 1_000  # of L1 block 0; blocks come every 12 s


def transaction(index, kind="0x0"):
    return {
        "hash": f"0x{index:064x}", "type": kind, "from": SENDER, "to": RECEIVER, "value": "0x1", "input": "0x",
        "nonce": "0x0", "gas": "0x5208", "gasPrice": "0x7", "v": hex(2 * 59_144 + 35), "r": "0x1", "s": "0x1",
        "blockNumber": "0x5", "transactionIndex": hex(index),
    }  # fmt: skip


SENT = [transaction(0), transaction(1), transaction(2, "0x7e")]
PRICES = [7, 10**9, 0]


def l2_block(params):
    return {
        "number": params[0], "hash": "0x" + "05" * 32, "parentHash": "0x" + "04" * 32, "timestamp": hex(L1_TIME + 30),
        "gasUsed": "0xf618", "gasLimit": hex(30_000_000), "baseFeePerGas": "0x7", "transactions": SENT,
    }  # fmt: skip


def receipts(params):
    return [
        {"transactionHash": one["hash"], "gasUsed": "0x5208", "effectiveGasPrice": hex(price)}
        for one, price in zip(SENT, PRICES, strict=True)
    ]


def l1_block(params):
    number = int(params[0], 16)
    own = {"timestamp": hex(L1_TIME + 12 * number), "baseFeePerGas": hex(10**9 * (number + 1))}
    return node_server.header(number) | own


def l1_history(params):
    count, newest = int(params[0], 16), int(params[1], 16)
    base_fees = [hex(10**9 * (number + 1)) for number in range(newest - count + 1, newest + 2)]
    own = {
        "baseFeePerGas": base_fees,
        "baseFeePerBlobGas": [hex(10**6)] * (count + 1),
        "reward": [[hex(10**8)]] * count,
    }
    return node_server.fee_history(count, newest, [50]) | own


@pytest.fixture
def nodes():
    with node_server.running() as l2, node_server.running() as l1:
        l2.always = node_server.results(eth_getBlockByNumber=l2_block, eth_getBlockReceipts=receipts)
        l1.always = node_server.results(
            eth_getBlockByNumber=l1_block, eth_blockNumber="0x64", eth_feeHistory=l1_history
        )
        yield l2, l1


def test_each_transaction_has_its_payment_and_its_share(nodes, capsys, tmp_path):
    l2, l1 = nodes
    line = ["earnings", "--node", l2.url, "--l1-node", l1.url, "--blocks", "5:6"]
    assert main([*line, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)

    # L1 block 2 is the last one before the block's time, 30 s after L1 block 0: base fee 3 gwei, tip 0.1 gwei.
    share = SIZE * ((3 * 10**9 + 10**8) * 65_250 + 10**6 * 131_072) / 130_048
    assert (said["transactions"], said["notCounted"]) == (2, 1)
    assert said["paidWei"] == 21_000 * (7 + 10**9)
    assert said["l1CostWei"] == pytest.approx(2 * share, rel=1e-12)
    assert said["recovery"] == pytest.approx(said["paidWei"] / said["l1CostWei"])
    assert [one["hash"] for one in said["worst"]] == [SENT[0]["hash"], SENT[1]["hash"]]
    assert said["worst"][0]["surplus"] == pytest.approx(147_000 - share)

    assert main([*line, "--out", str(tmp_path / "each.csv")]) == 0
    assert "not counted: 1 transaction of other types" in capsys.readouterr().out
    assert len((tmp_path / "each.csv").read_text().splitlines()) == 3


def test_blocks_without_transactions_are_named(nodes, capsys):
    l2, l1 = nodes
    empty = lambda params: l2_block(params) | {"transactions": []}  # noqa: E731
    l2.always = node_server.results(eth_getBlockByNumber=empty, eth_getBlockReceipts=[])
    assert main(["earnings", "--node", l2.url, "--l1-node", l1.url, "--blocks", "5:6"]) == 2
    assert "--blocks: expected blocks with transactions of type 0, 1 or 2, got '5:6'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "answer", [[], [{}] * 3, 5, [{"transactionHash": one["hash"], "gasUsed": "0x1"} for one in SENT]]
)
def test_a_block_without_its_receipts_is_refused(nodes, capsys, answer):
    l2, l1 = nodes
    l2.always = node_server.results(eth_getBlockByNumber=l2_block, eth_getBlockReceipts=answer)
    assert main(["earnings", "--node", l2.url, "--l1-node", l1.url, "--blocks", "5:6"]) == 4
    assert "block 5: expected block and receipts" in capsys.readouterr().err
