"""What estimates are priced with: settings, pricing records, L1 fees that are looked up again and again."""

import json
import re

import pytest

from feemodel.errors import InvalidInput
from feemodel.estimates.chain import development_genesis
from feemodel.ethereum._quantities import to_hex
from feemodel.linea.extra_data import PricingRecord
from feemodel.server.settings import Settings
from tests.estimates.test_prices import FLAT
from tests.helpers import node_server
from tests.server.parts import PATIENCE, answering, gauge, head_block, opened
from tests.server.wire import TRANSFER  # of 49 bytes and 21,000 gas

SOON = 0.05  # seconds, the shortest pause between two looks
OLD = 2.0  # seconds, of costs that are not used any more
VERIFICATION = {"pricing": "verification-cost", "min_gas_price": 10**9}


def fee(client):
    return int(client.result("rollup_estimateGas", TRANSFER)["priorityFeePerGas"], 16)


def variable_cost_of(client):
    return client.ask("feemodel_pricing").get("result", {}).get("variableCost")


# Configured


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, 38_799_999),  # 1.2 · (49e9 div 21,000 + 30,000,000)
        ({"variable_cost": 0}, 36_000_000),
        ({"fixed_cost": 0, "margin": 1.0}, 2_333_333),
        ({"fixed_cost": 0, "margin": 0.0}, 0),
        ({"variable_cost": 3, "fixed_cost": 1, "margin": 1.0}, 1),  # 147 div 21,000 is 0
        ({"preset": "linea-mainnet-2025-02"}, 83_116_173),  # 49 · 16,827,205,000 div 21,000 = 39,263,478
        # 15 · 1,200,000 · 49 · 1e9 / (21,000 · 90,000) = 466,666,666.67, which is below 1e9 − 7
        (VERIFICATION, 10**9 - 7),
        ({**VERIFICATION, "margin": 3.0}, 1_400_000_000),
        ({**VERIFICATION, "margin": 1.0, "gas_price_ratio": 45.0}, 1_400_000_000),
        ({**VERIFICATION, "margin": 1.0, "verification_gas_cost": 3_600_000}, 1_400_000_000),
        ({**VERIFICATION, "margin": 1.0, "verification_capacity": 30_000}, 1_400_000_000),
        ({"pricing": "verification-cost"}, 41_904_000 - 7),  # the preset's gas price
    ],
    ids=str,
)  # fmt: skip
def test_the_fee_is_that_of_the_settings_by_hand(settings, expected):
    with opened(Settings(**settings), started=False) as client:
        assert fee(client) == expected


def test_what_is_priced_with_is_told():
    with opened(Settings(variable_cost=5, margin=1.5), started=False) as client:
        assert client.result("feemodel_pricing") == {
            "source": "configured", "ageSeconds": None, "pollAgeSeconds": None,
            "pricing": "cost-per-byte", "margin": 1.5,
            "variableCost": "0x5", "fixedCost": hex(30_000_000), "baseFee": "0x7", "gasPrice": hex(41_904_000),
        }  # fmt: skip
        assert gauge(client, "pricing_age_seconds") is None
    with opened(Settings(pricing="verification-cost", gas_price_ratio=2.5), started=False) as client:
        assert client.result("feemodel_pricing") == {
            "source": "configured", "ageSeconds": None, "pollAgeSeconds": None,
            "pricing": "verification-cost", "margin": 1.2,
            "minGasPrice": hex(41_904_000), "verificationGasCost": hex(1_200_000), "verificationCapacity": hex(90_000),
            "gasPriceRatio": 2.5, "adjustment": "0x0", "baseFee": "0x7", "gasPrice": hex(41_904_000),
        }  # fmt: skip


# The record of the newest block

RECORD = PricingRecord(fixed_cost=20_000_000, variable_cost=500_000_000, eth_gas_price=25_000_000)


def genesis_with(extra_data, path):
    path.write_text(json.dumps({**development_genesis(), "extraData": to_hex(extra_data)}))
    return str(path)


def test_the_record_of_the_chain_prices(tmp_path):
    """49 · 5e8 div 21,000 = 1,166,666; and 2e7, times 1.2, is 25,399,999.2."""
    settings = {"costs": "record", "genesis": genesis_with(RECORD.to_bytes(), tmp_path / "genesis.json")}
    with opened(Settings(**settings), started=False) as client:
        assert fee(client) == 25_399_999
        assert client.result("eth_gasPrice") == hex(25_000_000)
        pricing = client.result("feemodel_pricing")
        assert (pricing["source"], pricing["ageSeconds"], pricing["fixedCost"]) == ("record", None, hex(20_000_000))
    with opened(Settings(**settings, fixed_cost=0), started=False) as client:  # a setting goes before the record
        assert fee(client) == 1_399_999
    verification = Settings(**settings, pricing="verification-cost")
    with opened(verification, started=False) as client:  # the minimum is the announced price, as nodes set it
        assert client.result("feemodel_pricing")["minGasPrice"] == hex(25_000_000)


@pytest.mark.parametrize("extra_data", [b"", b"feemodel", bytes(32)])
def test_a_chain_without_a_record_cannot_price_by_it(tmp_path, extra_data):
    settings = Settings(costs="record", genesis=genesis_with(extra_data, tmp_path / "genesis.json"))
    with pytest.raises(InvalidInput, match="extra_data: expected"), opened(settings, started=False):
        pass


def head(record):
    return head_block(extraData=to_hex(record.to_bytes() if isinstance(record, PricingRecord) else record))


def test_a_record_is_read_again_and_refused_when_there_is_none_or_it_is_too_old(node):
    answering(node, eth_getBlockByNumber=head(RECORD))
    settings = Settings(costs="record", node=node.url, poll_seconds=SOON, max_age=OLD, node_timeout=PATIENCE)
    with opened(settings) as client:
        assert variable_cost_of(client) == hex(500_000_000)
        answering(node, eth_getBlockByNumber=head(PricingRecord(0, 7_000, 0)))
        client.until(lambda: variable_cost_of(client) == hex(7_000), "the new record is not seen")

        answering(node, eth_getBlockByNumber=head(b"no record"))
        client.until(lambda: variable_cost_of(client) is None, "the missing record is not seen")
        error = client.error("rollup_estimateGas", TRANSFER)
        assert error["code"] == -32002  # no fault of the caller's parameters
        assert error["message"].startswith("the newest block has no pricing record: extra_data: expected 32 bytes")

        answering(node, eth_getBlockByNumber=head(RECORD))
        client.until(lambda: variable_cost_of(client) == hex(500_000_000), "the record is not seen again")
        node.always = node_server.reset
        client.until(lambda: variable_cost_of(client) is None, "an old record is not refused")
        message = client.error("feemodel_pricing")["message"]
        expected = rf"the newest block: \d s old, more than max_age, {OLD:g} s; the node: the connection broke"
        assert re.match(expected, message)
        assert client.http("GET", "/ready").status == 503


# L1 fees, whose averages tests/estimates/test_prices.py computes by hand


def on_l1(node, **settings):
    return Settings(costs="l1", l1_node=f"{node.url}/key?of=mine", **{"poll_seconds": SOON, **settings})


def test_the_fees_of_fifty_blocks_of_l1_and_the_settings_price(node):
    answering(node, eth_feeHistory=FLAT)
    with opened(on_l1(node, poll_seconds=PATIENCE, fixed_cost=0, base_fee=9)) as client:
        pricing = client.result("feemodel_pricing")
    assert (pricing["source"], pricing["variableCost"]) == ("l1", hex(88_629_000))
    assert (pricing["fixedCost"], pricing["baseFee"]) == ("0x0", "0x9")
    assert pricing["gasPrice"] == hex(527_553 + 9)  # 88,629,000 · 125 / 21,000 and the base fee
    ((path, _, batch),) = node.requests
    assert path == "/key?of=mine"
    assert [(call["method"], call["params"]) for call in batch] == [
        ("eth_chainId", []),
        ("eth_getBlockByNumber", ["latest", False]),
        ("eth_feeHistory", ["0x32", "latest", [15.0]]),
    ]


def test_a_fee_history_that_is_none_says_whose_it_is(node):
    answering(node, eth_feeHistory={**FLAT, "gasUsedRatio": [2.0]})
    with opened(on_l1(node)) as client:
        message = client.error("rollup_estimateGas", TRANSFER)["message"]
        assert message.startswith("L1 fees: not received yet, the L1 node: eth_feeHistory: ")


def test_l1_may_be_down_at_the_start_and_come_and_go_and_come_back(node):
    node.always = node_server.status(500)
    with opened(on_l1(node, max_age=OLD)) as client:
        error = client.error("rollup_estimateGas", TRANSFER)
        assert error == {
            "code": -32002,
            "message": "L1 fees: not received yet, the L1 node: HTTP 500 Internal Server Error",
        }
        assert client.error("feemodel_pricing") == error
        assert client.error("eth_gasPrice") == error
        assert client.result("eth_estimateGas", TRANSFER) == "0x5208"  # which no price is needed for
        ready = client.http("GET", "/ready")
        assert (ready.status, ready.json()["reasons"]) == (503, [error["message"]])
        assert gauge(client, "ready") == 0.0
        assert gauge(client, "pricing_age_seconds") is None
        assert client.http("GET", "/health").status == 200

        for back in (False, True):
            answering(node, eth_feeHistory=FLAT)
            client.until(lambda: client.http("GET", "/ready").status == 200, "not ready again")
            assert fee(client) == 36_248_161
            assert 0 <= gauge(client, "pricing_poll_age_seconds") <= OLD
            assert 0 <= client.result("feemodel_pricing")["pollAgeSeconds"] <= OLD
            if back:
                break

            node.always = node_server.reset
            client.until(lambda: client.http("GET", "/ready").json()["warnings"], "not seen to be down")
            client.until(lambda: "error" in client.ask("rollup_estimateGas", TRANSFER), "old fees are not refused")
            message = client.error("rollup_estimateGas", TRANSFER)["message"]
            expected = rf"L1 fees: \d s old, more than max_age, {OLD:g} s; the L1 node: the connection broke before"
            assert re.match(expected, message)
            assert gauge(client, "pricing_age_seconds") > OLD
            assert client.http("GET", "/ready").status == 503


def test_where_l1_stands_is_told_to_the_log_and_to_no_caller(node, caplog):
    node.always = node_server.status(500)
    with opened(on_l1(node)) as client:
        answers = [client.http("GET", path).body for path in ("/health", "/ready")]
        answers.append(client.error("feemodel_pricing")["message"].encode())
    assert not any(node.url.encode() in answer or b"mine" in answer for answer in answers)
    (record,) = caplog.records  # one for all the looks that fail alike
    assert record.fields == {
        "what": "L1 fees", "node": node.url.removesuffix("/key?of=mine"),
        "error": "the L1 node: HTTP 500 Internal Server Error",
    }  # fmt: skip


def test_a_failed_poll_is_a_warning_while_estimates_are_answered(node):
    """Ready is what estimates do; the warning names the node."""
    answering(node, eth_feeHistory=FLAT)
    with opened(on_l1(node)) as client:
        assert client.http("GET", "/ready").json() == {"ready": True, "reasons": [], "warnings": []}
        node.always = node_server.status(500)
        client.until(lambda: client.http("GET", "/ready").json()["warnings"], "the poll does not fail")
        ready = client.http("GET", "/ready")
        assert "result" in client.ask("rollup_estimateGas", TRANSFER)
        assert gauge(client, "ready") == 1.0
        assert gauge(client, "price", "variable_cost") == 88_629_000
        assert gauge(client, "l1_fee", "base_fee") == int(FLAT["baseFeePerGas"][-1], 16)

    assert ready.status == 200
    assert ready.json()["warnings"] == ["L1 fees: the L1 node: HTTP 500 Internal Server Error"]


NOTHING = {"gasUsedRatio": [], "baseFeePerGas": ["0x1"], "blobGasUsedRatio": [], "baseFeePerBlobGas": ["0x1"]}


@pytest.mark.parametrize(
    "answer",
    [
        None, {**FLAT, "baseFeePerGas": [10**400] * 3}, {**FLAT, "gasUsedRatio": [1e308, 1e308]},
        {**FLAT, "reward": [[], [1]]}, {**FLAT, "oldestBlock": "\ud800"}, {**FLAT, **NOTHING, "reward": []},
    ],
    ids=lambda answer: str(answer)[:60].encode("ascii", "replace").decode(),
)  # fmt: skip
def test_whatever_l1_answers_the_server_stands_and_asks_again(node, answer):
    answering(node, eth_feeHistory=answer)
    with opened(on_l1(node)) as client:
        known = "result" in client.ask("feemodel_pricing")
        assert known == (client.http("GET", "/ready").status == 200)
        answering(node, eth_feeHistory=FLAT)
        client.until(lambda: variable_cost_of(client) == hex(88_629_000), "not asked again")
