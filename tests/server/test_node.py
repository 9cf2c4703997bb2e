"""What a server says of the chain behind it: the base fee, its age, which chain it is."""

import json
from contextlib import contextmanager

import pytest

from feemodel.estimates.chain import development_genesis
from feemodel.ethereum._quantities import to_hex
from feemodel.ledger import Store, import_block, import_genesis
from feemodel.server.settings import Settings
from tests.helpers import node_server
from tests.helpers.execution_engines import HAS_NATIVE, WITHOUT_NATIVE
from tests.helpers.ledger_blocks import address, allocated, block, block_hash, change, fields
from tests.server.parts import PATIENCE, answering, gauge, head_block, opened
from tests.server.wire import TRANSFER

GWEI = 10**9
CONFIG = {"chainId": 1337, "londonBlock": 0}
YEAR_2020 = hex(1_577_836_800)


@contextmanager
def on(node, **settings):
    with opened(Settings(node=node.url, **{"poll_seconds": PATIENCE, "node_timeout": PATIENCE, **settings})) as client:
        yield client


def numbers(client):
    """The base fee in each answer that has one."""
    other = {"pricing": "verification-cost", "minGasPrice": hex(2 * GWEI), "compressedSize": 49, "gas": "0x5208"}
    return {
        "estimate": client.result("rollup_estimateGas", TRANSFER)["baseFeePerGas"],
        "pricing": client.result("feemodel_pricing")["baseFee"],
        "explain": client.result("feemodel_explain", {**TRANSFER, "gas": "0x5208"})["feePerGas"]["base"],
        "fee": client.result("feemodel_fee", {"compressedSize": 49, "gas": "0x5208"})["feePerGas"]["base"],
        "other form": client.result("feemodel_fee", other)["feePerGas"]["base"],
        "explorer": client.result("feemodel_presets")["server"]["baseFee"],
    }


# Prices for wallets that know only Ethereum's methods


LOW = {
    "eth_gasPrice": "0x8", "eth_maxPriorityFeePerGas": "0x1",
    "eth_feeHistory": lambda params: {
        "oldestBlock": "0x5", "baseFeePerGas": ["0x7", "0x7"], "gasUsedRatio": [0.5],
        **({"reward": [["0x1", "0x0"]]} if params[2] else {}),
    },
    "eth_fillTransaction": {"tx": {"maxPriorityFeePerGas": "0x1"}},
}  # fmt: skip


def test_prices_told_to_wallets_are_enough_for_a_typical_transaction(node):
    answering(node, **LOW)
    typical = 43_142_856  # trunc(1.2 · (125 · 1e6 / 21,000 + 3e7)), the preset's costs in wei
    with on(node) as client:
        wanted = int(client.result("rollup_estimateGas", TRANSFER)["priorityFeePerGas"], 16)
        price, tip = (int(client.result(name), 16) for name in ("eth_gasPrice", "eth_maxPriorityFeePerGas"))
        history = client.result("eth_feeHistory", "0x1", "latest", [20, 50])
        filled = client.error("eth_fillTransaction", TRANSFER)

    assert tip == typical > wanted
    assert price == typical + 7
    assert history["reward"] == [[hex(typical)] * 2]
    assert history["baseFeePerGas"] == ["0x7", "0x7"]
    assert filled["code"] == -32601


def test_a_larger_typical_transaction_needs_a_higher_price_also_from_a_node_without_tips(node):
    answering(node, eth_feeHistory=LOW["eth_feeHistory"])
    with on(node, typical_size=21_000) as client:
        assert int(client.result("eth_maxPriorityFeePerGas"), 16) == 1_236_000_000  # 1.2 · (1e9 + 3e7)


def test_higher_prices_of_the_node_stay(node):
    high = hex(10**10)
    history = {"oldestBlock": "0x5", "baseFeePerGas": ["0x7", "0x7"], "gasUsedRatio": [0.5], "reward": [[high]]}
    answering(node, eth_gasPrice=high, eth_maxPriorityFeePerGas=high, eth_feeHistory=history)
    with on(node) as client:
        assert client.result("eth_gasPrice") == client.result("eth_maxPriorityFeePerGas") == high
        assert client.result("eth_feeHistory", "0x1", "latest", [50]) == history


def test_a_base_fee_of_the_settings_is_the_next_one_told_to_wallets(node):
    answering(node, **LOW)
    with on(node, base_fee=GWEI) as client:
        assert client.result("eth_feeHistory", 1, "latest")["baseFeePerGas"] == ["0x7", hex(GWEI)]
        assert int(client.result("eth_gasPrice"), 16) > GWEI


def test_wallets_get_no_price_while_there_is_none(node):
    answering(node, eth_getBlockByNumber=head_block(age=700), **LOW)
    with on(node) as client:
        assert {client.error(name)["code"] for name in ("eth_gasPrice", "eth_maxPriorityFeePerGas")} == {-32002}


# The base fee


@pytest.mark.parametrize(
    ("fee", "used", "announced", "expected"),
    [
        (GWEI, 0, None, 875_000_000),
        (7, 30_000_000, None, 8),
        (0, 30_000_000, None, 7),  # the next block's is 1, and 7 is more
        (GWEI, 0, hex(GWEI), GWEI),  # a chain with a rule of its own
        (GWEI, 0, "0x3", 7),
    ],
)
def test_every_answer_has_the_nodes_next_base_fee_or_7_wei(node, fee, used, announced, expected):
    known = {"eth_getBlockByNumber": head_block(baseFeePerGas=hex(fee), gasUsed=hex(used))}
    if announced is not None:
        known["eth_feeHistory"] = {"oldestBlock": "0x5", "baseFeePerGas": [hex(GWEI), announced]}
    answering(node, **known)
    with on(node) as client:
        assert {hex(expected)} == set(numbers(client).values())


def test_an_estimate_has_the_base_fee_of_the_block_that_came_with_it(node):
    with on(node) as client:
        assert client.result("rollup_estimateGas", TRANSFER)["baseFeePerGas"] == "0x7"
        answering(node, eth_getBlockByNumber=head_block(baseFeePerGas=hex(GWEI), gasUsed=hex(15_000_000)))
        assert {hex(GWEI)} == set(numbers(client).values()), "without waiting for the next poll"


def test_a_fixed_base_fee_stays_whatever_the_chains_is(node, tmp_path):
    answering(node, eth_getBlockByNumber=head_block(baseFeePerGas=hex(GWEI)))
    with on(node, base_fee=9) as client:
        assert {"0x9"} == set(numbers(client).values())
    with on_genesis(tmp_path, baseFeePerGas=hex(GWEI), settings={"base_fee": 9}) as client:
        assert {"0x9"} == set(numbers(client).values())


@contextmanager
def on_genesis(folder, settings=None, **fields):
    document = {**development_genesis(), **fields}
    path = folder / "genesis.json"
    path.write_text(json.dumps({name: value for name, value in document.items() if value is not None}))
    with opened(Settings(genesis=str(path), **settings or {}), started=False) as client:
        yield client


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"baseFeePerGas": hex(GWEI)}, 875_000_000),
        ({"baseFeePerGas": None}, 875_000_000),  # as geth has it: 1 gwei where London holds
        ({"baseFeePerGas": None, "config": CONFIG}, 875_000_000),
        ({"baseFeePerGas": "0x3"}, 7),
        ({}, 7),
    ],
)
def test_every_answer_on_a_genesis_has_its_next_base_fee_or_7_wei(tmp_path, fields, expected):
    if "config" in fields and not HAS_NATIVE:
        pytest.skip(WITHOUT_NATIVE)
    with on_genesis(tmp_path, **fields) as client:
        assert {hex(expected)} == set(numbers(client).values())
        history = client.result("eth_feeHistory", "0x1", "latest", [50])
        assert hex(expected) == history["baseFeePerGas"][-1]
        tip = int(client.result("eth_maxPriorityFeePerGas"), 16)
        assert expected + tip == int(client.result("eth_gasPrice"), 16)


def test_a_form_that_has_no_fee_at_the_base_fee_says_so_and_is_not_ready(node):
    answering(node, eth_getBlockByNumber=head_block(baseFeePerGas=hex(GWEI)))
    with on(node, pricing="verification-cost") as client:
        error = client.error("rollup_estimateGas", TRANSFER)
        assert (error["code"], error["message"].partition(": expected")[0]) == (
            -32002,
            "no fee can be computed at the next base fee, 875,000,000 wei: min_gas_price",
        )
        assert client.http("GET", "/ready").status == 503


# Age


def test_a_node_that_stands_still_is_refused_although_it_answers(node):
    with on(node) as client:
        assert client.http("GET", "/ready").status == 200
        answering(node, eth_getBlockByNumber=head_block(timestamp=YEAR_2020))
        error = client.error("rollup_estimateGas", TRANSFER)
        assert (error["code"], error["message"].endswith(" s old, more than max_age, 600 s")) == (-32002, True)
        ready = client.http("GET", "/ready")
        assert (ready.status, ready.json()["reasons"]) == (503, [error["message"]])
        assert gauge(client, "node_up") == 1.0
        assert gauge(client, "node_block_age_seconds") > 5 * 365 * 86_400
        assert 0 <= gauge(client, "node_poll_age_seconds") < PATIENCE
        assert client.result("eth_blockNumber") == "0x5", "what is passed on is the node's own word"
        answering(node)
        assert client.result("rollup_estimateGas", TRANSFER)["gasLimit"] == "0x5208"


def test_a_node_ahead_of_the_clock_is_refused(node):
    answering(node, eth_getBlockByNumber=head_block(age=-10_000))
    with on(node) as client:
        assert "s ahead of this clock" in client.error("rollup_estimateGas", TRANSFER)["message"]
    with on(node, max_age=20_000.0) as client:
        assert client.result("rollup_estimateGas", TRANSFER)["gasLimit"] == "0x5208"
        assert gauge(client, "node_block_age_seconds") < -9_000


def test_costs_of_l1_are_as_old_as_its_newest_block(node):
    history = {"oldestBlock": "0x10", "baseFeePerGas": ["0x1"] * 2, "gasUsedRatio": [0.5]}
    settings = Settings(costs="l1", l1_node=node.url, poll_seconds=PATIENCE)
    answering(node, eth_feeHistory=history, eth_getBlockByNumber=head_block(number="0x10", timestamp=YEAR_2020))
    with opened(settings) as client:
        error = client.error("rollup_estimateGas", TRANSFER)
        assert (error["code"], "s old, more than max_age, 600 s" in error["message"]) == (-32002, True)
        assert client.http("GET", "/ready").status == 503
        assert gauge(client, "pricing_age_seconds") > 5 * 365 * 86_400


# The chain


def test_a_node_that_comes_back_with_another_chain_is_refused_until_it_has_the_right_one(node):
    with on(node, poll_seconds=0.05) as client:
        assert client.result("eth_chainId") == "0x539"
        answering(node, eth_chainId="0x1")
        message = "the node: expected the chain id 1337 of the served chain, got 1"
        for method, params in (("rollup_estimateGas", [TRANSFER]), ("eth_chainId", []), ("eth_blockNumber", [])):
            assert {"code": -32002, "message": message} == client.error(method, *params)
        assert client.http("GET", "/ready").status == 503
        assert (gauge(client, "node_up"), gauge(client, "node_block_age_seconds")) == (0.0, None)
        answering(node)
        client.until(lambda: client.http("GET", "/ready").status == 200, "the node is asked again")
        assert client.result("eth_blockNumber") == "0x5"


@pytest.fixture
def ledger(tmp_path):
    """A ledger of chain 1337 with one block behind its genesis."""
    path = tmp_path / "ledger.db"
    with Store(path) as store:
        import_genesis(store, [allocated(address(1), balance=1)])
        import_block(store, block(1, change(2, None, fields(balance=5))))
        store.set_chain_id(1337)
        store.finalize(1)
    return path


def test_a_node_that_was_down_at_the_start_is_compared_with_the_ledger_when_it_is_there(node, ledger):
    settings = Settings(node=node.url, store=str(ledger), poll_seconds=0.05, node_timeout=PATIENCE)
    answering(node, eth_chainId="0x1")
    with opened(settings, store=ledger) as client:
        message = client.error("rollup_estimateGas", TRANSFER)["message"]
        assert message == "the node: expected the chain id 1337 of the served chain, got 1"
        assert client.http("GET", "/ready").status == 503
        assert "accountProof" in client.result("rollup_getProof", to_hex(address(2)), [], "finalized")
    answering(node)
    with opened(settings, store=ledger) as client:
        assert client.result("rollup_estimateGas", TRANSFER)["gasLimit"] == "0x5208"


def test_the_newest_block_of_a_proof_is_the_nodes(node, ledger):
    asked = ("rollup_getProof", to_hex(address(2)), [], "latest")
    for number in (5, 1):
        answering(node, eth_getBlockByNumber=lambda params, number=number: head_block(
            number=hex(number), hash=to_hex(block_hash(1))
        ))  # fmt: skip
        with opened(Settings(node=node.url, store=str(ledger), poll_seconds=0.05), store=ledger) as client:
            if number == 1:
                assert "accountProof" in client.result(*asked)
            else:
                assert client.error(*asked)["message"] == "block 0x5 is not final: the newest final block is 1"


def test_an_l1_node_of_another_chain_is_refused(node):
    history = {"oldestBlock": "0x5", "baseFeePerGas": ["0x1"] * 2, "gasUsedRatio": [0.5]}
    answering(node, eth_feeHistory=history)
    with opened(Settings(costs="l1", l1_node=node.url, poll_seconds=0.05)) as client:
        assert client.http("GET", "/ready").status == 200
        answering(node, eth_feeHistory=history, eth_chainId="0xaa36a7")
        client.until(lambda: client.http("GET", "/ready").status != 200, "the other chain is seen")
        assert "the served chain, got 11155111" in client.error("rollup_estimateGas", TRANSFER)["message"]


def test_the_chain_of_the_node_is_what_an_explanation_measures(node):
    with on(node) as client:
        call = {**TRANSFER, "gas": "0x5208", "maxFeePerGas": "0x9", "maxPriorityFeePerGas": "0x1"}
        short = client.result("feemodel_explain", call)["measuredBytes"]
    answering(node, eth_chainId=hex(2**100))
    with on(node) as client:
        assert short + 11 == client.result("feemodel_explain", call)["measuredBytes"]  # 13 bytes and their length, or 2


# Forwarded


def test_the_nodes_answer_is_the_servers(node):
    answering(node, eth_getLogs=[{"data": "0x"}], linea_getProof={"accountProof": {}})
    with on(node) as client:
        assert client.result("eth_getLogs", {}) == [{"data": "0x"}]
        assert client.result("linea_getProof", "0x", [], "latest") == {"accountProof": {}}


def test_the_nodes_error_is_the_servers(node):
    with on(node) as client:
        node.always = node_server.rpc_error(-32000, "nonce too low")
        assert client.error("eth_sendRawTransaction", "0x02f8") == {"code": -32000, "message": "nonce too low"}


@pytest.mark.parametrize(
    "method", ["debug_traceCall", "admin_peers", "personal_sign", "eth_signTypedData_v3", "eth_sendTransaction"]
)
def test_what_operates_a_node_or_signs_for_it_is_not_forwarded(node, method):
    with on(node) as client:
        assert client.error(method)["code"] == -32601
    assert method not in node.methods


def test_the_refusal_of_a_call_of_the_servers_own_is_not_the_callers_fault(node):
    refusal = {"code": -32601, "message": "no counts"}
    answering(node, eth_getTransactionCount=refusal)
    with on(node) as client:
        expected = "the node: eth_getTransactionCount: no counts (code -32601)"
        assert {"code": -32002, "message": expected} == client.error("rollup_estimateGas", TRANSFER)


@pytest.mark.parametrize("gas", ["0x0", "0x", "21000", 21_000, None])
def test_a_gas_limit_that_is_none_is_the_nodes_fault(node, gas):
    answering(node, eth_estimateGas=gas)
    with on(node) as client:
        error = client.error("rollup_estimateGas", TRANSFER)
        assert (error["code"], error["message"].startswith("the node: eth_estimateGas: expected")) == (-32002, True)


@pytest.mark.parametrize("method", ["eth_estimateGas", "eth_getTransactionCount", "eth_chainId", "eth_getBlockByNumber",
                                    "eth_gasPrice", "eth_maxPriorityFeePerGas", "eth_feeHistory"])  # fmt: skip
def test_a_result_that_repeats_the_nodes_address_is_refused_without_its_key(node, method, caplog):
    url = f"{node.url}/v3/0f1e2d3c4b5a6978"
    asked = {"eth_feeHistory": ("0x1", "latest", [50]), "eth_gasPrice": (), "eth_maxPriorityFeePerGas": ()}
    for answer in (url, {"reward": [[url]]}, {"reward": 5}):
        answering(node, **{method: answer})
        with opened(Settings(node=url)) as client:
            error = client.error(*((method, *asked[method]) if method in asked else ("rollup_estimateGas", TRANSFER)))
        assert error["code"] == -32002
        assert "0f1e2d" not in error["message"] + caplog.text
