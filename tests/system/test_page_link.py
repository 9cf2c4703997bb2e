"""The address of the explorer's page as its state, and the files that it gives."""

import csv
import io

from tests.system.start import wait_until


def test_the_link_is_the_state(open_tab):
    tab = open_tab()
    tab.page.locator("#compressedSize").fill("777")
    tab.page.locator("input[name=variableCostFrom][value=l1]").check()
    tab.page.locator("#lowerBound").fill("")
    tab.page.locator("input[value=verification-cost]").check()
    tab.page.locator("#gasPriceRatio").fill("12.5")
    tab.page.select_option("#axis", "gasPriceRatio")
    tab.page.locator("input[name=y][value=log]").check()
    tab.explain('{"to": "0x' + "11" * 20 + '", "value": "0x0"}', gasUsed="21000", starknet="256, 1100000")
    link = tab.link()
    other = open_tab(link)
    inputs = """[...document.querySelectorAll("[name]:not(meta)")]
        .map((input) => input.type === "radio" ? input.checked : input.value)"""

    assert link == other.link()
    assert tab.page.evaluate(inputs) == other.page.evaluate(inputs)
    for method in ("feemodel_fee", "feemodel_curve", "feemodel_explain"):
        assert tab.answer(method) == other.answer(method)
    for card in ("#answer", "#curve", "#told"):
        assert tab.text(card) == other.text(card)
    other.page.locator("#gasPriceRatio").fill("13")
    changed = link.replace("gasPriceRatio=12.5", "gasPriceRatio=13")
    wait_until(lambda: other.page.evaluate("location.hash") == changed, "the address follows once the controls rest")


def test_a_link_that_is_changed_by_hand_is_followed(open_tab):
    tab = open_tab()
    tab.page.evaluate("location.hash = '#compressedSize=64&gas=50000&margin=oops&pricing=free'")
    wait_until(lambda: tab.text("#fee-sub").endswith("× 50,000 gas"), "the answer follows the address")
    inputs = tab.answer()["inputs"]

    assert tuple(inputs[name] for name in ("compressedSize", "gas", "margin")) == (64, "0xc350", 1.2)
    assert tab.link() == "#compressedSize=64&gas=50000"
    assert all("oops" in error for error in tab.errors), "what the browser says of it"
    tab.errors.clear()


def test_the_downloads_are_what_is_shown(open_tab):
    tab = open_tab("#compressedSize=300&axis=gas")
    tab.page.locator("#curve summary").click()
    with tab.page.expect_download() as download:
        tab.page.get_by_role("button", name="Download CSV").first.click()
    text = download.value.path().read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    curve = tab.answer("feemodel_curve")

    assert download.value.suggested_filename == "curve.csv"
    assert [int(value, 16) for value in curve["values"]] == [int(row["Gas [gas]"]) for row in rows]
    assert [int(value, 16) / 1e9 for value in curve["feeWei"]] == [float(row["Whole fee [gwei]"]) for row in rows]
    assert curve["recovery"][0]["recovery"] == [float(row["Recovery [× L1 cost]"]) for row in rows]
