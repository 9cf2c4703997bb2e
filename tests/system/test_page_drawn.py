"""What the explorer's page draws: the curve, the fee over time, in a currency too."""

import re

import pytest


def test_the_curve_is_read_by_keyboard_and_as_a_table(open_tab):
    tab = open_tab()
    curve, slider = tab.answer("curve"), tab.page.get_by_label("Point of the curve")
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
    last = tab.answer("curve")["values"][-1]
    assert tab.text("#curve .readout").startswith(f"Compressed size{last:,} bytes")


@pytest.mark.parametrize("link", ["", "#margin=0.5&axis=margin", "#pricing=verification-cost&axis=gas"])
def test_a_curve_has_a_panel_for_the_fee_and_one_for_its_recovery(open_tab, link):
    tab = open_tab(link)
    titles = tab.page.locator("#curve .u-title").all_text_contents()
    assert [title.split()[0] for title in titles] == ["fee", "recovery"]


@pytest.mark.parametrize("pricing", ["cost-per-byte", "verification-cost"])
def test_every_field_has_a_curve(open_tab, pricing):
    tab = open_tab(f"#pricing={pricing}")
    for name in tab.fields():
        tab.page.select_option("#axis", name)
        tab.settled()
        assert tab.answer("curve")["axis"] == name
        assert tab.page.locator("#curve-card .error").is_hidden()


@pytest.mark.parametrize(("axis", "unit"), [("variableCost", " gwei / byte"), ("margin", "")])
def test_numbers_along_a_curve_are_rounded(open_tab, axis, unit):
    tab = open_tab(f"#axis={axis}")
    slider = tab.page.get_by_label("Point of the curve")
    slider.press("Home")
    for _ in range(12):
        slider.press("ArrowRight")
        value = re.search(rf" ([0-9.]+){unit}, ", slider.get_attribute("aria-valuetext"))[1]
        assert len(value.replace(".", "").lstrip("0")) <= 4
