"""A chain that stands still: its block and accounts on the wire, from a genesis or a recorded state."""

import pytest

from feemodel.estimates.chain import ChainState
from feemodel.ethereum._quantities import to_hex
from feemodel.execution import Block, CallState
from feemodel.execution._forks import fork_named
from feemodel.server.settings import Settings
from tests.helpers.development import ALDER, HOLDERS
from tests.helpers.execution_engines import HAS_NATIVE, WITHOUT_NATIVE
from tests.server.parts import on_chain, opened

HOLDER, TOKEN = to_hex(HOLDERS[0]), to_hex(ALDER)


NOT_FOUND = -32000
BLOCKS = {
    "latest": True, "pending": True, "safe": True, "finalized": True, "earliest": True, "0x0": True, 0: True,
    None: True, "0x1": NOT_FOUND, 1: NOT_FOUND, "0x" + "f" * 100: NOT_FOUND, "best": -32602, "": -32602, "0x": -32602,
    "0x00": -32602, "1": -32602, -1: -32602, 0.5: -32602,
}  # fmt: skip
OBJECTS = [  # of EIP-1898
    ({"blockNumber": "0x0"}, True),
    ({"blockNumber": "latest"}, True),
    ({"blockNumber": 0, "requireCanonical": True}, True),
    ({"blockHash": "0x" + "12" * 32, "blockNumber": "0x0"}, -32602),
    ("0x" + "12" * 32, NOT_FOUND),
    ("0x" + "zz" * 32, -32602),
    ({"blockHash": "0x12"}, -32602),
    ({"requireCanonical": True}, -32602),
    ({}, -32602),
    ([], -32602),
    (True, -32602),
]  # fmt: skip


@pytest.mark.parametrize(("block", "expected"), [*BLOCKS.items(), *OBJECTS], ids=str)
@pytest.mark.parametrize(
    ("method", "params", "result"),
    [
        ("eth_getBalance", [HOLDER], hex(10**22)),
        ("eth_getTransactionCount", [TOKEN], "0x1"),
        ("eth_getCode", [HOLDER], "0x"),
        ("eth_call", [{"to": HOLDER}], "0x"),
        ("eth_estimateGas", [{"to": HOLDER}], "0x5208"),
    ],
)
def test_every_method_names_its_block_in_the_same_ways(client, method, params, result, block, expected):
    answer = client.ask(method, *params, block)
    assert answer == ({"result": result} if expected is True else {"error": answer.get("error")})
    if expected is not True:
        assert answer["error"]["code"] == expected
        assert answer["error"]["message"].startswith("header not found: " if expected == NOT_FOUND else "block")


def test_the_block_may_be_named_by_its_hash(client):
    known = client.result("eth_getBlockByNumber", "0x0")["hash"]
    for block in (known, {"blockHash": known}, {"blockHash": known, "blockNumber": None}):
        assert client.result("eth_getBalance", HOLDER, block) == hex(10**22)
    missing = client.error("eth_getBalance", HOLDER, {"blockHash": "0x" + "00" * 32})
    assert missing == {"code": NOT_FOUND, "message": f"header not found: 0x{'00' * 32}, the newest block is 0x0"}


def test_a_block_that_is_not_there_is_null(client):
    assert [client.result("eth_getBlockByNumber", block) for block in ("0x1", 7)] == [None, None]
    assert client.error("eth_getBlockByNumber", "x")["code"] == -32602


def test_a_long_block_is_not_sent_back_as_a_whole(client):
    message = client.error("eth_getBalance", HOLDER, "0x1" + "0" * 100_000)["message"]
    assert "0x1000" in message
    assert len(message) < 300


def test_the_chain_says_what_it_is(client):
    answers = [client.result(method) for method in ("eth_chainId", "net_version", "eth_blockNumber")]
    assert answers == ["0x539", "1337", "0x0"]
    assert client.result("web3_clientVersion").startswith("feemodel/")


def test_the_gas_price_is_the_announced_one_and_the_rest_of_it_the_tip(client):
    assert client.result("eth_gasPrice") == hex(41_904_000)
    assert client.result("eth_maxPriorityFeePerGas") == hex(41_904_000 - 7)


@pytest.mark.parametrize("count", ["0x1", "0x400", 1, 50])
def test_the_fee_history_is_that_of_the_one_block_there_is(client, count):
    """The reward is an estimate of 125 bytes and 21,000 gas: trunc(1.2 · (125e9 div 21,000 + 30,000,000))."""
    history = client.result("eth_feeHistory", count, "latest", [10, 20.5, 20.5, 100])
    assert history == {
        "oldestBlock": "0x0", "baseFeePerGas": ["0x7", "0x7"], "gasUsedRatio": [0.0],
        "baseFeePerBlobGas": ["0x1", "0x1"], "blobGasUsedRatio": [0.0], "reward": [[hex(43_142_856)] * 4],
    }  # fmt: skip
    assert "reward" not in client.result("eth_feeHistory", count, "latest")


@pytest.mark.parametrize(
    ("params", "code", "name"),
    [
        (["0x0", "latest"], -32602, "blockCount"),
        ([1_025, "latest"], -32602, "blockCount"),
        ([1, "0x5"], -32000, "header not found"),
        ([1, "latest", [101]], -32602, "rewardPercentiles[0]: expected `float` <= 100.0, got 101"),
        ([1, "latest", ["10"]], -32602, "rewardPercentiles[0]"),
        ([1, "latest", list(range(101))], -32602, "rewardPercentiles"),
        ([1, "latest", "10"], -32602, "rewardPercentiles"),
    ],
)
def test_a_fee_history_that_there_cannot_be_is_refused(client, params, code, name):
    error = client.error("eth_feeHistory", *params)
    assert (error["code"], error["message"].startswith(name)) == (code, True)


def test_the_blob_base_fee_follows_from_the_excess():
    """EIP-4844's example by Cancun's fraction: e**(10 * 2**17 * 10 / 3338477) is 50.7 ."""
    block = Block(excess_blob_gas=100 * 131_072)
    with on_chain(ChainState(call_state=CallState(accounts={}, block=block, fork=fork_named("cancun")))) as client:
        assert client.result("eth_feeHistory", 1, "latest")["baseFeePerBlobGas"] == ["0x32", "0x32"]


@pytest.mark.skipif(not HAS_NATIVE, reason=WITHOUT_NATIVE)
def test_estimates_can_keep_every_inner_call():
    """The guard ignores that its callee fails, which needs a 63rd more gas than geth's limit gives it."""
    stores, guard = f"0x{'6001600055' + '6001600155' + '6001600255'}", f"0x5f5f5f5f5f73{'ca' * 20}5af100"
    overrides = {f"0x{'ca' * 20}": {"code": stores}, f"0x{'9a' * 20}": {"code": guard}}
    asked = [{"to": f"0x{'9a' * 20}", "data": "0x00"}, "latest", overrides]
    limits = []
    for intact in (False, True):
        with opened(Settings(tolerance=0.0, intact=intact), started=False) as client:
            limits.append(int(client.result("eth_estimateGas", *asked), 16))
            found = client.result("rollup_estimateGas", *asked, {"search": "intact"})["gasLimit"]

    assert limits[0] < limits[1] == int(found, 16) < 1.02 * limits[0]
