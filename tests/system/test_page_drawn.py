"""What the explorer's page draws: the curve, the fee over time, in a currency too."""

import re

import pytest


def test_the_curve_is_read_by_keyboard_and_as_a_table(open_tab):
    tab = open_tab()
    curve, slider = tab.answer("feemodel_curve"), tab.page.get_by_label("Point of the curve")
    assert tab.text("#curve .readout").startswith("Compressed size128 bytes"), "the chosen size itself"
    slider.press("End")
    assert tab.text("#curve .readout").startswith(f"Compressed size{curve['values'][-1]:,} bytes")
    slider.press("Home")
    assert slider.get_attribute("aria-valuetext").startswith("Compressed size 10 bytes, ")
    slider.press("ArrowRight")
    fee = int(curve["feeWei"][1], 16) / 1e9
    assert f"Whole fee{fee:.4g} gwei" in tab.text("#curve .readout")
    tab.page.locator("#curve summary").click()
    tab.page.locator("#curve table td").first.wait_for()
    first = int(curve["feeWei"][0], 16) / 1e9
    assert f"{first:.4g} gwei" in tab.text("#curve table tbody tr")


def test_the_pointer_moves_along_the_curve(open_tab):
    tab = open_tab()
    over = tab.page.locator("#curve .u-over").first
    over.hover(position={"x": 2, "y": 40})
    assert tab.text("#curve .readout").startswith("Compressed size10 bytes")
    over.hover(position={"x": over.bounding_box()["width"] - 2, "y": 40})
    last = tab.answer("feemodel_curve")["values"][-1]
    assert tab.text("#curve .readout").startswith(f"Compressed size{last:,} bytes")


@pytest.mark.parametrize("link", ["", "#y=log", "#margin=0.5&axis=margin", "#pricing=verification-cost&axis=gas&y=log"])
def test_a_curve_has_a_panel_for_the_fee_and_one_for_its_recovery(open_tab, link):
    tab = open_tab(link)
    titles = tab.page.locator("#curve .u-title").all_text_contents()
    assert [title.split()[0] for title in titles] == ["fee", "recovery"]
    chart = tab.page.locator("#curve canvas").first
    before = chart.screenshot()
    tab.page.locator("input[name=y]:not(:checked)").check()
    tab.settled()

    assert before != chart.screenshot(), "drawn on the other scale"


@pytest.mark.parametrize(("pricing", "costs"), [("cost-per-byte", "l1"), ("verification-cost", "announced")])
def test_every_field_has_a_curve(open_tab, pricing, costs):
    tab = open_tab(f"#pricing={pricing}&variableCostFrom={costs}")
    for name in tab.fields():
        tab.page.select_option("#axis", name)
        tab.settled()
        assert tab.answer("feemodel_curve")["axis"] == name
        assert tab.page.locator("#curve-card .error").is_hidden()


def test_amounts_are_shown_in_a_currency_too(open_tab):
    tab = open_tab()
    assert "≈" not in tab.text("#answer")
    tab.page.locator("#rate").fill("3000")
    tab.page.locator("#currency").fill("chf")
    tab.example("transfer")

    assert tab.text("#fee-eth") == "0.000000909600132 ETH ≈ 0.00273 CHF"
    assert "CHF" in tab.text("#recovery")
    assert "CHF" in tab.text("#told .facts")
    assert {"rate=3000", "currency=chf"} <= set(tab.link().lstrip("#").split("&"))
    tab.page.locator("#rate").fill("")
    tab.settled()
    assert "≈" not in tab.text("#fee-eth")


@pytest.mark.parametrize(("axis", "unit"), [("variableCost", " gwei / byte"), ("margin", "")])
def test_numbers_along_a_curve_are_rounded(open_tab, axis, unit):
    tab = open_tab(f"#axis={axis}")
    slider = tab.page.get_by_label("Point of the curve")
    slider.press("Home")
    for _ in range(12):
        slider.press("ArrowRight")
        value = re.search(rf" ([0-9.]+){unit}, ", slider.get_attribute("aria-valuetext"))[1]
        assert len(value.replace(".", "").lstrip("0")) <= 4
