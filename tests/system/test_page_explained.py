"""Transactions and calls on the explorer's page: explained, refused, warned of, looked up at a node."""

import json

import pytest

from feemodel.explorer.presets import SIGNED
from feemodel.linea._measure import fee_bytes, fee_size
from tests.conftest import ROOT
from tests.helpers import anvil
from tests.helpers.browser import Tab
from tests.helpers.development import GENESIS
from tests.server.wire import NOBODY
from tests.system.clients import require
from tests.system.start import serving, wait_until


def test_a_signed_transaction_is_explained(open_tab):
    tab = open_tab()
    tab.example("signed")
    raw = tab.page.locator("#subject").input_value()
    answer = tab.answer("feemodel_explain")

    assert fee_size(raw) == answer["compressedSize"]
    facts = tab.text("#told .facts")
    assert f"{answer['compressedSize']} bytes" in facts
    assert "60,000" in facts
    assert tab.page.locator(".checks .verdict").all_text_contents() == ["✓\u00a0accepted"] * 3
    tab.explain(SIGNED[59_144])
    checks = tab.page.locator(".checks .verdict").all_text_contents()
    assert checks == ["…\u00a0less than the node suggests", "✓\u00a0accepted", "✓\u00a0accepted"]
    answer = tab.answer("feemodel_explain")
    compared = tab.answer("feemodel_compare")
    priced = [one for one in compared["rules"] if "error" not in one]
    assert len(priced) == tab.page.locator("#told .rules tbody tr").count()
    tab.explain(SIGNED[59_144], gasUsed="41309")
    assert tab.page.locator(".checks .verdict").count() == 4
    tab.page.select_option("#chain", "linea-mainnet-2025-02")  # what is explained follows the sliders
    tab.settled()
    assert "✗\u00a0refused: Gas price too low" in tab.page.locator(".checks .verdict").all_text_contents()
    tab.page.get_by_role("button", name="Use its size and gas above").click()
    tab.settled()
    assert (answer["compressedSize"], "0xf230") == (
        tab.answer()["inputs"]["compressedSize"],
        tab.answer()["inputs"]["gas"],
    )


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
        ('{"to": "0x12"}', "call.to: expected an address of 20 bytes"),
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
        (SIGNED[59_144], "This transaction is of chain 59144; the server answers for chain 1337."),
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
    tab.example("signed")
    compared = tab.answer("feemodel_compare")
    unpriced = {one["rule"]: one["error"] for one in compared["rules"] if "error" in one}
    reasons = tab.page.locator("#told details").first.locator("tbody tr").all_text_contents()

    assert {"mode", "zksync-era"} <= set(unpriced)
    assert {name + reason for name, reason in (compared["without"] | unpriced).items()} == set(reasons)
    assert tab.page.locator("#told details").last.locator("tbody tr").count() == len(compared["rules"])


SUPPLIED = (
    "mantle.token_ratio=3114 mantle.base_fee_scalar=5227 mantle.blob_base_fee_scalar=1014213"
    " mantle.operator_fee_scalar=0 mantle.operator_fee_constant=0 mantle.l2_gas_price=20000000"
    " starknet.eth_to_fri_rate=30,000,000000000000000000 celo.l2_gas_price=25000000000 celo.token_per_eth=12000.5"
    " celo.min_base_fee=25000000000"  # since Jovian, no source gives it
)


@pytest.mark.parametrize("width", [320, 1280])
def test_fees_in_another_token_are_shown_in_eth_too(open_tab, width):
    """Fees of 3,114 MNT and 30,000 STRK for one ETH; a rate that no double can hold exactly is sent as text."""
    tab = open_tab(viewport={"width": width, "height": 800})
    tab.explain(SIGNED[59_144], parameters=SUPPLIED, starknet="256, 1100000")
    compared = tab.answer("feemodel_compare")
    rules = {one["rule"]: one for one in compared["rules"]}
    rows = {row.split("\t")[0]: row for row in tab.page.locator("#told .rules tr").all_inner_texts()}

    for name, token, rate in (
        ("mantle/arsia", "MNT", 3_114),
        ("starknet", "STRK", 30_000),
        ("celo/jovian", "CELO", 12_000.5),
    ):
        assert rules[name]["token"] == token
        assert int(rules[name]["totalEth"], 16) == pytest.approx(int(rules[name]["total"], 16) / rate, rel=1e-6)
        assert f" {token} = " in rows[name]
    assert int(rules["starknet"]["l2Fee"], 16) == 1_100_000 * 8 * 10**9
    other = open_tab(tab.link(), viewport={"width": width, "height": 800})
    assert other.page.locator("#parameters").input_value() == SUPPLIED
    assert other.answer("feemodel_compare") == compared


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("parameters", "mantle.token_ratio", "Please match the requested format."),
        ("parameters", "mantle.token_ratio=many", "mantle.token_ratio: expected an integer, got 'many'"),
        ("parameters", "atlantis.token_ratio=1", "atlantis: expected one of arbitrum-nova, "),
        ("starknet", "256", "Please match the requested format."),
        ("starknet", "256, many", "Please match the requested format."),
    ],
)
def test_a_wrong_value_for_another_chain_is_said_beside_its_input(open_tab, name, text, said):
    tab = open_tab(viewport={"width": 320, "height": 640})
    tab.explain(SIGNED[59_144], **{name: text})
    assert tab.text(f"#{name}-error").startswith(said)
    assert tab.page.locator(f"#{name}").get_attribute("aria-invalid") == "true"
    assert tab.page.evaluate("document.documentElement.scrollWidth") == 320
    tab.explain(SIGNED[59_144], **{name: ""})

    assert tab.page.locator(f"#{name}-error").is_hidden()
    assert tab.page.locator(f"#{name}").get_attribute("aria-invalid") == "false"
    assert tab.page.locator("#told .rules").is_visible()
