"""What is kept of the explorer's page: its link, pinned runs, downloads."""

import csv
import io

from tests.system.start import wait_until


def test_the_link_is_the_state(open_tab):
    tab = open_tab()
    tab.page.locator("#pin").click()
    tab.page.locator("#field-compressedSize").fill("777")
    tab.page.locator("input[name=costs][value=l1]").check()
    tab.page.get_by_label("No lower bound").check()
    tab.page.locator("#pin").click()
    tab.page.locator("input[value=verification-cost]").check()
    tab.page.locator("#field-gasPriceRatio").fill("12.5")
    tab.page.select_option("#axis", "gasPriceRatio")
    tab.page.locator("input[name=range][value=full]").check()
    tab.page.locator("input[name=x][value=linear]").check()
    tab.page.locator("input[name=y][value=log]").check()
    tab.explain('{"to": "0x' + "11" * 20 + '", "value": "0x0"}', gasUsed="21,000")
    link = tab.link()
    other = open_tab(link)
    inputs = """[...document.querySelectorAll("input, select, textarea")]
        .filter((input) => !input.closest("[hidden], #history-card"))
        .map((input) => input.type === "radio" || input.type === "checkbox" ? input.checked : input.value)"""

    assert link == other.link()
    assert tab.page.evaluate(inputs) == other.page.evaluate(inputs)
    for method in ("feemodel_fee", "feemodel_curve", "feemodel_explain"):
        assert tab.answer(method) == other.answer(method)
    for card in ("#answer", "#curve-readout", "#runs", "#told"):
        assert tab.text(card) == other.text(card)
    other.page.locator("#field-gasPriceRatio").fill("13")
    changed = link.replace("gasPriceRatio=12.5", "gasPriceRatio=13")
    wait_until(lambda: other.page.evaluate("location.hash") == changed, "the address follows once the controls rest")


def test_a_link_that_is_changed_by_hand_is_followed(open_tab):
    tab = open_tab()
    tab.page.evaluate("location.hash = '#compressedSize=64&gas=50000&margin=oops&pricing=free'")
    wait_until(lambda: tab.text("#note").startswith("Not read"), "the note names what was not read")
    tab.settled()

    assert tuple(tab.answer()["inputs"][name] for name in ("compressedSize", "gas", "margin")) == (64, "0xc350", 1.2)
    assert tab.text("#note") == "Not read from the link: pricing=free, margin=oops"


def test_runs_are_pinned_compared_loaded_and_removed(open_tab):
    tab = open_tab()
    first = tab.answer()
    tab.page.locator("#pin").click()
    tab.page.locator("#field-compressedSize").fill("900")
    tab.page.locator("#field-margin").fill("0.9")
    tab.settled()
    rows = {
        row[0]: row[1:]
        for row in tab.page.evaluate(
            "[...document.querySelectorAll('#runs tbody tr')].map((row) => [...row.cells].map((c) => c.textContent))"
        )
    }

    assert rows["wei / gas"] == [f"{int(one['feePerGas']['total'], 16):,}" for one in (tab.answer(), first)]
    assert rows["Compressed size"] == ["900 bytes", "128 bytes"]
    assert "Gas" not in rows
    assert rows["Margin, wei / gas"][0].startswith("-")
    tab.page.get_by_label("Load run A").click()
    tab.settled()
    assert first == tab.answer()
    for _ in range(9):
        tab.page.evaluate("document.getElementById('pin').click()")
    tab.settled()
    assert tab.page.locator("#runs thead .run-key").count() == 6
    assert tab.page.locator("#pin").is_disabled()
    tab.page.get_by_label("Remove run C").click()
    tab.page.locator("#pin").click()
    tab.settled()
    assert tab.page.locator("#runs thead .run-key").all_text_contents() == [*"ABDEFC"]
    tab.page.locator("#unpin-all").click()
    tab.settled()
    assert tab.page.locator("#runs-card").is_hidden()


def test_the_downloads_are_what_is_shown(open_tab):
    tab = open_tab("#compressedSize=300&axis=gas")
    tab.page.locator("#pin").click()
    tab.settled()
    with tab.page.expect_download() as download:
        tab.page.locator("#csv").click()
    text = download.value.path().read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    curve = tab.answer("feemodel_curve")

    assert download.value.suggested_filename == "fee-along-gas.csv"
    now = [row for row in rows if row["run"] == "now"]
    assert [int(value, 16) for value in curve["values"]] == [int(row["gas [gas]"]) for row in now]
    assert [int(value, 16) for value in curve["feeWei"]] == [int(row["fee [wei]"]) for row in now]
    assert curve["recovery"][0]["recovery"] == [float(row["recovery [1]"]) for row in now]
    assert len(now) == len([row for row in rows if row["run"] == "A"])
    assert "compressedSize=300; variableCost=1000000000;" in now[0]["inputs"]
