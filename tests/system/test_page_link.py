"""The address of the explorer's page as its state, and the files that it gives."""

from tests.system.start import wait_until


def test_the_link_is_the_state(open_tab):
    tab = open_tab()
    tab.page.locator("#compressedSize").fill("777")
    tab.page.select_option("#chain", "")
    tab.page.locator("input[value=verification-cost]").check()
    tab.page.locator("#gasPriceRatio").fill("12.5")
    tab.page.select_option("#axis", "gasPriceRatio")
    tab.explain('{"to": "0x' + "11" * 20 + '", "value": "0x0"}', gasUsed="21000")
    link = tab.link()
    other = open_tab(link)
    inputs = """[...document.querySelectorAll("[name]:not(meta)")]
        .map((input) => input.type === "radio" ? input.checked : input.value)"""

    assert link == other.link()
    assert tab.page.evaluate(inputs) == other.page.evaluate(inputs)
    for method in ("feemodel_fee", "curve", "feemodel_explain"):
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
