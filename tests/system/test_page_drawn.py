"""What the explorer's page draws: the curve, the film of a month, the fee over time, in a currency too."""

import re

import pytest

from feemodel.explorer.methods import explorer_methods
from tests.helpers.browser import filmed, followed
from tests.system.start import wait_until


def test_the_curve_is_read_by_keyboard_and_as_a_table(open_tab):
    tab = open_tab()
    chart = tab.page.locator("#chart")
    assert chart.get_attribute("aria-valuetext").startswith("From 10 bytes: fee")
    chart.focus()
    chart.press("End")
    last = tab.page.evaluate("shown.curve.values.at(-1)")
    assert chart.get_attribute("aria-valuetext").startswith(
        f"{last:,} bytes: fee" if last > 9_999 else f"{last} bytes: fee"
    )
    chart.press("Home")
    chart.press("ArrowRight")
    assert chart.get_attribute("aria-valuenow") == "1"
    assert tab.text("#readout") == chart.get_attribute("aria-valuetext")
    tab.page.locator("#numbers summary").click()
    tab.page.wait_for_selector("#numbers-table td")  # the browser tells of the opening a moment after it
    priority = tab.page.evaluate("shown.curve.feePerGas.priority[0]")
    assert f"{int(priority, 16):,}" in tab.text("#numbers-table")


def test_the_film_of_a_month_is_the_servers(open_tab):
    tab = open_tab()
    tab.page.locator("#film-show").click()
    filmed(tab)
    tab.page.select_option("#film-pricing", "vault-pi")
    tab.page.select_option("#film-posting", "price-cap")
    tab.page.select_option("#film-slaHours", "4")
    filmed(tab)
    expected = explorer_methods()["feemodel_film"]({"pricing": "vault-pi", "posting": "price-cap", "slaHours": 4})

    assert expected == tab.page.evaluate("reel.film")
    assert f"{expected['recovery']:.2f}×" in tab.text("#film-facts")
    assert f"{expected['underRecoveryDays']} of {expected['wholeDays']}" in tab.text("#film-facts")
    tab.page.locator("#film-hour").press("Home")
    assert "2026-01-07 14:10" in tab.text("#film-readout")
    tab.page.locator("#film-hour").press("ArrowRight")
    tab.page.locator("#film-hour").press("ArrowRight")
    assert f"{expected['series']['backlog']['values'][2]:,.0f} bytes" in tab.text("#film-readout")
    tab.page.locator("#film-play").click()
    # Not `wait_for_function`: after its first try it needs `eval`, which the page's policy forbids.
    wait_until(lambda: tab.page.evaluate("reel.hour > 3"), "the film plays")
    tab.page.locator("#film-play").click()
    assert tab.page.evaluate("reel.playing") == 0
    assert "film=vault-pi+price-cap+4+0" in tab.page.evaluate("link()")


def test_a_link_shows_its_film_on_a_phone(open_tab):
    tab = open_tab("#film=arbitrum+fill+16+0.5", viewport={"width": 360, "height": 740})
    filmed(tab)

    assert tuple(tab.page.evaluate("[reel.film.pricing, reel.film.elasticity]")) == ("arbitrum", 0.5)
    assert tab.page.locator("#film-slaHours").is_disabled()
    assert tab.page.evaluate("document.documentElement.scrollWidth") == 360
    assert "film=arbitrum+never" in open_tab("#film=arbitrum+never").text("#note").replace(" ", "+")


def test_the_fee_over_time_is_the_servers(open_tab):
    tab = open_tab("#margin=0.3&variableCostFrom=l1&rate=2,500&currency=EUR")
    followed(tab)
    point = {**tab.answer()["inputs"], "over": "l1"}
    del point["l1BaseFee"], point["blobBaseFee"]
    expected = explorer_methods()["feemodel_history"](point)
    first = expected["recovery"][0]

    assert expected == tab.page.evaluate("past.answer")
    assert f"{first['below']} of 724" in tab.text("#past-facts")
    assert f"{first['recoveryOfAll']:.2f}×" in tab.text("#past-facts")
    tab.page.locator("#past-place").press("Home")
    fee, cost = (int(column[0], 16) for column in (expected["feeWei"], first["cost"]))
    assert tab.text("#past-readout").startswith(f"Time, UTC2026-01-07 14:00Fee{fee / 1e9:.2f} gwei ≈ ")
    assert f"L1 cost{cost / 1e9:.2f} gweiRecovery{fee / cost:.2f}×Deficit so far−" in tab.text("#past-readout")
    tab.page.locator("#past-place").press("ArrowRight")
    assert "15:00" in tab.text("#past-readout")
    tab.page.locator("#field-compressedSize").fill("5000")
    followed(tab)
    assert tab.page.evaluate("past.answer.feeWei[0]") != expected["feeWei"][0]
    tab.page.locator("#past-numbers summary").click()
    wait_until(lambda: tab.page.locator("#past-table tbody tr").count() == 32, "the table has every day and the end")


def test_the_server_s_own_prices_are_followed(open_tab):
    tab = open_tab("#over=server&pricing=verification-cost&compressedSize=700")
    followed(tab)
    found = tab.page.evaluate("past.answer")

    assert (found["over"], found["pricing"]) == ("server", "cost-per-byte"), "in the form that the server prices with"
    assert len(found["times"]) >= 2, "since its start, and now"
    own = explorer_methods()["feemodel_fee"]({"compressedSize": 700, "gas": "0x5208"})["feeWei"]["total"]
    assert set(found["feeWei"]) == {own}
    assert "own prices" in tab.text("#past-hint")
    assert "over=server" in tab.page.evaluate("link()")
    tab.page.locator("input[name=over][value=l1]").check()
    followed(tab)
    assert tab.page.evaluate("past.answer.times.length") == 724


def test_amounts_are_shown_in_a_currency_too(open_tab):
    tab = open_tab()
    assert "≈" not in tab.text("#answer")
    tab.page.locator("#rate").fill("3,000")
    tab.page.locator("#currency").fill("chf")
    tab.page.locator("[data-example=transfer]").click()
    tab.told()
    tab.settled()

    assert tab.text("#fee-eth") == "0.000000909600132 ETH ≈ 0.00273 CHF"
    assert "CHF" in tab.text("#recovery")
    assert "CHF" in tab.text("#told .facts")
    assert {"rate=3%2C000", "currency=CHF"} <= set(tab.page.evaluate("link()").lstrip("#").split("&"))
    tab.page.locator("#rate").fill("much")
    assert tab.text("#rate-error") == "Expected a number above 0."
    assert tab.page.locator("#rate").get_attribute("aria-invalid") == "true"
    assert "≈" not in tab.text("#fee-eth")
    tab.page.locator("#rate").fill("")
    assert tab.page.locator("#rate-error").is_hidden()


@pytest.mark.parametrize(("axis", "unit"), [("variableCost", " gwei / byte"), ("margin", "")])
def test_numbers_along_a_curve_are_rounded(open_tab, axis, unit):
    tab = open_tab(f"#axis={axis}")
    chart = tab.page.locator("#chart")
    chart.focus()
    chart.press("Home")
    for _ in range(12):
        chart.press("ArrowRight")
        value = re.fullmatch(rf"([0-9.]+){unit}: fee .*", tab.text("#readout"))[1]
        assert len(value.replace(".", "").lstrip("0")) <= 4
