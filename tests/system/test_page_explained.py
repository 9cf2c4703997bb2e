"""Transactions and calls on the explorer's page: explained, refused, warned of, looked up at a node."""

import json

import pytest

from feemodel.linea._measure import fee_bytes, fee_size
from tests.cli.test_cli import RAW
from tests.conftest import ROOT
from tests.helpers import anvil
from tests.helpers.browser import Tab
from tests.helpers.development import GENESIS
from tests.server.wire import NOBODY
from tests.system.clients import require
from tests.system.start import serving, wait_until


def test_a_signed_transaction_is_explained(open_tab):
    tab = open_tab()
    tab.explain(RAW)
    answer = tab.answer("feemodel_explain")

    assert fee_size(RAW) == answer["compressedSize"]
    facts = tab.text("#told .facts")
    assert f"{answer['compressedSize']} bytes" in facts
    assert "21,000" in facts
    assert tab.page.locator(".checks .verdict").all_text_contents() == ["✓\u00a0accepted"] * 3
    compared = tab.answer("feemodel_compare")
    priced = [one for one in compared["rules"] if "error" not in one]
    assert len(priced) == tab.page.locator("#told .rules tbody tr").count()
    tab.explain(RAW, gasUsed="21000")
    assert tab.page.locator(".checks .verdict").count() == 4
    tab.page.locator("#fixedCost").fill("9")  # what is explained follows the sliders
    tab.settled()
    assert "✗\u00a0refused: Gas price too low" in tab.page.locator(".checks .verdict").all_text_contents()


def test_a_call_is_run_for_its_gas_and_explained(open_tab, plain_server):
    tab = open_tab()
    tab.example("token")
    call = json.loads(tab.page.locator("#subject").input_value())
    assert len(plain_server.ask("eth_getCode", call["to"], "latest")["result"]) > 2, "an example must be one"
    assert tab.page.locator("#subject-warning").is_hidden()
    answer = tab.answer("feemodel_explain")

    assert answer["subject"] == "call"
    assert fee_size(call, gas=int(answer["gas"]["estimated"], 16)) == answer["compressedSize"]
    assert tab.text("#told caption").startswith("Checks of a node, at the suggested price")
    tab.explain(json.dumps(call), gasEstimate="60000")
    assert tab.answer("feemodel_explain")["gas"]["estimated"] == "0xea60"
    tab.page.locator("#clear").click()
    assert tab.page.locator("#told").is_hidden()


@pytest.mark.parametrize(
    ("pasted", "said"),
    [
        ("0x02f8", "transaction: expected RLP"),
        ('{"to": ', "The call is not JSON"),
        ("hello", "transaction: expected hexadecimal data that starts with 0x"),
    ],
)
def test_what_is_no_transaction_is_said(open_tab, pasted, said):
    tab = open_tab()
    tab.explain(pasted)

    assert tab.text("#explain-card .error").startswith(said)
    assert tab.page.locator("#told").is_hidden()


def test_a_target_without_code_and_another_chain_are_warned_of(open_tab):
    tab = open_tab()
    for subject, said in [
        ({"to": NOBODY, "data": "0xa9059cbb"}, f"There is no code at {NOBODY} on this chain: "),
        ({"to": NOBODY, "value": "0x0"}, ""),
        ({"to": "0x" + "00" * 19 + "02", "data": "0x01"}, ""),
        (RAW, "This transaction is of chain 59144; the server answers for chain 1337."),
    ]:
        tab.explain(subject if isinstance(subject, str) else json.dumps(subject))
        assert tab.page.locator("#told").is_visible()
        assert tab.text("#subject-warning").startswith(said)
        assert tab.page.locator("#subject-warning").is_visible() == bool(said)
    tab.page.locator("#clear").click()
    assert tab.page.locator("#subject-warning").is_hidden()


def test_a_hash_is_looked_up_at_the_node(page_browser, plain_server):
    require(anvil.binary())
    sent = json.loads((ROOT / "tests" / "explorer" / "sent.json").read_text())["eth_sendRawTransaction"]
    with anvil.running(GENESIS) as node, serving("--workers", "1", "--node", node.url, "--max-age", "1e12") as behind:
        node.ask("evm_setNextBlockTimestamp", 1_769_299_212)  # 12 s after the genesis
        assert sent["result"] == behind.ask("eth_sendRawTransaction", *sent["params"])["result"]
        wait_until(lambda: behind.ask("eth_getTransactionReceipt", sent["result"])["result"], "it is mined")
        tab = Tab(page_browser, behind.address)
        tab.explain(sent["result"])
        assert tab.answer("feemodel_explain")["measuredBytes"] == len(fee_bytes(sent["params"][0]))
        assert "used 34,299" in tab.text("#told .facts")
        assert tab.page.locator(".checks .verdict").count() == 4
        tab.close()
    assert (tab.errors, tab.elsewhere) == ([], [])
    alone = Tab(page_browser, plain_server.address, f"#subject={sent['result']}")
    alone.settled()
    assert alone.text("#explain-card .error").startswith("subject: expected no hash, because there is no node")
    alone.close()


def test_why_a_chain_has_no_fee_and_the_sources_are_listed(open_tab):
    tab = open_tab()
    tab.page.locator("#at").fill("2024-06-14")
    tab.explain(RAW)
    compared = tab.answer("feemodel_compare")
    unpriced = {one["rule"]: one["error"] for one in compared["rules"] if "error" in one}
    reasons = tab.page.locator("#told details").first.locator("tbody tr").all_text_contents()

    assert {"mode", "zksync-era"} <= set(unpriced)
    assert {name + reason for name, reason in unpriced.items()} == set(reasons)
    assert tab.page.locator("#told details").last.locator("tbody tr").count() == len(compared["rules"])
