"""Blocks from a node into a table."""

import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest

from feemodel.errors import InvalidInput, UpstreamError
from feemodel.io import Node, get_blocks
from feemodel.io.fetch import parse_block_range
from feemodel.io.tables import BLOCKS
from tests.helpers import node_server
from tests.helpers.node_server import HEAD, Handler, NodeServer, edited, header


@pytest.fixture
def server() -> Iterator[NodeServer]:
    with node_server.running() as running:
        yield running


@pytest.fixture
def node(server: NodeServer) -> Iterator[Node]:
    with Node(server.url, timeout=2.0, retries=2, backoff=0.01) as node:
        yield node


def changed_block(number: int, change: Any) -> node_server.Fault:
    """The right answers, but for one block."""

    def changed(replies: Any) -> Any:
        if not isinstance(replies, list):
            return replies
        return [
            {**reply, "result": change(reply["result"])}
            if isinstance(reply.get("result"), dict) and reply["result"]["number"] == hex(number)
            else reply
            for reply in replies
        ]

    return edited(changed)


def test_blocks_as_a_table(node: Node, server: NodeServer) -> None:
    table = get_blocks(node, range(100, 165), concurrency=3, calls_per_request=7)
    assert list(table) == [column.name for column in BLOCKS.columns]
    assert all(table[column.name].dtype == column.dtype for column in BLOCKS.columns)
    assert table["block_number"].to_list() == list(range(100, 165))
    assert table["base_fee_per_gas"].to_list() == [7 + number for number in range(100, 165)]
    assert table["excess_blob_gas"].to_list() == list(range(100, 165))
    assert table["extra_data"][0] == (100).to_bytes(4, "big")
    assert server.methods.count("eth_getBlockByNumber") == 65
    assert set(server.methods) == {"eth_blockNumber", "eth_getBlockByNumber"}


def test_first_and_newest_block_can_be_asked_for(node: Node) -> None:
    assert get_blocks(node, range(1))["block_number"].to_list() == [0]
    assert get_blocks(node, range(HEAD, HEAD + 1))["block_number"].to_list() == [HEAD]


def test_progress_counts_every_block(node: Node) -> None:
    seen: list[int] = []
    get_blocks(node, range(10, 75), calls_per_request=10, progress=seen.append)
    assert seen == [10] * 6 + [5]


def test_no_more_requests_are_under_way_than_asked_for(server: NodeServer, node: Node) -> None:
    under_way, most, lock = 0, 0, threading.Lock()

    def counted(handler: Handler, payload: Any) -> None:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        time.sleep(0.005)
        with lock:
            under_way -= 1
        node_server.answered(handler, payload)

    server.always = counted
    get_blocks(node, range(100), concurrency=3, calls_per_request=4)
    assert 1 < most <= 3


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (changed_block(123, lambda _: None), "expected block 123, the node returned None"),
        (changed_block(123, lambda block: {**header(7)}), "the node returned blocks .*7"),
        (
            changed_block(123, lambda block: {**block, "parentHash": "0x" + "00" * 32}),
            "block 123 is not the child of block 122",
        ),
        (
            changed_block(123, lambda block: {**block, "hash": "0x" + "00" * 32}),
            "block 124 is not the child of block 123",
        ),
        (changed_block(123, lambda block: {**block, "hash": None}), "a block has no hash"),
        (changed_block(123, lambda block: {**block, "gasUsed": None}), "row [0-9]+: gas_used: expected a value"),
        (changed_block(123, lambda block: "0x"), "expected block 123, the node returned '0x'"),
        (edited(lambda reply: {**reply, "result": "soon"} if isinstance(reply, dict) else reply), "eth_blockNumber"),
        (edited(lambda reply: {**reply, "result": "0x7"} if isinstance(reply, dict) else reply), "block 139 does not"),
    ],
)
@pytest.mark.parametrize("calls_per_request", [1, 4, 100])
def test_wrong_answer_is_refused(
    server: NodeServer, node: Node, fault: Any, message: str, calls_per_request: int
) -> None:
    server.always = fault
    with pytest.raises(UpstreamError, match=message):
        get_blocks(node, range(100, 140), calls_per_request=calls_per_request)


def history(change: Any) -> node_server.Fault:
    """The right answers, but for the fee history."""

    def changed(reply: Any) -> Any:
        if isinstance(reply, list) or "oldestBlock" not in (reply.get("result") or ()):
            return reply
        return {**reply, **change(reply["result"])}

    return edited(changed)


def without(name: str) -> Any:
    return lambda result: {"result": {key: value for key, value in result.items() if key != name}}


def test_tips_and_blob_base_fees_come_from_the_fee_history(server: NodeServer, node: Node) -> None:
    table = get_blocks(node, range(100, 165), tip_percentile=50, calls_per_request=20)

    assert table["tip"].to_list() == [1_000 * number if number % 3 else 0 for number in range(100, 165)]
    assert table["blob_base_fee"].to_list() == list(range(101, 166))
    plain = get_blocks(node, range(100, 165))
    assert plain[["tip", "blob_base_fee"]].isna().all(axis=None)
    added = ["tip", "blob_base_fee"]
    pd.testing.assert_frame_equal(table.drop(columns=added), plain.drop(columns=added))
    pd.testing.assert_frame_equal(get_blocks(node, range(100, 165), tip_percentile=50.0), table)
    asked = [payload["params"] for _, _, payload in server.requests if "eth_feeHistory" in str(payload)]
    assert sorted(asked)[:4] == [[hex(20), hex(119), [50]], [hex(20), hex(119), [50]], *[[hex(20), hex(139), [50]]] * 2]


def test_blocks_before_cancun_have_no_blob_base_fee(server: NodeServer, node: Node) -> None:
    """Their headers have no excess blob gas; go-ethereum answers fees of 0 for them, other nodes none."""

    def old(number: int, block: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in block.items() if number >= 110 or "lob" not in name}

    def blocks(replies: Any) -> Any:
        found = replies if isinstance(replies, list) else [replies]
        for reply in found:
            result = reply.get("result")
            if isinstance(result, dict) and "number" in result:
                reply["result"] = old(int(result["number"], 16), result)
            elif isinstance(result, dict):
                result["baseFeePerBlobGas"] = ["0x0"] * 10 + result["baseFeePerBlobGas"][10:]
        return replies

    server.always = edited(blocks)
    table = get_blocks(node, range(100, 120), tip_percentile=15)
    assert table["blob_base_fee"].isna().to_list() == [True] * 10 + [False] * 10
    assert table["tip"].notna().all()


@pytest.mark.parametrize(
    "change",
    [
        lambda result: {"result": result | {"reward": [row if row != ["0x0"] else None for row in result["reward"]]}},
        lambda result: {"result": {name: value for name, value in result.items() if "lob" not in name}},
    ],
    ids=["no rewards of empty blocks", "no blob fields"],
)
def test_histories_of_other_nodes_are_read(server: NodeServer, node: Node, change: Any) -> None:
    server.always = history(change)
    assert get_blocks(node, range(100, 104), tip_percentile=50)["tip"].to_list() == [100_000, 101_000, 0, 103_000]


def test_empty_blocks_have_tips_of_0_where_a_node_answers_no_rewards(server: NodeServer, node: Node) -> None:
    server.always = history(lambda result: {"result": result | {"reward": [None] * len(result["reward"])}})
    assert get_blocks(node, range(102, 103), tip_percentile=50)["tip"].to_list() == [0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without("reward"), "blocks 100 to 119: expected rewards of 1 percentile, the response has 0"),
        (
            lambda result: {"result": result | {"reward": [["0x1", "0x2"]] * 20}},
            "expected rewards of 1 percentile, the response has 2",
        ),
        (lambda result: {"result": result | {"reward": [None] * 20}}, r"reward\[0\]: expected a list, got None"),
        (
            lambda result: {"result": node_server.fee_history(9, 119, [50])},
            "blocks 100 to 119: the response has 9 blocks from block 111 on: older blocks are pruned",
        ),
        (
            lambda result: {"result": result | {"baseFeePerGas": ["0x1"] * 21}},
            "block 100: the base fee is 1 in eth_feeHistory, but 107 in the header: the chain was reorganised",
        ),
        (
            lambda result: {"result": None, "error": {"code": 4444, "message": "pruned history unavailable"}},
            r"blocks 100 to 119: pruned history unavailable \(code 4444\); omit the tips to request only headers",
        ),
        (
            lambda result: {"result": None, "error": {"code": -32601, "message": "the method does not exist"}},
            r"eth_feeHistory of blocks 100 to 119: the method does not exist \(code -32601\)",
        ),
        (lambda result: {"result": 5}, "blocks 100 to 119: the fee history: expected the answer of eth_feeHistory"),
    ],
    ids=["no percentiles", "too many", "null rewards", "pruned", "another base fee", "error", "no method", "a number"],
)
def test_a_fee_history_that_does_not_fit_is_refused(server: NodeServer, node: Node, change: Any, message: str) -> None:
    server.always = history(change)
    with pytest.raises(UpstreamError, match=message):
        get_blocks(node, range(100, 120), tip_percentile=50)


@pytest.mark.parametrize("percentile", [-1, 100.5, float("nan"), "50", True])
def test_percentiles_out_of_range_are_refused_before_the_work(server: NodeServer, node: Node, percentile: Any) -> None:
    with pytest.raises(InvalidInput, match="tip_percentile: expected"):
        get_blocks(node, range(3), tip_percentile=percentile)
    assert server.requests == []


def test_range_beyond_the_newest_block_is_refused_before_the_work(server: NodeServer, node: Node) -> None:
    with pytest.raises(UpstreamError, match=f"block {HEAD + 1} does not exist yet, the newest is {HEAD}"):
        get_blocks(node, range(HEAD + 2))
    assert server.methods == ["eth_blockNumber"]


def test_nothing_is_shown_without_a_terminal(node: Node, capfd: pytest.CaptureFixture[str]) -> None:
    get_blocks(node, range(30), progress=True)
    assert capfd.readouterr() == ("", "")


def test_bar_is_shown_on_a_terminal(
    node: Node, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    get_blocks(node, range(30), progress=True)
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "blocks" in captured.err
    assert "100%" in captured.err


OTHER_FORMS = [":", "5", "5:", ":5", "5:5", "6:5", "-1:5", "0x1:0x5", "1:2:3", "1.5:3", " 1:2", "1:2\n", "a:b", "٣:٤"]


@pytest.mark.parametrize("text", [*OTHER_FORMS, "", None, 5])
def test_range_of_another_form_is_refused(text: Any) -> None:
    with pytest.raises(InvalidInput, match="blocks: expected A:B"):
        parse_block_range(text)


@pytest.mark.parametrize("blocks", [range(0), range(5, 5), range(-1, 3), range(0, 10, 2), range(9, 0, -1), 5, None])
def test_range_with_gaps_or_without_blocks_is_refused(node: Node, blocks: Any) -> None:
    with pytest.raises(InvalidInput, match="blocks: expected a range"):
        get_blocks(node, blocks)


@pytest.mark.parametrize("limits", [{"concurrency": 0}, {"calls_per_request": 0}, {"calls_per_request": 1.5}])
def test_senseless_limits_are_refused(node: Node, limits: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(limits))):
        get_blocks(node, range(3), **limits)
